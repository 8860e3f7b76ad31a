"""What tests of repairs share: tests of the library, and the answer for one."""

from __future__ import annotations

from pathlib import Path

import ptxmm
from litmus.test import Test
from ptxmm.repair.finding import answered
from ptxmm.repair.found import Answer
from ptxmm.repair.subjects import How, LitmusSubject

LIBRARY = Path(__file__).resolve().parents[3] / "litmus" / "library"
MP = LIBRARY / "message-passing" / "MP+rlx.litmus"


def of_library(name: str) -> Test:
    test = ptxmm.load(LIBRARY / f"{name}.litmus")
    assert isinstance(test, Test)
    return test


def answer(test: Test, mode: str = "repair", every: bool = True, most: int | None = None) -> Answer:
    return answered(LitmusSubject(test, How()), mode, every=every, most=most)

"""Every test that is kept and fails: those of the examples, the museum, the pages about mistakes, the gate, the launches and
the kernels of the library that something is wrong with, and each litmus test of the library with the opposite of what it
claims."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from kept import EXAMPLES, GATE, MUSEUM, tree_of
from tensor_clauses import clauses

import ptxmm
from litmus.test import Condition, Test
from ptxmm.api import load_variant
from ptxmm.checker import Checker, Outcome
from ptxmm.findings import findings
from ptxmm.kernels.files import Variant
from ptxmm.kernels.test import KernelTest

ROOT = Path(__file__).resolve().parents[2]
LAUNCHES = sorted((ROOT / "tests" / "kernels" / "launches").glob("*/test.toml"))
MISTAKES = sorted((ROOT / "docs" / "mistakes").glob("*/*.toml"))
LIBRARY = ROOT / "litmus" / "library"
#: What the opposite of a claim is. Of `forall` it is that the same never holds.
_OPPOSITE = {"exists": "~exists", "~exists": "exists", "forall": "~exists"}


class Failing(NamedTuple):
    """A test, by its path from the root of the repository; `variant` of a kernel, None of a litmus test."""

    path: str
    variant: str | None

    @property
    def name(self) -> str:
        """How reports of pytest call it."""
        parts = Path(self.path).with_suffix("").parts[-2:]
        return "/".join(parts) if self.variant is None else f"{'/'.join(parts)}:{self.variant}"

    def outcome(self, checker: Checker) -> Outcome:
        """What is found, with nothing of it expected. Skips where its PTX is part of a collection that is not here."""
        outcome = checker.decide(self.path, self._loaded)
        if outcome.result.verdict == "error" and "cannot read" in (outcome.result.error or ""):
            pytest.skip("the collection of kernels is not here")
        return outcome._replace(findings=tuple(findings(outcome.result)))

    def _loaded(self) -> Test | KernelTest:
        if self.variant is not None:
            kernel = load_variant(Variant(self.path, self.variant))
            assert isinstance(kernel, KernelTest)
            return replace(kernel, expect=("ok",))
        litmus = ptxmm.load(self.path)
        assert isinstance(litmus, Test)
        return replace(litmus, condition=_opposite(litmus.condition), more=tuple(map(_opposite, litmus.more)))


def _opposite(condition: Condition) -> Condition:
    return replace(condition, quantifier=_OPPOSITE[condition.quantifier])


@cache
def failing() -> tuple[Failing, ...]:
    """All of them, in a fixed order."""
    return (*_kernels(), *(Failing(_relative(path), None) for path in sorted(LIBRARY.rglob("*.litmus"))))


def _kernels() -> Iterator[Failing]:
    for path in (*EXAMPLES, *MUSEUM, *MISTAKES, *GATE, *LAUNCHES):
        tree = tree_of(path)
        for variant in tree.get("variant", [{"name": ""}]):
            if "ok" not in variant.get("expect", tree.get("expect", "ok")):
                yield Failing(_relative(path), variant["name"])
    for clause in clauses():
        for name, (verdict, _) in clause.tests.items():
            if verdict != "ok":
                yield Failing(_relative(Path(clause.path)), name)


def _relative(path: Path) -> str:
    return os.path.relpath(path, ROOT)

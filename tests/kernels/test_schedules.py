"""No run of a kernel, whatever its schedule, shows what exploration calls forbidden."""

from __future__ import annotations

from pathlib import Path

import pytest
from kept import EXAMPLES, GATE, MUSEUM, loaded, named, variants
from schedules import Runs

import ptxmm
from axioms.endless import find
from ptxmm.api import model_named
from ptxmm.kernels.check import Question

TESTS = variants([*EXAMPLES, *MUSEUM, *GATE])
IDS = [named(test) for test in TESTS]
#: Errors of a run that say that threads wait for ever; and those of runs that have no outcome: a schedule that is unfair for
#: longer than the run may last, and a value that nothing wrote, which a run refuses to look at.
WAITS, WITHOUT_OUTCOME = "deadlock", ("limit", "uninitialised")


def compare(path: Path, variant: str, count: int) -> None:
    test = loaded(path, variant)
    result = ptxmm.check(test)
    if result.verdict == "undefined" or not result.listed_all:
        pytest.skip("the model gives it no meaning" if result.listed_all else "it has too many outcomes to list")
    runs = Runs(test)
    for seed, found in runs.results(count):
        if isinstance(found, dict):
            assert found in result.states or not result.complete, f"seed {seed}: {found} is not among {result.states}"
        elif found in (WAITS, "trap"):
            kinds = ("trap",) if found == "trap" else ("barrier", "mbarrier", "loop")
            program = Question(test, model_named("ptx-9.0")).built.program
            stall = find(program, model_named("ptx-9.0"), kinds=kinds)
            assert stall is not None or not result.complete, f"seed {seed}: {found}"
            return  # so it will be with other schedules
        else:
            assert found in WITHOUT_OUTCOME, f"seed {seed}: {found}"


@pytest.mark.parametrize(("path", "variant"), TESTS[::4], ids=IDS[::4])
def test_some_schedules_show_nothing_forbidden(path: Path, variant: str) -> None:
    compare(path, variant, 5)


@pytest.mark.campaign
@pytest.mark.parametrize(("path", "variant"), TESTS, ids=IDS)
def test_a_thousand_schedules_show_nothing_forbidden(path: Path, variant: str) -> None:
    compare(path, variant, 1000)

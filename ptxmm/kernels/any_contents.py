"""Several runs of a kernel test whose buffers may hold anything, or whose products of matrices are open: each is made with
zeros there, and with ones in every bit. Where nothing that a thread does in any of them hangs on that, they are as good for all
contents (docs/whole-launches/theorem.md)."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ptxmm.kernels.places import Places
from ptxmm.kernels.recorded_runs import RecordedRuns
from ptxmm.kernels.runs import FinalValues, Runs
from ptxmm.kernels.several import FinalStates, run_several
from ptxmm.kernels.watched_run import open_buffers
from ptxmm.kernels.whole_answers import tell_all
from ptxmm.kernels.whole_contents import FILLS, OPEN_KINDS, ContentsOfRuns
from ptxmm.result import Result
from ptxmm.words import whole as told
from ptxmm.words.notes import held_at_first


def decide_for_any_contents(
    runs: Runs, result: Result, places: Places, broken: Callable[[FinalValues], bool], most: int
) -> bool:
    """Answers all checks by at most so many runs; whether these stand for all executions with all contents."""
    test = runs.test
    names = open_buffers(test)
    ways: list[tuple[FinalStates, RecordedRuns]] = []
    for fill in FILLS if names else FILLS[:1]:
        recorded = RecordedRuns(fill)
        several = run_several(runs, broken, most, contents=recorded)
        if not isinstance(several, FinalStates) or several.beyond:
            return False
        ways.append((several, recorded))
    (several, first), (_, last) = ways[0], ways[-1]
    if [kept[2] for kept in first.kept] != [kept[2] for kept in last.kept]:
        return False
    differing: set[str] = set()
    for (launches, state, _), (_, other, _) in zip(first.kept, last.kept, strict=True):
        contents = ContentsOfRuns(test, launches, [state, other], places)
        if contents.open_decision():
            return False
        for check in test.checks:
            if contents.open_in(check) or any(contents.open_sources(check, kind) for kind in OPEN_KINDS):
                differing |= check.elements()
    tell_all(test, result, several._replace(differing=frozenset(differing)), told.of_contents)
    threads = sum(prod(launch.grid) * prod(launch.block) for launch in test.launches)
    note = told.several(several.runs, threads, several.accesses)
    result.notes += [note, *held_at_first(names)]
    return True


__all__ = ["decide_for_any_contents"]

"""Tests that fail where what nothing determines is zeros, or something else: shared memory that nothing wrote, or what a thread
takes from a lane that does not take part. It may be anything: a run with any contents is an execution, so that a check of all
executions that is false there fails. That the checks hold there says nothing."""

from __future__ import annotations

from collections.abc import Callable

from axioms.dynamic.core.findings import Open
from ptxmm.kernels.places import Places
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.several import UNWRITTEN
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.watched_run import WatchedRun, open_buffers, shows
from ptxmm.kernels.whole_answers import tell_failed
from ptxmm.kernels.whole_contents import OPEN_KINDS, ContentsOfRuns
from ptxmm.result import Result
from ptxmm.words import whole as told

#: What is in every byte of that memory, one run after the other: zeros are often taken for granted, and then show nothing.
#: (Of the other one numbers are large, those of 32 bits 1,061,109,567 and 0.747, and 64 bits no address.)
_TRIED = (0, 0x3F)


def fails_with_contents(
    runs: Runs, result: Result, places: Places, run: Callable[..., WatchedRun], ran: WatchedRun
) -> bool:
    """Whether a test of which a run was left open fails so, or is undefined; then it is told. `run` makes watched runs."""
    error = ran.error if ran.error is not None and ran.error.kind == UNWRITTEN else None
    last = len(ran.watchers) - 1
    left = [(last, ran.why), *((i, w.unknown) for i, w in enumerate(ran.watchers))]
    unknown = [(i, o) for i, o in left if isinstance(o, Open) and o.what == "unknown"]
    if open_buffers(runs.test) or (error is None and not unknown):
        return False
    for byte in _TRIED:
        again = run(None, alone=True, unwritten=byte)
        if shows(runs, result, again, places, racing=True) or _fails(runs.test, result, places, again):
            break
    else:
        return False
    at = [str(places.of(i, o.party.op, ran.recorded[i].program)) for i, o in unknown if o.party is not None]
    if error is not None and error.instruction is not None:
        source = places.source_spot(last, error.source) if error.source else None
        at.insert(0, str(places.look(last, error.instruction.span.line, source)))
    result.notes.append(told.unwritten_memory(at[0] if at else "", "" if error is None else error.message, byte))
    return True


def _fails(test: KernelTest, result: Result, places: Places, ran: WatchedRun) -> bool:
    """Whether the outcome of a run that leaves nothing open is against a check; then it is told."""
    if ran.state is None or ran.why is not None or any(w.unknown is not None for w in ran.watchers):
        return False
    contents = ContentsOfRuns(test, ran.recorded, [ran.state], places)
    safe = [check for check in test.checks if check.kind in ("forall", "never")]
    if contents.open_product() or any(contents.open_sources(check, kind) for check in safe for kind in OPEN_KINDS):
        return False
    tell_failed(test, result, ran.state)
    return result.verdict == "no"

"""Launches of several streams, and events between them: which of them have ended when another one begins.

Where that leaves no two of them side by side, the test is one of a single stream. Else a run of them one after the other, as
the test has them, stands for all executions if no two that may run at the same time access the same bytes, of which one writes
some (docs/whole-launches, "Several launches").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING

from axioms.dynamic.core.findings import Stopped, in_time
from axioms.dynamic.one_run.early_accesses import EarlyAccesses, may_meet
from axioms.dynamic.wrong.overtaken import Overtaken
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxmm.kernels.modules import begins_early
from ptxmm.kernels.named_segments import NamedSegments
from ptxmm.kernels.runs import Runs, Watchers, side_by_side
from ptxmm.kernels.several import LIMIT
from ptxmm.kernels.watched_run import WatchedRun, gathering, open_buffers, shows
from ptxmm.kernels.whole_contents import FILLS
from ptxmm.kernels.whole_findings import Findings
from ptxmm.words import whole as told
from ptxmm.words.unordered import unstreamed

if TYPE_CHECKING:
    from ptxcore.machine.lower.ops import ExecutableModule
    from ptxmm.kernels.launch import Launch
    from ptxmm.kernels.places import Places
    from ptxmm.kernels.test import KernelTest
    from ptxmm.result import Result


def ended_before(launches: Sequence[Launch]) -> list[frozenset[int]]:
    """For each launch the numbers of those that have ended when it begins: those before it in its stream, those that it waits
    for, and what has ended before these."""
    found: list[frozenset[int]] = []
    for number, launch in enumerate(launches):
        first = {
            i for i, other in enumerate(launches[:number]) if other.queue == launch.queue or other.name in launch.after
        }
        found.append(frozenset(first).union(*(found[i] for i in first)))
    return found


def beside(launches: Sequence[Launch]) -> list[tuple[int, int]]:
    """The launches that may run at the same time, by their numbers."""
    before = ended_before(launches)
    return [(i, number) for number in range(len(launches)) for i in range(number) if i not in before[number]]


def one_by_one(test: KernelTest) -> KernelTest:
    """The same test with its launches in one stream, where they come one after the other in any case. Of one stream a launch
    may begin early: no kernel lets it."""
    if not _may_be_followed(test) or beside(test.launches):
        return test
    return _in_one_stream(test)


def are_partly_ordered(test: KernelTest) -> bool:
    """Whether some launches of a test may run at the same time, others not, and a run can follow them."""
    return _may_be_followed(test) and not side_by_side(test) and bool(beside(test.launches))


def _may_be_followed(test: KernelTest) -> bool:
    launches = test.launches
    several = len({launch.queue for launch in launches}) > 1 and len({launch.device for launch in launches}) == 1
    return several and not any(begins_early(launch.text) or launch.references for launch in launches)


def _in_one_stream(test: KernelTest) -> KernelTest:
    return replace(test, launches=tuple(replace(launch, stream="", after=()) for launch in test.launches))


def decide_streams(
    runs: Runs,
    result: Result,
    places: Places,
    by_one_run: Callable[[WatchedRun, WatchedRun | None], str],
    run: Callable[[Runs], Callable[..., WatchedRun]],
    *,
    racing: bool,
) -> str:
    """Answers all checks of launches of which some may run at the same time, by one run; else says what that leaves open.
    `by_one_run` tells what a run says, with one with other contents; `run` makes runs of what it is given; `racing`: whether
    the model tells races."""
    in_order = Runs(_in_one_stream(runs.test), watched=True, readings=runs.readings)
    make = partial(run(in_order), alone=True, watching=EarlyAccesses)
    ran = gathering(make, make(None))
    make = partial(make, polling=ran.polling)
    ones = make(None, FILLS[1]) if open_buffers(runs.test) else None
    for one in (ran, *([] if ones is None else [ones])):
        if shows(in_order, result, one, places, racing=racing):
            return ""
        unknown = next(((i, w.unknown) for i, w in enumerate(one.watchers) if w.unknown is not None), None)
        number, why = unknown or (len(one.watchers) - 1, one.why)
        if why is not None:
            where = places.of_party(number, getattr(why, "party", None), runs.program_of(number))
            return told.left_open(getattr(why, "what", "unordered"), where)
        watchers = [w for w in one.watchers if isinstance(w, EarlyAccesses)]
        names = [recorded.buffers for recorded in one.recorded]
        if may_meet(watchers, names, [launch.loaded for launch in runs.test.launches], beside(runs.test.launches)):
            return "" if racing and _races(in_order, runs, result, places) else told.left_open("streams", "")
    return by_one_run(ran, ones)


def _races(in_order: Runs, runs: Runs, result: Result, places: Places) -> bool:
    """Whether a run of launches one after the other shows a race of two that may run at the same time: then it is told."""
    watchers: list[Overtaken] = []
    buffers, before = NamedSegments(), ended_before(runs.test.launches)
    pairs = set(beside(runs.test.launches))

    def may_be_beside(number: int, other: int) -> bool:
        """Whether nothing that has ended before a launch may have acquired what another one did."""
        between = [k for k in before[number] if (min(k, other), max(k, other)) in pairs]
        return (other, number) in pairs and not any(watchers[k].acquires for k in between)

    def watch(launch: Launch, _: ExecutableModule) -> Watchers:
        def single() -> Overtaken:
            number = len(watchers)
            others = [watchers[i] for i in range(number) if may_be_beside(number, i)]
            watchers.append(Overtaken(prod(launch.block), number, dict(buffers.names), others))
            return watchers[-1]

        return Watchers(None, single)

    with suppress(Stopped, KernelError, UsageError):
        in_order.run(None, limit=LIMIT, watch=watch, progress=in_time, placed=buffers.place)
    found = watchers[-1].found if watchers else None
    if found is None:
        return False
    race, earlier = found
    late, early = (Findings(runs, places, w.number, w.indices, result) for w in (watchers[-1], watchers[earlier]))
    late.overtaking(race, early, unstreamed)
    return result.verdict == "no"


__all__ = ["are_partly_ordered", "beside", "decide_streams", "ended_before", "one_by_one"]

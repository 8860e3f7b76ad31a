"""Launches that begin before the one before them is over, and what they access before they wait for it."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from axioms.dynamic.code.early_launches import lets_next, overtaking
from axioms.dynamic.core.findings import Open, Party, Stopped, in_time
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.one_run.early_accesses import EarlyAccesses, may_overtake
from axioms.dynamic.wrong.overtaken import Overtaken
from ptxcore.clock import limited
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxmm.kernels.named_segments import NamedSegments
from ptxmm.kernels.runs import Runs, Watchers, side_by_side
from ptxmm.kernels.several import LIMIT
from ptxmm.kernels.watched_run import WatchedRun, open_buffers
from ptxmm.kernels.whole_findings import Findings
from ptxmm.words import whole as told

if TYPE_CHECKING:
    from collections.abc import Callable

    from ptxcore.machine.lower.ops import Code, ExecutableModule
    from ptxmm.kernels.launch import Launch
    from ptxmm.kernels.places import Places
    from ptxmm.result import Result

#: Seconds that the run may take.
_LONGEST = 10.0


def _codes_of(runs: Runs) -> list[list[Code]]:
    """The code of each launch: its kernel's, and that of the functions that it may call."""
    loaded = [(runs.devices[one.loaded].program.functions, one.entry) for one in runs.test.launches]
    return [[found[entry], *(code for code in found.values() if not code.entry)] for found, entry in loaded]


def _none_overtakes(runs: Runs, run: Callable[..., WatchedRun]) -> bool:
    """Whether a run that stands for all executions in which each launch begins when the one before it is over shows that it
    stands for the others as well. `run`: makes such a run, with somebody who watches single threads."""
    ran = run(None, alone=True, watching=EarlyAccesses)
    watchers = [w for w in ran.watchers if isinstance(w, EarlyAccesses) and w.unknown is None]
    if ran.why is not None or len(watchers) < len(runs.test.launches):
        return False
    return not may_overtake(watchers, [one.buffers for one in ran.recorded], [lets_next(c) for c in _codes_of(runs)])


def _comes_too_early(runs: Runs, result: Result, places: Places) -> bool:
    """Whether a run shows an access of a launch that may come before the launch before it is over: then it is told."""
    launches = runs.test.launches
    if len({launch.queue for launch in launches}) > 1 or any(launch.after for launch in launches):
        return False
    watchers: list[Overtaken] = []
    buffers = NamedSegments()

    def watch(launch: Launch, _: ExecutableModule) -> Watchers:
        def single() -> Overtaken:
            before = watchers[::-1] if watchers and watchers[-1].lets else ()
            watchers.append(Overtaken(prod(launch.block), len(watchers), dict(buffers.names), before))
            return watchers[-1]

        return Watchers(None, single)

    try:
        with limited(_LONGEST):
            runs.run(None, limit=LIMIT, watch=watch, progress=in_time, placed=buffers.place)
    except (Stopped, KernelError, UsageError):
        pass
    found = watchers[-1].found if watchers else None
    if found is None:
        return False
    race, earlier = found
    late, early = (Findings(runs, places, w.number, w.indices, result) for w in (watchers[-1], watchers[earlier]))
    late.overtaking(race, early)
    return result.verdict == "no"


def overtaking_launch(runs: Runs, ran: WatchedRun | None = None) -> tuple[int, Open] | None:
    """The launch that may overtake the one before it, and by what, where they come one by one; `ran` may show who waits."""
    if side_by_side(runs.test):
        return None
    watchers = ran.watchers if ran is not None and ran.is_one else []
    waits = {i for i, w in enumerate(watchers) if isinstance(w, Determinate) and w.waits_for_launch}
    found = overtaking(_codes_of(runs), waits)
    return None if found is None else (found[0], Open("grid", Party(0, found[1])))


def begins_early(
    runs: Runs, result: Result, places: Places, run: Callable[..., WatchedRun], ran: WatchedRun, *, racing: bool
) -> str | None:
    """What is open of launches that may begin before the one before them is over, empty where something wrong of them is told;
    None where nothing is."""
    early = overtaking_launch(runs, ran)
    if early is None:
        return None
    if racing and _comes_too_early(runs, result, places):
        return ""
    place = places.of_party(early[0], early[1].party, runs.program_of(early[0]))
    if not ran.is_one or open_buffers(runs.test) or not _none_overtakes(runs, run):
        return told.left_open("grid", place)
    result.notes.append(told.apart_early(place))
    return None

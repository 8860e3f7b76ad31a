"""Runs of kernel tests whose kernels cancel clusters that have not begun (PTX ISA 9.0, section 9.7.13.17), for each choice."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import TYPE_CHECKING

from axioms.dynamic.core.findings import Open, Stopped
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.several.choices import all_ways
from ptxcore.isa.launch import try_cancel
from ptxcore.machine.run.clusters import ChosenClusters
from ptxmm.kernels.several import FinalStates
from ptxmm.kernels.watched_run import STUCK, WatchedRun, is_certain, open_buffers, shows
from ptxmm.kernels.whole_answers import tell_all, tell_failed
from ptxmm.kernels.whole_contents import OPEN_KINDS, ContentsOfRuns
from ptxmm.words import whole as told

if TYPE_CHECKING:
    from axioms.dynamic.several.choices import Choices
    from ptxcore.machine.run.special import Triple
    from ptxmm.kernels.places import Places
    from ptxmm.kernels.runs import FinalValues, Runs
    from ptxmm.result import Result

#: Choices at most. Where each cluster asks until it is refused, three of them have 25 and four 147.
MOST = 5_000


def cancels(runs: Runs) -> bool:
    """Whether a kernel asks to cancel clusters that have not begun."""
    codes = [code for device in runs.devices.values() for code in device.program.functions.values()]
    return any(op.use.form.run is try_cancel for code in codes for op in code.ops)


def _chosen(run: Callable[..., WatchedRun], choices: Choices) -> tuple[WatchedRun, bool]:
    """A run that chooses, and whether each cluster has begun in it or was cancelled."""
    made: list[ChosenClusters] = []

    def clusters(grid: Triple, cluster: Triple) -> ChosenClusters:
        if not choices.is_first and 1 << prod(grid) // prod(cluster) > MOST:
            raise Stopped(Open("choices"))
        made.append(ChosenClusters(grid, cluster, choices.choose))
        return made[-1]

    ran = run(None, alone=True, clusters=clusters)
    return ran, not any(one.left for one in made)


def decide_by_choices(
    runs: Runs, result: Result, places: Places, run: Callable[..., WatchedRun], *, racing: bool
) -> str:
    """Answers all checks of a test whose kernels cancel clusters: by a run for each choice of who begins, who is cancelled by
    whom and which requests are refused, each of which stands for all executions with that choice. Gives why where something
    is left open."""
    test = runs.test
    if open_buffers(test):
        return told.left_open("contents", "")
    states: list[FinalValues] = []
    count = accesses = 0
    for ran, complete in all_ways(partial(_chosen, run)):
        count += 1
        if count > MOST:
            return told.left_open("choices", "")
        if not complete and (ran.why is None or (ran.error is not None and ran.error.kind == STUCK)):
            continue  # clusters are left that begin after all, which is another choice
        if ran.error is not None and ran.error.kind == STUCK and all(map(is_certain, ran.watchers)):
            tell_failed(test, result, None)
            if result.verdict == "no":
                return ""
        elif (ran.why is not None or _overwrites(ran)) and shows(runs, result, ran, places, racing=racing):
            return ""
        open_ = ran.why or next((w.unknown for w in ran.watchers if w.unknown is not None), None)
        if open_ is not None or ran.state is None:
            place = _place_of(places, ran, open_) if isinstance(open_, Open) else ""
            said = ran.error.message if ran.error is not None else ""
            return told.left_open(open_.what if isinstance(open_, Open) else "unordered", place, said)
        contents = ContentsOfRuns(test, ran.recorded, [ran.state], places)
        if more := contents.open_decision():
            return more
        if any(
            contents.open_in(check) or contents.open_sources(check, kind)
            for check in test.checks
            for kind in OPEN_KINDS
        ):
            return told.left_open("rounding", "")
        accesses = sum(w.accesses for w in ran.watchers)
        states += [ran.state] if ran.state not in states else []
    tell_all(test, result, FinalStates(states, count, accesses, beyond=False))
    result.notes.append(told.chosen(count, len(states), accesses))
    return ""


def _overwrites(ran: WatchedRun) -> bool:
    """Whether some asynchronous write follows a read, but for a fence between their proxies."""
    return any(isinstance(w, Determinate) and w.agent_accesses.overwriting is not None for w in ran.watchers)


def _place_of(places: Places, ran: WatchedRun, open_: Open) -> str:
    number = len(ran.watchers) - 1
    return str(places.of(number, open_.party.op, ran.recorded[number].program)) if open_.party else ""

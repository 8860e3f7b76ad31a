"""Kernel tests decided by one run of workers that take tickets in rounds (`axioms.dynamic.tickets.persistent`)."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

from axioms.dynamic.core.findings import Open, Stopped, in_time
from axioms.dynamic.tickets.beginnings import WARP
from axioms.dynamic.tickets.carried_rounds import CarriedAlong, CarryingRounds, Scouting
from axioms.dynamic.tickets.persistent import Persistent
from axioms.dynamic.tickets.round_kinds import LEADING, RoundKinds
from ptxcore.clock import limited
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxcore.records import NamedTuple
from ptxmm.kernels.named_segments import NamedSegments
from ptxmm.kernels.runs import FinalValues, Runs, Watchers, all_beside
from ptxmm.kernels.several import LIMIT, FinalStates
from ptxmm.kernels.ticketed import MORE, leaves_open
from ptxmm.words import whole as told

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from axioms.dynamic.tickets.round_workers import TicketCounter
    from ptxcore.machine.lower.ops import ExecutableModule
    from ptxmm.kernels.launch import Launch
    from ptxmm.kernels.places import Places
    from ptxmm.result import Result

#: Seconds that the runs may take.
_LONGEST = 20.0


class InRounds(NamedTuple):
    """The final values of all executions; how many accesses there were; and the counters of the launches of a number, with what
    takes their tickets. `carries`: rounds carry something along; `differing`: what may have another value in other
    executions; how many runs there were, and how many waits for other rounds."""

    state: FinalValues
    accesses: int
    counters: list[tuple[int, TicketCounter]]
    worker: str
    carries: bool = False
    differing: frozenset[str] = frozenset()
    runs: int = 1
    waits: int = 0


def decides_in_rounds(
    found: InRounds | None,
    runs: Runs,
    result: Result,
    places: Places,
    tell: Callable[[FinalStates, Callable[[str, list[str]], str]], None],
) -> bool:
    """Answers the checks by runs of all rounds, where these stand for all executions and leave no check open; whether so."""
    test = runs.test
    if found is None or any(leaves_open(check, test, found.state, found.differing) for check in test.checks):
        return False
    _tell(found, runs, result, places, tell)
    return True


def decide_by_rounds(
    found: InRounds | None,
    runs: Runs,
    result: Result,
    places: Places,
    otherwise: Callable[..., tuple[int, Open] | None],
    tell: Callable[[FinalStates, Callable[[str, list[str]], str]], None],
) -> tuple[int, Open] | None:
    """Answers the checks by runs of all rounds, where these stand for all executions and leave a check open that `otherwise`
    does not answer; and else as that says."""
    if found is None:
        return otherwise()
    with limited(MORE):
        if otherwise(raceless=True) is None:
            return None
    _tell(found, runs, result, places, tell)
    return None


def _tell(
    found: InRounds,
    runs: Runs,
    result: Result,
    places: Places,
    tell: Callable[[FinalStates, Callable[[str, list[str]], str]], None],
) -> None:
    test, said = runs.test, []
    tell(FinalStates([found.state], 1, found.accesses, beyond=False, differing=found.differing), told.of_tickets)
    for launch, counter in found.counters:
        program = runs.program_of(launch)
        said.append((counter.taken, str(places.of(launch, counter.party.op, program))))
    threads = sum(prod(launch.grid) * prod(launch.block) for launch in test.launches)
    result.notes.append(
        told.in_rounds(
            threads, found.accesses, said, found.worker, carries=found.carries, runs=found.runs, waits=found.waits
        )
    )


def run_in_rounds(runs: Runs) -> InRounds | None:
    """Runs a test once for each kind of worker; None where no run stands for all executions. Launches that run at the same time
    have parameters of their own, so their rounds are not alike."""
    if len(runs.test.launches) > 1 and all_beside(runs.test):
        return None
    with limited(_LONGEST):
        return _with_workers(runs)


def _with_workers(runs: Runs) -> InRounds | None:
    for width, worker in ((0, "CTA"), (WARP, "warp"), (1, "thread")):
        found = _run(runs, worker, partial(Persistent, width=width), [])
        found = found or _carrying(runs, worker, width)
        if found is not None:
            return found
    return None


def _carrying(runs: Runs, worker: str, width: int) -> InRounds | None:
    """Runs a test again, where rounds may carry something along, or begin otherwise by their number in their worker: what that
    is, and whether they do."""
    along, kinds = CarriedAlong(), [RoundKinds(leading=LEADING[0]) for _ in runs.test.launches]
    if _run(runs, worker, partial(Scouting, width=width, along=along), kinds) is None:
        return None
    if along.numbered or along.places:
        others = CarriedAlong(along.registers - along.numbered, along.shared)
        found = _numbered(runs, worker, partial(CarryingRounds, width=width, along=others))
        if found is not None:
            return found._replace(carries=bool(others.registers or others.shared))
    if along.places or not (along.registers or along.shared):
        return None
    found = _run(runs, worker, partial(CarryingRounds, width=width, along=along), [])
    return None if found is None else found._replace(carries=True)


def _numbered(runs: Runs, worker: str, watcher: Callable[..., Persistent]) -> InRounds | None:
    """Runs a test until each ticket was taken in rounds of each kind."""
    kinds = [RoundKinds(numbered=True) for _ in runs.test.launches]
    before: InRounds | None = None
    for turn, leading in enumerate(LEADING, 1):
        for one in kinds:
            one.run_begins(leading)
        found = _run(runs, worker, watcher, kinds)
        if found is None or (before is not None and found.state != before.state):
            return None
        if before is not None:
            found = found._replace(differing=found.differing | before.differing)
        if all(one.covered() for one in kinds):
            return found._replace(runs=turn) if all(one.apart() for one in kinds) else None
        before = found
    return None


def _run(runs: Runs, worker: str, watcher: Callable[..., Persistent], kinds: Sequence[RoundKinds]) -> InRounds | None:
    """Runs a test with workers of one kind. `kinds`: what is known of the rounds of each launch."""
    watchers: list[Persistent] = []
    found = NamedSegments()

    def watch(launch: Launch, _: ExecutableModule) -> Watchers:
        def single() -> Persistent:
            if watchers and _spreads(watchers[-1]):
                raise Stopped(Open("order"))  # of what a later launch finds nothing is known
            found.note(runs.devices[launch.loaded].memory)
            known = kinds[len(watchers)] if kinds else RoundKinds()
            watchers.append(watcher(prod(launch.block), kinds=known))
            if watchers[-1].size % watchers[-1].width:
                raise Stopped(Open("order"))
            return watchers[-1]

        return Watchers(None, single)

    try:
        state = runs.run(None, limit=LIMIT, watch=watch, progress=in_time, placed=found.place)
        for one in watchers:
            one.settle()
    except (Stopped, KernelError, UsageError):
        return None
    counters = [(number, w.counter) for number, w in enumerate(watchers) if w.counter is not None]
    if not counters:
        return None
    last = watchers[-1]
    differing = (
        found.spread_over(runs.test, last.spread, last.stored.bytes_of)
        if isinstance(last, CarryingRounds)
        else frozenset()
    )
    accesses, waits = sum(w.accesses + w.between.accesses for w in watchers), sum(w.between.waits for w in watchers)
    return InRounds(state, accesses, counters, worker, differing=differing, waits=waits)


def _spreads(watcher: Persistent) -> bool:
    """A launch has ended: whether it leaves something that other executions may have something else in the place of."""
    if not isinstance(watcher, CarryingRounds):
        return False
    watcher.settle()
    return bool(watcher.spread) or watcher.lasting

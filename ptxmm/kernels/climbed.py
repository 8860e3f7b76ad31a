"""Kernel tests decided by runs of threads that climb: whoever comes last goes on (`axioms.dynamic.tickets.climbing`)."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from axioms.dynamic.core.findings import Open, Stopped, in_time
from axioms.dynamic.tickets.climbing import BEHIND, Climbing, may_climb
from ptxcore.clock import OutOfTime, limited
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxcore.records import NamedTuple
from ptxmm.kernels.runs import FinalValues, Runs, Watchers, all_beside
from ptxmm.kernels.several import LIMIT, FinalStates
from ptxmm.words import climbs as words
from ptxmm.words import whole as told

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from axioms.dynamic.tickets.climbing import Climb
    from ptxcore.machine.lower.ops import ExecutableModule
    from ptxmm.kernels.launch import Launch
    from ptxmm.kernels.places import Places
    from ptxmm.result import Result

#: Seconds that the runs may take.
_LONGEST = 20.0
#: Runs at most: as many as legs end at one counter.
_MOST_RUNS = 16


class Climbed(NamedTuple):
    """The final values of all executions; how many runs show that, of how many accesses each; and who watched one of them."""

    state: FinalValues
    runs: int
    accesses: int
    watchers: Sequence[Climbing]


def decide_by_climbs(
    runs: Runs,
    result: Result,
    places: Places,
    tell: Callable[[FinalStates, Callable[[str, list[str]], str]], None],
) -> bool:
    """Answers the checks by runs in which other threads come last, where these stand for all executions; whether they do."""
    try:
        with limited(_LONGEST):
            found = run_climbs(runs, higher=True)
    except OutOfTime:
        return False
    if found is None:
        return False
    test = runs.test
    tell(FinalStates([found.state], found.runs, found.accesses, beyond=False), told.of_tickets)
    counters = [(number, counter) for number, w in enumerate(found.watchers) for counter in w.counters.values()]
    number, first = counters[0]
    place = str(places.of(number, first.party.op, runs.program_of(number)))
    threads = sum(prod(launch.grid) * prod(launch.block) for launch in test.launches)
    result.notes.append(words.by_climbs(found.runs, threads, found.accesses, len(counters), place))
    return True


def run_climbs(runs: Runs, *, higher: bool = False) -> Climbed | None:
    """Runs a test as often as legs end at one counter, each time with other ones last; None where that does not stand for all
    executions. `higher`: nor where nobody comes from one counter to another one, which several runs decide as well."""
    if len(runs.test.launches) > 1 and all_beside(runs.test):
        return None
    codes = [runs.devices[one.loaded].program.functions.get(one.entry) for one in runs.test.launches]
    if higher and not any(code is not None and may_climb(code) for code in codes):
        return None
    first = _run(runs, 0, [])
    if first is None:
        return None
    state, watchers, climbs = first
    count = max((len(climb.legs) for of in climbs for climb in of.values()), default=0)
    climbed = any(leg[0] == BEHIND for of in climbs for climb in of.values() for leg in climb.legs)
    if not 0 < count <= _MOST_RUNS or (higher and not climbed):
        return None
    seen = [{address: {climb.last} for address, climb in of.items()} for of in climbs]
    for turn in range(1, count):
        other = _run(runs, turn, climbs)
        if other is None or other[0] != state or not _are_alike(climbs, other[2]):
            return None
        for lasts, of in zip(seen, other[2], strict=True):
            for address, climb in of.items():
                lasts[address].add(climb.last)
    every = all(
        lasts[address] == set(climb.legs)
        for lasts, of in zip(seen, climbs, strict=True)
        for address, climb in of.items()
    )
    return Climbed(state, count, sum(w.accesses for w in watchers), watchers) if every else None


def _are_alike(ones: Sequence[Mapping[int, Climb]], others: Sequence[Mapping[int, Climb]]) -> bool:
    """Whether two runs have the same legs at the same counters, and whoever comes last goes on alike."""
    return len(ones) == len(others) and all(
        one.keys() == other.keys() and all(climb.goes_on_as(other[address]) for address, climb in one.items())
        for one, other in zip(ones, others, strict=True)
    )


def _run(
    runs: Runs, turn: int, known: Sequence[Mapping[int, Climb]]
) -> tuple[FinalValues, list[Climbing], list[dict[int, Climb]]] | None:
    """A run in which legs come last by turns; None where something is open."""
    watchers: list[Climbing] = []

    def watch(launch: Launch, _: ExecutableModule) -> Watchers:
        def single() -> Climbing:
            number = len(watchers)
            watchers.append(Climbing(prod(launch.block), turn, known[number] if number < len(known) else {}))
            return watchers[-1]

        return Watchers(None, single)

    try:
        state = runs.run(None, limit=LIMIT, watch=watch, progress=in_time)
        climbs = [watcher.climbs() for watcher in watchers]
    except Stopped as stopped:
        if stopped.why == Open("time"):
            raise OutOfTime from None
        return None
    except (KernelError, UsageError):
        return None
    return state, watchers, climbs

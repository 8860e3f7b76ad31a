"""Kernel tests decided by one run up to the ways of searches (`axioms.dynamic.searches.searching`)."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from axioms.dynamic.core.accesses import scope_of
from axioms.dynamic.core.findings import Open, Party, Stopped, in_time
from axioms.dynamic.searches.search_cells import EarlierBytes
from axioms.dynamic.searches.searching import LeftByLaunches, Searching
from ptxcore.clock import limited
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxcore.machine.run.memory import Segment
from ptxcore.records import NamedTuple
from ptxmm.kernels.named_segments import NamedSegments
from ptxmm.kernels.runs import FinalValues, Runs, Watchers
from ptxmm.kernels.several import LIMIT, FinalStates
from ptxmm.kernels.whole_answers import tell_all
from ptxmm.words import whole as told

if TYPE_CHECKING:
    from ptxcore.machine.lower.ops import ExecutableModule
    from ptxmm.kernels.launch import Launch
    from ptxmm.kernels.places import Places
    from ptxmm.result import Result

#: Seconds that the runs may take, and how often more instructions may be found to begin searches.
_LONGEST, _MOST_RUNS = 30.0, 12
#: Instructions that begin searches where they are strong; what these may leave, others may find, and search from
#: there on.
_BEGIN = frozenset(("atom", "red", "ld", "st"))


class SearchedLaunches(NamedTuple):
    """The final values of the run; what may have others in other executions; who watched its launches."""

    state: FinalValues
    differing: frozenset[str]
    watchers: list[Searching]


def decide_by_searches(runs: Runs, result: Result, places: Places, begins: Party | None) -> bool:
    """Answers all checks by one run up to the ways of its searches, the first of which begins at an instruction; whether it
    stands for all executions so."""
    if begins is None or begins.op.use.form.mnemonic not in _BEGIN or not scope_of(begins.op.use):
        return False
    with limited(_LONGEST):
        found = run_with_searches(runs, begins)
    if found is None:
        return False
    accesses = sum(w.accesses for w in found.watchers)
    tell_all(
        runs.test,
        result,
        FinalStates([found.state], 1, accesses, beyond=False, differing=found.differing),
        told.of_searches,
    )
    threads = sum(prod(launch.grid) * prod(launch.block) for launch in runs.test.launches)
    number, party = next((i, w.starts[0].party) for i, w in enumerate(found.watchers) if w.starts)
    spot = str(places.of(number, party.op, runs.program_of(number)))
    searches, nodes = (sum(getattr(w, name) for w in found.watchers) for name in ("searches", "nodes"))
    result.notes.append(told.searched(threads, accesses, searches, nodes, spot))
    return True


def run_with_searches(runs: Runs, *begins: Party) -> SearchedLaunches | None:
    """Runs a test, with searches from more and more instructions on; None where that does not stand for all executions."""
    launches = runs.test.launches
    apart = len({launch.queue for launch in launches}) > 1 or len({launch.loaded for launch in launches}) > 1
    if apart or any(launch.after for launch in launches):
        return None
    searched = frozenset(id(party.op.instruction) for party in begins)
    for _ in range(_MOST_RUNS):
        found = _run(runs, searched)
        if isinstance(found, SearchedLaunches):
            return found if any(w.starts for w in found.watchers) else None
        if found.party is None or found.what not in ("order", "unordered"):
            return None
        more = searched | {id(found.party.op.instruction)}
        if more == searched:
            return None
        searched = more
    return None


def run_from_anywhere(runs: Runs) -> SearchedLaunches | None:
    """The same, from each atomic operation on that gives something."""
    ops = [op for device in runs.devices.values() for code in device.program.functions.values() for op in code.ops]
    begins = [Party(0, op) for op in ops if op.use.form.mnemonic == "atom"]
    return run_with_searches(runs, *begins)


class _LeftInBuffers:
    """What launches leave: of buffers that the one that begins does not have, what those before it have left there."""

    def __init__(self, buffers: NamedSegments) -> None:
        self.buffers = buffers
        self.aside: dict[tuple[str, int], EarlierBytes] = {}

    def moved(self, before: Searching) -> LeftByLaunches:
        """The same bytes where buffers lie in the launch that begins. Raises Stopped where some are of no buffer."""
        self.ends(before)
        places = {}
        for at, place in before.settle().places.items():
            named = self.buffers.named(at)
            if named is None:
                raise Stopped(Open("order"))
            self.aside[named] = place
        for named in list(self.aside):
            here = self.buffers.at(*named)
            if here is not None:
                places[here] = self.aside.pop(named)
        return LeftByLaunches(places)

    def ends(self, launch: Searching) -> None:
        """A launch is over that has not had what is aside: its searches come before those of all that launches have left."""
        self.aside = {at: place._replace(by=place.by << launch.searches) for at, place in self.aside.items()}

    def spread(self) -> list[tuple[Segment, int, int]]:
        """What the last launch did not have, and may be something else in the end."""
        segments = self.buffers.segments
        return [(segments[name], at, at + place.size) for (name, at), place in self.aside.items()]


def _run(runs: Runs, searched: frozenset[int]) -> SearchedLaunches | Open:
    watchers: list[Searching] = []
    buffers = NamedSegments()
    left, aside = [LeftByLaunches({})], _LeftInBuffers(buffers)

    def watch(launch: Launch, _: ExecutableModule) -> Watchers:
        memory = runs.devices[launch.loaded].memory

        def single() -> Searching:
            if watchers:
                left.append(aside.moved(watchers[-1]))
            buffers.note(memory)
            watchers.append(Searching(prod(launch.block), searched, left[-1]))
            return watchers[-1]

        return Watchers(None, single)

    try:
        state = runs.run(None, limit=LIMIT, watch=watch, progress=in_time, placed=buffers.place)
        watchers[-1].settle()
    except Stopped as stopped:
        return stopped.why if isinstance(stopped.why, Open) else Open("race")
    except (KernelError, UsageError):
        return Open("error")
    return SearchedLaunches(state, buffers.spread_over(runs.test, [*watchers[-1].spread, *aside.spread()]), watchers)

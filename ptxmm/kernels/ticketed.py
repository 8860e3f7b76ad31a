"""Kernel tests decided by one run up to the order in which threads take tickets (`axioms.dynamic.tickets.tickets`)."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from axioms.dynamic.core.findings import Open, Stopped, in_time
from axioms.dynamic.tickets.handing import Handing
from axioms.dynamic.tickets.holders import Taking
from ptxcore.clock import limited
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxcore.machine.run.memory import Segment
from ptxcore.records import NamedTuple
from ptxmm.kernels.expressions import TYPES
from ptxmm.kernels.launch import Buffer
from ptxmm.kernels.named_segments import NamedSegments
from ptxmm.kernels.runs import FinalValues, Runs, Watchers, open_elements, truth
from ptxmm.kernels.several import LIMIT, FinalStates
from ptxmm.words import whole as told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from axioms.dynamic.core.findings import Party
    from axioms.dynamic.tickets.ticket_accesses import Ticket
    from axioms.dynamic.tickets.walks import ListBytes
    from ptxcore.machine.lower.ops import ExecutableModule
    from ptxmm.kernels.launch import Launch
    from ptxmm.kernels.places import Places
    from ptxmm.kernels.symmetric import Numbers
    from ptxmm.kernels.test import Check, KernelTest
    from ptxmm.result import Result

#: Seconds that the run may take; and those that other orders have where it leaves a check open.
_LONGEST, MORE = 20.0, 10.0


class TakenTickets(NamedTuple):
    """So many results of additions to a counter are used, or of claims, by the first instruction that does in the launch of a
    number. `what`: `ticket` or `claim`."""

    what: str
    counter: str
    tickets: int
    launch: int
    party: Party


class Ticketed(NamedTuple):
    """The final values of the run; what may have others in other executions; how many accesses there were, and how often
    something was put into a flag at the place of a ticket; how often threads walk through lists; and what stands at the places
    of tickets in some order."""

    state: FinalValues
    differing: frozenset[str]
    accesses: int
    taken: list[TakenTickets]
    handovers: int
    walks: int = 0
    orders: tuple[Numbers, ...] = ()


def leaves_open(
    check: Check,
    test: KernelTest,
    state: FinalValues,
    differing: frozenset[str],
    orders: tuple[Numbers, ...] = (),
) -> bool:
    """Whether a run does not answer a check, since it is about what may be something else."""
    shown = truth(test, check, state) is (check.kind == "exists")
    return not shown and bool(open_elements(test, check, state, differing, orders))


def decide_by_tickets(
    runs: Runs,
    result: Result,
    places: Places,
    by_orders: Callable[..., tuple[int, Open] | None],
    tell: Callable[[FinalStates, Callable[[str, list[str]], str]], None],
    by_rounds: Callable[[], tuple[int, Open] | None],
) -> tuple[int, Open] | None:
    """Answers the checks by one run up to the order of its tickets, where it is one that stands for all executions so, and
    otherwise by rounds. What the run leaves open, other orders may show to be wrong, or decide."""
    test = runs.test
    with limited(_LONGEST):
        found = run_with_tickets(runs)
    if found is None:
        return by_rounds()
    if any(leaves_open(check, test, found.state, found.differing, found.orders) for check in test.checks):
        with limited(MORE):
            if by_orders(raceless=True) is None:
                return None
    one = FinalStates([found.state], 1, found.accesses, beyond=False, differing=found.differing, orders=found.orders)
    tell(one, told.of_tickets)
    threads = sum(prod(launch.grid) * prod(launch.block) for launch in test.launches)
    said = [_said(runs, places, taken) for taken in found.taken]
    result.notes.append(told.ticketed(threads, found.accesses, said, found.handovers, found.walks))
    if any(_in_any_order(check, test, found) for check in test.checks):
        result.notes.append(told.SAME_IN_ANY_ORDER)
    return None


def _in_any_order(check: Check, test: KernelTest, found: Ticketed) -> bool:
    """Whether a check is about what may stand in another order, and says the same of each."""
    about = not check.elements().isdisjoint(found.differing)
    return about and not open_elements(test, check, found.state, found.differing, found.orders)


def _said(runs: Runs, places: Places, taken: TakenTickets) -> tuple[str, str, int, str]:
    program = runs.program_of(taken.launch)
    return taken.what, taken.counter, taken.tickets, str(places.of(taken.launch, taken.party.op, program))


def run_with_tickets(runs: Runs) -> Ticketed | None:
    """Runs a test until it is known by which tickets threads hand over to each other; None where that does not stand for all
    executions."""
    taking = Taking()
    learned: set[int] = set()
    looks: frozenset[int] = frozenset()
    while True:
        known = taking.known()
        found = _run(runs, taking, looks, learned)
        if found is not None:
            return found
        if taking.known() == known:
            if learned <= looks:
                return None
            looks = looks | learned


def _run(runs: Runs, taking: Taking, looks: frozenset[int], learned: set[int]) -> Ticketed | None:
    watchers: list[Handing] = []
    buffers = NamedSegments()
    differing = set[str]()

    def ended() -> None:
        slots, carried = watchers[-1].slots, watchers[-1].carried
        differing.update(buffers.spread_over(runs.test, slots.spread, carried.bytes_of))

    def watch(launch: Launch, _: ExecutableModule) -> Watchers:
        memory = runs.devices[launch.loaded].memory

        def single() -> Handing:
            lists: list[ListBytes] = []
            if watchers:
                watchers[-1].settle()
                ended()
                left = watchers[-1].left()
                moved = None if left is None else [one.moved(buffers.moved) for one in left]
                if moved is None or None in moved:
                    raise Stopped(Open("order"))  # of what a later launch finds nothing is known
                lists = [one for one in moved if one is not None]
            buffers.note(memory)
            watchers.append(Handing(prod(launch.block), taking, looks, lists))
            watchers[-1].learned = learned
            return watchers[-1]

        return Watchers(None, single)

    try:
        state = runs.run(None, limit=LIMIT, watch=watch, progress=in_time, placed=buffers.place)
        if watchers:
            watchers[-1].settle()
    except (Stopped, KernelError, UsageError):
        return None
    if not any(watcher.slots.tickets or watcher.slots.claims for watcher in watchers):
        return None
    ended()
    walks = sum(w.walks for w in watchers)
    accesses, handovers = sum(w.accesses for w in watchers), sum(w.handovers for w in watchers)
    taken = list(_taken(watchers, buffers.segments))
    return Ticketed(
        state, frozenset(differing), accesses, taken, handovers, walks, _orders(runs.test, watchers[-1], buffers)
    )


def _orders(test: KernelTest, last: Handing, buffers: NamedSegments) -> tuple[Numbers, ...]:
    """The elements of which is known what stands there when the last launch has ended, in some order: those that one ticket
    fills, by number."""
    if last.turns or last.walks:
        return ()
    types = {p.name: TYPES[p.type].width // 8 for p in test.parameters if isinstance(p, Buffer)}
    names = {id(segment): name for name, segment in buffers.segments.items()}
    found: dict[tuple[tuple[Ticket, ...], ...], list[tuple[str, ...]]] = {}
    for bag in last.slots.bags:
        name = names.get(id(bag.segment), "")
        known = all(last.carried.found(bag.segment, first, bag.size) is None for first in bag.places)
        if known and types.get(name) == bag.size and bag.places[0] % bag.size == 0 == bag.places[-1] % bag.size:
            found.setdefault(bag.by, []).append(tuple(f"{name}[{first // bag.size}]" for first in bag.places))
    return tuple(tuple(zip(*each, strict=True)) for each in found.values())


def _taken(watchers: list[Handing], segments: dict[str, Segment]) -> Iterator[TakenTickets]:
    """The counters of a run, those of one instruction together."""
    names = {id(segment): name for name, segment in segments.items()}
    found: dict[tuple[int, int], TakenTickets] = {}
    for launch, watcher in enumerate(watchers):
        counters = dict.fromkeys(ticket.counter for ticket in watcher.slots.tickets.values())
        of = [("ticket", counter.segment, counter.taken) for counter in counters]
        places = dict.fromkeys(claim.place for claim in watcher.slots.claims.values())
        of += [("claim", place.segment, [claim.party for claim in place.claims]) for place in places]
        for what, segment, taken in of:
            if taken:  # the run may have none of them
                key = launch, id(taken[0].op)
                before = found[key].tickets if key in found else 0
                name = names.get(id(segment), segment.name)
                found[key] = TakenTickets(what, name, before + len(taken), launch, taken[0])
    yield from found.values()

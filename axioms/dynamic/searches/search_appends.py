"""Appending in searches (`searches.searches`): who has found something takes a ticket, and stores at its place.

    if (keys[s] == k) { at = atomicAdd(&n, 1); out[at] = i; }

Whatever ways threads go, additions to one counter take intervals of numbers that have none in common, and all of them
together no more than the ways add that add most. So what is stored by different tickets lies in places apart, if each lies in
that of its own (`tickets.slots`). Where all ways of each search add the same, the counter holds one number in the end.
docs/whole-launches/searches.md (Searches) has the argument.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from math import gcd

from axioms.dynamic.core.clocks import Clocks
from axioms.dynamic.core.findings import Party, step
from axioms.dynamic.searches.search_cells import SearchBag, SearchedBytes
from axioms.dynamic.searches.search_claims import CertainClaims
from axioms.dynamic.searches.search_nodes import OpenSearch, ReachedBytes, SearchAppend, SearchNode, TicketPlace
from axioms.dynamic.searches.searches import Searches
from axioms.dynamic.tickets.slots import Slots
from axioms.dynamic.tickets.ticket_accesses import Counter, Noted, Ticket, TicketAccess, Way
from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.run.memory import Segment
from ptxcore.parts import strongly_connected
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Term, evaluate, evaluate_each, substitute, symbol

#: Places of tickets that are looked after, at most.
_MOST_PLACES = 1 << 16


class AddedSums(NamedTuple):
    """The least and the most that a search adds to a cell, on any way from a node on."""

    least: int
    most: int


_Sums = dict[SearchedBytes, AddedSums]
_NOTHING = AddedSums(0, 0)


def settle_counters(searches: Searches, claims: CertainClaims) -> dict[SearchedBytes, int]:
    """The most that all searches together add to cells; those to which they add one sum, whatever ways they go, are settled.
    Each round is known to write nothing (`searches.search_ends`)."""
    sums = _sums_from(searches.nodes)
    least: dict[SearchedBytes, int] = {}
    most: dict[SearchedBytes, int] = {}
    for node in searches.begins:
        of = sums[node]
        if of is None:
            raise OpenSearch(node.start.op)
        for cell, (low, high) in of.items():
            least[cell], most[cell] = least.get(cell, 0) + low, most.get(cell, 0) + high
    for cell, total in most.items():
        if cell.summed and len(cell.starts) == 1 and _same(least[cell], total):
            cell.settled = True
    return {**most, **{cell: min(total, most[cell]) for cell, total in claims.most.items()}}


def _same(least: int, most: int) -> bool:
    """Whether all ways add as much."""
    return least == most


def _marked(cell: SearchedBytes, factor: int) -> Hashable:
    """What places of tickets have in common of which each is one thread's."""
    return cell, factor


def _sums_from(nodes: Iterable[SearchNode]) -> dict[SearchNode, _Sums | None]:
    """What is added on the ways from each node on; None where none leads to an end."""
    found: dict[SearchNode, _Sums | None] = {}
    for part in strongly_connected(nodes, lambda node: [edge.to for edge in node.edges if edge.to is not None]):
        step()
        within = set(part)
        ways: list[_Sums] = []
        for edge in (edge for node in part for edge in node.edges if edge.to not in within):
            behind = {} if edge.to is None else found[edge.to]
            if behind is None:
                continue
            way = dict(behind)
            for cell, addend in edge.added:
                low, high = way.get(cell, _NOTHING)
                way[cell] = AddedSums(low + addend, high + addend)
            ways.append(way)
        joined = _joined(ways)
        found.update(dict.fromkeys(part, joined))
    return found


def _joined(ways: list[_Sums]) -> _Sums | None:
    if not ways:
        return None
    if len(ways) == 1:
        return ways[0]
    return {
        cell: AddedSums(min(w.get(cell, _NOTHING).least for w in ways), max(w.get(cell, _NOTHING).most for w in ways))
        for cell in {cell for way in ways for cell in way}
    }


def places_of_tickets(
    searches: Searches, totals: dict[SearchedBytes, int], bags: Mapping[TicketPlace, frozenset[int]]
) -> Iterator[tuple[ReachedBytes, int]]:
    """What may be stored at the places of tickets, as accesses of searches, with who may be there, as bits: each of these bytes
    is one thread's, in each execution. Raises OpenSearch where that is not so. `bags`: what there is certain of."""
    by: dict[SearchAppend, int] = {}
    units: dict[SearchedBytes, int] = {}
    for node in searches.nodes:
        for append in node.appends:
            by[append] = by.get(append, 0) | node.by
        for cell, addend in (added for edge in node.edges for added in edge.added):
            units[cell] = gcd(units.get(cell, 0), addend)  # also of those who store nothing
    if not by:
        return
    thread, slots = searches.starts[0].thread, Slots(Clocks(1))
    counters: dict[SearchedBytes, Counter] = {}
    placed: list[SearchAppend] = []
    for append in by:
        party, segment = Party(0, thread.launch.compiled.ops[append.op]), thread.globals[append.base >> GLOBAL_BITS]
        noted = _noted(append, party, segment, slots, counters, totals, units)
        if noted is not None:
            slots.noted.append(noted)
            placed.append(append)
    problem = slots.problem()
    if problem is not None:
        raise OpenSearch(problem.op)
    held: dict[SearchedBytes, set[TicketPlace]] = {}
    numbers: dict[TicketPlace, int] = {}
    for append, noted in zip(placed, slots.noted, strict=True):
        who = by[append]
        places = _marked(append.cell, slots.factor_of(noted))
        mine = TicketPlace(append.cell, append.addend, append.term, append.beyond, append.size, append.base)
        found = list(slots.places(noted))
        if noted.way is None:
            numbers[mine] = len(found)
        for first in found:
            cell = searches.cell_of_places(who, noted.segment, first, append.size, places)
            held.setdefault(cell, set()).add(mine)
            yield ReachedBytes("W", "", cell, frozenset(), append.op), who
    made = {of: SearchBag(values, numbers[of], of.cell.settled) for of, values in bags.items() if of in numbers}
    for cell, of_places in held.items():
        bag = made.get(next(iter(of_places))) if len(of_places) == 1 else None
        if bag is not None:
            searches.holds(cell, bag)


def _noted(
    append: SearchAppend,
    party: Party,
    segment: Segment,
    slots: Slots,
    counters: dict[SearchedBytes, Counter],
    totals: dict[SearchedBytes, int],
    units: dict[SearchedBytes, int],
) -> Noted | None:
    """A store at the places of tickets; None where no ticket leads there."""
    cell = append.cell
    if not cell.summed or len(cell.starts) != 1 or cell.carried:
        raise OpenSearch(party.op)
    counter = counters.get(cell)
    if counter is None:
        counter = counters[cell] = Counter(cell.segment, cell.first, cell.size, min(cell.starts), totals[cell])
        counter.taken.append(party)
        counter.unit = units[cell]
    own = symbol(("ticket of", id(cell), append.addend, append.symbol.width), append.symbol.width)
    term = substitute(append.term, {append.symbol: own})
    if not (isinstance(own, Term) and isinstance(term, Term)):
        raise OpenSearch(party.op)
    if own not in slots.tickets:
        slots.tickets[own] = Ticket(own, counter, append.addend, counter.start)
    limits: tuple[int, int] | None = None
    numbers = range(counter.start, counter.last(slots.tickets[own]) + 1)
    if append.guards and len(numbers) <= _MOST_PLACES:
        among = _leading_there(append, numbers)
        if not among:
            return None
        limits = among[0], among[-1]
    number = evaluate(term, {own: limits[0] if limits else counter.start}) + append.beyond
    noted = Noted("W", "", segment, number - append.base, append.size, 0, 0, {})
    noted.op = party.op
    noted.placed = TicketAccess(term, append.beyond, number, append.base, append.whole, party)
    noted.way = Way(limits={own: limits}) if limits else None
    return noted


def _leading_there(append: SearchAppend, numbers: Sequence[int]) -> list[int]:
    """The numbers that a ticket may be where an access is executed, by what its thread has asked before."""
    among = list(numbers)
    for guard, truth in append.guards:
        truths = evaluate_each(guard, append.symbol, among)
        among = [number for number, one in zip(among, truths, strict=True) if one == truth]
    return among


__all__ = ["places_of_tickets", "settle_counters"]

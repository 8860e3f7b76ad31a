"""What stands at the places of tickets when a launch has ended: the same in each execution, in an order of its own.

The tickets of a counter are intervals without gaps, in any order. Where whoever takes one stores at each number of it, once, a
value that hangs on no order, an execution has the values of the run, each at another place: a *bag*. Two bags in which the
same ticket stores at the places of one number are in one order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from axioms.dynamic.tickets.ticket_accesses import Noted, Ticket
from ptxcore.machine.run.memory import Segment
from ptxcore.records import NamedTuple

#: An access by tickets, how many bytes it is beside their multiple, and these, the outer one first.
Member = tuple[Noted, int, tuple[Ticket, ...]]


class Bag(NamedTuple):
    """Places of so many bytes, by number: the first byte of each, and who stores there in the run."""

    segment: Segment
    size: int
    places: tuple[int, ...]
    by: tuple[tuple[Ticket, ...], ...]


def bags(factor: int, members: Sequence[Member], others: Iterable[tuple[int, int]]) -> Iterator[Bag]:
    """The bags among the accesses of a class that has places of its own. `others`: bytes to which anything else in the segment
    may write, from a first one to an end."""
    stores = [(noted, tickets) for noted, _, tickets in members if noted.kind == "W"]
    if any(noted.way is not None or noted.in_errand for noted, _ in stores):
        return  # who has which ticket decides whether it stores
    apart = abs(factor)
    columns: dict[int, list[tuple[Noted, tuple[Ticket, ...]]]] = {}
    for noted, tickets in stores:
        columns.setdefault(noted.first % apart, []).append((noted, tickets))
    taken = [byte for column in columns.values() for byte in _bytes_of(column, apart)]
    if len(taken) != len(set(taken)):
        return
    low = min(noted.first for noted, _ in stores)
    high = max(noted.first + noted.size for noted, _ in stores)
    if any(first < high and low < end for first, end in others):
        return
    for column in columns.values():
        column.sort(key=lambda one: one[0].first, reverse=factor < 0)
        places = tuple(noted.first for noted, _ in column)
        by = tuple(tickets for _, tickets in column)
        numbers = range(places[0], places[0] + factor * len(places), factor)
        if len(places) == by[0][0].counter.total and places == tuple(numbers):
            yield Bag(column[0][0].segment, column[0][0].size, places, by)


def _bytes_of(column: Sequence[tuple[Noted, tuple[Ticket, ...]]], apart: int) -> Iterable[int]:
    """Which bytes of each number stores of one column write; one of them twice where they are not alike."""
    sizes = {noted.size for noted, _ in column}
    first = column[0][0].first
    return [byte % apart for size in sizes for byte in range(first, first + size)]


__all__ = ["Bag", "Member", "bags"]

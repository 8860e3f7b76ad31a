"""Multimem addresses of a thread that is explored: the locations behind them."""

from __future__ import annotations

from collections.abc import Mapping

from ptxcore.machine.ir.dependencies import Dependencies, union
from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.records import NamedTuple
from ptxcore.values.spread import spread
from ptxcore.values.terms import Value, add, disj, eq, extract, ite

#: Where the replicas of multimem objects begin, by the high bits of their addresses.
KnownReplicas = Mapping[int, tuple[int, ...]]


class MultimemPlaces(NamedTuple):
    """The locations behind an address, and the condition under which it is a multimem address."""

    inside: Value
    addresses: list[Value]


def places(address: Value, known: KnownReplicas) -> MultimemPlaces | None:
    """Where an address leads to; None where it may be one of several, of different numbers of locations."""
    windows = _windows(address, known)
    number = extract(address, 63, GLOBAL_BITS)
    inside: Value = 0
    for window in windows:
        inside = disj(inside, eq(number, window))
    counts = {len(known[window]) for window in windows}
    if len(counts) > 1:
        return None
    if not windows:
        return MultimemPlaces(0, [address])
    *others, last = windows
    found: list[Value] = []
    for i in range(len(known[last])):
        place = _moved(address, last, known[last][i])
        for window in others:
            place = ite(eq(number, window), _moved(address, window, known[window][i]), place, 64)
        found.append(place)
    return MultimemPlaces(inside, found)


def _moved(address: Value, window: int, base: int) -> Value:
    return add(address, base - (window << GLOBAL_BITS), 64)


def _windows(address: Value, known: KnownReplicas) -> list[int]:
    """Those that an address may lie in."""
    low, high, _ = spread(address)
    if low >> GLOBAL_BITS == high >> GLOBAL_BITS:
        window = low >> GLOBAL_BITS & ((1 << GLOBAL_BITS) - 1)
        return [window] if window in known else []
    return list(known)


def of_targets(elements: list[list[Dependencies]], targets: int) -> list[Dependencies]:
    """What each of so many destinations depends on, where each location had a list of elements."""
    made: list[Dependencies] = [{} for _ in range(targets)]
    for one in elements:
        size = len(one) // targets
        for i, depends in enumerate(one):
            made[i // size] = union(made[i // size], depends)
    return made

"""Atomic read-modify-writes of many threads, in their order."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Threads at one place after which they are no longer taken in rounds, one of each place at a time.
_MOST_ROUNDS = 32


def modified(
    view: Any, places: Any, count: int, update: Any, operands: tuple[Any, ...], address: Any, rank: Any
) -> Any:
    """Applies `update(old, address, rank, *operands)`, which gives the new value and whether it is written, at places of
    memory. Gives what stood there before each, the new values, and which of them were written."""
    if type(places) is int:
        places = np.full(count, places)
    order = np.argsort(places, kind="stable")
    by_place = places[order]
    starts = np.concatenate(([True], by_place[1:] != by_place[:-1]))
    if starts.all():
        old = view[places]
        new, writes = _update(update, old, address, rank, operands)
        _write(view, places, new, writes)
        return old, new, writes
    if update.addend is not None:
        return _added(view, by_place, order, starts, np.broadcast_to(operands[update.addend], (count,)))
    first = np.flatnonzero(starts)
    turn = np.arange(count) - np.repeat(first, np.diff(np.append(first, count)))
    old, new = np.zeros(count, view.dtype), np.zeros(count, view.dtype)
    writes = np.zeros(count, np.bool_)
    rounds = int(turn.max()) + 1
    for i in range(min(rounds, _MOST_ROUNDS)):
        _at(view, places, order[turn == i], update, operands, address, rank, (old, new, writes))
    for thread in order[turn >= _MOST_ROUNDS].tolist() if rounds > _MOST_ROUNDS else ():
        before = old[thread] = view[places[thread]]
        now, wrote = update(before, *(_one(x, thread) for x in (address, rank, *operands)))
        new[thread], writes[thread] = now, wrote
        if wrote:
            view[places[thread]] = now
    return old, new, writes


def _one(value: Any, thread: int) -> Any:
    return value[thread] if value.ndim else value


def _update(update: Any, old: Any, address: Any, rank: Any, operands: tuple[Any, ...]) -> tuple[Any, Any]:
    new, writes = update(old, address, rank, *operands)
    return new, writes


def _write(view: Any, places: Any, new: Any, writes: Any) -> None:
    if writes.ndim:
        view[places[writes]] = new[writes] if new.ndim else new
    elif writes:
        view[places] = new


def _at(
    view: Any, places: Any, chosen: Any, update: Any, operands: tuple[Any, ...], address: Any, rank: Any, into: Any
) -> None:
    """One round: threads at different places."""
    given = [x[chosen] if x.ndim else x for x in (address, rank, *operands)]
    old = view[places[chosen]]
    new, writes = update(old, *given)
    _write(view, places[chosen], new, writes)
    for array, values in zip(into, (old, new, writes), strict=True):
        array[chosen] = values


def _added(view: Any, by_place: Any, order: Any, starts: Any, addends: Any) -> Any:
    """Sums of integers: each thread finds those of the threads before it."""
    ordered = addends[order]
    sums = np.cumsum(ordered, dtype=view.dtype)
    first = np.flatnonzero(starts)
    which = np.cumsum(starts) - 1
    before = sums - ordered
    before -= before[first][which]
    old = np.empty_like(sums)
    old_here = view[by_place] + before
    old[order] = old_here
    last = np.append(first[1:], len(order)) - 1
    new_here = old_here + ordered
    new = np.empty_like(sums)
    new[order] = new_here
    view[by_place[last]] = new_here[last]
    return old, new, np.bool_(True)

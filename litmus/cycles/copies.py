"""Accesses that asynchronous copies make. The other end of each copy is memory that nothing else accesses: a write copies from
a location that holds what it writes, and where a read copies to tells what it read.

| | a write of x copies | a read of x copies | the thread learns of the end by |
|---|---|---|---|
| `cp` | 4 bytes, global to shared | global to shared | `cp.async.wait_all` (`CpAsync`) |
| `bulk` | 16 bytes, shared to global | shared to global | `cp.async.bulk.wait_group 0` (`Bulk`) |
| `bulk` that tells an mbarrier object (`BulkMbar`) | 16 bytes, global to shared | global to shared | |
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from litmus.cycles.cycle import Event, Layout, Refused
from litmus.cycles.edges import COPIED
from litmus.test import Location
from ptxcore.syntax.tree import Address, Immediate, Name, Operand

_WAITS = {"cp": "CpAsync", "bulk": "Bulk"}
#: Bytes that a bulk copy copies at least, in words.
_WORDS = 4


def is_copy(event: Event) -> bool:
    """Whether an access is made by a copy."""
    return event.annotation.operation in _WAITS


def copied(layout: Layout) -> list[int]:
    """The events that copies make."""
    return [i for i, event in enumerate(layout.events) if is_copy(event)]


def _spaces(layout: Layout, i: int) -> tuple[str, str]:
    """The state spaces of the location that the copy of event `i` accesses, and of its other end."""
    event = layout.events[i]
    out = event.annotation.operation == "bulk" and layout.edges[i].kind not in COPIED
    source, target = ("shared", "global") if out else ("global", "shared")
    return (target, source) if event.direction == "W" else (source, target)


def spaces(layout: Layout) -> dict[int, str]:
    """The state spaces of the locations that copies access. Raises `Refused` where one copy needs another than the next."""
    found: dict[int, str] = {}
    for i in copied(layout):
        event = layout.events[i]
        own, _ = _spaces(layout, i)
        if found.setdefault(event.location, own) != own:
            raise Refused(
                i,
                "this copy needs its location in another state space than the copy before",
                "cp.async goes from global to shared memory, a bulk copy back, with BulkMbar as cp.async",
            )
    return found


def wide(layout: Layout) -> set[int]:
    """The locations of as many bytes as a bulk copy copies."""
    return {layout.events[i].location for i in copied(layout) if layout.events[i].annotation.operation == "bulk"}


def together(layout: Layout) -> list[tuple[int, int, str]]:
    """Pairs of threads that access one location in shared memory."""
    found = []
    for location in (n for n, space in spaces(layout).items() if space == "shared"):
        threads = sorted({event.thread for event in layout.events if event.location == location})
        found += [(threads[0], other, "cta") for other in threads[1:]]
    return found


def ends(layout: Layout) -> Iterator[Location]:
    """The other ends of copies."""
    for i in copied(layout):
        event = layout.events[i]
        _, space = _spaces(layout, i)
        value = event.value if event.direction == "W" else 0
        yield location(other_end(layout, i), space, event.annotation.operation == "bulk", value)


def location(name: str, space: str, wide: bool, value: int = 0) -> Location:
    """A location that a copy can access."""
    if not wide:
        return Location(name, space=space, initial=(value,))
    return Location(name, space=space, elements=_WORDS, initial=(value,) * _WORDS, align=4 * _WORDS)


def other_end(layout: Layout, i: int) -> str:
    """The name of the other end of the copy of event `i`."""
    return f"{'from' if layout.events[i].direction == 'W' else 'to'}{i}"


def issue(layout: Layout, i: int, address: Address) -> tuple[str, tuple[Operand, ...]]:
    """The instruction that makes the access of event `i`: its opcode and operands. One that tells an mbarrier object of its end
    lacks that as its last operand."""
    event = layout.events[i]
    other = Address(Name(other_end(layout, i)))
    cells = (address, other) if event.direction == "W" else (other, address)
    if event.annotation.operation == "cp":
        return "cp.async.ca.shared.global", (*cells, Immediate(4))
    if layout.edges[i].kind in COPIED:
        return "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", (*cells, Immediate(4 * _WORDS))
    return "cp.async.bulk.global.shared::cta.bulk_group", (*cells, Immediate(4 * _WORDS))


def wait(kind: str) -> list[tuple[str, tuple[Operand, ...]]]:
    """The instructions by which a thread waits for its copies."""
    if kind == "CpAsync":
        return [("cp.async.wait_all", ())]
    return [("cp.async.bulk.commit_group", ()), ("cp.async.bulk.wait_group", (Immediate(0),))]


def refuse(layout: Layout) -> None:
    """Raises `Refused` for copies of which there is no test: nothing would tell in which order they and other accesses of their
    thread come, no register has what they read."""
    if not copied(layout):
        return
    spaces(layout)
    for i, edge in enumerate(layout.edges):
        here, following = layout.events[i], layout.events[(i + 1) % len(layout.events)]
        if edge.kind == "Dp" and is_copy(here):
            raise Refused(
                i, "nothing depends on what a copy reads: it is in no register", "a wait for it, as CpAsyncdRW"
            )
        if edge.kind == "Dp" and edge.detail == "Data" and is_copy(following):
            raise Refused(i, "a copy writes what is in memory, and no data depends on a read", "as in DpAddrdW")
    places = {layout.events[i].location for i in copied(layout)}
    for i, event in enumerate(layout.events):
        if event.location in places and event.annotation.way:
            raise Refused(i, "a copy goes to its location by its own name only", "without .alias and .const")
    for events in layout.threads:
        for a, b in combinations(events, 2):
            if layout.events[a].location == layout.events[b].location:
                _refuse_unordered(layout, a, b)


def _refuse_unordered(layout: Layout, a: int, b: int) -> None:
    """Two accesses of a thread to one location."""
    between = {(layout.edges[i].kind, layout.edges[i].detail) for i in range(a, b)}
    first, second = (layout.events[i].annotation.operation for i in (a, b))
    if first in _WAITS and (_WAITS[first], "") not in between:
        raise Refused(
            a, "the thread accesses the same location again without waiting for its copy", f"as in {_WAITS[first]}s"
        )
    if second == "bulk" and first != "bulk" and ("Proxy", "async") not in between:
        raise Refused(
            b - 1,
            "a bulk copy goes through another proxy, and nothing orders it with this access",
            "as in Proxy.asyncs",
        )

"""Accesses that asynchronous copies make. The other end of each copy is memory that nothing else accesses: a write copies from
a location that holds what it writes, and where a read copies to tells what it read.

| | a write of x copies | a read of x copies | the thread learns of the end by |
|---|---|---|---|
| `cp` | 4 bytes, global to shared | global to shared | `cp.async.wait_all` (`CpAsync`) |
| `bulk` | 16 bytes, shared to global | shared to global | `cp.async.bulk.wait_group 0` (`Bulk`) |
| `reduce` | adds 1 to each of 4 words, shared to global | | the same (`BulkReduce`) |
| `bulk` that tells an mbarrier object (`BulkMbar`) | 16 bytes, global to shared | global to shared | |

A wait that leaves groups (`CpAsync.1`, `Bulk.1`) is for all but the last of them, and each copy of its thread is a group of its
own then; `Bulk.read` is for what copies read, not for what they write.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from litmus.cycles.annotations import COPIES
from litmus.cycles.cycle import CycleEvent, CycleLayout, RefusedCycle
from litmus.cycles.edges import COPIED, COPYING, REMOTE, WAITING, Edge
from litmus.test import Location
from ptxcore.syntax.tree import Address, Immediate, Name, Operand

_WAITS = {"cp": "CpAsync", "bulk": "Bulk", "reduce": "BulkReduce"}
#: What puts the copies so far into a group, for each operation.
_COMMITS = {"cp": "cp.async.commit_group", "bulk": "cp.async.bulk.commit_group", "reduce": "cp.async.bulk.commit_group"}
_READ = "read"
#: Bytes that a bulk copy copies at least, in words.
_WORDS = 4


def is_copy(event: CycleEvent) -> bool:
    """Whether an access is made by a copy."""
    return event.annotation.operation in _WAITS


def _is_wide(event: CycleEvent) -> bool:
    return event.annotation.operation in ("bulk", "reduce")


def copied(layout: CycleLayout) -> list[int]:
    """The events that copies make."""
    return [i for i, event in enumerate(layout.events) if is_copy(event)]


def _spaces(layout: CycleLayout, i: int) -> tuple[str, str]:
    """The state spaces of the location that the copy of event `i` accesses, and of its other end."""
    event = layout.events[i]
    if event.annotation.operation == "stasync":
        return "shared", ""
    out = event.annotation.operation != "cp" and layout.edges[i].kind not in COPIED
    source, target = ("shared", "global") if out else ("global", "shared")
    return (target, source) if event.direction == "W" else (source, target)


def handed(layout: CycleLayout) -> Iterator[tuple[int, int]]:
    """The events that such operations make, each with the thread that waits for it."""
    for t, events in enumerate(layout.threads):
        if layout.edges[events[-1]].kind in REMOTE:
            yield events[-1], (t + 1) % len(layout.threads)


def spaces(layout: CycleLayout) -> dict[int, str]:
    """The state spaces of the locations that copies access. Raises `RefusedCycle` where one copy needs another than the
    next."""
    found: dict[int, str] = {}
    for i, event in enumerate(layout.events):
        if event.annotation.operation not in COPIES:
            continue
        own, _ = _spaces(layout, i)
        if found.setdefault(event.location, own) != own:
            raise RefusedCycle(
                i,
                "this copy needs its location in another state space than the copy before",
                "cp.async goes from global to shared memory, a bulk copy back, with BulkMbar as cp.async",
            )
    return found


def wide(layout: CycleLayout) -> set[int]:
    """The locations of as many bytes as a bulk copy copies."""
    return {layout.events[i].location for i in copied(layout) if _is_wide(layout.events[i])}


def together(layout: CycleLayout) -> list[tuple[int, int, str]]:
    """Pairs of threads that access one location in shared memory, or wait for what is written there from elsewhere."""
    found = []
    waiting = dict(handed(layout))
    for location in (n for n, space in spaces(layout).items() if space == "shared"):
        there = [i for i, event in enumerate(layout.events) if event.location == location]
        threads = sorted({waiting.get(i, layout.events[i].thread) for i in there})
        if any(location == n for outcome in layout.outcomes for n, _ in outcome.finals):
            # Of memory of two CTAs, each with its own, no condition can tell the last value.
            threads = sorted({*threads, *(layout.events[i].thread for i in there)})
        found += [(threads[0], other, "cta") for other in threads[1:]]
    return found


def ends(layout: CycleLayout) -> Iterator[Location]:
    """The other ends of copies."""
    for i in copied(layout):
        event = layout.events[i]
        _, space = _spaces(layout, i)
        value = event.value if event.direction == "W" else 0
        if event.annotation.operation == "reduce":
            value = 1  # what it adds
        yield location(other_end(layout, i), space, _is_wide(event), value)


def location(name: str, space: str, wide: bool, value: int = 0) -> Location:
    """A location that a copy can access."""
    if not wide:
        return Location(name, space=space, initial=(value,))
    return Location(name, space=space, elements=_WORDS, initial=(value,) * _WORDS, align=4 * _WORDS)


def other_end(layout: CycleLayout, i: int) -> str:
    """The name of the other end of the copy of event `i`."""
    return f"{'from' if layout.events[i].direction == 'W' else 'to'}{i}"


def issue(layout: CycleLayout, i: int, address: Address) -> tuple[str, tuple[Operand, ...]]:
    """The instruction that makes the access of event `i`: its opcode and operands. One that tells an mbarrier object of its end
    lacks that as its last operand."""
    event = layout.events[i]
    other = Address(Name(other_end(layout, i)))
    cells = (address, other) if event.direction == "W" else (other, address)
    if event.annotation.operation == "cp":
        return "cp.async.ca.shared.global", (*cells, Immediate(4))
    if layout.edges[i].kind in COPIED:
        multicast = ".multicast::cluster" if layout.edges[i].kind in REMOTE else ""
        opcode = f"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{multicast}"
        return opcode, (*cells, Immediate(4 * _WORDS))
    if event.annotation.operation == "reduce":
        return "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32", (*cells, Immediate(4 * _WORDS))
    return "cp.async.bulk.global.shared::cta.bulk_group", (*cells, Immediate(4 * _WORDS))


def _leaves(edge: Edge) -> int:
    """How many groups a wait leaves."""
    return int(edge.detail) if edge.kind in WAITING and edge.detail.isdigit() else 0


def _alone(layout: CycleLayout, i: int) -> bool:
    """Whether copies like that of event `i` are each a group of its own: where a wait of the thread leaves some."""
    commit = _COMMITS[layout.events[i].annotation.operation]
    waits = (layout.edges[j] for j in layout.threads[layout.events[i].thread])
    return any(_leaves(edge) and _COMMITS[COPYING[edge.kind]] == commit for edge in waits)


def commit(layout: CycleLayout, i: int) -> list[str]:
    """What stands behind the access of event `i` to make its copy a group of its own, if it is to be one."""
    if not is_copy(layout.events[i]) or layout.edges[i].kind in COPIED or not _alone(layout, i):
        return []
    return [_COMMITS[layout.events[i].annotation.operation]]


def wait(layout: CycleLayout, i: int) -> list[tuple[str, tuple[Operand, ...]]]:
    """The instructions by which a thread waits for its copies behind event `i`."""
    edge = layout.edges[i]
    left = Immediate(_leaves(edge))
    if edge.kind == "CpAsync":
        return [("cp.async.wait_group", (left,))] if left.value else [("cp.async.wait_all", ())]
    opcode = "cp.async.bulk.wait_group" + (f".{_READ}" if edge.detail == _READ else "")
    grouped: list[tuple[str, tuple[Operand, ...]]] = [] if _alone(layout, i) else [("cp.async.bulk.commit_group", ())]
    return [*grouped, (opcode, (left,))]


def _is_over(layout: CycleLayout, a: int, b: int) -> bool:
    """Whether a thread waits for the copy of its event `a` before its event `b`."""
    first = layout.events[a]
    mechanism = _COMMITS[first.annotation.operation]
    younger = 0
    for i in range(a, b):
        edge, event = layout.edges[i], layout.events[i]
        younger += i > a and is_copy(event) and _COMMITS[event.annotation.operation] == mechanism
        waits = edge.kind in WAITING and _COMMITS[COPYING[edge.kind]] == mechanism and _leaves(edge) <= younger
        if waits and (edge.detail != _READ or first.direction == "R"):
            return True
    return False


def _refuse_remote(layout: CycleLayout) -> None:
    """Raises `RefusedCycle` for operations that there are not: reads, addresses that depend on a read."""
    for i, _ in handed(layout):
        kind, before = layout.edges[i].kind, layout.edges[i - 1]
        if layout.events[i].direction == "R":
            raise RefusedCycle(i, f"{kind} hands over what was written, and this is a read", f"as in {kind}dWR")
        if before.kind == "Dp" and before.detail == "Addr":
            raise RefusedCycle(i - 1, "its address is that of another CTA, and depends on no read", "as in DpCtrldW")
    for i, event in enumerate(layout.events):
        if event.annotation.operation == "stasync" and layout.edges[i].kind != "StAsyncMbar":
            raise RefusedCycle(i, "who stores with st.async tells an mbarrier object of it", "as in StAsyncMbardWR")


def refuse(layout: CycleLayout) -> None:
    """Raises `RefusedCycle` for copies of which there is no test: nothing would tell in which order they and other accesses of
    their thread come, no register has what they read."""
    _refuse_remote(layout)
    if not spaces(layout):
        return
    for i, edge in enumerate(layout.edges):
        here, following = layout.events[i], layout.events[(i + 1) % len(layout.events)]
        if edge.kind == "Dp" and is_copy(here):
            raise RefusedCycle(
                i, "nothing depends on what a copy reads: it is in no register", "a wait for it, as CpAsyncdRW"
            )
        if edge.kind == "Dp" and edge.detail == "Data" and is_copy(following):
            raise RefusedCycle(i, "a copy writes what is in memory, and no data depends on a read", "as in DpAddrdW")
    places = set(spaces(layout))
    for i, event in enumerate(layout.events):
        if event.location in places and event.annotation.way:
            raise RefusedCycle(i, "a copy goes to its location by its own name only", "without .alias and .const")
    for events in layout.threads:
        for a, b in combinations(events, 2):
            if layout.events[a].location == layout.events[b].location:
                _refuse_unordered(layout, a, b)


def _refuse_unordered(layout: CycleLayout, a: int, b: int) -> None:
    """Two accesses of a thread to one location."""
    between = {(layout.edges[i].kind, layout.edges[i].detail) for i in range(a, b)}
    first = layout.events[a].annotation.operation
    if first in _WAITS and not _is_over(layout, a, b):
        raise RefusedCycle(
            a, "the thread accesses the same location again without waiting for its copy", f"as in {_WAITS[first]}s"
        )
    wide = [_is_wide(layout.events[i]) for i in (a, b)]
    if wide == [False, True] and ("Proxy", "async") not in between:
        raise RefusedCycle(
            b - 1,
            "a bulk copy goes through another proxy, and nothing orders it with this access",
            "as in Proxy.asyncs",
        )

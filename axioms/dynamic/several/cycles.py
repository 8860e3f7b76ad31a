"""Circles of operations on several bytes, each of which would come before the next: load buffering, and its like with writes.

Where every such circle is broken, what threads read from each other has an order in time, and so the operations are
interleaved. A circle leads from bytes to bytes by threads that come behind a write to the ones, and then write the others;
where threads meet, that leads from the ones to the meeting, and from there to the others. It is broken where threads find what
they come behind, and either each of these writes depends on that (section 8.10.4), or each thread acquires it, and releases it
with what it writes (section 8.10.6). Who writes behind what nothing orders before finds nothing. A read that is ordered behind
some writes to its bytes, and before all others, need not acquire what it finds: that is ordered before it anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from axioms.dynamic.several.plan import Bytes
from ptxcore.records import dataclass

_NEVER = 1 << 60
#: What operations come behind: bytes, or a meeting of threads by its number.
Node = Bytes | int
#: By two nodes: the operations that come behind the one, and when their threads release the write of the other.
Edges = dict[tuple[Node, Node], "list[tuple[FollowingOperation, int]]"]


@dataclass(eq=False, slots=True)
class FollowingOperation:
    """An operation of a thread that comes behind a write to some bytes, and when its thread acquired that; None: not by any
    fence. `active`: it may; others are such that the order of the run is certain. `ordered`: since when it is behind what it
    finds in base causality order, whatever it finds; `_NEVER` where it is not. `time`: its thread's own, of clocks."""

    where: Node
    thread: int
    acquired: int | None
    depends: Callable[[], bool]
    active: bool = True
    ordered: int = _NEVER
    time: int = 0

    def acquires_before(self, released: int) -> bool:
        """Whether its thread comes behind what this finds before a release."""
        return min(self.ordered, _NEVER if self.acquired is None else self.acquired) <= released


def _nothing() -> bool:
    return False


class Cycles:
    """The reads and writes of the threads of a launch, as they come."""

    def __init__(self) -> None:
        self._steps: dict[int, list[FollowingOperation]] = {}
        self._fenced: dict[int, int] = {}
        self._ordered: dict[Node, list[FollowingOperation]] = {}
        self._now = self._meetings = 0
        #: Bytes that are written behind a write that is not found: who reads there need not have found what it comes behind.
        self._loose: set[Node] = set()
        #: By two nodes: the operations that come behind the one, before their threads write the other, and the earliest time
        #: at which such a write releases.
        self._edges: dict[tuple[Node, Node], dict[FollowingOperation, int]] = {}

    def reads(
        self, thread: int, where: Bytes, *, acquires: bool, depends: Callable[[], bool], ordered: int | None = None
    ) -> None:
        """A thread reads. `depends`: whether all that it does afterwards does so only for some values; `ordered`: its own time,
        where all writes to these bytes so far are ordered before it."""
        self._now += 1
        step = FollowingOperation(where, thread, self._now if acquires else _NEVER, depends)
        if ordered is not None:
            step.ordered, step.time = self._now, ordered
            self._ordered.setdefault(where, []).append(step)
        self._steps.setdefault(thread, []).append(step)

    def written(self, where: Bytes, behind: Callable[[int, int], bool]) -> None:
        """Some bytes are written once more; `behind`: whether that is ordered behind what a thread did at a time of its own."""
        for step in self._ordered.get(where, ()):
            if not behind(step.thread, step.time):
                step.ordered = _NEVER

    def overwrites(self, thread: int, where: Bytes) -> FollowingOperation:
        """A thread writes, and uses nothing that it finds; what it does afterwards may come behind another write to these
        bytes where this becomes active."""
        self._now += 1
        step = FollowingOperation(where, thread, None, _nothing, active=False)
        self._steps.setdefault(thread, []).append(step)
        return step

    def loosen(self, where: Bytes) -> None:
        """Some write there comes behind another one by coherence order alone, or could do so."""
        self._loose.add(where)

    def writes(self, thread: int, where: Node, releases: bool) -> None:
        """A thread writes."""
        self._now += 1
        released = self._now if releases else self._fenced.get(thread, 0)
        for step in self._steps.get(thread, ()):
            if step.where != where:
                of = self._edges.setdefault((step.where, where), {})
                of[step] = min(of.get(step, released), released)

    def fences(self, thread: int, acquires: bool, releases: bool) -> None:
        """A fence that all others are in the scope of; it may be of one side."""
        self._now += 1
        if acquires:
            for step in self._steps.get(thread, ()):
                if step.acquired is not None:
                    step.acquired = min(step.acquired, self._now)
        if releases:
            self._fenced[thread] = self._now

    def meet(self, arrived: Iterable[int], behind: Iterable[int], *, synchronizes: bool) -> None:
        """Some threads come behind the arrivals of some, the same or others."""
        having = [thread for thread in arrived if self._steps.get(thread)]
        meeting = self.gather(having, synchronizes=synchronizes)
        for thread in behind if having else ():
            if having != [thread]:
                self.join(thread, meeting, synchronizes=synchronizes)

    def gather(self, arrived: Iterable[int], *, synchronizes: bool) -> int:
        """The number of a meeting at which some threads have arrived; -1 where nothing comes of it that any of them does."""
        having = [thread for thread in arrived if self._steps.get(thread)]
        if not having:
            return -1
        self._meetings += 1
        for thread in having:
            self.writes(thread, self._meetings, synchronizes)
        return self._meetings

    def join(self, thread: int, meeting: int, *, synchronizes: bool) -> None:
        """A thread comes behind a meeting."""
        before = [] if synchronizes else self._steps.get(thread, [])
        acquired = self._now if synchronizes else None
        self._steps[thread] = [*before, FollowingOperation(meeting, thread, acquired, _nothing)]

    def found(self) -> bool:
        """Whether a circle may not be broken."""
        edges = {
            edge: steps for edge, of in self._edges.items()
            if (steps := [(s, at) for s, at in of.items() if s.active or s.where in self._loose])
        }  # fmt: skip
        return any(not self._broken(steps) for steps in _circles(edges))

    def _broken(self, steps: list[tuple[FollowingOperation, int]]) -> bool:
        if len({step.thread for step, _ in steps}) < 2:
            return True
        meetings = [step for step, _ in steps if isinstance(step.where, int)]
        if all(step.acquired is not None for step in meetings) and self._of_one(steps):
            return True
        if any(step.where in self._loose for step, _ in steps):
            return False
        if all(step.acquires_before(released) for step, released in steps):
            return True
        return all(step.depends() for step, _ in steps)

    @staticmethod
    def _of_one(steps: list[tuple[FollowingOperation, int]]) -> bool:
        """Whether a circle is about the same bytes: that contradicts coherence."""
        return len({step.where for step, _ in steps if not isinstance(step.where, int)}) < 2


def _circles(edges: Edges) -> Iterable[list[tuple[FollowingOperation, int]]]:
    """The operations of each circle, or of several that have something in common. Where a thread writes some bytes, some other
    thread must come behind that: it comes behind its own writes by program order, or else contradicts coherence."""
    while True:
        component = _components(edges)
        inside = {edge: steps for edge, steps in edges.items() if component[edge[0]] == component[edge[1]]}
        writers: dict[Node, set[int]] = {}
        followers: dict[Node, set[int]] = {}
        for (one, other), steps in inside.items():
            threads = {step.thread for step, _ in steps}
            followers.setdefault(one, set()).update(threads)
            writers.setdefault(other, set()).update(threads)
        left: Edges = {}
        for (one, other), steps in inside.items():
            of = [
                (step, at) for step, at in steps
                if (isinstance(one, int) or writers[one] - {step.thread})
                and (isinstance(other, int) or followers[other] - {step.thread})
            ]  # fmt: skip
            if of:
                left[one, other] = of
        if left == edges:
            break
        edges = left
    circles: dict[int, list[tuple[FollowingOperation, int]]] = {}
    for (one, _), steps in edges.items():
        circles.setdefault(component[one], []).extend(steps)
    return circles.values()


def _components(edges: Iterable[tuple[Node, Node]]) -> dict[Node, int]:
    """A number for each node, the same for those of one circle."""
    after: dict[Node, list[Node]] = {}
    before: dict[Node, list[Node]] = {}
    for one, other in edges:
        after.setdefault(one, []).append(other)
        before.setdefault(other, []).append(one)
    left: list[Node] = []
    seen: set[Node] = set()
    for start in after:
        waiting = [(start, False)]
        while waiting:
            node, done = waiting.pop()
            if done:
                left.append(node)
            elif node not in seen:
                seen.add(node)
                waiting.append((node, True))
                waiting += [(other, False) for other in after.get(node, ())]
    found: dict[Node, int] = {}
    for start in reversed(left):
        nodes = [start]
        while nodes:
            node = nodes.pop()
            if node not in found:
                found[node] = found.get(start, len(found))
                nodes += before.get(node, ())
    return found

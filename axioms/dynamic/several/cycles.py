"""Circles of operations on several bytes, each of which would come before the next: load buffering, and its like with writes.

Where every such circle is broken, what threads read from each other has an order in time, and so the operations are
interleaved. A circle leads from bytes to bytes by threads that come behind a write to the ones, and then write the others;
where threads meet, that leads from the ones to the meeting, and from there to the others. It is broken where threads find what
they come behind, and either each of these writes depends on that (section 8.10.4), or each thread acquires it, and releases it
with what it writes (section 8.10.6). Who writes behind what nothing orders before finds nothing. A read that is ordered behind
some writes to its bytes, and before all others, need not acquire what it finds: that is ordered before it anyway. And at one of
the bytes nothing need synchronize: the others order what comes behind the write there before that write (8.10.1, 8.10.6).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from operator import itemgetter

from axioms.dynamic.several.plan import Bytes
from axioms.dynamic.several.settled import SettledOperation
from ptxcore.records import NamedTuple, dataclass

_NEVER = 1 << 60
#: Reads of which it is kept who comes behind them.
_MOST_READS = 256
#: What operations come behind: bytes, or a meeting of threads by its number.
Node = Bytes | int
#: By two nodes: the operations that come behind the one, and whose threads then write the other.
Edges = dict[tuple[Node, Node], "list[_Link]"]


@dataclass(eq=False, slots=True)
class FollowingOperation:
    """An operation of a thread that comes behind a write to some bytes, and when its thread acquired that; None: not by any
    fence. `active`: it may; others are such that the order of the run is certain. `ordered`: since when it is behind what it
    finds in base causality order, whatever it finds; `_NEVER` where it is not. `time`: its thread's own, of clocks. `came`: its
    place among all that is noted here. `settled`: whether barriers order it with all writes."""

    where: Node
    thread: int
    acquired: int | None
    depends: Callable[[], bool]
    active: bool = True
    ordered: int = _NEVER
    time: int = 0
    came: int = 0
    settled: SettledOperation | None = None

    def acquires_before(self, time: int) -> bool:
        """Whether its thread comes behind what this finds before a time."""
        return min(self.ordered, _NEVER if self.acquired is None else self.acquired) <= time


#: Reads by threads, or what may count as one.
Reads = frozenset[FollowingOperation]


class _Link(NamedTuple):
    """A thread comes behind some bytes, and then writes others: when first, and the earliest release by such a write."""

    step: FollowingOperation
    released: int
    written: int

    @property
    def synchronizes(self) -> bool:
        """Whether it hands on what comes before what it found."""
        return self.step.acquires_before(self.released)

    @property
    def hands_on_itself(self) -> bool:
        """Whether it hands on what it did, at least."""
        return self.step.came <= self.released

    @property
    def takes_in(self) -> bool:
        """Whether what it writes comes behind what comes before what it found, at least."""
        return self.step.acquires_before(self.written)

    @property
    def follows_until(self) -> int:
        """Behind which writes its thread may come: those before this, as others are ordered behind it, or all."""
        return self.step.came if self.step.settled is not None and self.step.settled.apart else _NEVER


def joined(parts: Iterable[Reads | None]) -> Reads | None:
    """All of some reads; None where they are too many."""
    found: set[FollowingOperation] = set()
    for part in parts:
        if part is None or len(found) > _MOST_READS:
            return None
        found |= part
    return frozenset(found)


def _nothing() -> bool:
    return False


class Cycles:
    """The reads and writes of the threads of a launch, as they come."""

    def __init__(self) -> None:
        self._steps: dict[int, list[FollowingOperation]] = {}
        self._fenced: dict[int, int] = {}
        #: When a thread released at some bytes: its strong writes there behind that do so as well (section 8.8).
        self._released: dict[tuple[int, Node], int] = {}
        self._ordered: dict[Node, list[FollowingOperation]] = {}
        self._now = self._meetings = 0
        #: By their numbers: the reads that meetings come behind, all and those that have been acquired there; None: too many.
        self._of_meetings: dict[int, tuple[Reads | None, Reads | None]] = {}
        #: Bytes that are written behind a write that is not found: who reads there need not have found what it comes behind.
        self._loose: set[Node] = set()
        #: By two nodes: the operations that come behind the one, before their threads write the other.
        self._edges: dict[tuple[Node, Node], dict[FollowingOperation, _Link]] = {}

    def reads(
        self,
        thread: int,
        where: Bytes,
        settled: SettledOperation | None = None,
        *,
        acquires: bool,
        depends: Callable[[], bool],
        ordered: int | None = None,
    ) -> None:
        """A thread reads. `depends`: whether all that it does afterwards does so only for some values; `ordered`: its own time,
        where all writes to these bytes so far are ordered before it."""
        self._now += 1
        step = FollowingOperation(
            where, thread, self._now if acquires else _NEVER, depends, came=self._now, settled=settled
        )
        if ordered is not None:
            step.ordered, step.time = self._now, ordered
            self._ordered.setdefault(where, []).append(step)
        self._steps.setdefault(thread, []).append(step)

    def written(self, where: Bytes, behind: Callable[[int, int], bool]) -> None:
        """Some bytes are written once more; `behind`: whether that is ordered behind what a thread did at a time of its own."""
        for step in self._ordered.get(where, ()):
            if not behind(step.thread, step.time):
                step.ordered = _NEVER

    def overwrites(self, thread: int, where: Bytes, settled: SettledOperation | None = None) -> FollowingOperation:
        """A thread writes, and uses nothing that it finds; what it does afterwards may come behind another write to these
        bytes where this becomes active."""
        self._now += 1
        step = FollowingOperation(where, thread, None, _nothing, active=False, came=self._now, settled=settled)
        self._steps.setdefault(thread, []).append(step)
        return step

    def loosen(self, where: Bytes) -> None:
        """Some write there comes behind another one by coherence order alone, or could do so."""
        self._loose.add(where)

    def writes(self, thread: int, where: Node, releases: bool, *, strong: bool = False) -> None:
        """A thread writes."""
        self._now += 1
        now = self._now
        if releases:
            released = now
            if not isinstance(where, int):
                self._released[thread, where] = now
        else:
            released = max(self._fenced.get(thread, 0), self._released.get((thread, where), 0) if strong else 0)
        for step in self._steps.get(thread, ()):
            if step.where != where:
                of = self._edges.setdefault((step.where, where), {})
                before = of.get(step)
                of[step] = (
                    _Link(step, released, now)
                    if before is None
                    else before._replace(released=min(before.released, released))
                )

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
        having, after = [thread for thread in arrived if self._steps.get(thread)], list(behind)
        if not synchronizes and self._is_known(having, after):
            return
        known = joined(map(self.known, set(having) & set(after)))  # who does not wait may acquire more since it arrived
        meeting = self.gather(having, synchronizes=synchronizes, known=known if synchronizes else frozenset())
        for thread in after if having else ():
            if having != [thread]:
                self.join(thread, meeting, synchronizes=synchronizes)

    def _is_known(self, arrived: Iterable[int], behind: Iterable[int]) -> bool:
        """Whether threads that meet come behind nothing more by that, though nothing is ordered by it: what any of them has
        found, or others before it, each has acquired."""
        found = joined(self._found(thread, acquired=False) for thread in arrived)
        return found is not None and all(
            (known := self.known(thread)) is not None and found <= known for thread in behind
        )

    def known(self, thread: int) -> Reads | None:
        """The reads that a thread has acquired, its own and others before it; None: too many."""
        return self._found(thread, acquired=True)

    def _found(self, thread: int, *, acquired: bool) -> Reads | None:
        """The reads that a thread comes behind, its own and by meetings: all, or those that it has acquired; None: too many."""
        return joined(
            self._of_meetings[step.where][acquired] if isinstance(step.where, int) else frozenset((step,))
            for step in self._steps.get(thread, ())
            if not acquired or (step.acquired is not None and step.acquired <= self._now)
        )

    def gather(self, arrived: Iterable[int], *, synchronizes: bool, known: Reads | None = frozenset()) -> int:
        """The number of a meeting at which some threads have arrived; -1 where nothing comes of it that any of them does.
        `known`: reads that they had acquired then, and hand on to whoever synchronizes with them there."""
        having = [thread for thread in arrived if self._steps.get(thread)]
        if not having:
            return -1
        self._meetings += 1
        self._of_meetings[self._meetings] = joined(self._found(t, acquired=False) for t in having), known
        for thread in having:
            self.writes(thread, self._meetings, synchronizes)
        return self._meetings

    def join(self, thread: int, meeting: int, *, synchronizes: bool) -> None:
        """A thread comes behind a meeting."""
        before = [] if synchronizes else self._steps.get(thread, [])
        acquired = self._now if synchronizes else None
        self._steps[thread] = [*before, FollowingOperation(meeting, thread, acquired, _nothing, came=self._now)]

    def found(self, settled: Container[Node] = ()) -> bool:
        """Whether a circle may not be broken that leads by no bytes that are `settled`: it leads by barriers, too."""
        edges = {
            edge: links for edge, of in self._edges.items()
            if edge[0] not in settled and edge[1] not in settled
            and (links := [link for link in of.values() if link.step.active or link.step.where in self._loose])
        }  # fmt: skip
        return any(not self._broken(circle) for circle in _circles(edges))

    def _broken(self, circle: Edges) -> bool:
        links = [link for of in circle.values() for link in of]
        steps = [link.step for link in links]
        if len({step.thread for step in steps}) < 2:
            return True
        meetings = [step for step in steps if isinstance(step.where, int)]
        if all(step.acquired is not None for step in meetings) and self._of_one(steps):
            return True
        if self._synchronizes(circle):
            return True
        return all(step.depends() for step in steps) and self._loose.isdisjoint(step.where for step in steps)

    def _synchronizes(self, circle: Edges) -> bool:
        """Whether all synchronize, but at some bytes."""
        left = {edge: weak for edge, links in circle.items() if (weak := [o for o in links if not o.synchronizes])}
        nodes = {node for edge in circle for node in edge}
        loose = nodes & self._loose
        if not left and not loose:
            return True
        return any(
            loose <= {node} and not isinstance(node, int) and all(_is_about(node, *of) for of in left.items())
            for node in nodes
        )

    @staticmethod
    def _of_one(steps: list[FollowingOperation]) -> bool:
        """Whether a circle is about the same bytes: that contradicts coherence."""
        return len({step.where for step in steps if not isinstance(step.where, int)}) < 2


def _is_about(node: Node, edge: tuple[Node, Node], links: list[_Link]) -> bool:
    """Whether nothing is between two nodes that does not synchronize, but for what one of them, the given one, hands on."""
    one, other = edge
    return (other == node and all(link.takes_in for link in links)) or (
        one == node and all(link.hands_on_itself for link in links)
    )


def _circles(edges: Edges) -> Iterable[Edges]:
    """The links of each circle, or of several that have something in common. Where a thread writes some bytes, some other
    thread must come behind that: it comes behind its own writes by program order, or else contradicts coherence. Nor does an
    operation come behind what barriers order behind it."""
    while True:
        component = _components(edges)
        inside = {edge: links for edge, links in edges.items() if component[edge[0]] == component[edge[1]]}
        writers: dict[Node, dict[int, int]] = {}
        followers: dict[Node, dict[int, int]] = {}
        for (one, other), links in inside.items():
            first, last = writers.setdefault(other, {}), followers.setdefault(one, {})
            for link in links:
                thread = link.step.thread
                first[thread] = min(link.written, first.get(thread, _NEVER))
                last[thread] = max(link.follows_until, last.get(thread, 0))
        firsts = {node: sorted(of.items(), key=itemgetter(1))[:2] for node, of in writers.items()}
        lasts = {node: sorted(of.items(), key=itemgetter(1))[-2:] for node, of in followers.items()}
        left: Edges = {}
        for (one, other), links in inside.items():
            of = [
                link for link in links
                if (isinstance(one, int) or any(t != link.step.thread and at < link.follows_until for t, at in firsts[one]))
                and (isinstance(other, int) or any(t != link.step.thread and at > link.written for t, at in lasts[other]))
            ]  # fmt: skip
            if of:
                left[one, other] = of
        if left == edges:
            break
        edges = left
    circles: dict[int, Edges] = {}
    for (one, other), steps in edges.items():
        circles.setdefault(component[one], {})[one, other] = steps
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

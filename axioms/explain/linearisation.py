"""A linearisation: the events of an execution one after another, in an order in which as little as can be is strange.

It respects program order and whatever else happens in this order, keeps atomic operations together, and puts every read behind
the write that it reads from, wherever that is possible. It is impossible where these go in a circle; then some read stands
before its write, and the circle says which (`ahead`). Coherence and from-reads are respected where that costs none of this.
Where all of it goes together, the execution is one of steps taken one after another: sequentially consistent, and `is_serial`
says so.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise

from axioms.witness.checker import EventPair, reached, successors
from axioms.witness.execution import Execution

#: Base relations whose events happen in this order.
STEPS = ("po", "rf", "rmw", "issue", "comp", "api", "mbrf")


class Linearisation:
    """`order` has the events of an execution; `position` says where each stands."""

    def __init__(self, execution: Execution) -> None:
        assert execution.judged is not None, "an execution that was sent elsewhere is not explained there"
        self.execution, self.events, self.judged = execution, execution.events, execution.judged
        self.sources = self.judged.sources()
        self.writers = self.judged.writers()
        self.finals = self.judged.finals()
        self.co = self.judged.base("co")
        self.rmw = dict(self.judged.base("rmw"))
        self.order = _Merge(self).order
        self.position = {index: i for i, index in enumerate(self.order)}

    @functools.cached_property
    def steps(self) -> Mapping[str, frozenset[EventPair]]:
        """What happens in this order, by the names of base relations; and `syncbar`: who is through a barrier of a CTA has
        waited for those who came."""
        found = {name: frozenset(self.execution.relations.get(name, ())) for name in STEPS}
        behind = successors(found["po"])
        found["syncbar"] = frozenset((a, c) for a, b in self.judged.base("syncbar") for c in behind.get(b, ()))
        return found

    # What is strange, by place in the order.

    def is_serial(self) -> bool:
        """Whether every read returns, byte by byte, what was written last before it."""
        return not any(self._strange(r) for r in self.sources)

    def _strange(self, r: int) -> bool:
        return any(self.position[w] > self.position[r] or self._between(c, w, r) for c, w in self.sources[r].items())

    def _between(self, cell: int, w: int, r: int) -> list[int]:
        """The writes of a cell that stand between a write and a read of it."""
        low, high = self.position[w], self.position[r]
        return [x for x in self.writers.get(cell, ()) if low < self.position[x] < high]

    def ahead(self) -> Iterator[EventPair]:
        """Reads that stand before a write that they read from, with that write."""
        for r in self.order:
            for w in dict.fromkeys(self.sources.get(r, {}).values()):
                if self.position[w] > self.position[r]:
                    yield r, w

    def stale(self) -> Iterator[EventPair]:
        """Reads that miss a write which stands before them, and which coherence puts behind what they read; with the last
        such write."""
        for r in self.order:
            missed = {
                x
                for c, w in self.sources.get(r, {}).items()
                for x in self.writers[c]
                if (w, x) in self.co and self.position[x] < self.position[r]
            }
            if missed:
                yield r, max(missed, key=self.position.__getitem__)

    def passed(self) -> Iterator[EventPair]:
        """Reads that miss a write which stands between them and what they read, and which coherence does not relate to it."""
        for r in self.order:
            between = {
                x
                for c, w in self.sources.get(r, {}).items()
                for x in self._between(c, w, r)
                if (w, x) not in self.co and (x, w) not in self.co
            }
            if between:
                yield r, max(between, key=self.position.__getitem__)

    def kept(self) -> Iterator[EventPair]:
        """Writes whose values memory keeps, each with the last write of the same byte that stands behind it."""
        found: dict[int, int] = {}
        for c, w in self.finals.items():
            later = [x for x in self.writers.get(c, ()) if self.position[x] > self.position[w]]
            if later:
                last = max(later, key=self.position.__getitem__)
                if w not in found or self.position[last] > self.position[found[w]]:
                    found[w] = last
        yield from found.items()

    def circle(self, r: int, w: int) -> list[tuple[int, str, int]]:
        """The shortest way on which steps lead from a read to a write that it reads from, with the relation of each step, and
        the one from the write back to the read."""
        edges: dict[int, dict[int, str]] = {}
        for name, pairs in self.steps.items():
            for a, b in pairs:
                edges.setdefault(a, {}).setdefault(b, name)
        came: dict[int, int] = {}
        layer = [r]
        while layer and w not in came:
            following = []
            for a in layer:
                for b in sorted(edges.get(a, ())):
                    if b not in came and b != r:
                        came[b] = a
                        following.append(b)
            layer = following
        if w not in came:
            return []
        way = [w]
        while way[-1] != r:
            way.append(came[way[-1]])
        way.reverse()
        steps: list[tuple[int, str, int]] = []
        for a, b in pairwise(way):
            if steps and steps[-1][1] == edges[a][b] == "po":
                a = steps.pop()[0]
            steps.append((a, edges[a].get(b, "po"), b))
        return [*steps, (w, "rf", r)]


class _Merge:
    """Puts the events in order: one of those that owe nothing, again and again, and of these one that overtakes nobody. An
    atomic operation is one here, by the number of its read."""

    def __init__(self, line: Linearisation) -> None:
        self.line, self.events = line, line.events
        self.whole = {w: r for r, w in line.rmw.items() if "ASY" not in self.events[r].tags}
        self.parts = {r: w for w, r in self.whole.items()}
        units = [e.index for e in self.events if e.index not in self.whole]
        self.after: dict[int, set[int]] = {i: set() for i in units}  # for each what must come before it
        for pairs in line.steps.values():
            for a, b in pairs:
                a, b = self._unit(a), self._unit(b)
                if a != b:
                    self.after[b].add(a)
        relations = line.execution.relations
        for a, b in sorted(relations.get("co", ())):
            self._add(a, b)
        for cell, w in line.finals.items():  # what is kept is written last, where nothing speaks against it
            for x in line.writers.get(cell, ()):
                if x != w:
                    self._add(x, w)
        self.overtakes: dict[int, set[int]] = {i: set() for i in units}  # by write, the reads of what it overwrites
        for r, w in relations.get("fr", ()):
            if self._unit(w) != r:
                self.overtakes[self._unit(w)].add(r)
        self.readers: dict[int, set[tuple[int, int]]] = {}  # by write, who reads which of its cells
        self.reads: dict[int, dict[int, int]] = line.sources
        for r, sources in line.sources.items():
            for c, w in sources.items():
                self.readers.setdefault(self._unit(w), set()).add((c, r))
        self.cells: dict[int, list[int]] = {}
        for c, writes in line.writers.items():
            for w in writes:
                self.cells.setdefault(self._unit(w), []).append(c)
        self.order = [i for unit in self._merged() for i in (unit, self.parts.get(unit)) if i is not None]

    def _unit(self, event: int) -> int:
        return self.whole.get(event, event)

    def _add(self, a: int, b: int) -> None:
        """One more to come before another, unless that makes a circle."""
        a, b = self._unit(a), self._unit(b)
        if a != b and a not in self.after[b] and not self._follows(a, b):
            self.after[b].add(a)

    def _follows(self, a: int, b: int) -> bool:
        """Whether `a` must come after `b` already."""
        todo, seen = [a], {a}
        while todo:
            at = todo.pop()
            if at == b:
                return True
            new = self.after[at] - seen
            seen |= new
            todo += new
        return False

    def _merged(self) -> list[int]:
        left = set(self.after)
        owed = {i: len(self.after[i]) for i in left}
        overtaking = {i: len(self.overtakes[i]) for i in left}
        followers, overtaken = _turned(self.after), _turned(self.overtakes)
        ready: dict[int, set[int]] = {}  # of each thread those that owe nothing
        free: list[int] = []  # those of all threads that overtake nobody, the first one first; and some that are gone
        for i in left:
            if not owed[i]:
                ready.setdefault(self.events[i].thread, set()).add(i)
                if not overtaking[i]:
                    free.append(i)
        heapify(free)
        waiting: dict[int, set[int]] = {}  # of each cell the reads to come of what was written there already
        order: list[int] = []

        def crowds(i: int) -> bool:
            return any(len(some) > (i in some) for c in self.cells.get(i, ()) if (some := waiting.get(c)))

        def cost(i: int) -> tuple[int, bool, bool, int]:
            return overtaking[i], crowds(i), not order or self.events[i].thread != self.events[order[-1]].thread, i

        def first_free() -> int | None:
            """The first one that costs nothing but to turn to another thread: of threads by the hundred there is no other
            way to look for it at each turn."""
            kept, found = [], None
            while free and found is None:
                i = heappop(free)
                if i in left:
                    kept.append(i)
                    found = None if crowds(i) else i
            for i in kept:
                heappush(free, i)
            return found

        while left:
            same = ready.get(self.events[order[-1]].thread, ()) if order else ()
            costs = [cost(i) for i in same]
            best = min(costs, default=None)
            if best is None or best[:2] != (0, False):
                other = first_free()
                best = None if other is None else cost(other)
            if best is None:
                every = [i for some in ready.values() for i in some] or self._first_of_a_circle(left, owed)
                best = min(cost(i) for i in every)
            latest = best[-1]
            left.discard(latest)
            ready.get(self.events[latest].thread, set()).discard(latest)
            order.append(latest)
            for c in self.reads.get(latest, ()):
                waiting.get(c, set()).discard(latest)
            for c, r in self.readers.get(latest, ()):
                if r in left:
                    waiting.setdefault(c, set()).add(r)
            for i in overtaken.get(latest, ()):
                overtaking[i] -= 1
                if not (overtaking[i] or owed[i]) and i in left:
                    heappush(free, i)
            for i in followers.get(latest, ()):
                owed[i] -= 1
                if not owed[i] and i in left:
                    ready.setdefault(self.events[i].thread, set()).add(i)
                    if not overtaking[i]:
                        heappush(free, i)
        return order

    def _first_of_a_circle(self, left: set[int], owed: Mapping[int, int]) -> set[int]:
        """Where all that is left owes something: reads on a circle that nothing else leads to, which owe only their writes;
        without such, the circle."""
        after = {i: sorted(self.after[i] & left) for i in left}
        back = successors((b, a) for a, some in after.items() for b in some)
        for i in sorted(left, key=lambda i: (owed[i], i)):
            circle = reached(after, i)
            if i in circle and circle <= reached(back, i):
                reads = {r for r in circle if set(after[r]) <= {self._unit(w) for w in self.reads.get(r, {}).values()}}
                return reads or circle
        return left


def _turned(before: Mapping[int, set[int]]) -> dict[int, list[int]]:
    """Of each number those whose sets it is in."""
    found: dict[int, list[int]] = {}
    for i, some in before.items():
        for j in some:
            found.setdefault(j, []).append(i)
    return found

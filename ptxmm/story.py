"""An execution told to people: its steps in an order, which reads are out of date, and why they may be.

An execution of a weak memory model is no sequence. The order told here respects program order, and every read comes after
the write that it reads from, where that is possible; a read that returns less than what was written before it, in this
order, is out of date, and the reason says what is missing between the write and the read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from axioms.execution import ExecutedEvent, Execution
from ptxcore.places import includes
from ptxmm.result import Spot

_MOST_STEPS = 80
_MOST_REASONS = 3
_WEAK_HOP = 10  # a chain of so many strong hops is the likelier intention
_SCOPES = {"CTA": "cta", "CLUSTER": "cluster", "GPU": "gpu", "SYS": "sys"}
_BARRIERS = ("barrier", "syncbar", "sync_barrier", "mbrf")
_FENCES = frozenset({"ACQ_REL", "SC"})


@dataclass(frozen=True, slots=True)
class Cast:
    """Who is who: the name of a thread by its number, and where an event stands, in the PTX or the test (`spot`) and in
    the source that it was compiled from (`source`)."""

    name: Callable[[int], str]
    spot: Callable[[ExecutedEvent], Spot | None]
    source: Callable[[ExecutedEvent], Spot | None] = lambda event: None

    def place(self, event: ExecutedEvent) -> str:
        """`line 12 (lock.cu:7)`"""
        spot, source = self.spot(event), self.source(event)
        line = f"line {spot.line}" if spot and spot.line else "an unknown line"
        return f"{line} ({source})" if source else line


class Reason(NamedTuple):
    """Why nothing orders two events. `culprits`: the events to look at first, each with what is wrong there."""

    text: str
    culprits: tuple[tuple[int, str], ...] = ()


#: An event that lacks something: its index, that in words, and in few.
Lack = tuple[int, str, str]


class Story:
    """One execution, and what there is to say of it."""

    def __init__(self, execution: Execution, cast: Cast) -> None:
        self.events, self.cast = execution.events, cast
        self.places = [place for _, place in execution.threads]
        relations = {name: set(pairs) for name, pairs in execution.relations.items()}
        self.rf = relations.get("rf", set())
        self.rmw = dict(relations.get("rmw", set()))
        self.halves = {write: read for read, write in self.rmw.items()}
        self.co = _closure(relations.get("co", set()))
        self.cause = relations.get("cause", relations.get("causality", set()))
        self.source_of: dict[int, list[int]] = {}
        for w, r in self.rf:
            self.source_of.setdefault(r, []).append(w)
        self.po_of = _successors(relations.get("po", set()))
        barriers = set[tuple[int, int]]().union(*(relations.get(name, set()) for name in _BARRIERS))
        outside = {(w, r) for w, r in self.rf if self.events[w].thread != self.events[r].thread}
        self.hops_of = _successors({*outside, *barriers})
        self.order = self._ordered(barriers)
        self.position = {index: i for i, index in enumerate(self.order)}

    def _ordered(self, barriers: set[tuple[int, int]]) -> list[int]:
        """Events after what they must follow, as far as that goes, and reads before what overwrites what they read."""
        after: dict[int, set[int]] = {e.index: set() for e in self.events}
        po = [(a, b) for a, following in self.po_of.items() for b in following]
        for a, b in (*po, *self.rf, *self.rmw.items()):
            after[b].add(a)
        for a, b in barriers:  # who is through has waited for the others to come
            for c in self.po_of.get(b, ()):
                after[c].add(a)
        for a, b in self.co:
            if not _follows(after, a, b):
                after[b].add(a)
        overtakes: dict[int, set[int]] = {e.index: set() for e in self.events}
        for r, sources in self.source_of.items():
            for w in sources:
                for later in (b for a, b in self.co if a == w and b != self.rmw.get(r)):
                    overtakes[later].add(r)
        order: list[int] = []
        left = {e.index for e in self.events}
        owed = {i: len(after[i]) for i in left}  # how many are still to come that it must follow
        overtaking = {i: len(overtakes[i]) for i in left}
        followers, overtaken = _turned(after), _turned(overtakes)
        ready: dict[int, set[int]] = {}  # of each thread those that owe nothing
        for i in left:
            if not owed[i]:
                ready.setdefault(self.events[i].thread, set()).add(i)
        latest = -1
        while left:
            thread = self.events[latest].thread if latest >= 0 else -1
            same = [i for i in ready.get(thread, ()) if not overtaking[i]] if latest >= 0 else []
            latest = (
                min(same)
                if same
                else min(
                    [i for some in ready.values() for i in some] or left,
                    key=lambda i: (owed[i], overtaking[i], self.events[i].thread != thread, i),
                )
            )
            left.discard(latest)
            ready.get(self.events[latest].thread, set()).discard(latest)
            order.append(latest)
            for i in overtaken.get(latest, ()):
                overtaking[i] -= 1
            for i in followers.get(latest, ()):
                owed[i] -= 1
                if not owed[i] and i in left:
                    ready.setdefault(self.events[i].thread, set()).add(i)
        return order

    # Reads that are out of date.

    def stale(self) -> Iterator[tuple[int, int]]:
        """Each read that misses a write which stands before it in the order, with the last such write; reads first that
        the program computes with weakly, since synchronization is meant for them."""
        found = []
        for r in self.order:
            missed = [
                b
                for w in self.source_of.get(r, ())
                for a, b in self.co
                if a == w and self.position[b] < self.position[r] and self.events[b].thread != self.events[r].thread
            ]
            if missed:
                found.append((r, max(missed, key=lambda w: self.position[w])))
        yield from sorted(found, key=lambda pair: "WEAK" not in self.events[pair[0]].tags)

    def reason(self, before: int, after: int) -> str:
        """Why nothing orders one event before another of a different thread, in words."""
        return self.explained(before, after).text

    def explained(self, before: int, after: int) -> Reason:
        """Why nothing orders one event before another of a different thread."""
        a, b = self.events[before], self.events[after]
        head = f"{self._what(a)} is not ordered before {self._what(b)}"
        path = self._path(before, after)
        if path is None:
            who = self.cast.name(b.thread)
            return Reason(f"{head}: {who} has read nothing before that {self.cast.name(a.thread)} wrote after it")
        ends = [before, *(r for _, r in path[:-1])][: len(path)], [*(w for w, _ in path[1:]), after][-len(path) :]
        for (w, r), begin, end in zip(path, *ends, strict=True):
            lacking = self._lacking(self.events[begin], self.events[end], w, r)
            if lacking:
                culprits = tuple((index, what) for index, _, what in lacking)
                return Reason(f"{head}: {', and '.join(text for _, text, _ in lacking)}", culprits)
        return Reason(f"{head}, although they synchronize: through another proxy, or at another size")

    def doubled(self) -> Reason | None:
        """Two atomics that read one write: their scopes do not make them atomic to one another."""
        readers: dict[int, list[int]] = {}
        for w, r in sorted(self.rf):
            if r in self.rmw:
                readers.setdefault(w, []).append(r)
        for found in readers.values():
            for one, other in pairwise(found):
                a, b = self.events[one], self.events[other]
                why = [*self._out_of_reach(a, b), *self._out_of_reach(b, a)]
                if a.thread != b.thread and why:
                    index, text, what = why[0]
                    return Reason(f"{self._what(a)} and {self._what(b)} both read {a.value}: {text}", ((index, what),))
        return None

    def endings(self, state: dict[str, int]) -> Iterator[tuple[int, int]]:
        """Writes whose values locations keep, each with one of another thread that stands behind it in the order, and that
        nothing forces to come later."""
        for event in self.events:
            if event.kind != "W" or event.thread < 0 or state.get(self._label(event, state)) != event.value:
                continue
            rivals = [
                e
                for e in self.events
                if e.kind == "W" and e.location == event.location and e.thread != event.thread
                and self.position[e.index] > self.position[event.index] and (event.index, e.index) not in self.co
            ]  # fmt: skip
            if rivals and not any((event.index, e.index) in self.co for e in self.events):
                yield event.index, max(rivals, key=lambda e: self.position[e.index]).index

    def unordered(self) -> Iterator[tuple[int, int]]:
        """Accesses of different threads to one location, one of them a write, that stand in this order by chance."""
        for i, a in enumerate(self.order):
            one = self.events[a]
            for b in self.order[i + 1 :]:
                other = self.events[b]
                if one.location is None or one.location != other.location or one.thread == other.thread:
                    continue
                weak = "WEAK" in one.tags or "WEAK" in other.tags
                if (
                    weak
                    and "W" in (one.kind, other.kind)
                    and min(one.thread, other.thread) >= 0
                    and (a, b) not in self.cause
                ):
                    yield a, b

    @staticmethod
    def _label(event: ExecutedEvent, state: dict[str, int]) -> str:
        name = event.location or ""
        return name if name in state else f"{name}[0]"

    def _path(self, before: int, after: int) -> list[tuple[int, int]] | None:
        """How news of one event may have come to the thread of another before the latter: the fewest hops from thread to
        thread, each a write and a read of it, or two events of one barrier. What is meant for synchronization counts less."""
        queue: list[tuple[int, int, tuple[tuple[int, int], ...]]] = [(0, before, ())]
        seen: set[int] = set()
        while queue:
            cost, at, hops = heappop(queue)
            if at == after:
                return list(hops)
            if at in seen:
                continue
            seen.add(at)
            for following in (*self.po_of.get(at, ()), *([self.rmw[at]] if at in self.rmw else [])):
                heappush(queue, (cost, following, hops))
            for there in self.hops_of.get(at, ()):
                weak = "WEAK" in self.events[at].tags or "WEAK" in self.events[there].tags
                heappush(queue, (cost + (_WEAK_HOP if weak else 1), there, (*hops, (at, there))))
        return None

    def _lacking(self, a: ExecutedEvent, b: ExecutedEvent, write: int, read: int) -> list[Lack]:
        """What is missing for a write and a read of it to order `a` before `b`; nothing, for two events of a barrier."""
        w, r = self.events[write], self.events[read]
        if w.kind != "W" or r.kind != "R":
            return []
        if "WEAK" in w.tags and "WEAK" in r.tags:
            text = f"all that links them are {self._what(w)} and {self._what(r)}, and weak accesses synchronize nothing"
            return [(write, text, "a weak access, which synchronizes nothing")]
        lacking: list[Lack] = []
        released = self._released(a, w)
        acquired = self._acquired(r, b)
        if not released:
            text = f"{self._what(w)}, which the other thread saw, has no release semantics"
            lacking.append((write, text, "no release semantics"))
        if not acquired:
            text = f"{self._what(r)}, which saw it, has no acquire semantics"
            lacking.append((read, text, "no acquire semantics"))
        for one, other in ((w, r), (r, w)):
            lacking += self._out_of_reach(one, other)
        if released and acquired and not lacking:
            for fence, other in ((released, r), (acquired, w)):
                lacking += self._out_of_reach(fence, other)
        return lacking

    def _released(self, a: ExecutedEvent, w: ExecutedEvent) -> ExecutedEvent | None:
        """What makes a write a release for the event before it: itself, or a fence between the two."""
        if "REL" in w.tags and w.index != a.index:
            return w
        between = [e for e in self.events if e.thread == a.thread and a.index < e.index < w.index and e.kind == "F"]
        return next((f for f in between if f.tags & (_FENCES | {"REL"})), None)

    def _acquired(self, r: ExecutedEvent, b: ExecutedEvent) -> ExecutedEvent | None:
        if "ACQ" in r.tags and r.index != b.index:
            return r
        last = self.rmw.get(r.index, r.index)
        between = [e for e in self.events if e.thread == b.thread and last < e.index < b.index and e.kind == "F"]
        return next((f for f in between if f.tags & (_FENCES | {"ACQ"})), None)

    def _out_of_reach(self, one: ExecutedEvent, other: ExecutedEvent) -> list[Lack]:
        scope = next((name for tag, name in _SCOPES.items() if tag in one.tags), None)
        if scope is None:
            return [(one.index, f"{self._what(one)} is weak", "a weak access, which synchronizes nothing")]
        if includes(scope, self.places[one.thread], self.places[other.thread]):
            return []
        who = self.cast.name(other.thread)
        text = f"the .{scope} scope of {self._what(one)} does not reach {who}"
        return [(one.index, text, f"the .{scope} scope does not reach {who}")]

    # Words.

    def _what(self, event: ExecutedEvent) -> str:
        """`the store to x[0] by CTA 0 at line 12 (lock.cu:7)`"""
        kind = {"R": "load of", "W": "store to", "F": "fence", "B": "barrier"}.get(event.kind, "operation")
        if event.index in self.rmw or event.index in self.halves:
            kind = "atomic on"
        where = f" {event.location}" if event.location else ""
        by = f" by {self.cast.name(event.thread)}" if event.thread >= 0 else ""
        return f"the {kind}{where}{by} at {self.cast.place(event)}"

    def steps(self) -> list[str]:
        """The execution, a line for each instruction: who, where, what, and which values."""
        rows = []
        out_of_date = dict(self.stale())
        for index in self.order:
            event = self.events[index]
            if event.thread < 0 or index in self.halves:
                continue
            rows.append(
                (self.cast.name(event.thread), self.cast.place(event), event.text, self._values(event, out_of_date))
            )
        shown = rows[:_MOST_STEPS]
        widths = [max((len(row[i]) for row in shown), default=0) for i in range(3)]
        lines = [
            "  ".join([*(c.ljust(n) for c, n in zip(row, widths, strict=False)), row[3]]).rstrip() for row in shown
        ]
        return lines + ([f"and {len(rows) - len(shown)} more steps"] if len(rows) > len(shown) else [])

    def _values(self, event: ExecutedEvent, out_of_date: dict[int, int]) -> str:
        if event.kind not in ("R", "W") or event.location is None:
            return ""
        partner = self.rmw.get(event.index)
        if event.kind == "W":
            return f"{event.location} = {event.value}"
        text = f"{event.location} is {event.value}"
        if partner is not None:
            text += f", becomes {self.events[partner].value}"
        missed = out_of_date.get(event.index)
        if missed is not None:
            newer = self.events[missed]
            text += f" (out of date: {newer.value} since {self.cast.name(newer.thread)}, {self.cast.place(newer)})"
        return text

    def explanations(self, state: dict[str, int] | None = None) -> list[Reason]:
        """Why the execution is not what its author may have meant: what is out of date, atomic to nobody, or overtaken."""
        found = [self.explained(w, r) for r, w in self.stale() if (w, r) not in self.cause]
        doubled = self.doubled()
        if doubled:
            found.insert(0, doubled)
        for kept, later in self.endings(state or {}):
            event = self.events[kept]
            reason = self.explained(kept, later)
            found.append(reason._replace(text=f"{event.location} keeps {event.value}: {reason.text}"))
        if not found:
            found = [self.explained(a, b) for a, b in self.unordered()]
        return list(dict.fromkeys(found))[:_MOST_REASONS]

    def reasons(self, state: dict[str, int] | None = None) -> list[str]:
        """The same in words."""
        return [reason.text for reason in self.explanations(state)]

    def told(self, state: dict[str, int] | None = None) -> list[str]:
        """The steps, and the reasons."""
        return [*self.steps(), *self.reasons(state)]


def _closure(pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    next_of = _successors(pairs)
    for start in next_of:
        todo, seen = [start], set[int]()
        while todo:
            for b in next_of.get(todo.pop(), ()):
                if b not in seen:
                    seen.add(b)
                    todo.append(b)
        found |= {(start, b) for b in seen}
    return found


def _turned(before: Mapping[int, set[int]]) -> dict[int, list[int]]:
    """Of each number those whose sets it is in."""
    found: dict[int, list[int]] = {}
    for i, some in before.items():
        for j in some:
            found.setdefault(j, []).append(i)
    return found


def _successors(pairs: set[tuple[int, int]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for a, b in sorted(pairs):
        found.setdefault(a, []).append(b)
    return found


def _follows(after: dict[int, set[int]], a: int, b: int) -> bool:
    """Whether `a` must come after `b` already."""
    todo, seen = [a], {a}
    while todo:
        at = todo.pop()
        if at == b:
            return True
        new = after[at] - seen
        seen |= new
        todo += new
    return False

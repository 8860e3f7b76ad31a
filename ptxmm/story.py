"""An execution told to people: its steps in an order, which reads are out of date, and why they may be.

An execution of a weak memory model is no sequence. The order told here respects program order, and every read comes after
the write that it reads from, where that is possible; a read that returns less than what was written before it, in this
order, is out of date, and the reason says what is missing between the write and the read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from axioms.execution import ExecutedEvent, Execution
from ptxcore.places import includes
from ptxmm.result import Spot

_MOST_STEPS = 80
_SCOPES = {"CTA": "cta", "CLUSTER": "cluster", "GPU": "gpu", "SYS": "sys"}
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
        self.order = self._ordered(relations.get("po", set()))
        self.position = {index: i for i, index in enumerate(self.order)}

    def _ordered(self, po: set[tuple[int, int]]) -> list[int]:
        """Events after what they must follow, as far as that goes, and reads before what overwrites what they read."""
        after: dict[int, set[int]] = {e.index: set() for e in self.events}
        for a, b in (*po, *self.rf, *self.rmw.items()):
            after[b].add(a)
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
        latest = -1
        while left:
            ready = [i for i in left if not after[i] & left] or list(left)
            thread = self.events[latest].thread if latest >= 0 else -1
            latest = min(
                ready,
                key=lambda i: (len(after[i] & left), len(overtakes[i] & left), self.events[i].thread != thread, i),
            )
            left.discard(latest)
            order.append(latest)
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
        """Why nothing orders one event before another of a different thread."""
        a, b = self.events[before], self.events[after]
        head = f"{self._what(a)} is not ordered before {self._what(b)}"
        links = list(self._links(before, after))
        if not links:
            who = self.cast.name(b.thread)
            return f"{head}: {who} has read nothing before that {self.cast.name(a.thread)} wrote after it"
        best = min((self._lacking(a, b, w, r) for w, r in links), key=len)
        if not best:
            return f"{head}, although they synchronize: through another proxy, or at another size"
        return f"{head}: {', and '.join(best)}"

    def _links(self, before: int, after: int) -> Iterator[tuple[int, int]]:
        """Writes of the first thread behind the one event, that the other thread has seen before the other event: each with
        the read that saw it, directly or through atomics of others in between."""
        a, b = self.events[before], self.events[after]
        for w in self.events:
            if w.thread != a.thread or w.index < a.index or w.kind != "W":
                continue
            reached, todo = set[int](), [w.index]
            while todo:
                at = todo.pop()
                for r in (r for source, r in self.rf if source == at):
                    if r not in reached:
                        reached.add(r)
                        todo += [self.rmw[r]] if r in self.rmw else []
            yield from ((w.index, r) for r in sorted(reached) if self.events[r].thread == b.thread and r <= b.index)

    def _lacking(self, a: ExecutedEvent, b: ExecutedEvent, write: int, read: int) -> list[str]:
        """What is missing for a write and a read of it to order `a` before `b`."""
        w, r = self.events[write], self.events[read]
        lacking = []
        released = self._released(a, w)
        acquired = self._acquired(r, b)
        if not released:
            lacking.append(f"{self._what(w)}, which the other thread saw, has no release semantics")
        if not acquired:
            lacking.append(f"{self._what(r)}, which saw it, has no acquire semantics")
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

    def _out_of_reach(self, one: ExecutedEvent, other: ExecutedEvent) -> list[str]:
        scope = next((name for tag, name in _SCOPES.items() if tag in one.tags), None)
        if scope is None:
            return [f"{self._what(one)} is weak"]
        if includes(scope, self.places[one.thread], self.places[other.thread]):
            return []
        return [f"the .{scope} scope of {self._what(one)} does not reach {self.cast.name(other.thread)}"]

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

    def told(self) -> list[str]:
        """The steps, and for reads that are out of date the reasons."""
        lines = self.steps()
        reasons = [self.reason(w, r) for r, w in self.stale() if (w, r) not in self.cause]
        return [*lines, *dict.fromkeys(reasons[:3])]


def _closure(pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    next_of: dict[int, list[int]] = {}
    for a, b in pairs:
        next_of.setdefault(a, []).append(b)
    for start in next_of:
        todo, seen = [start], set[int]()
        while todo:
            for b in next_of.get(todo.pop(), ()):
                if b not in seen:
                    seen.add(b)
                    todo.append(b)
        found |= {(start, b) for b in seen}
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

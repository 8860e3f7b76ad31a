"""An execution told to people: its steps in an order, which reads are out of date, and why they may be.

An execution of a weak memory model is no sequence. The order told here respects program order, and every read comes after
the write that it reads from, where that is possible; a read that returns less than what was written before it, in this
order, is out of date, and the reason says what is missing between the write and the read.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice

from axioms.execution import ExecutedEvent, Execution
from ptxmm.reasons import Reason, Reasons, successors
from ptxmm.result import Spot

#: More steps than these are not read: those of threads that matter are told, and then only those that matter.
_MOST_STEPS = 40
_MOST_REASONS = 3
#: So many pairs that nothing orders are looked at for these.
_MOST_PAIRS = 30
#: So many threads that do the same are told of in one line.
_MANY = 3
_BARRIERS = ("barrier", "syncbar", "sync_barrier")
#: Relations whose events stand in this order in any telling.
_STEPS = ("po", "rf", "rmw", "issue", "comp", "api", "mbrf")
#: The steps of an asynchronous operation, but for the fence that its completion implies.
_PARTS = {"R": "  (its read)", "W": "  (its write)", "X": "  (its completion)"}


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
        self.execution, self.events, self.cast = execution, execution.events, cast
        relations = {name: set(pairs) for name, pairs in execution.relations.items()}
        self.rmw = dict(relations.get("rmw", set()))
        self.halves = {write: read for read, write in self.rmw.items()}
        self.co = _closure(relations.get("co", set()))
        self.cause = relations.get("cause", relations.get("causality", set()))
        self.source_of: dict[int, list[int]] = {}
        for w, r in relations.get("rf", set()):
            self.source_of.setdefault(r, []).append(w)
        self.order = self._ordered(relations)
        self.position = {index: i for i, index in enumerate(self.order)}

    @functools.cached_property
    def why(self) -> Reasons:
        """What there is to say of the order of its events."""
        return Reasons(self.execution, self.cast.name, self.cast.place)

    def _ordered(self, relations: Mapping[str, set[tuple[int, int]]]) -> list[int]:
        """Events after what they must follow, as far as that goes, and reads before what overwrites what they read."""
        after: dict[int, set[int]] = {e.index: set() for e in self.events}
        for a, b in (pair for name in _STEPS for pair in relations.get(name, ())):
            after[b].add(a)
        next_of = successors(relations.get("po", set()))
        for a, b in (pair for name in _BARRIERS for pair in relations.get(name, ())):
            for c in next_of.get(b, ()):  # who is through has waited for the others to come
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
        """Why nothing orders one event before another, in words."""
        return self.why.explained(before, after).text

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

    # Words.

    def steps(self, concerned: Iterable[int] = ()) -> list[str]:
        """The execution, a line for each instruction: who, where, what, and which values. Of many steps, those of the threads
        that do what is `concerned`; of many of these, what is concerned and what synchronizes."""
        out_of_date = dict(self.stale())
        told = self._together([i for i in self.order if self._is_step(self.events[i])], out_of_date)
        shown = self._most_telling(told, {*concerned, *(i for pair in out_of_date.items() for i in pair)})
        rows = [self._row(some, out_of_date) for some in shown]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
        lines = ["  ".join([*(c.ljust(n) for c, n in zip(row, widths, strict=False)), row[3]]).rstrip() for row in rows]
        left = sum(map(len, told)) - sum(map(len, shown))
        return lines + ([f"and {left} more step{'s' * (left != 1)}"] if left else [])

    def _together(self, told: list[int], out_of_date: dict[int, int]) -> list[list[int]]:
        """Steps in their order, those together that many threads do alike one after another."""
        found: list[list[int]] = []
        for _, alike in groupby(told, key=lambda i: self._done(self.events[i], out_of_date)):
            some = list(alike)
            found += [some] if len(some) >= _MANY else [[i] for i in some]
        return found

    def _is_step(self, event: ExecutedEvent) -> bool:
        return event.thread >= 0 and event.index not in self.halves and not (event.kind == "F" and "ASY" in event.tags)

    def _most_telling(self, told: list[list[int]], concerned: set[int]) -> list[list[int]]:
        """Few of the steps."""
        if len(told) <= _MOST_STEPS:
            return told
        threads = {self.events[i].thread for i in concerned} - {-1}
        locations = {self.events[i].location for i in concerned} - {None}
        by_thread = [some for some in told if not threads or any(self.events[i].thread in threads for i in some)]
        if len(by_thread) <= _MOST_STEPS:
            return by_thread
        events = self.events
        by_matter = [
            some for some in by_thread
            if any(i in concerned or events[i].location in locations or "WEAK" not in events[i].tags for i in some)
        ]  # fmt: skip
        return by_matter[:_MOST_STEPS]

    def _row(self, alike: list[int], out_of_date: dict[int, int]) -> tuple[str, str, str, str]:
        event = self.events[alike[0]]
        more = f" and {len(alike) - 1} others" if len(alike) > 1 else ""
        return f"{self.cast.name(event.thread)}{more}", *self._done(event, out_of_date)

    def _done(self, event: ExecutedEvent, out_of_date: dict[int, int]) -> tuple[str, str, str]:
        """Where, what, and which values."""
        text = _PARTS.get(event.kind, event.text) if "ASY" in event.tags else event.text
        return self.cast.place(event), text, self._values(event, out_of_date)

    def _values(self, event: ExecutedEvent, out_of_date: dict[int, int]) -> str:
        if event.kind not in ("R", "W") or event.location is None:
            return ""
        partner = self.rmw.get(event.index)
        if event.kind == "W":
            return f"{event.location} = {event.number}"
        text = f"{event.location} is {event.number}"
        if partner is not None:
            text += f", becomes {self.events[partner].number}"
        missed = out_of_date.get(event.index)
        if missed is not None:
            newer = self.events[missed]
            text += f" (out of date: {newer.number} since {self.cast.name(newer.thread)}, {self.cast.place(newer)})"
        return text

    def explanations(self, state: dict[str, int] | None = None) -> list[Reason]:
        """Why the execution is not what its author may have meant: what is out of date, atomic to nobody, or overtaken."""
        doubled, torn = self.why.doubled(), self.why.torn()
        told = set(doubled.involved) if doubled else set[int]()
        missed = [
            (w, r)
            for r, w in self.stale()
            if (w, r) not in self.cause and not told.issuperset(self.why.instructions(w, r))
        ]
        found = [*filter(None, (doubled, torn)), *(self.why.explained(w, r) for w, r in missed)]
        for kept, later in self.endings(state or {}):
            event = self.events[kept]
            reason = self.why.unordered(kept, later)
            found.append(reason._replace(text=f"{event.location} keeps {event.number}: {reason.text}"))
        if not found:
            found = [self.why.explained(a, b) for a, b in islice(self.unordered(), _MOST_PAIRS)]
            found.sort(key=lambda reason: not reason.culprits)  # where something is known to be missing first
        return list(dict.fromkeys(found))[:_MOST_REASONS]

    def reasons(self, state: dict[str, int] | None = None) -> list[str]:
        """The same in words."""
        return [reason.text for reason in self.explanations(state)]

    def told(self, state: dict[str, int] | None = None) -> list[str]:
        """The steps, and the reasons."""
        return self.told_with(self.explanations(state))

    def told_with(self, reasons: list[Reason]) -> list[str]:
        """The steps, and these reasons for them."""
        found = self.steps(i for r in reasons for i in r.involved)
        if not reasons and not list(self.stale()):
            found.append("no read is out of date: each returns what was written last before it, in this order")
        return [*found, *(r.text for r in reasons)]


def _closure(pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    next_of = successors(pairs)
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

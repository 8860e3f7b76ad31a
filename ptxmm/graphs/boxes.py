"""The boxes of a picture, one for each event; an atomic's two halves, and the elements of a vector, are in one."""

from __future__ import annotations

from collections.abc import Sequence

from axioms.events.event_kinds import BARRIER_EVENT, FENCE_EVENT, ISSUE_EVENT, KERNEL_EVENT, MBARRIER_EVENT, READ, WRITE
from axioms.witness.execution import ExecutedEvent, Execution
from ptxmm.events import part_of

from .columns import Column, agent_of
from .figure import ATOMIC, INITIAL, Half, PictureBox
from .style import MARKS
from .waiting import STAYS

WRAP = 46  # characters of an instruction in one line

#: The kinds of boxes, by those of events.
_KINDS = {
    READ: "R", WRITE: "W", FENCE_EVENT: "F", BARRIER_EVENT: "B", MBARRIER_EVENT: "M", ISSUE_EVENT: "C", STAYS: "S",
}  # fmt: skip


def wrap(text: str, limit: int = WRAP) -> tuple[str, ...]:
    """`text` in lines of at most `limit` characters, broken at spaces where there are some."""
    lines: list[str] = []
    rest = " ".join(text.split())
    while len(rest) > limit:
        cut = rest.rfind(" ", limit // 3, limit + 1)
        if cut < 0:
            lines.append(rest[:limit])
            rest = rest[limit:]
        else:
            lines.append(rest[:cut])
            rest = "  " + rest[cut + 1 :]
    return (*lines, rest)


def effect_of(event: ExecutedEvent) -> str:
    """What an event read or wrote: `R x = 1`; what a thread does that goes no further."""
    if event.kind in (STAYS, MBARRIER_EVENT):
        return event.location or ""
    if not event.kind.accesses:
        return ""
    value = "" if event.value is None else f" = {event.number}"
    location = "?" if event.location is None else event.location
    return f"{event.kind} {location}{value}".rstrip()


def memberships(execution: Execution) -> dict[int, str]:
    """What stands at events of the sets that a model shows: `{A, B}`. A set is the relation of its events with themselves."""
    named: dict[int, list[str]] = {}
    for name, pairs in execution.relations.items():
        if name not in MARKS and all(a == b for a, b in pairs):
            for event, _ in pairs:
                named.setdefault(event, []).append(name)
    return {event: f"{{{', '.join(names)}}}" for event, names in named.items()}


def told_events(execution: Execution) -> set[int]:
    """The events that a verdict speaks of: those of a race or of a reason, and threads that go no further."""
    marked = {event for mark in MARKS for pair in execution.relations.get(mark, ()) for event in pair}
    return marked | {event.index for event in execution.events if event.kind is STAYS}


def vectors(execution: Execution) -> dict[int, int]:
    """The elements of vector accesses, each with the one whose box they share."""
    first: dict[tuple[int, int, str], int] = {}
    found = {}
    for event in sorted(execution.events, key=lambda e: e.index):
        if event.group >= 0 and event.thread >= 0 and event.kind.accesses:
            leader = first.setdefault((event.thread, event.group, agent_of(event)), event.index)
            if leader != event.index:
                found[event.index] = leader
    return found


class _Maker:
    """Makes boxes, column by column from top to bottom."""

    def __init__(self, execution: Execution, columns: Sequence[Column], names: dict[int, str]) -> None:
        self.execution, self.names = execution, names
        self.events = {event.index: event for event in execution.events}
        self.sets, self.told = memberships(execution), told_events(execution)
        pairs = execution.relations.get("rmw", ())
        self.partner = {r: w for r, w in pairs if r in self.events and w in self.events}
        self.written = set(self.partner.values())
        self.column = {(c.thread, c.agent): i for i, c in enumerate(columns)}
        self.rows: dict[int, int] = {}  # of each column: the first that is free
        self.row: dict[int, int] = {}  # of each event

    def boxes(self) -> list[PictureBox]:
        leaders = vectors(self.execution)
        elements: dict[int, list[ExecutedEvent]] = {}
        for index, leader in leaders.items():
            if index not in self.written:
                elements.setdefault(leader, []).append(self.events[index])
        order = in_program_order(self.execution)
        return [
            self.initial(event) if event.thread < 0 else self.box(event, elements.get(event.index, []))
            for event in order
            if event.index not in leaders and event.index not in self.written
        ]

    def initial(self, event: ExecutedEvent) -> PictureBox:
        label = event.text if event.kind is KERNEL_EVENT else f"{event.location or '?'} = {event.number}"
        half = Half(event.index, (_joined(label, self.sets.get(event.index, "")),), name=self.names[event.index])
        half.says = f"{half.name}: initially {label}"
        return PictureBox(INITIAL, [half], told=event.index in self.told)

    def box(self, event: ExecutedEvent, elements: Sequence[ExecutedEvent]) -> PictureBox:
        column = self.column[event.thread, agent_of(event)]
        row = max(self.rows.get(column, 0), self.begin(event))
        self.rows[column] = row + 1
        whole = [event, *elements]
        halves = [self.half(e, first=e is event) for e in whole]
        halves += [self.half(self.events[self.partner[e.index]], first=False) for e in whole if e.index in self.partner]
        kind = ATOMIC if event.index in self.partner else _kind(event)
        for half in halves:
            self.row[half.event] = row
        return PictureBox(kind, halves, column, row, told=any(half.event in self.told for half in halves))

    def begin(self, event: ExecutedEvent) -> int:
        """The first row for an event: what a thread started stands no higher than where it did."""
        if not agent_of(event):
            return 0
        before = [
            self.row[a]
            for name in ("issue", "comp")
            for a, b in self.execution.relations.get(name, ())
            if b == event.index and a in self.row
        ]
        return max(before, default=0)

    def half(self, event: ExecutedEvent, first: bool) -> Half:
        effect = _joined(effect_of(event), self.sets.get(event.index, ""))
        name = self.names[event.index]
        says = f"{name}: " + "; ".join(word for word in (" ".join(event.text.split()), effect, _place(event)) if word)
        if not first:
            return Half(event.index, (), effect, name=name, says=says)
        note = event.source or ("" if event.line is None else f"line {event.line}")
        return Half(event.index, wrap(_text(event)), effect, note, name, says)


def make_boxes(execution: Execution, columns: Sequence[Column], names: dict[int, str]) -> list[PictureBox]:
    """The boxes in program order, each with its column and row."""
    return _Maker(execution, columns, names).boxes()


def _kind(event: ExecutedEvent) -> str:
    if event.kind is MBARRIER_EVENT and not event.location:  # of a cluster's barrier, which is no object in memory
        return "B"
    return _KINDS.get(event.kind, "F")


def _joined(*words: str) -> str:
    return "  ".join(word for word in words if word)


def _place(event: ExecutedEvent) -> str:
    line = "" if event.line is None else f"line {event.line}"
    return f"{line} ({event.source})" if event.source else line


def _text(event: ExecutedEvent) -> str:
    """The instruction; of what an asynchronous one does later, its beginning: it was written out where it was issued."""
    part = part_of(event)
    if not part:
        return event.text
    opcode = event.text.split(maxsplit=1)[0] if event.text.strip() else ""
    return f"{'.'.join(opcode.split('.')[:3])} ({part})"


def in_program_order(execution: Execution) -> list[ExecutedEvent]:
    """The events, each after those that `po` puts before it, or that it is a consequence of; by their index where these say
    nothing."""
    from graphlib import CycleError, TopologicalSorter

    order: TopologicalSorter[int] = TopologicalSorter({event.index: () for event in execution.events})
    events = {event.index: event for event in execution.events}
    for name in ("po", "issue", "comp"):
        for a, b in execution.relations.get(name, ()):
            if a in events and b in events:
                order.add(b, a)
    try:
        order.prepare()
    except CycleError:
        return sorted(execution.events, key=lambda e: e.index)
    found: list[ExecutedEvent] = []
    while order.is_active():
        ready = sorted(order.get_ready())
        found += [events[i] for i in ready]
        order.done(*ready)
    return found

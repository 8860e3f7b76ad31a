"""Threads that stay behind in an execution, as boxes of its picture: where each is blocked or goes round, traps or fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from axioms.events.event_kinds import EventKind
from axioms.witness.execution import ExecutedEvent, Execution
from ptxcore.records import NamedTuple

#: The kind of the events that stand for it.
STAYS = EventKind("stays")


class Stays(NamedTuple):
    """A thread that goes no further: at which instruction (and line), and what it does there, as in `does not terminate
    (deadlock)`."""

    thread: int
    text: str
    line: int | None
    does: str


def with_those_who_stay(execution: Execution, stays: Sequence[Stays]) -> Execution:
    """The execution with an event more for each of these threads, behind all others of the thread."""
    number = max((e.index for e in execution.events), default=-1) + 1
    events, po = list(execution.events), list(execution.relations.get("po", ()))
    followed = {a for a, _ in po}
    for i, stay in enumerate(stays, number):
        last = [e.index for e in execution.events if e.thread == stay.thread and e.index not in followed]
        po += [(a, i) for a in last]
        events.append(ExecutedEvent(i, stay.thread, STAYS, stay.text, location=stay.does, line=stay.line))
    relations = execution.relations | ({"po": tuple(po)} if po else {})
    return replace(execution, events=tuple(events), relations=relations)

"""Events of an execution in words: the instruction, and which part of an asynchronous operation it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.events.event_kinds import FENCE_EVENT, MBARRIER_EVENT, READ, WRITE

if TYPE_CHECKING:
    from axioms.witness.execution import ExecutedEvent

#: The parts of an asynchronous operation, by the kinds of their events.
_PARTS = {
    READ: "its read",
    WRITE: "its write",
    FENCE_EVENT: "the fence that it implies",
    MBARRIER_EVENT: "its completion",
}


def part_of(event: ExecutedEvent) -> str:
    """Which part of an asynchronous operation an event is; empty for what the thread does itself."""
    return _PARTS.get(event.kind, "") if "ASY" in event.tags else ""


def written(event: ExecutedEvent) -> str:
    """`cp.async.ca.shared.global [s], [x], 4 (its read)`"""
    part = part_of(event)
    return f"{event.text} ({part})" if part else event.text

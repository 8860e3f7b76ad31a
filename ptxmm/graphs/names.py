"""Names of events: `P0:2` is the third event of thread P0. Whoever speaks of events of a picture uses these."""

from __future__ import annotations

from axioms.events.event_kinds import WRITE
from axioms.witness.execution import Execution

from .columns import short_names


def event_names(execution: Execution) -> dict[int, str]:
    """The name of each event by its index: its thread and, in the order of the indices, its number there; `init:x` is the
    initial write of x. A picture shows less than an execution has, and leaves the names as they are."""
    names: dict[int, str] = {}
    counts: dict[str, int] = {}
    taken: set[str] = set()
    short = short_names(execution)
    for event in sorted(execution.events, key=lambda e: e.index):
        if event.thread >= 0:
            thread = execution.threads[event.thread][0]
            owner = short.get(thread, thread)
        else:
            owner = "init" if event.kind is WRITE else "launch"
        number = counts.get(owner, 0)
        counts[owner] = number + 1
        name = f"{owner}:{event.location}" if owner == "init" and event.location else f"{owner}:{number}"
        while name in taken:
            name += "'"
        taken.add(name)
        names[event.index] = name
    return names

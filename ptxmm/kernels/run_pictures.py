"""What a run of all threads shows that is wrong, as an execution to draw: those of its events of which the verdict speaks.

Of a race these are the two accesses, and a strong write between them with the strong read that observes it, or two who do not
meet, which the verdict gives as the reason. Edges are what the run knows of them: `po` in a thread, `cause` between threads,
`obs` from the write to the read. Values are not kept, so boxes have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from axioms.events.event_kinds import (
    BARRIER_EVENT,
    FENCE_EVENT,
    ISSUE_EVENT,
    MBARRIER_EVENT,
    READ,
    WRITE,
    EventKind,
)
from axioms.witness.execution import ExecutedEvent, Execution
from ptxcore.machine.lower.ops import Op
from ptxcore.places import Placement
from ptxcore.records import NamedTuple
from ptxcore.syntax.printer import print_statement

#: The events of an instruction, by how it begins. Any other one starts what runs asynchronously.
_EVENTS: dict[str, tuple[EventKind, ...]] = {
    **dict.fromkeys(("ld", "ldu", "ldmatrix", "suld", "tex", "tld4", "wmma.load", "multimem.ld_reduce"), (READ,)),
    **dict.fromkeys(("st", "stmatrix", "sust", "wmma.store", "multimem.st"), (WRITE,)),
    **dict.fromkeys(("atom", "red", "sured", "multimem.red"), (READ, WRITE)),
    **dict.fromkeys(("bar", "barrier"), (BARRIER_EVENT,)),
    **dict.fromkeys(("fence", "membar"), (FENCE_EVENT,)),
    "mbarrier": (MBARRIER_EVENT,),
}


class SeenEvent(NamedTuple):
    """An instruction that a thread has executed: the thread's name and place, the memory that it accesses, where that is known,
    and where it was compiled from."""

    name: str
    place: Placement
    op: Op
    location: str = ""
    source: str = ""


def pictured(seen: Sequence[SeenEvent], relations: Mapping[str, Iterable[tuple[int, int]]], title: str) -> Execution:
    """The execution with these events; `relations` are pairs of their numbers in `seen`."""
    threads = list(dict.fromkeys((one.name, one.place) for one in seen))
    events: list[ExecutedEvent] = []
    first, last = [], []
    halves = []
    for one in seen:
        kinds = _kinds(one.op)
        first.append(len(events))
        last.append(len(events) + len(kinds) - 1)
        halves += [(first[-1], last[-1])] if len(kinds) > 1 else []
        line = one.op.instruction.span.line
        text = print_statement(one.op.instruction)
        number = threads.index((one.name, one.place))
        events += [
            ExecutedEvent(first[-1] + i, number, kind, text, one.location, line=line, source=one.source)
            for i, kind in enumerate(kinds)
        ]
    pairs = {name: tuple((last[a], first[b]) for a, b in some) for name, some in relations.items()}
    known = {name: some for name, some in pairs.items() if some}
    if halves:
        known["rmw"] = tuple(halves)
        known["po"] = (*known.get("po", ()), *halves)
    return Execution(tuple(events), known, tuple(threads), title=title)


def _kinds(op: Op) -> tuple[EventKind, ...]:
    """Of which kinds the events of an instruction are."""
    words = (op.instruction.opcode, *op.instruction.modifiers)
    if "async" in words:
        return (ISSUE_EVENT,)
    return _EVENTS.get(words[0]) or _EVENTS.get(".".join(words[:2])) or (ISSUE_EVENT,)


__all__ = ["SeenEvent", "pictured"]

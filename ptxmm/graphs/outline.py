"""What of an execution a picture shows, before anything is laid out: less than there is, and the same things happen.

- starts and ends of kernels give way to the edges that lead through them; so do the fences that completions imply;
- of many threads, those that matter most are drawn, and the title says how many they are of;
- of many initial writes, those of one object are one, and those that nobody reads are left out;
- what a thread's own program order says needs no line besides, nor does a phase where arrival and wait synchronize; of many
  that meet at a barrier, neighbours are joined; the elements of a vector access are in program order as one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from axioms.events.event_kinds import FENCE_EVENT, KERNEL_EVENT, WRITE
from axioms.witness.execution import ExecutedEvent, Execution

from .boxes import vectors
from .waiting import STAYS

EventPairs = tuple[tuple[int, int], ...]

#: More threads than these are neither read nor laid out in a moment.
_FEW_THREADS = 6
#: What makes threads matter: that they race, or why something is forbidden; what they missed; what they heard of others.
_MATTERS = (("race", "why"), ("fr",), ("mbrf", "sync", "barrier"), ("rf", "co"))
#: So many of those that go no further are among them in any case.
_FEW_WHO_STAY = 3
#: So many initial writes are shown as they are.
_FEW_WRITES = 4
_FEW_VALUES = 4
#: Relations that lead through events that are not shown.
_LEADING = frozenset({"api", "comp", "issue", "po", "why"})
#: Within one thread, program order says as much.
_BETWEEN = frozenset({"sync", "sc", "barrier", "mbrf"})
#: Between instructions: of the elements of a vector, one stands for all.
_OF_INSTRUCTIONS = frozenset({"po", "issue"})


def outline(execution: Execution) -> Execution:
    """The execution as a picture shows it."""
    hidden = {e.index for e in execution.events if _is_between(e)}
    shown = _without(execution, hidden) if hidden else execution
    return _with_few_lines(_with_few_writes(_with_few_threads(shown)))


def _is_between(event: ExecutedEvent) -> bool:
    return (event.kind is KERNEL_EVENT and event.thread < 0) or (event.kind is FENCE_EVENT and "ASY" in event.tags)


def _without(execution: Execution, hidden: set[int]) -> Execution:
    events = tuple(e for e in execution.events if e.index not in hidden)
    relations = {
        name: _through(pairs, hidden) if name in _LEADING else _among(pairs, hidden)
        for name, pairs in execution.relations.items()
    }
    return replace(execution, events=events, relations={name: pairs for name, pairs in relations.items() if pairs})


def _among(pairs: EventPairs, hidden: set[int]) -> EventPairs:
    return tuple((a, b) for a, b in pairs if a not in hidden and b not in hidden)


def _through(pairs: EventPairs, hidden: set[int]) -> EventPairs:
    """The pairs, and those that lead from one shown event to another through hidden ones only."""
    after: dict[int, list[int]] = {}
    for a, b in pairs:
        after.setdefault(a, []).append(b)
    found: dict[tuple[int, int], None] = {}
    for a in after:
        todo = [] if a in hidden else list(after[a])
        seen: set[int] = set()
        while todo:
            b = todo.pop()
            if b not in hidden:
                found[a, b] = None
            elif b not in seen:
                seen.add(b)
                todo += after.get(b, ())
    return tuple(found)


# Threads.


def _with_few_threads(execution: Execution) -> Execution:
    count = len(execution.threads)
    if count <= _FEW_THREADS:
        return execution
    thread = {e.index: e.thread for e in execution.events}
    chosen = dict.fromkeys([e.thread for e in execution.events if e.kind is STAYS][:_FEW_WHO_STAY])
    for names in _MATTERS:
        for a, b in (pair for name in names for pair in sorted(execution.relations.get(name, ()))):
            one, other = thread[a], thread[b]
            if one != other and min(one, other) >= 0 and len({*chosen, one, other}) <= _FEW_THREADS:
                chosen |= {one: None, other: None}
    kept = sorted(chosen) or list(range(_FEW_THREADS))
    number = {old: new for new, old in enumerate(kept)} | {-1: -1}
    hidden = {e.index for e in execution.events if e.thread not in number}
    events = tuple(replace(e, thread=number[e.thread]) for e in execution.events if e.index not in hidden)
    relations = {name: _among(pairs, hidden) for name, pairs in execution.relations.items()}
    return replace(
        execution,
        events=events,
        relations={name: pairs for name, pairs in relations.items() if pairs},
        threads=tuple(execution.threads[t] for t in kept),
        title=f"{execution.title}  ({len(kept)} of {count} threads)",
    )


# Initial writes.


def _with_few_writes(execution: Execution) -> Execution:
    writes = [e for e in execution.events if e.thread < 0 and e.kind is WRITE]
    if len(writes) <= _FEW_WRITES:
        return execution
    groups: dict[str, list[ExecutedEvent]] = {}
    for e in writes:
        groups.setdefault(e.object or e.location or "", []).append(e)
    told = {i for name in ("rf", "fr", "why", "race") for pair in execution.relations.get(name, ()) for i in pair}
    into: dict[int, int] = {}
    kept: dict[int, ExecutedEvent] = {}
    unread: set[int] = set()
    for name, group in groups.items():
        first = group[0]
        into |= {e.index: first.index for e in group}
        if not any(e.index in told for e in group):
            unread |= {e.index for e in group}
        elif len(group) > 1:
            text = _values(e.number for e in group)
            kept[first.index] = replace(first, kind=KERNEL_EVENT, text=f"{name} = {text}", location=name, value=None)
    events = tuple(
        kept.get(e.index, e)
        for e in execution.events
        if into.get(e.index, e.index) == e.index and e.index not in unread
    )
    relations = {
        name: tuple(dict.fromkeys((into.get(a, a), into.get(b, b)) for a, b in _among(pairs, unread)))
        for name, pairs in execution.relations.items()
    }
    return replace(execution, events=events, relations=relations)


def _values(numbers: Iterable[str]) -> str:
    """`{0, ...}`, `{1, 2, 3}`"""
    found = [text.strip("{}") for text in numbers]
    values = [word for text in found for word in text.split(", ")]
    if len(set(values)) == 1:
        return f"{{{values[0]}, ...}}"
    return f"{{{', '.join(values[:_FEW_VALUES])}{', ...' if len(values) > _FEW_VALUES else ''}}}"


# Lines.


def _with_few_lines(execution: Execution) -> Execution:
    thread = {e.index: e.thread for e in execution.events if "ASY" not in e.tags}
    relations = dict(execution.relations)
    one = vectors(execution)
    for name in _OF_INSTRUCTIONS & set(relations) if one else ():
        joined = ((one.get(a, a), one.get(b, b)) for a, b in relations[name])
        relations[name] = tuple(dict.fromkeys((a, b) for a, b in joined if a != b))
    for name in _BETWEEN & set(relations):
        pairs = relations[name]
        relations[name] = tuple((a, b) for a, b in pairs if a not in thread or thread[a] != thread.get(b))
    if "barrier" in relations:
        relations["barrier"] = _neighbours(relations["barrier"], execution)
    known = set(relations.get("sync", ()))
    if "mbrf" in relations:
        relations["mbrf"] = tuple(pair for pair in relations["mbrf"] if pair not in known)
    return replace(execution, relations={name: pairs for name, pairs in relations.items() if pairs})


def _neighbours(pairs: EventPairs, execution: Execution) -> EventPairs:
    """Of events that all meet, the pairs of those that stand next to each other."""
    met: dict[int, set[int]] = {}
    for a, b in pairs:
        met.setdefault(a, {a}).add(b)
        met.setdefault(b, {b}).add(a)
    thread = {e.index: e.thread for e in execution.events}
    found = []
    for a, b in pairs:
        between = range(min(thread[a], thread[b]) + 1, max(thread[a], thread[b]))
        if not any(thread[c] in between for c in met[a] & met[b]):
            found.append((a, b))
    return tuple(found)

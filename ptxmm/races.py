"""Races as results have them: two instructions, who executes them, and the execution in which nothing orders them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxmm.story import Cast, Story

if TYPE_CHECKING:
    from axioms.execution import ExecutedEvent
    from axioms.result import Race, RaceEvent


def entry(race: Race, cast: Cast) -> dict[str, Any]:
    """A dictionary of `kind`, two `events` (`thread`, `line`, `instruction`, `file`, `source`), `reason`, `execution`."""
    story = Story(race.execution, cast)
    names = [name for name, _ in race.execution.threads]
    found = [_event(event, story, names) for event in race.events]
    return {
        "kind": race.kind,
        "events": [_written(r, e, cast) for r, e in zip(race.events, found, strict=True)],
        "reason": _reason(story, found),
        "execution": story.steps(),
    }


def _event(event: RaceEvent, story: Story, names: list[str]) -> ExecutedEvent | None:
    """The event of the execution that is meant: by its thread and line, an access to memory if there is one."""
    thread = names.index(event.thread) if event.thread in names else -1
    there = [e for e in story.events if e.thread == thread and (e.line or 0) == event.line]
    return next((e for e in there if e.kind in "RW"), there[0] if there else None)


def _written(event: RaceEvent, found: ExecutedEvent | None, cast: Cast) -> dict[str, Any]:
    spot = cast.spot(found) if found else None
    source = cast.source(found) if found else None
    return {
        "thread": cast.name(found.thread) if found else event.thread,
        "line": event.line,
        "instruction": event.instruction,
        "file": spot.path if spot else None,
        "source": str(source) if source else None,
    }


def _reason(story: Story, found: list[ExecutedEvent | None]) -> str:
    """Why nothing orders the two, in the direction in which one has seen something of the other."""
    a, b = found
    if a is None or b is None or a.thread == b.thread:
        return ""
    first, second = sorted((a, b), key=lambda e: story.position[e.index])
    return story.reason(first.index, second.index)

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
    found = _events(race, story)
    return {
        "kind": race.kind,
        "events": [_written(r, e, cast) for r, e in zip(race.events, found, strict=True)],
        "reason": _reason(story, found),
        "execution": story.steps(),
    }


def _events(race: Race, story: Story) -> list[ExecutedEvent | None]:
    """The events of the execution that are meant: by thread and line; of an instruction that does several things, the
    accesses at which the two meet."""
    names = [name for name, _ in race.execution.threads]
    there = []
    for event in race.events:
        thread = names.index(event.thread) if event.thread in names else -1
        there.append([e for e in story.events if e.thread == thread and (e.line or 0) == event.line])
    one, other = there
    for a in one:
        for b in other:
            if a.index != b.index and a.location is not None and a.location == b.location:
                return [a, b]
    return [some[0] if some else None for some in there]


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

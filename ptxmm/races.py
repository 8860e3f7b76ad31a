"""Races as results have them: two instructions, who executes them, and the execution in which nothing orders them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxmm.report.story import Cast, Story

if TYPE_CHECKING:
    from axioms.witness.execution import ExecutedEvent
    from axioms.witness.result import Race, Site


def entry(race: Race, cast: Cast) -> dict[str, Any]:
    """A dictionary of `kind`, two `events` (`thread`, `line`, `instruction`, `file`, `source`, and
    `at`: where to look), `reason`, `execution`; `causes` (`Cause`), and the `steps` of the execution and how many are
    `left` out, as `Checked` has them."""
    story = Story(race.execution, cast)
    found = _events(race, story)
    a, b = found
    reason = story.unordered(a.index, b.index) if a and b and a is not b else None
    reasons = [reason] if reason else []
    steps = story.steps_for(reasons)
    return {
        "kind": race.kind,
        "events": [_written(r, e, cast) for r, e in zip(race.events, found, strict=True)],
        "reason": reason.text if reason else "",
        "execution": steps.lines,
        "causes": story.causes(reasons),
        "steps": steps.steps,
        "left": steps.left,
    }


def _events(race: Race, story: Story) -> list[ExecutedEvent | None]:
    """The two events of the execution, in the order in which the race names them."""
    pairs = race.execution.relations.get("race", ())
    return [story.events[i] for i in sorted(pairs[0])] if pairs else [None, None]


def _written(site: Site, found: ExecutedEvent | None, cast: Cast) -> dict[str, Any]:
    spot = cast.spot(found) if found else None
    source = cast.source(found) if found else None
    at = cast.at(found) if found else None
    return {
        "thread": cast.name(found.thread) if found else site.name,
        "line": site.line,
        "instruction": site.instruction,
        "file": spot.path if spot else None,
        "source": str(source) if source else None,
        "at": {"file": at.path, "line": at.line} if at else None,
    }

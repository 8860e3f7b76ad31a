"""Races as results have them: two instructions, who executes them, and the execution in which nothing orders them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxmm.result import RaceEntry, RaceEvent
from ptxmm.words.linearisation import Cast, LinearisationWords

if TYPE_CHECKING:
    from axioms.witness.execution import ExecutedEvent
    from axioms.witness.result import Race, Site


def entry(race: Race, cast: Cast) -> RaceEntry:
    """A race of the model in the words of a test: `cast` names its threads and its places."""
    linearisation = LinearisationWords(race.execution, cast)
    a, b = _events(race, linearisation)
    first, second = race.events
    reason = linearisation.unordered(a.index, b.index) if a and b and a is not b else None
    reasons = [reason] if reason else []
    steps = linearisation.steps_for(reasons)
    return RaceEntry(
        race.kind,
        (_told(first, a, cast), _told(second, b, cast)),
        reason.text if reason else "",
        steps.lines,
        linearisation.causes(reasons),
        steps.steps,
        steps.left,
    )


def _events(race: Race, linearisation: LinearisationWords) -> tuple[ExecutedEvent | None, ExecutedEvent | None]:
    """The two events of the execution, in the order in which the race names them."""
    pairs = race.execution.relations.get("race", ())
    if not pairs:
        return None, None
    first, second = sorted(pairs[0])
    return linearisation.events[first], linearisation.events[second]


def _told(site: Site, found: ExecutedEvent | None, cast: Cast) -> RaceEvent:
    if found is None:
        return RaceEvent(site.name, site.line, site.instruction)
    spot = cast.spot(found)
    return RaceEvent(
        cast.name(found.thread),
        site.line,
        site.instruction,
        spot.path if spot else None,
        cast.source(found),
        cast.at(found),
    )

"""Publications: whoever wins a claim prepares something, and tells so by another value in the bytes that were claimed; others
wait for that.

    if (atomicCAS(&flag, 0, 1) == 0) { table[i] = ...; __threadfence(); flag.store(2); }
    else while (flag.load() != 2);
    __threadfence();

Who wins is open, and so is who prepares. But each execution has one winner, and who has waited comes behind all that this one
did before it released. So in clocks the winner of some bytes has a number of its own, whoever it is (`ClaimedBytes.agent`):
who acquires what it published knows that number, and comes so behind what any thread does on its way there, if it wins. No
other order is taken from it (docs/whole-launches/tickets.md, Publications).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from axioms.dynamic.core.accesses import LEVELS
from axioms.dynamic.core.findings import Party, step
from axioms.dynamic.tickets.claims import ClaimedBytes, ClaimOperation, Heard
from axioms.dynamic.tickets.ticket_accesses import Noted, OpenBranch, Way
from ptxcore.isa.form import ACQUIRES, RELEASES, Use
from ptxcore.machine.run.watched import Write
from ptxcore.places import WIDE

#: What threads learned in errands of the run, by their numbers and the bytes.
Granted = dict[tuple[int, ClaimedBytes], Heard]


def is_wide(scope: str, place: ClaimedBytes) -> bool:
    """Whether a scope has all threads that claim some bytes, or look at them."""
    return scope in WIDE or (place.is_shared and scope in ("cta", "cluster"))


def learned(use: Use, place: ClaimedBytes) -> Heard:
    """What a thread has by an operation that finds a publication."""
    acquires = use.sem in ACQUIRES and is_wide(use.scope or "sys", place)
    return Heard.KNOWN if acquires else Heard.FOUND


def fence_acquires(how: Use, place: ClaimedBytes) -> bool:
    """Whether a fence makes a thread come behind a publication that it has found."""
    return how.sem != "release" and is_wide(fence_scope(how), place)


def fence_scope(how: Use) -> str:
    """The scope of a fence."""
    return LEVELS.get(how.scope or "", how.scope or "")


def released_before(use: Use, heads: Iterable[tuple[int, str]], place: ClaimedBytes, done: int) -> int:
    """How many of the accesses that a thread has done on its way it releases by a publication: all that come before the
    operation, if it releases; else those before a fence. `heads`: how many come before each fence, and its scope."""
    if use.sem in RELEASES:
        return done
    return max((at for at, scope in heads if is_wide(scope, place)), default=0)


def keeps(write: Write, place: ClaimedBytes) -> bool:
    """Whether an atomic operation leaves what stands in some bytes, whatever it is: then it only looks."""
    values: set[Any] = {place.start, *(claim.put for claim in place.claims), place.published} - {None}
    return all(new == value or not writes for value in values for new, writes in [write(value)])


class Unpublished(Exception):
    """Somebody does something with claimed bytes that is no publication, and of which nothing is known."""

    def __init__(self, party: Party) -> None:
        super().__init__(party)
        self.party = party


def check_publications(
    gone: Iterable[tuple[OpenBranch, list[Way], list[Noted]]],
    rest: Iterable[Noted],
    claims: Iterable[ClaimOperation],
    granted: Granted,
) -> dict[int, ClaimedBytes]:
    """Holds the conditions on publications against a run, and what is done on all ways. Gives the accesses, by their identity,
    that a winner does before it releases, with what it has won. Raises Unpublished."""
    by_claim: dict[ClaimOperation, list[list[Way]]] = defaultdict(list)
    for _, ways, _ in gone:
        for claim in {claim for way in ways for claim in way.won}:
            by_claim[claim].append(ways)
    polls: dict[ClaimedBytes, list[Noted]] = defaultdict(list)
    for noted in rest:
        if noted.about is not None and not noted.in_vain:
            polls[noted.about].append(noted)
    found: dict[int, ClaimedBytes] = {}
    places = [place for place in dict.fromkeys(claim.place for claim in claims) if place.published is not None]
    for place in places:
        if not _is_published(place, by_claim):
            raise Unpublished(place.claims[0].party)
        for claim in place.claims:
            for way in by_claim[claim][0]:
                if way.won[claim]:
                    found.update((id(noted), place) for noted in way.done[: way.released])
                elif way.heard.get(place, Heard.NOTHING) < granted.get((claim.party.thread, place), Heard.NOTHING):
                    raise Unpublished(claim.party)
        _check_polls(place, polls[place])
    claiming = {(claim.party.thread, claim.place) for place in places for claim in place.claims}
    for key in granted:
        if key not in claiming:
            raise Unpublished(key[1].claims[0].party)
    return found


def _is_published(place: ClaimedBytes, by_claim: dict[ClaimOperation, list[list[Way]]]) -> bool:
    """Whether one who claims some bytes wins, nobody claims them again when that one has published, and each would publish the
    same on each way that it goes if it wins, once."""
    if not place.is_sound or place.published == place.start:
        return False
    for claim in place.claims:
        if claim.op != "cas" or claim.expected != place.start or not is_wide(claim.party.op.use.scope or "sys", place):
            return False
        if len(by_claim[claim]) != 1:
            return False
        if any((way.publishes is place) is not way.won[claim] for way in by_claim[claim][0]):
            return False
    return True


def _check_polls(place: ClaimedBytes, polls: list[Noted]) -> None:
    """Who looks for what is published, behind all errands or without one, waits for it. Raises Unpublished."""
    claimed: dict[int, float] = {}
    for claim in place.claims:
        claimed.setdefault(claim.party.thread, claim.at)
    puts = {claim.put for claim in place.claims}
    for noted in polls:
        step()
        leads = noted.leads
        values = puts if claimed.get(noted.thread, math.inf) < noted.number else puts | {place.start}
        assert noted.op is not None
        if leads is None or any(leads(value) is not None for value in values) or not is_wide(noted.strong, place):
            raise Unpublished(Party(noted.thread, noted.op))


__all__ = [
    "Granted",
    "Unpublished",
    "check_publications",
    "fence_acquires",
    "fence_scope",
    "is_wide",
    "keeps",
    "learned",
    "released_before",
]

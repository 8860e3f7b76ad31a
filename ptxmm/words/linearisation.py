"""An execution told to people: its steps in an order, which reads are out of date, and why they may be.

An execution of a weak memory model is no sequence. The order told here respects program order, and every read comes after
the write that it reads from, where that is possible; a read that returns less than what was written before it, in this
order, is out of date, and the reason says what is missing between the write and the read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby

from axioms.events.event import OPEN
from axioms.events.event_kinds import FENCE_EVENT, WRITE
from axioms.explain.account import Account
from axioms.witness.execution import ExecutedEvent, Execution
from ptxcore.records import dataclass
from ptxmm.events import part_of
from ptxmm.result import Cause, Spot, Step, ToldSteps, where_of
from ptxmm.words.brief import more_steps
from ptxmm.words.claims import ClaimWords, ToldClaim

#: More steps than these are not read: those of threads that matter are told, and then only those that matter.
_MOST_STEPS = 40
#: So many contents of memory that may hold anything are told.
_MOST_CONTENTS = 16
#: So many threads that do the same are told of in one line.
_MANY = 3


@dataclass(frozen=True, slots=True)
class Cast:
    """Who is who: the name of a thread by its number, and where an event stands, in the PTX or the test (`spot`) and in
    the source that it was compiled from (`source`). `look`: of these the one to point at; None: `spot`."""

    name: Callable[[int], str]
    spot: Callable[[ExecutedEvent], Spot | None]
    source: Callable[[ExecutedEvent], Spot | None] = lambda event: None
    look: Callable[[ExecutedEvent], Spot | None] | None = None

    def at(self, event: ExecutedEvent) -> Spot | None:
        """Where to look for an event."""
        return (self.look or self.spot)(event)

    def place(self, event: ExecutedEvent) -> str:
        """`lock.cu:7 (PTX 12)`, or `line 12` where there is no source."""
        spot = self.spot(event)
        return where_of(spot.line if spot else 0, self.source(event))


class LinearisationWords:
    """One execution, and what there is to say of it."""

    def __init__(self, execution: Execution, cast: Cast) -> None:
        self.account = Account(execution)
        self.execution, self.events, self.cast = execution, execution.events, cast
        self.order = self.account.line.order
        self.rmw = self.account.line.rmw
        self.halves = {write: read for read, write in self.rmw.items()}
        self.words = ClaimWords(self.account.ground, cast)

    @property
    def stale(self) -> dict[int, int]:
        """Each read that misses a newer write which stands before it in the order, with the last such write."""
        return self.account.stale

    @property
    def endings(self) -> dict[int, int]:
        """Writes whose values locations keep, each with one that stands behind it in the order."""
        return dict(self.account.line.kept())

    def racing(self) -> ToldClaim | None:
        """Why nothing orders the two events of the race that the execution is told of, in words; None where it has none."""
        for pair in self.execution.relations.get("race", ())[:1]:
            first, second = sorted(pair)
            return self.unordered(self.events[first].index, self.events[second].index)
        return None

    def unordered(self, one: int, other: int) -> ToldClaim | None:
        """Why nothing orders two events, in words."""
        reason = self.account.missing.unordered(one, other)
        return self.words.told(reason) if reason else None

    # Words.

    def steps(self, concerned: Iterable[int] = ()) -> list[str]:
        """The lines of `ranked`, and how many steps they leave out."""
        return self.ranked(concerned).lines

    def ranked(self, concerned: Iterable[int] = ()) -> ToldSteps:
        """The execution, a line for each instruction: who, where, what, and which values. Of many steps, those of the threads
        that do what is `concerned`; of many of these, what is concerned and what synchronizes."""
        strange = {i for pairs in (self.account.missed, self.account.ahead) for pair in pairs.items() for i in pair}
        told = self._together([i for i in self.order if self._is_step(self.events[i])])
        ranks = self._ranks(told, strange, {*concerned, *strange})
        shown = _most_telling(ranks)
        rows = [self._row(told[i]) for i in shown]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
        lines = ["  ".join([*(c.ljust(n) for c, n in zip(row, widths, strict=False)), row[3]]).rstrip() for row in rows]
        first = self._at_first()
        left = sum(map(len, told)) - sum(len(told[i]) for i in shown)
        return ToldSteps(
            [*first, *lines, *([more_steps(left)] if left else [])],
            [*[Step(None, "", 0)] * len(first), *(self._step(told[i], rank=ranks[i]) for i in shown)],
            left,
            [*[()] * len(first), *(tuple(told[i]) for i in shown)],
        )

    def _at_first(self) -> list[str]:
        """What memory holds at first that may hold anything, as far as somebody reads it."""
        read = {w for w, r in self.execution.relations.get("rf", ())}
        some = [e for e in self.events if OPEN in e.tags and e.index in read]
        if not some:
            return []
        told = ", ".join(f"{e.location} is {e.number}" for e in some[:_MOST_CONTENTS])
        more = len(some) - _MOST_CONTENTS
        return [f"at first {told}" + (f", and {more} more" if more > 0 else "")]

    def _together(self, told: list[int]) -> list[list[int]]:
        """Steps in their order, those together that many threads do alike one after another."""
        found: list[list[int]] = []
        for _, alike in groupby(told, key=lambda i: self._done(self.events[i])):
            some = list(alike)
            many = len({self.events[i].thread for i in some}) == len(some) >= _MANY
            found += [some] if many else [[i] for i in some]
        return found

    def _is_step(self, event: ExecutedEvent) -> bool:
        return (
            event.thread >= 0
            and event.index not in self.halves
            and not (event.kind is FENCE_EVENT and "ASY" in event.tags)
        )

    def _ranks(self, told: list[list[int]], strange: set[int], concerned: set[int]) -> list[int]:
        """How much each of the steps tells: 0 for reads that are not what one expects and what they miss, 1 for what else is
        concerned, 2 for what the threads of these do at the same locations, or to synchronize, 3 for what else they do, 4 for
        the rest."""
        events = self.events
        threads = {events[i].thread for i in concerned} - {-1}
        locations = {events[i].location for i in concerned} - {None}

        def rank(step: int) -> int:
            if step in concerned:
                return 0 if step in strange else 1
            if threads and events[step].thread not in threads:
                return 4
            return 2 if events[step].location in locations or "WEAK" not in events[step].tags else 3

        return [min(map(rank, some)) for some in told]

    def _step(self, alike: list[int], rank: int) -> Step:
        event = self.events[alike[0]]
        return Step(self.cast.at(event), self._who(alike), rank)

    def _who(self, alike: list[int]) -> str:
        more = f" and {len(alike) - 1} others" if len(alike) > 1 else ""
        return f"{self.cast.name(self.events[alike[0]].thread)}{more}"

    def _row(self, alike: list[int]) -> tuple[str, str, str, str]:
        return self._who(alike), *self._done(self.events[alike[0]])

    def _done(self, event: ExecutedEvent) -> tuple[str, str, str]:
        """Where, what, and which values."""
        part = part_of(event)
        return self.cast.place(event), f"  ({part})" if part else event.text, self._values(event)

    def _values(self, event: ExecutedEvent) -> str:
        if not event.kind.accesses or event.location is None:
            return ""
        partner = self.rmw.get(event.index)
        if event.kind is WRITE:
            return f"{event.location} = {event.number}"
        text = f"{event.location} is {event.number}"
        if partner is not None:
            text += f", becomes {self.events[partner].number}"
        missed, ahead = self.account.missed.get(event.index), self.account.ahead.get(event.index)
        parts = self._parts(event)
        if len(parts) > 1:
            text += f" (torn: {' and '.join(map(self._part, parts))})"
        elif missed is not None:
            newer = self.events[missed]
            what = f"out of date: {newer.number} since" if event.index in self.stale else f"misses {newer.number} of"
            text += f" ({what} {self.cast.name(newer.thread)}, {self.cast.place(newer)})"
        elif ahead is not None:
            later = self.events[ahead]
            text += f" (written below: {self.cast.name(later.thread)}, {self.cast.place(later)})"
        return text

    def _parts(self, read: ExecutedEvent) -> list[ExecutedEvent | None]:
        """The writes of all its bytes that a read returns bytes of: one, unless it is torn (PTX ISA 9.0, section 8.10.3). None
        is what was there at first."""
        own = read.location, read.width
        writes = [self.events[w] for w in self.account.line.sources.get(read.index, {}).values()]
        sources = [None if w.thread < 0 else w for w in writes if w.thread < 0 or (w.location, w.width) == own]
        return [*{w.index if w else -1: w for w in sources}.values()]

    def _part(self, write: ExecutedEvent | None) -> str:
        if write is None:
            return "a part of what was there at first"
        return f"a part of {write.number} of {self.cast.name(write.thread)}, {self.cast.place(write)}"

    def explanations(self) -> list[ToldClaim]:
        """Why the execution is not what its author may have meant."""
        return [self.words.told(reason) for reason in self.account.reasons()]

    def reasons(self) -> list[str]:
        """The same in words."""
        return [reason.text for reason in self.explanations()]

    def causes(self, reasons: list[ToldClaim]) -> list[Cause]:
        """What to look at first, each once."""
        found: dict[Cause, None] = {}
        for index, what in (culprit for reason in reasons for culprit in reason.culprits):
            event = self.events[index]
            spot = self.cast.at(event)
            if event.thread >= 0 and spot is not None:
                found[Cause(spot, what, event.text)] = None
        return list(found)

    def told(self) -> list[str]:
        """The steps, and the reasons."""
        return self.told_with(self.explanations())

    def told_with(self, reasons: list[ToldClaim]) -> list[str]:
        """The steps, and these reasons for them."""
        return [*self.steps_for(reasons).lines, *(r.text for r in reasons)]

    def communications(self, events: Iterable[int]) -> list[tuple[str, int, int]]:
        """How these events stand to each other in memory: what is read from where, what is written or read before what, and
        what races (`rf`, `co`, `fr`, `race`), each as a relation and two events."""
        some = set(events)
        return [
            (name, a, b)
            for name in ("rf", "co", "fr", "race")
            for a, b in self.execution.relations.get(name, ())
            if a in some and b in some
        ]

    def sources(self, events: Iterable[int]) -> list[tuple[str, int, int]]:
        """The edges by which these events get what they read."""
        some = set(events) | {self.halves[i] for i in events if i in self.halves}
        return [("rf", w, r) for w, r in self.execution.relations.get("rf", ()) if r in some]

    def steps_for(self, reasons: list[ToldClaim]) -> ToldSteps:
        """The steps of which these reasons speak, among others."""
        return self.ranked(i for r in reasons for i in r.involved)


def _most_telling(ranks: list[int]) -> list[int]:
    """Few of the steps, by their numbers."""
    shown = list(range(len(ranks)))
    for least in (4, 3):
        if len(shown) > _MOST_STEPS:
            shown = [i for i in shown if ranks[i] < least]
    return sorted(sorted(shown, key=lambda i: ranks[i])[:_MOST_STEPS])

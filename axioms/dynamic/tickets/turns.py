"""Turns: what threads do with a ticket, where those that hand over to each other by flags do so at the places of their tickets.

    t = atomicAdd(&tail, 1); ring[t % N] = x; seq[t % N].store(2 * (t / N) + 1, release);
    t = atomicAdd(&head, 1); while (seq[t % N].load(acquire) != 2 * (t / N) + 1); use(ring[t % N]);

Which thread has which ticket is open. But whoever has one does the same with it: a *turn* is all that its *holder* does by it,
a thread, or the threads of a warp or a CTA of which one takes the ticket for all (`tickets.holders`). So what comes behind what
hangs on the numbers of tickets, and not on who has them. Here a turn has a *strand* for each thread of its holder, a list of
steps, the same for all tickets of a counter, with addresses and values as terms of the ticket, and the meetings of these
threads. `tickets.handovers` holds them against each other, for each number; docs/whole-launches/tickets.md (Turns) has the
argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from axioms.dynamic.code.live import Live
from axioms.dynamic.core.findings import Party
from axioms.dynamic.sections.told import Teller, ToldThread, Untold
from axioms.dynamic.tickets.holders import Holder
from axioms.dynamic.tickets.ticket_accesses import Noted, Ticket
from axioms.dynamic.waits.waiting import Ended, Poll
from ptxcore.isa.form import Use
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.uninitialised import VARIES, Varying
from ptxcore.records import NamedTuple, dataclass
from ptxcore.values.terms import Term, Value, evaluate, substitute, symbol, symbols_of

#: Branches that a thread comes by from a poll to the next one, at most.
_MOST_BRANCHES = 4


class PollWay(NamedTuple):
    """What a thread does behind a poll: where truth values come out so, it polls again just so (`back`), or does something
    else."""

    tests: tuple[tuple[Value, int], ...]
    back: bool


@dataclass
class TurnStep:
    """What it `does`: an access by the ticket that is weak (`reads`, `writes`); it `waits` for some bytes to hold something, or
    `posts` it there; `fences`; `meets` other threads of its holder; or `tests` a truth value that decides. `term`: the address,
    and `beyond` it the place in the segment; or what is tested, which must be `truth`; `value`: what is posted, `found`: a
    symbol for what a wait or a read finds, `ways`: what its thread does with it. `whole`: the bytes of the whole instruction;
    `noted`: the access. `places`: those of the threads that meet, and `truth`, whether that orders memory. `stored`: the number
    that a weak write stores, None where it is open. `place` and `at`: the strand that has it, and its number there; `meeting`:
    that of the meeting, in the run."""

    does: str
    op: Op
    term: Value = 0
    beyond: int = 0
    size: int = 0
    whole: int = 0
    segment: Segment | None = None
    value: Value = 0
    truth: int = 0
    found: Term | None = None
    ways: tuple[PollWay, ...] = ()
    noted: Noted | None = None
    places: frozenset[int] = frozenset()
    stored: int | None = None
    place: int = 0
    at: int = 0
    meeting: int = 0

    def like(self, names: dict[Term, Value]) -> tuple[object, ...]:
        """Equal for steps that are the same, whatever their tickets are called."""
        ways = tuple((tuple((_named(t, names), truth) for t, truth in w.tests), w.back) for w in self.ways)
        place = self.beyond, self.size, self.whole, id(self.segment), self.truth, self.places
        use = self.op.use
        orders = (
            (use.sem, use.scope, self.noted.strong if self.noted else "") if self.noted or self.does == "fences" else ()
        )
        return self.does, orders, _named(self.term, names), place, _named(self.value, names), ways


@dataclass(eq=False)
class Turn:
    """The turn of a ticket with a number, `index`, among those of its `holder`; `taker`: the place there of the thread that has
    taken it. `steps`: what is done, in the order of the run. `known`: what the run has for symbols of which the ticket tells
    what they are."""

    ticket: Ticket
    holder: Holder
    index: int
    taker: int
    party: Party
    steps: list[TurnStep] = field(default_factory=list)
    strands: dict[int, list[TurnStep]] = field(default_factory=dict)
    known: dict[Term, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known[self.ticket.symbol] = self.ticket.number

    def add(self, place: int, step: TurnStep) -> None:
        """One more step of the thread at a place."""
        self.steps.append(step)
        self.strands.setdefault(place, []).append(step)
        step.place = place

    def close(self) -> None:
        """The launch has ended: fences and meetings are left out behind which none of their threads does anything, and steps
        get their numbers."""
        waiting = set(self.strands)
        while waiting:
            strand = self.strands[waiting.pop()]
            while strand and strand[-1].does in ("fences", "meets"):
                last = strand[-1]
                if last.does == "fences":
                    strand.pop()
                    continue
                others = [self.strands[place] for place in last.places]
                if any(not other or other[-1].meeting != last.meeting for other in others):
                    break
                for other in others:
                    other.pop()
                waiting |= last.places
        self.strands = {place: strand for place, strand in sorted(self.strands.items()) if strand}
        left = {id(step) for strand in self.strands.values() for step in strand}
        self.steps = [step for step in self.steps if id(step) in left]
        for strand in self.strands.values():
            for number, step in enumerate(strand):
                step.at = number

    def names(self) -> dict[Term, Value]:
        """The same symbols, with the same names in all turns."""
        found = [step.found for strand in self.strands.values() for step in strand if step.found is not None]
        own = self.ticket.symbol
        named: dict[Term, Value] = {own: symbol(("turn", own.width), own.width)}
        return named | {one: symbol(("found", i, one.width), one.width) for i, one in enumerate(found)}


def _named(value: Value, names: dict[Term, Value]) -> Value:
    return value if isinstance(value, int) else substitute(value, names)


def looked(width: int) -> Term:
    """A symbol for what a poll finds on a way."""
    found = symbol(("looked", width), width)
    assert isinstance(found, Term)
    return found


class _PlaceTeller(Teller):
    """Tells a copy of a thread something of which nothing is known, and where branches lead; the address varies."""

    tries = varies = True

    def __init__(self, address: int, size: int, term: Value, choices: tuple[int, ...]) -> None:
        super().__init__(address, size)
        self._term, self._choices = term, choices
        self.tests: list[tuple[Value, int]] = []

    def is_strong(self, thread: Any, address: int) -> bool:
        return True

    def locates(self, thread: Any, value: Varying) -> int:
        if value.term is not self._term:
            raise Ended
        return value.number

    def decides(self, thread: Any, value: Varying, op: Op) -> int:
        if len(self.tests) >= len(self._choices):
            raise _Choose
        truth = self._choices[len(self.tests)]
        self.tests.append((value.term, truth))
        return truth

    def other(self, thread: Any, what: str, how: Use | None = None, address: int = 0) -> None:
        if what != "unknown":
            raise Ended


class _Choose(BaseException):
    """A way comes to a branch, and has not been told where to go."""


def ways_of_poll(poll: Poll, live: Live, op: Op, at: Varying, size: int) -> tuple[PollWay, ...]:
    """What a thread does with what it finds where it polls by an instruction, at an address. Of what is in none of these ways
    nothing is known."""
    found: list[PollWay] = []
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        choices = waiting.pop()
        teller = _PlaceTeller(at.number, size, at.term, choices)
        thread = ToldThread(poll, live, teller)
        try:
            to = thread.goes(thread.begins, Varying(looked(8 * size), VARIES, 1, 0, at.owner)).at
            back = to is not None and to.key == thread.begins.key and teller.by is op
            found.append(PollWay(tuple(teller.tests), back))
        except _Choose:
            if len(choices) < _MOST_BRANCHES:
                waiting += [(*choices, 1), (*choices, 0)]
        except Untold:
            found.append(PollWay(tuple(teller.tests), back=False))
    return tuple(found)


def with_numbers(ways: tuple[PollWay, ...], known: Mapping[Term, int]) -> tuple[PollWay, ...]:
    """The ways where symbols are numbers."""
    return tuple(
        PollWay(tuple((substitute(term, known), truth) for term, truth in way.tests), way.back) for way in ways
    )


def leads_back(ways: tuple[PollWay, ...], value: int, size: int) -> bool:
    """Whether a thread polls again where it finds a value."""
    known = {looked(8 * size): value}
    return next((way.back for way in ways if all(_is(term, known) == truth for term, truth in way.tests)), False)


def _is(term: Value, known: Mapping[Term, int]) -> int | None:
    if isinstance(term, int):
        return term
    return evaluate(term, known) if symbols_of(term) <= known.keys() else None


__all__ = ["PollWay", "Turn", "TurnStep", "leads_back", "looked", "ways_of_poll", "with_numbers"]

"""Turns: what threads do with a ticket, where those that hand over to each other by flags do so at the places of their tickets.

    t = atomicAdd(&tail, 1); ring[t % N] = x; seq[t % N].store(2 * (t / N) + 1, release);
    t = atomicAdd(&head, 1); while (seq[t % N].load(acquire) != 2 * (t / N) + 1); use(ring[t % N]);

Which thread has which ticket is open. But whoever has one does the same with it: a *turn* is all that a thread does from the
addition to the next one. So what comes behind what hangs on the numbers of tickets, and not on who has them. Here a turn is a
list of steps, the same for all tickets of a counter, with addresses and values as terms of the ticket.
`tickets.handovers` holds them against each other, for each number; docs/whole-launches/tickets.md (Turns) has the argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from axioms.dynamic.code.live import Live
from axioms.dynamic.core.findings import Party
from axioms.dynamic.sections.told import Teller, ToldThread, Untold
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
    `posts` it there; `fences`; or `tests` a truth value that decides. `term`: the address, and `beyond` it the place in the
    segment; or what is tested, which must be `truth`; `value`: what is posted, `found`: a symbol for what a wait finds, `ways`:
    what its thread does with it. `whole`: the bytes of the whole instruction; `noted`: the access."""

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

    def like(self, names: dict[Term, Value]) -> tuple[object, ...]:
        """Equal for steps that are the same, whatever their tickets are called."""
        ways = tuple((tuple((_named(t, names), truth) for t, truth in w.tests), w.back) for w in self.ways)
        place = self.beyond, self.size, self.whole, id(self.segment), self.truth
        return self.does, id(self.op), _named(self.term, names), place, _named(self.value, names), ways


@dataclass(eq=False)
class Turn:
    """A turn of a thread, which has taken a ticket. `known`: what the run has for symbols of which the ticket tells what they
    are."""

    ticket: Ticket
    thread: int
    party: Party
    steps: list[TurnStep] = field(default_factory=list)
    known: dict[Term, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known[self.ticket.symbol] = self.ticket.number

    def names(self) -> dict[Term, Value]:
        """The same symbols, with the same names in all turns."""
        found = [step.found for step in self.steps if step.found is not None]
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

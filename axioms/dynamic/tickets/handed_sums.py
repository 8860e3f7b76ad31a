"""Sums of what turns hand over (`tickets.turns`): what consumers add up that producers have put into a queue.

What one of them finds hangs on who has which ticket, and so does what it adds. But if what each producer has put there is found
once, and added as often as all others, it comes to the same in the end (docs/whole-launches/tickets.md, Turns).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from axioms.dynamic.code.linear import congruent
from axioms.dynamic.core.accesses import commutative
from axioms.dynamic.tickets.handovers import Handovers, NumberedStrand
from axioms.dynamic.tickets.ticket_accesses import Counter
from axioms.dynamic.tickets.turns import Turn
from ptxcore.isa.form import Use
from ptxcore.machine.run.emulation import widened
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.uninitialised import Varying, anything
from ptxcore.machine.run.watched import WatchedThread
from ptxcore.records import dataclass
from ptxcore.values.terms import Term, mask

#: Values that are made of more are kept short.
_SHORT = 8

#: Who has put something there: the counter of the turn, the place of the thread, the number of the step.
_Step = tuple[Counter, int, int]


@dataclass(eq=False)
class GivenBytes:
    """Bytes of memory to which values of turns are added; `factors`: of each symbol how often. `value`: what stands there, for
    whoever reads it; `is_open`: of what is added nothing is known."""

    segment: Segment
    first: int
    size: int
    value: Varying
    factors: dict[Term, int] = field(default_factory=dict)
    is_open: bool = False

    def add(self, factors: Mapping[Term, int] | None) -> None:
        """One more addition, of so many of each symbol; None where nothing is known of it."""
        self.is_open = self.is_open or factors is None
        for one, factor in (factors or {}).items():
            self.factors[one] = self.factors.get(one, 0) + factor & mask(8 * self.size)


class OpenSums:
    """Sums of values that are open, as threads of a warp or a CTA make them of what each has found: one of many parts is kept
    under a symbol of its own. `is_read`: whether a symbol is for such a value."""

    def __init__(self, is_read: Callable[[Term], bool]) -> None:
        self._is_read = is_read
        self._parts: dict[Term, dict[Term, int]] = {}

    def factors(self, value: Varying) -> dict[Term, int] | None:
        """How often a sum has each symbol, modulo 2 to the number of its bits; None where a value is none."""
        term = value.term
        form = congruent(term, lambda one: (0, mask(one.width)))
        if form is None:
            return None
        found: dict[Term, int] = {}
        for one, factor in form.factors.items():
            if one in self._parts and one.width < term.width:
                return None  # it has gone around in fewer bits
            for part, times in self._parts.get(one, {one: 1}).items():
                found[part] = found.get(part, 0) + factor * times & mask(term.width)
        return found

    def shorten(self, value: Any) -> None:
        """A sum of many parts becomes a symbol, for all that have it."""
        long = isinstance(value, Varying) and value.size > _SHORT
        if long and (factors := self.factors(value)) is not None and all(map(self._is_read, factors)):
            one = anything(value.term.width)
            self._parts[one] = factors
            value.term, value.size = one, 1


def open_addend(thread: WatchedThread, how: Use) -> Varying | None:
    """What an atomic operation adds to an integer, in all its bits: a register as it is, that varies; None of other
    operations."""
    source = thread.instruction.sources[1]
    value: Any = thread.R[source.value] if source is not None and source.kind == "register" else None
    integer = how.op == "add" and how.type[:1] in "us" and commutative(how) and not how.words["vec"]
    if source is None or not integer or not isinstance(value, Varying):
        return None
    if source.negated or source.offset or source.has != how.width:
        return None
    return Varying(widened(value, how.width), value.cause, value.size, value.number, value.owner)


def is_kept(given: GivenBytes, handovers: Handovers) -> bool:
    """Whether bytes come to the same in all executions: of each step of the turns of a counter, what it finds is added equally
    often by all of them, and each finds what another turn of one counter has put there, all of which are found."""
    if given.is_open:
        return False
    added: dict[_Step, dict[int, int]] = {}
    for turn in handovers.turns:
        symbols = [(turn.ticket.symbol, (turn.ticket.counter, -1, -1))]
        symbols += [
            (made.found, (turn.ticket.counter, made.place, made.at)) for made in turn.steps if made.found is not None
        ]
        for symbol, step in symbols:
            factor = given.factors.get(symbol, 0)
            if factor:
                added.setdefault(step, {})[id(turn)] = factor
    known = sum(len(of) for of in added.values())
    return known == sum(1 for factor in given.factors.values() if factor) and all(
        _is_even(handovers, step, of) for step, of in added.items()
    )


def _is_even(handovers: Handovers, step: _Step, of: dict[int, int]) -> bool:
    """Whether all turns add equally often what they find by a step, and that is the same of all together."""
    counter, place, at = step
    turns = handovers.of[counter]
    if len(of) != len(turns) or len(set(of.values())) != 1:
        return False
    if at < 0 or turns[0].strands[place][at].does == "waits":  # a function of the ticket
        return True
    sources = [_source(handovers, turn, place, at) for turn in turns]
    steps = {None if one is None else (one[0].counter, one[0].place, one[1]) for one in sources}
    if len(steps) != 1 or None in steps:
        return False
    numbers = {one[0].number for one in sources if one is not None}
    return len(numbers) == len(turns) == len(handovers.of[next(one[0].counter for one in sources if one is not None)])


def _source(handovers: Handovers, turn: Turn, place: int, at: int) -> tuple[NumberedStrand, int] | None:
    """The step of a turn that has written what one reads: the last one that comes before it; None where that is something else,
    or what it writes hangs on tickets."""
    one = handovers.strands[id(turn), place]
    size, segment = one.steps[at].size, one.steps[at].segment
    last: tuple[NumberedStrand, int] | None = None
    there = handovers.accesses[id(segment), one.places[at]]
    for other, i in there:
        before = other.steps[i].does == "writes" and handovers.comes_before(other, i, one, at)
        if before and (last is None or handovers.comes_before(*last, other, i)):
            last = other, i
    if last is None or any(
        handovers.written_outside(segment, byte) for byte in range(one.places[at], one.places[at] + size)
    ):
        return None
    written = last[0].steps[last[1]]
    whole = (last[0].places[last[1]], written.size) == (one.places[at], size)
    alike = all(handovers.accesses[id(segment), one.places[at] + more] == there for more in range(1, size))
    stored = all(of.strands[last[0].place][last[1]].stored is not None for of in handovers.of[last[0].counter])
    return last if whole and alike and stored else None


__all__ = ["GivenBytes", "OpenSums", "is_kept", "open_addend"]

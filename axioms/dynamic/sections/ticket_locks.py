"""Locks that are tickets: who wants one draws a number, and waits until it is served.

    t = atomicAdd(&next, 1); while (serving != t); ... serving = t + 1;

Nobody else has the number t, and nobody but its holder writes t + 1: so who finds t comes behind the section of t - 1, and
sections follow each other as their numbers do. Which number a thread has is open: here it is a symbol, with the number of the
run beside it, and what it finds in vain another one, of which nothing is known but that it is not that number.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from axioms.dynamic.code.live import Live
from axioms.dynamic.core.accesses import scope_of
from axioms.dynamic.core.findings import Party, step
from axioms.dynamic.core.shadow import CONSTANT
from axioms.dynamic.sections.attempts import Attempt
from axioms.dynamic.sections.told import Teller, ToldThread, Untold
from ptxcore.isa.form import Use
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.uninitialised import Varying
from ptxcore.machine.run.watched import Write
from ptxcore.records import dataclass
from ptxcore.values.terms import add, eq, given, negate

#: Places of one attempt to which a thread comes back, at most.
_MOST_PLACES = 64


@dataclass(eq=False)
class DrawnNumber:
    """A number that a thread has drawn from a counter, and where it waits for it (None: nowhere yet)."""

    counter: Hashable
    value: Varying
    party: Party
    attempt: Attempt | None = None

    def is_next(self, value: Any) -> bool:
        """Whether a value is the number behind this one."""
        width = self.value.term.width
        return isinstance(value, Varying) and value.term is add(self.value.term, 1, width)


def draws(how: Use, write: Write) -> bool:
    """Whether an atomic operation draws a number."""
    return how.op == "add" and how.type[:1] in "bu" and not how.words["vec"] and write(0)[0] == 1


def _truth(value: Varying, found: Varying, number: Varying) -> int | None:
    told = given(value.term, negate(eq(found.term, number.term)))
    return told if isinstance(told, int) else None


class _NumberTeller(Teller):
    """Tells what is served: another number, or the thread's own."""

    tries = varies = True

    def __init__(self, attempt: Attempt, number: Varying, another: Varying, *, alone: bool) -> None:
        super().__init__(attempt.address, attempt.size)
        self._number, self._another, self._alone = number, another, alone

    @property
    def goes_on(self) -> bool:
        return self.found is self._another and self.wrote is None

    def is_strong(self, thread: Any, address: int) -> bool:
        strong = scope_of(thread.instruction.use)
        return strong not in (None, "", CONSTANT) and (self._alone or super().is_strong(thread, address))

    def decides(self, thread: Any, value: Varying, op: Op) -> int:
        told = _truth(value, self._another, self._number) if self.found is self._another else None
        if told is None:
            raise Untold
        return told


def check_drawn(drawn: DrawnNumber, live: Live, *, alone: bool) -> None:
    """Raises Untold where a thread that finds another number than its own does anything but wait, or where it goes on in
    several ways with its own. `alone`: all threads are of one CTA."""
    attempt, number = drawn.attempt, drawn.value
    if attempt is None:
        raise Untold
    another = Varying.fresh(8 * attempt.size, 0, number.owner)
    thread = ToldThread(attempt.poll, live, _NumberTeller(attempt, number, another, alone=alone))
    goes_on: set[Hashable] = set()
    seen, waiting = {thread.begins.key}, [thread.begins]
    while waiting:
        step()
        at = waiting.pop()
        back, on = thread.goes(at, another).at, thread.goes(at, number)
        if back is None or on.at is not None or on.by is None:
            raise Untold
        goes_on.add((on.goes_on, on.by.use.sem, on.by.use.scope))
        if back.key not in seen:
            seen.add(back.key)
            waiting.append(back)
        if len(goes_on) > 1 or len(seen) > _MOST_PLACES:
            raise Untold


__all__ = ["DrawnNumber", "check_drawn", "draws"]

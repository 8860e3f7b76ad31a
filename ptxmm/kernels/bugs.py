"""Bugs first: what runs show that is wrong, before and beside all that proves that nothing is.

A few orders of the threads, and many runs of smaller launches, come before proofs that take long; many runs of the launch
itself where no proof is found. What one of them shows is an answer, what they do not show is none.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ptxcore.clock import limited
from ptxmm.kernels.hunting import (
    ORDERS,
    RaceOf,
    Wrong,
    hunt,
    on_suspicion,
    race_of,
    with_a_slow_cta,
    with_torn_reads,
)
from ptxmm.kernels.places import Places
from ptxmm.kernels.replayed import replayed
from ptxmm.kernels.runs import FinalValues, Runs, threads_of
from ptxmm.kernels.wrong import breaking, tell_wrong
from ptxmm.result import Result
from ptxmm.words import whole as told

if TYPE_CHECKING:
    from axioms.dynamic.lookback.sightings import Sighting

#: Of launches of so many threads runs take long, and smaller launches are looked at before most of them. (With 128 or 256 a
#: search takes as long as that, 0.2 to 0.4 seconds.)
MANY = 512
#: Orders that are tried before proofs that take long: that of the CTAs, and the same with the `fence.sc` in others.
_FIRST = 2
#: Seconds that runs of smaller launches may take before such a proof; and that runs of the launch may.
_SMALL, _HUNTING = 2.0, 10.0
#: Seconds for runs with torn reads: each may take as long as the one that came to such a read.
_TEARING = 40.0
#: Seconds for the first of these runs, and how many.
_SOON, _SOME = 3.0, 12
#: Runs that look for something wrong before any are made that prove something by several: one of them has a read find what is
#: older.
AT_ONCE = 3


def _asks_nothing(_: FinalValues) -> bool:
    """For runs that show races alone: values may hang on what nothing wrote, of which others tell."""
    return False


class BugSearch:
    """Looks for what is wrong with a test, and tells it in a result. Nothing is looked for twice."""

    def __init__(self, runs: Runs, result: Result, places: Places) -> None:
        self._runs, self._result, self._places = runs, result, places
        self._broken = breaking(runs.test)
        self._orders, self._smaller = list(ORDERS), False
        #: Seconds that the first of the orders took.
        self._took: float | None = None

    def first(self) -> bool:
        """Whether a few runs, or those of smaller launches, show something: before a proof that takes long."""
        return self._in_orders(_FIRST) or self._in_smaller_launches(min(_SMALL, _HUNTING))

    def in_orders(self) -> bool:
        """Whether some order of the threads shows a race, or what leaves the launch without a meaning."""
        return self._in_orders(len(ORDERS))

    def soon(self) -> bool:
        """Whether one of the first runs shows something: before several that prove something, which may take long."""
        if self._in_orders_briefly(1):
            return True
        if threads_of(self._runs.test) >= MANY and self._in_smaller_launches(_SMALL):
            return True
        if self._in_orders_briefly(len(ORDERS)):
            return True
        with limited(_SOON):
            wrong = hunt(self._runs, self._broken, _SOME)
        if wrong is None:
            with limited(2 * _SOON):
                wrong = with_a_slow_cta(self._runs, self._broken)
        return wrong is not None and tell_wrong(self._runs, self._result, self._places, wrong)

    def at_once(self) -> bool:
        """Whether some of the first runs that begin otherwise than those before them show something."""
        with limited(_HUNTING / 2):
            wrong = hunt(self._runs, self._broken, AT_ONCE, ("",))
        return wrong is not None and tell_wrong(self._runs, self._result, self._places, wrong)

    def suspected(self, ways: Sequence[tuple[Sighting, ...]]) -> bool:
        """Whether a run shows something in which threads find what they may find on ways of look-backs."""
        with limited(_HUNTING):
            wrong = on_suspicion(self._runs, self._broken, ways)
        return wrong is not None and tell_wrong(self._runs, self._result, self._places, wrong)

    def with_torn_reads(self) -> bool:
        """Whether a run shows something in which a read of a vector finds some elements of a write and misses others."""
        with limited(_TEARING):
            found = with_torn_reads(self._runs, self._broken)
        return found is not None and tell_wrong(self._runs, self._result, self._places, *found)

    def everywhere(self) -> bool:
        """Whether one of many runs shows something, or one that does what goes wrong in a smaller launch."""
        if self._in_smaller_launches(_HUNTING):
            return True
        with limited(_HUNTING):
            wrong = with_a_slow_cta(self._runs, self._broken) or hunt(self._runs, self._broken)
        return wrong is not None and tell_wrong(self._runs, self._result, self._places, wrong)

    def _in_orders(self, most: int) -> bool:
        orders, self._orders = self._orders[:most], self._orders[most:]
        found = race_of(self._runs, _asks_nothing, orders)
        return found is not None and tell_wrong(self._runs, self._result, self._places, found)

    def _in_orders_briefly(self, most: int) -> bool:
        """The same of so many orders, none of which has much more time than the first one took: one may show at once what
        another one ends without. What has not come to its end is looked for again."""
        faulty: Wrong | None = None
        for order in self._orders[:most]:
            limit = _SOON if self._took is None else max(_SOON / len(ORDERS), 2 * self._took)
            began = time.monotonic()
            with limited(limit):
                found = race_of(self._runs, self._broken, (order,))
            took = time.monotonic() - began
            if took < limit:
                self._orders.remove(order)
            self._took = took if self._took is None else self._took
            faulty = faulty or found
            if isinstance(found, RaceOf):
                faulty = found
                break
        return faulty is not None and tell_wrong(self._runs, self._result, self._places, faulty)

    def _in_smaller_launches(self, seconds: float) -> bool:
        if self._smaller:
            return False
        self._smaller = True
        with limited(_HUNTING):  # where a smaller one is wrong, the launch is likely to be
            again = replayed(self._runs, self._broken, seconds)
        if again is None or not tell_wrong(self._runs, self._result, self._places, again.found):
            return False
        self._result.notes.append(told.replayed(again.ctas, again.threads))
        return True


__all__ = ["AT_ONCE", "MANY", "BugSearch"]

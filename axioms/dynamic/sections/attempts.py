"""How threads take locks: all that they do from their first look at one until they have it.

An *attempt* polls the lock, by strong reads and by atomic operations, until it finds it free and changes that. It may look
before it tries, sleep for longer and longer in between, or try with what it has seen. Whatever it finds on the way, of all that
may stand there, it polls again or takes the lock, does nothing else that others see but fences, takes it only where it is free,
and goes on equally then; and from everywhere it takes a lock that stays free. So it is one operation that takes the lock.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

from axioms.dynamic.code.live import Live
from axioms.dynamic.core.accesses import scope_of
from axioms.dynamic.core.findings import step
from axioms.dynamic.core.shadow import CONSTANT
from axioms.dynamic.sections.told import Teller, ToldAt, ToldStep, ToldThread, Untold
from axioms.dynamic.waits.waiting import Poll
from ptxcore.records import NamedTuple

#: Steps of one attempt, at most.
_MOST_STEPS = 20_000


class Attempt(NamedTuple):
    """An attempt by a thread: where it polls first, and at which address."""

    poll: Poll
    address: int
    size: int


class _LockTeller(Teller):
    """Tells what stands in a lock. `alone`: its threads are all of one CTA."""

    tries = True

    def __init__(self, address: int, size: int, *, alone: bool) -> None:
        super().__init__(address, size)
        self._alone = alone

    def is_strong(self, thread: Any, address: int) -> bool:
        strong = scope_of(thread.instruction.use)
        return strong not in (None, "", CONSTANT) and (self._alone or super().is_strong(thread, address))


class _Ways:
    """What comes of an attempt, step by step."""

    def __init__(self, attempt: Attempt, live: Live, free: Collection[int], *, alone: bool) -> None:
        teller = _LockTeller(attempt.address, attempt.size, alone=alone)
        self._thread, self._free = ToldThread(attempt.poll, live, teller), free
        self._steps: dict[tuple[Hashable, int], ToldStep] = {}
        self.begins = self._thread.begins

    def step(self, at: ToldAt, value: int) -> ToldStep:
        """What comes of finding a value; of a step without `at`, the thread has taken the lock. Raises Untold."""
        found = self._steps.get((at.key, value))
        if found is None:
            step()
            if len(self._steps) > _MOST_STEPS:
                raise Untold
            found = self._steps[at.key, value] = self._thread.goes(at, value)
        if found.at is None and (value not in self._free or found.wrote in (None, value)):
            raise Untold  # it goes on without the lock
        return found

    def takes_in_the_end(self, at: ToldAt) -> None:
        """Raises Untold where a thread goes round though the lock stays free."""
        seen = set()
        while at.key not in seen:
            seen.add(at.key)
            found = self.step(at, next(iter(self._free)))
            if found.at is None:
                return
            at = found.at
        raise Untold


def check_attempt(
    attempt: Attempt, live: Live, free: int, values: Collection[int], *, alone: bool, shared: Collection[int] = ()
) -> None:
    """Raises Untold where an attempt may be something else than one operation that takes a lock which is free where `free`
    stands there; `values`: what those have put there who took it. `alone`: all threads are of one CTA. `shared`: it takes the
    lock where one of these stands there, of which `free` is the first, by adding one."""
    ways = _Ways(attempt, live, shared or (free,), alone=alone)
    goes_on: set[Hashable] = set()
    seen, waiting = {ways.begins.key}, [ways.begins]
    while waiting:
        at = waiting.pop()
        ways.takes_in_the_end(at)
        for value in (*(shared or (free,)), *values):
            found = ways.step(at, value)
            if found.at is not None:
                if found.at.key not in seen:
                    seen.add(found.at.key)
                    waiting.append(found.at)
                continue
            assert found.by is not None
            goes_on.add((found.goes_on, None if shared else found.wrote, found.by.use.sem, found.by.use.scope))
            right = found.wrote == value + 1 if shared else found.wrote in values
            if not right or len(goes_on) > 1:
                raise Untold


__all__ = ["Attempt", "check_attempt"]

"""Threads that certainly come to their ends, although they wait for mbarrier objects: of those that are used for one phase.

    an object of one phase     one initialisation, and in any execution whose threads end, arrivals for one phase and as many
                               bytes as were expected; so its last state is known, and who waits for that phase leaves then

An arrival of copies that counts as one more (`cp.async.mbarrier.arrive` without `.noinc`) does so before the thread itself
arrives, so that the phase is not over before it.

Every thread goes on as long as nothing in its way is uncertain: a wait for such an object is over when all threads have passed
all operations on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from axioms.liveness.timed import repeats
from axioms.program import Program
from axioms.sync.shared_waits import SharedWaits
from ptxcore.isa.effect_kinds import INPUT, MBARRIER, STOP
from ptxcore.isa.mbarrier import Contents, contents, outstanding, packed
from ptxcore.machine.ir.effects import Effect, Stuck
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

#: What is done to an object in one phase.
_COUNTED = frozenset(("arrive", "expect_tx", "complete_tx", "increment"))
#: A state with room for the changes of one operation.
_ROOM = 1 << 18
_PROBE = terms.evaluate(packed(Contents(_ROOM, _ROOM, 0, 0, 1)), {})


class CertainEnds(SharedWaits):
    """`exited` are the threads that certainly end."""

    def __init__(self, program: Program) -> None:
        self.program = program
        #: By object, its operations: thread and effect; None where it is not known which it is.
        self._operations: dict[int, list[tuple[int, Effect]]] | None = {}
        for t, effect in self._all("mbarrier"):
            places = program.places.get((t, effect.index), [[]])[0]
            if len(places) != 1 or self._operations is None:
                self._operations = None
            elif effect.operation != "wait":
                self._operations.setdefault(places[0].object, []).append((t, effect))
        #: Of each object of one phase the state that it comes to.
        self._last: dict[int, Value | None] = {}
        super().__init__(program.threads)

    def _all(self, kind: str) -> Iterator[tuple[int, Effect]]:
        for t, thread in enumerate(self.program.threads):
            yield from ((t, e) for e in thread.execution.effects if e.kind == kind)

    def _finishes(self, t: int) -> bool:
        execution = self.threads[t].execution
        blind = any(not s.reads for s in execution.stuck)
        return execution.finishes == 1 or (execution.cut == 0 and not blind and not any(self._traps(t)))

    def _is_certain(self, t: int, effect: Effect) -> bool:
        """Unless it waits before, that is: it does in every execution in which it ends, traps, is cut, or goes round without
        looking at anything."""
        execution = self.threads[t].execution
        blind = (s.guard for s in execution.stuck if not s.reads)
        others = (execution.finishes, execution.cut, *self._traps(t), *blind)
        return all(terms.implies(way, effect.guard) for way in others)

    def _traps(self, t: int) -> Iterator[Value]:
        """The conditions under which a thread ends the launch."""
        return (e.guard for e in self.threads[t].execution.effects if e.kind is STOP and e.guard != 0)

    def leaves(self, t: int, loop: Stuck) -> bool:
        """Whether a thread certainly leaves a loop that waits."""
        return bool(loop.reads) and max(loop.reads) < self.reached[t]

    def _passes(self, t: int, effect: Effect, arrived: dict[tuple[tuple[object, ...], int], set[int]]) -> bool:
        execution = self.threads[t].execution
        loops = [s for s in execution.stuck if effect.index in s.reads]
        if not all(self._is_left(t, effect, repeats(s, execution)) for s in loops):
            return False
        return super()._passes(t, effect, arrived)

    def _is_left(self, t: int, effect: Effect, goes_round: Value | None) -> bool:
        """Whether a loop is certainly left that waits by an effect, as far as that one decides."""
        if goes_round is None:
            return False
        if effect.kind is INPUT:
            return effect.operation == "try_wait"
        if effect.kind is not MBARRIER or effect.operation != "wait" or effect.result is None:
            return False
        number = self.program.places[t, effect.index][0]
        last = self._state(number[0].object) if len(number) == 1 else None
        if last is None or any(self.reached[u] <= e.index for u, e in (self._operations or {})[number[0].object]):
            return False
        return terms.substitute(goes_round, {**self._first_phase, effect.result: last}) == 0

    @cached_property
    def _first_phase(self) -> dict[Term, Value]:
        """What operations find in objects of one phase."""
        known: dict[Term, Value] = {}
        for number, operations in (self._operations or {}).items():
            if self._state(number) is not None:
                for symbol in (e.result for _, e in operations if e.result is not None):
                    known[symbol] = packed(contents(symbol)._replace(phase=0, valid=1))
        return known

    def _state(self, number: int) -> Value | None:
        """The last state of an object that is used for one phase; None of others."""
        if number not in self._last:
            self._last[number] = self._find(number)
        return self._last[number]

    def _find(self, number: int) -> Value | None:
        operations = (self._operations or {}).get(number, [])
        first = [e for _, e in operations if e.operation == "init"]
        others = [e for _, e in operations if e.operation != "init"]
        if len(first) != 1 or type(first[0].value) is not int or not all(self._is_certain(t, e) for t, e in operations):
            return None
        arrivals = total = 0
        for effect in others:
            after = _after(effect)
            if effect.operation not in _COUNTED or after is None:
                return None
            arrivals += after[0]
            total += after[1]
        expected = contents(first[0].value).expected
        if arrivals != expected or total != 0 or not all(_arrives_behind(e, t, operations) for t, e in operations):
            return None
        return packed(Contents(expected, expected, 0, 1, 1))


def _arrives_behind(effect: Effect, thread: int, operations: list[tuple[int, Effect]]) -> bool:
    """Whether the thread itself arrives behind an operation, if that makes the object wait for more."""
    return effect.operation != "increment" or any(
        t == thread and e.operation == "arrive" and e.agent < 0 and e.index > effect.index for t, e in operations
    )


def _after(effect: Effect) -> tuple[int, int] | None:
    """How many arrivals an operation is, and how many bytes more it expects; None where that is not known."""
    if effect.result is None or effect.value is None:
        return None
    try:
        now = contents(terms.evaluate(effect.value, {effect.result: _PROBE}))
    except KeyError:
        return None
    assert type(now.pending) is int and type(now.transactions) is int
    transactions = outstanding(now.transactions)
    assert type(transactions) is int
    return _ROOM - now.pending, transactions

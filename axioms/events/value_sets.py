"""Which numbers reads may return, found before it is known where accesses go: so that an index that was read from memory
leads to the few elements that it can be and not to all.

    every read returns the initial value, or a number that some write to its bytes may write
    every write writes what its value is over what reads may return, wherever its address may be then

Repeated as often as there are reads, since no value flows through one read twice. What ranges too far is anything. Whatever
an execution does, a read returns one of these numbers: conditions count as if they could be true and false at once, and bytes
of a number may come from different writes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from axioms.events.memory import AddressSpace, TooManyPlaces
from axioms.sat.values import TooManyValues, numbers_of
from ptxcore.clock import tick
from ptxcore.machine.ir.effects import Effect
from ptxcore.values import terms
from ptxcore.values.spread import spread
from ptxcore.values.terms import Term, Value

#: The numbers that a value may be; None for anything.
NumberSet = frozenset[int] | None

#: More numbers than this are anything.
MOST = 256
#: So many combinations of operands are tried.
_MOST_TOGETHER = 4096
_NONE = frozenset[int]()
#: An object, an offset in bytes, and a size in bytes.
AccessKey = tuple[int, int, int]


class Flow:
    """`accesses` are the effects that access memory, each with its thread; `kinds` of them read or write a value, the others
    may write anything to the bytes that `spans` gives."""

    def __init__(
        self,
        space: AddressSpace,
        accesses: Sequence[tuple[int, Effect]],
        spans: Callable[[Effect], Iterable[tuple[Value, int]]],
    ) -> None:
        self.space = space
        self._plain = [(t, e) for t, e in accesses if e.kind.accesses]
        others = [(t, *span) for t, e in accesses if not e.kind.accesses for span in spans(e)]
        self._reads = [(t, e) for t, e in self._plain if e.result is not None]
        self._writes = [(t, e) for t, e in self._plain if e.value is not None]
        self._known: dict[Term, NumberSet] = {e.result: _NONE for _, e in self._reads if e.result is not None}
        self._computed: dict[tuple[object, ...], NumberSet] = {}
        self._order = terms.subterms([v for _, e in self._plain for v in (e.address, e.value or 0)])
        try:
            anywhere = [key for t, address, size in others for key in self._keys(t, address, size, aligned=1)]
            self._solve(anywhere)
        except TooManyPlaces:
            self._known = {}

    def numbers(self, value: Value) -> NumberSet:
        """What a value may be; of one that is not part of any access, too."""
        if type(value) is int:
            return frozenset((value,))
        for t in terms.subterms([value]):
            if t not in self._known:
                self._known[t] = self._of(t)
        return self._known[value]  # type: ignore[index]

    def _solve(self, anywhere: list[AccessKey]) -> None:
        for _ in range(len(self._reads) + 1):
            for t in self._order:
                if t.op != "symbol" or t not in self._known:
                    self._known[t] = self._of(t)
            written: dict[int, dict[AccessKey, NumberSet]] = {}
            for key in anywhere:
                written.setdefault(key[0], {})[key] = None
            for thread, e in self._writes:
                numbers = self.numbers(e.value or 0)
                for key in self._keys(thread, e.address, e.width // 8):
                    at = written.setdefault(key[0], {})
                    at[key] = union(at.get(key, _NONE), numbers)
            changed = False
            held: dict[AccessKey, NumberSet] = {}
            for thread, e in self._reads:
                assert e.result is not None
                found: NumberSet = _NONE
                for key in self._keys(thread, e.address, e.width // 8):
                    if key not in held:
                        held[key] = self._held(key, written.get(key[0], {}))
                    found = union(found, held[key])
                if found != self._known[e.result]:
                    self._known[e.result], changed = found, True
            if not changed:
                return

    def _of(self, t: Term) -> NumberSet:
        tick()
        if t.width == 1:
            return frozenset((0, 1))
        if t.op == "symbol":
            return None
        operands = {a: self._known[a] for a in t.args if type(a) is Term}
        known = {a: n for a, n in operands.items() if n is not None}
        if len(known) == len(operands) and math.prod(len(n) for n in known.values()) <= _MOST_TOGETHER:
            # Threads that do the same have different terms over the same numbers.
            alike = (t.op, t.width, *[known[a] if type(a) is Term else a for a in t.args])
            if alike not in self._computed:
                self._computed[alike] = self._compute(t, known)
            return self._computed[alike]
        low, high, step = spread(t)
        if step and (high - low) // step < MOST:
            return frozenset(n & terms.mask(t.width) for n in range(low, high + 1, step))
        return None

    def _compute(self, t: Term, known: Mapping[Term, frozenset[int]]) -> NumberSet:
        try:
            numbers = numbers_of(t, known)
        except TooManyValues:
            return None
        return numbers if len(numbers) <= MOST else None

    def _keys(self, thread: int, address: Value, size: int, aligned: int = 0) -> list[AccessKey]:
        """Where an access may go. Raises TooManyPlaces."""
        numbers = self.numbers(address)
        if numbers is None:
            assert type(address) is Term
            places = self.space.possible(thread, address, size, aligned or size).places
            return [(view.object, offset, size) for _, view, offset in places]
        found = [self.space.at(thread, a, size) for a in numbers]
        return [(at[0].object, at[1], size) for at in found if at is not None]

    def _held(self, key: AccessKey, written: Mapping[AccessKey, NumberSet]) -> NumberSet:
        """What may be found in some bytes: each from the initial value, or from a write that it is part of."""
        number, offset, size = key
        if self.space.objects[number].open:
            return None
        initial = self.space.objects[number].number(offset, size)
        columns = [{initial >> 8 * i & 0xFF} for i in range(size)]
        for (_, at, width), values in written.items():
            shared = range(max(at, offset), min(at + width, offset + size))
            if shared and values is None:
                return None
            for byte in shared:
                columns[byte - offset].update(n >> 8 * (byte - at) & 0xFF for n in values or ())
        return _joined(columns)


class LaterFlow:
    """A flow that is computed when it is first asked for."""

    def __init__(
        self,
        space: AddressSpace,
        accesses: Sequence[tuple[int, Effect]],
        spans: Callable[[Effect], Iterable[tuple[Value, int]]],
    ) -> None:
        self._of = space, accesses, spans
        self._found: Flow | None = None

    def __call__(self) -> Flow:
        if self._found is None:
            self._found = Flow(*self._of)
        return self._found


def union(a: NumberSet, b: NumberSet) -> NumberSet:
    if a is None or b is None or len(both := a | b) > MOST:
        return None
    return both


def torn(numbers: NumberSet, size: int) -> NumberSet:
    """With each byte from any of the numbers."""
    if numbers is None:
        return None
    return _joined([{n >> 8 * i & 0xFF for n in numbers} for i in range(size)])


def _joined(columns: Sequence[set[int]]) -> NumberSet:
    """The numbers of which each byte is one of some."""
    if math.prod(len(c) for c in columns) > MOST:
        return None
    return frozenset(sum(b << 8 * i for i, b in enumerate(some)) for some in itertools.product(*columns))

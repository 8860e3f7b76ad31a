"""Which numbers writes may write, and asynchronous copies may carry: what their sources may hold, as far as that is bounded.

    every cell holds its initial value, or a number that some write to it may write
    every copy writes what its cells of the source hold, put together from bytes of any of these numbers

Repeated as often as there are copies, since no value flows through one copy twice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

from axioms.events.event import Event, ProgramThread
from axioms.events.event_kinds import WRITE
from axioms.events.memory import Cell
from axioms.events.value_sets import MOST, Flow, NumberSet, torn, union
from ptxcore.isa.effect_kinds import COPY
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

#: So many combinations of operands are tried.
_MOST_TOGETHER = 4096


class CarriedWrites:
    """What writes may write, of a program with these `cells` and `events`: by the numbers that reads may return (`flow`) in its
    `threads` as they were before cells were known."""

    def __init__(
        self, cells: Sequence[Cell], events: Sequence[Event], flow: Callable[[], Flow], threads: Sequence[ProgramThread]
    ) -> None:
        self.cells, self.events, self.flow, self.threads = cells, events, flow, threads
        self._carried: CopiedValues | None = None

    def numbers(self, write: Event, cell: int) -> NumberSet:
        """The numbers that a write may write to one of its cells; None for anything."""
        effect = write.effect
        if effect is None:
            return _at_first(self.cells[cell])
        if effect.kind is COPY:
            if self._carried is None:
                self._carried = CopiedValues(self.cells, self.events, self.numbers)
            return self._carried.numbers(write, cell)
        if not effect.kind.writes:
            return None
        numbers = self.flow().numbers(self.threads[write.thread].execution.effects[effect.index].value or 0)
        by, size = 8 * (self.cells[cell].offset - write.offset), self.cells[cell].width
        return numbers if numbers is None else frozenset(n >> by & terms.mask(size) for n in numbers)


class CopiedValues:
    """What the writes of copies may write. `written` says what other writes may write to a cell."""

    def __init__(
        self, cells: Sequence[Cell], events: Iterable[Event], written: Callable[[Event, int], NumberSet]
    ) -> None:
        self._sizes = [c.size for c in cells]
        self._held: list[NumberSet] = [_at_first(c) for c in cells]
        self._sources: dict[Term, set[int]] = {}
        self._copied: list[tuple[int, Value]] = []
        copies = 0
        for e in events:
            if e.effect is not None and e.effect.kind is COPY:
                copies += e.kind is WRITE
                for cell, value in zip(e.cells, e.values, strict=True):
                    if e.kind is WRITE:
                        self._copied.append((cell, value))
                    elif type(value) is Term:
                        self._sources.setdefault(value, set()).add(cell)
            elif e.kind is WRITE:
                for cell in e.cells:
                    self._held[cell] = union(self._held[cell], written(e, cell))
        for _ in range(copies):
            if not self._grows():
                break

    def _grows(self) -> bool:
        """One more copy. True if some cell may hold more."""
        found = [(cell, self._of(value)) for cell, value in self._copied]
        grown = False
        for cell, numbers in found:
            held = union(self._held[cell], numbers)
            grown |= held != self._held[cell]
            self._held[cell] = held
        return grown

    def numbers(self, write: Event, cell: int) -> NumberSet:
        """What a write of a copy may write to a cell; None for anything."""
        return self._of(write.value_at(cell))

    def _of(self, value: Value) -> NumberSet:
        if type(value) is int:
            return frozenset((value,))
        known: dict[Term, frozenset[int]] = {}
        for symbol in terms.symbols_of(value):
            numbers: NumberSet = frozenset()
            for cell in self._sources.get(symbol, ()):
                numbers = union(numbers, torn(self._held[cell], self._sizes[cell]))
            if not numbers:
                return None
            known[symbol] = numbers
        if math.prod(len(numbers) for numbers in known.values()) > _MOST_TOGETHER:
            return None
        found = {
            terms.evaluate(value, dict(zip(known, combination, strict=True)))
            for combination in itertools.product(*known.values())
        }
        return frozenset(found) if len(found) <= MOST else None


def _at_first(cell: Cell) -> NumberSet:
    """What a cell may hold at first."""
    return frozenset((cell.initial,)) if type(cell.initial) is int else None

"""An execution as the model that judged it sees it: base relations and definitions by name, by the numbers that people see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from axioms.cat.evaluate import bits
from axioms.cat.names import BASE
from axioms.events.event_kinds import WRITE

if TYPE_CHECKING:
    from axioms.cat.evaluate import Evaluation
    from axioms.cat.model import Model
    from axioms.cat.nodes import Rows
    from axioms.witness.judge import Judged

EventPair = tuple[int, int]


class JudgedExecution:
    """Evaluated when somebody asks: most executions are never explained. It stays where it was made: copies that are sent
    elsewhere have none (`Execution.judged` is None there)."""

    def __init__(self, candidate: Judged) -> None:
        self._candidate = candidate
        self._base: Mapping[str, int | Rows] | None = None
        self._number: dict[int, int] | None = None
        self._found: dict[tuple[str, bool], frozenset[EventPair] | None] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return _nothing, ()

    @property
    def model(self) -> Model:
        return self._candidate.model

    @property
    def evaluation(self) -> Evaluation:
        """The model's values, by the numbers of the program's events (see `number`)."""
        return self._candidate.evaluation

    @property
    def number(self) -> dict[int, int]:
        """From events of the program to those of the execution; the two halves of a barrier are one there."""
        if self._number is None:
            self._number = self._candidate.numbers()
        return self._number

    def base(self, name: str) -> frozenset[EventPair]:
        """A relation that every model may use without defining it."""
        assert BASE[name].kind == "relation"
        if (name, False) not in self._found:
            if self._base is None:
                self._base = self._candidate.base()
            value = self._base[name]
            assert isinstance(value, list)
            self._found[name, False] = self._pairs(value)
        return self._found[name, False] or frozenset()

    def defined(self, name: str) -> frozenset[EventPair] | None:
        """A relation that the model defines under a name; None where it defines none."""
        if (name, True) not in self._found:
            node = self.model.names.get(name)
            known = node is not None and node.kind == "relation"
            self._found[name, True] = self._pairs(self.evaluation.rows(node)) if known and node is not None else None
        return self._found[name, True]

    def value(self, expression: str) -> tuple[int, ...] | tuple[EventPair, ...]:
        """What an expression of the model's language is here: events of a set, pairs of a relation. Raises InputError."""
        from axioms.witness.asked import value_of

        found = value_of(self._candidate, expression)
        if isinstance(found, int):
            return tuple(sorted({self.number[i] for i in bits(found) if i in self.number}))
        return tuple(sorted(self._pairs(found)))

    def _pairs(self, rows: Rows) -> frozenset[EventPair]:
        number = self.number
        return frozenset(
            (number[i], number[j])
            for i, row in enumerate(rows)
            if row and i in number
            for j in bits(row)
            if j in number and (i == j or number[i] != number[j])
        )

    # Bytes.

    def sources(self) -> dict[int, dict[int, int]]:
        """For each read, the write that each of its cells (bytes that no access tells apart) comes from."""
        number, candidate = self.number, self._candidate
        return {
            number[r]: {c: number[w] for c, w in zip(candidate.program.events[r].cells, ws, strict=True)}
            for r, ws in candidate.rf.items()
            if candidate.executed[r]
        }

    def writers(self) -> dict[int, list[int]]:
        """The writes of each cell."""
        number, events = self.number, self._candidate.program.events
        found: dict[int, list[int]] = {}
        for e in events:
            if e.kind is WRITE and e.index in number:
                for c in e.cells:
                    found.setdefault(c, []).append(number[e.index])
        return found

    def finals(self) -> dict[int, int]:
        """The write that each cell keeps, of those that somebody looks at in the end."""
        return {c: self.number[w] for c, w in self._candidate.finals.items()}


def _nothing() -> None:
    return None


def successors(pairs: Iterable[EventPair]) -> dict[int, list[int]]:
    """Of each event those that a relation leads to."""
    found: dict[int, list[int]] = {}
    for a, b in sorted(pairs):
        found.setdefault(a, []).append(b)
    return found


def reached(after: dict[int, list[int]], start: int) -> set[int]:
    """What steps lead to from an event; the event itself where it is on a circle."""
    found: set[int] = set()
    todo = [start]
    while todo:
        for b in after.get(todo.pop(), ()):
            if b not in found:
                found.add(b)
                todo.append(b)
    return found

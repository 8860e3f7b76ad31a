"""What all candidates of one program share when a model judges them and people look at them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from axioms.cat.evaluate import Evaluation
from axioms.cat.model import Model, Node
from axioms.cat.nodes import Rows
from axioms.cat.orders import immediate
from axioms.events.event_kinds import WRITE
from axioms.program import Event, Program, carries_all, dependency_pairs, members_by_tag
from ptxcore.records import NamedTuple


class Judged(Protocol):
    """What is looked up of a candidate for people, and for models that ask each execution by itself: `axioms.witness.candidate`
    says what these are."""

    program: Program
    model: Model
    executed: list[bool]
    rf: Mapping[int, tuple[int, ...]]
    finals: Mapping[int, int]
    circular: bool

    @property
    def evaluation(self) -> Evaluation: ...
    def base(self) -> Mapping[str, int | Rows]: ...
    def value(self, event: Event) -> int: ...
    def numbers(self) -> dict[int, int]: ...


class _Named(NamedTuple):
    """An event as people see it: its instruction and the line of it, what it accesses, of which object, and how many
    elements."""

    text: str
    cell: str | None
    line: int | None
    object: str
    elements: int


class _Names(dict[int, _Named]):
    """What people call events, by their numbers: the same in every execution that has them."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._program = program

    def __missing__(self, index: int) -> _Named:
        found = self[index] = _named(self._program, self._program.events[index])
        return found


def _named(program: Program, e: Event) -> _Named:
    thing = program.objects[e.object] if e.object >= 0 else None
    cell, count = (None, 1) if thing is None else thing.named(e.offset, e.width // 8)
    whole = "" if thing is None else thing.name + thing.owner
    if e.effect is None:
        return _Named(e.label, cell, None, whole, count)
    from ptxcore.syntax.printer import print_statement  # not where nobody looks at executions

    instruction = e.effect.instruction
    return _Named(print_statement(instruction), cell, instruction.span.line or None, whole, count)


class ModelChecker:
    """What all candidates of one program share when a model judges them."""

    def __init__(self, program: Program, model: Model) -> None:
        self.program, self.model = program, model
        self.members = members_by_tag(program)
        self.dependencies = dependency_pairs(program)
        self.carrying = self.dependencies if carries_all(program) else dependency_pairs(program, carrying=True)
        self.writes: dict[int, int] = {}  # of each cell
        for e in program.events:
            if e.kind is WRITE:
                for c in e.cells:
                    self.writes[c] = self.writes.get(c, 0) | 1 << e.index
        self._alive = -1
        self._base: dict[str, int | Rows] = {}
        self._values: dict[Node, int | Rows] = {}
        self.names = _Names(program)
        self._steps: tuple[int, Rows] = -1, []

    def fixed(self, alive: int) -> tuple[dict[str, int | Rows], dict[Node, int | Rows]]:
        """Base sets and relations, and the model's values over them, that only depend on which events are executed."""
        if alive != self._alive:
            self._alive = alive
            program = self.program
            base = BaseValues({"_": alive}, program.size)
            for tag, members in self.members.items():
                base[tag] = members & alive
            for name, rows in program.relations.items():
                base[name] = [row & alive if alive >> i & 1 else 0 for i, row in enumerate(rows)]
            self._base = base
            evaluation = Evaluation.__new__(Evaluation)
            evaluation.model, evaluation.size, evaluation.base, evaluation.values = self.model, program.size, base, {}
            evaluation.compute(self.model.fixed)
            self._values = evaluation.values
        return self._base, self._values

    def steps(self, alive: int) -> Rows:
        """Program order among the events that are executed, without the pairs that others imply."""
        if self._steps[0] != alive:
            rows = self.program.relations["po"]
            self._steps = alive, immediate([row & alive if alive >> i & 1 else 0 for i, row in enumerate(rows)])
        return self._steps[1]


class BaseValues(dict[str, "int | Rows"]):
    """Base names to values; a set that no event is in, or a relation that none are in, is empty."""

    def __init__(self, values: Mapping[str, int | Rows], size: int) -> None:
        super().__init__(values)
        self.size = size

    def __missing__(self, name: str) -> int | Rows:
        from axioms.cat.names import BASE

        return 0 if BASE[name].kind == "set" else [0] * self.size

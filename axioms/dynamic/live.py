"""Liveness of registers in lowered code: which of them may be read before they are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ptxcore.machine.lower.ops import Code, Op, Source, Target, Targets
from ptxcore.machine.run.codegen import Compiled


class Live:
    """The registers that are live where a block begins; blocks as `ptxcore.machine.run.codegen.Compiled` numbers them."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._of: dict[str, list[frozenset[int]]] = {}

    def at(self, block: int) -> frozenset[int]:
        """The live registers where a block begins, by slot."""
        code, place = self._compiled.begins[block]
        if code.name not in self._of:
            self._of[code.name] = _live(code)
        return self._of[code.name][place]

    def of(self, block: int, registers: list[Any]) -> tuple[Any, ...]:
        """The values of the live registers; equal for threads that go on equally there."""
        return tuple((slot, registers[slot]) for slot in sorted(self.at(block)))

    def same(self, block: int, one: list[Any], other: list[Any]) -> bool:
        """Whether the live registers have the same values."""
        return all(one[slot] is other[slot] or one[slot] == other[slot] for slot in self.at(block))


def _live(code: Code) -> list[frozenset[int]]:
    """For each instruction, and behind the last, the registers that are live before it."""
    results = frozenset(r.slot for r in code.results if r.slot is not None)
    live: list[frozenset[int]] = [results] * (len(code.ops) + 1)
    changed = True
    while changed:
        changed = False
        for at in range(len(code.ops) - 1, -1, -1):
            op = code.ops[at]
            after: frozenset[int] = frozenset()
            for following in _following(code, at):
                after |= live[following]
            if op.guard is None:
                after -= _written(op.targets)
            found = after | _read(op)
            if found != live[at]:
                live[at], changed = found, True
    return live


def _following(code: Code, at: int) -> Iterator[int]:
    op = code.ops[at]
    ends = op.use.form.kind in ("branch", "jump", "exit", "return") and op.guard is None
    if not ends:
        yield at + 1
    elif op.use.form.kind == "return":
        yield len(code.ops)
    for label in op.labels:
        if label in code.labels:
            yield code.labels[label]


def _written(targets: Iterable[Targets]) -> frozenset[int]:
    found: set[int] = set()
    for target in targets:
        if isinstance(target, Target):
            found.add(target.slot)
        elif target is not None:
            found |= _written(target)
    return frozenset(found)


def _read(op: Op) -> frozenset[int]:
    found = set() if op.guard is None else {op.guard[0]}
    waiting: list[Source | None] = list(op.sources)
    if op.call is not None:
        waiting += [op.call.pointer, *(a.source for a in op.call.arguments)]
    while waiting:
        source = waiting.pop()
        if source is not None:
            waiting += source.parts
            if source.kind == "register":
                found.add(source.value)
    return frozenset(found)


def read_anywhere(code: Code) -> frozenset[int]:
    """All registers that some instruction of a function reads, or that are its results."""
    found = frozenset(r.slot for r in code.results if r.slot is not None)
    return found.union(*map(_read, code.ops))


def results_unused(functions: Iterable[Code], op: Op) -> bool:
    """Whether no instruction of its function reads a register that an instruction writes."""
    code = next(c for c in functions if any(o is op for o in c.ops))
    return _written(op.targets).isdisjoint(read_anywhere(code))

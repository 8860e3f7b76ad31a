"""Assertions that cannot fail, found before a kernel is explored.

Libraries assert in the loops in which they wait (that a computed sleep is not too long, for instance). Nobody wants to hear of
such an assertion if it always holds, and without it the loop only looks. So the way to it is followed back to the next
point where paths meet, with nothing known of the registers there; if the branches on the way exclude each other, it is
never taken. Whoever calls says whether conditions do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from ptxcore.isa import data_movement
from ptxcore.machine.ir.private_memory import Constants
from ptxcore.machine.ir.steps import InstructionStep
from ptxcore.machine.loops.value_numbering import KnownState
from ptxcore.values.terms import Value, all_of, negate

#: Whether a condition holds for no values of its symbols.
Impossible = Callable[[Value], bool]


class ChangedBlock(Protocol):
    """What is looked at, and changed: a block that ends in at most two ways."""

    steps: list[InstructionStep]
    end: InstructionStep | None
    target: int | None
    follows: int | None


def drop_impossible(
    blocks: Sequence[ChangedBlock],
    failing: Sequence[int],
    widths: Sequence[int],
    constants: Sequence[Constants],
    impossible: Impossible,
) -> None:
    """Cuts off those of the blocks `failing` that no path leads to."""
    before: dict[int, list[int]] = {}
    for b, block in enumerate(blocks):
        for following in {block.target, block.follows} - {None}:
            assert following is not None
            before.setdefault(following, []).append(b)
    for b in failing:
        way = _way(b, before)
        condition = _Walk(widths, constants).condition([blocks[i] for i in way], way)
        if condition == 0 or (condition != 1 and impossible(condition)):
            _cut(blocks, way)


def _way(block: int, before: Mapping[int, Sequence[int]]) -> list[int]:
    """The only way to a block, from where paths meet."""
    way = [block]
    while True:
        found = before.get(way[0], ())
        if len(found) != 1 or found[0] in way:
            return way
        way.insert(0, found[0])


def _cut(blocks: Sequence[ChangedBlock], way: Sequence[int]) -> None:
    """The last branch on the way goes the other way always."""
    for at, following in reversed(list(pairwise(way))):
        block = blocks[at]
        if block.end is not None and block.follows is not None and block.target != block.follows:
            other = block.follows if block.target == following else block.target
            block.end, block.target, block.follows = None, None, other
            return


class _Walk:
    """The registers on the way, as terms."""

    def __init__(self, widths: Sequence[int], constants: Sequence[Constants]) -> None:
        self.state, self.constants = KnownState(widths), constants

    def condition(self, blocks: Sequence[ChangedBlock], way: Sequence[int]) -> Value:
        """The condition under which the whole way is gone."""
        taken: list[Value] = []
        for block, following in zip(blocks, [*way[1:], None], strict=True):
            for step in block.steps:
                self.execute(step)
            end = block.end
            if following is None or end is None or end.predicate is None or block.target == block.follows:
                continue
            goes = self.state.condition(end)
            taken.append(goes if block.target == following else negate(goes))
        return all_of(taken)

    def execute(self, step: InstructionStep) -> None:
        constant = None
        if step.run is data_movement.ld and not step.how.words.get("vec"):
            constant = self.constant(self.state.sources(step)[0], step.how.width // 8)
        if constant is None:
            self.state.execute(step)
        else:
            self.state.write(step, (constant,), frozenset())

    def constant(self, address: Value, size: int) -> int | None:
        """What an address always holds."""
        for c in self.constants:
            if type(address) is int and c.address <= address and address + size <= c.address + len(c.data):
                return int.from_bytes(c.data[address - c.address : address - c.address + size], "little")
        return None

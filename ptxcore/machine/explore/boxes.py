"""Copies of tensors, as effects: which bytes they move must be known, or be one of a few possibilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn

from ptxcore.isa.effect_kinds import COPY
from ptxcore.isa.form import Use
from ptxcore.machine.explore.actions import Actions
from ptxcore.machine.ir.dependencies import gather
from ptxcore.machine.ir.effects import Moved, named_spaces
from ptxcore.values.spread import spread
from ptxcore.values.terms import Value, conj, eq, mask, width_of

if TYPE_CHECKING:
    from ptxcore.values.tensor_boxes import BoxPiece

#: So many combinations of numbers that values may be are tried.
_MOST_CASES = 64


class Boxes(Actions):
    """What copies of tensors ask of a thread."""

    def leads(self, how: Use) -> bool:
        """Whether this thread does what the threads of a warp do once, together."""
        return self.special.get("laneid", 0) == 0

    def unable(self, how: Use, why: str) -> None:
        """What the instruction does here is not executed."""
        self._refuse(f"cannot be explored: {why}")

    def multiply(self, how: Use, sources: Sequence[Any]) -> NoReturn:
        """Products of warpgroups are not explored."""
        self._refuse("cannot be explored")

    def tensor_memory(self, how: Use) -> NoReturn:
        """Tensor Memory is not explored."""
        self._refuse("cannot be explored")

    def products_of_warpgroup(self, how: Use, action: str, pending: Value = 0) -> NoReturn:
        """See `multiply`."""
        self._refuse("cannot be explored")

    def cases(self, how: Use, values: Sequence[Value], when: Value) -> Iterator[tuple[Value, tuple[int, ...]]]:
        """The numbers that values may be. Raises InputError where they are too many."""
        each = [_numbers(value) for value in values]
        if prod(len(numbers) for numbers in each) > _MOST_CASES:
            self._refuse("cannot be explored: its coordinates, or its address in shared memory, are not known")
        for numbers in product(*each):
            here = when
            for value, number in zip(values, numbers, strict=True):
                here = conj(here, eq(value, number))
            if conj(self._guard, here) != 0:
                yield here, tuple(numbers)

    def copy_box(
        self,
        how: Use,
        pieces: Sequence[BoxPiece],
        *,
        stores: bool,
        filling: tuple[int, int],
        width: int,
        combine: Callable[[Value, Value], Value] | None = None,
        when: Value = 1,
        after: Callable[[], None] | None = None,
    ) -> None:
        """An asynchronous copy of several pieces, where `when` holds."""
        issue = self._begun(how)
        issue.mechanism = "mbarrier" if after is not None else "bulk_group"
        before, self._guard = self._guard, conj(self._guard, when)
        moved = tuple([_moved(p, stores, filling) for p in pieces if not (stores and p.source is None)])
        if self._guard != 0 and moved:
            step = self._step
            self._agent = issue.index
            effect = self.effect(
                COPY, how, address=moved[0].to, source=moved[0].source or 0, size=sum(m.size for m in moved),
                pieces=moved, combine=combine, width=8 if combine is None else width, space=step.space, proxy="async",
                spaces=named_spaces(step.instruction),
            )  # fmt: skip
            reads = [r for position, own in step.memory_reads if position < _ENDS for r in own]
            effect.address_dependencies = gather(self._state.sources, reads)
            if combine is not None:  # section 9.7.9.25.5.3: each reduction is relaxed, in the scope of the device
                effect.semantics, effect.scope = "relaxed", "gpu"
            self._agent = -1
        if self._guard != 0 and after is not None:
            self._in_the_background(issue, after)
        self._guard = before


#: The first operands are the two ends of a copy.
_ENDS = 2


def _numbers(value: Value) -> Sequence[int]:
    """The numbers that a value may be."""
    if type(value) is int:
        return (value,)
    low, high, step = spread(value)
    whole = mask(width_of(value))
    if high - low > whole:
        return range(whole + 1)
    return (
        [number & whole for number in range(low, high + 1, step or 1)]
        if high - low < _MOST_CASES * (step or 1)
        else range(whole + 1)
    )


def _moved(piece: BoxPiece, stores: bool, filling: tuple[int, int]) -> Moved:
    shared, source, size, turn = piece
    if source is None:
        number, width = filling
        pattern = number.to_bytes(width, "little") * (size // width + 2)
        return Moved(shared, None, size, int.from_bytes(pattern[turn : turn + size], "little"))
    return Moved(source, shared, size) if stores else Moved(shared, source, size)

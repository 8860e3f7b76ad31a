"""What blocks do with control: where threads go on, where they part, and where they meet."""

from __future__ import annotations

from typing import Any

from ptxcore.machine.lower.ops import Op, TargetRegister
from ptxcore.machine.vector.arrays import array_type, holder
from ptxcore.machine.vector.registers import Irregular
from ptxcore.records import NamedTuple


class Fork(NamedTuple):
    """Threads part: `way` is for each of them the number of one of `targets`."""

    way: Any
    targets: tuple[int, ...]


class CollectiveStop(NamedTuple):
    """Threads come to the instruction `op`, which they execute with others, with these operands; those at `places` only
    (ALL: all of them), the others go on at once."""

    op: Op
    operands: tuple[Any, ...]
    places: Any
    following: int


class Meet(NamedTuple):
    """How threads meet at an instruction: at a barrier (`action`), or as lanes of a warp, `mask` being the source with the
    member mask; or (`alone`) that each executes it by itself, its sources having these `shapes`; or (`warpgroup`) that
    warpgroups do, likewise; or (`whole`, see
    `warps.Together`) that whole warps do. `targets` are the registers of its results."""

    action: str
    operator: str
    mask: int | None
    targets: tuple[TargetRegister | None, ...]
    shapes: tuple[Any, ...] = ()
    whole: Any = None


def jump(index: Any, targets: tuple[int, ...]) -> Any:
    """Where an indexed branch goes."""
    if not index.ndim:
        if index >= len(targets):
            raise Irregular("an index without a label")
        return targets[int(index)]
    if int(index.max()) >= len(targets):
        raise Irregular("an index without a label")
    return Fork(index, targets)


def fork(truth: Any, taken: int, following: int) -> Any:
    """Where a branch goes that has a guard."""
    if not truth.ndim:
        return taken if truth else following
    if truth.all():
        return taken
    return Fork(truth, (following, taken)) if truth.any() else following


def divisible(divisor: Any) -> None:
    """Raises Irregular where somebody divides by zero."""
    if not (divisor.all() if divisor.ndim else divisor):
        raise Irregular("a division by zero")


def required(truth: Any) -> None:
    """Raises Irregular where the manual leaves open what happens."""
    if not (truth.all() if truth.ndim else truth):
        raise Irregular("what the manual leaves open")


def extended(value: Any, target: TargetRegister) -> Any:
    """A value as the register takes it."""
    if target.signed and target.has > target.width:
        bits, wide = holder(target.width), holder(target.has)
        return value.view(f"i{bits // 8}").astype(f"i{wide // 8}").view(f"u{wide // 8}")
    return value.astype(array_type(target.has))


def filled(shape: Any, given: Any) -> Any:
    """A source with its numbers: those that were left out (Ellipsis) are given."""
    if isinstance(shape, tuple):
        return tuple(filled(part, given) for part in shape)
    return next(given) if shape is ... else shape

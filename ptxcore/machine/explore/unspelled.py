"""Steps of a kernel that no instruction spells out: what calls hand over, and what cannot be explored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ptxcore.diagnostics import fail
from ptxcore.isa.form import Use
from ptxcore.machine.explore.own_memory import KernelThread
from ptxcore.machine.ir.operands import Fetch, fetch
from ptxcore.machine.ir.steps import InstructionStep
from ptxcore.machine.ir.steps import ResultTarget as StepTarget
from ptxcore.machine.lower.ops import Op
from ptxcore.values.terms import Value

#: Where a value comes from: a register's reading, or an address on the stack; and where it goes.
GivenValue = tuple[Fetch, tuple[int, ...]] | int
Taken = StepTarget | int


def taken(how: Use) -> Value:
    return 1


def same(how: Use, value: Value) -> Value:
    return value


def step_of(
    op: Op,
    kind: str,
    run: Callable[..., Any] | None,
    *,
    guard: tuple[int, bool] | None = None,
    sources: tuple[Fetch, ...] = (),
    reads: tuple[int, ...] = (),
    targets: tuple[StepTarget | None, ...] = (),
    space: str = "generic",
) -> InstructionStep:
    predicate, negated = guard or (None, False)
    return InstructionStep(
        op.instruction, op.use, kind, run or taken, predicate, negated, sources, targets, reads, (), reads, space, 32
    )


def refusing(op: Op, message: str, guard: tuple[int, bool] | None = None) -> InstructionStep:
    def refuse(how: Use, thread: KernelThread) -> NoReturn:
        raise fail(op.instruction.span, message)

    return step_of(op, "effect", refuse, guard=guard)


def transfer(op: Op, given: GivenValue, taken: Taken, size: int) -> InstructionStep:
    """Something that a call hands over."""
    if isinstance(taken, int):
        return _moving(op, taken, given, size) if isinstance(given, int) else _putting(op, taken, size, *given)
    if isinstance(given, int):
        return _getting(op, given, size, taken)
    return step_of(op, "value", same, sources=(given[0],), reads=given[1], targets=(taken,))


def forgetting(op: Op, address: int, size: int) -> InstructionStep:
    return step_of(op, "effect", lambda how, thread: thread.forget(address, size), space="param")


def saving(op: Op, register: int) -> InstructionStep:
    target = StepTarget(register, 64, 64, False)
    return step_of(op, "effect", lambda how, thread: thread.stack_pointer(), targets=(target,), space="local")


def restoring(op: Op, register: int) -> InstructionStep:
    def restore(how: Use, thread: KernelThread, pointer: Value) -> None:
        thread.stack_pointer(pointer)

    return step_of(op, "effect", restore, sources=(fetch(register, 64, 64, False),), reads=(register,), space="local")


def _moving(op: Op, to: int, source: int, size: int) -> InstructionStep:
    return step_of(op, "effect", lambda how, thread: thread.move(to, source, size), space="param")


def _putting(op: Op, address: int, size: int, value: Fetch, reads: tuple[int, ...]) -> InstructionStep:
    def put(how: Use, thread: KernelThread, what: Value) -> None:
        thread.put(address, size, what)

    return step_of(op, "effect", put, sources=(value,), reads=reads, space="param")


def _getting(op: Op, address: int, size: int, target: StepTarget) -> InstructionStep:
    def get(how: Use, thread: KernelThread) -> Value:
        return thread.get(address, size)

    return step_of(op, "effect", get, targets=(target._replace(from_width=8 * size),), space="param")

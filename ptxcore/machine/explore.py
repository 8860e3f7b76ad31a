"""Symbolic execution of one thread: every path at once, what loads return left open."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ptxcore.machine.effects import Effect, ThreadExecution
from ptxcore.machine.engine import Thread
from ptxcore.machine.steps import ThreadCode
from ptxcore.values.terms import Value, symbol

#: How often a loop body may execute when nothing else is said.
DEFAULT_UNROLL = 4


def explore(
    code: ThreadCode,
    *,
    unroll: int = DEFAULT_UNROLL,
    name: str = "P0",
    silent: Mapping[int, Collection[int] | None] | None = None,
) -> ThreadExecution:
    """All executions of a thread in which no loop body runs more than `unroll` times.

    What an effect returns is the symbol `(name, index of the effect)`. A turn of a loop that only looked at memory is
    left out: the last turn alone stands for any number of them. At the addresses `silent` a read-modify-write that writes
    what it has read counts as a look; they come with all numbers that may stand there, where those are known. Raises
    InputError where a register may be read before it is written.
    """

    def fresh(effect: Effect, width: int) -> Value:
        return symbol((name, effect.index), width)

    thread = thread_type(code)(code, fresh, unroll)
    thread.silent = silent or {}
    thread.run()
    return ThreadExecution(
        thread.effects, thread.registers, thread.finishes, thread.cut, thread.requirements, thread.cuts, thread.stuck,
        thread.control,
    )  # fmt: skip


def thread_type(code: ThreadCode) -> type[Thread]:
    """What executes a thread: those of kernels have memory of their own."""
    if code.private is None:
        return Thread
    from ptxcore.machine.kernel.own_memory import KernelThread

    return KernelThread

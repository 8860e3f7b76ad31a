"""Symbolic execution of one thread: every path at once, what loads return left open."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

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

    def begun(code: ThreadCode) -> Thread:
        thread = thread_type(code)(code, fresh, unroll)
        thread.silent = silent or {}
        return thread

    return executed(code, begun)


def executed(code: ThreadCode, begin: Callable[[ThreadCode], Thread]) -> ThreadExecution:
    """What a thread does that `begin` makes, which may do so several times.

    A waiting loop may write memory of the thread's own, as code does that was not optimised: its variables are on the stack.
    A turn of it that did nothing but look can be left out where nobody reads there what it changed, before that is written
    anew: neither the next turn, which then does what this one could have done, nor anything behind the loop. Who reads where is
    known when all has been executed. So the loops of which that was true are executed anew, without such turns; what was true
    of them then has to be so again, in what is left. (A turn that is left out was followed by what could have followed on the
    one before it: the first read that would tell them apart is a read that is looked at, since up to there both do the same.)
    """
    while True:
        thread = begin(code)
        thread.run()
        steady = thread.found_steady()
        if code.steady:
            steady &= code.steady
        if steady == code.steady:
            break
        code = code._replace(steady=steady)
    return ThreadExecution(
        thread.effects, thread.registers, thread.finishes, thread.cut, thread.requirements, thread.cuts, thread.stuck,
        thread.control, thread.repeating, code.steady, frozenset(thread.sure),
    )  # fmt: skip


def thread_type(code: ThreadCode) -> type[Thread]:
    """What executes a thread: those of kernels have memory of their own."""
    if code.private is None:
        return Thread
    from ptxcore.machine.kernel.own_memory import KernelThread

    return KernelThread

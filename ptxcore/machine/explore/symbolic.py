"""Symbolic execution of one thread: every path at once, what loads return left open."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from ptxcore.machine.explore.engine import Exploration
from ptxcore.machine.ir.effects import Effect, ThreadExecution
from ptxcore.machine.ir.steps import ThreadCode
from ptxcore.values.terms import Value, symbol

#: How often a loop body may execute when nothing else is said.
DEFAULT_UNROLL = 4


def explore(
    code: ThreadCode,
    *,
    unroll: int = DEFAULT_UNROLL,
    name: str = "P0",
    noops: Mapping[int, Collection[int] | None] | None = None,
) -> ThreadExecution:
    """All executions of a thread in which no loop body runs more than `unroll` times.

    What an effect returns is the symbol `(name, index of the effect)`. An iteration of a loop that only looked at memory is
    left out: the last iteration alone stands for any number of them. At the addresses `noops` a read-modify-write that writes
    what it has read counts as a look; they come with all numbers that may stand there, where those are known. Raises
    InputError where a register may be read before it is written.
    """

    def fresh(effect: Effect, width: int) -> Value:
        return symbol((name, effect.index), width)

    def begun() -> Exploration:
        thread = thread_type(code)(code, fresh, unroll)
        thread.noops = noops or {}
        return thread

    return executed(begun)


def executed(begin: Callable[[], Exploration]) -> ThreadExecution:
    """What a thread does that `begin` makes, which may do so several times.

    A waiting loop may write memory of the thread's own, as code does that was not optimised: its variables are on the stack.
    An iteration of it that did nothing but look can be left out where nobody reads there what it changed, before that is
    written anew: neither the next iteration, which then does what this one could have done, nor anything behind the loop.
    (Who goes on from where such an iteration ended could have gone on from where it began: the first read that would tell
    the two apart is one of what the iteration changed, and up to there both do the same.) Who reads where is known when all
    has been executed. So such iterations are left out as long as nobody has been seen to read what they changed; where
    somebody does so later, all is executed anew, and iterations of that loop stay that change anything.
    """
    observed: frozenset[int] = frozenset()
    while True:
        thread = begin()
        thread.counting.observed = observed
        thread.run()
        found = thread.counting.found_observed
        if found <= observed:
            break
        observed |= found
    return ThreadExecution(
        thread.effects, thread.registers, thread.finishes, thread.cut, thread.requirements, thread.cuts, thread.stuck,
        thread.control, thread.repeating, thread.iterations if thread.cuts else [], thread.counting.found,
    )  # fmt: skip


def thread_type(code: ThreadCode) -> type[Exploration]:
    """What executes a thread: those of kernels have memory of their own."""
    if code.private is None:
        return Exploration
    from ptxcore.machine.explore.own_memory import KernelThread

    return KernelThread

"""Which kernels begin, and who waits for the ends of others, in the program in which threads may block.

    ended(k)    every thread of kernel k comes to its end
    begins(k)   only if the kernels for which it waits have ended, and the host has come to its launch; the one before it in
                its stream may instead let it begin early: each of its CTAs executes `griddepcontrol.launch_dependents`,
                or has ended
    a wait      by `sync` of a host thread, or by `griddepcontrol.wait`, is over when the kernels have ended that it is for

Kernels for which all of that is certain need no symbol. With reasons, a kernel does not begin only where something that it
waits for has not come. That it may begin early is no promise that it does: "There is no guarantee that the dependent will
launch before the completion of the current grid" (PTX ISA 9.0, section 9.7.13.13).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from axioms.events.launches import Streams
from axioms.program import Program
from ptxcore.machine.ir.effects import Effect
from ptxcore.values import terms
from ptxcore.values.terms import Value


class Launching:
    """`begins` and `ended` have the truth value of each kernel, by number."""

    def __init__(self, program: Program, ending: Iterable[int]) -> None:
        """`ending`: threads that certainly end, if they begin and nothing that they wait for by streams is in their way."""
        self.streams = Streams(program.kernels, program.threads)
        count = range(len(program.kernels))
        begun, done = self._certain(frozenset(ending))
        self.begins: list[Value] = [1 if k in begun else terms.symbol(("begins", k), 1) for k in count]
        self.ended: list[Value] = [1 if k in done else terms.symbol(("ended", k), 1) for k in count]

    def of(self, thread: int) -> Value:
        """The truth value of "the kernel of a thread begins"."""
        k = self.streams.of_thread.get(thread)
        return 1 if k is None else self.begins[k]

    def passes(self, thread: int, effect: Effect) -> Value | None:
        """The truth value of "the kernels have ended for which an effect waits"; None where it waits for none."""
        awaited = self.streams.awaited(thread, effect)
        return None if awaited is None else terms.all_of(self.ended[k] for k in awaited)

    def waited_for(self, thread: int, effect: int) -> Sequence[int]:
        """The kernels for which a thread waits by an effect; -1: before it begins."""
        if effect < 0:
            return self.streams.before(self.streams.of_thread[thread])
        return self.streams.awaited(thread, self._effects(thread)[effect]) or ()

    def _effects(self, thread: int) -> Sequence[Effect]:
        return self.streams.threads[thread].execution.effects

    # What is certain.

    def _certain(self, ending: frozenset[int]) -> tuple[set[int], set[int]]:
        """The kernels that certainly begin, and those that certainly end."""
        begun: set[int] = set()
        done: set[int] = set()
        before = -1
        while before != (before := len(begun) + len(done)):
            for k, kernel in enumerate(self.streams.kernels):
                if done.issuperset(self.streams.before(k)) and self._is_launched(k, done):
                    begun.add(k)
                if (
                    k in begun
                    and ending.issuperset(kernel.threads)
                    and all(self._gets(t, done) for t in kernel.threads)
                ):
                    done.add(k)
        return begun, done

    def _is_launched(self, k: int, done: set[int]) -> bool:
        return all(
            effect.guard == 1 and self._gets(thread, done, effect.index)
            for thread, effect in self.streams.launches.get(k, ())
        )

    def _gets(self, thread: int, done: set[int], to: int | None = None) -> bool:
        """Whether a thread certainly passes all its waits for kernels, up to an effect."""
        return all(
            done.issuperset(self.streams.awaited(thread, e) or ())
            for e in self._effects(thread)
            if e.guard != 0 and (to is None or e.index < to)
        )

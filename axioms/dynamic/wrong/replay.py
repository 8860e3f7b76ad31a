"""A run of a launch in which some threads take the steps that others took in a run of a smaller launch.

Their operations whose order is open come in the order that they had there; all else goes on as it can. What such a run shows
is shown, since it is a run like any other; where the threads do not get on in that order, they go on without it. Steps are
operations by their numbers in their threads, or instructions by their lines, as an execution that a formula gave has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from axioms.dynamic.several.noted import OpenBytes, OpenOperation
from axioms.dynamic.several.plan import Name, Script
from axioms.dynamic.wrong.exact import AnyFenceOrder, Exact
from ptxcore.machine.run.watched import WatchedThread

#: When the other threads come to their open operations: before the steps, behind them, or whenever they do. In this order they
#: are tried: many threads that wait in loops beside others poll often.
Others = Literal["first", "last", "beside"]
#: Rounds that threads wait for their turn in which no open operation is executed: behind them it is no order that gets on.
_PATIENCE = 6


class Replay(Exact):
    """Watches one launch in which some threads take the steps of others."""

    def __init__(self, size: int, launch: int, steps: Sequence[Name], others: Others, *, by_line: bool = False) -> None:
        """`steps`: open operations in their order, by the threads that take them here; `by_line`: with the lines of their
        instructions in the place of their numbers."""
        super().__init__(size, launch, Script())
        self._steps, self._by_line = steps, by_line
        self._numbers: dict[Name, list[int]] = {}
        for at, name in enumerate(steps):
            self._numbers.setdefault(name, []).append(at)
        self._chosen = {number for _, number, _ in steps}
        self._next, self._others = 0, others
        #: How many operations there were when the last one had to wait, and how many had to since then.
        self._stood, self._waited = -1, 0

    def _turn(self, thread: WatchedThread, spot: OpenBytes, name: Name) -> None:
        self._hold(thread, self._waits(self._step(thread, name)))

    def _awaits(self, thread: WatchedThread, spot: OpenBytes, name: Name) -> None:
        self._hold(thread, self._waits(self._step(thread, name)))

    def _step(self, thread: WatchedThread, name: Name) -> Name:
        """The step that a thread is at."""
        launch, number, _ = name
        return (launch, number, thread.instruction.instruction.span.line) if self._by_line else name

    def _waits(self, name: Name) -> bool:
        """Whether it is the turn of somebody else."""
        over = self._next >= len(self._steps)
        if over:
            return False
        if name[1] in self._chosen:
            at = next((at for at in self._numbers.get(name, ()) if at >= self._next), self._next)
            waits = self._others == "first" or at > self._next
        else:
            waits = self._others == "last"
        return waits and not self._stands()

    def _stands(self) -> bool:
        """Whether nobody gets on this way: then the others come now, and if they have, the steps are given up."""
        if self._stood != len(self.events):
            self._stood, self._waited = len(self.events), 0
        self._waited += 1
        if self._waited <= _PATIENCE * max(1, len(self.held)):
            return False
        self._waited = 0
        if self._others == "beside":
            self._next = len(self._steps)
        self._others = "beside"
        return True

    def _done(self, thread: WatchedThread, event: OpenOperation) -> None:
        super()._done(thread, event)
        if self._next < len(self._steps) and self._steps[self._next] == self._step(thread, event.name):
            self._next += 1


class ReplayInAnyFenceOrder(Replay, AnyFenceOrder):
    """The same, also for races that such a run has with its `fence.sc` in another order."""

"""What is noted of several runs of a kernel test, for what they say of other contents of its buffers."""

from __future__ import annotations

from typing import Any

from axioms.dynamic.code.depends import Ran
from axioms.dynamic.code.recording import Recording
from axioms.dynamic.several.open_operations import OneOfSeveral
from ptxcore.machine.lower.ops import ExecutableModule
from ptxmm.kernels.runs import FinalValues


class UnrecordedRuns:
    """Of runs nothing is noted; buffers that may hold anything have `fill` in every byte."""

    fill = 0

    def begins(self) -> None:
        """A run begins."""

    def placed(self, names: dict[int, str]) -> None:
        """Is told which segment is which buffer, before the threads of a launch run."""

    def watches(self, watcher: OneOfSeveral, program: ExecutableModule) -> Any:
        """Who watches a launch."""
        return watcher

    def keeps(self, state: FinalValues, accesses: int) -> None:
        """A run has ended, and counts."""

    def clear(self) -> None:
        """More is known: all begins again."""


class RecordedRuns(UnrecordedRuns):
    """What is noted of several runs with `fill` in every byte of the buffers that may hold anything. `kept`: of each run that
    counts, its launches, final values and number of accesses."""

    def __init__(self, fill: int) -> None:
        self.fill = fill
        self.kept: list[tuple[list[Ran], FinalValues, int]] = []
        self._now: list[Ran] = []
        self._names: dict[int, str] = {}

    def begins(self) -> None:
        self._now = []

    def placed(self, names: dict[int, str]) -> None:
        self._names = names

    def watches(self, watcher: OneOfSeveral, program: ExecutableModule) -> Recording:
        recording = Recording(watcher)
        watcher.sums.noted = recording.products
        watcher.exchanges = False  # what is the same with these contents may differ with others
        self._now.append(Ran(recording, program, self._names, frozenset()))
        return recording

    def keeps(self, state: FinalValues, accesses: int) -> None:
        self.kept.append((self._now, state, accesses))

    def clear(self) -> None:
        self.kept.clear()

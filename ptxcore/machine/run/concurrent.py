"""Launches of one module that run at the same time, in several streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from ptxcore.machine.run.cta import Cta
from ptxcore.machine.run.grid import GridLaunch


def _at_once(number: int) -> bool:
    return True


def _nothing() -> None:
    pass


class Concurrent(GridLaunch):
    """Launches as one: their CTAs take turns."""

    def __init__(
        self,
        launches: Sequence[GridLaunch],
        *,
        may_begin: Callable[[int], bool] = _at_once,
        between: Callable[[], None] = _nothing,
    ) -> None:
        """`launches`: ready to run, and all of one module on one device; the CTAs of the first ones begin first. `may_begin`:
        whether CTAs of a launch may begin, by its number; it must come to allow it when the others have ended. `between`:
        what somebody else does between two rounds of turns."""
        first = launches[0]
        super().__init__(
            first.program, first.compiled, first.memory, first.entry, first.grid, first.block, first.cluster,
            seed=first.seed, path=first.path, progress=first.progress,
        )  # fmt: skip
        self.launches, self.may_begin, self.between = launches, may_begin, between
        self._begun_all: set[int] = set()

    def run(self) -> None:
        """Runs all threads to their ends. Raises KernelError."""
        try:
            super().run()
        finally:
            for launch in self.launches:
                if launch.workspace:
                    self.memory.free(launch.workspace)
            self.executed = sum(launch.executed for launch in self.launches)
            self.output = [text for launch in self.launches for text in launch.output]

    def _begun(self) -> list[Cta] | None:
        none: list[Cta] | None = None
        for number, launch in enumerate(self.launches):
            if number in self._begun_all:
                continue
            if not self.may_begin(number):
                none = []
            elif ctas := launch._begun():
                return ctas
            else:
                self._begun_all.add(number)
        return none

    def _turns(self, cta: Cta) -> None:
        launch = cast(GridLaunch, cta.launch)
        launch.long, launch.progressed, launch.busy = self.long, False, False
        launch._turns(cta)
        self.progressed, self.busy = self.progressed or launch.progressed, self.busy or launch.busy

    def _complete(self, cta: Cta) -> None:
        GridLaunch._complete(cast(GridLaunch, cta.launch), cta)

    def _do_pending(self) -> None:
        came = self.progressed
        for launch in self.launches:
            launch.progressed = came
            launch._do_pending()
            self.progressed = self.progressed or launch.progressed
        self.between()


__all__ = ["Concurrent"]

"""Launches of one module that run at the same time, in several streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ptxcore.machine.run.cta import Cta
from ptxcore.machine.run.grid import Launch


class Concurrent(Launch):
    """Launches as one: their CTAs take turns."""

    def __init__(self, launches: Sequence[Launch]) -> None:
        """`launches`: ready to run, and all of one module on one device; the CTAs of the first ones begin first."""
        first = launches[0]
        super().__init__(
            first.program, first.compiled, first.memory, first.entry, first.grid, first.block, first.cluster,
            seed=first.seed, path=first.path, progress=first.progress,
        )  # fmt: skip
        self.launches = launches

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
        return next((ctas for launch in self.launches if (ctas := launch._begun())), None)

    def _turns(self, cta: Cta) -> None:
        launch = cast(Launch, cta.launch)
        launch.long, launch.progressed, launch.busy = self.long, False, False
        launch._turns(cta)
        self.progressed, self.busy = self.progressed or launch.progressed, self.busy or launch.busy

    def _complete(self, cta: Cta) -> None:
        Launch._complete(cast(Launch, cta.launch), cta)

    def _do_pending(self) -> None:
        came = self.progressed
        for launch in self.launches:
            launch.progressed = came
            launch._do_pending()
            self.progressed = self.progressed or launch.progressed


__all__ = ["Concurrent"]

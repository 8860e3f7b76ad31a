"""What a search may spend before it gives up: time, which people wait for, or steps, which are the same on every machine."""

from __future__ import annotations

import time

from ptxcore.clock import OutOfTime


class Budget:
    """A search calls `spend` at each of its steps; `spent` counts them."""

    __slots__ = ("deadline", "spent", "steps")

    def __init__(self, deadline: float | None = None, steps: int | None = None) -> None:
        """`deadline` is a time of `time.monotonic`, `steps` the most steps; None for as many as it takes."""
        self.deadline, self.steps, self.spent = deadline, steps, 0

    def spend(self) -> None:
        """Counts a step. Raises OutOfTime when the deadline has passed, or no step is left."""
        self.spent += 1
        if self.steps is not None and self.spent > self.steps:
            raise OutOfTime
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTime

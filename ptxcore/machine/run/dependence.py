"""What launches of one stream know of each other: which of them one depends on, and how it lets others begin (PTX ISA 9.0,
section 9.7.13.13)."""

from __future__ import annotations

from ptxcore.machine.run.special import Triple
from ptxcore.machine.run.surroundings import ThreadView


class GridDependence:
    """A launch as those see it that depend on it. `before`: what it depends on itself. `ctas`: how many CTAs it has."""

    __slots__ = ("_letting", "_over", "before", "ctas")

    def __init__(self, ctas: int) -> None:
        self.ctas = ctas
        self.before: GridDependence | None = None
        self._over = 0
        self._letting: set[Triple] = set()

    @property
    def is_over(self) -> bool:
        """Whether all of its CTAs have ended."""
        return self._over == self.ctas

    @property
    def lets_begin(self) -> bool:
        """Whether each of its CTAs has executed `griddepcontrol.launch_dependents`, or has ended."""
        return len(self._letting) == self.ctas

    def lets(self, index: Triple) -> None:
        """A CTA lets those begin that depend on the launch."""
        self._letting.add(index)

    def ended(self, index: Triple) -> None:
        """A CTA has ended, with all that it began."""
        self._over += 1
        self._letting.add(index)

    def without(self, first: Triple | None, cluster: Triple) -> Triple | None:
        """The CTAs of a cluster do not begin, whose first one this is; None: there is no such cluster. Gives it."""
        if first is not None:
            self.ctas -= cluster[0] * cluster[1] * cluster[2]
        return first

    def control(self, thread: ThreadView, operation: str) -> bool:
        """What `griddepcontrol` does; whether the thread can go on."""
        if operation == "launch_dependents":
            self.lets(thread.cta.index)
            return True
        return self.before is None or self.before.is_over

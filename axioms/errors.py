"""What goes wrong in deciding a program, for every room."""

from __future__ import annotations

from collections.abc import Mapping


class UnsupportedProgram(Exception):
    """The program uses something that the engine does not decide yet; the message names it."""


#: More events than these give no formula: a relation of 20,000 events has 50 MB, and there are dozens.
MOST_EVENTS = 20_000


class TooLarge(UnsupportedProgram):
    """The formula would have more than `MOST_EVENTS`. `threads`: how many were looked at until then; `lines`: by the number of
    a thread and a line, how many of the `events` are of that instruction."""

    def __init__(self, threads: int, events: int, lines: Mapping[tuple[int, int], int]) -> None:
        super().__init__(f"{events:,} events of {threads:,} threads are too many for one formula")
        self.threads, self.events, self.lines = threads, events, lines


class UnsettledLoop(UnsupportedProgram):
    """It was not found out whether some number of a clock ends a loop that looks at it; the message says which loop."""


class EngineDefect(Exception):
    """The engine contradicts itself: a defect of ours, never a verdict."""

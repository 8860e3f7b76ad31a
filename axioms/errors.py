"""What goes wrong in deciding a program, for every room."""

from __future__ import annotations


class UnsupportedProgram(Exception):
    """The program uses something that the engine does not decide yet; the message names it."""


class TooLarge(UnsupportedProgram):
    """The formula would have too many events. `threads`: how many were executed until then, which gave `events`; `launch` and
    `line`: the instruction of which most of these are, `most`; 0 where none is."""

    def __init__(self, threads: int, events: int, launch: int = 0, line: int = 0, most: int = 0) -> None:
        super().__init__(f"{events:,} events of {threads:,} threads are too many for one formula")
        self.threads, self.events, self.launch, self.line, self.most = threads, events, launch, line, most


class EngineDefect(Exception):
    """The engine contradicts itself: a defect of ours, never a verdict."""

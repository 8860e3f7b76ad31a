"""What goes wrong in deciding a program, for every room."""

from __future__ import annotations


class UnsupportedProgram(Exception):
    """The program uses something that the engine does not decide yet; the message names it."""


class EngineDefect(Exception):
    """The engine contradicts itself: a defect of ours, never a verdict."""

"""What is launched, wherever it runs, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Launch:
    """A kernel with its inputs: `grid` CTAs of `block` threads, of which `count` have records."""

    name: str
    grid: int
    block: int
    count: int
    data: bytes
    result_bytes: int


@dataclass(frozen=True)
class Outcome:
    """What a launch left in its outputs, or why it left nothing."""

    data: bytes = b""
    error: str = ""

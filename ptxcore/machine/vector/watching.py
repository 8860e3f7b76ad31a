"""Who watches a launch: it is told of each batch of threads that executes an instruction together.

A checker of races keeps its clocks and its shadow memory with that. Threads are numbers in the order of the launch: CTA by
CTA as they begin, `Watcher.begin` tells which, and in each the threads in the order of their indices. Batches come in an
order that is a sequentially consistent execution: what a batch reads was written by batches before it, and within one batch
threads come in the order of their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ptxcore.machine.lower.ops import Op
from ptxcore.machine.vector.memory import Area
from ptxcore.records import NamedTuple

#: NumPy arrays. `ThreadNumbers` are of threads, sorted; addresses and values are unsigned and as long, or one scalar for all.
ThreadNumbers = Any
WatchedValues = Any


class WatchedAccesses(NamedTuple):
    """What threads access by one instruction. `kind`: `read`, `write`, or `atomic` (then `read` has the old values, `written`
    the new ones, `operands` what makes them of the old ones, and `writes` is False where nothing is written, as by a failed
    comparison). `size` counts the bytes of one element; an instruction on vectors has `parts` of them behind each other, and a
    tuple of arrays in `read` or `written`. `area` is the stretch of memory, and `places` where in it, in units of `size` times
    `parts` bytes, one or as many."""

    op: Op
    kind: str
    threads: ThreadNumbers
    addresses: WatchedValues
    size: int
    area: Area
    places: Any
    parts: int = 1
    read: Any = None
    written: Any = None
    writes: Any = True
    operands: Any = ()


class Watcher(Protocol):
    """What is told. A method that raises ends the launch; memory stays as it is then."""

    def begin(self, first: int, ctas: Sequence[tuple[int, int, int]], threads: int) -> None:
        """CTAs with these indices begin, of `threads` threads each; `first` is the number of their first thread."""
        ...

    def access(self, accesses: WatchedAccesses) -> None:
        """Threads have read or written memory."""
        ...

    def fence(self, op: Op, threads: ThreadNumbers) -> None:
        """Threads have executed a fence, or another instruction that has effects on the order of memory alone."""
        ...

    def arrive(self, op: Op, threads: ThreadNumbers, identity: int, count: int | None, waits: bool) -> None:
        """Threads have come to a barrier of their CTA: its number, for how many threads (None: all), and whether they wait; or
        (-1) to that of their cluster, where they arrive and wait by different instructions."""
        ...

    def complete(self, identity: int, threads: ThreadNumbers, waited: ThreadNumbers) -> None:
        """Instances of a barrier are complete, one in each CTA (or cluster) whose threads are told: those that arrived at it,
        and those of them that go on now. Of a cluster's barrier, both times those that go on now."""
        ...

    def converge(self, op: Op, threads: ThreadNumbers, masks: WatchedValues) -> None:
        """Threads of warps have executed an instruction together with all threads of its member mask (`shfl.sync`,
        `bar.warp.sync`); the threads of several warps may come in one batch. `masks` are theirs, None where it has none and it
        is not one of whole warps."""
        ...

    def unspecified(self, op: Op) -> None:
        """The manual leaves open what an instruction of warps has just given some of its threads."""
        ...

    def alone(
        self, op: Op, threads: ThreadNumbers, operands: tuple[WatchedValues, ...], results: Sequence[WatchedValues]
    ) -> None:
        """Threads have executed, each by itself, an instruction on barrier objects or one that begins, groups or awaits what
        is asynchronous; who has to wait is told when the wait is over. `operands` are the values of its sources, but those that
        are written in the instruction, vectors taken apart; `results` are those of its registers."""
        ...

    def exit(self, threads: ThreadNumbers) -> None:
        """Threads have ended."""
        ...

    def restart(self, why: str) -> None:
        """The launch does not fit this machine: what was told does not count, and nothing more is told. Memory is as it was
        before the launch."""
        ...

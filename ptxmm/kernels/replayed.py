"""What goes wrong in a smaller launch of a kernel, done again in the launch that was asked for.

A smaller launch -> a run of it that is wrong -> the same steps by as many threads of the full launch, the others before, behind
or beside them -> a run of the full launch that is wrong. Only the last one is an answer: it is an execution of the full launch
whatever it was made from.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from math import prod
from typing import TYPE_CHECKING, get_args

from axioms.dynamic.findings import Stopped
from axioms.dynamic.replay import Others, Replay
from ptxcore.clock import limited
from ptxcore.diagnostics import InputError
from ptxcore.machine.run.launch import UsageError
from ptxcore.records import NamedTuple
from ptxmm.kernels.runs import FinalValues, Runs
from ptxmm.kernels.several import TestFails, Wrong, hunt, one_run
from ptxmm.kernels.smaller import smaller_of

if TYPE_CHECKING:
    from axioms.dynamic.plan import Name
    from ptxmm.kernels.launch import Launch
    from ptxmm.kernels.test import KernelTest

#: Runs of one smaller launch, and the seconds that those of all of them may take.
_MOST, _SECONDS = 150, 5.0


class Replayed(NamedTuple):
    """What a run of the full launch showed, and the CTAs of the smaller one and the threads of each."""

    found: Wrong
    ctas: int
    threads: int


def replayed(runs: Runs, broken: Callable[[FinalValues], bool]) -> Replayed | None:
    """What goes wrong in a smaller launch, and in the launch of a test by the same steps; None where nothing was seen.
    `broken`: whether final values of the launch are against a check."""
    deadline = time.monotonic() + _SECONDS
    for small in sorted(smaller_of(runs.test), key=_threads):  # runs of a few threads take no time
        try:
            with limited(max(0.0, deadline - time.monotonic())):
                wrong = hunt(Runs(small, watched=True), lambda _: False, _MOST, ("",))
        except InputError:
            return None
        if wrong is None:
            continue
        for steps in _taken(wrong.steps, small.launches[0], runs.test.launches[0]):
            found = _with(runs, steps, broken)
            if found is not None:
                launch = small.launches[0]
                return Replayed(found, prod(launch.grid), prod(launch.block))
    return None


def _threads(test: KernelTest) -> int:
    return prod(test.launches[0].grid) * prod(test.launches[0].block)


def _with(runs: Runs, steps: tuple[Name, ...], broken: Callable[[FinalValues], bool]) -> Wrong | None:
    """What a run of a launch shows in which its threads take such steps."""
    for others in get_args(Others):

        def make(size: int, launch: int, others: Others = others) -> Replay:
            return Replay(size, launch, steps, others)

        try:
            one_run(runs, make, broken)
        except TestFails as wrong:
            return wrong.found
        except (Stopped, UsageError):
            return None
    return None


def _taken(steps: tuple[Name, ...], small: Launch, full: Launch) -> Iterator[tuple[Name, ...]]:
    """The steps with the threads that take them in the full launch: of its first CTAs, and of its last ones."""
    for first in sorted({0, full.grid[0] - small.grid[0]}):
        yield tuple((launch, _number(number, small, full, first), count) for launch, number, count in steps)


def _number(number: int, small: Launch, full: Launch, first: int) -> int:
    """The thread of the full launch at the coordinates of one of the smaller launch, of a CTA so much further on."""
    cta, thread = divmod(number, prod(small.block))
    return _moved(cta, small.grid, full.grid, first) * prod(full.block) + _moved(thread, small.block, full.block)


def _moved(number: int, small: tuple[int, int, int], full: tuple[int, int, int], first: int = 0) -> int:
    rest, x = divmod(number, small[0])
    z, y = divmod(rest, small[1])
    return (z * full[1] + y) * full[0] + x + first

"""Smaller launches of a kernel whose launch was not decided in time: what they show says where to look, and what to shrink.

An answer about a smaller launch is none about the one that was asked for: with the same arguments fewer threads may do
something else. So reports tell of it, and the verdict stays, unless the launch itself shows what goes wrong in the smaller one
(`ptxmm.kernels.replayed`). The smallest ones come first: what is wrong with two threads must not wait for a proof about 64.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod

from axioms.errors import UnsupportedProgram
from ptxcore.diagnostics import InputError
from ptxcore.records import NamedTuple
from ptxmm.kernels.launch import Launch
from ptxmm.kernels.test import KernelTest
from ptxmm.result import Result
from ptxmm.words import notes

#: CTAs of a smaller launch, and threads of each, at most. Some mistakes need three CTAs: one that waits for a second one and is
#: overtaken by a third, say; and two threads in each of them, of which one tells the other.
_SIZES = ((2, 1), (1, 4), (3, 1), (2, 2), (4, 1), (3, 2), (1, 64), (2, 32))
#: Launches of so many threads are small themselves.
_LARGE = 64
#: The part of a time limit that is left for smaller launches.
SHARE = 0.2


def may_be_smaller(test: KernelTest) -> bool:
    """Whether a test has smaller launches to look at, and checks that do not speak of values, which hang on the size."""
    return any(check.of_any_size for check in test.checks) and next(smaller_of(test), None) is not None


class OfSmaller(NamedTuple):
    """What is said of smaller launches; `wrong`: one that is, and its answer."""

    notes: list[str]
    wrong: tuple[KernelTest, Result] | None = None


def told_of_smaller(test: KernelTest, decide: Callable[[KernelTest, float], Result], deadline: float) -> OfSmaller:
    """What a smaller launch shows: of the first that is wrong, else of the largest that is decided. `decide` answers a test
    within so many seconds."""
    right: str = ""
    for small in smaller_of(test):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        try:
            result = decide(small, left / 2)
        except (UnsupportedProgram, InputError):
            break
        launch = small.launches[0]
        size = prod(launch.grid), prod(launch.block)
        if result.verdict in ("no", "undefined"):
            return OfSmaller([notes.smaller_is_wrong(*size, _wrong(result))], (small, result))
        if result.verdict == "ok":
            right = notes.smaller_is_right(*size)
    return OfSmaller([right] if right else [])


def smaller_of(test: KernelTest) -> Iterator[KernelTest]:
    """A large test with fewer CTAs, or with fewer threads in each, and only with checks that do not speak of values."""
    if len(test.launches) != 1 or test.launches[0].cluster is not None:
        return
    launch = test.launches[0]
    if prod(launch.grid) * prod(launch.block) <= _LARGE:
        return
    checks = tuple(check for check in test.checks if check.of_any_size)
    seen = {(launch.grid, launch.block)}
    for ctas, threads in _SIZES:
        small = _at_most(launch, ctas, threads)
        if (small.grid, small.block) not in seen:
            seen.add((small.grid, small.block))
            yield replace(test, launches=(small,), checks=checks)


def _at_most(launch: Launch, ctas: int, threads: int) -> Launch:
    (gx, gy, gz), (bx, by, bz) = launch.grid, launch.block
    grid = (min(gx, max(1, ctas // (gy * gz))), gy, gz)
    return replace(launch, grid=grid, block=(min(bx, max(1, threads // (by * bz))), by, bz))


def _wrong(result: Result) -> str:
    """What is wrong, and where."""
    if result.races:
        race = result.races[0]
        return f"{race.kind} race between " + " and ".join(f"{e.thread} at {e.at}" for e in race.events)
    if result.undefined is not None:
        return result.error or result.undefined.rule
    checked = next(check for check in result.checks if check.holds is False)
    return checked.message or checked.text


__all__ = ["SHARE", "OfSmaller", "may_be_smaller", "smaller_of", "told_of_smaller"]

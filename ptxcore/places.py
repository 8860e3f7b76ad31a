"""Where a thread runs, and which threads a scope takes in (PTX ISA 9.0, section 8.5)."""

from __future__ import annotations

from ptxcore.records import NamedTuple

#: The scopes, narrowest first. The warp is a level of placement but not a scope.
SCOPES = ("cta", "cluster", "gpu", "sys")
#: Those that hold every thread of a launch on one device.
WIDE = frozenset(("gpu", "sys"))
#: The levels at which a thread can be placed, narrowest first.
LEVELS = ("warp", "cta", "cluster", "gpu")


#: Coordinates of a CTA or of a thread.
Coordinates = tuple[int, int, int]


def thread_name(cta: Coordinates, thread: Coordinates) -> str:
    """How people are told of a thread of a launch: `CTA 0 thread 3`, `CTA (1, 2) thread (0, 1)`; numbers of 0 at the end are
    left out."""
    return f"CTA {_numbers(cta)} thread {_numbers(thread)}"


def _numbers(triple: Coordinates) -> str:
    x, y, z = triple
    return f"({x}, {y}, {z})" if z else f"({x}, {y})" if y else str(x)


class Placement(NamedTuple):
    """A thread's warp, CTA, cluster and GPU, each by a number that is unique in the whole test.

    Two threads share a level exactly when their numbers at that level are equal: CTA 0 of GPU 0 and CTA 0 of GPU 1 must
    have been given different numbers. A host thread belongs to the system only.
    """

    warp: int
    cta: int
    cluster: int
    gpu: int
    host: bool = False


def includes(scope: str, a: Placement, b: Placement) -> bool:
    """Whether `scope`, named by an operation of the thread at `a`, takes in the thread at `b`."""
    if scope == "sys" or a == b:
        return True
    if a.host or b.host:
        return False
    return bool(getattr(a, scope) == getattr(b, scope))

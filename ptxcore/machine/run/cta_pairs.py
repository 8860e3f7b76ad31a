"""Two peer CTAs of a cluster that use their Tensor Memories together, by `.cta_group::2` (PTX ISA 9.0, sections 9.7.16.5.1 and
9.7.16.7.1).

One warp of each CTA comes to an allocation, to a deallocation and to a relinquishment, and the first of them waits for the
other. What is under way in one of the Tensor Memories is in one order with what is in the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxcore.machine.run.faults import fault
from ptxcore.values.tensor_cells import LANES_OF_A_WARP

_PAIR = "tensor-pair"


class Request:
    """A warp of one of the CTAs that has come to `what`: its threads, with what they were told."""

    __slots__ = ("threads", "warp", "what")

    def __init__(self, warp: int, what: tuple[int, ...]) -> None:
        self.warp, self.what = warp, what
        self.threads: list[tuple[Any, Any]] = []


class CtaPair:
    """What two peer CTAs do together."""

    def __init__(self) -> None:
        #: Who has come, by the name of the instruction and the side; and what warps are still to be told, by the same and the
        #: number of the warp: a value, and the lanes that do not have it.
        self.requests: dict[tuple[str, int], Request] = {}
        self.told: dict[tuple[str, int, int], tuple[int, set[int]]] = {}

    def meet(self, thread: Any, told: Any, name: str, what: tuple[int, ...], action: Callable[[], int | None]) -> int:
        """A thread has come to an instruction that one warp of each CTA executes: gives what the action gave, which is done
        once both have come. Raises Suspended as long as the other has not, or the action gives None, and Fault where the two
        do not bring the same."""
        self._come(thread, told, name, what, action)
        value = self.take(thread, name)
        assert value is not None
        return value

    def take(self, thread: Any, name: str) -> int | None:
        """What a thread's warp is told, once for each thread; None where the CTAs have not met yet."""
        key = name, thread.cta.rank & 1, thread.warp
        found = self.told.get(key)
        if found is None:
            return None
        value, lanes = found
        lanes.discard(thread.lane)
        if not lanes:
            del self.told[key]
        return value

    def _come(self, thread: Any, told: Any, name: str, what: tuple[int, ...], action: Callable[[], int | None]) -> None:
        side = thread.cta.rank & 1
        own = self.requests.get((name, side))
        if own is None:
            own = self.requests[name, side] = Request(thread.warp, what)
        elif own.warp != thread.warp:
            raise fault(_PAIR, f"warps {own.warp} and {thread.warp} of one CTA come to tcgen05.{name}; one warp does")
        other = self.requests.get((name, 1 - side))
        if other is not None and other.what != own.what:
            raise fault(_PAIR, f"tcgen05.{name} is executed with {_shown(own.what)} here, and with {_shown(other.what)} "
                               "in the peer CTA")  # fmt: skip
        value = None if other is None else action()
        if value is None or other is None:
            own.threads.append((thread, told))
            waits = (
                f"columns of tensor memory: {own.what[-1]}" if other is not None else f"its peer CTA at tcgen05.{name}"
            )
            raise thread.suspend(f"waits for {waits}")
        for request, at in ((own, side), (other, 1 - side)):
            self.told[name, at, request.warp] = value, set(range(LANES_OF_A_WARP))
        self.wake(name)

    def warps(self, name: str) -> tuple[int, int]:
        """The warps of the even and of the odd CTA that have come to an instruction."""
        return self.requests[name, 0].warp, self.requests[name, 1].warp

    def wake(self, name: str) -> None:
        """Who has come to an instruction looks again."""
        for side in (0, 1):
            request = self.requests.pop((name, side), None)
            for thread, told in request.threads if request is not None else ():
                thread.wake(told)


def _shown(what: tuple[int, ...]) -> str:
    return " and ".join(map(hex, what)) or "nothing"


def peer_of(thread: Any) -> Any:
    """The peer of the thread's CTA. Raises Fault where there is none, or it has ended."""
    cta = thread.cta
    rank = cta.rank ^ 1
    if rank >= len(cta.cluster):
        raise fault(_PAIR, f"the CTA has rank {cta.rank} in a cluster of {len(cta.cluster)}, so it has no peer CTA")
    if not cta.cluster[rank].alive:
        raise fault(_PAIR, "the peer CTA has exited; with .cta_group::2 it must be active")
    return cta.cluster[rank]

"""A run in which threads find what a look-back was seen to be able to find (`lookback.lookbacks`).

Where look-backs are not confluent, some way of one comes to something else, or reads what it comes behind nowhere. Here its
thread finds what it found on that way, and who wrote that goes on only when it has. Who writes it may be made to wait until the
thread looks, so that its fences before that come before theirs; or the run is looked at in any order of fences. What such a run
shows is shown, since it is a run like any other; where it does not get on so, it shows nothing.
"""

from __future__ import annotations

from axioms.dynamic.lookback.sightings import Sighting
from axioms.dynamic.several.noted import OpenBytes, OpenOperation
from axioms.dynamic.several.plan import Name, Script
from axioms.dynamic.wrong.exact import AnyFenceOrder, Exact
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import WatchedThread

#: Rounds that threads wait in which no open operation is executed: behind them they go on.
_PATIENCE = 6


class Suspected(Exact):
    """Watches one launch in which threads go such ways."""

    #: Whether threads find nothing older than is there.
    finds_latest = False

    def __init__(self, size: int, launch: int, way: tuple[Sighting, ...], *, early: bool = False) -> None:
        """`early`: who writes what is found waits until it is looked for."""
        super().__init__(size, launch, Script())
        self._paths: dict[int, list[Sighting]] = {}
        for one in way:
            self._paths.setdefault(one.thread, []).append(one)
        self._sources = {(one.address, one.source) for one in way}
        self._addresses = {one.address for one in way} if early else set()
        #: Who looks, and who wrote what is found.
        self._looking: set[int] = set()
        self._writers: set[int] = set()
        self._stood, self._waited = -1, 0

    def _polls_in_order(
        self, thread: WatchedThread, segment: Segment, first: int, size: int, spot: OpenBytes
    ) -> int | None:
        path = self._paths.get(thread.number)
        if not path or path[0].address != spot.name.address:
            return super()._polls_in_order(thread, segment, first, size, spot)
        self._looking.add(thread.number)
        if self.finds_latest and path[0].source < len(spot.order) - 1:
            raise self.leaves(thread, "order")
        found = self._finds(thread, spot, size, self._lead(thread), path[0].source, None)
        path.pop(0)
        return found

    def _turn(self, thread: WatchedThread, spot: OpenBytes, name: Name) -> None:
        self._waits(thread, early=spot.name.address in self._addresses and len(self._looking) < len(self._paths))

    def _awaits(self, thread: WatchedThread, spot: OpenBytes, name: Name) -> None:
        self._waits(thread, early=False)

    def _waits(self, thread: WatchedThread, *, early: bool) -> None:
        """Lets a thread wait that is to write what others find before they look (`early`), or has written it."""
        late = thread.number in self._writers and any(self._paths.values())
        self._hold(thread, (early or late) and thread.number not in self._paths and not self._stands())

    def _stands(self) -> bool:
        """Whether nobody gets on this way."""
        if self._stood != len(self.events):
            self._stood, self._waited = len(self.events), 0
        self._waited += 1
        return self._waited > _PATIENCE * max(1, len(self.held))

    def _done(self, thread: WatchedThread, event: OpenOperation) -> None:
        super()._done(thread, event)
        if event.kind == "store" and (event.spot.name.address, len(event.spot.order) - 1) in self._sources:
            self._writers.add(thread.number)


class SuspectedInAnyOrder(Suspected, AnyFenceOrder):
    """The same, for races with the `fence.sc` in another order."""

    finds_latest = True


__all__ = ["Suspected", "SuspectedInAnyOrder"]

"""Watches a launch in which threads walk through lists whose order hangs on that of atomic exchanges (`tickets.walks`).

It is a run up to the order of claims (`tickets.tickets`): a list is what claims by exchange have left, each of which
has stored its result to a place of its own. Who reads its head behind all of them walks; what comes of that is the same in any
order, so that the numbers of the run are as good as all others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from axioms.dynamic.core.findings import Open, Stopped
from axioms.dynamic.one_run.determinate import Determinate
from axioms.dynamic.sections.told import Untold
from axioms.dynamic.tickets.claims import ClaimedBytes
from axioms.dynamic.tickets.swapping import Swapping
from axioms.dynamic.tickets.walks import ListBytes, ListWalk
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL, GLOBAL_BITS, SHARED_OFFSET
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.uninitialised import Varying
from ptxcore.machine.run.watched import WatchedThread, Write


class Walking(Swapping):
    """`earlier`: the lists that earlier launches have left."""

    def __init__(self, size: int, looks: frozenset[int], earlier: Iterable[ListBytes]) -> None:
        super().__init__(size, looks)
        self.walks = 0
        self._earlier = list(earlier)
        self._earlier_bytes = {at for one in self._earlier for at in one.bytes()}
        #: The links that a thread on its walk reads next.
        self._ahead: dict[int, deque[int]] = {}

    # Lists.

    def _list_of(self, place: ClaimedBytes, bases: dict[int, int]) -> ListBytes | None:
        """The list that claims of some bytes have left so far; None where they have left none. `bases`: where segments
        begin."""
        stored = self.carried.places_of({claim.symbol for claim in place.claims}, place.size)
        nodes = {claim.put: stored.get(claim.symbol) for claim in place.claims if claim.op == "exch"}
        if len(nodes.keys() - {place.start}) < len(place.claims) or None in nodes.values():
            return None
        links: dict[int, int] = {}
        for node, of in nodes.items():
            for segment, first in of or ():
                if id(segment) not in bases:
                    return None
                links[bases[id(segment)] + first] = node
        places = {node: at for at, node in links.items()}
        return ListBytes(bases[id(place.segment)] + place.first, place.size, place.start, links, places)

    def left(self) -> list[ListBytes] | None:
        """The lists that there are in `.global` memory in the end; None where something else is open there."""
        bases = {id(segment): number << GLOBAL_BITS for number, segment in self._memory.items()}
        places = [place for place in self._claimed.values() if id(place.segment) in bases]
        lists = [one for place in places if (one := self._list_of(place, bases)) is not None]
        known = {at for one in lists for at in one.bytes()}
        spread = [(bases.get(id(segment)), first, end) for segment, first, end in self.slots.spread]
        for base, first, end in [*spread, *((bases.get(id(s)), f, f + 1) for s, f in self.carried.lasting())]:
            if base is not None and not known.issuperset(range(base + first, base + end)):
                return None
            if base is None and not self._memory:
                return None
        return [*self._earlier, *lists]

    @staticmethod
    def _bases(thread: WatchedThread) -> dict[int, int]:
        found = {id(segment): number << GLOBAL_BITS for number, segment in thread.globals.items()}
        return found | {id(thread.cta.shared): thread.shared}

    # Accesses.

    def reads(self, thread: WatchedThread, address: int, size: int) -> Any:
        segment, first = self._apart(thread, address)
        if segment is None:
            return super().reads(thread, address, size)
        if self._scope_of(thread):
            self._ahead.pop(thread.number, None)
        else:
            if self._is_ahead(thread, address):
                return self._reads_open(thread, address, size)
            of = self._list_at(thread, segment, first, address, size)
            if of is not None:
                return self._walks(thread, of, address, size)
        self._keeps_off(thread, address, size)
        return super().reads(thread, address, size)

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        if self._apart(thread, address)[0] is not None:
            self._ahead.pop(thread.number, None)
            self._keeps_off(thread, address, size)
        super().writes(thread, address, size, value)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> Any:
        self._ahead.pop(thread.number, None)
        if self._apart(thread, address)[0] is not None:
            self._keeps_off(thread, address, size)
            self._remember(thread)
        return super().updates(thread, how, address, size, write)

    def arrives(self, thread: WatchedThread, level: str, identity: int, waits: bool, count: int | None) -> None:
        self._ahead.pop(thread.number, None)
        super().arrives(thread, level, identity, waits, count)

    def met(self, how: Use, threads: Sequence[Any], masked: bool) -> None:
        for thread in threads:
            self._ahead.pop(thread.number, None)
        super().met(how, threads, masked)

    def _apart(self, thread: WatchedThread, address: int) -> tuple[Segment | None, int]:
        """The memory that is accessed, if others may access it."""
        if type(address) is int and (address >= FIRST_GLOBAL or address & ~SHARED_OFFSET == thread.shared):
            return thread.segment(address)
        return None, 0

    def _remember(self, thread: WatchedThread) -> None:
        if len(self._memory) != len(thread.globals):
            self._memory = dict(thread.globals)

    def _keeps_off(self, thread: WatchedThread, address: int, size: int) -> None:
        """What earlier launches have left open is accessed by nobody but on walks."""
        if self._earlier_bytes:
            self._remember(thread)
            if not self._earlier_bytes.isdisjoint(range(address, address + size)):
                raise self.leaves(thread, "order")

    def _list_at(
        self, thread: WatchedThread, segment: Segment, first: int, address: int, size: int
    ) -> ListBytes | None:
        """The list that has its head in some bytes."""
        if self._at is not None:
            return None
        place = self._claimed.get((id(segment), first, size))
        if place is not None:
            return self._list_of(place, self._bases(thread))
        return next((one for one in self._earlier if one.head == address and one.size == size), None)

    def _is_ahead(self, thread: WatchedThread, address: int) -> bool:
        """Whether a thread on its walk comes to a link that it reads next."""
        ahead = self._ahead.get(thread.number)
        if not ahead or ahead[0] != address:
            return False
        ahead.popleft()
        return True

    def _reads_open(self, thread: WatchedThread, address: int, size: int) -> int:
        """A read of a head or a link, on a walk: gives what stands there in the run."""
        segment, first = thread.segment(address)
        self._note(thread, "R", segment, first, size, address)
        self.slots.noted[-1].walks = True
        Determinate.reads(self, thread, address, size)
        return int.from_bytes(segment.data[first : first + size], "little")

    def _walks(self, thread: WatchedThread, of: ListBytes, address: int, size: int) -> int:
        """A thread begins a walk. All that it may read with any node is read now, as far as others are concerned."""

        def reads(copy: Any, at: int, length: int) -> int | None:
            segment, first = copy.segment(at)
            if at in of.links or at == of.head:
                if length != of.size or self.slots.reached(segment, first, length):
                    raise Untold
                return None
            value = segment.read(first, length)
            taken = not self._earlier_bytes.isdisjoint(range(at, at + length))
            if taken or type(value) is not int or self._varies(segment, first, length):
                raise Untold
            return value

        if thread.frames:
            raise self.leaves(thread, "order")
        self._remember(thread)
        walk = ListWalk(thread, self.live_of(thread), of, reads)
        try:
            walk.check()
        except Untold:
            raise self.leaves(thread, "order") from None
        self.walks += 1
        for at, length in walk.touched.items():
            if isinstance(super().reads(thread, at, length), Varying):
                raise self.leaves(thread, "order")
        for at, length in walk.links.items():
            self._reads_open(thread, at, length)
        self._ahead[thread.number] = deque(walk.links_in_order(of.order(thread)))
        return self._reads_open(thread, address, size)

    # At the end.

    def settle(self) -> None:
        super().settle()
        bases = {id(segment): number << GLOBAL_BITS for number, segment in self._memory.items()}
        segments = {at >> GLOBAL_BITS << GLOBAL_BITS for at in self._earlier_bytes}
        for noted in self.slots.noted if self._earlier else ():
            base = bases.get(id(noted.segment), -1)
            if base not in segments or noted.walks:
                continue
            inside = range(base + noted.first, base + noted.first + noted.size)
            if noted.placed is not None or not self._earlier_bytes.isdisjoint(inside):
                raise Stopped(Open("order"))


__all__ = ["Walking"]

"""Shadow memory: who accessed each byte last, and when, as far as it can matter for what comes.

Of ordered accesses the last one stands for those before it (Flanagan and Freund, FastTrack, PLDI 2009): the last write, the
reads since then that nothing orders among each other, and the atomic operations since then that may come in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from axioms.dynamic.core.clocks import Clocks
from ptxcore.records import NamedTuple

#: Bytes that are looked after together, unless smaller accesses come there.
_GRAIN = 4
#: From here on, numbers stand for asynchronous operations where those of threads stand.
AGENTS = 1 << 40
#: Stands for the scope of reads by the texture proxy (`ld.global.nc`): no order of threads orders what writes the same bytes.
CONSTANT = "constant"
#: What an access does of which each order among its like is looked at elsewhere.
ORDERED = "ordered"
#: What an atomic operation does of which only the position among its like tells; and a store behind all of them.
COUNTED, CLOSES = "counted", "closes"
#: Begins what an access does in a critical section; behind it stand the lock and the number of the section.
_SECTION = "section"


def in_section(lock: int, section: int) -> str:
    """What an access does in a critical section, by the numbers of the lock and the section: any two sections of one lock
    exclude each other."""
    return f"{_SECTION} {lock} {section}"


def _excluded(one: str, other: str) -> bool:
    """Whether two accesses are in different critical sections of one lock."""
    if not (one.startswith(_SECTION) and other.startswith(_SECTION)):
        return False
    (_, lock, section), (_, same, another) = one.split(), other.split()
    return lock == same and section != another


class Access(NamedTuple):
    """An access that happened: `op` the number of the instruction, `kind` one of `R`, `W`, `A` (an atomic operation), `strong`
    its scope where it is strong, empty where it is weak."""

    thread: int
    time: int
    op: int
    kind: str
    strong: str
    first: int  # byte of its segment
    size: int
    #: Of an atomic operation: what it does, where any order of such operations has one result; empty where not.
    commutes: str = ""
    #: Of a strong write that was found: no strong access has come since, so that none has observed it (section 8.9.2).
    unseen: bool = False


#: What accesses have in common of which a later one stands for an earlier one that is ordered before it: it is as strong, of
#: the same bytes, and by the same thread, or for writes by a thread of the same CTA.
Class = tuple[int, str, int, int]


#: What strong writes have in common that may come in any order, so that the last one tells of all of them: what they do, or
#: `_ANYTHING` where it is known that the order decides what stays; their scope, which has all threads; and their bytes.
Group = tuple[str, str, int, int]
_ANYTHING = "anything"


class ShadowCell:
    """The accesses to some bytes that can matter, by their classes: `atomics` has all strong writes that may come in any order;
    `constant`: a read by the texture proxy; `over`: reads of asynchronous operations with the writes that come before them;
    `group`: what all of `atomics` are, if they are alike; `unseen`: the last strong write, if no strong access came since."""

    __slots__ = ("atomics", "constant", "group", "last", "over", "reads", "unseen", "writes")

    def __init__(self) -> None:
        self.writes: dict[Class, Access] = {}
        self.constant: Access | None = None
        self.reads: dict[Class, Access] = {}
        self.atomics: dict[Class, Access] = {}
        self.group: Group | None = None
        self.last: Access | None = None
        self.unseen: Access | None = None
        self.over: dict[Class, tuple[Access, tuple[Access, ...]]] = {}

    def copy(self) -> ShadowCell:
        """The same of a part of the bytes."""
        new = ShadowCell()
        new.writes, new.reads, new.atomics, new.over = (
            dict(self.writes), dict(self.reads), dict(self.atomics), dict(self.over)
        )  # fmt: skip
        new.constant, new.group, new.last, new.unseen = self.constant, self.group, self.last, self.unseen
        return new


class Shadow:
    """Of one segment of memory. `later` is asked whether an access is ordered before what a thread does now."""

    def __init__(
        self,
        clocks: Clocks,
        name: str,
        *,
        ignores_strong: bool = False,
        mixes: bool = False,
        observes: Callable[[Access, Access], bool] | None = None,
    ) -> None:
        """`ignores_strong`: what comes of two strong accesses, each in the other's scope, is looked at elsewhere; `mixes`: so
        is what stays of two strong writes that nothing orders; `observes`: whether an access comes behind a strong write since
        its thread has observed that."""
        self._observes = observes
        self.clocks, self.name, self.ignores_strong, self.mixes = clocks, name, ignores_strong, mixes
        self._mixed = False
        #: Whether operations that commute were met of which nothing orders one before the other.
        self.commuted = False
        #: By how many bytes they have, and their number among those; and which words, and halves of them, were divided.
        self._cells: dict[int, dict[int, ShadowCell]] = {_GRAIN: {}, 2: {}, 1: {}}
        self._divided: set[int] = set()
        self._halved: set[int] = set()

    def _of(self, access: Access) -> list[ShadowCell]:
        """The cells of an access; those of which it has only a part are divided."""
        first, end = access.first, access.first + access.size
        cells = self._cells[_GRAIN]
        whole = not (first | end) & (_GRAIN - 1)
        if whole and self._divided.isdisjoint(range(first // _GRAIN, end // _GRAIN)):
            found = []
            for i in range(first // _GRAIN, end // _GRAIN):
                cell = cells.get(i)
                if cell is None:
                    cell = cells[i] = ShadowCell()
                found.append(cell)
            return found
        return [*self._parts(first, end)]

    def _parts(self, first: int, end: int) -> Iterator[ShadowCell]:
        """The cells of some bytes, of which some are smaller than others."""
        at = first
        while at < end:
            grain = _GRAIN
            while at % grain or at + grain > end or self._is_divided(at // grain, grain):
                self._divide(at // grain, grain)
                grain //= 2
            cell = self._cells[grain].get(at // grain)
            if cell is None:
                cell = self._cells[grain][at // grain] = ShadowCell()
            yield cell
            at += grain

    def _is_divided(self, i: int, grain: int) -> bool:
        return i in (self._divided if grain == _GRAIN else self._halved) if grain > 1 else False

    def _divide(self, i: int, grain: int) -> None:
        """A cell becomes two halves, unless it is so."""
        divided = self._divided if grain == _GRAIN else self._halved
        if i in divided:
            return
        divided.add(i)
        cell = self._cells[grain].pop(i, None)
        if cell is not None:
            self._cells[grain // 2].update({half: cell.copy() for half in (2 * i, 2 * i + 1)})

    def known(self, first: int, size: int) -> Iterator[ShadowCell]:
        """The cells of some bytes that were accessed."""
        for grain, cells in self._cells.items():
            for i in range(first // grain, -(-(first + size) // grain)):
                if i in cells:
                    yield cells[i]

    def read(self, access: Access) -> Access | None:
        """A read; gives a conflicting access that is not ordered before it, where there is one."""
        thread, ordered, found = access.thread, self.clocks.ordered, None
        constant = access.strong == CONSTANT
        kind = (thread, access.strong, access.first, access.size)
        for cell in self._of(access):
            for w in cell.writes.values():
                if constant or not (ordered(thread, w.thread, w.time) or self._contend(w, access)):
                    found = w
            if constant:
                found = next(iter(cell.atomics.values()), found)
                cell.constant = access
                continue
            for a in cell.atomics.values():
                if not (ordered(thread, a.thread, a.time) or self._contend(a, access)):
                    found = a
            if access.strong:
                cell.unseen = None
            else:
                found = self._unseen(cell, thread) or found
            reads = cell.reads
            if len(reads) == 1:
                ((other, r),) = reads.items()
                if (not access.strong or other[1:] == kind[1:]) and ordered(thread, r.thread, r.time):
                    reads.clear()
            reads[kind] = access
        return found

    def write(self, access: Access) -> Access | None:
        """A write; gives a conflicting access that is not ordered before it, where there is one."""
        thread, ordered, found = access.thread, self.clocks.ordered, None
        for cell in self._of(access):
            for other in (*cell.writes.values(), *self._against(cell, access)):
                apart = (
                    ordered(thread, other.thread, other.time)
                    or self._apart(other, access)
                    or self._commute(other, access)
                )
                if not apart and not self._through(cell, other, lambda r: ordered(thread, r.thread, r.time)):
                    found = other
            found = cell.constant or found
            for kind, r in list(cell.reads.items()):
                if ordered(thread, r.thread, r.time):
                    if r.strong or not access.strong:  # a strong write races with less than a weak read does
                        del cell.reads[kind]
                elif not self._contend(r, access):
                    found = r if found is None or found.kind == "R" else found
            found = found if access.strong else self._unseen(cell, thread) or found
            cell.unseen = access if access.strong else None
            if not access.strong:
                cell.writes.clear()
                cell.atomics.clear()
                cell.over.clear()
            if access.commutes and access.strong:
                self._add(cell, access, "")
            else:
                cell.writes[thread // self.clocks.size, access.strong, access.first, access.size] = access
        return found

    def update(self, access: Access) -> Access | None:
        """An atomic operation; gives a conflicting access that is not ordered before it, and that matters where it comes: two
        operations that commute may come in any order, where each is in the other's scope."""
        found = self.before_update(access)
        for cell in self._of(access):
            self._add(cell, access, f"{access.commutes} ")
        return found

    def before_update(self, access: Access) -> Access | None:
        """The same of one that is yet to come."""
        thread, ordered, found = access.thread, self.clocks.ordered, None
        for cell in self._of(access):
            found = cell.constant or found
            for w in cell.writes.values():
                if not (ordered(thread, w.thread, w.time) or self._apart(w, access) or self._commute(w, access)):
                    found = w
            for r in cell.reads.values():
                if not (ordered(thread, r.thread, r.time) or self._contend(r, access)):
                    found = r
            for a in self._against(cell, access):
                if not (ordered(thread, a.thread, a.time) or self._commute(a, access) or self._apart(a, access)):
                    found = a
        return found

    def _against(self, cell: ShadowCell, access: Access) -> Iterable[Access]:
        """The strong writes of a cell with which another write is to be compared: of a group that it belongs to, the last one.
        Where that is ordered before it, so are all, or some two of the group came in any order, which is known then."""
        group, last = cell.group, cell.last
        if last is None or group is None or group[1:] != access[4:7] or group[0] not in (access.commutes, _ANYTHING):
            return cell.atomics.values()
        return (last,)

    def _add(self, cell: ShadowCell, access: Access, prefix: str) -> None:
        """A strong write that may come in any order among its like."""
        group: Group = access.commutes, access.strong, access.first, access.size
        if not access.commutes or not self.clocks.wide(access.strong) or (cell.atomics and cell.group is None):
            cell.group = None
        elif not cell.atomics:
            cell.group = group
        elif cell.group is not None and cell.group[0] not in (access.commutes, _ANYTHING):
            cell.group = (_ANYTHING, *group[1:]) if self._mixed and cell.group[1:] == group[1:] else None
        elif cell.group is not None and cell.group[1:] != group[1:]:
            cell.group = None
        cell.last = cell.unseen = access
        cell.atomics[access.thread, prefix + access.strong, access.first, access.size] = access

    def _commute(self, a: Access, b: Access) -> bool:
        """Whether two strong writes, or accesses of two critical sections, may come in any order."""
        if a.commutes.startswith(_SECTION) or b.commutes.startswith(_SECTION):
            return _excluded(a.commutes, b.commutes)
        if not (a.commutes and b.commutes and self._alike(a, b)) or not (a.commutes == b.commutes or self.mixes):
            return False
        self.commuted, self._mixed = True, self._mixed or a.commutes != b.commutes
        return True

    def takes_mixed(self) -> bool:
        """Whether writes were met of which the order decides what stays, since this was asked last."""
        mixed, self._mixed = self._mixed, False
        return mixed

    def _apart(self, a: Access, b: Access) -> bool:
        """Whether coherence order alone says which of two accesses comes first, here as `b` comes behind `a`."""
        closes = (a.commutes, b.commutes) == (COUNTED, CLOSES)
        if closes and not b.strong:  # the last of them has observed all others (`several.open_operations`)
            return (a.first, a.size) == (b.first, b.size)
        if self._observes is not None and self._observes(a, b):
            return True
        return (self.ignores_strong or closes or a.commutes == b.commutes == ORDERED) and self._contend(a, b)

    def beside(self, access: Access, ordered: Callable[[Access], bool], *, over: bool = False) -> Access | None:
        """An access of an asynchronous operation; gives a conflicting access that does not come before it, a write
        rather than a read, of which less may be wrong. It stands for none that comes before it, since what is known of it says
        nothing of those. `over`: of a read, other writes that come behind it come behind the writes that come before it
        (section 8.9.5, 3c)."""
        found, kind = None, (access.thread, f"{access.kind} {access.time}", access.first, access.size)
        for cell in self._of(access):
            others = [*cell.writes.values(), *cell.atomics.values()]
            if access.kind != "R":
                others += cell.reads.values()
                found = cell.constant or found
            for other in others:
                if not ordered(other):
                    if access.kind == "A" and other.commutes == access.commutes != "" and self._alike(other, access):
                        self.commuted = True
                    elif access.kind == "R" or not self._through(cell, other, ordered):
                        found = other if found is None or found.kind == "R" else found
            if over:
                cell.over[kind] = access, tuple(cell.writes.values())
            cell.group = cell.unseen = None
            kept = cell.reads if access.kind == "R" else cell.writes if access.kind == "W" else cell.atomics
            kept[kind] = access
        return found

    def _unseen(self, cell: ShadowCell, thread: int) -> Access | None:
        """The last strong write of a cell, where nobody observed it and it is not ordered before what a thread does."""
        last = cell.unseen
        if last is None or self.clocks.ordered(thread, last.thread, last.time):
            return None
        return last._replace(unseen=True)

    def observed(self, access: Access) -> bool:
        """Whether what a thread accesses weakly it has itself updated last, so that it has observed what others did there."""
        last = [cell.unseen for cell in self._of(access)]
        return not access.strong and all(w is not None and w.kind == "A" and w.thread == access.thread for w in last)

    @staticmethod
    def _through(cell: ShadowCell, write: Access, ordered: Callable[[Access], bool]) -> bool:
        """Whether a write comes before a read that is ordered. Reads of threads since a weak write of one come behind it."""
        plain = write.thread < AGENTS and not write.strong and write.kind == "W"
        since = [r for r in cell.reads.values() if r.thread < AGENTS and not r.strong] if plain else []
        return any(map(ordered, since)) or any(write in before and ordered(r) for r, before in cell.over.values())

    def _contend(self, a: Access, b: Access) -> bool:
        """Whether of two accesses, one of which only reads, both are strong: what it may find is decided elsewhere
        (`waits.waiting`). Or the second one is by a thread that has observed the first one."""
        if a.strong != "" != b.strong and a.thread < AGENTS and self._alike(a, b):
            return True
        return self._observes is not None and self._observes(a, b)

    def _alike(self, a: Access, b: Access) -> bool:
        """Whether two accesses are to the same bytes, each in the other's scope."""
        within = self.clocks.within
        same = (a.first, a.size) == (b.first, b.size)
        return same and within(a.strong, a.thread, b.thread) and within(b.strong, a.thread, b.thread)

"""Physical memory in bytes, the addresses at which threads see it, and the cells that accesses cut it into.

objects    stretches of physical bytes
views      where an object stands in the address space, and for which threads: aliases are views of another mapping
cells      the coarsest pieces of objects such that every access covers whole cells
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from ptxcore.records import NamedTuple, dataclass
from ptxcore.values import terms
from ptxcore.values.spread import spread
from ptxcore.values.terms import Term, Value


@dataclass(frozen=True, slots=True)
class RepeatedBytes:
    """So many bytes: `data`, again and again. What is not looked at is never made."""

    data: bytes
    size: int

    def __getitem__(self, stretch: slice) -> bytes:
        first, last, step = stretch.indices(self.size)
        begin = first % len(self.data)
        count = max(0, last - first)
        return (self.data * ((begin + count) // len(self.data) + 1))[begin : begin + count : step]


class Object(NamedTuple):
    """A stretch of physical memory. `initial` are its first bytes, zeros follow. `width` and `elements` (None for a
    scalar) say what it was declared as and `owner` whose it is, for the names of its pieces only. `cta`: whose shared memory
    it is; `ends`: it is there no longer than that CTA; `unset`: it may hold anything at first, `initial` being one example;
    `heap`: `malloc` gives it; `open`: it may hold anything at first, and all of that is meant."""

    name: str
    size: int
    initial: bytes | RepeatedBytes = b""
    width: int = 32
    elements: int | None = None
    owner: str = ""
    space: str = "global"
    cta: int | None = None
    ends: bool = False
    unset: bool = False
    heap: bool = False
    open: bool = False

    def label(self, offset: int, size: int) -> str:
        """What people call some of its bytes."""
        return self.named(offset, size)[0]

    def named(self, offset: int, size: int) -> tuple[str, int]:
        """What people call some of its bytes: `x`, `b[2]`, `b[0..3]`, or `x.u8[1]` for a part that was not declared as one; and
        how many elements that are."""
        bits = 8 * size
        if self.elements is not None and bits > self.width and bits % self.width == 8 * offset % self.width == 0:
            first, count = 8 * offset // self.width, bits // self.width
            return f"{self.name}[{first}..{first + count - 1}]{self.owner}", count
        if bits == self.width and 8 * offset % bits == 0:
            return self.name + ("" if self.elements is None else f"[{8 * offset // bits}]") + self.owner, 1
        if offset % size == 0:
            return f"{self.name}.u{bits}[{offset // size}]{self.owner}", 1
        return f"{self.name}.u8[{offset}..{offset + size - 1}]{self.owner}", size

    def number(self, offset: int, size: int) -> int:
        """The initial value of some of its bytes, which are not open."""
        return int.from_bytes(self.initial[offset : offset + size], "little")


class View(NamedTuple):
    """An object (by its number) at an address. Bytes reached through one mapping have one virtual address, whatever the
    number that a thread uses for it; those of different mappings are aliases. `threads`: who sees it, None for all."""

    object: int
    address: int
    mapping: int = 0
    threads: frozenset[int] | None = None


class Cell(NamedTuple):
    """Bytes of an object that are always accessed as a whole. `initial` is a number, or a symbol where the object is open."""

    object: int
    offset: int
    size: int
    name: str
    initial: Value

    @property
    def width(self) -> int:
        return 8 * self.size


class GuardedLocation(NamedTuple):
    """Where an access may go, and the condition under which it does."""

    guard: Value
    object: int
    offset: int
    mapping: int


class Possible(NamedTuple):
    """The aligned addresses at which an access may find memory, each as (address, view, offset there); whether the address
    may be nothing else; and whether it is aligned in any case."""

    places: list[tuple[int, View, int]]
    nowhere_else: bool
    aligned: bool


class Beside(NamedTuple):
    """Where an access of `size` bytes at an `address` goes that no object holds: `offset` is that from the first byte of the
    object that is near, which has `length` bytes and may be some `owner`'s. Without a name none is near. `multimem`: there
    nothing but multimem instructions may go."""

    size: int
    address: int
    name: str = ""
    owner: str = ""
    offset: int = 0
    length: int = 0
    multimem: bool = False


class TooManyPlaces(Exception):
    """An address may be any of more places than are worth telling apart."""


#: An access with more possible places than this is refused.
MAX_PLACES = 4096
#: So many bytes away from an object, an address is still told of as one beside it.
_NEAR = 0x8000
#: Accesses are aligned to their size, up to this.
MAX_ALIGNMENT = 16


class AddressSpace:
    """Objects where threads see them."""

    def __init__(self, objects: Sequence[Object], views: Sequence[View]) -> None:
        self.objects = objects
        self.views = sorted(views, key=lambda v: v.address)
        self._same_for_all = all(v.threads is None for v in views)
        self._visible: dict[int, tuple[list[View], list[int]]] = {}

    def visible(self, thread: int) -> tuple[list[View], list[int]]:
        """What a thread sees, by address, and the addresses."""
        key = -1 if self._same_for_all else thread
        found = self._visible.get(key)
        if found is None:
            views = [v for v in self.views if v.threads is None or thread in v.threads]
            found = self._visible[key] = views, [v.address for v in views]
        return found

    def at(self, thread: int, address: int, size: int) -> tuple[View, int] | None:
        """The view that holds all of `size` bytes at an address, and the offset there."""
        views, addresses = self.visible(thread)
        i = bisect_right(addresses, address) - 1
        if i < 0:
            return None
        offset = address - addresses[i]
        return (views[i], offset) if offset + size <= self.objects[views[i].object].size else None

    def beside(self, thread: int, address: int, size: int) -> Beside:
        """Where an access goes that no object holds: by the object that it begins in or behind, if one is near."""
        views, addresses = self.visible(thread)
        i = bisect_right(addresses, address) - 1
        if i >= 0 and (offset := address - addresses[i]) <= _NEAR:
            return _beside(self.objects[views[i].object], size, address, offset)
        if i + 1 < len(views) and addresses[i + 1] - address <= _NEAR:
            return _beside(self.objects[views[i + 1].object], size, address, address - addresses[i + 1])
        return Beside(size, address)

    def possible(self, thread: int, address: Term, size: int, alignment: int) -> Possible:
        """Where an access of `size` bytes at an address that is not known may go. Raises TooManyPlaces."""
        low, high, step = spread(address)
        found: list[tuple[int, View, int]] = []
        whole = 1 << address.width
        views, _ = self.visible(thread)
        for view in views:
            last = view.address + self.objects[view.object].size - size
            for shift in (0, -whole) if low < 0 else (0,):
                first, end = max(low, view.address + shift), min(high, last + shift)
                for a in _aligned(first, end, low, step, alignment):
                    found.append((a - shift, view, a - shift - view.address))
                    if len(found) > MAX_PLACES:
                        raise TooManyPlaces
        count = (high - low) // step + 1 if step else 1
        return Possible(found, len(found) == count, low % alignment == 0 and step % alignment == 0)


def _beside(thing: Object, size: int, address: int, offset: int) -> Beside:
    return Beside(size, address, thing.name, thing.owner, offset, thing.size, thing.space == "multimem")


def _aligned(first: int, last: int, low: int, step: int, alignment: int) -> Iterable[int]:
    """The numbers from `first` to `last` that are `low` plus a multiple of `step`, and multiples of `alignment`."""
    if step == 0:
        return (low,) if first <= low <= last and low % alignment == 0 else ()
    start = first + (low - first) % step
    if low % alignment == 0 and step % alignment == 0:
        return range(start, last + 1, step)
    return (a for a in range(start, last + 1, step) if a % alignment == 0)


# Cells.


def contents(number: int, offset: int, size: int) -> Term:
    """The symbol for what some bytes of an open object hold at first."""
    return terms.symbol(("contents", number, offset), 8 * size)


#: Bytes of an object: its number, the first byte, and how many.
ObjectBytes = tuple[int, int, int]


class CellLayout:
    """The cells of a program. Those of one object have successive numbers in the order of their bytes."""

    def __init__(
        self,
        objects: Sequence[Object],
        accesses: Iterable[ObjectBytes],
        alike: Iterable[Sequence[ObjectBytes]] = (),
        looked_at: Iterable[ObjectBytes] = (),
        cuts: Iterable[tuple[int, int]] = (),
    ) -> None:
        """`accesses` must each cover whole cells, and those of each group in `alike` be cut in the same way. There are cells
        for all bytes that are `looked_at`, but these may be parts of cells. `cuts` are more places to cut at: an object and
        an offset each."""
        self._objects, self._accesses, self._alike, self._cuts = objects, list(accesses), list(alike), set(cuts)
        self._looked_at = list(looked_at)
        covered: dict[int, set[tuple[int, int]]] = {}
        for number, offset, size in self._accesses:
            covered.setdefault(number, set()).add((offset, offset + size))
        at = {o: {c for piece in pieces for c in piece} for o, pieces in covered.items()}
        for number, offset, size in self._looked_at:
            spans = covered.setdefault(number, set())
            outside = [e for e in (offset, offset + size) if not any(a < e < b for a, b in spans)]
            at.setdefault(number, set()).update(outside)
            spans.add((offset, offset + size))
        for number, offset in self._cuts:
            at[number].add(offset)
        edges = {o: sorted(offsets) for o, offsets in at.items()}
        _cut_alike(edges, self._alike)
        self.cells: list[Cell] = []
        self._starts: dict[tuple[int, int], int] = {}
        self._ranges: dict[ObjectBytes, range] = {}
        self._parts: dict[ObjectBytes, list[tuple[int, int, int]]] = {}
        for number in sorted(covered):
            for offset, end in _pieces(edges[number], covered[number]):
                self._starts[number, offset] = len(self.cells)
                thing, size = objects[number], end - offset
                held = contents(number, offset, size) if thing.open else thing.number(offset, size)
                self.cells.append(Cell(number, offset, size, thing.label(offset, size), held))

    def of(self, objects: Sequence[Object]) -> CellLayout:
        """The same where the objects hold something else at first."""
        return CellLayout(objects, self._accesses, self._alike, self._looked_at, self._cuts)

    def cut(self, cuts: Iterable[tuple[int, int]]) -> CellLayout:
        """The same with more cuts."""
        return CellLayout(self._objects, self._accesses, self._alike, self._looked_at, self._cuts.union(cuts))

    def covering(self, number: int, offset: int, size: int) -> range:
        """The cells that these bytes of an object are."""
        key = number, offset, size
        found = self._ranges.get(key)
        if found is None:
            first = last = self._starts[number, offset]
            end = offset + size
            while self.cells[last].offset + self.cells[last].size < end:
                last += 1
            found = self._ranges[key] = range(first, last + 1)
        return found

    def parts(self, number: int, offset: int, size: int) -> list[tuple[int, int, int]]:
        """The cells that have some bytes of an object: each with the first of its own that is meant, and how many are."""
        found = self._parts.get((number, offset, size))
        if found is None:
            end = offset + size
            found = self._parts[number, offset, size] = [
                (i, max(offset - c.offset, 0), min(end, c.offset + c.size) - max(offset, c.offset))
                for i, c in enumerate(self.cells)
                if c.object == number and c.offset < end and offset < c.offset + c.size
            ]
        return found


def _pieces(cuts: list[int], covered: set[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The pieces between cuts that some access covers."""
    starts = sorted(covered)
    following = 0
    reach = -1
    for i, cut in enumerate(cuts[:-1]):
        while following < len(starts) and starts[following][0] <= cut:
            reach = max(reach, starts[following][1])
            following += 1
        if cut < reach:
            yield cut, cuts[i + 1]


def _cut_alike(cuts: dict[int, list[int]], groups: list[Sequence[ObjectBytes]]) -> None:
    """Cuts the members of each group at the same bytes, until nothing changes."""
    changed = True
    while changed:
        changed = False
        for group in groups:
            inner: set[int] = set()
            for number, offset, size in group:
                known = cuts[number]
                inner |= {
                    c - offset for c in known[bisect_right(known, offset) : bisect_right(known, offset + size - 1)]
                }
            for number, offset, _ in group if inner else ():
                known = cuts[number]
                missing = {offset + c for c in inner}.difference(known)
                if missing:
                    cuts[number] = sorted({*known, *missing})
                    changed = True

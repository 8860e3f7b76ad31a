"""Memory that no other thread sees: the stack with `.local` variables, spills and the parameters of functions, what `alloca`
puts on top of it, and what never changes: parameters of the kernel, `.const` variables.

It is part of a path's state as registers are: a map from addresses to values, joined under conditions where paths meet.
"""

from __future__ import annotations

from collections.abc import Callable

from ptxcore.machine.ir.dependencies import NO_DEPENDENCIES, Dependencies, choose, union
from ptxcore.machine.ir.windows import LOCAL
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Value, all_of, concat, conj, eq, extract, given, ite

#: The largest piece of memory that an instruction writes at once, in bytes.
_LARGEST = 16
#: The stack begins and ends at multiples of this.
STACK_ALIGN = 16


class Constants(NamedTuple):
    """Bytes from an address on that never change."""

    address: int
    data: bytes
    name: str


class Private(NamedTuple):
    """What a thread has for itself: a stack of `size` bytes from the address `stack` on, and constants."""

    stack: int
    size: int
    constants: tuple[Constants, ...] = ()

    @property
    def top(self) -> int:
        """Where the stack ends, and `alloca` begins."""
        return behind(self.stack + self.size, STACK_ALIGN)


class Grown(NamedTuple):
    """Memory that `alloca` gave: `size` bytes, there while `live` holds."""

    start: int
    size: Value
    live: Value


class Top(NamedTuple):
    """The stack pointer, and what `alloca` has put below it."""

    pointer: Value
    grown: tuple[Grown, ...] = ()


class StoredPiece(NamedTuple):
    """A value in memory: its bytes, the condition under which it was written, what it depends on."""

    size: int
    value: Value
    defined: Value
    sources: Dependencies


_UNWRITTEN = StoredPiece(1, 0, 0, NO_DEPENDENCIES)


class Mark:
    """An iteration of a loop: what stood in memory `before`; the bytes, as bits, that somebody read later and that were not
    surely written between (`seen`), and those that an iteration without effects left other than they were (`changed`)."""

    __slots__ = ("before", "changed", "seen")

    def __init__(self, before: PrivateMemory) -> None:
        self.before, self.changed, self.seen = before, 0, 0

    @property
    def is_seen(self) -> bool:
        """Whether somebody read what the iteration changed."""
        return self.seen & self.changed != 0


class PrivateMemory:
    """The stack on one path, by address; `top` is where it ends. It knows for the iterations of loops on this path which
    bytes, as bits, were surely written since they began."""

    __slots__ = ("_marks", "_owned", "_pieces", "top")

    def __init__(self, top: Top, pieces: dict[int, StoredPiece] | None = None) -> None:
        self.top = top
        self._pieces = {} if pieces is None else pieces
        self._owned = pieces is None
        self._marks: dict[Mark, int] = {}

    def copy(self) -> PrivateMemory:
        """Another path's. Both copy before they write."""
        self._owned = False
        other = PrivateMemory(self.top, self._pieces)
        other._marks = dict(self._marks)
        return other

    def mark(self) -> Mark:
        """An iteration of a loop begins here."""
        made = Mark(self.copy())
        self._marks[made] = 0
        return made

    def unmark(self, mark: Mark) -> None:
        """The iteration is not left out: nothing hangs on what is read from here on."""
        self._marks.pop(mark, None)

    def changes(self, before: PrivateMemory, when: Value) -> int | None:
        """The bytes, as bits, that are not what they were before where a condition holds; None where the stack does not end
        where it ended."""
        if self.top != before.top:
            return None
        if self._pieces is before._pieces:
            return 0
        found = 0
        for start in {**self._pieces, **before._pieces}:
            mine, theirs = self._pieces.get(start), before._pieces.get(start)
            if not _is_still(theirs, mine, when):
                found |= _bits(start, max(piece.size for piece in (mine, theirs) if piece is not None))
        return found

    def same(self, before: PrivateMemory) -> Value:
        """The truth value of "all that is written here has the values that it had before"."""
        if self.top != before.top:
            return 0
        alike: list[Value] = []
        for start in {**self._pieces, **before._pieces}:
            mine, theirs = self._pieces.get(start), before._pieces.get(start)
            if mine is not theirs:
                if mine is None or theirs is None or (mine.size, mine.defined) != (theirs.size, theirs.defined):
                    return 0
                alike.append(eq(mine.value, theirs.value))
        return all_of(alike)

    def mapped(self, new: Callable[[Value], Value]) -> PrivateMemory:
        """The same with other values."""
        pieces = {start: p._replace(value=new(p.value), defined=new(p.defined)) for start, p in self._pieces.items()}
        return PrivateMemory(self.top, pieces)

    def contents(self) -> tuple[object, ...]:
        """What is written here, to tell it from other contents by: addresses, sizes and values."""
        pieces = [(start, p.size, p.value, p.defined) for start, p in sorted(self._pieces.items())]
        return self.top, tuple(pieces)

    def _own(self) -> dict[int, StoredPiece]:
        if not self._owned:
            self._pieces, self._owned = dict(self._pieces), True
        return self._pieces

    def read(self, address: int, size: int) -> StoredPiece:
        """What stands in `size` bytes, for somebody who looks."""
        for mark, written in self._marks.items():
            mark.seen |= _bits(address, size) & ~written
        return self._at(address, size)

    def _at(self, address: int, size: int) -> StoredPiece:
        piece = self._pieces.get(address)
        if piece is not None and piece.size == size:
            return piece
        bytes_ = [self._byte(address + i) for i in range(size)]
        value, defined, sources = bytes_[0].value, bytes_[0].defined, bytes_[0].sources
        for i, byte in enumerate(bytes_[1:], 1):
            value = concat(byte.value, value, 8, 8 * i)
            defined = conj(defined, byte.defined)
            sources = union(sources, byte.sources)
        return StoredPiece(size, value, defined, sources)

    def _byte(self, address: int) -> StoredPiece:
        for start in range(address, address - _LARGEST, -1):
            piece = self._pieces.get(start)
            if piece is not None:
                if start + piece.size <= address:
                    break
                low = 8 * (address - start)
                return StoredPiece(1, extract(piece.value, low + 7, low), piece.defined, piece.sources)
        return _UNWRITTEN

    def write(self, address: int, piece: StoredPiece, when: Value = 1) -> None:
        """Puts a piece at an address, over whatever is there, where the condition holds."""
        if when == 1:
            self._written(address, piece.size)
        self._put(address, piece if when == 1 else chosen(when, piece, self._at(address, piece.size)))

    def _written(self, address: int, size: int) -> None:
        for mark in self._marks:
            self._marks[mark] |= _bits(address, size)

    def _put(self, address: int, piece: StoredPiece) -> None:
        pieces = self._own()
        for start in range(address - _LARGEST + 1, address + piece.size):
            old = pieces.get(start)
            if old is None or start + old.size <= address:
                continue
            if start < address or start + old.size > address + piece.size:
                self._split(start)
        for start in range(address, address + piece.size):
            pieces.pop(start, None)
        pieces[address] = piece

    def _split(self, start: int) -> None:
        """Cuts a piece into its bytes."""
        pieces = self._own()
        old = pieces.pop(start)
        for i in range(old.size):
            pieces[start + i] = StoredPiece(1, extract(old.value, 8 * i + 7, 8 * i), old.defined, old.sources)

    def move(self, source: int, to: int, size: int) -> None:
        """Copies bytes, piece by piece."""
        self.read(source, size)
        at = source
        while at < source + size:
            piece = self._pieces.get(at)
            if piece is None or at + piece.size > source + size:
                piece = self._byte(at)
            self.write(to + at - source, piece)
            at += piece.size

    def forget(self, address: int, size: int) -> None:
        """Nothing stands in `size` bytes any more."""
        self._written(address, size)
        pieces = self._own()
        for start in [s for s in pieces if address <= s < address + size]:
            del pieces[start]

    def merge(self, condition: Value, other: PrivateMemory) -> None:
        """Joins another path's, which is the one taken where `condition` holds."""
        if other.top is not self.top:
            self.top = _joined(condition, other.top, self.top)
        for mark, written in other._marks.items():
            self._marks[mark] = self._marks.get(mark, written) & written
        if other._pieces is self._pieces:
            return
        for start in {**self._pieces, **other._pieces}:
            mine, theirs = self._pieces.get(start), other._pieces.get(start)
            if mine is theirs:
                continue
            whole = max(piece.size for piece in (mine, theirs) if piece is not None)
            size = whole if self._is_one(start, whole) and other._is_one(start, whole) else 1
            for at in range(start, start + whole, size):
                self._put(at, chosen(condition, other._at(at, size), self._at(at, size)))

    def _is_one(self, address: int, size: int) -> bool:
        """Whether some bytes are one piece, or nothing at all."""
        piece = self._pieces.get(address)
        if piece is not None:
            return piece.size == size
        return all(self._byte(address + i) is _UNWRITTEN for i in range(size))


def _joined(condition: Value, a: Top, b: Top) -> Top:
    """The one end of the stack where the condition holds, the other elsewhere."""
    live: dict[tuple[int, Value], tuple[Value, Value]] = {(g.start, g.size): (0, g.live) for g in b.grown}
    for g in a.grown:
        live[g.start, g.size] = (g.live, live.get((g.start, g.size), (0, 0))[1])
    grown = [Grown(start, size, ite(condition, one, other, 1)) for (start, size), (one, other) in live.items()]
    return Top(ite(condition, a.pointer, b.pointer, 64), tuple(grown))


def _is_still(before: StoredPiece | None, now: StoredPiece | None, when: Value) -> bool:
    """Whether a piece is what it was where a condition holds. It may depend on more than it did."""
    if before == now:
        return True
    if before is None or now is None or before.size != now.size:
        return False
    unchanged = given(now.defined, when) == before.defined and given(now.value, when) == before.value
    return unchanged and all(now.sources.get(effect) == before.sources[effect] for effect in before.sources)


def _bits(address: int, size: int) -> int:
    """Bytes of own memory as bits."""
    return ((1 << size) - 1) << (address - LOCAL)


def chosen(condition: Value, a: StoredPiece, b: StoredPiece) -> StoredPiece:
    """The one piece where the condition holds, the other elsewhere. Where one is not written, its value is as good as any."""
    value = a.value if b.defined == 0 else b.value if a.defined == 0 else ite(condition, a.value, b.value, 8 * a.size)
    return StoredPiece(a.size, value, ite(condition, a.defined, b.defined, 1), choose(condition, a.sources, b.sources))


def behind(address: int, align: int) -> int:
    """The first multiple of `align` from an address on."""
    return -(-address // align) * align

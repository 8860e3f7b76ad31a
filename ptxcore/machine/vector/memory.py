"""Memory as arrays: where the addresses of many threads lie, found and checked at once.

Everything that a thread cannot do, and everything that nobody wrote, is irregular here: the machine of single threads
tells what is wrong. What a launch overwrites in global memory is kept by pages, so that it can begin again there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxcore.machine.ir.windows import CONST, GLOBAL_BITS, LOCAL, PARAM, SHARED, SHARED_BITS, WINDOW_BITS
from ptxcore.machine.run.memory import GlobalMemory, Segment
from ptxcore.machine.vector.registers import Irregular

_KINDS = (np.uint8, np.uint16, np.uint32, np.uint64)
_SHIFTS = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4, 32: 5}
_OFFSET = (1 << GLOBAL_BITS) - 1
_INSIDE = (1 << WINDOW_BITS) - 1
_SHARED_INSIDE = (1 << SHARED_BITS) - 1
_WINDOWS = {"local": LOCAL, "const": CONST, "param": PARAM}
#: Bytes that are kept together.
_PAGE = 16


_any_bit = np.bitwise_or.reduce


class SeveralSegments(Exception):
    """Addresses lie in several stretches of memory: to be looked at one by one."""


class Area:
    """A stretch of memory. `known` has 0xFF for each byte that was written, None where all were. `kind`: its state space;
    `stride`: the bytes of each CTA or thread, 0 where they have all in common."""

    __slots__ = (
        "bytes", "data", "kind", "known", "name", "pages", "ranks", "rows", "saved", "size", "stride", "unsaved", "writable"
    )  # fmt: skip

    def __init__(
        self, data: Any, kind: str, *, known: Any = None, writable: bool = True, saved: bool = False, stride: int = 0,
        name: str = "",
    ) -> None:  # fmt: skip
        self.data, self.kind, self.stride, self.name = data, kind, stride, name
        #: How many CTAs may access what one of them has.
        self.ranks = 1
        self.bytes = np.frombuffer(data, np.uint8) if len(data) else np.zeros(0, np.uint8)
        self.size, self.known, self.writable = len(data), known, writable
        self.pages: dict[int, bytes] = {}
        self.saved = bytearray(-(-self.size >> _PAGE)) if saved else None
        #: Pages of which it is not kept yet what they held.
        self.unsaved = len(self.saved or b"")
        self.rows: dict[tuple[int, int], Any] = {}

    def view(self, size: int, parts: int = 1) -> Any:
        """Its numbers of `size` bytes; in rows of `parts`."""
        found = self.rows.get((size, parts))
        if found is None:
            whole = size * parts
            found = self.bytes[: self.size // whole * whole].view(_KINDS[_SHIFTS[size]])
            found = self.rows[size, parts] = found.reshape(-1, parts) if parts > 1 else found
        return found

    def written(self, low: int, end: int) -> None:
        """Bytes are about to be written."""
        if not self.writable:
            raise Irregular("memory that cannot be written")
        if self.saved is not None:
            page, last = low >> _PAGE, -(-end >> _PAGE)
            while (page := self.saved.find(0, page, last)) >= 0:
                self.saved[page] = 1
                self.unsaved -= 1
                self.pages[page] = bytes(self.data[page << _PAGE : page + 1 << _PAGE])

    def restore(self) -> None:
        """What stood there before the launch."""
        for page, content in self.pages.items():
            self.data[page << _PAGE : (page << _PAGE) + len(content)] = content


class LaunchMemory:
    """What all threads of a launch share."""

    def __init__(self, memory: GlobalMemory, constants: Segment, parameters: Segment) -> None:
        self.memory = memory
        self.areas: dict[int, Area] = {}
        self.constants = Area(constants.data, "const", writable=False)
        self.parameters = Area(parameters.data, "param", writable=False)

    def area(self, number: int) -> Area:
        """A buffer of global memory by the high bits of its addresses. Raises Irregular where there is none that was
        written as a whole."""
        found = self.areas.get(number)
        if found is None:
            segment = self.memory.segments.get(number)
            if segment is None or segment.known is not None:
                raise Irregular("no memory there, or some that was not written")
            found = self.areas[number] = Area(
                segment.data, "global", writable=segment.writable, saved=True, name=segment.name
            )
        return found

    def restore(self) -> None:
        """Global memory as it was before the launch."""
        for area in self.areas.values():
            area.restore()

    def release(self) -> None:
        """Nothing looks at the buffers any more, so that their sizes may change."""
        self.areas.clear()


class GroupMemory:
    """What a group of CTAs sees: shared memory in a row for each CTA, local memory in a row for each thread."""

    def __init__(self, launch: LaunchMemory, row: Any, ranks: int, shared: int, unwritten: int, frame: int) -> None:
        self.launch = launch
        self.row = row  # the CTA of each thread
        self.ranks = ranks  # CTAs of a cluster
        self.shared_bytes = shared
        self.frame = frame
        count = int(row[-1]) + 1
        self.single = count == 1
        self.stride = -(-shared // 32) * 32
        self.shared = Area(
            bytearray(self.stride * count), "shared", known=np.zeros((count, self.stride), np.uint8),
            stride=self.stride, name="shared memory",
        )  # fmt: skip
        self.shared.ranks = ranks
        self.shared.known[:, unwritten:] = 0xFF
        self.base = row * self.stride
        #: Where the shared memory of a thread's own CTA begins.
        self.window: Any = SHARED
        self.ranked: Any = None
        if ranks > 1:
            self.ranked = (row % ranks).astype(np.uint64)
            self.window = np.uint64(SHARED) | self.ranked << np.uint64(SHARED_BITS)
            self.first_row = row - row % ranks
        self.frame_stride = -(-frame // 32) * 32
        self._local: Area | None = None

    @property
    def local(self) -> Area:
        """The stacks, made when the first thread looks there."""
        if self._local is None:
            size = self.frame_stride * len(self.row)
            self._local = Area(bytearray(size), "local", known=np.zeros(size, np.uint8), stride=self.frame_stride)
        return self._local

    def settle(self) -> None:
        """A good time to see whether all of shared memory was written, which need not be looked at again then."""
        known = self.shared.known
        if known is not None and known[:, : self.shared_bytes].all():
            self.shared.known = None

    def locate(self, space: str, a: Any, size: int, threads: Any, writes: bool) -> tuple[Area, Any]:
        """The stretch of memory in which the addresses of threads lie, and the places there in numbers of `size` bytes: one
        place for all, or an array. Raises Irregular for what cannot be accessed, and Several."""
        if space == "generic":
            space = self._space_of(a)
        if space == "global":
            return self._global(a, size, writes)
        if space == "shared":
            return self._shared(a, size, threads, writes)
        if space == "shared::cluster":
            return self._cluster(a, size, threads, writes)
        if space == "local":
            return self._own(a, size, threads, writes)
        if space in ("const", "param"):
            offset = a.astype(np.uint64) - np.uint64(_WINDOWS[space])
            area = self.launch.constants if space == "const" else self.launch.parameters
            self._bounds(offset, size, area.size)
            if writes:
                raise Irregular("memory that cannot be written")
            return area, self._places(offset, size)
        raise Irregular(f"the state space {space}")

    def _space_of(self, a: Any) -> str:
        low, high = (int(a.min()), int(a.max())) if a.ndim else (int(a), int(a))
        if low > _OFFSET:
            return "global"
        window = low & ~_INSIDE
        if high & ~_INSIDE != window:
            raise SeveralSegments
        if window == SHARED:
            return "shared::cluster"
        return next((space for space, start in _WINDOWS.items() if start == window), "nowhere")

    def _bounds(self, offset: Any, size: int, end: int) -> None:
        """Raises Irregular where offsets are not aligned, or not inside."""
        bits = int(_any_bit(offset)) if offset.ndim else int(offset)  # no offset is larger
        if bits & size - 1 or (bits + size > end and int(np.maximum.reduce(offset, axis=None)) + size > end):
            raise Irregular("out of bounds, or misaligned")

    def _places(self, offset: Any, size: int) -> Any:
        places = offset >> offset.dtype.type(_SHIFTS[size]) if size > 1 else offset
        return places.astype(np.int64) if places.ndim else int(places)

    def _global(self, a: Any, size: int, writes: bool) -> tuple[Area, Any]:
        number = int(a[0] if a.ndim else a) >> GLOBAL_BITS
        offset = a - np.uint64(number << GLOBAL_BITS)
        bits = int(_any_bit(offset)) if a.ndim else int(offset)
        if bits > _OFFSET:
            raise SeveralSegments
        area = self.launch.areas.get(number) or self.launch.area(number)
        if bits & size - 1 or (
            bits + size > area.size and int(np.maximum.reduce(offset, axis=None)) + size > area.size
        ):
            raise Irregular("out of bounds, or misaligned")
        if writes and (area.unsaved or not area.writable):
            if a.ndim:
                area.written(int(np.minimum.reduce(offset)), int(np.maximum.reduce(offset)) + size)
            else:
                area.written(bits, bits + size)
        if not a.ndim:
            return area, bits >> _SHIFTS[size]
        return area, (offset >> np.uint64(_SHIFTS[size]) if size > 1 else offset).view(np.int64)

    def _shared(self, a: Any, size: int, threads: Any, writes: bool) -> tuple[Area, Any]:
        window = self.window
        if self.ranks > 1:
            window = window if threads is None else window[threads]
            offset = a.astype(np.uint64) - window
        else:
            offset = a - a.dtype.type(window)
        self._bounds(offset, size, self.shared_bytes)
        places = self._places(offset, size)
        if self.single:
            return self._told(self.shared, places, size, writes)
        base = self.base if threads is None else self.base[threads]
        return self._told(self.shared, places + (base >> _SHIFTS[size]), size, writes)

    def _cluster(self, a: Any, size: int, threads: Any, writes: bool) -> tuple[Area, Any]:
        """Shared memory of any CTA of the cluster."""
        if self.ranks == 1:
            return self._shared(a, size, threads, writes)
        offset = a.astype(np.uint64) - np.uint64(SHARED)
        rank = (offset >> np.uint64(SHARED_BITS)).astype(np.int64)
        if int(rank.max()) >= self.ranks or int(rank.min()) < 0:
            raise Irregular("a CTA that the cluster does not have")
        offset &= np.uint64(_SHARED_INSIDE)
        self._bounds(offset, size, self.shared_bytes)
        first = self.first_row if threads is None else self.first_row[threads]
        places = self._places(offset, size) + ((first + rank) * self.stride >> _SHIFTS[size])
        return self._told(self.shared, places, size, writes)

    def _own(self, a: Any, size: int, threads: Any, writes: bool) -> tuple[Area, Any]:
        offset = a.astype(np.uint64) - np.uint64(LOCAL)
        self._bounds(offset, size, self.frame)
        numbers = np.arange(len(self.row)) if threads is None else threads
        places = self._places(offset, size) + (numbers * self.frame_stride >> _SHIFTS[size])
        return self._told(self.local, places, size, writes)

    def _told(self, area: Area, places: Any, size: int, writes: bool) -> tuple[Area, Any]:
        """Memory of which it is known what was written: notes that, or sees that it was."""
        if area.known is None:
            return area, places
        known = area.known.reshape(-1)
        whole = min(size, 8)
        known = known.view(_KINDS[_SHIFTS[whole]])
        if size > whole:
            known = known.reshape(-1, size // whole)
        every = (1 << 8 * whole) - 1
        if writes:
            known[places] = every
        elif not (known[places] == every).all():
            raise Irregular("memory that nobody wrote")
        return area, places

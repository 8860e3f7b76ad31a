"""Memory of a launch: one flat space of generic addresses, cut into windows and buffers.

An address of `.shared`, `.local`, `.const` and `.param` is a number below 2**32, so that it fits registers of 32 bits, and
is the same number as a generic address. Each buffer of `.global` memory has 4 GiB of addresses of its own, so that an
access beyond its end never meets another one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ptxcore.isa.image import Image
from ptxcore.machine.ir.windows import GLOBAL_BITS, PARAM
from ptxcore.machine.run.faults import fault
from ptxcore.machine.run.uninitialised import Uninitialised, Varying, bytes_of, unknown

#: What is known of a byte that was written.
WRITTEN = b"\xff"
#: Addresses below are null pointers, with what was added to them.
_NULL = 1 << 16
#: What a buffer may hold.
LARGEST = 1 << 31

#: Memory as numbers of 1, 2, 4 and 8 bytes: what access by their index.
MemoryWords = tuple[Any, Any, Any, Any]
#: Of memory that has to be looked at more closely: no index is within.
NO_WORDS: MemoryWords = ((), (), (), ())


def words(data: bytearray) -> MemoryWords:
    """Memory whose size does not change any more, as little-endian numbers."""
    if sys.byteorder != "little":
        return NO_WORDS
    whole, size = memoryview(data), len(data)
    return whole, whole[: size & -2].cast("H"), whole[: size & -4].cast("I"), whole[: size & -8].cast("Q")


class Segment:
    """A stretch of memory. `known`, where it is kept, has a 1 for each bit that was written. `loads` and `stores`: its numbers,
    where nothing but the size restricts reading and writing them."""

    __slots__ = ("data", "known", "loads", "name", "size", "stores", "writable")

    def __init__(self, size: int, name: str, *, known: bool = True, writable: bool = True) -> None:
        if size > LARGEST:
            raise fault("out-of-memory", f"{size} bytes for '{name}' are more than {LARGEST}")
        self.data = bytearray(size)
        self.size, self.name, self.writable = size, name, writable
        self.known = None if known else bytearray(size)
        self.loads = words(self.data) if known else NO_WORDS
        self.stores = self.loads if writable else NO_WORDS

    def protect(self) -> None:
        """Nothing can be written from now on."""
        self.writable, self.stores = False, NO_WORDS

    def read(self, offset: int, size: int) -> int:
        """The little-endian number at an offset; where nothing was written, an `Uninitialised` value, which behaves as an
        unwritten register does. Raises Fault beyond the end."""
        if offset + size > self.size:
            raise self.beyond(offset, size)
        if self.known is not None and self.known.count(WRITTEN, offset, offset + size) != size:
            where = f"{size} bytes at offset {offset} of '{self.name}' were read before a write"
            found = unknown(bytes(self.data[offset : offset + size]), bytes(self.known[offset : offset + size]), where)
            return found  # type: ignore[return-value]
        return int.from_bytes(self.data[offset : offset + size], "little")

    def writes(self, offset: int, size: int) -> None:
        """Raises Fault where bytes cannot be written."""
        if offset + size > self.size:
            raise self.beyond(offset, size)
        if not self.writable:
            raise fault("read-only", f"'{self.name}' cannot be written")

    def write(self, offset: int, size: int, value: int) -> None:
        """Writes the low bytes of a number. Raises Fault beyond the end."""
        self.writes(offset, size)
        if type(value) is not int:
            self._write_unknown(offset, size, value)
            return
        self.data[offset : offset + size] = (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
        if self.known is not None:
            self.known[offset : offset + size] = WRITTEN * size

    def _write_unknown(self, offset: int, size: int, value: Any) -> None:
        """Writes a value that has unknown bits. Memory that does not tell them apart does not take one of nothing else."""
        if isinstance(value, Varying):
            data, known = (value.number & ((1 << 8 * size) - 1)).to_bytes(size, "little"), bytes(size)
        else:
            data, known = bytes_of(value, size) if isinstance(value, Uninitialised) else (b"", b"")
        if not isinstance(value, Varying) and (not data or (self.known is None and not any(known))):
            int(value)  # raises
        self.data[offset : offset + size] = data
        if self.known is not None:
            self.known[offset : offset + size] = known

    def beyond(self, offset: int, size: int) -> Exception:
        return fault(
            "out-of-bounds",
            f"out of bounds: {size} bytes at offset {offset} of '{self.name}', which has {self.size} bytes",
        )


def nowhere(address: int) -> str:
    """What is wrong with an address at which there is nothing."""
    null = " (a null pointer)" if address < _NULL else ""
    return f"out of bounds: no memory at address {address:#x}{null}"


class MultimemAddresses(Segment):
    """The addresses of a multimem object: there is nothing at them, `bases` are where its replicas begin."""

    __slots__ = ("bases",)

    def __init__(self, name: str, bases: tuple[int, ...]) -> None:
        super().__init__(0, name)
        self.bases = bases

    def beyond(self, offset: int, size: int) -> Exception:
        return fault(
            "bad-multimem", f"'{self.name}' is a multimem address, which multimem instructions alone may access"
        )


class GlobalMemory:
    """Buffers of `.global` memory, by the high bits of their addresses."""

    def __init__(self) -> None:
        #: Textures, surfaces and samplers, by their handles.
        self.images: dict[int, Image] = {}
        self.segments: dict[int, Segment] = {}
        self._next = 1

    def allocate(self, size: int, name: str, *, known: bool = True) -> int:
        """A new buffer of zeros; gives its address."""
        number = self._next
        self._next += 1
        self.segments[number] = Segment(size, name, known=known)
        return number << GLOBAL_BITS

    def copied(self) -> Callable[[], None]:
        """Keeps what all buffers hold; gives what puts all of it back, and gives back what was allocated since."""
        kept = [(number, s, bytes(s.data), bytes(s.known or b"")) for number, s in self.segments.items()]
        following = self._next

        def restore() -> None:
            self._next = following
            self.segments.clear()
            for number, segment, data, known in kept:
                self.segments[number] = segment
                segment.data[:] = data
                if segment.known is not None:
                    segment.known[:] = known

        return restore

    def multimem(self, name: str, bases: tuple[int, ...]) -> int:
        """A new multimem object over replicas that begin at these addresses; gives its address."""
        number = self._next
        self._next += 1
        self.segments[number] = MultimemAddresses(name, bases)
        return number << GLOBAL_BITS

    def free(self, address: int) -> None:
        """Gives a buffer back. Raises Fault where none begins there."""
        if address & ((1 << GLOBAL_BITS) - 1) or (address >> GLOBAL_BITS) not in self.segments:
            raise fault("bad-free", f"free of {address:#x}, where no buffer begins")
        del self.segments[address >> GLOBAL_BITS]

    def at(self, address: int) -> Segment:
        """The buffer that an address lies in. Raises Fault where there is none."""
        found = self.segments.get(address >> GLOBAL_BITS)
        if found is None:
            raise fault("out-of-bounds", nowhere(address))
        return found


class ParameterValues(dict[tuple[int, int], int]):
    """What stands in the parameters of the kernel, by address and size; read once."""

    def __init__(self, launch: Any) -> None:
        super().__init__()
        self._launch = launch

    def __missing__(self, place: tuple[int, int]) -> int:
        address, size = place
        value: int = self._launch.parameters.read(address - PARAM, size)
        self[place] = value
        return value

"""What buffers hold at the start, as bytes: large ones are many equal elements, or come from a file of NumPy's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

from ptxcore.machine.run.memory import LARGEST
from ptxcore.sources import remembered, status
from ptxmm.kernels.expressions import TYPES, Type


class BufferContents(Sequence[int]):
    """`count` elements of `size` bytes each: `data`, again and again. A sequence of their bits."""

    __slots__ = ("data", "length", "size")

    def __init__(self, data: bytes, size: int, count: int) -> None:
        self.data, self.size, self.length = data, size, count

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[int, ...]: ...
    def __getitem__(self, at: int | slice) -> int | tuple[int, ...]:
        if isinstance(at, slice):
            return tuple(self[i] for i in range(*at.indices(self.length)))
        if not -self.length <= at < self.length:
            raise IndexError(at)
        begin = at % self.length * self.size % len(self.data)
        return int.from_bytes(self.data[begin : begin + self.size], "little")

    def __iter__(self) -> Iterator[int]:
        data, size = self.data, self.size
        each = [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)]
        return (each[i % len(each)] for i in range(self.length))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, BufferContents):
            mine, theirs = (self.data, self.size, self.length), (other.data, other.size, other.length)
            return mine == theirs or (len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True)))
        return (
            isinstance(other, Sequence)
            and len(self) == len(other)
            and all(a == b for a, b in zip(self, other, strict=True))
        )

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Contents({self.length} elements of {self.size} bytes)"


class FileError(Exception):
    """What is wrong with an array in a file, in words."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        self.message, self.hint = message, hint
        super().__init__(message)


#: Kinds of NumPy's types, by the beginnings of ours: bits are of any kind of their size, and NumPy has no bfloat16.
_KINDS = {"bf": "uV", "b": "ubifV", "u": "ub", "s": "i", "f": "f"}
_NAMES = {"u": "uint", "s": "int", "f": "float", "bf": "uint"}


def of_file(path: str, written: str, kind: Type) -> BufferContents:
    """The elements of an array in a `.npy` file, row by row, for a buffer of a type. Raises FileError."""
    try:
        stamp = status(path)
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    return _read(path, written, kind, stamp.st_mtime_ns, stamp.st_size)


@remembered(8)  # the variants of one test read the same arrays
def _read(path: str, written: str, kind: Type, stamp: int, length: int) -> BufferContents:
    return of_array(_opened(path), path, written, kind)


def _opened(path: str) -> Any:
    """The array in a file. Raises FileError."""
    try:
        import numpy
    except ImportError:
        raise FileError(f"{path}: arrays need NumPy", "pip install 'ptxmm[run]'") from None
    try:
        array = numpy.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError, TypeError, SyntaxError):
        raise FileError(f"{path} holds no array of numbers that NumPy reads") from None
    if not isinstance(array, numpy.ndarray):
        raise FileError(f"{path} holds several arrays", "a .npy file holds one")
    return array


#: Kinds of PTX types, by those of NumPy's.
_WRITTEN = {"u": "u", "i": "s", "f": "f", "b": "u"}


def type_of_file(path: str) -> str:
    """The PTX type of the elements of an array in a `.npy` file. Raises FileError."""
    try:
        status(path)
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    array = _opened(path)
    written: str = _WRITTEN.get(array.dtype.kind, array.dtype.kind) + str(8 * array.dtype.itemsize)
    if written not in TYPES:
        raise FileError(f"{path} holds elements of {array.dtype.name}, which no type of PTX is")
    return written


def of_array(array: Any, name: str, written: str, kind: Type) -> BufferContents:
    """The elements of a NumPy array, row by row. Raises FileError where they are of another type."""
    found = array.dtype
    kinds = next(kinds for begin, kinds in _KINDS.items() if written.startswith(begin))
    if found.kind not in kinds or found.itemsize * 8 != kind.width:
        hint = f"save it as {_NAMES[kind.kind]}{kind.width}"
        raise FileError(f"{name} holds elements of {found.name}, not of {written}", hint)
    if array.size == 0:
        raise FileError(f"{name} holds no elements")
    if array.nbytes > LARGEST:
        raise FileError(f"{name} holds {array.nbytes} bytes: a buffer has at most {LARGEST}")
    return BufferContents(array.astype(found.newbyteorder("<"), copy=False).tobytes(), found.itemsize, array.size)

"""Which bytes of a tensor a copy moves to which bytes of shared memory (PTX ISA 9.0, sections 5.5.2 to 5.5.7).

A box is a list of runs in the order in which they lie in shared memory, which is linear: bytes of the tensor, or bytes out
of its bounds. Swizzling then moves atoms of 8 bytes or more within lines of 128 bytes, by the address in shared memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from ptxcore.records import NamedTuple
from ptxcore.values.tensor_map import EncodedTensorMap, NoMap

#: Types whose copies would change values in ways that the manual does not tell.
_CONVERTED = ("f32.ftz", "tf32", "tf32.ftz")
_PADDING = {"b4x16_p64": (8, 16), "b6x16_p32": (12, 16)}
_LINE = 7  # the bits of an address within 128 bytes


class NotTold(NoMap):
    """The manual does not tell what such a copy does."""


class BoxRun(NamedTuple):
    """`size` bytes of a box: `at` in it, and where they are in global memory; None: out of bounds."""

    at: int
    source: int | None
    size: int


class BoxPiece(NamedTuple):
    """`size` bytes of a copy: their address in shared memory, and in global memory; None: out of bounds. `turn`: which byte of
    an element is the first one."""

    shared: int
    source: int | None
    size: int
    turn: int = 0


class TensorBox(NamedTuple):
    """What one copy moves: `size` bytes, which also those count that are out of bounds."""

    pieces: tuple[BoxPiece, ...]
    size: int


def box(
    map_: EncodedTensorMap, mode: str, at: Sequence[int], offsets: Sequence[int], shared: int, stores: bool = False
) -> TensorBox:
    """What a copy in a load or store mode of PTX moves between the tensor and shared memory: `at` are its coordinates,
    `offsets` what the modes of im2col take besides. Raises NoMap for what the map does not allow."""
    _check(map_, mode, at)
    if stores and map_.type in _PADDING:
        raise NotTold(f"copies of .{map_.type} to global memory are not executed")
    runs = list(_MODES[mode.removesuffix("_no_offs")](map_, at, offsets))
    if map_.type in _PADDING:
        runs = list(_padded(map_, runs))
    size = max((run.at + run.size for run in runs), default=0)
    if map_.type in _PADDING:
        size = -(-size // 16) * 16
    element = max(1, map_.bits // 8)
    return TensorBox(tuple(_merged(_swizzled(map_, shared, runs, element))), size)


_OF_MODE = {"im2col": "im2col", "im2col_no_offs": "im2col", "im2col::w": "im2col_w", "im2col::w::128": "im2col_w128"}


def _check(map_: EncodedTensorMap, mode: str, at: Sequence[int]) -> None:
    wanted = _OF_MODE.get(mode, "tiled")
    if map_.mode != wanted:
        raise NoMap(f"the tensor map is of mode {map_.mode}, the copy of mode .{mode}")
    rows = mode in ("tile::gather4", "tile::scatter4")
    if rows and (map_.rank != 2 or map_.box[1] != 1):
        raise NoMap(f"the box of .{mode} has two dimensions, the second of size 1")
    if not rows and len(at) != map_.rank:
        raise NoMap(f"the copy has {len(at)} coordinates, the tensor {map_.rank} dimensions")
    if map_.type in _CONVERTED:
        raise NotTold(
            f"copies of .{map_.type} are not executed: they change values in a way that the manual does not tell"
        )


def _row(map_: EncodedTensorMap, to: int, address: int | None, first: int, count: int) -> Iterator[BoxRun]:
    """`count` elements from number `first` of a row on, which begins at an address; None: all of it is out of bounds."""
    bits = map_.bits
    if address is None:
        yield BoxRun(to, None, count * bits // 8)
        return
    low, high = min(max(0, -first), count), max(0, min(count, map_.dims[0] - first))
    high = max(low, high)
    for start, end, inside in ((0, low, False), (low, high, True), (high, count, False)):
        if end > start:
            source = address + (first + start) * bits // 8 if inside else None
            yield BoxRun(to + start * bits // 8, source, (end - start) * bits // 8)


def _tile(map_: EncodedTensorMap, at: Sequence[int], offsets: Sequence[int]) -> Iterator[BoxRun]:
    """Section 5.5.3: the rows of a box, the outermost dimension last."""
    if map_.interleave != "none":
        yield from _slices(map_, at)
        return
    to = 0
    for address in _rows(map_, at, range(1, map_.rank)):
        yield from _row(map_, to, address, at[0], map_.box[0])
        to += map_.inner


def _rows(map_: EncodedTensorMap, at: Sequence[int], dimensions: Sequence[int]) -> Iterator[int | None]:
    """The addresses at which rows of a box begin, in these dimensions, the first of them running fastest; None for those out of
    bounds."""
    steps = [range(0, map_.box[d], map_.element_strides[d]) for d in reversed(dimensions)]
    for places in product(*steps):
        address: int | None = map_.address
        for d, place in zip(reversed(dimensions), places, strict=True):
            number = at[d] + place
            if address is not None:
                inside = 0 <= number < map_.dims[d]
                address = address + number * map_.strides[d - 1] if inside else None
        yield address


def _rows4(map_: EncodedTensorMap, at: Sequence[int], offsets: Sequence[int]) -> Iterator[BoxRun]:
    """Section 5.5.3.4: parts of four rows."""
    for i, number in enumerate(at[1:]):
        inside = 0 <= number < map_.dims[1]
        address = map_.address + number * map_.strides[0] if inside else None
        yield from _row(map_, i * map_.inner, address, at[0], map_.box[0])


def _slices(map_: EncodedTensorMap, at: Sequence[int]) -> Iterator[BoxRun]:
    """Section 5.5.6: channels in slices of 16 or 32 bytes, which lie one behind the other: N, C/slice, D, H, W, slice."""
    slice_ = _slice(map_)
    to, last = 0, map_.rank - 1
    count = -(-map_.box[0] // (slice_ * 8 // map_.bits))
    first = at[0] * map_.bits // 8 // slice_
    for images in _rows(map_, at, [last]):
        for number in range(first, first + count * map_.element_strides[0], map_.element_strides[0]):
            inside = 0 <= number < -(-map_.dims[0] * map_.bits // 8 // slice_)
            start = None if images is None or not inside else images - map_.address + number * _slice_stride(map_)
            for row in _rows(map_, at, range(1, last)):
                yield BoxRun(to, None if row is None or start is None else row + start, slice_)
                to += slice_


def _slice(map_: EncodedTensorMap) -> int:
    return 16 if map_.interleave == "16B" else 32


def _slice_stride(map_: EncodedTensorMap) -> int:
    """From one slice of an image to the next: its outermost dimension is complete then."""
    last = map_.rank - 2
    return map_.dims[last] * map_.strides[last - 1]


# Columns.


def _im2col(map_: EncodedTensorMap, at: Sequence[int], offsets: Sequence[int]) -> Iterator[BoxRun]:
    """Section 5.5.4: pixels of the bounding box from the coordinates on, each moved by the offsets."""
    place, inner = list(at[1:]), len(map_.lower)
    moved = [*offsets, *[0] * (inner - len(offsets)), 0]
    for i, (size, low, high) in enumerate(zip(map_.dims[1:], map_.lower, map_.upper, strict=False)):
        if not low <= place[i] <= size - 1 + high:
            raise NoMap(
                f"coordinate {i + 1} of the copy is {place[i]}, the bounding box goes from {low} to {size - 1 + high}"
            )
    if map_.interleave == "none":
        for i in range(map_.box[1]):
            yield from _pixel(map_, i * map_.inner, at[0], [p + m for p, m in zip(place, moved, strict=True)])
            _next_pixel(map_, place, inner)
        return
    slice_ = _slice(map_)
    count = -(-map_.box[0] // (slice_ * 8 // map_.bits))
    first = at[0] * map_.bits // 8 // slice_
    pixels: list[list[int]] = []
    for _ in range(map_.box[1]):
        pixels.append([p + m for p, m in zip(place, moved, strict=True)])
        _next_pixel(map_, place, inner)
    to = 0
    for number in range(first, first + count):
        inside = 0 <= number < -(-map_.dims[0] * map_.bits // 8 // slice_)
        for pixel in pixels:
            address = _address(map_, pixel) if inside else None
            yield BoxRun(to, None if address is None else address + number * _slice_stride(map_), slice_)
            to += slice_


def _next_pixel(map_: EncodedTensorMap, place: list[int], inner: int) -> None:
    """The pixel behind one, in the bounding box; behind its last one, the first of the next image."""
    for i in range(inner):
        place[i] += map_.element_strides[i + 1]
        if place[i] <= map_.dims[i + 1] - 1 + map_.upper[i]:
            return
        place[i] = map_.lower[i]
    place[inner] += map_.element_strides[inner + 1]


def _address(map_: EncodedTensorMap, pixel: Sequence[int]) -> int | None:
    """Where a pixel begins; None where it is out of bounds."""
    if any(not 0 <= p < size for p, size in zip(pixel, map_.dims[1:], strict=True)):
        return None
    return map_.address + sum(p * stride for p, stride in zip(pixel, map_.strides, strict=True))


def _pixel(map_: EncodedTensorMap, to: int, first: int, pixel: Sequence[int]) -> Iterator[BoxRun]:
    yield from _row(map_, to, _address(map_, pixel), first, map_.box[0])


def _wide(groups: Callable[[EncodedTensorMap], tuple[int, int]]) -> Callable[..., Iterator[BoxRun]]:
    """Sections 5.5.5: pixels along W only, in groups of so many, each with halo pixels behind it."""

    def runs(map_: EncodedTensorMap, at: Sequence[int], offsets: Sequence[int]) -> Iterator[BoxRun]:
        halo, moved = offsets
        count, pixels = groups(map_)
        step, to = map_.element_strides[1], 0
        place, last = list(at[1:]), list(at[1:])
        low, high = map_.lower[0], map_.dims[1] - 1 + map_.upper[0]
        if place[0] > high:
            raise NoMap(f"coordinate 1 of the copy is {place[0]}, the bounding box ends at {high}")
        for _ in range(count):
            for i in range(pixels + halo):
                pixel = [place[0] + moved, *place[1:]]
                if i >= pixels:  # beside the last one, wherever the box ends
                    pixel[0], pixel[-1] = last[0] + (i - pixels + 1) * step, last[-1]
                else:
                    last = list(pixel)
                    place[0] += step
                    if place[0] > high:
                        place[0] = low
                        place[-1] += map_.element_strides[-1]
                yield from _pixel(map_, to, at[0], pixel)
                to += map_.inner

    return runs


_MODES: dict[str, Callable[[EncodedTensorMap, Sequence[int], Sequence[int]], Iterator[BoxRun]]] = {
    "tile": _tile,
    "tile::gather4": _rows4,
    "tile::scatter4": _rows4,
    "im2col": _im2col,
    "im2col::w": _wide(lambda map_: (1, map_.box[1])),
    "im2col::w::128": _wide(lambda map_: (4, 32)),
}


# Shared memory.


def _padded(map_: EncodedTensorMap, runs: Sequence[BoxRun]) -> Iterator[BoxRun]:
    """Each 16 elements are aligned to 16 bytes; what lies between stays as it is."""
    packed, whole = _PADDING[map_.type]
    for at, source, size in runs:
        for i in range(0, size, packed):
            yield BoxRun((at + i) // packed * whole, None if source is None else source + i, packed)


def _atoms(map_: EncodedTensorMap) -> tuple[int, Callable[[int], int]]:
    """How many bytes stay together when they are swizzled, and where those at an address go (section 5.5.7)."""

    def moved(first: int, bits: int) -> Callable[[int], int]:
        """Bits of the address within a line are turned by those of the number of the line."""
        return lambda a: a ^ (a >> _LINE & ((1 << bits) - 1)) << first

    if map_.swizzle in ("32B", "96B"):
        return 16, moved(4, 1)
    if map_.swizzle == "64B":
        return 16, moved(4, 2)
    if map_.atomicity == "32B":
        return 32, moved(5, 2)
    if map_.atomicity == "64B":
        return 64, moved(6, 1)
    if map_.atomicity == "32B_flip_8B":
        outer, flipped = moved(5, 2), moved(3, 1)
        return 8, lambda a: outer(flipped(a))
    return 16, moved(4, 3)


def _swizzled(map_: EncodedTensorMap, shared: int, runs: Sequence[BoxRun], element: int) -> Iterator[BoxPiece]:
    if map_.swizzle == "none":
        for at, source, size in runs:
            yield BoxPiece(shared + at, source, size, at % element)
        return
    atom, goes = _atoms(map_)
    for at, source, size in runs:
        done = 0
        while done < size:
            here = shared + at + done
            some = min(size - done, atom - here % atom)
            start = goes(here // atom * atom) + here % atom
            yield BoxPiece(start, None if source is None else source + done, some, (at + done) % element)
            done += some


def _merged(pieces: Iterator[BoxPiece]) -> Iterator[BoxPiece]:
    """Pieces that follow one another at both ends are one."""
    last: BoxPiece | None = None
    for piece in pieces:
        if last is not None and _follows(last, piece):
            last = last._replace(size=last.size + piece.size)
            continue
        if last is not None:
            yield last
        last = piece
    if last is not None:
        yield last


def _follows(last: BoxPiece, piece: BoxPiece) -> bool:
    if piece.shared != last.shared + last.size:
        return False
    if last.source is None or piece.source is None:
        return last.source is None and piece.source is None
    return piece.source == last.source + last.size

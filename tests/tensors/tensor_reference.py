"""Copies of tensors in plain NumPy, from the manual's text and tables (PTX ISA 9.0, section 5.5): element by element.

A tensor is its bytes and what describes it, a dictionary with the keys of kernel tests. Nothing here is shared with ptxmm.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil
from typing import Any

import numpy as np

SIZES = {"u8": 1, "u16": 2, "u32": 4, "s32": 4, "u64": 8, "s64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}
NAN = {2: 0x7FFF, 4: 0x7FFFFFFF, 8: 0x7FFFFFFFFFFFFFFF}

#: The tables of section 5.5.7: for each line of 128 bytes, which unit of the data stands at each place; first a unit's bytes.
TABLES: dict[str, tuple[int, list[list[int]]]] = {
    "32B": (16, [[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 2, 5, 4, 7, 6]]),
    "96B": (16, [[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 2, 5, 4, 7, 6]]),
    "64B": (16, [[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 2, 5, 4, 7, 6], [2, 3, 0, 1, 6, 7, 4, 5], [3, 2, 1, 0, 7, 6, 5, 4]]),
    "128B": (
        16,
        [
            [0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 2, 5, 4, 7, 6], [2, 3, 0, 1, 6, 7, 4, 5], [3, 2, 1, 0, 7, 6, 5, 4],
            [4, 5, 6, 7, 0, 1, 2, 3], [5, 4, 7, 6, 1, 0, 3, 2], [6, 7, 4, 5, 2, 3, 0, 1], [7, 6, 5, 4, 3, 2, 1, 0],
        ],
    ),
    "128B_atom_32B": (
        16, [[0, 1, 2, 3, 4, 5, 6, 7], [2, 3, 0, 1, 6, 7, 4, 5], [4, 5, 6, 7, 0, 1, 2, 3], [6, 7, 4, 5, 2, 3, 0, 1]]
    ),
    "128B_atom_32B_flip_8B": (
        8,
        [
            list(range(16)), [5, 4, 7, 6, 1, 0, 3, 2, 13, 12, 15, 14, 9, 8, 11, 10],
            [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7], [13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2],
        ],
    ),
    "128B_atom_64B": (16, [[0, 1, 2, 3, 4, 5, 6, 7], [4, 5, 6, 7, 0, 1, 2, 3]]),
}  # fmt: skip


def places(map_: dict[str, Any], mode: str, at: list[int], offsets: list[int]) -> Iterator[tuple[int, ...]]:
    """The coordinates of the elements of a box, in the order in which they lie in shared memory."""
    if mode in ("tile::gather4", "tile::scatter4"):
        for row in at[1:]:
            for x in range(map_["box"][0]):
                yield at[0] + x, row
        return
    if not mode.startswith("im2col"):
        steps = map_.get("element_strides") or [1] * len(map_["box"])
        counts = [ceil(b / s) if i else b for i, (b, s) in enumerate(zip(map_["box"], steps, strict=True))]
        for place in product(*(range(c) for c in reversed(counts))):
            own = place[::-1]
            yield tuple(a + p * (s if i else 1) for i, (a, p, s) in enumerate(zip(at, own, steps, strict=True)))
        return
    for pixel in pixels(map_, mode, at, offsets):
        for c in range(map_["channels_per_pixel"]):
            yield at[0] + c, *pixel


def pixels(map_: dict[str, Any], mode: str, at: list[int], offsets: list[int]) -> Iterator[tuple[int, ...]]:
    steps = map_.get("element_strides") or [1] * len(map_["dims"])
    count = map_["pixels_per_column"]
    if mode in ("im2col::w", "im2col::w::128"):
        halo, moved = offsets
        groups, each = (4, 32) if mode == "im2col::w::128" else (1, count)
        row = along(map_["dims"][1], map_["lower"][0], map_["upper"][0], at[1], at[-1], steps[1], steps[-1])
        for _ in range(groups):
            for _ in range(each):
                w, n = next(row)
                yield w + moved, *at[2:-1], n
            for i in range(halo):
                yield w + moved + (i + 1) * steps[1], *at[2:-1], n
        return
    inner = [
        range(low, size + high, step)
        for size, low, high, step in zip(map_["dims"][1:-1], map_["lower"], map_["upper"], steps[1:-1], strict=True)
    ]
    first = [
        range(start, size + high, step)
        for start, size, high, step in zip(at[1:-1], map_["dims"][1:-1], map_["upper"], steps[1:-1], strict=True)
    ]
    image, found = at[-1], 0
    while True:
        for place in nested(first if image == at[-1] else inner, inner):
            if found == count:
                return
            found += 1
            yield *(p + o for p, o in zip(place, [*offsets, *[0] * 3], strict=False)), image
        image += steps[-1]


def nested(first: list[range], later: list[range]) -> Iterator[tuple[int, ...]]:
    """Loops within each other, the last range outermost; each begins where `first` says, and later where `later` does."""
    if not first:
        yield ()
        return
    for i, number in enumerate(first[-1]):
        for rest in nested(first[:-1] if not i else later[:-1], later[:-1]):
            yield *rest, number


def along(size: int, low: int, high: int, start: int, image: int, step: int, images: int) -> Iterator[tuple[int, int]]:
    while True:
        for w in range(start, size + high, step):
            yield w, image
        start, image = low, image + images


def where(map_: dict[str, Any], place: tuple[int, ...]) -> int | None:
    """The byte of the tensor at which an element begins; None out of bounds."""
    if any(not 0 <= p < d for p, d in zip(place, map_["dims"], strict=True)):
        return None
    return place[0] * SIZES[map_["type"]] + sum(p * s for p, s in zip(place[1:], map_["strides"], strict=True))


def shared_places(map_: dict[str, Any], count: int, start: int) -> np.ndarray:
    """For each byte of a box the byte of shared memory where it is, when the box begins at `start`, a multiple of 128."""
    linear = np.arange(start, start + count)
    if map_.get("swizzle", "none") == "none":
        return linear
    unit, lines = TABLES[map_["swizzle"]]
    inverse = np.array([[line.index(u) for u in range(len(line))] for line in lines])
    line = linear // 128 % len(lines)
    return linear // 128 * 128 + inverse[line, linear % 128 // unit] * unit + linear % unit


def load(
    map_: dict[str, Any],
    tensor: np.ndarray,
    mode: str,
    at: list[int],
    offsets: list[int],
    shared: np.ndarray,
    start: int,
) -> int:
    """Copies a box to shared memory; gives its bytes."""
    size = SIZES[map_["type"]]
    nan = NAN[size] if map_.get("fill") == "nan" else 0
    data: list[int] = []
    for place in places(map_, mode, at, offsets):
        begin = where(map_, place)
        data += list(nan.to_bytes(size, "little")) if begin is None else tensor[begin : begin + size].tolist()
    shared[shared_places(map_, len(data), start)] = data
    return len(data)


def store(
    map_: dict[str, Any],
    tensor: np.ndarray,
    mode: str,
    at: list[int],
    shared: np.ndarray,
    start: int,
    operation: Any = None,
) -> None:
    """Copies a box from shared memory, or combines it with what stands in the tensor."""
    size = SIZES[map_["type"]]
    listed = list(places(map_, mode, at, []))
    data = shared[shared_places(map_, len(listed) * size, start)]
    for i, place in enumerate(listed):
        begin = where(map_, place)
        if begin is not None:
            new = data[i * size : (i + 1) * size]
            tensor[begin : begin + size] = new if operation is None else operation(tensor[begin : begin + size], new)

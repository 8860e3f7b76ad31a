"""Random tensor maps, with copies that they allow."""

from __future__ import annotations

import random
from math import ceil
from typing import Any, NamedTuple

from tensor_reference import SIZES

SPANS = {"none": 1 << 30, "32B": 32, "64B": 64, "96B": 96}
SWIZZLES = ("none", "32B", "64B", "96B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B")
#: Bytes of shared memory for a box.
ROOM = 8192


class Case(NamedTuple):
    """A map, and a copy: its mode, coordinates, and offsets."""

    map: dict[str, Any]
    mode: str
    at: list[int]
    offsets: list[int]
    tensor: int  # bytes
    start: int  # of the box in shared memory
    #: The bytes of the box.
    size: int


def case(seed: int, mode: str, *, stores: bool = False) -> Case:
    """A random copy in a mode."""
    r = random.Random(f"{seed} {mode} {stores}")
    while True:
        found = _case(r, mode, stores)
        if found.size + 128 * 8 <= ROOM:
            return found


def _case(r: random.Random, mode: str, stores: bool) -> Case:
    kind = r.choice(list(SIZES))
    size = SIZES[kind]
    rows, columns = mode in ("tile::gather4", "tile::scatter4"), mode.startswith("im2col")
    rank = 2 if rows else r.randint(3, 5) if columns else r.randint(1, 5)
    swizzle = r.choice(SWIZZLES)
    span = SPANS.get(swizzle, 128)
    inner = r.choice([n for n in (16, 32, 48, 64, 80, 96, 128, 256) if n <= span and n // size <= 256])
    dims = [r.randint(1, 40), *(r.randint(1, 9) for _ in range(rank - 1))]
    strides, stride = [], ceil(dims[0] * size / 16) * 16
    for d in dims[1:]:
        strides.append(stride + 16 * r.randint(0, 2))
        stride = strides[-1] * d
    tensor = max(stride, dims[0] * size)
    map_: dict[str, Any] = {"type": kind, "dims": dims, "strides": strides, "swizzle": swizzle}
    if kind in ("f16", "bf16", "f32", "f64"):
        map_["fill"] = r.choice(("zero", "nan"))
    steps = [1, *(r.choice((1, 1, 1, 2, 3)) for _ in range(rank - 1))]
    map_["element_strides"] = steps
    start = 128 * r.randint(0, 7)
    low = 0 if stores else -3
    if columns:
        return _columns(r, mode, map_, inner // size, tensor, start, stores)
    map_["box"] = [inner // size, *((1 if rows else r.randint(1, 4)) for _ in range(rank - 1))]
    at = [r.randint(low, dims[0] + 1), *(r.randint(low, d + 1) for d in dims[1:])]
    if rows:
        at = [at[0], *(r.randint(low, dims[1] + 1) for _ in range(4))]
        count = 4
        if stores:  # rows that differ, lest two writes meet
            at[1:] = r.sample(range(dims[1] + 5), 4)
    else:
        count = 1
        for b, s in zip(map_["box"][1:], steps[1:], strict=True):
            count *= ceil(b / s)
    return Case(map_, "" if mode == "tile" and r.random() < 0.5 else mode, at, [], tensor, start, count * inner)


def _columns(
    r: random.Random, mode: str, map_: dict[str, Any], channels: int, tensor: int, start: int, stores: bool
) -> Case:
    wide, dims = mode.startswith("im2col::w"), map_["dims"]
    inner = 1 if wide else len(dims) - 2
    map_["mode"] = {"im2col::w": "im2col_w", "im2col::w::128": "im2col_w128"}.get(mode, "im2col")
    map_["channels_per_pixel"], map_["pixels_per_column"] = channels, r.randint(1, 24)
    lower, upper, at = [], [], []
    for d in dims[1 : 1 + inner]:
        low = r.randint(0, min(2, d - 1)) if stores else r.randint(-2, min(2, d - 1))
        high = r.randint(max(-2, low - d + 1), 0 if stores else 2)
        lower.append(low)
        upper.append(high)
        at.append(r.randint(low, d - 1 + high))
    at = [0 if stores else r.randint(-1, dims[0]), *at, *(r.randint(0, d) for d in dims[1 + inner :])]
    map_["lower"], map_["upper"] = lower, upper
    if wide:
        offsets = [r.randint(0, 3), r.randint(0, 3)]
    else:
        offsets = [] if stores else [r.randint(0, 2) for _ in range(inner)]
    groups, each = (4, 32) if mode == "im2col::w::128" else (1, map_["pixels_per_column"])
    count = groups * (each + (offsets[0] if wide else 0))
    return Case(map_, mode, at, offsets, tensor, start, count * channels * SIZES[map_["type"]])

"""Tensor maps (PTX ISA 9.0, sections 5.5 and 5.5.8): what describes a tensor to the copies that access it in boxes.

The manual leaves the 128 bytes of a map opaque. Here they are the fields of `FIELDS`, and they begin with `MAGIC`, by which
other bytes are recognised as no map. The address stands in bytes 16 to 23.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptxcore.records import NamedTuple

#: Bytes and bits of a map.
SIZE, BITS = 128, 1024
#: To what a map is aligned.
ALIGNMENT = 64
#: What the first 8 bytes of a map say.
MAGIC = int.from_bytes(b"ptxmm tm", "little")
#: Where its address stands.
ADDRESS = 16
MOST_DIMENSIONS = 5

#: Modes, as the functions of CUDA's driver that make maps: Tiled, Im2col, Im2colWide.
MODES = ("tiled", "im2col", "im2col_w", "im2col_w128")
#: Types of elements, numbered as in Table 33 of the manual, with their bits.
TYPES = {
    "u8": 8, "u16": 16, "u32": 32, "s32": 32, "u64": 64, "s64": 64, "f16": 16, "f32": 32, "f32.ftz": 32, "f64": 64,
    "bf16": 16, "tf32": 32, "tf32.ftz": 32, "b4x16": 4, "b4x16_p64": 4, "b6x16_p32": 6,
}  # fmt: skip
_NAMES = tuple(TYPES)
#: Types that have NaNs, and the one that fills what lies out of bounds. The manual leaves its bits open.
NANS = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "f32.ftz": 0x7FFFFFFF, "tf32": 0x7FFFFFFF,
        "tf32.ftz": 0x7FFFFFFF, "f64": 0x7FFFFFFFFFFFFFFF}  # fmt: skip
INTERLEAVES = ("none", "16B", "32B")
SWIZZLES = ("none", "32B", "64B", "128B", "96B")
ATOMICITIES = ("16B", "32B", "32B_flip_8B", "64B")
FILLS = ("zero", "nan")
#: Bytes of the inner dimension of a box that a swizzle mode takes at most.
SPANS = {"32B": 32, "64B": 64, "128B": 128, "96B": 96}


def _fields() -> dict[str, tuple[int, int]]:
    """Where each field lies: its first bit, and how many it has."""
    five = MOST_DIMENSIONS
    sizes = [
        ("magic", 64), ("mode", 8), ("elemtype", 8), ("rank", 8), ("interleave_layout", 8), ("swizzle_mode", 8),
        ("swizzle_atomicity", 8), ("fill_mode", 8), ("spare", 8), ("global_address", 64),
        *((f"global_stride{i}", 64) for i in range(five)), *((f"global_dim{i}", 40) for i in range(five)),
        *((f"box_dim{i}", 32) for i in range(five)), *((f"element_stride{i}", 8) for i in range(five)),
        *((f"lower{i}", 16) for i in range(3)), *((f"upper{i}", 16) for i in range(3)),
    ]  # fmt: skip
    found, at = {}, 0
    for name, bits in sizes:
        found[name] = (at, bits)
        at += bits
    return found


FIELDS = _fields()


class NoMap(Exception):
    """These bytes are no tensor map, or not a whole one: what is wrong with them."""


class EncodedTensorMap(NamedTuple):
    """A tensor map. `type` is one of TYPES, the others are of the lists above. `dims`, `box` and `element_strides` have a
    number for each dimension, the innermost first; `strides` the bytes from one to the next of each other
    dimension.

    In the modes of im2col `box` is (channels per pixel, pixels per column), and `lower` and `upper` are the corners of the
    bounding box in the dimensions W, H, D, as many of them as there are."""

    type: str
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    address: int = 0
    mode: str = "tiled"
    interleave: str = "none"
    swizzle: str = "none"
    atomicity: str = "16B"
    fill: str = "zero"
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def bits(self) -> int:
        """Bits of an element in global memory."""
        return TYPES[self.type]

    @property
    def filling(self) -> int:
        """The bits of an element that lies out of bounds."""
        return NANS[self.type] if self.fill == "nan" else 0

    @property
    def inner(self) -> int:
        """Bytes of the innermost dimension of a box."""
        return -(-self.box[0] * self.bits // 8)


def encoded(map_: EncodedTensorMap) -> bytes:
    """The 128 bytes of a map."""
    values = {
        "magic": MAGIC, "mode": MODES.index(map_.mode), "elemtype": _NAMES.index(map_.type), "rank": map_.rank - 1,
        "interleave_layout": INTERLEAVES.index(map_.interleave), "swizzle_mode": SWIZZLES.index(map_.swizzle),
        "swizzle_atomicity": ATOMICITIES.index(map_.atomicity), "fill_mode": FILLS.index(map_.fill),
        "global_address": map_.address,
    }  # fmt: skip
    for name, numbers in (
        ("global_stride", map_.strides), ("global_dim", map_.dims), ("box_dim", map_.box),
        ("element_stride", map_.element_strides), ("lower", map_.lower), ("upper", map_.upper),
    ):  # fmt: skip
        values |= {f"{name}{i}": number for i, number in enumerate(numbers)}
    whole = 0
    for name, value in values.items():
        at, bits = FIELDS[name]
        whole |= (value & ((1 << bits) - 1)) << at
    return whole.to_bytes(SIZE, "little")


def decoded(data: bytes) -> EncodedTensorMap:
    """The map that some bytes are. Raises NoMap."""
    whole = int.from_bytes(data, "little")

    def field(name: str) -> int:
        at, bits = FIELDS[name]
        return whole >> at & ((1 << bits) - 1)

    if field("magic") != MAGIC:
        raise NoMap("these 128 bytes are no tensor map")
    for name, words in (
        ("mode", MODES), ("elemtype", _NAMES), ("rank", range(MOST_DIMENSIONS)), ("interleave_layout", INTERLEAVES),
        ("swizzle_mode", SWIZZLES), ("swizzle_atomicity", ATOMICITIES), ("fill_mode", FILLS),
    ):  # fmt: skip
        if field(name) >= len(words):
            raise NoMap(f"the tensor map has {field(name)} as its {name}")
    rank, mode = field("rank") + 1, MODES[field("mode")]

    def several(name: str, count: int) -> tuple[int, ...]:
        return tuple(field(f"{name}{i}") for i in range(count))

    corners = {"tiled": 0, "im2col": max(0, rank - 2)}.get(mode, 1)
    return EncodedTensorMap(
        _NAMES[field("elemtype")], several("global_dim", rank), several("global_stride", rank - 1),
        several("box_dim", rank if mode == "tiled" else 2), several("element_stride", rank), field("global_address"),
        mode, INTERLEAVES[field("interleave_layout")], SWIZZLES[field("swizzle_mode")],
        ATOMICITIES[field("swizzle_atomicity")], FILLS[field("fill_mode")],
        *(tuple(_signed(n) for n in several(name, corners)) for name in ("lower", "upper")),
    )  # fmt: skip


def _signed(number: int) -> int:
    return number - (1 << 16) if number >> 15 else number


# What is wrong with a map.


class WrongField(NamedTuple):
    """What is wrong with a map: the field, as the parameters of TensorMap are called, and in words."""

    field: str
    message: str


def wrong_fields(map_: EncodedTensorMap) -> Iterator[WrongField]:
    """What CUDA's driver asks of a map, and it has not."""
    yield from _of_tensor(map_)
    yield from _of_box(map_)
    yield from _of_layout(map_)


#: Bytes to which the address and the strides are aligned in these cases, and otherwise.
_WIDE, _NARROW = 32, 16
#: The types of which each 16 elements have padding in shared memory.
PADDED = ("b4x16_p64", "b6x16_p32")
_MOST_STRIDE, _MOST_SIZE = 1 << 40, 1 << 32
_MOST_BOX, _MOST_STEP, _MOST_PIXELS = 256, 8, 1024


def _of_tensor(map_: EncodedTensorMap) -> Iterator[WrongField]:
    least = 3 if map_.mode != "tiled" or map_.interleave != "none" else 1
    if not least <= map_.rank <= MOST_DIMENSIONS:
        yield WrongField("dims", f"a tensor has {least} to {MOST_DIMENSIONS} dimensions here, not {map_.rank}")
    align = _WIDE if map_.interleave == "32B" or map_.type in PADDED else _NARROW
    if map_.address % align:
        yield WrongField("address", f"the address of the tensor is no multiple of {align}")
    for i, size in enumerate(map_.dims):
        if not 1 <= size <= _MOST_SIZE:
            yield WrongField("dims", f"dimension {i} of the tensor has {size} elements: 1 to 2**32")
    for i, stride in enumerate(map_.strides):
        if stride % align or not 0 <= stride < _MOST_STRIDE:
            message = f"stride {i} of the tensor is {stride} bytes: a multiple of {align} less than 2**40"
            yield WrongField("strides", message)
    if len(map_.strides) != map_.rank - 1:
        yield WrongField(
            "strides", f"a tensor of {map_.rank} dimensions has {map_.rank - 1} strides, not {len(map_.strides)}"
        )
    multiple = {"b4x16": 2, "b4x16_p64": 128, "b6x16_p32": 128}.get(map_.type, 1)
    if map_.dims and map_.dims[0] % multiple:
        yield WrongField("dims", f"dimension 0 of a tensor of {map_.type} has a multiple of {multiple} elements")


def _of_box(map_: EncodedTensorMap) -> Iterator[WrongField]:
    names = ("box",) * map_.rank if map_.mode == "tiled" else ("channels_per_pixel", "pixels_per_column")
    if len(map_.box) != len(names):
        yield WrongField("box", f"a box has {len(names)} dimensions here, not {len(map_.box)}")
        return
    for i, (name, size) in enumerate(zip(names, map_.box, strict=True)):
        most = _MOST_PIXELS if name == "pixels_per_column" else _MOST_BOX
        if not 1 <= size <= most:
            what = f"dimension {i} of the box has" if name == "box" else f"{name} is"
            yield WrongField(name, f"{what} {size}: 1 to {most}")
    if len(map_.element_strides) != map_.rank:
        yield WrongField("element_strides", f"{map_.rank} element strides are wanted, not {len(map_.element_strides)}")
    for i, step in enumerate(map_.element_strides):
        if not 1 <= step <= _MOST_STEP and (i or map_.interleave != "none"):
            yield WrongField("element_strides", f"element stride {i} is {step}: 1 to {_MOST_STEP}")
    if map_.interleave == "none" and map_.inner % 16:
        yield WrongField(names[0], f"the innermost dimension of a box has a multiple of 16 bytes, not {map_.inner}")
    if map_.type in PADDED and map_.box[0] != 128:
        yield WrongField(names[0], f"the innermost dimension of a box of {map_.type} has 128 elements")
    if map_.mode != "tiled":
        yield from _of_corners(map_)


def _of_corners(map_: EncodedTensorMap) -> Iterator[WrongField]:
    wide = map_.mode != "im2col"
    count = 1 if wide else map_.rank - 2
    half = 1 << (15 if wide else {3: 15, 4: 7}.get(map_.rank, 4))
    for name, corner in (("lower", map_.lower), ("upper", map_.upper)):
        if len(corner) != count:
            yield WrongField(name, f"a corner of the bounding box has {count} numbers here, not {len(corner)}")
        for number in corner:
            if not -half <= number < half:
                yield WrongField(name, f"{number} is no number of a corner: {-half} to {half - 1}")
    for size, low, high in zip(map_.dims[1:], map_.lower, map_.upper, strict=False):
        if low > size - 1 + high:
            yield WrongField("upper", "the bounding box is empty")


def _of_layout(map_: EncodedTensorMap) -> Iterator[WrongField]:
    span = SPANS.get(map_.swizzle)
    if span is not None and map_.interleave == "none" and map_.box and map_.inner > span:
        name = "box" if map_.mode == "tiled" else "channels_per_pixel"
        yield WrongField(
            name, f"{map_.inner} bytes of the innermost dimension of a box are more than swizzle {map_.swizzle} takes"
        )
    if map_.interleave == "32B" and map_.swizzle != "32B":
        yield WrongField("swizzle", "interleave 32B goes with swizzle 32B")
    if map_.interleave != "none" and map_.mode in ("im2col_w", "im2col_w128"):
        yield WrongField("interleave", f"there is no interleave in mode {map_.mode}")
    if map_.swizzle == "96B" and map_.interleave != "none":
        yield WrongField("interleave", "there is no interleave with swizzle 96B")
    if map_.atomicity != "16B" and map_.swizzle != "128B":
        yield WrongField("swizzle", f"atoms of {map_.atomicity} go with swizzle 128B")
    if map_.fill == "nan" and map_.type not in NANS:
        yield WrongField("fill", f"{map_.type} has no NaN")
    if map_.type in PADDED and map_.swizzle not in ("none", "128B"):
        yield WrongField("swizzle", f"{map_.type} goes with swizzle 128B or none")


def dense(dims: Sequence[int], bits: int) -> tuple[int, ...]:
    """The strides of a tensor without padding."""
    found: list[int] = []
    stride = dims[0] * bits // 8 if dims else 0
    for size in dims[1:]:
        found.append(stride)
        stride *= size
    return tuple(found)

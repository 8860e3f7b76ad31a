"""Textures, surfaces and samplers as users describe them, with the words of CUDA's descriptors.

ptxmm.run("k.ptx", "k", 1, 32, [ptxmm.Texture(pixels, filter="linear", normalized=True), out])
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from ptxcore.diagnostics import nearest
from ptxcore.isa.image import ADDRESSING, FILTERS, FORMATS, Format, Image, Sampler, geometry_of, level_offsets
from ptxcore.records import NamedTuple

#: What CUDA calls the modes of addressing.
_MODES = {**{mode: mode for mode in ADDRESSING}, "clamp": "clamp_to_edge", "border": "clamp_to_border"}
_READS = ("element", "normalized")
#: What a texture may say of how it is sampled, what a sampler alone may, and what images may say of their shape.
SAMPLING = ("filter", "address", "level_filter", "bias", "range", "border")
SHAPE = ("format", "dims", "layers", "cube", "samples", "levels", "linear", "pitch")
KEYS = {
    "texref": (*SHAPE, *SAMPLING, "normalized", "read"),
    "surfref": tuple(key for key in SHAPE if key not in ("samples", "levels")),
    "samplerref": ("filter", "address", "force_unnormalized"),
}
_LARGEST = 1 << 17
_MOST_LEVELS = 18


class ImageError(Exception):
    """What is wrong with the description of an image: at a key ("" for the whole), and what would be right."""

    def __init__(self, key: str, message: str, hint: str | None = None) -> None:
        self.key, self.message, self.hint = key, message, hint
        super().__init__(f"{message} ({hint})" if hint else message)


def image_of(kind: str, name: str, table: Mapping[str, Any]) -> Image:
    """The image that a table describes, its levels of detail behind each other from address 0 on. Raises ImageError."""
    for key in table:
        if key not in KEYS[kind]:
            hint = nearest(str(key), KEYS[kind]) or f"it has {', '.join(KEYS[kind])}"
            raise ImageError(str(key), f"{_KINDS[kind]} '{name}' has no '{key}'", hint)
    sampler = _sampler(table)
    if kind == "samplerref":
        return Image(kind, name, sampler=sampler._replace(forced=_flag(table, "force_unnormalized")))
    form = _format(table.get("format"))
    dims = _numbers(table, "dims", 3)
    layers, samples, cube = _count(table, "layers"), _count(table, "samples"), _flag(table, "cube")
    try:
        geometry = geometry_of(len(dims), layered=layers > 0, cube=cube, samples=samples)
    except ValueError as error:
        raise ImageError("dims", str(error)) from None
    if cube and dims[0] != dims[1]:
        raise ImageError("dims", f"the faces of a cube are square, not {dims[0]} x {dims[1]}")
    width, height, depth = (*dims, 0, 0)[:3]
    reads = table.get("read", "element")
    if reads not in _READS:
        raise ImageError("read", f"'{reads}' is no way to read", f"the ways are {', '.join(_READS)}")
    fractions = reads == "normalized"
    if fractions and (form.kind == "f" or form.bits == 32):
        raise ImageError("read", f"only integers of 8 and 16 bits are read as fractions, not {form}")
    linear, pitch = _flag(table, "linear"), _count(table, "pitch")
    if linear and (geometry not in ("1d", "2d") or "levels" in table):
        raise ImageError(
            "linear", "only images of one or two dimensions lie in linear memory, without levels of detail"
        )
    found = Image(
        kind, name, geometry, form, width, height, depth, layers, samples, "levels" in table, sampler,
        _flag(table, "normalized"), fractions, linear, pitch,
    )  # fmt: skip
    if pitch and (not linear or pitch < found._replace(pitch=0).row()):
        raise ImageError("pitch", "only rows in linear memory have a pitch, which is no less than their bytes")
    if "linear" in (sampler.filter, sampler.level_filter) and not found.returns_floats:
        hint = 'read = "normalized" makes fractions of integers of 8 and 16 bits'
        key = "filter" if sampler.filter == "linear" else "level_filter"
        raise ImageError(key, f"only what is read as floating-point is filtered, not {form}", hint)
    levels = _count(table, "levels") or 1
    most = max(width, height, depth).bit_length()
    if levels > min(most, _MOST_LEVELS):
        raise ImageError("levels", f"there are at most {most} levels of detail, not {levels}")
    return found._replace(bases=tuple(level_offsets(found, levels)[:-1]))


def size_of(image: Image) -> int:
    """Bytes of all levels of an image that `image_of` made."""
    return image.bases[-1] + image.bytes(image.levels - 1)


_KINDS = {"texref": "the texture", "surfref": "the surface", "samplerref": "the sampler"}


def _sampler(table: Mapping[str, Any]) -> Sampler:
    filters = []
    for key in ("filter", "level_filter"):
        word = table.get(key, "nearest")
        word = "nearest" if word == "point" else word
        if word not in FILTERS:
            raise ImageError(key, f"'{word}' is no filter", f"the filters are {', '.join(FILTERS)}")
        filters.append(word)
    given = table.get("address", "clamp")
    modes = list(given) if isinstance(given, (list, tuple)) else [given] * 3
    for mode in modes:
        if mode not in _MODES:
            hint = nearest(str(mode), _MODES) or "they are wrap, mirror, clamp, border"
            raise ImageError("address", f"'{mode}' is no mode of addressing", hint)
    if not 1 <= len(modes) <= 3:
        raise ImageError("address", f"one mode, or one for each dimension, not {len(modes)}")
    x, y, z = (_MODES[m] for m in (*modes, "clamp", "clamp")[:3])
    low, high = _reals(table, "range", (0.0, float("inf")))
    (bias,) = _reals(table, "bias", (0.0,))
    border = _reals(table, "border", (0.0,) * 4)
    whole = all(isinstance(v, int) and not isinstance(v, bool) for v in border)
    bits = [int(v) & 0xFFFFFFFF if whole and _is_integer(table) else _bits(v) for v in border]
    return Sampler(filters[0], (x, y, z), filters[1], bias, low, high, (bits[0], bits[1], bits[2], bits[3]))


def _is_integer(table: Mapping[str, Any]) -> bool:
    return str(table.get("format", "u"))[:1] in "us" and table.get("read", "element") == "element"


def _bits(value: float) -> int:
    try:
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    except OverflowError:
        raise ImageError("border", f"{value} does not fit into f32") from None


def _reals(table: Mapping[str, Any], key: str, default: tuple[float, ...]) -> tuple[float, ...]:
    given = table.get(key)
    if given is None:
        return default
    parts = list(given) if isinstance(given, (list, tuple)) else [given]
    good = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in parts)
    if not good or len(parts) != len(default):
        wanted = "a number" if len(default) == 1 else f"{len(default)} numbers"
        raise ImageError(key, f"{wanted} must stand here")
    return tuple(parts)


def _format(given: object) -> Format:
    if given is None:
        raise ImageError("", "the texels have no format", 'as in format = "f32x4"')
    found = FORMATS.get(str(given).removesuffix("x1"))
    if found is None:
        hint = nearest(str(given), FORMATS) or "a format is u8 to f32, with x2 or x4 behind it for so many channels"
        raise ImageError("format", f"'{given}' is no format of a texel", hint)
    return found


def _numbers(table: Mapping[str, Any], key: str, most: int) -> list[int]:
    given = table.get(key)
    if given is None:
        raise ImageError("", f"it has no '{key}'", f"as in {key} = [16, 8]: width, height, depth")
    parts = list(given) if isinstance(given, (list, tuple)) else [given]
    limit = _LARGEST if len(parts) > 1 else 1 << 28
    if not 1 <= len(parts) <= most or not all(type(v) is int and 1 <= v <= limit for v in parts):
        raise ImageError(key, "one to three numbers from 1 on: width, height, depth")
    return parts


def _count(table: Mapping[str, Any], key: str) -> int:
    given = table.get(key, 0)
    if type(given) is not int or not (0 <= given < 1 << 31) or (key in table and not given):
        raise ImageError(key, "a number from 1 on must stand here")
    return given


def _flag(table: Mapping[str, Any], key: str) -> bool:
    given = table.get(key, False)
    if not isinstance(given, bool):
        raise ImageError(key, "true or false must stand here")
    return given


class Bound(NamedTuple):
    """An image over NumPy arrays, one for each level of detail."""

    image: Image
    arrays: tuple[Any, ...]


class Texture:
    """A texture over a NumPy `array`, or over a list of them for its levels of detail. Axes are as in C: the layers of an array
    (`layered`; 6 faces each with `cube`), then depth, height, width, `samples`, and the `channels` of a texel where there are
    several.

    `options` are what CUDA's descriptors have: `filter` and `level_filter` are `nearest` or `linear`; `address` is `wrap`,
    `mirror`, `clamp` or `border`, also one for each dimension; with `normalized`, coordinates are fractions of the size;
    `read="normalized"` makes fractions of integers; `bias` and `range` are of levels of detail; `border` is the colour beyond
    it. `linear`: it lies in linear memory.

    Raises ValueError for what is no texture.
    """

    _kind = "texref"

    def __init__(
        self,
        array: Any,
        *,
        channels: int = 1,
        layered: bool = False,
        cube: bool = False,
        samples: int = 0,
        **options: Any,
    ) -> None:
        levels = list(array) if isinstance(array, (list, tuple)) else [array]
        table = {**options, **_shape(levels[0], channels, layered, cube, samples)}
        if isinstance(array, (list, tuple)):
            table["levels"] = len(levels)
        self._describe(table)
        self.arrays = tuple(levels)
        image = self.image
        for number, level in enumerate(levels):
            if level.nbytes != image.bytes(number) or not level.flags.c_contiguous:
                raise ValueError(f"level {number} has {image.bytes(number)} bytes in one piece, not {level.nbytes}")

    def _describe(self, table: dict[str, Any]) -> None:
        try:
            self.image = image_of(self._kind, "the array", table)
        except ImageError as error:
            raise ValueError(str(error)) from None

    def bound(self, name: str) -> Bound:
        """The image, by the `name` of its parameter."""
        return Bound(self.image._replace(name=name), self.arrays)


class Surface(Texture):
    """A surface over a NumPy `array`; `channels`, `layered`, `cube` are those of `Texture`, `options` are `linear` and `pitch`.
    Raises ValueError for what is no surface."""

    _kind = "surfref"

    def __init__(
        self, array: Any, *, channels: int = 1, layered: bool = False, cube: bool = False, **options: Any
    ) -> None:
        super().__init__(array, channels=channels, layered=layered, cube=cube, **options)


class TextureSampler(Texture):
    """A sampler of its own, of modules in independent mode; `options` are `filter`, `address` and `force_unnormalized`. Raises
    ValueError."""

    _kind = "samplerref"

    def __init__(self, **options: Any) -> None:
        self._describe(options)
        self.arrays = ()


def _shape(array: Any, channels: int, layered: bool, cube: bool, samples: int) -> dict[str, Any]:
    """What the array says of the format and the sizes. Raises ValueError."""
    dtype = getattr(array, "dtype", None)
    if dtype is None or dtype.kind not in "uif":
        raise ValueError("a texture is over a NumPy array of numbers")
    sizes = list(array.shape)
    for what, wanted in (("channels", channels if channels > 1 else 0), ("samples", samples)):
        if wanted and (not sizes or sizes.pop() != wanted):
            raise ValueError(f"the last axis of {array.shape} has no {wanted} {what}")
    table: dict[str, Any] = {
        "format": str(Format({"i": "s"}.get(dtype.kind, dtype.kind), 8 * dtype.itemsize, channels))
    }
    if cube:
        faces = sizes.pop(0) if sizes else 0
        if faces % 6 or (faces != 6 and not layered) or not faces:
            raise ValueError(f"a cube has 6 faces, not {faces}")
        table |= {"cube": True} | ({"layers": faces // 6} if layered else {})
    elif layered:
        table["layers"] = sizes.pop(0) if sizes else 0
    if samples:
        table["samples"] = samples
    table["dims"] = sizes[::-1]
    return table

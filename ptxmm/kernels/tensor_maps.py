"""Tensor maps as a kernel test writes them: `{tensor_map = {buffer = "a", dims = [64, 32], box = [16, 8]}}`.

The keys are the parameters of `cuTensorMapEncodeTiled`, `cuTensorMapEncodeIm2col` and `cuTensorMapEncodeIm2colWide`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ptxcore.records import NamedTuple
from ptxcore.values import tensor_map
from ptxcore.values.tensor_map import ADDRESS, SIZE, EncodedTensorMap, dense, encoded, wrong_fields
from ptxmm.kernels.document import kind_of
from ptxmm.kernels.launch import POINTER, Field, Pointer, Structure
from ptxmm.kernels.words import suggested

_SWIZZLES = {
    "none": ("none", "16B"), "32B": ("32B", "16B"), "64B": ("64B", "16B"), "96B": ("96B", "16B"),
    "128B": ("128B", "16B"), "128B_atom_32B": ("128B", "32B"), "128B_atom_32B_flip_8B": ("128B", "32B_flip_8B"),
    "128B_atom_64B": ("128B", "64B"),
}  # fmt: skip
#: Words that a key takes.
_WORDS = {
    "type": tuple(tensor_map.TYPES), "mode": tensor_map.MODES, "interleave": tensor_map.INTERLEAVES,
    "swizzle": tuple(_SWIZZLES), "fill": tensor_map.FILLS, "l2_promotion": ("none", "64B", "128B", "256B"),
}  # fmt: skip
_LISTS = ("dims", "strides", "box", "element_strides", "lower", "upper")
_NUMBERS = ("channels_per_pixel", "pixels_per_column")
KEYS = ("buffer", *_WORDS, *_LISTS, *_NUMBERS)
_IM2COL = (*_NUMBERS, "lower", "upper")


class TensorMapError(Exception):
    """What is wrong with a map: `where` are a key and a place in its array; none: the map itself."""

    def __init__(
        self, where: tuple[str | int, ...], message: str, hint: str | None = None, *, key: bool = False
    ) -> None:
        self.where, self.message, self.hint, self.key = where, message, hint, key or not where
        super().__init__(message)


class Tensor(NamedTuple):
    """What a map describes, as far as its buffer says so: its pointer, the type of elements and, of an array, its dimensions,
    the innermost first."""

    pointer: Pointer
    type: str
    dims: tuple[int, ...] = ()


def structure(name: str, table: Mapping[str, Any], tensor: Tensor) -> Structure:
    """The parameter that a table describes. Raises TensorMapError."""
    return of_map(name, described(table, tensor), tensor.pointer)


def of_map(name: str, map_: EncodedTensorMap, pointer: Pointer) -> Structure:
    """A map as a parameter: its bytes, and the pointer among them."""
    data = encoded(map_)
    ends = ADDRESS, ADDRESS + POINTER
    low, high = data[: ends[0]], data[ends[1] :]
    fields = (
        Field(0, len(low), int.from_bytes(low, "little")),
        Field(ADDRESS, POINTER, pointer),
        Field(ends[1], len(high), int.from_bytes(high, "little")),
    )
    return Structure(name, SIZE, fields)


def described(table: Mapping[str, Any], tensor: Tensor) -> EncodedTensorMap:
    """The map that a table describes, at address 0. Raises TensorMapError."""
    for key in table:
        if key not in KEYS:
            raise TensorMapError(
                (key,), f"a tensor map has no '{key}'", suggested(key, KEYS) or f"it has {', '.join(KEYS)}", key=True
            )
    words = {key: _word(key, table.get(key)) for key in _WORDS}
    mode = words["mode"] or "tiled"
    kind = words["type"] or tensor.type
    if kind not in tensor_map.TYPES:
        raise TensorMapError(
            (), f"elements of {kind} are none of a tensor map", f"a type is {', '.join(tensor_map.TYPES)}"
        )
    for key in _IM2COL if mode == "tiled" else ("box",):
        if key in table:
            raise TensorMapError((key,), f"a map of mode {mode} has no '{key}'", key=True)
    dims = _list(table, "dims") or tensor.dims
    if not dims:
        raise TensorMapError((), "how large is the tensor?", "as in dims = [64, 32], the innermost dimension first")
    strides = _list(table, "strides") if "strides" in table else dense(dims, tensor_map.TYPES[kind])
    if mode == "tiled":
        if "box" not in table:
            raise TensorMapError((), "how large is the box?", "as in box = [16, 8], the innermost dimension first")
        box = _list(table, "box")
    else:
        box = tuple(_number(table, key) for key in _NUMBERS)
    swizzle, atomicity = _SWIZZLES[words["swizzle"] or "none"]
    map_ = EncodedTensorMap(
        kind, dims, strides, box, _list(table, "element_strides") or (1,) * len(dims), 0, mode,
        words["interleave"] or "none", swizzle, atomicity, words["fill"] or "zero", _list(table, "lower"),
        _list(table, "upper"),
    )  # fmt: skip
    for wrong in wrong_fields(map_._replace(address=tensor.pointer.offset)):
        key = "buffer" if wrong.field == "address" else wrong.field
        raise TensorMapError((key,) if key in table else (), wrong.message)
    return map_


def _word(key: str, value: object) -> str | None:
    if value is None:
        return None
    words = _WORDS[key]
    if not isinstance(value, str) or value not in words:
        shown = f"'{value}'" if isinstance(value, str) else kind_of(value)
        hint = suggested(value, words) if isinstance(value, str) else None
        raise TensorMapError((key,), f"{shown} is no {key} of a tensor map", hint or f"it is {', '.join(words)}")
    return value


def _list(table: Mapping[str, Any], key: str) -> tuple[int, ...]:
    value = table.get(key, [])
    if not isinstance(value, (list, tuple)):
        raise TensorMapError(
            (key,), f"an array of numbers is wanted here, not {kind_of(value)}", "the innermost dimension first"
        )
    for i, number in enumerate(value):
        if type(number) is not int:
            raise TensorMapError((key, i), f"a whole number is wanted here, not {kind_of(number)}")
    return tuple(value)


def _number(table: Mapping[str, Any], key: str) -> int:
    value = table.get(key)
    if type(value) is not int:
        where = (key,) if key in table else ()
        raise TensorMapError(where, f"'{key}' is a whole number", f"as in {key} = 64")
    return value

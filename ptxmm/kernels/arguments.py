"""Arguments as a kernel test writes them: `{type = "u32", elements = 4, init = [1, 2]}`, `{type = "u32", value = 4}`."""

from __future__ import annotations

import math
import os
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ptxcore.diagnostics import nearest
from ptxcore.machine.run.memory import LARGEST
from ptxcore.values.ieee import F64, FORMATS, convert
from ptxcore.values.tensor_map import SIZE as MAP_BYTES
from ptxmm.kernels import tensor_maps
from ptxmm.kernels.contents import BufferContents, FileError, of_array, of_file
from ptxmm.kernels.document import FoundTable, TomlDocument, kind_of
from ptxmm.kernels.expressions import TYPES, Type
from ptxmm.kernels.launch import POINTER, Argument, Buffer, Field, MultimemBuffers, Pointer, Scalar, Structure
from ptxmm.kernels.words import suggested

#: What may stand in an argument, and in a field of a structure.
KEYS = (
    "type",
    "elements",
    "init",
    "align",
    "value",
    "bytes",
    "fields",
    "tensor_map",
    "texture",
    "surface",
    "multimem",
)
#: Those that no buffer has.
_IMAGES = frozenset(("texture", "surface"))
_NO_BUFFER = _IMAGES | {"value", "bytes", "fields", "tensor_map", "multimem"}
FIELD_KEYS = ("at", "type", "value", "tensor_map")
#: Where a tensor map begins: at a multiple of so many bytes (`CUtensorMap` has this alignment).
_OF_MAPS = 64
#: Parameters of a kernel have no more bytes.
_MOST_BYTES = 32764
#: Elements that are all alike are kept once where there are more.
_MANY = 64
_DEFAULT_ALIGN = 16
#: `init` of a buffer that may hold anything.
ANY = "any"


class ArgumentError(Exception):
    """What is wrong with an argument: `where` are the key and the number of the element below the argument's table;
    `key`: the key itself is wrong, or missing."""

    def __init__(
        self, where: tuple[str | int, ...], message: str, hint: str | None = None, *, key: bool = False
    ) -> None:
        self.where, self.message, self.hint, self.key = where, message, hint, key or not where
        super().__init__(message)


def argument(document: TomlDocument, name: str, entry: FoundTable, buffers: Mapping[str, Argument]) -> Argument | None:
    """The argument that an entry of `[params]` describes; None, with a finding, for one that describes none. `buffers`: what
    pointers may lead to, by name."""
    if not isinstance(entry.value, dict):
        hint = f'as in {name} = {{type = "u32", value = 4}}, or {{type = "u32", elements = 1}}'
        document.note(entry.way, f"'{name}' must be a table, not {kind_of(entry.value)}", hint)
        return None
    try:
        return described(name, entry.value, buffers, os.path.dirname(document.path))
    except ArgumentError as error:
        document.note((*entry.way, *error.where), error.message, error.hint, key=error.key)
        return None


def is_buffer(table: object) -> bool:
    """Whether a table of `[params]` is that of a buffer, right or wrong."""
    return isinstance(table, dict) and not _NO_BUFFER.intersection(table)


def is_image(table: object) -> bool:
    """Whether a table is that of a texture or a surface, right or wrong."""
    return isinstance(table, dict) and not _IMAGES.isdisjoint(table)


def described(name: str, table: Mapping[str, Any], buffers: Mapping[str, Argument], folder: str = "") -> Argument:
    """The argument that a table describes; files are seen from `folder`. Raises ArgumentError."""
    for key in table:
        if key not in KEYS:
            hint = suggested(key, KEYS) or f"a parameter has {', '.join(KEYS)}"
            raise ArgumentError((key,), f"'{name}' has no '{key}'", hint, key=True)
    if "tensor_map" in table:
        return _tensor_map(name, table, buffers)
    if "texture" in table or "surface" in table:
        return _imaged(name, table, buffers, folder)
    if "multimem" in table:
        return _multimem(name, table, buffers)
    if "bytes" in table or "fields" in table:
        return _structure(name, table, buffers)
    if "value" in table:
        return _passed(name, table, buffers)
    if table.get("type") is None:
        raise ArgumentError((), f"'{name}' has no type", 'as in type = "u32"')
    return _buffer(name, *_type(table["type"], ("type",)), table, folder)


def _tensor_map(name: str, table: Mapping[str, Any], buffers: Mapping[str, Argument]) -> Structure:
    """A parameter that is a tensor map."""
    described = table["tensor_map"]
    for key in table:
        if key != "tensor_map":
            raise ArgumentError((key,), f"'{name}' is a tensor map: '{key}' has no meaning", key=True)
    if not isinstance(described, dict):
        hint = f'as in {name} = {{tensor_map = {{buffer = "a", dims = [64, 32], box = [16, 8]}}}}'
        raise ArgumentError(("tensor_map",), f"a tensor map is a table, not {kind_of(described)}", hint)
    where: tuple[str | int, ...] = ("tensor_map", "buffer")
    written = described.get("buffer")
    if not isinstance(written, str):
        where = where if "buffer" in described else where[:1]
        raise ArgumentError(where, "which buffer has the tensor?", 'as in buffer = "a", or "&a+256"')
    pointer = _pointer(written if "&" in written else f"&{written}", where, buffers)
    try:
        return tensor_maps.structure(name, described, tensor_maps.Tensor(pointer, pointer.buffer.type))
    except tensor_maps.TensorMapError as error:
        raise ArgumentError(("tensor_map", *error.where), error.message, error.hint, key=error.key) from None


def _imaged(name: str, table: Mapping[str, Any], buffers: Mapping[str, Argument], folder: str) -> Argument:
    """A texture or a surface."""
    from ptxmm.kernels.images import ImagedError, imaged  # few tests have any

    def make(own: str, described: Mapping[str, Any]) -> Buffer:
        return _buffer(own, *_type(described["type"], ("type",)), described, folder)

    try:
        return imaged(name, table, buffers, make)
    except ImagedError as error:
        raise ArgumentError(error.where, error.message, error.hint) from None
    except ArgumentError as error:
        word = next(iter(table))
        where = (word, *error.where) if error.where[:1] == ("init",) else (word,)
        raise ArgumentError(where, error.message, error.hint) from None


def _multimem(name: str, table: Mapping[str, Any], buffers: Mapping[str, Argument]) -> MultimemBuffers:
    """A multimem address."""
    hint = f'as in {name} = {{multimem = ["a0", "a1"]}}, with a buffer for each device'
    for key in table:
        if key != "multimem":
            raise ArgumentError((key,), f"'{name}' is a multimem address: '{key}' has no meaning", hint, key=True)
    listed = table["multimem"]
    if not isinstance(listed, list) or not listed:
        raise ArgumentError(("multimem",), f"a list of buffers is wanted here, not {_written(listed)}", hint)
    found: list[Buffer] = []
    for i, one in enumerate(listed):
        buffer = buffers.get(one) if isinstance(one, str) else None
        if not isinstance(buffer, Buffer):
            shown = f"'{one}'" if isinstance(one, str) else _written(one)
            raise ArgumentError(("multimem", i), f"{shown} is no buffer", hint)
        if buffer in found:
            raise ArgumentError(("multimem", i), f"'{one}' is there twice: the locations are distinct (section 8.2.3)")
        if found and (buffer.type, buffer.elements) != (found[0].type, found[0].elements):
            message = (
                f"'{one}' has {buffer.elements} {buffer.type}, '{found[0].name}' {found[0].elements} {found[0].type}"
            )
            raise ArgumentError(("multimem", i), message)
        found.append(buffer)
    return MultimemBuffers(name, tuple(found))


def _type(written: object, where: tuple[str | int, ...]) -> tuple[str, Type]:
    """A type by its name."""
    kind = TYPES.get(written.lstrip(".")) if isinstance(written, str) else None
    if kind is None or not isinstance(written, str):
        hint = (
            suggested(str(written), TYPES) if isinstance(written, str) else None
        ) or f"the types are {', '.join(TYPES)}"
        shown = f"'{written}'" if isinstance(written, str) else kind_of(written)
        raise ArgumentError(where, f"{shown} is no type", hint)
    return written.lstrip("."), kind


def _passed(name: str, table: Mapping[str, Any], buffers: Mapping[str, Argument]) -> Scalar | Structure:
    """What is passed by value: a number, several of them, or pointers."""
    for key in ("elements", "init", "align"):
        if key in table:
            hint = "a buffer has elements and init, a scalar has a value"
            message = f"'{name}' has a value, so it is a scalar: '{key}' has no meaning"
            raise ArgumentError((key,), message, hint, key=True)
    value = table["value"]
    fields = _fields(name, 0, table, (), buffers)
    if any(isinstance(f.value, Pointer) for f in fields):
        return Structure(name, sum(f.size for f in fields), fields)
    written = table["type"].lstrip(".")
    if not isinstance(value, list):
        (field,) = fields
        assert isinstance(field.value, int)
        return Scalar(name, field.value, written)
    return Scalar(name, Structure(name, sum(f.size for f in fields), fields).filled(_nowhere), written)


def _nowhere(buffer: Buffer) -> int:
    raise ValueError(f"no pointer leads to {buffer.name}")


def _structure(name: str, table: Mapping[str, Any], buffers: Mapping[str, Argument]) -> Structure:
    for key in ("elements", "init", "align", "value", "type"):
        if key in table:
            message = f"'{name}' is a structure: '{key}' has no meaning"
            raise ArgumentError((key,), message, "a structure has bytes and fields", key=True)
    size = table.get("bytes")
    if size is None:
        raise ArgumentError((), f"how many bytes does '{name}' have?", "as in bytes = 64")
    if type(size) is not int or not 1 <= size <= _MOST_BYTES:
        raise ArgumentError(("bytes",), f"'bytes' is a number from 1 to {_MOST_BYTES}, not {_written(size)}")
    listed = table.get("fields", [])
    if not isinstance(listed, list):
        hint = 'as in fields = [{at = 0, value = "&x"}, {at = 8, type = "u32", value = 4}]'
        raise ArgumentError(("fields",), f"an array of tables is wanted here, not {kind_of(listed)}", hint)
    owners: dict[int, int] = {}  # of each byte: where the table that fills it says that it begins
    fields: list[Field] = []
    for number, one in enumerate(listed):
        way = ("fields", number)
        at = _at(one, way, name)
        filled: dict[int, int] = {}
        for field in _fields(name, at, one, way, buffers):
            first, last = field.at, field.at + field.size - 1
            if "tensor_map" in one:
                first, last = at, at + MAP_BYTES - 1
            if last >= size:
                message = f"this fills bytes {first} to {last}, and '{name}' has bytes 0 to {size - 1}"
                raise ArgumentError((*way, "at"), message)
            taken = next((owners[b] for b in range(first, last + 1) if b in owners), None)
            if taken is not None:
                message = f"this fills bytes {first} to {last}, of which the field at {taken} has some already"
                raise ArgumentError((*way, "at"), message)
            fields.append(field)
            filled.update(dict.fromkeys(range(first, last + 1), at))
        owners.update(filled)
    return Structure(name, size, tuple(fields))


def _at(table: object, way: tuple[str | int, ...], name: str) -> int:
    """Where a field begins."""
    if not isinstance(table, dict):
        raise ArgumentError(way, f"a field is a table, not {kind_of(table)}", 'as in {at = 0, value = "&x"}')
    for key in table:
        if key not in FIELD_KEYS:
            hint = suggested(key, FIELD_KEYS) or f"a field has {', '.join(FIELD_KEYS)}"
            raise ArgumentError((*way, key), f"a field of '{name}' has no '{key}'", hint, key=True)
    if "tensor_map" in table:
        for key in ("type", "value"):
            if key in table:
                message = f"this field of '{name}' is a tensor map: '{key}' has no meaning"
                raise ArgumentError((*way, key), message, key=True)
    for key, example in (("at", "at = 8"), ("value", 'value = "&x"')):
        if key not in table and not (key == "value" and "tensor_map" in table):
            raise ArgumentError(way, f"this field of '{name}' has no '{key}'", f"as in {example}")
    at = table["at"]
    if type(at) is not int or at < 0:
        raise ArgumentError((*way, "at"), f"a field begins at a byte from 0 on, not {_written(at)}")
    if "tensor_map" in table and at % _OF_MAPS:
        raise ArgumentError((*way, "at"), f"a tensor map begins at a multiple of {_OF_MAPS} bytes, not at {at}")
    return at


def _written(value: object) -> str:
    return repr(value) if isinstance(value, int) and not isinstance(value, bool) else kind_of(value)


def _fields(
    name: str, at: int, table: Mapping[str, Any], way: tuple[str | int, ...], buffers: Mapping[str, Argument]
) -> tuple[Field, ...]:
    """The fields that a value or a tensor map fills, one after another from a byte on."""
    if "tensor_map" in table:
        return _map_fields(name, at, table, way, buffers)
    value, written = table["value"], table.get("type")
    several = isinstance(value, list)
    kind: tuple[str, Type] | None = None if written is None else _type(written, (*way, "type"))
    found: list[Field] = []
    for i, one in enumerate(value if several else [value]):
        where = (*way, "value", i) if several else (*way, "value")
        if isinstance(one, str):
            pointer = _pointer(one, where, buffers)
            if kind is not None and (kind[1].width != 8 * POINTER or kind[1].is_float):
                raise ArgumentError((*way, "type"), f"a pointer has 64 bits: it is no {kind[0]}", 'as in type = "u64"')
            found.append(Field(at, POINTER, pointer))
        elif kind is None:
            raise ArgumentError(way, f"'{name}' has no type", 'as in type = "u32"')
        else:
            found.append(Field(at, kind[1].width // 8, bits_of(one, kind[1], kind[0], where)))
        at += found[-1].size
    if not found:
        raise ArgumentError((*way, "value"), "an empty array is no value")
    return tuple(found)


def _map_fields(
    name: str, at: int, table: Mapping[str, Any], way: tuple[str | int, ...], buffers: Mapping[str, Argument]
) -> tuple[Field, ...]:
    """The fields of a tensor map in a structure."""
    try:
        map_ = _tensor_map(name, {"tensor_map": table["tensor_map"]}, buffers)
    except ArgumentError as error:
        raise ArgumentError((*way, *error.where), error.message, error.hint, key=error.key) from None
    return tuple(replace(field, at=at + field.at) for field in map_.fields)


_POINTER = re.compile(
    r"\s*+&\s*+(?P<name>[A-Za-z_]\w*+)\s*+(?>(?:\[\s*+(?P<index>\d{1,19}+)\s*+\])?)\s*+"
    r"(?>(?:\+\s*+(?P<offset>0[xX][0-9a-fA-F]{1,16}+|\d{1,19}+))?)\s*+\Z",
    re.ASCII,
)


def _pointer(text: str, where: tuple[str | int, ...], buffers: Mapping[str, Argument]) -> Pointer:
    """`&x`, `&x+16` (bytes), `&x[4]`: an address within a buffer, or just behind it."""
    found = _POINTER.match(text)
    if found is None:
        raise ArgumentError(where, f"'{text}' is no pointer", 'as in "&x", "&x+16" (bytes) or "&x[4]"')
    buffer = buffers.get(found["name"])
    if not isinstance(buffer, Buffer):
        of = "a scalar: it has no address" if buffer is not None else "no buffer"
        names = [n for n, b in buffers.items() if isinstance(b, Buffer)]
        hint = nearest(found["name"], names) or f"the buffers are {', '.join(names) or 'none'}"
        raise ArgumentError(where, f"'{found['name']}' is {of}", f"{hint}; [memory] has those that are no parameters")
    width = TYPES[buffer.type].width // 8
    behind = found["offset"] or "0"
    offset = int(found["index"] or 0) * width + int(behind, 16 if behind[:2] in ("0x", "0X") else 10)
    size = buffer.elements * width
    if offset > size:
        raise ArgumentError(where, f"byte {offset} lies outside of '{buffer.name}', which has {size}")
    return Pointer(buffer, offset)


def _buffer(name: str, written: str, kind: Type, table: Mapping[str, Any], folder: str) -> Buffer:
    is_open = isinstance(table.get("init"), str) and table["init"] == ANY
    values = () if is_open else _init(name, written, kind, table, folder)
    counted = isinstance(table.get("init"), (list, str)) or _is_array(table.get("init"))
    elements = table.get("elements", len(values) if counted and not is_open else None)
    if elements is None:
        raise ArgumentError((), f"is '{name}' a buffer or a number?", "say how many elements it has, or which value")
    most = LARGEST // (kind.width // 8)
    if type(elements) is not int or not 1 <= elements <= most:
        hint = f"a buffer has at most {LARGEST} bytes" if type(elements) is int and elements > 0 else None
        raise ArgumentError(("elements",), f"'elements' is a number from 1 to {most}, not {_written(elements)}", hint)
    if len(values) > elements:
        raise ArgumentError(("init",), f"{len(values)} values for {elements} element{'s' * (elements != 1)}")
    align = table.get("align", _DEFAULT_ALIGN)
    if type(align) is not int or align < 1 or align & (align - 1) or align > 1 << 16:
        raise ArgumentError(("align",), f"an alignment is a power of two up to 65536, not {align!r}")
    if align < kind.width // 8:
        raise ArgumentError(("align",), f"elements of {written} need an alignment of at least {kind.width // 8}")
    return Buffer(name, written, elements, values, align, is_open)


def _is_array(value: object) -> bool:
    """Whether this is an array of NumPy's."""
    return hasattr(value, "dtype") and hasattr(value, "tobytes")


def _init(name: str, written: str, kind: Type, table: Mapping[str, Any], folder: str) -> Sequence[int]:
    """What a buffer holds at the start; zeros follow."""
    init = table.get("init")
    if init is None:
        return ()
    if isinstance(init, list):
        return tuple(bits_of(v, kind, written, ("init", i)) for i, v in enumerate(init))
    try:
        if _is_array(init):
            return of_array(init, f"'{name}'", written, kind)
        if isinstance(init, str):
            if not init.endswith(".npy"):
                raise FileError(
                    f"'{init}' is no contents of a buffer", f'a number, an array of numbers, "FILE.npy", or "{ANY}"'
                )
            return of_file(os.path.normpath(os.path.join(folder, init)), written, kind)
    except FileError as error:
        raise ArgumentError(("init",), error.message, error.hint) from None
    value = bits_of(init, kind, written, ("init",))
    elements = table.get("elements")
    count = elements if type(elements) is int and elements > 0 else 0  # what is none is told of later
    return (
        (value,) * count
        if count <= _MANY
        else BufferContents(value.to_bytes(kind.width // 8, "little"), kind.width // 8, count)
    )


def bits_of(value: object, kind: Type, written: str, where: Sequence[str | int]) -> int:
    """The bits of a number as one of a type. Raises ArgumentError for what the type does not have."""
    place = tuple(where)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentError(place, f"a number is wanted here, not {kind_of(value)}")
    if kind.is_float:
        return _float_bits(value, written, place)
    if isinstance(value, float):
        raise ArgumentError(place, f"{value!r} is no value of {written}", "a whole number is wanted")
    low, high = (
        (-(1 << (kind.width - 1)), (1 << (kind.width - 1)) - 1) if kind.kind == "s" else (0, (1 << kind.width) - 1)
    )
    if not low <= value <= high:
        raise ArgumentError(place, f"{value} does not fit into {written}", f"its values are {low} to {high}")
    return value & ((1 << kind.width) - 1)


def _float_bits(value: float, written: str, place: tuple[str | int, ...]) -> int:
    try:
        double = struct.unpack("<Q", struct.pack("<d", value))[0]
    except OverflowError:
        raise ArgumentError(place, f"{value} does not fit into {written}") from None
    form = FORMATS[written]
    bits = double if written == "f64" else convert(F64, form, double)
    if math.isfinite(value) and bits & ~form.sign_bit == form.infinity:
        raise ArgumentError(place, f"{value} does not fit into {written}")
    return bits

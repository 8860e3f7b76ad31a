"""Arguments as a kernel test writes them: `{type = "u32", elements = 4, init = [1, 2]}`, `{type = "u32", value = 4}`."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from ptxcore.values.ieee import F64, FORMATS, convert
from ptxmm.kernels.document import Document, Found, kind_of
from ptxmm.kernels.expressions import TYPES, Type
from ptxmm.kernels.launch import Buffer, Scalar
from ptxmm.kernels.words import suggested

_KEYS = ("type", "elements", "init", "align", "value")
_MOST_ELEMENTS = 1 << 16
_DEFAULT_ALIGN = 16


class ArgumentTrouble(Exception):
    """What is wrong with an argument: `where` are the key and the number of the element below the argument's table;
    `key`: the key itself is wrong, or missing."""

    def __init__(
        self, where: tuple[str | int, ...], message: str, hint: str | None = None, *, key: bool = False
    ) -> None:
        self.where, self.message, self.hint, self.key = where, message, hint, key or not where
        super().__init__(message)


def argument(document: Document, name: str, entry: Found) -> Buffer | Scalar | None:
    """The argument that an entry of `[params]` describes; None, with a finding, for one that describes none."""
    if not isinstance(entry.value, dict):
        hint = f'as in {name} = {{type = "u32", value = 4}}, or {{type = "u32", elements = 1}}'
        document.note(entry.way, f"'{name}' must be a table, not {kind_of(entry.value)}", hint)
        return None
    try:
        return described(name, entry.value)
    except ArgumentTrouble as trouble:
        document.note((*entry.way, *trouble.where), trouble.message, trouble.hint, key=trouble.key)
        return None


def described(name: str, table: Mapping[str, Any]) -> Buffer | Scalar:
    """The argument that a table describes. Raises ArgumentTrouble."""
    for key in table:
        if key not in _KEYS:
            hint = suggested(key, _KEYS) or f"a parameter has {', '.join(_KEYS)}"
            raise ArgumentTrouble((key,), f"'{name}' has no '{key}'", hint, key=True)
    written = table.get("type")
    if written is None:
        raise ArgumentTrouble((), f"'{name}' has no type", 'as in type = "u32"')
    kind = TYPES.get(written.lstrip(".")) if isinstance(written, str) else None
    if kind is None:
        hint = (
            suggested(str(written), TYPES) if isinstance(written, str) else None
        ) or f"the types are {', '.join(TYPES)}"
        shown = f"'{written}'" if isinstance(written, str) else kind_of(written)
        raise ArgumentTrouble(("type",), f"{shown} is no type", hint)
    if "value" in table:
        return _scalar(name, written.lstrip("."), kind, table)
    return _buffer(name, written.lstrip("."), kind, table)


def _scalar(name: str, written: str, kind: Type, table: Mapping[str, Any]) -> Scalar:
    for key in ("elements", "init", "align"):
        if key in table:
            hint = "a buffer has elements and init, a scalar has a value"
            message = f"'{name}' has a value, so it is a scalar: '{key}' has no meaning"
            raise ArgumentTrouble((key,), message, hint, key=True)
    value = table["value"]
    if not isinstance(value, list):
        return Scalar(name, bits_of(value, kind, written, ("value",)), written)
    size = kind.width // 8
    parts = [bits_of(v, kind, written, ("value", i)) for i, v in enumerate(value)]
    return Scalar(name, b"".join(p.to_bytes(size, "little") for p in parts), written)


def _buffer(name: str, written: str, kind: Type, table: Mapping[str, Any]) -> Buffer:
    init = table.get("init")
    elements = table.get("elements", len(init) if isinstance(init, list) else None)
    if elements is None:
        raise ArgumentTrouble((), f"is '{name}' a buffer or a number?", "say how many elements it has, or which value")
    if type(elements) is not int or not 1 <= elements <= _MOST_ELEMENTS:
        raise ArgumentTrouble(("elements",), f"'elements' is a number from 1 to {_MOST_ELEMENTS}, not {elements!r}")
    if init is None:
        values: tuple[int, ...] = ()
    elif isinstance(init, list):
        if len(init) > elements:
            raise ArgumentTrouble(("init",), f"{len(init)} values for {elements} element{'s' * (elements != 1)}")
        values = tuple(bits_of(v, kind, written, ("init", i)) for i, v in enumerate(init))
    else:
        values = (bits_of(init, kind, written, ("init",)),) * elements
    align = table.get("align", _DEFAULT_ALIGN)
    if type(align) is not int or align < 1 or align & (align - 1) or align > 1 << 16:
        raise ArgumentTrouble(("align",), f"an alignment is a power of two up to 65536, not {align!r}")
    if align < kind.width // 8:
        raise ArgumentTrouble(("align",), f"elements of {written} need an alignment of at least {kind.width // 8}")
    return Buffer(name, written, elements, values, align)


def bits_of(value: object, kind: Type, written: str, where: Sequence[str | int]) -> int:
    """The bits of a number as one of a type. Raises ArgumentTrouble for what the type does not have."""
    place = tuple(where)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTrouble(place, f"a number is wanted here, not {kind_of(value)}")
    if kind.is_float:
        return _float_bits(value, written, place)
    if isinstance(value, float):
        raise ArgumentTrouble(place, f"{value!r} is no value of {written}", "a whole number is wanted")
    low, high = (
        (-(1 << (kind.width - 1)), (1 << (kind.width - 1)) - 1) if kind.kind == "s" else (0, (1 << kind.width) - 1)
    )
    if not low <= value <= high:
        raise ArgumentTrouble(place, f"{value} does not fit into {written}", f"its values are {low} to {high}")
    return value & ((1 << kind.width) - 1)


def _float_bits(value: float, written: str, place: tuple[str | int, ...]) -> int:
    try:
        double = struct.unpack("<Q", struct.pack("<d", value))[0]
    except OverflowError:
        raise ArgumentTrouble(place, f"{value} does not fit into {written}") from None
    form = FORMATS[written]
    bits = double if written == "f64" else convert(F64, form, double)
    if math.isfinite(value) and bits & ~form.sign_bit == form.infinity:
        raise ArgumentTrouble(place, f"{value} does not fit into {written}")
    return bits

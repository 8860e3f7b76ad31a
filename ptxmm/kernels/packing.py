"""Structures as arguments: tables, as in kernel tests, and the bytes that they become, with arrays behind their pointers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ptxcore.machine.run.launch import UsageError
from ptxcore.records import NamedTuple
from ptxmm.kernels.arguments import ArgumentError, described
from ptxmm.kernels.launch import Buffer, Pointer, Structure


class Aimed(NamedTuple):
    """A pointer in a structure: at a byte of it, the address so many bytes behind the first one of an array."""

    at: int
    name: str
    array: Any
    offset: int


class Packed(NamedTuple):
    """A structure with pointers in it: its bytes, zeros where they stand."""

    data: bytes
    pointers: tuple[Aimed, ...]


def is_array(argument: Any) -> bool:
    """Whether this is a NumPy array with dimensions, without importing NumPy."""
    return hasattr(argument, "tobytes") and hasattr(argument, "dtype") and getattr(argument, "ndim", 0) > 0


def packed(name: str, table: Mapping[str, Any], arrays: Mapping[str, Any] | None = None) -> Packed:
    """A structure, or a pointer, that a table describes as those of kernel tests do; pointers are arrays, or names of `arrays`
    with what is added (`&x+16`). Raises UsageError."""
    known = dict(arrays or {})
    plain = _without_arrays(table, known)
    buffers = {key: Buffer(key, _type_of(array), max(1, array.size)) for key, array in known.items()}
    try:
        made = described(name, plain, buffers)
    except ArgumentError as error:
        where = "".join(f"[{w}]" if isinstance(w, int) else f".{w}" for w in error.where)
        hint = f" ({error.hint})" if error.hint else ""
        raise UsageError(f"'{name}'{where}: {error.message}{hint}") from None
    if not isinstance(made, Structure):
        raise UsageError(f"'{name}': a structure has bytes and fields, a pointer a value such as &x")
    return pack(made, known)


def _type_of(array: Any) -> str:
    """A type whose elements are as large as those of an array, as far as there is one."""
    return {1: "u8", 2: "u16", 4: "u32", 8: "u64"}.get(array.dtype.itemsize, "u8")


def _without_arrays(value: Any, arrays: dict[str, Any]) -> Any:
    """A table with names for its arrays."""
    if is_array(value):
        name = f"array{len(arrays) + 1}"
        arrays[name] = value
        return f"&{name}"
    if isinstance(value, Mapping):
        return {key: _without_arrays(v, arrays) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_arrays(v, arrays) for v in value]
    return value.item() if hasattr(value, "dtype") else value


def pack(structure: Structure, arrays: Mapping[str, Any], name: str = "") -> Packed:
    """A structure of a kernel test, its buffers being arrays; `name` is that of arrays that have none of their own."""
    aimed = [
        Aimed(f.at, name or f.value.buffer.name, arrays[f.value.buffer.name], f.value.offset)
        for f in structure.fields
        if isinstance(f.value, Pointer)
    ]
    plain = replace(structure, fields=tuple(f for f in structure.fields if not isinstance(f.value, Pointer)))
    return Packed(plain.filled(lambda buffer: 0), tuple(aimed))

"""Data movement (section 9.7.9), byte by byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from references.warp import REFERENCES as OF_WARPS

from ptxcore.isa.data_movement import FORMS
from ptxcore.isa.form import Use
from ptxcore.isa.types import WIDTHS

#: For each mode of `prmt` the number of the source byte that byte i of the result is, for the low two bits of c.
PLACES: dict[str, Callable[[int, int], int]] = {
    "f4e": lambda c, i: c + i,
    "b4e": lambda c, i: (c - i) % 8,
    "rc8": lambda c, i: c,
    "ecl": max,
    "ecr": min,
    "rc16": lambda c, i: c % 2 * 2 + i % 2,
}


def same(how: Use, a: Any) -> Any:
    return a


def packed(how: Use, a: tuple[int, ...]) -> int:
    size = WIDTHS[how.types[0]] // 8 // len(a)
    return int.from_bytes(b"".join(x.to_bytes(size, "little") for x in a), "little") if size else 0


def unpacked(number: int) -> Callable[[Use, int], tuple[int, ...]]:
    def elements(how: Use, a: int) -> tuple[int, ...]:
        size = WIDTHS[how.types[0]] // 8
        data = a.to_bytes(size, "little")
        step = size // number
        return tuple(int.from_bytes(data[i : i + step], "little") for i in range(0, size, step))

    return elements


def permuted(how: Use, a: int, b: int, c: int) -> int:
    source = a.to_bytes(4, "little") + b.to_bytes(4, "little")
    result = []
    for digit in reversed(f"{c & 0xFFFF:04x}"):
        selector = int(digit, 16)
        byte = source[selector % 8]
        result.append((255 if byte > 127 else 0) if selector > 7 else byte)
    return int.from_bytes(bytes(result), "little")


def permuted_by_mode(how: Use, a: int, b: int, c: int) -> int:
    source = a.to_bytes(4, "little") + b.to_bytes(4, "little")
    place = PLACES[how.words["mode"]]
    return int.from_bytes(bytes(source[place(c % 4, i)] for i in range(4)), "little")


REFERENCES = {
    ("9.7.9.3", "mov.type d:braced, a:address special braced"): same,
    ("9.7.9.4", "mov.vec.type d:vec, a:vec special"): same,
    ("9.7.9.7", "prmt.b32 d, a, b, c"): permuted,
    ("9.7.9.7", "prmt.b32.mode d, a, b, c"): permuted_by_mode,
}
for form in FORMS:
    if form.section == "9.7.9.4" and "vec" not in form.syntax:
        count = int(form.syntax.partition(" x")[2][0])
        unpacks = " x" in form.syntax.partition(", ")[0]
        REFERENCES[form.section, form.syntax] = unpacked(count) if unpacks else packed

EXPLAINED = {
    (form.section, form.syntax): "reads or writes memory: test_memory_forms.py runs it on bytes"
    for form in FORMS
    if form.kind == "effect" and (form.section, form.syntax) not in OF_WARPS
}
EXPLAINED["9.7.9.3", "mov.u64 d, a:opaque"] = "tests/ptxcore/semantics/test_images.py asks istypep for what it gives"

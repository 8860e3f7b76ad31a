"""Comparison and selection (sections 9.7.6 and 9.7.7) by Python's own comparisons, of integers and of floats."""

from __future__ import annotations

import operator
import random
from typing import Any

import driver
from references.integer import from_bits
from references.rational import CANONICAL, flushed, value

from ptxcore.isa import comparison, half_comparison
from ptxcore.isa.form import Form, Use
from ptxcore.isa.types import WIDTHS

_ORDERS = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge,
}  # fmt: skip

_TRUE = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000}


def holds(how: Use, kind: str, a: int, b: int) -> bool:
    name = how.words["cmp"]
    if kind not in CANONICAL:
        signed, width = kind[0] == "s", WIDTHS[kind]
        return bool(_ORDERS[name](from_bits(a, width, signed), from_bits(b, width, signed)))
    if how.words["ftz"]:
        a, b = flushed(kind, a), flushed(kind, b)
    x, y = value(kind, a), value(kind, b)
    unordered = x != x or y != y
    if name in ("num", "nan"):
        return unordered == (name == "nan")
    return (name not in _ORDERS) if unordered else bool(_ORDERS[name[:2]](x, y))


def combined(how: Use, t: bool, c: tuple[int, ...]) -> bool:
    if not c:
        return t
    return bool({"and": t & c[0], "or": t | c[0], "xor": t ^ c[0]}[how.words["bool"]])


def _truth(kind: str, t: bool) -> int:
    return _TRUE.get(kind, (1 << WIDTHS[kind]) - 1) if t else 0


def set_(how: Use, a: int, b: int, *c: int) -> int:
    dtype, stype = how.types
    return _truth(dtype, combined(how, holds(how, stype, a, b), c))


def set_packed(how: Use, a: int, b: int, *c: int) -> int:
    dtype, stype = how.types
    kind, result = stype[:-2], 0
    for i in (0, 16):
        t = combined(how, holds(how, kind, a >> i & 0xFFFF, b >> i & 0xFFFF), c)
        result |= _truth(kind if "x2" in dtype else "u16", t) << i
    return result


def setp(how: Use, a: int, b: int, *c: int) -> tuple[bool, bool]:
    t = holds(how, how.types[0], a, b)
    return combined(how, t, c), combined(how, not t, c)


def setp_packed(how: Use, a: int, b: int, *c: int) -> tuple[bool, ...]:
    kind = how.types[0][:-2]
    return tuple(combined(how, holds(how, kind, a >> i & 0xFFFF, b >> i & 0xFFFF), c) for i in (0, 16))


def selp(how: Use, a: int, b: int, c: int) -> int:
    return a if c else b


def slct(how: Use, a: int, b: int, c: int) -> int:
    if how.types[1] == "s32":
        return a if c < 1 << 31 else b
    return a if value("f32", flushed("f32", c) if how.words["ftz"] else c) >= 0 else b


def _reference(form: Form) -> Any:
    packed = "x2" in form.syntax
    if form.mnemonic == "setp" and form.section == "9.7.7.2":
        if packed and "p|q" in form.syntax:
            return setp_packed
        return (lambda *s: setp_packed(*s)[0]) if packed else (lambda *s: setp(*s)[0])
    return {"set": set_packed if packed else set_, "setp": setp, "selp": selp, "slct": slct}[form.mnemonic]


def _pairs(how: Use, chance: random.Random) -> tuple[int, ...]:
    """Two values that are often equal, next to each other or of opposite sign."""
    kind = how.types[-1]
    a, b = driver.draw(kind, chance), driver.draw(kind, chance)
    width = WIDTHS[kind]
    near = (a, a, a ^ 1 << width - 1, (a + 1) % (1 << width), b, b, b)
    c = (chance.getrandbits(1),) if how.words["bool"] else ()
    return (a, chance.choice(near), *c)


_FORMS = [form for section in (comparison, half_comparison) for form in section.FORMS if form.run is not None]
REFERENCES = {(form.section, form.syntax): _reference(form) for form in _FORMS}
INPUTS = {(form.section, form.syntax): _pairs for form in _FORMS if form.mnemonic in ("set", "setp")}

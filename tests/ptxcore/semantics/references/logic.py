"""Logic and shifts (section 9.7.8), one bit at a time."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from references.integer import number

from ptxcore.isa.form import Use
from ptxcore.isa.types import WIDTHS


def bitwise(compute: Callable[..., int]) -> Any:
    def reference(how: Use, *sources: int) -> int:
        return sum(compute(*(s >> i & 1 for s in sources)) << i for i in range(WIDTHS[how.types[0]]))

    return reference


def left(how: Use, a: int, b: int) -> int:
    width = WIDTHS[how.types[0]]
    return a * 2 ** min(b, width) % (1 << width)


def right(how: Use, a: int, b: int) -> int:
    width = WIDTHS[how.types[0]]
    return number(a, how.types[0]) // 2 ** min(b, width) % (1 << width)


def table(how: Use, a: int, b: int, c: int, lut: int) -> int:
    return sum((lut >> (a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1) & 1) << i for i in range(32))


def table_bool(how: Use, a: int, b: int, c: int, lut: int, q: int) -> tuple[int, int]:
    d = table(how, a, b, c, lut)
    return d, int(d != 0 or q == 1) if how.words["bool"] == "or" else int(d != 0 and q == 1)


def funnel(how: Use, a: int, b: int, c: int) -> int:
    n = min(c, 32) if how.words["mode"] == "clamp" else c % 32
    source = b * 2**32 + a
    return source * 2**n // 2**32 % 2**32 if how.words["dir"] == "l" else source // 2**n % 2**32


def draw_table(how: Use, chance: random.Random) -> tuple[int, ...]:
    """Short operands too, for a predicate of both kinds; ptxas takes any number for the table."""
    bits = chance.choice((32, 32, 1))
    sources = [chance.getrandbits(bits) for _ in "abc"]
    lut = chance.getrandbits(8 if how.form.only == "manual" else 32)
    return (*sources, lut, chance.getrandbits(1)) if how.words["bool"] else (*sources, lut)


_AND, _OR, _XOR = bitwise(lambda a, b: a * b), bitwise(max), bitwise(lambda a, b: int(a != b))

REFERENCES = {
    ("9.7.8.1", "and.type d, a, b"): _AND,
    ("9.7.8.1", "and.pred d, {!}a, {!}b"): _AND,
    ("9.7.8.2", "or.type d, a, b"): _OR,
    ("9.7.8.2", "or.pred d, {!}a, {!}b"): _OR,
    ("9.7.8.3", "xor.type d, a, b"): _XOR,
    ("9.7.8.3", "xor.pred d, {!}a, {!}b"): _XOR,
    ("9.7.8.4", "not.type d, a"): bitwise(lambda a: 1 - a),
    ("9.7.8.4", "not.pred d, {!}a"): bitwise(lambda a: 1 - a),
    ("9.7.8.5", "cnot.type d, a"): lambda how, a: int(not a),
    ("9.7.8.6", "lop3.b32 d, a, b, c, lut:imm u32 0..255"): table,
    ("9.7.8.6", "lop3.b32 d:sink, a, b, c, lut:imm u32"): table,
    ("9.7.8.6", "lop3.bool.b32 d|p:sink kept, a, b, c, lut:imm u32 0..255, {!}q:in pred"): table_bool,
    ("9.7.8.6", "lop3.bool.b32 d|p:sink kept, a, b, c, lut:imm u32, {!}q:in pred"): table_bool,
    ("9.7.8.7", "shf.dir.mode.b32 d, a, b, c:u32"): funnel,
    ("9.7.8.8", "shl.type d, a, b:u32"): left,
    ("9.7.8.9", "shr.type d, a, b:u32"): right,
}

INPUTS = {key: draw_table for key in REFERENCES if key[1].startswith("lop3")}

"""Integer arithmetic (section 9.7.1) on Python's integers, bit by bit as the manual's loops go."""

from __future__ import annotations

import random
from typing import Any

from ptxcore.isa.form import Use
from ptxcore.isa.types import WIDTHS


def number(value: int, kind: str, width: int = 0) -> int:
    """The number that bits stand for in a type such as s32."""
    return from_bits(value, width or WIDTHS[kind], kind[0] == "s")


def from_bits(value: int, width: int, signed: bool) -> int:
    value %= 1 << width
    return value - (1 << width) if signed and value >= 1 << (width - 1) else value


def clamped(value: int, width: int, signed: bool) -> int:
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    return max(low, min(high, value))


def elementwise(compute: Any) -> Any:
    """A reference from one on numbers: `compute(how, a, b ...)`; on each half for packed types."""

    def reference(how: Use, *sources: int) -> int:
        kind = how.types[0]
        base, _, count = kind.partition("x")
        width = WIDTHS[base]
        result = 0
        for i in range(int(count or 1)):
            part = [from_bits(s >> i * width, width, base[0] == "s") for s in sources]
            result |= compute(how, *part) % (1 << width) << i * width
        return result

    return reference


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def division(how: Use, a: int, b: int) -> int:
    return -1 if b == 0 else quotient(a, b)


def remainder(how: Use, a: int, b: int) -> int:
    return -1 if b == 0 else a - b * quotient(a, b)


def product(how: Use, a: int, b: int) -> int:
    kind, part = how.types[0], how.words["part"]
    width = WIDTHS[kind]
    exact = number(a, kind) * number(b, kind)
    if part == "hi":
        return (exact >> width) % (1 << width)
    return exact % (1 << (2 * width if part == "wide" else width))


def product_sum(how: Use, a: int, b: int, c: int) -> int:
    width = WIDTHS[how.types[0]] * (2 if how.words["part"] == "wide" else 1)
    return (product(how, a, b) + c) % (1 << width)


def product_sum_sat(how: Use, a: int, b: int, c: int) -> int:
    return clamped(number(product(how, a, b), "s32") + number(c, "s32"), 32, True) % (1 << 32)


def product24(how: Use, a: int, b: int) -> int:
    signed = how.types[0] == "s32"
    exact = from_bits(a, 24, signed) * from_bits(b, 24, signed) % (1 << 48)
    return exact >> 16 if how.words["part"] == "hi" else exact % (1 << 32)


def product24_sum_sat(how: Use, a: int, b: int, c: int) -> int:
    return clamped(number(product24(how, a, b), "s32") + number(c, "s32"), 32, True) % (1 << 32)


def find(how: Use, a: int) -> int:
    kind = how.types[0]
    msb = WIDTHS[kind] - 1
    if kind[0] == "s" and a >> msb:
        a ^= (1 << WIDTHS[kind]) - 1
    for i in range(msb, -1, -1):
        if a >> i & 1:
            return msb - i if how.words["shiftamt"] else i
    return 0xFFFFFFFF


def leading(how: Use, a: int) -> int:
    return (f"{a:0{WIDTHS[how.types[0]]}b}" + "1").index("1")


def nth_set(how: Use, bits: int, base: int, offset: int) -> int:
    base, offset = number(base, "u32"), number(offset, "s32")
    if offset == 0:
        return base if base < 32 and bits >> base & 1 else 0xFFFFFFFF
    pos, count = base, abs(offset) - 1
    while 0 <= pos < 32:
        if bits >> pos & 1:
            if count == 0:
                return pos
            count -= 1
        pos += 1 if offset > 0 else -1
    return 0xFFFFFFFF


def reversed_bits(how: Use, a: int) -> int:
    msb = WIDTHS[how.types[0]] - 1
    return sum((a >> (msb - i) & 1) << i for i in range(msb + 1))


def extracted(how: Use, a: int, b: int, c: int) -> int:
    kind = how.types[0]
    msb, pos, length = WIDTHS[kind] - 1, b & 0xFF, c & 0xFF
    sign = 0 if kind[0] == "u" or length == 0 else a >> min(pos + length - 1, msb) & 1
    d = 0
    for i in range(msb + 1):
        d |= (a >> (pos + i) & 1 if i < length and pos + i <= msb else sign) << i
    return d


def inserted(how: Use, a: int, b: int, c: int, d: int) -> int:
    msb, pos, length = WIDTHS[how.types[0]] - 1, c & 0xFF, d & 0xFF
    f = b
    for i in range(length):
        if pos + i <= msb:
            f = f & ~(1 << (pos + i)) | (a >> i & 1) << (pos + i)
    return f


def extended(how: Use, a: int, b: int) -> int:
    """What the text says: an N-bit value, widened."""
    if b >= 32:
        if how.words["mode"] == "clamp":
            return a
        b %= 32
    return 0 if b == 0 else from_bits(a, b, how.types[0] == "s32") % (1 << 32)


def bit_mask(how: Use, a: int, b: int) -> int:
    """The pseudo-code, line by line."""
    full = 0xFFFFFFFF
    a1, b1 = a & 0x1F, b & 0x1F
    mask0, total = full << a1 & full, a1 + b1
    mask1 = full << total & full if total < 32 else 0
    position_overflow = width_overflow = False
    if how.words["mode"] == "clamp":
        if a >= 32:
            position_overflow, mask0 = True, 0
        width_overflow = b >= 32
    if total >= 32 or position_overflow or width_overflow:
        mask1 = 0
    elif b1 == 0:
        mask1 = full
    return mask0 & ~mask1 & full


def pieces(value: int, width: int, kind: str) -> list[int]:
    return [from_bits(value >> i, width, kind[0] == "s") for i in range(0, 32, width)]


def dot4(how: Use, a: int, b: int, c: int) -> int:
    va, vb = pieces(a, 8, how.types[0]), pieces(b, 8, how.types[1])
    return (c + sum(x * y for x, y in zip(va, vb, strict=True))) % (1 << 32)


def dot2(how: Use, a: int, b: int, c: int) -> int:
    first = {"lo": 0, "hi": 2}[how.words["mode"]]
    va, vb = pieces(a, 16, how.types[0]), pieces(b, 8, how.types[1])
    return (c + va[0] * vb[first] + va[1] * vb[first + 1]) % (1 << 32)


def relu(value: int) -> int:
    return max(value, 0)


REFERENCES: dict[tuple[str, str], Any] = {
    ("9.7.1.1", "add.type d, a, b"): elementwise(lambda how, a, b: a + b),
    ("9.7.1.1", "add.sat.s32 d, a, b"): elementwise(lambda how, a, b: clamped(a + b, 32, True)),
    ("9.7.1.2", "sub.type d, a, b"): elementwise(lambda how, a, b: a - b),
    ("9.7.1.2", "sub.sat.s32 d, a, b"): elementwise(lambda how, a, b: clamped(a - b, 32, True)),
    ("9.7.1.3", "mul.part.type d, a, b"): product,
    ("9.7.1.3", "mul.part.type d:wide, a, b"): product,
    ("9.7.1.4", "mad.part.type d, a, b, c"): product_sum,
    ("9.7.1.4", "mad.part.type d:wide, a, b, c:wide"): product_sum,
    ("9.7.1.4", "mad.part.sat.s32 d, a, b, c"): product_sum_sat,
    ("9.7.1.5", "mul24.part.type d, a, b"): product24,
    ("9.7.1.6", "mad24.part.type d, a, b, c"): lambda how, a, b, c: (product24(how, a, b) + c) % (1 << 32),
    ("9.7.1.6", "mad24.part.sat.s32 d, a, b, c"): product24_sum_sat,
    ("9.7.1.7", "sad.type d, a, b, c"): elementwise(lambda how, a, b, c: c + abs(a - b)),
    ("9.7.1.8", "div.type d, a, b"): elementwise(division),
    ("9.7.1.9", "rem.type d, a, b"): elementwise(remainder),
    ("9.7.1.10", "abs.type d, a"): elementwise(lambda how, a: abs(a)),
    ("9.7.1.11", "neg.type d, a"): elementwise(lambda how, a: -a),
    ("9.7.1.12", "min.type d, a, b"): elementwise(lambda how, a, b: min(a, b)),
    ("9.7.1.12", "min.relu.type d, a, b"): elementwise(lambda how, a, b: relu(min(a, b))),
    ("9.7.1.13", "max.type d, a, b"): elementwise(lambda how, a, b: max(a, b)),
    ("9.7.1.13", "max.relu.type d, a, b"): elementwise(lambda how, a, b: relu(max(a, b))),
    ("9.7.1.14", "popc.type d:u32, a"): lambda how, a: bin(a).count("1"),
    ("9.7.1.15", "clz.type d:u32, a"): leading,
    ("9.7.1.16", "bfind{.shiftamt}.type d:u32, a"): find,
    ("9.7.1.17", "fns.b32 d, mask, base, offset"): nth_set,
    ("9.7.1.18", "brev.type d, a"): reversed_bits,
    ("9.7.1.19", "bfe.type d, a, b:u32 0..255, c:u32 0..255"): extracted,
    ("9.7.1.20", "bfi.type f:out, a, b, c:u32 0..255, d:in u32 0..255"): inserted,
    ("9.7.1.21", "szext.mode.type d, a, b:u32 own"): extended,
    ("9.7.1.22", "bmsk.mode.b32 d:u32, a:u32, b:u32"): bit_mask,
    ("9.7.1.23", "dp4a.atype.btype d:u32, a, b, c:u32 own"): dot4,
    ("9.7.1.24", "dp2a.mode.atype.btype d:u32, a, b, c:u32 own"): dot2,
}


def draw_fns(how: Use, chance: random.Random) -> tuple[int, int, int]:
    """Places within the mask and short distances, mostly."""
    mask = chance.choice((chance.getrandbits(32), chance.getrandbits(32) & chance.getrandbits(32), 0, 0xFFFFFFFF))
    base = chance.choice((chance.randint(0, 31), chance.randint(0, 31), chance.randint(-2, 40)))
    offset = chance.choice((chance.randint(-4, 4), chance.randint(-34, 34), chance.getrandbits(32)))
    return mask, base % (1 << 32), offset % (1 << 32)


def draw_field(how: Use, chance: random.Random) -> tuple[int, ...]:
    """Positions and lengths around those that a register has."""
    width = WIDTHS[how.types[0]]
    count = len(how.form.pattern.parameters) - 3
    near = [chance.choice((chance.randint(0, width + 2), chance.getrandbits(8), chance.getrandbits(32))) for _ in "12"]
    return (*(chance.choice((chance.getrandbits(width), 1 << width - 1)) for _ in range(count)), *near)


def draw_amounts(how: Use, chance: random.Random) -> tuple[int, int]:
    amounts = [chance.choice((chance.randint(0, 34), chance.getrandbits(32))) for _ in "12"]
    return (chance.getrandbits(32), amounts[0]) if how.form.mnemonic == "szext" else (amounts[0], amounts[1])


INPUTS = {
    ("9.7.1.17", "fns.b32 d, mask, base, offset"): draw_fns,
    ("9.7.1.19", "bfe.type d, a, b:u32 0..255, c:u32 0..255"): draw_field,
    ("9.7.1.20", "bfi.type f:out, a, b, c:u32 0..255, d:in u32 0..255"): draw_field,
    ("9.7.1.21", "szext.mode.type d, a, b:u32 own"): draw_amounts,
    ("9.7.1.22", "bmsk.mode.b32 d:u32, a:u32, b:u32"): draw_amounts,
}

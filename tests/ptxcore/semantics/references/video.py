"""Video instructions (section 9.7.18), as the manual's pseudo-code goes, on exact integers."""

from __future__ import annotations

from typing import Any

from references.integer import clamped, from_bits, number

from ptxcore.isa.form import Use
from ptxcore.isa.video import FORMS

COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
OPERATE = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
    "vavrg": lambda a, b: (a + b + 1) // 2 if a + b >= 0 else (a + b) // 2,
}
SIZES = {"": 32, "b": 8, "h": 16}


def part(value: int, kind: str, selector: str) -> int:
    """partSelectSignExtend"""
    size = SIZES[selector[:1]]
    start = int(selector[1:] or 0) * size
    return from_bits(value >> start, size, kind == "s32")


def scalar(how: Use, *sources: int) -> int:
    words, name = how.words, how.form.mnemonic
    ta = part(sources[0], words["atype"], words["asel"])
    tb = part(sources[1], words["btype"] or "u32", words["bsel"])
    dtype = words["dtype"] or "u32"
    if name == "vset":
        tmp = int(COMPARE[words["cmp"]](ta, tb))
    elif name in ("vshl", "vshr"):
        tb = min(tb, 32) if words["mode"] == "clamp" else tb % 32
        tmp = ta * 2**tb if name == "vshl" else ta // 2**tb
    else:
        tmp = OPERATE[name](ta, tb)
    tmp = from_bits(tmp, 34, True)
    selector = words["dsel"]
    size = SIZES[selector[:1]]
    if words["sat"]:
        tmp = clamped(tmp, size, dtype == "s32")
    if len(sources) < 3:
        return tmp % 2**32
    c = sources[2]
    if words["op"]:
        c = number(c, dtype)
        return {"add": tmp + c, "min": min(tmp, c), "max": max(tmp, c)}[words["op"]] % 2**32
    if selector:
        start = int(selector[1:]) * size
        field = (1 << size) - 1
        return c & ~(field << start) | (tmp & field) << start
    return tmp % 2**32


def multiply_add(how: Use, a: int, b: int, c: int) -> int:
    words = how.words
    ta, tb = part(a, words["atype"], words["asel"]), part(b, words["btype"], words["bsel"])
    minus, c_minus = bool(words["aneg"]) != bool(words["bneg"]), bool(words["cneg"])
    signed = "s32" in (words["atype"], words["btype"]) or minus or c_minus
    product, lsb = ta * tb, 0
    if words["po"]:
        lsb = 1
    elif minus:
        product, lsb = ~product, 1
    elif c_minus:
        c, lsb = ~c % 2**32, 1
    result = product + from_bits(c, 32, signed) + lsb
    if words["scale"]:
        result = result // {"shr7": 2**7, "shr15": 2**15}[words["scale"]]
    if words["sat"]:
        result = clamped(result, 32, signed)
    return result % 2**32


def simd(how: Use, a: int, b: int, c: int) -> int:
    words, name = how.words, how.form.mnemonic
    number_, size = int(name[-1]), 32 // int(name[-1])
    both = b << 32 | a
    fields = []
    for source, default in (("a", {2: "h10", 4: "b3210"}), ("b", {2: "h32", 4: "b7654"})):
        digits = (words[f"{source}sel"] or default[number_])[:0:-1]  # the lowest element stands last
        signed = words[f"{source}type"] == "s32"
        fields.append([from_bits(both >> int(digit) * size, size, signed) for digit in digits])
    if name[:-1] == "vset":
        t = [int(COMPARE[words["cmp"]](x, y)) for x, y in zip(*fields, strict=True)]
    else:
        t = [OPERATE[name[:-1]](x, y) for x, y in zip(*fields, strict=True)]
    if words["sat"]:
        t = [clamped(x, size, words["dtype"] == "s32") for x in t]
    taken = [not words["dsel"] or str(i) in words["dsel"][1:] for i in range(number_)]
    if words["add"]:
        return (c + sum(x for x, chosen in zip(t, taken, strict=True) if chosen)) % 2**32
    d = 0
    for i in range(number_):
        d |= ((t[i] if taken[i] else c >> i * size) % (1 << size)) << i * size
    return d


def _reference(name: str) -> Any:
    return multiply_add if name == "vmad" else simd if name[-1] in "24" else scalar


REFERENCES = {(form.section, form.syntax): _reference(form.mnemonic) for form in FORMS}

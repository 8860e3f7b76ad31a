"""Video instructions: arithmetic on bytes and halves of registers (PTX ISA 9.0, section 9.7.18).

What is selected of a register stands in `how.words`: `asel` and `bsel` of the sources, `dsel` of the destination.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.isa.integer import clamp, fit
from ptxcore.values.packed import join, split
from ptxcore.values.terms import (
    Value,
    add,
    ashr,
    bit_and,
    bit_not,
    eq,
    extract,
    ite,
    mask,
    mul,
    ne,
    neg,
    sext,
    shl,
    sle,
    slt,
    sub,
    ult,
    zext,
)

#: Bits of the signed intermediate results of all but `vmad`.
_WIDE = 34


def _is_signed(kind: str) -> bool:
    return kind[0] == "s"


def _extend(a: Value, width: int, kind: str, to: int = _WIDE) -> Value:
    """`a` of `width` bits as a signed number of `to` bits, extended as its type says."""
    return sext(a, width, to) if _is_signed(kind) else zext(a, to)


def _part(how: Use, operand: str, a: Value, kind: str, to: int = _WIDE) -> Value:
    """partSelectSignExtend: the byte, half or word that is selected of an operand, extended"""
    selected = how.words[f"{operand}sel"]
    if not selected:
        return _extend(a, 32, kind, to)
    width, place = (8 if selected[0] == "b" else 16), int(selected[1])
    return _extend(extract(a, width * place + width - 1, width * place), width, kind, to)


def _saturate(tmp: Value, width: int, kind: str, from_width: int = _WIDE) -> Value:
    """The signed `tmp` brought into the range of a type of `width` bits"""
    if _is_signed(kind):
        low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    else:
        low, high = 0, mask(width)
    return clamp(tmp, from_width, low, high, from_width)


def _larger(a: Value, b: Value, width: int = _WIDE) -> Value:
    return ite(slt(a, b, width), b, a, width)


def _smaller(a: Value, b: Value, width: int = _WIDE) -> Value:
    return ite(slt(b, a, width), b, a, width)


def _magnitude(a: Value, width: int = _WIDE) -> Value:
    return ite(slt(a, 0, width), neg(a, width), a, width)


def _average(a: Value, b: Value) -> Value:
    """(a + b + 1) >> 1 if a + b >= 0, else (a + b) >> 1"""
    t = add(a, b, _WIDE)
    return ashr(ite(slt(t, 0, _WIDE), t, add(t, 1, _WIDE), _WIDE), 1, _WIDE)


#: What each instruction does with two extended numbers.
_OPERATIONS: dict[str, Callable[[Value, Value], Value]] = {
    "vadd": lambda a, b: add(a, b, _WIDE),
    "vsub": lambda a, b: sub(a, b, _WIDE),
    "vabsdiff": lambda a, b: _magnitude(sub(a, b, _WIDE)),
    "vmin": _smaller,
    "vmax": _larger,
    "vavrg": _average,
}

_COMPARISONS: dict[str, Callable[[Value, Value], Value]] = {
    "eq": eq,
    "ne": ne,
    "lt": lambda a, b: slt(a, b, _WIDE),
    "le": lambda a, b: sle(a, b, _WIDE),
    "gt": lambda a, b: slt(b, a, _WIDE),
    "ge": lambda a, b: sle(b, a, _WIDE),
}


def _finish(how: Use, tmp: Value, c: Value | None, kind: str) -> Value:
    """tmp = optSaturate(tmp); d = optSecondaryOp(tmp, c); d = optMerge(dsel, tmp, c)

    The secondary operation sees all of `tmp`, as the manual has it, and `c` as the destination's type says. The code that
    ptxas makes cuts what `vadd` and `vsub` give to 32 bits before: that shows where they overflow, without `.sat`, in
    front of `.min` or `.max`.
    """
    selected = how.words["dsel"]
    width = {"": 32, "b": 8, "h": 16}[selected[:1]]
    if how.words["sat"]:
        tmp = _saturate(tmp, width, kind)
    if c is None:
        return fit(tmp, 32)
    if selected:
        elements = list(split(c, width, 32 // width))
        elements[int(selected[1])] = fit(tmp, width)
        return join(elements, width)
    match how.op:
        case "add":
            tmp = add(tmp, _extend(c, 32, kind), _WIDE)
        case "min":
            tmp = _smaller(tmp, _extend(c, 32, kind))
        case "max":
            tmp = _larger(tmp, _extend(c, 32, kind))
    return fit(tmp, 32)


def arithmetic(how: Use, a: Value, b: Value, c: Value | None = None) -> Value:
    """tmp = ta + tb, ta - tb, |ta - tb|, MIN(ta, tb), MAX(ta, tb)"""
    ta = _part(how, "a", a, how.words["atype"])
    tb = _part(how, "b", b, how.words["btype"])
    return _finish(how, _OPERATIONS[how.form.mnemonic](ta, tb), c, how.words["dtype"])


def shift(how: Use, a: Value, b: Value, c: Value | None = None) -> Value:
    """tb = min(tb, 32) for .clamp, tb & 0x1f for .wrap; tmp = ta << tb, of which 34 bits count, or ta >> tb"""
    ta = _part(how, "a", a, how.words["atype"])
    tb = _part(how, "b", b, "u32")
    if how.words["mode"] == "clamp":
        tb = ite(ult(32, tb, _WIDE), 32, tb, _WIDE)
    else:
        tb = bit_and(tb, 31, _WIDE)
    move = shl if how.form.mnemonic == "vshl" else ashr
    return _finish(how, move(ta, tb, _WIDE), c, how.words["dtype"])


def compare(how: Use, a: Value, b: Value, c: Value | None = None) -> Value:
    """tmp = compare(ta, tb, cmp) ? 1 : 0"""
    ta = _part(how, "a", a, how.words["atype"])
    tb = _part(how, "b", b, how.words["btype"])
    return _finish(how, zext(_COMPARISONS[how.words["cmp"]](ta, tb), _WIDE), c, "u32")


def multiply_add(how: Use, a: Value, b: Value, c: Value) -> Value:
    """tmp = ta * tb, negated if one of a and b is, + c, negated if it is, + 1 for .po; shifted right by 7 or 15;
    clamped for .sat. All is signed if a type is or an operand is negated; then c is taken for a signed number, as the
    pseudo-code has it, also where the text would have it unsigned."""
    w = 72  # as good as the manual's 128
    words = how.words
    ta, tb = _part(how, "a", a, words["atype"], w), _part(how, "b", b, words["btype"], w)
    product_negated = words["aneg"] != words["bneg"]
    signed = _is_signed(words["atype"]) or _is_signed(words["btype"]) or product_negated or words["cneg"] == "-"
    kind = "s32" if signed else "u32"
    tmp = mul(ta, tb, w)
    one = 0
    if words["po"]:
        one = 1
    elif product_negated:
        tmp, one = bit_not(tmp, w), 1
    elif words["cneg"]:
        c, one = bit_not(c, 32), 1
    tmp = add(add(tmp, _extend(c, 32, kind, w), w), one, w)
    if words["scale"]:
        tmp = ashr(tmp, int(words["scale"].removeprefix("shr")), w)
    if words["sat"]:
        tmp = _saturate(tmp, 32, kind, w)
    return fit(tmp, 32)


def _selected(how: Use, operand: str, a: Value, b: Value, number: int) -> tuple[Value, ...]:
    """extractAndSignExt: the elements that the selector of `operand` takes from a and b, the lowest first, extended"""
    width = 32 // number
    default = {("a", 2): "h10", ("b", 2): "h32", ("a", 4): "b3210", ("b", 4): "b7654"}[operand, number]
    choice = how.words[f"{operand}sel"] or default
    elements = (*split(a, width, number), *split(b, width, number))
    return tuple([_extend(elements[int(digit)], width, how.words[f"{operand}type"]) for digit in reversed(choice[1:])])


def _merge(how: Use, t: list[Value], c: Value, number: int) -> Value:
    """With .add, c plus those t[i] that the mask names; else these t[i], and the other elements of c"""
    width = 32 // number
    named = how.words["dsel"][1:] or "3210"
    if how.words["add"]:
        d = c
        for i, x in enumerate(t):
            if str(i) in named:
                d = add(d, fit(x, 32), 32)
        return d
    old = split(c, width, number)
    return join([fit(t[i], width) if str(i) in named else old[i] for i in range(number)], width)


def parallel(how: Use, a: Value, b: Value, c: Value) -> Value:
    """t[i] = Va[i] + Vb[i] and so on, clamped for .sat; then accumulated or merged with c"""
    name, number = how.form.mnemonic[:-1], int(how.form.mnemonic[-1])
    va, vb = _selected(how, "a", a, b, number), _selected(how, "b", a, b, number)
    t = [_OPERATIONS[name](x, y) for x, y in zip(va, vb, strict=True)]
    if how.words["sat"]:
        t = [_saturate(x, 32 // number, how.words["dtype"]) for x in t]
    return _merge(how, t, c, number)


def parallel_compare(how: Use, a: Value, b: Value, c: Value) -> Value:
    """t[i] = compare(Va[i], Vb[i], cmp) ? 1 : 0; then accumulated or merged with c

    Where nothing is written the pseudo-code keeps the element of c, and so it is here; the text says b.
    """
    number = int(how.form.mnemonic[-1])
    va, vb = _selected(how, "a", a, b, number), _selected(how, "b", a, b, number)
    test = _COMPARISONS[how.words["cmp"]]
    return _merge(how, [zext(test(x, y), _WIDE) for x, y in zip(va, vb, strict=True)], c, number)


_WORDS = "u32 s32"
_SECOND = "add min max"
_COMPARE = "eq ne lt le gt ge"

#: Operands of the scalar instructions: of each source a byte or half may be selected.
_AB = "a:selector=part, b:selector=part"
_MERGED = "d:selector=part"

#: Operands of the instructions on two halves and on four bytes; constants stand for none of them.
_TWO = "d:selector=half_mask, a:selector=halves reg, b:selector=halves reg, c:reg"
_TWO_SET = _TWO.replace("d:", "d:u32 ").replace("c:", "c:u32 ")
_FOUR = "d:selector=byte_mask, a:selector=bytes reg, b:selector=bytes reg, c:reg"
_FOUR_SET = _FOUR.replace("d:", "d:u32 ").replace("c:", "c:u32 ")

_scalar = partial(Form, version="2.0", target="sm_20", atype=_WORDS)
_simd = partial(Form, version="3.0", target="sm_30", atype=_WORDS, btype=_WORDS)


def _arithmetic(name: str) -> tuple[Form, ...]:
    form = partial(_scalar, section="9.7.18.1.1", dtype=_WORDS, btype=_WORDS, repeats="sat")
    head = f"{name}.dtype.atype.btype{{.sat}}"
    return (
        form(f"{head} d, {_AB}", arithmetic),
        form(f"{head} {_MERGED}, {_AB}, c", arithmetic),
        form(f"{head}.op d, {_AB}, c", arithmetic, op=_SECOND),
    )


def _shift(name: str) -> tuple[Form, ...]:
    form = partial(_scalar, section="9.7.18.1.2", dtype=_WORDS, mode="clamp wrap", repeats="sat")
    head = f"{name}.dtype.atype.u32{{.sat}}.mode"
    return (
        form(f"{head} d, {_AB}", shift),
        form(f"{head} {_MERGED}, {_AB}, c", shift),
        form(f"{head}.op d, {_AB}, c", shift, op=_SECOND),
    )


def _multiply() -> tuple[Form, ...]:
    form = partial(_scalar, section="9.7.18.1.3", dtype=_WORDS, btype=_WORDS, repeats="sat", scale="shr7 shr15")
    head = "vmad.dtype.atype.btype{.sat}{.scale}"
    # Only the product or `c` may be negative, and the product of two negative factors is not.
    return (
        form(f"{head} d, a:negative selector=part, b:negative selector=part, c", multiply_add),
        form(f"{head} d, {_AB}, c:negated", multiply_add),
        form(f"{head} d, a:negated selector=part, b:negated selector=part, c:negated", multiply_add),
        form(f"{head}.po d, {_AB}, c", multiply_add),
        form(f"{head}.po d, a:negated selector=part, b:negated selector=part, c", multiply_add, only="ptxas"),
    )


def _compare(name: str) -> tuple[Form, ...]:
    form = partial(_scalar, section="9.7.18.1.4", btype=_WORDS, cmp=_COMPARE)
    head = f"{name}.atype.btype.cmp"
    return (
        form(f"{head} d:u32, {_AB}", compare),
        form(f"{head} d:u32 selector=part, {_AB}, c:u32", compare),
        form(f"{head}.op d:u32, {_AB}, c:u32", compare, op=_SECOND),
    )


def _parallel(name: str, section: str, operands: str) -> tuple[Form, ...]:
    form = partial(_simd, section=section, dtype=_WORDS)
    head = f"{name}.dtype.atype.btype"
    return form(f"{head}{{.sat}} {operands}", parallel, repeats="sat"), form(f"{head}.add {operands}", parallel)


FORMS = (
    *(form for name in ("vadd", "vsub", "vabsdiff", "vmin", "vmax") for form in _arithmetic(name)),
    *(form for name in ("vshl", "vshr") for form in _shift(name)),
    *_multiply(),
    *_compare("vset"),
    *(
        form
        for name in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax")
        for form in _parallel(f"{name}2", "9.7.18.2.1", _TWO)
    ),
    _simd(f"vset2.atype.btype.cmp{{.add}} {_TWO_SET}", parallel_compare, section="9.7.18.2.2", cmp=_COMPARE),
    *(
        form
        for name in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax")
        for form in _parallel(f"{name}4", "9.7.18.2.3", _FOUR)
    ),
    _simd(f"vset4.atype.btype.cmp{{.add}} {_FOUR_SET}", parallel_compare, section="9.7.18.2.4", cmp=_COMPARE),
)

DIFFERENCES = (
    Difference(
        "9.7.18.1.3",
        "`vmad.po` takes two negated factors, whose product is none.",
        "With `.po` no operand is negated.",
    ),
    Difference(
        "9.7.18.1.1",
        "Scalar instructions may have `c` without saying what becomes of it: neither a second operation nor a selector "
        "of `d`. So does the checker, in both modes.",
        "With `c` there is either a second operation or a selector of `d`.",
        checked=False,
    ),
    Difference(
        "9.7.18.1.1",
        "The selector `.b01` of `d` and `c` is taken for none. The checker rejects it.",
        "`.b0` to `.b3`, `.h0` and `.h1` can be selected, and nothing of `c`.",
        checked=False,
    ),
    Difference(
        "9.7.18",
        "Components of vectors (`v.x`) and addresses (`v+4`) stand for no operand: instructions that the target lacks "
        "are expanded while they are read, and the expansion does not take them. The checker takes them.",
        "Operands are as for other instructions.",
        checked=False,
    ),
    Difference(
        "9.7.18.2",
        "The operands of the instructions on two halves and four bytes are registers.",
        "Constants are not excluded.",
    ),
)

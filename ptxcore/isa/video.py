"""Video instructions: arithmetic on bytes and halves of registers (PTX ISA 9.0, section 9.7.18)."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form

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
        form(f"{head} d, {_AB}"),
        form(f"{head} {_MERGED}, {_AB}, c"),
        form(f"{head}.op d, {_AB}, c", op=_SECOND),
    )


def _shift(name: str) -> tuple[Form, ...]:
    form = partial(_scalar, section="9.7.18.1.2", dtype=_WORDS, mode="clamp wrap", repeats="sat")
    head = f"{name}.dtype.atype.u32{{.sat}}.mode"
    return (
        form(f"{head} d, {_AB}"),
        form(f"{head} {_MERGED}, {_AB}, c"),
        form(f"{head}.op d, {_AB}, c", op=_SECOND),
    )


def _multiply() -> tuple[Form, ...]:
    form = partial(_scalar, section="9.7.18.1.3", dtype=_WORDS, btype=_WORDS, repeats="sat", scale="shr7 shr15")
    head = "vmad.dtype.atype.btype{.sat}{.scale}"
    # Only the product or `c` may be negative, and the product of two negative factors is not.
    return (
        form(f"{head} d, a:negative selector=part, b:negative selector=part, c"),
        form(f"{head} d, {_AB}, c:negated"),
        form(f"{head} d, a:negated selector=part, b:negated selector=part, c:negated"),
        form(f"{head}.po d, {_AB}, c"),
        form(f"{head}.po d, a:negated selector=part, b:negated selector=part, c", only="ptxas"),
    )


def _compare(name: str) -> tuple[Form, ...]:
    form = partial(_scalar, section="9.7.18.1.4", btype=_WORDS, cmp=_COMPARE)
    head = f"{name}.atype.btype.cmp"
    return (
        form(f"{head} d:u32, {_AB}"),
        form(f"{head} d:u32 selector=part, {_AB}, c:u32"),
        form(f"{head}.op d:u32, {_AB}, c:u32", op=_SECOND),
    )


def _parallel(name: str, section: str, operands: str) -> tuple[Form, ...]:
    form = partial(_simd, section=section, dtype=_WORDS)
    head = f"{name}.dtype.atype.btype"
    return form(f"{head}{{.sat}} {operands}", repeats="sat"), form(f"{head}.add {operands}")


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
    _simd(f"vset2.atype.btype.cmp{{.add}} {_TWO_SET}", section="9.7.18.2.2", cmp=_COMPARE),
    *(
        form
        for name in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax")
        for form in _parallel(f"{name}4", "9.7.18.2.3", _FOUR)
    ),
    _simd(f"vset4.atype.btype.cmp{{.add}} {_FOUR_SET}", section="9.7.18.2.4", cmp=_COMPARE),
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

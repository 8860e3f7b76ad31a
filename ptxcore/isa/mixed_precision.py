"""Mixed precision floating-point arithmetic (PTX ISA 9.0, section 9.7.5): singles from products and sums of halves."""

from __future__ import annotations

from functools import partial
from typing import Any

from ptxcore.isa.difference import Difference
from ptxcore.isa.float_modifiers import modified, rounding
from ptxcore.isa.form import Form, Use
from ptxcore.values.floats import fadd, fconvert, ffma, fsub
from ptxcore.values.terms import Value


def convert(how: Use, a: Value) -> Value:
    """The operand of half precision as a single, which has every value of it"""
    return fconvert(how.words["atype"], "f32", a)


def add(how: Use, a: Value, c: Value) -> Value:
    """d = convert(a) + c"""
    return modified(how, "f32", fadd("f32", convert(how, a), c, rounding(how)))


def sub(how: Use, a: Value, c: Value) -> Value:
    """d = convert(a) - c"""
    return modified(how, "f32", fsub("f32", convert(how, a), c, rounding(how)))


def fma(how: Use, a: Value, b: Value, c: Value) -> Value:
    """d = convert(a) * convert(b) + c, rounded once"""
    return modified(how, "f32", ffma("f32", convert(how, a), convert(how, b), c, rounding(how)))


_form = partial(Form, version="8.6", target="sm_100", rnd="rn rz rm rp", repeats="sat")


def _forms(head: str, run: Any, halves: str, section: str) -> tuple[Form, ...]:
    """One instruction for each type that `halves`, the operands of half precision, can have. ptxas takes integers of
    16 bits for `.bf16`."""

    def line(of: str) -> str:
        return f"{head}.atype d, {', '.join(f'{name}:{of}' for name in halves.split())}, c:f32"

    return (
        _form(line("atype"), run, section=section, atype="f16"),
        _form(line("u16"), run, section=section, atype="bf16", only="ptxas"),
        _form(line("atype"), run, section=section, atype="bf16", only="manual"),
    )


FORMS = (
    *_forms("add{.rnd}{.sat}.f32", add, "a", "9.7.5.1"),
    *_forms("sub{.rnd}{.sat}.f32", sub, "a", "9.7.5.2"),
    *_forms("fma.rnd{.sat}.f32", fma, "a b", "9.7.5.3"),
)

DIFFERENCES = (
    Difference(
        "9.7.5",
        "A `.bf16` operand may be an integer constant, or a register of 16 bits of any integer type.",
        "It is a `.b16` register.",
    ),
)

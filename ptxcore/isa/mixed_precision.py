"""Mixed precision floating-point arithmetic (PTX ISA 9.0, section 9.7.5): singles from products and sums of halves."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form

_form = partial(Form, version="8.6", target="sm_100", rnd="rn rz rm rp", repeats="sat")


def _forms(head: str, halves: str, section: str) -> tuple[Form, ...]:
    """One instruction for each type that `halves`, the operands of half precision, can have. ptxas takes integers of
    16 bits for `.bf16`."""

    def line(of: str) -> str:
        return f"{head}.atype d, {', '.join(f'{name}:{of}' for name in halves.split())}, c:f32"

    return (
        _form(line("atype"), section=section, atype="f16"),
        _form(line("u16"), section=section, atype="bf16", only="ptxas"),
        _form(line("atype"), section=section, atype="bf16", only="manual"),
    )


FORMS = (
    *_forms("add{.rnd}{.sat}.f32", "a", "9.7.5.1"),
    *_forms("sub{.rnd}{.sat}.f32", "a", "9.7.5.2"),
    *_forms("fma.rnd{.sat}.f32", "a b", "9.7.5.3"),
)

DIFFERENCES = (
    Difference(
        "9.7.5",
        "A `.bf16` operand may be an integer constant, or a register of 16 bits of any integer type.",
        "It is a `.b16` register.",
    ),
)

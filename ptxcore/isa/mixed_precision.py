"""Mixed precision floating-point arithmetic (PTX ISA 9.0, section 9.7.5): singles from products and sums of halves."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.form import Form

_form = partial(Form, version="8.6", target="sm_100", rnd="rn rz rm rp", repeats="sat")

FORMS = (
    _form("add{.rnd}{.sat}.f32.atype d:f32, a, c:f32", section="9.7.5.1", atype="f16 bf16"),
    _form("sub{.rnd}{.sat}.f32.atype d:f32, a, c:f32", section="9.7.5.2", atype="f16 bf16"),
    _form("fma.rnd{.sat}.f32.abtype d:f32, a:abtype, b:abtype, c:f32", section="9.7.5.3", abtype="f16 bf16"),
)

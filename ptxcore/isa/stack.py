"""Stack manipulation (PTX ISA 9.0, section 9.7.17)."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.form import Form

_stack = partial(Form, version="7.3", target="sm_52", type="u32 u64")

FORMS = (
    _stack("stacksave.type d", section="9.7.17.1"),
    _stack("stackrestore.type a:reg", section="9.7.17.2"),
    _stack("alloca.type d, a, b:power_of_two imm?", section="9.7.17.3"),
)

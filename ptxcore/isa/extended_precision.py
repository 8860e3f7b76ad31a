"""Extended-precision integer arithmetic: instructions that read or write the carry flag (PTX ISA 9.0, section 9.7.2)."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.form import Form

_CARRIES = "u32 s32 u64 s64"
#: Instructions that leave the carry flag as it is take 16 bits and `.sat` too; the manual has neither.
_SHORT = "u16 s16"
_WIDE = {"u64 s64": "4.3 sm_20"}

_carry = partial(Form, repeats="cc", needs=_WIDE, type=_CARRIES)
_read = partial(Form, version="1.2")
_product = partial(Form, part="lo hi", version="3.0", target="sm_20", first="part")

FORMS = (
    _carry("add.cc.type d, a, b", section="9.7.2.1", version="1.2"),
    _read("addc.type d, a, b", section="9.7.2.2", type=_CARRIES),
    _read("addc.type d, a, b", section="9.7.2.2", type=_SHORT, only="ptxas"),
    _read("addc.sat.s32 d, a, b", section="9.7.2.2", repeats="sat", only="ptxas"),
    _carry("addc.cc.type d, a, b", section="9.7.2.2", version="1.2"),
    _carry("sub.cc.type d, a, b", section="9.7.2.3", version="1.3"),
    _read("subc.type d, a, b", section="9.7.2.4", version="1.3", type=_CARRIES),
    _read("subc.type d, a, b", section="9.7.2.4", version="1.3", type=_SHORT, only="ptxas"),
    _read("subc.sat.s32 d, a, b", section="9.7.2.4", version="1.3", repeats="sat", only="ptxas"),
    _carry("subc.cc.type d, a, b", section="9.7.2.4", version="1.3"),
    _product("mad.part.cc.type d, a, b, c", section="9.7.2.5", type=_CARRIES, needs=_WIDE, repeats="cc"),
    _product("madc.part.type d, a, b, c", section="9.7.2.6", type=_CARRIES),
    _product("madc.part.type d, a, b, c", section="9.7.2.6", type=_SHORT, only="ptxas"),
    Form(
        "madc.part.sat.s32 d, a, b, c",
        section="9.7.2.6",
        version="3.0",
        target="sm_20",
        part="hi",
        first="part",
        repeats="sat",
        only="ptxas",
    ),
    _product("madc.part.cc.type d, a, b, c", section="9.7.2.6", type=_CARRIES, needs=_WIDE, repeats="cc"),
)

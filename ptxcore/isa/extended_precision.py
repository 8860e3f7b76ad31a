"""Extended-precision integer arithmetic: instructions that read or write the carry flag (PTX ISA 9.0, section 9.7.2)."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.form import Form

_CARRIES = "u32 s32 u64 s64"
#: Forms that leave the carry flag alone take 16 bits too, which the manual does not have.
_READS = f"{_CARRIES} u16 s16"
_WIDE = {"u64 s64": "4.3 sm_20"}

_carry = partial(Form, repeats="cc", needs=_WIDE, type=_CARRIES, first="cc")
_read = partial(Form, type=_READS)
_product = partial(Form, part="lo hi", version="3.0", target="sm_20", first="part")

FORMS = (
    _carry("add.cc.type d, a, b", section="9.7.2.1", version="1.2"),
    _read("addc.type d, a, b", section="9.7.2.2", version="1.2"),
    _carry("addc.cc.type d, a, b", section="9.7.2.2", version="1.2"),
    _carry("sub.cc.type d, a, b", section="9.7.2.3", version="1.3"),
    _read("subc.type d, a, b", section="9.7.2.4", version="1.3"),
    _carry("subc.cc.type d, a, b", section="9.7.2.4", version="1.3"),
    _product("mad.part.cc.type d, a, b, c", section="9.7.2.5", type=_CARRIES, needs=_WIDE),
    _product("madc.part.type d, a, b, c", section="9.7.2.6", type=_READS),
    _product("madc.part.cc.type d, a, b, c", section="9.7.2.6", type=_CARRIES, needs=_WIDE),
)

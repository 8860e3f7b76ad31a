"""Extended-precision integer arithmetic: instructions that read or write the carry flag (PTX ISA 9.0, section 9.7.2)."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form

_CARRIES = "u32 s32 u64 s64"
#: Instructions that leave the carry flag as it is take 16 bits and `.sat` too; the manual has neither.
_SHORT = "u16 s16"
_WIDE = {"u64 s64": "4.3 sm_20"}

#: Where ptxas asks for nothing, the manual asks for the same of the forms without `.cc`.
_MANUAL = _WIDE

_carry = partial(Form, repeats="cc", needs=_WIDE, type=_CARRIES)
_read = partial(Form, version="1.2")
_product = partial(Form, part="lo hi", version="3.0", target="sm_20", first="part")

FORMS = (
    _carry("add.cc.type d, a, b", section="9.7.2.1", version="1.2"),
    _read("addc.type d, a, b", section="9.7.2.2", type=_CARRIES, manual=_MANUAL),
    _read("addc.type d, a, b", section="9.7.2.2", type=_SHORT, only="ptxas"),
    _read("addc.sat.s32 d, a, b", section="9.7.2.2", repeats="sat", only="ptxas"),
    _carry("addc.cc.type d, a, b", section="9.7.2.2", version="1.2"),
    _carry("sub.cc.type d, a, b", section="9.7.2.3", version="1.3", manual={"": "1.2"}),
    _read("subc.type d, a, b", section="9.7.2.4", version="1.3", type=_CARRIES, manual={"": "1.2", **_MANUAL}),
    _read("subc.type d, a, b", section="9.7.2.4", version="1.3", type=_SHORT, only="ptxas"),
    _read("subc.sat.s32 d, a, b", section="9.7.2.4", version="1.3", repeats="sat", only="ptxas"),
    _carry("subc.cc.type d, a, b", section="9.7.2.4", version="1.3", manual={"": "1.2"}),
    _product("mad.part.cc.type d, a, b, c", section="9.7.2.5", type=_CARRIES, needs=_WIDE, repeats="cc"),
    _product("madc.part.type d, a, b, c", section="9.7.2.6", type=_CARRIES, manual=_MANUAL),
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

DIFFERENCES = (
    Difference(
        "9.7.2.2",
        "`addc`, `subc` and `madc` without `.cc` take 64-bit types as early as 32-bit ones.",
        "Their 64-bit types came with PTX ISA 4.3 and need sm_20.",
    ),
    Difference(
        "9.7.2.2",
        "`addc`, `subc` and `madc` without `.cc` take 16-bit types; `addc.s32`, `subc.s32` and `madc.hi.s32` take `.sat`.",
        "Types have 32 or 64 bits, and there is no saturation.",
    ),
    Difference(
        "9.7.2.3",
        "`sub.cc` and `subc` are known from PTX ISA 1.3 on.",
        "They came with PTX ISA 1.2.",
    ),
    Difference(
        "9.7.2.5",
        "`mad.cc` and `madc` need `.lo` or `.hi`. So does the checker, in both modes.",
        "The syntax puts `.hi` and `.lo` into braces, as if they could be left out.",
        checked=False,
    ),
)

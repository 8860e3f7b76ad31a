"""Control flow (PTX ISA 9.0, section 9.7.12) and waiting instructions without effect."""

from __future__ import annotations

from ptxcore.isa.form import Form, Slot, Use
from ptxcore.values.terms import Value


def bra(how: Use) -> Value:
    """goto label"""
    return 1


def nothing(how: Use, *sources: Value) -> None:
    """No effect that a program could observe."""


_UNI = (Slot("uni", ("uni",)),)

FORMS = (
    Form("bra", "label:label", bra, slots=_UNI, kind="branch", section="9.7.12.3"),
    Form("ret", "", nothing, slots=_UNI, kind="exit", section="9.7.12.6"),
    Form("exit", "", nothing, kind="exit", section="9.7.12.7"),
    Form("nanosleep", "a:u32", nothing, types=(("u32",),), kind="nothing", section="9.7.19.2", version="6.3",
         target="sm_70"),
    Form("nop", "", nothing, kind="nothing"),
)  # fmt: skip

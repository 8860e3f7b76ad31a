"""Control flow (PTX ISA 9.0, section 9.7.12)."""

from __future__ import annotations

from ptxcore.isa.form import Form, Use
from ptxcore.values.terms import Value


def bra(how: Use) -> Value:
    """goto label"""
    return 1


def nothing(how: Use, *sources: Value) -> None:
    """No effect that a program could observe."""


FORMS = (
    Form("bra{.uni} label:label", bra, kind="branch", section="9.7.12.3"),
    Form("brx.idx{.uni} index:u32, tlist:targets", section="9.7.12.4", version="6.0", target="sm_30", first="idx"),
    Form("call{.uni} function:function", section="9.7.12.5"),
    Form("ret{.uni}", nothing, kind="exit", section="9.7.12.6"),
    Form("exit", nothing, kind="exit", section="9.7.12.7"),
    Form("nop", nothing, kind="nothing", section="9.7.12"),
)

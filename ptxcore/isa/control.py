"""Control flow (PTX ISA 9.0, section 9.7.12)."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.values.terms import Value


def bra(how: Use) -> Value:
    """goto label"""
    return 1


def nothing(how: Use, *sources: Value) -> None:
    """No effect that a program could observe."""


_call = partial(Form, kind="call", section="9.7.12.5", repeats="uni")
_through = partial(_call, version="2.1", target="sm_20")

#: An address of a function, and what is known of the functions that it may be: see `ptxcore.check.operands`.
_POINTERS = ("fptr:u64 reg", "fptr:u32 reg")

FORMS = (
    Form("bra{.uni} label:label", bra, kind="branch", section="9.7.12.3", repeats="uni"),
    Form("brx.idx{.uni} index:u32, tlist:targets", kind="jump", section="9.7.12.4", version="6.0", target="sm_30", first="idx",
         repeats="uni"),
    _call("call{.uni} results:results, func:function, arguments:arguments"),
    _call("call{.uni} func:function, arguments:arguments"),
    _call("call{.uni} func:function"),
    _call("call{.uni} results:results, func:function", only="ptxas"),
    *(
        form
        for fptr in _POINTERS
        for form in (
            _through(f"call{{.uni}} results:results, {fptr}, arguments:arguments, fproto:prototype"),
            _through(f"call{{.uni}} {fptr}, arguments:arguments, fproto:prototype"),
            _through(f"call{{.uni}} {fptr}, fproto:prototype"),
            _through(f"call{{.uni}} results:results, {fptr}, fproto:prototype", only="ptxas"),
        )
    ),
    Form("ret{.uni}", nothing, kind="exit", section="9.7.12.6", repeats="uni"),
    Form("exit", nothing, kind="exit", section="9.7.12.7"),
)  # fmt: skip

DIFFERENCES = (
    Difference(
        "9.7.12.5",
        "A call with results may leave out the empty list of arguments: `call (r), f`.",
        "Where results are listed, arguments are too.",
    ),
)

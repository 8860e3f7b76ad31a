"""Floating-point arithmetic (PTX ISA 9.0, section 9.7.3).

ptxas takes doubles on targets before sm_13, and makes singles of them; the manual's gates for them are in `manual`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form

ROUNDINGS = "rn rz rm rp"

_FTZ = {"ftz": "1.4"}
_DOUBLES = {"f64": "sm_13"}
_DIRECTED = {"rm rp": "sm_20"}
_DIRECTED_DOUBLES = {"rm rp": "sm_13"}
_PAIRS: dict[str, Any] = {"version": "8.6", "target": "sm_100"}

#: Before PTX ISA 1.4 there was one way to compute these, and no modifier to say which.
_UNSAID: dict[str, Any] = {"until": "1.4"}

_single = partial(Form, needs=_FTZ, repeats="sat approx NaN")
_double = partial(Form, manual=_DOUBLES)


def _arithmetic(name: str, section: str) -> tuple[Form, ...]:
    """`add`, `sub` and `mul`."""
    return (
        _single(f"{name}{{.rnd}}{{.ftz}}{{.sat}}.f32 d, a, b", section=section, rnd=ROUNDINGS,
                needs={**_FTZ, **_DIRECTED}),
        _single(f"{name}{{.rnd}}{{.ftz}}.f32x2 d, a, b", section=section, rnd=ROUNDINGS, **_PAIRS),
        _double(f"{name}{{.rnd}}.f64 d, a, b", section=section, rnd=ROUNDINGS, needs=_DIRECTED_DOUBLES),
    )  # fmt: skip


def _extremum(name: str, section: str) -> tuple[Form, ...]:
    """`min` and `max`."""
    return (
        _single(f"{name}{{.ftz}}{{.NaN}}{{.xorsign}}{{.abs}}.f32 d, a, b", section=section,
                rules=("xorsign -> abs", "abs -> xorsign # '.abs' alone goes with three values only"),
                needs={**_FTZ, "NaN": "7.0 sm_80", "xorsign": "7.2 sm_86"}),
        _single(f"{name}{{.ftz}}{{.NaN}}{{.abs}}.f32 d, a, b, c", section=section, version="8.8", target="sm_100"),
        _double(f"{name}.f64 d, a, b", section=section),
    )  # fmt: skip


def _approximate(name: str, section: str) -> tuple[Form, ...]:
    """Functions of singles that are approximate only."""
    return (
        _single(f"{name}.approx{{.ftz}}.f32 d, a", section=section, version="1.4"),
        _single(f"{name}.f32 d, a", section=section, **_UNSAID),
    )


_fma = partial(_single, section="9.7.3.6", rnd=ROUNDINGS)
_mad = partial(Form, section="9.7.3.7", rnd=ROUNDINGS)
_old_mad = partial(Form, section="9.7.3.7", until="3.2 sm_20", needs=_FTZ, repeats="sat")
_div = partial(Form, section="9.7.3.8", repeats="approx", first="full")
_abs = partial(Form, section="9.7.3.9")
_neg = partial(Form, section="9.7.3.10")
_rcp = partial(Form, section="9.7.3.13", repeats="approx")
_sqrt = partial(Form, section="9.7.3.15", repeats="approx")
_rsqrt = partial(Form, section="9.7.3.16", repeats="approx")

#: Rounded division and roots of doubles.
_ROUNDED: dict[str, Any] = {"rnd": ROUNDINGS, "needs": {"rz rm rp": "sm_20"}, "manual": {**_DOUBLES, "rnd": "1.4"}}

FORMS = (
    Form(
        "testp.op.type p, a",
        section="9.7.3.1",
        version="2.0",
        target="sm_20",
        type="f32 f64",
        op="finite infinite number notanumber normal subnormal",
    ),
    Form("testp.type p, a", section="9.7.3.1", version="2.0", target="sm_20", type="f32 f64", only="ptxas"),
    Form("copysign.type d, a, b", section="9.7.3.2", version="2.0", target="sm_20", type="f32 f64"),
    *_arithmetic("add", "9.7.3.3"),
    *_arithmetic("sub", "9.7.3.4"),
    *_arithmetic("mul", "9.7.3.5"),
    _fma("fma.rnd{.ftz}{.sat}.f32 d, a, b, c", version="2.0", target="sm_20"),
    _fma("fma.rnd{.ftz}.f32x2 d, a, b, c", **_PAIRS),
    _fma("fma.rnd.f64 d, a, b, c", version="1.4", needs=_DIRECTED_DOUBLES, manual=_DOUBLES),
    _old_mad("mad{.ftz}{.sat}.f32 d, a, b, c"),
    _mad("mad.rnd{.ftz}{.sat}.f32 d, a, b, c", version="2.0", target="sm_20", repeats="sat"),
    _mad("mad.rnd.f64 d, a, b, c", needs=_DIRECTED_DOUBLES, manual=_DOUBLES),
    Form("mad.f64 d, a, b, c", section="9.7.3.7", until="1.4", manual=_DOUBLES),
    _div("div.approx{.ftz}.f32 d, a, b", version="1.4"),
    _div("div.full{.ftz}.f32 d, a, b", version="1.4"),
    _div("div.rnd{.ftz}.f32 d, a, b", version="1.4", target="sm_20", rnd=ROUNDINGS),
    _div("div.rnd.f64 d, a, b", **_ROUNDED),
    _div("div.type d, a, b", until="1.4", type="f32 f64", manual=_DOUBLES),
    _abs("abs{.ftz}.f32 d, a", needs=_FTZ),
    _abs("abs.f64 d, a", manual=_DOUBLES),
    _neg("neg{.ftz}.f32 d, a", needs=_FTZ),
    _neg("neg.f64 d, a", manual=_DOUBLES),
    *_extremum("min", "9.7.3.11"),
    *_extremum("max", "9.7.3.12"),
    _rcp("rcp.approx{.ftz}.f32 d, a", version="1.4"),
    _rcp("rcp.rnd{.ftz}.f32 d, a", version="1.4", target="sm_20", rnd=ROUNDINGS),
    _rcp("rcp.rnd{.ftz}.f64 d, a", version="1.4", **_ROUNDED, rules=("manual:ftz -> never",)),
    _rcp("rcp.f32 d, a", until="1.4"),
    _rcp("rcp.f64 d, a", until="1.4", only="manual", manual=_DOUBLES),
    _rcp("rcp.approx.ftz.f64 d, a", section="9.7.3.14", version="2.1", target="sm_20"),
    _sqrt("sqrt.approx{.ftz}.f32 d, a", version="1.4"),
    _sqrt("sqrt.rnd{.ftz}.f32 d, a", version="1.4", target="sm_20", rnd=ROUNDINGS),
    _sqrt("sqrt.rnd.f64 d, a", **_ROUNDED),
    _sqrt("sqrt.type d, a", until="1.4", type="f32 f64", manual=_DOUBLES),
    _rsqrt("rsqrt.approx{.ftz}.f32 d, a", version="1.4"),
    _rsqrt("rsqrt.approx.f64 d, a", version="1.4", manual=_DOUBLES),
    _rsqrt("rsqrt.type d, a", until="1.4", type="f32 f64", manual=_DOUBLES),
    _rsqrt("rsqrt.approx.ftz.f64 d, a", section="9.7.3.17", version="4.0", target="sm_20"),
    *_approximate("sin", "9.7.3.18"),
    *_approximate("cos", "9.7.3.19"),
    *_approximate("lg2", "9.7.3.20"),
    *_approximate("ex2", "9.7.3.21"),
    Form("tanh.approx.f32 d, a", section="9.7.3.22", version="7.0", target="sm_75", repeats="approx"),
)

DIFFERENCES = (
    Difference(
        "9.7.3",
        "Doubles are computed with on targets before sm_13, too.",
        "`.f64` needs sm_13, or `.target map_f64_to_f32`.",
    ),
    Difference(
        "9.7.3.1",
        "`testp` may stand without saying what to test for.",
        "One of `.finite .infinite .number .notanumber .normal .subnormal` must be there.",
    ),
    Difference(
        "9.7.3.1",
        "What `testp` tests for (`.finite` ...) may be written on any instruction, and means nothing there.",
        "Only `testp` has these modifiers; the checker keeps to that in both modes.",
        checked=False,
    ),
    Difference(
        "9.4",
        "`.pred`, `.texref`, `.samplerref` and `.surfref` may be written beside the types of an instruction that has types, "
        "and mean nothing there.",
        "An instruction has the types of its syntax; the checker keeps to that in both modes.",
        checked=False,
    ),
    Difference(
        "9.7.3.8",
        "`div.rn.f64` and `sqrt.rn.f64` are taken from PTX ISA 1.0 on.",
        "Rounding modifiers came with PTX ISA 1.4.",
    ),
    Difference(
        "9.7.3.13",
        "`.ftz` goes with `rcp.rn.f64` and the other roundings of doubles.",
        "Reciprocals of doubles have `.ftz` only in `rcp.approx.ftz.f64`.",
    ),
    Difference(
        "9.7.3.13",
        "`rcp.f64` without a modifier is refused in every version.",
        "Before PTX ISA 1.4 it means `rcp.rn.f64`.",
    ),
)

"""Floating-point arithmetic (PTX ISA 9.0, section 9.7.3).

ptxas takes doubles on targets before sm_13, and makes singles of them; the manual's gates for them are in `manual`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ptxcore.isa.difference import Difference
from ptxcore.isa.float_modifiers import computed, elementwise, rounding
from ptxcore.isa.form import Form, Use
from ptxcore.values import floats
from ptxcore.values.floats import fabs, fadd, fcompare, fdiv, ffma, fmax, fmin, fmul, fneg, fsqrt, fsub, is_nan, one
from ptxcore.values.ieee import FORMATS
from ptxcore.values.terms import Value, bit_xor, concat, conj, extract, ite, ne, negate


def testp(how: Use, a: Value) -> Value:
    """p = a has the property. Zeros are normal numbers."""
    form = how.type
    magnitude, infinity = fabs(form, a), FORMATS[form].infinity
    smallest = 1 << FORMATS[form].fraction  # of the normal numbers
    number, finite = negate(is_nan(form, a)), fcompare(form, "lt", magnitude, infinity)
    subnormal = conj(fcompare(form, "lt", magnitude, smallest), ne(magnitude, 0))
    properties = {
        "finite": finite,
        "infinite": fcompare(form, "eq", magnitude, infinity),
        "number": number,
        "notanumber": negate(number),
        "normal": conj(finite, negate(subnormal)),
        "subnormal": subnormal,
    }
    return properties[how.op]


def copysign(how: Use, a: Value, b: Value) -> Value:
    """d = b with the sign bit of a"""
    return floats.copysign(how.type, a, b)


def add(how: Use, a: Value, b: Value) -> Value:
    """d = a + b"""
    return computed(how, lambda form, x, y: fadd(form, x, y, rounding(how)), a, b)


def sub(how: Use, a: Value, b: Value) -> Value:
    """d = a - b"""
    return computed(how, lambda form, x, y: fsub(form, x, y, rounding(how)), a, b)


def mul(how: Use, a: Value, b: Value) -> Value:
    """d = a * b"""
    return computed(how, lambda form, x, y: fmul(form, x, y, rounding(how)), a, b)


def fma(how: Use, a: Value, b: Value, c: Value) -> Value:
    """d = a * b + c, rounded once. `mad` is the same; where it says no rounding, on targets that this is about hardware
    computes it as `fma.rn`, too."""
    return computed(how, lambda form, x, y, z: ffma(form, x, y, z, rounding(how)), a, b, c)


def div(how: Use, a: Value, b: Value) -> Value:
    """d = a / b. `div.full` is within its stated error of that, and here it is that."""
    return computed(how, lambda form, x, y: fdiv(form, x, y, rounding(how)), a, b)


def div_approx(how: Use, a: Value, b: Value) -> Value:
    """d = a / b. For 2**126 < |b| < 2**128, where 1 / b is subnormal, NaN if a is infinite, else a zero"""

    def divided(form: str, x: Value, y: Value) -> Value:
        size = fabs(form, y)
        large = conj(fcompare(form, "gt", size, _TWO_126), fcompare(form, "lt", size, FORMATS[form].infinity))
        return ite(large, fmul(form, x, floats.copysign(form, y, 0)), fdiv(form, x, y), FORMATS[form].width)

    return computed(how, divided, a, b)


#: 2**126 as a single.
_TWO_126 = 253 << 23


def div_unsaid(how: Use, a: Value, b: Value) -> Value:
    """d = a / b: as div.approx.ftz for singles, div.rn for doubles"""
    return div(how, a, b) if how.type == "f64" else div_approx(flushing(how), a, b)


def flushing(how: Use) -> Use:
    """The instruction as if `.ftz` were written: what PTX ISA 1.3 and earlier mean."""
    return how.with_operands({"ftz": "ftz"})


def absolute(how: Use, a: Value) -> Value:
    """d = |a|. A NaN of f64 is passed through unchanged. Of other types it keeps its payload, which the manual leaves
    open; hardware gives the canonical NaN, and for f64 clears the sign."""
    if how.type == "f64":
        return ite(is_nan("f64", a), a, fabs("f64", a), 64)
    return elementwise(how, fabs, a)


def neg(how: Use, a: Value) -> Value:
    """d = -a. A NaN has its sign turned, which the manual leaves open; hardware gives the canonical NaN."""
    return elementwise(how, fneg, a)


def minimum(how: Use, a: Value, b: Value, c: Value | None = None) -> Value:
    """d = the smallest of a, b and c, with -0.0 < +0.0; of numbers and NaN a number, with .NaN then NaN. `.abs`: of
    their absolute values; `.xorsign`: with the product of the signs of a and b, unless NaN"""
    return _extremum(how, fmin, a, b, c)


def maximum(how: Use, a: Value, b: Value, c: Value | None = None) -> Value:
    """d = the largest of a, b and c, as minimum"""
    return _extremum(how, fmax, a, b, c)


def _extremum(how: Use, choose: Callable[..., Value], a: Value, b: Value, c: Value | None) -> Value:
    nan = bool(how.words["NaN"])

    def chosen(form: str, x: Value, y: Value, *z: Value) -> Value:
        width = FORMATS[form].width
        signs = bit_xor(x, y, width)
        if how.words["abs"]:
            x, y, z = fabs(form, x), fabs(form, y), tuple(fabs(form, v) for v in z)
        d = choose(form, x, y, nan=nan)
        for v in z:
            d = choose(form, d, v, nan=nan)
        if how.words["xorsign"]:
            d = ite(is_nan(form, d), d, floats.copysign(form, signs, d), width)
        return d

    return elementwise(how, chosen, a, b, *([] if c is None else [c]))


def rcp(how: Use, a: Value) -> Value:
    """d = 1 / a. `.ftz` on doubles, which ptxas takes, does nothing."""
    if how.type == "f64":
        return fdiv("f64", one("f64"), a, rounding(how))
    return computed(how, lambda form, x: fdiv(form, one(form), x, rounding(how)), a)


def rcp_unsaid(how: Use, a: Value) -> Value:
    """d = 1 / a, as rcp.approx.ftz for singles, rcp.rn for doubles"""
    return rcp(how, a) if how.type == "f64" else rcp(flushing(how), a)


def sqrt(how: Use, a: Value) -> Value:
    """d = sqrt(a)"""
    return computed(how, lambda form, x: fsqrt(form, x, rounding(how)), a)


def sqrt_unsaid(how: Use, a: Value) -> Value:
    """d = sqrt(a), as sqrt.approx.ftz for singles, sqrt.rn for doubles"""
    return sqrt(how, a) if how.type == "f64" else sqrt(flushing(how), a)


def rsqrt(how: Use, a: Value) -> Value:
    """d = 1 / sqrt(a)"""
    return _elementary("rsqrt", how, a)


def rsqrt_unsaid(how: Use, a: Value) -> Value:
    """d = 1 / sqrt(a), as rsqrt.approx.ftz for singles, rsqrt.approx for doubles"""
    return rsqrt(how, a) if how.type == "f64" else rsqrt(flushing(how), a)


def rcp_high(how: Use, a: Value) -> Value:
    """tmp = a[63:32]; d[63:32] = 1.0 / tmp; d[31:0] = 0, in the format of a double's upper half"""
    return _on_high_half(lambda form, x: fdiv(form, one(form), x), a)


def rsqrt_high(how: Use, a: Value) -> Value:
    """tmp = a[63:32]; d[63:32] = 1.0 / sqrt(tmp); d[31:0] = 0, in the format of a double's upper half"""
    return _on_high_half(lambda form, x: floats.felementary("rsqrt", form, x), a)


def _on_high_half(operation: Callable[[str, Value], Value], a: Value) -> Value:
    form = "f64_high"
    tmp = floats.flush(form, extract(a, 63, 32))
    return concat(floats.flush(form, operation(form, tmp)), 0, 32, 32)


def sin(how: Use, a: Value) -> Value:
    """d = sin(a)"""
    return _elementary("sin", how, a)


def cos(how: Use, a: Value) -> Value:
    """d = cos(a)"""
    return _elementary("cos", how, a)


def lg2(how: Use, a: Value) -> Value:
    """d = log(a) / log(2)"""
    return _elementary("lg2", how, a)


def ex2(how: Use, a: Value) -> Value:
    """d = 2 ^ a"""
    return _elementary("ex2", how, a)


def tanh(how: Use, a: Value) -> Value:
    """d = tanh(a)"""
    return _elementary("tanh", how, a)


def _elementary(name: str, how: Use, a: Value) -> Value:
    """The number nearest to the function, which lies within the error that the manual states for its approximation."""
    return computed(how, lambda form, x: floats.felementary(name, form, x), a)


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


def _arithmetic(name: str, run: Any, section: str) -> tuple[Form, ...]:
    """`add`, `sub` and `mul`."""
    return (
        _single(f"{name}{{.rnd}}{{.ftz}}{{.sat}}.f32 d, a, b", run, section=section, rnd=ROUNDINGS,
                needs={**_FTZ, **_DIRECTED}),
        _single(f"{name}{{.rnd}}{{.ftz}}.f32x2 d, a, b", run, section=section, rnd=ROUNDINGS, **_PAIRS),
        _double(f"{name}{{.rnd}}.f64 d, a, b", run, section=section, rnd=ROUNDINGS, needs=_DIRECTED_DOUBLES),
    )  # fmt: skip


def _extrema(name: str, run: Any, section: str) -> tuple[Form, ...]:
    """`min` and `max`."""
    return (
        _single(f"{name}{{.ftz}}{{.NaN}}{{.xorsign}}{{.abs}}.f32 d, a, b", run, section=section,
                rules=("xorsign -> abs", "abs -> xorsign # '.abs' alone goes with three values only"),
                needs={**_FTZ, "NaN": "7.0 sm_80", "xorsign": "7.2 sm_86"}),
        _single(f"{name}{{.ftz}}{{.NaN}}{{.abs}}.f32 d, a, b, c", run, section=section, version="8.8", target="sm_100"),
        _double(f"{name}.f64 d, a, b", run, section=section),
    )  # fmt: skip


def _approximate(name: str, run: Any, section: str) -> tuple[Form, ...]:
    """Functions of singles that are approximate only."""
    return (
        _single(f"{name}.approx{{.ftz}}.f32 d, a", run, section=section, version="1.4"),
        _single(f"{name}.f32 d, a", lambda how, a: run(flushing(how), a), section=section, **_UNSAID),
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
        testp,
        section="9.7.3.1",
        version="2.0",
        target="sm_20",
        type="f32 f64",
        op="finite infinite number notanumber normal subnormal",
    ),
    Form("testp.type p, a", section="9.7.3.1", version="2.0", target="sm_20", type="f32 f64", only="ptxas"),
    Form("copysign.type d, a, b", copysign, section="9.7.3.2", version="2.0", target="sm_20", type="f32 f64"),
    *_arithmetic("add", add, "9.7.3.3"),
    *_arithmetic("sub", sub, "9.7.3.4"),
    *_arithmetic("mul", mul, "9.7.3.5"),
    _fma("fma.rnd{.ftz}{.sat}.f32 d, a, b, c", fma, version="2.0", target="sm_20"),
    _fma("fma.rnd{.ftz}.f32x2 d, a, b, c", fma, **_PAIRS),
    _fma("fma.rnd.f64 d, a, b, c", fma, version="1.4", needs=_DIRECTED_DOUBLES, manual=_DOUBLES),
    _old_mad("mad{.ftz}{.sat}.f32 d, a, b, c", fma),
    _mad("mad.rnd{.ftz}{.sat}.f32 d, a, b, c", fma, version="2.0", target="sm_20", repeats="sat"),
    _mad("mad.rnd.f64 d, a, b, c", fma, needs=_DIRECTED_DOUBLES, manual=_DOUBLES),
    Form("mad.f64 d, a, b, c", fma, section="9.7.3.7", until="1.4", manual=_DOUBLES),
    _div("div.approx{.ftz}.f32 d, a, b", div_approx, version="1.4"),
    _div("div.full{.ftz}.f32 d, a, b", div, version="1.4"),
    _div("div.rnd{.ftz}.f32 d, a, b", div, version="1.4", target="sm_20", rnd=ROUNDINGS),
    _div("div.rnd.f64 d, a, b", div, **_ROUNDED),
    _div("div.type d, a, b", div_unsaid, until="1.4", type="f32 f64", manual=_DOUBLES),
    _abs("abs{.ftz}.f32 d, a", absolute, needs=_FTZ),
    _abs("abs.f64 d, a", absolute, manual=_DOUBLES),
    _neg("neg{.ftz}.f32 d, a", neg, needs=_FTZ),
    _neg("neg.f64 d, a", neg, manual=_DOUBLES),
    *_extrema("min", minimum, "9.7.3.11"),
    *_extrema("max", maximum, "9.7.3.12"),
    _rcp("rcp.approx{.ftz}.f32 d, a", rcp, version="1.4"),
    _rcp("rcp.rnd{.ftz}.f32 d, a", rcp, version="1.4", target="sm_20", rnd=ROUNDINGS),
    _rcp("rcp.rnd{.ftz}.f64 d, a", rcp, version="1.4", **_ROUNDED, rules=("manual:ftz -> never",)),
    _rcp("rcp.f32 d, a", rcp_unsaid, until="1.4"),
    _rcp("rcp.f64 d, a", rcp_unsaid, until="1.4", only="manual", manual=_DOUBLES),
    _rcp("rcp.approx.ftz.f64 d, a", rcp_high, section="9.7.3.14", version="2.1", target="sm_20"),
    _sqrt("sqrt.approx{.ftz}.f32 d, a", sqrt, version="1.4"),
    _sqrt("sqrt.rnd{.ftz}.f32 d, a", sqrt, version="1.4", target="sm_20", rnd=ROUNDINGS),
    _sqrt("sqrt.rnd.f64 d, a", sqrt, **_ROUNDED),
    _sqrt("sqrt.type d, a", sqrt_unsaid, until="1.4", type="f32 f64", manual=_DOUBLES),
    _rsqrt("rsqrt.approx{.ftz}.f32 d, a", rsqrt, version="1.4"),
    _rsqrt("rsqrt.approx.f64 d, a", rsqrt, version="1.4", manual=_DOUBLES),
    _rsqrt("rsqrt.type d, a", rsqrt_unsaid, until="1.4", type="f32 f64", manual=_DOUBLES),
    _rsqrt("rsqrt.approx.ftz.f64 d, a", rsqrt_high, section="9.7.3.17", version="4.0", target="sm_20"),
    *_approximate("sin", sin, "9.7.3.18"),
    *_approximate("cos", cos, "9.7.3.19"),
    *_approximate("lg2", lg2, "9.7.3.20"),
    *_approximate("ex2", ex2, "9.7.3.21"),
    Form("tanh.approx.f32 d, a", tanh, section="9.7.3.22", version="7.0", target="sm_75", repeats="approx"),
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
        "What `testp` tests for (`.finite` ...) may be written on any instruction, and means nothing there. The checker "
        "refuses it.",
        "Only `testp` has these modifiers.",
        checked=False,
    ),
    Difference(
        "9.4",
        "`.pred`, `.texref`, `.samplerref` and `.surfref` may be written beside the types of an instruction that has "
        "types, and mean nothing there. The checker refuses them.",
        "An instruction has the types of its syntax.",
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

"""Half precision floating-point arithmetic (PTX ISA 9.0, section 9.7.4): `.f16`, `.bf16` and pairs of them."""

from __future__ import annotations

from functools import partial
from typing import Any

from ptxcore.isa.difference import Difference
from ptxcore.isa.float_modifiers import elementwise, modified, rounding
from ptxcore.isa.floating_point import absolute, add, ex2, fma, maximum, minimum, mul, neg, sub, tanh
from ptxcore.isa.form import Form, Use
from ptxcore.values.floats import ffma
from ptxcore.values.ieee import FORMATS
from ptxcore.values.terms import Value, any_of, eq, ite

#: The NaN that tensor copies fill in for elements out of bounds (section 5.5.3.3). The manual does not say its bits; these
#: are what hardware writes.
OOB_NAN = 0x7FF7


def fma_oob(how: Use, a: Value, b: Value, c: Value) -> Value:
    """d = a * b + c, of each element; +0.0 where an operand is the NaN of elements out of bounds"""

    def fused(form: str, x: Value, y: Value, z: Value) -> Value:
        outside = any_of(eq(v, OOB_NAN) for v in (x, y, z))
        d = modified(how, form, ffma(form, x, y, z, rounding(how)))
        return ite(outside, 0, d, FORMATS[form].width)

    return elementwise(how, fused, a, b, c)


_HALF: dict[str, Any] = {"version": "4.2", "target": "sm_53", "type": "f16 f16x2"}
_BFLOAT: dict[str, Any] = {"version": "7.8", "target": "sm_90", "type": "bf16 bf16x2"}
_AMPERE: dict[str, Any] = {"version": "7.0", "target": "sm_80"}

_form = partial(Form, repeats="sat relu NaN approx")


def _arithmetic(name: str, run: Any, section: str) -> tuple[Form, ...]:
    """`add`, `sub` and `mul`."""
    return (
        _form(f"{name}{{.rnd}}{{.ftz}}{{.sat}}.type d, a, b", run, section=section, rnd="rn", **_HALF),
        _form(f"{name}{{.rnd}}.type d, a, b", run, section=section, rnd="rn", **_BFLOAT),
    )


def _sign(name: str, run: Any, section: str, version: str) -> tuple[Form, ...]:
    """`neg` and `abs`."""
    return (
        _form(f"{name}{{.ftz}}.type d, a", run, section=section, version=version, target="sm_53", type="f16 f16x2"),
        _form(f"{name}.type d, a", run, section=section, **_AMPERE, type="bf16 bf16x2"),
    )


def _extremum(name: str, run: Any, section: str) -> tuple[Form, ...]:
    """`min` and `max`."""
    both = partial(
        _form, section=section, **_AMPERE, rules=("xorsign -> abs", "abs -> xorsign"), needs={"xorsign": "7.2 sm_86"}
    )
    return (
        both(f"{name}{{.ftz}}{{.NaN}}{{.xorsign}}{{.abs}}.type d, a, b", run, type="f16 f16x2"),
        both(f"{name}{{.NaN}}{{.xorsign}}{{.abs}}.type d, a, b", run, type="bf16 bf16x2"),
    )


#: `fma` of bfloat16: ptxas rounds in every way.
_ROUNDED: dict[str, Any] = {"rnd": "rn rz rm rp", "rules": ("manual:rnd -> rn",)}

_fma = partial(_form, section="9.7.4.4")
_out_of_bounds = partial(_fma, version="8.1", target="sm_90")

FORMS = (
    *_arithmetic("add", add, "9.7.4.1"),
    *_arithmetic("sub", sub, "9.7.4.2"),
    *_arithmetic("mul", mul, "9.7.4.3"),
    _fma("fma.rn{.ftz}{.sat}.type d, a, b, c", fma, **_HALF),
    _fma("fma.rn{.ftz}.relu.type d, a, b, c", fma, **_AMPERE, type="f16 f16x2"),
    _fma("fma.rnd{.relu}.type d, a, b, c", fma, **_AMPERE, type="bf16 bf16x2", **_ROUNDED),
    _out_of_bounds("fma.rn.oob{.relu}.type d, a, b, c", fma_oob, type="f16 f16x2"),
    _out_of_bounds("fma.rn.oob.sat.type d, a, b, c", fma_oob, type="f16 f16x2", only="ptxas"),
    _out_of_bounds("fma.rnd.oob{.relu}.type d, a, b, c", fma_oob, type="bf16 bf16x2", **_ROUNDED),
    *_sign("neg", neg, "9.7.4.5", "6.0"),
    *_sign("abs", absolute, "9.7.4.6", "6.5"),
    *_extremum("min", minimum, "9.7.4.7"),
    *_extremum("max", maximum, "9.7.4.8"),
    _form("tanh.approx.type d, a", tanh, section="9.7.4.9", version="7.0", target="sm_75", type="f16 f16x2"),
    _form("tanh.approx.type d, a", tanh, section="9.7.4.9", **_BFLOAT),
    _form("ex2.approx.type d, a", ex2, section="9.7.4.10", version="7.0", target="sm_75", type="f16 f16x2"),
    _form("ex2.approx.ftz.type d, a", ex2, section="9.7.4.10", **_BFLOAT),
)

DIFFERENCES = (
    Difference(
        "9.7.4.4",
        "`fma` of `.bf16` and `.bf16x2` is rounded by `.rz`, `.rm` and `.rp`, too.",
        "Only `.rn` is there for half precision.",
    ),
    Difference(
        "9.7.4.4",
        "`fma.rn.oob` of `.f16` and `.f16x2` takes `.sat`.",
        "Only `.relu` goes with `.oob`.",
    ),
    Difference(
        "9.7.4",
        "For an operand of type `.bf16` or `.bf16x2`, here and in `set`, `setp` and `cvt`, a vector of `.b16` or `.b32` "
        "registers may stand.",
        "These operands are no vectors.",
    ),
    Difference(
        "9.7.4.10",
        "`ex2.approx.ftz.bf16x2` takes no vectors for its operands, unlike others. The checker takes them.",
        "Operands of `.bf16x2` are no vectors.",
        checked=False,
    ),
)

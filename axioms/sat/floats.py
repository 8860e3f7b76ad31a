"""Floating-point terms in SMT-LIB's theory of IEEE numbers.

Values stay bit-vectors; each operation goes over to the theory and comes back. What the theory leaves open, and PTX does
not, is said here: the bits of NaN, the smaller of two zeros, conversions beyond the range of an integer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from axioms.errors import UnsupportedProgram
from ptxcore.values.floats import to_integer
from ptxcore.values.ieee import FORMATS, FloatFormat
from ptxcore.values.terms import Term

_ROUNDING = {"rn": "RNE", "rna": "RNA", "rz": "RTZ", "rm": "RTN", "rp": "RTP"}
_COMPARISONS = {"eq": "fp.eq", "lt": "fp.lt", "le": "fp.leq", "gt": "fp.gt", "ge": "fp.geq"}


def body(term: Term, operands: Sequence[str]) -> str:
    """A term of the operation `fp` over operands that have names already. Raises UnsupportedProgram for an operation that
    the theory does not have: the approximate functions, and formats without infinities."""
    name, form, mode = term.args[:3]
    writer = _WRITERS.get(name)
    formats = (form,) if isinstance(form, str) else form
    if writer is None or any(FORMATS[f].specials != "ieee" for f in formats if isinstance(f, str)):
        raise UnsupportedProgram(f"the floating-point operation '{name}' on {_shown(formats)} cannot be decided")
    return writer(term, mode, operands)


def _shown(formats: Sequence[object]) -> str:
    return ", ".join(f".{f}" for f in formats if isinstance(f, str))


def _sort(form: FloatFormat) -> str:
    return f"{form.exponent} {form.fraction + 1}"


def _bits(value: int, width: int) -> str:
    return f"(_ bv{value} {width})"


def _number(form: FloatFormat, bits: str) -> str:
    """Bits as a number of the theory."""
    if form.padding:
        bits = f"((_ extract {form.width - 1} {form.padding}) {bits})"
    return f"((_ to_fp {_sort(form)}) {bits})"


def _back(form: FloatFormat, number: str, nan: str | None = None) -> str:
    """A number of the theory as bits; NaN as `nan`, canonical unless that is given."""
    written = "(fp.to_ieee_bv r!)"
    if form.padding:
        written = f"(concat {written} {_bits(0, form.padding)})"
    return f"(let ((r! {number})) (ite (fp.isNaN r!) {nan or _bits(form.nan, form.width)} {written}))"


def _quiet(form: FloatFormat, operands: Sequence[str]) -> str:
    """The NaN that an operation gives: as `ptxcore.values.ieee.quiet`."""
    result = _bits(form.nan, form.width)
    if form.name == "f64":
        for operand in reversed(operands):
            result = f"(ite (fp.isNaN {_number(form, operand)}) (bvor {operand} {_bits(1 << 51, 64)}) {result})"
    return result


def _arithmetic(function: str) -> Callable[[Term, str, Sequence[str]], str]:
    def write(term: Term, mode: str, operands: Sequence[str]) -> str:
        form = FORMATS[term.args[1]]
        numbers = " ".join(_number(form, o) for o in operands)
        return _back(form, f"({function} {_ROUNDING[mode]} {numbers})", _quiet(form, operands))

    return write


def _extreme(comparison: str, zero: str) -> Callable[[Term, str, Sequence[str]], str]:
    def write(term: Term, mode: str, operands: Sequence[str]) -> str:
        form = FORMATS[term.args[1]]
        a, b = operands
        x, y = _number(form, a), _number(form, b)
        chosen = f"(ite ({comparison} {x} {y}) {a} {b})"
        same = f"(ite (fp.eq {x} {y}) ({zero} {a} {b}) {chosen})"
        if mode == "nan":
            nan = _bits(form.nan, form.width)
            return f"(ite (or (fp.isNaN {x}) (fp.isNaN {y})) {nan} {same})"
        both = f"(ite (and (fp.isNaN {x}) (fp.isNaN {y})) {_quiet(form, (b, a))}"
        return f"{both} (ite (fp.isNaN {x}) {b} (ite (fp.isNaN {y}) {a} {same})))"

    return write


def _compared(term: Term, mode: str, operands: Sequence[str]) -> str:
    form = FORMATS[term.args[1]]
    x, y = (_number(form, o) for o in operands)
    unordered = f"(or (fp.isNaN {x}) (fp.isNaN {y}))"
    if mode in ("num", "nan"):
        return unordered if mode == "nan" else f"(not {unordered})"
    plain = mode if mode in (*_COMPARISONS, "ne") else mode[:-1]
    test = f"(not (fp.eq {x} {y}))" if plain == "ne" else f"({_COMPARISONS[plain]} {x} {y})"
    return f"(or {unordered} {test})" if plain != mode else f"(and (not {unordered}) {test})"


def _integral(term: Term, mode: str, operands: Sequence[str]) -> str:
    form = FORMATS[term.args[1]]
    rounded = f"(fp.roundToIntegral {_ROUNDING[mode]} {_number(form, operands[0])})"
    return _back(form, rounded, _quiet(form, operands))


def _flushed(term: Term, mode: str, operands: Sequence[str]) -> str:
    form = FORMATS[term.args[1]]
    (a,) = operands
    return f"(ite (fp.isSubnormal {_number(form, a)}) (bvand {a} {_bits(form.sign_bit, form.width)}) {a})"


def _converted(term: Term, mode: str, operands: Sequence[str]) -> str:
    source, target = (FORMATS[f] for f in term.args[1])
    return _back(target, f"((_ to_fp {_sort(target)}) {_ROUNDING[mode]} {_number(source, operands[0])})")


def _from_integer(function: str) -> Callable[[Term, str, Sequence[str]], str]:
    def write(term: Term, mode: str, operands: Sequence[str]) -> str:
        form = FORMATS[term.args[1][0]]
        return _back(form, f"((_ {function} {_sort(form)}) {_ROUNDING[mode]} {operands[0]})")

    return write


def _to_integer(signed: bool) -> Callable[[Term, str, Sequence[str]], str]:
    def write(term: Term, mode: str, operands: Sequence[str]) -> str:
        form, width = FORMATS[term.args[1][0]], term.args[1][1]
        low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
        x = _number(form, operands[0])
        whole = f"(fp.roundToIntegral {_ROUNDING[mode]} {x})"
        inside = f"((_ fp.to_{'s' if signed else 'u'}bv {width}) RTZ {whole})"
        above = (
            f"(fp.gt {whole} {_real(form, high)})"
            if high < 1 << form.fraction
            else f"(fp.geq {whole} {_real(form, high + 1)})"
        )
        below = f"(fp.lt {whole} {_real(form, low)})"
        nan = _bits(_nan_as_integer(form, width, signed), width)
        mask = (1 << width) - 1
        return (
            f"(ite (fp.isNaN {x}) {nan} (ite {above} {_bits(high, width)} "
            f"(ite {below} {_bits(low & mask, width)} {inside})))"
        )

    return write


def _real(form: FloatFormat, value: int) -> str:
    """An integer as a number of a format; beyond its range, infinity."""
    real = f"{abs(value)}.0"
    return f"((_ to_fp {_sort(form)}) RNE {f'(- {real})' if value < 0 else real})"


def _nan_as_integer(form: FloatFormat, width: int, signed: bool) -> int:
    """What NaN becomes as an integer: what `ptxcore.values.floats` says."""
    value = to_integer(form.name, form.nan, width, signed)
    assert type(value) is int
    return value


_WRITERS: dict[str, Callable[[Term, str, Sequence[str]], str]] = {
    "add": _arithmetic("fp.add"),
    "mul": _arithmetic("fp.mul"),
    "fma": _arithmetic("fp.fma"),
    "div": _arithmetic("fp.div"),
    "sqrt": _arithmetic("fp.sqrt"),
    "min": _extreme("fp.lt", "bvor"),
    "max": _extreme("fp.gt", "bvand"),
    "compare": _compared,
    "integral": _integral,
    "flush": _flushed,
    "convert": _converted,
    "from_signed": _from_integer("to_fp"),
    "from_unsigned": _from_integer("to_fp_unsigned"),
    "to_signed": _to_integer(True),
    "to_unsigned": _to_integer(False),
}

"""Texels as instructions return and write them: widened, as fractions, filtered (PTX ISA 9.0, sections 9.7.10 and 9.7.11;
"Texture Fetching" in the CUDA C++ Programming Guide).

How precisely a filter computes is not documented. Here the weighted sum of the texels is exact, and rounded once; whoever wants
to know is told whether anything was rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ptxcore.isa.image import Format, Image
from ptxcore.records import NamedTuple
from ptxcore.values.floats import fconvert, fdiv, fmax, fmin, fmul, from_integer, to_integer
from ptxcore.values.ieee import F32, FORMATS, decode, encode
from ptxcore.values.terms import Value, all_of, disj, eq, extract, ite, mask, sext, signed, sle, ule, zext

_NAN = 0x7FFFFFFF


class TexelResult(NamedTuple):
    """The bits of a result; `exact` is the truth value of "the documents say that it is these"."""

    bits: Value
    exact: Value = 1


def largest(format_: Format) -> int:
    """The integer that is read as 1."""
    return mask(format_.bits) if format_.kind == "u" else mask(format_.bits - 1)


def widened(image: Image, raw: Value) -> TexelResult:
    """A channel as a register of 32 bits gets it: integers extended, floating-point values and fractions as `.f32`."""
    kind, bits = image.format.kind, image.format.bits
    if kind == "f":
        return TexelResult(raw if bits == 32 else fconvert("f16", "f32", raw))
    if not image.fractions:
        return TexelResult(sext(raw, bits, 32) if kind == "s" else zext(raw, 32))
    top = largest(image.format)
    whole = sext(raw, bits, 32) if kind == "s" else zext(raw, 32)
    value = fdiv("f32", from_integer("f32", whole, 32, kind == "s"), from_integer("f32", top, 32, False))
    lowest = -top & mask(32)
    value = fmax("f32", value, 0xBF800000) if kind == "s" else value
    ends = disj(
        disj(eq(whole, 0), eq(whole, top)), disj(eq(whole, lowest), sle(whole, lowest, 32) if kind == "s" else 0)
    )
    return TexelResult(value, ends)


def narrowed(form: str, image: Image, result: TexelResult) -> TexelResult:
    """What a register gets that holds `form`: halves of what is floating-point."""
    if form not in ("f16", "f16x2") or not image.returns_floats:
        return result
    half = fconvert("f32", "f16", result.bits)
    if image.format.kind == "f" and image.format.bits == 16:
        return TexelResult(half, result.exact)
    again = fconvert("f16", "f32", half)
    return TexelResult(half, result.exact and eq(again, result.bits))


def filtered(
    form: str, image: Image, raws: Sequence[Value | None], weights: Sequence[int], whole: int, border: int
) -> TexelResult:
    """The weighted sum of a channel of some texels, None for the border."""
    parts = [border if raw is None else raw for raw in raws]
    first = narrowed(form, image, widened(image, parts[0]) if raws[0] is not None else TexelResult(border))
    if len(parts) == 1:
        return first
    if any(type(part) is not int for part in parts):
        same = all_of(0 if raw is None else eq(raw, parts[0]) for raw in raws)
        return TexelResult(first.bits, first.exact if same == 1 else same)
    target = FORMATS["f16" if form in ("f16", "f16x2") else "f32"]
    numbers = [_number(image, part, raw is None) for part, raw in zip(parts, raws, strict=True)]  # type: ignore[arg-type]
    finite = [n for n in numbers if isinstance(n, Fraction)]
    if len(finite) < len(numbers):
        special = {n for n in numbers if not isinstance(n, Fraction)}
        if special == {"inf"} or special == {"-inf"}:
            return TexelResult(target.infinity | (target.sign_bit if special == {"-inf"} else 0), 0)
        return TexelResult(_NAN if target is F32 else 0x7FFF, 0)
    total = sum((n * w for n, w in zip(finite, weights, strict=True)), Fraction(0)) / whole
    bits = rounded(target.name, total)
    return TexelResult(
        bits, int(exactly(target.name, bits) == total and all(f.denominator & (f.denominator - 1) == 0 for f in finite))
    )


def _number(image: Image, raw: int, border: bool) -> Fraction | str:
    """The number that a channel stands for."""
    kind, bits = image.format.kind, image.format.bits
    if kind == "f" or border:
        x = decode(FORMATS["f16" if bits == 16 and not border else "f32"], raw)
        if x.kind != "finite":
            return "nan" if x.kind == "nan" else "-inf" if x.sign else "inf"
        return Fraction(-x.mantissa if x.sign else x.mantissa) * Fraction(2) ** x.exponent
    top = largest(image.format)
    return max(Fraction(signed(raw, bits) if kind == "s" else raw, top), Fraction(-1))


def rounded(form: str, value: Fraction) -> int:
    """The bits nearest to a number."""
    if not value:
        return 0
    target = FORMATS[form]
    sign, magnitude = int(value < 0), abs(value)
    shift = max(0, target.fraction + 3 - (magnitude.numerator.bit_length() - magnitude.denominator.bit_length()))
    mantissa, rest = divmod(magnitude.numerator << shift, magnitude.denominator)
    return encode(target, sign, mantissa, -shift, "rn", bool(rest))


def exactly(form: str, bits: int) -> Fraction | None:
    """The number that bits stand for; None where it is none."""
    x = decode(FORMATS[form], bits)
    return Fraction(-x.mantissa if x.sign else x.mantissa) * Fraction(2) ** x.exponent if x.kind == "finite" else None


def stored(image: Image, value: Value) -> TexelResult:
    """A register of 32 bits as a formatted store writes it to a channel (section 9.7.11.2): floating-point values become
    fractions, integers what fits."""
    kind, bits = image.format.kind, image.format.bits
    if kind == "f":
        return TexelResult(value if bits == 32 else fconvert("f32", "f16", value))
    if image.fractions:
        top, low = largest(image.format), 0xBF800000 if kind == "s" else 0
        limited = fmin("f32", fmax("f32", value, low), 0x3F800000)
        scaled = to_integer("f32", fmul("f32", limited, from_integer("f32", top, 32, False)), 32, True, "rn")
        whole = disj(disj(eq(value, 0), eq(value, 0x3F800000)), eq(value, 0xBF800000) if kind == "s" else 0)
        return TexelResult(extract(scaled, bits - 1, 0), whole)
    if bits == 32:
        return TexelResult(value)
    if kind == "u":
        fits = ule(value, mask(bits), 32)
        return TexelResult(ite(fits, extract(value, bits - 1, 0), mask(bits), bits), fits)
    high, low = mask(bits - 1), -(1 << bits - 1) & mask(32)
    above, below = sle(value, high, 32), sle(low, value, 32)
    kept = ite(above, extract(value, bits - 1, 0), high, bits)
    return TexelResult(ite(below, kept, 1 << bits - 1, bits), all_of([above, below]))

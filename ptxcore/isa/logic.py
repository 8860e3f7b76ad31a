"""Logic and shifts (PTX ISA 9.0, section 9.7.8)."""

from __future__ import annotations

from ptxcore.isa.form import BITS_16_64, INTEGERS_16_64, Form, Use
from ptxcore.isa.integer import extend, fit
from ptxcore.values.terms import Value, ashr, bit_and, bit_not, bit_or, bit_xor, lshr, zext
from ptxcore.values.terms import shl as shifted_left


def and_(how: Use, a: Value, b: Value) -> Value:
    """d = a & b"""
    return bit_and(a, b, how.width)


def or_(how: Use, a: Value, b: Value) -> Value:
    """d = a | b"""
    return bit_or(a, b, how.width)


def xor(how: Use, a: Value, b: Value) -> Value:
    """d = a ^ b"""
    return bit_xor(a, b, how.width)


def not_(how: Use, a: Value) -> Value:
    """d = ~a"""
    return bit_not(a, how.width)


def shl(how: Use, a: Value, b: Value) -> Value:
    """d = a << b; amounts greater than the width give 0"""
    w = max(how.width, 32)  # the amount has 32 bits, whatever the type
    return fit(shifted_left(zext(a, w), zext(b, w), w), how.width)


def shr(how: Use, a: Value, b: Value) -> Value:
    """d = a >> b, filled with the sign for signed types; greater amounts shift everything out"""
    w = max(how.width, 32)
    return fit((ashr if how.signed else lshr)(extend(how, a, w), zext(b, w), w), how.width)


_BITS = (("pred", *BITS_16_64),)

FORMS = (
    Form("and", "d, a, b", and_, types=_BITS, section="9.7.8.1"),
    Form("or", "d, a, b", or_, types=_BITS, section="9.7.8.2"),
    Form("xor", "d, a, b", xor, types=_BITS, section="9.7.8.3"),
    Form("not", "d, a", not_, types=_BITS, section="9.7.8.4"),
    Form("shl", "d, a, b:u32", shl, types=(BITS_16_64,), section="9.7.8.8"),
    Form("shr", "d, a, b:u32", shr, types=((*BITS_16_64, *INTEGERS_16_64),), section="9.7.8.9"),
)

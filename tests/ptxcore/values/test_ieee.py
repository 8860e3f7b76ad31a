"""Floating-point arithmetic against exact rational arithmetic and against the host's, which is IEEE 754."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxcore.values import ieee
from ptxcore.values.ieee import F16, F32, F64, FORMATS, FloatFormat, decode, encode

MODES = ("rn", "rna", "rz", "rm", "rp")


def bits_of(form: FloatFormat) -> st.SearchStrategy[int]:
    """Bits of a format, with its borders often."""
    pad = form.padding
    edges = [
        0,
        1 << pad,
        form.largest,
        form.largest - (1 << pad),
        1 << form.fraction + pad,
        (1 << form.fraction) - 1 << pad,
    ]
    edges += [form.infinity, form.nan] if form.specials == "ieee" else []
    width = form.exponent + form.fraction + (not form.unsigned)
    free = st.integers(0, (1 << width) - 1).map(lambda b: b << pad)
    signs = st.sampled_from([0, form.sign_bit])
    return st.one_of(free, st.builds(lambda e, s: e | s, st.sampled_from(edges), signs))


def exact(form: FloatFormat, bits: int) -> Fraction:
    x = decode(form, bits)
    assert x.kind == "finite"
    return (-1) ** x.sign * x.mantissa * Fraction(2) ** x.exponent


def nearest(form: FloatFormat, value: Fraction, mode: str, sign_of_zero: int = 0) -> int:
    """The right bits, found by looking for the two neighbours among all magnitudes: another way than `encode`'s."""
    if value == 0:
        return form.sign_bit if sign_of_zero else 0
    negative = value < 0
    low, high = 0, form.largest >> form.padding
    magnitude = abs(value)
    while low < high:  # the largest finite magnitude that is not above
        middle = (low + high + 1) // 2
        if exact(form, middle << form.padding) <= magnitude:
            low = middle
        else:
            high = middle - 1
    below = exact(form, low << form.padding)
    sign = form.sign_bit if negative else 0
    if below == magnitude:
        return sign | low << form.padding
    limit = low == form.largest >> form.padding
    above = (
        exact(form, (low + 1) << form.padding)
        if not limit
        else below + Fraction(2) ** ((low >> form.fraction) + form.lowest - 1)
    )
    up = {
        "rz": False,
        "rm": negative,
        "rp": not negative,
        "rn": magnitude - below > above - magnitude or (magnitude - below == above - magnitude and low & 1 == 1),
        "rna": magnitude - below >= above - magnitude,
    }[mode]
    if not up:
        return sign | low << form.padding
    if not limit:
        return sign | (low + 1) << form.padding
    return sign | (form.infinity if form.specials == "ieee" else form.largest)


@pytest.mark.part(2)
@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
def test_a_number_encodes_to_its_own_bits(name: str, data: st.DataObject) -> None:
    form = FORMATS[name]
    bits = data.draw(bits_of(form))
    x = decode(form, bits)
    if x.kind == "finite" and not form.unsigned:
        for mode in MODES:
            assert encode(form, x.sign, x.mantissa, x.exponent, mode) == bits


@pytest.mark.part(8)
@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("mode", MODES)
@given(data=st.data())
def test_operations_round_the_exact_result_once(name: str, mode: str, data: st.DataObject) -> None:
    form = FORMATS[name]
    a, b, c = (data.draw(bits_of(form)) for _ in range(3))
    if any(decode(form, x).kind != "finite" for x in (a, b, c)):
        return
    x, y, z = (exact(form, v) for v in (a, b, c))
    for got, value in (
        (ieee.add(form, a, b, mode), x + y),
        (ieee.sub(form, a, b, mode), x - y),
        (ieee.mul(form, a, b, mode), x * y),
        (ieee.fma(form, a, b, c, mode), x * y + z),
        (ieee.div(form, a, b, mode) if y else 0, x / y if y else Fraction(0)),
    ):
        if value:
            assert got == nearest(form, value, mode)
        elif y:
            assert got & ~form.sign_bit == 0


@pytest.mark.part(4)
@pytest.mark.parametrize("name", ["f16", "f32", "f64"])
@pytest.mark.parametrize("mode", MODES)
@given(data=st.data())
def test_a_square_root_lies_between_its_neighbours(name: str, mode: str, data: st.DataObject) -> None:
    form = FORMATS[name]
    a = data.draw(bits_of(form)) & ~form.sign_bit
    if decode(form, a).kind != "finite" or not a:
        return
    value = exact(form, a)
    down, up = ieee.sqrt(form, a, "rz"), ieee.sqrt(form, a, "rp")
    assert exact(form, down) ** 2 <= value <= exact(form, up) ** 2
    assert up - down in (0, 1)
    middle = (exact(form, down) + exact(form, up)) / 2
    expected = {"rz": down, "rm": down, "rp": up}.get(mode, down if middle**2 > value else up)
    assert ieee.sqrt(form, a, mode) == expected


def host(bits: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return value


def double(value: float) -> int:
    bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    return bits


@given(bits_of(F64), bits_of(F64))
def test_doubles_agree_with_the_host(a: int, b: int) -> None:
    x, y = host(a), host(b)
    for got, value in (
        (ieee.add(F64, a, b), x + y),
        (ieee.mul(F64, a, b), x * y),
        (ieee.div(F64, a, b) if y else double(math.nan), x / y if y else math.nan),
        (ieee.sqrt(F64, a), math.sqrt(x) if x >= 0 else math.nan),
    ):
        if math.isnan(value):
            assert y == 0 or ieee.is_nan(F64, got)
        elif x >= 0 or got != ieee.sqrt(F64, a):
            assert got == double(value)


@given(bits_of(F64))
def test_narrowing_agrees_with_the_host(a: int) -> None:
    x = host(a)
    if not math.isnan(x):
        for form, code in ((F32, "<f"), (F16, "<e")):
            try:
                expected = int.from_bytes(struct.pack(code, x), "little")
            except OverflowError:
                expected = form.infinity | (form.sign_bit if x < 0 else 0)
            assert ieee.convert(F64, form, a) == expected


@pytest.mark.parametrize(
    ("operation", "operands", "expected"),
    [
        (ieee.add, (0x7F800000, 0xFF800000), 0x7FFFFFFF),  # inf - inf
        (ieee.mul, (0, 0x7F800000), 0x7FFFFFFF),
        (ieee.div, (0, 0), 0x7FFFFFFF),
        (ieee.div, (0x3F800000, 0x80000000), 0xFF800000),  # 1 / -0
        (ieee.add, (0x80000000, 0), 0),  # -0 + 0
        (ieee.add, (0x80000000, 0x80000000), 0x80000000),
        (ieee.sqrt, (0xBF800000,), 0x7FFFFFFF),
        (ieee.sqrt, (0x80000000,), 0x80000000),
        (ieee.fma, (0x7F800000, 0x3F800000, 0xFF800000), 0x7FFFFFFF),
    ],
)
def test_special_results(operation: object, operands: tuple[int, ...], expected: int) -> None:
    assert operation(F32, *operands) == expected  # type: ignore[operator]


def test_the_smallest_formats_in_full() -> None:
    """e2m1 has eight magnitudes; e4m3 reaches 448 and has no infinity."""
    values = [exact(ieee.E2M1, bits) for bits in range(8)]
    assert values == [Fraction(x) / 2 for x in (0, 1, 2, 3, 4, 6, 8, 12)]
    assert exact(ieee.E4M3, ieee.E4M3.largest) == 448
    assert exact(ieee.E5M2, ieee.E5M2.largest) == 57344
    assert exact(ieee.E3M2, ieee.E3M2.largest) == 28
    assert exact(ieee.E2M3, ieee.E2M3.largest) == Fraction(15, 2)

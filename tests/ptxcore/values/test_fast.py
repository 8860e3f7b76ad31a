"""Fast floating-point operations give the bits that exact arithmetic gives."""

from __future__ import annotations

import random
from typing import Any

import pytest
from campaigns import drawn
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ptxcore.values import fast, floats, ieee
from ptxcore.values.elementary import FUNCTIONS
from ptxcore.values.floats import fcompare
from ptxcore.values.ieee import F32, F64, FloatFormat
from ptxcore.values.terms import make, symbol

EDGES = [0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x3F800001, 0x33800000, 0x4B800000]
WORDS = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from([e | s for e in EDGES for s in (0, 1 << 31)]))
LONGS = st.integers(0, 2**64 - 1)


def same(form: FloatFormat, got: int, expected: int) -> bool:
    return got == expected or (ieee.is_nan(form, got) and ieee.is_nan(form, expected))


@settings(max_examples=drawn(1000))
@given(WORDS, WORDS, WORDS)
@example(0x3F800001, 0x3F800001, 0x33800000)
@example(0x00800001, 0x3F7FFFFF, 0x80000001)
def test_single_precision(a: int, b: int, c: int) -> None:
    assert fast.add_f32(a, b) == ieee.add(F32, a, b)
    assert fast.mul_f32(a, b) == ieee.mul(F32, a, b)
    assert fast.div_f32(a, b) == ieee.div(F32, a, b)
    assert fast.sqrt_f32(a) == ieee.sqrt(F32, a)
    assert fast.fma_f32(a, b, c) == ieee.fma(F32, a, b, c)


@given(st.integers(2**22, 2**24), st.integers(2**22, 2**24), st.integers(-60, 60), st.integers(0, 2**31))
def test_sums_that_cancel(a: int, b: int, shift: int, c: int) -> None:
    x, y = ieee.encode(F32, 0, a, -20), ieee.encode(F32, 1, b, shift)
    product = ieee.mul(F32, x, y)
    for z in (product ^ 1 << 31, (product ^ 1 << 31) + 1, c):
        assert fast.fma_f32(x, y, z) == ieee.fma(F32, x, y, z)


@settings(max_examples=drawn(500))
@given(LONGS, LONGS)
def test_double_precision(a: int, b: int) -> None:
    assert fast.add_f64(a, b) == ieee.add(F64, a, b)
    assert fast.mul_f64(a, b) == ieee.mul(F64, a, b)


SPECIAL = {
    "f16": [0, 1, 0x3FF, 0x400, 0x3C00, 0x7BFF, 0x7C00, 0x7E00, 0x7FFF],
    "f32": EDGES,
    "f64": [0, 1, 1 << 52, 0x3FF << 52, (0x7FF << 52) - 1, 0x7FF << 52, (0x7FF << 52) + 1, 0x47EFFFFFF0000000],
}


def operand(form: str, chance: random.Random) -> int:
    """Bits of a format: any, at the edges, and near 1, where operands meet."""
    f = ieee.FORMATS[form]
    sign = chance.choice((0, f.sign_bit))
    near = (f.bias << f.fraction) + chance.randint(-4 << f.fraction, 4 << f.fraction)
    return chance.choice((chance.getrandbits(f.width), sign | chance.choice(SPECIAL[form]), sign | near))


def named(key: tuple[object, ...]) -> str:
    return " ".join(map(str, key))


@pytest.mark.part(6)
@pytest.mark.parametrize("key", fast._FAST, ids=named)
def test_every_fast_operation_gives_the_exact_bits(key: tuple[str, Any, str]) -> None:
    name, form, mode = key
    chance = random.Random(named(key))
    source = form if isinstance(form, str) else form[0]
    width = ieee.FORMATS[source].width
    result = {"compare": 1, "to_signed": 32, "convert": ieee.FORMATS[form[1]].width if name == "convert" else 0}
    number = {"fma": 3, "add": 2, "sub": 2, "mul": 2, "div": 2, "min": 2, "max": 2, "compare": 2}.get(name, 1)
    term = make("fp", result.get(name, width), name, form, mode, *(symbol(i, width) for i in range(number)))
    for _ in range(4000):
        if name.startswith("from"):
            operands = [chance.getrandbits(chance.randint(1, form[1]))]
        else:
            operands = [operand(source, chance) for _ in range(number)]
        operands = operands[:1] * number if chance.random() < 0.1 else operands
        expected = floats.rebuild(term, [name, form, mode, *operands])
        assert fast._FAST[key](*operands) == expected, [hex(o) for o in operands]


@pytest.mark.part(3)
@pytest.mark.parametrize("name", fast._FUNCTIONS)
def test_what_the_host_computes_is_correctly_rounded(name: str) -> None:
    """Many arguments, since a wrong last place is rare."""
    chance = random.Random(name)
    compute = fast._FAST[name, "f32", "rn"]
    for _ in range(10000):
        a = chance.choice((0, 1 << 31)) | chance.randint(0x30000000, 0x43000000)
        assert compute(a) == FUNCTIONS[name](F32, a), hex(a)


@pytest.mark.parametrize("comparison", ["eq", "neu", "lt", "le", "gt", "ge"])
@given(a=WORDS, b=WORDS)
def test_comparisons(comparison: str, a: int, b: int) -> None:
    assert fast._FAST["compare", "f32", comparison](a, b) == fcompare("f32", comparison, a, b)

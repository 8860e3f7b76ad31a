"""Many sums that are rounded once are those of fractions: ties, what cancels, zeros of both signs, infinite ones and none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rounded_once import FLOATS, element, numbers, summed, sums, whole_sums

#: Types of factors with that of the sums; doubles with every way of rounding.
TYPES = [
    *(("f16", "f16", "rn"), ("f16", "f32", "rn"), ("bf16", "f32", "rn"), ("tf32", "f32", "rn"), ("e5m2", "f16", "rn")),
    *(("e4m3", "f32", "rn"), ("ue4m3", "f32", "rn"), *(("f64", "f64", mode) for mode in ("rn", "rz", "rm", "rp"))),
]


def near(kind: str, shape: tuple[int, ...], chance: Any) -> Any:
    """Bits of a type: few different ones, next to where rounding turns, of subnormals, the largest; infinite ones, and none."""
    width = 32 if kind == "tf32" else 8 if kind == "ue4m3" else 1 + sum(FLOATS[kind])
    exponents, fractions = FLOATS[kind]
    one = ((1 << exponents - 1) - 1) << fractions
    places = [0, 1, 2, one, one + 1, one - 1, one + (1 << fractions >> 1), one + (3 << fractions), (1 << fractions) - 1]
    places += [((1 << exponents) - 1) << fractions, (((1 << exponents) - 1) << fractions) - 1]
    sure = places[:-2] if chance.random() < 0.7 else [*places, (((1 << exponents) - 1) << fractions) + 1]
    scale = 13 if kind == "tf32" else 0
    chosen = np.array(sure, np.uint64)[chance.integers(0, len(sure), shape)] << np.uint64(scale)
    any_ = chance.integers(0, 1 << min(width, 63), shape, np.uint64)
    signs = chance.integers(0, 2 if kind != "ue4m3" else 1, shape).astype(np.uint64) << np.uint64(width - 1)
    return np.where(chance.random(shape) < chance.choice([0, 0.3]), any_, chosen | signs)


@pytest.mark.part(3)
@pytest.mark.parametrize(("kind", "kind_of_sum", "mode"), TYPES)
def test_many_sums_are_those_of_fractions(kind: str, kind_of_sum: str, mode: str) -> None:
    chance = np.random.default_rng(len(kind) + len(kind_of_sum))
    seen = set[int]()
    for _ in range(12):
        a, b, c = near(kind, (2, 3, 4), chance), near(kind, (2, 4, 3), chance), near(kind_of_sum, (2, 3, 3), chance)
        found = sums(numbers(kind, a), numbers(kind, b), numbers(kind_of_sum, c), kind_of_sum, mode)
        for w, i, j in np.ndindex(found.shape):
            row, column = ([element(kind, int(x)) for x in line] for line in (a[w, i], b[w, :, j]))
            wanted = summed(row, column, element(kind_of_sum, int(c[w, i, j])), kind_of_sum, mode)
            assert int(found[w, i, j]) == wanted, (a[w, i], b[w, :, j], c[w, i, j])
            seen.add(wanted)
    assert len(seen) > 50


def test_a_sum_half_way_between_two_numbers_hangs_on_its_last_term() -> None:
    """1 + 2**-24 is half way between two singles; 2**-80 more is not."""
    tiny, half, one = 2.0**-40, 2.0**-12, np.ones((1, 1, 1))
    for last, bits in ((0.0, 0x3F80_0000), (tiny, 0x3F80_0001), (-tiny, 0x3F80_0000)):
        a, b = np.array([[[half, last]]]), np.array([[[half], [tiny]]])
        assert sums(a, b, one, "f32")[0, 0, 0] == bits
    a, b = np.array([[[2 * half, half, -tiny]]]), np.array([[[half], [half], [tiny]]])
    assert sums(a, b, one, "f32")[0, 0, 0] == 0x3F80_0001


def test_whole_sums_wrap_or_end_at_the_last_number() -> None:
    a, b, c = np.full((1, 1, 2), 127.0), np.full((1, 2, 1), 127.0), np.full((1, 1, 1), 2.0**31 - 1)
    assert whole_sums(a, b, c)[0, 0, 0] == 2**31 - 1 + 2 * 127**2
    assert whole_sums(a, b, c, saturates=True)[0, 0, 0] == 2**31 - 1
    assert whole_sums(-a, b, -c - 1, saturates=True)[0, 0, 0] == 1 << 31
    bits = np.array([[[1.0, 1.0, 0.0]]])
    assert whole_sums(bits, np.ones((1, 3, 1)), np.zeros((1, 1, 1)), "and")[0, 0, 0] == 2
    assert whole_sums(bits, np.ones((1, 3, 1)), np.zeros((1, 1, 1)), "xor")[0, 0, 0] == 1

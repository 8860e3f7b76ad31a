"""Sums of products of arrays are those of one sum in integers: half way between two numbers, beside that, 0, infinite, none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptxcore.values import products


def drawn(chance: Any, kind: str, shape: tuple[int, ...], bits: int) -> Any:
    """Numbers of few bits, some of them far smaller, infinite or none: their sums often lie half way between two of a type."""
    values = chance.integers(-(1 << bits), (1 << bits) + 1, shape) * 2.0 ** chance.choice([-3, -2, 0, 1], shape)
    values *= np.where(chance.random(shape) < 0.1, 2.0 ** -chance.integers(10, 14), 1.0)
    if chance.random() < 0.2:
        values[chance.random(shape) < 0.1] = chance.choice([np.inf, -np.inf, np.nan, -0.0])
    with np.errstate(over="ignore"):
        return values.astype({"f16": np.float16}.get(kind, np.float32)).astype(np.float64)


@pytest.mark.parametrize(("kind", "bits"), [("f16", 5), ("f16", 6), ("f32", 11), ("f32", 12)])
def test_sums_of_arrays_are_rounded_as_one_sum_is(kind: str, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, alone, rounded = np.random.default_rng(bits), 0, products.rounded

    def counted(*given: Any) -> int:
        nonlocal alone
        alone += 1
        return rounded(*given)

    monkeypatch.setattr(products, "rounded", counted)
    ties = seen = 0
    for _ in range(15):
        a, b = drawn(chance, "f16", (2, 4, 6), bits), drawn(chance, "f16", (2, 6, 5), bits)
        c = drawn(chance, kind, (2, 4, 5), 10)
        with np.errstate(all="ignore"):
            found = products.summed(a, b, c, kind)
            exact = a @ b + c
            ties += np.count_nonzero(np.isfinite(exact) & (exact.astype(f"f{found.itemsize}") != exact))
        seen += found.size
        for w, i, j in np.ndindex(found.shape):
            wanted = rounded(a[w, i].tolist(), b[w, :, j].tolist(), float(c[w, i, j]), kind)
            assert int(found[w, i, j]) == wanted, (a[w, i], b[w, :, j], c[w, i, j])
    assert ties > 50, "some are rounded"
    assert alone < seen / 4, "few are added up one by one"

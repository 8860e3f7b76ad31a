"""What was computed of arrays is kept only where nobody can write them any more."""

from __future__ import annotations

import numpy as np
import pytest

from ptxcore.values.kept_arrays import KeptOfArrays
from ptxcore.values.products import rounded, summed


def fixed(values: object) -> np.ndarray:
    array = np.array(values, np.uint32)
    array.flags.writeable = False
    return array


def test_arrays_that_nobody_can_write_are_looked_at_once() -> None:
    kept, asked = KeptOfArrays(), [0]

    def made() -> int:
        asked[0] += 1
        return asked[0]

    one, other = fixed([1, 2]), fixed([1, 2])
    assert [kept.of([a], made) for a in (one, other, one, one.reshape(1, 2), other)] == [1, 2, 1, 1, 2]
    assert [kept.of([one], made, also) for also in ("this", "that", "this")] == [3, 4, 3]


@pytest.mark.parametrize("how", ["written", "a view of what is written", "a part", "many"])
def test_of_others_nothing_is_kept(how: str) -> None:
    written = np.arange(4, dtype=np.uint32)
    view = written[:]
    view.flags.writeable = False
    array = {"written": written, "a view of what is written": view, "a part": fixed([1, 2, 3])[:2],
             "many": fixed(range(1 << 15))}[how]  # fmt: skip
    kept, made = KeptOfArrays(), iter(range(9))
    assert [kept.of([array], lambda: next(made)) for _ in range(2)] == [0, 1]


def test_no_other_array_has_the_name_of_one_that_is_kept() -> None:
    kept = KeptOfArrays()
    found = [kept.of([array := fixed([n])], lambda array=array: int(array[0])) for n in range(500)]
    assert found == list(range(500))


def test_sums_are_the_same_of_factors_that_are_kept() -> None:
    """Of numbers close and far apart, infinite and none."""
    chance = np.random.default_rng(3)
    for far in (0, 40, 300):
        a, b = (chance.normal(size=(2, 4, 4)) * 2.0 ** chance.integers(-far, far + 1, (2, 4, 4)) for _ in "ab")
        a[1, 0, 0] = (1.0, np.inf, np.nan)[far // 150]
        c = chance.normal(size=(2, 4, 4))
        with np.errstate(all="ignore"):
            first = summed(a, b, c, "f32")
            a.flags.writeable = b.flags.writeable = False
            assert (summed(a, b, c, "f32") == first).all()
            assert (summed(a, b, c, "f32") == first).all()
        for w, i, j in np.ndindex(2, 4, 4):
            assert first[w, i, j] == rounded(a[w, i].tolist(), b[w, :, j].tolist(), float(c[w, i, j]), "f32")

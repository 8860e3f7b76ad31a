"""A comparison that is the same whatever an element holds can fail for no kernel, or is never met: it is an error."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ptxmm.kernels.expression_reader import parse
from ptxmm.kernels.expressions import ExpressionError
from ptxmm.kernels.launch import Buffer
from ptxmm.kernels.test import problem_with

#: Suffixes of constants, and the types they have in C.
CONSTANTS = {"": np.int64, "u": np.uint32, ".0": np.float64, ".5f": np.float32}
RELATIONS = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def all_values(type_: str) -> np.ndarray:
    """All values of a narrow type, promoted as C does."""
    if type_ == "bf16":
        return (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
    kind = (
        {"u": np.uint16, "s": np.int16, "f": np.float16}[type_[0]]
        if type_[1:] == "16"
        else {"u": np.uint8, "s": np.int8}[type_[0]]
    )
    bits = np.arange(1 << int(type_[1:]), dtype=np.uint16 if type_[1:] == "16" else np.uint8)
    return bits.view(kind).astype(np.float32 if type_[0] == "f" else np.int32)


def balanced(values: np.ndarray, constant: np.generic) -> tuple[np.ndarray, np.generic]:
    """Both with their common type in C: numpy would make 64 bits of `int` and `unsigned`."""
    kinds = {values.dtype.kind, constant.dtype.kind}
    if "f" in kinds:
        common = max((t for t in (values.dtype, constant.dtype) if t.kind == "f"), key=lambda t: t.itemsize)
    else:
        common = constant.dtype
    with np.errstate(invalid="ignore"):  # NaNs that signal
        return values.astype(common), constant.astype(common)


def problem(text: str, type_: str) -> ExpressionError | None:
    return problem_with(parse(text), (Buffer("x", type_, 4),))


def test_what_asks_nothing_is_refused_and_nothing_else() -> None:
    """By all values of the narrow types, as NumPy compares them."""
    draw, refused, compared = random.Random(5), 0, 0
    for type_ in ("u8", "s8", "u16", "s16", "f16", "bf16"):
        values, width = all_values(type_), int(type_.lstrip("bfsu"))
        for _ in range(60):
            number = draw.choice((0, 1, 2, 1 << width, 1 << width - 1)) + draw.choice((-1, 0, 1))
            suffix, made = draw.choice([*CONSTANTS.items()])
            written = f"{abs(number)}{suffix}"
            constant = made(float(written.rstrip("fu"))) if "." in suffix else made(abs(number))
            symbol, flipped = draw.choice([*RELATIONS]), draw.random() < 0.5
            if number < 0:
                written, constant = f"-{written}", np.negative(constant)
            one, other = balanced(values, constant)
            result = RELATIONS[symbol](*((other, one) if flipped else (one, other)))
            text = f"{written} {symbol} x[1]" if flipped else f"x[1] {symbol} {written}"
            assert (problem(text, type_) is not None) is (len(np.unique(result)) == 1), (text, type_)
            refused += len(np.unique(result)) == 1
            compared += 1
    assert compared == 360 and 80 < refused < 280, refused


@pytest.mark.parametrize(
    ("text", "type_", "message", "marked"),
    [
        ("x[0] == 1 || x[1] == 4294967299", "u32", "this is so of no u32", "x[1] == 4294967299"),
        ("x[0] == 1 && 0 <= x[2]", "u32", "this is so of every u32", "0 <= x[2]"),
        ("x[0] == 4294967295", "s32", "this is so of no s32", "x[0] == 4294967295"),
        ("x[0] == 0.1", "f32", "this is so of no f32", "x[0] == 0.1"),
        ("x[0] == 18446744073709551615.0", "u64", None, ""),
        ("x[0] == -1", "u32", None, ""),
        ("x[0] == -1", "u16", "this is so of no u16", "x[0] == -1"),
        ("x[0] == 0.1f", "f32", None, ""),
        ("x[0] / 0.0f == 1", "f32", None, ""),
        ("x[0] <= 1.0f / 0.0f", "f32", None, ""),  # a NaN is not
        ("x[0] % (2 - 2) == 1", "s32", "'%' by zero has no value", "2 - 2"),
        ("x[0] / 0 == 1", "s32", "'/' by zero has no value", "0"),
        ("x[0] << 32 == 0", "u16", "'<<' shifts 32 bits, by 0 to 31", "32"),
        ("x[0] >> 63 == 0", "u64", None, ""),
        ("x[0] >> -1 == 0", "u64", "'>>' shifts 64 bits, by 0 to 63", "-1"),
    ],
)
def test_the_operator_that_asks_nothing_is_marked(text: str, type_: str, message: str | None, marked: str) -> None:
    found = problem(text, type_)
    assert (found.message if found else None) == message
    assert found is None or text[found.start : found.end] == marked

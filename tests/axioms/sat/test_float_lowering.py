"""The solver's theory of floating point gives the bits that exact arithmetic gives."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import z3

from axioms.errors import UnsupportedProgram
from axioms.sat.smt import SmtText
from ptxcore.values import floats
from ptxcore.values.ieee import FORMATS
from ptxcore.values.terms import Term, Value, evaluate, symbol

MODES = ("rn", "rz", "rm", "rp")


def interesting(form: str, draw: random.Random) -> int:
    f = FORMATS[form]
    edges = [0, 1, f.largest, f.infinity, f.nan, f.nan ^ 1, 1 << f.fraction, (1 << f.fraction) - 1]
    bits = draw.choice(edges) if draw.random() < 0.4 else draw.getrandbits(f.width)
    return bits ^ (f.sign_bit if draw.random() < 0.5 else 0)


def solved(value: Value, width: int, given: dict[Term, int]) -> int:
    """The value as Z3 computes it, its symbols given."""
    text = SmtText()
    name = text.define(value, width)
    lines = [*text.lines]
    for t, number in given.items():
        if t in text.names:
            lines.append(f"(assert (= {text.names[t]} (_ bv{number} {t.width})))")
    sort = "Bool" if width == 1 else f"(_ BitVec {width})"
    lines += [f"(declare-const answer {sort})", f"(assert (= answer {name}))"]
    solver = z3.Solver()
    solver.from_string("\n".join(lines))
    assert solver.check() == z3.sat
    model = solver.model()
    if width == 1:
        return int(z3.is_true(model[z3.Bool("answer")]))
    answer: int = model[z3.BitVec("answer", width)].as_long()
    return answer


CASES: dict[str, Callable[[str, str, Value, Value, Value], tuple[Value, int]]] = {
    "add": lambda f, m, a, b, c: (floats.fadd(f, a, b, m), FORMATS[f].width),
    "mul": lambda f, m, a, b, c: (floats.fmul(f, a, b, m), FORMATS[f].width),
    "fma": lambda f, m, a, b, c: (floats.ffma(f, a, b, c, m), FORMATS[f].width),
    "div": lambda f, m, a, b, c: (floats.fdiv(f, a, b, m), FORMATS[f].width),
    "sqrt": lambda f, m, a, b, c: (floats.fsqrt(f, a, m), FORMATS[f].width),
    "min": lambda f, m, a, b, c: (floats.fmin(f, a, b), FORMATS[f].width),
    "max.NaN": lambda f, m, a, b, c: (floats.fmax(f, a, b, nan=True), FORMATS[f].width),
    "integral": lambda f, m, a, b, c: (floats.fintegral(f, a, m), FORMATS[f].width),
    "flush": lambda f, m, a, b, c: (floats.flush(f, a), FORMATS[f].width),
    "widen": lambda f, m, a, b, c: (floats.fconvert(f, "f64", a, m), 64),
    "narrow": lambda f, m, a, b, c: (floats.fconvert(f, "f16", a, m), 16),
    "from": lambda f, m, a, b, c: (floats.from_integer(f, a, FORMATS[f].width, True, m), FORMATS[f].width),
    "to s32": lambda f, m, a, b, c: (floats.to_integer(f, a, 32, True, m), 32),
    "to u64": lambda f, m, a, b, c: (floats.to_integer(f, a, 64, False, m), 64),
    **{
        comparison: lambda f, m, a, b, c, comparison=comparison: (floats.fcompare(f, comparison, a, b), 1)  # type: ignore[misc]
        for comparison in ("eq", "ne", "ltu", "ge", "neu", "num", "nan")
    },
}


@pytest.mark.part(6)
@pytest.mark.parametrize("form", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("case", CASES)
def test_the_theory_agrees(case: str, form: str) -> None:
    draw = random.Random(f"{case} {form}")
    width = FORMATS[form].width
    a, b, c = (symbol(name, width) for name in "abc")
    for _ in range(8):
        mode = draw.choice(MODES)
        value, bits = CASES[case](form, mode, a, b, c)
        given = {t: interesting(form, draw) for t in (a, b, c)}
        assert solved(value, bits, given) == evaluate(value, given), (case, form, mode, given)


def test_formats_without_infinities_are_refused() -> None:
    with pytest.raises(UnsupportedProgram, match=r"'convert' on \.f32, \.e4m3"):
        SmtText().define(floats.fconvert("f32", "e4m3", symbol("a", 32)), 8)

"""The two engines agree, outcome set for outcome set: on generated programs, and under models of other shapes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from generated import generated_tests, short_tests, typed_tests
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from axioms.cat.model import Model, compile_model
from axioms.engine import decide
from axioms.enumerate import TooLarge
from axioms.models import load
from axioms.program import Program, UnsupportedProgram
from axioms.result import Decision, OutOfTime
from axioms.symbolic import decide_symbolic
from litmus.formats import read
from ptxmm.pipeline import build

MODELS = ("ptx-6.0", "ptx-7.5", "ptx-9.0")
LIBRARY = Path(__file__).resolve().parents[1] / "litmus" / "library"

#: Models of other shapes than the shipped ones: weaker, stronger, and with everything that the language has.
SHAPES = {
    "sc": "acyclic po | rf | co | (rf^-1; co) as sc\nempty rmw & ((rf^-1; co); co) as atomic",
    "tso": (
        "let fr = rf^-1; co\nlet ppo = po \\ (W * R)\nlet rfe = rf & ext\n"
        "let mfence = (M * M) & (po; [F & SC]; po)\n"
        "acyclic (po & loc) | rf | fr | co as coherence\nacyclic ppo | rfe | fr | co | mfence as tso"
    ),
    "anything": "let fr = rf^-1; co\nirreflexive fr; rf as odd",
    "non-linear": (
        "let fr = rf^-1; co\nlet rec hb = po | (rf & ext) | (hb; hb)\n"
        "irreflexive hb as hb\nirreflexive hb; (co | fr) as coherent\nempty rmw & (fr; co) as atomic"
    ),
    "mutual": (
        "let fr = rf^-1; co\nlet rec a = (po & loc) | (b; rf) and b = co | (a; fr) | (fr; a)\n"
        "irreflexive a as one\nirreflexive b as two"
    ),
    "complement": (
        "let fr = rf^-1; co\nlet com = rf | co | fr\nlet unordered = ~(po | po^-1 | id)\n"
        "empty (co & unordered) & ~(ext | (IW * _)) as odd\nacyclic (po \\ (W * R)) | (com & unordered) as most"
    ),
    "some": (
        "let fr = rf^-1; co\nacyclic po | rf as first\n~empty (rf & ext) | (co & ext) as communicates\n"
        "flag ~empty fr as reads-before"
    ),
    "sides": (
        "let fr = rf^-1; co\nlet seen = range(rf & ext)\nlet sources = domain([W]; rf)\n"
        "let twice(r) = r; r\nlet between(s, r) = [s]; r; [s]\n"
        "acyclic po | between(M, rf) as order\nempty twice(rmw) as none\n"
        "empty [seen & R]; (po & loc); [R]; fr; [sources & W] & loc as odd\n"
        "irreflexive fr; po; [F]; po; rf as fenced"
    ),
    "raw-fences": (
        "let fr = rf^-1; co\nacyclic po | rf as first\n"
        "acyclic sync_fence | po | fr | co as fences\nempty sync_fence & int \\ po as order"
    ),
    "not-acyclic": "let fr = rf^-1; co\nacyclic po & loc | rf | fr | co as coherence\n~acyclic po | rf | fr | co as weak-only",
}

Answer = tuple[object, ...]


def answer(decision: Decision) -> Answer:
    """What must agree. Of a program without a meaning only that it has none."""
    if decision.undefined is not None:
        return ("undefined",)
    return decision.states, decision.positive, decision.negative, decision.complete


def enumerated(program: Program, model: Model, seconds: float = 0.25) -> Answer | None:
    """What brute force says; None where it is not up to it."""
    try:
        return answer(decide(program, model, engine="enumerate", deadline=time.monotonic() + seconds))
    except (OutOfTime, TooLarge):
        return None


def assert_agreement(text: str) -> None:
    program = build(read(text, "generated.litmus"), all_registers=True)
    for name in MODELS:
        model = load(name)
        expected = enumerated(program, model)
        if expected is not None:
            assert answer(decide(program, model)) == expected, f"under {name}:\n{text}"


def assert_agreement_under(shape: str, text: str) -> None:
    program = build(read(text, "generated.litmus"), all_registers=True)
    model = compile_model(shape, SHAPES[shape])
    expected = enumerated(program, model)
    if expected is not None:
        assert answer(decide(program, model)) == expected, f"under {shape}:\n{text}"


def assert_backends_agree(text: str) -> None:
    program = build(read(text, "generated.litmus"), all_registers=True)
    model = load("ptx-9.0")
    expected = answer(decide(program, model))
    deadline = time.monotonic() + 5
    try:
        assert answer(decide(program, model, backend="z3", deadline=deadline)) == expected, text
        assert answer(decide_symbolic(program, model, deadline=deadline, max_states=1000)) == expected, text
    except (OutOfTime, UnsupportedProgram):
        return


def of(count: int, **more: object) -> settings:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=count, deadline=None, database=None, suppress_health_check=slow, **more)  # type: ignore[arg-type]


@of(80, derandomize=True)
@given(typed_tests())
def test_the_engines_agree_on_typed_programs(text: str) -> None:
    assert_agreement(text)


@of(60, derandomize=True)
@given(short_tests())
def test_the_engines_agree_on_the_short_dialect(text: str) -> None:
    assert_agreement(text)


@of(15, derandomize=True)
@given(generated_tests())
def test_the_backends_agree(text: str) -> None:
    assert_backends_agree(text)


@of(40, derandomize=True)
@given(generated_tests(), st.sampled_from(sorted(SHAPES)))
def test_the_engines_agree_on_generated_programs_under_other_shapes(text: str, shape: str) -> None:
    assert_agreement_under(shape, text)


@pytest.mark.campaign
@of(1000, phases=[Phase.generate, Phase.shrink])
@given(generated_tests(), st.sampled_from(sorted(SHAPES)))
def test_the_engines_agree_under_other_shapes_on_a_thousand(text: str, shape: str) -> None:
    assert_agreement_under(shape, text)


@pytest.mark.campaign
@of(3000, phases=[Phase.generate, Phase.shrink])
@given(generated_tests())
def test_the_engines_agree_on_thousands(text: str) -> None:
    assert_agreement(text)


@pytest.mark.campaign
@of(300, phases=[Phase.generate, Phase.shrink])
@given(generated_tests())
def test_the_backends_agree_on_hundreds(text: str) -> None:
    assert_backends_agree(text)


def samples() -> list[Path]:
    """One small test in seven, so that every topic of the library has some."""
    return sorted(LIBRARY.rglob("*.litmus"))[::7]


@pytest.mark.parametrize("path", samples(), ids=lambda path: path.stem)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_engines_agree_under_models_of_other_shapes(shape: str, path: Path) -> None:
    model = compile_model(shape, SHAPES[shape])
    program = build(read(path.read_bytes(), str(path)))
    expected = enumerated(program, model)
    if expected is None:
        pytest.skip("beyond brute force")
    assert answer(decide(program, model)) == expected

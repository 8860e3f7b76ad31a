"""The two engines agree, outcome set for outcome set: on generated programs, and under models of other shapes."""

from __future__ import annotations

from pathlib import Path

import pytest
from agreement import STEPS, brute_force, deadline, either
from campaigns import drawn, lengths, share
from generated import generated_tests, short_tests, typed_tests
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from axioms.cat.model import Model, compile_model
from axioms.encode.symbolic import decide_symbolic
from axioms.engine import decide
from axioms.models import load
from axioms.program import Program
from axioms.witness.result import Decision
from litmus.formats import read
from ptxmm.pipeline import build

MODELS = ("ptx-6.0", "ptx-7.5", "ptx-9.0")
LIBRARY = Path(__file__).resolve().parents[2] / "litmus" / "library"

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


def assert_agreement(text: str) -> None:
    program = build(read(text, "generated.litmus"), all_registers=True)
    for name in MODELS:
        assert_engines_agree(program, load(name), f"under {name}:\n{text}")


def assert_agreement_under(shape: str, text: str) -> None:
    program = build(read(text, "generated.litmus"), all_registers=True)
    # Where a model lets reads return anything that is written, brute force has more to try.
    assert_engines_agree(program, compile_model(shape, SHAPES[shape]), f"under {shape}:\n{text}", 8 * STEPS)


def assert_engines_agree(program: Program, model: Model, what: str, steps: int = STEPS // 2) -> None:
    expected = brute_force(program, model, steps)
    if expected is not None:
        assert answer(decide(program, model)) == answer(expected), what


def assert_backends_agree(text: str) -> None:
    program = build(read(text, "generated.litmus"), all_registers=True)
    model = load("ptx-9.0")
    expected = answer(decide(program, model))
    for ask in (
        lambda: decide(program, model, backend="z3", deadline=deadline()),
        lambda: decide_symbolic(program, model, deadline=deadline(), max_states=1000),
    ):
        found = either(ask)
        assert found is None or answer(found) == expected, text


def of(count: int, least: int = 12, **more: object) -> settings:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=drawn(count, least), deadline=None, database=None, suppress_health_check=slow, **more)  # type: ignore[arg-type]


@pytest.mark.compares(0.75)
@of(200, least=40, derandomize=True)  # of fewer, too many take too many steps
@given(typed_tests())
def test_the_engines_agree_on_typed_programs(text: str) -> None:
    assert_agreement(text)


@pytest.mark.compares(0.9)
@of(60, derandomize=True)
@given(short_tests())
def test_the_engines_agree_on_the_short_dialect(text: str) -> None:
    assert_agreement(text)


@pytest.mark.compares(0.8)
@of(15, derandomize=True)
@given(generated_tests())
def test_the_backends_agree(text: str) -> None:
    assert_backends_agree(text)


@pytest.mark.compares(0.9)
@of(40, derandomize=True)
@given(generated_tests(), st.sampled_from(sorted(SHAPES)))
def test_the_engines_agree_on_generated_programs_under_other_shapes(text: str, shape: str) -> None:
    assert_agreement_under(shape, text)


@pytest.mark.campaign
@pytest.mark.compares(0.8)
@of(share(1000), phases=[Phase.generate, Phase.shrink])
@given(generated_tests(), st.sampled_from(sorted(SHAPES)))
def test_the_engines_agree_under_other_shapes_on_a_thousand(text: str, shape: str) -> None:
    assert_agreement_under(shape, text)


@pytest.mark.campaign
@pytest.mark.compares(0.5)
@of(share(3000), phases=[Phase.generate, Phase.shrink])
@given(generated_tests())
def test_the_engines_agree_on_thousands(text: str) -> None:
    assert_agreement(text)


@pytest.mark.campaign
@pytest.mark.compares(0.8)
@of(share(300), phases=[Phase.generate, Phase.shrink])
@given(generated_tests())
def test_the_backends_agree_on_hundreds(text: str) -> None:
    assert_backends_agree(text)


def samples(every: int) -> list[Path]:
    """One test in so many, so that every topic of the library has some where it is one in seven."""
    return sorted(LIBRARY.rglob("*.litmus"))[::every]


@pytest.mark.part(3)
@pytest.mark.compares(0.8)
@pytest.mark.parametrize("every", lengths(21, 7))
@pytest.mark.parametrize("shape", SHAPES)
def test_the_engines_agree_under_models_of_other_shapes(shape: str, every: int) -> None:
    model = compile_model(shape, SHAPES[shape])
    for path in samples(every):
        assert_engines_agree(build(read(path.read_bytes(), str(path))), model, str(path))

"""Every meaning in the table: it equals its reference, and the term it gives for symbols equals its numbers."""

from __future__ import annotations

import random
from typing import Any

import driver
import pytest
import reference
from campaigns import share

from ptxcore.isa.form import Form, Use
from ptxcore.values.terms import Term, Value, evaluate, symbol, width_of

#: Inputs of a form that are compared with the reference, and with the symbolic result: always, and in a campaign.
COMPARED, COMPARED_LONG = 400, max(1000, share(20000))
SYMBOLIC, SYMBOLIC_LONG = 30, max(100, share(1000))

FORMS = reference.all_forms()
REFERRED = [form for form in FORMS if reference.key(form) in reference.references()]
PURE = [form for form in FORMS if form.kind == "value"]


def name(form: Form) -> str:
    return f"{form.section} {form.syntax}"


def run(form: Form, how: Use, sources: driver.Sources) -> Any:
    return plain(form.meaning(how, *sources))


def plain(result: Any) -> Any:
    """Vectors and several results as tuples, whatever they came as."""
    return tuple(plain(part) for part in result) if isinstance(result, tuple | list) else result


def compare(form: Form, count: int, seed: object) -> None:
    expected_of = reference.references()[reference.key(form)]
    for how, sources in driver.cases(form, count, seed):
        expected, got = plain(expected_of(how, *sources)), run(form, how, sources)
        if got != expected:
            raise AssertionError(f"{told(how, sources)}\ngives {shown(got)}\n  not {shown(expected)}")


def told(how: Use, sources: driver.Sources) -> str:
    words = {slot: word for slot, word in how.words.items() if word}
    return f"{how.form.syntax} of {how.form.section}\nwith {words}, types {how.types}\non {shown(sources)}"


def shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(shown(part) for part in value)})"
    return hex(value) if isinstance(value, int) else str(value)


@pytest.mark.part(20)
@pytest.mark.parametrize("form", REFERRED, ids=name)
def test_meanings_equal_their_references(form: Form) -> None:
    compare(form, COMPARED, "always")


@pytest.mark.campaign
@pytest.mark.parametrize("form", REFERRED, ids=name)
def test_meanings_equal_their_references_on_many_inputs(form: Form) -> None:
    compare(form, COMPARED_LONG, random.random())


# Symbols.


def symbols(how: Use, sources: driver.Sources, known: float, chance: random.Random) -> tuple[Any, dict[Term, int]]:
    """The sources with most numbers made symbols (`known`: the share of those that stay), and what they stand for."""
    stands: dict[Term, int] = {}
    widths = source_widths(how)

    def hidden(value: Any, width: Any) -> Any:
        if isinstance(value, tuple):
            each = width if isinstance(width, list) else [width] * len(value)
            return tuple(hidden(part, w) for part, w in zip(value, each, strict=True))
        if value is None or width is None or chance.random() < known:
            return value
        made = symbol(("source", len(stands)), width)
        stands[made] = value
        return made

    return tuple(hidden(value, width) for value, width in zip(sources, widths, strict=True)), stands


def source_widths(how: Use) -> list[Any]:
    """The bits of each source; None for one that is a number in every program."""
    found: list[Any] = []
    for e in how.expected:
        if e is None or e.parameter.role in ("destination", "label"):
            continue
        if e.parameter.role == "tuple":
            found.append([driver.WIDTHS[part.type] for part in e.parts])
        else:
            found.append(None if driver.constant(e.parameter) else driver.WIDTHS.get(e.type, how.width))
    if "in" in how.form.carry:
        found.append(1)
    return found


def compare_symbolic(form: Form, count: int, seed: object) -> None:
    chance = random.Random(f"symbols {seed}")
    found = list(driver.cases(form, count, f"symbols {seed}"))
    for how, sources in found:
        concrete = run(form, how, sources)
        fits(how, concrete)
        hidden, stands = symbols(how, sources, chance.choice((0.0, 0.0, 0.4)), chance)
        result = run(form, how, hidden)
        fits(how, result)
        got = numbers(result, stands)
        if got != concrete:
            raise AssertionError(
                f"{told(how, sources)}\nfor symbols {shown(hidden)}\ngives {shown(got)}\n  not {shown(concrete)}"
            )


def numbers(result: Any, stands: dict[Term, int]) -> Any:
    if isinstance(result, tuple):
        return tuple(numbers(part, stands) for part in result)
    return evaluate(result, stands)


def fits(how: Use, result: Any) -> None:
    """The result has the widths of the destinations."""
    expected = driver.widths(how)
    parts = result if isinstance(result, tuple) and len(expected) > 1 else (result,)
    assert len(parts) == len(expected), f"{told(how, ())}: {len(expected)} results are due, not {shown(parts)}"
    for part, width in zip(parts, expected, strict=True):
        if isinstance(width, list):
            assert len(part) == len(width)
            for element, w in zip(part, width, strict=True):
                fits_width(element, w, how)
        else:
            fits_width(part, width, how)


def fits_width(value: Value, width: int, how: Use) -> None:
    assert width_of(value, width) == width, f"{told(how, ())}: a term of {width_of(value)} bits for {width}"
    if isinstance(value, int):
        assert 0 <= value < 1 << width, f"{told(how, ())}: {value:#x} does not fit into {width} bits"


@pytest.mark.part(6)
@pytest.mark.parametrize("form", PURE, ids=name)
def test_symbolic_results_equal_concrete_ones(form: Form) -> None:
    compare_symbolic(form, SYMBOLIC, "always")


@pytest.mark.campaign
@pytest.mark.parametrize("form", PURE, ids=name)
def test_symbolic_results_equal_concrete_ones_on_many_inputs(form: Form) -> None:
    compare_symbolic(form, SYMBOLIC_LONG, random.random())


# Completeness.


@pytest.mark.parametrize("section", reference.FINISHED)
def test_every_meaning_has_a_reference_or_says_why_not(section: str) -> None:
    missing = [
        name(form)
        for form in reference.forms(section)
        if form.kind not in reference.WITHOUT_RESULT
        and reference.key(form) not in reference.references()
        and reference.key(form) not in reference.explained()
    ]
    assert not missing, f"{section}: {missing}"


def test_every_reference_is_of_a_form_that_has_a_meaning() -> None:
    known = {reference.key(form) for form in FORMS}
    for table in (reference.references(), reference.explained(), reference.inputs()):
        assert not [key for key in table if key not in known]


def test_a_reference_that_differs_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    form = next(form for form in REFERRED if form.syntax == "add.type d, a, b")
    wrong = {reference.key(form): lambda how, a, b: a + b}  # forgets to wrap around
    monkeypatch.setattr(reference, "references", lambda: wrong)
    with pytest.raises(AssertionError, match="gives"):
        compare(form, COMPARED, "always")

"""Every pin of the whole model, with both engines: its outcome, its races, and whether the program has a meaning."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from asynchronous_cases import CASES, Case
from model_pins import LIBRARY_ONLY, OPTION_PINS, ModelPin
from model_pins import PINS as FIRST_PINS
from more_model_pins import MORE_PINS
from pins import PINS as GENERIC_PINS
from pins import Pin

import ptxmm
from axioms.models.options import OF_MODELS

PINS = (*FIRST_PINS, *MORE_PINS)
TABLE = Path(__file__).resolve().parents[4] / "shared" / "pins.md"
UNDEFINED = {"async", "mixed-size"}
#: A discard leaves more values than brute force tries.
TOO_LARGE = {("discard", "enumerate")}
#: Many values take long with the solver, too: this one is for `pytest -m mutation`.
LONG = {"discard": pytest.mark.mutation}


def races(result: ptxmm.Result) -> str:
    """The races of a result as the tables name them."""
    kinds = {race.kind for race in result.races}
    if result.verdict != "undefined":
        return "race" if kinds else "-"
    return next((kind for kind in ("async", "mixed-size") if kind in kinds), "misuse")


def outcome(result: ptxmm.Result) -> str:
    return "allow" if result.positive > 0 else "forbid"


@pytest.mark.part(6)
@pytest.mark.parametrize("engine", ["solve", "enumerate"])
@pytest.mark.parametrize("pin", [pytest.param(pin, id=pin.name, marks=LONG.get(pin.name, ())) for pin in PINS])
def test_a_pin_of_the_whole_model(pin: ModelPin, engine: str) -> None:
    if (pin.name, engine) in TOO_LARGE:
        pytest.skip("beyond brute force")
    result = ptxmm.check(ptxmm.parse(pin.litmus()), engine=engine, races=True)
    assert races(result) == pin.races, (result.races, result.error)
    assert not pin.verdict or outcome(result) == pin.verdict, result.states
    plain = ptxmm.check(ptxmm.parse(pin.litmus()), engine=engine)
    assert (plain.verdict == "undefined") == (pin.races not in ("-", "race")), "decided without being asked too"


@pytest.mark.part(2)
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_races_of_asynchronous_operations(case: Case) -> None:
    result = ptxmm.check(ptxmm.parse(case.litmus()), races=True)
    assert (outcome(result), result.verdict == "undefined") == (case.verdict, case.undefined), result.error


def race_column() -> dict[str, str]:
    """The race column of the published table."""
    if not TABLE.exists():
        return {}
    rows = [[cell.strip() for cell in line.split("|")] for line in TABLE.read_text(encoding="utf-8").split("\n")]
    return {row[1]: row[12] for row in rows if len(row) > 13 and re.fullmatch(r"[MP]\d+\w*", row[1])}


COLUMN = race_column()
MEANT = {"-": "-", "race": "race", "ASYNCRACE": "async", "MIXEDRACE": "mixed-size"}


@pytest.mark.part(2)
@pytest.mark.skipif(not COLUMN, reason=f"the table of pins is not at {TABLE}")
@pytest.mark.parametrize("engine", ["solve", "enumerate"])
@pytest.mark.parametrize("pin", [p for p in GENERIC_PINS if p.ptx_9_0 != "n/a"], ids=lambda pin: pin.name)
def test_a_generic_pin_has_the_races_of_the_table(pin: Pin, engine: str) -> None:
    result = ptxmm.check(ptxmm.parse(pin.litmus()), engine=engine, races=True)
    assert races(result) == MEANT[COLUMN[pin.name]], result.races


@pytest.mark.skipif(not COLUMN, reason=f"the table of pins is not at {TABLE}")
def test_every_row_of_the_table_is_a_pin_here() -> None:
    ours = {p.name: "" for p in GENERIC_PINS} | {p.name: p.races for p in PINS}
    ours |= {c.name: "async" if c.undefined else "" for c in CASES}
    assert set(COLUMN) <= set(ours)
    assert all(ours[name] == "async" for name, races in COLUMN.items() if races == "ASYNCRACE")


@pytest.mark.parametrize(("option", "name", "before", "after"), OPTION_PINS)
def test_an_option_changes_what_it_says(option: str, name: str, before: str, after: str) -> None:
    pin = next(p for p in (*PINS, *GENERIC_PINS, *CASES) if p.name == name)
    default, other = (ptxmm.check(ptxmm.parse(pin.litmus()), races=True, options=o) for o in ([], [option]))
    seen = [(races(r), outcome(r)) for r in (default, other)]
    assert before in seen[0] and after in seen[1], seen


def test_every_option_of_a_model_has_a_pin() -> None:
    assert {option for option, *_ in OPTION_PINS} >= {*OF_MODELS} - LIBRARY_ONLY


def test_a_model_refuses_options_that_it_does_not_have() -> None:
    pin = PINS[0]
    with pytest.raises(ptxmm.InputError, match="no option 'war-ok'"):
        ptxmm.check(ptxmm.parse(pin.litmus()), "ptx-7.5", options=["war-ok"])

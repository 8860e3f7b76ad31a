"""The least of a test that still tells two models apart: things are taken from it until nothing can be.

What is kept is how the two differ at first: the other one forbids a state, or allows one, or finds other races, or a meaning.
The result is minimal as suites of minimal tests mean it: whatever else is taken (`litmus.relaxations`), the difference is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from litmus.relaxations import open_question, relaxations, restated
from litmus.test import And, Compare, Condition, Constant, Proposition, Test
from ptxmm.comparing.answers import FinalState
from ptxmm.comparing.columns import Case, ComparedColumns
from ptxmm.comparing.differences import ModelDifference, difference

if TYPE_CHECKING:
    from litmus.test import LocationTerm, RegisterTerm

#: Ways to differ, those first that say most.
WAYS: dict[str, Callable[[ModelDifference], bool]] = {
    "lost": lambda d: bool(d.lost),
    "won": lambda d: bool(d.won),
    "races lost": lambda d: bool(d.races_lost),
    "races won": lambda d: bool(d.races_won),
    "undefined": lambda d: d.undefined and d.other.verdict == "undefined",
    "defined": lambda d: d.undefined and d.one.verdict == "undefined",
}


def way_of(found: ModelDifference) -> str | None:
    """How two answers differ; None where they do not."""
    return next((way for way, holds in WAYS.items() if holds(found)), None)


def shrunk(test: Test, columns: ComparedColumns) -> Test:
    """`test`, which the two `columns` answer differently, with everything taken from it that it does not need for that. Its
    condition is then a state that one of them forbids, and its comment says what it was made of."""
    least = restated(open_question(test)) or test
    way = _way(least, columns)
    if way is None:  # it differs only in what its condition leaves out, or its time is over
        return test
    changed = True
    while changed:
        changed = False
        for relaxation in relaxations(least):
            if _way(relaxation.test, columns, way) is not None:
                least, changed = relaxation.test, True
                break
    return _asking(least, columns, test)


def _compared(test: Test, columns: ComparedColumns) -> ModelDifference:
    one, other = columns(Case(test.name, None, test)).answers
    return difference(one, other)


def _way(test: Test, columns: ComparedColumns, wanted: str | None = None) -> str | None:
    found = _compared(test, columns)
    if wanted is None:
        return way_of(found)
    return wanted if WAYS[wanted](found) else None


def _asking(least: Test, columns: ComparedColumns, whole: Test) -> Test:
    """The test with the difference as its condition."""
    found = _compared(least, columns)
    states = found.lost or found.won
    named = least if least.threads == whole.threads else replace(least, name=f"{whole.name}.min")
    comments = whole.comments if named is least else (f"What is left of {whole.name}.",)
    if states:
        named = replace(named, condition=Condition("exists", proposition_of(states[0], named)), observed=())
    return restated(replace(named, comments=comments)) or least


def proposition_of(state: FinalState, test: Test) -> Proposition:
    """That a test ends in a state: of the registers and locations that it speaks of."""
    from litmus.relaxations import terms_of

    terms: dict[str, RegisterTerm | LocationTerm] = {str(term): term for term in terms_of(test)}
    parts = tuple(
        Compare("==", terms[name], Constant(value))
        for name, value in state.items()
        if name in terms and isinstance(value, int)
    )
    return parts[0] if len(parts) == 1 else And(parts)

"""A program never changes; changes make another one, of which all that was asked of the first holds as well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace

import pytest

from axioms.events.definitions import Definitions
from axioms.program import Observable, Program, asking, cut_at, showing, with_threads
from litmus.formats import read
from ptxcore.values import terms
from ptxmm.pipeline import build

TEXT = """PTX t
{ x = 0; .u64 y = 0; }
P0@cta 0,gpu 0 { st.weak.u64 [y], 0x100000001; st.release.gpu.u32 [x], 1; }
P1@cta 1,gpu 0 { ld.acquire.gpu.u32 %r0, [x]; ld.weak.u64 %r1, [y]; }
exists (1:%r0 = 1 /\\ y = 3)
"""


def program() -> Program:
    return build(read(TEXT))


def shape(of: Program) -> tuple[object, ...]:
    events = [(e.thread, e.kind, e.cells, e.values) for e in of.events]
    return events, of.relations, of.cells, of.condition, of.observed, of.finals, of.options


def test_a_program_takes_no_other_value() -> None:
    made = program()
    for name in ("condition", "threads", "events", "well_used", "anything"):
        with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
            setattr(made, name, 0)


CHANGES: dict[str, Callable[[Program], Program]] = {
    "asking": lambda p: asking(p, terms.negate(p.condition)),
    "cut_at": lambda p: cut_at(p, [(c.object, c.offset + 2) for c in p.cells if c.size > 2]),
    "showing": lambda p: showing(p, [Observable("one", 1, 32)]),
    "options": lambda p: cut_at(p, (), p.options | {"no-tearing"}),
    "with_threads": lambda p: with_threads(p, p.uncut),
    "replace": lambda p: replace(p, condition=1),
}


@pytest.mark.parametrize("name", CHANGES)
def test_who_makes_another_program_leaves_the_first_as_it_is(name: str) -> None:
    first = program()
    before = shape(first)
    other = CHANGES[name](first)
    assert shape(first) == before and other is not first
    assert (shape(other) == before) == (name == "with_threads")


@pytest.mark.parametrize("name", ["asking", "cut_at", "showing", "options"])
def test_other_threads_are_asked_the_same(name: str) -> None:
    """What was changed about a program is so of the programs that are made of it, on numbers or with threads that give up."""
    changed = CHANGES[name](program())
    assert shape(with_threads(changed, changed.uncut)) == shape(changed)


def test_the_question_is_asked_of_the_values_that_threads_end_with() -> None:
    made = program()
    reader = made.uncut[1]
    results = {e.result for e in reader.execution.effects if e.result is not None}
    numbers = Definitions(dict.fromkeys(results, 1))
    told = with_threads(made, [made.uncut[0], reader._replace(execution=numbers.execution(reader.execution))])
    assert isinstance(made.condition, terms.Term) and isinstance(told.condition, terms.Term)
    assert terms.symbols_of(made.condition) & results and not terms.symbols_of(told.condition) & results

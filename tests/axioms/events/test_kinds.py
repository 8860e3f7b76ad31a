"""The table of who makes the events of effects says what the files do."""

from __future__ import annotations

from importlib import import_module

import pytest

from axioms.events.kinds import ALL_ACCESSES, BACKGROUND, HOMES
from ptxcore.machine.ir import effects


@pytest.mark.parametrize("home", HOMES)
def test_each_file_makes_the_events_of_its_kinds(home: str) -> None:
    more = BACKGROUND if home == "asynchronous" else set()
    assert set(import_module(f"axioms.events.{home}").MAKERS) == {*HOMES[home].split(), *more}


def test_no_kind_has_two_homes() -> None:
    kinds = [kind for home in HOMES.values() for kind in home.split()]
    assert len(kinds) == len(set(kinds))
    assert set(kinds) >= BACKGROUND


def test_accesses_to_memory_are_those_with_spans() -> None:
    spans = {kind for home in HOMES for kind in getattr(import_module(f"axioms.events.{home}"), "SPANS", ())}
    assert spans - {"mbarrier"} == ALL_ACCESSES  # an operation on an mbarrier object is no memory event


def test_every_kind_is_told_of() -> None:
    """The kinds that have makers are those that the interface names; traits are of such kinds."""
    kinds = {kind for home in HOMES.values() for kind in home.split()}
    head = (effects.Effect.__doc__ or "").partition("`guard`:")[0]
    assert {kind for kind in kinds if f"`{kind}`" not in head} == set()
    traits = (effects.ACCESSES, effects.FENCES, effects.NO_EVENTS, effects.EFFECT_FREE, effects.OBSERVING)
    assert set().union(*traits) <= kinds

"""The table of who makes the events of effects says what the files do."""

from __future__ import annotations

import copy
import json
import pickle
from importlib import import_module
from pathlib import Path

import pytest

import ptxmm
from axioms.events.event_kinds import EVENT_KINDS, EventKind
from axioms.events.kinds import HOMES
from ptxcore.isa.effect_kinds import EFFECT_KINDS, EffectKind, kinds_with
from ptxmm.pipeline import build

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("home", HOMES)
def test_each_file_makes_the_events_of_its_kinds(home: str) -> None:
    more = kinds_with("background") if home == "asynchronous" else set()
    assert set(import_module(f"axioms.events.{home}").MAKERS) == {*HOMES[home].split(), *more}


def test_no_kind_has_two_homes() -> None:
    kinds = [kind for home in HOMES.values() for kind in home.split()]
    assert len(kinds) == len(set(kinds))
    assert set(kinds) == set(EFFECT_KINDS)


def test_accesses_to_memory_are_those_with_spans() -> None:
    spans = {kind for home in HOMES for kind in getattr(import_module(f"axioms.events.{home}"), "SPANS", ())}
    assert spans - {"mbarrier"} == kinds_with("memory")  # an operation on an mbarrier object is no memory event


@pytest.mark.parametrize("kind", [*EFFECT_KINDS.values(), *EVENT_KINDS.values()])
def test_copies_and_pickles_of_a_kind_are_that_kind(kind: EffectKind | EventKind) -> None:
    assert pickle.loads(pickle.dumps(kind)) is kind and copy.deepcopy(kind) is kind
    assert json.dumps([kind]) == f'["{kind}"]' and {kind: 1}[str(kind)] == 1  # it is its word


def test_a_trait_that_there_is_not_is_noticed() -> None:
    with pytest.raises(AssertionError, match="acceses"):
        EffectKind("no kind", "acceses")
    with pytest.raises(AssertionError, match="acceses"):
        EventKind("no kind", "acceses")
    assert "no kind" not in EFFECT_KINDS and "no kind" not in EVENT_KINDS


def test_events_that_access_memory_have_cells_and_others_have_none() -> None:
    for path in sorted((ROOT / "litmus/library").glob("asynchronous/*.litmus")):
        events = build(ptxmm.load(path)).events
        assert all(bool(e.cells) == e.kind.accesses for e in events), path
        assert {e.kind for e in events} <= set(EVENT_KINDS.values())

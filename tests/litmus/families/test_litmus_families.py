"""Families: the sizes they promise, the conditions they state, and that every member is a test like any other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from litmus import families
from litmus.formats import read, write
from litmus.test import And, Compare, Condition, Constant, LocationTerm, Not, Test

#: Each family, its variants, and how many threads size n has.
FAMILIES: list[tuple[Callable[..., Test], list[dict[str, object]], int]] = [
    (families.store_buffering_ring, [{}, {"fence": None}, {"fence": "fence.acq_rel"}, {"weak": False}], 1),
    (families.load_buffering_ring, [{}, {"order": "none"}, {"order": "data"}], 1),
    (families.independent_reads, [{}, {"fence": None}, {"fence": "fence.acq_rel"}], 2),
    (families.message_passing_chain, [{}, {"relaxed": True}], 1),
    (families.all_to_one_barrier, [{}, {"signal": "red"}, {"signal": "atom"}, {"relaxed": True}], 1),
    (families.cas_lock, [{}, {"relaxed": True}], 1),
    (families.exchange_lock, [{}, {"relaxed": True}], 1),
    (families.ticket_lock, [{}, {"relaxed": True}], 1),
]
PLACES: list[dict[str, object]] = [{}, {"scope": "cta"}, {"scope": "cta", "one_cta": True}, {"scope": "sys"}]
VARIANTS = [(f, {**v, **p}, k) for f, variants, k in FAMILIES for v in variants for p in PLACES]


@pytest.mark.part(4)
@pytest.mark.parametrize(("family", "variant", "threads"), VARIANTS)
@pytest.mark.parametrize("n", [2, 5])
def test_a_member_reads_back_and_has_its_size(
    family: Callable[..., Test], variant: dict[str, object], threads: int, n: int
) -> None:
    test = family(n, **variant)
    assert read(write(test)) == test
    assert len(test.threads) == threads * n
    assert {thread.dialect for thread in test.threads} == {"typed"}
    assert len({thread.place.cta for thread in test.threads}) == (1 if "one_cta" in variant else threads * n)
    assert len(test.comments) == 1
    assert test.expectation == "ok"


def test_every_variant_has_a_name_of_its_own() -> None:
    names = [family(3, **variant).name for family, variant, _ in VARIANTS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("family", [family for family, _, _ in FAMILIES])
def test_families_grow_to_64(family: Callable[..., Test]) -> None:
    assert len(family(64).threads) in (64, 128)


@pytest.mark.parametrize("family", [family for family, _, _ in FAMILIES])
def test_wrong_sizes_and_scopes_are_refused(family: Callable[..., Test]) -> None:
    with pytest.raises(ValueError, match="starts at 2"):
        family(1)
    with pytest.raises(ValueError, match="'warp' is no scope"):
        family(2, scope="warp")


def test_wrong_choices_are_refused() -> None:
    with pytest.raises(ValueError, match="no order"):
        families.load_buffering_ring(2, order="addr")
    with pytest.raises(ValueError, match="no way to signal"):
        families.all_to_one_barrier(2, signal="st")


def test_conditions_follow_scope_and_semantics() -> None:
    assert families.store_buffering_ring(3).condition.quantifier == "~exists"
    assert families.store_buffering_ring(3, scope="cta").condition.quantifier == "exists"
    assert families.store_buffering_ring(3, scope="cta", one_cta=True).condition.quantifier == "~exists"
    assert families.store_buffering_ring(3, fence="fence.acq_rel").condition.quantifier == "exists"
    assert families.load_buffering_ring(3, order="data", scope="cta").condition.quantifier == "~exists"
    assert families.independent_reads(3, fence=None).condition.quantifier == "exists"
    assert families.message_passing_chain(3, scope="cluster").condition.quantifier == "exists"
    x = LocationTerm("x")
    assert families.ticket_lock(3).condition == Condition("forall", Compare("==", x, Constant(3)))
    assert families.cas_lock(3, relaxed=True).condition == Condition("exists", Compare("<", x, Constant(3)))
    barrier = families.all_to_one_barrier(4, relaxed=True).condition.proposition
    assert isinstance(barrier, Not) and isinstance(barrier.operand, And) and len(barrier.operand.operands) == 3

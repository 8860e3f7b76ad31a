"""What threads of a warp do together: examples, and symbols; `references/warp.py` has the comparison on numbers."""

from __future__ import annotations

import random
from typing import Any

import driver
import pytest
from references.warp import FORMS, draw_lanes

from ptxcore.isa.form import Form, Use
from ptxcore.isa.types import WIDTHS
from ptxcore.values.terms import Term, evaluate, symbol, width_of

SYMBOLIC = 40


def use_of(instruction: str) -> Use:
    opcode, *modifiers = instruction.split(".")
    found = driver.candidates(opcode, tuple(modifiers))
    assert isinstance(found, tuple)
    return found[0]


def warp(instruction: str, lanes: dict[int, tuple[int, ...]]) -> dict[int, Any]:
    use = use_of(instruction)
    return use.form.meaning(use, lanes)  # type: ignore[no-any-return]


def alike(values: Any, *others: int) -> dict[int, tuple[int, ...]]:
    """Each thread with a source of its own, and others that all have."""
    return {lane: (value, *others) for lane, value in enumerate(values)}


FULL = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("mode", "b", "c", "lanes"),
    [
        # (lane: the lane from which it has its value, and whether that is in range)
        ("up", 1, 0, {0: (0, 0), 1: (0, 1), 31: (30, 1)}),
        ("up", 16, 0, {15: (15, 0), 16: (0, 1), 31: (15, 1)}),
        ("up", 1, 0x1800, {7: (6, 1), 8: (8, 0), 9: (8, 1)}),  # segments of 8
        ("down", 1, 0x1F, {0: (1, 1), 30: (31, 1), 31: (31, 0)}),
        ("down", 16, 0x1F, {15: (31, 1), 16: (16, 0)}),
        ("down", 1, 0x181F, {6: (7, 1), 7: (7, 0), 8: (9, 1)}),
        ("down", 1, 3, {2: (3, 1), 3: (3, 0)}),  # clamped below lane 4
        ("bfly", 16, 0x1F, {0: (16, 1), 16: (0, 1)}),
        ("bfly", 1, 0x1C1F, {2: (3, 1), 3: (2, 1)}),
        ("idx", 5, 0x1F, {0: (5, 1), 31: (5, 1)}),
        ("idx", 37, 0x1F, {0: (5, 1)}),  # five bits of the index count
        ("idx", 1, 0x181F, {0: (1, 1), 8: (9, 1), 31: (25, 1)}),
        ("idx", 5, 3, {0: (0, 0), 9: (9, 0)}),
    ],
)  # fmt: skip
def test_shuffles(mode: str, b: int, c: int, lanes: dict[int, tuple[int, int]]) -> None:
    results = warp(f"shfl.sync.{mode}.b32", alike((100 + lane for lane in range(32)), b, c, FULL))
    assert {lane: results[lane] for lane in lanes} == {lane: (100 + j, p) for lane, (j, p) in lanes.items()}


def test_a_shuffle_from_a_thread_that_is_not_there_keeps_the_own_value() -> None:
    results = warp("shfl.sync.down.b32", alike((5, 6, 7), 2, 0x1F, 7))
    assert results == {0: (7, 1), 1: (6, 1), 2: (7, 1)}


@pytest.mark.parametrize(
    ("instruction", "sources", "result"),
    [
        ("vote.sync.all.pred", (1, 1, 1), 1),
        ("vote.sync.all.pred", (1, 0, 1), 0),
        ("vote.sync.any.pred", (0, 0, 1), 1),
        ("vote.sync.any.pred", (0, 0, 0), 0),
        ("vote.sync.uni.pred", (0, 0, 0), 1),
        ("vote.sync.uni.pred", (1, 1, 1), 1),
        ("vote.sync.uni.pred", (1, 1, 0), 0),
        ("vote.sync.ballot.b32", (1, 0, 1), 5),
        ("match.all.sync.b64", (9, 9, 9), (7, 1)),
        ("match.all.sync.b32", (9, 9, 8), (0, 0)),
        ("redux.sync.add.u32", (FULL, 1, 1), 1),
        ("redux.sync.min.s32", (FULL, 1, 0), FULL),
        ("redux.sync.min.u32", (FULL, 1, 2), 1),
        ("redux.sync.xor.b32", (12, 10, 1), 7),
        ("redux.sync.min.f32", (0x80000000, 0, 0x7FC00000), 0x80000000),
        ("redux.sync.max.f32", (0x80000000, 0, 0x7FC00000), 0),
        ("redux.sync.max.f32", (0x7FC00000, 0xFFC00001), 0x7FFFFFFF),
        ("redux.sync.max.f32", (0x7F800001,), 0x7FFFFFFF),
        ("redux.sync.max.NaN.f32", (0, 0xFFC00001), 0x7FFFFFFF),
        ("redux.sync.max.abs.f32", (0xC0000000, 0x3F800000), 0x40000000),
    ],
)  # fmt: skip
def test_all_threads_have_one_result(instruction: str, sources: tuple[int, ...], result: Any) -> None:
    assert warp(instruction, alike(sources, 7)) == dict.fromkeys(range(len(sources)), result)


def test_results_that_differ_by_thread() -> None:
    assert warp("match.any.sync.b32", {1: (5, 26), 3: (6, 26), 4: (5, 26)}) == {1: 18, 3: 8, 4: 18}
    assert warp("elect.sync", {3: (24,), 4: (24,)}) == {3: (3, 1), 4: (3, 0)}
    assert warp("activemask.b32", {0: (), 31: ()}) == {0: 0x80000001, 31: 0x80000001}


@pytest.mark.part(6)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.syntax)
def test_results_on_symbols_equal_those_on_numbers(form: Form) -> None:
    chance = random.Random(form.syntax)
    uses = driver.uses(form, chance)
    for i in range(SYMBOLIC):
        use = uses[i % len(uses)]
        (lanes,) = draw_lanes(use, chance)
        kinds = [e for e in use.expected if e is not None and e.parameter.role == "source"]
        stands: dict[Term, int] = {}
        hidden: dict[int, tuple[Any, ...]] = {}
        for lane, sources in lanes.items():
            made: list[Any] = []
            for e, value in zip(kinds, sources, strict=True):
                if e.parameter.name == "membermask" or chance.random() < 0.2:
                    made.append(value)
                    continue
                made.append(symbol(("lane", lane, e.parameter.name), WIDTHS[e.type]))
                stands[made[-1]] = value
            hidden[lane] = tuple(made)
        wanted, got = form.meaning(use, lanes), form.meaning(use, hidden)
        widths = driver.widths(use)
        for lane, result in wanted.items():
            parts = got[lane] if isinstance(result, tuple) else (got[lane],)
            assert [width_of(part, width) for part, width in zip(parts, widths, strict=True)] == widths
            numbers = tuple(evaluate(part, stands) for part in parts)
            assert numbers == (result if isinstance(result, tuple) else (result,)), (use.words, lane, lanes)


def test_member_masks_are_named() -> None:
    for form in FORMS:
        names = [p.name for p in form.pattern.parameters]
        assert form.mask in ("", *names)
        assert bool(form.mask) == ("membermask" in names), form

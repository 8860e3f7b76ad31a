"""Threads that meet by a counter that the last one sets back: several runs beside the formula, and launches at their size."""

from __future__ import annotations

import generated_rounds
import pytest
from by_runs import by_formula, by_runs, compare
from campaigns import lengths, share

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile


@pytest.mark.long
@pytest.mark.compares(0.5)
@pytest.mark.parametrize("seeds", lengths(range(8), range(12)))
def test_several_runs_say_of_rounds_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(generated_rounds.kernel, seeds, monkeypatch)
    assert min(verdicts["ok"], verdicts["no"]) > 1


@pytest.mark.long
@pytest.mark.compares(0.5)
@pytest.mark.parametrize("seeds", lengths(range(5), range(24)))
def test_several_runs_say_of_generations_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(generated_rounds.generations, seeds, monkeypatch)
    assert min(verdicts["ok"], verdicts["no"]) > 0


@pytest.mark.campaign
@pytest.mark.compares(0.5)
def test_several_runs_say_of_many_generations_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(generated_rounds.generations, range(1000, 1000 + share(1000)), monkeypatch)


@pytest.mark.campaign
@pytest.mark.compares(0.5)
def test_several_runs_say_of_many_rounds_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(generated_rounds.kernel, range(1000, 1000 + share(3000)), monkeypatch)


_GRID = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 count)
{{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [count];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %nctaid.x; mov.u32 %r5, 0; mov.u32 %r11, 0;
 mad.lo.u32 %r6, %r1, %r3, %r2; mul.wide.u32 %rd3, %r6, 4; add.u64 %rd3, %rd1, %rd3;
 mul.lo.u32 %r7, %r3, %r4; sub.u32 %r7, %r7, 1; sub.u32 %r7, %r7, %r6; mul.wide.u32 %rd4, %r7, 4; add.u64 %rd4, %rd1, %rd4;
 setp.ne.u32 %p1, %r2, 0; sub.u32 %r4, %r4, 1;
ROUND:
 st.global.u32 [%rd3], %r6;
 bar.sync 0; xor.b32 %r5, %r5, 1; @%p1 bra MET;
 {before}
 {count}.global.add.u32 %r8, [%rd2], 1; setp.ne.u32 %p2, %r8, %r4; @%p2 bra WAIT;
 {back}
 bra BEHIND;
WAIT: ld.relaxed.gpu.global.u32 %r9, [%rd2+4]; setp.ne.u32 %p2, %r9, %r5; @%p2 bra WAIT;
BEHIND:
 {behind}
MET: {met}
 ld.global.u32 %r10, [%rd4]; add.u32 %r11, %r11, 1; setp.lt.u32 %p2, %r11, {rounds}; @%p2 bra NEXT;
 ret;
NEXT:
 add.u32 %r6, %r6, %r10; bra ROUND;
}}"""
_BACK, _TURN = "st.relaxed.gpu.global.u32 [%rd2], 0;", "st.relaxed.gpu.global.u32 [%rd2+4], %r5;"
_FENCE = "fence.acq_rel.gpu;"
_RIGHT = {
    "count": "atom.relaxed.gpu",
    "before": _FENCE,
    "back": f"{_BACK} {_FENCE} {_TURN}",
    "behind": _FENCE,
    "met": "bar.sync 0;",
    "rounds": "1",
}


def _grid(grid: int, block: int, *, forall: str = "", **changed: str) -> KernelTest:
    """CTAs meet, and read what those on the other side wrote."""
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {"x": {"type": "u32", "elements": grid * block}, "count": {"type": "u32", "elements": 3}},
        "check": {"race_free": True, "terminates": True, **({"forall": forall} if forall else {})},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _GRID.format(**{**_RIGHT, **changed})}).test()


def test_a_barrier_of_a_grid_with_a_counter_that_is_set_back_is_decided_at_its_size() -> None:
    open_, found = by_runs(_grid(6, 64))
    assert not open_ and found.verdict == "ok"
    assert found.notes[0].startswith("one run of all 384 threads")


def test_the_counter_may_be_set_back_by_a_weak_store() -> None:
    """As by `if (atomicAdd(&count, 1) == gridDim.x - 1) { count = 0; ... }`: the last one has observed all others."""
    open_, found = by_runs(_grid(6, 64, back=_RIGHT["back"].replace("st.relaxed.gpu", "st.weak", 1)))
    assert not open_ and found.verdict == "ok"


@pytest.mark.parametrize(("scope", "verdict"), [("gpu", "ok"), ("cta", "no")])
def test_a_weak_store_races_with_whom_the_last_one_did_not_observe(
    scope: str, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operation of a CTA's scope observes none of another CTA's."""
    test = _grid(2, 1, back=f"st.weak.global.u32 [%rd2], 0; {_FENCE} {_TURN}", count=f"atom.relaxed.{scope}")
    assert by_formula(test, monkeypatch).verdict == verdict
    open_, found = by_runs(test)
    assert open_ or found.verdict == verdict


@pytest.mark.part(3)
@pytest.mark.parametrize(
    "changed",
    [{"before": ""}, {"behind": ""}, {"met": ""}, {"back": f"{_BACK} {_TURN}"}, {"back": _TURN, "rounds": "3"},
     {"back": f"{_TURN} {_FENCE} {_BACK}", "rounds": "3"}, {"rounds": "3"}],
    ids=str,
)  # fmt: skip
def test_a_mistake_in_a_barrier_of_a_grid_is_found(changed: dict[str, str]) -> None:
    open_, found = by_runs(_grid(4, 32, **changed))
    assert not open_ and found.verdict == "no"


_WRAPS = {
    "count": "atom.relaxed.gpu.global.inc.u32 %r8, [%rd2], %r4; setp.ne.u32 %p2, %r8, %r4; @%p2 bra WAIT; //",
    "back": _TURN,
    "before": f"ld.relaxed.gpu.global.u32 %r5, [%rd2+4]; xor.b32 %r5, %r5, 1; {_FENCE}",
}
_AFTER = f"{_FENCE} {_TURN}"
_SECOND = "setp.eq.u32 %p3, %r1, 1;"


@pytest.mark.parametrize(
    "changed",
    [{}, _WRAPS | {"back": _AFTER}, _WRAPS | {"back": _AFTER.replace("st.relaxed", "st.release")},
     {"back": f"{_BACK} {_FENCE} atom.relaxed.gpu.global.exch.b32 %r0, [%rd2+4], %r5;"}],
    ids=str,
)  # fmt: skip
def test_one_run_stands_for_all_where_it_does_not_matter_who_is_last(
    changed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    open_, found = by_runs(_grid(8, 64, rounds="1", **changed))
    assert not open_ and found.verdict == "ok" and "whoever is the last one does the same" in found.notes[0]
    assert by_formula(_grid(2, 1, **changed), monkeypatch).verdict in ("ok", "bounded")


#: In the order of the run the CTA of the greatest number is the last one; what is wrong shows only where another one is.
_HIDDEN = {
    "the last one releases nothing": {"before": f"{_SECOND} @!%p3 {_FENCE}"},
    "the last one would not acquire": {"behind": f"{_SECOND} @!%p3 {_FENCE}"},
    "the last one would turn something else": {"back": f"{_BACK} {_FENCE} {_SECOND} @!%p3 mov.u32 %r5, 7; {_TURN}"},
    "only the last one has a fence between": {"back": f"{_BACK} {_SECOND} @%p3 {_FENCE} {_TURN}".replace("%r1, 1;", "%r1, 2;")},
    "only the last one sets the counter back": {"back": f"{_SECOND} @%p3 {_BACK} {_FENCE} {_TURN}", "rounds": "2"},
    "who is last goes on otherwise": {
        "back": f"{_BACK} {_FENCE} {_TURN} mov.u32 %r6, 9;",
        "met": "st.global.u32 [%rd3+8], %r6; bar.sync 0;",
    },
    "another one would write what all write": {"back": f"{_SECOND} @!%p3 st.global.u32 [%rd4], 1; {_BACK} {_FENCE} {_TURN}"},
    "the last one would release too early": {"before": f"{_FENCE} {_SECOND} @%p3 st.global.u32 [%rd3], 3;"},
    "another one would write before it acquires": {"back": f"st.global.u32 [%rd1+4], 9; {_BACK} {_FENCE} {_TURN}"},
    "another one would add before it acquires": {
        "back": f"red.relaxed.gpu.global.add.u32 [%rd1+4], 9; {_BACK} {_FENCE} {_TURN}",
    },
    "who is not the last one looks at what is set back weakly": {
        "before": f"{_SECOND} @%p3 ld.relaxed.gpu.global.u32 %r0, [%rd2]; {_FENCE}",
        "back": f"st.weak.global.u32 [%rd2], 0; {_FENCE} {_TURN}",
    },
    "in a narrow scope": {"before": f"{_SECOND} @!%p3 {_FENCE} @%p3 fence.acq_rel.cta;"},
}  # fmt: skip


@pytest.mark.parametrize("name", _HIDDEN)
def test_what_is_wrong_only_where_another_one_is_last_is_not_taken_for_right(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = _grid(3 if "between" in name else 2, 1, **_HIDDEN[name])
    expected = by_formula(test, monkeypatch)
    assert expected.verdict in ("no", "undefined") or len(expected.states) > 1 or name.startswith("who is last")
    open_, found = by_runs(test)
    assert open_ or found.verdict == expected.verdict
    assert not any("whoever is the last one" in note for note in found.notes)


@pytest.mark.parametrize(("operand", "verdict"), [("3", "ok"), ("%r1", "no")])
def test_what_the_last_one_adds_is_what_each_of_them_would_add(
    operand: str, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By operations whose results nobody uses, too: with the number of its CTA, the sum says which one it was."""
    back = f"{_BACK} {_FENCE} red.relaxed.gpu.global.add.u32 [%rd2+8], {operand}; {_FENCE} {_TURN}"
    wanted = f"count[2] == {3 if operand == '3' else 1}"
    test = _grid(2, 1, back=back, forall=wanted)
    assert by_formula(test, monkeypatch).verdict.replace("bounded", "ok") == verdict
    open_, found = by_runs(test)
    assert not open_ and found.verdict == verdict


def test_a_generation_may_be_bumped_by_an_addition() -> None:
    """Each round has another one, which nobody but the last one adds to."""
    bump = "red.relaxed.gpu.global.add.u32 [%rd2+4], 1;"
    seen = "ld.relaxed.gpu.global.u32 %r5, [%rd2+4]; add.u32 %r5, %r5, 1;"
    open_, found = by_runs(_grid(6, 64, before=f"{seen} {_FENCE}", back=f"{_BACK} {_FENCE} {bump}"))
    assert not open_ and found.verdict == "ok" and "whoever is the last one does the same" in found.notes[0]


def test_who_comes_to_a_round_behind_its_store_only_by_what_it_finds_there_is_not_always_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last one of the first round turns the flag without a release: the other one may come to the second round before the
    counter is set back, but for an order of the second round in which it finds what the first one has done there."""
    found = generated_rounds.generations(17)
    assert by_formula(found, monkeypatch).verdict == "no"
    open_, said = by_runs(found)
    assert open_ or said.verdict == "no"

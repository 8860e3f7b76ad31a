"""Workers that take tickets in rounds: one run beside the formula, each condition with a kernel that is wrong and would be
taken for right without it, and kernels at their size with mistakes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from by_runs import by_formula, by_runs
from campaigns import lengths, share
from compared_rounds import compare_rounds, in_rounds, true
from generated_ticket_rounds import generated, round_kernel

from axioms.dynamic.tickets import persistent, round_kinds
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile


def _compare(seeds: range, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    return compare_rounds(generated, seeds, monkeypatch, lambda found: "same")


@pytest.mark.compares(0.2)
@pytest.mark.parametrize("seeds", lengths(range(2), range(12)))
def test_what_is_said_of_rounds_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(seeds, monkeypatch)


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_what_is_said_of_rounds_of_many_kernels_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(range(1000, 1000 + share(4000)), monkeypatch)


_OWN = "st.global.u32 [%rd4], {};"
_READ = "ld.shared.u32 %r5, [s+8]; "
_CARRIED = f"{_READ} add.u32 %r5, %r5, 1; st.shared.u32 [s+8], %r5; {_OWN.format('%r5')}"
#: Kernels with several outcomes: what a round does, more of the kernel, and the condition without which they would have one.
_WRONG: dict[str, tuple[str, dict[str, Any], tuple[Any, str, Any]]] = {
    "which CTA it is": ("mov.u32 %r6, %ctaid.x; " + _OWN.format("%r6"), {}, (persistent, "asks_no_more", true)),
    "which CTA it was before": (_OWN.format("%r1"), {"block": 1}, (persistent.Persistent, "_stands", lambda *_: 1)),
    "a register is carried along": (
        "add.u32 %r9, %r9, 1; " + _OWN.format("%r9"), {"block": 1}, (persistent.Persistent, "_stands", lambda *_: 1),
    ),
    "shared memory is carried along": (
        _CARRIED, {"before": "st.shared.u32 [s+8], 0;", "block": 1}, (round_kinds.SharedRounds, "access", true),
    ),
    "shared memory that CTAs begin with": (
        _READ + _OWN.format("%r5"), {"before": "st.shared.u32 [s+8], %r1;", "block": 1},
        (round_kinds.SharedRounds, "apart", true),
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", _WRONG)
def test_each_condition_leaves_open_what_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work, more, (place, condition, none) = _WRONG[name]
    test = round_kernel(work, **more)
    found = in_rounds(test)
    assert found is None or found.differing
    with monkeypatch.context() as without:
        without.setattr(place, condition, none)
        assert in_rounds(test) is not None
    assert len(by_formula(test, monkeypatch).states) > 1


def test_numbers_that_no_thread_takes_are_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    test = round_kernel(
        _OWN.format("%t0") + " setp.eq.u32 %p4, %t0, 0; @%p4 red.relaxed.gpu.global.add.u32 [%rd3], 1;", block=1
    )
    assert in_rounds(test) is None
    assert len(by_formula(test, monkeypatch).states) > 1


def test_who_takes_the_last_ticket_may_set_the_counter_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rounds and two workers: four tickets, of which the last one comes behind all others."""
    sets_back = "setp.eq.u32 %p4, %t0, {}; @%p4 st.global.u32 [%rd3], 0;"
    found = in_rounds(round_kernel(_OWN.format("%t0"), block=1, after=sets_back.format(3)))
    assert found is not None and found.state["c[0]"] == 0
    assert by_formula(round_kernel(_OWN.format("%t0"), block=1, after=sets_back.format(3)), monkeypatch).verdict == "ok"
    for wrong in (sets_back.format(2), sets_back.format(3) * 2, "@%p2 st.global.u32 [%rd3], 0;"):
        assert in_rounds(round_kernel(_OWN.format("%t0"), block=1, after=wrong)) is None
    assert by_formula(round_kernel(_OWN.format("%t0"), block=1, after=sets_back.format(2)), monkeypatch).verdict == "no"


def test_what_is_the_same_in_all_ctas_may_be_found_in_shared_memory() -> None:
    assert in_rounds(round_kernel(_READ + _OWN.format("%r5"), before="st.shared.u32 [s+8], 3;", block=1)) is not None
    assert in_rounds(round_kernel("bar.sync 0; mov.u32 %r9, %t0; " + _OWN.format("%r9"))) is not None


def test_what_only_some_ctas_have_in_shared_memory_is_left_open() -> None:
    """Nothing tells there from here by its number: what no thread wrote is no zero."""
    before = "setp.eq.u32 %p4, %r1, WHICH; @%p4 st.shared.u32 [s+8], 0;"
    for which in "01":
        assert (
            in_rounds(round_kernel(_READ + _OWN.format("%r5"), before=before.replace("WHICH", which), block=1)) is None
        )


def test_a_taker_may_not_write_what_others_still_read() -> None:
    """Behind the last barrier of a round somebody reads what the taker of another one writes before the barrier."""
    rounds = round_kinds.SharedRounds()
    rounds.ends_round(0, [("R", 8, 12, 1), ("W", 16, 20, 0)])
    rounds.begins(0, ("W", 16, 20, 0))
    assert rounds.apart()
    rounds.begins(0, ("W", 8, 12, 0))
    assert not rounds.apart()


_AT_SIZE = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 c, .param .u64 out)
{
 .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<6>; .shared .align 4 .u32 tile;
 ld.param.u64 %rd1, [c]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x; setp.ne.u32 %p1, %r1, 0;
LOOP: @%p1 bra GOT;
 TAKE st.shared.u32 [tile], %r3;
GOT: FIRST ld.shared.u32 %r4, [tile]; setp.ge.u32 %p2, %r4, 64; @%p2 bra END;
 mad.lo.u32 %r5, PLACE, %r2, %r1; mul.wide.u32 %rd3, %r5, 4; add.u64 %rd4, %rd2, %rd3;
 ld.global.u32 %r6, [%rd4]; add.u32 %r6, %r6, %r4; st.global.u32 [%rd4], %r6;
 SECOND bra LOOP;
END: ret;
}
"""
_RIGHT = {
    "TAKE": "atom.global.add.u32 %r3, [%rd1], 1;", "FIRST": "bar.sync 0;", "SECOND": "bar.sync 0;", "PLACE": "%r4",
}  # fmt: skip
_MISTAKES = {
    "no barrier behind the ticket": {"FIRST": ""},
    "no barrier at the end": {"SECOND": ""},
    "a tile of two tickets": {"PLACE": "%r7", "FIRST": "bar.sync 0; ld.shared.u32 %r7, [tile]; shr.u32 %r7, %r7, 1;"},
    "no atomic operation": {"TAKE": "ld.global.u32 %r3, [%rd1]; add.u32 %r7, %r3, 1; st.global.u32 [%rd1], %r7;"},
}


def _at_size(mistake: dict[str, str], grid: int = 4, block: int = 64) -> KernelTest:
    text = _AT_SIZE
    for word, put in {**_RIGHT, **mistake}.items():
        text = text.replace(word, put)
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {
            "c": {"type": "u32", "elements": 1, "init": [0]},
            "out": {"type": "u32", "elements": 64 * block, "init": [1]},
        },
        "check": {
            "forall": f"out[{64 * block - 1}] == 63 && c[0] == {64 + grid}", "race_free": True, "terminates": True,
        },
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


@pytest.mark.long
def test_a_scheduler_of_tiles_is_right() -> None:
    open_, result = by_runs(_at_size({}))
    assert (open_, result.verdict) == ("", "ok")
    assert "whichever CTA gets which of 68 tickets" in result.notes[0]


@pytest.mark.long
@pytest.mark.parametrize("name", _MISTAKES)
def test_a_mistake_of_a_scheduler_of_tiles_is_told(name: str) -> None:
    test = _at_size(_MISTAKES[name])
    assert in_rounds(test) is None
    open_, result = by_runs(test)
    assert (open_, result.verdict) == ("", "no")


_WARPS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 c, .param .u64 out)
{
 .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<6>;
 ld.param.u64 %rd1, [c]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %laneid; setp.ne.u32 %p1, %r1, 0;
LOOP: @%p1 bra GOT;
 atom.global.add.u32 %r3, [%rd1], 1;
GOT: shfl.sync.idx.b32 %r3, %r3, LANE, 31, -1; setp.ge.u32 %p2, %r3, 64; @%p2 bra END;
 mad.lo.u32 %r5, %r3, 32, %r1; mul.wide.u32 %rd3, %r5, 4; add.u64 %rd4, %rd2, %rd3; st.global.u32 [%rd4], %r3;
 bra LOOP;
END: ret;
}
"""


def test_warps_take_tickets() -> None:
    """One lane takes them, and hands them on by a shuffle."""
    test = _at_size({}, 2, 64)
    launch = replace(test.launches[0], text=_WARPS.replace("LANE", "0"))
    found = in_rounds(replace(test, launches=(launch,)))
    assert found is not None and found.worker == "warp" and found.state["c[0]"] == 68


def test_launches_that_run_at_the_same_time_are_left_open() -> None:
    """Each has parameters of its own, which a round may read. Those that come one after the other are decided."""
    test = round_kernel(_OWN.format("%t0"), block=1)
    one = test.launches[0]
    assert in_rounds(replace(test, launches=(one, one))) is not None
    assert in_rounds(replace(test, launches=(one, replace(one, stream="other")))) is None


def test_clusters_are_left_open() -> None:
    """Addresses of shared memory are others in each CTA of one."""
    test = round_kernel("mov.u32 %r6, s; " + _OWN.format("%r6"), block=1)
    assert in_rounds(test) is not None
    assert in_rounds(replace(test, launches=(replace(test.launches[0], cluster=(2, 1, 1)),))) is None

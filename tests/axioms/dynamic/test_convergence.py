"""Threads that find out who of their warp has come to `activemask`, and add for all of them at once."""

from __future__ import annotations

import pytest
from by_runs import by_formula, by_runs
from ticketed_kernels import ticketed_kernel

from ptxmm.kernels.test import KernelTest
from ptxmm.words.notes import ASSUMED

#: Threads of odd numbers append theirs: the first of them in the warp takes places for all.
_ODD = "and.b32 %r6, %r4, 1; setp.eq.u32 %p3, %r6, 0; @%p3 bra END;"
_WHO = """activemask.b32 %r6; mov.u32 %r10, %laneid; mov.u32 %r11, %lanemask_lt; and.b32 %r11, %r11, %r6;
 {rank}; popc.b32 %r12, %r6; brev.b32 %r13, %r6; clz.b32 %r13, %r13; setp.ne.u32 %p4, %r10, %r13; @%p4 bra TAKEN;"""
_RANK = "popc.b32 %r11, %r11"
_TAKES = "atom.global.add.u32 %t0, [%rd3], %r12; TAKEN:"
_TOLD = "shfl.sync.idx.b32 %t0, %t0, %r13, 31, %r6;"
_PUTS = "add.u32 %t0, %t0, %r11; mul.wide.u32 %rd2, %t0, 4; add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2], %r5;"


def _appends(grid: int, block: int, *, rank: str = _RANK, takes: str = _TAKES, told: str = _TOLD) -> KernelTest:
    body = " ".join(["mov.u32 %t0, 0;", _ODD, _WHO.format(rank=rank), takes, told, _PUTS])
    count = grid * block // 2
    return ticketed_kernel(body, grid, block, words=count + 2, start=(0, 0), forall=f"c[0] == {count}")


def test_additions_by_warps_are_decided_at_their_size() -> None:
    open_, result = by_runs(_appends(4, 64))
    assert (result.verdict, open_) == ("ok", "") and ASSUMED["activemask"] in result.notes


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"rank": "mov.u32 %r11, 0"}, id="all in one place"),
        pytest.param(
            {"rank": "shr.u32 %r11, %r11, 1; popc.b32 %r11, %r11; shr.u32 %r11, %r11, 1"}, id="two in one place"
        ),
        pytest.param({"takes": _TAKES.replace("%r12", "1")}, id="one place for all"),
        pytest.param(
            {"takes": _TAKES.replace("atom.global", "atom.relaxed.cta.global")}, id="a scope that is too narrow"
        ),
        pytest.param({"told": ""}, id="nobody is told"),
    ],
)
def test_a_mistake_in_them_is_found(wrong: dict[str, str]) -> None:
    assert by_runs(_appends(4, 64, **wrong))[1].verdict in ("no", "undefined")


#: What threads do to know who is there, and whether that is decided.
_ASKS = {
    "all": ("activemask.b32 %r6;", True),
    "some": ("setp.eq.u32 %p3, %r2, 1; @%p3 bra NOT; activemask.b32 %r6; NOT:", True),
    "by what they read": (
        "ld.global.u32 %r7, [%rd5]; setp.eq.u32 %p3, %r7, 2; mov.u32 %r6, 9; @%p3 bra NOT; activemask.b32 %r6; NOT:", True
    ),
    "two groups": (
        "setp.eq.u32 %p3, %r2, 1; @%p3 bra ELSE; activemask.b32 %r6; bra BOTH; ELSE: activemask.b32 %r6; BOTH:", True
    ),
    "in a loop": (
        "mov.u32 %r7, 0; ROUND: activemask.b32 %r6; add.u32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, %r5; @%p3 bra ROUND;", False
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _ASKS)
def test_who_is_there_the_formula_says_as_well(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, decided = _ASKS[name]
    body = f"mov.u32 %r6, 0; {body} st.global.u32 [%rd5+32], %r6;"
    test = ticketed_kernel(body, grid=1, block=3, forall="x[0] == 0 && x[8] < 99 && x[9] < 99 && x[10] < 99")
    open_, result = by_runs(test)
    assert (not open_) is decided
    if decided:
        assert result.states == by_formula(test, monkeypatch).states

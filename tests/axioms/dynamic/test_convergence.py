"""Threads that find out who of their warp has come to `activemask`, and add for all of them at once."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from agreement import note
from by_runs import by_formula, by_runs
from campaigns import lengths
from ticketed_kernels import ticketed_kernel

from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.watched_run import watched_run
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
        "mov.u32 %r7, 0; ROUND: activemask.b32 %r6; add.u32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, %r2; @%p3 bra ROUND;", True
    ),
    "in a loop that is entered in two ways": (
        "mov.u32 %r7, 0; setp.eq.u32 %p3, %r2, 1; @%p3 bra MID; ROUND: add.u32 %r7, %r7, 1; MID: activemask.b32 %r6; "
        "add.u32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, %r2; @%p3 bra ROUND;", False
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


def _rounds(seed: int) -> str:
    """Two loops, one in the other, of which each thread makes as many rounds as it likes, and asks in some who is there."""
    choose = random.Random(seed)

    def ask(name: str) -> str:
        guard = choose.choice(
            ("", f"and.b32 %r12, %r2, {choose.choice((1, 2))}; setp.eq.u32 %p3, %r12, 0; @%p3 bra {name};")
        )
        return f"{guard} activemask.b32 %r13; mad.lo.u32 %r6, %r6, 5, %r13; {name}:"

    def bound(register: str, first: int) -> str:
        factor, plus = choose.choice((0, 1, 1, 2)), choose.randrange(first, 3)
        return f"mad.lo.u32 {register}, %r2, {factor}, {plus}; and.b32 {register}, {register}, 3;"

    inner = f"""{bound("%r11", 0)} add.u32 %r11, %r11, %r7; and.b32 %r11, %r11, 3; mov.u32 %r10, 0;
 INNER: setp.ge.u32 %p3, %r10, %r11; @%p3 bra OVER; {ask("ONE")} add.u32 %r10, %r10, 1; bra INNER; OVER:"""
    parts = [ask("TWO") if choose.random() < 0.5 else "", inner if choose.random() < 0.7 else "", ask("THREE")]
    return f"""mov.u32 %r7, 0; {bound("%r14", 1)}
 OUTER: {" ".join(parts)} add.u32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, %r14; @%p3 bra OUTER;"""


@pytest.mark.compares(1)
@pytest.mark.parametrize("seeds", lengths(range(5), range(100)))
def test_who_is_there_in_a_round_the_formula_says_as_well(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in seeds:
        body = f"mov.u32 %r6, 0; {_rounds(seed)} st.global.u32 [%rd5+32], %r6;"
        test = ticketed_kernel(body, grid=1, block=3, forall="x[0] == 0 && x[8] < 99 && x[9] < 99 && x[10] < 99")
        open_, result = by_runs(test)
        assert not open_, seed
        assert result.states == by_formula(test, monkeypatch).states, seed
    note(len(seeds), Counter())


#: Each thread goes round a loop as often as it polls in vain, so in which round it asks who is there hangs on time.
_POLLS = """setp.ne.u32 %p3, %r2, 0; @%p3 bra WAIT; st.relaxed.gpu.global.u32 [%rd3], 1;
 WAIT: ld.relaxed.gpu.global.u32 %r7, [%rd3]; {ask} setp.eq.u32 %p3, %r7, 0; @%p3 bra WAIT; {late}"""


@pytest.mark.parametrize(
    ("ask", "late", "decided"), [("activemask.b32 %r6;", "", False), ("", "activemask.b32 %r6;", True)]
)
def test_rounds_of_a_loop_that_waits_are_no_certain_number(ask: str, late: str, decided: bool) -> None:
    body = f"mov.u32 %r6, 0; {_POLLS.format(ask=ask, late=late)} st.global.u32 [%rd5+32], %r6;"
    test = ticketed_kernel(body, grid=1, block=2, start=(0, 0), forall="c[0] == 1")
    assert (watched_run(Runs(test, watched=True), None).why is None) is decided

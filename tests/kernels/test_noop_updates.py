"""Failing exchanges of a lock are looks: the same outcomes with them and without, and only where nobody can tell."""

from __future__ import annotations

from pathlib import Path

import pytest

import ptxmm
from axioms.analysis.noop_updates import noop_places
from ptxmm.kernels import explored as module
from ptxmm.kernels.explored import ExploredKernels
from ptxmm.kernels.launch import Buffer, Launch

LOCKS = Path(__file__).parent / "locks"


def kernel(
    name: str, *, blocks: int = 2, threads: int = 1, change: tuple[str, str] = ("", ""), **checks: object
) -> ptxmm.Kernel:
    text = (LOCKS / f"{name}.ptx").read_text().replace(*change)
    buffers = {"lock": {"type": "u32", "init": [0]}, "x": {"type": "u32", "init": [0]}}
    return ptxmm.Kernel(ptx=text, entry="k", grid=(blocks, 1, 1), block=(threads, 1, 1), params=buffers, **checks)


def launch(name: str, change: tuple[str, str] = ("", "")) -> Launch:
    text = (LOCKS / f"{name}.ptx").read_text().replace(*change)
    return Launch(text, "k", grid=(2, 1, 1), params=(Buffer("lock"), Buffer("x")))


def places_of(wanted: Launch) -> dict[int, frozenset[int] | None]:
    plain = ExploredKernels([wanted])
    return noop_places(plain.threads, plain.memory)


@pytest.mark.parametrize("name", ["ttas_lock.correct", "ttas_lock.weak_order"])
def test_outcomes_are_the_same_as_with_every_turn_followed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    short = kernel(name, forall="x[0] < 9").check()
    monkeypatch.setattr(module, "noop_places", lambda threads, memory: {})
    long = kernel(name, forall="x[0] < 9").check()
    assert sorted(s["x[0]"] for s in short.states) == sorted(s["x[0]"] for s in long.states)
    assert short.verdict == long.verdict and short.complete


@pytest.mark.long
def test_a_lock_of_nine_threads_is_decided_without_a_bound() -> None:
    result = kernel("ttas_lock.correct", blocks=3, threads=3, forall="x[0] == 9", race_free=True).check()
    assert (result.verdict, result.complete) == ("ok", True)


def test_numbers_that_may_stand_in_the_lock() -> None:
    found = places_of(launch("ttas_lock.correct"))
    assert list(found.values()) == [frozenset({0, 1})]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("ttas_lock.weak_scope", ("", "")),  # scopes that do not take in each other
        ("ttas_lock.correct", ("st.release.gpu", "st")),  # a weak store
        ("ttas_lock.correct", ("ld.relaxed.gpu.b32", "ld.relaxed.gpu.b16")),  # another size
    ],
)
def test_only_where_all_accesses_are_morally_strong(name: str, change: tuple[str, str]) -> None:
    assert places_of(launch(name, change)) == {}


def test_who_never_unlocks_keeps_the_others_waiting() -> None:
    stays = kernel("ttas_lock.correct", change=("st.release.gpu.b32 [%rd2],%r4;", ""), terminates=True).check()
    assert stays.verdict == "no"
    assert kernel("ttas_lock.correct", terminates=True).check().verdict == "ok"


#: Each block counts itself, then asks for the number by adding nothing, until all are there.
COUNTS = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 count, .param .u64 x) {
    .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [count]; ld.param.u64 %rd2, [x];
    atom.acq_rel.gpu.add.u32 %r1, [%rd1], 1;
L:  ATOMIC
    setp.lo.u32 %p, %r2, 2; @%p bra L;
    atom.relaxed.gpu.add.u32 %r3, [%rd2], 1;
    ret;
}
"""


def counts(atomic: str, blocks: int = 2) -> ptxmm.Kernel:
    word = {"type": "u32", "elements": 1}
    buffers = {"count": word, "x": word}
    checks: dict[str, object] = {
        "forall": f"count[0] == {blocks} && x[0] == {blocks}",
        "race_free": True,
        "terminates": True,
    }
    return ptxmm.Kernel(ptx=COUNTS.replace("ATOMIC", atomic), entry="k", grid=blocks, block=1, params=buffers, **checks)


@pytest.mark.part(6)
@pytest.mark.parametrize("operation", ["add.u32 %r2, [%rd1], 0;", "or.b32 %r2, [%rd1], 0;", "and.b32 %r2, [%rd1], -1;"])
@pytest.mark.parametrize("semantics", ["relaxed", "acq_rel"])
def test_an_atomic_that_changes_nothing_is_a_look(
    operation: str, semantics: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = counts(f"atom.{semantics}.gpu.global.{operation}").check()
    assert (short.verdict, short.complete) == ("ok", True)
    monkeypatch.setattr(module, "noop_places", lambda threads, memory: {})
    long = counts(f"atom.{semantics}.gpu.global.{operation}").check()
    assert (long.verdict, long.complete, long.states) == ("bounded", False, short.states)


@pytest.mark.part(2)
@pytest.mark.parametrize(
    "atomic",
    [
        "atom.relaxed.gpu.global.add.u32 %r2, [%rd1], %r1;",  # adds 0 in one block only
        "atom.relaxed.cta.global.add.u32 %r2, [%rd1], 0;",  # a scope that does not take in the others
    ],
)
def test_an_atomic_that_may_change_something_is_not(atomic: str) -> None:
    assert not counts(atomic).check().complete


def test_nobody_comes_to_a_count_that_is_too_high() -> None:
    alone = counts("atom.relaxed.gpu.global.add.u32 %r2, [%rd1], 0;", blocks=1).check()
    assert [c.holds for c in alone.checks] == [False, False, False] and alone.hangs


#: Blocks take turns by exchanging, and count where a pointer leads that is in memory.
POINTER = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 lock, .param .u64 x, .param .u64 p) {
    .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [lock]; ld.param.u64 %rd2, [x]; ld.param.u64 %rd3, [p];
    mov.u32 %r1, %ctaid.x;
    st.relaxed.gpu.global.u64 [%rd3], WHERE;
LOOP:
    atom.acquire.gpu.exch.b32 %r2, [%rd1], 1; setp.ne.u32 %p, %r2, 0; @%p bra LOOP;
    ld.relaxed.gpu.global.u64 %rd4, [%rd3];
    ld.global.u32 %r3, [%rd4]; add.u32 %r3, %r3, 1; st.global.u32 [%rd4], %r3;
    st.release.gpu.u32 [%rd1], 0;
    ret;
}
"""


@pytest.mark.parametrize(("where", "complete"), [("%rd2", True), ("%rd1", False)])
def test_a_pointer_that_was_read_may_lead_to_the_lock_or_not(
    where: str, complete: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = {"type": "u32", "elements": 1}
    made = ptxmm.Kernel(
        POINTER.replace("WHERE", where), grid=2, block=1, forall="x[0] == 2 && lock[0] == 0",
        params={"lock": word, "x": word, "p": {"type": "u64", "elements": 1}},
    )  # fmt: skip
    short = made.check()
    monkeypatch.setattr(module, "noop_places", lambda threads, memory: {})
    long = made.check()
    assert short.complete == complete and not long.complete
    assert (short.verdict, long.verdict) == (("ok", "bounded") if complete else ("no", "no"))
    assert sorted(map(str, short.states)) == sorted(map(str, long.states))


#: The first block tells the two threads of the second one by a flag: the first of them looks, and tells the other one.
LEADER = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 flag, .param .u64 x) {
    .reg .pred %p<3>; .reg .b32 %r<6>; .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [flag]; ld.param.u64 %rd2, [x];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, 0;
    setp.ne.u32 %p0, %r2, 0; @%p0 bra READER;
    setp.ne.u32 %p1, %r1, 0; @%p1 ret;
    st.relaxed.gpu.global.u32 [%rd2+8], 1;
    st.release.gpu.global.u32 [%rd1], 1;
    ret;
READER:
    setp.ne.u32 %p1, %r1, 0; @%p1 bra TOLD;
L:  LOOK
    setp.eq.u32 %p2, %r3, 0; @%p2 bra L;
TOLD:
    shfl.sync.idx.b32 %r4, %r3, 0, 31, 3;
    ld.relaxed.gpu.global.u32 %r5, [%rd2+8];
    add.u32 %r5, %r4, %r5;
    mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r5;
    ret;
}
"""


def told(look: str) -> ptxmm.Result:
    params = {"flag": {"type": "u32", "elements": 1}, "x": {"type": "u32", "elements": 3}}
    return ptxmm.Kernel(
        LEADER.replace("LOOK", look), grid=2, block=2, params=params, forall="x[0] == 2 && x[1] >= 1", race_free=True,
        terminates=True,
    ).check()  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("operation", ["or.b32 %r3, [%rd1], 0;", "exch.b32 %r3, [%rd1], 0;"])
def test_a_lane_that_tells_its_warp_may_look_by_an_atomic(operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but an exchange that finds 1 changes anything, and that one is the last."""
    plain, short = told("ld.acquire.gpu.global.u32 %r3, [%rd1];"), told(f"atom.acquire.gpu.global.{operation}")
    assert (short.verdict, short.complete, short.states) == ("ok", True, plain.states)
    assert plain.complete and len(plain.states) == 2
    monkeypatch.setattr(module, "noop_places", lambda threads, memory: {})
    long = told(f"atom.acquire.gpu.global.{operation}")
    assert (long.verdict, long.complete, long.states) == ("bounded", False, plain.states)


@pytest.mark.long
@pytest.mark.parametrize(
    "look",
    [
        "atom.acquire.cta.global.or.b32 %r3, [%rd1], 0;",  # a scope that does not take in the writer
        "atom.acquire.gpu.global.or.b32 %r3, [%rd1], 0; vote.sync.any.pred %p2, %p1, 1;",  # not only a look
    ],
)
def test_a_lane_that_does_more_does_not_only_look(look: str) -> None:
    assert not told(look).complete


WAITING = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 lock, .param .u64 x)
{
    .reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %d<3>;
    ld.param.u64 %d1, [lock]; ld.param.u64 %d2, [x];
    mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra OTHER;
    L: atom.relaxed.gpu.exch.b32 %r2, [%d1], 1; setp.ne.u32 %p2, %r2, 2; @%p2 bra L;
    ret;
    OTHER: atom.relaxed.gpu.exch.b32 %r3, [%d1], 2; st.relaxed.gpu.u32 [%d2], %r3;
    ret;
}
"""


def test_an_iteration_is_left_out_where_it_writes_what_it_read_and_counts_where_it_does_not() -> None:
    buffers = {"lock": {"type": "u32", "init": [0]}, "x": {"type": "u32", "init": [9]}}
    result = ptxmm.Kernel(
        WAITING, grid=2, block=1, params=buffers, forall=["lock[0] == 1", "x[0] < 2"], terminates=True
    ).check()
    assert (result.verdict, result.complete) == ("ok", True)
    assert sorted((s["lock[0]"], s["x[0]"]) for s in result.states) == [(1, 0), (1, 1)]

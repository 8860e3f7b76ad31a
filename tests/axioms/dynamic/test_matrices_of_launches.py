"""Matrices in launches that one run of all threads decides: on arrays as thread by thread, and as the formula has it; what of a
sum nothing determines, and what that decides."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from agreement import note
from by_runs import by_formula, by_runs
from campaigns import lengths, share
from test_watched_together import _counts, _kind

from axioms.dynamic.core.findings import ByteRace
from axioms.dynamic.one_run.together import Together
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.kernels.watched_run import watched_run

_HEAD = """.version 8.6
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{
 .reg .pred %p<4>; .reg .b32 %r<9>, %a<8>, %c<8>; .reg .f32 %f<8>; .reg .b64 %x, %y, %o, %d, %q;
 .shared .align 128 .b8 s[2048];
 ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u64 %q, s;
 mul.wide.u32 %o, %r1, 4; add.u64 %o, %o, %q; mul.wide.u32 %d, %r1, 16; add.u64 %d, %d, %q;
 mov.f32 %f0, 0f00000000; mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f00000000;
 mov.b32 %r5, 0; mov.b32 %a0, 0; mov.b32 %a1, 0; mov.b32 %a2, 0; mov.b32 %a3, 0; mov.b32 %c0, 0; mov.b32 %c1, 0;
 setp.lt.u32 %p1, %r1, 8; setp.eq.u32 %p2, %r1, 0; mad.lo.u32 %r3, %r2, NTID, %r1; mad.wide.u32 %y, %r3, 4, %y;
"""

#: What threads do with shared memory and matrices.
_STATEMENTS = (
    "st.shared.b32 [%o], %r1;",
    "st.shared.b32 [%o+128], %a0;",
    "@%p1 st.shared.v4.b32 [%d], {%r1, %r1, %a0, %a1};",
    "ld.shared.b32 %r5, [%o];",
    "@%p1 ld.shared.v4.b32 {%a0, _, %a1, %r5}, [%d];",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%a0}, [%d];",
    "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%a0, %a1}, [%d];",
    "ldmatrix.sync.aligned.m8n8.x4.b16 {%a0, %a1, %a2, %a3}, [%d];",
    "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%c0, %c1}, [%d];",
    "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {%c0}, [%d];",
    "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%d], {%r1};",
    "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%d], {%a0};",
    "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%d], {%a1};",
    "movmatrix.sync.aligned.m8n8.trans.b16 %a1, %a0;",
    "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%c0, %c1}, {%a0}, {%a1}, {%c0, %c1};",
    "wmma.load.a.sync.aligned.row.m8n8k32.shared.s4 {%a0}, [%q], 32;",
    "wmma.store.d.sync.aligned.row.m8n8k32.shared.s32 [%q], {%c0, %c1}, 8;",
)  # fmt: skip
_FIRST = "@%p1 st.shared.v4.b32 [%d], {%r1, %r1, %r1, %r1}; st.shared.b32 [%o+128], %r1;"
_ALL = "st.shared.v4.b32 [%d], {%r1, %r1, %r1, %r1}; bar.sync 0;"
#: Sums of four products: a thread's factors are numbers of this kind.
_PRODUCT = (
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%a0, %a1}, {%a2}, {%f0, %f1, %f2, %f3};"
)


def _test(
    body: str, warps: int = 1, grid: int = 1, checks: dict[str, object] | None = None, **buffers: object
) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": 32 * warps,
        "params": {
            "x": {"type": "u32", "elements": 64, "init": [0], **buffers},
            "y": {"type": "u32", "elements": 64 * grid, "init": [0]},
        },
        "check": checks or {"forall": "y[0] < 1000000", "race_free": True, "terminates": True, "no_trap": True},
    }  # fmt: skip
    text = _HEAD.replace("NTID", str(32 * warps)) + body + "\nEND: ret;\n}\n"
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def _kernel(seed: int, size: int = 5) -> KernelTest:
    """Some statements, with barriers between most of them."""
    choose = random.Random(seed)
    warps, grid = choose.choice(((1, 1), (1, 2), (2, 1)))
    lines = [_ALL]
    for _ in range(choose.randint(2, size)):
        lines.append(choose.choice(_STATEMENTS))
        if choose.random() < 0.7:
            lines.append("bar.sync 0;" if warps > 1 or choose.random() < 0.5 else "bar.warp.sync 0xffffffff;")
    lines.append("add.u32 %r5, %r5, %c0; st.global.u32 [%y], %r5; st.global.u32 [%y], %a0;")
    return _test("\n".join(lines), warps, grid)


def _compare(seeds: range) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for seed in seeds:
        runs = Runs(_kernel(seed), watched=True)
        together, single = watched_run(runs, None), watched_run(runs, None, alone=True)
        assert type(together.watchers[-1]) is Together, seed
        one, other = _kind(together), _kind(single)
        found[one, other] += 1
        assert (one == "settled") == (other == "settled"), (seed, one, other)
        assert one != "settled" or _counts(together) == _counts(single), seed
    note(found.total(), Counter())
    return found


@pytest.mark.long
@pytest.mark.compares(1)
@pytest.mark.parametrize("count", lengths(30, 60))
def test_warps_together_are_judged_as_threads_one_by_one(count: int) -> None:
    found = _compare(range(count))
    assert found["settled", "settled"] > count / 6
    assert found["race", "race"] > count / 12 and found["unordered", "unordered"] > count / 12


@pytest.mark.campaign
@pytest.mark.compares(1)
def test_warps_together_are_judged_as_threads_one_by_one_in_many_kernels() -> None:
    _compare(range(1000, 1000 + share(3000)))


#: Kernels of one warp for which the formula is quick: every verdict is among them.
_QUICK = (201, 211, 212, 213, 214)


@pytest.mark.long
@pytest.mark.compares(1)
def test_one_run_says_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts: Counter[str] = Counter()
    for seed in _QUICK:
        test = _kernel(seed, 3)
        open_, found = by_runs(test)
        expected = by_formula(test, monkeypatch)
        assert not open_ and found.verdict == expected.verdict, seed
        verdicts[found.verdict] += 1
        for one, other in zip(found.checks, expected.checks, strict=True):
            assert one.holds is None or one.holds == other.holds, (seed, one.text)
    note(verdicts.total(), Counter())
    assert set(verdicts) == {"ok", "no"}


# What of a sum nothing determines.

#: Factors near 1 and an addend of 24 bits: how much of the products counts is a matter of the order.
_OPEN = "mov.b32 %a0, 0x3c013c01; mov.b32 %a1, %a0; mov.b32 %a2, %a0; mov.f32 %f0, 0f4b000001;" + _PRODUCT
#: Factors 2 and the number of a thread: every order gives these sums.
_EXACT = "mov.b32 %a0, 0x40004000; mov.b32 %a1, %a0; cvt.rn.f16.u32 %h, %r1; mov.b32 %a2, {%h, %h};" + _PRODUCT
_RACE = "st.shared.b32 [%q], %r1;"

#: Ways of %f0 to %r5, which is 0 or so.
_WAYS = {
    "a move": "mov.b32 %r5, %f0;",
    "arithmetic": "add.f32 %f1, %f0, 0f3f800000; cvt.rzi.u32.f32 %r5, %f1;",
    "a selection": "setp.gt.f32 %p3, %f0, 0f00000000; selp.b32 %r5, 1, 0, %p3;",
    "shared memory": "st.shared.f32 [%o], %f0; bar.sync 0; ld.shared.b32 %r5, [%o];",
    "another buffer": "mul.wide.u32 %o, %r1, 4; add.u64 %x, %x, %o; st.global.f32 [%x], %f0; ld.global.b32 %r5, [%x];",
    "stmatrix": "mov.b32 %a0, %f0; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%d], {%a0}; bar.sync 0; ld.shared.b32 %r5, [%o];",
    "ldmatrix": "st.shared.f32 [%d], %f0; st.shared.v4.b32 [%d], {%r1, %r1, %r1, %r1}; st.shared.f32 [%d+4], %f0; bar.sync 0;"
                "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%d];",
    "movmatrix": "mov.b32 %a0, %f0; movmatrix.sync.aligned.m8n8.trans.b16 %r5, %a0;",
    "a lane": "mov.b32 %a0, %f0; shfl.sync.idx.b32 %r5, %a0, 3, 0x1f, 0xffffffff;",
    "another product": "mov.b32 %a0, %f0; mov.b32 %c0, 0; mov.b32 %c1, 0;"
                       "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r5, %c1}, {%a0}, {%a1}, {%c0, %c1};",
    "wmma": "st.shared.f32 [%o], %f0; bar.sync 0; wmma.load.c.sync.aligned.row.m8n8k32.shared.s32 {%r5, %c1}, [%q], 8;",
}  # fmt: skip
#: What %r5 decides.
_DECIDED = {
    "an address": "and.b32 %r5, %r5, 4; cvt.u64.u32 %o, %r5; add.u64 %o, %o, %x; ld.global.u32 %r6, [%o];",
    "a branch": "setp.eq.u32 %p3, %r5, 77; @%p3 bra END;",
    "who stores": "setp.eq.u32 %p3, %r5, 77; @%p3 st.global.u32 [%x], 1;",
    "rows of ldmatrix": "and.b32 %r5, %r5, 16; cvt.u64.u32 %o, %r5; add.u64 %o, %o, %q;"
                        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%o];",
    "a stride": "and.b32 %r5, %r5, 0; add.u32 %r5, %r5, 8;"
                "wmma.load.c.sync.aligned.row.m8n8k32.shared.s32 {%r6, %c1}, [%q], %r5;",
    "who multiplies": "setp.ne.u32 %p3, %r5, 77; @%p3 movmatrix.sync.aligned.m8n8.trans.b16 %r6, %a0;",
    "metadata": "and.b32 %r5, %r5, 0; or.b32 %r5, %r5, 0x44444444;"
                "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f4, %f5, %f6, %f7}, {%c0, %c1}, {%a0, %a1},"
                "{%f4, %f5, %f6, %f7}, %r5, 0x0;",
}  # fmt: skip
_SET = (
    "mov.f32 %f4, 0f00000000; mov.f32 %f5, %f4; mov.f32 %f6, %f4; mov.f32 %f7, %f4;"
    "st.shared.v4.b32 [%d], {0, 0, 0, 0}; bar.sync 0;"
)


@pytest.mark.part(8)
@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize("alone", [False, True])
def test_what_an_open_sum_decides_is_left_open(way: str, alone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if alone:
        _one_by_one(monkeypatch)
    for name, decided in _DECIDED.items():
        open_, _ = by_runs(_test(_SET + _OPEN + _WAYS[way] + decided))
        assert "sum of products of matrices" in open_ and "k.toml" not in open_.split(" at ")[0], (name, open_)


@pytest.mark.parametrize("way", _WAYS)
def test_what_an_open_sum_is_only_stored_in_leaves_all_else_decided(way: str) -> None:
    checks = {"forall": ["y[0] == 0", "x[63] == 0"], "race_free": True, "terminates": True, "no_trap": True}
    body = _SET + _OPEN + _WAYS[way] + "st.global.u32 [%y], %r5;"
    open_, found = by_runs(_test(body, checks=checks))
    assert not open_ and found.verdict == "undecided"
    holds = {c.text: c.holds for c in found.checks}
    assert len(found.checks) == 5 and [c.holds for c in found.checks].count(True) == (
        3 if way == "another buffer" else 4
    )
    (first, *_) = [c for c in found.checks if "y[0]" in c.text]
    assert first.holds is None and "depend on sums of products of matrices (k.toml:" in first.message, holds


def _one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from ptxmm.kernels import whole

    real = whole.watched_run
    monkeypatch.setattr(whole, "watched_run", lambda *given, **how: real(*given, **{**how, "alone": True}))


@pytest.mark.parametrize("alone", [False, True])
def test_sums_that_every_order_gives_are_decided(alone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if alone:
        _one_by_one(monkeypatch)
    body = ".reg .b16 %h;" + _EXACT + "st.global.f32 [%y], %f1;"
    checks = {"forall": "y[1] == 0x43580000 && y[2] == 0x43ac0000", "race_free": True, "terminates": True}
    open_, found = by_runs(_test(body, checks=checks))
    assert not open_ and found.verdict == "ok", [c.message for c in found.checks]


def test_a_race_behind_an_open_sum_is_one() -> None:
    open_, found = by_runs(_test(_OPEN + "st.global.f32 [%y], %f0;" + _RACE))
    assert not open_ and found.verdict == "no" and found.races


def test_a_race_that_an_open_sum_decides_is_left_open() -> None:
    """Whether there is one is undefined."""
    open_, _ = by_runs(_test(_OPEN + "setp.lt.f32 %p3, %f0, 0f00000000; @%p3 bra END;" + _RACE))
    assert "sum of products of matrices" in open_


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (
            "st.shared.v4.b32 [%d], {%r1, %r1, %r1, %r1};",
            "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%d];",
            "data",
        ),
        ("st.shared.b32 [%o+4], %r1;", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%d];", "data"),
        ("st.shared.b32 [%o], %r1;", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%d];", "settled"),
        ("st.shared.b32 [%o], %r1;", "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r5}, [%d];", "mixed-size"),
        ("st.shared.b64 [%d], %d;", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%d];", "mixed-size"),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%d], {%r1};", "ld.shared.v2.b32 {%r5, %r6}, [%d];", "data"),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%d], {%r1};", "ld.shared.v2.b32 {%r5, _}, [%d];", "unordered"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%d];", "ld.shared.v2.b32 {%r5, %r6}, [%d];", "settled"),
    ],
)
def test_pieces_of_matrices_and_elements_of_vectors_that_are_the_same_race(one: str, other: str, why: str) -> None:
    runs = Runs(_test(f"{_SET} {one} {other} st.global.u32 [%y], %r5;"), watched=True)
    together, single = watched_run(runs, None), watched_run(runs, None, alone=True)
    assert _kind(together) == _kind(single) == ("race" if why in ("data", "mixed-size") else why)
    if isinstance(together.why, ByteRace) and isinstance(single.why, ByteRace):
        assert together.why.kind == single.why.kind == why
        assert why == "mixed-size" or together.why.last - together.why.first == 3

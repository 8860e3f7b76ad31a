"""Launches that are undefined, or that race in another way than it seems, of which one run of all threads must not say more
than the formula does; each case is a few lines of two threads."""

from __future__ import annotations

import random

import pytest
from by_runs import by_runs, compare
from campaigns import lengths, share

from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.kernels.whole import may_be_whole, tells_races

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<4>; .reg .b16 %h<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
 .shared .align 16 .b8 s[256]; .local .align 8 .b8 l[16];
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mov.u64 %rd2, s; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 1;
"""

#: What one run leaves to the formula (or `same`, where it may say what the formula says), and the lines.
_CASES = {
    "a vector and a wide store": ("same", "@%p1 st.global.v2.u32 [%rd1], {1, 2}; @%p2 st.global.u64 [%rd1], 7;"),
    "vectors of other elements": ("same", "mov.u16 %h1, 1; @%p1 st.global.v2.u32 [%rd1], {1, 2};"
                                               "@%p2 st.global.v4.u16 [%rd1], {%h1, %h1, %h1, %h1};"),
    "a half word of what was stored": ("same", "@%p1 st.shared.u32 [%rd2+8], 1; @%p2 ld.shared.u16 %h1, [%rd2+10];"),
    "a half word behind a fence": ("same", "@%p1 st.shared.u32 [%rd2+8], 1; fence.acq_rel.cta;"
                                   "@%p2 ld.shared.u16 %h1, [%rd2+10];"),
    "a half word behind a barrier": ("same", "@%p1 st.shared.u32 [%rd2+8], 1; bar.sync 0; @%p2 ld.shared.u16 %h1, [%rd2+10];"),
    "an element that nobody wants": ("unordered", "@%p1 ld.shared.v2.u32 {_, %r4}, [%rd2+8];"
                                     "@%p2 st.shared.u32 [%rd2+8], 1;"),
    "vectors": ("same", "@%p1 st.global.v2.u32 [%rd1], {1, 2}; @%p2 st.global.v2.u32 [%rd1], {3, 4};"),
    "an addition behind which a maximum comes": ("same", "@%p1 red.global.add.u32 [%rd1], 1; red.global.max.u32 [%rd1], 7;"),
    "an addition and a maximum of a thread, and a maximum": ("same", "@%p1 red.global.add.u32 [%rd1], 5;"
                                                             "@%p1 red.global.max.u32 [%rd1], 3;"
                                                             "@%p2 red.global.max.u32 [%rd1], 40;"),
    "an addition and a maximum, behind a barrier": ("same", "@%p1 red.global.add.u32 [%rd1], 5; bar.sync 0;"
                                                    "@%p1 red.global.max.u32 [%rd1], 3; @%p2 red.global.max.u32 [%rd1], 40;"),
    "an addition of other bytes before": ("unordered", "@%p1 red.global.add.u64 [%rd1], 1; red.global.add.u32 [%rd1], 9;"),
    "an addition in another scope": ("same", "@%p1 red.relaxed.cta.global.add.u32 [%rd1], 1; red.global.add.u32 [%rd1], 9;"),
    "ldu of what was written": ("order", "@%p1 st.global.u32 [%rd1], 7; bar.sync 0; @%p2 ldu.global.u32 %r4, [%rd1];"),
    "ldu of what will be written": ("order", "@%p1 ldu.global.u32 %r4, [%rd1]; bar.sync 0; @%p2 st.global.u32 [%rd1], 7;"),
    "ldu": ("same", "ldu.global.u32 %r4, [%rd1]; @%p2 st.global.u32 [%rd1+4], 7;"),
    "a register of which nothing is known": ("clock", "mov.u32 %r4, %pm0; @%p1 st.global.u32 [%rd1], %r4;"),
    "the stack of another thread": ("stack", "mov.u64 %rd4, l; cvta.local.u64 %rd4, %rd4; st.u32 [%rd4], %r1;"
                                    "@%p1 st.shared.u64 [%rd2], %rd4; bar.sync 0; @%p2 ld.shared.u64 %rd5, [%rd2];"
                                    "@%p2 ld.u32 %r5, [%rd5]; @%p2 st.global.u32 [%rd1], %r5;"),
    "the stack of another thread, in a vector": ("stack", "mov.u64 %rd4, l; cvta.local.u64 %rd4, %rd4; st.u32 [%rd4], %r1;"
                                                 "@%p1 st.shared.v2.u64 [%rd2], {%rd2, %rd4}; bar.sync 0;"
                                                 "@%p2 ld.shared.u64 %rd5, [%rd2+8]; @%p2 ld.u32 %r5, [%rd5];"),
    "a barrier of all and of some": ("counts", "@%p1 bra A; barrier.sync 1; bra E; A: barrier.sync 1, 32; E: mov.u32 %r4, 1;"),
    "a reduction at a barrier of others": ("same", "@%p1 bra A; barrier.sync 0; bra E; A: barrier.red.popc.u32 %r5, 0, %p1;"
                                           "E: @%p1 st.global.u32 [%rd1], 3;"),
}  # fmt: skip


def _test(text: str, threads: int = 2, grid: int = 1, elements: int = 8) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": threads,
        "params": {"x": {"type": "u32", "elements": elements, "init": [5]}},
        "check": {"forall": "x[0] < 100 || x[1] > 0", "race_free": True, "terminates": True, "no_trap": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


@pytest.mark.parametrize("case", _CASES)
def test_one_run_says_no_more_than_the_formula(case: str) -> None:
    """Two threads are few enough for the formula, which is asked as always."""
    from ptxmm.words.whole import left_open

    wanted, lines = _CASES[case]
    test = _test(_HEAD + lines + "\n ret;\n}")
    open_, found = by_runs(test)
    if wanted != "same":
        assert open_.startswith(left_open(wanted, ""))
        return
    expected = checking.check(test, model_named("ptx-9.0"))
    assert not open_ and found.verdict == expected.verdict
    assert not found.states or found.states == expected.states


def _of_sizes(seed: int) -> KernelTest:
    """Accesses of all sizes by two or three threads, with barriers between some of them, and fences."""
    choose = random.Random(seed)
    lines = ["mov.u16 %h1, 1; mov.u32 %r4, 1; mov.u64 %rd5, 1; mov.u64 %rd6, 2; mov.u32 %r5, 2; mov.u16 %h2, 3;"]
    for _ in range(choose.randint(2, 6)):
        kind, size, vec = choose.choice(("ld", "st")), choose.choice((2, 4, 4, 8)), choose.choice((1, 1, 1, 2))
        at = size * vec * choose.randrange(16 // (size * vec))
        held = {2: ("%h1", "%h2"), 4: ("%r4", "%r5"), 8: ("%rd5", "%rd6")}[size][:vec]
        if vec == 2 and kind == "ld" and choose.random() < 0.3:
            held = ("_", held[1])
        value = f"{{{', '.join(held)}}}" if vec == 2 else held[0]
        address, space = f"[%rd2+{at}]", "shared"
        if choose.random() < 0.3:
            address, space = f"[%rd1+{at}]", "global"
        operands = f"{value}, {address}" if kind == "ld" else f"{address}, {value}"
        guard = choose.choice(("@%p1 ", "@%p2 ", "@!%p1 "))
        lines.append(f"{guard}{kind}.{space}{'.v2' * (vec == 2)}.u{8 * size} {operands};")
        if choose.random() < 0.35:
            lines.append(choose.choice(("bar.sync 0;", "bar.sync 0;", "fence.acq_rel.cta;")))
    first = "@%p1 st.shared.v2.u64 [%rd2], {0, 0}; bar.sync 0;"
    return _test("\n".join([_HEAD, first, *lines, "ret;\n}"]), threads=choose.choice((2, 3)))


@pytest.mark.compares(0.5)
@pytest.mark.parametrize("count", lengths(10, 80))
def test_one_run_says_of_accesses_of_all_sizes_what_the_formula_says(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts = compare(_of_sizes, range(count), monkeypatch, may_be_undefined=True)
    assert verdicts["undefined"] > count / 12 and verdicts["ok"] and verdicts["no"]


@pytest.mark.campaign
@pytest.mark.compares(0.5)
def test_one_run_says_of_many_accesses_of_all_sizes_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(_of_sizes, range(1000, 1000 + share(3000)), monkeypatch, may_be_undefined=True)


@pytest.mark.parametrize("model", ["ptx-6.0", "ptx-7.5"])
def test_a_model_that_tells_no_races_has_none(model: str) -> None:
    chosen = model_named(model)
    test = _test(_HEAD + "@%p1 st.global.u32 [%rd1], 1; @!%p1 st.global.u32 [%rd1], 2;\n ret;\n}", threads=40)
    small = _test(_HEAD + "@%p1 st.global.u32 [%rd1], 1; @!%p1 st.global.u32 [%rd1], 2;\n ret;\n}", threads=2)
    assert not tells_races(chosen) and tells_races(model_named("ptx-9.0"))
    open_, _ = by_runs(test, model)
    assert open_
    assert checking.check(small, chosen).verdict == "ok"


_EACH = (
    _HEAD
    + """
 mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 128, %r1; mul.wide.u32 %rd3, %r3, 4; add.u64 %rd4, %rd1, %rd3;
 st.global.u32 [%rd4], %r3; ret;
}"""
)


def test_a_launch_that_is_too_large_for_a_formula_is_told_to_access_what_is_not_there() -> None:
    open_, found = by_runs(_test(_EACH, threads=128, grid=160, elements=128 * 160 - 1))
    assert not open_ and found.verdict == "undefined"
    assert found.undefined is not None and found.undefined.rule.startswith("out of bounds: 4 bytes at offset 81916")


def test_a_launch_of_a_quarter_million_threads_is_decided() -> None:
    open_, found = by_runs(_test(_EACH, threads=128, grid=2048, elements=128 * 2048))
    assert not open_ and found.verdict == "ok"


_SHARED = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .align 16 .b8 s[128];
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mov.u64 %rd2, s; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd2, %rd3;
 st.shared.u32 [%rd4], %r1; bar.sync 0; xor.b32 %r2, %r1, 1; mul.wide.u32 %rd5, %r2, 4; add.u64 %rd5, %rd2, %rd5;
 ld.shared.u32 %r3, [%rd5]; red.global.add.u32 [%rd1], %r3; ret;
}"""


def test_ctas_that_end_leave_nothing_behind_in_shared_memory() -> None:
    """CTAs that begin when others have ended: more than are under way at once, so that memory is used again."""
    open_, found = by_runs(_test(_SHARED, threads=32, grid=200))
    assert not open_ and not found.races
    assert [c.holds for c in found.checks if c.kind == "race_free"] == [True]


@pytest.mark.parametrize(
    ("model", "spoken_of"),
    [
        ("ptx-9.0", True), ("ptx-9.0 --war-ok", True), ("ptx-9.0 --sc-not-acqrel", False), ("ptx-9.0/-atomicity", False),
        ("ptx-9.0 --dep data", False), ("ptx-7.5", True),
    ],
)  # fmt: skip
def test_runs_do_not_speak_for_readings_that_the_theorem_does_not_know(model: str, spoken_of: bool) -> None:
    test = _test(_HEAD + "bar.sync 0;\n ret;\n}", threads=64)
    assert may_be_whole(test, model_named(model)) is spoken_of

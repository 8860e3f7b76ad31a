"""Launches decided by one run of all threads, beside the formula: the same verdicts on generated kernels; and at the sizes at
which kernels are launched, with a mistake planted and without."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from by_runs import by_runs, compare
from campaigns import lengths, share

from ptxmm.api import model_named
from ptxmm.cli.main import main
from ptxmm.kernels import check as checking
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<3>; .reg .b32 %r<20>; .reg .b64 %rd<20>;
 .shared .align 4 .b8 s[64];
 ld.param.u64 %rd1, [x];
 mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
 mov.u64 %rd2, s;
"""


def _element(choose: random.Random, threads: int) -> tuple[list[str], str]:
    """Lines that give %rd6 an offset, and what it is relative to: shared memory, or the buffer."""
    shift = choose.choice((0, 0, 0, 1, threads - 1))
    index = (
        [f"add.u32 %r6, %r1, {shift};", f"rem.u32 %r6, %r6, {threads};"]
        if choose.random() < 0.8
        else ["mov.u32 %r6, 0;"]
    )
    return [*index, "mul.wide.u32 %rd6, %r6, 4;"], choose.choice(("shared", "shared", "global"))


def _statement(choose: random.Random, threads: int) -> list[str]:
    what = choose.choice(("load", "load", "store", "store", "barrier", "barrier", "barrier", "red", "warp"))
    if what == "barrier":
        return ["bar.sync 0;"]
    if what == "warp":
        return [f"bar.warp.sync {(1 << threads) - 1};"]
    lines, space = _element(choose, threads)
    lines.append(f"add.u64 %rd6, %rd6, {'%rd2' if space == 'shared' else '%rd1'};")
    guard = choose.choice(("", "", "", "@%p1 ", "@!%p1 "))
    access = {
        "load": f"{guard}ld.{space}.u32 %r7, [%rd6];",
        "store": f"{guard}st.{space}.u32 [%rd6], %r8;",
        "red": f"{guard}red.{space}.add.u32 [%rd6], 3;",
    }[what]
    after = ["add.u32 %r8, %r8, %r7;"] if what == "load" and choose.random() < 0.5 else []
    return [*lines, access, *after]


def _kernel(seed: int) -> KernelTest:
    """Some accesses between barriers, by two to four threads of one or two CTAs."""
    choose = random.Random(seed)
    threads, grid = choose.choice((2, 3, 4)), choose.choice((1, 1, 2))
    own = "mul.wide.u32 %rd5, %r1, 4; add.u64 %rd5, %rd2, %rd5; st.shared.u32 [%rd5], %r1; mov.u32 %r7, 0; mov.u32 %r8, %r1;"
    first = "setp.eq.u32 %p1, %r1, 0;"
    body = [line for _ in range(choose.randint(3, 7)) for line in _statement(choose, threads)]
    last = "mad.lo.u32 %r9, %r2, %r3, %r1; mul.wide.u32 %rd9, %r9, 4; add.u64 %rd9, %rd9, %rd1; st.global.u32 [%rd9+64], %r8;"
    text = "\n ".join([_HEAD, own, first, *(["bar.sync 0;"] if choose.random() < 0.8 else []), *body, last, "ret;\n}"])
    wanted = " && ".join(f"x[{16 + i}] < 100" for i in range(threads * grid))
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": threads,
        "params": {"x": {"type": "u32", "elements": 32, "init": [0]}},
        "check": {"forall": wanted, "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


@pytest.mark.compares(0.5)
@pytest.mark.parametrize("count", lengths(5, 60))
def test_one_run_says_of_generated_kernels_what_the_formula_says(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(_kernel, range(count), monkeypatch)
    assert verdicts["ok"] > count / 12 and verdicts["no"] > count / 12


@pytest.mark.campaign
@pytest.mark.compares(0.5)
def test_one_run_says_of_many_generated_kernels_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(_kernel, range(1000, 1000 + share(3000)), monkeypatch)


def _reduction(threads: int, without: int | None) -> str:
    """A reduction in shared memory, as `grid` CTAs launch it; `without` leaves out a barrier."""
    barriers = 0

    def barrier() -> str:
        nonlocal barriers
        barriers += 1
        return "" if barriers - 1 == without else "bar.sync 0;"

    lines = [
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y) {",
        ".reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;", f".shared .align 4 .b8 s[{4 * threads}];",
        "ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;",
        f"mad.lo.u32 %r3, %r2, {threads}, %r1; mul.wide.u32 %rd3, %r3, 4; add.u64 %rd3, %rd1, %rd3;",
        "ld.global.u32 %r4, [%rd3]; mov.u64 %rd4, s; mul.wide.u32 %rd5, %r1, 4; add.u64 %rd5, %rd4, %rd5;",
        f"st.shared.u32 [%rd5], %r4; {barrier()}",
    ]  # fmt: skip
    step = threads // 2
    while step:
        lines.append(
            f"setp.lt.u32 %p1, %r1, {step}; @%p1 ld.shared.u32 %r5, [%rd5+{4 * step}]; @%p1 add.u32 %r4, %r4, %r5;"
            f"@%p1 st.shared.u32 [%rd5], %r4; {barrier() if step > 1 else ''}"
        )
        step //= 2
    lines.append("setp.eq.u32 %p1, %r1, 0; @%p1 red.global.add.u32 [%rd2], %r4; ret; }")
    return "\n".join(lines)


def _launched(text: str, threads: int, grid: int) -> KernelTest:
    count = threads * grid
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": threads,
        "params": {"x": {"type": "u32", "elements": count, "init": list(range(count))}, "y": {"type": "u32", "elements": 1}},
        "check": {"forall": f"y[0] == {count * (count - 1) // 2}", "race_free": True, "terminates": True, "no_trap": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


@pytest.mark.parametrize(("threads", "grid"), [(256, 2), (1024, 1)])
def test_a_reduction_is_decided_at_its_size(threads: int, grid: int) -> None:
    result = checking.check(_launched(_reduction(threads, None), threads, grid), model_named("ptx-9.0"))
    assert result.verdict == "ok" and [c.holds for c in result.checks] == [True] * 4
    assert any("one run" in note for note in result.notes)


@pytest.mark.parametrize("without", range(8))
def test_each_barrier_that_is_left_out_is_found_at_256_threads(without: int) -> None:
    result = checking.check(_launched(_reduction(256, without), 256, 1), model_named("ptx-9.0"))
    assert result.verdict == "no" and [c.holds for c in result.checks if c.kind == "race_free"] == [False]
    [race] = result.races
    lines = _reduction(256, without).splitlines()
    assert all("shared" in lines[event.line - 1] for event in race.events)


_ARRIVALS = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x) {{
 .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .align 4 .b8 s[512];
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mov.u64 %rd2, s; setp.lt.u32 %p1, %r1, 32;
 and.b32 %r2, %r1, 31; mul.wide.u32 %rd3, %r2, 4; add.u64 %rd3, %rd2, %rd3; mov.u32 %r5, 0;
 @!%p1 bra OTHER;
LOOP:
 {wait}
 st.shared.u32 [%rd3], %r5; bar.arrive 1, 64; add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 4; @%p2 bra LOOP;
 ret;
OTHER:
 {free} bar.sync 1, 64; ld.shared.u32 %r6, [%rd3]; add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 4; @%p2 bra OTHER;
 add.u64 %rd4, %rd1, %rd3; sub.u64 %rd4, %rd4, %rd2; st.global.u32 [%rd4], %r6;
 ret;
}}"""


@pytest.mark.parametrize(
    ("wait", "free", "verdicts"),
    [
        ("bar.sync 2, 64;", "bar.arrive 2, 64;", {"ok"}),
        ("bar.sync 2, 64;", "bar.sync 2, 64;", {"ok"}),
        ("", "", {"no", "undefined"}),
    ],
)
def test_instances_of_a_barrier_are_determinate_where_something_orders_them(
    wait: str, free: str, verdicts: set[str]
) -> None:
    """A producer that arrives without waiting may come to the next instance before the consumers have left this one: it writes
    what they read, and comes again before they have come."""
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 64, "params": {"x": {"type": "u32", "elements": 32}},
        "check": {"race_free": True},
    }  # fmt: skip
    open_, found = by_runs(KernelFile.of(tree, "k.toml", {"k.ptx": _ARRIVALS.format(wait=wait, free=free)}).test())
    assert not open_ and found.verdict in verdicts


_MEETING = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x) { bar.sync 0; ret; }"""


@pytest.mark.part(2)
@pytest.mark.parametrize("threads", [4, 40])
@pytest.mark.parametrize(
    ("scheduled", "verdict"),
    [({}, "ok"), ({"progress": "fair"}, "ok"), ({"progress": "unfair"}, "no"), ({"progress": "hsa"}, "no")],
)
def test_who_waits_at_a_barrier_terminates_where_all_are_scheduled_fairly(
    threads: int, scheduled: dict[str, str], verdict: str
) -> None:
    """However many threads there are, and so whichever way decides it."""
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": threads, "params": {"x": {"type": "u32", "elements": 1}},
        "check": {"terminates": True}, **scheduled,
    }  # fmt: skip
    test = KernelFile.of(tree, "k.toml", {"k.ptx": _MEETING}).test()
    assert checking.check(test, model_named("ptx-9.0")).verdict == verdict


_NEIGHBOUR = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x) {{
 .reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .align 4 .b8 s[256];
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mov.u64 %rd2, s; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd2, %rd3;
 st.shared.u32 [%rd4], %r1; {barrier}
 xor.b32 %r2, %r1, 63; mul.wide.u32 %rd5, %r2, 4; add.u64 %rd5, %rd2, %rd5; ld.shared.u32 %r3, [%rd5];
 mul.wide.u32 %rd6, %r3, 4; add.u64 %rd6, %rd1, %rd6; st.global.u32 [%rd6], 1; ret;
}}"""


@pytest.mark.parametrize(("barrier", "verdict"), [("bar.sync 0;", "ok"), ("", "no")])
def test_a_race_shows_in_another_order_where_what_was_read_in_vain_is_an_address(barrier: str, verdict: str) -> None:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 64, "params": {"x": {"type": "u32", "elements": 64}},
        "check": {"race_free": True, "forall": "x[5] == 1"},
    }  # fmt: skip
    result = checking.check(
        KernelFile.of(tree, "k.toml", {"k.ptx": _NEIGHBOUR.format(barrier=barrier)}).test(), model_named("ptx-9.0")
    )
    assert result.verdict == verdict


@pytest.mark.parametrize(
    ("variant", "drawn"), [("correct", []), ("forgotten", ["reduction.toml_forgotten-race-0.svg"])]
)
def test_a_picture_that_is_not_there_is_told(
    variant: str, drawn: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a run of all threads no execution is kept but for what a verdict speaks of."""
    examples = Path(__file__).parents[3] / "examples"
    main(["check", f"{examples / 'reduction.toml'}:{variant}", "--svg", str(tmp_path / "drawn")])
    told = "no picture: one run of all threads decided it" in capsys.readouterr().err
    assert sorted(path.name for path in (tmp_path / "drawn").iterdir()) == drawn and told is not bool(drawn)

"""Warps that look back at many tiles at once, by cases: beside all ways of the same look-backs, and at full size."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import ClassVar

import pytest
from agreement import note
from by_runs import by_runs, compare
from campaigns import lengths, share

from axioms.dynamic.lookback import confluent
from axioms.dynamic.lookback.deciding import CaseWays
from axioms.dynamic.lookback.found_values import CannotDecide
from axioms.dynamic.lookback.lookbacks import NotConfluent
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.kernels.watched_run import looking_back, watched_run

#: A word is what stands in its high half, 1 for the sum of a tile and 2 for that of all up to it, and the sum; in front of the
#: first tile's stand those of tiles that add nothing. Windows have as many tiles as a warp has
#: lanes, the last ones first.
_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 words, .param .u64 out)
{{
 .reg .pred %p<8>; .reg .b32 %r<24>, %f, %w, %v, %last, %sum, %n, %m, %ge; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [words]; ld.param.u64 %rd2, [out];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %sum, 0; mov.u32 %ge, %lanemask_ge;
 mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
 setp.eq.u32 %p0, %r2, 0; setp.eq.u32 %p1, %r1, 0; {own}
 selp.u32 %r4, 0x20000, 0x10000, %p1; or.b32 %r4, %r4, %r3; @%p0 st.relaxed.gpu.global.u32 [%rd4+{pad}], %r4;
 @%p1 bra DONE;
 mul.wide.u32 %rd6, %r2, 4; sub.u64 %rd7, %rd4, %rd6; add.u64 %rd7, %rd7, {before};
"""
_WINDOW = """WINDOW:
{wait}
 setp.eq.u32 %p2, %f, 2; vote.sync.ballot.b32 %m, %p2, {mask};
 {last}
{sums}
 add.u32 %sum, %sum, %v;
 {further} sub.u64 %rd7, %rd7, {window};
 @%p4 bra WINDOW;
"""
_READ = "ld.relaxed.gpu.global.u32 %w, [%rd7]; shr.u32 %f, %w, 16; and.b32 %v, %w, 0xffff;"
_WAITS = (
    f"WAIT: {_READ} setp.eq.u32 %p3, %f, 0; vote.sync.any.pred %p3, %p3, {{mask}}; @%p3 bra WAIT;",
    f"{_READ} bra.uni TEST; WAIT: {_READ} TEST: setp.ne.u32 %p3, %f, 0; vote.sync.all.pred %p3, %p3, {{mask}}; @!%p3 bra WAIT;",
    f"WAIT: {_READ} setp.eq.u32 %p3, %f, 0; @%p3 bra WAIT;",
)
_LASTS = (
    "and.b32 %m, %m, %ge; or.b32 %m, %m, {top}; brev.b32 %m, %m; clz.b32 %last, %m;",
    "and.b32 %m, %m, %ge; or.b32 %m, %m, {top}; neg.s32 %n, %m; and.b32 %m, %m, %n; bfind.u32 %last, %m;",
)
_SUMS = (
    "shfl.sync.down.b32 %n, %v, {step}, %last, {mask}; add.u32 %r6, %r2, {step}; setp.gt.s32 %p5, %r6, %last;"
    " selp.u32 %n, 0, %n, %p5; add.u32 %v, %v, %n;",
    "shfl.sync.down.b32 %n|%p5, %v, {step}, %last, {mask}; @%p5 add.u32 %v, %v, %n;",
)
_FURTHER = (
    "setp.ne.u32 %p4, %f, 2; vote.sync.all.pred %p4, %p4, {mask};",
    "setp.eq.u32 %p4, %f, 2; vote.sync.any.pred %p4, %p4, {mask}; not.pred %p4, %p4;",
)
_END = """ add.u32 %r5, %sum, %r3; or.b32 %r4, %r5, 0x20000; @%p0 st.relaxed.gpu.global.u32 [%rd4+{pad}], %r4;
 @%p0 st.global.u32 [%rd5], %r5;
 ret;
DONE: @%p0 st.global.u32 [%rd5], %r3;
 ret;
}}"""
#: What is wrong, or would be with other values.
WRONG = (
    ("selp.u32 %r4, 0x20000, 0x10000, %p1;", "selp.u32 %r4, 0x20000, 0x20000, %p1;"),
    ("or.b32 %r4, %r5, 0x20000;", "or.b32 %r4, %r5, 0x10000;"),
    ("or.b32 %r4, %r5, 0x20000;", "or.b32 %r4, %r3, 0x20000;"),
    ("setp.eq.u32 %p2, %f, 2;", "setp.eq.u32 %p2, %f, 1;"),
    ("setp.eq.u32 %p2, %f, 2;", "setp.ge.u32 %p2, %f, 1;"),
    ("setp.gt.s32 %p5, %r6, %last;", "setp.ge.s32 %p5, %r6, %last;"),
    ("and.b32 %m, %m, %ge;", "mov.u32 %m, 0;"),
    ("and.b32 %m, %m, %ge;", ""),
    ("vote.sync.all.pred %p4", "vote.sync.any.pred %p4"),
    ("vote.sync.any.pred %p3", "vote.sync.all.pred %p3"),
    ("setp.eq.u32 %p3, %f, 0;", "setp.eq.u32 %p3, %f, 1;"),
    ("@%p0 st.global.u32 [%rd5], %r5;\n", "@%p1 bra DONE; setp.eq.u32 %p6, %r2, 1; @%p6 st.global.u32 [%rd5], %r5;\n"),
    ("@%p0 st.global.u32 [%rd5], %r5;\n", "@%p0 st.global.u32 [%rd5], %m;\n"),
    ("add.u32 %sum, %sum, %v;", "max.u32 %sum, %sum, %v;"),
)


def scan(tiles: int, lanes: int, seed: int = 0, wrong: float = 0.0, *changes: tuple[str, str]) -> KernelTest:
    """A scan of numbers, one a tile, with decoupled look-back by warps."""
    choose = random.Random(seed)
    pick = (lambda those: choose.choice(those)) if seed else (lambda those: those[0])
    steps = [1 << n for n in range(lanes.bit_length() - 1)]
    one = pick(_SUMS)
    window = _WINDOW.format(
        wait=pick(_WAITS), last=pick(_LASTS), sums="\n".join(f" {one.replace('{step}', str(s))}" for s in steps),
        further=pick(_FURTHER), mask="{mask}", window=4 * lanes,
    )  # fmt: skip
    mask, pad = (1 << lanes) - 1, 4 * (2 * lanes)
    own = pick(("add.u32 %r3, %r1, 1;", "add.u32 %r3, %r1, 1;", "mov.u32 %r3, 0;", "mov.u32 %r3, 1;"))
    text = _HEAD.format(own=own, pad=pad, before=pad - 4) + window + _END.format(pad=pad)
    if choose.random() < wrong:
        text = text.replace(*choose.choice(WRONG))
    for change in changes:
        assert change[0] in text, change
        text = text.replace(*change)
    text = text.replace("{mask}", str(mask)).replace("{top}", str(1 << lanes - 1))
    total = {"add": tiles * (tiles + 1) // 2, "mov": tiles if "mov.u32 %r3, 1" in own else 0}[own[:3]]
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": tiles, "block": lanes,
        "params": {
            "words": {"type": "u32", "elements": 2 * lanes + tiles, "init": [0x20000] * (2 * lanes)},
            "out": {"type": "u32", "elements": tiles},
        },
        "check": {"forall": f"out[{tiles - 1}] == {total}", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


_OPS = (
    "add.u32 %a, %a, %b;", "sub.u32 %a, %a, %b;", "and.b32 %a, %a, {n};", "or.b32 %a, %a, {n};", "xor.b32 %a, %a, %b;",
    "mov.u32 %b, %a;", "mov.u32 %a, %r2;", "mov.u32 %b, {n};", "min.u32 %a, %a, %b;", "brev.b32 %a, %a;", "clz.b32 %a, %a;",
    "shr.u32 %a, %a, 1;", "mul.lo.u32 %a, %a, 0;", "popc.b32 %b, %a;", "setp.gt.u32 %p2, %a, {n};", "setp.eq.u32 %p2, %a, %b;",
    "selp.u32 %a, %a, %b, %p2;", "selp.u32 %b, %r2, {n}, %p2;", "@%p2 add.u32 %a, %a, {n};", "@!%p2 mov.u32 %b, %a;",
    "vote.sync.any.pred %p2, %p2, {mask};", "vote.sync.all.pred %p2, %p2, {mask};", "vote.sync.uni.pred %p2, %p2, {mask};",
    "vote.sync.ballot.b32 %a, %p2, {mask};", "vote.sync.ballot.b32 %a, %p2, {mask}; and.b32 %a, %a, {n}; clz.b32 %a, %a;",
    "vote.sync.ballot.b32 %b, %p2, {mask}; or.b32 %b, %b, {n}; brev.b32 %b, %b; clz.b32 %b, %b;",
    "shfl.sync.down.b32 %a, %a, 1, 31, {mask};", "min.u32 %b, %b, {last}; shfl.sync.down.b32 %a|%p2, %a, 1, %b, {mask};",
    "shfl.sync.up.b32 %b|%p2, %a, 1, 0, {mask};", "shfl.sync.bfly.b32 %a, %b, 1, 31, {mask};",
    "shfl.sync.idx.b32 %a, %a, %b, 1, {mask};", "@%p2 bra L{label}; add.u32 %a, %a, 1; L{label}:",
    "redux.sync.add.u32 %b, %a, {mask};", "match.any.sync.b32 %b, %a, {mask};", "fence.acq_rel.gpu;",
    "ld.relaxed.gpu.global.u32 %b, [%rd4+64];", "cvt.s32.s8 %a, %a;", "shl.b32 %b, %b, 1;",
)  # fmt: skip


def exchanging(seed: int) -> KernelTest:
    """What one CTA publishes, twice in each word, the lanes of another one read, exchange and compute with."""
    choose = random.Random(seed)
    lanes = choose.choice((2, 4))
    values = [choose.choice(((1, 2), (3, 1), (2, 3), (5, 4), (1, 3))) for _ in range(lanes)]
    publish = [
        f"st.{choose.choice(('relaxed', 'relaxed', 'release'))}.gpu.global.u32 [%rd1+{4 * n}], {value};"
        for n, pair in enumerate(values) for value in pair
    ]  # fmt: skip
    body = [
        choose.choice(_OPS).format(n=choose.randrange(8), mask=(1 << lanes) - 1, last=lanes - 1, label=n)
        for n in range(choose.randint(2, 9))
    ]
    wait = "WAIT: ld.relaxed.gpu.global.u32 %a, [%rd3]; setp.eq.u32 %p1, %a, 0;"
    wait += choose.choice((" @%p1 bra WAIT;", f" vote.sync.any.pred %p1, %p1, {(1 << lanes) - 1}; @%p1 bra WAIT;"))
    last = choose.choice(
        ("mov.u32 %a, 7;", "mul.lo.u32 %a, %a, 0;", "min.u32 %a, %a, 1;", "and.b32 %a, %a, 8;", "", "")
    )
    who = choose.choice(("@%p3 ", "@%p3 ", ""))
    text = f"""{_HEAD[: _HEAD.index("{{")].format()}{{
 .reg .pred %p<4>; .reg .b32 %r<4>, %a, %b; .reg .b64 %rd<5>;
 ld.param.u64 %rd1, [words]; ld.param.u64 %rd2, [out]; mov.u64 %rd4, %rd2; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
 setp.eq.u32 %p3, %r2, 0; setp.ne.u32 %p0, %r1, 0; setp.eq.u32 %p2, %r2, 0; @%p0 bra LOOK; @!%p3 bra DONE;
 {" ".join(publish)} bra DONE;
LOOK: mul.wide.u32 %rd3, %r2, 4; add.u64 %rd2, %rd2, %rd3; add.u64 %rd3, %rd1, %rd3; mov.u32 %b, %r2;
 {wait}
 {chr(10).join(body)}
 {last}
 {who}st.global.u32 [%rd2], %a;
DONE: ret;
}}"""
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": lanes,
        "params": {"words": {"type": "u32", "elements": 8}, "out": {"type": "u32", "elements": 32}},
        "check": {"forall": "out[0] < 100", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


class _Both(CaseWays):
    """Goes cases, and then all ways, and compares."""

    compared: ClassVar[Counter[str]] = Counter()

    def check(self) -> None:
        by_cases = by_ways = "ok"
        try:
            super().check()
        except (NotConfluent, CannotDecide) as error:
            by_cases = type(error).__name__
        try:
            self._of.check()
        except NotConfluent:
            by_ways = "too many" if self._of.number > 20_000 else "NotConfluent"
        _Both.compared[f"{by_cases} {by_ways}"] += 1
        if by_cases == "ok" or by_ways == "ok":
            return
        raise NotConfluent


def _compared(monkeypatch: pytest.MonkeyPatch, made: Callable[[int], KernelTest], seeds: range) -> Counter[str]:
    monkeypatch.setattr(confluent, "CaseWays", _Both)
    _Both.compared = Counter()
    for seed in seeds:
        runs = Runs(made(seed), watched=True)
        run = partial(watched_run, runs)
        looking_back(run, run(None))
    note(_Both.compared["ok ok"] + _Both.compared["NotConfluent NotConfluent"], Counter())
    return _Both.compared


@pytest.mark.parametrize("seeds", lengths(range(1, 40), range(40, 300)))
def test_cases_say_of_scans_what_all_ways_say(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = _compared(monkeypatch, lambda seed: scan(2 + seed % 3, 2 + seed % 2 * 2, seed, 0.6), seeds)
    assert set(compared) == {"ok ok", "NotConfluent NotConfluent"}
    assert min(compared.values()) > len(seeds) / 4


@pytest.mark.parametrize("seeds", lengths(range(1, 40), range(40, 1000)))
def test_cases_say_of_what_lanes_exchange_what_all_ways_say(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = _compared(monkeypatch, exchanging, seeds)
    assert set(compared) == {"ok ok", "NotConfluent NotConfluent"}
    assert min(compared.values()) > len(seeds) / 8


@pytest.mark.campaign
def test_cases_say_of_many_look_backs_what_all_ways_say(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = _compared(monkeypatch, exchanging, range(10_000, 10_000 + share(20_000)))
    assert set(compared) == {"ok ok", "NotConfluent NotConfluent"}


@pytest.mark.compares(0.1)
@pytest.mark.long
@pytest.mark.parametrize("seeds", [range(n, n + 20) for n in range(300, 400, 20)], ids=lambda s: f"from{s.start}")
def test_runs_say_of_scans_by_warps_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(lambda seed: scan(2, 2, seed, 0.6), seeds, monkeypatch)


def test_a_warp_looks_back_at_many_tiles() -> None:
    """With 2 to the 15 ways in the last tile of the first window, and windows behind that."""
    open_, result = by_runs(scan(18, 16))
    assert (open_, result.verdict) == ("", "ok")


def test_lanes_wait_for_the_one_that_publishes() -> None:
    """The others are at the next exchange when the first lane comes to its store."""
    store = "@%p0 st.global.u32 [%rd5], %r5;\n"
    hands_on = "@!%p0 mov.u32 %r5, 0; shfl.sync.idx.b32 %r5, %r5, 0, 31, {mask}; @%p6 st.global.u32 [%rd5], %r5;\n"
    second = ("setp.eq.u32 %p0, %r2, 0;", "setp.eq.u32 %p0, %r2, 0; setp.eq.u32 %p6, %r2, 1;")
    open_, result = by_runs(scan(18, 16, 0, 0.0, (store, hands_on), second))
    assert (open_, result.verdict) == ("", "ok")


@pytest.mark.parametrize("wrong", [WRONG[n] for n in (0, 2, 3, 5, 9)], ids=lambda change: change[1])
def test_a_mistake_in_a_scan_of_many_tiles_is_told(wrong: tuple[str, str]) -> None:
    open_, result = by_runs(scan(18, 16, 0, 0.0, wrong))
    assert (open_, result.verdict) == ("", "no")

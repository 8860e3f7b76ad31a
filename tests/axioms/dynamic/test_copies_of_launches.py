"""Threads that wait for asynchronous copies, decided by one run of all threads, beside the formula; and rings of buffers at
their size, with each mistake planted and without."""

from __future__ import annotations

from pathlib import Path

import generated_copies
import pytest
from by_runs import by_runs, compare
from campaigns import lengths, share

import ptxmm
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile


@pytest.mark.compares(0.5)
@pytest.mark.parametrize("seeds", lengths(range(4), range(16)))
def test_one_run_says_of_copies_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(generated_copies.kernel, seeds, monkeypatch, may_be_undefined=True)
    assert min(verdicts["ok"], verdicts["no"], verdicts["undefined"]) > 0


@pytest.mark.compares(0.5)
@pytest.mark.parametrize("seeds", lengths(range(3), range(3, 12)))
def test_one_run_says_of_rings_of_copies_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare(generated_copies.ring, seeds, monkeypatch, may_be_undefined=True)["ok"]


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_one_run_says_of_many_copies_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(generated_copies.kernel, range(1000, 1000 + share(3000)), monkeypatch, may_be_undefined=True)
    assert verdicts["ok"] or share(3000) < 50  # a few kernels may all be wrong


_BULK = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{{
 .reg .pred %p<5>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
 .shared .align 16 .b8 s[6144]; .shared .align 8 .b64 m[8];
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd3, [y]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; setp.eq.u32 %p1, %r2, 0;
 mov.u32 %r3, 0; mov.u32 %r4, 0; setp.ne.u32 %p2, %r1, 0; @%p2 bra READY;
INIT:
 mul.lo.u32 %r5, %r4, 8; mov.u32 %r6, m; add.u32 %r5, %r5, %r6;
 mbarrier.init.shared.b64 [%r5], 1; mbarrier.init.shared.b64 [%r5+32], {count};
 add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 4; @%p2 bra INIT;
 mov.u32 %r4, 0;
 {inits}
READY:
 bar.sync 0;
 shl.b32 %r7, %r1, 2; sub.u32 %r7, %r7, 128; setp.ge.u32 %p3, %r1, 32; @%p3 bra CONSUMER;
 setp.ne.u32 %p2, %r1, 0; @%p2 bra END;
PRODUCER:
 and.b32 %r8, %r4, 3; mul.lo.u32 %r9, %r8, 8; mov.u32 %r6, m; add.u32 %r9, %r9, %r6;
 shr.u32 %r10, %r4, 2; and.b32 %r10, %r10, 1; xor.b32 %r10, %r10, {first};
EMPTY:
 {empty}
 mbarrier.arrive.expect_tx.shared.b64 _, [%r9], {bytes};
 mul.lo.u32 %r11, %r8, 1536; mov.u32 %r12, s; add.u32 %r11, %r11, %r12; mul.wide.u32 %rd4, %r4, 1536; add.u64 %rd4, %rd1, %rd4;
 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r11], [%rd4], {size}, [%r9];
 add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 16; @%p2 bra PRODUCER;
END:
 ret;
CONSUMER:
 and.b32 %r8, %r4, 3; mul.lo.u32 %r9, %r8, 8; mov.u32 %r6, m; add.u32 %r9, %r9, %r6;
 shr.u32 %r10, %r4, 2; and.b32 %r10, %r10, {parity};
 mul.lo.u32 %r11, %r8, 1536; mov.u32 %r12, s; add.u32 %r11, %r11, %r12; add.u32 %r11, %r11, %r7;
FULL:
 {full}
 {early}
 ld.shared.u32 %r13, [%r11]; add.u32 %r3, %r3, %r13;
 {fence}
 bar.warp.sync -1;
 @%p1 mbarrier.arrive.release.cta.shared.b64 _, [%r9+32];
 add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 16; @%p2 bra CONSUMER;
 mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd3, %rd2; st.global.u32 [%rd2], %r3;
 ret;
}}"""
_LOADED = {
    "count": "11", "first": "1", "bytes": "1536", "size": "1408", "parity": "1", "early": "", "inits": "fence.proxy.async;",
    "fence": "fence.proxy.async.shared::cta;",
    "empty": "mbarrier.try_wait.parity.shared.b64 %p4, [%r9+32], %r10; @!%p4 bra EMPTY;",
    "full": "mbarrier.try_wait.parity.shared.b64 %p4, [%r9], %r10; @!%p4 bra FULL;",
}  # fmt: skip


def _loaded(block: int = 384, **changed: str) -> KernelTest:
    """One thread loads sixteen tiles by bulk copies into four buffers, eleven warps read them."""
    words = {
        **_LOADED,
        "count": str(block // 32 - 1),
        "bytes": str(4 * block - 128),
        "size": str(4 * block - 128),
        **changed,
    }
    total = sum(384 * i for i in range(16)) + 16
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": block,
        "params": {"x": {"type": "u32", "elements": 6144, "init": list(range(6144))}, "y": {"type": "u32", "elements": 384}},
        "check": {"forall": f"y[33] == {total} && y[{block - 1}] == {total + 16 * (block - 34)}", "race_free": True,
                  "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _BULK.format(**words)}).test()


@pytest.mark.long
def test_a_ring_of_bulk_copies_is_decided_at_its_size() -> None:
    open_, found = by_runs(_loaded())
    assert not open_ and found.verdict == "ok"
    assert "the completion of 16 asynchronous operations" in found.notes[0]


_LOAD, _FIRST_INIT = "cp.async.bulk", "mbarrier.init"


@pytest.mark.part(4)
@pytest.mark.parametrize(
    ("changed", "block", "verdict", "line"),
    [
        ({"inits": ""}, 384, "undefined", _FIRST_INIT),
        ({"inits": "fence.mbarrier_init.release.cluster;"}, 96, "ok", ""),
        ({"fence": ""}, 96, "no", _LOAD),
        ({"empty": ""}, 384, "undefined", "arrive.expect_tx"),
        ({"full": ""}, 384, "undefined", _LOAD),
        ({"parity": "0"}, 96, "no", "[%r9+32], %r10"),
        ({"early": "@%p1 mbarrier.arrive.shared.b64 _, [%r9+32];"}, 384, "undefined", "@%p1 mbarrier.arrive"),
        ({"count": "10"}, 384, "undefined", "mbarrier.arrive"),
        ({"bytes": "272"}, 96, "no", "[%r9+32], %r10"),
        ({"count": "3"}, 96, "no", "[%r9+32], %r10"),
        ({"first": "0"}, 96, "no", "[%r9+32], %r10"),
    ],
    ids=str,
)  # fmt: skip
def test_each_mistake_in_a_ring_of_bulk_copies_is_found_at_its_line(
    changed: dict[str, str], block: int, verdict: str, line: str
) -> None:
    test = _loaded(block, **changed)
    open_, result = by_runs(test)
    assert not open_ and result.verdict == verdict, (open_, result.verdict, result.error)
    places = [spot.line for spot, _ in result.places] + [s.line for c in result.checks for s, _ in c.spots]
    places += [event.line for race in result.races for event in race.events]
    text = test.launches[0].text.splitlines()
    assert verdict == "ok" or any(line in text[place - 1] for place in places if place), (result.error, places)


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("variant", "strict", "loose"), [("fixed", "no", "ok"), ("buggy1", "no", "undefined"), ("buggy4", "no", "no")]
)
def test_a_pipeline_without_fences_before_copies_is_right_under_one_reading(
    variant: str, strict: str, loose: str
) -> None:
    """C47: a copy over what was read before needs a fence between the proxies, but under `--war-ok`."""
    folder = Path(__file__).parents[4] / "shared/launches/patterns/bulk_pipeline"
    if not folder.is_dir():
        pytest.skip("no ../shared")
    test = ptxmm.load(f"{folder / 'test.toml'}:{variant}")
    assert ptxmm.check(test).verdict == strict
    assert ptxmm.check(test, options=["war-ok"]).verdict == loose


_OVER = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{
    .reg .pred %p, %q; .reg .b32 %r<3>; .reg .b64 %x, %y, %at;
    .shared .align 128 .b8 s[128]; .shared .align 8 .b64 m;
    ld.param.u64 %x, [x]; ld.param.u64 %y, [y];
    mov.u32 %r0, %tid.x; setp.ne.u32 %p, %r0, 0;
    @%p bra READY;
    st.shared.u32 [s], 7;
    mbarrier.init.shared.b64 [m], 1;
    fence.mbarrier_init.release.cluster;
READY: bar.sync 0;
    ld.shared.u32 %r1, [s];
    bar.sync 0;
    @%p bra WAIT;
    fence.proxy.async.shared::cta;
    mbarrier.arrive.expect_tx.shared.b64 _, [m], 16;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%x], 16, [m];
WAIT: mbarrier.try_wait.parity.shared.b64 %q, [m], 0;
    @!%q bra WAIT;
    ld.shared.u32 %r2, [s]; add.u32 %r2, %r2, %r1;
    mul.wide.u32 %at, %r0, 4; add.u64 %y, %y, %at;
    st.global.u32 [%y], %r2;
    ret;
}
"""
_FENCE = "    fence.proxy.async.shared::cta;\n"
_INIT_FENCE = "    fence.mbarrier_init.release.cluster;\n"
_USED = "    st.shared.u32 [s], 7;\n", "    ld.shared.u32 %r1, [s];\n"


def _over(block: int, *without: str) -> KernelTest:
    """A copy over what a thread wrote and all have read, without some lines."""
    text = _OVER
    for line in without:
        assert line in text
        text = text.replace(line, "    mov.u32 %r1, 7;\n")
    params = {"x": {"type": "u32", "elements": 4, "init": 1}, "y": {"type": "u32", "elements": block}}
    tree = {"ptx": "k.ptx", "entry": "k", "grid": 1, "block": block, "params": params,
            "check": {"forall": "y[0] == 8", "race_free": True}}  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


@pytest.mark.parametrize("options", [(), ("war-ok",)])
@pytest.mark.parametrize(
    ("without", "strict", "loose"),
    [
        ((), "ok", "ok"),
        # What was written comes before what has read it: so under --war-ok it comes before the copy (section 8.9.5, 3c).
        ((_FENCE,), "undefined", "ok"),
        pytest.param((_FENCE, _USED[0]), "no", "ok", marks=pytest.mark.long),
        ((_FENCE, _USED[1]), "undefined", "undefined"),
        ((_FENCE, *_USED), "ok", "ok"),
    ],
)
def test_a_write_that_is_copied_over_is_worse_than_a_read(
    without: tuple[str, ...], strict: str, loose: str, options: tuple[str, ...]
) -> None:
    """One run says what the formula says, which has the smaller launch."""
    found = [ptxmm.check(_over(block, *without), options=options).verdict for block in (2, 64)]
    assert found == [loose if options else strict] * 2


def test_what_completes_in_vain_is_named_by_the_copy() -> None:
    """What an asynchronous operation does wrong stands at its line, wherever its thread is by then."""
    test = _over(64, _INIT_FENCE, _FENCE, *_USED)
    result, text = ptxmm.check(test), test.launches[0].text.splitlines()
    assert result.verdict == "undefined" and result.undefined is not None
    lines = [text[site.line - 1].split()[0] for site in result.undefined.culprits]
    assert lines == ["mbarrier.init.shared.b64", "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"]

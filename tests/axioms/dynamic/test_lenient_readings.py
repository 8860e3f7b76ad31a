"""Readings under which what libraries do is right that the manual's words make wrong: `--cluster-as-cta`, `--one-copy-a-warp`.
What each takes for right, what stays wrong under it, and what a report says without it. `--warp-sync-orders` has a file of its
own, `test_warps_in_order.py`."""

from __future__ import annotations

from copy import copy

import generated_transfers
import pytest
from agreement import note
from campaigns import lengths, share

import ptxmm
from axioms.cat.model import Model, compile_model
from axioms.errors import UnsupportedProgram
from axioms.models import text_of
from axioms.models.options import LENIENT
from litmus.library import paths
from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.kernels.whole import decide_whole
from ptxmm.result import Checked, Result

CLUSTER, WARP, _ = LENIENT
_HEAD = """.version 8.6
.target sm_90
.address_size 64
"""


def _of(text: str, **launch: object) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "params": {"x": {"type": "u32", "elements": 256, "init": list(range(256))}},
        "check": {"race_free": True, "terminates": True}, **launch,
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _HEAD + text}).test()


def _line(text: str, part: str) -> int:
    return next(n for n, line in enumerate((_HEAD + text).splitlines(), 1) if part in line)


# A cluster of two: the first CTA loads by multicast into both, four times over two stages; each CTA stores what came, which
# reads through the asynchronous proxy. Operations on mbarrier objects name no scope.
_RING = """.visible .entry k(.param .u64 x)
.explicitcluster .reqnctapercluster 2
{
 .reg .pred %p<6>; .reg .b32 %r<20>; .reg .b64 %rd<6>; .reg .b16 %h;
 .shared .align 128 .b8 s[64]; .shared .align 8 .b64 m[4];
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, m; mov.u32 %r10, s; mov.u32 %r11, 0;
 mapa.shared::cluster.u32 %r4, %r3, 0; mov.u16 %h, 3; setp.ne.u32 %p1, %r1, 0; @%p1 bra READY;
 mbarrier.init.shared.b64 [m], 1; mbarrier.init.shared.b64 [m+8], 1;
 mbarrier.init.shared.b64 [m+16], 2; mbarrier.init.shared.b64 [m+24], 2;
 fence.mbarrier_init.release.cluster;
READY:
 barrier.cluster.arrive.release; barrier.cluster.wait.acquire;
 setp.eq.u32 %p1, %r1, 32; @%p1 bra CONSUMER;
 setp.ne.u32 %p1, %r1, 0; @%p1 bra END;
PRODUCER:
 and.b32 %r5, %r11, 1; shl.b32 %r6, %r5, 3; add.u32 %r6, %r6, %r3; shr.u32 %r7, %r11, 1; and.b32 %r7, %r7, 1;
 xor.b32 %r8, %r7, 1; setp.ne.u32 %p4, %r2, 0; @%p4 bra FILL;
EMPTY: mbarrier.try_wait.parity.shared.b64 %p2, [%r6+16], %r8; @!%p2 bra EMPTY; // empty
FILL:
 mbarrier.arrive.expect_tx.shared.b64 _, [%r6], 16; @%p4 bra NEXT;
 shl.b32 %r9, %r5, 5; add.u32 %r9, %r9, %r10; mul.wide.u32 %rd2, %r11, 16; add.u64 %rd2, %rd2, %rd1;
 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r9], [%rd2], 16, [%r6], %h; // load
NEXT:
 @!%p4 bra GO;
AGAIN: mbarrier.try_wait.parity.shared.b64 %p2, [%r6], %r7; @!%p2 bra AGAIN;
GO: add.u32 %r11, %r11, 1; setp.lt.u32 %p3, %r11, 4; @%p3 bra PRODUCER; bra END;
CONSUMER:
 and.b32 %r5, %r11, 1; shl.b32 %r6, %r5, 3; add.u32 %r12, %r6, %r4; add.u32 %r6, %r6, %r3; shr.u32 %r7, %r11, 1;
 and.b32 %r7, %r7, 1;
FULL: mbarrier.try_wait.parity.shared.b64 %p2, [%r6], %r7; @!%p2 bra FULL; // full
 shl.b32 %r9, %r5, 5; add.u32 %r9, %r9, %r10; mad.lo.u32 %r13, %r2, 4, %r11; mul.wide.u32 %rd2, %r13, 16;
 add.u64 %rd2, %rd2, %rd1;
 cp.async.bulk.global.shared::cta.bulk_group [%rd2+512], [%r9], 16; // store
 cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; // read
 mbarrier.arrive.shared::cluster.b64 _, [%r12+16]; // release
 add.u32 %r11, %r11, 1; setp.lt.u32 %p3, %r11, 4; @%p3 bra CONSUMER;
END:
 barrier.cluster.arrive.release; barrier.cluster.wait.acquire;
 ret;
}
"""


def _ring(old: str = "", new: str = "") -> KernelTest:
    assert old in _RING
    return _of(_RING.replace(old, new, 1) if old else _RING, grid=2, block=64, cluster=2)


def test_a_cluster_that_counts_as_one_cta_is_in_order() -> None:
    """8.9.5 has what goes through one proxy in order "by the same thread block"; arrivals and waits that name no scope are of
    that of the CTA (9.7.13.15.13), also where the object is another CTA's."""
    plain, found = ptxmm.check(_ring()), ptxmm.check(_ring(), options=[CLUSTER])
    assert (plain.verdict, found.verdict) == ("undefined", "ok")
    assert f"tried: ok with --{CLUSTER}" in plain.notes and f"--{CLUSTER} takes" in plain.races[0].reason
    scoped = _RING.replace("try_wait.parity.shared", "try_wait.parity.acquire.cta.shared")
    assert ptxmm.check(_of(scoped, grid=2, block=64, cluster=2), options=[CLUSTER]).verdict != "ok"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("EMPTY: mbarrier.try_wait.parity.shared.b64 %p2, [%r6+16], %r8; @!%p2 bra EMPTY;", "EMPTY:"),
        ("FULL: mbarrier.try_wait.parity.shared.b64 %p2, [%r6], %r7; @!%p2 bra FULL;", "FULL:"),
        ("cp.async.bulk.wait_group.read 0;", ""),
        ("mbarrier.init.shared.b64 [m+16], 2;", "mbarrier.init.shared.b64 [m+16], 1;"),
        ("xor.b32 %r8, %r7, 1;", "mov.u32 %r8, %r7;"),
    ],
)
def test_mistakes_in_a_cluster_that_counts_as_one_cta_are_told(old: str, new: str) -> None:
    found = ptxmm.check(_ring(old, new), options=[CLUSTER])
    assert found.verdict in ("no", "undefined") and (found.races or found.undefined or found.checks)


# All threads of a warp store a tile, as CUTLASS does; then the tile is written again.
_STORE = """.visible .entry k(.param .u64 x)
{
 .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
 .shared .align 128 .b8 s[256];
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 %r4, %r2, %r3; mov.u32 %r5, 0;
ROUND:
 add.u32 %r6, %r1, %r5; st.shared.u32 [%r4], %r6; // write
 fence.proxy.async.shared::cta;
 bar.sync 0;
 setp.gt.u32 %p1, %r1, 31; @%p1 bra REST;
 mul.wide.u32 %rd2, %r5, 256; add.u64 %rd2, %rd2, %rd1;
 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [s], 256; // store
 cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;
REST:
 bar.sync 0;
 add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 4; @%p2 bra ROUND;
 ret;
}
"""


def _stored(old: str = "", new: str = "") -> KernelTest:
    assert old in _STORE
    text = _STORE.replace(old, new, 1) if old else _STORE
    return _of(
        text, grid=1, block=64, check={"forall": "x[0] == 0 && x[255] == 66", "race_free": True, "terminates": True}
    )


def test_copies_that_a_warp_issues_together_are_one() -> None:
    plain, found = ptxmm.check(_stored()), ptxmm.check(_stored(), options=[WARP])
    assert (plain.verdict, found.verdict) == ("undefined", "ok")
    assert f"tried: ok with --{WARP}" in plain.notes and f"--{WARP} takes them for one copy" in plain.races[0].reason
    assert {e.line for e in plain.races[0].events} == {_line(_STORE, "// store")}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fence.proxy.async.shared::cta;", ""),
        ("cp.async.bulk.wait_group.read 0;", ""),  # the tile is written again while it is read
        ("REST:\n bar.sync 0;", "REST:"),
        ("setp.gt.u32 %p1, %r1, 31;", "setp.gt.u32 %p1, %r1, 63;"),  # two warps
        (
            "mul.wide.u32 %rd2, %r5, 256;",
            "mul.wide.u32 %rd2, 0, 256;",
        ),  # rounds, of which the first need not be complete
        ("[%rd2], [s], 256;", "[%rd2], [s], 128; cp.async.bulk.global.shared::cta.bulk_group [%rd2+64], [s+128], 128;"),
        (" cp.async.bulk.global.shared", " add.u32 %r7, %r3, %r2; and.b32 %r7, %r7, -16; cp.async.bulk.global.shared"),
    ],
)
def test_mistakes_beside_copies_of_a_warp_are_told(old: str, new: str) -> None:
    """Copies by other warps, of other rounds, of other bytes, or by another instruction are others."""
    text = _STORE.replace(old, new, 1)
    text = text.replace("[s], 256", "[%r7], 16", 1) if "%r7, -16" in new else text
    found = ptxmm.check(_of(text, grid=1, block=64), options=[WARP])
    assert found.verdict == "undefined" and not [n for n in found.notes if "tried" in n]


_LATE = """.visible .entry k(.param .u64 x)
{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
 .shared .align 128 .b8 s[256];
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 %r4, %r2, %r3; mov.u32 %r5, 0;
 st.shared.u32 [%r4], %r1; fence.proxy.async.shared::cta; bar.sync 0;
ROUND:
 setp.ne.u32 %p1, %r1, %r5; @%p1 bra REST;
 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], 256; cp.async.bulk.commit_group;
 setp.ne.u32 %p2, %r5, 0; @%p2 bra REST; cp.async.bulk.wait_group 0; fence.proxy.async;
REST:
 bar.sync 0;
 add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 2; @%p2 bra ROUND;
 setp.eq.u32 %p3, %r1, 33; @%p3 st.global.u32 [%rd1], 99;
 ret;
}
"""


def test_a_copy_behind_another_one_is_not_complete_with_it() -> None:
    """Thread 1 issues what thread 0 has waited for, and nobody waits for that."""
    found = ptxmm.check(_of(_LATE, grid=1, block=64), options=[WARP])
    assert found.verdict == "undefined"
    waited = _LATE.replace("@%p2 bra REST; cp", "cp")
    assert ptxmm.check(_of(waited, grid=1, block=64), options=[WARP]).verdict == "ok"


@pytest.mark.parametrize("reading", LENIENT)
def test_no_litmus_test_is_said_to_be_decided_under_them(reading: str) -> None:
    with pytest.raises(UnsupportedProgram, match=reading):
        ptxmm.check(ptxmm.load(paths()[0]), options=[reading])


def _lenient() -> Model:
    """The model under which the CTAs of a cluster, which has all threads, count as one for the asynchronous proxy."""
    old = "other-proxy & (NONGEN * NONGEN) & scta"
    text = text_of("ptx-9.0")
    assert old in text
    text = text.replace(old, "other-proxy & (NONGEN * NONGEN) & (scta | SHARED * SHARED)")
    return compile_model("ptx-9.0", text, options=frozenset(("async-fence-any-cta",)), without=(), shown=())


@pytest.mark.compares(0.3)
@pytest.mark.parametrize("seeds", lengths(range(12), range(12, 60)))
def test_what_runs_say_of_clusters_lies_between_the_two_models(seeds: range) -> None:
    """Scopes are all named. What is right by the letter is right under the reading; what is right so, in the other model."""
    assert _between(seeds)


@pytest.mark.campaign
@pytest.mark.compares(0.3)
def test_what_runs_say_of_many_clusters_lies_between_the_two_models() -> None:
    _between(range(5000, 5000 + share(2000)))


def _between(seeds: range) -> int:
    lenient, compared, right = _lenient(), 0, 0
    for seed in seeds:
        test = generated_transfers.kernel(seed)
        found = _by_run(test)
        if found is None:
            continue
        compared += 1
        right += found == "ok"
        if found == "ok":
            assert _verdict(test, lenient) == "ok", seed
        else:
            assert _verdict(test, model_named("ptx-9.0")) != "ok", seed
    note(compared, {})
    return right


def _by_run(test: KernelTest) -> str | None:
    checks = [Checked(kind=c.kind, text=str(c)) for c in test.checks]
    result = Result(path=test.identity, name=test.name, model="ptx-9.0", verdict="undecided", checks=checks)
    model = copy(model_named("ptx-9.0"))
    model.readings = model.readings | {CLUSTER}
    return None if decide_whole(test, result, None, model) else result.verdict


def _verdict(test: KernelTest, model: Model) -> str:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(checking, "may_be_whole", lambda *_: False)
        return checking.check(test, model).verdict.replace("bounded", "ok")

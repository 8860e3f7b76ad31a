"""Several runs of launches in which operations whose order is open stand beside copies, phases and clusters."""

from __future__ import annotations

from functools import partial

import generated_transfers
import pytest
from by_runs import by_runs, compare
from campaigns import lengths, share

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile


@pytest.mark.compares(0.2)
@pytest.mark.parametrize("seeds", lengths(range(3, 7), range(40)))
def test_several_runs_say_of_counts_beside_copies_what_the_formula_says(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts = compare(partial(generated_transfers.kernel, counts=True), seeds, monkeypatch, may_be_undefined=True)
    assert sum(verdicts[v] for v in ("ok", "no", "undefined")) > 0


#: Each CTA copies its part in, adds it up, and counts itself; the last one adds up what all have left.
_LAST = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 part, .param .u64 count, .param .u64 out)
{
 .reg .pred %p<6>; .reg .b32 %r<16>; .reg .b64 %rd<12>;
 .shared .align 128 .b8 s[256]; .shared .align 8 .b64 m; .shared .align 4 .b32 last;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [part]; ld.param.u64 %rd3, [count]; ld.param.u64 %rd4, [out];
 mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x; setp.ne.u32 %p1, %r1, 0;
 mul.wide.u32 %rd5, %r2, 256; add.u64 %rd5, %rd1, %rd5; mul.wide.u32 %rd6, %r2, 4; add.u64 %rd6, %rd2, %rd6;
 @%p1 bra BEGUN; mbarrier.init.shared.b64 [m], 1; fence.mbarrier_init.release.cluster;
BEGUN: bar.sync 0;
 @%p1 bra ISSUED;
 mbarrier.arrive.expect_tx.shared.b64 _, [m], 256;
 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd5], 256, [m];
ISSUED:
W: mbarrier.try_wait.parity.shared.b64 %p2, [m], 0; @!%p2 bra W;
 @%p1 bra COUNTED;
 mov.u32 %r5, 0; mov.u32 %r6, s; mov.u32 %r7, 0;
ADD: ld.shared.u32 %r8, [%r6]; add.u32 %r5, %r5, %r8; add.u32 %r6, %r6, 4; add.u32 %r7, %r7, 1;
 setp.lt.u32 %p3, %r7, 64; @%p3 bra ADD;
 st.global.u32 [%rd6], %r5;
 RELEASE
 atom.global.add.u32 %r9, [%rd3], 1; sub.u32 %r10, %r3, 1; setp.eq.u32 %p4, %r9, %r10; selp.u32 %r9, 1, 0, %p4;
 st.shared.u32 [last], %r9;
COUNTED: bar.sync 0;
 ld.shared.u32 %r9, [last]; setp.eq.u32 %p4, %r9, 0; @%p4 ret;
 ACQUIRE
 @%p1 ret;
 mov.u32 %r5, 0; mov.u32 %r7, 0;
SUM: ld.global.u32 %r8, [%rd2]; add.u32 %r5, %r5, %r8; add.u64 %rd2, %rd2, 4; add.u32 %r7, %r7, 1;
 setp.lt.u32 %p3, %r7, %r3; @%p3 bra SUM;
 st.global.u32 [%rd4], %r5;
 ret;
}
"""


def _last(**changed: str) -> KernelTest:
    text = _LAST
    for name, statement in {"RELEASE": "fence.acq_rel.gpu;", "ACQUIRE": "fence.acq_rel.gpu;", **changed}.items():
        assert name in text
        text = text.replace(name, statement)
    sizes = {"x": 128, "part": 2, "count": 1, "out": 1}
    params = {name: {"type": "u32", "elements": size} for name, size in sizes.items()}
    params["x"]["init"] = 1
    check = {"forall": "out[0] == 128", "race_free": True, "terminates": True}
    tree = {"ptx": "k.ptx", "entry": "k", "grid": 2, "block": 64, "params": params, "check": check}
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def test_the_last_block_adds_up_what_all_have_copied() -> None:
    open_, result = by_runs(_last())
    assert (open_, result.verdict) == ("", "ok")
    assert any("2 runs of all 128 threads" in note for note in result.notes)


@pytest.mark.parametrize(("name", "statement"), [("RELEASE", ""), ("ACQUIRE", ""), ("W: ", "bra.uni V; W: ")])
def test_a_mistake_beside_copies_is_found(name: str, statement: str) -> None:
    changed = {name: statement}
    if name == "W: ":
        changed["@!%p2 bra W;"] = "V:"
    open_, result = by_runs(_last(**changed))
    assert not open_
    assert result.verdict in ("no", "undefined")


@pytest.mark.campaign
@pytest.mark.compares(0.2)
def test_several_runs_say_of_many_counts_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    made = partial(generated_transfers.kernel, counts=True, flags=True)
    compare(made, range(1000, 1000 + share(3000)), monkeypatch, may_be_undefined=True)


#: A thread finds what another one writes behind the phase in which the first one has counted: nothing excludes that where it
#: has released, by what counts, no such read.
_ROUND = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .shared .align 16 .b8 s[16]; .shared .align 8 .b64 m;
 ld.param.u64 %rd1, [x]; add.u64 %rd2, %rd1, 16; mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %tid.x; mov.u32 %r3, m;
 mov.u32 %r6, %cluster_nctarank; sub.u32 %r6, %r6, 1; mapa.shared::cluster.u32 %r4, %r3, 0; mov.u32 %r7, s;
 setp.eq.u32 %p0, %r2, 0; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p3, %r1, %r6; setp.eq.u32 %p4, %r2, 32;
 @%p0 mbarrier.init.shared::cta.b64 [%r3], 1; @%p0 fence.mbarrier_init.release.cluster; @%p0 fence.proxy.async;
 barrier.cluster.arrive.release; barrier.cluster.wait.acquire;
 @!%p0 bra WAIT; @!%p3 bra WAIT;
 COUNT
WAIT: @!%p1 bra END; @!%p4 bra END;
W: mbarrier.try_wait.parity.acquire.SCOPE.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra W;
 st.relaxed.gpu.global.u32 [%rd1], 1;
END: barrier.cluster.arrive.release; barrier.cluster.wait.acquire; ret;
}
"""
_READ = "ld.relaxed.gpu.global.u32 %r5, [%rd1]; st.global.u32 [%rd1+4], %r5;"
_ARRIVES = "mbarrier.arrive.release.SCOPE.shared::cluster.b64 _, [%r4];"
_EXPECTS = "mbarrier.arrive.expect_tx.release.SCOPE.shared::cta.b64 _, [%r3], 16;"
_COPIES = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r7], [%rd2], 16, [%r3];"


@pytest.mark.parametrize(
    ("count", "ctas", "scope", "right"),
    [
        pytest.param(f"{_READ} {_ARRIVES}", 2, "cluster", True, id="cluster"),
        pytest.param(f"{_READ} {_ARRIVES}", 2, "cta", False, id="cta"),
        pytest.param(f"{_READ} {_EXPECTS} {_COPIES}", 1, "cta", True, id="before"),
        pytest.param(f"{_EXPECTS} {_READ} {_COPIES}", 1, "cta", False, id="between"),
    ],
)
def test_a_phase_synchronizes_by_what_is_released_for_it(count: str, ctas: int, scope: str, right: bool) -> None:
    text = _ROUND.replace("COUNT", count).replace("SCOPE", scope)
    params = {"x": {"type": "u32", "elements": 8}}
    check = {"forall": "x[1] == 0", "race_free": True, "terminates": True}
    tree = {"ptx": "k.ptx", "entry": "k", "grid": ctas, "cluster": ctas, "block": 64, "params": params, "check": check}
    open_, result = by_runs(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test())
    assert (not open_ and result.verdict == "ok") is right

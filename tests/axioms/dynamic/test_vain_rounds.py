"""Fences of rounds in vain order nothing: executions without these rounds do not have them."""

from __future__ import annotations

import generated_vain_rounds
import pytest
from by_runs import by_runs, compare
from campaigns import lengths, share

from ptxmm.kernels.toml import KernelFile


@pytest.mark.compares(0.9)
@pytest.mark.parametrize("seeds", lengths(range(8, 16), range(32)))
def test_runs_say_of_fences_in_vain_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(generated_vain_rounds.made, seeds, monkeypatch)
    assert min(verdicts["ok"], verdicts["no"]) > 0


@pytest.mark.campaign
@pytest.mark.compares(0.9)
def test_runs_say_of_many_fences_in_vain_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(generated_vain_rounds.made, range(1000, 1000 + share(3000)), monkeypatch)


#: A message to another CTA, of which one thread waits for all.
_WHOLE = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
 mul.wide.u32 %rd3, %r2, 4; add.u64 %rd3, %rd3, %rd1;
 setp.ne.u32 %p0, %r1, 0; @%p0 bra C;
 st.global.u32 [%rd3+16], 7;
 bar.sync 0;
 setp.ne.u32 %p0, %r2, 0; @%p0 bra E;
 fence.acq_rel.gpu;
 st.relaxed.gpu.global.u32 [%rd1], 1;
 ret;
C:
 setp.ne.u32 %p0, %r2, 0; @%p0 bra D;
L: BEFORE ld.relaxed.gpu.global.u32 %r5, [%rd1]; setp.ne.u32 %p1, %r5, 0; @%p1 bra M;
 VAIN bra L;
M: BEHIND
D: bar.sync 0;
 ld.global.u32 %r6, [%rd3+16]; st.global.u32 [%rd3+1024], %r6;
E: ret;
}
"""


@pytest.mark.parametrize("waits_first", [False, True])
@pytest.mark.parametrize(("where", "verdict"), [("BEHIND", "ok"), ("VAIN", "no"), ("BEFORE", "no")])
def test_a_wait_is_decided_by_the_fence_that_every_execution_has(where: str, verdict: str, waits_first: bool) -> None:
    """A fence in vain alone is no acquire pattern, whoever comes first; one behind it is, with others or without."""
    fences = {"BEFORE": "fence.acq_rel.gpu;" * (where == "BEFORE"), "VAIN": "fence.acq_rel.gpu;"}
    text = _WHOLE.replace("BEHIND", "fence.acq_rel.gpu;" * (where == "BEHIND"))
    for at, fence in fences.items():
        text = text.replace(at, fence)
    if waits_first:
        text = text.replace("setp.ne.u32 %p0, %r1, 0; @%p0 bra C;", "setp.eq.u32 %p0, %r1, 0; @%p0 bra C;")
    params = {"x": {"type": "u32", "elements": 512, "init": [0]}}
    check = {"forall": "x[300] == 7", "race_free": True, "terminates": True}
    tree = {"ptx": "k.ptx", "entry": "k", "grid": 2, "block": 128, "params": params, "check": check}
    open_, result = by_runs(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test())
    assert not open_
    assert result.verdict == verdict

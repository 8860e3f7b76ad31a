"""`fence.sc` of threads that neither write nor read what tells: by runs of all threads, and by the formula."""

from __future__ import annotations

from collections import Counter

import generated_sequential_fences
import pytest
from agreement import note
from by_runs import by_formula, by_runs, compare
from campaigns import lengths

from axioms.dynamic.core.clocks import Clocks
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile


@pytest.mark.compares(0.8)
@pytest.mark.parametrize("seeds", lengths(range(12), range(100, 400)))
@pytest.mark.parametrize("shape", generated_sequential_fences.SHAPES)
def test_runs_say_of_fences_of_other_threads_what_the_formula_says(
    shape: str, seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts = compare(lambda seed: generated_sequential_fences.kernel(seed, shape), seeds, monkeypatch)
    assert verdicts["ok"] and verdicts["no"]


_LAST = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<6>; .shared .align 4 .b8 s[4];
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r9, 0;
 mad.lo.u32 %r3, %r1, 2, %r2; mul.wide.u32 %rd3, %r3, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
 setp.ne.u32 %p1, %r2, 0;
 st.global.u32 [%rd4], 5;
 {told} bar.sync 0;
 @%p1 bra M; atom.relaxed.{scope}.global.add.u32 %r5, [%rd1+16], 1; st.shared.u32 [s], %r5; M:
 bar.sync 0; {learned}
 ld.shared.u32 %r5, [s]; setp.ne.u32 %p2, %r5, 1; @%p2 ret;
 ld.global.u32 %r6, [%rd1]; ld.global.u32 %r7, [%rd1+8]; add.u32 %r9, %r6, %r7; st.global.u32 [%rd5], %r9;
 ret;
}}
"""


def _last(told: str = "fence.sc.gpu;", learned: str = "fence.sc.gpu;", scope: str = "gpu") -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": 2,
        "params": {"x": {"type": "u32", "elements": 5, "init": [0]}, "y": {"type": "u32", "elements": 4, "init": [0]}},
        "check": {"race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _LAST.format(told=told, learned=learned, scope=scope)}).test()


#: By which thread and how fences are executed, and whether the last CTA may read what others have written.
_FENCES = {
    "by all": ({}, True),
    "membar": ({"told": "membar.gl;", "learned": "membar.sys;"}, True),
    "by each that writes and reads": ({"learned": "@%p1 fence.sc.gpu; @!%p1 fence.sc.gpu;"}, True),
    "not by the other thread that reads": ({"learned": "@!%p1 fence.sc.gpu;"}, False),
    "not by the other thread that writes": ({"told": "@!%p1 fence.sc.gpu;"}, True),  # whose data are not read
    "not by the thread that writes": ({"told": "@%p1 fence.sc.gpu;"}, False),
    "no fence.sc behind": ({"learned": "fence.acq_rel.gpu;"}, False),
    "no fence.sc before": ({"told": "fence.acq_rel.gpu;"}, False),
    "narrow behind": ({"learned": "fence.sc.cta;"}, False),
    "narrow before": ({"told": "fence.sc.cta;"}, False),
    "a counter of narrow scope": ({"scope": "cta"}, False),
    "none behind": ({"learned": ""}, False),
    "none before": ({"told": ""}, False),
}  # fmt: skip


@pytest.mark.compares(1)
def test_fences_count_that_have_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, (how, right) in _FENCES.items():
        open_, found = by_runs(_last(**how))
        assert not open_ and found.verdict == ("ok" if right else "no"), name
        assert by_formula(_last(**how), monkeypatch).verdict == found.verdict, name
    note(len(_FENCES), Counter())


def test_kernels_tell_of_a_mistake_in_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the mistake that fences of any scope count, runs pass what the formula shows to be wrong."""
    monkeypatch.setattr(Clocks, "wide", lambda self, scope: True)
    open_, found = by_runs(_last(learned="fence.sc.cta;"))
    assert not open_ and found.verdict == "ok"

"""Whoever comes last to a counter does something for which nobody waits, as all end then: one run for all who may come last."""

from __future__ import annotations

from random import Random

import pytest
from by_runs import by_formula, by_runs, compare
from campaigns import lengths

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_PTX = """.version 9.0
.target sm_90
.address_size 64
.shared .align 8 .b64 b[2];
.shared .align 4 .b32 s[2];
.visible .entry k(.param .u64 m, .param .u64 c)
{{
 .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [m]; ld.param.u64 %rd2, [c];
 mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;
 setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r4, 0; setp.eq.u32 %p3, %r4, {who};
 mul.wide.u32 %rd3, %r4, 4; add.u64 %rd3, %rd1, %rd3;
{begins}
 {before}
 {counts}
 setp.ne.u32 %p4, %r5, {last}; @%p4 bra OTHER;
 {duty}
OTHER:
 {end}
 ret;
}}
"""
_OBJECT = "@%p1 mbarrier.init.shared.b64 [b], 9; @%p1 st.shared.u32 [s], 0; bar.sync 0;"
_COUNTS = "atom.acq_rel.gpu.global.inc.u32 %r5, [%rd2], {last};"
_IN_CTA = "atom.acq_rel.cta.shared.add.u32 %r5, [s], 1;"


def _launch(
    before: str, duty: str, *, counts: str = _COUNTS, begins: str = "", end: str = "",
    grid: int = 2, block: int = 1, cluster: int = 1, check: str = "", takers: int = 0, who: int = 0,
) -> KernelTest:  # fmt: skip
    """`takers`: how many count, all unless it says so; `who`: the thread of which the kernels speak, the last one."""
    last, who = (takers or grid * block) - 1, who or grid * block - 1
    words = {"before": before, "duty": duty, "begins": begins, "end": end, "counts": counts}
    ptx = _PTX.format(last=last, who=who, **{key: text.replace("{last}", str(last)) for key, text in words.items()})
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block, "cluster": cluster,
        "params": {
            "m": {"type": "u32", "elements": 8, "init": [0]}, "c": {"type": "u32", "elements": 1, "init": [0]},
        },
        "check": {"race_free": True, "terminates": True, **({"forall": check.replace("{last}", str(last))} if check else {})},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": ptx}).test()


_X = "@%p3 st.global.u32 [%rd1], 3;"
_LAST_X = "st.global.u32 [%rd1], 7;"
_WAITS = "W: mbarrier.try_wait.parity.shared.b64 %p6, [b], 1; @!%p6 bra W; "
_INVAL = "mbarrier.inval.shared.b64 [b];"
#: Right, and wrong in an execution other than that in which the last thread comes last.
_KERNELS = {
    "a store": ("ok", _launch(_X, _LAST_X, grid=3, check="m[0] == 7")),
    "an object that nobody uses any more": (
        "ok", _launch("mbarrier.arrive.shared.b64 _, [b];", _INVAL, counts=_IN_CTA, begins=_OBJECT, grid=1, block=3)
    ),
    "fences beside the operation": (
        "ok",
        _launch(_X + " fence.acq_rel.gpu;", "fence.acq_rel.gpu; " + _LAST_X,
                counts="atom.relaxed.gpu.global.inc.u32 %r5, [%rd2], {last};"),
    ),
    "a counter that was counted up before": (  # as that of a pipeline with producers and consumers is
        "ok",
        _launch("", _INVAL, counts=_IN_CTA.replace("1;", "-1;"), takers=2, grid=1, block=2,
                begins=_OBJECT + "atom.relaxed.cta.shared.add.u32 %r6, [s], 1; bar.sync 0; "
                "@%p1 ld.relaxed.cta.shared.u32 %r6, [s]; @%p1 st.relaxed.cta.shared.u32 [s], %r6; bar.sync 0;"),
    ),
    "no release": ("no", _launch(_X, _LAST_X, counts=_COUNTS.replace("acq_rel", "acquire"))),
    "no acquire": ("no", _launch(_X, _LAST_X, counts=_COUNTS.replace("acq_rel", "release"))),
    "an acquire behind the store": (
        "no", _launch(_X, _LAST_X + " fence.acq_rel.gpu;", counts=_COUNTS.replace("acq_rel", "release")),
    ),
    "a wait behind the release": (  # who goes on by it has waited before somebody comes last (section 8.10.4)
        "",
        _launch("", _INVAL, counts="fence.acq_rel.cta; @!%p3 bra C; " + _WAITS + "C: " + _IN_CTA.replace("acq_rel", "acquire"),
                begins=_OBJECT, grid=1, block=2),
    ),
    "a store of who is not the last one": (
        "no", _launch("@%p2 st.global.u32 [%rd1], 3;", "ret;", end="@%p3 st.global.u32 [%rd1], 5;"),
    ),
    "memory of a CTA of the cluster": (
        "undefined",
        _launch("@!%p2 bra C; mapa.shared::cluster.u32 %r6, s, 1; ld.shared::cluster.u32 %r7, [%r6]; C:", _LAST_X,
                begins="st.shared.u32 [s], 1; barrier.cluster.arrive; barrier.cluster.wait;", cluster=2),
    ),
    "a store to a place of one's own": ("no", _launch("", "st.global.u32 [%rd3], 7;", check="m[{last}] == 7")),
    "a value of one's own": ("no", _launch("", "st.global.u32 [%rd1], %r4;", check="m[0] == {last}")),
    "a flag in the scope of the CTA": (
        "no",
        _launch("@%p3 st.global.u32 [%rd1], 3;", "st.release.cta.global.u32 [%rd1+4], 1;",
                begins="setp.eq.u32 %p5, %r1, 1; @%p5 bra LOOK;", block=2, takers=2, who=2,
                end="ret; LOOK: setp.eq.u32 %p5, %r2, 0; @%p5 ret; "
                "W: ld.acquire.gpu.global.u32 %r6, [%rd1+4]; setp.eq.u32 %p5, %r6, 0; @%p5 bra W;"),
    ),
    "memory of the CTA": (
        "no",
        _launch("", "st.shared.u32 [s], 1;", begins="setp.eq.u32 %p5, %r1, 1; @%p5 bra LOOK;", block=2, takers=2, who=2,
                end="ret; LOOK: setp.ne.u32 %p5, %r2, 0; @%p5 ret; st.shared.u32 [s], 2;"),
    ),
    "a read of who is not the last one": (
        "no", _launch("@%p2 st.global.u32 [%rd1], 3;", "ret;", end="@!%p3 ret; ld.global.u32 %r6, [%rd1];"),
    ),
    "a read behind all": (
        "no",
        _launch("@%p2 st.global.u32 [%rd1], 3;", "st.global.u32 [%rd1+4], 7;",
                end="ld.relaxed.gpu.global.u32 %r6, [%rd1+8]; mov.u32 %r7, %ctaid.x; setp.eq.u32 %p5, %r7, 0; @%p5 ret; "
                "ld.global.u32 %r6, [%rd1];"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _KERNELS)
def test_what_is_said_of_whoever_comes_last_is_so_whoever_that_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict, test = _KERNELS[name]
    expected = by_formula(test, monkeypatch).verdict
    open_, found = by_runs(test)
    assert open_ or found.verdict == expected
    if verdict:
        assert expected == verdict
    if verdict == "ok":
        assert any("whoever is the last one" in note for note in found.notes)


_BEFORE = ("", _X, "@%p2 st.global.u32 [%rd1], 3;", "st.global.u32 [%rd3], 5;", "fence.acq_rel.gpu;", "fence.sc.cta;")
_DUTIES = (
    _LAST_X, _LAST_X, "st.global.u32 [%rd1+4], 9;", "st.global.u32 [%rd3], 7;", "fence.acq_rel.gpu;", "fence.sc.gpu;",
    "st.relaxed.gpu.global.u32 [%rd1+8], 1;", "st.shared.u32 [s+4], 1;", "ld.global.u32 %r6, [%rd1];",
    "st.global.u32 [%rd2], 0;",
)  # fmt: skip
_ENDS = ("", "", "", "@%p3 st.global.u32 [%rd1], 5;", "ret;", "fence.acq_rel.gpu;", "st.global.u32 [%rd3], 6;")


def _generated(seed: int) -> KernelTest:
    draw = Random(seed)
    grid, block = draw.choice(((2, 1), (3, 1), (1, 2), (1, 3)))
    within = grid == 1 and draw.random() < 0.5
    counts = (_IN_CTA if within else _COUNTS).replace(
        "acq_rel", draw.choice(("acq_rel", "acq_rel", "acquire", "relaxed"))
    )
    return _launch(
        " ".join(draw.choice(_BEFORE) for _ in range(2)), " ".join(draw.choice(_DUTIES) for _ in range(2)),
        counts=counts, begins=_OBJECT if within else "", end=draw.choice(_ENDS), grid=grid, block=block,
        check=draw.choice(("", "m[0] == 7", "m[1] == 9")),
    )  # fmt: skip


@pytest.mark.compares(0.9)
@pytest.mark.parametrize("seeds", lengths(range(12), range(500)))
def test_generated_ends_are_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    found = compare(_generated, seeds, monkeypatch, may_be_undefined=True)
    assert found["ok"] and found["no"]

"""Look-backs at flags that stand in words of their own, beside the values that they are about: by a run, and by the formula."""

from __future__ import annotations

import random

import generated_flags
import pytest
from by_runs import by_formula, by_runs, compare
from campaigns import lengths

from axioms.dynamic.lookback import sightings
from ptxmm.kernels.hunting import on_suspicion
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.result import Result


@pytest.mark.compares(0.9)
@pytest.mark.long
@pytest.mark.parametrize("seeds", [range(n, n + 3) for n in range(0, 120, 3)], ids=lambda s: f"from{s.start}")
def test_runs_say_of_flags_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(generated_flags.kernel, seeds, monkeypatch)


@pytest.mark.parametrize("count", lengths(12, 24))
def test_generated_kernels_look_back_rightly_and_wrongly(count: int) -> None:
    results = [by_runs(generated_flags.kernel(seed))[1] for seed in range(count)]
    assert sum(map(_is_look_back, results)) >= count / 4 and {r.verdict for r in results} >= {"ok", "no"}


def _is_look_back(result: Result) -> bool:
    return any("look-back" in note for note in result.notes)


#: Tiles of 64 threads each; thread 0 has the sum of its tile in %r3, and adds up what is before it in %r5.
_SCAN = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 f, .param .u64 a, .param .u64 b)
{{
 .reg .pred %p, %q; .reg .b32 %r<16>; .reg .b64 %rd<16>; .shared .align 4 .b8 s[4];
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [f]; ld.param.u64 %rd3, [a]; ld.param.u64 %rd4, [b];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; add.u32 %r3, %r1, 1; mov.u32 %r5, 0; mov.u64 %rd15, s;
 mul.wide.u32 %rd5, %r1, 4; add.u64 %rd6, %rd5, %rd2; add.u64 %rd7, %rd5, %rd3; add.u64 %rd8, %rd5, %rd4;
 setp.ne.u32 %p, %r2, 0; @%p bra TOLD;
 setp.eq.u32 %p, %r1, 0; @%p bra LAST;
 st{value}.global.u32 [%rd7], %r3; {release} st.relaxed.{scope}.global.u32 [%rd6], 1;
LOOK: sub.u64 %rd6, %rd6, 4; sub.u64 %rd7, %rd7, 4; sub.u64 %rd8, %rd8, 4;
AGAIN: ld.relaxed.gpu.global.u32 %r8, [%rd6]; setp.eq.u32 %p, %r8, 0; @%p bra AGAIN;
 {acquire} setp.eq.u32 %q, %r8, {whole};
 @%q ld{value}.global.u32 %r7, [%rd8]; @!%q ld{value}.global.u32 %r7, [%rd7];
 add.u32 %r5, %r5, %r7; @!%q bra LOOK;
 add.u64 %rd6, %rd5, %rd2; add.u64 %rd8, %rd5, {where};
LAST: add.u32 %r4, %r5, %r3; st{value}.global.u32 [%rd8], %r4; {again} st.relaxed.gpu.global.u32 [%rd6], 2;
 st.shared.u32 [%rd15], %r5;
TOLD: bar.sync 0; ld.shared.u32 %r5, [%rd15]; mad.lo.u32 %r9, %r1, {size}, %r2; mul.wide.u32 %rd9, %r9, 4;
 add.u64 %rd9, %rd9, %rd1; st.global.u32 [%rd9], %r5;
 ret;
}}"""
_FENCE = "fence.acq_rel.gpu;"
_RIGHT = {
    "release": _FENCE,
    "scope": "gpu",
    "acquire": _FENCE,
    "whole": "2",
    "where": "%rd4",
    "again": _FENCE,
    "value": "",
}
_WRONG = {
    "a sum behind no release": {"release": ""},
    "the sum of all behind no release": {"again": ""},
    "a flag of the CTA": {"scope": "cta"},
    "a fence of the CTA": {"release": "fence.acq_rel.cta;"},
    "nobody acquires": {"acquire": ""},
    "an acquire of the CTA": {"acquire": "fence.acq_rel.cta;"},
    "the sum of all where the sum of a tile is": {"where": "%rd3"},
    "each flag is of the sum of all": {"whole": "%r8"},
}


def _scan(tiles: int, size: int, **wrong: str) -> KernelTest:
    words = {"type": "u32", "elements": tiles, "init": [0]}
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": tiles, "block": size,
        "params": {"x": {"type": "u32", "elements": tiles * size}, "f": words, "a": words, "b": words},
        "check": {
            "forall": " && ".join(f"x[{tile * size}] == {tile * (tile + 1) // 2}" for tile in range(tiles)),
            "race_free": True, "terminates": True,
        },
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _SCAN.format(**{**_RIGHT, **wrong}, size=size)}).test()


#: What stands before the first tile is read in the first launch, and written in the second one.
_LATER = """.version 8.6
.target sm_90
.address_size 64
.visible .entry scan(.param .u64 x, .param .u64 f, .param .u64 a)
{
 .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<4>;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [f]; ld.param.u64 %rd3, [a]; mov.u32 %r1, %ctaid.x; mov.u32 %r5, 0;
 setp.eq.u32 %p, %r1, 1; @%p bra LOOK;
 st.global.u32 [%rd3+4], 5; st.release.gpu.global.u32 [%rd2], 1; st.global.u32 [%rd3+8], 0; st.release.gpu.global.u32 [%rd2], 2;
 ret;
LOOK: ld.acquire.gpu.global.u32 %r2, [%rd2]; setp.eq.u32 %p, %r2, 0; @%p bra LOOK;
 ld.global.u32 %r3, [%rd3+4]; setp.eq.u32 %p, %r2, 2; @!%p ld.global.u32 %r5, [%rd3]; @%p ld.global.u32 %r5, [%rd3+8];
 add.u32 %r3, %r3, %r5; st.global.u32 [%rd1], %r3;
 ret;
}
.visible .entry after(.param .u64 x, .param .u64 f, .param .u64 a)
{
 .reg .b64 %rd<2>; ld.param.u64 %rd1, [a]; st.global.u32 [%rd1], FIRST; ret;
}"""


@pytest.mark.parametrize(("stands", "verdict"), [(0, "ok"), (7, "no")])
def test_what_a_later_launch_writes_was_not_found(stands: int, verdict: str) -> None:
    params = {"x": {"type": "u32", "elements": 1, "init": [0]}, "f": {"type": "u32", "elements": 1, "init": [0]},
              "a": {"type": "u32", "elements": 3, "init": [stands, 0, 0]}}  # fmt: skip
    launches = [{"entry": "scan", "grid": 2, "block": 32}, {"entry": "after", "grid": 1, "block": 1}]
    tree = {
        "ptx": "k.ptx", "params": params, "kernel": launches,
        "check": {"forall": "x[0] == 5", "race_free": True, "terminates": True},
    }  # fmt: skip
    text = _LATER.replace("FIRST", str(7 - stands)).replace("mov.u32 %r5, 0;", "mov.u32 %r5, %tid.x; setp.ne.u32 %p, %r5, 0; "
                                                            "@%p ret; mov.u32 %r5, 0;")  # fmt: skip
    _, result = by_runs(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test())
    assert (result.verdict, _is_look_back(result)) == (verdict, verdict == "ok")


def test_a_scan_is_right_at_the_size_of_its_launch() -> None:
    open_, result = by_runs(_scan(6, 64))
    assert (result.verdict, open_, _is_look_back(result)) == ("ok", "", True)


@pytest.mark.parametrize("wrong", _WRONG.values(), ids=_WRONG)
def test_a_scan_with_a_mistake_is_not(wrong: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    _, result = by_runs(_scan(3, 2, **wrong))
    assert result.verdict in ("no", "undefined") and not _is_look_back(result)
    assert by_formula(_scan(3, 1, **wrong), monkeypatch).verdict in ("no", "undefined")


@pytest.mark.parametrize("value", ["", ".relaxed.gpu"], ids=["weak", "strong"])
@pytest.mark.parametrize(
    "wrong", ["a sum behind no release", "nobody acquires", "the sum of all where the sum of a tile is"]
)
def test_a_way_that_comes_to_something_else_is_gone(wrong: str, value: str) -> None:
    """At the size of the launch, where sums are stored weakly and race, and where they are strong and only old."""
    assert by_runs(_scan(5, 64, **_WRONG[wrong], value=value))[1].verdict == "no"


@pytest.mark.parametrize("seed", range(3))
def test_who_is_suspected_is_right_where_the_kernel_is(seed: int) -> None:
    """Runs in which threads find whatever they like of what may be found show nothing of a scan that is right."""
    test, draw = _scan(3, 2, value=".relaxed.gpu"), random.Random(seed)
    flags, sums, alls = (12884901888 + (i << 32) for i in range(3))  # in the order of the parameters, behind `x`
    way = tuple(
        sightings.Sighting(4, draw.choice((flags, sums, alls)) + 4 * draw.randrange(3), draw.choice((-1, 0, 1)))
        for _ in range(4)
    )
    found = on_suspicion(Runs(test, watched=True), lambda state: state != {"x[0]": 0, "x[2]": 1, "x[4]": 3}, [way])
    assert found is None


def _takes_all(_: sightings.Sightings, __: int, ___: str, seen: sightings.Seen) -> sightings.Seen:
    return sightings.Seen(seen.acquired | {n for n, _ in seen.found})


@pytest.mark.parametrize(
    ("wrong", "owner", "name", "mistake"),
    [
        pytest.param("a fence of the CTA", sightings.Sightings, "acquires", _takes_all, id="scopes"),
        pytest.param("a sum behind no release", sightings, "_before", lambda *_: True, id="what comes before a read"),
    ],
)
def test_each_condition_is_needed(
    wrong: str, owner: object, name: str, mistake: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, mistake)
    open_, result = by_runs(_scan(3, 2, **_WRONG[wrong]))
    assert (result.verdict, open_, _is_look_back(result)) == ("ok", "", True)

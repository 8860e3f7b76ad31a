"""A weak access beside a strong one that nothing orders is a race, unless what was strong has been observed."""

from __future__ import annotations

import tomllib
from random import Random

import pytest
from by_runs import by_formula, by_runs, compare
from campaigns import lengths

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 9.0
.target sm_90
.address_size 64
.shared .align 8 .b64 b;
.shared .align 4 .b32 s[2];
.visible .entry k(.param .u64 m)
{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [m];
 mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;
 setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r4, 1;
"""
_OBJECT = " @%p1 mbarrier.init.shared.b64 [b], %r3;\n @%p1 st.shared.u32 [s], 0;\n bar.sync 0;\n"


def launch(body: str, grid: int, block: int) -> KernelTest:
    toml = f"""ptx = "k.ptx"
grid = {grid}
block = {block}
[params]
m = {{type = "u32", elements = 2}}
[check]
race_free = true
"""
    return KernelFile.of(tomllib.loads(toml), "k.toml", {"k.ptx": f"{_HEAD}{body}\n ret;\n}}\n"}).test()


STRONG = (
    "red.relaxed.S.global.add.u32 [%rd1], 1;", "atom.relaxed.S.global.add.u32 %r5, [%rd1], 1;",
    "st.relaxed.S.global.u32 [%rd1], 7;", "ld.relaxed.S.global.u32 %r6, [%rd1];",
    "atom.relaxed.S.global.exch.b32 %r5, [%rd1], 3;",
)  # fmt: skip
WEAK = (
    "ld.global.u32 %r7, [%rd1];", "st.global.u32 [%rd1], 9;", "ld.global.v2.u32 {%r7, %r8}, [%rd1];",
    "ld.global.u16 %r7, [%rd1];",
)  # fmt: skip
BETWEEN = (
    "bar.sync 0;", "bar.sync 0;", "bar.sync 0;",
    "mbarrier.arrive.shared.b64 _, [b];",
    "W#: mbarrier.try_wait.parity.shared.b64 %p3, [b], 0; @!%p3 bra W#;",
    "fence.acq_rel.gpu;",
)  # fmt: skip


def generated(seed: int) -> KernelTest:
    draw = Random(seed)
    grid, block = draw.choice(((1, 2), (1, 3), (1, 3), (2, 1), (2, 2)))
    body, objects = list[str](), False
    for i in range(draw.randint(2, 5)):
        kind = draw.random()
        words = draw.choice(BETWEEN if kind < 0.3 else WEAK if kind < 0.55 else STRONG)
        objects = objects or "mbarrier" in words
        guard = (
            ""
            if words[0] == "W" or "sync" in words or "mbarrier" in words
            else draw.choice(("", "@%p1 ", "@!%p1 ", "@%p2 "))
        )
        body.append(guard + words.replace("#", str(i)).replace(".S.", draw.choice((".gpu.", ".gpu.", ".cta."))))
    if draw.random() < 0.3:
        body = [line.replace(".global", ".shared").replace("%rd1", "s") for line in body]
        objects = True
    return launch((_OBJECT if objects else "") + "\n ".join(body), grid, block)


@pytest.mark.compares(0.5)
@pytest.mark.parametrize("seeds", lengths(range(21, 27), range(150)))
def test_one_run_says_of_weak_beside_strong_what_the_formula_says(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = compare(generated, seeds, monkeypatch, may_be_undefined=True)
    assert found["ok"] and found["no"] >= len(seeds) / 10


HISTOGRAM = """
 @%p1 st.shared.u32 [s], 0; bar.sync 0;
 atom.shared.add.u32 %r5, [s], 1;
 BARRIER
 @%p1 ld.shared.u32 %r6, [s];
 @%p1 red.relaxed.gpu.global.add.u32 [%rd1], %r6;
"""


@pytest.mark.parametrize(
    ("barrier", "verdict"), [("bar.sync 0;", "ok"), ("", "no"), ("bar.warp.sync 0xffffffff;", "no")]
)
def test_a_count_that_is_read_too_early_is_a_race(barrier: str, verdict: str) -> None:
    open_, found = by_runs(launch(HISTOGRAM.replace("BARRIER", barrier), 4, 128))
    assert (open_, found.verdict) == ("", verdict)


@pytest.mark.parametrize(
    ("look", "verdict"),
    [  # who has observed an update comes behind it (section 8.9.6)
        ("atom.relaxed.gpu.global.or.b32 %r5, [%rd1], 0; setp.ne.u32 %p3, %r5, 1;", "ok"),
        ("ld.volatile.global.u32 %r5, [%rd1]; setp.ne.u32 %p3, %r5, 1;", "ok"),
        ("setp.ne.u32 %p3, %r1, %r1;", "no"),
    ],
)
def test_what_was_observed_comes_first(look: str, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    test = launch(
        f"@%p1 atom.relaxed.gpu.global.exch.b32 %r5, [%rd1], 1;\n@%p1 ret;\n{look}\n@%p3 ret;\nld.global.u32 %r6, [%rd1];",
        1,
        2,
    )
    assert compare(lambda _: test, range(1), monkeypatch)[verdict] or by_runs(test)[0]
    open_, found = by_runs(test)
    assert open_ or found.verdict == verdict


def test_a_strong_store_does_not_stand_for_a_weak_read_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every thread stores strongly, and the first one has read half of the bytes before: a mixed-size race."""
    test = launch("@%p1 ld.global.u16 %r7, [%rd1];\nst.relaxed.cta.global.u32 [%rd1], 7;", 1, 3)
    assert by_formula(test, monkeypatch).verdict == "undefined"
    open_, found = by_runs(test)
    assert open_ or found.verdict in ("no", "undefined")

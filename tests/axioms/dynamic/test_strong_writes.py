"""Strong writes that nothing orders, and whose results nobody uses: the order decides nothing but what they leave in memory."""

from __future__ import annotations

import tomllib
from collections import Counter
from random import Random

import pytest
from by_runs import by_runs, compare
from campaigns import lengths

from axioms.dynamic.core.clocks import Clocks
from ptxmm.kernels import whole
from ptxmm.kernels.bugs import BugSearch
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 m, .param .u64 o)
{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [m]; ld.param.u64 %rd2, [o];
 mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;
 mul.wide.u32 %rd4, %r4, 4; add.u64 %rd4, %rd2, %rd4; setp.eq.u32 %p1, %r4, 0;
"""
ALL = "race_free = true\nterminates = true\n"


def launch(body: str, grid: int, block: int, checks: str = ALL) -> KernelTest:
    toml = f"""ptx = "k.ptx"
grid = {grid}
block = {block}
[params]
m = {{type = "u32", elements = 2}}
o = {{type = "u32", elements = {grid * block}}}
[check]
{checks}
"""
    return KernelFile.of(tomllib.loads(toml), "k.toml", {"k.ptx": f"{_HEAD}{body}\n ret;\n}}\n"}).test()


#: Writes whose results nobody uses; `V` is a number.
WRITES = (
    "atom.relaxed.gpu.global.exch.b32 %r5, [A], V;", "st.relaxed.gpu.global.u32 [A], V;", "st.release.gpu.global.u32 [A], V;",
    "atom.relaxed.gpu.global.inc.u32 %r5, [A], V;", "red.relaxed.gpu.global.add.u32 [A], V;",
    "st.relaxed.cta.global.u32 [A], V;", "atom.relaxed.gpu.global.cas.b32 %r5, [A], 0, V;", "st.global.u32 [A], V;",
    "red.relaxed.gpu.global.or.b32 [A], V;",
)  # fmt: skip
#: What comes behind them: a read behind a barrier, what hangs on it, and a wait.
ENDS = (
    "", "bar.sync 0; ld.global.u32 %r6, [%rd1]; st.global.u32 [%rd4], %r6;",
    "bar.sync 0; ld.global.u32 %r6, [%rd1]; setp.eq.u32 %p2, %r6, 1; @%p2 st.global.u32 [%rd4], 5;",
    "L: ld.acquire.gpu.global.u32 %r6, [%rd1]; setp.eq.u32 %p2, %r6, 0; @%p2 bra L;",
    "ld.relaxed.gpu.global.u32 %r6, [%rd1]; st.global.u32 [%rd4], %r6;",
)  # fmt: skip


def generated(seed: int) -> KernelTest:
    draw = Random(seed)
    grid, block = draw.choice(((1, 2), (1, 3), (2, 1), (2, 2)))
    few = draw.sample(WRITES, 2 if draw.random() < 0.5 else 1)
    numbers = ["1"] if draw.random() < 0.3 else ["%r4", "1", "2"]
    body = []
    for _ in range(draw.choice((1, 1, 2))):
        guard = draw.choice(("", "", "@%p1 ", "@!%p1 "))
        body.append(
            guard
            + draw.choice(few).replace("V", draw.choice(numbers)).replace("A", draw.choice(("%rd1", "%rd1", "%rd1+4")))
        )
    if draw.random() < 0.2:
        body.insert(draw.randint(0, len(body)), "bar.sync 0;")
    body.append(draw.choice(ENDS[:3] if grid == 1 else ENDS))
    checks = ALL + draw.choice(
        ("", 'forall = "m[0] == 1"', 'forall = "m[0] < 3"', 'exists = "m[0] == 2"', 'never = "o[0] == 1"')
    )
    return launch("\n ".join(body), grid, block, checks)


@pytest.mark.compares(0.3)
@pytest.mark.parametrize("seeds", lengths(range(10), range(10, 120)))
def test_one_run_says_of_strong_writes_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    found = compare(generated, seeds, monkeypatch)
    assert found["ok"] > len(seeds) / 5 and found["no"]


def test_comparisons_with_other_operands_do_not_commute() -> None:
    """Whoever compares first stores, and several runs took all comparisons for alike."""
    body = "atom.relaxed.gpu.global.cas.b32 %r5, [%rd1], 0, %r4;"
    open_, found = by_runs(launch(body, 1, 3, ALL + 'exists = "m[0] == 2"'))
    assert open_ or [checked.holds for checked in found.checks] == [True, True, True]
    open_, found = by_runs(launch(body, 1, 3, ALL + 'forall = "m[0] == 1"'))
    assert open_ or found.verdict == "no"


INDEX = "st.relaxed.gpu.global.u32 [%rd1], %r4;"


@pytest.mark.parametrize(
    ("body", "checks", "verdict"),
    [
        ("atom.relaxed.gpu.global.exch.b32 %r5, [%rd1], 1;", ALL + 'forall = "m[0] == 1"', "ok"),
        ("st.relaxed.gpu.global.u32 [%rd1], 1;", ALL + 'forall = "m[0] == 1"', "ok"),
        ("st.relaxed.cta.global.u32 [%rd1], 1;", ALL, "no"),
        ("atom.relaxed.gpu.global.inc.u32 %r5, [%rd1], 299;", ALL + 'forall = "m[0] == 128"', "ok"),
        (INDEX, ALL, "ok"),
        (f"{INDEX} bar.sync 0; @%p1 st.global.u32 [%rd4], 1;", ALL + 'forall = "o[0] == 1"', "ok"),
    ],
)
def test_many_writes_of_many_threads(body: str, checks: str, verdict: str) -> None:
    open_, found = by_runs(launch(body, 2, 64, checks))
    assert ("open" if open_ else found.verdict) == verdict


def test_the_note_says_what_the_order_decides() -> None:
    for number, hangs in (("1", False), ("%r4", True)):
        _, found = by_runs(launch(INDEX.replace("%r4", number), 2, 64))
        assert (
            any("or whose order decides nothing but what they leave in memory" in note for note in found.notes) is hangs
        )


@pytest.mark.parametrize("number", ["1", "%r4"])
def test_the_work_grows_with_the_number_of_threads(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the run that proves it: what several runs and a search for bugs ask first hangs on time."""
    monkeypatch.setattr(whole, "_decided_in_any_order", lambda *_: False)
    monkeypatch.setattr(BugSearch, "soon", lambda _: False)
    asked, ordered = Counter[int](), Clocks.ordered
    grid = 0

    def counting(clocks: Clocks, *of: int) -> bool:
        asked[grid] += 1
        return ordered(clocks, *of)

    monkeypatch.setattr(Clocks, "ordered", counting)
    for grid in (2, 4):
        assert not by_runs(launch(INDEX.replace("%r4", number), grid, 64))[0]
    assert 0 < asked[4] < 3 * asked[2]

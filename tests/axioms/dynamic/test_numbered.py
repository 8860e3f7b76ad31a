"""CTAs that nothing tells apart but a ticket: by one run, and by the formula."""

from __future__ import annotations

import generated_numbered
import pytest
from by_runs import by_formula, by_runs, compare
from campaigns import lengths

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.result import Result

_HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 c, .param .u64 d, .param .u64 x)
{
 .reg .pred %p<6>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .b64 %v<4>; .shared .align 4 .b32 s[1];
 ld.param.u64 %rd1, [c]; ld.param.u64 %rd2, [d]; ld.param.u64 %rd3, [x];
 mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0;
"""
#: The number of a CTA in %r2, and words of `d` and `x` for it.
_TAKES = """ @%p1 bra WAIT;
 atom.global.add.u32 %r2, [%rd1], 1; st.shared.u32 [s], %r2;
WAIT: bar.sync 0; ld.shared.u32 %r2, [s];
 mul.wide.u32 %rd4, %r2, 8; add.u64 %rd5, %rd2, %rd4; mul.wide.u32 %rd7, %r2, 4; add.u64 %rd7, %rd3, %rd7;
"""
#: Its thread 0 adds up what the tiles before it have published, with a status in the high half of a word.
_SCANS = """ @%p1 bra OUT;
 add.u32 %r3, %r2, 1; mov.u32 %r5, 0; mov.u32 %r4, 1; mov.b64 %v1, {%r3, %r4}; st.relaxed.gpu.global.u64 [%rd5+8], %v1;
 mov.u64 %rd6, %rd5;
LOOK:
 ld.relaxed.gpu.global.u64 %v2, [%rd6]; mov.b64 {%r7, %r8}, %v2; setp.eq.u32 %p2, %r8, 0; @%p2 bra LOOK;
 add.u32 %r5, %r5, %r7; sub.u64 %rd6, %rd6, 8; setp.eq.u32 %p3, %r8, 2; @!%p3 bra LOOK;
 add.u32 %r9, %r5, %r3; mov.u32 %r10, 2; mov.b64 %v3, {%r9, %r10}; st.relaxed.gpu.global.u64 [%rd5+8], %v3;
 st.global.u32 [%rd7], %r9;
OUT:
"""


def _test(body: str, ctas: int, block: int, check: str) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "grid": ctas, "block": block,
        "params": {
            "c": {"type": "u32", "elements": 2},
            "d": {"type": "u64", "elements": ctas + 1, "init": [2 << 32, *[0] * ctas]},
            "x": {"type": "u32", "elements": ctas},
        },
        "check": {"forall": check, "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": f"{_HEAD}{body} ret;\n}}\n"}).test()


def _is_numbered(result: Result) -> bool:
    return any("nothing tells the" in note for note in result.notes)


@pytest.mark.compares(0.3)
@pytest.mark.parametrize("seeds", lengths(range(4, 5), range(5, 24)))
def test_one_run_says_of_ticketed_ctas_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(generated_numbered.kernel, seeds, monkeypatch, may_be_undefined=True)


@pytest.mark.parametrize("count", lengths(12, 24))
def test_generated_kernels_are_numbered_rightly_and_wrongly(count: int) -> None:
    results = [by_runs(generated_numbered.kernel(seed))[1] for seed in range(count)]
    assert sum(map(_is_numbered, results)) >= count / 5 and {r.verdict for r in results} >= {"ok", "no"}


def test_a_scan_whose_tiles_are_taken_by_tickets_is_decided_by_one_run() -> None:
    open_, result = by_runs(_test(_TAKES + _SCANS, 16, 64, "x[0] == 1 && x[15] == 136"))
    assert (open_, result.verdict, _is_numbered(result)) == ("", "ok", True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("[%rd5+8], %v3", "[%rd5+16], %v3", id="published in the wrong place"),
        pytest.param("mov.u32 %r4, 1;", "mov.u32 %r4, 2;", id="its own sum said to be that of all"),
        pytest.param("sub.u64 %rd6, %rd6, 8;", "sub.u64 %rd6, %rd6, 16;", id="a tile left out"),
        pytest.param("WAIT: bar.sync 0;", "WAIT:", id="without its barrier"),
    ],
)
def test_a_scan_with_a_mistake_is_not_right(old: str, new: str) -> None:
    text = _TAKES + _SCANS
    assert old in text
    open_, result = by_runs(_test(text.replace(old, new), 4, 64, "x[0] == 1 && x[3] == 10"))
    assert open_ or result.verdict in ("no", "undefined")


#: Kernels of which a run in order says what another order does not: without a condition they would be right.
WRONG = {
    "what tells them apart": ("atom.global.add.u32 %r2, [%rd1], 1; mov.u32 %r9, %ctaid.x;", "x[0] == 0"),
    "two tickets": ("atom.global.add.u32 %r2, [%rd1], 1; atom.global.add.u32 %r9, [%rd1+4], 1;", "x[0] == 0"),
    "two of one counter": (
        "atom.global.add.u32 %r9, [%rd1], 1; atom.global.add.u32 %r8, [%rd1], 1; sub.u32 %r9, %r8, %r9; shr.u32 %r2, %r8, 1;",
        "x[0] == 1",
    ),
    "a number that others see change": (
        "atom.global.add.u32 %r2, [%rd1], 1; ld.relaxed.gpu.global.u32 %r9, [%rd1]; sub.u32 %r9, %r9, %r2;", "x[0] == 1",
    ),
    "who adds without taking one": (
        "atom.global.add.u32 %r2, [%rd1], 1; setp.eq.u32 %p2, %r2, 0; mov.u32 %r9, 0;"
        "@!%p2 red.relaxed.gpu.global.add.u32 [%rd1], 1; @%p2 ld.relaxed.gpu.global.u32 %r9, [%rd1];",
        "x[0] == 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_hangs_on_who_takes_which_is_not_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    takes, check = WRONG[name]
    ends = " mul.wide.u32 %rd7, %r2, 4; add.u64 %rd7, %rd3, %rd7; st.global.u32 [%rd7], %r9;"
    test = _test(takes + ends, 2, 1, check)
    assert by_formula(test, monkeypatch).checks[0].holds is False
    open_, result = by_runs(test)
    assert open_ or result.checks[0].holds is False or result.verdict == "no"

"""Labels that threads spread in place: what searches that begin with a strong read come to, beside the formula, and components
at their size, right and with one mistake."""

from __future__ import annotations

import pytest
from by_runs import by_runs
from campaigns import lengths, share
from generated_labels import label_kernel
from test_searches import compare_up_to_searches_from

from axioms.dynamic.core.findings import Party
from ptxcore.clock import limited
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.searched import SearchedLaunches, run_with_searches
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile


def by_searches_from_reads(test: KernelTest) -> SearchedLaunches | None:
    """From each atomic operation and each relaxed read on; those that acquire are polls."""
    runs = Runs(test, watched=True)
    ops = [op for device in runs.devices.values() for code in device.program.functions.values() for op in code.ops]
    begins = [
        op for op in ops if op.use.form.mnemonic == "atom" or (op.use.form.mnemonic, op.use.sem) == ("ld", "relaxed")
    ]
    with limited(5.0):
        return run_with_searches(runs, *[Party(0, op) for op in begins])


@pytest.mark.compares(0.15)
@pytest.mark.parametrize("seeds", lengths(range(6), range(100)))
def test_what_is_said_of_labels_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = compare_up_to_searches_from(label_kernel, seeds, monkeypatch, by_searches_from_reads)
    assert counted["differing"] + counted["same"] > len(seeds) / 8


@pytest.mark.campaign
@pytest.mark.compares(0.15)
def test_what_is_said_of_labels_in_many_kernels_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_up_to_searches_from(label_kernel, range(1000, 1000 + share(5000)), monkeypatch, by_searches_from_reads)


#: A thread has an edge; the less of its labels is given to the other end, and then all threads of the grid meet.
_SPREAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 label, .param .u64 ends, .param .u64 bar, .param .u64 out)
{{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [label]; ld.param.u64 %rd2, [ends]; ld.param.u64 %rd3, [bar]; ld.param.u64 %rd4, [out];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r1, %r3, %r2;
 mul.wide.u32 %rd5, %r4, 8; add.u64 %rd2, %rd2, %rd5; mul.wide.u32 %rd5, %r4, 4; add.u64 %rd4, %rd4, %rd5;
 ld.global.u32 %r5, [%rd2]; ld.global.u32 %r6, [%rd2+4];
 mul.wide.u32 %rd5, %r5, 4; add.u64 %rd5, %rd5, %rd1; mul.wide.u32 %rd6, %r6, 4; add.u64 %rd6, %rd6, %rd1;
 {look}
 setp.lt.u32 %p1, %r7, %r8; @%p1 bra LESS;
 {lower}
 bra DONE;
LESS: red.relaxed.gpu.global.min.u32 [%rd6], %r7;
DONE: bar.sync 0;
 setp.ne.u32 %p2, %r2, 0; @%p2 bra MET;
 {arrive}
POLL: ld.acquire.gpu.global.u32 %r9, [%rd3]; setp.ne.u32 %p3, %r9, {ctas}; @%p3 bra POLL;
MET: {meet}
 ld.global.u32 %r7, [%rd5]; st.global.u32 [%rd4], %r7;
 ret;
}}
"""
_RIGHT = {
    "look": "ld.relaxed.gpu.global.u32 %r7, [%rd5]; ld.relaxed.gpu.global.u32 %r8, [%rd6];",
    "lower": "red.relaxed.gpu.global.min.u32 [%rd5], %r8;",
    "arrive": "red.release.gpu.global.add.u32 [%rd3], 1;",
    "meet": "bar.sync 0;",
}


def _spread(grid: int = 2, block: int = 32, **mistake: str) -> KernelTest:
    threads, labels = grid * block, 16
    ends = [
        end for i in range(threads) for end in (5 * i % labels // 4 * 4 + i % 4, 5 * i % labels // 4 * 4 + (i + 1) % 4)
    ]
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {
            "label": {"type": "u32", "elements": labels, "init": list(range(labels))},
            "ends": {"type": "u32", "elements": 2 * threads, "init": ends},
            "bar": {"type": "u32", "elements": 1}, "out": {"type": "u32", "elements": threads},
        },
        "check": {"race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _SPREAD.format(**(_RIGHT | mistake), ctas=grid)}).test()


def test_labels_spread_in_place_in_any_order() -> None:
    open_, found = by_runs(_spread())
    assert (open_, found.verdict) == ("", "ok")


@pytest.mark.parametrize(
    ("mistake", "lines"),
    [
        pytest.param({"look": _RIGHT["look"].replace(".relaxed.gpu", "", 1)}, {12}, id="a weak look"),
        pytest.param({"look": _RIGHT["look"].replace(".gpu", ".cta")}, {12}, id="a look in a narrow scope"),
        pytest.param({"lower": "st.global.u32 [%rd5], %r8;"}, {14}, id="a store"),
        pytest.param({"lower": _RIGHT["lower"].replace(".gpu", ".cta")}, {14}, id="an update in a narrow scope"),
        pytest.param({"arrive": _RIGHT["arrive"].replace("release", "relaxed")}, {22}, id="nothing is released"),
        pytest.param({"meet": ""}, {22}, id="a read before the barrier"),
    ],
)
def test_one_mistake_is_told_at_its_line(mistake: dict[str, str], lines: set[int]) -> None:
    open_, found = by_runs(_spread(**mistake))
    assert (open_, found.verdict) == ("", "no")
    assert {event.line for race in found.races for event in race.events} & lines, found.races

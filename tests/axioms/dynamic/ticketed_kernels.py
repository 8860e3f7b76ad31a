"""Kernels of threads that take tickets, and what one run says of them, held against the formula."""

from __future__ import annotations

from collections import Counter as Count
from collections.abc import Callable

import pytest
from by_runs import compare_right

from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.ticketed import Ticketed, run_with_tickets
from ptxmm.kernels.toml import KernelFile

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 c)
{
 .reg .pred %p<6>; .reg .b32 %r<16>; .reg .b32 %t<4>; .reg .b64 %rd<9>; .shared .align 8 .b8 s[64]; .local .align 4 .b8 l[4];
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd3, [c]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x;
 mad.lo.u32 %r4, %r1, %r3, %r2; add.u32 %r5, %r4, 1; setp.eq.u32 %p1, %r4, 0; setp.eq.u32 %p2, %r2, 0;
 mul.wide.u32 %rd4, %r4, 4; add.u64 %rd5, %rd1, %rd4; mov.u32 %r9, 0;
"""


def by_tickets(test: KernelTest) -> Ticketed | None:
    return run_with_tickets(Runs(test, watched=True))


def compare_up_to_tickets(
    made: Callable[[int], KernelTest], seeds: range, monkeypatch: pytest.MonkeyPatch
) -> Count[str]:
    """One run up to its tickets: values that are no others."""

    def told(found: Ticketed, states: list[dict[str, int]]) -> str:
        for state in states:
            differ = {label for label, value in state.items() if found.state[label] != value}
            assert differ <= found.differing, differ
        return "differing" if found.differing else "same"

    return compare_right(made, seeds, monkeypatch, by_tickets, told)


def ticketed_kernel(
    body: str, grid: int = 2, block: int = 1, words: int = 16, start: tuple[int, ...] = (0, 2), forall: str | list[str] = "",
    x: tuple[int, ...] = (0,),
) -> KernelTest:  # fmt: skip
    """`start` and `x`: what stands in `c` and `x` first. `forall`: what is checked of the values, of all of them that they are
    small if it is empty."""
    text = "\n ".join([HEAD, body, "END: ret;", "}"])
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {
            "x": {"type": "u32", "elements": words, "init": list(x)}, "c": {"type": "u32", "elements": 4, "init": list(start)},
        },
        "check": {
            "forall": forall or " && ".join(f"x[{i}] < 999" for i in range(words)) + " && c[0] < 999 && c[1] < 999",
            "race_free": True, "terminates": True,
        },
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()

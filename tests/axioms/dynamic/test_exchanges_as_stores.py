"""Counters that the last thread sets back by an exchange of which nobody looks at the result, beside the formula."""

from __future__ import annotations

import random

import pytest
from by_runs import compare
from campaigns import lengths
from test_circles import _kernel

from ptxmm.kernels.test import KernelTest

_COUNT, _FLAG = "[%rd1]", "[%rd1+4]"


def _round(choose: random.Random, number: int, thread: int, threads: int, left_out: int) -> str:
    """A barrier of all threads; of its steps the one of a number may be missing, or be weaker than it has to be."""
    label = f"{10 * thread + number}"
    fences = ["fence.acq_rel.gpu;", "fence.acq_rel.gpu;", "fence.acq_rel.gpu;"]
    if left_out < len(fences):
        fences[left_out] = ""
    sem = choose.choice(("relaxed", "relaxed", "release"))
    back = choose.choice((
        f"atom.{sem}.gpu.global.exch.b32 %r7, {_COUNT}, 0;",
        f"atom.{sem}.gpu.global.exch.b32 %r7, {_COUNT}, 0;",
        f"st.relaxed.gpu.global.u32 {_COUNT}, 0;",
    ))  # fmt: skip
    told = choose.choice((
        f"atom.relaxed.gpu.global.exch.b32 %r7, {_FLAG}, {number};",
        f"st.relaxed.gpu.global.u32 {_FLAG}, {number};",
    ))  # fmt: skip
    last = f"{fences[1]} {told} {back}" if left_out == 3 else f"{back} {fences[1]} {told}"
    return (
        f"{fences[0]} atom.relaxed.gpu.global.add.u32 %r5, {_COUNT}, 1; setp.ne.u32 %p2, %r5, {threads - 1}; "
        f"@%p2 bra W{label}; {last} bra D{label};\n"
        f"W{label}: ld.relaxed.gpu.global.u32 %r6, {_FLAG}; setp.lt.u32 %p2, %r6, {number}; @%p2 bra W{label};\n"
        f"D{label}: {fences[2]}"
    )


def _barriers(seed: int) -> KernelTest:
    """Two or three threads that meet once or twice. Each leaves something that another one takes behind the first meeting, and
    behind the second one it leaves something else there."""
    choose = random.Random(seed)
    threads = choose.choice((2, 2, 2, 3))
    left_out = choose.choice((0, 1, 2, 3, 4, 4, 4, 4))
    texts = []
    for thread in range(threads):
        own, other = (f"[%rd1+{16 + 4 * n}]" for n in (thread, (thread + 1) % threads))
        parts = [
            f"st.global.u32 {own}, 1;", _round(choose, 1, thread, threads, left_out),
            f"ld.global.u32 %r6, {other}; st.global.u32 ${thread + 3}, %r6;",
        ]  # fmt: skip
        if threads == 2:
            parts += [_round(choose, 2, thread, threads, left_out), f"st.global.u32 {own}, 2;"]
        texts.append((" ".join(parts),))
    return _kernel(*texts)


@pytest.mark.compares(0.4)
@pytest.mark.parametrize("seeds", lengths(range(8), range(60)))
def test_runs_say_of_counters_that_are_set_back_what_the_formula_says(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts = compare(_barriers, seeds, monkeypatch)
    assert verdicts["ok"] and verdicts["no"]

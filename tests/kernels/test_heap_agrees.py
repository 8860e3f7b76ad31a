"""Random kernels that hand memory from `malloc` to each other: solver, brute force and runs say the same."""

from __future__ import annotations

from random import Random

import pytest
from agreement import STEPS, at_most, compared, pass_over
from campaigns import lengths, share
from schedules import Runs
from test_heap import kernel

#: Errors of runs whose kernels have no meaning.
_WRONG = ("out-of-bounds", "bad-free", "uninitialised")
#: What a thread may do, with %d3 its pointer; what needs one is skipped without.
_ALWAYS = (
    "TAKE(%d3, 8); st.u32 [%d3], {n}",
    "TAKE(%d3, 8)",
    "ld.relaxed.gpu.u64 %d3, [%d2]",
    "ld.acquire.gpu.u64 %d3, [%d2]",
    "ld.acquire.gpu.u64 %d3, [%d2]",
    "atom.exch.acq_rel.gpu.b64 %d3, [%d2], %d3",
    "atom.exch.acquire.gpu.b64 %d3, [%d2], 0",
    "st.release.gpu.u64 [%d2], %d3",
    "st.release.gpu.u64 [%d2], %d3",
    "st.relaxed.gpu.u64 [%d2], %d3",
    "fence.acq_rel.gpu",
)
_SHOWS, _LOOKS = _ALWAYS[7:10], _ALWAYS[2:4]
_WITH_POINTER = (
    "ld.u32 %r5, [%d3]; st.global.u32 [%d4], %r5",
    "ld.relaxed.gpu.u32 %r5, [%d3]; st.global.u32 [%d4], %r5",
    "st.u32 [%d3], {n}",
    "st.relaxed.gpu.u32 [%d3], {n}",
    "atom.add.acq_rel.gpu.u32 %r5, [%d3], {n}; st.global.u32 [%d4], %r5",
    "GIVE(%d3)",
)


def random_kernel(seed: int) -> str:
    """Two threads of a few steps each: the first one takes memory and shows it, the second one looks."""
    random = Random(seed)
    lines = ["mad.wide.u32 %d4, %r1, 4, %d1", "mov.u64 %d3, 0", "setp.ne.u32 %p1, %r1, 0", "@%p1 bra OTHER"]
    for thread in range(2):
        if thread:
            lines.append("\nOTHER:\nmov.u32 %r9, 0")
        steps = [random.choice(_LOOKS)] if thread else [_ALWAYS[0], random.choice(_SHOWS)]
        while len(steps) < 3 or (len(steps) < 5 and random.random() < 0.5):
            steps.append(random.choice(_WITH_POINTER if random.random() < 0.5 else _ALWAYS))
        for i, step in enumerate(steps):
            text = step.format(n=10 * (thread + 1) + i)
            if step in _WITH_POINTER:
                label = f"L{thread}_{i}"
                text = f"setp.eq.u64 %p2, %d3, 0; @%p2 bra {label}; {text}; \n{label}:\nmov.u32 %r9, {i}"
            lines.append(text)
        lines.append("ret")
    return ";\n".join(lines) + ";"


def compare(seed: int) -> str:
    body = random_kernel(seed)
    made = kernel(body, blocks=2, forall="x[0] == x[0] && x[1] == x[1]", race_free=True)
    solved = made.check()
    with at_most(STEPS):
        counted = made.check(engine="enumerate")
    if counted.verdict == "undecided" or not counted.listed_all:
        pass_over("takes too many steps")
    else:
        compared(counted)
        assert solved.verdict == counted.verdict, (seed, body, solved.error, counted.error)
    if counted.verdict in ("ok", "no"):
        assert solved.states == counted.states, (seed, body)
    for run_seed, found in Runs(made.test).results(4):
        if isinstance(found, dict):
            assert solved.verdict == "undefined" or found in solved.states, (seed, run_seed, body, found)
        else:
            assert found in _WRONG, (seed, run_seed, body, found)
            assert solved.verdict == "undefined" or found == "uninitialised", (seed, run_seed, body, found)
    return solved.verdict


@pytest.mark.compares(0.75)
@pytest.mark.parametrize("count", lengths(3, 12))
def test_random_kernels(count: int) -> None:
    for seed in range(count):
        compare(seed)


@pytest.mark.campaign
@pytest.mark.compares(0.5)
@pytest.mark.parametrize("first", range(12, 2000, 71))
def test_many_random_kernels(first: int) -> None:
    for seed in range(first, first + share(71)):
        compare(seed)

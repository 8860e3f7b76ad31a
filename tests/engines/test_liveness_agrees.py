"""Who does not terminate, or traps: the solver and brute force say the same."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from agreement import STEPS, either
from schedules import Runs
from test_waiting_agrees import kernel

import ptxmm
from axioms.liveness import search as liveness
from axioms.oracle import liveness as liveness_oracle
from ptxmm.api import model_named
from ptxmm.kernels.question import KernelQuestion

DEADLOCK, BLOCKED, TRAP = ("barrier", "mbarrier"), ("barrier", "mbarrier", "loop"), ("trap",)


def compare(question: KernelQuestion, kinds: Sequence[str], steps: int = STEPS) -> bool | None:
    """Whether there is something to find, of which both engines say the same; None where brute force is not up to it."""
    program = question.built.program
    expected = either(lambda: [liveness_oracle.find(program, question.model, kinds=kinds, steps=steps)])
    if expected is None:
        return None
    found = liveness.find(program, question.model, kinds=kinds)
    stalled = isinstance(found, liveness.Stall)
    assert stalled == (expected != [None]), (kinds, found, expected)
    return stalled


@pytest.mark.part(3)
@pytest.mark.compares(1)
@pytest.mark.parametrize("kinds", [DEADLOCK, BLOCKED, TRAP], ids=["deadlock", "blocked", "trap"])
def test_of_random_kernels(kinds: Sequence[str]) -> None:
    found = [compare(KernelQuestion(kernel(seed).test, model_named("ptx-9.0")), kinds) for seed in range(5000, 5040)]
    assert 2 < found.count(True) < 38


HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{
    .reg .pred %p<3>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [a];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r3, %tid.x;
    setp.ne.u32 %p1, %r3, 0;
    @%p1 bra OTHERS;
"""
SPIN = """L: ld.relaxed.gpu.global.u32 %r5, [%rd2];
    setp.eq.u32 %p2, %r5, 0;
    @%p2 bra L;
"""
SET = "st.relaxed.gpu.global.u32 [%rd2], 1;\n"
SHUFFLE, MEET = "shfl.sync.idx.b32 %r6, %r3, 1, 31, 3;\n", "bar.warp.sync 3;\n"


def two_lanes(first: str, second: str) -> ptxmm.Kernel:
    """Two threads of a warp, each with its own code."""
    text = f"{HEAD}{first}ret;\nOTHERS:\n{second}ret;\n}}\n"
    word = {"type": "u32", "elements": 1}
    return ptxmm.Kernel(text, params={"a": word}, grid=1, block=2, terminates=True, exists="a[0] == 1")


@pytest.mark.parametrize(
    ("first", "second", "ends"),
    [
        ("bra TOGETHER;\n", "TOGETHER:\n" + SHUFFLE + SET, True),
        (SPIN + "bra TOGETHER;\n", "TOGETHER:\n" + SHUFFLE + SET, False),  # who is shuffled with comes when it has seen
        (SPIN, SHUFFLE + SET, False),  # or ends then
        (SPIN, SET + SHUFFLE, True),
        ("bra TOGETHER;\n", MEET + "TOGETHER:\n" + SHUFFLE + SET, False),  # one waits at each
        (MEET + "bra TOGETHER;\n", MEET + "TOGETHER:\n" + SHUFFLE + SET, True),
    ],
    ids=["together", "sees before", "ends before", "is told", "elsewhere", "in order"],
)
def test_a_warp_waits_for_all_who_execute_something_together(first: str, second: str, ends: bool) -> None:
    made = two_lanes(first, second)
    runs = {found if isinstance(found, str) else "ends" for _, found in Runs(made.test).results(20)}
    assert runs == {"ends" if ends else "deadlock"}
    for engine in ("solve", "enumerate"):
        result = made.check(engine=engine)
        assert [c.holds for c in result.checks] == [ends, ends], (engine, result.verdict, result.error)


ARRIVE = "barrier.arrive 1, 32;\n"
CLUSTER, WAIT = "barrier.cluster.arrive;\n", "barrier.cluster.wait;\n"


@pytest.mark.parametrize(
    ("first", "second", "ends"),
    [
        (ARRIVE, SET + ARRIVE, True),
        (ARRIVE, SET + "barrier.sync 1, 32;\n", True),
        (ARRIVE, SET, True),  # who has ended is not waited for
        (ARRIVE + SET, SPIN, False),
        (ARRIVE + SET, "barrier.sync 2;\n", False),
        (ARRIVE + "barrier.sync 2;\n", ARRIVE + SET + "barrier.sync 2;\n", True),
        (CLUSTER + SET + WAIT, SPIN + CLUSTER + WAIT, False),
        (CLUSTER + SET + WAIT, CLUSTER + SPIN + WAIT, True),
        (CLUSTER + SET, "", True),
        (2 * (CLUSTER + WAIT), 2 * (CLUSTER + SET + WAIT), True),
    ],
    ids=[
        "together",
        "and a wait",
        "ended",
        "sees before",
        "elsewhere",
        "and then another",
        "of a cluster, sees before",
        "of a cluster",
        "of a cluster, ended",
        "of a cluster, twice",
    ],
)
def test_who_arrives_at_a_barrier_waits_for_the_warp(first: str, second: str, ends: bool) -> None:
    made = two_lanes(first, second)
    runs = {found if isinstance(found, str) else "ends" for _, found in Runs(made.test).results(20)}
    assert runs == {"ends" if ends else "deadlock"}
    for engine in ("solve", "enumerate"):
        assert [c.holds for c in made.check(engine=engine).checks if c.kind == "terminates"] == [ends]


def test_misuse_where_nothing_ends_makes_a_kernel_undefined() -> None:
    twice = "mbarrier.init.shared::cta.b64 [m], 1;\n" + 2 * "mbarrier.arrive.shared::cta.b64 _, [m];\n"
    made = two_lanes(SPIN, twice)
    result = ptxmm.Kernel(
        made.test.launches[0].text.replace(".reg .pred", ".shared .align 8 .b64 m;\n.reg .pred"), grid=1, block=2,
        params={"a": {"type": "u32", "elements": 1}}, terminates=True,
    ).check()  # fmt: skip
    assert result.verdict == "undefined" and result.error is not None and "an arrival in a phase" in result.error

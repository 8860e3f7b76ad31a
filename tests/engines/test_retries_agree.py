"""Random loops that try again and again: who may not terminate in them is what brute force says, also where a bound cuts them
and where variables are on the stack; and where the threads of a run are blocked, it is found."""

from __future__ import annotations

import random

import pytest
from agreement import STEPS, either, pass_over
from campaigns import lengths, share
from schedules import Runs
from test_liveness_agrees import BLOCKED

import ptxmm
from axioms.liveness import search as liveness
from axioms.oracle import liveness as liveness_oracle
from ptxmm.api import model_named
from ptxmm.kernels.check import KernelQuestion

HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{
    .local .align 4 .b8 own[8];
    .reg .pred %p<4>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [a];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u64 %rd3, own;
    cvta.local.u64 %rd4, %rd3;
    mov.u32 %r1, %ctaid.x;
    st.u32 [%rd4], 0;
"""
#: One iteration of a loop: it goes round where %p1 holds. What it carries is in %r5 or on the stack.
ITERATIONS = {
    "exchange": "atom.exch.acquire.gpu.global.b32 %r4, [%rd2], {n}; setp.ne.u32 %p1, %r4, {m};",
    "swap": "atom.cas.acquire.gpu.global.b32 %r4, [%rd2], {m}, {n}; setp.ne.u32 %p1, %r4, {m};",
    "look": "ld.acquire.gpu.global.u32 %r4, [%rd2]; st.u32 [%rd4+4], %r4; ld.u32 %r4, [%rd4+4]; setp.ne.u32 %p1, %r4, {m};",
    "changed": "ld.relaxed.gpu.global.u32 %r4, [%rd2]; setp.eq.u32 %p1, %r4, %r5; mov.u32 %r5, %r4;",
    "take": "ld.u32 %r5, [%rd4]; add.u32 %r6, %r5, -1; setp.eq.u32 %p2, %r5, 0; selp.u32 %r6, 0, %r6, %p2;"
    "atom.cas.acquire.gpu.global.b32 %r4, [%rd2], %r5, %r6; st.u32 [%rd4], %r4;"
    "setp.ne.u32 %p1, %r4, %r5; or.pred %p1, %p1, %p2;",
    "count": "ld.u32 %r5, [%rd4]; add.u32 %r5, %r5, 1; st.u32 [%rd4], %r5; ld.relaxed.gpu.global.u32 %r4, [%rd2];"
    "setp.ne.u32 %p1, %r4, {m}; setp.lt.u32 %p2, %r5, 3; and.pred %p1, %p1, %p2;",
    "add": "atom.add.relaxed.gpu.global.u32 %r4, [%rd2], {n}; setp.ne.u32 %p1, %r4, {m};",
}
GIVES = ["", "st.release.gpu.global.u32 [%rd2], {n};", "atom.add.release.gpu.global.u32 %r7, [%rd2], {n};"]


def kernel(seed: int, deeper: int = 0) -> ptxmm.Kernel:
    """`deeper`: so many iterations more of each loop."""
    random_ = random.Random(seed)
    blocks = random_.choice([1, 2, 2])
    lines = [HEAD]
    for thread in range(blocks):
        kind = random_.choice(list(ITERATIONS))
        numbers = {"n": random_.choice([0, 1, 1]), "m": random_.choice([0, 0, 1])}
        before, behind = (random_.choice(GIVES).format(n=random_.choice([0, 1])) for _ in range(2))
        lines += [f"setp.ne.u32 %p3, %r1, {thread}; @%p3 bra N{thread}; mov.u32 %r5, 0; {before}"]
        lines += [
            f"L{thread}: {ITERATIONS[kind].format(**numbers)} @%p1 bra L{thread};",
            f"{behind} ret;",
            f"N{thread}:",
        ]
    text = "\n".join([*lines, "    ret;", "}", ""])
    params = {"a": {"type": "u32", "elements": 1, "init": [random_.choice([0, 1])]}}
    return ptxmm.Kernel(
        text,
        params=params,
        never="a[0] > 99",
        grid=blocks,
        block=1,
        bounds={"default": deeper + random_.choice([1, 2, 3])},
    )


def check(seed: int, runs: int, steps: int = STEPS // 2) -> bool | None:
    """Whether somebody may not terminate; None where that takes brute force too long."""
    question = asked(seed)
    stall = liveness.find(question.built.program, question.model, kinds=BLOCKED)
    stalled = isinstance(stall, liveness.Stall)
    if isinstance(stall, liveness.Stall) and any(wait.kind == "livelock" for wait in stall.waits):
        pass_over("a livelock")
        return None
    if by_brute_force(seed, steps, stalled) is None:
        return None
    seen = [result for _, result in Runs(question.test).results(runs) if isinstance(result, str)]
    assert stalled or not seen or any(t.execution.cuts for t in question.built.program.threads), f"seed {seed}: {seen}"
    return stalled


def asked(seed: int, deeper: int = 0) -> KernelQuestion:
    return KernelQuestion(kernel(seed, deeper).test, model_named("ptx-9.0"))


#: What is found beyond the bound of a loop is found within it when it is so much larger.
_DEEPER = 4


def by_brute_force(seed: int, steps: int, stalled: bool) -> bool | None:
    """What brute force says, which is `stalled`; None where it is not up to it. Interleavings are followed without a bound:
    what they find where brute force finds nothing and a bound cuts something off must be there with a larger bound."""

    def ask() -> bool:
        program = asked(seed).built.program
        found = liveness_oracle.find(program, model_named("ptx-9.0"), kinds=BLOCKED, steps=steps) is not None
        if found == stalled or not (stalled and program.is_bounded):
            return found
        more = (asked(seed, deeper).built.program for deeper in range(1, _DEEPER))
        return any(liveness_oracle.find(p, model_named("ptx-9.0"), kinds=BLOCKED, steps=8 * steps) for p in more)

    found = either(lambda: [ask()])
    assert found in (None, [stalled]), f"seed {seed}: the solver says {stalled}"
    return None if found is None else stalled


@pytest.mark.compares(0.6)
@pytest.mark.parametrize("seeds", lengths(range(1, 9), range(12)))
def test_of_random_loops(seeds: range) -> None:
    found = [check(seed, 5) for seed in seeds]
    assert True in found and False in found


def test_what_lies_beyond_a_bound_is_found_there() -> None:
    """The second thread must go round twice for the first to be blocked; the bound of its loop is one iteration."""
    question, model = asked(17), model_named("ptx-9.0")
    assert liveness_oracle.find(question.built.program, model, kinds=BLOCKED) is None
    assert isinstance(liveness.find(question.built.program, model, kinds=BLOCKED), liveness.Stall)
    assert liveness_oracle.find(asked(17, 1).built.program, model, kinds=BLOCKED) is not None


@pytest.mark.campaign
@pytest.mark.compares(0.5)
def test_of_many_random_loops() -> None:
    for seed in range(1000, 1000 + share(3000)):
        check(seed, 10, 4 * STEPS)

"""Random kernels that wait for one another: where a run comes to a deadlock, or traps, the question of who is blocked, or
traps, finds it; and what is found without reads that are out of date, some run comes to, but for very rare schedules."""

from __future__ import annotations

import random

import pytest
from campaigns import lengths, share
from schedules import Runs

import ptxmm
from axioms.liveness import search as liveness
from axioms.liveness.search import find
from axioms.sat.values import TooManyValues
from axioms.witness.stalls import Stall
from ptxmm.api import model_named
from ptxmm.kernels.check import KernelQuestion
from ptxmm.words.linearisation import LinearisationWords

HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{
    .reg .pred %p<3>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [a];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
"""
FLAGS = 3


def body(random_: random.Random, thread: int) -> list[str]:
    """What one thread does."""
    lines: list[str] = []
    for number in range(random_.randrange(1, 4)):
        flag = 4 * random_.randrange(FLAGS)
        kind = random_.choices(["store", "spin", "barrier", "maybe", "trap"], [4, 3, 3, 2, 1])[0]
        if kind == "store":
            lines.append(f"st.relaxed.gpu.global.u32 [%rd2+{flag}], {random_.choice([1, 1, 0])};")
        elif kind == "spin":
            label = f"S{thread}_{number}"
            lines += [
                f"{label}: ld.relaxed.gpu.global.u32 %r5, [%rd2+{flag}];",
                "setp.eq.u32 %p1, %r5, 0;",
                f"@%p1 bra {label};",
            ]
        elif kind == "barrier":
            lines.append(f"barrier.sync {random_.randrange(2)};")
        else:
            what = "trap" if kind == "trap" else random_.choice([f"barrier.sync {random_.randrange(2)}", "exit"])
            lines += [f"ld.relaxed.gpu.global.u32 %r5, [%rd2+{flag}];", "setp.ne.u32 %p1, %r5, 0;", f"@%p1 {what};"]
    return lines


def kernel(seed: int) -> ptxmm.Kernel:
    random_ = random.Random(seed)
    grid, block = random_.choice([(1, 2), (2, 1), (2, 2), (3, 1)])
    lines = [HEAD]
    for thread in range(grid * block):
        lines += [f"    setp.ne.u32 %p2, %r4, {thread};", f"    @%p2 bra N{thread};"]
        lines += [f"    {line}" for line in body(random_, thread)]
        lines += ["    ret;", f"N{thread}:"]
    text = "\n".join([*lines, "    ret;", "}", ""])
    params = {"a": {"type": "u32", "elements": FLAGS}}
    return ptxmm.Kernel(text, params=params, never="a[0] > 1", grid=grid, block=block)


def compare(seed: int, runs: int) -> tuple[bool, bool, bool]:
    """Whether runs find something, whether the question does, and whether only the question does."""
    made = kernel(seed)
    model = model_named("ptx-9.0")
    question = KernelQuestion(made.test, model)
    machine = Runs(made.test)
    seen = {found for _, found in machine.results(runs) if isinstance(found, str)}
    answers = {}
    for kind, kinds in (("deadlock", ("barrier", "mbarrier", "loop")), ("trap", ("trap",))):
        stall = find(question.built.program, model, kinds=kinds)
        answers[kind] = stall if isinstance(stall, Stall) else None
        assert answers[kind] is not None or kind not in seen, f"seed {seed}: runs end with {sorted(seen)}"
    stall = answers["deadlock"]
    if stall is not None and "trap" not in seen and not list(LinearisationWords(stall.execution, question.cast).stale):
        more = seen or {found for _, found in machine.results(50 * runs) if isinstance(found, str)}
        return bool(seen), True, not more
    return bool(seen), stall is not None, False


@pytest.mark.parametrize("count", lengths(10, 40))
def test_runs_and_the_question_find_the_same_of_random_kernels(count: int) -> None:
    found = [compare(seed, 20) for seed in range(count)]
    assert sum(runs for runs, _, _ in found) > count / 8 and sum(asked for _, asked, _ in found) < count
    assert not any(alone for _, _, alone in found)


@pytest.mark.campaign
def test_runs_and_the_question_find_the_same_of_many_random_kernels() -> None:
    alone = [seed for seed in range(1000, 1000 + share(2000)) if compare(seed, 30)[2]]
    assert len(alone) < 10, alone


def test_bit_vectors_and_literals_say_the_same_of_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where values have no bound they are bit-vectors: put to kernels with few values, the answers are those of literals."""
    model = model_named("ptx-9.0")
    for seed in range(12):
        program = KernelQuestion(kernel(seed).test, model).built.program
        for kinds in (("barrier", "mbarrier", "loop"), ("trap",)):
            literals = find(program, model, kinds=kinds)
            with monkeypatch.context() as patched:
                patched.setattr(liveness._Search, "_by_literals", too_many)
                numbers = find(program, model, kinds=kinds)
            assert type(literals) is type(numbers), f"seed {seed}, {kinds}"


def too_many(self: object, backend: str | None) -> None:
    raise TooManyValues

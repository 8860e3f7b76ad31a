"""What waiting threads do meanwhile: clocks, counts of looks and sleeps that decide nothing, and those that do."""

from __future__ import annotations

import random
from dataclasses import replace

import campaigns
import pytest
from by_runs import by_runs, compare

from axioms.dynamic.code.idle import idle_blocks
from ptxcore.machine.run.launch import load
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; mov.u32 %r1, %ctaid.x; setp.ne.u32 %p0, %r1, 0;
 @%p0 bra WAIT;
 st.global.u32 [%rd1+4], 7; st.release.gpu.global.u32 [%rd1], 1; bra.uni END;
WAIT: mov.u32 %r3, 0; mov.u32 %r4, 20; mov.u64 %rd3, %globaltimer;
LOOK: ld.acquire.gpu.global.u32 %r2, [%rd1]; setp.ne.u32 %p1, %r2, 0; @%p1 bra SEEN;
"""
#: As libcu++ waits: it looks sixteen times, and then sleeps for a quarter of the time that it has waited for.
_POLLS = """setp.lt.s32 %p2, %r3, 16; @%p2 bra COUNT;
 mov.u64 %rd4, %globaltimer; sub.s64 %rd4, %rd4, %rd3; setp.lt.s64 %p2, %rd4, 4000000; @!%p2 bra LONG;
 setp.lt.s64 %p2, %rd4, 40000; @%p2 bra LOOK; shr.u64 %rd5, %rd4, 2; cvt.u32.u64 %r5, %rd5; nanosleep.u32 %r5; bra LOOK;
LONG: nanosleep.u32 1000000; bra LOOK;
COUNT: add.u32 %r3, %r3, 1; bra LOOK;"""
_READ = "ld.global.u32 %r6, [%rd1+4]; st.global.u32 [%rd2], %r6;"


def kernel(meanwhile: str, behind: str = _READ, **checks: object) -> KernelTest:
    """Two CTAs of one thread: the second one waits for the first."""
    ptx = f"{_HEAD} {meanwhile}\nSEEN: {behind}\nEND: ret;\n}}\n"
    tree = {
        "ptx": "k.ptx", "grid": 2, "block": 1,
        "params": {"x": {"type": "u32", "elements": 4}, "y": {"type": "u32", "elements": 1}},
        "check": {"forall": "y[0] == 7", "race_free": True, "terminates": True, **checks},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": ptx}).test()


def idle(test: KernelTest) -> list[str]:
    """The instructions behind the look that are idle, by their names."""
    code = load(test.launches[0].text).program.functions["k"]
    found, look = (
        idle_blocks(code).operations,
        next(n for n, op in enumerate(code.ops) if op.name.startswith("ld.acquire")),
    )
    return [op.name for op in code.ops[look:] if id(op) in found]


def test_all_that_the_loop_of_a_library_does_between_two_looks_is_idle() -> None:
    test = kernel(_POLLS)
    assert len(idle(test)) == _POLLS.count(";")
    open_, result = by_runs(test)
    assert not open_ and result.verdict == "ok", open_


def rotated(meanwhile: str) -> str:
    """The same with a look of its own at the end of the loop, which begins with what is done meanwhile."""
    again = "ld.acquire.gpu.global.u32 %r2, [%rd1]; setp.ne.u32 %p1, %r2, 0; @!%p1 bra ROUND;"
    return f"ROUND: {meanwhile.replace('LOOK', 'AGAIN')}\nAGAIN: {again}"


def test_a_loop_that_begins_with_what_passes_time_is_as_good() -> None:
    test = kernel(rotated(_POLLS))
    assert len(idle(test)) == _POLLS.count(";")
    open_, result = by_runs(test)
    assert not open_ and result.verdict == "ok", open_


#: What decides something: who leaves the loop, what is stored, sent or read behind it, where a thread may be blocked.
DECIDES = {
    "a clock ends the waiting":
        "mov.u64 %rd4, %globaltimer; sub.s64 %rd4, %rd4, %rd3; setp.gt.s64 %p2, %rd4, 400; @%p2 bra SEEN; bra LOOK;",
    "a count ends the waiting": "add.u32 %r3, %r3, 1; setp.gt.u32 %p2, %r3, 1; @%p2 bra SEEN; nanosleep.u32 20; bra LOOK;",
    "a count ends the thread": "add.u32 %r3, %r3, 1; setp.gt.u32 %p2, %r3, 1; @%p2 bra END; nanosleep.u32 20; bra LOOK;",
    "a clock is published": "mov.u64 %rd4, %globaltimer; st.global.u64 [%rd1+8], %rd4; bra LOOK;",
}  # fmt: skip


@pytest.mark.parametrize("name", DECIDES)
def test_what_decides_something_is_not_idle(name: str) -> None:
    test = kernel(DECIDES[name])
    assert not any(op.startswith(("setp", "mov")) for op in idle(test))
    open_, result = by_runs(test)
    assert open_ or result.verdict != "ok"


def test_a_count_that_is_read_behind_the_loop_is_not_idle() -> None:
    behind = f"{_READ} st.global.u32 [%rd2], %r3;"
    assert not idle(kernel("add.u32 %r3, %r3, 1; nanosleep.u32 20; bra LOOK;", behind))
    open_, _ = by_runs(kernel(_POLLS, behind))
    assert open_


def test_a_clock_that_is_read_behind_the_loop_leaves_it_open_and_is_told() -> None:
    open_, _ = by_runs(kernel(_POLLS, f"{_READ} cvt.u32.u64 %r6, %rd3; st.global.u32 [%rd2], %r6;"))
    assert "clock" in open_ and open_.endswith(":10")


def test_a_loop_within_is_not_idle() -> None:
    within = "mov.u32 %r5, 0; ROUND: add.u32 %r5, %r5, %r4; setp.ne.u32 %p2, %r5, 0; @%p2 bra ROUND;"
    assert "add.u32" not in idle(kernel(f"{within} nanosleep.u32 20; bra LOOK;"))


def _generated(seed: int) -> KernelTest:
    """A loop of up to four parts, idle ones and others, and what is read behind it."""
    choose = random.Random(seed)
    clock = "mov.u64 %rd4, %globaltimer; sub.s64 %rd4, %rd4, %rd3; setp.lt.s64 %p2, %rd4, 4000;"
    parts = [
        "add.u32 %r3, %r3, 1;", "nanosleep.u32 %r4;", "add.u32 %r4, %r4, %r4;", f"{clock} @%p2 bra LOOK;",
        "setp.lt.u32 %p2, %r3, 1; @%p2 bra LOOK;", "mov.u64 %rd3, %globaltimer;",
        "setp.lt.u32 %p2, %r3, 2; @%p2 add.u32 %r4, %r4, 1;", f"{clock} @!%p2 mov.u32 %r3, 0;",
    ]  # fmt: skip
    wrong = [f"{clock} @!%p2 bra SEEN;", "setp.gt.u32 %p2, %r3, 0; @%p2 bra SEEN;", "mov.u32 %r2, %r3;", "fence.acq_rel.gpu;",
             "ld.relaxed.gpu.global.u32 %r2, [%rd1];", "add.u32 %r7, %r3, 0;"]  # fmt: skip
    chosen = [choose.choice(parts) for _ in range(choose.randint(1, 3))]
    if choose.random() < 0.4:
        chosen.insert(choose.randint(0, len(chosen)), choose.choice(wrong))
    more = choose.choice(("", "", "", "st.global.u32 [%rd2], %r3;", "setp.gt.u32 %p2, %r3, 1; @%p2 st.global.u32 [%rd2], 9;",
                          "st.global.u32 [%rd2], %r4;", "cvt.u32.u64 %r6, %rd3; st.global.u32 [%rd1+8], %r6;"))  # fmt: skip
    look = choose.choice(("acquire", "acquire", "relaxed"))
    meanwhile = f"{' '.join(chosen)} nanosleep.u32 20; bra LOOK;"
    test = kernel(rotated(meanwhile) if choose.random() < 0.5 else meanwhile, f"{_READ} {more}")
    (launch,) = test.launches
    text = launch.text.replace("ld.acquire", f"ld.{look}")
    return replace(test, launches=(replace(launch, text=text),))


@pytest.mark.compares(0.2)
@pytest.mark.parametrize("seeds", campaigns.lengths(range(16), range(16, 200)))
def test_what_runs_say_is_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(_generated, seeds, monkeypatch, may_be_undefined=True)
    assert verdicts["ok"] and verdicts["no"]

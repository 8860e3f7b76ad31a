"""No run of a kernel, whatever its schedule, shows what exploration calls forbidden."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from agreement import compared, pass_over
from campaigns import share
from kept import EXAMPLES, GATE, MUSEUM, loaded, named, variants
from schedules import FinalValues, Runs, ends_with

import ptxmm
from axioms.witness.stalls import Bounded
from ptxmm.api import model_named
from ptxmm.kernel import Kernel
from ptxmm.kernels.check import KernelQuestion
from ptxmm.kernels.test import KernelTest
from ptxmm.result import Result

TESTS = variants([*EXAMPLES, *MUSEUM, *GATE])
IDS = [named(test) for test in TESTS]
#: So far apart are those of a group: odd, since kernels stand in pairs, and of the wrong ones many have no meaning.
_APART = 65
#: Errors of a run that say that threads do not terminate; and those of runs that have no outcome: a schedule that is unfair for
#: longer than the run may last, and a value that nothing wrote, which a run refuses to look at.
WAITS, WITHOUT_OUTCOME = "deadlock", ("limit", "uninitialised")


#: How many times as many iterations of loops are looked at, where a run shows what is not found within the bounds of a test.
DEEPER = (2, 4)


def compare(path: Path, variant: str, count: int) -> None:
    """Compares what runs show with what exploration allows; passes over what exploration has no list of."""
    test = loaded(path, variant)
    result = ptxmm.check(test)
    if result.verdict == "undefined" or not result.listed_all:
        return pass_over("no meaning" if result.listed_all else "more outcomes than are listed")
    for seed, found in Runs(test).results(count):
        allowed = shows(test, result, found)
        if allowed is None:
            return pass_over("behind all bounds that were tried")
        assert allowed, f"{named((path, variant))}, seed {seed}: {found} is not among {result.states}"
        if not isinstance(found, dict) and found not in WITHOUT_OUTCOME:
            break  # so it will be with other schedules
    compared(result)


def shows(test: KernelTest, result: Result, found: FinalValues | str) -> bool | None:
    """Whether exploration allows what a run has shown. None where that may lie behind every bound that was tried."""
    if not isinstance(found, dict):
        return found in WITHOUT_OUTCOME or stalls(test, found)
    for times in (1, *DEEPER):
        if times > 1:
            result = ptxmm.check(deeper(test, times))
        if found in result.states:
            return True
        if result.complete:
            question = KernelQuestion(test, model_named("ptx-9.0"))
            return bool(question.program.undetermined) and ends_with(question.program, question.model, found)
    return None


def stalls(test: KernelTest, found: str) -> bool | None:
    """The same of a run that ends in a deadlock or a trap."""
    kinds = {"trap": ("trap",), WAITS: ("barrier", "mbarrier", "loop")}.get(found)
    if kinds is None:
        return False
    for times in (1, *DEEPER):
        question = KernelQuestion(deeper(test, times), model_named("ptx-9.0"))
        stall = question.stall(kinds)
        if not isinstance(stall, Bounded):
            return stall is not None
    return None


def deeper(test: KernelTest, times: int) -> KernelTest:
    """The test with so many times the iterations of each loop."""
    launches = (
        replace(
            one, unroll=times * one.unroll, loops={name: times * iterations for name, iterations in one.loops.items()}
        )
        for one in test.launches
    )
    return replace(test, launches=tuple(launches), bounded=True)


@pytest.mark.part(4)
@pytest.mark.compares(0.5)
@pytest.mark.parametrize(
    "some", [TESTS[i::_APART] for i in range(0, 64, 16)], ids=lambda some: f"{named(some[0])}, ..."
)
def test_some_schedules_show_nothing_forbidden(some: list[tuple[Path, str]]) -> None:
    for path, variant in some:
        compare(path, variant, 5)


@pytest.mark.long
def test_what_exploration_does_not_allow_is_noticed() -> None:
    """A comparison that cannot fail would be worth nothing: also where a bound cut executions."""
    for path, variant in [next(t for t in TESTS if named(t) == "rw_lock:buggy")]:
        test = loaded(path, variant)
        result = ptxmm.check(test)
        assert not result.complete
        wrong = {key: value + 1000 for key, value in result.states[0].items()}
        assert shows(test, result, result.states[0]) and not shows(test, result, wrong)


@pytest.mark.long
def test_a_run_may_find_any_number_in_a_lane_that_is_not_there() -> None:
    """What is computed from it is another number than in the list of outcomes; what is not is none."""
    made = Kernel(
        """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{
    .reg .b32 %r<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [a]; cvta.to.global.u64 %rd2, %rd1; mov.u32 %r1, 7;
    shfl.sync.bfly.b32 %r5, %r1, 1, 31, 1;
    and.b32 %r6, %r5, 1; st.global.v2.u32 [%rd2], {%r5, %r6};
    ret;
}
""",
        grid=1, block=1, params={"a": {"type": "u32", "elements": 2}}, never="a[0] == 7 && a[1] == 2",
    )  # fmt: skip
    result = made.check()
    [(_, seen)] = Runs(made.test).results(1)
    assert seen == {"a[0]": 7, "a[1]": 1} and seen not in result.states
    assert shows(made.test, result, seen)
    assert not shows(made.test, result, {"a[0]": 7, "a[1]": 0})


@pytest.mark.campaign
@pytest.mark.compares(0.5)
@pytest.mark.parametrize("some", [TESTS[i::32] for i in range(32)], ids=lambda some: f"{named(some[0])}, ...")
def test_a_thousand_schedules_show_nothing_forbidden(some: list[tuple[Path, str]]) -> None:
    for path, variant in some:
        compare(path, variant, share(1000))

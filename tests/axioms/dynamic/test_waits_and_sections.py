"""Threads that meet others in critical sections, where some wait for flags: a section may end only behind another one."""

from __future__ import annotations

import generated_waits_and_sections as generated
import pytest
from by_runs import by_formula, compare_right
from campaigns import lengths, share

from ptxmm.kernels.runs import Runs
from ptxmm.kernels.sectioned import Sectioned, run_with_sections
from ptxmm.kernels.test import KernelTest


def _run(test: KernelTest) -> Sectioned | None:
    return run_with_sections(Runs(test, watched=True))


def _told(found: Sectioned, states: list[dict[str, int]]) -> str:
    assert all(state == found.state for state in states)
    return "right"


@pytest.mark.compares(0.6)
@pytest.mark.parametrize("seeds", lengths(range(80, 96), range(300)))
def test_what_a_run_says_of_waits_and_sections_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of seeds 18, 89, 92 and 147 some order of the sections does not end."""
    assert compare_right(generated.made, seeds, monkeypatch, _run, _told)["right"]


@pytest.mark.campaign
@pytest.mark.compares(0.4)
def test_what_a_run_says_of_many_waits_and_sections_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left open costs nothing: a share of so few kernels that all may be is none."""
    compare_right(generated.made, range(1000, 1000 + max(20, share(4000))), monkeypatch, _run, _told)


_LOCK = " TAKE: atom.acquire.gpu.global.cas.b32 %r5, [%rd1], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra TAKE;\n"
_GIVE = " st.release.gpu.global.u32 [%rd1], 0;\n"
_WORK = " ld.global.u32 %r6, [%rd1+48]; add.u32 %r6, %r6, 1; st.global.u32 [%rd1+48], %r6;\n"
_MEET = " barrier.sync 0;\n"


def _wait(label: str, at: int, number: int) -> str:
    load = f"ld.relaxed.gpu.global.u32 %r5, [%rd1+{at}];"
    return f" {label}: {load} setp.lt.u32 %p1, %r5, {number}; @%p1 bra {label};\n"


def _raise(at: int) -> str:
    return f" red.relaxed.gpu.global.add.u32 [%rd1+{at}], 1;\n"


def _in_section(first: str, other: str, before: str) -> KernelTest:
    """A CTA of which each thread waits, and one takes a lock then, beside one that raises a flag behind a section of that lock,
    and one that raises it `before` that has begun, or not."""
    taking = _LOCK.replace("TAKE", "TAKE2") + _WORK + _GIVE + _raise(16)
    late = before + _raise(16) + _raise(20)
    slow = [_wait("E", 28, 1) + _raise(24), _wait("F", 32, 1) + _raise(28), _raise(32)]
    bodies = [first + _LOCK + _MEET + _WORK + _MEET + _GIVE, other + _MEET + _MEET, taking, "", late, *slow]
    return generated.launch(bodies, "x[12] == 2", free=0)


@pytest.mark.parametrize(
    ("first", "ends"),
    [
        (_wait("A", 20, 1) + _wait("B", 16, 2), True),
        # The run finds two there, and one is enough to go on with, whose section has not begun then.
        (_wait("A", 20, 1) + _wait("B", 16, 1), False),
        (_wait("A", 20, 1), False),
    ],
)
def test_a_section_ends_behind_no_other_one_that_may_begin_later(
    first: str, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = _in_section(first, _wait("C", 16, 2), _wait("D", 24, 1))
    assert (_run(test) is not None) is ends
    assert (by_formula(test, monkeypatch).verdict == "ok") is ends


_CLOCK = "mov.u64 %rd2, %globaltimer; "


@pytest.mark.parametrize(
    ("between", "taken"),
    [
        ("cvt.u32.u64 %r9, %rd2; and.b32 %r9, %r9, 63; nanosleep.u32 %r9; bra TAKE;", True),
        ("setp.gt.u64 %p2, %rd2, 1000000; @!%p2 bra TAKE;", False),  # goes on without the lock, in the end
    ],
)
def test_who_takes_a_lock_may_look_at_a_clock_that_decides_nothing(between: str, taken: bool) -> None:
    take = "TAKE: atom.acquire.gpu.global.cas.b32 %r5, [%rd1], 0, 1; setp.eq.u32 %p1, %r5, 0; @%p1 bra HAVE;"
    section = f" {take} {_CLOCK}{between}\n HAVE:\n{_MEET}{_WORK}{_MEET}{_GIVE}"
    bodies = [section.replace("TAKE", f"TAKE{n}").replace("HAVE", f"HAVE{n}") for n in range(2)]
    test = generated.launch([bodies[0], _MEET + _MEET, bodies[1], _MEET + _MEET], "x[12] == 2", free=0)
    assert (_run(test) is not None) is taken

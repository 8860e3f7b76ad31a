"""Waiting loops of which a thread polls at several places."""

from __future__ import annotations

import generated_peeled
import generated_unrolled
import pytest
from by_runs import by_formula, by_runs, compare, compare_right
from campaigns import lengths, share

from ptxmm.kernels.runs import FinalValues, Runs
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.watched_run import watched_run


@pytest.mark.compares(0.6)
@pytest.mark.parametrize("seeds", lengths(range(17, 25), range(17, 49)))
def test_runs_say_of_peeled_polls_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = compare(generated_peeled.made, seeds, monkeypatch)
    assert min(verdicts["ok"], verdicts["no"]) > 0


def _one_run(test: KernelTest) -> FinalValues | None:
    """The final values of a run that stands for all executions, if they are what is asked for."""
    ran = watched_run(Runs(test, watched=True), None)
    return ran.state if ran.is_one and ran.state == {"x[16]": 7} else None


def _told(found: FinalValues, states: list[dict[str, int]]) -> str:
    assert all(state == found for state in states)
    return "right"


@pytest.mark.parametrize("seeds", lengths(range(200, 225), range(200, 500)))
def test_one_run_says_of_unrolled_polls_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare_right(generated_unrolled.made, seeds, monkeypatch, _one_run, _told)["right"]


@pytest.mark.campaign
@pytest.mark.compares(0.6)
def test_runs_say_of_many_peeled_polls_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(generated_peeled.made, range(1000, 1000 + share(3000)), monkeypatch)


@pytest.mark.campaign
def test_one_run_says_of_many_unrolled_polls_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_right(generated_unrolled.made, range(1000, 1000 + share(3000)), monkeypatch, _one_run, _told)


@pytest.mark.compares(1.0)
@pytest.mark.parametrize("seed", (205, 257, 454))
def test_two_polls_that_lead_to_different_places_are_not_taken_for_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fence behind one of them alone, and a value that leads on at one of them alone, also of a look-back."""
    assert compare(generated_peeled.made, range(seed, seed + 1), monkeypatch)["no"] == 1


_ACQUIRE, _RELAXED = "ld.acquire.gpu.global.u32 %r5, [%rd1+16];", "ld.relaxed.gpu.global.u32 %r5, [%rd1+16];"
_FROM_ONE, _FROM_TWO = " setp.ge.u32 %p1, %r5, 1;", " setp.ge.u32 %p1, %r5, 2;"
#: What a thread does that polls once, and then in a loop.
_APART = {
    "one acquires nothing": f"{_RELAXED} {_FROM_TWO} @%p1 bra ON; LOOP: {_ACQUIRE} {_FROM_TWO} @!%p1 bra LOOP; ON:",
    "one goes on with less": f"{_ACQUIRE} {_FROM_TWO} @%p1 bra ON; LOOP: {_ACQUIRE} {_FROM_ONE} @!%p1 bra LOOP; ON:",
    "one leaves something else": f"{_ACQUIRE} {_FROM_TWO} @%p1 bra ON; LOOP: {_ACQUIRE} {_FROM_TWO} @!%p1 bra LOOP;"
    " mov.u32 %r10, 7; ON: add.u32 %r9, %r10, 1;",
}


@pytest.mark.parametrize("wait", _APART.values(), ids=_APART)
def test_polls_of_which_one_does_something_else_are_not_one(wait: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = f"{wait} ld.global.u32 %r6, [%rd1]; st.global.u32 [%rd1+64], %r6; st.global.u32 [%rd1+68], %r10;"
    signal = "st.release.gpu.global.u32 [%rd1+16], 1; st.global.u32 [%rd1], 7; st.release.gpu.global.u32 [%rd1+16], 2;"
    test = generated_unrolled.launch([body, signal], "x[16] == 7 && x[17] == 0")
    open_, found = by_runs(test)
    assert open_ or found.verdict == "no"
    assert by_formula(test, monkeypatch).verdict == "no"


def test_a_library_that_polls_sixteen_times_first_waits_as_who_polls_once() -> None:
    """And polls once more behind what leads on, as `cuda::atomic::wait` does."""
    first = f"{_ACQUIRE} {_FROM_TWO} @%p1 bra ON;" * 16
    wait = (
        f"{first} AGAIN: mov.u32 %r9, 0; {_ACQUIRE} {_FROM_TWO} @%p1 bra CHECK; LOOP: add.u32 %r9, %r9, 1; nanosleep.u32 %r9;"
        f" {_ACQUIRE} {_FROM_TWO} @!%p1 bra LOOP; CHECK: {_ACQUIRE} {_FROM_TWO} @!%p1 bra AGAIN; ON:"
    )
    body = f"{wait} ld.global.u32 %r6, [%rd1]; st.global.u32 [%rd1+64], %r6;"
    signal = "st.global.u32 [%rd1], 7; st.release.gpu.global.u32 [%rd1+16], 1; st.release.gpu.global.u32 [%rd1+16], 2;"
    test = generated_unrolled.launch([body, signal], "x[16] == 7")
    open_, found = by_runs(test)
    assert (open_, found.verdict) == ("", "ok")
    assert any("one run of all" in note for note in found.notes)


def _wait(at: int) -> str:
    return f"W{at}: ld.relaxed.gpu.global.u32 %r5, [%rd1+{at}]; setp.eq.u32 %p1, %r5, 1; @!%p1 bra W{at};"


def _add(number: int) -> str:
    return f"red.relaxed.gpu.global.add.u32 [%rd1+16], {number};"


def _store(at: int) -> str:
    return f"st.relaxed.gpu.global.u32 [%rd1+{at}], 1;"


def test_what_comes_only_behind_a_wait_is_not_taken_for_what_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One and four lead the wait back. In the run the two comes between them, which waits until one alone has led that on."""
    odd = "and.b32 %r6, %r5, 1; setp.eq.u32 %p1, %r6, 0; @%p1 bra L0; setp.eq.u32 %p1, %r5, 5; @%p1 bra L0;"
    waits = f"L0: ld.relaxed.gpu.global.u32 %r5, [%rd1+16]; {odd} {_store(32)}"
    late = [_wait(40) + _add(4), _wait(44) + _store(40), _wait(48) + _store(44), _wait(52) + _store(48), _store(52)]
    test = generated_unrolled.launch([_add(1), waits, _wait(32) + _add(2), *late], "x[4] == 7")
    open_, found = by_runs(test)
    assert open_ or found.verdict == "no"
    assert by_formula(test, monkeypatch).verdict == "no"

"""What a few runs of all threads show is so: counterexamples and witnesses, found before the formula is asked."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from agreement import note
from by_runs import by_formula
from campaigns import lengths
from test_waiting_launches import _kernel
from ticketed_kernels import ticketed_kernel
from waiting import PATIENCE

import ptxmm
import ptxmm.api
from ptxcore.clock import OutOfTime
from ptxmm.kernels import check as checking
from ptxmm.kernels.counterexamples import shown_beside, shown_by_runs
from ptxmm.kernels.extent import extent
from ptxmm.kernels.question import KernelQuestion
from ptxmm.kernels.test import Check, KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.result import Checked, Result
from ptxmm.words.notes import ran_out_deciding, ran_out_executing
from ptxmm.words.whole import OtherOrders

_TEXT = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;
 {body} ret;
}}
"""
#: An increment that is none: in the order of the threads each adds to what the one before left.
_LOST = "ld.relaxed.gpu.global.u32 %r2, [%rd1]; add.u32 %r2, %r2, 1; bar.warp.sync -1; st.relaxed.gpu.global.u32 [%rd1], %r2;"


def _test(body: str, block: int = 64, **checks: object) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": block, "params": {"x": {"type": "u32", "elements": 64}},
        "check": checks,
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _TEXT.format(body=body)}).test()


def _by_runs(test: KernelTest) -> tuple[bool, Result]:
    checks = [Checked(kind=c.kind, text=str(c), spot=c.spot) for c in test.checks]
    result = Result(path="k", name="k", model="ptx-9.0", verdict="undecided", checks=checks)
    return shown_by_runs(test, result, None), result


def test_an_outcome_that_must_not_be_is_shown_with_its_run() -> None:
    found, result = _by_runs(_test(_LOST, forall="x[0] == 64", race_free=True))
    assert found and result.verdict == "no" and result.runs >= 1
    broken, open_ = result.checks
    assert broken.holds is False and broken.state["x[0]"] < 64 and "a run of all threads in order" in broken.message
    assert [what.split(",")[0] for _, what in broken.spots] == ["x[0] was written last here"]
    assert open_.holds is None and "not decided" in open_.message


_TICKETS = """atom.global.add.u32 %r6, [%rd3], 1; mul.wide.u32 %rd6, %r6, 4; add.u64 %rd6, %rd1, %rd6;
 st.global.u32 [%rd6], %r4;"""


def test_what_one_run_leaves_open_another_shows_to_be_wrong() -> None:
    """One run says that nothing races, and not whose ticket is the first: a claim about that rests on luck."""
    test = ticketed_kernel(_TICKETS, 1, 40, words=40, start=(0,), forall="x[0] == 0")
    cases = (test.checks[0], OtherOrders("open"), True), (test.checks[0], "", False), (Check("no_deadlock"), "", False)
    for claim, why, shown in cases:
        checks = [
            Checked(kind=claim.kind, text=str(claim), message=why),
            Checked(kind="race_free", text="race_free", holds=True),
        ]
        result = Result(path="k", name="k", model="ptx-9.0", verdict="undecided", checks=checks, error="open")
        assert shown_beside(replace(test, checks=(claim, test.checks[1])), result, None) is shown
        assert result.verdict == ("no" if shown else "undecided")
        first, races = result.checks
        assert races.holds is True
        assert (first.holds, result.error) == ((False, None) if shown else (None, "open"))
        assert not shown or first.state["x[0]"] != 0


@pytest.mark.parametrize("threads", [4, 64])
def test_a_sum_that_rounds_is_shown_in_another_order_with_where_it_is_added(threads: int) -> None:
    """One run stands for all executions but for that value; whether a formula would try so many orders or not."""
    values = "mov.b32 %r2, 0f3F800000; @%p1 mov.b32 %r2, 0f4B800000;"  # 2^24 by the first, which 1 does not change
    body = f"{values} setp.lt.u32 %p2, %r1, {threads};\n @%p2 red.global.add.f32 [%rd1], %r2;"
    result = ptxmm.check(_test(body, deterministic="x[0]", race_free=True), timeout=PATIENCE)
    same, races = result.checks
    assert (same.holds, races.holds, result.verdict) == (False, True, "no")
    assert [(spot.line, what) for spot, what in same.spots] == [
        (9, "the order in which threads come here decides the value")
    ]


def test_floats_of_a_run_that_is_shown_are_written_as_floats() -> None:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 64, "params": {"x": {"type": "f32", "elements": 1}},
        "check": {"forall": "x[0] == 2"},
    }  # fmt: skip
    text = _TEXT.format(body="@!%p1 ret; mov.b32 %r2, 0f3F800000; st.global.u32 [%rd1], %r2;")
    (shown,) = _by_runs(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test())[1].checks
    assert "x[0] = 1.0" in shown.message and shown.state == {"x[0]": 0x3F800000}


def test_a_witness_decides_only_what_asks_for_one() -> None:
    assert _by_runs(_test(_LOST, exists="x[0] < 64"))[1].verdict == "ok"
    found, result = _by_runs(_test(_LOST, exists="x[0] < 64", forall="x[0] < 65"))
    assert not found and result.verdict == "undecided" and all(c.holds is None for c in result.checks)


@pytest.mark.parametrize(
    ("body", "check", "verdict"),
    [
        ("@!%p1 bar.sync 0, 96;", "terminates", "no"),
        ("@!%p1 bar.sync 0, 96;", "no_trap", "undecided"),
        ("@%p1 trap;", "no_trap", "no"),
        ("L: ld.relaxed.gpu.global.u32 %r2, [%rd1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra L;", "terminates", "undecided"),
    ],
)
def test_a_deadlock_or_a_trap_is_shown_but_not_a_wait_that_might_end(body: str, check: str, verdict: str) -> None:
    result = _by_runs(_test(body, **{check: True}))[1]
    assert result.verdict == verdict
    if verdict == "no":
        assert result.checks[0].message.startswith(f"{check} does not hold in a run of all threads in order: ")
        assert "\n" not in result.checks[0].message


def test_check_asks_runs_before_the_formula() -> None:
    result = ptxmm.check(_test(_LOST, 128, forall="x[0] == 128"), timeout=PATIENCE)
    assert result.verdict == "no" and result.runs


@pytest.mark.long
@pytest.mark.compares(0.05)
@pytest.mark.parametrize("count", lengths(30, 60))
def test_what_runs_show_the_formula_says(count: int) -> None:
    verdicts: Counter[str] = Counter()
    for seed in range(count):
        test = _kernel(seed)
        own = _test("", forall="x[0] == 1 && x[32] < 4").checks[0]
        test = replace(test, checks=(own, Check("terminates")))
        found, result = _by_runs(test)
        if not found:
            verdicts["not shown"] += 1
            continue
        with pytest.MonkeyPatch.context() as patch:
            assert by_formula(test, patch).verdict in (result.verdict, "undefined"), seed
        verdicts[result.verdict] += 1
    note(verdicts["no"] + verdicts["ok"], Counter({"not shown": verdicts["not shown"]}))
    assert verdicts["no"] > count / 12


def test_what_was_not_decided_in_time_says_how_large_it_is() -> None:
    """Before the formula is there, the threads; then the instruction of which most events are."""
    test = _test("@%p1 red.global.add.u32 [%rd1], 1;\n st.relaxed.gpu.global.u32 [%rd1+4], 1;", 3, forall="x[0] == 1")
    assert extent(test, None) == ran_out_executing(3)
    program = KernelQuestion(test, ptxmm.api.model_named("ptx-9.0"))
    events = len(program.built.program.events)
    line = next(i for i, text in enumerate(test.launches[0].text.splitlines(), 1) if "st.relaxed" in text)
    assert extent(test, program) == ran_out_deciding(3, events, 3, f"k.toml:{line}")
    result = ptxmm.check(test, timeout=1e-9)
    assert result.verdict == "undecided" and any("the time ran out while" in note for note in result.notes)


@pytest.mark.parametrize(("body", "verdict"), [(_LOST, "no"), ("red.relaxed.gpu.global.add.u32 [%rd1], 1;", "ok")])
def test_few_threads_with_many_events_are_run_before_the_formula_is_asked(
    body: str, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = _test(body, 4, forall="x[0] == 4")
    asked = Counter[str]()

    def decide(*_: object, **__: object) -> None:
        asked["formula"] += 1
        raise OutOfTime

    monkeypatch.setattr(KernelQuestion, "decide", decide)
    assert checking.check(test, ptxmm.api.model_named("ptx-9.0")).verdict == "undecided" and asked.total() == 1
    monkeypatch.setattr(checking, "_MANY_EVENTS", 1)
    assert checking.check(test, ptxmm.api.model_named("ptx-9.0")).verdict == verdict and asked.total() == 1


def test_what_runs_do_not_settle_is_asked_of_the_formula_however_many_events_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checking, "_MANY_EVENTS", 1)
    body = "mov.u32 %r2, %clock; and.b32 %r2, %r2, 1; st.relaxed.gpu.global.u32 [%rd1], %r2;"
    found = checking.check(_test(body, 2, forall="x[0] < 2"), ptxmm.api.model_named("ptx-9.0"))
    assert found.verdict == "ok" and found.complete and not found.runs

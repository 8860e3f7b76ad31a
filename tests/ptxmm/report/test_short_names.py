"""Threads have short names on a page that names them again and again, with a line that says who they are."""

from __future__ import annotations

from ptxmm.kernels.launch import Launch
from ptxmm.kernels.places import Places
from ptxmm.kernels.test import KernelTest
from ptxmm.result import Checked, RaceEntry, RaceEvent, Result, Spot, Step
from ptxmm.words.threads import ShortNames

_LONG = ("CTA 0 thread 0", "CTA 10 thread (1, 2)", "CTA (0, 1) thread 3")


_MORE = " (warp 1, lane 3)"


def result(names: tuple[str, ...] = _LONG) -> Result:
    width = max(map(len, names))
    steps = [Step(None, "", 0), *(Step(Spot("k.cu", 1), name, 1) for name in names)]
    linearisation = [
        "at first x is 0",
        *(f"{name.ljust(width)}  line 1  st.u32 [x], 1" for name in names),
        "it is not ordered",
    ]
    check = Checked(
        kind="forall",
        text="x[0] == 1",
        message=f"{names[0]} and {names[1]} differ",
        linearisation=linearisation,
        steps=steps,
        holds=False,
    )
    who = {name: f"{name}{_MORE}" if name == _LONG[2] else name for name in names}
    events = (RaceEvent(names[0], 1, "st"), RaceEvent(names[1], 2, "ld"))
    return Result(
        path="k.toml", name="k", model="m", verdict="no", of_kernel=True, checks=[check], threads=who,
        races=[RaceEntry("data", events, reason=f"{names[1]} did not see {names[0]}")],
    )  # fmt: skip


def test_names_are_numbered_and_columns_stay_aligned() -> None:
    before = result()
    names = ShortNames(before)
    assert names.short == {_LONG[0]: "T0", _LONG[1]: "T1", _LONG[2]: "T2"}
    after = names.renamed(before)
    (check,) = after.checks
    short = [names.short[name] for name in _LONG]
    assert check.linearisation[1:4] == [f"{name}  line 1  st.u32 [x], 1" for name in short]
    assert check.linearisation[0] == "at first x is 0" and check.message == f"{short[0]} and {short[1]} differ"
    assert after.races[0].reason == f"{short[1]} did not see {short[0]}" and after.races[0].events[0].thread == short[0]
    assert before.checks[0].linearisation[1].startswith(_LONG[0])  # other reports have the long ones


def test_the_legend_stands_once_before_the_first_name_and_has_those_that_are_named() -> None:
    names = ShortNames(result())
    short = names.short[_LONG[1]]
    assert names.with_legend([f"{names.short[_LONG[2]]} did"])[0] == f"    T2: {_LONG[2]}{_MORE}"
    page = ["no  k", "    fails", "", f"    {short} did not see it", f"      {short}  line 1"]
    assert names.with_legend(page) == ["no  k", "    fails", f"    {short}: {_LONG[1]}", *page[2:]]
    assert names.with_legend(page[:3]) == page[:3]


def test_names_that_are_rare_stay_and_litmus_tests_have_none() -> None:
    few = result()
    few.checks.clear()
    assert not ShortNames(few).short and ShortNames(few).renamed(few) is few
    of_litmus = result()
    of_litmus.threads = {}
    assert not ShortNames(of_litmus).short


def test_a_name_is_not_taken_for_the_beginning_of_another_one() -> None:
    long = ("CTA 0 thread 1", "CTA 0 thread 10", "CTA 0 thread 1 of k", *(f"CTA 1 thread {i}" for i in range(9)))
    names = ShortNames(result(long))
    after = names.renamed(result(long))
    assert [line.split()[0] for line in after.checks[0].linearisation[1:-1]] == [f"T{i}" for i in range(12)]
    assert names.with_legend(["T10 and T11"])[0] == f"    T10: {long[10]}, T11: {long[11]}"


def test_warps_and_lanes_are_told_where_there_are_several_warps() -> None:
    one, several = (
        Places(
            KernelTest(
                path="k", variant="", launches=(Launch("", "k", block=block),), parameters=(), checks=(), expect=("ok",)
            )
        )
        for block in ((8, 4, 1), (8, 4, 2))
    )
    assert one.lane(0, (0, 0, 0), (1, 2, 0)) == one.thread(0, (0, 0, 0), (1, 2, 0)) == "CTA 0 thread (1, 2)"
    assert several.lane(0, (0, 0, 0), (1, 2, 1)) == "CTA 0 thread (1, 2, 1) (warp 1, lane 17)"

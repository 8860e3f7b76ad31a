"""Kernel tests made in Python are those that a TOML file would be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from files import PTX, write

import ptxmm
from ptxmm.kernels.launch import Buffer, Scalar

X, N = {"type": "u32", "elements": 2}, {"type": "u32", "value": 4}


def kernel(**changes: Any) -> ptxmm.Kernel:
    arguments = {"params": {"x": X, "n": N}, "forall": "x[0] == n", "grid": 2, "block": 1}
    return ptxmm.Kernel(PTX, **{**arguments, **changes})


def test_a_kernel_is_what_the_file_would_be(tmp_path: Path) -> None:
    path = write(tmp_path)
    ours = kernel(forall="x[0] == n && x[1] == 0", params={"x": X | {"init": [0, 0]}, "n": N}).test
    theirs = ptxmm.load(path)
    assert ours.launches[0].params == theirs.launches[0].params
    assert [str(c) for c in ours.checks] == [str(c) for c in theirs.checks]
    together = kernel(forall=None, check={"forall": "x[0] == n"}, params=[("x", X), ("n", N)]).test
    assert together.checks == kernel().test.checks and together.parameters == kernel().test.parameters
    from_path = ptxmm.Kernel(tmp_path / "k.ptx", params={"x": X, "n": N}, forall="x[0] == n", grid=2, block=1)
    assert from_path.test.launches[0].text == PTX


def test_it_is_checked_as_any_test_is() -> None:
    result = kernel().check()
    assert result.verdict == "ok" and result.passed and result.kind == "forall"
    assert result.states == [{"x[0]": 4}] and [c.holds for c in result.checks] == [True]
    assert ptxmm.check(kernel().test).verdict == "ok"
    bad = kernel(forall=["x[0] == n", "x[0] == 3"], expect="no").check()
    assert bad.verdict == "no" and bad.passed
    assert [c.holds for c in bad.checks] == [True, False]
    assert bad.checks[1].message == "forall x[0] == 3 does not hold: x[0] = 4"
    assert any("st.global.u32" in line for line in bad.checks[1].linearisation)
    assert "<svg" in bad.witnesses[0].svg()


def test_both_engines_give_the_same() -> None:
    for engine in ("solve", "enumerate"):
        result = kernel(race_free=False).check(engine=engine)
        assert result.verdict == "ok" and result.races  # both threads write the word, weakly


def test_every_quantifier_is_judged() -> None:
    def holds(**checks: Any) -> list[bool | None]:
        return [c.holds for c in kernel(forall=None, **checks).check().checks]

    assert holds(exists="x[0] == 4") == [True] and holds(exists="x[0] == 5") == [False]
    assert holds(never="x[0] == 5") == [True] and holds(never="x[0] == 4") == [False]
    assert holds(exists=["x[0] == 4", "x[0] == 5"], never="x[1] == 1") == [True, False, True]


def test_properties_are_judged_either_way() -> None:
    def holds(**checks: Any) -> list[bool | None]:
        return [c.holds for c in kernel(forall=None, **checks).check().checks]

    assert holds(race_free=True) == [False] and holds(race_free=False) == [True]
    assert holds(terminates=True, no_deadlock=True, no_trap=True) == [True, True, True]
    assert holds(terminates=False) == [False]


def test_races_asked_for_fail_a_kernel_that_says_nothing_of_them() -> None:
    result = kernel().check(races=True)
    assert result.verdict == "no"
    race = result.races[0]
    assert [e.thread for e in race.events] == ["CTA 0 thread 0", "CTA 1 thread 0"]
    assert kernel(race_free=False).check(races=True).verdict == "ok"


def test_a_race_is_told_where_there_is_no_time_to_tell_all(monkeypatch: pytest.MonkeyPatch) -> None:
    found = len(kernel(grid=3).check(races=True).races)
    monkeypatch.setattr("ptxcore.clock.left", lambda: 1.0)
    result = kernel(grid=3).check(races=True)
    assert result.verdict == "no" and len(result.races) == len(result.race_witnesses) == 1 < found
    assert f"{found - 1} more races found, of which there was no time to tell" in result.notes


def test_arrays_and_numbers_of_numpy_are_parameters() -> None:
    numpy = pytest.importorskip("numpy")
    test = kernel(params={"x": numpy.array([1, -1], dtype="int32"), "n": numpy.uint32(7)}).test
    assert test.parameters == (Buffer("x", "s32", 2, (1, 0xFFFFFFFF)), Scalar("n", 7, "u32"))


def test_several_kernels_run_one_after_another_in_a_stream() -> None:
    params = {"x": X, "n": N, "m": N | {"value": 5}}

    def verdict(**second: Any) -> str:
        kernels = [{"name": "first", "args": ["x", "n"]}, {"args": ["x", "m"], **second}]
        made = ptxmm.Kernel(PTX, params=params, forall="x[0] == 5", grid=1, block=1, kernel=kernels)
        return made.check().verdict

    assert verdict() == "ok"
    assert verdict(stream=1) == "no"  # nothing orders kernels of different streams,
    assert verdict(stream=1, after=["first"]) == "ok"  # but for events


SPIN = PTX.replace(
    "    st.global.u32 [%rd2], %r1;",
    "L:  ld.relaxed.gpu.global.u32 %r2, [%rd2];\n    setp.ne.u32 %p1, %r2, %r1;\n    @%p1 bra L;",
).replace(".reg .b32", ".reg .pred %p<2>;\n    .reg .b32")


def test_shared_memory_that_nothing_wrote_may_hold_anything() -> None:
    text = PTX.replace("    .reg .b32", "    .shared .align 4 .b8 s[8];\n    .reg .b32").replace(
        "    st.global", "    STORE\n    ld.shared.u32 %r1, [s+4];\n    st.global"
    )

    def result(store: str = "", **checks: str) -> ptxmm.Result:
        return ptxmm.Kernel(text.replace("STORE", store), params={"x": X, "n": N}, grid=1, block=1, **checks).check()

    harmless = result(never="x[0] == 4")
    assert harmless.verdict == "ok" and "s[1]" in harmless.notes[0] and "the same with zeros" in harmless.notes[1]
    assert result("st.shared.u32 [s+4], 7;", never="x[0] == 4").notes == []
    for expression, held in (("x[0] != 1", "1 in every word"), ("x[0] < 300", "every bit set")):
        wrong = result(forall=expression)
        assert wrong.verdict == "no" and held in wrong.notes[1], expression
    assert result(exists="x[0] == 1").verdict == "ok" and result(exists="x[0] == 4").verdict == "no"


def test_what_nothing_wrote_breaks_one_promise_where_another_is_broken_anyway() -> None:
    text = PTX.replace("    .reg .b32", "    .shared .align 4 .b8 s[8];\n    .reg .b32").replace(
        "    st.global.u32 [%rd2], %r1;", "    ld.shared.u32 %r1, [s];\n    st.global.u32 [%rd2], %r1;"
    )
    made = ptxmm.Kernel(text, params={"x": X, "n": N}, grid=2, block=1, forall="x[0] == 0", race_free=True)
    result = made.check()
    assert [(c.kind, c.holds) for c in result.checks] == [("forall", False), ("race_free", False)]
    assert "1 in every word" in result.notes[-1]


@pytest.mark.long
def test_who_does_not_terminate_is_decided_where_values_have_no_bound() -> None:
    text = SPIN.replace("%p<2>;", "%p<2>; .reg .b32 %c;").replace(
        "L:  ld", "mov.u32 %c, %clock; mul.lo.u32 %c, %c, %c; st.global.u32 [%rd2+4], %c;\nL:  ld"
    )

    def result(first: int, **checks: Any) -> ptxmm.Result:
        x = {"type": "u32", "elements": 2, "init": [first]}
        return ptxmm.Kernel(text, params={"x": x, "n": N}, **checks, grid=1, block=1).check()

    checks = {"forall": "x[0] == 4", "exists": "x[1] != 3", "terminates": True}
    assert [c.holds for c in result(4, **checks).checks] == [True, True, True]
    endless = result(3, terminates=True).checks[0]
    assert not endless.holds and "does not terminate" in endless.message and "x[0] is 3" in endless.message


def test_who_does_not_terminate_hangs_on_values_without_bound() -> None:
    """A thread waits for what another has made of a clock: a square is 4 for one value, and 3 for none."""
    text = SPIN.replace("%p<2>;", "%p<2>; .reg .b32 %c;").replace(
        "L:  ld", "mov.u32 %c, %clock; mul.lo.u32 %c, %c, %c; st.relaxed.gpu.global.u32 [%rd2], %c;\nL:  ld"
    )

    def waits(number: int, exact: str) -> bool | None:
        made = text.replace("setp.ne.u32 %p1, %r2, %r1", f"setp.{exact}.u32 %p1, %r2, %r1")
        n = {**N, "value": number}
        return ptxmm.Kernel(made, params={"x": X, "n": n}, terminates=True, grid=1, block=1).check().checks[0].holds

    assert waits(4, "ne") is False  # the clock may have another value
    assert waits(4, "eq") is False and waits(3, "eq") is True  # no square is 3


def test_a_kernel_that_never_ends_keeps_no_promise() -> None:
    made = ptxmm.Kernel(SPIN, params={"x": X, "n": N}, forall="x[0] == 0", never="x[1] == 5", grid=1, block=1)
    result = made.check()
    assert (
        result.verdict == "no" and result.observation == "never" and [c.holds for c in result.checks] == [False, False]
    )
    message = result.checks[0].message
    assert message.startswith(
        "forall x[0] == 0 does not hold: no execution ends; CTA 0 thread 0 does not terminate (spin loop) at line 16"
    )
    ends = ptxmm.Kernel(
        SPIN, params={"x": X | {"init": [4]}, "n": N}, forall="x[0] == 4", terminates=True, grid=1, block=1
    )
    assert ends.check().verdict == "ok"


def test_a_lock_that_is_never_opened_is_waited_for_by_exchanging_without_end() -> None:
    lock = SPIN.replace("ld.relaxed.gpu.global.u32 %r2, [%rd2]", "atom.global.exch.b32 %r2, [%rd2], 1").replace(
        "setp.ne.u32 %p1, %r2, %r1", "setp.ne.u32 %p1, %r2, 0"
    )
    opened = lock.replace("@%p1 bra L;", "@%p1 bra L;\n    st.release.gpu.global.u32 [%rd2], 0;")
    for text, verdict in ((lock, "no"), (opened, "ok")):
        made = ptxmm.Kernel(text, params={"x": X, "n": N}, terminates=True, grid=3, block=1)
        assert made.check().verdict == verdict


def test_a_kernel_whose_end_bounds_hide_is_undecided() -> None:
    count = SPIN.replace("ld.relaxed.gpu.global.u32 %r2, [%rd2]", "atom.global.add.u32 %r2, [%rd2], 1")
    made = ptxmm.Kernel(count, params={"x": X, "n": N}, forall="x[0] == 5", grid=1, block=1, bounds=2)
    result = made.check()
    assert result.verdict == "undecided" and result.error == "no execution ends within the bounds of loops"
    assert (
        ptxmm.Kernel(count, params={"x": X, "n": N}, forall="x[0] == 5", grid=1, block=1, bounds=9).check().verdict
        == "ok"
    )


def test_who_waits_for_a_thread_that_a_bound_stopped_is_undecided_too() -> None:
    # Block 0 counts to 10, then opens the flag that block 1 waits for.
    text = SPIN[: SPIN.index("L:")] + (
        "mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r2, 0; @%p1 bra M;\n"
        "    L: atom.global.add.u32 %r2, [%rd2], 1; setp.lt.u32 %p1, %r2, 9; @%p1 bra L;\n"
        "    st.relaxed.gpu.global.u32 [%rd2+4], 1; ret;\n"
        "    M: ld.relaxed.gpu.global.u32 %r2, [%rd2+4]; setp.eq.u32 %p1, %r2, 0; @%p1 bra M;\n    ret;\n}\n"
    )

    def result(bound: int) -> ptxmm.Result:
        checks: dict[str, Any] = {"forall": "x[0] == 10", "terminates": True, "grid": 2, "block": 1, "bounds": bound}
        return ptxmm.Kernel(text, params={"x": X, "n": N}, **checks).check()

    assert (result(4).verdict, result(4).complete) == ("undecided", False)
    assert (result(10).verdict, result(10).complete) == ("ok", True)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gird": 2}, "kernel: error: gird: a kernel test has no 'gird'\n    hint: did you mean 'grid'?"),
        ({"grid": "2"}, "grid: one to three whole numbers from 1 on"),
        ({"params": {"x": X, "n": 4}}, "params.n: 'n' must be a table, not a whole number"),
        ({"params": {"x": X}, "forall": "x[0] == 4"}, "'k' takes 2 parameters, not 1"),
        ({"forall": "x[0] ="}, "check.forall: '=' assigns"),
        ({"forall": None}, "nothing is checked here"),
        ({"entry": "kk"}, "entry: the module has no kernel 'kk'"),
        ({"expect": "maybe"}, "expect: a test expects ok, bounded, no, undefined or hangs"),
    ],
)
def test_mistakes_name_the_argument(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ptxmm.InputError) as caught:
        kernel(**changes)
    assert words in caught.value.render()


def test_a_module_that_is_wrong_is_told_by_line() -> None:
    with pytest.raises(ptxmm.InputError) as caught:
        ptxmm.Kernel(
            PTX.replace("st.global", "st.globe"), params={"x": X, "n": N}, forall="x[0] == n", grid=1, block=1
        ).check()
    assert "kernel:15:" in caught.value.render()

"""The table of docs/answers.md, cell by cell: what each check answers when executions are complete, partly cut, all cut,
absent, or there was no time; of litmus tests and of kernel tests, by both engines."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import axioms.encode.solve
import ptxmm
from axioms.oracle.budget import Budget
from litmus.formats.printer import write
from ptxcore.clock import OutOfTime
from ptxcore.diagnostics import InputError
from ptxmm.answers import CHECKS, Coverage, answer
from ptxmm.checker import digest
from ptxmm.cli.main import main
from ptxmm.findings import findings
from ptxmm.result import Result

HONESTY = Path(__file__).resolve().parents[3] / "shared" / "defects" / "honesty"
REPRODUCTIONS = sorted({p.name for p in HONESTY.glob("c_*.*l*")} - {"c_race_free_20.toml"})
ENGINES = ("solve", "enumerate")
#: The columns, and what a claim over all executions and one that some execution does answer there that none has decided.
UNIVERSAL = {
    "complete": "ok",
    "partly cut": "bounded",
    "all cut": "undecided",
    "absent": "no",
    "out of time": "undecided",
}
EXISTENTIAL = {**UNIVERSAL, "complete": "no", "partly cut": "undecided"}


def test_the_table_is_this_one() -> None:
    words = {(True, False): "ok", (True, True): "bounded", (False, False): "no", (None, False): "undecided"}
    for coverage, existential in itertools.product(Coverage, (False, True)):
        wanted = (EXISTENTIAL if existential else UNIVERSAL)[coverage.value]
        assert words[answer(coverage, shown=False, existential=existential).value] == wanted
        assert answer(coverage, shown=True, existential=existential).value == (existential, False)


# Litmus tests. P0 executes LOOP, P1 lets it end or not.

#: An iteration writes, so it counts; it ends when it finds what P1 writes, or has counted so far as no bound allows.
LOOPS = {
    "complete": "add.u32 %r4, %r4, 1;",
    "partly cut": "L: atom.relaxed.gpu.add.u32 %r2, [n], 1; ld.relaxed.gpu.u32 %r3, [x]; setp.eq.u32 %p0, %r3, 0; @%p0 bra L;",
    "all cut": "L: atom.relaxed.gpu.add.u32 %r2, [n], 1; setp.lt.u32 %p0, %r2, 6; @%p0 bra L;",
    "absent": "L: ld.relaxed.gpu.u32 %r3, [x]; setp.ne.u32 %p0, %r3, 7; @%p0 bra L;",
}


def litmus(column: str, tail: str, before: str = "", behind: str = "") -> str:
    """A test of two threads; `before` and `behind` stand around the loop."""
    return f"""PTX t
{{ x = 0; y = 0; n = 0; z = 0; }}
P0@cta 0,gpu 0 {{ bar.sync 0, 32; mov.u32 %r4, 0; {before} {LOOPS[column]} {behind} st.relaxed.gpu.u32 [y], 1; }}
P1@cta 1,gpu 0 {{ st.relaxed.gpu.u32 [x], 1; {before} }}
{tail}
"""


def check(text: str, engine: str = "solve", backend: str | None = None) -> Result:
    return ptxmm.check(ptxmm.parse(text), unroll=2, engine=engine, backend=backend)


#: Of each check, the tail that nothing breaks or reaches, and the kind of it.
TAILS = {
    "forall": "forall (x = 1)",
    "~exists": "~exists (x = 2)",
    "exists": "exists (x = 2)",
    "race_free": "exists true race_free",
    "no_deadlock": "exists true no_deadlock",
    "terminates": "exists true terminates",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("column", LOOPS)
@pytest.mark.parametrize("kind", TAILS)
def test_a_check_of_a_litmus_test_that_no_execution_decides(kind: str, column: str, engine: str) -> None:
    result = check(litmus(column, TAILS[kind]), engine)
    found = next(c for c in result.checks if c.kind == kind)
    wanted = (EXISTENTIAL if CHECKS[kind][0] else UNIVERSAL)[column]
    assert (found.holds, found.bounded) == {
        "ok": (True, False), "bounded": (True, True), "no": (False, False), "undecided": (None, False),
    }[wanted]  # fmt: skip
    assert result.verdict == wanted
    assert result.complete == (column in ("complete", "absent")) and result.hangs == (column == "absent")
    if column == "absent":
        assert "P0 does not terminate (spin loop) at line 3: ld.relaxed.gpu.u32 %r3, [x]" in found.message
    if wanted == "undecided":
        assert result.error == found.message != ""


@pytest.mark.parametrize("backend", ["z3", "sat"])
@pytest.mark.parametrize("column", LOOPS)
def test_the_backends_give_the_same_answers(column: str, backend: str) -> None:
    found = check(litmus(column, "forall (x = 1) race_free no_deadlock terminates"), backend=backend)
    assert found.verdict == UNIVERSAL[column]
    assert [c.kind for c in found.checks] == ["forall", "race_free", "no_deadlock", "terminates"]


#: Of each check, what decides it: the words of the tail, and what P0 and P1 do besides.
DECIDED = {
    "forall": ("forall (z = 0)", "st.relaxed.gpu.u32 [z], 1;"),
    "~exists": ("~exists (z = 1)", "st.relaxed.gpu.u32 [z], 1;"),
    "exists": ("exists (z = 1)", "st.relaxed.gpu.u32 [z], 1;"),
    "race_free": ("exists true race_free", "st.weak.u32 [z], 1;"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("column", ["complete", "partly cut"])
@pytest.mark.parametrize("kind", DECIDED)
def test_what_an_execution_shows_no_bound_takes_back(kind: str, column: str, engine: str) -> None:
    tail, before = DECIDED[kind]
    result = check(litmus(column, tail, before), engine)
    found = next(c for c in result.checks if c.kind == kind)
    assert (found.holds, found.bounded) == (CHECKS[kind][0], False)
    assert result.verdict == ("ok" if CHECKS[kind][0] else "no") and not result.hangs


WAITS = "ld.relaxed.gpu.u32 %r6, [x]; setp.eq.u32 %p1, %r6, 1; @%p1 bra E; "
WAITS += "W: ld.relaxed.gpu.u32 %r5, [z]; setp.eq.u32 %p1, %r5, 0; @%p1 bra W; E:"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("column", ["complete", "partly cut", "all cut"])
def test_who_does_not_terminate_does_not_whatever_is_cut(column: str, engine: str) -> None:
    text = litmus(column, "exists true terminates").replace("mov.u32", f"{WAITS} mov.u32")
    result = check(text, engine)
    assert result.verdict == "no" and not result.hangs
    assert (
        "P0 does not terminate (spin loop) at line 3: ld.relaxed.gpu.u32 %r5, [z] (z is 0" in result.checks[1].message
    )


# Out of time.


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", TAILS)
def test_nothing_is_known_without_time(kind: str, engine: str) -> None:
    result = ptxmm.check(ptxmm.parse(litmus("complete", TAILS[kind])), engine=engine, timeout=1e-9)
    assert result.verdict == "undecided" and result.error == "out of time after 1e-09 s"
    assert all(c.holds is None for c in result.checks) and not result.passed


@pytest.mark.parametrize(
    ("kind", "verdict"), [("forall", "no"), ("~exists", "no"), ("exists", "ok"), ("race_free", "no")]
)
def test_what_an_execution_shows_no_clock_takes_back(kind: str, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> bool:
        raise OutOfTime

    monkeypatch.setattr(axioms.encode.solve, "is_cut_off", late)
    tail, before = DECIDED[kind]
    assert check(litmus("partly cut", tail, before)).verdict == verdict
    assert check(litmus("partly cut", TAILS[kind])).verdict == "undecided"


def test_brute_force_keeps_what_it_has_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many steps there are: the answer is the right one, or none."""
    tail, before = DECIDED["~exists"]
    text, spend = litmus("complete", tail, before), Budget.spend
    verdicts = []
    for steps in range(40):

        def counted(budget: Budget, steps: int = steps) -> None:
            budget.steps = steps
            spend(budget)

        monkeypatch.setattr(Budget, "spend", counted)
        verdicts.append(check(text, "enumerate").verdict)
    assert set(verdicts) == {"undecided", "no"} and verdicts == sorted(verdicts, reverse=True)
    monkeypatch.undo()
    budget: list[int] = []

    def counting(budget_: Budget) -> None:
        budget.append(1)
        spend(budget_)

    monkeypatch.setattr(Budget, "spend", counting)
    assert check(text, "enumerate").verdict == "no"
    assert verdicts.index("no") < len(budget)  # it was found before all was looked at


# Kernel tests.

HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 px, .param .u64 pn) {
    .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [px]; ld.param.u64 %rd2, [pn]; mov.u32 %r1, %ctaid.x; bar.sync 0;
    setp.ne.u32 %p2, %r1, 0; @%p2 bra SECOND;
"""
BODIES = {
    "complete": "",
    "partly cut": "L: atom.relaxed.gpu.global.add.u32 %r2, [%rd2], 1; ld.relaxed.gpu.global.u32 %r3, [%rd1]; "
    "setp.eq.u32 %p1, %r3, 0; @%p1 bra L;",
    "all cut": "L: atom.relaxed.gpu.global.add.u32 %r2, [%rd2], 1; setp.lt.u32 %p1, %r2, 6; @%p1 bra L;",
    "absent": "L: ld.relaxed.gpu.global.u32 %r3, [%rd1]; setp.ne.u32 %p1, %r3, 7; @%p1 bra L;",
}
#: What a thread would end the launch by, if it came to it: it does not.
TRAP = "setp.eq.u32 %p3, %r1, 9; @%p3 trap;"


def kernel(column: str, **checks: object) -> ptxmm.Kernel:
    body = f"{HEAD} {TRAP} {BODIES[column]} ret; SECOND: st.relaxed.gpu.global.u32 [%rd1], 1; ret; }}"
    word = {"type": "u32", "elements": 1}
    return ptxmm.Kernel(body, entry="k", grid=2, block=1, params={"px": word, "pn": word}, bounds=2, **checks)


KERNEL_CHECKS = {
    "forall": "px[0] == 1",
    "never": "px[0] == 2",
    "exists": "px[0] == 2",
    "race_free": True,
    "no_deadlock": True,
    "terminates": True,
    "no_trap": True,
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("column", BODIES)
@pytest.mark.parametrize("kind", KERNEL_CHECKS)
def test_a_check_of_a_kernel_that_no_execution_decides(kind: str, column: str, engine: str) -> None:
    result = kernel(column, **{kind: KERNEL_CHECKS[kind]}).check(engine=engine)
    wanted = (EXISTENTIAL if CHECKS[kind][0] else UNIVERSAL)[column]
    assert result.verdict == wanted, [c.message for c in result.checks]
    assert result.hangs == (column == "absent")
    if column == "absent":
        assert "CTA 0 thread 0 does not terminate (spin loop) at line" in result.checks[0].message


@pytest.mark.parametrize("column", BODIES)
@pytest.mark.parametrize("kind", ["race_free", "no_deadlock", "terminates", "no_trap"])
def test_a_property_that_must_not_hold_asks_for_an_execution(kind: str, column: str) -> None:
    result = kernel(column, **{kind: False}).check()
    wanted = "ok" if (kind, column) == ("terminates", "absent") else EXISTENTIAL[column]
    assert result.verdict == wanted


@pytest.mark.parametrize("column", ["complete", "partly cut", "all cut", "absent"])
def test_a_trap_is_one_whatever_comes_behind(column: str) -> None:
    body = f"{HEAD} trap; {BODIES[column]} ret; SECOND: st.relaxed.gpu.global.u32 [%rd1], 1; ret; }}"
    word = {"type": "u32", "elements": 1}
    result = ptxmm.Kernel(
        body, entry="k", grid=2, block=1, params={"px": word, "pn": word}, bounds=2, no_trap=True
    ).check()
    assert result.verdict == "no" and not result.hangs


@pytest.mark.parametrize("engine", ENGINES)
def test_a_kernel_without_time_is_undecided(engine: str) -> None:
    result = kernel("complete", **KERNEL_CHECKS).check(engine=engine, timeout=1e-9)
    assert result.verdict == "undecided" and "out of time" in (result.error or "")


# What is expected, and accepted.


@pytest.mark.part(2)
@pytest.mark.parametrize(
    ("column", "expect", "bounded_ok", "status"),
    [
        ("partly cut", "ok", False, 3), ("partly cut", "ok", True, 0), ("partly cut", "bounded", False, 0),
        ("partly cut", "ok|bounded", False, 0), ("partly cut", "no", False, 3), ("partly cut", "no", True, 3),
        ("complete", "bounded", False, 1), ("complete", "ok|bounded", False, 0), ("complete", "hangs", False, 1),
        ("all cut", "ok", True, 3), ("all cut", "ok|bounded", True, 3), ("all cut", "hangs", True, 3),
        ("absent", "ok", True, 1), ("absent", "no", False, 0), ("absent", "hangs", False, 0),
        ("absent", "ok|hangs", False, 0), ("absent", "bounded", True, 1),
    ],
)  # fmt: skip
def test_what_is_accepted(column: str, expect: str, bounded_ok: bool, status: int, tmp_path: Path) -> None:
    file = tmp_path / "t.litmus"
    file.write_text(litmus(column, "forall (x = 1)").replace("PTX t\n", f"PTX t\nExpect={expect}\n"))
    assert main(["check", str(file), "--unroll", "2", *(["--bounded-ok"] if bounded_ok else [])]) == status


@pytest.mark.part(3)
@pytest.mark.parametrize("expect", ["ok", "bounded", "no", "undefined", "hangs", "ok|bounded", "no|hangs"])
@pytest.mark.parametrize("column", LOOPS)
def test_what_is_asked_besides_makes_no_test_pass(column: str, expect: str) -> None:
    """Whatever it finds: a race that makes the verdict `no` is not what a test meant that expects its condition to fail."""
    text = litmus(column, "forall (x = 1)", "st.weak.u32 [z], 1;").replace("PTX t\n", f"PTX t\nExpect={expect}\n")
    alone = ptxmm.check(ptxmm.parse(text), unroll=2)
    for checks in (("race_free",), ("terminates", "race_free"), ("no_trap",)):
        asked = ptxmm.check(ptxmm.parse(text), unroll=2, checks=checks)
        assert alone.passed or not asked.passed
        assert asked.verdict == "no" or "race_free" not in checks or column == "all cut"
    assert (alone.verdict, column) in zip(UNIVERSAL.values(), UNIVERSAL, strict=True)


def test_a_kernel_that_fails_in_another_way_than_it_says_is_told_of(tmp_path: Path) -> None:
    made = kernel("complete", forall="px[0] == 1", expect="no")
    assert made.check().verdict == "ok" and not made.check(checks=["race_free"]).passed
    raced = f"{HEAD} st.global.u32 [%rd2], 1; ret; SECOND: st.global.u32 [%rd2], 1; ret; }}"
    word = {"type": "u32", "elements": 1}
    raced_ = ptxmm.Kernel(
        raced, entry="k", grid=2, block=1, params={"px": word, "pn": word}, forall="pn[0] == 1", expect="no"
    )
    result = raced_.check(checks=["race_free"])
    assert (result.verdict, result.own, result.passed) == ("no", "ok", False)
    assert findings(result)[0].message == "the verdict is ok without what was asked besides, and no was expected"


def test_a_test_that_fails_otherwise_too_does_not_hang() -> None:
    text = litmus("absent", "forall (x = 1)").replace("P1@cta 1,gpu 0 { ", "P1@cta 1,gpu 0 { st.weak.u32 [z], %r9; ")
    assert check(text.replace("%r9", "1")).hangs


def test_a_filter_that_nothing_passes_leaves_nothing_to_break() -> None:
    result = check(litmus("complete", "filter (x = 5) forall (x = 7)"))
    assert (result.verdict, result.states, result.hangs) == ("ok", [], False)
    assert check(litmus("complete", "filter (x = 5) exists (x = 1)")).verdict == "no"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("asked", ["forall (x = 7)", "~exists (x = 1)", "exists (x = 1)"])
@pytest.mark.parametrize("looked", ["complete", "partly cut"])
def test_an_answer_about_no_outcome_says_so(looked: str, asked: str, engine: str) -> None:
    """That the filter is why, and how far was looked, is part of it."""
    result = check(litmus(looked, f"filter (x = 5) {asked}"), engine)
    explored = " within the bounds of loops" * (looked != "complete")
    assert result.notes == [
        f"no execution{explored} satisfies the filter: what is asked of all outcomes is asked of none"
    ]
    assert not check(litmus(looked, f"filter (x = 1) {asked}"), engine).notes


@pytest.mark.parametrize("shape", ["text", "json", "junit"])
def test_reports_say_that_an_answer_is_about_no_outcome(
    shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.litmus"
    path.write_text(litmus("complete", "filter (x = 5) forall (x = 7)"))
    assert main(["check", str(path), "--format", shape]) == 0
    assert "no execution satisfies the filter" in capsys.readouterr().out


def test_a_model_that_forbids_everything_proves_nothing(tmp_path: Path) -> None:
    model = tmp_path / "nothing.cat"
    model.write_text('"nothing"\nacyclic po | po^-1 as never\n')
    result = ptxmm.check(ptxmm.parse(litmus("complete", "forall (x = 1)")), model=str(model))
    assert (result.verdict, result.hangs) == ("no", False)


# Checks of litmus tests, in their tails and on the command line.


def test_checks_stand_before_or_behind_the_condition_and_are_part_of_the_test() -> None:
    before = ptxmm.parse(litmus("complete", "terminates race_free forall (x = 1)"))
    behind = ptxmm.parse(litmus("complete", "forall (x = 1); race_free\nterminates"))
    plain = ptxmm.parse(litmus("complete", "forall (x = 1)"))
    assert before.checks == behind.checks == ("race_free", "terminates") and plain.checks == ()
    assert before == behind and digest(before) == digest(behind) != digest(plain)
    assert write(before).endswith("forall (x == 1)\nrace_free\nterminates\n")
    assert ptxmm.parse(write(before)) == before


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ("forall (x = 1) race_fre", "unexpected text after the final condition"),
        ("forall (x = 1) race_free race_free", "race_free is there twice"),
        ("forall (x = 1) race_free (x = 1)", "unexpected text after the final condition"),
        ("terminate forall (x = 1)", "expected a thread's block"),
        ("locations [x;] terminate forall (x = 1)", "unexpected 'terminate'"),
    ],
)
def test_mistakes_in_the_tail_are_told(tail: str, message: str) -> None:
    with pytest.raises(ptxmm.InputError, match=message):
        ptxmm.parse(litmus("complete", tail))


def test_checks_may_be_asked_of_any_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    test = ptxmm.parse(litmus("complete", "forall (x = 1) terminates"))
    result = ptxmm.check(test, checks=("race_free", "terminates"))
    assert [c.kind for c in result.checks] == ["forall", "race_free", "terminates"]
    made = kernel("complete", forall="px[0] == 1", terminates=False)
    assert [str(c.text) for c in made.check(checks=["terminates", "race_free"]).checks] == [
        "forall px[0] == 1", "terminates = false", "race_free",
    ]  # fmt: skip
    with pytest.raises(
        ValueError, match="a check must be one of race_free, no_deadlock, terminates, no_trap, not 'nothing'"
    ):
        ptxmm.check(test, checks=["nothing"])
    file = tmp_path / "t.litmus"
    file.write_text(litmus("absent", "exists true"))
    assert main(["check", str(file), "--check", "terminates", "--check", "no_deadlock"]) == 1
    page = capsys.readouterr().out
    assert "fails  terminates" in page and "fails  no_deadlock" in page
    assert "P0 does not terminate (spin loop) at line 3" in page


# What was found to be green though nothing was looked at.


@pytest.mark.skipif(not HONESTY.is_dir(), reason=f"the reproductions are not at {HONESTY}")
@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_nothing_that_was_not_looked_at_passes(name: str) -> None:
    found = ptxmm.check(ptxmm.load(HONESTY / name))
    assert found.verdict == ("no" if name == "c_never_small.litmus" else "undecided") and not found.passed


@pytest.mark.skipif(not HONESTY.is_dir(), reason=f"the reproductions are not at {HONESTY}")
@pytest.mark.parametrize(
    ("name", "unroll", "verdict"),
    [
        ("c_never.litmus", 11, "no"), ("c_forall.litmus", 11, "no"), ("c_exists.litmus", 11, "ok"),
        ("exists-behind-bound.litmus", 4, "undecided"), ("exists-behind-bound.litmus", 11, "ok"),
        ("hangs.litmus", 4, "no"), ("hangs.litmus", 1, "no"),
    ],
)  # fmt: skip
def test_the_bound_decides_how_much_is_known_and_never_what_is_true(name: str, unroll: int, verdict: str) -> None:
    found = ptxmm.check(ptxmm.load(HONESTY / name), unroll=unroll)
    assert found.verdict == verdict and found.hangs == (name == "hangs.litmus")
    assert not (name.startswith("exists") and found.passed)  # it says Expect=no


@pytest.mark.parametrize("engine", ENGINES)
def test_who_traps_has_stopped_the_launch(engine: str) -> None:
    """No outcome is left, as in a kernel test; all terminate, and no race is spoken of where none was looked for."""
    always = (
        "PTX t\n{ x = 0; }\nP0@cta 0,gpu 0 { st.relaxed.gpu.u32 [x], 1; trap; }\nexists (x = 1)\nrace_free no_trap\n"
    )
    result = check(always, engine)
    assert (result.verdict, result.states, result.hangs) == ("no", [], False)
    assert all("no execution ends; P0 traps at line 3" in c.message for c in result.checks if c.kind != "no_trap")
    assert not any("no read is out of date" in line for c in result.checks for line in c.linearisation)
    sometimes = always.replace("; trap;", "; ld.relaxed.gpu.u32 %r0, [x]; setp.eq.u32 %p0, %r0, 2; @%p0 trap;").replace(
        "exists", "P1@cta 1,gpu 0 { st.relaxed.gpu.u32 [x], 2; }\nforall"
    )
    result = check(sometimes.replace("race_free no_trap", ""), engine)
    assert result.verdict == "no" and result.states == [{"x": 1}, {"x": 2}]
    by_kind = {c.kind: c.holds for c in check(sometimes.replace("x = 1)", "x > 0)"), engine).checks}
    assert by_kind == {"forall": True, "race_free": True, "no_trap": False}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loop_that_does_nothing_at_all_has_a_place(engine: str) -> None:
    result = check("PTX t\n{ x = 0; }\nP0@cta 0,gpu 0 {\nL: bra L;\n}\nforall (x = 0)\n", engine)
    assert result.hangs and [spot.line for spot, _ in result.checks[0].spots] == [4]


def test_steps_of_one_thread_are_not_told_as_those_of_several() -> None:
    loop = "mov.u32 %c, 0;\nL: st.relaxed.gpu.u32 [x], 1; add.u32 %c, %c, 1; setp.lt.u32 %p0, %c, 4; @%p0 bra L; trap;"
    result = ptxmm.check(ptxmm.parse(f"PTX t\n{{ x = 0; }}\nP0@cta 0,gpu 0 {{ {loop} }}\nforall (x = 1)\n"))
    assert not any("others" in line for line in result.checks[0].linearisation)
    assert sum("st.relaxed" in line for line in result.checks[0].linearisation) == 4


@pytest.mark.parametrize("key", ["expect", "Expected", "EXPECT"])
def test_an_expectation_that_is_not_read_is_a_mistake(key: str) -> None:
    with pytest.raises(InputError, match="what a test expects is a line 'Expect='"):
        ptxmm.parse(f"PTX t\n{key}=no\n{{ x = 0; }}\nP0@cta 0,gpu 0 {{ ret; }}\nforall (x = 0)\n")

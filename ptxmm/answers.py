"""What a check answers: one table, for litmus tests and kernel tests, whatever engine has looked. docs/answers.md shows it.

A check is a *universal* claim ("no execution breaks this") or an *existential* one ("some execution does this"), and one
execution decides it: a counterexample, or a witness. Where there was one, nothing that was not looked at takes it back: it is
an execution of the whole program, in which no bound and no clock played a part. Where there was none, the answer is as good
as what was looked at (`Coverage`):

    COMPLETE      every execution: the claim holds, or nothing does it
    PARTLY_CUT    those that end within the bounds of loops, and others reach a bound. A universal claim holds as far as anybody
                  has seen: `bounded`. Of an existential one nothing is known: what it asks for may lie behind the bound, so it
                  is undecided. It is not "bounded": nothing was seen that is as claimed
    ALL_CUT       none that ends: each one that there is reaches a bound. Undecided, also for claims about what happens on the
                  way. "Holds in all that was explored" would be said of no execution at all, and whoever accepts bounded
                  answers does not mean to accept that; the bound is too small to say anything
    ABSENT        none ends, and no bound is the reason: each deadlocks, livelocks or ends the launch. A universal claim does
    not
                  hold: a launch that never ends keeps no promise, and "all of none" is not what anybody asks. Nor does an
                  existential one
    OUT_OF_TIME   nobody knows what: undecided
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from ptxmm.result import ASSERTIONS

if TYPE_CHECKING:
    from axioms.witness.result import Decision
    from ptxmm.result import Checked

#: For each kind of check: whether it is an existential claim, and the execution that decides it. A property that must not hold
#: (`race_free = false`) is an existential claim, too.
CHECKS = {
    "forall": (False, "an execution that ends otherwise"),
    "~exists": (False, "an execution that ends so"),
    "never": (False, "an execution that ends so"),
    "exists": (True, "an execution that ends so"),
    "race_free": (False, "an execution with a race, whether it ends or not"),
    "no_deadlock": (False, "an execution that deadlocks: a thread waits at a barrier without end"),
    "terminates": (False, "an execution that does not terminate"),
    "no_trap": (False, "an execution in which a thread traps, or fails an assertion"),
    ASSERTIONS: (False, "an execution in which a thread fails an assertion"),
}


class Coverage(Enum):
    """Which executions were looked at."""

    COMPLETE = "complete"
    PARTLY_CUT = "partly cut"
    ALL_CUT = "all cut"
    ABSENT = "absent"
    OUT_OF_TIME = "out of time"


class CheckAnswer(Enum):
    """What becomes of one check, with what `Checked.holds` and `Checked.bounded` are then."""

    HOLDS = (True, False)
    BOUNDED = (True, True)
    FAILS = (False, False)
    UNDECIDED = (None, False)


#: For each coverage, what a universal and an existential claim answer that no execution has decided.
UNSHOWN: dict[Coverage, tuple[CheckAnswer, CheckAnswer]] = {
    Coverage.COMPLETE: (CheckAnswer.HOLDS, CheckAnswer.FAILS),
    Coverage.PARTLY_CUT: (CheckAnswer.BOUNDED, CheckAnswer.UNDECIDED),
    Coverage.ALL_CUT: (CheckAnswer.UNDECIDED, CheckAnswer.UNDECIDED),
    Coverage.ABSENT: (CheckAnswer.FAILS, CheckAnswer.FAILS),
    Coverage.OUT_OF_TIME: (CheckAnswer.UNDECIDED, CheckAnswer.UNDECIDED),
}
#: What is said of a check that was not decided since the time ran out.
OUT_OF_TIME = "out of time"
#: What is said where it has too many events.
TOO_LARGE = "too large for one formula"
#: What is said of a test without a question: one that was cut short must not pass for one that holds.
NOTHING_ASKED = "nothing is asked: the test has no condition, and no other check"
#: Why a check is undecided.
REASONS = {
    Coverage.PARTLY_CUT: "no such execution within the bounds of loops, and there are others",
    Coverage.ALL_CUT: "no execution ends within the bounds of loops",
    Coverage.OUT_OF_TIME: OUT_OF_TIME,
}


def answer(coverage: Coverage, *, shown: bool, existential: bool) -> CheckAnswer:
    """What a claim answers; `shown`: an execution was found that decides it."""
    if shown:
        return CheckAnswer.HOLDS if existential else CheckAnswer.FAILS
    return UNSHOWN[coverage][existential]


def coverage_of(decision: Decision, *, proven: bool = False) -> Coverage:
    """Which executions a decision rests on; `proven`: nothing that a bound cut off can matter for what was asked beside it."""
    if decision.stopped is not None:
        return Coverage.OUT_OF_TIME
    if decision.ends:
        return Coverage.COMPLETE if decision.complete or proven else Coverage.PARTLY_CUT
    return Coverage.ABSENT if decision.complete else Coverage.ALL_CUT


def settle(
    checked: Checked, coverage: Coverage, *, shown: bool, existential: bool, stopped: Exception | None = None
) -> None:
    """Writes the answer into a check, with the reason where it is undecided; `stopped`: why the search ended early, if that was
    not for the time."""
    checked.holds, checked.bounded = answer(coverage, shown=shown, existential=existential).value
    if checked.holds is None:
        checked.message = told(stopped) if coverage is Coverage.OUT_OF_TIME else REASONS[coverage]


def told(stopped: Exception | None) -> str:
    """Why a search ended early: out of time, or beyond what it does."""
    return str(stopped or "") or OUT_OF_TIME


def own_verdict_of(checks: Sequence[Checked]) -> str:
    """The verdict of what a test itself asks; empty where nothing else was asked."""
    own = [c for c in checks if not c.besides]
    return verdict_of(own) if len(own) < len(checks) else ""


def verdict_of(checks: Iterable[Checked]) -> str:
    """The verdict of a test whose meaning is defined: that of its worst check."""
    answers = [(c.holds, c.bounded) for c in checks]
    for verdict, worst in (
        ("no", CheckAnswer.FAILS),
        ("undecided", CheckAnswer.UNDECIDED),
        ("bounded", CheckAnswer.BOUNDED),
    ):
        if worst.value in answers:
            return verdict
    return "ok"

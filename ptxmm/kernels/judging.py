"""Each kind of check of a kernel test: whether it holds, and what shows that it does not."""

from __future__ import annotations

from collections.abc import Callable

from axioms.witness.result import Decision
from ptxcore.values.terms import Value
from ptxmm.answers import Coverage, settle
from ptxmm.judging import judge, judge_races, judge_stalls, tell_linearisation
from ptxmm.kernels.broken import broken_elements
from ptxmm.kernels.question import SAFE, KernelQuestion
from ptxmm.kernels.test import Check
from ptxmm.result import ASSERTIONS, Checked
from ptxmm.words import checks as words
from ptxmm.words.linearisation import LinearisationWords

JudgeCheck = Callable[[KernelQuestion, Decision, Check, Checked], None]


def _judge_all(question: KernelQuestion, decision: Decision, check: Check, checked: Checked) -> None:
    """`forall`, `never`: no outcome that is not as wanted."""
    bad = next((i for i, state in enumerate(decision.states) if not question.holds(check, state)), None)
    shown = decision
    if bad is None and not decision.listed_all and decision.stopped is None:
        shown = question.decide(_truth(question, check), settles=False)
        bad = next((i for i, holds in enumerate(shown.satisfied) if not holds), None)
        if bad is None and shown.stopped:
            settle(checked, Coverage.OUT_OF_TIME, shown=False, existential=False, stopped=shown.stopped)
            return
    judge(question, decision, checked, shown=bad is not None, existential=False)
    if bad is not None:
        checked.state = shown.states[bad]
        wrong = broken_elements(question.test, check, checked.state)
        checked.message = words.broken(checked, wrong)
        linearisation = LinearisationWords(shown.witnesses[bad], question.cast)
        tell_linearisation(question, linearisation, checked, wrong)


def _judge_some(question: KernelQuestion, decision: Decision, check: Check, checked: Checked) -> None:
    """`exists`: some outcome is as wanted."""
    found = any(question.holds(check, state) for state in decision.states)
    if not found and not decision.listed_all and decision.stopped is None:
        other = question.decide(_truth(question, check))
        found = other.positive > 0
        if not found and other.stopped:
            settle(checked, Coverage.OUT_OF_TIME, shown=False, existential=True, stopped=other.stopped)
            return
    judge(question, decision, checked, shown=found, existential=True)
    if checked.holds is False and decision.states:
        checked.message = words.unsatisfied(checked)
        checked.linearisation = [words.state_of(state) for state in decision.states[:10]]


def asked_for_itself(question: KernelQuestion, decision: Decision, check: Check) -> Decision | None:
    """The outcomes as one check of outcomes asks for them, where those that all checks ask for together leave out whether its
    answer depends on what nothing determines: it is no part of that question, or that has its answer without it."""
    if check.expression is None or not question.program.undetermined or decision.stopped is not None:
        return None
    safe = any(c.kind in SAFE for c in question.test.checks)
    settled = not decision.negative if safe else decision.positive > 0
    if sum(c.expression is not None for c in question.test.checks) == 1 or (settled and (check.kind in SAFE) is safe):
        return None
    return question.decide(_truth(question, check), settles=check.kind not in SAFE)


def _truth(question: KernelQuestion, check: Check) -> Value:
    return question.truth(check, lambda name, index: question.elements[name, index])


def _judge_races(question: KernelQuestion, decision: Decision, check: Check, checked: Checked) -> None:
    judge_races(question, decision, checked, wanted=check.wanted)


def _judge_stalls(question: KernelQuestion, decision: Decision, check: Check, checked: Checked) -> None:
    judge_stalls(question, decision, checked, wanted=check.wanted)


JUDGES: dict[str, JudgeCheck] = {
    "forall": _judge_all,
    "never": _judge_all,
    "exists": _judge_some,
    "race_free": _judge_races,
    "no_deadlock": _judge_stalls,
    "terminates": _judge_stalls,
    "no_trap": _judge_stalls,
    ASSERTIONS: _judge_stalls,
}

"""Litmus tests decided: one program, its condition, and what else is asked of it.

test -> program (see `pipeline`) -> outcomes -> the condition, then each further check -> verdict
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from axioms.engine import decide
from axioms.models.options import LENIENT, of_programs
from axioms.witness.result import Decision
from litmus.formats.printer import write_proposition
from litmus.test import PROPERTIES
from ptxcore.clock import OutOfTime, deadline_of_all
from ptxcore.diagnostics import InputError
from ptxmm.answers import NOTHING_ASKED, OUT_OF_TIME, Coverage, coverage_of, own_verdict_of, settle, told, verdict_of
from ptxmm.pipeline import build
from ptxmm.result import KINDS, Checked, HowDecided, Loop, Result, Spot, Witness, observation_of, out_of_time

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from axioms.cat.model import Model
    from axioms.program import Program
    from axioms.witness.execution import ExecutedEvent, Execution
    from axioms.witness.result import Undefined
    from axioms.witness.stalls import Bounded, Stall
    from litmus.test import Condition, Test
    from ptxmm.judging import Stalled
    from ptxmm.words.linearisation import Cast

# What only some tests ask for is imported where it is asked for: most are decided in less time than that takes.


class LitmusQuestion:
    """A test that is being decided, and who is who there: what `ptxmm.judging` asks of."""

    def __init__(self, test: Test, program: Program, model: Model, how: HowDecided, deadline: float | None) -> None:
        self.test, self.program, self.model, self.how, self.deadline = test, program, model, how, deadline
        self.title = f"{test.name}  ({model.name})"
        self.misuse: Undefined | None = None
        self.stalled: Stalled | None = None

    @cached_property
    def cast(self) -> Cast:
        from ptxmm.words.linearisation import Cast

        return Cast(lambda thread: self.test.threads[thread].name, self._spot)

    def stall(self, kinds: tuple[str, ...]) -> Stall | Bounded | None:
        from ptxmm.judging import stall

        how = self.how
        return stall(
            self.program, self.model, kinds, how.progress, how.resident, how.engine, how.backend, self.deadline
        )

    def renamed(self, execution: Execution) -> Execution:
        return execution

    def source_of(self, thread: int, line: int) -> Spot | None:
        return None

    def pointed(self, thread: int, line: int, what: str) -> tuple[Spot, str]:
        return Spot(self.test.path, line), what

    def _spot(self, event: ExecutedEvent) -> Spot | None:
        return Spot(self.test.path, event.line or 0)


def check(test: Test, model: Model, how: HowDecided) -> Result:
    """Decides a litmus test. Raises InputError, and UnsupportedProgram for what is not decided."""
    if lenient := model.readings & {*LENIENT}:
        from axioms.errors import UnsupportedProgram
        from ptxmm.words.readings import of_runs_alone

        raise UnsupportedProgram(of_runs_alone(min(lenient)))
    condition = test.condition
    proposition = write_proposition(condition.proposition)
    lines = dict(test.lines)
    spot = Spot(test.path, condition.line)
    result = Result(
        path=test.identity,
        name=test.name,
        model=how.model_name,
        verdict="undecided",
        kind=KINDS[condition.quantifier],
        condition=proposition,
        expectation=test.expectation,
        spot=spot,
        checks=[_unanswered(c, test.path) for c in test.conditions],
    )
    for kind in (p for p in PROPERTIES if p in test.checks or p in how.checks):
        place = Spot(test.path, lines.get(kind, 0)) if kind in test.checks else spot
        result.checks.append(Checked(kind=kind, text=kind, spot=place, place=kind, besides=kind not in test.checks))
    start = time.perf_counter()
    deadline = deadline_of_all(how.timeout)
    try:
        program = build(test, how.unroll, how.all_registers, of_programs(how.options))
        decision = decide(
            program, model, engine=how.engine, backend=how.backend, deadline=deadline, explain=how.explain,
            witnesses=how.witnesses or how.why, races=any(c.kind == "race_free" for c in result.checks), why=how.why,
            partial=True, truths=frozenset((condition.quantifier != "forall",)),
        )  # fmt: skip
        question = LitmusQuestion(test, program, model, how, deadline)
        _take(question, decision, result)
        if how.why and decision.stopped is None:
            _tell_why(question, decision, result)
        _answer(question, decision, result, partial(_further, question))
    except (OutOfTime, TimeoutError) as error:  # before anything was looked at
        result.error, result.stopped = told(error), True
    except InputError as error:
        if error.path == "<input>":
            error.path, error.text = test.path, test.text
        raise
    finally:
        result.seconds = time.perf_counter() - start
    if result.error == OUT_OF_TIME:
        result.error = out_of_time(how.timeout)
    return result


def _unanswered(condition: Condition, path: str) -> Checked:
    """A condition as a check without an answer."""
    text = f"{condition.quantifier} {write_proposition(condition.proposition)}"
    return Checked(kind=condition.quantifier, text=text, spot=Spot(path, condition.line), place=text)


def _further(question: LitmusQuestion, number: int) -> tuple[LitmusQuestion, Decision]:
    """The test with another of its conditions in place of the first, decided; states list what all of them name. Raises as
    `check` does, OutOfTime too."""
    test, how = question.test, question.how
    asked, others = test.conditions[number], tuple(c for i, c in enumerate(test.conditions) if i != number)
    alone = replace(test, condition=asked, more=others)
    program = build(alone, how.unroll, False, of_programs(how.options))
    decision = decide(
        program, question.model, engine=how.engine, backend=how.backend, deadline=question.deadline, witnesses=False,
        partial=True, truths=frozenset((asked.quantifier != "forall",)),
    )  # fmt: skip
    return LitmusQuestion(alone, program, question.model, how, question.deadline), decision


def _take(question: LitmusQuestion, decision: Decision, result: Result) -> None:
    """What is true of all checks together."""
    result.states = decision.states
    result.positive, result.negative = decision.positive, decision.negative
    result.complete, result.listed_all = decision.complete, decision.listed_all
    result.stopped = decision.stopped is not None
    result.loops = [] if decision.complete else _loops_cut(question.program, question.test.path)
    result.satisfied = decision.satisfied
    if decision.races:
        from ptxmm.races import entry

        result.races = [entry(race, question.cast) for race in decision.races]
        result.race_witnesses = [
            Witness(replace(r.execution, title=f"{question.title}  {r.kind} race")) for r in decision.races
        ]
    result.forbidding, result.forbidding_each = decision.forbidding, decision.forbidding_each
    written = decision.witnesses
    result.witnesses = [Witness(partial(_titled, written, i, question.title)) for i in range(len(written))]


def _titled(executions: Sequence[Execution], number: int, title: str) -> Execution:
    return replace(executions[number], title=title)


def _answer(
    question: LitmusQuestion,
    decision: Decision,
    result: Result,
    further: Callable[[int], tuple[LitmusQuestion, Decision]],
) -> None:
    if decision.undefined:
        result.observation = observation_of(result.positive, result.negative)
        _tell_undefined(question, result, decision.undefined)
        return
    if question.test.filter is not None and decision.ends and not decision.states and decision.stopped is None:
        from ptxmm.words.notes import nothing_passes

        result.notes.append(nothing_passes(complete=decision.complete))
    conditions = len(question.test.conditions)
    _judge_condition(question, decision, result.checks[0], alone=len(result.checks) == 1)
    for number in range(1, conditions):
        try:
            other, found = further(number)
        except (OutOfTime, TimeoutError) as error:  # what is known of the others stays known
            result.checks[number].message = told(error)
            continue
        if found.undefined:
            _tell_undefined(other, result, found.undefined)
            return
        _judge_condition(other, found, result.checks[number], alone=False)
    for checked in result.checks[conditions:]:
        from ptxmm import judging

        if checked.kind == "race_free":
            judging.judge_races(question, decision, checked)
        else:
            judging.judge_stalls(question, decision, checked)
    result.verdict = verdict_of(result.checks)
    if result.verdict != "no" and question.misuse is not None:
        _tell_undefined(question, result, question.misuse)
        return
    result.own = own_verdict_of(result.checks)
    if result.checks[0].holds is not None:
        result.observation = observation_of(result.positive, result.negative)
    if result.verdict == "undecided":
        result.error = next(c.message for c in result.checks if c.holds is None)


def _tell_undefined(question: LitmusQuestion, result: Result, undefined: Undefined) -> None:
    from axioms.witness.undefined import located
    from ptxmm.undefined import sentence

    result.undefined = located(question.program, undefined)
    result.verdict, result.error = "undefined", sentence(result.undefined)


def _judge_condition(question: LitmusQuestion, decision: Decision, checked: Checked, *, alone: bool) -> None:
    """`alone`: nothing else is asked."""
    if alone and not question.test.condition.asked:
        checked.message = NOTHING_ASKED
        return
    checked.counts = decision.positive, decision.negative
    coverage, existential = coverage_of(decision), checked.kind == "exists"
    shown = (decision.negative if checked.kind == "forall" else decision.positive) > 0
    settle(checked, coverage, shown=shown, existential=existential, stopped=decision.stopped)
    if coverage is Coverage.ABSENT:
        from ptxmm.judging import tell_absence

        tell_absence(question, checked)
    elif checked.holds is False:
        from ptxmm.words.checks import counted

        checked.message = counted(checked, decision.positive, decision.negative, all_listed=decision.listed_all)


def _tell_why(question: LitmusQuestion, decision: Decision, result: Result) -> None:
    """The reasons in words: why an outcome is not there, or how it comes about."""
    from ptxmm.words.why import Telling, document, unexplained

    if decision.why is not None:
        telling = Telling(decision.why, question.cast, complete=decision.complete)
        result.why, result.why_edges = telling.document(), telling.edges()
        result.why_witness = Witness(
            replace(decision.why.execution, title=f"{question.title}  forbidden by {decision.why.axiom}")
        )
        return
    if not decision.ends:
        return  # what the check says of who waits is all that there is to say
    asked = question.test.condition.quantifier != "forall"
    shown = next((w for w, holds in zip(decision.witnesses, decision.satisfied, strict=False) if holds == asked), None)
    if shown is not None:
        from ptxmm.words.linearisation import LinearisationWords

        linearisation = LinearisationWords(shown, question.cast)
        reasons = linearisation.explanations()
        result.why_steps = linearisation.steps_for(reasons).steps
        text = linearisation.told_with(reasons)
    elif decision.unreachable is not None:
        text = unexplained(decision.unreachable, question.cast, complete=decision.complete)
    else:
        text = ["not explained"]
    result.why = document(text)


def _loops_cut(program: Program, path: str) -> list[Loop]:
    """The loops that bounds may have cut, each with its threads."""
    threads: dict[tuple[str, int, int], dict[str, None]] = {}
    for thread in program.threads:
        for cut in thread.execution.cuts:
            line = cut.instruction.span.line if cut.instruction else 0
            threads.setdefault((cut.label, line, cut.iterations), {})[thread.name] = None
    return [
        Loop("bounded", Spot(path, line), None, label, iterations, tuple(names))
        for (label, line, iterations), names in threads.items()
    ]

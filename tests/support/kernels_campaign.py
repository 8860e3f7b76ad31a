"""Compares what is said of thousands of generated kernels: solver and brute force, and both with runs of them.

    python tests/support/kernels_campaign.py --first 0 --kernels 3000 --log kernels.jsonl

Outcomes, races, being undefined or not, who does not terminate, who traps, what the checks say; and no run shows what
exploration forbids. What brute force is not up to is passed over, and counted by its reason. The log has a line for each
kernel: started again with the same log, the run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from agreement import STEPS
from generated_kernels import kernel
from schedules import Runs, ends_with

from axioms.cat.model import Model
from axioms.dependence import with_any_numbers, with_way
from axioms.engine import decide
from axioms.errors import UnsupportedProgram
from axioms.liveness import search as liveness
from axioms.oracle import liveness as liveness_oracle
from axioms.program import Program
from axioms.witness.result import Decision
from ptxcore.clock import OutOfTime
from ptxcore.diagnostics import InputError
from ptxmm.api import model_named
from ptxmm.kernel import Kernel
from ptxmm.kernels.question import KernelQuestion

#: Steps that brute force gets for each question.
BRUTE_FORCE = 4 * STEPS
QUESTIONS = {
    "no_deadlock": ("barrier", "mbarrier"),
    "terminates": ("barrier", "mbarrier", "loop"),
    "no_trap": ("trap",),
}
#: Errors of runs that are no answer: an unfair schedule, and a read of what nothing wrote.
_NO_ANSWER = ("limit", "uninitialised")


@dataclass(slots=True)
class Compared:
    """What came of a kernel: `passed_over` says why it was not compared, `kind` what is true of it."""

    seed: int
    passed_over: str = ""
    kind: str = ""
    differences: list[str] = field(default_factory=list)


def compare(seed: int, runs: int = 50, steps: int = BRUTE_FORCE) -> Compared:
    """All comparisons for one kernel."""
    try:
        made = kernel(seed)
        return compared(seed, made, runs, steps)
    except OutOfTime:
        return Compared(seed, "brute force takes too many steps")
    except (UnsupportedProgram, InputError) as reason:
        return Compared(seed, f"refused: {str(reason).splitlines()[0].partition('error: ')[2] or reason}"[:150])


def compared(seed: int, made: Kernel, runs: int, steps: int = BRUTE_FORCE) -> Compared:
    found = Compared(seed)
    model = model_named("ptx-9.0")
    question = KernelQuestion(made.test, model, races=True)
    program = question.built.program
    expected = decide(program, model, engine="enumerate", races=True, steps=steps)
    decision = decide(program, model, races=True)
    if (expected.undefined is None) != (decision.undefined is None):
        found.differences.append(f"undefined: brute force {expected.undefined}, solver {decision.undefined}")
    if expected.undefined or decision.undefined:
        found.kind = "undefined"
        return found
    bounded = decision.complete and not expected.complete  # brute force counts the turns of a lock that is tried again
    for what, right, answer in zip(_WHAT, _answers(expected), _answers(decision), strict=True):
        if right != answer and not bounded:
            found.differences.append(f"{what}: brute force {right}, solver {answer}")
    stalls = {}
    for name, kinds in QUESTIONS.items():
        by_force = liveness_oracle.find(program, model, kinds=kinds, steps=steps)
        answer = liveness.find(program, model, kinds=kinds)
        stall = stalls[name] = answer if isinstance(answer, liveness.Stall) else None
        if stall is not None and (stall.undefined or bounded):
            continue  # brute force does not go on behind what is misused, nor behind a bound
        if (by_force is None) != (stall is None):
            found.differences.append(f"{name}: brute force {_waits(by_force)}, solver {_waits(stall)}")
    if decision.complete and not decision.states and not any(stalls.values()):
        found.differences.append("there is no outcome, and all terminate, and nobody traps")
    found.kind = _kind(decision, stalls)
    if decision.complete:
        if not any(stall is not None and stall.undefined for stall in stalls.values()):
            found.differences += _checks(made, program, model, decision)
        found.differences += _runs(made, program, model, decision, runs)
    if any(stall is not None and stall.undefined for stall in stalls.values()):
        found.kind += ", undefined without an end"
    return found


_WHAT = ("outcomes", "complete", "races", "reads of what nothing wrote")


def _answers(decision: Decision) -> tuple[object, ...]:
    races = {(race.kind, *sorted(race.events)) for race in decision.races}
    return decision.states, decision.complete, races, bool(decision.unset)


def _waits(stall: liveness.Stall | None) -> str:
    if stall is None:
        return "none"
    lines = [(w.kind, w.thread, w.instruction.span.line if w.instruction else 0) for w in stall.waits]
    return f"waits {lines}"


def _kind(decision: Decision, stalls: dict[str, liveness.Stall | None]) -> str:
    words = [f"{min(len(decision.states), 2)} outcomes" + ("+" if len(decision.states) > 1 else "")]
    words += ["races"] if decision.races else []
    words += [f"not {name}" for name, stall in stalls.items() if stall is not None]
    return ", ".join(words + ([] if decision.complete else ["bounded"]))


#: Some numbers for values that nothing determines.
_NUMBERS = ("all:0", "all:1", "all:2", "all:4294967295")


def _checks(made: Kernel, program: Program, model: Model, decision: Decision) -> list[str]:
    """Where the checks of a whole test say something else than the outcomes do, whatever is left open."""
    result = made.check()
    if result.notes or result.verdict == "undefined":
        return []  # shared memory that nothing wrote: other contents were tried as well
    right = [_right(made, program, model, decision)]
    if program.undetermined:
        others = (with_way(program, numbers) for numbers in _NUMBERS)
        right += [_right(made, other, model, decide(other, model, races=True)) for other in others]
    differences = []
    for checked, check, *wanted in zip(result.checks, made.test.checks, *right, strict=True):
        if checked.holds is None and program.undetermined:
            continue  # there may be numbers that change it, of which we do not know
        if checked.holds is None and result.runs and result.verdict == "no":
            continue  # a run shows that another one does not hold, and says nothing of this one
        if {checked.holds} != set(wanted):
            differences.append(f"{check}: {checked.holds}, and it is {' or '.join(map(str, sorted(set(wanted))))}")
    return differences


def _right(made: Kernel, program: Program, model: Model, decision: Decision) -> list[bool]:
    """What the checks say by the outcomes of a program, and by who does not terminate there."""
    found = []
    for check in made.test.checks:
        if check.expression is not None:
            truths = [_holds(check.expression.text, state) for state in decision.states]
            kept = {"forall": all(truths), "never": not any(truths), "exists": any(truths)}[check.kind]
        elif check.kind == "race_free":
            kept = not decision.races
        else:
            kept = not isinstance(liveness.find(program, model, kinds=QUESTIONS[check.kind]), liveness.Stall)
        found.append(kept and bool(decision.states))  # a launch that never ends keeps no promise
    return found


def _holds(expression: str, state: dict[str, int]) -> bool:
    """What an expression of the generator means, by Python's rules."""
    words = {"&&": "and", "||": "or"}
    terms = [words.get(word) or str(state.get(word, word)) for word in expression.split()]
    return bool(eval(" ".join(terms)))


def _runs(made: Kernel, program: Program, model: Model, decision: Decision, runs: int) -> list[str]:
    """What runs show that exploration forbids."""
    properties = {}
    for name, kinds in QUESTIONS.items():
        find = partial(liveness.find, model=model, kinds=kinds)
        properties[name] = not isinstance(with_any_numbers(program, find, by_solver=True), liveness.Stall)
    known = list(decision.states)
    for seed, found in Runs(made.test).results(runs):
        if isinstance(found, dict):
            if found not in known and decision.listed_all:
                if not (program.undetermined and ends_with(program, model, found)):
                    return [f"run {seed} ends with {found}"]
                known.append(found)
        elif found == "deadlock":
            if properties["terminates"]:
                return [f"run {seed} comes to a deadlock"]
        elif found == "trap":
            if properties["no_trap"]:
                return [f"run {seed} traps"]
        elif found not in _NO_ANSWER and properties["terminates"] and properties["no_trap"]:
            return [f"run {seed} ends with the error {found}"]
    return []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=3000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--log", type=Path, default=Path("kernels.jsonl"))
    given = parser.parse_args()
    done = {json.loads(line)[0] for line in given.log.read_text().splitlines()} if given.log.exists() else set()
    kinds, passed_over = Counter[str](), Counter[str]()
    with given.log.open("a") as out:
        for seed in range(given.first, given.first + given.kernels):
            if seed in done:
                continue
            try:
                result = compare(seed, given.runs)
            except Exception as error:  # a defect, to be told like every other difference
                result = Compared(seed, differences=[f"{type(error).__name__}: {error}"])
            out.write(json.dumps([result.seed, result.passed_over, result.kind, result.differences]) + "\n")
            out.flush()
            kinds[result.kind] += not result.passed_over
            passed_over[result.passed_over] += bool(result.passed_over)
            for difference in result.differences:
                print(f"{seed}: {difference}", flush=True)
    print(f"{sum(kinds.values())} kernels compared: {dict(kinds.most_common())}")
    print("\n".join(f"passed over: {count} ({reason})" for reason, count in passed_over.most_common() if count))


if __name__ == "__main__":
    main()

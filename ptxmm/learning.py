"""Whether an exercise of the tutorial is solved: the program is still the one that was asked about, what it claims holds, and
nothing in it is stronger than that needs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ptxcore.records import dataclass

if TYPE_CHECKING:
    from litmus.test import Proposition
    from ptxcore.syntax.tree import AnyStatement
    from ptxmm.exercises import Exercise
    from ptxmm.result import Result

#: What says how strong an instruction is, not what it does.
_STRENGTH = frozenset(("weak", "relaxed", "acquire", "release", "acq_rel", "sc", "cta", "cluster", "gpu", "sys"))
#: Seconds for the search of what can be weaker.
PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class JudgedSolution:
    """What is said of a solution: whether it is one (None: nobody knows), and why, in lines."""

    solved: bool | None
    lines: tuple[str, ...]


def judged(exercise: Exercise, path: str, patience: float = PATIENCE) -> JudgedSolution:
    """Looks at the file of somebody who solves an exercise. Raises InputError for what is no test, OSError where there is
    no such file."""
    from ptxmm.api import load, load_variant
    from ptxmm.kernels.files import Variant, is_code

    if is_code(path):
        test = load_variant(Variant(path, ""))
        other = _changed_module(exercise, path)
    else:
        test = load(path)
        other = _changed(exercise, test)
    if other:
        return JudgedSolution(False, other)
    if exercise.outcomes:
        return _outcomes(exercise, test)
    return _answer(path, test, patience)


def _answer(path: str, test: object, patience: float) -> JudgedSolution:
    from ptxmm.api import check

    result = check(test)  # type: ignore[arg-type]
    if result.verdict != "ok":
        return JudgedSolution(False, tuple(_failed(result)))
    return _weakest(path, patience)


def _failed(result: Result) -> Iterable[str]:
    reason = f": {result.error}" if result.error else ""
    yield f"{result.verdict}{reason}"
    words = {True: "holds", False: "fails", None: "open"}
    for check in result.checks:
        yield f"{words[check.holds]}  {check.text}"


def _weakest(path: str, patience: float) -> JudgedSolution:
    from ptxmm.kernels.files import Variant, is_code
    from ptxmm.repair.building import WEAKEN
    from ptxmm.repair.finding import answered
    from ptxmm.repair.subject_of import subject_of
    from ptxmm.repair.subjects import How

    how = How(deadline=time.perf_counter() + patience)
    answer = answered(subject_of(Variant(path, "") if is_code(path) else path, how), WEAKEN, every=True, most=None)
    if answer.found:
        places = {(change.line, change.who): change.who for found in answer.found for change in found.changes}
        told = [f"line {line} ({who}) can be weaker, or gone" for line, who in sorted(places)]
        return JudgedSolution(False, ("ok, and stronger than it needs to be", *told))
    if not answer.complete:
        return JudgedSolution(
            None, (f"ok; whether something can be weaker is not known: {answer.stopped or 'undecided'}",)
        )
    return JudgedSolution(True, ("ok, and nothing in it can be weaker",))


# What must not change.


def _changed(exercise: Exercise, test: object) -> tuple[str, ...]:
    """What is another one than in the exercise, apart from what is to be changed."""
    from litmus.formats import read
    from litmus.test import Test

    if not isinstance(test, Test):
        return ("this is no litmus test, and the exercise is one",)
    shipped = read(exercise.text, exercise.path)
    found = []
    if {x.name: x for x in test.locations} != {x.name: x for x in shipped.locations} or test.kernels != shipped.kernels:
        found.append("the locations are others than in the exercise")
    if not exercise.outcomes and (test.conditions, test.filter) != (shipped.conditions, shipped.filter):
        found.append("the condition is another one than in the exercise")
    if set(test.checks) != set(shipped.checks) or test.expectation != shipped.expectation:
        found.append("what is asked beside the condition is something else than in the exercise")
    if [(t.name, t.place, t.registers) for t in test.threads] != [
        (t.name, t.place, t.registers) for t in shipped.threads
    ]:
        return (*found, "the threads, or where they run, are others than in the exercise")
    for mine, theirs in zip(test.threads, shipped.threads, strict=True):
        found += _other_code(exercise, mine.name, mine.statements, theirs.statements)
    return tuple(found)


def _other_code(
    exercise: Exercise, who: str, mine: Sequence[AnyStatement], theirs: Sequence[AnyStatement]
) -> list[str]:
    if exercise.outcomes:
        same = tuple(mine) == tuple(theirs)
        allowed = "nothing but the list of outcomes"
    else:
        kept = [list(_kept(exercise, statements)) for statements in (mine, theirs)]
        if exercise.reordered:
            kept = [sorted(of_one, key=repr) for of_one in kept]
        same = kept[0] == kept[1]
        shown = [f"`{opcode}`" for opcode in exercise.adds]
        allowed = "the order of instructions" if exercise.reordered else "orders and scopes"
        allowed += f", and what comes and goes of {', '.join(shown)}," if shown else ""
    return [] if same else [f"{who} does something else than in the exercise: {allowed} may change"]


def _kept(exercise: Exercise, statements: Iterable[AnyStatement]) -> Iterable[object]:
    """What of the statements stays as it is, whatever somebody changes who may."""
    from ptxcore.syntax.tree import Instruction, Label

    for statement in statements:
        if isinstance(statement, Label) and exercise.adds:
            continue
        if not isinstance(statement, Instruction) or exercise.reordered:
            yield statement
        elif statement.opcode not in exercise.adds:
            modifiers = tuple(m for m in statement.modifiers if m not in _STRENGTH)
            yield (statement.guard, statement.opcode, modifiers, statement.operands)


def _changed_module(exercise: Exercise, path: str) -> tuple[str, ...]:
    from ptxcore.syntax.reader import read_module

    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    if _asked(text) != _asked(exercise.text):
        return ("the line with `ptxmm:` is another one than in the exercise",)
    mine, shipped = (read_module(of)[0].statements for of in (text, exercise.text))
    return tuple(_other_code(exercise, "the module", mine, shipped))


def _asked(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if "ptxmm:" in line]


# Lists of outcomes.


def _outcomes(exercise: Exercise, test: object) -> JudgedSolution:
    """Whether the condition of a test says just which outcomes there are of what the exercise asks about."""
    from litmus.formats import read
    from litmus.test import Or, Test
    from ptxmm.api import check

    assert isinstance(test, Test)
    proposition = test.condition.proposition
    parts = proposition.operands if isinstance(proposition, Or) else (proposition,)
    listed = [_outcome(part) for part in parts]
    real = {tuple(sorted(state.items())) for state in check(read(exercise.text, exercise.path)).states}
    names = [name for name, _ in min(real)]
    if test.condition.quantifier != "forall" or any(o is None or [n for n, _ in o] != names for o in listed):
        return JudgedSolution(False, (f"write forall (A \\/ B ...), each part a value of each of {', '.join(names)}",))
    missing, others = real - set(listed), set(listed) - real
    if missing or others:
        told = [f"{_counted(len(missing))} that can happen {'is' if len(missing) == 1 else 'are'} missing"] * bool(
            missing
        )
        return JudgedSolution(False, (*told, *[f"{_counted(len(others))} of the list cannot happen"] * bool(others)))
    return JudgedSolution(True, (f"ok, these are the {len(real)} outcomes",))


def _counted(number: int) -> str:
    return f"{number} outcome{'s' * (number != 1)}"


def _outcome(part: Proposition) -> tuple[tuple[str, int], ...] | None:
    """The values that a conjunction says, by names; None for what is none."""
    from litmus.test import And, Compare, Constant

    found: dict[str, int] = {}
    for one in part.operands if isinstance(part, And) else (part,):
        if not isinstance(one, Compare) or one.op != "==" or not isinstance(one.right, Constant):
            return None
        if isinstance(one.left, Constant) or str(one.left) in found:
            return None
        found[str(one.left)] = one.right.value
    return tuple(sorted(found.items()))

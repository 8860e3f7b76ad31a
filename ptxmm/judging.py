"""What litmus tests and kernel tests are judged by alike: races, threads that do not terminate, launches none of whose
executions end; and what shows it, in words. What each answers is in `ptxmm.answers`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from axioms.dependence import with_any_numbers
from axioms.errors import UnsettledLoop, UnsupportedProgram
from axioms.events.event_kinds import WRITE
from axioms.liveness.progress import FAIR, progress_named
from axioms.liveness.search import find
from axioms.witness.result import Decision
from axioms.witness.stalls import ABORTS, WAITS, Bounded, Stall, Wait
from ptxcore.clock import OutOfTime
from ptxcore.records import NamedTuple
from ptxmm.answers import Coverage, coverage_of, settle
from ptxmm.graphs.waiting import Stays
from ptxmm.result import ASSERTIONS, Checked, Spot, Witness
from ptxmm.undefined import sentence, shape
from ptxmm.words import checks as words
from ptxmm.words.linearisation import LinearisationWords
from ptxmm.words.waits import WaitWords, does, instruction_of, line_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from axioms.cat.model import Model
    from axioms.program import Program
    from axioms.witness.execution import ExecutedEvent, Execution
    from axioms.witness.result import Undefined
    from ptxmm.words.linearisation import Cast

#: In which ways a thread must not stay behind, check by check.
STALLS = {
    "no_deadlock": ("barrier", "mbarrier"),
    "terminates": WAITS,
    "no_trap": ABORTS,
    ASSERTIONS: ("assertion",),
}


class Stalled(NamedTuple):
    """A check that tells who does not terminate, and the sentence that says it."""

    checked: Checked
    said: str


class Question(Protocol):
    """A test that is being decided, and who is who there."""

    @property
    def cast(self) -> Cast:
        """Who is who."""
        ...

    @property
    def program(self) -> Program: ...

    #: The name of the test and of the model, as pictures show them.
    title: str
    #: Why an execution is undefined that has no end: found where no other is like it.
    misuse: Undefined | None
    #: The check that tells first who does not terminate.
    stalled: Stalled | None

    def stall(self, kinds: tuple[str, ...]) -> Stall | Bounded | None:
        """An execution in which threads do not terminate in one of these ways, trap, or fail an assertion; None where it is
        proven that there is none. Raises OutOfTime."""
        ...

    def renamed(self, execution: Execution) -> Execution:
        """An execution whose threads have the names that people know them by."""
        ...

    def source_of(self, thread: int, line: int) -> Spot | None:
        """Where a line of the PTX comes from."""
        ...

    def pointed(self, thread: int, line: int, what: str) -> tuple[Spot, str]:
        """Where to look for a line of a thread, and what happens there."""
        ...


def stall(
    program: Program,
    model: Model,
    kinds: tuple[str, ...],
    progress: str | None,
    resident: int | None,
    engine: str,
    backend: str | None,
    deadline: float | None,
) -> Stall | Bounded | None:
    """An execution in which threads do not terminate in one of these ways, or end the launch; see
    `axioms.liveness.search.find`. Brute force schedules every thread fairly."""
    chosen = FAIR if progress is None else progress_named(progress)
    if engine == "enumerate":
        from axioms.oracle import liveness as by_brute_force

        if not (chosen.is_fair and resident is None) and set(ABORTS).isdisjoint(kinds):
            raise UnsupportedProgram("brute force schedules every thread fairly: progress and resident need the solver")
        by_force = partial(by_brute_force.find, model=model, kinds=kinds, deadline=deadline)
        found = with_any_numbers(program, by_force, by_solver=False)
        return Bounded() if found is None else found  # what bounds cut off, outcomes tell
    solved = partial(
        find, model=model, kinds=kinds, progress=chosen, resident=resident, backend=backend, deadline=deadline
    )
    return with_any_numbers(program, solved, by_solver=True)


def judge(
    question: Question, decision: Decision, checked: Checked, *, shown: bool, existential: bool, proven: bool = False
) -> None:
    """What a check answers; with who waits where, if it fails since no execution ends. `shown`: an execution decides it, which
    the caller has told of. `proven`: what bounds cut off cannot matter for it."""
    coverage = coverage_of(decision, proven=proven)
    settle(checked, coverage, shown=shown, existential=existential, stopped=decision.stopped)
    if coverage is Coverage.ABSENT and not shown:
        tell_absence(question, checked)


def judge_races(question: Question, decision: Decision, checked: Checked, *, wanted: bool = True) -> None:
    """`race_free`: no two accesses race; with `wanted` False, some do."""
    count = len(decision.races)
    judge(question, decision, checked, shown=bool(count), existential=not wanted)
    if checked.holds is False and count:
        checked.message = words.raced(count)
    elif checked.holds is False and decision.ends:
        checked.message = words.raceless(checked)


def judge_stalls(question: Question, decision: Decision, checked: Checked, *, wanted: bool = True) -> None:
    """`no_deadlock`, `terminates`, `no_trap`, assertions: no execution in which a thread does not terminate, traps, or fails;
    with `wanted` False, there is one."""
    try:
        stall = question.stall(STALLS[checked.kind])
    except (OutOfTime, TimeoutError, UnsettledLoop) as error:
        settle(checked, Coverage.OUT_OF_TIME, shown=False, existential=not wanted, stopped=error)
        return
    if not isinstance(stall, Stall):
        judge(question, decision, checked, shown=False, existential=not wanted, proven=stall is None)
        if checked.holds is False and not wanted:
            checked.message = words.goes_on(checked)
        return
    if stall.undefined:
        question.misuse = replace(stall.undefined, nonterminating=coverage_of(decision) is Coverage.ABSENT)
        said = tell_waits(question, stall, checked)
        checked.message = words.without_meaning(said, sentence(stall.undefined))
        return
    settle(checked, coverage_of(decision), shown=True, existential=not wanted)
    if checked.holds is False:
        tell_waits(question, stall, checked)
        checked.hangs = coverage_of(decision) is Coverage.ABSENT and _waits_only(stall)
        if checked.hangs:
            if question.stalled is not None:
                question.stalled.checked.witness = None  # one picture of it is enough
            question.stalled = Stalled(checked, checked.message)


def tell_absence(question: Question, checked: Checked) -> None:
    """Where no execution ends, threads do not terminate in all of them, or trap. (Or there is none at all: a model may forbid
    everything.)"""
    checked.message = words.no_execution_ends(checked)
    if question.stalled is not None:
        first, said = question.stalled
        checked.spots, checked.hangs, checked.causes = first.spots, first.hangs, first.causes
        checked.linearisation, checked.steps, checked.left = first.linearisation, first.steps, first.left
        checked.message = words.no_execution_ends(checked, said)
        return
    try:
        found = (question.stall(kinds) for kinds in (WAITS, ABORTS))
        stall = next((stall for stall in found if isinstance(stall, Stall)), None)
    except (OutOfTime, TimeoutError, UnsettledLoop):
        stall = None
    if stall is not None:
        said = tell_waits(question, stall, checked)
        checked.hangs = _waits_only(stall)
        checked.message = words.no_execution_ends(checked, said)
        checked.place = checked.text
        question.stalled = Stalled(checked, said)


def _waits_only(stall: Stall) -> bool:
    """Whether nobody ends the launch."""
    return not {w.kind for w in stall.waits} & set(ABORTS)


def tell_waits(question: Question, stall: Stall, checked: Checked) -> str:
    """Who waits where, and the execution; gives the sentence that says it."""
    wait_words = WaitWords(stall, question.cast, question.source_of)
    places = wait_words.places()
    checked.spots += [
        question.pointed(told.wait.thread, line_of(told.wait) or 0, told.here)
        for told in places
        if told.wait.kind != "launch"
    ]
    checked.message = said = wait_words.sentence(places)
    checked.waits = [_entry(question, wait) for wait in stall.waits]
    checked.place = " / ".join(sorted({shape(w.says or instruction_of(w)) for w in _roots(stall)}))
    linearisation = LinearisationWords(stall.execution, question.cast)
    if set(ABORTS) & {w.kind for w in stall.waits}:
        tell_linearisation(
            question, linearisation, checked
        )  # what the thread has seen that it ends is of interest, and why
    else:
        there = {(w.thread, line_of(w)) for w in stall.waits if w.instruction}
        again = {r.event for w in stall.waits for r in w.again}
        checked.tell(
            linearisation.ranked(
                e.index for e in stall.execution.events if (e.thread, e.line) in there or e.index in again
            )
        )
    title = f"{question.title}  {_WAITING.get(checked.kind, checked.kind)}"
    stays = [Stays(w.thread, instruction_of(w), line_of(w), does(w)) for w in stall.waits if w.kind != "launch"]
    checked.witness = Witness(replace(question.renamed(stall.execution), title=title), stays)
    return said


def _roots(stall: Stall) -> Sequence[Wait]:
    """Those who do not just wait for others' kernels to end."""
    return [w for w in stall.waits if w.kind not in ("kernel", "launch")] or stall.waits


def _entry(question: Question, wait: Wait) -> dict[str, Any]:
    """Who waits where, for programs: what a thread does again and again with what it finds and writes."""
    found: dict[str, Any] = {"kind": wait.kind, "thread": question.cast.name(wait.thread)}
    if wait.instruction is not None:
        found |= {"line": wait.instruction.span.line, "instruction": instruction_of(wait)}
    if wait.unended:
        found["kernels"] = list(wait.unended)
    if wait.again:
        found["again"] = [
            {"line": r.instruction.span.line, "location": r.location, "found": r.found, "written": r.written}
            for r in wait.again
        ]
    return found


def tell_linearisation(
    question: Question, linearisation: LinearisationWords, checked: Checked, claimed: Collection[str] = ()
) -> None:
    """The execution that shows it: its steps, the reads that are out of date, and why they may be. Where none is, and every
    location keeps what was written last, only the order of the steps is another one than was meant: then the places are
    those that wrote what the locations that are `claimed` keep."""
    reasons = linearisation.explanations()
    checked.tell(linearisation.steps_for(reasons), (reason.text for reason in reasons))
    places = [culprit for reason in reasons for culprit in reason.culprits]
    checked.causes = linearisation.causes(reasons)
    for read, missed in list(linearisation.stale.items())[:3]:
        places += [(read, "this read is out of date"), (missed, "what it misses is written here")]
    for kept, later in linearisation.endings.items():
        places += [(kept, "what is kept at the end is written here"), (later, "and this may come before it")]
    last = {linearisation.events[i].location: i for i in linearisation.order if linearisation.events[i].kind is WRITE}
    named = {name if name in last else name.removesuffix("[0]"): name for name in claimed if not places}
    for index, what in places:
        event = linearisation.events[index]
        if event.thread >= 0:
            place = question.pointed(event.thread, event.line or 0, what)
            checked.spots += [place] if place not in checked.spots else []
    by_place: dict[
        tuple[Spot, str], tuple[ExecutedEvent, list[str]]
    ] = {}  # by where one looks: many threads write there
    for at, name in named.items():
        if at in last and (event := linearisation.events[last[at]]).thread >= 0:
            by_place.setdefault(question.pointed(event.thread, event.line or 0, ""), (event, []))[1].append(name)
    checked.keeps += [
        question.pointed(event.thread, event.line or 0, words.kept(names)) for event, names in by_place.values()
    ]


#: What the picture of a check is called.
_WAITING = {
    "no_deadlock": "a deadlock",
    "terminates": "non-termination",
    "no_trap": "a trap",
    ASSERTIONS: "an assertion that fails",
}

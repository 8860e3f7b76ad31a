"""What litmus tests and kernel tests are judged by alike: races, threads that wait for ever, launches that never end; and what
shows it, in words. What each answers is in `ptxmm.answers`."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from axioms.dependence import with_any_numbers
from axioms.errors import UnsupportedProgram
from axioms.explain.claims import Claim, Ground, holds
from axioms.liveness.progress import FAIR, progress_named
from axioms.liveness.search import find_once
from axioms.witness.result import Decision
from axioms.witness.stalls import ABORTS, WAITS, Bounded, Stall, Wait
from ptxcore.clock import OutOfTime
from ptxmm.answers import Coverage, coverage_of, settle
from ptxmm.findings import shape
from ptxmm.graphs.waiting import Stays
from ptxmm.report.undefined import sentence
from ptxmm.result import ASSERTIONS, Checked, Spot, Witness
from ptxmm.story import Story

if TYPE_CHECKING:
    from collections.abc import Sequence

    from axioms.cat.model import Model
    from axioms.program import Program
    from axioms.witness.execution import Execution
    from axioms.witness.missing_arrivals import Awaited, Lack
    from axioms.witness.result import Undefined
    from axioms.witness.stalls import Repeated
    from ptxmm.story import Cast

#: In which ways a thread must not stay behind, check by check.
STALLS = {
    "no_deadlock": ("barrier", "mbarrier"),
    "terminates": WAITS,
    "no_trap": ABORTS,
    ASSERTIONS: ("assertion",),
}
_FOUND = {"no_deadlock": "a deadlock", "terminates": "a thread that waits for ever", "no_trap": "a trap"}


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
    #: The check that tells first who waits for ever.
    stalled: Checked | None

    def stall(self, kinds: tuple[str, ...]) -> Stall | Bounded | None:
        """An execution in which threads wait for ever in one of these ways, trap, or fail an assertion; None where it is proven
        that there is none. Raises OutOfTime."""
        ...

    def mates(self, thread: int) -> list[int]:
        """The threads of its CTA, itself among them."""
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
    """An execution in which threads wait for ever in one of these ways, or end the launch; see `axioms.liveness.search.find`.
    Brute force schedules every thread fairly."""
    chosen = FAIR if progress is None else progress_named(progress)
    if engine == "enumerate":
        from axioms.oracle import liveness as standstill

        if not (chosen.is_fair and resident is None) and set(ABORTS).isdisjoint(kinds):
            raise UnsupportedProgram("brute force schedules every thread fairly: progress and resident need the solver")
        by_force = partial(standstill.find, model=model, kinds=kinds, deadline=deadline)
        found = with_any_numbers(program, by_force, by_solver=False)
        return Bounded() if found is None else found  # what bounds cut off, outcomes tell
    find = partial(
        find_once, model=model, kinds=kinds, progress=chosen, resident=resident, backend=backend, deadline=deadline
    )
    return with_any_numbers(program, find, by_solver=True)


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
        checked.message = f"{count} race{'s' * (count != 1)} found"
    elif checked.holds is False and decision.ends:
        checked.message = f"{checked.text}, but there is no race"


def judge_stalls(question: Question, decision: Decision, checked: Checked, *, wanted: bool = True) -> None:
    """`no_deadlock`, `terminates`, `no_trap`, assertions: no execution in which a thread waits for ever, traps, or fails; with
    `wanted` False, there is one."""
    try:
        stall = question.stall(STALLS[checked.kind])
    except (OutOfTime, TimeoutError) as error:
        settle(checked, Coverage.OUT_OF_TIME, shown=False, existential=not wanted, stopped=error)
        return
    if not isinstance(stall, Stall):
        judge(question, decision, checked, shown=False, existential=not wanted, proven=stall is None)
        if checked.holds is False and not wanted:
            checked.message = f"{checked.text}, but there is no execution with {_FOUND[checked.kind]}"
        return
    if stall.undefined:
        question.misuse = stall.undefined
        tell_waits(question, stall, checked)
        checked.message += f"; but the behaviour of that execution is undefined: {sentence(stall.undefined)}"
        return
    settle(checked, coverage_of(decision), shown=True, existential=not wanted)
    if checked.holds is False:
        tell_waits(question, stall, checked)
        checked.hangs = coverage_of(decision) is Coverage.ABSENT and _waits_only(stall)
        if checked.hangs:
            if question.stalled is not None:
                question.stalled.witness = None  # one picture of it is enough
            question.stalled = checked


def tell_absence(question: Question, checked: Checked) -> None:
    """Where no execution ends, threads wait for ever in all of them, or trap. (Or there is none at all: a model may forbid
    everything.)"""
    checked.message = f"{checked.text} does not hold: no execution ends"
    if question.stalled is not None:
        first = question.stalled
        checked.spots, checked.story, checked.hangs = first.spots, first.story, first.hangs
        checked.message += f"; {first.message.removeprefix(f'{first.text} does not hold: no execution ends; ')}"
        return
    try:
        found = (question.stall(kinds) for kinds in (WAITS, ABORTS))
        stall = next((stall for stall in found if isinstance(stall, Stall)), None)
    except (OutOfTime, TimeoutError):
        stall = None
    if stall is not None:
        tell_waits(question, stall, checked)
        checked.hangs = _waits_only(stall)
        checked.message = f"{checked.text} does not hold: no execution ends; {checked.message}"
        checked.place = checked.text
        question.stalled = checked


def _waits_only(stall: Stall) -> bool:
    """Whether nobody ends the launch."""
    return not {w.kind for w in stall.waits} & set(ABORTS)


def tell_waits(question: Question, stall: Stall, checked: Checked) -> None:
    """Who waits where, and the execution."""
    places: dict[tuple[str, int, str, tuple[str, ...]], list[Wait]] = {}
    for wait in stall.waits:
        line = wait.instruction.span.line if wait.instruction else 0
        places.setdefault((wait.kind, line, wait.says, wait.unended), []).append(wait)
    said = []
    for (kind, line, says, _), waits in places.items():
        what = _DONE[kind][len(waits) > 1]
        who = _few([question.cast.name(w.thread) for w in waits])
        if kind == "launch":
            said.append(f"{who} {what}{_unended(waits[0])}")
            continue
        source = question.source_of(waits[0].thread, line)
        where = f"line {line}" + (f" ({source})" if source else "")
        text = f"{_instruction(waits[0])}{_lacking(question, stall, waits)}"
        said.append(f"{who}, {where}: {says}" if says else f"{who} {what} at {where}: {text}")
        checked.spots.append(question.pointed(waits[0].thread, line, f"{who} {what} here"))
    begun = {e.thread for e in stall.execution.events}
    for some, one, several in (
        ([t for t in stall.unscheduled if t not in begun], "never begins", "never begin"),
        ([t for t in stall.unscheduled if t in begun], "is not scheduled any more", "are not scheduled any more"),
    ):
        if some:
            said.append(f"{_few([question.cast.name(t) for t in some])} {several if some[1:] else one}")
    checked.message = "; ".join(said)
    checked.waits = [_entry(question, wait) for wait in stall.waits]
    checked.place = " / ".join(sorted({shape(w.says or _instruction(w)) for w in _roots(stall)}))
    story = Story(stall.execution, question.cast)
    if set(ABORTS) & {w.kind for w in stall.waits}:
        tell_story(question, story, checked)  # what the thread has seen that it ends is of interest, and why
    else:
        there = {(w.thread, w.instruction.span.line) for w in stall.waits if w.instruction}
        again = {r.event for w in stall.waits for r in w.again}
        checked.story = story.steps(
            e.index for e in stall.execution.events if (e.thread, e.line) in there or e.index in again
        )
    title = f"{question.title}  {_WAITING.get(checked.kind, checked.kind)}"
    stays = [Stays(w.thread, _instruction(w), _line(w), _DONE[w.kind][0]) for w in stall.waits if w.kind != "launch"]
    checked.witness = Witness(replace(question.renamed(stall.execution), title=title), stays)


def _roots(stall: Stall) -> Sequence[Wait]:
    """Those who do not just wait for others' kernels to end."""
    return [w for w in stall.waits if w.kind not in ("kernel", "launch")] or stall.waits


def _line(wait: Wait) -> int | None:
    return wait.instruction.span.line if wait.instruction else None


def _entry(question: Question, wait: Wait) -> dict[str, Any]:
    """Who waits where, for programs: what a thread does again and again with what it finds and writes."""
    found: dict[str, Any] = {"kind": wait.kind, "thread": question.cast.name(wait.thread)}
    if wait.instruction is not None:
        found |= {"line": wait.instruction.span.line, "instruction": _instruction(wait)}
    if wait.unended:
        found["kernels"] = list(wait.unended)
    if wait.again:
        found["again"] = [
            {"line": r.instruction.span.line, "location": r.location, "found": r.found, "written": r.written}
            for r in wait.again
        ]
    return found


def tell_story(question: Question, story: Story, checked: Checked) -> None:
    """The execution that shows it: its steps, the reads that are out of date, and why they may be."""
    reasons = story.explanations()
    checked.story = story.told_with(reasons)
    places = [culprit for reason in reasons for culprit in reason.culprits]
    for read, missed in list(story.stale.items())[:3]:
        places += [(read, "this read is out of date"), (missed, "what it misses is written here")]
    for kept, later in story.endings.items():
        places += [(kept, "what is kept at the end is written here"), (later, "and this may come before it")]
    for index, what in places:
        event = story.events[index]
        if event.thread >= 0:
            place = question.pointed(event.thread, event.line or 0, what)
            checked.spots += [place] if place not in checked.spots else []


#: What one does, and what several do.
_DONE = {
    "trap": ("traps", "trap"),
    "assertion": ("fails an assertion", "fail an assertion"),
    **dict.fromkeys(WAITS, ("waits for ever", "wait for ever")),
    "livelock": ("goes round for ever", "go round for ever"),
    "launch": ("never begins", "never begin"),
}
#: What the picture of a check is called.
_WAITING = {
    "no_deadlock": "a deadlock",
    "terminates": "waiting for ever",
    "no_trap": "a trap",
    ASSERTIONS: "an assertion that fails",
}


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


#: So many places are named at which what is lacking could have been given.
_MOST_OTHERS = 3


def _lacking(question: Question, stall: Stall, waits: list[Wait]) -> str:
    """What those who wait at one place wait for."""
    first = waits[0]
    line = first.instruction.span.line if first.instruction else 0
    written = {r.location for w in stall.waits for r in w.again if r.written is not None}
    if first.kind == "loop" and not written.isdisjoint(r.location for r in first.again):
        return f" (again and again: {', '.join(map(_done, first.again[:_MOST_OTHERS]))})"
    if first.kind == "loop":
        reads = [e for e in stall.execution.events if (e.thread, e.line, e.kind) == (first.thread, line, "R")]
        if not reads:
            return ""
        last = holds(Claim("latest", (reads[-1].index,)), Ground(stall.execution))
        more = ", and nobody writes there any more" if last else ""
        wanted = f"; it waits for {_numbers_awaited(first.awaits)}" if first.awaits else ""
        return f" ({reads[-1].location} is {reads[-1].number}{more}{wanted})"
    if first.kind == "kernel":
        return _unended(first)
    if first.kind == "livelock":
        done = ", ".join(map(_done, first.again[:_MOST_OTHERS]))
        return f" (again and again: {done}{', ...' if len(first.again) > _MOST_OTHERS else ''})"
    if first.kind == "mbarrier":
        return f" ({_of_phase(question, first.lack)})" if first.lack else " (the phase never completes)"
    if first.kind != "barrier" or not _is_of_cta(_instruction(first)):
        return ""
    here = _at_barrier(stall, first)
    away = [question.cast.name(t) for t in question.mates(first.thread) if t not in here] if here else []
    return f" ({_few(away)} {'is' if len(away) == 1 else 'are'} not there)" if away else ""


def _unended(wait: Wait) -> str:
    """Which kernels somebody waits for."""
    names = wait.unended
    if not names:
        return " (its kernel is not launched)"
    return f" (kernel{'s' * (len(names) > 1)} {_few([*names])} {'does' if len(names) == 1 else 'do'} not end)"


def _at_barrier(stall: Stall, wait: Wait) -> set[int]:
    """The threads that are at a barrier or have arrived there and gone on, whichever instruction they came to it by; none where
    a barrier's number is computed, so that nobody can see from the instructions which one it is."""
    barriers = [e for e in stall.execution.events if e.kind == "B"]
    came = {(w.thread, _barrier(_instruction(w))) for w in stall.waits if w.kind == "barrier"}
    came |= {(e.thread, _barrier(e.text)) for e in barriers if ".arrive" in e.text}
    number = _barrier(_instruction(wait))
    if number is None or any(other is None for _, other in came):
        return set()
    return {thread for thread, other in came if other == number}


def _barrier(instruction: str) -> str | None:
    """The number of the barrier of an instruction, where it is written there."""
    found = re.search(r"\bbar(?:rier)?\.(?:cta\.)?(?:red\.\S+\s+[^,]+,\s*|[\w.:]+\s+)(\d+)\b", instruction)
    return found[1] if found else None


def _done(access: Repeated) -> str:
    """`x is 0, becomes 1`"""
    found = "" if access.found is None else f"{access.location} is {access.found}"
    if access.written is None:
        return found
    return f"{found}, becomes {access.written}" if found else f"{access.location} becomes {access.written}"


def _numbers_awaited(awaited: Awaited) -> str:
    """`2`, `1 or 2`, `something other than 0`, `3 or more`"""
    numbers = [*map(str, awaited.numbers)]
    listed = " or ".join([", ".join(numbers[:-1]), numbers[-1]] if numbers[1:] else numbers)
    last = {"one of": listed, "none of": f"something other than {listed}", "at least": f"{listed} or more"}
    return last.get(awaited.relation, f"{listed} or less")


def _of_phase(question: Question, lack: Lack) -> str:
    """What a phase lacks, and who did not come to give it."""
    lacking = []
    if lack.arrivals:
        lacking.append(f"{lack.arrivals} of {lack.expected} arrival{'s' * (lack.expected != 1)}")
    if lack.transactions > 0:
        lacking.append(f"{lack.transactions} byte{'s' * (lack.transactions != 1)}")
    found = f"the phase lacks {' and '.join(lacking)}" if lacking else "the phase never completes"
    if lack.transactions < 0:
        found += f", and {-lack.transactions} bytes more have come than were expected"
    places: dict[int, tuple[str, list[str]]] = {}
    for thread, instruction in lack.others:
        text = f"line {instruction.span.line}: {' '.join(instruction.text.split())}"
        places.setdefault(instruction.span.line, (text, []))[1].append(question.cast.name(thread))
    who = [
        f"{_few(names)} {'has' if len(names) == 1 else 'have'} not come to {text}" for text, names in places.values()
    ]
    return "; ".join([found, *(who[:_MOST_OTHERS] or ["nothing else comes there any more"])])


def _is_of_cta(instruction: str) -> bool:
    """Whether it is a barrier of the threads of a CTA, not of a warp or a cluster."""
    return re.search(r"\bbar(rier)?\.", instruction) is not None and not re.search(r"\.(warp|cluster)\b", instruction)


def _instruction(wait: Wait) -> str:
    if wait.instruction is None:
        return "its beginning" if wait.kind == "launch" else "a loop"
    return " ".join(wait.instruction.text.split())

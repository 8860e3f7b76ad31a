"""Kernel tests decided: one program, and each check a question to it.

launches -> program (see `build`) -> outcomes -> each check on each outcome -> verdict, with an execution for what fails
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from axioms.endless import ABORTS, Stall, Wait, find, may_fail_assertions
from axioms.engine import decide
from axioms.execution import ExecutedEvent, Execution
from axioms.lacking import Awaited, Lack
from axioms.result import Decision, OutOfTime, RaceEvent
from ptxcore.diagnostics import Diagnostic, InputError, Span
from ptxcore.machine.kernel.launch import UsageError
from ptxcore.values import terms
from ptxcore.values.terms import Value
from ptxmm.findings import shape
from ptxmm.kernels.build import Built, build
from ptxmm.kernels.launch import Buffer, Element, Final
from ptxmm.kernels.numbers import Declared
from ptxmm.kernels.test import ASSERTIONS, Check, KernelTest, observed, resolver
from ptxmm.races import entry
from ptxmm.result import Checked, Loop, Result, Spot, Witness, observation_of, out_of_time
from ptxmm.story import Cast, Story

if TYPE_CHECKING:
    from axioms.cat.model import Model

#: What a check makes of an outcome: whether one that satisfies the expression is wanted.
_SAFE = ("forall", "never")


class Question:
    """A test, its program, and how long there is to answer."""

    def __init__(
        self,
        test: KernelTest,
        model: Model,
        *,
        engine: str = "solve",
        backend: str | None = None,
        deadline: float | None = None,
        all_elements: bool = False,
        races: bool = False,
        why: bool = False,
        explain: bool = False,
        options: frozenset[str] = frozenset(),
    ) -> None:
        """Raises InputError for PTX that is wrong, UnsupportedProgram for what is not decided."""
        self.test, self.model, self.why, self.explain = test, model, why, explain
        self.engine, self.backend, self.deadline = engine, backend, deadline
        self.races = races or any(check.kind == "race_free" for check in test.checks)
        #: An execution that has no end, and is undefined: found where no other is like it.
        self.misuse: Stall | None = None
        elements = observed(test.checks)
        if all_elements:
            every = ((p.name, i) for p in test.parameters if isinstance(p, Buffer) for i in range(p.elements))
            elements = list(dict.fromkeys([*elements, *every]))
        self._elements: dict[tuple[str, int], Element] = {}
        try:
            self.built: Built = build(test.launches, elements, lambda final: self._condition(elements, final), options)
        except UsageError as error:
            message = str(error)
            place = next((span for key, span in test.bounds.items() if f"'{key}'" in message), Span(0, 0, 0))
            raise InputError([Diagnostic(place, message)], test.path, test.text) from None
        self.cast = Cast(self._name, self._spot, self._source)
        self.declared = Declared(p for p in test.parameters if isinstance(p, Buffer))

    def _condition(self, elements: list[tuple[str, int]], final: Final) -> Value:
        self._elements = {key: final(*key) for key in elements}
        safe = [self.truth(c, final) for c in self.test.checks if c.kind in _SAFE]
        found = [self.truth(c, final) for c in self.test.checks if c.kind == "exists"]
        return terms.all_of(safe) if safe else terms.all_of(found)

    def truth(self, check: Check, final: Final) -> Value:
        """That an outcome is as a check wants it."""
        assert check.expression is not None
        truth = check.expression.truth(resolver(self.test.parameters, final))
        return terms.negate(truth) if check.kind == "never" else truth

    def holds(self, check: Check, state: dict[str, int]) -> bool:
        """Whether an outcome is as a check wants it."""

        def final(name: str, index: int) -> Element:
            element = self._elements[name, index]
            return replace(element, value=state[element.label] & terms.mask(element.width))

        return bool(self.truth(check, final))

    def decide(self, condition: Value | None = None, settles: bool = True) -> Decision:
        """The outcomes, and races where the test asks for them; with a condition of its own at least one outcome for which
        its truth is `settles`, where there is any."""
        program = self.built.program if condition is None else self.built.program.asking(condition)
        decision = decide(
            program, self.model, engine=self.engine, backend=self.backend, deadline=self.deadline,
            races=self.races and condition is None, settles=self._settles() if condition is None else settles,
            why=self.why and condition is None, explain=self.explain and condition is None,
        )  # fmt: skip
        return self.declared(decision)

    def _settles(self) -> bool | None:
        """The truth of the program's condition that fails the test, or passes it, by a single outcome."""
        return (
            None
            if not any(c.expression for c in self.test.checks)
            else not any(c.kind in _SAFE for c in self.test.checks)
        )

    def stall(self, kinds: tuple[str, ...]) -> Stall | None:
        """An execution in which threads wait for ever in one of these ways, trap, or fail an assertion."""
        if self.engine == "enumerate":
            from axioms import standstill

            return standstill.find(self.built.program, self.model, kinds=kinds, deadline=self.deadline)
        stall = find(self.built.program, self.model, kinds=kinds, backend=self.backend, deadline=self.deadline)
        return stall and stall._replace(execution=self.declared.execution(stall.execution))

    # Who is who.

    def _name(self, thread: int) -> str:
        info = self.built.threads[thread]
        launch = self.test.launches[info.launch]
        kernel = f" of {launch.name or launch.entry}" if len(self.test.launches) > 1 else ""
        return f"CTA {_numbers(info.cta)} thread {_numbers(info.thread)}{kernel}"

    def readable(self, text: str) -> str:
        """The engine's words with the names by which people know the threads."""
        names = {info.name: self._name(i) for i, info in enumerate(self.built.threads)}
        return re.sub(r"(?<![\w.])[\w.]+", lambda word: names.get(word[0], word[0]), text)

    def places_in(self, text: str) -> list[tuple[Spot, str]]:
        """The lines that the engine's words speak of, each with who is there."""
        numbers = {info.name: i for i, info in enumerate(self.built.threads)}
        found = []
        for name, line, what in re.findall(r"(?<![\w.])([\w.]+), line (\d+): ([^;)]+)", text):
            if name in numbers:
                thread = numbers[name]
                source = self.source_of(thread, int(line))
                there = source is not None and os.path.exists(source.path)
                spot = source if source is not None and there else self.ptx_spot(thread, int(line))
                found.append((spot, f"{self._name(thread)}: {what.strip()}"))
        return found

    def all_readable(self, document: Any) -> Any:
        """The same of every text in a document."""
        if isinstance(document, str):
            return self.readable(document)
        if isinstance(document, dict):
            return {key: self.all_readable(value) for key, value in document.items()}
        return [*map(self.all_readable, document)] if isinstance(document, (list, tuple)) else document

    def _spot(self, event: ExecutedEvent) -> Spot | None:
        return None if event.thread < 0 else self.ptx_spot(event.thread, event.line or 0)

    def ptx_spot(self, thread: int, line: int) -> Spot:
        return Spot(_from_here(self.test.launches[self.built.threads[thread].launch].path), line)

    def _source(self, event: ExecutedEvent) -> Spot | None:
        return None if event.thread < 0 or event.line is None else self.source_of(event.thread, event.line)

    def source_of(self, thread: int, line: int) -> Spot | None:
        """Where a line of the PTX comes from."""
        launch = self.built.threads[thread].launch
        lines = self.built.lines[launch] if launch < len(self.built.lines) else {}
        found = lines.get(line)
        return None if found is None else self.source_spot(launch, found)

    def source_spot(self, launch: int, place: tuple[str, int]) -> Spot:
        """A place of the source, its file as it is found from here."""
        path, line = place
        beside = os.path.join(os.path.dirname(self.test.launches[launch].path), os.path.basename(path))
        if not os.path.exists(path) and os.path.exists(beside):
            path = beside
        return Spot(_from_here(path), line)

    def shown_at(self, event: ExecutedEvent) -> Spot | None:
        """Where to point for an event: at the source where that is there to look at, else at the PTX."""
        source = self._source(event)
        return source if source is not None and os.path.exists(source.path) else self._spot(event)


def _from_here(path: str) -> str:
    """A path as seen from here, where it lies below."""
    relative = os.path.relpath(path) if os.path.isabs(path) else ".."
    return path if relative.startswith("..") else relative


def _numbers(triple: tuple[int, int, int]) -> str:
    x, y, z = triple
    return f"({x}, {y}, {z})" if z else f"({x}, {y})" if y else str(x)


def check(
    test: KernelTest,
    model: Model,
    *,
    unroll: int = 4,
    engine: str = "solve",
    backend: str | None = None,
    timeout: float | None = None,
    all_elements: bool = False,
    races: bool = False,
    why: bool = False,
    explain: bool = False,
    options: frozenset[str] = frozenset(),
    model_name: str = "",
) -> Result:
    """Decides a kernel test; with `races`, races fail it whatever it says of them; with `why` or `explain`, what the
    checks forbid comes with its reason. Raises InputError, and UnsupportedProgram for what is not decided."""
    if races and all(c.kind != "race_free" for c in test.checks):
        test = replace(test, checks=(*test.checks, Check("race_free", spot=test.checks[0].spot)))
    if not test.bounded:
        test = replace(test, launches=tuple(replace(launch, unroll=unroll) for launch in test.launches))
    result = Result(
        path=test.identity,
        name=name_of(test),
        model=model_name or model.name,
        verdict="undecided",
        expectation="|".join(test.expect),
        spot=test.checks[0].spot if test.checks else None,
        checks=[Checked(kind=c.kind, text=str(c), spot=c.spot, place=str(c)) for c in test.checks],
    )
    start = time.perf_counter()
    deadline = None if timeout is None else time.monotonic() + timeout
    try:
        question = Question(
            test, model, engine=engine, backend=backend, deadline=deadline, all_elements=all_elements, why=why,
            explain=explain, options=options,
        )  # fmt: skip
        _add_assertions(question, result)
        result = _answer_for_all_contents(question, result)
    except (OutOfTime, TimeoutError):
        result.error = out_of_time(timeout)
    finally:
        result.seconds = time.perf_counter() - start
    return result


def _add_assertions(question: Question, result: Result) -> None:
    """What a kernel asserts itself is a check too, where it may be wrong and nobody asks of traps."""
    test = question.test
    if may_fail_assertions(question.built.program) and all(c.kind != "no_trap" for c in test.checks):
        question.test = replace(test, checks=(*test.checks, Check(ASSERTIONS)))
        result.checks.append(Checked(kind=ASSERTIONS, text=ASSERTIONS, spot=result.spot))


def name_of(test: KernelTest) -> str:
    """`lock.toml:weak`; `lock` where the file is one test."""
    file = os.path.basename(test.path)
    return f"{file}:{test.variant}" if test.variant else os.path.splitext(file)[0] or file


#: What memory holds that nothing wrote, as far as anybody can try.
_CONTENTS = {"1 in every word": b"\1\0\0\0", "every bit set": b"\xff", "0xa7 in every byte": b"\xa7"}


def _answer_for_all_contents(question: Question, result: Result) -> Result:
    """The answer with zeros in memory that may hold anything at first; where a read may find there what nothing wrote, the
    answer must be the same with other things in it, and is told with the first that changes it, or breaks a promise about
    final contents that zeros do not break."""
    blank = deepcopy(result)
    decision = _answer(question, result)
    found = _unset(question, decision)
    wanted = ["ok"] if all(c.kind == "exists" for c in question.test.checks) else ["no", "undefined"]
    if not found or (result.verdict in wanted and not _may_break_more(result)):
        result.notes += found
        return result
    for what, contents in _CONTENTS.items():
        other = deepcopy(blank)
        question.built.program = question.built.holding(contents)
        _answer(question, other)
        if other.verdict in wanted and (result.verdict not in wanted or _broken(result) < _broken(other)):
            other.notes += [*found, f"memory that nothing wrote holds {what} in this answer"]
            return other
    result.notes += [
        *found,
        f"the answer is the same with zeros there, and with {', '.join(_CONTENTS)}; others were not tried",
    ]
    return result


def _may_break_more(result: Result) -> bool:
    """Whether something is wrong, and yet a promise about final contents is kept."""
    return result.verdict == "no" and any(c.holds and c.kind in ("forall", "never") for c in result.checks)


def _broken(result: Result) -> set[int]:
    """Which checks do not hold."""
    return {i for i, c in enumerate(result.checks) if c.holds is False}


def _answer(question: Question, result: Result) -> Decision:
    test = question.test
    decision = question.decide()
    _take(question, decision, result)
    if decision.undefined:
        _tell_undefined(question, result, decision.undefined, decision.culprits)
        return decision
    for checked, wanted in zip(result.checks, test.checks, strict=True):
        _JUDGES[wanted.kind](question, decision, wanted, checked)
    answers = {c.holds for c in result.checks}
    if False not in answers and question.misuse is not None:
        _tell_undefined(question, result, question.misuse.undefined, question.misuse.culprits)
    elif False not in answers and None in answers:
        open_ = next(c for c in result.checks if c.holds is None)
        result.error = open_.message or "no execution ends within the bounds of loops"
    else:
        result.verdict = "no" if False in answers else "ok"
    return decision


def _tell_undefined(question: Question, result: Result, reason: str, culprits: Sequence[RaceEvent]) -> None:
    result.verdict, result.error = "undefined", question.readable(reason)
    result.culprits = [question.readable(str(event)) for event in culprits]
    result.places = question.places_in("; ".join([reason, *map(str, culprits)]))


def _take(question: Question, decision: Decision, result: Result) -> None:
    """What is true of all checks together."""
    test = question.test
    result.states, result.satisfied = decision.states, decision.satisfied
    result.complete, result.listed_all = decision.complete, decision.listed_all
    result.loops = [loop for loop in _loops(question) if loop.kind == "waiting" or not decision.complete]
    result.notes = list(question.built.notes)
    result.races = [entry(race, question.cast) for race in decision.races]
    result.race_witnesses = [
        Witness(replace(_renamed(question, r.execution), title=f"{result.name}  ({result.model})  {r.kind} race"))
        for r in decision.races
    ]
    result.forbidding, result.forbidding_each = decision.forbidding, decision.forbidding_each
    if decision.why is not None:
        from ptxmm.why import Telling

        result.why = question.all_readable(Telling(decision.why, question.cast).document())
        title = f"{result.name}  ({result.model})  forbidden by {decision.why.axiom}"
        result.why_witness = Witness(replace(_renamed(question, decision.why.execution), title=title))
    result.witnesses = [
        Witness(replace(_renamed(question, w), title=f"{result.name}  ({result.model})")) for w in decision.witnesses
    ]
    safe = [c for c in test.checks if c.kind in _SAFE]
    asked = safe or [c for c in test.checks if c.kind == "exists"]
    if asked:
        result.kind = "forall" if safe else "exists"
        result.condition = " && ".join(_written(c, len(asked) > 1) for c in asked)
        result.positive, result.negative = decision.positive, decision.negative
        result.observation = observation_of(result.positive, result.negative)


#: So many reads of what nothing wrote are named.
_MOST_UNSET = 3


def _unset(question: Question, decision: Decision) -> list[str]:
    """Reads of memory to which nothing was written."""
    found: dict[str, str] = {}  # of each read, however many pieces of memory it is of
    for race in decision.unset:
        for _, r in race.execution.relations["race"]:
            read = race.execution.events[r]
            reader = f"by {question.cast.name(read.thread)} at {question.cast.place(read)}"
            found.setdefault(reader, f"the read of {read.location} {reader} may find what nothing wrote")
    return list(found.values())[:_MOST_UNSET]


def _renamed(question: Question, execution: Execution) -> Execution:
    """An execution whose threads have the names that people know them by."""
    threads = tuple((question.cast.name(i), place) for i, (_, place) in enumerate(execution.threads))
    return replace(execution, threads=threads)


def _written(check: Check, several: bool) -> str:
    assert check.expression is not None
    text = check.expression.text
    if check.kind == "never":
        return f"!({text})"
    return f"({text})" if several else text


def _loops(question: Question) -> list[Loop]:
    found = []
    for note in question.built.loops:
        source = question.source_spot(note.launch, note.source) if note.source else None
        spot = Spot(_from_here(question.test.launches[note.launch].path), note.line)
        threads = tuple(map(question.readable, note.threads))
        found.append(Loop(note.kind, spot, source, note.label, note.turns, threads))
    return found


# Each kind of check.

_Judge = Callable[[Question, Decision, Check, Checked], None]


def _judge_all(question: Question, decision: Decision, check: Check, checked: Checked) -> None:
    """`forall`, `never`: no outcome that is not as wanted, and some outcome: a kernel that never ends keeps no promise."""
    if not decision.states:
        _judge_nothing(question, decision, check, checked)
        return
    bad = next((i for i, state in enumerate(decision.states) if not question.holds(check, state)), None)
    if bad is None and not decision.listed_all:
        decision = question.decide(_truth(question, check), settles=False)
        bad = next((i for i, holds in enumerate(decision.satisfied) if not holds), None)
    checked.holds = bad is None
    if bad is not None:
        what = "does not hold" if check.kind == "forall" else "happens"
        checked.state = decision.states[bad]
        checked.message = f"{check} {what}: {_shown(checked.state)}"
        _tell_story(question, Story(decision.witnesses[bad], question.cast), checked)


def _judge_nothing(question: Question, decision: Decision, check: Check, checked: Checked) -> None:
    """Where no execution ends, threads wait for ever in all, or trap; unless bounds hide the end."""
    if not decision.complete:
        return
    checked.holds = False
    checked.message = f"{check} does not hold: no execution ends"
    stall = question.stall(_WAITS) or question.stall(ABORTS)
    if stall is not None:
        _tell_waits(question, stall, checked)
        checked.message = f"{check} does not hold: no execution ends; {checked.message}"
        checked.place = str(check)


def _judge_some(question: Question, decision: Decision, check: Check, checked: Checked) -> None:
    """`exists`: some outcome is as wanted."""
    checked.holds = any(question.holds(check, state) for state in decision.states)
    if not checked.holds and not decision.listed_all:
        checked.holds = question.decide(_truth(question, check)).positive > 0
    if not checked.holds:
        checked.message = f"{check} does not hold: no outcome satisfies it"
        checked.story = [_shown(state) for state in decision.states[:10]]


def _truth(question: Question, check: Check) -> Value:
    return question.truth(check, lambda name, index: question._elements[name, index])


def _shown(state: dict[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in state.items()) or "an outcome"


def _tell_story(question: Question, story: Story, checked: Checked) -> None:
    """The execution that shows it: its steps, the reads that are out of date, and why they may be."""
    reasons = story.explanations(checked.state)
    checked.story = story.told_with(reasons)
    places = [culprit for reason in reasons for culprit in reason.culprits]
    for read, missed in list(story.stale())[:3]:
        places += [(read, "this read is out of date"), (missed, "what it misses is written here")]
    for kept, later in story.endings(checked.state):
        places += [(kept, "what is kept at the end is written here"), (later, "and this may come before it")]
    for index, what in places:
        spot = question.shown_at(story.events[index])
        if spot is not None and (spot, what) not in checked.spots:
            checked.spots.append((spot, what))


def _judge_races(question: Question, decision: Decision, check: Check, checked: Checked) -> None:
    checked.holds = check.wanted == (not decision.races)
    if not checked.holds:
        count = len(decision.races)
        checked.message = (
            f"{count} race{'s' * (count != 1)} found" if count else "race_free = false, but there is no race"
        )


_WAITS = ("barrier", "mbarrier", "loop")
_STALLS = {
    "no_deadlock": ("barrier", "mbarrier"),
    "terminates": _WAITS,
    "no_trap": ABORTS,
    ASSERTIONS: ("assertion",),
}
_FOUND = {"no_deadlock": "a deadlock", "terminates": "a thread that waits for ever", "no_trap": "a trap"}


def _judge_stalls(question: Question, decision: Decision, check: Check, checked: Checked) -> None:
    """`no_deadlock`, `terminates`, `no_trap`, assertions: no execution in which a thread waits for ever, traps, or fails."""
    stall = question.stall(_STALLS[check.kind])
    if stall is not None and stall.undefined:
        question.misuse = stall
        _tell_waits(question, stall, checked)
        checked.message = f"{checked.message}; but the behaviour of that execution is undefined: {stall.undefined}"
        return
    checked.holds = check.wanted == (stall is None)
    if stall is None:
        checked.message = "" if checked.holds else f"{check}, but there is no execution with {_FOUND[check.kind]}"
    elif not checked.holds:
        _tell_waits(question, stall, checked)


def _tell_waits(question: Question, stall: Stall, checked: Checked) -> None:
    """Who waits where, and the execution."""
    places: dict[tuple[str, int, str], list[Wait]] = {}
    for wait in stall.waits:
        line = wait.instruction.span.line if wait.instruction else 0
        places.setdefault((wait.kind, line, wait.says), []).append(wait)
    said = []
    for (kind, line, says), waits in places.items():
        what = _DONE[kind][len(waits) > 1]
        who = _few([question.cast.name(w.thread) for w in waits])
        source = question.source_of(waits[0].thread, line)
        where = f"line {line}" + (f" ({source})" if source else "")
        text = f"{_instruction(waits[0])}{_lacking(question, stall, waits)}"
        said.append(f"{who}, {where}: {says}" if says else f"{who} {what} at {where}: {text}")
        spot = source if source and os.path.exists(source.path) else question.ptx_spot(waits[0].thread, line)
        checked.spots.append((spot, f"{who} {what} here"))
    checked.message = "; ".join(said)
    checked.place = " / ".join(sorted({shape(w.says or _instruction(w)) for w in stall.waits}))
    story = Story(stall.execution, question.cast)
    if set(ABORTS) & {w.kind for w in stall.waits}:
        _tell_story(question, story, checked)  # what the thread has seen that it ends is of interest, and why
    else:
        there = {(w.thread, w.instruction.span.line) for w in stall.waits if w.instruction}
        checked.story = story.steps(e.index for e in stall.execution.events if (e.thread, e.line) in there)
    title = f"{name_of(question.test)}  ({question.model.name})  {_WAITING.get(checked.kind, checked.kind)}"
    checked.witness = Witness(replace(_renamed(question, stall.execution), title=title))


#: What one does, and what several do.
_DONE = {
    "trap": ("traps", "trap"),
    "assertion": ("fails an assertion", "fail an assertion"),
    **dict.fromkeys(_WAITS, ("waits for ever", "wait for ever")),
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
    if first.kind == "loop":
        reads = [e for e in stall.execution.events if (e.thread, e.line, e.kind) == (first.thread, line, "R")]
        wanted = f"; it waits for {_numbers_awaited(first.awaits)}" if first.awaits else ""
        return (
            f" ({reads[-1].location} is {reads[-1].number}, and nobody writes there any more{wanted})" if reads else ""
        )
    if first.kind == "mbarrier":
        return f" ({_of_phase(question, first.lack)})" if first.lack else " (the phase never completes)"
    if first.kind != "barrier" or not _is_of_cta(_instruction(first)):
        return ""
    infos = question.built.threads
    home = infos[first.thread].launch, infos[first.thread].cta
    here = {w.thread for w in stall.waits if w.instruction is first.instruction}
    away = [question.cast.name(t) for t, x in enumerate(infos) if (x.launch, x.cta) == home and t not in here]
    return f" ({_few(away)} {'is' if len(away) == 1 else 'are'} not there)" if away else ""


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
    return " ".join(wait.instruction.text.split()) if wait.instruction else "a loop"


_JUDGES: dict[str, _Judge] = {
    "forall": _judge_all,
    "never": _judge_all,
    "exists": _judge_some,
    "race_free": _judge_races,
    "no_deadlock": _judge_stalls,
    "terminates": _judge_stalls,
    "no_trap": _judge_stalls,
    ASSERTIONS: _judge_stalls,
}

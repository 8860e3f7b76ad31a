"""Each kind of check of a kernel test: whether it holds, and what shows that it does not."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from axioms.endless import ABORTS, Stall, Wait
from axioms.lacking import Awaited, Lack
from axioms.result import Decision
from ptxcore.values.terms import Value
from ptxmm.findings import shape
from ptxmm.kernels.question import Question
from ptxmm.kernels.test import ASSERTIONS, Check
from ptxmm.result import Checked, Witness
from ptxmm.story import Story

if TYPE_CHECKING:
    pass

Judge = Callable[[Question, Decision, Check, Checked], None]


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
    return question.truth(check, lambda name, index: question.elements[name, index])


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
    title = f"{question.test.name}  ({question.model.name})  {_WAITING.get(checked.kind, checked.kind)}"
    checked.witness = Witness(replace(question.renamed(stall.execution), title=title))


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


JUDGES: dict[str, Judge] = {
    "forall": _judge_all,
    "never": _judge_all,
    "exists": _judge_some,
    "race_free": _judge_races,
    "no_deadlock": _judge_stalls,
    "terminates": _judge_stalls,
    "no_trap": _judge_stalls,
    ASSERTIONS: _judge_stalls,
}

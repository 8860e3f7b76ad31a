"""Results line for line as herd7 prints them, so that its log tools (mcompare7, mhash7, ...) read them.

After herd7, and as its tools read it:
  - `Allowed`, `Forbidden`, `Required` name the quantifiers exists, ~exists, forall, not the answer;
  - a state has registers as `1:r0=1;`, locations as `[x]=1;`, elements as `b[2]=1;` without further brackets. A pointer is the
    name that it points to, `x`, or `b.8` for 8 bytes behind b; a number of 64 bits that their readers would not take is
    hexadecimal;
  - their readers of logs know no underscore in the names of registers and locations, and drop a whole log for one:
    `tail_ready` is `tail..ready`. See `spelled`;
  - `Ok` and `No` are about the condition. `Undef`: the program has no meaning. `Loop Ok`: a loop was cut;
  - `Positive` and `Negative` count witnesses of the condition *with* its quantifier: for ~exists those of the negated
    proposition. herd7 counts executions here and in the Observation line; so do we with
    `--executions` where all are listed, and states else;
  - `Flag NAME` tells of what else is wrong: a kind of race, or another check that does not hold;
  - the Observation line counts the proposition itself, positive first: `Never 0 3` under a ~exists that is `Ok` with
    `Positive: 3`;
  - of several conditions each has a block of its own: those behind the first are of tests NAME.2, NAME.3, ...;
  - in a name, characters that none has there are written as their codes: `a[20]b` for `a b`.

A test without an answer (an error, a timeout) has no lines here, as there; standard error and the exit status tell.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from ptxcore.records import NamedTuple
from ptxmm.checker import Outcome
from ptxmm.herd_names import legal, spelled
from ptxmm.result import Checked, Result, observation_of

_NAMES = {"exists": "Allowed", "~exists": "Forbidden", "forall": "Required"}
_QUANTIFIERS = {"exists": "exists", "not exists": "~exists", "forall": "forall"}
_ANSWERS = {"ok": "Ok", "bounded": "Ok", "no": "No"}
#: Checks that are part of the condition.
_OF_STATES = ("exists", "~exists", "forall", "never")


class HerdReport:
    def begin(self, paths: list[str]) -> None:
        pass

    def add(self, outcome: Outcome) -> None:
        if _answer(outcome.result) is not None:
            sys.stdout.write("\n".join(lines(outcome)) + "\n\n")

    def end(self, seconds: float, left: Sequence[Outcome] = ()) -> None:
        pass


def _answer(result: Result) -> str | None:
    """What became of the condition; None where that is not known, or nothing is said of states."""
    if result.kind is None or result.observation is None:
        return None
    if result.verdict == "undefined":
        return "Undef"
    holds = [check.holds for check in result.checks if check.kind in _OF_STATES]
    if False in holds:
        return "No"
    if not holds:
        return _ANSWERS.get(result.verdict)
    return None if None in holds else "Ok"


def lines(outcome: Outcome) -> list[str]:
    """The block of one decided test, without the empty line that ends it; one more for each further condition."""
    result = outcome.result
    assert result.kind is not None and result.observation is not None
    counted = result.executions if result.executions and result.executions.listed_all else result
    first = CountedCondition(_QUANTIFIERS[result.kind], result.condition or "true", counted.positive, counted.negative)
    conditions = [c for c in result.checks if c.kind in _OF_STATES and not result.of_kernel]
    whole = len(conditions) < 2 or result.verdict == "undefined"
    answers = [_answer(result)] * max(1, len(conditions)) if whole else [_answer_of(c) for c in conditions]
    found = _block(outcome, legal(result.name), first, answers[0] or "??")
    for number, (check, answer) in enumerate(zip(conditions[1:], answers[1:], strict=True), 2):
        if answer is not None and check.counts is not None:
            further = CountedCondition(check.kind, check.text.partition(" ")[2], *check.counts)
            found += ["", *_block(outcome, f"{legal(result.name)}.{number}", further, answer)]
    return found


class CountedCondition(NamedTuple):
    """A condition, and how many states, or executions, satisfy its proposition and how many do not."""

    quantifier: str
    proposition: str
    positive: int
    negative: int


def _answer_of(condition: Checked) -> str | None:
    return None if condition.holds is None else "Ok" if condition.holds else "No"


def _block(outcome: Outcome, name: str, asked: CountedCondition, answer: str) -> list[str]:
    result = outcome.result
    held, failed = asked.positive, asked.negative
    if asked.quantifier == "~exists":
        held, failed = failed, held
    return [
        f"Test {name} {_NAMES[asked.quantifier]}",
        f"States {len(result.states)}",
        *(state_line(state, outcome.pointers) for state in result.states),
        ("" if result.complete else "Loop ") + answer,
        "Witnesses",
        f"Positive: {held} Negative: {failed}",
        *(f"Flag {flag}" for flag in flags(result)),
        *condition_lines(asked.quantifier, asked.proposition),
        f"Observation {name} {observation_of(asked.positive, asked.negative).capitalize()} {asked.positive} {asked.negative}",
        f"Time {name} {result.seconds:.2f}",
        f"Hash={outcome.digest}",
    ]


def flags(result: Result) -> list[str]:
    """What is wrong beside the condition: kinds of races, checks that do not hold."""
    found = [f"{race.kind}-race" for race in result.races]
    found += [c.kind for c in result.checks if c.holds is False and c.kind not in _OF_STATES]
    return list(dict.fromkeys(legal(flag) for flag in found if flag != "race_free"))


_PLACE_NAME = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)


def state_line(state: dict[str, int], pointers: dict[tuple[str, int], str] | None = None) -> str:
    """`1:r0=1; [x]=0; b[1]=2;`: registers and elements as they are, locations in brackets."""
    known = pointers or {}
    cells = ((_place(name), known.get((name, value)), value) for name, value in state.items())
    return " ".join(f"{place}={_pointer(pointer) if pointer else number(value)};" for place, pointer, value in cells)


def _pointer(text: str) -> str:
    name, _, offset = text.partition("+")
    return f"{spelled(name)}.{offset}" if offset else spelled(name)


def _place(name: str) -> str:
    name = _PLACE_NAME.sub(lambda m: spelled(m[0]), name)
    return name if ":" in name or name.endswith("]") else f"[{name}]"


def number(value: int) -> str:
    """A number as their tools read it, who have 64 bits with a sign."""
    return hex(value) if 1 << 63 <= value < 1 << 64 else str(value)


_NUMBER = re.compile(r"(?<![\w.:])\d+\b(?!:)")


def condition_lines(quantifier: str, text: str) -> list[str]:
    """The condition, unless it has numbers that their tools fall over."""
    if any(int(n) >= 1 << 64 for n in _NUMBER.findall(text) if len(n) < 4000) or re.search(r"\d{4000}", text):
        return []
    return [f"Condition {quantifier} {condition(text)}"]


def condition(text: str) -> str:
    """A proposition with herd7's operators and spacing."""
    text = _PLACE_NAME.sub(lambda m: spelled(m[0]), text)
    for ours, theirs in (
        (" == ", "="),
        (" = ", "="),
        (" != ", "<>"),
        ("~(", "not ("),
        (" && ", " /\\ "),
        (" || ", " \\/ "),
    ):
        text = text.replace(ours, theirs)
    text = _NUMBER.sub(lambda m: number(int(m[0])), text)
    return text if text.startswith("(") else f"({text})"

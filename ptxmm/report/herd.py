"""Results line for line as herd7 prints them, so that its log tools (mcompare7, mhash7, ...) read them.

After herd7:
  - `Allowed`, `Forbidden`, `Required` name the quantifiers exists, ~exists, forall, not the answer;
  - `Positive` and `Negative` count witnesses of the condition *with* its quantifier: for ~exists those of the negated
    proposition. herd7 counts executions here and in the Observation line, we count states;
  - the Observation line counts the proposition itself, positive first: `Never 0 3` under a ~exists that is `Ok` with
    `Positive: 3`;
  - `Loop Ok`: a loop was cut. `Undef`: the program has no meaning.

A test without an answer (an error, a timeout) has no lines here, as there; standard error and the exit status tell.
"""

from __future__ import annotations

import sys

from ptxmm.checker import Outcome

_NAMES = {"exists": "Allowed", "not exists": "Forbidden", "forall": "Required"}
_QUANTIFIERS = {"exists": "exists", "not exists": "~exists", "forall": "forall"}


class HerdReport:
    def begin(self, paths: list[str]) -> None:
        pass

    def add(self, outcome: Outcome) -> None:
        if outcome.result.kind is not None and outcome.result.observation is not None:
            sys.stdout.write("\n".join(lines(outcome)) + "\n\n")

    def end(self, seconds: float) -> None:
        pass


def lines(outcome: Outcome) -> list[str]:
    """The block of one decided test, without the empty line that ends it."""
    result = outcome.result
    assert result.kind is not None and result.observation is not None
    answer = {"ok": "Ok", "no": "No", "undefined": "Undef"}[result.verdict]
    held, failed = result.positive, result.negative
    if result.kind == "not exists":
        held, failed = failed, held
    return [
        f"Test {result.name} {_NAMES[result.kind]}",
        f"States {len(result.states)}",
        *(state_line(state) for state in result.states),
        ("" if result.complete else "Loop ") + answer,
        "Witnesses",
        f"Positive: {held} Negative: {failed}",
        f"Condition {_QUANTIFIERS[result.kind]} {condition(result.condition or 'true')}",
        f"Observation {result.name} {result.observation.capitalize()} {result.positive} {result.negative}",
        f"Time {result.name} {result.seconds:.2f}",
        f"Hash={outcome.digest}",
    ]


def state_line(state: dict[str, int]) -> str:
    """`1:r0=1; [x]=0;`: registers as they are, locations in brackets."""
    return " ".join(f"{name if ':' in name else f'[{name}]'}={value};" for name, value in state.items())


def condition(text: str) -> str:
    """A proposition with herd7's operators and spacing."""
    for ours, theirs in ((" == ", "="), (" = ", "="), (" != ", "<>"), ("~(", "not (")):
        text = text.replace(ours, theirs)
    return text if text.startswith("(") else f"({text})"

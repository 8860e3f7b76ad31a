"""Histograms as litmus7 prints them, so that its tools and `ptxmm compare` read them; and as data.

After litmus7: `Allowed`, `Forbidden` and `Required` name the quantifiers; `:>` stands before a state and `*>` before one that
satisfies the proposition; `Ok` and `No` are about the condition, as far as it was seen. What it does not have stands in lines
behind the block, which its readers pass over: instances that do not count, and the states that the model forbids.
"""

from __future__ import annotations

from typing import Any

from litmus.formats.printer import write_proposition
from litmus.test import Test
from ptxmm.gpu.judging import JudgedRuns, StateRow
from ptxmm.herd_names import legal
from ptxmm.report.herd import condition_lines, state_line
from ptxmm.result import observation_of

_NAMES = {"exists": "Allowed", "~exists": "Forbidden", "forall": "Required"}


def block(judged: JudgedRuns, digest: str, seconds: float, places: dict[tuple[str, int], str]) -> list[str]:
    """The lines of one test. `places` names what is an address in a state."""
    test, positive, negative = judged.test, judged.positive, judged.negative
    name, quantifier = legal(test.name), test.condition.quantifier
    held, failed = (negative, positive) if quantifier == "~exists" else (positive, negative)
    proposition = write_proposition(test.condition.proposition)
    validated = "is validated" if judged.held else "is NOT validated"
    conditions = [f"{line} {validated}" for line in condition_lines(quantifier, proposition)]
    return [
        f"Test {name} {_NAMES[quantifier]}",
        f"Histogram ({len(judged.rows)} states)",
        *(f"{row.times:<8}{'*' if row.satisfied else ':'}>{state_line(row.state, places)}" for row in judged.rows),
        "Ok" if judged.held else "No",
        "Witnesses",
        f"Positive: {held}, Negative: {failed}",
        *conditions,
        f"Hash={digest}",
        f"Observation {name} {observation_of(positive, negative).capitalize()} {positive} {negative}",
        f"Time {name} {seconds:.2f}",
        *_beside(judged),
    ]


def _beside(judged: JudgedRuns) -> list[str]:
    """What else is to be known."""
    found = []
    seen = judged.seen
    if seen.not_started:
        found.append(f"Not counted: {seen.not_started} instances whose threads did not start together")
    if seen.not_ended:
        found.append(f"Not counted: {seen.not_ended} instances that did not end")
    if judged.filtered:
        found.append(f"Not counted: {judged.filtered} instances that the filter leaves out")
    if judged.meaningless:
        found.append(f"Under {judged.model}: no meaning, so that nothing is forbidden: {judged.meaningless}")
    for row in judged.undecided:
        found.append(f"Under {judged.model}: not decided whether {_plain(row)} is allowed")
    for row in judged.forbidden:
        found.append(f"Under {judged.model}: FORBIDDEN, and seen {_times(row.times)}: {_plain(row)}")
        found += [f"    {line}" for line in row.why]
    if not seen.states:
        found.append("Nothing was seen: no instance counts, so that nothing is said of the model")
    elif not (judged.forbidden or judged.undecided or judged.meaningless):
        rest = "" if judged.unseen is None else f"; of those that it allows, {judged.unseen} not seen"
        found.append(f"Under {judged.model}: all of these states are allowed{rest}")
    return found


def _plain(row: StateRow) -> str:
    return state_line(row.state) or "the end"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def document(judged: JudgedRuns, digest: str, seconds: float, launches: int) -> dict[str, Any]:
    """The same as data."""
    seen = judged.seen
    return {
        "name": judged.test.name,
        "path": judged.test.identity,
        "model": judged.model,
        "condition": f"{judged.test.condition.quantifier} {write_proposition(judged.test.condition.proposition)}",
        "held": judged.held,
        "positive": judged.positive,
        "negative": judged.negative,
        "states": [
            {"state": row.state, "count": row.times, "satisfied": row.satisfied, "allowed": row.allowed}
            | ({"why": list(row.why)} if row.why else {})
            for row in judged.rows
        ],
        "unseen": judged.unseen,
        "meaningless": judged.meaningless,
        "instances": seen.instances,
        "not_started": seen.not_started,
        "not_ended": seen.not_ended,
        "filtered": judged.filtered,
        "launches": launches,
        "seconds": round(seconds, 3),
        "digest": digest,
    }


def digest_of(test: Test) -> str:
    """The hash by which logs of one test know each other."""
    from ptxmm.checker import digest

    return digest(test)

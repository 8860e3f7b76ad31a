"""What brought a verdict about, whether it was expected or not: in a line for tables, and in full for the head of a page."""

from __future__ import annotations

from ptxmm.harmless import plain
from ptxmm.report.text import MOST_ELEMENTS, columns, count_of, table
from ptxmm.result import Checked, RaceEntry, Result, event_text
from ptxmm.words.brief import cause_lines, causes, failing

#: States that are told as counterexamples, or as examples.
_MOST_STATES = 3
_MOST_RACES = 6
#: Verdicts whose reason is what could not be answered.
_WITHOUT_ANSWER = ("undefined", "undecided", "error")


def reason_of(result: Result) -> str:
    """`lock.cu:12: no release semantics before the store`; how often the condition is satisfied, where that is all."""
    found = causes(result)
    cause = f"{found[0].spot}: {found[0].what}" if found else ""
    if result.verdict in _WITHOUT_ANSWER and result.error:
        return plain(f"{cause}: {result.error}" if cause and result.verdict == "undefined" else result.error)
    if result.verdict == "no" and cause:
        raced = next((c for c in failing(result) if not c.causes and not c.spots and c.kind != "race_free"), None)
        beside = bool(raced) and not any(c.causes or c.spots or c.kind == "race_free" for c in failing(result))
        return plain(
            f"{raced.message}; {cause}" if raced and beside else cause
        )  # a wrong value beside a race comes first
    failed = failing(result) if result.verdict == "no" else []
    states = _telling(result)
    said_of = [check.message for check in failed if check.message] or [
        f"{count_of(result)}: {states[0]}" if states else ""
    ]
    return plain(said_of[0] or count_of(result))


def reason_lines(result: Result) -> list[str]:
    """The causes with their places and their text; why there is no answer; which checks fail, which races there are, and the
    states that show it. Empty where all is well."""
    found = causes(result)
    lines = cause_lines(found, everything=True)
    if result.verdict in _WITHOUT_ANSWER and result.error:
        lines += [plain(line) for line in result.trouble.splitlines()]
    if result.verdict not in ("no", "undefined"):
        return lines
    lines += dict.fromkeys(line for check in failing(result) for line in _failed(check))
    races = list(dict.fromkeys(map(_race, result.races)))
    lines += races[:_MOST_RACES]
    lines += [f"and {len(races) - _MOST_RACES} more"] if len(races) > _MOST_RACES else []
    states = _telling(result)
    return lines + ([_shown(result), *(f"  {state}" for state in states)] if states else [])


def _failed(check: Checked) -> list[str]:
    """That a check does not hold, and the first reason of what shows it, without the steps."""
    reasons = check.linearisation[len(check.steps) + bool(check.left) :]
    return [plain(line) for line in (check.message, *(f"  {reason}" for reason in reasons[:1])) if line]


def _race(race: RaceEntry) -> str:
    first, second = (plain(event_text(event)) for event in race.events)
    return f"{race.kind} race between {first} and {'itself' if first == second else second}"


def _telling(result: Result) -> list[str]:
    """The states that break a claim of a litmus test: they satisfy it or do not, as it asks."""
    if result.of_kernel or result.verdict != "no" or result.kind is None:
        return []
    wrong = result.kind != "forall"
    shown = [s for s, holds in zip(result.states, result.satisfied, strict=False) if holds is wrong]
    return (
        table(shown[:_MOST_STATES], columns(shown, MOST_ELEMENTS)[0]) if result.kind != "exists" and any(shown) else []
    )


def _shown(result: Result) -> str:
    return "a counterexample" if result.kind == "forall" else "what should not be is allowed"

"""Results as the JSON of the server: the values that the text report writes, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ptxcore.diagnostics import Diagnostic, InputError, Span
from ptxmm.checker import Outcome
from ptxmm.findings import findings
from ptxmm.report.text import TextReport, count_of, unfulfilled
from ptxmm.web import limits

if TYPE_CHECKING:
    from axioms.witness.execution import Execution
    from ptxmm.result import Result

_EXACT = 1 << 53  # no number of JavaScript's is exact beyond
_QUANTIFIERS = {"exists": "exists", "not exists": "~exists", "forall": "forall"}


def number(value: int) -> int | str:
    """A number, as digits where JavaScript would round it."""
    return value if -_EXACT <= value <= _EXACT else str(value)


def diagnostic(found: Diagnostic, where: str = "text") -> dict[str, Any]:
    """A finding as an editor shows it; `where` names the text that it is about."""
    line, column, end = found.span
    return {
        "line": line,
        "column": column,
        "endColumn": max(end, column),
        "severity": found.severity,
        "message": found.message,
        "hint": found.hint or "",
        "code": found.code,
        "in": where,
    }


def diagnostics(found: Iterable[Diagnostic], where: str = "text") -> list[dict[str, Any]]:
    return [diagnostic(d, where) for d in list(found)[: limits.MOST_DIAGNOSTICS]]


def of_error(error: InputError, own: str) -> list[dict[str, Any]]:
    """The findings of an input that cannot be taken; `own` is what messages call the text of the request."""
    where = "text" if error.path in (own, "<input>") else "cat" if error.path == "model.cat" else error.path
    return diagnostics(error.diagnostics, where)


def general(message: str, severity: str = "error", code: str = "") -> list[dict[str, Any]]:
    """A finding about a text as a whole."""
    return [diagnostic(Diagnostic(Span(0, 0, 0), message, severity=severity, code=code))]


#: The code of a finding that says that time or memory was short: asked again, there may be another answer.
UNFINISHED = "unfinished"


def is_finished(found: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the same text would have the same findings once more."""
    return all(d["code"] != UNFINISHED for d in found)


def model(outcome: Outcome, unroll: int = 4) -> dict[str, Any]:
    """The answer of one model; `unroll`: loops were followed so often."""
    result = outcome.result
    text = TextReport(result.model, colour=False, unroll=unroll).page(outcome)
    columns = list(dict.fromkeys(name for state in result.states for name in state))
    return {
        "model": result.model,
        "name": result.name,
        "verdict": result.verdict,
        "expected": result.passed,
        "headline": headline(result),
        "claim": f"{_QUANTIFIERS[result.kind]} {result.condition}" if result.kind else "",
        "text": text[: limits.LONGEST_REPORT],
        "checks": [
            {"text": c.text, "holds": c.holds, "bounded": c.bounded, "message": c.message} for c in result.checks
        ],
        "columns": columns,
        "complete": is_complete(result),
        "states": [_state(result, i) for i in range(min(len(result.states), limits.MOST_STATES))],
        "why": _why(result),
        "pictures": pictures(result),
        "milliseconds": round(1000 * result.seconds, 1),
    }


def headline(result: Result) -> str:
    """What the answer is, in a line."""
    found = findings(result)
    if found:
        return found[0].message
    wrong = next((check for check in result.checks if check.holds is False), None)
    if wrong is not None and result.verdict == "no":  # as the test expects
        return unfulfilled(wrong)
    return count_of(result) if result.verdict != "undefined" else result.error or ""


def is_complete(result: Result) -> bool:
    """Whether every state was looked for, and is told."""
    if len(result.states) > limits.MOST_STATES:
        return False
    whole = result.verdict not in ("error", "undefined", "undecided") and result.observation is not None
    return whole and result.listed_all and result.complete and not result.stopped


def _state(result: Result, i: int) -> dict[str, Any]:
    satisfied = result.satisfied[i] if i < len(result.satisfied) else None
    return {
        "values": {name: number(value) for name, value in result.states[i].items()},
        "allowed": True,
        "satisfies": satisfied,
        "execution": i if i < len(result.witnesses) else None,
    }


def _why(result: Result) -> list[dict[str, Any]]:
    if not result.why:
        return []
    names = names_of(result.why_witness.execution) if result.why_witness is not None else {}
    shown: str | int | None = "why" if result.why_witness is not None else _first_shown(result)
    edges: Sequence[Sequence[tuple[str, int, int]]] = result.why_edges
    lines = result.why["text"][: limits.MOST_LINES]
    return [
        {
            "text": line,
            "edges": [
                [name, names[a], names[b]]
                for name, a, b in (edges[i] if i < len(edges) else ())
                if a in names and b in names
            ],
            "execution": shown,
        }
        for i, line in enumerate(lines)
    ]


def _first_shown(result: Result) -> int | None:
    """The execution that an outcome which comes about is told of: see `ptxmm.litmus_check`."""
    asked = result.kind != "forall"
    shown = (i for i, holds in enumerate(result.satisfied) if holds == asked and i < len(result.witnesses))
    return next(shown, None)


def pictures(result: Result) -> list[dict[str, Any]]:
    """The executions that can be drawn, with what each shows: what the verdict speaks of comes first."""
    waits = [check for check in result.checks if check.witness is not None]
    found: list[tuple[str, int | str]] = []
    found += [("race", f"race-{i}") for i in range(len(result.race_witnesses))]
    found += [("wait", f"wait-{i}") for i in range(len(waits))]
    found += [("why", "why")] if result.why_witness is not None else []
    found += [("", i) for i in range(min(len(result.witnesses), limits.MOST_STATES))]
    return [{"execution": name, "caption": caption(result, what, name)} for what, name in found]


def caption(result: Result, what: str, name: int | str) -> str:
    """What a picture shows."""
    from ptxmm.report.html import _caption as caption_of

    number = name if isinstance(name, int) else int(name.partition("-")[2] or 0)
    return caption_of(result, what, number)


def names_of(execution: Execution) -> dict[int, str]:
    """The names of events in pictures."""
    from ptxmm.graphs.names import event_names

    return event_names(execution)

"""One execution of a test: its picture and its linearisation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from ptxcore.clock import OutOfTime
from ptxcore.diagnostics import Diagnostic, InputError, Span
from ptxmm.result import Spot, Witness, out_of_time
from ptxmm.web import limits, told
from ptxmm.web.asked import YOURS, PageRequest
from ptxmm.web.deciding import Decided, decided
from ptxmm.words.linearisation import Cast, LinearisationWords

if TYPE_CHECKING:
    from axioms.witness.execution import Execution
    from ptxmm.result import Result


class NoSuchExecution(Exception):
    """There is no such execution: what there is."""


def picture(asked: PageRequest, seconds: float) -> dict[str, Any]:
    """The answer of /api/execution. Raises Missing, InputError for a relation that has no meaning, OutOfTime."""
    found = decided(asked, seconds)
    result = found.outcome.result
    if result.verdict == "error":
        return {**_nothing(asked), "text": result.error or "", "verdict": result.verdict}
    if isinstance(asked.execution, str) and asked.execution.startswith("all-"):
        witness, count, more = _of_all(asked, found, int(asked.execution[4:]), seconds)
    else:
        witness, more = _of_result(result, asked.execution), False
        count = len(result.witnesses) if isinstance(asked.execution, int) else 1
    if witness is None:
        if result.stopped:
            return {**_nothing(asked), "text": result.error or "out of time", "verdict": result.verdict}
        if more and count < limits.MOST_EXECUTIONS:
            return {**_nothing(asked), "text": out_of_time(seconds), "verdict": "undecided"}
        raise NoSuchExecution(f"there is no execution {asked.execution}; {len(result.witnesses)} states have one each")
    shown = Witness(_with(witness.execution, asked.relations), witness.stays, witness.satisfied)
    return {
        **_nothing(asked),
        "svg": _svg(shown),
        "count": count,
        "more": more,
        "caption": _caption(result, asked.execution, shown),
        "state": {name: told.number(value) for name, value in shown.state.items()},
        "satisfies": _satisfies(result, asked.execution, witness),
        "verdict": result.verdict,
        "relations": _relations(shown.execution),
        **_linearisation(shown.execution, asked.path, str(asked.execution).partition("-")[0]),
    }


def _nothing(asked: PageRequest) -> dict[str, Any]:
    return {
        "execution": asked.execution, "svg": "", "count": 0, "more": False, "caption": "", "state": {}, "satisfies": None,
        "relations": [], "text": "", "lines": [], "reasons": [], "verdict": "",
    }  # fmt: skip


def _of_result(result: Result, wanted: int | str) -> Witness | None:
    if isinstance(wanted, int):
        return result.witnesses[wanted] if wanted < len(result.witnesses) else None
    if wanted == "why":
        return result.why_witness
    what, _, number = wanted.partition("-")
    waits = [check.witness for check in result.checks if check.witness is not None]
    return next(islice(result.race_witnesses if what == "race" else waits, int(number), None), None)


def _of_all(asked: PageRequest, found: Decided, number: int, seconds: float) -> tuple[Witness | None, int, bool]:
    """One of every execution, how many there are, and whether there may be more. Raises OutOfTime."""
    from axioms.models.naming import named
    from litmus.test import Test
    from ptxmm.listing import executions
    from ptxmm.result import HowDecided
    from ptxmm.web.reading import named_model, your_model

    if not isinstance(found.test, Test):
        raise NoSuchExecution("every execution is listed of litmus tests only")
    options = dict(asked.options)
    name = asked.models[0]
    readings = frozenset(options.get("readings", ()))
    if name == YOURS:
        model = your_model(asked.cat or "", readings)
    else:
        model = named_model(name, readings)
        readings |= named(name).options
    how = HowDecided(
        options.get("unroll", 4), seconds, "solve", None, options.get("all_registers", False), readings, model_name=name
    )
    listed: list[Witness] = []
    more = False
    try:
        for witness in executions(found.test, model, how):
            if len(listed) == limits.MOST_EXECUTIONS:
                more = True
                break
            listed.append(witness)
    except OutOfTime:
        more = True
    return (listed[number] if number < len(listed) else None), len(listed), more


def _satisfies(result: Result, wanted: int | str, witness: Witness) -> bool | None:
    if isinstance(wanted, int) and wanted < len(result.satisfied):
        return result.satisfied[wanted]
    return witness.satisfied


def _caption(result: Result, wanted: int | str, witness: Witness) -> str:
    if isinstance(wanted, str) and wanted.startswith("all-"):
        ends = ", ".join(f"{name}={value}" for name, value in witness.state.items())
        return f"an execution that ends with {ends}" if ends else "an execution"
    return told.caption(result, wanted.partition("-")[0] if isinstance(wanted, str) else "", wanted)


def _with(execution: Execution, relations: tuple[str, ...]) -> Execution:
    """The execution with more relations drawn. Raises InputError for what is none."""
    more = {}
    for number, expression in enumerate(relations):
        if expression in execution.relations or execution.judged is None:
            continue
        try:
            pairs = execution.judged.value(expression)
        except InputError as error:
            found = [replace_path(d, number) for d in error.diagnostics]
            raise InputError(found, "relations", expression) from None
        more[expression] = tuple(pair for pair in pairs if isinstance(pair, tuple))
    return replace(execution, relations={**execution.relations, **more}) if more else execution


def replace_path(found: Diagnostic, number: int) -> Diagnostic:
    """A finding about one of several relations, which stand a line each."""
    return found._replace(span=Span(number + 1, found.span.column, found.span.end))


def _svg(witness: Witness) -> str:
    text = witness.svg()
    if len(text) > limits.LONGEST_PICTURE:
        raise NoSuchExecution("the picture would be too large: look at a smaller test, or at one with fewer threads")
    return text


def _relations(execution: Execution) -> list[dict[str, Any]]:
    """What is drawn, and what could be."""
    from ptxmm.graphs.selection import bundles

    drawn = {name for bundle in bundles(execution) for name in bundle.relations}
    model = execution.judged.model if execution.judged is not None else None
    names = list(dict.fromkeys([*execution.relations, *(_defined(model) if model is not None else ())]))
    return [{"name": name, "drawn": name in drawn} for name in names]


def _defined(model: Any) -> Iterator[str]:
    """The relations that a model defines, and those that every model has."""
    from axioms.cat.names import BASE

    yield from (name for name, base in BASE.items() if base.kind == "relation" and name not in model.hidden)


def _linearisation(execution: Execution, path: str, what: str) -> dict[str, Any]:
    """What happens, a line for each step, with the events and the edges that it is about; and the reasons: of a `race` why
    nothing orders the two, of another execution why it may be as it is. Of a forbidden one (`why`) the verdict says it."""
    cast = Cast(lambda thread: execution.threads[thread][0], lambda event: Spot(path, event.line or 0))
    linearisation = LinearisationWords(execution, cast)
    names = told.names_of(execution)
    race = linearisation.racing() if what == "race" else None
    reasons = [] if what == "why" else [race] if race else linearisation.explanations()
    steps = linearisation.steps_for(reasons)

    def line(text: str, events: tuple[int, ...], edges: list[tuple[str, int, int]]) -> dict[str, Any]:
        return {
            "text": text,
            "events": [names[i] for i in events if i in names],
            "edges": [[name, names[a], names[b]] for name, a, b in edges if a in names and b in names],
        }

    lines = [
        line(text, events, linearisation.sources(events))
        for text, events in zip(steps.lines, steps.events, strict=False)
    ] + [line(text, (), []) for text in steps.lines[len(steps.events) :]]
    why = [line(r.text, r.involved, linearisation.communications(r.involved)) for r in reasons]
    if what == "wait":  # who waits, the verdict says; that nothing else is strange is of no interest beside it
        why = [reason for reason in why if reason["events"]]
    lines, why = lines[: limits.MOST_LINES], why[: limits.MOST_LINES]
    return {"lines": lines, "reasons": why, "text": "\n".join(str(told["text"]) for told in (*lines, *why))}


def wrong_relation(error: InputError) -> list[dict[str, Any]]:
    """Findings about the relations of a request."""
    return told.diagnostics(error.diagnostics, "relations")

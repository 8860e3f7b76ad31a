"""The cat file of ptx-9.0 says what its second definition says, on random executions of everything that it knows."""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random

import pytest
from campaigns import lengths, share
from mutations import TOLD_BY, WHOLE, mistake, planted, text_of
from whole import Execution, Pairs, base
from whole_definition import Verdict, judge
from whole_random import drawn

from axioms.cat.evaluate import Evaluation, bits
from axioms.cat.model import Model, compile_model
from axioms.models import load

MODEL = "ptx-9.0"
#: Each race is told of under the first of these that has it.
RACES = ("async", "war", "mixed-size", "proxy", "data")


def rows_of(evaluation: Evaluation, name: str) -> Pairs:
    found = evaluation.rows(evaluation.model.names[name])
    return {(i, j) for i, row in enumerate(found) for j in bits(row)}


def flags_of(evaluation: Evaluation) -> dict[str, Pairs]:
    """The pairs that each flag is raised for, a race under the first name that it has."""
    found: dict[str, Pairs] = {}
    told: Pairs = set()
    for flag in evaluation.model.flags:
        pairs = {(i, j) for i, row in enumerate(evaluation.rows(flag.node)) for j in bits(row)}
        if flag.name in RACES:
            pairs = {(min(p), max(p)) for p in pairs} - told
            told |= pairs
        if pairs:
            found[flag.name] = found.get(flag.name, set()) | pairs
    return found


def difference(model: Model, execution: Execution, verdict: Verdict) -> str:
    evaluation = Evaluation(model, len(execution.events), base(execution))
    for name, pairs in verdict.relations.items():
        mine = rows_of(evaluation, name)
        if mine != pairs:
            return f"of {name} the cat file alone has {mine - pairs}, the definition alone {pairs - mine}"
    broken = {axiom.name for axiom in evaluation.violated()}
    if broken != verdict.broken:
        return f"the cat file finds {broken} broken, the definition {verdict.broken}"
    races = {name: {(min(p), max(p)) for p in verdict.flags[name]} for name in RACES if name in verdict.flags}
    expected = {**verdict.flags, **races}
    found = flags_of(evaluation)
    if found != expected:
        return f"the cat file raises {found}, the definition {expected}"
    return ""


def compare(seed: int, executions: int, model: Model | None = None) -> Counter[str]:
    """Compares on that many executions; counts what was seen."""
    rng, model = Random(seed), model or load(MODEL)
    counts: Counter[str] = Counter()
    for _ in range(executions):
        execution = drawn(rng)
        verdict = judge(execution)
        told = difference(model, execution, verdict)
        assert not told, f"{told}\n{shown(execution)}"
        counts.update(verdict.broken or {"consistent"})
        if not verdict.broken:
            counts.update(list(verdict.flags))
    return counts


def shown(execution: Execution) -> str:
    lines = []
    for e in execution.events:
        thing = "" if e.thing is None else f"{e.thing.name}{list(e.cells)}@{e.mapping}"
        words = [e.kind, e.semantics, e.scope or "", e.proxy, thing, e.only, "one-way" if e.one_way else ""]
        words += [f"phase {e.phase}" if e.phase >= 0 else "", f"of {e.issue.index}" if e.issue else ""]
        lines.append(
            f"{e.index}: P{e.thread} {e.place and (e.place.cta, e.place.cluster)} {' '.join(w for w in words if w)}"
        )
    for name in ("rf", "co", "barriers", "sequences", "comp", "api"):
        lines.append(f"{name}: {getattr(execution, name)}")
    return "\n".join(lines)


@pytest.mark.long
@pytest.mark.parametrize("executions", lengths(300, 800))
def test_the_cat_file_says_what_the_definition_says(executions: int) -> None:
    counts = compare(1, executions)
    assert counts["consistent"] > executions / 6, counts
    axioms = (
        "coherence",
        "coherence-total",
        "causality",
        "atomicity",
        "single-copy",
        "no-thin-air",
        "fence-sc",
        "try-wait",
    )
    assert all(counts[name] for name in (*axioms, *RACES, "initialisation", "unfinished", "overwritten")), counts


@pytest.mark.campaign
def test_the_cat_file_says_what_the_definition_says_on_many() -> None:
    compare(2, share(60_000))


@cache
def judged(number: int) -> tuple[Execution, Verdict]:
    execution = drawn(Random(f"mistakes {number}"))
    return execution, judge(execution)


@pytest.mark.long
@pytest.mark.parametrize(("right", "wrong"), planted(WHOLE))
def test_the_comparison_finds_small_mistakes(right: str, wrong: str) -> None:
    mistaken = compile_model(MODEL, mistake(text_of(MODEL), right, wrong))
    numbers = (*((TOLD_BY[wrong],) if wrong in TOLD_BY else ()), *range(60_000))
    assert any(difference(mistaken, *judged(number)) for number in numbers)

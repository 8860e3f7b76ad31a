"""What was measured on hardware, as a table of the documentation: made of what `ptxmm gpu --format json` printed there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

NOTHING = "Nothing has been measured yet: no run on a GPU has been recorded.\n"
_HEAD = "| GPU | Driver | Tests | Instances | Forbidden states seen | Tests with allowed states unseen | Confidence |"


def table(documents: Sequence[str]) -> str:
    """A line for each recorded run, or that there is none. Runs on our own machine are none. Raises ValueError for a text
    that is no such document."""
    lines = [_line(json.loads(text)) for text in documents]
    told = [line for line in lines if line is not None]
    if not told:
        return NOTHING
    found = [_HEAD, "|" + "---|" * (_HEAD.count("|") - 1), *sorted(told)]
    broken = sorted(line for text in documents for line in _forbidden(json.loads(text)))
    return "\n".join([*found, "", *(broken or ["No state that the model forbids was seen."])]) + "\n"


def _forbidden(document: dict[str, Any]) -> Iterator[str]:
    """A line for each state that was seen on hardware and that the model forbids."""
    if document["machine"] == "simulated":
        return
    for test in document["tests"]:
        for row in test["states"]:
            if row["allowed"] is False:
                state = "; ".join(f"{name}={value}" for name, value in row["state"].items())
                where = f"{document['machine']}, driver {document['driver']}"
                often = f"{row['count']:,} of {test['instances']:,} instances"
                yield f"- `{test['name']}` on {where}: `{state}` in {often}, which `{test['model']}` forbids"


def _line(document: dict[str, Any]) -> str | None:
    if document["machine"] == "simulated":
        return None
    tests = document["tests"]
    instances = sum(test["instances"] for test in tests)
    forbidden = sum(state["allowed"] is False for test in tests for state in test["states"])
    unseen = sum(bool(test["unseen"]) for test in tests)
    reached = [c["reached"] for test in tests if (c := test.get("confidence")) and c["reached"] is not None]
    sure = f"{min(reached):.6g} or more in {len(reached)} tests" if reached else "not asked for"
    name, driver = document["machine"], document["driver"]
    return f"| {name} | {driver} | {len(tests)} | {instances:,} | {forbidden} | {unseen} | {sure} |"

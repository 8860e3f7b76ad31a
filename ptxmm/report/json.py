"""Results as one JSON document, at the end."""

from __future__ import annotations

import json
import sys
from typing import Any

from ptxmm import __version__
from ptxmm.checker import Outcome
from ptxmm.result import Result


class JsonReport:
    def __init__(self, model: str) -> None:
        self._model = model
        self._tests: list[dict[str, Any]] = []

    def begin(self, paths: list[str]) -> None:
        pass

    def add(self, outcome: Outcome) -> None:
        self._tests.append(entry(outcome.result))

    def end(self, seconds: float) -> None:
        document = {"ptxmm": __version__, "model": self._model, "tests": self._tests}
        sys.stdout.write(json.dumps(document, indent=1) + "\n")


def entry(result: Result) -> dict[str, Any]:
    """The part of the document that is one test. `kind`, `condition`, `observation` are null where there is none."""
    return {
        "path": result.path,
        "name": result.name,
        "kind": result.kind,
        "condition": result.condition,
        "verdict": result.verdict,
        "observation": result.observation,
        "states": result.states,
        "positive": result.positive,
        "negative": result.negative,
        "complete": result.complete,
        "seconds": round(result.seconds, 6),
        "error": result.error,
        "races": result.races,
        "expected": result.expectation,
        "listed_all": result.listed_all,
        "forbidding": list(result.forbidding),
    }

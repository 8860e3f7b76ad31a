"""Programs with what herd7 answered under a model, and herd's own library where its source is here.

The source of herdtools7 is no part of this project: the environment variable PTXMM_HERD says where it lies.
"""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any

from axioms.cat.model import Model, compile_model
from axioms.models import load
from ptxcore.diagnostics import InputError

SHARED = Path(__file__).resolve().parents[4] / "shared" / "litmus" / "herd" / "programs.json"
HERD = os.environ.get("PTXMM_HERD", "")

State = tuple[tuple[str, int], ...]


def library() -> Path:
    """The folder of herd's models."""
    return Path(HERD) / "herd" / "libdir"


def records(path: Path = SHARED) -> list[dict[str, Any]]:
    """All programs with their models and answers."""
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["records"]
    return found


def of_library(record: dict[str, Any]) -> bool:
    """Whether its model is a file of herd's, by its path, and not a text."""
    return "\n" not in record["model"]


@functools.lru_cache(maxsize=64)
def model_of(text: str) -> Model:
    """A model by what a record says of it."""
    if "\n" in text:
        return compile_model("m.cat", text)
    return load(str(Path(HERD) / text))


def answer_of(record: dict[str, Any]) -> tuple[list[State], list[str]]:
    """What herd7 answered: states and flags."""
    return sorted(tuple(sorted(s.items())) for s in record["states"]), sorted(record.get("flags", []))


def our_answer(record: dict[str, Any], engine: str) -> tuple[list[State], list[str]]:
    """The same of us."""
    import ptxmm

    flags = "flags" in record
    result = ptxmm.check(ptxmm.parse(record["ptx"]), model_of(record["model"]), engine=engine, races=flags, timeout=900)
    assert result.verdict not in ("undecided", "error"), (record["name"], result.error)
    told = {race.kind for race in result.races} if flags else set()
    undefined = ["*undef*"] if flags and result.verdict == "undefined" else []
    return sorted(tuple(sorted(s.items())) for s in result.states), sorted([*told, *undefined])


def library_table() -> str:
    """Each file of herd's library: what becomes of it as a model, and where another one includes it."""
    head = "Files of herd's library (herdtools7 7.56), as ptxmm takes them. What is current is printed by\n"
    head += "`PTXMM_HERD=... python tests/axioms/cat/herd_answers.py`, and a test compares it.\n"
    rows = [head, "| File | As a model | Included |", "|---|---|---|"]
    for path in sorted(library().glob("*.cat")):
        included = f'include "{path.name}"\nempty 0'
        rows.append(f"| `{path.name}` | {_outcome(path.read_text())} | {_outcome(included)} |")
    return "\n".join(rows) + "\n"


def _outcome(text: str) -> str:
    def include(name: str) -> str | None:
        path = library() / name
        return path.read_text(encoding="utf-8") if path.is_file() else None

    try:
        compile_model("m.cat", text, include)
    except InputError as error:
        message = error.diagnostics[0].message
        span = error.diagnostics[0].span
        if "has no axiom" in message:
            return "no axiom"
        place = "" if error.path == "m.cat" else f"{error.path}:"
        return f"{place}{span.line}:{span.column}: {message}"
    return "loads"


if __name__ == "__main__":
    print(library_table(), end="")

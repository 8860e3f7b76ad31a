"""What is wrong with a text, as one types: everything that shows without deciding anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from axioms.errors import UnsupportedProgram
from ptxcore.clock import OutOfTime, limited
from ptxcore.diagnostics import InputError
from ptxmm.web import told
from ptxmm.web.asked import PageRequest
from ptxmm.web.reading import kernel_tests, variants, your_model

#: Loop bodies are followed so often where a text is only looked at.
_UNROLL = 2


def diagnose(asked: PageRequest, seconds: float) -> dict[str, Any]:
    """The answer of /api/diagnose. It never raises for what stands in a text."""
    return {"diagnostics": findings(asked, seconds), "variants": variants(asked)}


def findings(asked: PageRequest, seconds: float) -> list[dict[str, Any]]:
    """Every finding about the text of a request, the files that came with it, and the model beside it."""
    found: list[dict[str, Any]] = []
    try:
        with limited(seconds):
            try:
                found += _LOOKS[asked.kind](asked)
            except InputError as error:
                found += told.of_error(error, asked.path)
            except UnsupportedProgram as error:
                found += told.general(str(error))
            found += _files(asked) + _beside(asked)
    except (OutOfTime, TimeoutError):
        found += told.general("not everything was looked at: there was no more time", "warning", told.UNFINISHED)
    except MemoryError:
        found += told.general("not everything was looked at: there was no more memory", "warning", told.UNFINISHED)
    unique = {tuple(sorted(d.items())): d for d in found}
    return sorted(unique.values(), key=lambda d: (d["in"], d["line"], d["column"]))


def _litmus(asked: PageRequest) -> list[dict[str, Any]]:
    from litmus.formats import read
    from ptxmm.pipeline import build

    build(read(asked.text, asked.path), _UNROLL)
    return []


def _kernel(asked: PageRequest) -> list[dict[str, Any]]:
    """What is wrong with any of the tests of a text."""
    found: list[dict[str, Any]] = []
    tests = kernel_tests(asked)
    for name in tests.variants:
        try:
            tests.test(name)
        except InputError as error:
            found += told.of_error(error, asked.path)
    return found


def _ptx(asked: PageRequest) -> list[dict[str, Any]]:
    from ptxmm.linting import lint_text

    found = told.diagnostics(lint_text(asked.text))
    if not any(d["severity"] == "error" for d in found):
        found += _kernel(asked)
    return found


def _cat(asked: PageRequest) -> list[dict[str, Any]]:
    try:
        your_model(asked.text, frozenset())
    except InputError as error:
        return told.diagnostics(error.diagnostics)
    return []


def _files(asked: PageRequest) -> list[dict[str, Any]]:
    """What is wrong with PTX that came with a text."""
    from ptxmm.linting import lint_text

    return [d for name, text in asked.files if name.endswith(".ptx") for d in told.diagnostics(lint_text(text), name)]


def _beside(asked: PageRequest) -> list[dict[str, Any]]:
    """What is wrong with the model that stands beside a test."""
    if asked.kind == "cat" or asked.cat is None:
        return []
    return [{**d, "in": "cat"} for d in _cat(asked._replace(text=asked.cat))]


_LOOKS: dict[str, Callable[[PageRequest], list[dict[str, Any]]]] = {
    "litmus": _litmus,
    "kernel": _kernel,
    "ptx": _ptx,
    "cat": _cat,
}

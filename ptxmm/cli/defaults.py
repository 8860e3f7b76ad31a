"""Defaults of `ptxmm check`: the table `[tool.ptxmm]` of a project's `pyproject.toml`, whose keys are options."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import Any

from axioms.models.naming import seen_from
from ptxcore.diagnostics import nearest
from ptxcore.sources import read_bytes
from ptxmm.kernels.document import TomlDocument, kind_of

_LONGEST = 4 << 20  # bytes of a file
#: Options of one run, or of one kernel, which no project has as its own.
_NO_DEFAULTS = frozenset(
    ("help", "kinds", "conds", "write-baseline", "shard", "show", "entry", "grid", "block", "cluster", "dynamic-shared", "arg",
     "memory", "forall", "exists", "never", "deterministic", "expect", "no-defaults", "passes", "changed", "device", "bound",
     "launch", "nvcc")
)  # fmt: skip
#: Options that name a file: it is seen from the folder of the project.
_FILES = frozenset(("baseline", "cache", "junit", "sarif", "html", "svg", "dot", "tikz"))


def words_of(path: str, check: argparse.ArgumentParser) -> list[str]:
    """What the table of a `pyproject.toml` says, as words of a command line. Raises InputError for everything that is wrong
    in it, OSError where it cannot be read."""
    text = read_bytes(path, _LONGEST, "settings").decode("utf-8", "replace")
    document = TomlDocument(text, path)
    tool = document.tree.get("tool")
    table = tool.get("ptxmm", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        document.note(("tool", "ptxmm"), f"a table is wanted here, not {kind_of(table)}")
        table = {}
    known = _options(check)
    words: list[str] = []
    for key, value in table.items():
        action = known.get(key)
        if action is None:
            document.note(("tool", "ptxmm", key), f"ptxmm check has no default '{key}'", _hint(key, known), key=True)
            continue
        wrong = _wrong_of_all(action, value)
        if wrong:
            document.note(("tool", "ptxmm", key), wrong)
            continue
        for one in value if isinstance(value, list) else [value]:
            words += _word(key, action, one, os.path.dirname(path))
    document.stop_on_findings()
    return words


def _options(check: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """The options that may have defaults, by their names."""
    found = {name[2:]: action for action in check._actions for name in action.option_strings if name.startswith("--")}
    return {name: action for name, action in found.items() if name not in _NO_DEFAULTS}


def _hint(key: str, known: Mapping[str, argparse.Action]) -> str:
    if key in _NO_DEFAULTS:
        return "it is of one run: write it on the command line"
    return nearest(key.replace("_", "-"), known) or f"it has {', '.join(known)}"


def _wrong_of_all(action: argparse.Action, value: Any) -> str | None:
    """What is wrong with what stands under a key: a list is for options that may be given again. Of any other the last would
    count, and nobody would know of the rest."""
    if not isinstance(value, list) or action.nargs == 0:
        return _wrong(action, value)
    if not isinstance(action.default, list):
        return f"one value is wanted here, not {kind_of(value)}"
    return next(filter(None, (_wrong(action, one) for one in value)), None)


def _wrong(action: argparse.Action, value: Any) -> str | None:
    """What is wrong with a value."""
    if action.nargs == 0:
        return None if isinstance(value, bool) else f"true or false is wanted here, not {kind_of(value)}"
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return f"a string or a number is wanted here, not {kind_of(value)}"
    try:
        made = action.type(str(value)) if callable(action.type) else str(value)
    except (argparse.ArgumentTypeError, ValueError) as error:
        return str(error)
    if action.choices is not None and made not in action.choices:
        return f"one of {', '.join(map(str, action.choices))} is wanted here, not '{value}'"
    return None


def _word(key: str, action: argparse.Action, value: Any, folder: str) -> list[str]:
    if action.nargs == 0:
        return [f"--{key}"] if value else []
    text = str(value)
    if key == "model":
        text = seen_from(folder, text)
    elif key in _FILES and text != "none":
        text = os.path.relpath(os.path.join(folder, text))
    return [f"--{key}={text}"]


def options_of(path: str) -> argparse.Namespace:
    """What `check` is told by a `pyproject.toml` and nothing else. Raises InputError, and OSError."""
    from ptxmm.cli.options import parser

    return parser("check").parse_args([*settled(["check"], path), "."])


def settled(arguments: Sequence[str], path: str) -> list[str]:
    """A command line of `check` with the defaults before what it says itself. Raises InputError, and OSError."""
    from ptxmm.cli.options import parser

    top = parser("check")
    commands = next(a for a in top._actions if isinstance(a, argparse._SubParsersAction))
    return [arguments[0], *words_of(path, commands.choices["check"]), *arguments[1:]]

"""The memory models that ship, by name."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from axioms.cat.model import Model

_FOLDER = os.path.dirname(__file__)
DEFAULT = "ptx-9.0"


def names() -> list[str]:
    """The shipped models, by version."""
    found = [name.removesuffix(".cat") for name in os.listdir(_FOLDER) if name.endswith(".cat")]
    return sorted(found, key=lambda n: [int(x) for x in n.split("-")[1].split(".")])


def load(name: str, options: Iterable[str] = ()) -> Model:
    """A shipped model by name, or a model of the user's by the path of its .cat file, read with options. Raises InputError,
    also for an option that the model does not have."""
    chosen = frozenset(options)
    if name in names():
        return _shipped(name, chosen)
    from axioms.cat.model import compile_model
    from ptxcore.diagnostics import Diagnostic, InputError, Span, nearest

    if not name.endswith(".cat"):
        hint = nearest(name, names()) or f"the models are {', '.join(names())}; a file must end in .cat"
        raise InputError([Diagnostic(Span(0, 0, 0), f"unknown model '{name}'", hint)], name)
    try:
        text = _read(name)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        if "\0" in name:
            reason = "there is no such name"
        raise InputError([Diagnostic(Span(0, 0, 0), f"cannot read the model: {reason}")], name) from error
    if not text.strip():
        raise InputError([Diagnostic(Span(0, 0, 0), "the model is empty: it would allow everything")], name)
    return compile_model(name, text, functools.partial(_beside, os.path.dirname(name)), chosen)


def _read(path: str) -> str:
    with open(path, encoding="utf-8-sig") as file:
        return file.read()


def _beside(folder: str, name: str) -> str | None:
    try:
        return _read(os.path.join(folder, name))
    except (OSError, ValueError):  # no text, or no name that a file could have
        return None


@functools.lru_cache(maxsize=8)
def _shipped(name: str, options: frozenset[str]) -> Model:
    from axioms.cat.model import compile_model

    return compile_model(name, _read(os.path.join(_FOLDER, f"{name}.cat")), options=options)

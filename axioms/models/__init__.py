"""The memory models that ship, by name."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

from axioms.cat.model import Model, compile_model
from ptxcore.diagnostics import Diagnostic, InputError, Span, nearest

_FOLDER = Path(__file__).parent
DEFAULT = "ptx-9.0"


def names() -> list[str]:
    """The shipped models, by version."""
    return sorted((p.stem for p in _FOLDER.glob("*.cat")), key=lambda n: [int(x) for x in n.split("-")[1].split(".")])


def load(name: str, options: Iterable[str] = ()) -> Model:
    """A shipped model by name, or a model of the user's by the path of its .cat file, read with options. Raises InputError,
    also for an option that the model does not have."""
    chosen = frozenset(options)
    if name in names():
        return _shipped(name, chosen)
    path = Path(name)
    if not name.endswith(".cat"):
        hint = nearest(name, names()) or f"the models are {', '.join(names())}; a file must end in .cat"
        raise InputError([Diagnostic(Span(0, 0, 0), f"unknown model '{name}'", hint)], name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        if "\0" in name:
            reason = "there is no such name"
        raise InputError([Diagnostic(Span(0, 0, 0), f"cannot read the model: {reason}")], name) from error
    return compile_model(name, text, functools.partial(_beside, path.parent), chosen)


def _beside(folder: Path, name: str) -> str | None:
    try:
        return (folder / name).read_text(encoding="utf-8")
    except (OSError, ValueError):  # no text, or no name that a file could have
        return None


@functools.lru_cache(maxsize=8)
def _shipped(name: str, options: frozenset[str]) -> Model:
    return compile_model(name, (_FOLDER / f"{name}.cat").read_text(encoding="utf-8"), options=options)

"""The memory models that ship, by name."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from axioms.models.options import CONTRARY, OF_LAUNCHES, of_models
from ptxcore.diagnostics import Diagnostic, InputError, Span, nearest

if TYPE_CHECKING:
    from axioms.cat.model import Model

_LONGEST = 256 << 10  # bytes of a model: those that are published have a tenth of it
_FOLDER = os.path.dirname(__file__)
DEFAULT = "ptx-9.0"
_SENTENCE_END = re.compile(r"\.\s")


def names() -> list[str]:
    """The shipped models, by version."""
    found = [name.removesuffix(".cat") for name in os.listdir(_FOLDER) if name.endswith(".cat")]
    return sorted(found, key=lambda n: [int(x) for x in n.split("-")[1].split(".")])


def load(name: str, options: Iterable[str] = ()) -> Model:
    """A shipped model by name, or a model of the user's by the path of its .cat file, read with options. The name may
    leave out axioms, choose readings, say where `include` looks and what pictures show besides: see
    `axioms.models.naming`. Raises InputError, also for an option or an axiom that the model does not have."""
    from axioms.models.naming import named, said_by

    told = named(name, options)
    base, chosen = told.base, of_models(told.options)
    for one, other in CONTRARY:
        if {one, other} <= chosen:
            said = f"--{one} and --{other} are two readings of the same words: a test follows one of them"
            raise InputError([Diagnostic(Span(0, 0, 0), said)], name)
    if base in names():
        return _shipped(base, chosen, told.without, told.shown, said_by(name))
    from axioms.cat.model import compile_model

    if not base.endswith(".cat"):
        hint = nearest(base, names()) or f"the models are {', '.join(names())}; a file must end in .cat"
        raise InputError([Diagnostic(Span(0, 0, 0), f"unknown model '{base}'", hint)], name)
    for folder in told.folders:
        if not os.path.isdir(folder):
            raise InputError([Diagnostic(Span(0, 0, 0), f"-I {folder}: there is no such folder")], name)
    base = _found(base, told.folders)
    try:
        text = _read(base)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError([Diagnostic(Span(0, 0, 0), f"cannot read the model: {reason}")], name) from error
    include = functools.partial(_included, (os.path.dirname(base), *told.folders))
    model = compile_model(base, text, include, chosen, told.without, told.shown)
    model.name = said_by(name)
    model.shipped = "" if told.without else next((n for n in names() if text == text_of(n)), "")
    return model


def _found(path: str, folders: Sequence[str]) -> str:
    """The path, or where there is no such file the first of that name in the folders, as herd7 has it."""
    if "\0" in path or os.path.lexists(path):
        return path
    return next((p for p in (os.path.join(folder, path) for folder in folders) if os.path.isfile(p)), path)


def _read(path: str) -> str:
    """Raises OSError, and ValueError for what is no text."""
    from ptxcore.sources import read_bytes

    if "\0" in path:
        raise ValueError("there is no such name")
    try:
        text = read_bytes(path, _LONGEST, "a model").decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    return text.replace("\r\n", "\n")


def _included(folders: Sequence[str], name: str) -> str | None:
    """A file in one of the folders, or below it: the first that there is; else a model that ships, by its name; None where
    there is neither. What lies elsewhere is nobody's to include: a message would show what stands in it."""
    if os.path.isabs(name):
        raise ValueError("it does not lie in the model's folder by this name; -I DIR says where else to look")
    outside = 0
    for folder in folders:
        path, inside = os.path.join(folder, name), os.path.realpath(folder or ".")
        if os.path.commonpath([inside, os.path.realpath(path)]) != inside:
            outside += 1
            continue
        with contextlib.suppress(FileNotFoundError):
            return _read(path)
    if outside == len(folders):
        raise ValueError("it does not lie in the model's folder, nor below a folder that -I names")
    shipped = name.removesuffix(".cat")
    return text_of(shipped) if name.endswith(".cat") and shipped in names() else None


def path_of(name: str) -> str:
    """Where a model that ships lies."""
    return os.path.join(_FOLDER, f"{name}.cat")


def text_of(name: str) -> str:
    """The text of a model that ships."""
    with open(path_of(name), encoding="utf-8") as file:
        return file.read()


def about(name: str) -> str:
    """What a model that ships is: the first sentence of its first comment."""
    comment = text_of(name).partition("(*")[2].partition("*)")[0]
    return " ".join(_SENTENCE_END.split(comment, maxsplit=1)[0].split())


@functools.lru_cache(maxsize=32)
def _shipped(base: str, options: frozenset[str], without: tuple[str, ...], shown: tuple[str, ...], name: str) -> Model:
    from axioms.cat.model import compile_model

    of_launches = options & OF_LAUNCHES.keys()
    model = compile_model(base, text_of(base), options=options - of_launches, without=without, shown=shown)
    model.name, model.readings = name, model.readings | of_launches
    model.shipped = "" if without else base  # what is less an axiom is not what ships
    return model

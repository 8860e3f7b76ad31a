"""What a name of a model may say: which model, without which axioms, by which readings, with what is included from where.

ptx-9.0    ptx-9.0/-atomicity    ptx-9.0/-atomicity/-coherence    ptx-9.0 --dep data --war-ok    my.cat/-sc -I herd/libdir
ptx-9.0 --show rf;co as seen
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from axioms.models.options import OPTIONS
from ptxcore.diagnostics import Diagnostic, InputError, Span, nearest
from ptxcore.records import NamedTuple

_READINGS = re.compile(r"\s+(?=--|-I\s)")
_SHOW = "--show"
_DROPPED = re.compile(r"/-([^/\s]+)")
#: What is less some axioms, and which.
_LESS = re.compile(rf"(?P<base>ptx-[\d.]+|.*\.cat)(?P<axioms>(?:{_DROPPED.pattern})+)", re.DOTALL)
_LESS_OR_FILE = re.compile(r".*\.cat(?:/-|\s|$)", re.DOTALL)


class Named(NamedTuple):
    """`base` is a shipped model's name or the path of a file; `without` are the axioms that are left out, and `options` the
    readings. `folders` are those where a file's `include` looks, behind its own. `shown` is what pictures show besides, each as
    behind `show` in a file: that is no part of what the model says."""

    base: str
    without: tuple[str, ...] = ()
    options: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()

    def __str__(self) -> str:
        readings = (f" --{option.replace('=', ' ')}" for option in OPTIONS if option in self.options)
        folders = (f" -I {folder}" for folder in self.folders)
        return "".join([self.base, *(f"/-{axiom}" for axiom in self.without), *readings, *folders])


def named(text: str, options: Iterable[str] = ()) -> Named:
    """What a name says, `options` besides. Raises InputError for a reading that there is not."""
    whole, *more = _READINGS.split(text)
    folders = tuple(dict.fromkeys(word[2:].strip() for word in more if word.startswith("-I")))
    shown = tuple(dict.fromkeys(word[len(_SHOW) :].strip() for word in more if _shows(word)))
    chosen = frozenset(_reading(text, word) for word in more if not word.startswith("-I") and not _shows(word))
    less = _LESS.fullmatch(whole)
    if less is None:
        return Named(whole, (), chosen | frozenset(options), folders, shown)
    dropped = tuple(dict.fromkeys(_DROPPED.findall(less["axioms"])))
    return Named(less["base"], dropped, chosen | frozenset(options), folders, shown)


def _shows(word: str) -> bool:
    return word.split(maxsplit=1)[0] == _SHOW


def showing(text: str, shown: Iterable[str]) -> str:
    """The name with more that pictures show."""
    return "".join([text, *(f" {_SHOW} {' '.join(expression.split())}" for expression in shown)])


def said_by(text: str) -> str:
    """The name of what a model says, whatever pictures show besides."""
    whole, *more = _READINGS.split(text)
    kept = [word for word in more if not _shows(word)]
    return " ".join([whole, *kept]) if len(kept) < len(more) else text


def including(text: str, folders: Iterable[str]) -> str:
    """The name with more folders where a file's `include` looks; a model that ships includes nothing."""
    if not _LESS_OR_FILE.match(text):
        return text
    return "".join([text, *(f" -I {folder}" for folder in folders)])


def seen_from(folder: str, text: str) -> str:
    """The name as it is written from here, where it was written in a folder: a model in a file, and folders where its `include`
    looks, are seen from there."""
    whole, *more = _READINGS.split(text)
    if not _LESS_OR_FILE.match(whole):
        return text
    less = _LESS.fullmatch(whole)
    base = less["base"] if less else whole
    there = [_below(folder, base) + whole[len(base) :]]
    return " ".join([*there, *(f"-I {_below(folder, w[2:].strip())}" if w.startswith("-I") else w for w in more)])


def _below(folder: str, path: str) -> str:
    return os.path.relpath(os.path.join(folder, path))


def reading(text: str, options: Iterable[str]) -> str:
    """The name with more readings, so that whoever reads it knows by which the answers were found. A switch of the engine
    is no reading, and no part of a name."""
    more = [option for option in OPTIONS if option in {*options} and option not in _chosen(text)]
    return "".join([text, *(f" --{option.replace('=', ' ')}" for option in more)])


def _chosen(text: str) -> frozenset[str]:
    """The readings that a name chooses; none where it chooses one that there is not, which whoever takes it says."""
    try:
        return named(text).options
    except InputError:
        return frozenset()


def _reading(text: str, words: str) -> str:
    """`--dep data` as the option that it is."""
    option = "=".join(re.split(r"[\s=]+", words.removeprefix("--").strip()))
    if option in OPTIONS:
        return option
    hint = nearest(option, OPTIONS) or f"the readings are {', '.join('--' + o.replace('=', ' ') for o in OPTIONS)}"
    raise InputError([Diagnostic(Span(0, 0, 0), f"unknown reading '{words}'", hint.replace("=", " "))], text)

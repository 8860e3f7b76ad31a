"""What a name of a model may say: which model, without which axioms, by which readings.

ptx-9.0    ptx-9.0/-atomicity    ptx-9.0/-atomicity/-coherence    ptx-9.0 --dep data --war-ok    my.cat/-sc
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from axioms.models.options import OPTIONS
from ptxcore.diagnostics import Diagnostic, InputError, Span, nearest

_READINGS = re.compile(r"\s+(?=--)")
_DROPPED = re.compile(r"/-([^/\s]+)")
#: What is less some axioms, and which.
_LESS = re.compile(rf"(?P<base>ptx-[\d.]+|.*\.cat)(?P<axioms>(?:{_DROPPED.pattern})+)", re.DOTALL)


class Named(NamedTuple):
    """`base` is a shipped model's name or the path of a file; `without` are the axioms that are left out, and `options` the
    readings."""

    base: str
    without: tuple[str, ...] = ()
    options: frozenset[str] = frozenset()

    def __str__(self) -> str:
        readings = (f" --{option.replace('=', ' ')}" for option in OPTIONS if option in self.options)
        return "".join([self.base, *(f"/-{axiom}" for axiom in self.without), *readings])


def named(text: str, options: Iterable[str] = ()) -> Named:
    """What a name says, `options` besides. Raises InputError for a reading that there is not."""
    whole, *readings = _READINGS.split(text)
    chosen = frozenset(_reading(text, reading) for reading in readings)
    less = _LESS.fullmatch(whole)
    if less is None:
        return Named(whole, (), chosen | frozenset(options))
    dropped = tuple(dict.fromkeys(_DROPPED.findall(less["axioms"])))
    return Named(less["base"], dropped, chosen | frozenset(options))


def _reading(text: str, words: str) -> str:
    """`--dep data` as the option that it is."""
    option = "=".join(re.split(r"[\s=]+", words.removeprefix("--").strip()))
    if option in OPTIONS:
        return option
    hint = nearest(option, OPTIONS) or f"the readings are {', '.join('--' + o.replace('=', ' ') for o in OPTIONS)}"
    raise InputError([Diagnostic(Span(0, 0, 0), f"unknown reading '{words}'", hint.replace("=", " "))], text)

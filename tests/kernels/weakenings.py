"""Every way to weaken a kernel by one step: a fence, a barrier, a scope or an order less.

Each fence and barrier is taken away; each order becomes the next weaker ones (`.acq_rel` `.acquire` and `.release`, these
`.relaxed`, `.sc` `.acq_rel`), each scope the narrower ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ptxcore.places import SCOPES
from ptxcore.syntax.reader import read_module
from ptxcore.syntax.tree import Instruction

#: Instructions that order others and do nothing else.
_ORDERING = ("fence", "membar")
#: What an order may become.
_ORDERS = {
    "acq_rel": ("acquire", "release"),
    "acquire": ("relaxed",),
    "release": ("relaxed",),
    "sc": ("acq_rel",),
}
_LEVELS = {"membar": ("cta", "gl", "sys")}
#: An instruction that orders nothing.
_NOTHING = "nanosleep.u32 0"


class Weakening(NamedTuple):
    """`text` is the module with `what` done to the instruction at `line`."""

    line: int
    what: str
    text: str


def weakenings(text: str) -> list[Weakening]:
    """All modules that are one step weaker, in the order of their lines."""
    module, errors = read_module(text)
    assert not errors, errors
    begins = [0]
    for line in text.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    found = []
    for statement in module.statements:
        if isinstance(statement, Instruction):
            line, column = statement.start
            begin, old = begins[line - 1] + column - 1, statement.text
            for what, new in _weaker(statement):
                whole = text[:begin] + new + text[begin + len(old) :]
                found.append(Weakening(statement.span.line, what, whole))
    return found


def _weaker(s: Instruction) -> Iterator[tuple[str, str]]:
    name = ".".join((s.opcode, *s.modifiers))
    if s.opcode in _ORDERING or (s.opcode in ("bar", "barrier") and "sync" in s.modifiers):
        yield f"{name} taken away", _NOTHING + "\n" * s.text.count("\n")
    for i, word in enumerate(s.modifiers):
        for other in _ORDERS.get(word, ()):
            if s.opcode != "fence" or other != "relaxed":  # a fence that orders nothing is one taken away
                yield _changed(s, name, i, other)
        levels = _LEVELS.get(s.opcode, SCOPES)
        if word in levels and s.opcode in ("ld", "st", "atom", "red", "fence", "membar"):
            for other in levels[: levels.index(word)]:
                yield _changed(s, name, i, other)


def _changed(s: Instruction, name: str, i: int, other: str) -> tuple[str, str]:
    word = s.modifiers[i]
    parts = [s.opcode, *s.modifiers]
    parts[i + 1] = other
    head, tail = s.text.split(name, 1)
    return f".{word} of {name} becomes .{other}", head + ".".join(parts) + tail

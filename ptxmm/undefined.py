"""Why a program has no meaning, in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from axioms.events.memory import Beside
    from axioms.witness.result import Site, Undefined


def sentence(undefined: Undefined) -> str:
    """What is done against which rule; where the access goes that does it."""
    return f"{undefined.rule}: {_where(undefined.beside)}" if undefined.beside else undefined.rule


def whole(undefined: Undefined) -> str:
    """The same with the instructions that do it."""
    return _with(sentence(undefined), [*map(culprit, undefined.culprits)])


def culprit(site: Site) -> str:
    """`P0, line 3: bar.sync 0, 64`; what memory holds at first is nobody's: `x = 0, initially`"""
    if not site.name:
        return f"{site.instruction}, initially"
    return f"{site.name}, line {site.line}: {site.instruction}"


def place(undefined: Undefined) -> str:
    """What tells it from others in its test, and stays the same when unrelated lines change."""
    return _with(sentence(undefined), [f"{site.name}, line: {shape(site.instruction)}" for site in undefined.culprits])


def _with(text: str, culprits: list[str]) -> str:
    return f"{text} ({'; '.join(culprits)})" if culprits else text


def _where(beside: Beside) -> str:
    """`4 bytes at x+4, and x has 4 bytes`"""
    size, thing = _bytes(beside.size), beside.name + beside.owner
    if beside.multimem:
        return f"{size} at {thing}, a multimem address, which multimem instructions alone may access (section 8.2.3)"
    if not beside.name:
        return f"{size} at address {beside.address:#x}, where nothing is near"
    if beside.offset < 0:
        return f"{size} at {thing}{beside.offset}, before its first byte"
    at = f"{thing}+{beside.offset}" if beside.offset else thing
    return f"{size} at {at}, and {thing} has {_bytes(beside.length)}"


def _bytes(number: int) -> str:
    return f"{number} byte{'s' * (number != 1)}"


_REGISTER = re.compile(r"%(r|rd|rs|rc|f|fd|p|h|hh|b)\d+\b")


def shape(instruction: str) -> str:
    """An instruction without what unrelated changes change: the numbers of its registers."""
    return " ".join(_REGISTER.sub(r"%\1", instruction).split())

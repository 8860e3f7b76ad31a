"""A reader of logs by the grammar that herd7's tools have for them (tools/lexLog_tools.mll and lib/stateParser.mly of
herdtools7): written anew after what those accept, and stricter in that nothing may be left out.

Their lexer drops a whole log for one state line that it does not know, and their reader of conditions falls over a number
that 64 bits do not hold.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_NAME = r"[A-Za-z][A-Za-z0-9.]*"
_LOCATION = rf"(?:{_NAME}|\$(?:[A-Za-z]+|\d+))"
_NUMBER = r"-?(?:0x[0-9a-fA-F]+|\d+)"
_PLACE = rf"\d+:{_NAME}|\[{_LOCATION}\]|{_LOCATION}\[\d+\]|{_LOCATION}"
_VALUE = rf"{_NUMBER}|{_NAME}"
_CELL = re.compile(rf"[ \t]*({_PLACE})[ \t]*=[ \t]*({_VALUE})[ \t]*;")
_TEST_NAME = r"[A-Za-z0-9_/.\-+\[\]]+"
_KINDS = ("Allowed", "Forbidden", "Required")
_TOKEN = re.compile(
    rf"[ \t]*(?:(/\\|\\/|=>|<>|!=|==|[()=~])|(not|exists|forall|true|false)\b|((?:{_PLACE})(?![\w.:\[]))|({_NUMBER}))"
)
#: Words that are no names in a condition.
_WORDS = {"nop", "pac", "pacda", "pacdb", "pacia", "pacib", "observed", "and", "final", "with", "locations", "filter"}
_WORDS |= {"fault", "tag", "attrs", "oa", "parel1_t"}


class Log(NamedTuple):
    name: str
    kind: str
    states: list[dict[str, str]]
    answer: str
    loop: bool
    positive: int
    negative: int
    flags: list[str]
    condition: str | None


class LogError(ValueError):
    """A line that their tools do not read as what it is meant for."""


def read(text: str) -> list[Log]:
    """The tests of a log. Raises LogError for a line that is none of its grammar."""
    lines = text.split("\n")
    if lines.pop() != "":
        raise LogError("the last line has no end")
    found = []
    while lines:
        found.append(_block(lines))
        _take(lines, r"")
    return found


def _take(lines: list[str], pattern: str) -> re.Match[str]:
    line = lines.pop(0) if lines else "the end of the log"
    match = re.fullmatch(pattern, line)
    if match is None:
        raise LogError(f"{line!r} is not {pattern!r}")
    return match


def _block(lines: list[str]) -> Log:
    name, kind = _take(lines, rf"Test ({_TEST_NAME}) ({'|'.join(_KINDS)})").groups()
    count = int(_take(lines, r"States (\d+)")[1])
    states = [_state(_take(lines, r".*")[0]) for _ in range(count)]
    answer = _take(lines, r"(Loop )?(Ok|No|Undef)")
    _take(lines, "Witnesses")
    witnesses = _take(lines, r"Positive: (\d+) Negative: (\d+)")
    flags = []
    while lines and lines[0].startswith("Flag "):
        flags.append(_take(lines, r"Flag (\S+)")[1])
    condition = None
    if lines and lines[0].startswith("Condition "):
        condition = _take(lines, r"Condition (.+)")[1]
        _Condition(condition).read()
    _take(lines, rf"Observation {re.escape(name)} (Never|Sometimes|Always) \d+ \d+")
    _take(lines, rf"Time {re.escape(name)} \d+\.\d+")
    _take(lines, r"Hash=[0-9a-f]+")
    positive, negative = int(witnesses[1]), int(witnesses[2])
    return Log(name, kind, states, answer[2], answer[1] is not None, positive, negative, flags, condition)


def _state(line: str) -> dict[str, str]:
    state, at = {}, 0
    while at < len(line):
        cell = _CELL.match(line, at)
        if cell is None:
            raise LogError(f"{line[at:]!r} is no value of a place")
        state[cell[1]] = cell[2]
        at = cell.end()
    return state


class _Condition:
    """QUANTIFIER PROPOSITION, read by recursive descent."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def read(self) -> None:
        if not self._word("forall"):
            self._word("~")
            self._need("exists")
        self._implication()
        if self.at != len(self.text.rstrip()):
            raise LogError(f"{self.text!r}: {self.text[self.at :]!r} is left over")

    def _next(self) -> re.Match[str]:
        token = _TOKEN.match(self.text, self.at)
        if token is None:
            raise LogError(f"{self.text!r}: {self.text[self.at :]!r} begins with no word of a condition")
        return token

    def _word(self, word: str) -> bool:
        if self.at < len(self.text) and word in (self._next()[1], self._next()[2]):
            self.at = self._next().end()
            return True
        return False

    def _need(self, *words: str) -> None:
        if not any(self._word(word) for word in words):
            raise LogError(f"{self.text!r}: one of {words} is missing at {self.text[self.at :]!r}")

    def _implication(self) -> None:
        self._several("\\/")
        if self._word("=>"):
            self._implication()

    def _several(self, operator: str) -> None:
        below = self._atom if operator == "/\\" else lambda: self._several("/\\")
        below()
        while self._word(operator):
            below()

    def _atom(self) -> None:
        if self._word("~") or self._word("not"):
            self._atom()
        elif self._word("("):
            self._implication()
            self._need(")")
        elif not (self._word("true") or self._word("false")):
            self._value(place=True)
            self._need("=", "==", "<>", "!=")
            self._value(place=False)

    def _value(self, *, place: bool) -> None:
        token = self._next()
        number = token[4]
        if token[3] is None and (place or number is None):
            raise LogError(f"{self.text!r}: {self.text[self.at :]!r} is no place or value")
        if number is not None and not -(1 << 63) <= int(number, 0) < 1 << (64 if "x" in number else 63):
            raise LogError(f"{self.text!r}: {number} is no number of 64 bits")
        if token[3] is not None and token[3].lower() in _WORDS:
            raise LogError(f"{self.text!r}: {token[3]} is no name there")
        self.at = token.end()

"""Where the keys and values of a TOML document stand in its text: `tomllib` reads documents but does not say.

Only for texts that `tomllib` has accepted: nothing is checked here.
"""

from __future__ import annotations

import re

from ptxcore.records import NamedTuple

#: A way through a document: `("variant", 0, "check", "forall")`.
Way = tuple[str | int, ...]


class KeyPosition(NamedTuple):
    """Offsets of a key (the last part of its name) and of its value; a table's value is its header, or its braces."""

    key: tuple[int, int]
    value: tuple[int, int]


_BLANK = re.compile(r"(?>(?:[ \t\r\n]++|#[^\n]*+)*)")
_KEY = re.compile(r"""[ \t]*+([A-Za-z0-9_-]++|"(?>(?:[^"\\]++|\\.)*)"|'[^']*+')[ \t]*+""")
_HEADER = re.compile(r"\[\[?")
_STRING = re.compile(
    r'"""(?>(?:[^"\\]++|\\[\s\S]|"(?!""))*)"{3,5}'
    r"|'''(?>(?:[^']++|'(?!''))*)'{3,5}"
    r'|"(?>(?:[^"\\\n]++|\\.)*)"'
    r"|'[^'\n]*+'"
)
_PLAIN = re.compile(r"[^\s,\]}#][^,\]}#\n]*")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}


def positions(text: str) -> dict[Way, KeyPosition]:
    """The place of every key, and of every element of an array."""
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: dict[Way, KeyPosition] = {}
        self._tables: dict[Way, int] = {}  # how many tables each array of tables has so far

    def scan(self) -> dict[Way, KeyPosition]:
        table: Way = ()
        while True:
            self._skip()
            if self.at >= len(self.text):
                return self.found
            header = _HEADER.match(self.text, self.at)
            if header:
                table = self._header(header)
            else:
                self._pair(table)

    def _skip(self) -> None:
        blank = _BLANK.match(self.text, self.at)
        assert blank is not None
        self.at = blank.end()

    def _name(self) -> list[tuple[str, tuple[int, int]]]:
        """A key with dots, as its parts."""
        parts: list[tuple[str, tuple[int, int]]] = []
        while True:
            part = _KEY.match(self.text, self.at)
            if part is None:  # not TOML, and then nobody asks
                self.at = len(self.text)
                return parts or [("", (self.at, self.at))]
            parts.append((_unquoted(part[1]), part.span(1)))
            self.at = part.end()
            if self.text[self.at : self.at + 1] != ".":
                return parts
            self.at += 1

    def _header(self, header: re.Match[str]) -> Way:
        start, self.at = self.at, header.end()
        parts = self._name()
        self.at += len(header[0])
        place = start, self.at
        way: Way = ()
        for i, (name, span) in enumerate(parts):
            way = (*way, name)
            last = i == len(parts) - 1
            if last and header[0] == "[[":
                number = self._tables[way] = self._tables.get(way, -1) + 1
                self.found.setdefault(way, KeyPosition(span, place))
                way = (*way, number)
            elif way in self._tables:
                way = (*way, self._tables[way])  # a table below the latest of an array
            if last or way not in self.found:
                self.found[way] = KeyPosition(span, place)
        return way

    def _pair(self, table: Way) -> None:
        parts = self._name()
        self.at += 1  # the '='
        way = table
        start = parts[0][1][0]
        for name, span in parts[:-1]:
            way = (*way, name)
            self.found.setdefault(way, KeyPosition(span, (start, span[1])))
        name, span = parts[-1]
        way = (*way, name)
        self.found[way] = KeyPosition(span, span)
        self.found[way] = KeyPosition(span, self._value(way))

    def _value(self, way: Way) -> tuple[int, int]:
        self._skip()
        start = self.at
        string = _STRING.match(self.text, start)
        opening = self.text[start : start + 1]
        if string:
            self.at = string.end()
        elif opening == "[":
            self._array(way)
        elif opening == "{":
            self._table(way)
        else:
            plain = _PLAIN.match(self.text, start)
            self.at = start + len(plain[0].rstrip()) if plain else start + 1
        return start, self.at

    def _array(self, way: Way) -> None:
        self.at += 1
        for number in range(len(self.text)):
            self._skip()
            if self.text[self.at : self.at + 1] in ("]", ""):
                break
            place = self._value((*way, number))
            self.found[(*way, number)] = KeyPosition(place, place)
            self._skip()
            if self.text[self.at : self.at + 1] == ",":
                self.at += 1
        self.at += 1

    def _table(self, way: Way) -> None:
        self.at += 1
        while True:
            self._skip()
            if self.text[self.at : self.at + 1] in ("}", ""):
                break
            self._pair(way)
            self._skip()
            if self.text[self.at : self.at + 1] == ",":
                self.at += 1
        self.at += 1


def _unquoted(key: str) -> str:
    if key[:1] == "'":
        return key[1:-1]
    if key[:1] != '"':
        return key
    return re.sub(
        r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))",
        lambda m: _ESCAPES.get(m[3], "") if m[3] else chr(int(m[1] or m[2], 16)),
        key[1:-1],
    )

"""A TOML file while a kernel test is read from it: values with their places, tables laid over one another, findings."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ptxcore.diagnostics import Diagnostic, InputError, Span
from ptxcore.records import NamedTuple
from ptxmm.kernels.positions import KeyPosition, Way, positions
from ptxmm.kernels.words import suggested
from ptxmm.result import Spot

_AT = re.compile(
    r"^(?P<what>.*?)(?: \(at line (?P<line>\d+), column (?P<column>\d+)\)| \(at end of document\))?$", re.S
)
_KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "a table",
}
_QUOTES = re.compile(r"\"\"\"\n?|'''\n?|\"|'")
_MOST = 50  # findings of one file that are worth showing
#: A key of so many parts: `tomllib` takes the square of their number, and no test has one.
_DEEP_KEY = re.compile(
    r"""(?:^|[{,])[ \t]*+\[{0,2}[ \t]*+((?:(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100})""",
    re.MULTILINE,
)
#: No integer of a test has more digits, and those of TOML have 64 bits. Python writes none of more than 4,300.
_MOST_DIGITS = 100
_LONG_INTEGER = re.compile(rf"[\dA-Fa-f_]{{{_MOST_DIGITS}}}")


def kind_of(value: object) -> str:
    """What a TOML value is, in words."""
    return _KINDS.get(type(value), "a date or a time")


def tree_of(text: str) -> dict[str, Any]:
    """What stands in a TOML document. Raises ValueError for what is none, or has more in it than a kernel test can mean; the
    place stands at the end of what it says, as `tomllib` has it."""
    deep = _DEEP_KEY.search(text)
    if deep is not None:
        raise ValueError(f"a key has too many parts ({_told(text, deep.start(1))})")
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # an integer that Python does not read
        raise _too_long(text) from None
    except RecursionError:
        raise ValueError("tables and arrays nest too deep") from None
    if _LONG_INTEGER.search(text) and any(_is_long(value) for value in _values(tree)):
        raise _too_long(text)
    return tree


def _told(text: str, at: int) -> str:
    return f"at line {text.count(chr(10), 0, at) + 1}, column {at - text.rfind(chr(10), 0, at)}"


def _too_long(text: str) -> ValueError:
    longest = max(re.finditer(r"\d[\dA-Fa-fx_]*+", text), key=lambda m: m.end() - m.start())
    return ValueError(f"an integer is too long ({_told(text, longest.start())})")


def _values(tree: dict[str, Any]) -> Iterator[Any]:
    waiting: list[Any] = [tree]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        else:
            yield value


def _is_long(value: Any) -> bool:
    return isinstance(value, int) and value.bit_length() > 4 * _MOST_DIGITS


class TomlDocument:
    """The text, what `tomllib` makes of it, and what is wrong with it so far."""

    def __init__(self, text: str, path: str) -> None:
        """Raises InputError for text that is no TOML."""
        self.text, self.path = text.replace("\r\n", "\n"), path
        self._starts = [0, *(m.end() for m in re.finditer("\n", self.text))]
        self._findings: dict[Diagnostic, None] = {}
        self._places: dict[Way, KeyPosition] | None = None
        try:
            self.tree: dict[str, Any] = tree_of(self.text)
        except ValueError as error:
            raise self._no_toml(str(error)) from None

    @classmethod
    def of(
        cls, tree: dict[str, Any], path: str, text: str = "", places: Mapping[Way, KeyPosition] | None = None
    ) -> TomlDocument:
        """A document that was never TOML. `places` are those of its values in another text, as a command line; without a text
        its findings have no lines, and name the keys that they are about."""
        document = cls("", path)
        document.tree, document.text = tree, text
        document._starts = [0, *(m.end() for m in re.finditer("\n", text))]
        document._places = None if places is None else dict(places)
        return document

    def _no_toml(self, said: str) -> InputError:
        found = _AT.match(said)
        line, column = len(self._starts), 1
        if found and found["line"]:
            line, column = int(found["line"]), int(found["column"])
        what = found["what"] if found else said
        finding = Diagnostic(Span(line, column, column + 1), f"no TOML: {what[:1].lower()}{what[1:]}")
        return InputError([finding], self.path, self.text)

    def place(self, way: Way) -> KeyPosition:
        """Where the way leads; where it leads out of the text, the nearest table above."""
        if self._places is None:
            self._places = positions(self.text)
        while way and way not in self._places:
            way = way[:-1]
        return self._places.get(way, KeyPosition((0, 0), (0, 0)))

    def span(self, start: int, end: int) -> Span:
        """A stretch of the text, as far as it lies on its first line."""
        if not self.text:
            return Span(0, 0, 0)
        line = bisect_right(self._starts, start)
        first = self._starts[line - 1]
        newline = self.text.find("\n", start, end)
        end = newline if newline >= 0 else end
        return Span(line, start - first + 1, max(start + 1, end) - first + 1)

    def spot(self, way: Way) -> Spot:
        start, end = self.place(way).key
        span = self.span(start, end)
        return Spot(self.path, span.line, span.column)

    def note(self, way: Way, message: str, hint: str | None = None, *, key: bool = False) -> None:
        """Keeps a finding about the value that the way leads to, or about its key."""
        place = self.place(way)
        if not self.text and way:
            message = f"{'.'.join(map(str, way))}: {message}"
        self._keep(self.span(*(place.key if key else place.value)), message, hint)

    def note_inside(self, way: Way, start: int, end: int, message: str, hint: str | None = None) -> None:
        """Keeps a finding about characters of a string; about all of it where escapes move them."""
        if not self.text:
            self.note(way, message, hint)
            return
        first, last = self.place(way).value
        quotes = _QUOTES.match(self.text, first)
        if quotes and not (quotes[0][0] == '"' and "\\" in self.text[first:last]):
            first, last = quotes.end() + start, quotes.end() + end
        self._keep(self.span(first, last), message, hint)

    def _keep(self, span: Span, message: str, hint: str | None) -> None:
        self._findings[Diagnostic(span, message, hint)] = None

    @property
    def findings(self) -> int:
        return len(self._findings)

    def stop_on_findings(self) -> None:
        """Raises InputError with everything found so far, if there is anything."""
        if self._findings:
            ordered = sorted(self._findings, key=lambda d: d.span)
            raise InputError(ordered[:_MOST], self.path, self.text)


class FoundTable(NamedTuple):
    value: Any
    way: Way


class TableView:
    """Tables laid over one another: a key means what the first table that has it says; tables below a key are laid over
    one another in turn."""

    def __init__(self, layers: Iterable[FoundTable]) -> None:
        self.layers = tuple(layers)

    def get(self, key: str) -> FoundTable | None:
        for table, way in self.layers:
            if key in table:
                return FoundTable(table[key], (*way, key))
        return None

    def below(self, key: str) -> TableView:
        """The tables under `key`, laid over one another."""
        return TableView(FoundTable(t[key], (*way, key)) for t, way in self.layers if isinstance(t.get(key), dict))

    def items(self) -> Iterator[tuple[str, FoundTable]]:
        """All keys, those of the last table first: what is laid over it changes values, not their order."""
        keys = dict.fromkeys(key for table, _ in reversed(self.layers) for key in table)
        for key in keys:
            found = self.get(key)
            assert found is not None
            yield key, found

    @property
    def way(self) -> Way:
        """The last table's place; that of the whole document where there is none."""
        return self.layers[-1].way if self.layers else ()


def check_keys(document: TomlDocument, table: dict[str, Any], way: Way, known: Iterable[str], what: str) -> None:
    """Notes keys that are none."""
    names = list(known)
    for key in table:
        if key not in names:
            hint = suggested(key, names) or f"{what} has {', '.join(names)}"
            document.note((*way, key), f"{what} has no '{key}'", hint, key=True)

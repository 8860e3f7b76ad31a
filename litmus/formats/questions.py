"""What is asked of tests in place of what they ask themselves: files of kinds and of conditions, as `-kinds` and `-conds` of
herd7 take them.

A line is a test's name and a word, or a text in double quotes:

    MP   Forbid                              # of kinds: Allow, Forbid or Require, and as in logs Allowed, Forbidden, Required
    SB   "exists (0:r0 = 0 /\\ 1:r0 = 0)"     % of conditions

`#` and `%` begin comments. Of two lines of one name the last counts, of two files the first. A kind changes the quantifier and
keeps the proposition; `Unknown`, `???` and `---` change nothing. Where a test gets both, the kind is that of the new condition.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from litmus.formats.checks import check_tail
from litmus.formats.condition import read_tail
from litmus.formats.declarations import Declarations
from litmus.formats.source import LitmusSource, decode, normalised
from litmus.test import Condition, Test
from ptxcore.diagnostics import InputError
from ptxcore.records import NamedTuple

_KINDS = {
    **dict.fromkeys(("Allow", "Allowed"), "exists"),
    **dict.fromkeys(("Forbid", "Forbidden"), "~exists"),
    **dict.fromkeys(("Require", "Required"), "forall"),
    **dict.fromkeys(("", "Unknown", "???", "---"), ""),
}
_LINE = re.compile(
    r'[ \t]*+(?>([^ \t\n%#"]++)?)(?>(?:[ \t]++(?:([^ \t\n%#"]++)|"([^"]*+)"))?)[ \t]*+(?>(?:[#%][^\n]*+)?)(?:\n|\Z)'
)


class _Entry(NamedTuple):
    source: LitmusSource
    start: int
    end: int


class Questions(NamedTuple):
    """The quantifiers and the conditions of tests, by their names."""

    kinds: dict[str, str]
    conditions: dict[str, _Entry]
    places: dict[str, tuple[str, int]]  # of each name: the file that counts, and the line

    @property
    def names(self) -> set[str]:
        """The tests of which something is asked here."""
        return {*(name for name, kind in self.kinds.items() if kind), *self.conditions}

    def note(self, entries: Mapping[str, _Entry]) -> None:
        """Keeps where names stand that are new."""
        for name, (source, start, _) in entries.items():
            self.places.setdefault(name, (source.path, source.text.count("\n", 0, start) + 1))

    def asked_of(self, test: Test) -> Test:
        """The test with what is asked of it here. What it expects of its own question (`Expect=`) does not count for another.

        Raises `ptxcore.diagnostics.InputError`, with the place in the file of conditions, for a condition that is none of
        this test.
        """
        entry = self.conditions.get(test.name)
        asked = test.conditions if entry is None else _conditions(entry, test)
        kind = self.kinds.get(test.name)
        if kind:
            asked = tuple(replace(condition, quantifier=kind) for condition in asked)
        if asked == test.conditions:
            return test
        meta = tuple(line for line in test.meta if line[0] != "Expect")
        return replace(test, condition=asked[0], more=asked[1:], meta=meta)


def read_questions(kinds: Iterable[tuple[str, bytes]] = (), conditions: Iterable[tuple[str, bytes]] = ()) -> Questions:
    """What files of kinds and of conditions say, each given as its path and what stands in it.

    Raises `ptxcore.diagnostics.InputError`, with the place, for a line that is none of such a file.
    """
    found = Questions({}, {}, {})
    for path, data in kinds:
        entries = dict(_entries(path, data))
        by_name = {name: _kind(entry) for name, entry in entries.items()}
        found.kinds.update((name, kind) for name, kind in by_name.items() if name not in found.kinds)
        found.note(entries)
    for path, data in conditions:
        entries = dict(_entries(path, data))
        found.conditions.update((name, entry) for name, entry in entries.items() if name not in found.conditions)
        found.note(entries)
    return found


def _entries(path: str, data: bytes) -> Iterable[tuple[str, _Entry]]:
    source = LitmusSource(normalised(decode(data, path)), path)
    text, at = source.text, 0
    while at < len(text):
        line = _LINE.match(text, at)
        if line is None:
            end = text.find("\n", at)
            hint = "as in 'MP Forbid' or 'MP \"exists (1:r0 = 1)\"'"
            raise _of_file(source, source.error(at, len(text) if end < 0 else end, "no name and its value", hint))
        if line[1] is not None:
            group = 2 if line[3] is None else 3
            if line[group] is None:
                raise _of_file(source, source.error(*line.span(1), f"nothing is said of '{line[1][:40]}'"))
            yield line[1], _Entry(source, *line.span(group))
        at = line.end()


def _kind(entry: _Entry) -> str:
    source, start, end = entry
    word = source.text[start:end]
    if word not in _KINDS:
        hint = source.suggest(word, _KINDS) or "kinds are Allow, Forbid and Require"
        raise _of_file(source, source.error(start, end, f"'{word[:40]}' is no kind", hint))
    return _KINDS[word]


def _conditions(entry: _Entry, test: Test) -> tuple[Condition, ...]:
    whole, start, end = entry
    source = LitmusSource(whole.original, whole.path)
    source.text = whole.text[:end]
    try:
        tail = read_tail(source, start)
        if not tail.conditions or set(tail.lines) & {"scopes:", "locations", "filter"} or tail.checks:
            hint = "as in 'exists (1:r0 = 1)': exists, ~exists or forall, and a proposition"
            raise source.error(start, end, "a condition is wanted here, and nothing else", hint)
    except InputError as error:
        raise _of_file(source, error) from None
    declared = Declarations()
    declared.locations = {location.name: location for location in test.locations}
    declared.registers = {thread.name: dict(thread.registers) for thread in test.threads}
    check_tail(source, tail.reader, declared, test.threads)
    if source.findings:
        raise source.complete_error()
    return tuple(replace(condition, line=0) for condition in tail.conditions)


def _of_file(source: LitmusSource, error: InputError) -> InputError:
    return InputError(error.diagnostics, source.path, source.original)

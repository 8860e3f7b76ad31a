"""What reading a text costs, counted: the same number on every machine.

Function calls are not enough. `re` tells nobody how much it tries, so that a pattern that takes the square of its input looks
like one call; so do methods of strings that look at all of a string. `work` counts all three: calls, the steps of a matcher
that goes back and forth as Python's does, and the characters of strings that are looked through.

`test_steps.py` holds the matcher to `re`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from re import match as _match
from types import BuiltinMethodType, FrameType, ModuleType
from typing import Any, NamedTuple
from unittest import mock

#: Methods that look at every character of their string, and are never told of a part of it.
_WHOLE = frozenset(
    ["decode", "encode", "expandtabs", "join", "lower", "lstrip", "replace", "rsplit", "rstrip", "split", "splitlines",
     "strip", "translate", "upper"]
)  # fmt: skip
#: Functions of `re` that take a pattern first.
_OF_RE = ("match", "fullmatch", "search", "finditer", "findall")


class Work:
    """Steps taken so far, of everything that counts here."""

    def __init__(self) -> None:
        self.steps = 0


def work(action: Callable[[], object], packages: Iterable[str]) -> int:
    """The work of an action, with that of the patterns in the modules of some packages."""
    total = Work()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if frame.f_code.co_filename == __file__:
            return
        if event in ("call", "c_call"):
            total.steps += 1
        if event == "c_call" and argument.__name__ in _WHOLE:
            text = argument.__self__
            total.steps += len(text) if isinstance(text, str | bytes) else 0

    with _counted(total, tuple(packages)):
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            action()
        finally:
            sys.setprofile(before)
    return total.steps


@contextmanager
def _counted(total: Work, packages: tuple[str, ...]) -> Iterator[None]:
    """Patterns replaced by those that count, in modules and in `re` itself."""
    changes: list[Any] = []
    for module in modules(packages):
        for name, value in vars(module).items():
            counting = _counting(value, total)
            if counting is not None:
                changes.append(mock.patch.object(module, name, counting))
    for name in _OF_RE:
        changes.append(mock.patch.object(re, name, _function(name, total)))
    changes.append(mock.patch.object(re, "sub", lambda p, by, text: Counting(re.compile(p), total).sub(by, text)))
    for change in changes:
        change.start()
    try:
        yield
    finally:
        for change in reversed(changes):
            change.stop()


def modules(packages: tuple[str, ...]) -> list[ModuleType]:
    """The modules of some packages, as far as they are imported."""
    return [m for name, m in sorted(sys.modules.items()) if name.startswith(packages) and isinstance(m, ModuleType)]


def _counting(value: Any, total: Work) -> Any:
    """What stands for a pattern, for a method of one, or for several of either; None for anything else."""
    if isinstance(value, re.Pattern):
        return Counting(value, total)
    if isinstance(value, BuiltinMethodType) and isinstance(value.__self__, re.Pattern):
        return getattr(Counting(value.__self__, total), value.__name__)
    if isinstance(value, tuple | list) and value and all(isinstance(v, re.Pattern) for v in value):
        return type(value)(Counting(v, total) for v in value)
    if isinstance(value, dict) and value and all(isinstance(v, re.Pattern) for v in value.values()):
        return {key: Counting(v, total) for key, v in value.items()}
    return None


def _function(name: str, total: Work) -> Callable[..., Any]:
    return lambda pattern, text, flags=0: getattr(Counting(re.compile(pattern, flags), total), name)(text)


class _Step(NamedTuple):
    """One instruction: what it does, and what it needs for that."""

    what: str
    one: Any = None
    other: Any = None


#: (place in the program, place in the text, groups, where the loops stood)
_State = tuple[int, int, tuple[int, ...], tuple[int, ...]]


def tree_of(pattern: re.Pattern[Any]) -> list[Any]:
    """A pattern as `re` parses it."""
    flags = pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
    return list(_parser.parse(pattern.pattern, flags))


class Matcher:
    """A pattern as a program for a machine that tries one way after the other."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        tree = tree_of(pattern)
        self.flags, self.groups, self.loops = pattern.flags, pattern.groups, 0
        self.program = self._program(tree)

    def match(self, text: Any, start: int, end: int, work: Work, whole: bool = False) -> tuple[int, ...] | None:
        """The spans of all groups, where the pattern matches at `start`."""
        groups = (-1,) * (2 * self.groups + 2)
        found = self._run(self.program, text, start, end, groups, work, end if whole else None)
        return None if found is None else (start, found[0], *found[1][2:])

    # The machine.

    def _run(
        self, program: list[_Step], text: Any, at: int, end: int, groups: tuple[int, ...], work: Work, whole: int | None
    ) -> tuple[int, tuple[int, ...]] | None:
        waiting: list[_State] = [(0, at, groups, (-1,) * self.loops)]
        while waiting:
            place, at, groups, loops = waiting.pop()
            while place < len(program):
                work.steps += 1
                what, one, other = program[place]
                place += 1
                if what == "one":
                    if at >= end or not one(text[at]):
                        break
                    at += 1
                elif what == "split":
                    waiting.append((other, at, groups, loops))
                    place = one
                elif what == "jump":
                    place = one
                elif what == "save":
                    groups = (*groups[:one], at, *groups[one + 1 :])
                elif what == "enter":
                    loops = (*loops[:one], at, *loops[one + 1 :])
                elif what == "moved":  # an iteration that takes nothing ends its loop
                    if loops[one] == at:
                        place = other
                elif what == "at":
                    if not one(text, at, end):
                        break
                elif what == "atomic":
                    found = self._run(one, text, at, end, groups, work, None)
                    if found is None:
                        break
                    at, groups = found
                elif what == "look":
                    ahead, back, wanted = other
                    begin = at - back
                    found = None if begin < 0 else self._run(one, text, begin, end if ahead else at, groups, work, None)
                    if (found is not None) != wanted:
                        break
                    groups = found[1] if found is not None else groups
                elif what == "same":
                    first, last = groups[2 * one], groups[2 * one + 1]
                    if last < 0 or text[first:last] != text[at : at + last - first]:
                        break
                    at += last - first
                elif what == "given":
                    place = place if groups[2 * one + 1] >= 0 else other
            else:
                if whole is None or at == whole:
                    return at, groups
        return None

    # From the parsed pattern to the program.

    def _program(self, items: list[Any]) -> list[_Step]:
        program: list[_Step] = []
        for code, argument in items:
            self._add(program, code, argument)
        return program

    def _add(self, program: list[_Step], code: Any, argument: Any) -> None:
        if code is codes.SUBPATTERN:
            group, _, _, inner = argument
            if group is not None:
                program.append(_Step("save", 2 * group))
            for item in inner:
                self._add(program, *item)
            if group is not None:
                program.append(_Step("save", 2 * group + 1))
        elif code is codes.BRANCH:
            self._branch(program, [list(way) for way in argument[1]])
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            self._repeat(program, code is codes.MAX_REPEAT, *argument)
        elif code is codes.POSSESSIVE_REPEAT:
            program.append(_Step("atomic", self._program([(codes.MAX_REPEAT, argument)])))
        elif code is codes.ATOMIC_GROUP:
            program.append(_Step("atomic", self._program(list(argument))))
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            direction, inner = argument
            back = 0 if direction > 0 else inner.getwidth()[0]
            program.append(_Step("look", self._program(list(inner)), (direction > 0, back, code is codes.ASSERT)))
        elif code is codes.AT:
            program.append(_Step("at", self._place(argument)))
        elif code is codes.GROUPREF:
            program.append(_Step("same", argument))
        elif code is codes.GROUPREF_EXISTS:
            group, yes, no = argument
            given = len(program)
            program.append(_Step("given"))
            program += self._moved(list(yes), len(program))
            jump = len(program)
            program.append(_Step("jump"))
            program[given] = _Step("given", group, len(program))
            program += self._moved(list(no or ()), len(program))
            program[jump] = _Step("jump", len(program))
        else:
            program.append(_Step("one", self._one(code, argument)))

    def _moved(self, items: list[Any], at: int) -> list[_Step]:
        """The program of some items, which will stand at `at`."""
        program = [_Step("nothing")] * at
        for item in items:
            self._add(program, *item)
        return program[at:]

    def _branch(self, program: list[_Step], ways: list[list[Any]]) -> None:
        jumps = []
        for way in ways[:-1]:
            split = len(program)
            program.append(_Step("split"))
            program += self._moved(way, len(program))
            jumps.append(len(program))
            program.append(_Step("jump"))
            program[split] = _Step("split", split + 1, len(program))
        program += self._moved(ways[-1], len(program))
        for jump in jumps:
            program[jump] = _Step("jump", len(program))

    def _repeat(self, program: list[_Step], greedy: bool, least: int, most: Any, inner: Any) -> None:
        items = list(inner)
        for _ in range(least):
            program += self._moved(items, len(program))
        if most is codes.MAXREPEAT:
            loop, self.loops = self.loops, self.loops + 1
            split = len(program)
            program += [_Step("split"), _Step("enter", loop)]
            program += self._moved(items, len(program))
            program += [_Step("moved", loop, len(program) + 2), _Step("jump", split)]
            ways = (split + 1, len(program))
            program[split] = _Step("split", *(ways if greedy else ways[::-1]))
            return
        splits = []
        for _ in range(most - least):
            splits.append(len(program))
            program.append(_Step("split"))
            program += self._moved(items, len(program))
        for split in splits:
            ways = (split + 1, len(program))
            program[split] = _Step("split", *(ways if greedy else ways[::-1]))

    def _one(self, code: Any, argument: Any) -> Callable[[Any], bool]:
        """Whether one character is taken: by a pattern of its own, so that `re` decides about letters and cases."""
        if code is codes.ANY:
            return lambda c: bool(self.flags & re.DOTALL) or c not in ("\n", 10)
        known: dict[Any, bool] = {}

        def takes(c: Any) -> bool:
            if c not in known:
                known[c] = self._member(code, argument, chr(c) if isinstance(c, int) else c)
            return known[c]

        return takes

    def _member(self, code: Any, argument: Any, c: str) -> bool:
        if self.flags & re.IGNORECASE:
            return any(self._plainly(code, argument, x) for x in {c, c.lower(), c.upper()})
        return self._plainly(code, argument, c)

    def _plainly(self, code: Any, argument: Any, c: str) -> bool:
        if code is codes.LITERAL:
            return ord(c) == argument
        if code is codes.NOT_LITERAL:
            return ord(c) != argument
        if code is codes.RANGE:
            return bool(argument[0] <= ord(c) <= argument[1])
        if code is codes.CATEGORY:
            name = str(argument).rpartition("_")[2].lower()[0]  # d, s or w
            letter = name.upper() if "NOT" in str(argument) else name
            return _match(rf"\{letter}", c, self.flags & re.ASCII) is not None
        assert code is codes.IN, code
        negated = argument[0][0] is codes.NEGATE
        return any(self._plainly(*item, c) for item in argument[negated:]) != negated

    def _place(self, where: Any) -> Callable[[Any, int, int], bool]:
        lines = bool(self.flags & re.MULTILINE)
        newline = ("\n", 10)
        if where is codes.AT_BEGINNING_STRING or (where is codes.AT_BEGINNING and not lines):
            return lambda text, at, end: at == 0
        if where is codes.AT_BEGINNING:
            return lambda text, at, end: at == 0 or text[at - 1] in newline
        if where is codes.AT_END_STRING:
            return lambda text, at, end: at == end
        if where is codes.AT_END:
            return lambda text, at, end: at == end or (text[at] in newline and (lines or at + 1 == end))
        inside = where is codes.AT_BOUNDARY

        def word(c: Any) -> bool:
            return _match(r"\w", chr(c) if isinstance(c, int) else c, self.flags & re.ASCII) is not None

        return lambda text, at, end: ((at > 0 and word(text[at - 1])) != (at < end and word(text[at]))) == inside


_matchers: dict[re.Pattern[Any], Matcher] = {}


class Counting:
    """Stands for a pattern, and adds what it costs to some work."""

    def __init__(self, pattern: re.Pattern[Any], work: Work) -> None:
        if pattern not in _matchers:
            _matchers[pattern] = Matcher(pattern)
        self._pattern, self._matcher, self._work = pattern, _matchers[pattern], work

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pattern, name)

    def match(self, text: Any, pos: int = 0, endpos: int | None = None) -> re.Match[Any] | None:
        end = len(text) if endpos is None else min(endpos, len(text))
        if pos <= end:
            self._matcher.match(text, pos, end, self._work)
        return self._pattern.match(text, pos, end)

    def fullmatch(self, text: Any, pos: int = 0, endpos: int | None = None) -> re.Match[Any] | None:
        end = len(text) if endpos is None else min(endpos, len(text))
        self._matcher.match(text, pos, end, self._work, whole=True)
        return self._pattern.fullmatch(text, pos, end)

    def search(self, text: Any, pos: int = 0, endpos: int | None = None) -> re.Match[Any] | None:
        end = len(text) if endpos is None else min(endpos, len(text))
        found = self._pattern.search(text, pos, end)
        for at in range(pos, (found.start() if found else end) + 1):
            self._matcher.match(text, at, end, self._work)
        return found

    def finditer(self, text: Any, pos: int = 0, endpos: int | None = None) -> Iterator[re.Match[Any]]:
        end = len(text) if endpos is None else min(endpos, len(text))
        at = pos
        for found in self._pattern.finditer(text, pos, end):
            for start in range(at, found.start() + 1):
                self._matcher.match(text, start, end, self._work)
            yield found
            at = max(found.end(), found.start() + 1)
        for start in range(at, end + 1):
            self._matcher.match(text, start, end, self._work)

    def _all(self, text: Any) -> None:
        for _ in self.finditer(text):
            pass

    def findall(self, text: Any) -> Any:
        self._all(text)
        return self._pattern.findall(text)

    def sub(self, by: Any, text: Any, count: int = 0) -> Any:
        self._all(text)
        return self._pattern.sub(by, text, count)

    def split(self, text: Any, maxsplit: int = 0) -> Any:
        self._all(text)
        return self._pattern.split(text, maxsplit)

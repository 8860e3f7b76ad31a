"""Kernel tests as lines of the source:

    // ptxmm: grid=2 block=1 lock=u32[1] counter=u32[1] forall="counter[0] == 2"
    __global__ void incr(unsigned *lock, unsigned *counter)

Each such line above a kernel, of CUDA C++ or of PTX, is a test of that kernel. What it may say are the keys of a kernel test
and of its `[check]`; every other name is an argument, written as for `--arg`. `arg.NAME` is an argument whatever its name.
"""

from __future__ import annotations

import re
from typing import Any

from ptxcore.diagnostics import Diagnostic, InputError, Span, nearest
from ptxcore.records import NamedTuple
from ptxcore.sources import read_bytes
from ptxmm.kernels.asked import ANNOTATED, ANNOTATION_KEYS, TYPED, AskedKernel, Said
from ptxmm.kernels.cuda_source import heads, without_comments
from ptxmm.kernels.document import TomlDocument
from ptxmm.kernels.modules import is_source
from ptxmm.kernels.plain_names import base
from ptxmm.kernels.schema import CHECK
from ptxmm.kernels.test import CLAIMS, DETERMINISTIC, PROPERTIES, KernelTest

_LONGEST = 64 << 20  # bytes of a file
#: Strings and comments, of which those that begin with `//` may be annotations.
_TOKENS = re.compile(r'"(?>(?:[^"\\\n]++|\\.)*)"|//[^\n]*+|/\*(?>(?:[^*]++|\*(?!/))*)(?>(?:\*/)?)')
#: How a line comment begins that may be an annotation, and a line of a block comment.
_MARK = re.compile(r"//[/!<]*[ \t]*ptxmm[ \t]*(?P<colon>:)?", re.IGNORECASE)
_MARK_IN_BLOCK = re.compile(r"^[ \t]*+(?:/\*++!?|\*++)?[ \t]*+ptxmm[ \t]*+(?P<colon>:)?", re.IGNORECASE | re.MULTILINE)
#: How an annotation begins that is written as it should be; what follows another beginning tells whether it is meant as one.
_PROPER = re.compile(r"//[ \t]*ptxmm[ \t]*:")
_MEANT = re.compile(r"[ \t]*[A-Za-z_]\w*=")
#: A comment below an annotation that goes on with it: what it says is lost, and an argument that is lost is missed anyway.
_GOES_ON = re.compile(
    rf"\s*?\n[ \t]*(?P<comment>//[/!<]*(?:[ \t]*(?:{'|'.join((*ANNOTATION_KEYS, *CHECK))})=.*"
    rf"|(?:[ \t]+(?:{'|'.join(PROPERTIES)}))+[ \t]*$))",
    re.MULTILINE,
)
_SIZES = frozenset({"grid", "block", "cluster"})
_NUMBERS = frozenset({"dynamic_shared", "resident", "device"})
_NAME = re.compile(r"arg\.\d+|(?:arg\.)?[A-Za-z_]\w*")
_PTX_KERNEL = re.compile(r"(?<![\w$.])\.entry\s+([\w$]+)")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class AnnotatedTest(NamedTuple):
    """A test: its name, and what it says."""

    name: str
    asked: AskedKernel


class AnnotatedFile:
    """The annotations of a file, by the names of their tests."""

    def __init__(self, text: str, path: str) -> None:
        """Raises InputError with everything that is wrong with them, as far as it shows without the PTX."""
        self.path, self.text = path, text
        self.document = TomlDocument.of({}, path, text)
        self._found: list[Diagnostic] = []
        found = [case for mark in _marked(text) if (case := self._case(mark)) is not None]
        if self._found:
            raise InputError(sorted(self._found, key=lambda d: d.span), path, text)
        self.cases = self._named(found)

    @property
    def variants(self) -> list[str]:
        """The names of the tests."""
        return list(self.cases)

    def test(self, variant: str = "") -> KernelTest:
        """One of the tests; an empty name is the only one. Raises InputError for one that is not there or not right."""
        if not self.cases:
            return self._missing()
        if variant in self.cases:
            return self.cases[variant].test()
        if not variant and len(self.cases) == 1:
            return next(iter(self.cases.values())).test()
        names = ", ".join(self.cases)
        message = (
            f"no test here is called '{variant}'" if variant else f"there are {len(self.cases)} tests in this file"
        )
        hint = nearest(variant, self.cases) or f"there {'are' if len(self.cases) > 1 else 'is'} {names}"
        raise InputError([Diagnostic(Span(0, 0, 0), message, hint)], self.path, self.text)

    def _missing(self) -> KernelTest:
        """Raises InputError with what is to be said for a file without annotations."""
        message = "no test stands in this file, and no launch is given: what is missing follows"
        hint = f"or write // ptxmm: grid=2 ... above the kernel; 'ptxmm init {self.path}' writes a kernel test"
        try:
            return AskedKernel(self.path, TYPED).test()
        except InputError as error:
            found = [Diagnostic(Span(0, 0, 0), message, hint), *error.diagnostics]
            raise InputError(found, error.path, error.text, error.instead) from None

    def _note(self, start: int, end: int, message: str, hint: str | None = None) -> None:
        self._found.append(Diagnostic(self.document.span(start, end), message, hint))

    def _case(self, mark: _Mark) -> AnnotatedTest | None:
        start, end = mark.start, mark.end
        before = len(self._found)
        if not mark.proper:
            self._note(start, mark.begun, "an annotation begins with // ptxmm:", "as in // ptxmm: grid=2")
            return None
        more = _GOES_ON.match(self.text, end)
        if more:
            self._note(
                *more.span("comment"), "an annotation is one line: nobody reads this", "write it behind what is above"
            )
        said: list[Said] = []
        checks: list[Said] = []
        arguments: list[Said] = []
        for word in self._words(mark.begun, end):
            if word.key in CHECK:
                self._claim(word, checks)
            elif word.key in ANNOTATION_KEYS:
                said.append(self._key(word))
            else:
                arguments.append(word._replace(key=word.key.removeprefix("arg.")))
        entry = self._entry(said, start, end)
        if entry is None or len(self._found) > before:
            return None
        line = self.document.span(start, end).line
        name = next((s.value for s in said if s.key == "name"), "")
        asked = AskedKernel(
            self.path, ANNOTATED, tuple(s for s in said if s.key != "name"), tuple(checks), tuple(arguments),
            text=self.text, where=self.path, line=line,
        )  # fmt: skip
        if not any(s.key == "entry" for s in said):
            asked = asked._replace(said=(Said("entry", entry, start, start, end), *asked.said))
        return AnnotatedTest(name or base(entry), asked._replace(name=name))

    def _words(self, at: int, end: int) -> list[Said]:
        """`KEY=VALUE`, `KEY="VALUE"`, and `KEY` alone, which is true."""
        found: list[Said] = []
        while True:
            at += len(self.text[at:end]) - len(self.text[at:end].lstrip())
            if at >= end:
                return found
            key = _NAME.match(self.text, at, end)
            if key is None:
                rest = self.text[at:end].split()[0]
                self._note(at, at + len(rest), f"'{rest}' is no KEY=VALUE", 'as in grid=2 block=32 forall="x[0] == 1"')
                return found
            if key.end() == end or self.text[key.end()] != "=":
                if key.end() < end and not self.text[key.end()].isspace():
                    self._note(at, key.end() + 1, f"no '=' behind '{key[0]}'", f"as in {key[0]}=2")
                    return found
                found.append(Said(key[0], True, at, at, key.end()))
                at = key.end()
                continue
            first = key.end() + 1
            last = self._end_of_value(first, end)
            if last is None:
                self._note(first, end, f"the value of '{key[0]}' does not end")
                return found
            written = self.text[first:last]
            if not written:
                self._note(at, first, f"'{key[0]}' has no value")
            found.append(Said(key[0], written[1:-1] if written[:1] == '"' else written, at, first, last))
            at = last

    def _end_of_value(self, at: int, end: int) -> int | None:
        """Where a value ends: a string at its quotation mark, anything else at a blank outside of brackets."""
        if self.text[at : at + 1] == '"':
            close = self.text.find('"', at + 1, end)
            return None if close < 0 else close + 1
        waiting: list[str] = []
        quoted = False
        for i in range(at, end):
            c = self.text[i]
            if c == '"':
                quoted = not quoted
            elif not quoted and c in _CLOSING:
                waiting.append(_CLOSING[c])
            elif not quoted and waiting and c == waiting[-1]:
                waiting.pop()
            elif not quoted and not waiting and c.isspace():
                return i
        return None if waiting or quoted else end

    def _claim(self, word: Said, checks: list[Said]) -> None:
        if word.key in CLAIMS and word.value is True:
            example = "x" if word.key == DETERMINISTIC else "x[0] == 1"
            self._note(word.start, word.end, f"'{word.key}' claims nothing", f'as in {word.key}="{example}"')
        elif word.key in PROPERTIES and word.value not in (True, "true", "false"):
            self._note(word.value_start, word.end, f"'{word.key}' is true or false, not '{word.value}'")
        else:
            value = word.value if word.key in CLAIMS else word.value in (True, "true")
            checks.append(word._replace(value=value))

    def _key(self, word: Said) -> Said:
        value: Any = word.value
        if word.key in _SIZES and value is not True:
            parts = value.strip("[]").split(",")
            if all(part.strip().isdecimal() and len(part) < 12 for part in parts):
                return word._replace(value=[int(part) for part in parts])
        elif word.key in _NUMBERS and value is not True and value.isdecimal() and len(value) < 12:
            return word._replace(value=int(value))
        elif word.key == "nvcc" and value is not True:
            return word._replace(value=value.split())
        elif word.key == "name" and (
            value is True or not value.isprintable() or "/" in value or value != value.strip()
        ):
            self._note(word.start, word.end, "a test's name has no blanks around it, no '/' in it", "as in name=weak")
        return word  # what is wrong with others the reader of kernel tests says

    def _entry(self, said: list[Said], start: int, end: int) -> str | None:
        """The kernel that is meant: the one that is named, or the one below."""
        named = next((s.value for s in said if s.key == "entry"), None)
        if named is not None:
            return str(named)
        code = without_comments(self.text[end:])
        if is_source(self.path):
            below = re.search(r"\b__global__\b", code)
            named = next((h.name for h in self._heads() if below and h.start == end + below.start()), None)
        else:
            below = _PTX_KERNEL.search(code)
            named = below[1] if below else None
        if named is None or below is None or re.search(r"[;{}]", re.sub(r"extern\s+{", "", code[: below.start()])):
            hint = "it stands above the head of its kernel, or names it: entry=NAME"
            self._note(start, end, "no kernel stands below this annotation", hint)
            return None
        return named

    def _heads(self) -> list[Any]:
        if not hasattr(self, "_known"):
            self._known = heads(self.text)
        return self._known

    def _named(self, found: list[AnnotatedTest]) -> dict[str, AskedKernel]:
        """The tests by name. Several of one kernel that have no names of their own are numbered."""
        count: dict[str, int] = {}
        for case in found:
            count[case.name] = count.get(case.name, 0) + 1
        numbers: dict[str, int] = {}
        named: dict[str, AskedKernel] = {}
        for case in found:
            name = case.name
            if count[name] > 1:
                if case.asked.name:
                    span = Span(case.asked.line, 1, 2)
                    raise InputError([Diagnostic(span, f"two tests are called '{name}'")], self.path, self.text)
                numbers[name] = numbers.get(name, 0) + 1
                name = f"{name}.{numbers[name]}"
            named[name] = case.asked._replace(name=name)
        return named


class _Mark(NamedTuple):
    """An annotation, or what is meant as one: where it starts, where its mark ends, and its text; `proper`: as it should be."""

    start: int
    begun: int
    end: int
    proper: bool


def _marked(text: str) -> list[_Mark]:
    """The comments that are annotations, or are meant as such, and lines of comments."""
    if "ptxmm" not in text.lower():
        return []
    found = []
    for token in _TOKENS.finditer(text):
        if token[0].startswith("//"):
            mark = _MARK.match(token[0])
            marks = [mark] if mark else []
        else:
            marks = list(_MARK_IN_BLOCK.finditer(token[0])) if token[0].startswith("/*") else []
        for mark in marks:
            begun, proper = token.start() + mark.end(), _PROPER.fullmatch(mark[0]) is not None
            if proper or _MEANT.match(text, begun):
                line = token[0].find("\n", mark.end())
                whole = token[0][mark.start() : line if line >= 0 else None]
                start = token.start() + mark.start()
                found.append(_Mark(start, begun, start + len(whole.rstrip()), proper))
    return found


def read(path: str) -> AnnotatedFile:
    """The annotations of a file. Raises InputError for everything that is wrong with them, OSError where it cannot be read."""
    return AnnotatedFile(read_bytes(path, _LONGEST, "a kernel").decode("utf-8", "replace").replace("\r\n", "\n"), path)


def annotated(path: str) -> bool:
    """Whether a file has annotations, right or wrong. Raises OSError where it cannot be read."""
    with open(path, "rb") as file:
        data = file.read(_LONGEST + 1)
    return b"ptxmm" in data.lower() and bool(_marked(data.decode("utf-8", "replace")))

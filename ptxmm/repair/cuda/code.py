"""A text in CUDA C++ as far as edits need it: statements by line, brackets that belong together, types of names."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from ptxcore.records import NamedTuple
from ptxmm.kernels.cuda_source import without_comments

_PREPROCESSOR = re.compile(r"^[ \t]*+#(?>(?:[^\n\\]++|\\\n|\\.)*)", re.M)
_INCLUDE = re.compile(r"^[ \t]*+#[ \t]*+include[^\n]*+\n", re.M)
_CLOSING = {")": "(", "]": "[", "}": "{"}
_CONTROL = re.compile(r"(?:if|while|for|switch)\b(?>(?:\s*+constexpr\b)?)\s*+(?=\()|else\b|do\b")
_BASIC = r"(?:unsigned|signed|long|short|int|char|float|double|bool|size_t|u?int(?:8|16|32|64)_t|__half|half)"
_DECLARED = re.compile(
    rf"\b(?P<type>{_BASIC}\b(?>(?:\s++{_BASIC}\b)*))[\s*&]*+(?>(?:(?:volatile|const|__restrict__)\b[\s*&]*+)*)"
    r"(?P<name>[A-Za-z_]\w*+)\s*+(?=[,;=)\[({])"
)
#: Characters behind the parentheses of a head.
_HEAD_ENDS = 200
_HEAD = re.compile(r"\)\s*+(?>(?:const|noexcept|mutable)?)\s*+\Z")


class CudaStatement(NamedTuple):
    """From `start` to `end` (exclusive) of a text; `closer` is the character that ends it: `;`, or `{` of a head."""

    start: int
    end: int
    closer: str


class CudaCode:
    """A source text. `bare` is the text with blanks for comments, strings and the preprocessor's lines: nothing moves."""

    def __init__(self, text: str) -> None:
        self.text = text
        bare = without_comments(text)
        self.bare = _PREPROCESSOR.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), bare)
        self._lines = [0, *(m.end() for m in re.finditer(r"\n", text))]
        self.partner: dict[int, int] = {}
        self.statements = list(self._found())
        self._starts = [s.start for s in self.statements]

    def _found(self) -> Iterator[CudaStatement]:
        """The statements: what stands between `;`, `{` and `}` that are in no other brackets."""
        waiting: list[int] = []
        first = 0
        for at, c in enumerate(self.bare):
            inner = bool(waiting) and self.bare[waiting[-1]] in "(["
            if c in "([{":
                if c == "{" and not inner:
                    yield from self._one(first, at, c)
                    first = at + 1
                waiting.append(at)
            elif c in _CLOSING:
                if waiting and self.bare[waiting[-1]] == _CLOSING[c]:
                    opened = waiting.pop()
                    self.partner[opened], self.partner[at] = at, opened
                    if c == "}" and not (waiting and self.bare[waiting[-1]] in "(["):
                        first = at + 1
            elif c == ";" and not inner:
                yield from self._one(first, at, c)
                first = at + 1

    def _one(self, first: int, at: int, closer: str) -> Iterator[CudaStatement]:
        start = first + len(self.bare[first:at]) - len(self.bare[first:at].lstrip())
        yield CudaStatement(start, at + 1, closer)

    def line_of(self, offset: int) -> int:
        """The line, from 1, of an offset."""
        return bisect_right(self._lines, offset)

    def line_start(self, offset: int) -> int:
        """Where the line of an offset begins."""
        return self._lines[self.line_of(offset) - 1]

    def indent(self, offset: int) -> str:
        """The blanks with which the line of an offset begins."""
        start = self.line_start(offset)
        rest = self.text[start:]
        return rest[: len(rest) - len(rest.lstrip(" \t"))]

    def at(self, line: int, column: int) -> list[CudaStatement]:
        """The statements that stand on a line, wholly or in part; first the one at the column."""
        if not 1 <= line <= len(self._lines):
            return []
        first = self._lines[line - 1]
        last = self._lines[line] if line < len(self._lines) else len(self.text)
        there = [s for s in self.statements if s.start < last and s.end > first and self.bare[s.start : s.end].strip()]
        wanted = first + max(column - 1, 0)
        return sorted(there, key=lambda s: not s.start <= wanted < s.end)

    def body(self, statement: CudaStatement) -> int | None:
        """Where the statement begins that an `if` or a loop without braces governs."""
        at, last = statement.start, statement.end
        while (control := _CONTROL.match(self.bare, at, last)) is not None:
            at = control.end()
            if at in self.partner:
                at = self.partner[at] + 1
            at += len(self.bare[at:last]) - len(self.bare[at:last].lstrip())
        return at if at > statement.start and at < last - 1 else None

    def behind(self, statement: CudaStatement) -> int | None:
        """Where what follows a statement begins: behind the block, where it is the head of one. None before an `else`."""
        end = statement.end if statement.closer == ";" else self.partner.get(statement.end - 1, -1) + 1
        if not end or re.match(r"\s*(?:else|while)\b", self.bare[end:]):
            return None
        return end

    def block(self, offset: int) -> int:
        """Where the brace stands that opens the innermost block around a place; -1 outside of all."""
        around = (o for o, closed in self.partner.items() if o < offset <= closed and self.bare[o] == "{")
        return max(around, default=-1)

    def holding(self, statement: CudaStatement, block: int) -> CudaStatement | None:
        """The statement directly within a block that is, or holds in its own block, another one."""
        for other in self.statements:
            last = other.end if other.closer == ";" else self.partner.get(other.end - 1, other.end)
            if other.start <= statement.start < last and self.block(other.start) == block:
                return other
        return None

    def is_alone(self, statement: CudaStatement) -> bool:
        """Whether a statement is all that stands on its lines."""
        before = self.text[self.line_start(statement.start) : statement.start]
        return not before.strip() and not self.text[statement.end :].partition("\n")[0].strip()

    def in_function(self, offset: int) -> bool:
        """Whether a place lies in a body: within braces behind the parentheses of a head."""
        return any(
            opened < offset <= closed
            and self.bare[opened] == "{"
            and _HEAD.search(self.bare[max(0, opened - _HEAD_ENDS) : opened])
            for opened, closed in self.partner.items()
        )

    def type_of(self, name: str, offset: int) -> str:
        """The type of what a name holds or leads to, as declared last before a place; empty where that cannot be read."""
        found = ""
        for declared in _DECLARED.finditer(self.bare, 0):
            if declared["name"] == name and (declared.start() <= offset or not found):
                found = " ".join(declared["type"].split())
        return found

    def where_includes_go(self) -> int:
        """Behind the last `#include`, or before the first code."""
        found = list(_INCLUDE.finditer(self.text))
        if found:
            return found[-1].end()
        first = re.search(r"\S", self.bare)
        return self.line_start(first.start()) if first else 0

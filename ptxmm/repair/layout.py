"""How statements are put into the text of a litmus test, and taken out of it: a table of columns, or blocks."""

from __future__ import annotations

import re

from ptxcore.syntax.tree import Instruction
from ptxmm.repair.building import Lines
from ptxmm.repair.sites import TextEdit

_EDGE = re.compile(r"[|;]")
_END = re.compile(r"[^;|\n]*+;?")


class Layout:
    """The layout of one thread's statements: `table` is True for columns."""

    def __init__(self, lines: Lines, table: bool) -> None:
        self._lines, self._table = lines, table

    def replaced(self, start: int, end: int, new: str) -> TextEdit:
        """`new` over what stands there; in a table the cell keeps its width as far as it has room."""
        text = self._lines.text
        stop = self._cell_end(end) if self._table else end
        if not self._table or stop >= len(text) or text[stop] not in "|;":
            return TextEdit(start, end, new)
        rest = text[end:stop]
        room = len(rest) - len(rest.rstrip()) - 1
        longer = len(new) - (end - start)
        body = rest.rstrip()
        blanks = max(1, room + 1 - longer)
        return TextEdit(start, stop, f"{new}{body}{' ' * blanks}")

    def gone(self, statement: Instruction) -> TextEdit | None:
        """Takes a statement out: with its line, where it has one of its own."""
        text = self._lines.text
        start = self._lines.offset(*statement.start)
        if self._table:
            end = start + len(text[start : self._cell_end(start)].rstrip())
            return TextEdit(start, end, " " * (end - start))
        end = start + len(statement.text)
        found = _END.match(text, end)
        end = found.end() if found else end
        line = self._lines.line(start)
        first, last = self._lines.start(line), self._lines.start(line) + len(self._lines.of(line))
        if not text[first:start].strip() and not text[end:last].strip():
            return TextEdit(first, last + 1, "")
        return TextEdit(start, end, "")

    def put(self, before: tuple[int, int], statement: str) -> tuple[int, str]:
        """What puts a statement before the one that begins at `before` (line, column): the offset, and the text there."""
        start = self._lines.offset(*before)
        text = self._lines.text
        line = self._lines.line(start)
        first, whole = self._lines.start(line), self._lines.of(line)
        column = start - first
        if not self._table:
            if not text[first:start].strip():
                return first, f"{text[first:start]}{statement};\n"
            return start, f"{statement}; "
        return first, self._row(whole, column, statement)

    def put_behind(self, last: Instruction, statement: str) -> tuple[int, str]:
        """What puts a statement behind the last one of a thread."""
        start = self._lines.offset(*last.start)
        text = self._lines.text
        line = self._lines.line(start)
        first, whole = self._lines.start(line), self._lines.of(line)
        following = first + len(whole) + 1
        if self._table:
            return following, self._row(whole, start - first, statement)
        end = start + len(last.text)
        found = _END.match(text, end)
        ended = found is not None and found.group().endswith(";")
        end = found.end() if found and ended else end
        if ended and not text[end : following - 1].strip() and not text[first:start].strip():
            return following, f"{text[first:start]}{statement};\n"
        return end, f"{'' if ended else ';'} {statement};"

    def _row(self, whole: str, column: int, statement: str) -> str:
        """A row of a table with nothing but a statement, in the cell that a column of the row `whole` lies in."""
        left = max(whole.rfind("|", 0, column), -1) + 1
        edge = _EDGE.search(whole, column)
        right = edge.start() if edge else len(whole)
        cell = whole[left:column] + statement
        blank = "".join(c if c in "|;" else " " for c in whole)
        cell = cell.ljust(right - left - 1) + " " if len(cell) < right - left else cell + " "
        return f"{blank[:left]}{cell}{blank[right:]}\n"

    def _cell_end(self, at: int) -> int:
        edge = _EDGE.search(self._lines.text, at)
        return edge.start() if edge else len(self._lines.text)

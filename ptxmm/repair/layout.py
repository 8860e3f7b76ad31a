"""How statements are put into the text of a litmus test, and taken out of it: a table of columns, or blocks."""

from __future__ import annotations

from ptxcore.syntax.tree import Instruction
from ptxmm.repair.building import Lines
from ptxmm.repair.sites import TextEdit

#: What ends a cell.
_EDGES = "|;"
#: What a label marks stands within so many lines.
_NEAR = 8


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
        end = self._ended(end) or end
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
            ended = statement if statement.endswith("}") else f"{statement};"
            if not text[first:start].strip():
                return first, f"{self._indent(line, text[first:start])}{ended}\n"
            return start, f"{ended} "
        return first, self._row(whole, column, statement)

    def _indent(self, line: int, own: str) -> str:
        """The blanks before what is put on a line of its own: those of the line, or where it is a label, of what it marks."""
        if not self._lines.of(line).rstrip().endswith(":"):
            return own
        near = self._lines.text[self._lines.start(line) :].split("\n", _NEAR + 1)[1 : _NEAR + 1]
        marked = next((text for text in near if text.strip() and not text.rstrip().endswith(":")), "")
        return marked[: len(marked) - len(marked.lstrip())]

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
        ended = self._ended(end) is not None
        end = self._ended(end) or end
        if ended and not text[end : following - 1].strip() and not text[first:start].strip():
            return following, f"{text[first:start]}{statement};\n"
        return end, f"{'' if ended else ';'} {statement};"

    def _row(self, whole: str, column: int, statement: str) -> str:
        """A row of a table with nothing but a statement, in the cell that a column of the row `whole` lies in."""
        left = max(whole.rfind("|", 0, column), -1) + 1
        right = _edge(whole, column)
        cell = whole[left:column] + statement
        blank = "".join(c if c in "|;" else " " for c in whole)
        cell = cell.ljust(right - left - 1) + " " if len(cell) < right - left else cell + " "
        return f"{blank[:left]}{cell}{blank[right:]}\n"

    def _cell_end(self, at: int) -> int:
        return _edge(self._lines.text, at)

    def _ended(self, at: int) -> int | None:
        """The offset behind the `;` that follows on the line; None where there is none."""
        text = self._lines.text
        while at < len(text) and text[at] in " \t":
            at += 1
        return at + 1 if text.startswith(";", at) else None


def _edge(text: str, at: int) -> int:
    """Where the cell around `at` ends."""
    found = [place for edge in _EDGES if (place := text.find(edge, at)) >= 0]
    return min(found, default=len(text))

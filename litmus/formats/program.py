"""The program of a test: a table with a column for each thread, or a block for each thread.

A thread is in one of two dialects. A cell is typed PTX when its opcode carries a type or its address is in brackets,
and short when its opcode needs a type that it has not; fences, labels and branches look the same in both and follow
the thread's other cells.
"""

from __future__ import annotations

import re

from litmus.formats.placement import read_levels
from litmus.formats.source import LitmusSource
from litmus.test import PROPERTIES
from ptxcore.diagnostics import InputError, Span
from ptxcore.syntax.reader import read_statements
from ptxcore.syntax.tree import AnyStatement, Immediate, Instruction, Name

#: The words that open the parts of a test after its program.
TAIL_WORDS = ("scopes", "locations", "filter", "exists", "~exists", "forall", *PROPERTIES)

_THREAD = re.compile(r"\s*+P(\d{1,9}+)\s*+(@?)", re.ASCII)
_TAIL = re.compile(
    rf"\s*+(?:(?:exists|forall|locations|filter|final|{'|'.join(PROPERTIES)})(?![\w$.]|\s*+:)|[sS]copeTree\b|(?:~|not\b)\s*+exists\b|scopes\s*+:"
    r"|\()",
    re.ASCII,
)
_NOT_TAIL = re.compile(r"\s*+(?:~\s*+(\w++)|(?!call\b)([a-z]{4,10}+)\s*+[(\[])", re.ASCII)
_BREAK = re.compile(r"[|;]|\n\s*+")
_BLANK = re.compile(r"\s*+")
_HEADER_END = re.compile(r"[|;{]")
#: Up to a `|` after its first operand, an instruction that may have two destinations there goes on.
_PAIR_SO_FAR = re.compile(r"\s*+(?:@!?%?[\w$]++\s++)?(?:setp|shfl|match|elect)\.[\w.:]*+\s++[%\w$]++\s*+\Z", re.ASCII)
_TYPED = re.compile(r"\[|\.(?:[usb](?:8|16|32|64|128)|b?f(?:16|32|64)(?:x2)?|reg|pred)\b", re.ASCII)
_SHORT = re.compile(
    r"(?>(?:[\w$]++\s*+:(?!:))?)\s*+(?:@!?%?[\w$]++\s++)?"
    r"(?:ld|st|atom|red|add|sub|mul|div|b(?:eq|ne|lt|gt|le|ge)|goto|su(?:st|ld|atom|red)|tld|cold)(?![\w$])",
    re.ASCII,
)
#: Instructions without a type that the short dialect does not have.
_PTX = re.compile(
    r"(?>(?:[\w$]++\s*+:(?!:))?)\s*+(?:@!?%?[\w$]++\s++)?"
    r"(?:membar|bar(?:rier)?(?!\.cta)\.|barrier|fence\.(?:cta|cluster|gpu|sys)\b|fence\.proxy\.async)(?![\w$]*:)",
    re.ASCII,
)
_HOST = re.compile(
    r"\s*+(?:(launch)\s++([A-Za-z_$][\w$]*+)|(sync)\s++(?:stream\s++(\d{1,9}+)|([A-Za-z_$][\w$]*+)))\s*+\Z", re.ASCII
)


class ReadColumn:
    """A thread while it is read: `cells` are stretches of the source."""

    __slots__ = ("cells", "dialect", "is_block", "key", "levels", "name", "span", "statements")

    def __init__(self, name: str, levels: dict[str, int], span: Span) -> None:
        self.name = name
        self.levels = levels
        self.span = span
        self.cells: list[tuple[int, int]] = []
        self.dialect = ""
        self.is_block = False
        self.key: tuple[int, ...] = ()  # what else tells it from others
        self.statements: list[AnyStatement] = []


def read_program(source: LitmusSource, start: int, dialect: str = "") -> tuple[list[ReadColumn], int]:
    """The threads with their statements and the offset of the tail; all of a `dialect`, where one is given. Findings in cells
    go to the source."""
    head = _HEADER_END.search(source.text, start)
    if head is None or _TAIL.match(source.text, start):
        at = _blank_end(source.text, start)
        message = "the program is empty: a test has at least one thread"
        raise source.error(at, at + 1, message, "as in 'P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;'")
    if head.group() == "{":
        columns, at = _read_blocks(source, start)
    else:
        columns, at = _read_table(source, start)
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            source.note_at(column.span, f"thread {column.name} is there twice")
        seen.add(column.name)
    if dialect:
        for column in columns:
            column.dialect = dialect
    else:
        _choose_dialects(source, columns)
    for column in columns:
        if column.dialect != "mixed":  # else half of the cells would be read wrongly
            _read_cells(source, column)
    return columns, at


def _blank_end(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _read_thread(source: LitmusSource, start: int, end: int) -> ReadColumn:
    """`P0` with its place, from a header's field."""
    text = source.text
    found = _THREAD.match(text, start, end)
    if found is None:
        at = _blank_end(text, start)
        word = text[at:end].split(maxsplit=1)[0] if at < end else ""
        message = f"'{word[:40]}' is no thread" if word else "a thread is missing"
        raise source.error(
            min(at, end), min(at, end) + len(word), message, "threads are P0, P1, ..., with '@cta 0,gpu 0'"
        )
    name = f"P{int(found[1])}"
    span = source.span(found.start(1) - 1, found.end(1))
    if found[2]:
        return ReadColumn(name, read_levels(source, found.end(), end), span)
    rest = text[found.end() : end].strip()
    if rest:
        raise source.error(
            found.end(), end, f"unexpected '{rest[:40]}' after {name}", "a place is written '@cta 0,gpu 0'"
        )
    return ReadColumn(name, {}, span)


# Tables.


def _read_table(source: LitmusSource, start: int) -> tuple[list[ReadColumn], int]:
    text = source.text
    columns: list[ReadColumn] = []
    at = start
    while True:
        found = _HEADER_END.search(text, at)
        if found is None or found.group() == "{":
            raise source.error(at, at + 1, "the row of threads is never closed", "close it with ';'")
        columns.append(_read_thread(source, at, found.start()))
        at = found.end()
        if found.group() == ";":
            return columns, _read_rows(source, at, columns)


def _read_rows(source: LitmusSource, start: int, columns: list[ReadColumn]) -> int:
    """Give the rows' cells to their threads. Returns the offset of the tail.

    `;` ends a row, unless cells are missing and `|` follows on its line: there it only ends the instruction. The end of
    a line ends a row that has a cell for each thread, so that a forgotten `;` does no harm.
    """
    text = source.text
    width = len(columns)
    pairs = any(word in text for word in ("setp", "shfl", "match", "elect"))
    cell = start  # where the current cell starts
    index = 0  # its column
    too_many = False
    if _TAIL.match(text, start):
        return start
    _refuse_unknown_part(source, start)
    for found in _BREAK.finditer(text, start):
        at = found.start()
        character = text[at]
        if character == "|":
            if pairs and _PAIR_SO_FAR.match(text, cell, at):
                continue
            if index < width and _has_text(text, cell, at):
                columns[index].cells.append((cell, at))
            index += 1
            cell = at + 1
            if index == width and not too_many:
                after = _cell_text_end(text, cell)
                source.note(cell, after, f"the row has more cells than the {width} thread{'s' * (width > 1)}")
                too_many = True  # one finding for a program whose rows are all too long
            continue
        if character == "\n" and not _TAIL.match(text, at) and not _ends_row(text, cell, found, index, width):
            continue
        if index < width and _has_text(text, cell, at):
            columns[index].cells.append((cell, at))
        cell = found.end()
        if character == ";" and index < width - 1 and _bar_follows(text, cell):
            continue
        index = 0
        if _TAIL.match(text, cell):
            return cell
        _refuse_unknown_part(source, cell)
    if index < width and _has_text(text, cell, len(text)):
        columns[index].cells.append((cell, len(text)))
    return len(text)


def _has_text(text: str, start: int, end: int) -> bool:
    piece = text[start:end]
    return bool(piece) and not piece.isspace()


def _cell_text_end(text: str, start: int) -> int:
    found = _BREAK.search(text, start)
    return found.start() if found else len(text)


def _bar_follows(text: str, at: int) -> bool:
    """Whether the next character of the line, if any, is a `|`."""
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    return text[at : at + 1] == "|"


def _ends_row(text: str, cell: int, newline: re.Match[str], index: int, width: int) -> bool:
    """Whether the row ends with its line although no `;` stands there."""
    if index < width - 1:
        return False
    last = newline.start() - 1
    while last >= cell and text[last].isspace():
        last -= 1
    if last < cell:  # the last cell is empty, or starts on the next line: that one shows which
        following = _BREAK.search(text, newline.end())
        return following is not None and following.group() == "|"
    return text[last] != "," and text[newline.end() : newline.end() + 1] != ","


def _refuse_unknown_part(source: LitmusSource, at: int) -> None:
    """A word before `(` or `[` at the start of a row can only be a misspelt part of the tail."""
    found = _NOT_TAIL.match(source.text, at)
    if found is None:
        return
    group = 1 if found[1] else 2
    word = ("~" if found[1] else "") + found[group]
    near = source.suggest(word, TAIL_WORDS)
    if near is None and not found[1]:
        return  # an instruction, whatever is wrong with it
    hint = near or "after the program come scopes:, locations, filter, exists, ~exists, forall"
    raise source.error(found.start(group) - (group == 1), found.end(group), f"unknown word '{word}'", hint)


def fits_table(cell: str) -> bool:
    """Whether a statement can stand in a table: not read as a part of the tail, cut at a `|`, or joined to the next."""
    if _TAIL.match(cell) or _NOT_TAIL.match(cell) or _PAIR_SO_FAR.match(cell):
        return False
    bars = cell.count("|")
    return bars == 0 or (bars == 1 and _PAIR_SO_FAR.match(cell, 0, cell.index("|")) is not None)


# Blocks.


def _read_blocks(source: LitmusSource, start: int) -> tuple[list[ReadColumn], int]:
    text = source.text
    columns: list[ReadColumn] = []
    at = start
    while True:
        opening = text.find("{", at)
        if opening < 0:
            here = _blank_end(text, at)
            raise source.error(here, here + 1, "expected a thread's block '{ ... }' or the final condition")
        column = _read_thread(source, at, opening)
        column.is_block = True
        closing = _closing_brace(source, opening)
        piece = opening + 1
        for part in text[piece:closing].split(";"):
            if part and not part.isspace():
                column.cells.append((piece, piece + len(part)))
            piece += len(part) + 1
        columns.append(column)
        at = closing + 1
        if _blank_end(text, at) == len(text) or _TAIL.match(text, at):
            return columns, at
        _refuse_unknown_part(source, at)


_BRACE = re.compile(r"[{}]")


def _closing_brace(source: LitmusSource, opening: int) -> int:
    depth = 0
    for brace in _BRACE.finditer(source.text, opening):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return brace.start()
    raise source.error(opening, opening + 1, "this block is never closed", "close it with '}'")


# Statements.


def shows_ptx(cell: str) -> bool:
    """Whether a cell can only be typed PTX."""
    return bool(_TYPED.search(cell) or _PTX.match(cell))


def _choose_dialects(source: LitmusSource, columns: list[ReadColumn]) -> None:
    text = source.text
    any_typed = False
    for column in columns:
        for start, end in column.cells:
            if _TYPED.search(text, start, end) or _PTX.match(text, _blank_end(text, start), end):
                dialect = "typed"
            elif _SHORT.match(text, _blank_end(text, start), end):
                dialect = "short"
            else:
                continue
            if column.dialect not in ("", dialect):
                first = _blank_end(text, start)
                message = f"a {dialect} cell among the {column.dialect} ones of {column.name}"
                hint = "give every instruction its type and put addresses into brackets, as in 'ld.weak.u32 %r0, [x]'"
                source.note(first, start + len(text[start:end].rstrip()), message, hint)
                column.dialect = "mixed"
                break
            column.dialect = dialect
        any_typed = any_typed or column.dialect == "typed"
    any_short = any(column.dialect == "short" for column in columns)
    for column in columns:
        # Cells that both dialects have follow the other threads; where none shows a dialect, blocks are PTX.
        typed = any_typed or (column.is_block and not any_short)
        column.dialect = column.dialect or ("typed" if typed else "short")


def _read_cells(source: LitmusSource, column: ReadColumn) -> None:
    text = source.text
    short = column.dialect == "short"
    host = "host" in column.levels
    statements = column.statements
    for start, end in column.cells:
        line, at = source.position(start)
        try:
            if host and (read := _host_statement(source, start, end)):
                statements.append(read)
                continue
            cell = text[start:end].rstrip()
            if not cell.endswith(":"):
                cell += ";"
            statements += read_statements(cell, line, at, bare_addresses=short)
        except InputError as error:
            source.keep(error)


def _host_statement(source: LitmusSource, start: int, end: int) -> Instruction | None:
    """`launch k1`, `sync stream 0`, `sync k1`; None for anything else."""
    found = _HOST.match(source.text, start, end)
    if found is None:
        return None
    place = source.span(_blank_end(source.text, start), start + len(source.text[start:end].rstrip()))
    if found[1]:
        return Instruction("launch", (), (Name(found[2]),), span=place, text=found[0])
    if found[4]:
        return Instruction("sync", ("stream",), (Immediate(int(found[4])),), span=place, text=found[0])
    return Instruction("sync", (), (Name(found[5]),), span=place, text=found[0])

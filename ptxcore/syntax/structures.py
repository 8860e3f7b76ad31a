"""What begins with a dot in PTX text, and is no instruction: declarations, heads of functions, sections, other directives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from ptxcore.diagnostics import Span
from ptxcore.syntax.declarations import LINKAGE, SPACES, read_declaration
from ptxcore.syntax.directives import HEADS, SHAPES, misplaced, read_directive
from ptxcore.syntax.functions import read_function, read_prototype
from ptxcore.syntax.lexer import NAME, Bad, Cursor
from ptxcore.syntax.operands import OperandReader
from ptxcore.syntax.sections import read_section
from ptxcore.syntax.tree import AnyStatement, Label, Operand

_PLACE = r"(0|[1-9]\d{0,14}+)\s++(0|[1-9]\d{0,14}+)\s++(0|[1-9]\d{0,14}+)(?![\w$.])"
#: `.loc 1 2 3, function_name label, inlined_at 1 2 3`.
LOC = re.compile(
    rf"\.loc\s++{_PLACE}(?>(?:\s*+,\s*+(function_name)\s++({NAME})(?![.])(?>(?:\s*+\+\s*+(\d{{1,15}}+)(?![\w$.]))?)"
    rf"\s*+,\s*+(inlined_at)\s++{_PLACE})?)(?!\s*+,)",
    re.ASCII,
)


class DirectiveText(Protocol):
    """What a directive has to know of the text around it, and what changes with it there."""

    operands: OperandReader
    thread: bool
    strayed: bool
    body_follows: bool
    allowance: int
    statements: list[AnyStatement]

    @property
    def blocks(self) -> Sequence[object]: ...

    def span(self, start: int, end: int) -> Span: ...


def place_of(m: re.Match[str], known: OperandReader) -> tuple[Operand, ...]:
    """The arguments of a `.loc`."""
    file, line, column, function_name, label, offset, inlined_at, *call = m.groups()
    place = (known[file], known[line], known[column])
    if function_name is None:
        return place
    name = known[label] if offset is None else known[f"{label}+{offset}"]
    return *place, known[function_name], name, known[inlined_at], *map(known.__getitem__, call)


def read_structure(around: DirectiveText, cursor: Cursor, word: str) -> tuple[AnyStatement, int]:
    """The directive on which the cursor stands, and the offset where it ends."""
    place = "body" if around.blocks or around.thread else "module"
    linkage = ""
    if word in LINKAGE and place == "module":
        linkage = word
        cursor.advance()
        word = cursor.text[1:] if cursor.kind == "word" else ""
        if word not in ("entry", "func", "align", *SPACES):
            bad = cursor.missing("a state space, .entry or .func", f"behind .{linkage}")
            bad.hint = f"write .{cursor.text}" if cursor.text in (*HEADS, *SPACES) else None
            raise bad
    if word in SPACES or word == "align":
        declaration = read_declaration(cursor, around.span, around.operands, linkage)
        return declaration, cursor.start
    statement: AnyStatement
    around.body_follows = word in HEADS
    if word in HEADS and place == "module":
        function = read_function(cursor, around.span, linkage)
        around.strayed = False
        around.body_follows = function.defined
        statement = function
    elif word == "callprototype" and place == "body":
        _needs_label(around, cursor)
        statement = read_prototype(cursor, around.span)
    elif word == "section" and place == "module":
        statement = read_section(cursor)
    else:
        shape = SHAPES.get(word)
        if shape is None or place not in shape.places:
            raise misplaced(cursor, place)
        if shape.labelled:
            _needs_label(around, cursor)
        cursor.allowance = around.allowance
        statement = read_directive(cursor, shape)
        around.allowance = cursor.allowance
    return statement, cursor.start


def _needs_label(around: DirectiveText, cursor: Cursor) -> None:
    if not around.statements or not isinstance(around.statements[-1], Label):
        raise Bad(cursor.start, cursor.stop, f"'{cursor.text}' needs a label before it", f"as in T: {cursor.text}")

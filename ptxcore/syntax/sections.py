"""Sections of debugging data (PTX ISA 9.0, section 11.5.2)."""

from __future__ import annotations

import re

from ptxcore.clock import tick
from ptxcore.syntax.directives import read_label_sum
from ptxcore.syntax.lexer import NAME, Bad, Cursor, integer_literal
from ptxcore.syntax.tree import Immediate, Name, Operand, Section, Vector, Wrapped

Line = tuple[str, str, tuple[Operand, ...]]

_LABEL = re.compile(rf"\s*+({NAME})\s*+:(?!:)", re.ASCII)
_ITEM = rf"(?:-?(?:0[xX][0-9a-fA-F]{{1,16}}+|0|[1-9][0-9]{{0,14}}+)(?![\w$.])|\.?(?!_[^\w$]){NAME})"
#: The common rows: a type, and numbers and names on the same line.
_ROW = re.compile(
    rf"\s*+\.(b(?:8|16|32|64))[ \t]++({_ITEM}(?>(?:[ \t]*+,[ \t]*+{_ITEM})*))(?=\s*+(?:[.}}]|{NAME}\s*+:))", re.ASCII
)


class _Values(dict[str, Operand]):
    """The values of rows by their text."""

    def __missing__(self, text: str) -> Operand:
        value = self[text] = _value(Cursor(text))
        return value


def read_section(cursor: Cursor) -> Section:
    """`.section .debug_info { ... }`; the cursor ends behind the `}`. Raises Bad."""
    cursor.advance()
    if cursor.kind != "word":
        raise cursor.missing("the name of a section such as .debug_info")
    name = cursor.text
    cursor.advance()
    if cursor.text != "{":
        raise cursor.missing("'{'", "behind the name of the section")
    try:
        return Section(name, tuple(_lines(cursor)))
    except Bad as bad:
        end = cursor.source.find("}", bad.start)
        bad.resume = end + 1 if end >= 0 else len(cursor.source)
        raise


def _lines(cursor: Cursor) -> list[Line]:
    """The lines of a section; rows that were read before are looked up by their text."""
    source = cursor.source
    values = _Values()
    rows: dict[tuple[str, str], Line] = {}
    lines: list[Line] = []
    position = cursor.stop
    while True:
        tick()
        m = _ROW.match(source, position)
        if m is not None:
            kind, text = key = m[1], m[2]
            row = rows.get(key)
            if row is None:
                row = rows[key] = ("", kind, tuple(map(values.__getitem__, text.split(","))))
            lines.append(row)
            position = m.end()
            continue
        m = _LABEL.match(source, position)
        if m is not None:
            lines.append((m[1], "", ()))
            position = m.end()
            continue
        cursor.goto(position)
        if cursor.accept("}"):
            return lines
        lines.append(_line(cursor))
        position = cursor.start


def _line(cursor: Cursor) -> Line:
    if cursor.kind != "word":
        raise cursor.missing("a type such as .b8, a label or '}'")
    kind = cursor.text[1:]
    cursor.advance()
    values = [_value(cursor)]
    while cursor.accept(","):
        values.append(_value(cursor))
    return "", kind, tuple(values)


def _value(cursor: Cursor) -> Operand:
    """A number, a label or section with an offset, or the difference of two labels."""
    if cursor.kind in ("name", "word"):
        label = read_label_sum(cursor)
        if isinstance(label, Name) and cursor.text == "-" and cursor.kind == "mark":
            cursor.advance()
            return Wrapped("-", Vector((label, Name(cursor.take_name("a label")))))
        return label
    negative = cursor.accept("-")
    if cursor.kind != "number":
        raise cursor.missing("a number or a label")
    number = integer_literal(cursor.text)
    if isinstance(number, str):
        raise Bad(cursor.start, cursor.stop, number)
    cursor.advance()
    return Immediate(-number.value if negative else number.value)

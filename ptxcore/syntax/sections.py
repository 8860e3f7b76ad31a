"""Sections of debugging data (PTX ISA 9.0, section 11.5.2)."""

from __future__ import annotations

import re

from ptxcore.syntax.directives import read_label_sum
from ptxcore.syntax.lexer import NAME, Bad, Cursor, integer_literal
from ptxcore.syntax.tree import Immediate, Name, Operand, Section, Vector, Wrapped

Line = tuple[str, str, tuple[Operand, ...]]

_LABEL = re.compile(rf"\s*+({NAME})\s*+:(?!:)", re.ASCII)
#: The common lines: one type, decimal or hexadecimal numbers, or one name.
_PLAIN = re.compile(
    r"\s*+\.(b(?:8|16|32|64))\s++(-?(?:0x[0-9a-fA-F]{1,16}|0|[1-9]\d{0,14})|\.?[A-Za-z$]\w*+)(?=\s*+[.}])", re.ASCII
)


def read_section(cursor: Cursor) -> Section:
    """`.section .debug_info { ... }`; the cursor ends behind the `}`. Raises Bad."""
    cursor.advance()
    if cursor.kind != "word":
        raise cursor.missing("the name of a section such as .debug_info")
    name = cursor.text
    cursor.advance()
    if cursor.text != "{":
        raise cursor.missing("'{'", "behind the name of the section")
    lines = _Lines(cursor)
    return Section(name, tuple(lines.read()))


class _Lines:
    """The lines of a section; those that were read before are looked up by their text."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.known: dict[tuple[str, str], Line] = {}

    def read(self) -> list[Line]:
        cursor = self.cursor
        source, known = cursor.source, self.known
        lines: list[Line] = []
        position = cursor.stop
        while True:
            m = _PLAIN.match(source, position)
            if m is not None:
                kind, text = key = m[1], m[2]
                line = known.get(key)
                if line is None:
                    line = known[key] = ("", kind, (_value(Cursor(text)),))
                lines.append(line)
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

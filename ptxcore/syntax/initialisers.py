"""Initial values of variables (PTX ISA 9.0, sections 5.3 and 5.4.4): constants, addresses, lists, fields of textures."""

from __future__ import annotations

import re

from ptxcore.syntax.lexer import Bad, Cursor
from ptxcore.syntax.operands import DEEPEST, OperandReader, read_operand
from ptxcore.syntax.tree import Address, Operand, Vector, Wrapped

#: A list of constants and names, as most tables are.
_FLAT = re.compile(r"\{([^{}()\[\]\"=;<>?|!@#:]*+)\}")
_FIELD = re.compile(r"\s*+[A-Za-z_]\w*+\s*+=(?!=)", re.ASCII)


def read_initialiser(cursor: Cursor, operands: OperandReader) -> Operand:
    """The value behind `=`; the cursor ends behind it. Nested lists are `Vector`s, `field = value` is
    `Wrapped(field, value)`. Raises Bad."""
    if cursor.text != "{" or cursor.kind != "mark":
        return _value(cursor)
    open_lists: list[list[Operand]] = []
    while True:
        # A value, or a list that begins here.
        if cursor.text == "{" and cursor.kind == "mark":
            value = _flat(cursor, operands)
            if value is None:
                if len(open_lists) >= DEEPEST:
                    raise Bad(cursor.start, cursor.stop, f"lists are nested more than {DEEPEST} deep")
                open_lists.append([])
                cursor.advance()
                continue
        else:
            value = _field(cursor) if _FIELD.match(cursor.source, cursor.start, cursor.limit) else _value(cursor)
        # What follows it.
        while open_lists:
            open_lists[-1].append(value)
            if cursor.accept(","):
                break
            if not cursor.accept("}"):
                raise cursor.missing("',' or '}'")
            value = Vector(tuple(open_lists.pop()))
        else:
            return value


def _flat(cursor: Cursor, operands: OperandReader) -> Operand | None:
    """A list without further lists, if it is one that the short way takes."""
    m = _FLAT.match(cursor.source, cursor.start, cursor.limit)
    if m is None:
        return None
    value = Vector(()) if not m[1].strip() else operands.vector(m[1])
    if value is not None:
        cursor.goto(m.end())
    return value


def _value(cursor: Cursor) -> Operand:
    start = cursor.start
    if cursor.kind == "mark" and cursor.text in ("{", "["):
        raise cursor.missing("a value")
    value = read_operand(cursor, initial=True)
    if isinstance(value, Address) and value.indexed:
        raise Bad(start, cursor.start, "an element of an array is no initial value", "write its address: name+bytes")
    return value


def _field(cursor: Cursor) -> Operand:
    """`filter_mode = nearest` of a texture, sampler or surface."""
    field = cursor.take_name("a field")
    cursor.expect("=")
    return Wrapped(field, _value(cursor))

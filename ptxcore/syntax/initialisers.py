"""Initial values of variables (PTX ISA 9.0, section 5.4.4): constants, addresses, and lists of them."""

from __future__ import annotations

from ptxcore.syntax.lexer import Cursor
from ptxcore.syntax.operands import read_operand
from ptxcore.syntax.tree import Operand


def read_initialiser(cursor: Cursor) -> Operand:
    """The value behind `=`; the cursor ends behind it. Raises Bad."""
    return read_operand(cursor, initial=True)

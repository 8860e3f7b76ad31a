"""Operands from text: what may stand in an instruction, in an initialiser, and in a directive.

Real code repeats its operands, so those that were read before are looked up by their text; the others are mostly a name,
a number or an address, which one pattern takes; the rest goes over tokens, with a stack for what is open.
"""

from __future__ import annotations

import re

from ptxcore.syntax.expressions import read_expression, read_integer, starts_expression
from ptxcore.syntax.lexer import NAME, Bad, Cursor, integer_literal, shown
from ptxcore.syntax.tree import (
    Address,
    Arguments,
    Bracket,
    Float,
    Immediate,
    Name,
    Operand,
    Pair,
    Sink,
    Vector,
    Wrapped,
)

#: Lists that are open at one place; an array has no more dimensions than that.
DEEPEST = 64

_SINK = Sink()
_BRACKETS = {"{": "}", "[": "]", "(": ")"}
_BLANKS = " \t\n\r\f\v"
_NAME = re.compile(rf"{NAME}\Z", re.ASCII)
#: Other common operands. What does not match, or could be more than it seems, is left to the tokens.
_COMMON = re.compile(
    rf"""\s*+(?:
      (?P<name>{NAME})\s*+\+\s*+(?P<far>-?\d{{1,15}})
    | (?P<number>-?\d{{1,15}})
    | \[\s*+(?P<base>{NAME})\s*+(?>(?:\+\s*+(?P<offset>-?\d{{1,15}})\s*+)?)\]
    )\s*+\Z""",
    re.VERBOSE | re.ASCII,
)
#: One operand of a list, as far as blanks, brackets and commas tell.
_PIECE = re.compile(r"((?>(?:[^,{}\[\]()]++|\{[^{}]*+\}|\[(?>(?:[^{}\[\]]++|\{[^{}\[\]]*+\})*)\])+))(,|\Z)")


class _Unread(Exception):
    """Only the tokens can tell what this text is, or what is wrong with it."""


class OperandReader(dict[str, Operand]):
    """Reads the operands of one piece of text; equal texts give the same operand object. The keys are those texts."""

    __slots__ = ()

    def read(self, text: str, call: bool = False) -> tuple[Operand, ...]:
        """The operands that `text` lists, up to its end. Raises Bad with offsets into `text`.

        With `call`, parentheses hold arguments; elsewhere they belong to constant expressions.
        """
        if not call:
            try:
                # Most lists are of names, numbers and addresses, with one blank behind each comma.
                if "{" not in text:
                    return tuple(map(self.__getitem__, text.split(", ")))
            except _Unread:
                pass
            try:
                return tuple(map(self.__getitem__, _pieces(text)))
            except _Unread:
                pass
        return read_operands(text, call)

    def vector(self, inner: str) -> Vector | None:
        """`{a, b}` without further lists, from what stands in its braces; None where it is not as plain as that."""
        if "{" in inner or "[" in inner:
            return None
        try:
            return Vector(tuple(map(self.__getitem__, inner.split(","))))
        except _Unread:
            return None

    def __missing__(self, piece: str) -> Operand:
        """Reads one operand that was not met before."""
        operand: Operand | None
        if _NAME.match(piece) is not None and piece != "_" and piece != "WARP_SZ":
            operand = self[piece] = Name(piece)
            return operand
        bare = piece.strip(_BLANKS)
        # An expression in parentheses could be arguments elsewhere.
        if not bare or "(" in bare or ("," in bare and bare[0] not in "{["):
            raise _Unread
        if bare is not piece and bare != piece:
            operand = self[piece] = self[bare]
            return operand
        m = _COMMON.match(bare)
        operand = None
        if m is not None:
            operand = _common(m)
        elif bare[0] == "{" and bare[-1] == "}":
            operand = self.vector(bare[1:-1])
        if operand is None:
            try:
                (operand,) = read_operands(bare)
            except (Bad, ValueError):
                raise _Unread from None
        self[piece] = operand
        return operand


def _pieces(text: str) -> list[str]:
    """The text of each operand of a list. Raises _Unread where brackets do not balance, or parentheses stand."""
    pieces: list[str] = []
    position = 0
    while True:
        m = _PIECE.match(text, position)
        if m is None:
            raise _Unread
        pieces.append(m[1])
        if not m[2]:
            return pieces
        position = m.end()


def _common(m: re.Match[str]) -> Operand | None:
    name, far, number, base, offset = m.groups()
    if number is not None:
        return Immediate(int(number)) if _plain(number) else None
    added = far or offset
    if (name or base) in ("_", "WARP_SZ") or (added is not None and not _plain(added)):
        return None
    if name is not None:
        return Address(Name(name), int(far), False)
    return Address(Name(base), int(offset or 0))


def _plain(number: str) -> bool:
    """Whether a number is decimal: `010` is octal."""
    return number in ("0", "-0") or number.lstrip("-")[0] != "0"


def read_operands(text: str, call: bool = False, start: int = 0, end: int | None = None) -> tuple[Operand, ...]:
    """The operands that `text` lists between two offsets, over tokens. Raises Bad."""
    cursor = Cursor(text, start, end)
    operands: list[Operand] = []
    while True:
        if cursor.kind == "end" or cursor.text in (",", ";"):
            raise Bad(cursor.start, cursor.start + 1, "an operand is missing here")
        operands.append(read_operand(cursor, call))
        if cursor.kind == "end":
            return tuple(operands)
        if not cursor.accept(","):
            if cursor.kind == "mark" and cursor.text in "-+" and isinstance(operands[-1], Name):
                raise _no_sum(cursor, operands[-1])
            raise Bad(cursor.start, cursor.stop, f"',' or ';' is missing before {cursor.quoted()}", again=True)


class _OpenList:
    """A list that is still open: its bracket, and what it holds so far."""

    __slots__ = ("elements", "mark", "start")

    def __init__(self, mark: str, start: int) -> None:
        self.mark, self.start = mark, start
        self.elements: list[Operand] = []


def read_operand(cursor: Cursor, call: bool = False, initial: bool = False) -> Operand:
    """The operand that begins here; the cursor ends behind it. `initial` for the value of a variable. Raises Bad."""
    stack: list[_OpenList] = []
    while True:
        opening = cursor.text if cursor.kind == "mark" else ""
        operand: Operand
        if opening in ("{", "[") or (opening == "(" and call and not stack):
            if len(stack) >= DEEPEST:
                raise Bad(cursor.start, cursor.stop, f"lists are nested more than {DEEPEST} deep")
            stack.append(_OpenList(opening, cursor.start))
            cursor.advance()
            if not (opening == "(" and cursor.text == ")"):
                continue
            cursor.advance()
            operand = Arguments(())
            stack.pop()
        else:
            operand = _simple(cursor, initial, bool(stack) and stack[-1].mark == "[")
        while stack:
            top = stack[-1]
            top.elements.append(operand)
            if cursor.accept(","):
                break
            if cursor.text != _BRACKETS[top.mark] or cursor.kind != "mark":
                raise _unclosed(cursor, top)
            cursor.advance()
            stack.pop()
            operand = _closed(cursor, top)
        else:
            return operand


def _unclosed(cursor: Cursor, top: _OpenList) -> Bad:
    last = top.elements[-1]
    if cursor.kind == "mark" and cursor.text in "-+" and isinstance(last, Name):
        return _no_sum(cursor, last)
    if cursor.kind == "end":  # of a statement
        return Bad(cursor.start, cursor.start + 1, f"',' or '{_BRACKETS[top.mark]}' is missing before ';'")
    return Bad(cursor.start, cursor.stop, f"',' or '{_BRACKETS[top.mark]}' is missing before {cursor.quoted()}")


def _no_sum(cursor: Cursor, name: Name) -> Bad:
    if cursor.text == "-":
        ahead = Cursor(cursor.source, cursor.stop, cursor.limit)
        number = shown(ahead.text) if ahead.kind == "number" else "..."
        return Bad(
            cursor.start, cursor.stop, "an offset is added, never subtracted", f"write {shown(name.name)}+-{number}"
        )
    return Bad(cursor.start, cursor.stop, f"nothing can be added to '{shown(name.prefix + name.name)}'")


def _closed(cursor: Cursor, top: _OpenList) -> Operand:
    """The operand that a list is, now that its bracket was closed before the cursor."""
    if top.mark == "(":
        return Arguments(tuple(top.elements))
    if top.mark == "{":
        vector = Vector(tuple(top.elements))
        if cursor.kind == "mark" and cursor.text == "|":
            return _pair(cursor, vector)
        return vector
    if len(top.elements) > 1:
        return Bracket(tuple(top.elements))
    inner = top.elements[0]
    qualifier = ""
    if cursor.text == ".unified":
        qualifier = "unified"
        cursor.advance()
    end = cursor.source.rfind("]", 0, cursor.start) + 1
    if isinstance(inner, Immediate):
        return Address(inner, qualifier=qualifier)
    if isinstance(inner, Address) and not inner.bracketed:
        return Address(inner.base, inner.offset, qualifier=qualifier)
    if isinstance(inner, Name) and not inner.prefix and "." not in inner.name:
        return Address(inner, qualifier=qualifier)
    what = "'_' is not an address" if isinstance(inner, Sink) else "this is not an address"
    if isinstance(inner, Sink):
        return _fail(top.start + 1, end - 1, what)
    return _fail(top.start, end, what, "in brackets stand a register, a variable or a number, and what is added to it")


def _fail(start: int, end: int, message: str, hint: str | None = None) -> Operand:
    raise Bad(start, max(end, start + 1), message, hint)


def _simple(cursor: Cursor, initial: bool, bracketed: bool = False) -> Operand:
    """An operand that is no list: a name with what belongs to it, or a constant."""
    if cursor.kind == "name" and cursor.text != "WARP_SZ":
        return _named(cursor, "", initial)
    if cursor.kind == "mark" and cursor.text in ("!", "-"):
        prefix = cursor.text
        start = cursor.start
        ahead = Cursor(cursor.source, cursor.stop, cursor.limit)
        if ahead.kind == "name" and ahead.text != "WARP_SZ":
            cursor.advance()
            if cursor.text == "_":
                raise Bad(start, cursor.stop, "'_' cannot be negated")
            return _named(cursor, prefix, False)
    if starts_expression(cursor):
        if initial and cursor.kind == "number":
            mask = _mask(cursor)
            if mask is not None:
                return mask
        value: Immediate | Float = read_expression(cursor)
        return value
    if cursor.kind == "end" or cursor.text in (",", ";", "}", "]", ")"):
        raise Bad(cursor.start, max(cursor.stop, cursor.start + 1), "an operand is missing here")
    if cursor.source.startswith("*/", cursor.start):
        raise Bad(cursor.start, cursor.start + 2, "this '*/' ends no comment", "comments do not nest")
    hint = "a text is a list of numbers, as in {97, 98, 0}" if cursor.kind == "string" else None
    raise Bad(cursor.start, cursor.stop, f"{cursor.quoted()} is not an operand", hint)


def _mask(cursor: Cursor) -> Wrapped | None:
    """`0xFF00(name)` of an initialiser (section 5.4.4), or None where the number is an ordinary one."""
    ahead = Cursor(cursor.source, cursor.stop, cursor.limit)
    if ahead.text != "(":
        return None
    number = integer_literal(cursor.text)
    if isinstance(number, str):
        raise Bad(cursor.start, cursor.stop, number)
    cursor.advance()
    return Wrapped("mask", _wrapped(cursor), number.value)


def _wrapped(cursor: Cursor) -> Operand:
    """What stands in the parentheses of a mask: an address or a number."""
    cursor.expect("(")
    inner = _generic(cursor) if cursor.text == "generic" else _simple(cursor, False)
    cursor.expect(")", "behind what is masked")
    return inner


def _generic(cursor: Cursor) -> Operand:
    """`generic(name)`, `generic(name)+4`."""
    cursor.advance()
    cursor.expect("(", "behind 'generic'")
    name = Name(cursor.take_name("the name of a variable"))
    cursor.expect(")", "behind the name of a variable")
    if cursor.kind == "mark" and cursor.accept("+"):
        return Wrapped("generic", Address(name, read_integer(cursor, "an integer offset"), False))
    return Wrapped("generic", name)


def _named(cursor: Cursor, prefix: str, initial: bool) -> Operand:
    """What begins with a name: `a`, `a.x`, `a+4`, `a[1]`, `a|p`, and in an initialiser `generic(a)`."""
    word = cursor.text
    if initial and word == "generic":
        return _generic(cursor)
    if word == "_":
        cursor.advance()
        return _pair(cursor, _SINK) if cursor.kind == "mark" and cursor.text == "|" else _SINK
    component = cursor.component()
    cursor.advance()
    name = Name(word + component, prefix)
    if cursor.kind != "mark" or cursor.text in (",", "]", "}"):
        return name
    mark = cursor.text
    if mark == "|" and not prefix:
        return _pair(cursor, name)
    if component or prefix:
        return name
    if mark == "+":
        cursor.advance()
        return Address(name, read_integer(cursor, "an integer offset"), False)
    if mark == "[":
        return _indexed(cursor, name)
    return name


def _indexed(cursor: Cursor, name: Name) -> Address:
    """`name[1]`, `name[%r1]`, `name[%r1+1]`."""
    cursor.expect("[")
    index = None
    offset = 0
    if cursor.kind == "name" and cursor.text not in ("_", "WARP_SZ"):
        index = Name(cursor.text)
        cursor.advance()
        if cursor.accept("+"):
            offset = read_integer(cursor, "an integer index")
    else:
        offset = read_integer(cursor, "an index")
    cursor.expect("]", "behind the index")
    return Address(name, offset, True, index, True)


def _pair(cursor: Cursor, first: Name | Sink | Vector) -> Pair:
    cursor.expect("|")
    if cursor.kind != "name":
        raise cursor.missing("the second destination")
    if cursor.text == "_":
        if isinstance(first, Sink):
            raise Bad(cursor.start, cursor.stop, "only one of two destinations can be '_'")
        cursor.advance()
        return Pair(first, _SINK)
    second = cursor.text + cursor.component()
    cursor.advance()
    return Pair(first, Name(second))

"""PTX statements from text: labels, guarded instructions, register declarations.

One pattern takes a whole statement, one an operand; opcodes repeat in real code, so their parts are remembered.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ptxcore.diagnostics import Diagnostic, InputError, Span, fail
from ptxcore.syntax.lexer import NAME, NUMBER, Positions, blank_comments, integer
from ptxcore.syntax.tree import (
    Address,
    Declaration,
    Immediate,
    Instruction,
    Label,
    Name,
    Operand,
    Pair,
    Register,
    Sink,
    Statement,
    Vector,
)

# Possessive repetitions throughout: a statement that does not match fails in one pass.
_STATEMENT = re.compile(
    rf"""
      (?P<label>{NAME})\s*+:(?!:)
    | (?:@(?P<negated>\s*+!)?+\s*+(?P<guard>{NAME})\s++)?+
      (?P<opcode>[A-Za-z_]\w*+(?:\s?\.[\w:]++)*+)
      (?P<operands>(?=[\s;{{\[%!_@(])[^;]*+)?+;
    | (?P<directive>\.\w++)(?P<rest>[^;]*+);
    """,
    re.VERBOSE,
)
_OPERAND = re.compile(
    rf"""\s*+(?:
      (?P<negated>!\s*+)?+(?P<name>{NAME})
    | (?P<number>-?\s*+{NUMBER})
    | \[\s*+(?P<base>{NAME}|{NUMBER})\s*+(?:(?P<sign>[+-]\s*+-?)\s*+(?P<offset>{NUMBER})\s*+)?+\]
    | (?P<far>{NAME})\s*+(?P<farsign>[+-])\s*+(?P<faroffset>{NUMBER})
    | (?P<first>{NAME})\s*+\|\s*+(?P<second>{NAME})
    | \{{(?P<elements>[^{{}}\[\]]*+)\}}
    )\s*+(?P<end>,|\Z)""",
    re.VERBOSE,
)
_DECLARED = re.compile(rf"\s*+(?P<name>{NAME})(?:\s*+<\s*+(?P<count>{NUMBER})\s*+>)?+\s*+(?P<end>,|\Z)")
_REG_TYPE = re.compile(r"\s*+\.(\w++)\s")
_BLANK = re.compile(r"\s*+")
_UNSUPPORTED_OPERAND = re.compile(r"\s*+\[[^\]]*,")


class _Bad(Exception):
    """A finding inside a statement, by offsets; reading goes on behind the statement."""

    def __init__(self, start: int, end: int, message: str, hint: str | None = None) -> None:
        self.start, self.end, self.message, self.hint = start, end, message, hint


@lru_cache(maxsize=4096)
def _opcode(text: str) -> tuple[str, tuple[str, ...]]:
    first, *modifiers = "".join(text.split()).split(".")
    return first, tuple(modifiers)


def read_statements(text: str, line: int = 1, column: int = 1, *, bare_addresses: bool = False) -> list[Statement]:
    """The statements of `text`, which starts at the given place of its file, so that spans point into that file.

    With `bare_addresses` (the short dialect of litmus tests) operands are names, registers and integers only.
    Raises InputError with every finding; reading goes on behind each faulty statement.
    """
    text = blank_comments(text)
    at = Positions(text, line, column)
    statements: list[Statement] = []
    found: list[Diagnostic] = []
    position, length = _end(_BLANK, text, 0), len(text)
    while position < length:
        m = _STATEMENT.match(text, position)
        try:
            if m is None:
                raise _not_a_statement(text, position)
            statements.append(_statement(m, text, at, bare_addresses))
            position = m.end()
        except _Bad as bad:
            found.append(Diagnostic(at.span(bad.start, bad.end), bad.message, bad.hint))
            end = text.find(";", position)
            position = length if end < 0 else end + 1
        position = _end(_BLANK, text, position)
    if found:
        raise InputError(found)
    return statements


def read_statement(text: str, line: int = 1, column: int = 1, *, bare_addresses: bool = False) -> Statement:
    """The one statement of a litmus cell: an instruction without its `;`, or `LABEL:`. Raises InputError."""
    bare = text.rstrip()
    if not bare:
        raise fail(Span(line, column, column + max(1, len(text))), "an instruction or a label is missing here")
    ended = bare.endswith((";", ":"))
    statements = read_statements(text if ended else bare + ";", line, column, bare_addresses=bare_addresses)
    if len(statements) != 1:
        span = Span(line, column, column + max(1, len(text.split("\n", 1)[0])))
        what = "a second statement in this cell" if statements else "an instruction or a label is missing here"
        raise InputError([Diagnostic(statements[1].span if statements else span, what, "a cell holds one statement")])
    return statements[0]


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    m = pattern.match(text, position)
    return m.end() if m else position


def _not_a_statement(text: str, position: int) -> _Bad:
    end = text.find(";", position)
    word = re.compile(r"\S+?(?=[\s;]|\Z)|\S").match(text, position)
    stop = word.end() if word else position + 1
    if text[position] == ";":
        return _Bad(position, position + 1, "an instruction is missing before ';'")
    if text[position] in "{}":
        return _Bad(position, position + 1, "blocks inside a thread are not supported yet")
    if end < 0:
        return _Bad(position, stop, "this statement has no ';' at its end")
    return _Bad(position, stop, f"'{text[position:stop][:40]}' does not begin a PTX statement")


def _statement(m: re.Match[str], text: str, at: Positions, bare: bool) -> Statement:
    label = m["label"]
    if label is not None:
        return Label(label, at.span(m.start("label"), m.end("label")))
    if m["directive"] is not None:
        return _declaration(m, at)
    opcode, modifiers = _opcode(m["opcode"])
    guard = None
    if m["guard"] is not None:
        guard = Register(m["guard"], m["negated"] is not None, at.span(m.start("guard"), m.end("guard")))
    operands = m["operands"]
    read: tuple[Operand, ...] = ()
    if operands and not operands.isspace():
        read = _operands(operands, m.start("operands"), at, bare)
    return Instruction(opcode, modifiers, read, guard, at.span(m.start("opcode"), m.end("opcode")))


def _operands(text: str, start: int, at: Positions, bare: bool) -> tuple[Operand, ...]:
    operands: list[Operand] = []
    position = 0
    while True:
        m = _OPERAND.match(text, position)
        if m is None:
            raise _bad_operand(text, position, start)
        if bare and m["base"] is not None:
            raise _Bad(start + m.start("base") - 1, start + m.end() - len(m["end"]),
                       "an address in brackets in the short dialect", "write the location without brackets, "
                       "or give the opcode a type to make the cell typed PTX")  # fmt: skip
        operands.append(_operand(m, start, at))
        position = m.end()
        if not m["end"]:
            return tuple(operands)


def _operand(m: re.Match[str], start: int, at: Positions) -> Operand:
    name = m["name"]
    if name is not None:
        first = m.start("name") if m["negated"] is None else m.start("negated")
        return _word(name, m["negated"] is not None, at.span(start + first, start + m.end("name")))
    if m["number"] is not None:
        return Immediate(_number(m, "number", start), at.span(start + m.start("number"), start + m.end("number")))
    end = m.end() - len(m["end"])
    while end and m.string[end - 1].isspace():
        end -= 1
    begin = m.start()
    while m.string[begin].isspace():
        begin += 1
    span = at.span(start + begin, start + end)
    if m["base"] is not None:
        here = at.span(start + m.start("base"), start + m.end("base"))
        base = Immediate(_number(m, "base", start), here) if m["base"][0].isdigit() else _word(m["base"], False, here)
        offset = 0
        if m["offset"] is not None:
            offset = _number(m, "offset", start)
            if m["sign"].count("-") == 1:
                offset = -offset
        if isinstance(base, Sink):
            raise _Bad(start + m.start("base"), start + m.end("base"), "'_' is not an address")
        return Address(base, offset, True, span)
    if m["far"] is not None:
        base = _word(m["far"], False, at.span(start + m.start("far"), start + m.end("far")))
        offset = _number(m, "faroffset", start)
        if isinstance(base, Sink):
            raise _Bad(start + m.start("far"), start + m.end("far"), "'_' is not an address")
        return Address(base, -offset if m["farsign"] == "-" else offset, False, span)
    if m["first"] is not None:
        return Pair(
            _word(m["first"], False, at.span(start + m.start("first"), start + m.end("first"))),
            _word(m["second"], False, at.span(start + m.start("second"), start + m.end("second"))),
            span,
        )
    elements: list[Register | Name | Immediate | Sink] = []
    for e in _operands(m["elements"], start + m.start("elements"), at, False):
        if not isinstance(e, Register | Name | Immediate | Sink):
            raise _Bad(start + begin, start + end, "a vector holds registers, names and integers only")
        elements.append(e)
    return Vector(tuple(elements), span)


def _word(name: str, negated: bool, span: Span) -> Register | Name | Sink:
    if name[0] == "%" or negated:
        return Register(name, negated, span)
    return Sink(span) if name == "_" else Name(name, span)


def _number(m: re.Match[str], group: str, start: int) -> int:
    word: str = m[group]
    value = integer(word.lstrip("- \t\n"))
    if type(value) is str:
        raise _Bad(start + m.start(group), start + m.end(group), value)
    assert type(value) is int
    return -value if word[0] == "-" else value


def _bad_operand(text: str, position: int, start: int) -> _Bad:
    m = re.compile(r"\s*([^\s,]+[^,]*)").match(text, position)
    if m is None:
        at = start + position
        return _Bad(at, at + 1, "an operand is missing here")
    word = m[1].rstrip()
    begin, end = start + m.start(1), start + m.start(1) + len(word)
    if _UNSUPPORTED_OPERAND.match(text, position):
        return _Bad(begin, end, "texture and surface coordinates in an address are not supported yet")
    if word[0].isdigit() and "." in word:
        return _Bad(begin, end, f"floating-point literals are not supported yet: '{word[:40]}'")
    return _Bad(begin, end, f"'{word[:40]}' is not an operand")


def _declaration(m: re.Match[str], at: Positions) -> Declaration:
    begin = m.start("directive")
    if m["directive"] != ".reg":
        raise _Bad(begin, m.end("directive"), f"directive '{m['directive']}' is not supported in a thread",
                   "variables are declared in the init block; registers by .reg")  # fmt: skip
    rest, start = m["rest"], m.start("rest")
    kind = _REG_TYPE.match(rest)
    if kind is None:
        raise _Bad(begin, m.end("directive"), "a register declaration needs a type", "as in .reg .u32 %a;")
    names: list[tuple[str, int | None]] = []
    position = kind.end()
    while True:
        d = _DECLARED.match(rest, position)
        if d is None:
            raise _bad_operand(rest, position, start)
        count = None
        if d["count"] is not None:
            count = _number(d, "count", start)
            if count > 1 << 20:
                raise _Bad(start + d.start("count"), start + d.end("count"), "more than 1048576 registers in one name")
        names.append((d["name"], count))
        position = d.end()
        if not d["end"]:
            return Declaration(kind[1], tuple(names), at.span(begin, m.end() - 1))

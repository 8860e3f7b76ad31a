"""PTX statements from text: labels, guarded instructions, blocks, directives.

One pattern takes a whole instruction; directives, and whatever is wrong, go over tokens. Opcodes and operands repeat in
real code, so what was made of them is remembered. Reading goes on behind each faulty statement.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ptxcore.diagnostics import Diagnostic, InputError, Span, fail
from ptxcore.syntax.declarations import read_declaration
from ptxcore.syntax.lexer import NAME, Bad, Cursor, Positions, blank_comments, shown
from ptxcore.syntax.operands import OperandReader
from ptxcore.syntax.spans import find_span
from ptxcore.syntax.tree import Address, AnyStatement, Close, Declaration, Instruction, Label, Name, Open

# Possessive repetitions throughout: a statement that does not match fails in one pass.
_INSTRUCTION = re.compile(
    rf"""
    \s*+
    (?:(@)\s*+(!\s*+)?+({NAME})\s*+)?+              # 1-3: the guard
    ([A-Za-z_]\w*+(?:\s*+\.[\w:]++)*+)(?![\w$]|\s*+:)  # 4: the opcode with its modifiers
    ([^;]*+);                                        # 5: the operands
    """,
    re.VERBOSE | re.ASCII,
)
_LABEL = re.compile(rf"({NAME})\s*+:(?!:)", re.ASCII)
_BLANK = re.compile(r"\s*+", re.ASCII)
_DIRECTIVE = re.compile(r"\.[A-Za-z_]\w*+", re.ASCII)
_WORD = re.compile(r"[^\s;{}]++|\S")
_END_OR_BLOCK = re.compile(r"[;{}]")


@lru_cache(maxsize=4096)
def _opcode(text: str) -> tuple[str, tuple[str, ...]]:
    first, *modifiers = "".join(text.split()).split(".")
    return first, tuple(modifiers)


@lru_cache(maxsize=256)
def _guard(name: str, negated: bool) -> Name:
    return Name(name, "!" if negated else "")


class Reader:
    """Reads the statements of one text, which starts at a given place of its file, so that spans point into that file.

    `statements` is what was read, `found` what is wrong with the rest.
    """

    def __init__(self, text: str, line: int = 1, column: int = 1) -> None:
        self.text = blank_comments(text)
        self.first = (line, column)
        self.statements: list[AnyStatement] = []
        self.found: list[Diagnostic] = []
        self._positions: Positions | None = None
        self.operands = OperandReader()

    def span(self, start: int, end: int) -> Span:
        """Where the characters from offset `start` to `end` stand."""
        if self._positions is None:
            self._positions = Positions(self.text, *self.first)
        return self._positions.span(start, end)

    def run(self) -> None:
        """Reads everything."""
        text = self.text
        match, blank, operands = _INSTRUCTION.match, _BLANK.match, self.operands.read
        append = self.statements.append
        new_span = tuple.__new__
        position = counted = 0
        line, base = self.first[0], -self.first[1]
        while True:
            m = match(text, position)
            if m is None:
                m = blank(text, position)
                assert m is not None
                position = m.end()
                if position == len(text):
                    return
                position = self._other(position)
                continue
            at, negated, name, opcode, rest = m.groups()
            start = opcode_start = m.start(4)
            guard = None
            if at is not None:
                start = m.start(1)
                guard = _guard(name, negated is not None)
            newlines = text.count("\n", counted, start)
            if newlines:
                line += newlines
                base = text.rfind("\n", counted, start)
            counted = start
            column = start - base
            first, modifiers = _opcode(opcode)
            try:
                read = operands(rest, first == "call") if rest and not rest.isspace() else ()
            except Bad as bad:
                position = self._recover(start, _behind(bad, m.start(5), rest))
                continue
            position = m.end()
            if (at is not None or "\n" in opcode) and "\n" in text[start : m.end(4)]:
                span = self.span(opcode_start, m.end(4))
            else:
                span = new_span(Span, (line, opcode_start - base, m.end(4) - base))
            append(Instruction(first, modifiers, read, guard, span, text[start : position - 1], (line, column)))

    def _other(self, position: int) -> int:
        """Reads a statement that is no instruction; returns where it ends."""
        text = self.text
        try:
            mark = text[position]
            if mark == ".":
                return self._directive(position)
            if mark in "{}":
                self.statements.append((Open if mark == "{" else Close)(span=self.span(position, position + 1)))
                return position + 1
            m = _LABEL.match(text, position)
            if m is not None:
                self.statements.append(Label(m[1], span=self.span(*m.span(1)), text=m[0]))
                return m.end()
            raise self._no_statement(position)
        except Bad as bad:
            return self._recover(position, bad)

    def _no_statement(self, position: int) -> Bad:
        text = self.text
        if text[position] == ";":
            return Bad(position, position + 1, "an instruction is missing before ';'")
        word = _WORD.match(text, position)
        stop = word.end() if word else position + 1
        if text.find(";", position) < 0:
            return Bad(position, stop, "this statement has no ';' at its end")
        return Bad(position, stop, f"'{shown(text[position:stop])}' does not begin a PTX statement")

    def _directive(self, position: int) -> int:
        m = _DIRECTIVE.match(self.text, position)
        if m is None:
            raise self._no_statement(position)
        if m[0] != ".reg":
            self.found.append(_not_in_thread(self.span(*m.span()), m[0]))
            return self._end_of_statement(position, m.end())
        cursor = Cursor(self.text, position)
        declaration = read_declaration(cursor, self.span)
        declaration.span = self.span(position, cursor.start)
        declaration.text = self.text[position : cursor.start]
        self.statements.append(declaration)
        return cursor.stop

    def _recover(self, start: int, bad: Bad) -> int:
        """Notes what is wrong with the statement at `start`; returns where reading goes on."""
        self.found.append(Diagnostic(self.span(bad.start, bad.end), bad.message, bad.hint))
        if (
            bad.again
            and bad.start > start
            and not self.text[self.text.rfind("\n", 0, bad.start) + 1 : bad.start].strip()
        ):
            return bad.start  # a forgotten `;`: the next line is a statement of its own
        return self._end_of_statement(start, bad.start)

    def _end_of_statement(self, start: int, found: int) -> int:
        """Behind the `;` that ends a statement, or at the brace that closes the block around it."""
        depth = 0
        for m in _END_OR_BLOCK.finditer(self.text, start):
            mark = m[0]
            if mark == "{":
                depth += 1
            elif mark == "}":
                depth -= 1
                if depth < 0:
                    return m.start() if m.start() > start else m.end()
            elif m.start() >= found:
                return m.end()
        return len(self.text)


def _behind(bad: Bad, offset: int, rest: str) -> Bad:
    """What is wrong with the operands, by offsets into the whole text."""
    if rest.startswith("."):
        return Bad(offset, offset + 1, "a modifier stands directly behind its '.'")
    return Bad(bad.start + offset, bad.end + offset, bad.message, bad.hint, bad.again)


def _not_in_thread(span: Span, directive: str) -> Diagnostic:
    return Diagnostic(span, f"directive '{shown(directive)}' is not supported in a thread",
                      "variables are declared in the init block; registers by .reg")  # fmt: skip


def read_statements(
    text: str, line: int = 1, column: int = 1, *, bare_addresses: bool = False
) -> list[Label | Instruction | Declaration]:
    """The statements of a thread, which starts at the given place of its file, so that spans point into that file.

    With `bare_addresses` (the short dialect of litmus tests) operands are names, registers and integers only.
    Raises InputError with every finding; reading goes on behind each faulty statement.
    """
    reader = Reader(text, line, column)
    reader.run()
    found = reader.found
    statements: list[Label | Instruction | Declaration] = []
    for statement in reader.statements:
        if isinstance(statement, Open | Close):
            found.append(Diagnostic(statement.span, "blocks inside a thread are not supported yet"))
        elif isinstance(statement, Instruction):
            if bare_addresses:
                found += _bracketed(statement)
            statements.append(statement)
        elif isinstance(statement, Label) or (isinstance(statement, Declaration) and statement.space == "reg"):
            statements.append(statement)
        else:
            found.append(_not_in_thread(statement.span, reader.text.split(None, 1)[0]))
    if found:
        raise InputError(sorted(found, key=lambda d: d.span))
    return statements


def _bracketed(instruction: Instruction) -> list[Diagnostic]:
    return [
        Diagnostic(find_span(instruction, operand), "an address in brackets in the short dialect",
                   "write the location without brackets, or give the opcode a type to make the cell typed PTX")
        for operand in instruction.operands if isinstance(operand, Address) and operand.bracketed
    ]  # fmt: skip


def read_statement(
    text: str, line: int = 1, column: int = 1, *, bare_addresses: bool = False
) -> Label | Instruction | Declaration:
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

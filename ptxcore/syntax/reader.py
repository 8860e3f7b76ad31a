"""PTX statements from text: labels, guarded instructions, blocks, directives.

One pattern takes a whole instruction; directives, and whatever is wrong, go over tokens. Opcodes and operands repeat in
real code, so what was made of them is remembered. Reading goes on behind each faulty statement.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from types import ModuleType

from ptxcore.clock import tick
from ptxcore.collection import collection_paused
from ptxcore.diagnostics import Diagnostic, InputError, Span
from ptxcore.syntax.lexer import NAME, Bad, Cursor, Positions, blank_comments, open_comment, shown
from ptxcore.syntax.operands import OperandReader
from ptxcore.syntax.spans import find_span
from ptxcore.syntax.tree import (
    Address,
    AnyStatement,
    Close,
    Declaration,
    Directive,
    Instruction,
    Label,
    Module,
    Name,
    OpenBrace,
    QuotedText,
    Section,
)

# Possessive repetitions throughout: a statement that does not match fails in one pass.
_INSTRUCTION = re.compile(
    rf"""
    \s*+
    (?>(?:(@)\s*+(?>(!\s*+)?)({NAME})\s*+)?)              # 1-3: the guard
    ((?!_\W)[A-Za-z_]\w*+(?>(?:\s*+\.\w++(?>(?:::\w++)*))*))(?![\w$]|\s*+:)  # 4: the opcode with its modifiers
    \s*+([^;]*+);                                    # 5: the operands
    """,
    re.VERBOSE | re.ASCII,
)
_LONGEST_OPCODE = 200
#: The beginning of an instruction, whatever comes then.
_OPCODE = re.compile(rf"(?>(?:@\s*+!?+\s*+{NAME}\s*+)?)([A-Za-z]\w*+)(?>(?:\s*+\.\w++(?>(?:::\w++)*))*)\s*+", re.ASCII)
_LABEL = re.compile(rf"({NAME})\s*+:(?!:)", re.ASCII)
_BLANK = re.compile(r"\s*+", re.ASCII)
_DIRECTIVE = re.compile(r"\.[A-Za-z_]\w*+", re.ASCII)
_WORD = re.compile(r"[^\s;{}]++|\S")
#: What a line can begin with that belongs to no statement before it: at module level, and in the body of a function.
_BEGINNINGS = "visible extern weak common global const entry func section file version target address_size alias tex"
_IN_BODIES = "reg shared local param pragma loc"
#: Where a faulty statement can end, at module level and in a body.
_END_AT_MODULE, _END_IN_BODY = (
    re.compile(rf"[;{{}}]|\n[ \t]*+(?=\.(?:{words.replace(' ', '|')})(?![\w$]))", re.ASCII)
    for words in (_BEGINNINGS, f"{_BEGINNINGS} {_IN_BODIES}")
)
_IN_LIST = re.compile(r"\s*+[;,]", re.ASCII)
_DWARF = re.compile(r"@@DWARF\b([^\n]*+)", re.IGNORECASE)
_NOT_ASCII = re.compile(r"([^\x00-\x7f])[^\n]*+")
#: What stands for the byte 0 among the lone surrogates.
_SURROGATE = 0xDC00
_BYTE_ORDER_MARK = "\ufeff"
#: Behind a faulty statement longer than this, reading goes on at its `;` and looks for no better place.
_FAR = 10_000


@lru_cache(maxsize=4096)
def _known_opcode(text: str) -> tuple[str, tuple[str, ...]]:
    first, *modifiers = "".join(text.split()).split(".")
    return first, tuple(modifiers)


def _opcode(text: str) -> tuple[str, tuple[str, ...]]:
    """An opcode's word and its modifiers; only those are remembered that can be real."""
    return _known_opcode(text) if len(text) < _LONGEST_OPCODE else _known_opcode.__wrapped__(text)


class Reader:
    """Reads the statements of one text, which starts at a given place of its file, so that spans point into that file.

    `statements` is what was read, `found` what is wrong with the rest. Text of a `thread` is the inside of a function,
    where registers alone are declared; other text is a module.
    """

    def __init__(self, text: str, line: int = 1, column: int = 1, thread: bool = False) -> None:
        self.text = blank_comments(text)
        self.first = (line, column)
        self.statements: list[AnyStatement] = []
        self.found: list[Diagnostic] = []
        self.operands = OperandReader()
        self.thread = thread
        #: Offsets of the braces that are open, and whether a function's body may begin.
        self.blocks: list[int] = []
        self.body_follows = False
        #: Whether statements outside of functions were told of: one finding is enough for all that follow each other.
        self.strayed = False
        #: Labels that `N<5>` may still make: each takes a character where it stands, or the table is wrong anyway.
        self.allowance = len(text)
        self._positions: Positions | None = None

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
        inside = self.thread
        last = text.rfind(";")
        while True:
            tick()
            # Behind the last `;` no search for one may start again and again.
            m = match(text, position) if position <= last else None
            if m is None or not inside:
                blanks = blank(text, position)
                assert blanks is not None
                position = blanks.end()
                if position == len(text):
                    return
                position = self._other(position)
                inside = bool(self.blocks) or self.thread
                continue
            at, negated, name, opcode, rest = m.groups()
            opcode_start, opcode_end = m.span(4)
            start = opcode_start
            guard = None
            if at is not None:
                start = m.start(1)
                guard = Name(name, "!" if negated else "")
            newlines = text.count("\n", counted, start)
            if newlines:
                line += newlines
                base = text.rfind("\n", counted, start)
            counted = start
            column = start - base
            first, modifiers = _opcode(opcode)
            try:
                read = operands(rest, first == "call") if rest else ()
            except Bad as bad:
                position = self._recover(start, _behind(bad, m.start(5), rest), m.end())
                continue
            position = m.end()
            if (at is not None or "\n" in opcode) and "\n" in text[start:opcode_end]:
                span = self.span(opcode_start, opcode_end)
            else:
                span = new_span(Span, (line, opcode_start - base, opcode_end - base))
            append(Instruction(first, modifiers, read, guard, span, text[start : position - 1], (line, column)))

    def _other(self, position: int) -> int:
        """Reads a statement that is no instruction; returns where it ends."""
        try:
            mark = self.text[position]
            if mark == ".":
                return self._directive(position)
            if mark == "{":
                return self._open(position)
            if mark == "}":
                return self._close(position)
            if mark == "@" and not self.blocks and not self.thread:
                m = _DWARF.match(self.text, position)
                if m is not None:
                    self._keep(Directive("@@DWARF", (QuotedText(m[1].strip()),)), position, m.end())
                    return m.end()
            m = _LABEL.match(self.text, position)
            if m is not None and (self.blocks or self.thread):
                self.statements.append(Label(m[1], span=self.span(*m.span(1)), text=m[0]))
                return m.end()
            raise self._no_statement(position)
        except Bad as bad:
            return self._recover(position, bad)

    def _open(self, position: int) -> int:
        if not (self.blocks or self.thread or self.body_follows):
            self.found.append(_fault(self.span(position, position + 1), "a block cannot stand outside of functions"))
        self.body_follows = False
        self.blocks.append(position)
        self.statements.append(OpenBrace(span=self.span(position, position + 1)))
        return position + 1

    def _close(self, position: int) -> int:
        if not (self.blocks or self.thread):
            raise self._stray(Bad(position, position + 1, "this '}' closes nothing"))
        if self.blocks:
            self.blocks.pop()
        self.statements.append(Close(span=self.span(position, position + 1)))
        return position + 1

    def _no_statement(self, position: int) -> Bad:
        text = self.text
        if text[position] == ";":
            inside = self.blocks or self.thread
            what = "an instruction is missing before ';'" if inside else "this ';' ends nothing"
            return Bad(position, position + 1, what)
        word = _WORD.match(text, position)
        stop = word.end() if word else position + 1
        if not (self.blocks or self.thread):
            message = f"'{shown(text[position:stop])}' cannot stand outside of functions"
            hint = "at module level stand directives, which begin with '.'"
            if text[position] == "#":
                hint = "PTX has no preprocessor"
            return self._stray(Bad(position, stop, message, hint))
        if text.rfind(";") < position:
            return self._unended(position, stop)
        return Bad(position, stop, f"'{shown(text[position:stop])}' does not begin a PTX statement")

    def _stray(self, bad: Bad) -> Bad:
        """A finding outside of functions, which is told unless the one before was of the same kind."""
        bad.told, self.strayed = self.strayed, True
        return bad

    def _unended(self, start: int, stop: int) -> Bad:
        """What to say of a statement behind which no `;` comes any more: where it should be."""
        m = _OPCODE.match(self.text, start)
        if m is not None and not self.thread and len(self.text) - start < _FAR:
            rest = self.text[m.end() :]
            try:
                self.operands.read(rest, m[1] == "call")
            except Bad as bad:
                return _behind(bad, m.end(), rest, ended=False)
        return Bad(start, stop, "this statement has no ';' at its end")

    def _keep(self, statement: AnyStatement, start: int, end: int, word: int | None = None) -> None:
        """Keeps a statement that stands between two offsets, the end of its leading word behind the first."""
        assert not isinstance(statement, Instruction)
        statement.span = self.span(start, end if word is None else word)
        statement.text = self.text[start:end].rstrip()
        self.statements.append(statement)

    @cached_property
    def _structures(self) -> ModuleType:
        """Who reads directives: most threads of litmus tests have none, and never import what these are."""
        from ptxcore.syntax import structures

        return structures

    def _directive(self, position: int) -> int:
        text = self.text
        place: re.Match[str] | None = self._structures.LOC.match(text, position)
        if place is not None and self.blocks:
            arguments = self._structures.place_of(place, self.operands)
            self._keep(Directive("loc", arguments), position, place.end(), position + 4)
            return place.end()
        m = _DIRECTIVE.match(text, position)
        if m is None:
            raise self._no_statement(position)
        word = m[0][1:]
        if self.thread and word != "reg":
            self.found.append(_not_in_thread(self.span(*m.span()), m[0]))
            return self._end_of_statement(position, m.end())
        cursor = Cursor(text, position)
        statement: AnyStatement
        end: int
        statement, end = self._structures.read_structure(self, cursor, cursor.text[1:])
        self._keep(statement, position, end, m.end())
        if isinstance(statement, Section):
            statement.text = ""  # may be most of a module, and no finding is shown within it
        return cursor.stop if cursor.text == ";" and isinstance(statement, Declaration) else end

    def _recover(self, start: int, bad: Bad, limit: int | None = None) -> int:
        """Notes what is wrong with the statement at `start`; returns where reading goes on.

        `limit` is where a `;` ends the statement.
        """
        if bad.statement is not None:
            self._keep(bad.statement, start, bad.start)
        if not bad.told:
            self.found.append(_fault(self.span(bad.start, bad.end), bad.message, bad.hint, bad.code))
        self.strayed = self.strayed or self.body_follows  # by a body, whose head could not be read
        if limit is not None and limit - start > _FAR:
            return limit
        if bad.resume:
            return bad.resume
        text = self.text
        if bad.again and bad.start > start and not text[text.rfind("\n", 0, bad.start) + 1 : bad.start].strip():
            return bad.start  # a forgotten `;`: the next line is a statement of its own
        return self._end_of_statement(start, bad.start)

    def _end_of_statement(self, start: int, found: int) -> int:
        """Where reading goes on behind a faulty statement: behind its `;`, at the brace that closes the block around it
        or opens a body, or at a line that begins with a directive."""
        depth = 0
        inside = bool(self.blocks) or self.thread
        end = _END_IN_BODY if inside else _END_AT_MODULE
        for m in end.finditer(self.text, start + 1 if self.text[start] in "{}" else start):
            mark = m[0]
            if mark == "{":
                if self.body_follows:
                    return m.start()
                depth += 1
            elif mark == "}":
                depth -= 1
                if depth < 0:
                    return m.start() if inside else m.end()
                if not (inside or depth or _IN_LIST.match(self.text, m.end())):
                    return m.end()  # what looked like a body
            elif m.end() >= found and not (mark == ";" and depth and not inside):
                if mark == ";":
                    self.body_follows = False
                return m.end()
        return len(self.text)


def _fault(span: Span, message: str, hint: str | None = None, code: str = "syntax") -> Diagnostic:
    return Diagnostic(span, message, hint, code=code)


def _behind(bad: Bad, offset: int, rest: str, ended: bool = True) -> Bad:
    """What is wrong with the operands, by offsets into the whole text, in which a `;` has `ended` them."""
    if rest.startswith("."):
        return Bad(offset, offset + 1, "a modifier stands directly behind its '.'")
    if rest.startswith("}"):
        return Bad(offset, offset + 1, "';' is missing before '}'")
    message = bad.message.replace(" at the end of the text", " before ';'") if ended else bad.message
    return Bad(bad.start + offset, bad.end + offset, message, bad.hint, bad.again, bad.code)


def _not_in_thread(span: Span, directive: str) -> Diagnostic:
    return Diagnostic(span, f"directive '{shown(directive)}' is not supported in a thread",
                      "variables are declared in the init block; registers by .reg")  # fmt: skip


#: Characters from which on a module is so many objects that it is worth telling the garbage collector that they stay.
_LONG = 1 << 16


def read_module(text: str) -> tuple[Module, list[Diagnostic]]:
    """A whole translation unit (PTX ISA 9.0, chapter 4), and what is wrong with its syntax, in source order.

    Faulty statements are left out; reading goes on behind them. Nothing is raised, whatever the text.
    """
    reader = Reader(" " + text[1:] if text.startswith(_BYTE_ORDER_MARK) else text)
    with collection_paused(stays=len(text) >= _LONG):
        reader.run()
    found = reader.found
    if reader.blocks:
        found.append(_open_at_end(reader))
    comment = open_comment(text)
    if comment >= 0:
        found.append(_fault(reader.span(comment, comment + 2), "this comment has no '*/' at its end"))
    if not text.isascii():
        strange = _not_ascii(text)
        lines = {d.span.line for d in strange}
        found = [*strange, *(d for d in found if d.span.line not in lines)]
    return Module(tuple(reader.statements), text), sorted(dict.fromkeys(found), key=lambda d: d.span)


def _not_ascii(text: str) -> list[Diagnostic]:
    """Of the first character on each line that is not ASCII, in comments and strings too (section 4.1). Lone surrogates
    stand for bytes that are no UTF-8."""
    positions = Positions(text, 1, 1)
    found: list[Diagnostic] = []
    for m in _NOT_ASCII.finditer(text):
        code = ord(m[1])
        byte = code - _SURROGATE
        character = f"'{m[1]}' (U+{code:04X})" if m[1].isprintable() else f"U+{code:04X}"
        what = f"the byte 0x{byte:02x}" if 0x80 <= byte <= 0xFF else character
        found.append(Diagnostic(positions.span(m.start(1), m.end(1)), f"{what} is not ASCII", code="encoding"))
    return found


def _open_at_end(reader: Reader) -> Diagnostic:
    """Of the outermost block that is never closed; it stands at the end of the text, where the `}` is missing."""
    text = reader.text
    opened = reader.span(reader.blocks[-1], reader.blocks[-1] + 1)
    hint = f"the block that begins in line {opened.line} is open"
    return _fault(reader.span(len(text), len(text) + 1), "'}' is missing at the end of the text", hint)


def read_statements(
    text: str, line: int = 1, column: int = 1, *, bare_addresses: bool = False
) -> list[Label | Instruction | Declaration]:
    """The statements of a thread, which starts at the given place of its file, so that spans point into that file.

    With `bare_addresses` (the short dialect of litmus tests) operands are names, registers and integers only.
    Raises InputError with every finding; reading goes on behind each faulty statement.
    """
    reader = Reader(text, line, column, thread=True)
    reader.run()
    found = reader.found
    statements: list[Label | Instruction | Declaration] = []
    for statement in reader.statements:
        if isinstance(statement, OpenBrace | Close):
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

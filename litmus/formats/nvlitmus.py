"""Tests of NVIDIA's mixed-proxy artifact (ISCA 2022), `*.test`, which its tool nvlitmus reads.

    .global x;  .global y physically aliases x;  .surfref s virtually aliases y;
    d0.b1.t0 { st [x], 1; fence.proxy.surface; suld r0, [s] == 1; }
    assert (r0 == 1 || r1 != 2) as name;

A thread stands on device, block and by its number there. Instructions without a semantics are weak; `.volatile` is
`.relaxed.sys`. What stands behind a load's `==` is what it returned: only such executions count. `assert` is a claim about all
of them, `permit` (and `check`, which that tool runs likewise) asks for one. Registers have one name in the whole test.

A file may be a template: `$0`, `$1` ... stand for the columns of the table behind `$$`, and each of its rows is a test.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from litmus.formats.condition import PropositionReader, Tail, closing_parenthesis
from litmus.formats.declarations import Declarations, settle
from litmus.formats.parts import Parts
from litmus.formats.program import ReadColumn
from litmus.formats.source import LitmusSource, blank_comments
from litmus.test import And, Compare, Condition, Constant, Location, LocationTerm, RegisterTerm
from ptxcore.diagnostics import InputError, Span
from ptxcore.syntax.reader import read_statements
from ptxcore.syntax.tree import Instruction

_BEGINNING = re.compile(
    r"(?>(?:\s++|//[^\n]*+)*)(?:\.(?:global|shared|texref|surfref)\b|d\d++\s*+\.\s*+b\d++\s*+\.\s*+t\d++\s*+\{)"
)
_TABLE = re.compile(r"^\$\$[ \t]*$", re.MULTILINE)
_PARAMETER = re.compile(r"\$(\d{1,4})")
_BLANK = re.compile(r"\s*+")
_ADDRESS = re.compile(
    r"\s*+\.(\w++)\s++([A-Za-z_]\w*+)(?:\s++(physically|virtually)\s++aliases\s++([A-Za-z_]\w*+))?\s*+;", re.ASCII
)
_THREAD = re.compile(r"\s*+d(\d{1,6}+)\s*+\.\s*+b(\d{1,6}+)\s*+\.\s*+t(\d{1,6}+)\s*+\{", re.ASCII)
_COMMAND = re.compile(r"\s*+(assert|permit|check)\s*+(?=\()", re.ASCII)
_NAMED = re.compile(r"\s*+as\s++([A-Za-z_]\w*+)\s*+;", re.ASCII)
_INSTRUCTION = re.compile(r"([a-z]++)((?>(?:\s*+\.\s*+\w++)*))\s*+([^=]*+)(?:==\s*+(\d++))?\s*+\Z", re.ASCII)
_REGISTER = re.compile(r"r\d++\Z", re.ASCII)
_PROXY_OF = {"texref": "texture", "surfref": "surface"}
_QUANTIFIERS = {"assert": "forall", "permit": "exists", "check": "exists"}
_LOADS = ("ld", "tld", "suld", "ldc")
_ATOMICS = ("atom", "suatom", "red", "sured")
_OPCODES = (*_LOADS, "st", "sust", *_ATOMICS, "fence")
_SEMANTICS = ("weak", "relaxed", "acquire", "release", "acq_rel", "sc", "volatile")


def recognised(text: str) -> bool:
    """Whether a text begins as these tests do, and no other."""
    return _BEGINNING.match(text) is not None


def rows(text: str) -> list[tuple[int, str]] | None:
    """The rows of a template's table, each with its line; None where the text is one test."""
    table = _TABLE.search(text)
    if table is None:
        return None
    first = text.count("\n", 0, table.end()) + 1
    lines = enumerate(text[table.end() :].split("\n"), first)
    return [(line, row) for line, row in lines if row.strip() and not row.startswith("#")]


def instance(text: str, name: str, path: str) -> str:
    """One test of a template, by the number of its row from 1. Raises InputError for a number that is none, and for a parameter
    without a value."""
    found = rows(text) or []
    table = _TABLE.search(text)
    head = text[: table.start()] if table else text
    source = LitmusSource(text, path)
    if not (name.isdecimal() and 1 <= int(name) <= len(found)):
        at = len(head)
        known = f"its tests are 1 to {len(found)}" if found else "its table has no rows" if table else "it has no table"
        error = source.error(at, at + 2, f"the template has no test '{name[:40]}'", known)
        raise InputError(error.diagnostics, path, text)
    line, row = found[int(name) - 1]
    values = [value.strip() for value in row.split("|")]
    for parameter in _PARAMETER.finditer(head):
        if int(parameter[1]) >= len(values):
            message = f"{parameter[0]} has no value: the row in line {line} has {len(values)}"
            raise InputError(source.error(*parameter.span(), message).diagnostics, path, text)
    return _PARAMETER.sub(lambda m: values[int(m[1])], head)


def read_parts(source: LitmusSource, number: str) -> Parts:
    """The parts of one test; `number` of a template's row, or empty. Findings go to the source; raises InputError where it
    cannot be read on."""
    blank_comments(source, 0)
    table = _TABLE.search(source.text)
    if table is not None:
        count = len(rows(source.text) or ())
        message = f"this is a template, of {count} tests" if count else "the template's table has no rows"
        hint = f"name one: {os.path.basename(source.path)}:1" if count else "a row is 'st [x] | assert | =='"
        raise source.error(table.start(), table.start() + 2, message, hint)
    declared, at = _declarations(source)
    good = not source.findings
    reader = _Threads(source)
    at = reader.read(at)
    tail = _commands(source, at, reader)
    name = re.sub(r'[\s"{]|//|\(\*', "_", os.path.splitext(os.path.basename(source.path))[0]).strip("<>") or "test"
    return Parts(name + (f".{number}" if number else ""), (), (), declared, good, reader.columns, tail)


def _declarations(source: LitmusSource) -> tuple[Declarations, int]:
    text, at, declared = source.text, 0, Declarations()
    while (start := _blank(text, at)) < len(text) and text[start] == ".":
        found = _ADDRESS.match(text, at)
        if found is None:
            end = text.find("\n", start)
            hint = "as in '.global x;', '.global y physically aliases x;' or '.surfref s virtually aliases x;'"
            raise source.error(start, len(text) if end < 0 else end, "this is no declaration of an address", hint)
        _declare(source, declared, found)
        at = found.end()
    if not source.findings:
        settle(source, declared)
    return declared, at


def _declare(source: LitmusSource, declared: Declarations, found: re.Match[str]) -> None:
    space, name, how, target = found.groups()
    span = source.span(*found.span(2))
    if name in declared.locations:
        source.note_at(span, f"location '{name}' is declared twice")
    if space in _PROXY_OF and how != "virtually":
        source.note(
            *found.span(1), f"a {space} aliases an address virtually", f"as in '.{space} s virtually aliases x;'"
        )
    elif space not in (*_PROXY_OF, "global", "shared"):
        hint = (
            source.suggest(space, (*_PROXY_OF, "global", "shared")) or "spaces are .global, .shared, .texref, .surfref"
        )
        source.note(*found.span(1), f"unknown space '.{space[:40]}'", hint)
    elif space not in _PROXY_OF and how == "virtually":
        source.note(
            *found.span(3), f"a {space} address aliases another physically", "as in '.global y physically aliases x;'"
        )
    proxy = _PROXY_OF.get(space, "generic")
    if target is not None:
        declared.named.append((target, source.span(*found.span(4))))
    declared.locations[name] = Location(
        name, space="shared" if space == "shared" else "global", alias_of=target, proxy=proxy, span=span
    )


class _Threads:
    """The threads of a test, who loads which register, and what loads are said to have returned."""

    def __init__(self, source: LitmusSource) -> None:
        self.source = source
        self.columns: list[ReadColumn] = []
        self.loaders: dict[str, dict[str, None]] = {}  # the threads that load a register
        self.returned: list[Compare] = []

    def read(self, at: int) -> int:
        text, source = self.source.text, self.source
        while (found := _THREAD.match(text, at)) is not None:
            device, block, number = int(found[1]), int(found[2]), int(found[3])
            start = _blank(text, at)
            closing = text.find("}", found.end())
            if closing < 0:
                raise source.error(start, found.end(), "this thread is never closed", "close it with '}'")
            column = ReadColumn(
                f"P{len(self.columns)}", {"gpu": device, "cta": block}, source.span(start, found.end() - 1)
            )
            column.dialect, column.is_block = "short", True
            if (device, block, number) in (c.key for c in self.columns):
                source.note_at(column.span, f"thread d{device}.b{block}.t{number} is there twice")
            column.key = (device, block, number)
            self.columns.append(column)
            for begin, end in _pieces(text, found.end(), closing):
                try:
                    self._instruction(column, begin, end)
                except InputError as error:
                    source.keep(error)
            at = closing + 1
        if not self.columns:
            start = _blank(text, at)
            raise source.error(start, start + 1, "a thread is missing", "as in 'd0.b0.t0 { st.weak [x], 1; }'")
        return at

    def _instruction(self, column: ReadColumn, start: int, end: int) -> None:
        source = self.source
        original = source.text[start:end]
        found = _INSTRUCTION.match(original)
        if found is None:
            raise source.error(start, end, "this is no instruction", "as in 'ld.acquire.gpu r0, [x] == 1;'")
        opcode, operands, value = found[1], found[3].strip(), found[4]
        if opcode not in _OPCODES:
            hint = source.suggest(opcode, _OPCODES) or "instructions are " + ", ".join(_OPCODES)
            raise source.error(start, start + len(opcode), f"unknown instruction '{opcode[:40]}'", hint)
        modifiers = _modifiers(opcode, [word.strip() for word in found[2].split(".")[1:]])
        name = {"ldc": "cold"}.get(opcode, opcode)
        bare = re.sub(r"\[\s*(\w+)\s*\]", r"\1", operands)
        if bare == operands and opcode != "fence":
            raise source.error(start, end, f"{opcode} takes an address in brackets", f"as in '{opcode} ... [x]'")
        line, at = source.position(start)
        (statement,) = read_statements(f"{'.'.join([name, *modifiers])} {bare};", line, at, bare_addresses=True)
        assert isinstance(statement, Instruction)
        statement.span, statement.text, statement.start = source.span(start, end), original, (line, at)
        column.statements.append(statement)
        register = operands.split(",")[0].strip()
        if opcode in (*_LOADS, "atom", "suatom") and _REGISTER.match(register):
            self.loaders.setdefault(register, {})[column.name] = None
            if value is not None:
                term = RegisterTerm(column.name, register, statement.span)
                self.returned.append(Compare("==", term, Constant(int(value))))
        elif value is not None:
            raise source.error(start, end, f"{opcode} returns nothing that could be compared", "only loads and atom do")

    def owner(self, register: str, span: Span) -> str | None:
        """The thread that a register of a condition is of; None, with a finding, where that is not one."""
        threads = list(self.loaders.get(register, ()))
        if len(threads) == 1:
            return threads[0]
        if threads:
            message = f"{register} is a register of {len(threads)} threads"
            self.source.note_at(span, message, "give each its own name: registers have one name in the whole test")
        else:
            hint = self.source.suggest(register, self.loaders) or "a register of the condition is loaded by a thread"
            self.source.note_at(span, f"nobody loads the register {register}", hint)
        return None


def _modifiers(opcode: str, given: list[str]) -> list[str]:
    """What the short dialect says for an instruction's modifiers."""
    if opcode == "fence":
        return ["proxy", "alias"] if given == ["alias"] else given
    given = [word for modifier in given for word in (("relaxed", "sys") if modifier == "volatile" else (modifier,))]
    if any(word in _SEMANTICS for word in given):
        return given
    return [*given, "relaxed", "gpu"] if opcode in _ATOMICS else ["weak", *given]


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The stretches between semicolons, without blanks around them."""
    for piece in text[start:end].split(";"):
        if piece.strip():
            begin = start + len(piece) - len(piece.lstrip())
            yield begin, begin + len(piece.strip())
        start += len(piece) + 1


class _Registers(PropositionReader):
    """Propositions in which a register stands for itself, without its thread."""

    def __init__(self, source: LitmusSource, threads: _Threads) -> None:
        super().__init__(source)
        self._threads = threads

    def _term(self, token: re.Match[str], span: Span) -> RegisterTerm | LocationTerm:
        name = token[4]
        if name is not None and token[6] is None and _REGISTER.match(name):
            return RegisterTerm(self._threads.owner(name, span) or self._threads.columns[0].name, name, span)
        return super()._term(token, span)


def _commands(source: LitmusSource, at: int, threads: _Threads) -> Tail:
    text = source.text
    reader = _Registers(source, threads)
    tail = Tail(reader)
    while (start := _blank(text, at)) < len(text):
        command = _COMMAND.match(text, at)
        if command is None:
            end = min(e for e in (text.find("\n", start), len(text)) if e >= 0)
            hint = "threads are followed by commands, as in 'assert (r0 == 1) as name;'"
            raise source.error(start, end, "this is no command", hint)
        opening = command.end()
        proposition, at = reader.read(opening)
        named = _NAMED.match(text, at) if at == closing_parenthesis(text, opening) else None
        if named is None:
            raise source.error(
                at, at + 1, "a command ends in 'as', its name and ';'", "as in 'assert (r0 == 1) as name;'"
            )
        line = source.position(start)[0]
        tail.conditions.append(Condition(_QUANTIFIERS[command[1]], proposition, line=line))
        at = named.end()
    if threads.returned:
        tail.filter = threads.returned[0] if len(threads.returned) == 1 else And(tuple(threads.returned))
    return tail


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at

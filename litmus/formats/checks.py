"""What must hold between the parts of a test: every name that is used is declared, every value fits its type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from litmus.formats.condition import PropositionReader
from litmus.formats.declarations import NAME, Declarations, fits
from litmus.formats.implied import location_of, pointed_types
from litmus.formats.program import ReadColumn
from litmus.formats.source import LitmusSource
from litmus.test import TYPE_WIDTHS, LitmusThread, Location, LocationTerm
from ptxcore.diagnostics import Span
from ptxcore.syntax.spans import find_span
from ptxcore.syntax.tree import Address, AnyStatement, Declaration, Instruction, Name, Operand, Pair, Vector

#: Where the short dialect's memory instructions have their location.
_LOCATION_OPERAND = {
    "ld": 1,
    "tld": 1,
    "suld": 1,
    "cold": 1,
    "atom": 1,
    "suatom": 1,
    "st": 0,
    "sust": 0,
    "red": 0,
    "sured": 0,
}
#: Instructions whose first operand is read, not written.
_NO_DESTINATION = frozenset(
    (
        *("st", "sust", "red", "sured", "bar", "barrier", "nanosleep", "prefetch", "launch", "sync"),
        *("bra", "brx", "call", "goto", "beq", "bne", "blt", "bgt", "ble", "bge"),
    )
)
_REGISTER_LIKE = re.compile(r"%|(?:r|rd|rs|rh|p|f|fd)\d+\Z", re.ASCII)


def written_registers(statements: Iterable[AnyStatement]) -> set[str]:
    """The registers in the destinations of a thread's instructions, without `%`."""
    written: set[str] = set()
    for statement in statements:
        if not isinstance(statement, Instruction) or not statement.operands:
            continue
        # `bar.red` is the barrier that has a result.
        if statement.opcode in _NO_DESTINATION and not (
            statement.opcode in ("bar", "barrier") and "red" in statement.modifiers
        ):
            continue
        for part in _parts(statement.operands[0]):
            if isinstance(part, Name):
                written.add(part.name.removeprefix("%"))
    return written


def _parts(operand: Operand) -> tuple[Operand, ...]:
    if isinstance(operand, Pair):
        return operand.first, operand.second
    if isinstance(operand, Vector):
        return operand.elements
    return (operand,)


def check_cells(source: LitmusSource, column: ReadColumn, declared: Declarations) -> None:
    """Locations of a thread's instructions are declared; using them declares them, as zeros (see `implied`)."""
    locations = declared.locations
    for name, type_ in pointed_types(column.statements, declared.registers.get(column.name, {})):
        known = declared.implied.get(name)
        if known is False or (known and TYPE_WIDTHS[type_] > TYPE_WIDTHS[locations[name].type]):
            locations[name], declared.implied[name] = replace(locations[name], type=type_), True
    registers: _Registers | None = None
    for statement in column.statements:
        if not isinstance(statement, Instruction):
            continue
        for position, operand in enumerate(statement.operands):
            base = operand.base if isinstance(operand, Address) else operand
            if not isinstance(base, Name) or base.name[0] == "%" or base.prefix:
                continue
            if base.name in locations:
                if base.name in declared.implied and column.dialect == "typed" and isinstance(operand, Address):
                    old = locations[base.name]
                    again = location_of(statement, base.name, old if declared.implied[base.name] else None)
                    if again is not None:
                        locations[base.name], declared.implied[base.name] = replace(again, span=old.span), True
                continue
            if not isinstance(operand, Address) and (
                column.dialect != "short" or _LOCATION_OPERAND.get(statement.opcode) != position
            ):
                continue
            if registers is None:
                registers = _Registers(column, declared)
            if base.name in registers:
                continue
            if column.dialect == "short" and NAME.fullmatch(base.name):
                if statement.opcode in ("ld", "tld", "suld", "cold") and not statement.modifiers:
                    continue  # `ld r, VALUE` moves
                locations[base.name] = Location(base.name, span=find_span(statement, base))
            else:
                near = source.suggest(base.name, set(locations) - declared.implied.keys())
                implied = None if near or not NAME.fullmatch(base.name) else location_of(statement, base.name, None)
                if implied is not None:
                    locations[base.name] = replace(implied, span=find_span(statement, base))
                    declared.implied[base.name] = True
                    continue
                hint = near or f"declare it in the init block: '{base.name[:40]} = 0;'"
                source.note_at(find_span(statement, base), f"location '{base.name[:40]}' is not declared", hint)


class _Registers:
    """The names that are registers of a thread: declared, initialised, written, or looking like one."""

    def __init__(self, column: ReadColumn, declared: Declarations) -> None:
        self.names = written_registers(column.statements) | set(declared.registers.get(column.name, ()))
        self.families: dict[str, int] = {}
        for statement in column.statements:
            if isinstance(statement, Declaration):
                for declarator in statement.names:
                    name = declarator.name.removeprefix("%")
                    if declarator.count is None:
                        self.names.add(name)
                    else:
                        self.families[name] = declarator.count

    def __contains__(self, name: str) -> bool:
        if name in self.names or _REGISTER_LIKE.match(name):
            return True
        stem = name.rstrip("0123456789")
        number = name[len(stem) :]
        return stem in self.families and 0 < len(number) < 10 and int(number) < self.families[stem]


def check_threads(source: LitmusSource, declared: Declarations, columns: list[ReadColumn]) -> None:
    """Threads and kernels that the init block names exist, and each thread is in one kernel at most."""
    by_name = {column.name: column for column in columns}
    for thread, span in declared.thread_spans.items():
        if thread not in by_name:
            source.note_at(span, f"the test has no thread {thread}", _threads_hint(columns))
    kernels: set[str] = set()
    owner: dict[str, str] = {}
    for kernel, span in zip(declared.kernels, declared.kernel_spans, strict=True):
        if kernel.name in kernels:
            source.note_at(span, f"kernel '{kernel.name}' is declared twice")
        for earlier in kernel.after:
            if earlier not in kernels:
                source.note_at(
                    span, f"kernel '{earlier}' is not declared before '{kernel.name}'", source.suggest(earlier, kernels)
                )
        kernels.add(kernel.name)
        for thread in kernel.threads:
            if thread not in by_name:
                source.note_at(span, f"the test has no thread {thread}", _threads_hint(columns))
            elif "host" in by_name[thread].levels:
                source.note_at(span, f"{thread} is a host thread and belongs to no kernel")
            elif thread in owner:
                source.note_at(span, f"thread {thread} belongs to kernel '{owner[thread]}' already")
            owner.setdefault(thread, kernel.name)


def _threads_hint(columns: Sequence[ReadColumn | LitmusThread]) -> str:
    return "the threads are " + ", ".join(column.name for column in columns[:16])


def check_tail(
    source: LitmusSource,
    reader: PropositionReader,
    declared: Declarations,
    columns: Sequence[ReadColumn | LitmusThread],
) -> None:
    """The terms of the condition, the filter and `locations` name things that exist, and constants fit their types."""
    by_name = {column.name: column for column in columns}
    written: dict[str, set[str]] = {}
    for term in reader.terms:
        if isinstance(term, LocationTerm):
            _check_location(source, term, declared.locations)
            continue
        column = by_name.get(term.thread)
        if column is None:
            source.note_at(term.span, f"the test has no thread {term.thread}", _threads_hint(columns))
        elif column.dialect == "typed":
            known = written.get(column.name)
            if known is None:
                known = written_registers(column.statements) | set(declared.registers.get(column.name, ()))
                written[column.name] = known
            if term.register not in known:
                hint = source.suggest(term.register, known) or "a register of the condition is written by its thread"
                source.note_at(term.span, f"{term.thread} never writes the register {term.register}", hint)
    for name, span in reader.addresses:
        _check_declared(source, name, span, declared.locations)
    for term, value, span in reader.constants:
        location = declared.locations.get(term.location)
        type_ = term.type or (location.type if location else ".b64")
        if not fits(value, TYPE_WIDTHS[type_]):
            source.note_at(span, f"{value} is out of the range of {type_}", f"{term} is a {type_}")


def _check_declared(source: LitmusSource, name: str, span: Span, locations: dict[str, Location]) -> Location | None:
    location = locations.get(name)
    if location is None:
        hint = source.suggest(name, locations) or f"declare it in the init block: '{name} = 0;'"
        source.note_at(span, f"location '{name}' is not declared", hint)
    return location


def _check_location(source: LitmusSource, term: LocationTerm, locations: dict[str, Location]) -> None:
    location = _check_declared(source, term.location, term.span, locations)
    if location is None:
        return
    count = location.elements
    if term.element is None:
        if count is not None:
            message = f"'{term.location}' is an array: name one of its elements"
            source.note_at(term.span, message, f"as in '{term.location}[0]'")
    elif term.type is not None:
        size = TYPE_WIDTHS[location.type] * (count or 1)
        if (term.element + 1) * TYPE_WIDTHS[term.type] > size:
            source.note_at(term.span, f"{term} reads beyond the {size // 8} bytes of '{term.location}'")
    elif count is None:
        source.note_at(
            term.span,
            f"'{term.location}' is no array",
            f"write '{term.location}', or name a type: '{term.location}.u8[0]'",
        )
    elif term.element >= count:
        source.note_at(term.span, f"'{term.location}' has {count} elements, counted from 0")

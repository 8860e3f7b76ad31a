"""The statements of the threads of a cycle: an access for each event, and between them what the edges are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import lru_cache

from litmus.cycles import copies
from litmus.cycles.annotations import Annotation
from litmus.cycles.cycle import CycleLayout
from litmus.cycles.edges import WAITING, Edge
from ptxcore.records import dataclass
from ptxcore.syntax.tree import Address, AnyStatement, Immediate, Instruction, Label, Name, Operand, Sink

_NAMES = "xyzabcdefghijklmnopqrstuvw"
#: What a compare-and-swap that only reads compares with: no value that a test writes.
_NEVER = 9


def location_name(number: int) -> str:
    """`x`, `y`, `z`, `a`, `b` ..., as diy names locations."""
    return _NAMES[number] if number < len(_NAMES) else f"x{number - len(_NAMES):02}"


@dataclass(slots=True)
class WrittenThread:
    """A thread while it is written: its statements, and the registers of the reads, by the numbers of their events."""

    statements: list[AnyStatement] = field(default_factory=list)
    registers: dict[int, str] = field(default_factory=dict)
    labels: int = 0

    def add(self, opcode: str, *operands: Operand, guard: Name | None = None) -> None:
        self.statements.append(_instruction(opcode, operands, guard))


@lru_cache(maxsize=16384)
def _instruction(opcode: str, operands: tuple[Operand, ...], guard: Name | None) -> Instruction:
    first, *modifiers = opcode.split(".")
    return Instruction(first, tuple(modifiers), operands, guard)


def step(opcode: str, *operands: Operand) -> Instruction:
    """An instruction without a guard."""
    return _instruction(opcode, operands, None)


@lru_cache(maxsize=4096)
def _name(name: str) -> Name:
    return Name(name)


@lru_cache(maxsize=4096)
def _cell(name: str) -> Address:
    return Address(Name(name))


def columns(layout: CycleLayout) -> list[WrittenThread]:
    """The threads of a cycle, without what synchronises them with each other."""
    return [_column(layout, events) for events in layout.threads]


def _column(layout: CycleLayout, events: Sequence[int]) -> WrittenThread:
    column = WrittenThread()
    edges = layout.edges
    for i in events:
        before = edges[i - 1]
        if before.kind != "Rmw":
            _access(column, layout, i, before if not before.external else None)
            for opcode in copies.commit(layout, i):
                column.add(opcode)
        if edges[i].kind in ("Fence", "Proxy"):
            column.add(_fence(edges[i]))
        elif edges[i].kind in WAITING:
            for opcode, operands in copies.wait(layout, i):
                column.add(opcode, *operands)
    return column


def _fence(edge: Edge) -> str:
    return f"fence.proxy.{edge.detail}" if edge.kind == "Proxy" else f"fence.{edge.detail or 'sc.sys'}"


def _access(column: WrittenThread, layout: CycleLayout, i: int, before: Edge | None) -> None:
    event = layout.events[i]
    name = location_name(event.location) + (event.annotation.way and "1")
    address = _cell(name)
    value = 1 if event.annotation.operation == "red" else event.value  # what a reduction adds
    operand: Operand = Immediate(value)
    if before is not None and before.kind == "Dp":
        source = column.registers[i - 1]
        if before.detail == "Addr":
            address = _dependent_address(column, source, name, i)
        elif before.detail == "Data":
            operand = _dependent_value(column, source, value, i)
        else:
            _branch(column, source)
    if copies.is_copy(event):
        opcode, operands = copies.issue(layout, i, address)
        column.add(opcode, *operands)
    elif event.annotation.operation == "stasync":  # where to, and whom it tells: see `litmus.cycles.remote`
        column.add("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32", address, operand)
    elif layout.edges[i].kind == "Rmw":
        written = layout.events[(i + 1) % len(layout.events)].value
        result = _result(column, i)
        column.add(f"atom{_order(event.annotation)}.exch.b32", result, address, Immediate(written))
    elif event.direction == "R":
        result = _result(column, i)
        if event.annotation.operation == "atom":
            never = Immediate(_NEVER)
            column.add(f"atom{_order(event.annotation)}.cas.b32", result, address, never, never)
        else:
            column.add(f"ld{_order(event.annotation)}.u32", result, address)
    elif event.annotation.operation == "atom":
        column.add(f"atom{_order(event.annotation)}.exch.b32", Sink(), address, operand)
    elif event.annotation.operation == "red":
        column.add(f"red{_order(event.annotation)}.add.u32", address, operand)
    else:
        column.add(f"st{_order(event.annotation)}.u32", address, operand)


def _result(column: WrittenThread, i: int) -> Name:
    register = f"r{len(column.registers)}"
    column.registers[i] = register
    return _name(f"%{register}")


@lru_cache(maxsize=256)
def _order(annotation: Annotation) -> str:
    if not annotation.semantics:
        return ".relaxed.sys"
    return f".{annotation.semantics}" + (f".{annotation.scope}" if annotation.scope else "")


def _zero(column: WrittenThread, source: str, i: int) -> Name:
    """A register that is 0 and depends on another."""
    zero = _name(f"%t{i}")
    column.add("xor.b32", zero, _name(f"%{source}"), _name(f"%{source}"))
    return zero


def _dependent_address(column: WrittenThread, source: str, name: str, i: int) -> Address:
    zero = _zero(column, source, i)
    wide, base, address = _name(f"%o{i}"), _name(f"%b{i}"), f"%a{i}"
    column.add("cvt.u64.u32", wide, zero)
    column.add("mov.u64", base, _name(name))
    column.add("add.u64", _name(address), base, wide)
    return _cell(address)


def _dependent_value(column: WrittenThread, source: str, value: int, i: int) -> Name:
    zero, result = _zero(column, source, i), _name(f"%v{i}")
    column.add("add.u32", result, zero, Immediate(value))
    return result


def _branch(column: WrittenThread, source: str) -> None:
    """A branch on what was read that leads to the next statement either way."""
    register, predicate, label = _name(f"%{source}"), _name(f"%p{column.labels}"), f"L{column.labels}"
    column.labels += 1
    column.add("setp.ne.u32", predicate, register, register)
    column.add("bra", _name(label), guard=predicate)
    column.statements.append(Label(label))

"""PTX statements as text; reading what is printed gives an equal statement."""

from __future__ import annotations

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
)


def print_statement(statement: Statement) -> str:
    """A statement on one line, without `;` at its end; a label with its `:`."""
    if isinstance(statement, Label):
        return f"{statement.name}:"
    if isinstance(statement, Declaration):
        names = ", ".join(name if count is None else f"{name}<{count}>" for name, count in statement.names)
        return f".reg .{statement.type} {names}"
    return print_instruction(statement)


def print_instruction(instruction: Instruction) -> str:
    guard = instruction.guard
    before = "" if guard is None else f"@{'!' * guard.negated}{guard.name} "
    opcode = ".".join((instruction.opcode, *instruction.modifiers))
    operands = ", ".join(map(print_operand, instruction.operands))
    return f"{before}{opcode} {operands}" if operands else before + opcode


def print_operand(operand: Operand) -> str:
    if isinstance(operand, Register):
        return f"{'!' * operand.negated}{operand.name}"
    if isinstance(operand, Name):
        return operand.name
    if isinstance(operand, Immediate):
        return str(operand.value)
    if isinstance(operand, Address):
        offset = f"{operand.offset:+d}" if operand.offset else ""
        inner = print_operand(operand.base) + offset
        return f"[{inner}]" if operand.bracketed else inner
    if isinstance(operand, Sink):
        return "_"
    if isinstance(operand, Pair):
        return f"{print_operand(operand.first)}|{print_operand(operand.second)}"
    return "{" + ", ".join(map(print_operand, operand.elements)) + "}"

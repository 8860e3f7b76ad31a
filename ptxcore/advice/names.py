"""Registers and labels of nested blocks told apart (PTX ISA 9.0, sections 4.4 and 5.4.3): each block has names of its own, and
compilers write the same one in many blocks (`{ .reg .b64 %tmp; ... }`). What is said about a function follows registers by
their names, and so each name has one meaning here. Names are found as the checker finds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ptxcore.check.symbols import Scopes, Symbol
from ptxcore.clock import tick
from ptxcore.diagnostics import Span
from ptxcore.syntax.tree import (
    Address,
    AnyStatement,
    Arguments,
    Bracket,
    Close,
    Declaration,
    Instruction,
    Label,
    Name,
    OpenBrace,
    Operand,
    Pair,
    Vector,
)

#: Depth of the scopes of a module and of the body of a function: only what stands deeper is told apart.
_BODY = 1


def told_apart(body: Sequence[AnyStatement]) -> list[Instruction | Label]:
    """The labels and instructions of the body of a function, from behind its opening brace; names that a nested block declares
    have the number of the block behind them, as in `%tmp{3}`."""
    if not any(isinstance(statement, OpenBrace) for statement in body):
        return [statement for statement in body if isinstance(statement, Instruction | Label)]
    scopes, blocks = Scopes(), 0
    labels = _labels(body)
    scopes.open()
    found: list[Instruction | Label] = []
    for at, statement in enumerate(body):
        tick()
        if isinstance(statement, OpenBrace):
            blocks += 1
            scopes.open()
            for name in labels.get(at, ()):  # branches may come before what they lead to
                scopes.declare(name, Symbol("label", blocks, statement.span))
        elif isinstance(statement, Close):
            scopes.close()
        elif isinstance(statement, Declaration) and statement.space == "reg":
            for one in statement.names:
                scopes.declare(one.name, Symbol("register", blocks, Span(0, 0, 0)), one.count)
        elif isinstance(statement, Label):
            found.append(replace(statement, name=_own(statement.name, scopes)))
        elif isinstance(statement, Instruction):
            found.append(_renamed(statement, scopes) if scopes.depth > _BODY else statement)
    return found


def _labels(body: Sequence[AnyStatement]) -> dict[int, list[str]]:
    """By the number of each opening brace the labels of its block."""
    found: dict[int, list[str]] = {}
    around: list[int] = []
    for at, statement in enumerate(body):
        if isinstance(statement, OpenBrace):
            around.append(at)
        elif isinstance(statement, Close):
            if around:
                around.pop()
        elif isinstance(statement, Label) and around:
            found.setdefault(around[-1], []).append(statement.name)
    return found


def _own(name: str, scopes: Scopes) -> str:
    """A name, with the number of the nested block that declares it."""
    stem, dot, component = name.partition(".")
    symbol = scopes.find(stem)
    return name if symbol is None or symbol.depth <= _BODY else f"{stem}{{{symbol.kind}}}{dot}{component}"


def _renamed(instruction: Instruction, scopes: Scopes) -> Instruction:
    guard = instruction.guard and replace(instruction.guard, name=_own(instruction.guard.name, scopes))
    operands = tuple(_each(instruction.operands, scopes))
    if guard == instruction.guard and operands == instruction.operands:
        return instruction
    i = instruction
    return Instruction(i.opcode, i.modifiers, operands, guard, i.span, i.text, i.start)


def _each(operands: Iterable[Operand], scopes: Scopes) -> Iterator[Operand]:
    for operand in operands:
        if isinstance(operand, Name):
            yield replace(operand, name=_own(operand.name, scopes))
        elif isinstance(operand, Address):
            base, index = operand.base, operand.index
            if isinstance(base, Name):
                base = replace(base, name=_own(base.name, scopes))
            if index is not None:
                index = replace(index, name=_own(index.name, scopes))
            yield replace(operand, base=base, index=index)
        elif isinstance(operand, Pair):
            first, second = _each((operand.first, operand.second), scopes)
            yield Pair(first, second)  # type: ignore[arg-type]
        elif isinstance(operand, Vector | Bracket | Arguments):
            yield replace(operand, elements=tuple(_each(operand.elements, scopes)))
        else:
            yield operand

"""Where the parts of an instruction stand. The tree does not keep this: it is found again in the statement's text,
only when a finding has to be shown."""

from __future__ import annotations

import re

from ptxcore.diagnostics import Span
from ptxcore.syntax.lexer import COMPONENT, NAME, Cursor, Positions
from ptxcore.syntax.tree import Address, Instruction, Operand, Pair, parts_of

_HEAD = re.compile(
    rf"(?>(?:@\s*+(?P<guard>(?>(?:!\s*+)?){NAME})\s*+)?)(?P<opcode>[A-Za-z_][\w$]*+)(?P<modifiers>(?>(?:\s*+\.[\w:$]++)*))",
    re.ASCII,
)
_MODIFIER = re.compile(r"\.[\w:$]++", re.ASCII)
_FIRST_NAME = re.compile(rf"\[?\s*+({NAME}(?>(?:\s*+{COMPONENT})?)|[-\w]++)", re.ASCII)

#: Where a part begins and ends in the text of its instruction.
Offsets = tuple[int, int]


def guard_span(instruction: Instruction) -> Span:
    """The guard's name, with its `!`; the instruction where it has none."""
    m = _HEAD.match(instruction.text)
    if m is None or m["guard"] is None:
        return instruction.span
    return _span(instruction, m.span("guard"))


def modifier_span(instruction: Instruction, index: int) -> Span:
    """The modifier `index` with its dot; the instruction where there is no such modifier."""
    m = _HEAD.match(instruction.text)
    if m is not None:
        for i, modifier in enumerate(_MODIFIER.finditer(instruction.text, *m.span("modifiers"))):
            if i == index:
                return _span(instruction, modifier.span())
    return instruction.span


def operand_span(instruction: Instruction, index: int, *inner: int) -> Span:
    """Operand `index`; with `inner`, the part of it: the element of a vector, bracket or arguments, 0 and 1 for the two
    of a pair, 0 for the base of an address. The instruction's own span where its text does not have it."""
    place = _operand_place(instruction, index, inner)
    return instruction.span if place is None else _span(instruction, place)


def find_span(instruction: Instruction, operand: Operand) -> Span:
    """The first operand, or part of one, that equals `operand`; the instruction's own span where there is none."""
    for index, whole in enumerate(instruction.operands):
        path = _path(whole, operand)
        if path is not None:
            return operand_span(instruction, index, *path)
    return instruction.span


def _path(whole: Operand, wanted: Operand) -> tuple[int, ...] | None:
    """Which way leads from an operand to a part of it."""
    waiting: list[tuple[Operand, tuple[int, ...]]] = [(whole, ())]
    while waiting:
        operand, path = waiting.pop()
        if operand == wanted:
            return path
        waiting += [(part, (*path, i)) for i, part in reversed(list(enumerate(parts_of(operand))))]
    return None


def _span(instruction: Instruction, place: Offsets) -> Span:
    return Positions(instruction.text, *instruction.start).span(*place)


def _operand_place(instruction: Instruction, index: int, inner: tuple[int, ...]) -> Offsets | None:
    text = instruction.text
    head = _HEAD.match(text)
    if head is None or not 0 <= index < len(instruction.operands):
        return None
    places = _split(text, head.end(), len(text), ",")
    if index >= len(places):
        return None
    place, operand = places[index], instruction.operands[index]
    for i in inner:
        found = _part_place(text, place, operand, i) if 0 <= i < len(parts_of(operand)) else None
        if found is None:
            return None
        place, operand = found, parts_of(operand)[i]
    return place


def _part_place(text: str, place: Offsets, operand: Operand, index: int) -> Offsets | None:
    start, end = place
    if isinstance(operand, Address):
        if index == 1:
            bracket = text.find("[", start, end) + 1
            m = _FIRST_NAME.match(text, bracket, end)
        else:
            m = _FIRST_NAME.match(text, start, end)
        return None if m is None else m.span(1)
    if isinstance(operand, Pair):
        places = _split(text, start, end, "|")
    else:
        places = _split(text, start + 1, end - 1, ",")
    return places[index] if index < len(places) else None


def _split(text: str, start: int, end: int, mark: str) -> list[Offsets]:
    """The parts between the marks that stand in no brackets of their own."""
    places: list[Offsets] = []
    cursor = Cursor(text, start, end)
    depth, first, last = 0, -1, -1
    while cursor.kind != "end":
        if cursor.text == mark and not depth:
            places.append((first, last))
            first = -1
        elif cursor.text == ";" and not depth:
            break
        else:
            if cursor.text in ("(", "[", "{"):
                depth += 1
            elif cursor.text in (")", "]", "}"):
                depth -= 1
            if first < 0:
                first = cursor.start
            last = cursor.stop
        cursor.advance()
    if first >= 0:
        places.append((first, last))
    return places

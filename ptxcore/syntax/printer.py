"""PTX as text; reading what is printed gives an equal tree."""

from __future__ import annotations

from ptxcore.syntax.lexer import bits_float
from ptxcore.syntax.tree import (
    Address,
    AnyStatement,
    Arguments,
    Bracket,
    Close,
    Declaration,
    Declarator,
    Float,
    Immediate,
    Instruction,
    Label,
    Name,
    Open,
    Operand,
    Pair,
    Sink,
    Text,
    Vector,
)

#: The brackets of lists.
_AROUND = {Vector: "{{{}}}", Bracket: "[{}]", Arguments: "({})"}


def print_statement(statement: AnyStatement) -> str:
    """A statement on one line, without `;` at its end; a label with its `:`."""
    if isinstance(statement, Instruction):
        return print_instruction(statement)
    if isinstance(statement, Label):
        return f"{statement.name}:"
    if isinstance(statement, Declaration):
        return print_declaration(statement)
    if isinstance(statement, Open | Close):
        return "{" if isinstance(statement, Open) else "}"
    raise NotImplementedError(type(statement).__name__)


def print_instruction(instruction: Instruction) -> str:
    """An instruction without its `;`."""
    guard = instruction.guard
    before = "" if guard is None else f"@{guard.prefix}{guard.name} "
    opcode = ".".join((instruction.opcode, *instruction.modifiers))
    operands = ", ".join(map(print_operand, instruction.operands))
    return f"{before}{opcode} {operands}" if operands else before + opcode


def print_declaration(declaration: Declaration) -> str:
    """A declaration without its `;`."""
    words = []
    if declaration.linkage:
        words.append(f".{declaration.linkage}")
    words.append(f".{declaration.space}" + ("" if declaration.bank is None else f"[{declaration.bank}]"))
    if declaration.attributes:
        words.append(f".attribute({', '.join(map(_attribute, declaration.attributes))})")
    if declaration.align is not None:
        words.append(f".align {_integer(declaration.align)}")
    if declaration.vector:
        words.append(f".{declaration.vector}")
    words.append(f".{declaration.type}")
    if declaration.pointer is not None:
        space, align = declaration.pointer
        words += [".ptr", *([f".{space}"] if space else []), *([] if align is None else [f".align {_integer(align)}"])]
    return f"{' '.join(words)} {', '.join(map(_declarator, declaration.names))}"


def _attribute(attribute: tuple[str, tuple[int, ...]]) -> str:
    name, numbers = attribute
    return f".{name}({', '.join(map(_integer, numbers))})" if numbers else f".{name}"


def _declarator(declarator: Declarator) -> str:
    count = "" if declarator.count is None else f"<{declarator.count}>"
    dimensions = "".join("[]" if n is None else f"[{_integer(n)}]" for n in declarator.dimensions)
    value = "" if declarator.value is None else f" = {print_operand(declarator.value)}"
    return f"{declarator.name}{count}{dimensions}{value}"


def _integer(value: int) -> str:
    """An integer as an expression with this very value."""
    return str(value) if value > -(1 << 63) else "(.s64)0x8000000000000000"


def _float(value: Float) -> str:
    if not value.decimal:
        return f"0{'f' if value.width == 32 else 'd'}{value.bits:0{value.width // 4}X}"
    number = bits_float(value.bits)
    if number != number:
        return "1e999 - 1e999"
    text = repr(number).replace("inf", "1e999")
    return text if "." in text or "e" in text else text + ".0"


def print_operand(operand: Operand) -> str:
    """An operand as it is written in an instruction or an initialiser."""
    if isinstance(operand, Name):
        return operand.prefix + operand.name
    if isinstance(operand, Immediate):
        return _integer(operand.value)
    if isinstance(operand, Address):
        return _address(operand)
    if isinstance(operand, Sink):
        return "_"
    if isinstance(operand, Float):
        return _float(operand)
    if isinstance(operand, Pair):
        return f"{print_operand(operand.first)}|{print_operand(operand.second)}"
    if isinstance(operand, Text):
        return f'"{operand.text}"'
    if isinstance(operand, Vector | Bracket | Arguments):
        inner = ", ".join(map(print_operand, operand.elements))
        return _AROUND[type(operand)].format(inner)
    inner = print_operand(operand.inner)
    return f"generic({inner})" if operand.operator == "generic" else f"{operand.mask:#X}({inner})"


def _address(address: Address) -> str:
    base, offset = print_operand(address.base), address.offset
    if address.indexed:
        if address.index is None:
            return f"{base}[{_integer(offset)}]"
        return f"{base}[{address.index.name}{f'+{_integer(offset)}' if offset else ''}]"
    if address.bracketed:
        return f"[{base}+{_integer(offset)}]" if offset else f"[{base}]"
    return f"{base}+{_integer(offset)}"

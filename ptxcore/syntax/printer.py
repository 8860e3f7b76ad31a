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
    Directive,
    Float,
    Function,
    Immediate,
    Instruction,
    Label,
    Module,
    Name,
    OpenBrace,
    Operand,
    Pair,
    Prototype,
    QuotedText,
    Section,
    Sink,
    Vector,
    Wrapped,
)

#: The brackets of lists.
_AROUND = {Vector: "{{{}}}", Bracket: "[{}]", Arguments: "({})"}


_INDENT = "    "


def print_module(module: Module) -> str:
    """A whole module, a statement on each line, blocks indented. `read_module` reads an equal module from it."""
    lines: list[str] = []
    depth = 0
    for statement in module.statements:
        if isinstance(statement, Close):
            depth = max(0, depth - 1)
        indent = "" if isinstance(statement, Label) else _INDENT * min(depth, 20)
        lines.append(indent + print_statement(statement) + (";" if _ended(statement) else ""))
        depth += isinstance(statement, OpenBrace)
    return "\n".join(lines) + "\n"


def _ended(statement: AnyStatement) -> bool:
    """Whether a statement ends with `;`."""
    if isinstance(statement, Directive):
        from ptxcore.syntax.directives import SHAPES  # not where threads alone are printed

        shape = SHAPES.get(statement.name)
        return shape is not None and shape.ended
    if isinstance(statement, Function):
        return not statement.defined
    return isinstance(statement, Instruction | Declaration | Prototype)


def print_statement(statement: AnyStatement) -> str:
    """A statement without `;` at its end; a label with its `:`. On one line, but for sections of debugging data."""
    if isinstance(statement, Instruction):
        return print_instruction(statement)
    if isinstance(statement, Label):
        return f"{statement.name}:"
    if isinstance(statement, Declaration):
        return print_declaration(statement)
    if isinstance(statement, Directive):
        return _directive(statement)
    if isinstance(statement, Function):
        return _function(statement)
    if isinstance(statement, Prototype):
        return " ".join((".callprototype", *_signature(statement, "_"), *_head(statement.directives)))
    if isinstance(statement, Section):
        return "\n".join((f".section {statement.name}", "{", *map(_section_line, statement.lines), "}"))
    return "{" if isinstance(statement, OpenBrace) else "}"


def _directive(directive: Directive) -> str:
    name, arguments = directive.name, directive.arguments
    if name == "@@DWARF":
        return f"{name} {arguments[0].text if isinstance(arguments[0], QuotedText) else ''}".rstrip()
    printed = [print_operand(a) for a in arguments]
    if name == "version":
        return f".version {'.'.join(printed)}"
    if name == "file":
        return f".file {printed[0]} {', '.join(printed[1:])}"
    if name == "loc":
        return _loc(printed)
    return f".{name} {', '.join(printed)}".rstrip()


def _loc(arguments: list[str]) -> str:
    place, more = arguments[:3], arguments[3:]
    text = f".loc {' '.join(place)}"
    if more[:1] == ["function_name"]:
        text += f", function_name {more[1]}"
        more = more[2:]
    return text + (f", {' '.join(more)}" if more else "")


def _head(directives: tuple[Directive, ...]) -> list[str]:
    """The directives of a function's head."""
    return [_directive(d) + (";" if _ended(d) else "") for d in directives]


def _signature(signature: Function | Prototype, name: str) -> list[str]:
    results, parameters = signature.results, signature.parameters
    return [
        *([f"({', '.join(map(print_declaration, results))})"] if results else []),
        name + ("" if parameters is None else f"({', '.join(map(print_declaration, parameters))})"),
    ]


def _function(function: Function) -> str:
    words = [f".{function.linkage}"] if function.linkage else []
    words.append(f".{function.kind}")
    if function.attributes:
        words.append(f".attribute({', '.join(map(_attribute, function.attributes))})")
    return " ".join((*words, *_signature(function, function.name), *_head(function.directives)))


def _section_line(line: tuple[str, str, tuple[Operand, ...]]) -> str:
    label, kind, values = line
    if not kind:
        return f"{label}:"
    return f"{label + ': ' if label else ''}.{kind} {', '.join(map(_section_value, values))}"


def _section_value(value: Operand) -> str:
    # Sections take no expressions.
    return str(value.value) if isinstance(value, Immediate) else print_operand(value)


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
    if isinstance(operand, QuotedText):
        return f'"{operand.text}"'
    if isinstance(operand, Vector | Bracket | Arguments):
        inner = ", ".join(map(print_operand, operand.elements))
        return _AROUND[type(operand)].format(inner)
    return _wrapped(operand)


def _wrapped(wrapped: Wrapped) -> str:
    operator, inner = wrapped.operator, wrapped.inner
    if operator == "-" and isinstance(inner, Vector):
        return "-".join(map(print_operand, inner.elements))
    if operator == "mask":
        return f"0x{wrapped.mask:X}({print_operand(inner)})"
    if operator != "generic":
        return f"{operator} = {print_operand(inner)}"
    if isinstance(inner, Address):
        return f"generic({print_operand(inner.base)})+{_integer(inner.offset)}"
    return f"generic({print_operand(inner)})"


def _address(address: Address) -> str:
    base, offset = print_operand(address.base), address.offset
    if address.indexed:
        if address.index is None:
            return f"{base}[{_integer(offset)}]"
        return f"{base}[{address.index.name}{f'+{_integer(offset)}' if offset else ''}]"
    if address.bracketed:
        inner = f"{base}+{_integer(offset)}" if offset else base
        return f"[{inner}]{'.' + address.qualifier if address.qualifier else ''}"
    return f"{base}+{_integer(offset)}"

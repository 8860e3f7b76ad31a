"""Calls: whether arguments and results fit what is called (PTX ISA 9.0, sections 7.1, 9.7.12.5, 11.3.2 and 11.3.3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ptxcore.check.context import Context
from ptxcore.check.functions import differs, shown_parameter
from ptxcore.check.kinds import MOST_PLACES, Kinds
from ptxcore.check.mismatch import OperandKind, describe
from ptxcore.check.symbols import Callable, DeclaredVariable, LabelSymbol, Symbol, variable
from ptxcore.isa.difference import Difference
from ptxcore.isa.types import WIDTHS
from ptxcore.syntax.spans import operand_span
from ptxcore.syntax.tree import (
    Address,
    Arguments,
    Declaration,
    Float,
    Immediate,
    Instruction,
    Name,
    Operand,
    Sink,
    Vector,
)

Signature = tuple[tuple[Declaration, ...], tuple[Declaration, ...]]


def check_call(context: Context, kinds: Kinds, s: Instruction) -> tuple[OperandKind, ...]:
    """Check the signature of a call; the kinds of its operands, by which its form is judged."""
    operands = s.operands
    at = 1 if operands and isinstance(operands[0], Arguments) else 0
    target = operands[at] if len(operands) > at else None
    found: list[OperandKind] = [("(",) if isinstance(o, Arguments) else None for o in operands]
    if not isinstance(target, Name) or target.prefix:
        return kinds.of(s)
    symbol = context.scopes.find(target.name)
    found[at] = _target_kind(context, kinds, s, at, target, symbol)
    arguments = operands[at + 1] if len(operands) > at + 1 else None
    listed = arguments if isinstance(arguments, Arguments) else None
    last = operands[-1] if len(operands) > at + 1 + (listed is not None) else None
    signatures: list[Signature] = []
    if found[at] == "function" and last is None:
        signatures = _signatures([symbol])
    elif isinstance(last, Name) and found[at] not in ("function", "any"):
        found[-1], signatures = _through(context, kinds, s, last)
    result: list[OperandKind] = [k or kinds.classify(o, s) for k, o in zip(found, operands, strict=True)]
    before = len(context.findings)
    for signature in signatures:
        if len(context.findings) > before:  # one of several callees is enough
            break
        results = operands[0] if at else None
        _check_list(context, kinds, s, 0, results if isinstance(results, Arguments) else None, signature[0], True)
        _check_list(context, kinds, s, at + 1, listed, signature[1], False)
    return tuple(result)


def _target_kind(
    context: Context, kinds: Kinds, s: Instruction, at: int, target: Name, symbol: Symbol | None
) -> OperandKind:
    if isinstance(symbol, Callable):
        assert symbol.head is not None
        if symbol.head.kind == "func":
            return "function"
        context.report("call", operand_span(s, at), f"'{target.name}' is a kernel: only functions are called")
        return "any"
    if symbol is None:
        context.report("undeclared", operand_span(s, at), f"'{target.name}' is not declared",
                       f"declare it before, as in .extern .func {target.name};")  # fmt: skip
        return "any"
    return kinds.classify(target, s)


def _signatures(symbols: Iterable[Symbol | None]) -> list[Signature]:
    """Results and parameters of functions and prototypes, each that is different once."""
    found: list[Signature] = []
    for symbol in symbols:
        head = symbol.head if isinstance(symbol, Callable) else getattr(symbol, "prototype", None)
        if head is not None and (head.results, head.parameters or ()) not in found[-1:]:
            found.append((head.results, head.parameters or ()))
    return found


def _through(context: Context, kinds: Kinds, s: Instruction, last: Name) -> tuple[Any, list[Signature]]:
    """What a call through a register names last: a prototype, `.calltargets`, or an array of functions."""
    symbol = context.scopes.find(last.name)
    if isinstance(symbol, LabelSymbol):
        if symbol.signatures is None:
            callees = map(context.scopes.find, symbol.names) if symbol.sort == "callees" else [symbol]
            symbol.signatures = _signatures(callees)
        return symbol.kind, symbol.signatures
    if not isinstance(symbol, DeclaredVariable):
        return None, []
    span = operand_span(s, len(s.operands) - 1)
    first = _first_function(symbol.value)
    called = context.scopes.find(first) if first else None
    if symbol.space not in ("global", "const") or not symbol.dimensions:
        context.report("call", span, f"'{last.name}' is no array of functions in .global or .const")
        return "any", []
    if not isinstance(called, Callable):
        context.report(
            "call", span, f"'{last.name}' does not begin with a function", "give it the functions as initial value"
        )
        return "any", []
    return symbol.kind, _signatures([called])


def _first_function(value: Operand | None) -> str | None:
    """The name that the first element of an array's initial value has."""
    while value is not None:
        if isinstance(value, Name):
            return value.name
        if isinstance(value, Vector):
            value = value.elements[0] if value.elements else None
        elif isinstance(value, Address):
            value = value.base
        else:
            value = getattr(value, "inner", None)
    return None


# Lists.


def _check_list(
    context: Context,
    kinds: Kinds,
    s: Instruction,
    index: int,
    given: Arguments | None,
    wanted: tuple[Declaration, ...],
    results: bool,
) -> None:
    elements = given.elements if given is not None else ()
    unsized = bool(wanted) and not results and _unsized(wanted[-1])
    if len(elements) != len(wanted) and not (unsized and given is not None and len(elements) == len(wanted) - 1):
        span = operand_span(s, index) if given is not None else s.span
        noun = "result" if results else "argument"
        number = f"{len(wanted) or 'no'} {noun}{'s' * (len(wanted) != 1)}"
        context.report("call", span, f"the call needs {number}, not {len(elements)}", _listed(f"{noun}s", wanted))
        return
    told = 0
    for i, (operand, formal) in enumerate(zip(elements, wanted, strict=False)):
        mismatch = _misfit(context, kinds, s, operand, formal, results)
        if mismatch:
            told += 1
            context.report("call", operand_span(s, index, i) if told <= MOST_PLACES else s.span, *mismatch)


def _listed(nouns: str, wanted: tuple[Declaration, ...]) -> str | None:
    return f"the {nouns}: {', '.join(map(shown_parameter, wanted[:8]))}" if wanted else None


def _unsized(declaration: Declaration) -> bool:
    dimensions = declaration.names[0].dimensions
    return bool(dimensions) and not all(dimensions)


def _misfit(
    context: Context, kinds: Kinds, s: Instruction, operand: Operand, formal: Declaration, result: bool
) -> tuple[str, str | None] | None:
    """What is wrong with one argument or result, and what would be right."""
    wanted = f"the call's {'result' if result else 'parameter'} is {shown_parameter(formal)}"
    if isinstance(operand, Sink):
        return None if result else ("'_' is no argument", wanted)
    if isinstance(operand, Immediate | Float):
        # ptxas takes a constant for a result too, and drops the result.
        return _misfit_constant(operand, formal, result and context.manual, wanted)
    if not isinstance(operand, Name) or operand.prefix:
        return "registers, constants and .param variables are passed, not this", wanted
    kind = kinds.known.get(id(operand)) or kinds.classify(operand, s)
    if kind == "any":
        return None
    symbol = context.scopes.find(operand.name)
    if not isinstance(symbol, DeclaredVariable):
        return f"'{operand.name}' is {describe(kind)}: it cannot be passed", wanted
    if symbol.space not in ("reg", "param"):
        return f"'{operand.name}' is in .{symbol.space}: pass its address in a register", wanted
    if symbol.space == "param" and symbol.role != "local":
        return f"'{operand.name}' is a parameter of this function: load it, and pass what was loaded", wanted
    return _misfit_variable(operand.name, symbol, formal, wanted)


def _misfit_constant(
    operand: Immediate | Float, formal: Declaration, result: bool, wanted: str
) -> tuple[str, str | None] | None:
    if result:
        return "a result cannot go to a constant", wanted
    letters = "usb" if isinstance(operand, Immediate) else "fb"
    if formal.names[0].dimensions or formal.type[0] not in letters:
        what = "an integer" if isinstance(operand, Immediate) else "a floating-point constant"
        return f"{what} does not fit: {wanted}", None
    return None


def _misfit_variable(
    name: str, symbol: DeclaredVariable, formal: Declaration, wanted: str
) -> tuple[str, str | None] | None:
    parameter = variable(formal, 0, kind="any")
    shape = f"{f'.{symbol.vector} ' if symbol.vector else ''}.{symbol.type}"
    if bool(symbol.dimensions) != bool(parameter.dimensions):
        return f"'{name}' is {'an array' if symbol.dimensions else 'no array'}: {wanted}", None
    if not _agree(symbol, parameter):
        return f"'{name}' is {shape}: {wanted}", "types must have the same size, and agree or be untyped (.b)"
    if parameter.dimensions and not _unsized(formal) and symbol.bytes != parameter.bytes:
        return f"'{name}' has {symbol.bytes} bytes: {wanted}", None
    if symbol.space == "param" and symbol.alignment != parameter.alignment:
        have, want = symbol.alignment, parameter.alignment
        return f"'{name}' is aligned to {have}, the parameter to {want}", f"declare '{name}' with .align {want}"
    return None


def _agree(one: DeclaredVariable, other: DeclaredVariable) -> bool:
    """Whether types agree: the same, or one untyped, or both integers; elements of arrays may differ in size."""
    a, b = one.type, other.type
    if one.vector != other.vector:
        return False
    if not one.dimensions and WIDTHS.get(a) != WIDTHS.get(b):
        return False
    return a == b or "b" in (a[0], b[0]) or (a[0] in "us" and b[0] in "us")


def check_callees(context: Context, names: tuple[str, ...], span: Any) -> None:
    """`.calltargets`: functions that are declared before (section 11.3.2)."""
    first: Callable | None = None
    before = len(context.findings)

    def place(name: str) -> Any:
        return span(name if len(context.findings) - before < MOST_PLACES else "")

    for name in names:
        symbol = context.scopes.find(name)
        if not isinstance(symbol, Callable):
            code, what = ("undeclared", "is not declared") if symbol is None else ("call", "is no function")
            context.report(code, place(name), f"'{name}' {what}", "name functions that are declared before")
        elif first is None:
            first = symbol
        else:
            assert symbol.head is not None and first.head is not None
            one, other = first.head, symbol.head
            mismatch = differs(one.results, one.parameters or (), other.results, other.parameters or ())
            if mismatch and context.manual:
                context.report("call", place(name), f"'{name}' {mismatch.replace('than before', f'than {one.name!r}')}")


DIFFERENCES = (
    Difference(
        "9.7.12.5",
        "A constant may stand in the place of a result.",
        "Results go to registers and `.param` variables.",
    ),
    Difference(
        "11.3.2",
        "The functions of `.calltargets` may differ in their signatures until a call names the list.",
        "All have the same signature.",
    ),
    Difference(
        "9.7.12.5",
        "The parentheses of no arguments may be left out behind results.",
        "They are there.",
    ),
)

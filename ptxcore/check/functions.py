"""Kernels and functions: heads, their directives, prototypes and aliases (PTX ISA 9.0, sections 7.1, 11.2 to 11.4, 11.7)."""

from __future__ import annotations

from ptxcore.check.context import Context
from ptxcore.check.declarations import (
    check_align,
    check_attribute,
    check_parameter_align,
    check_type,
    redeclare,
)
from ptxcore.check.places import word_span
from ptxcore.check.symbols import Callable, variable
from ptxcore.diagnostics import Span
from ptxcore.isa.difference import Difference
from ptxcore.isa.directives import DIRECTIVES, PRAGMAS
from ptxcore.isa.types import OPAQUE, WIDTHS
from ptxcore.syntax.tree import Declaration, Directive, Function, Immediate, Name, Prototype, QuotedText, Statement

#: Most bytes of parameters of a kernel (section 11.2.1), by the version that allowed them.
_PARAMETER_BYTES = (((8, 1), 32764), ((1, 5), 4352), ((1, 0), 256))
#: What more than this many bytes need.
_MANY_BYTES, _MANY_GATE = 4352, "8.1 sm_70"
_KERNEL_LIST = "1.4"
_FUNCTION_PARAM = "2.0 sm_20"
_UNSIZED = "6.0 sm_30"
_POINTER = "2.2"
_KERNEL_DECLARATION = "3.0"

#: Directives of a head that take numbers from 1 on, and pairs that exclude each other.
_POSITIVE = frozenset(("maxnreg", "maxntid", "reqntid", "minnctapersm", "maxnctapersm"))
_EXCLUSIVE = (("maxntid", "reqntid"), ("reqnctapercluster", "maxclusterrank"))
_ONCE = frozenset(("abi_preserve", "abi_preserve_control"))
#: Registers of functions' parameters have at least so many bits, says the manual.
_LEAST_BITS = 32


def enter(context: Context, head: Function) -> Callable:
    """Check a head; declare its name where it belongs, and its parameters in a scope of their own, which is left open."""
    check_linkage(context, head)
    for name, numbers in head.attributes:
        span = word_span(head, f".{name}")
        if name == "managed":
            context.report("function", span, "'.managed' is for variables", "functions take .unified")
        else:
            check_attribute(context, span, name, numbers)
    found = _declare_name(context, head)
    context.scopes.open()
    if head.kind == "entry":
        _check_entry(context, head)
    else:
        _check_signature(context, head.results, head.parameters or (), head.defined, None)
        _check_manual_signature(context, head.results, head.parameters or ())
    check_directives(context, head, head.directives, head.results)
    if head.kind == "entry" and head.defined:
        _check_parameter_bytes(context, head)
    return found


def check_linkage(context: Context, head: Function) -> None:
    if head.linkage == "common":
        context.report("function", word_span(head, ".common"), "'.common' is for variables", "write .weak or .visible")
    elif head.linkage == "weak":
        context.gate(word_span(head, ".weak"), ".weak", "3.1")
    elif head.linkage == "extern" and head.defined:
        context.report(
            "function", word_span(head, ".extern"), f"'{head.name}' is .extern and has a body", "write .visible"
        )


# Names.


def _declare_name(context: Context, head: Function) -> Callable:
    scopes = context.scopes
    before = scopes.exactly_here(head.name)
    fresh = Callable("function", "function", head.name_span, 0, head, head.defined)
    if before is None:
        scopes.declare(head.name, fresh)
        return fresh
    line = f"line {before.span.line} declares it"
    if not isinstance(before, Callable):
        context.report("redeclared", head.name_span, f"'{head.name}' is already a variable", line)
        scopes.declare(head.name, fresh)
        return fresh
    assert before.head is not None
    mismatch = _inconsistency(before, head)
    if mismatch:
        context.report("redeclared", head.name_span, f"'{head.name}' {mismatch}", line)
    before.defined = before.defined or head.defined
    return before


def _inconsistency(before: Callable, now: Function) -> str:
    """What is wrong with a further declaration or the definition of a function; "" where nothing is."""
    then = before.head
    assert then is not None
    if then.kind != now.kind:
        return f"was a .{then.kind} and is now a .{now.kind}"
    if before.defined:
        return "is defined twice" if now.defined else "is declared after its definition"
    if now.linkage != then.linkage and not (not now.linkage and then.linkage in ("visible", "weak")):
        shown = [f".{k.linkage}" if k.linkage else "without linkage" for k in (then, now)]
        return f"was declared {shown[0]} and is now {shown[1]}"
    names = [{d.name for d in k.directives if d.name == "noreturn"} for k in (then, now)]
    if names[0] != names[1]:
        return "has .noreturn in one declaration only"
    return differs(then.results, then.parameters or (), now.results, now.parameters or ())


def differs(
    results: tuple[Declaration, ...],
    parameters: tuple[Declaration, ...],
    other_results: tuple[Declaration, ...],
    other_parameters: tuple[Declaration, ...],
) -> str:
    """How two signatures differ; "" where they are the same. Names do not count."""
    for what, ours, theirs in (("results", results, other_results), ("parameters", parameters, other_parameters)):
        if len(ours) != len(theirs):
            return f"has other {what} than before: {len(theirs)}, not {len(ours)}"
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            one, two = (_signature(d) for d in (a, b))
            if one != two:
                here, there = shown_parameter(b), shown_parameter(a)
                return f"has another {what.removesuffix('s')} {i + 1} than before: {here}, not {there}"
    return ""


def _signature(declaration: Declaration) -> tuple[object, ...]:
    found = variable(declaration, 0, kind="any")
    return found.space, found.type, found.vector, found.dimensions, found.alignment


def shown_parameter(declaration: Declaration) -> str:
    """A parameter without its name, as in `.param .align 4 .b8[8]`."""
    d = declaration
    dimensions = "".join(f"[{n if n is not None else ''}]" for n in d.names[0].dimensions)
    align = f" .align {d.align}" if d.align else ""
    return f".{d.space}{align}{f' .{d.vector}' if d.vector else ''} .{d.type}{dimensions}"


# Parameters.


def _check_entry(context: Context, head: Function) -> None:
    if head.parameters:
        context.gate(head.name_span, "a list of kernel parameters", _KERNEL_LIST)
    if not head.defined:
        context.gate(head.name_span, "a kernel without a body", _KERNEL_DECLARATION)
    for parameter in head.parameters or ():
        name = parameter.names[0]
        if parameter.space != "param":
            context.report("function", parameter.span, f"a kernel's parameter is in .param, not in .{parameter.space}")
        loosely = not head.defined and not context.manual
        sound = check_type(context, parameter, loosely)
        check_align(context, parameter, parameter.align)
        _check_pointer(context, parameter)
        if not all(name.dimensions):
            context.report(
                "function", name.span, f"'{name.name}' needs a number of elements: kernels take no unsized arrays"
            )
        if len(name.dimensions) > 1:
            context.report("function", name.span, f"'{name.name}' cannot have {len(name.dimensions)} dimensions",
                           "parameters are arrays of one")  # fmt: skip
        if name.name != "_" and not loosely:
            redeclare(context, name, variable(parameter, 0, "kernel", None if sound else "any"))


def _check_pointer(context: Context, parameter: Declaration) -> None:
    """`.ptr` (section 5.1.6.3)."""
    if parameter.pointer is None:
        return
    span = word_span(parameter, ".ptr")
    context.gate(span, ".ptr", _POINTER)
    space, align = parameter.pointer
    if space not in ("", "const", "global", "local", "shared"):
        context.report(
            "function", span, f"a kernel is given no pointer to .{space}", "spaces are .const .global .local .shared"
        )
    if align is not None:
        check_align(context, parameter, align)


def _check_parameter_bytes(context: Context, head: Function) -> None:
    size = 0
    for parameter in head.parameters or ():
        if parameter.type in OPAQUE:
            continue
        one = variable(parameter, 0, kind="any")
        size += -size % max(1, one.alignment) + one.bytes
    most = next(limit for since, limit in _PARAMETER_BYTES if context.version >= since)
    if size > most:
        context.report("function", head.name_span, f"'{head.name}' has {size} bytes of parameters, {most} is the most")
    elif size > _MANY_BYTES:
        context.gate(head.name_span, f"more than {_MANY_BYTES} bytes of parameters", _MANY_GATE)


def _check_signature(
    context: Context,
    results: tuple[Declaration, ...],
    parameters: tuple[Declaration, ...],
    defined: bool,
    prototype: Prototype | None,
) -> None:
    """Results and parameters of a function, or of a prototype, whose names mean nothing."""
    for result in [r for r in results if r.space != "reg" and len(results) > 1][:1]:
        context.report(
            "function", result.span, "several results must all be in .reg", "or pass them in one .param array"
        )
    for role, declarations in (("output", results), ("input", parameters)):
        for index, declaration in enumerate(declarations):
            unsized = role == "input" and index == len(declarations) - 1
            loosely = not defined and not context.manual
            _check_parameter(context, declaration, role, unsized, prototype is not None, loosely)


def _check_parameter(
    context: Context, declaration: Declaration, role: str, unsized: bool, nameless: bool, loosely: bool
) -> None:
    name = declaration.names[0]
    if declaration.space not in ("reg", "param"):
        context.report(
            "function", declaration.span, f"a function's parameter is in .reg or .param, not in .{declaration.space}"
        )
        return
    sound = check_type(context, declaration, loosely)
    check_align(context, declaration, declaration.align)
    if not loosely:
        check_parameter_align(context, declaration)
    if declaration.space == "param":
        context.gate(declaration.span, "a parameter of a function in .param", _FUNCTION_PARAM)
    if declaration.type in OPAQUE and not loosely and (context.manual or not name.dimensions):
        context.report(
            "function", declaration.span, f"a function takes no .{declaration.type}", "pass its address as .u64"
        )
        return
    if declaration.pointer is not None:
        context.report("function", word_span(declaration, ".ptr"), "'.ptr' is for parameters of kernels")
    if name.dimensions and declaration.space == "reg":
        if not loosely or not all(name.dimensions):
            context.report("function", name.span, f"'{name.name}' cannot be an array: registers have no addresses")
    elif len(name.dimensions) > 1:
        context.report("function", name.span, f"'{name.name}' cannot have {len(name.dimensions)} dimensions")
    elif name.dimensions and not all(name.dimensions):
        if not unsized:
            where = "a result" if role == "output" else "a parameter before the last"
            context.report("function", name.span, f"{where} needs a number of elements")
        else:
            context.gate(name.span, "an unsized parameter", _UNSIZED)
            if context.manual and declaration.type != "b8":
                context.report(
                    "function", name.span, f"an unsized parameter is an array of .b8, not of .{declaration.type}"
                )
    if nameless:
        return
    if name.name == "_":
        context.report("function", name.span, "a parameter of a function needs a name", "'_' is for .callprototype")
        return
    if not loosely:
        redeclare(context, name, variable(declaration, 0, role, None if sound else "any"))


def _check_manual_signature(
    context: Context, results: tuple[Declaration, ...], parameters: tuple[Declaration, ...]
) -> None:
    if not context.manual:
        return
    if len(results) > 1:
        context.report(
            "function", results[1].span, "a function has one result", "return several values in one .param array"
        )
    for declaration in (*results, *parameters):
        if declaration.space == "reg" and WIDTHS.get(declaration.type, _LEAST_BITS) < _LEAST_BITS:
            context.report("function", declaration.span, f"a parameter in a register has {_LEAST_BITS} bits or more",
                           f"pass .{declaration.type} in .param")  # fmt: skip


def check_prototype(context: Context, prototype: Prototype) -> None:
    """`.callprototype` (section 11.3.3)."""
    context.gate(prototype.span, ".callprototype", DIRECTIVES["callprototype"].gate)
    _check_signature(context, prototype.results, prototype.parameters or (), False, prototype)
    check_directives(context, prototype, prototype.directives, prototype.results)


# Directives of a head.


def check_directives(
    context: Context, head: Statement, directives: tuple[Directive, ...], results: tuple[Declaration, ...]
) -> None:
    """What a head asks of the compiler and the launch (sections 11.4, 11.7 and 11.8)."""
    seen: dict[str, Span] = {}
    kind = head.kind if isinstance(head, Function) else "prototype"
    if kind == "entry" and directives and not head.defined:  # type: ignore[attr-defined]
        context.report(
            "directive", word_span(head, f".{directives[0].name}"), "a kernel's directives stand at its definition"
        )
    for directive in directives:
        name = directive.name
        span = directive.span if directive.span.line else word_span(head, f".{name}")
        check_gates(context, directive, span)
        if name == "noreturn" and seen:
            context.report("directive", span, "'.noreturn' stands once, before other directives")
        if name == "pragma" and kind != "entry":
            context.report("directive", span, "'.pragma' stands in the head of kernels only", "write it in the body")
        if name in _ONCE and name in seen:
            context.report("directive", span, f"'.{name}' stands twice")
        for pair in _EXCLUSIVE:
            other = next((word for word in pair if word != name and word in seen), None)
            if name in pair and other is not None:
                context.report("directive", span, f"'.{name}' cannot stand with '.{other}'", "one of them says it")
        if name in _POSITIVE and any(isinstance(a, Immediate) and a.value <= 0 for a in directive.arguments):
            context.report("directive", span, f"'.{name}' takes numbers from 1 on")
        if name == "noreturn" and results:
            context.report("directive", span, "a function that does not return has no results")
        if name == "pragma":
            check_pragma(context, directive, span, True)
        seen.setdefault(name, span)
    if "blocksareclusters" in seen and not {"reqntid", "reqnctapercluster"} <= seen.keys():
        context.report(
            "directive", seen["blocksareclusters"], "'.blocksareclusters' needs .reqntid and .reqnctapercluster"
        )


def check_gates(context: Context, directive: Directive, span: Span) -> None:
    """The version and target that a directive needs."""
    entry = DIRECTIVES.get(directive.name)
    if entry is None:
        return
    gate = entry.manual_gate if context.manual and entry.manual_gate else entry.gate
    name = directive.name if directive.name.startswith("@") else f".{directive.name}"
    context.gate(span, name, gate)
    if entry.gone and (not context.manual or entry.gone_by_manual):
        context.gone(span, name, entry.gone)


def check_pragma(context: Context, directive: Directive, span: Span, in_function: bool) -> None:
    """Pragmas that are known (chapter 12); others are ignored."""
    for argument in directive.arguments:
        word = argument.text.partition(" ")[0] if isinstance(argument, QuotedText) else ""
        pragma = PRAGMAS.get(word)
        if pragma is None:
            continue
        gate = pragma.manual_gate if context.manual and pragma.manual_gate else pragma.gate
        context.gate(span, f'.pragma "{word}"', gate)
        if pragma.only_in_functions and not in_function:
            context.report("directive", span, f'.pragma "{word}" stands only in a function')
        assert isinstance(argument, QuotedText)
        if pragma.number and not argument.text.removeprefix(word).strip():
            context.report("directive", span, f'.pragma "{word}" needs a number', f'as in .pragma "{word} 4";')


# Aliases.


def check_alias(context: Context, directive: Directive) -> None:
    """`.alias new, old;` (section 11.2.3)."""
    names = [a.name for a in directive.arguments if isinstance(a, Name)]
    if len(names) != 2 or context.lacks(DIRECTIVES["alias"].gate):
        return
    found = [context.scopes.find(name) for name in names]
    for name, symbol in zip(names, found, strict=True):
        if symbol is None:
            context.report(
                "undeclared", word_span(directive, name), f"'{name}' is not declared", "declare it before the .alias"
            )
        elif not isinstance(symbol, Callable):
            context.report("directive", word_span(directive, name), f"'{name}' is a variable: .alias is for functions")
    alias, target = found
    if not isinstance(alias, Callable) or not isinstance(target, Callable):
        return
    span = word_span(directive, names[0])
    assert alias.head is not None and target.head is not None
    if target.head.kind == "entry" or alias.head.kind == "entry":
        context.report("directive", word_span(directive, names[1]), "kernels have no aliases")
    elif target.head.linkage == "weak":
        context.report(
            "directive", word_span(directive, names[1]), f"'{names[1]}' is .weak: it may be replaced, and has no alias"
        )
    elif alias.alias:
        context.report("directive", span, f"'{names[0]}' is already an alias of '{alias.alias}'")
    elif alias.defined:
        context.report("directive", span, f"'{names[0]}' has a body: it cannot be an alias", "declare it without one")
    elif context.manual and not target.defined:
        context.report("undeclared", word_span(directive, names[1]), f"'{names[1]}' is not defined in this module")
    else:
        before, now = target.head, alias.head
        mismatch = differs(before.results, before.parameters or (), now.results, now.parameters or ())
        if mismatch:
            context.report("directive", span, f"'{names[0]}' {mismatch.replace('than before', f'than {names[1]!r}')}")
    alias.alias = alias.alias or names[1]


DIFFERENCES = (
    Difference(
        "7.1",
        "Parameters of functions without a body may have names that repeat, any alignment, and types that no "
        "parameter has, such as vectors.",
        "The same holds for declarations and definitions.",
    ),
    Difference(
        "7.1",
        "A function may have several results, all in registers, and parameters in registers of any width.",
        "It has one result; registers of parameters have 32 bits or more.",
    ),
    Difference(
        "7.1",
        "The last parameter may be an array without a size of any type.",
        "It is an array of `.b8`.",
    ),
    Difference(
        "11.2.3",
        "The function behind an alias may be defined elsewhere.",
        "It is defined in the same module.",
    ),
)

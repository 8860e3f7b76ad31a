"""Declarations of registers, variables and parameters (PTX ISA 9.0, chapter 5, sections 7.1 and 11.6)."""

from __future__ import annotations

from ptxcore.check.context import Context
from ptxcore.check.initialisers import check_initialiser, check_opaque
from ptxcore.check.places import word_span
from ptxcore.check.symbols import DeclaredVariable, variable
from ptxcore.diagnostics import Span, nearest
from ptxcore.isa.difference import Difference
from ptxcore.isa.types import FORMATS, FUNDAMENTAL, OPAQUE, WIDTHS
from ptxcore.syntax.tree import Declaration, Declarator

#: Types of variables that came late, and what they need.
TYPE_GATES = {"f16x2": "4.2 sm_53", "b128": "8.3 sm_70", **dict.fromkeys(OPAQUE, "1.5")}

#: A vector has at most so many bits (section 5.4.2).
_WIDEST_VECTOR = 128
#: Alignments of parameters of functions, and of what is passed to them, in bytes.
_MOST_PARAMETER_ALIGN = 128
_MOST_ALIGN = 1 << 31
#: Module-level registers and `.local` variables need code without a call stack, which ended with this version.
_WITH_STACK = (3, 0)
_LAST_BANK = 10

#: Linkage: what it needs.
_LINKAGE_GATES = {"weak": "3.1", "common": "5.0"}
_LINKAGE_GATES_MANUAL = {"weak": "3.1", "common": "5.0 sm_20"}

#: Attributes of variables and functions (section 5.4.8).
ATTRIBUTE_GATES = {"managed": "4.0 sm_30", "unified": "8.0 sm_90"}
_ATTRIBUTE_NUMBERS = {"managed": 0, "unified": 2}


def declare(context: Context, declaration: Declaration, *, in_body: bool, role: str = "") -> list[DeclaredVariable]:
    """Check a declaration statement and make its names known; `role` of parameters declared in a body (`local`, or
    `kernel` before PTX ISA 1.4)."""
    sound = check_type(context, declaration)
    _check_space(context, declaration, in_body)
    _check_linkage(context, declaration, in_body)
    check_attributes(context, declaration, declaration.attributes, declaration.space)
    check_align(context, declaration, declaration.align)
    declared = []
    for index, name in enumerate(declaration.names):
        found = variable(declaration, index, role, None if sound else "any")
        _check_shape(context, declaration, name)
        if name.value is not None:  # before the name itself is known
            _check_value(context, declaration, name)
        redeclare(context, name, found)
        declared.append(found)
    return declared


def redeclare(context: Context, name: Declarator, found: DeclaredVariable) -> None:
    """Declare a name, unless its scope has it already."""
    scopes = context.scopes
    if name.count is not None:
        if scopes.overlaps(name.name, name.count):
            context.report(
                "redeclared", name.span, f"some of '{name.name}<{name.count}>' are already declared in this scope"
            )
        scopes.declare(name.name, found, name.count)
        return
    before = scopes.find_here(name.name)
    if before is not None:
        mismatch = (
            _disagreement(before, found) if isinstance(before, DeclaredVariable) else "is something else in this scope"
        )
        if mismatch:
            line = before.span.line
            context.report(
                "redeclared", name.span, f"'{name.name}' {mismatch}", f"line {line} declares it" if line else None
            )
    scopes.declare(name.name, found)


def _disagreement(before: DeclaredVariable, now: DeclaredVariable) -> str:
    """What is wrong with a second declaration; "" where it may stand. Only `.extern` ones may be repeated."""
    if before.depth or "extern" not in (before.linkage, now.linkage):
        return "is declared twice in this scope"
    same_shape = before.dimensions == now.dimensions or None in (*before.dimensions, *now.dimensions)
    if (before.type, before.vector) != (now.type, now.vector) or not same_shape:
        return "is declared again with another type"
    if before.linkage == "extern" and not now.linkage:
        return "is .extern and then defined without linkage: write .visible or .weak"
    return ""


# One by one.


def check_type(context: Context, declaration: Declaration, loosely: bool = False) -> bool:
    """Whether the type can be a variable's, and a register's or parameter's where it is one. ptxas looks `loosely` at
    parameters of functions without a body."""
    type_, vector, space = declaration.type, declaration.vector, declaration.space
    span = word_span(declaration, f".{type_}")
    if type_ not in FUNDAMENTAL and type_ not in OPAQUE:
        return _no_type(context, span, type_)
    arrays = all(name.dimensions for name in declaration.names) and not context.manual
    if context.manual or not (vector or (arrays and type_ != "f16x2")):  # where ptxas looks
        context.gate(span, f".{type_}", TYPE_GATES.get(type_, "1.0"))
    if type_ == "pred" and space != "reg":
        if not loosely:
            context.report(
                "declaration",
                span,
                f"predicates lie in registers, not in .{space}",
                "store them with selp as .u32 or .u8",
            )
        return loosely
    if vector and not _check_vector(context, declaration, span):
        return False
    if space == "param" and (type_ == "f16x2" or vector) and not arrays and not loosely:
        hint = "pass it as .b32" if type_ == "f16x2" else "pass it as an array of .b8"
        context.report("declaration", span, f"a parameter is no {'.f16x2' if not vector else 'vector'}", hint)
    if type_ == "samplerref" and "texmode_independent" not in context.options:
        context.report(
            "declaration",
            span,
            "samplers need the independent texture mode",
            "write .target sm_.., texmode_independent",
        )
    return True


def _no_type(context: Context, span: Span, type_: str) -> bool:
    """Report a type that no variable has."""
    if type_ in FORMATS:
        hint = f"a .b{max(8, WIDTHS[type_])} variable holds it"
        context.report("declaration", span, f"'.{type_}' is a type of instructions, not of variables", hint)
    else:
        context.report(
            "declaration",
            span,
            f"unknown type '.{type_}'",
            nearest(f".{type_}", (f".{t}" for t in (*FUNDAMENTAL, *OPAQUE))),
        )
    return False


def _check_vector(context: Context, declaration: Declaration, span: Span) -> bool:
    """Vectors (section 5.4.2): of what, and how wide."""
    type_, vector = declaration.type, declaration.vector
    if vector == "v8" or type_ in OPAQUE or type_ == "pred":
        context.report(
            "declaration", word_span(declaration, f".{vector}"), f"there are no .{vector} variables of type .{type_}"
        )
        return False
    bits = int(vector[1:]) * FUNDAMENTAL[type_]
    if bits > _WIDEST_VECTOR:
        context.report(
            "declaration", span, f"a vector has at most {_WIDEST_VECTOR} bits, .{vector} .{type_} has {bits}"
        )
    return True


def check_align(context: Context, declaration: Declaration, align: int | None) -> None:
    """Alignments are powers of two."""
    if align is not None and (align <= 0 or align & (align - 1) or align > _MOST_ALIGN):
        context.report("alignment", word_span(declaration, ".align"), f"an alignment is a power of two, {align} is not")


def check_parameter_align(context: Context, declaration: Declaration) -> None:
    """What functions and calls take is aligned to 128 bytes at most."""
    if declaration.space == "param" and (declaration.align or 1) > _MOST_PARAMETER_ALIGN:
        message = f"parameters are aligned to at most {_MOST_PARAMETER_ALIGN} bytes, not to {declaration.align}"
        context.report("alignment", word_span(declaration, ".align"), message)


def _check_space(context: Context, declaration: Declaration, in_body: bool) -> None:
    """Where variables of each space may be declared."""
    space, span = declaration.space, declaration.span
    if space in ("sreg", "surf"):
        context.report(
            "declaration", span, f"'.{space}' cannot be declared", "special registers are there by themselves"
        )
    elif space == "tex":
        if not context.manual:
            context.gone(span, ".tex", (1, 5), "declare a .global .texref")
        if in_body:
            context.report("declaration", span, "'.tex' stands at module level")
        if declaration.type not in ("u32", "u64") or any(name.dimensions for name in declaration.names):
            context.report("declaration", span, "a texture in .tex is a single .u32 or .u64")
    elif space in ("reg", "local") and not in_body:
        if context.version >= _WITH_STACK:
            context.report("declaration", span, f"'.{space}' cannot stand at module level", "declare it in a function")
    elif space == "param":
        _check_parameter_space(context, declaration, in_body)
    if declaration.bank is not None:
        _check_bank(context, declaration)
    arrays = not in_body and space != "reg" and all(n.dimensions for n in declaration.names) and not context.manual
    if declaration.type in OPAQUE and not arrays and space not in ("tex", "sreg", "surf"):
        if space != "global":
            context.report("declaration", span, f"a .{declaration.type} lies in .global, not in .{space}")
        elif in_body:
            context.report(
                "declaration", span, f"a .{declaration.type} is declared at module level or as a kernel's parameter"
            )


def _check_parameter_space(context: Context, declaration: Declaration, in_body: bool) -> None:
    if not in_body:
        context.report(
            "declaration",
            declaration.span,
            "'.param' cannot stand at module level",
            "parameters stand in a head or a body",
        )
        return
    check_parameter_align(context, declaration)
    if declaration.pointer is not None:
        context.report("declaration", word_span(declaration, ".ptr"), "'.ptr' is for parameters of kernels")


def _check_bank(context: Context, declaration: Declaration) -> None:
    """`.const[2]` of PTX ISA 1.x and 2.x (section 5.1.3)."""
    span, bank = declaration.span, declaration.bank or 0
    context.gone(span, "a bank of .const", (2, 2), "write .const alone")
    if not 0 <= bank <= _LAST_BANK:
        context.report("declaration", span, f"there is no bank {bank} of .const, only 0 to {_LAST_BANK}")
    elif bank and not (declaration.linkage == "extern" and all(None in n.dimensions for n in declaration.names)):
        context.report("declaration", span, "banks 1 to 10 of .const hold .extern arrays without a size only")


def _check_linkage(context: Context, declaration: Declaration, in_body: bool) -> None:
    linkage = declaration.linkage
    if not linkage:
        return
    span = word_span(declaration, f".{linkage}")
    gates = _LINKAGE_GATES_MANUAL if context.manual else _LINKAGE_GATES
    context.gate(span, f".{linkage}", gates.get(linkage, "1.0"))
    if in_body:
        context.report(
            "declaration", span, f"'.{linkage}' cannot stand in a function: what is declared here is seen only here"
        )
    if linkage == "common" and (declaration.space != "global" or declaration.type in OPAQUE):
        what = f".{declaration.type}" if declaration.type in OPAQUE else f"in .{declaration.space}"
        context.report("declaration", span, f"'.common' is for plain variables in .global, this is {what}")


def check_attributes(
    context: Context, declaration: Declaration, attributes: tuple[tuple[str, tuple[int, ...]], ...], space: str
) -> None:
    """`.attribute(...)` of a variable (section 5.4.8)."""
    for name, numbers in attributes:
        span = word_span(declaration, f".{name}")
        if check_attribute(context, span, name, numbers) and space != "global":
            context.report("declaration", span, f"'.{name}' is for variables in .global, not in .{space}")


def check_attribute(context: Context, span: Span, name: str, numbers: tuple[int, ...]) -> bool:
    """Whether there is such an attribute with so many numbers, here."""
    if name not in ATTRIBUTE_GATES:
        context.report("declaration", span, f"unknown attribute '.{name}'", "attributes are .managed and .unified")
        return False
    if len(numbers) != _ATTRIBUTE_NUMBERS[name]:
        context.report(
            "declaration", span, f"'.{name}' takes {_ATTRIBUTE_NUMBERS[name] or 'no'} numbers, not {len(numbers)}"
        )
    return context.gate(span, f".{name}", ATTRIBUTE_GATES[name])


def _check_shape(context: Context, declaration: Declaration, name: Declarator) -> None:
    """Arrays: which there are, and that their sizes are known."""
    if not name.dimensions:
        return
    if declaration.space == "reg":
        context.report("declaration", name.span, f"'{name.name}' cannot be an array: registers have no addresses",
                       f"'{name.name}<{name.dimensions[0] or 1}>' declares that many registers")  # fmt: skip
        return
    if None in name.dimensions[1:]:
        context.report("declaration", name.span, f"only the first dimension of '{name.name}' may be left out")
        return
    if any(d is not None and d < 0 for d in name.dimensions):
        context.report("declaration", name.span, f"'{name.name}' has a negative number of elements")
        return
    incomplete = not all(name.dimensions)
    if incomplete and declaration.linkage != "extern" and name.value is None:
        context.report(
            "declaration", name.span, f"'{name.name}' needs a number of elements", "only .extern arrays may have none"
        )


def _check_value(context: Context, declaration: Declaration, name: Declarator) -> None:
    """Initial values: which variables may have one, and whether it fits."""
    if declaration.linkage == "extern":
        context.report(
            "initialiser", name.span, f"'{name.name}' is .extern: the module that defines it gives its value"
        )
    elif declaration.space not in ("global", "const"):
        message = f"'{name.name}' cannot have an initial value: only variables in .global and .const have one"
        context.report("initialiser", name.span, message)
    elif name.count is not None:
        context.report("initialiser", name.span, f"'{name.name}<{name.count}>' cannot have an initial value")
    elif declaration.type in OPAQUE:
        check_opaque(context, declaration, name)
    elif declaration.type in FUNDAMENTAL:
        check_initialiser(context, declaration, name)


DIFFERENCES = (
    Difference(
        "5.2",
        "Arrays of `.b128` and vectors of `.f16x2` are known in every version and for every target.",
        "The types came with PTX ISA 8.3 and 4.2.",
    ),
    Difference(
        "5.3",
        "Arrays of opaque types may lie in any state space.",
        "Opaque variables lie in `.global`, at module level.",
    ),
    Difference(
        "5.4.2",
        "Arrays of vectors may be `.param` variables.",
        "There are no vectors in `.param`.",
    ),
    Difference(
        "5.1.8",
        "`.tex` is gone since PTX ISA 1.5.",
        "It is deprecated, and means a `.global .texref` at module level.",
    ),
    Difference(
        "5.2.2",
        "Registers of 8 and 16 bits may be parameters of functions.",
        "Parameters in registers have 32 bits or more.",
    ),
    Difference(
        "5.2.2",
        "Registers of a vector type may be parameters of functions. The checker takes them in both modes.",
        "Parameters in registers have 32 bits or more.",
        checked=False,
    ),
    Difference(
        "5.4.2",
        "`.v2 .b64`, `.v4 .b8` and such are vectors of registers, too. The checker takes them in both modes.",
        "Vectors fill 16 bits or more.",
        checked=False,
    ),
)

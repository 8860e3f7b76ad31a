"""Initial values of variables (PTX ISA 9.0, sections 5.3 and 5.4.4): lists by dimension, constants by type, addresses."""

from __future__ import annotations

from ptxcore.check.context import Context
from ptxcore.check.places import word_span
from ptxcore.check.symbols import ADDRESS_GATES, Callable, DeclaredVariable
from ptxcore.diagnostics import nearest
from ptxcore.isa.difference import Difference
from ptxcore.syntax.tree import Address, Declaration, Declarator, Float, Immediate, Name, Operand, Vector, Wrapped

#: Types that an address fits (the measured ones), and those that one byte of it fits.
_ADDRESS_TYPES = ("u32", "u64")
_MASK_TYPES = ("u8", "u32", "u64")
_MASKS = frozenset(0xFF << shift for shift in range(0, 64, 8))
#: Types that have no initial values.
_WITHOUT = ("f16", "f16x2")
_GENERIC = "3.1"
_MASK = "7.1"

_FIELDS = "width height depth channel_data_type channel_order"
#: Fields of opaque variables (section 5.3), by type.
FIELDS = {
    "texref": frozenset(
        f"{_FIELDS} normalized_coords filter_mode addr_mode_0 addr_mode_1 addr_mode_2 array_size num_mipmap_levels "
        "num_samples".split()
    ),
    "samplerref": frozenset(["force_unnormalized_coords", "filter_mode", "addr_mode_0", "addr_mode_1", "addr_mode_2"]),
    "surfref": frozenset(f"{_FIELDS} array_size memory_layout".split()),
}
#: What may stand as a value besides numbers.
FIELD_VALUES = frozenset(["nearest", "linear", "wrap", "mirror", "clamp_ogl", "clamp_to_edge", "clamp_to_border"])


def check_initialiser(context: Context, declaration: Declaration, name: Declarator) -> None:
    """Whether the value has the shape and the type of the variable."""
    # Each level of braces is a dimension; the elements of a vector type are one more.
    lanes = int(declaration.vector[1:]) if declaration.vector else 0
    sizes = [*name.dimensions, *([lanes] if lanes else [])]
    if sizes[:1] == [0]:
        sizes[0] = None
    assert name.value is not None
    if sizes[:1] == [None] and isinstance(name.value, Vector) and not name.value.elements:
        context.report("initialiser", name.span, f"'{name.name}' gets its size from its initial value, which is empty")
        return
    waiting: list[tuple[Operand, int]] = [(name.value, 0)]
    while waiting:
        value, level = waiting.pop()
        if level < len(sizes):
            if not isinstance(value, Vector):
                context.report(
                    "initialiser",
                    name.span,
                    f"the initial value of '{name.name}' needs more braces: each dimension has its own",
                )
                return
            size = sizes[level]
            if size is not None and len(value.elements) > size:
                what = f"{len(value.elements)} initial values for {size} elements of '{name.name}'"
                context.report("initialiser", name.span, what)
                return
            if lanes and level == len(sizes) - 1 and len(value.elements) != lanes:
                what = f"{len(value.elements)} initial values for a vector of {lanes} in '{name.name}'"
                context.report("initialiser", name.span, what)
                return
            waiting += [(element, level + 1) for element in reversed(value.elements)]
        elif isinstance(value, Vector):
            context.report("initialiser", name.span, f"too many braces around the initial value of '{name.name}'")
            return
        elif not _check_element(context, declaration, name, value):
            return  # one finding for one list


def _check_element(context: Context, declaration: Declaration, name: Declarator, value: Operand) -> bool:
    type_ = declaration.type
    if type_ in _WITHOUT:
        context.report(
            "initialiser", name.span, f"a .{type_} variable has no initial value", "declare it as .b16 or .b32"
        )
        return False
    if isinstance(value, Immediate):
        return type_[0] in "usb" or _mismatch(context, name, f"an integer does not fit .{type_}", "write it as 1.0")
    if isinstance(value, Float):
        return type_[0] in "fb" or _mismatch(context, name, f"a floating-point value does not fit .{type_}")
    if isinstance(value, Wrapped):
        return _check_wrapped(context, declaration, name, value)
    return _check_address(context, declaration, name, value)


def _mismatch(context: Context, name: Declarator, message: str, hint: str | None = None) -> bool:
    context.report("initialiser", name.span, message, hint)
    return False


def _check_wrapped(context: Context, declaration: Declaration, name: Declarator, value: Wrapped) -> bool:
    """`generic(x)`, `0xFF00(x)`."""
    type_ = declaration.type
    inner: Operand = value
    masked = False
    while isinstance(inner, Wrapped):
        gate = _GENERIC if inner.operator == "generic" else _MASK
        what = "generic()" if inner.operator == "generic" else f"{inner.mask:#x}()"
        if not context.gate(name.span, what, gate):
            return False
        if inner.operator == "mask":
            masked = True
            if inner.mask not in _MASKS:
                return _mismatch(context, name, f"{inner.mask:#x} picks no byte", "it is 0xFF, 0xFF00, 0xFF0000 ...")
        elif _function(context, inner.inner):
            return _mismatch(context, name, "functions have no generic address", "write the function's name alone")
        inner = inner.inner
    if masked and isinstance(inner, Immediate):
        return type_[0] in "usb" or _mismatch(context, name, f"a byte of an integer does not fit .{type_}")
    return _check_address(context, declaration, name, inner, masked)


def _function(context: Context, value: Operand) -> bool:
    return isinstance(value, Name) and isinstance(context.scopes.find(value.name), Callable)


def _check_address(
    context: Context, declaration: Declaration, name: Declarator, value: Operand, masked: bool = False
) -> bool:
    """The address of a variable, with an offset, or of a function."""
    base = value.base if isinstance(value, Address) and not value.bracketed and not value.indexed else value
    if not isinstance(base, Name) or base.prefix:
        return _mismatch(context, name, f"the initial value of '{name.name}' is neither a constant nor an address")
    symbol = context.scopes.find(base.name)
    if symbol is None:
        hint = context.suggest(base.name) or "declare it before"
        context.report("undeclared", word_span(declaration, base.name), f"'{base.name}' is not declared", hint)
        return False
    if isinstance(symbol, Callable):
        assert symbol.head is not None
        what = "kernel" if symbol.head.kind == "entry" else "function"
        if not context.gate(name.span, f"the address of a {what}", ADDRESS_GATES[symbol.head.kind]):
            return False
        if base is not value:
            return _mismatch(context, name, "the address of a function takes no offset")
    elif not isinstance(symbol, DeclaredVariable) or symbol.space not in ("global", "const"):
        message = f"'{base.name}' has no address that is known before the kernel runs"
        hint = "variables in .global and .const and functions have one"
        context.report("initialiser", word_span(declaration, base.name), message, hint)
        return False
    fits = _MASK_TYPES if masked else _ADDRESS_TYPES
    type_ = declaration.type
    if type_ not in fits:
        wanted = " or ".join(f".{t}" for t in fits)
        return _mismatch(context, name, f"an address does not fit .{type_}", f"declare '{name.name}' as {wanted}")
    return True


def check_opaque(context: Context, declaration: Declaration, name: Declarator) -> None:
    """`{ field = value, ... }` of a texture, sampler or surface; of an array, such lists."""
    known = FIELDS[declaration.type]
    if not isinstance(name.value, Vector):
        context.report(
            "initialiser", name.span, f"'{name.name}' is initialised by its fields", "as in { filter_mode = nearest }"
        )
        return
    waiting: list[tuple[Operand, int]] = [(element, 1) for element in reversed(name.value.elements)]
    while waiting:
        value, level = waiting.pop()
        if isinstance(value, Vector) and level <= len(name.dimensions):
            waiting += [(element, level + 1) for element in reversed(value.elements)]
        elif not isinstance(value, Wrapped) or value.operator in ("generic", "mask"):
            context.report(
                "initialiser",
                name.span,
                f"'{name.name}' is initialised by its fields",
                "as in { filter_mode = nearest }",
            )
            return
        elif value.operator not in known:
            hint = nearest(value.operator, known) or f"its fields are {' '.join(sorted(known))}"
            context.report("initialiser", name.span, f"a .{declaration.type} has no field '{value.operator}'", hint)
        elif isinstance(value.inner, Name) and value.inner.name not in FIELD_VALUES:
            hint = nearest(value.inner.name, FIELD_VALUES) or f"names are {' '.join(sorted(FIELD_VALUES))}"
            context.report("initialiser", name.span, f"'{value.inner.name}' is no value of '{value.operator}'", hint)


DIFFERENCES = (
    Difference(
        "5.4.4",
        "Addresses initialise `.u32` and `.u64` only, and integers that are wider than the type are cut.",
        "The type is an integer of the address's size.",
    ),
    Difference(
        "5.4.4",
        "Floating-point constants initialise untyped variables of any width.",
        "Types agree.",
    ),
    Difference(
        "5.4.5",
        "Parameters of kernels may be aligned to any power of two. The checker takes that in both modes.",
        "They are aligned to 16 bytes at most.",
        checked=False,
    ),
)

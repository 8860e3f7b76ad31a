"""What is wrong with an operand, and kinds of operands in words."""

from __future__ import annotations

from typing import Any

from ptxcore.records import NamedTuple

#: What an operand is, without its name: see `ptxcore.check.operands`.
OperandKind = Any


class OperandMismatch(NamedTuple):
    """What is wrong with one operand: `path` leads to it (its index, then indices within), () for their number."""

    path: tuple[int, ...]
    message: str
    hint: str | None = None


#: Kinds that are names or notations, in words.
NOUNS = {
    "int": "an integer constant",
    "0f": "a single-precision constant",
    "0d": "a double-precision constant",
    "decimal": "a floating-point constant",
    "_": "'_'",
    "label": "a label",
    "function": "a function",
    "texref": "a texture reference",
    "samplerref": "a sampler reference",
    "surfref": "a surface reference",
    "prototype": "a prototype",
    "targets": "a list of targets",
    "callees": "a list of functions",
}


def describe(kind: OperandKind) -> str:
    """A kind in words, as in 'not a .f32 register'."""
    if type(kind) is str:
        return NOUNS.get(kind) or f"a .{kind} register"
    head = kind[0]
    if head in ("!", "-"):
        return f"'{head}' and {describe(kind[1])}"
    if head == "sreg":
        return f"a .{kind[1]} special register"
    if head in ("var", "var+"):
        return f"{'the address of ' if head == 'var+' else ''}a .{kind[1]} variable"
    return {
        "reg+": "an address with an offset",
        "[": "an address",
        "[]": "an indexed variable",
        "{": "a vector",
        "(": "a list",
        "|": "two destinations",
        "sel": "a register with a selector",
        "unified": "an address marked '.unified'",
    }.get(head, "this")

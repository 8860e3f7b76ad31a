"""What this tool says of single statements over a bank of registers, in the form in which `ptxas.accepts` answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ptxcore.check.operands import Trouble, arrange, check_values, judge, values_of
from ptxcore.diagnostics import InputError
from ptxcore.isa.form import Misfit, Use
from ptxcore.isa.table import TYPED, candidates, explain
from ptxcore.isa.targets import Target, missing, version
from ptxcore.isa.targets import target as read_target
from ptxcore.syntax.reader import Reader
from ptxcore.syntax.tree import (
    Address,
    Arguments,
    Bracket,
    Float,
    Immediate,
    Instruction,
    Name,
    Operand,
    Pair,
    Sink,
    Vector,
)  # fmt: skip

#: The registers and variables of `ptxas.DECLARATIONS` and `ptxas.MODULE_DECLARATIONS`.
REGISTERS = {"p": "pred", "b": "b8", "h": "b16", "r": "b32", "d": "b64", "q": "b128", "f": "f32", "e": "f64"}
VARIABLES: dict[str, Any] = {
    "G": ("var", "global", "b8"), "S": ("var", "shared", "b8"), "C": ("var", "const", "b8"),
    "T": "texref", "U": "surfref", "fn": "function", "L": "label", "t": "targets",
}  # fmt: skip
_REGISTER = re.compile(r"([a-z])(\d+)(?:\.(\w+))?\Z")
_WIDE_SPECIAL = re.compile(r"%(clock64|globaltimer|gridid|pm\d_64|current_graph_exec)\Z")
_HALF_SPECIAL = re.compile(r"%n?(cta|t)id(\.|\Z)")


def kind(operand: Operand) -> Any:
    """The operand as `ptxcore.check.operands` wants it."""
    match operand:
        case Name(name, prefix):
            plain = _named(name)
            return (prefix, plain) if prefix else plain
        case Immediate():
            return "int"
        case Float(_, width, decimal):
            return "decimal" if decimal else "0f" if width == 32 else "0d"
        case Sink():
            return "_"
        case Vector(elements):
            return ("{", *map(kind, elements))
        case Arguments(elements):
            return ("(", *map(kind, elements))
        case Bracket(elements):
            return ("[", *map(kind, elements))
        case Pair(first, second):
            return ("|", kind(first), kind(second))
        case Address(base, _, bracketed, index, indexed):
            inner = kind(base)
            if indexed:
                return ("[]", inner, kind(index) if index else "int")
            if bracketed:
                return ("[", inner)
            return ("var+", *inner[1:]) if isinstance(inner, tuple) else inner
    return "any"


@lru_cache(maxsize=4096)
def _named(name: str) -> Any:
    if name.startswith("%"):
        if name == "%tid" or re.match(r"%(n?ctaid|ntid)\Z", name):
            return "v4.u32"
        return ("sreg", "u64" if _WIDE_SPECIAL.match(name) else "u32", (16,) if _HALF_SPECIAL.match(name) else ())
    register = _REGISTER.match(name)
    if register and register[1] in REGISTERS:
        plain = REGISTERS[register[1]]
        return ("sel", plain, register[3]) if register[3] else plain
    return VARIABLES.get(name, "any")


def verdicts(
    statements: Sequence[str], *, version: str = "9.0", target: str = "sm_90", manual: bool = False
) -> list[str | None]:
    """For each statement None where we accept it, else our first message for it."""
    return [verdict(statement, version, target, manual) for statement in statements]


def verdict(statement: str, version_text: str, target_text: str, manual: bool = False) -> str | None:
    reader = Reader(statement)
    try:
        reader.run()
    except InputError as e:
        return e.diagnostics[0].message
    found = [d.message for d in reader.found if "is not supported in a thread" not in d.message]
    if found:
        return found[0]
    have = read_target(target_text)
    for read in reader.statements:
        if isinstance(read, Instruction):
            trouble = _instruction(read, version(version_text), have, manual)
            if trouble is not None:
                return trouble
    return None


def _instruction(read: Instruction, at: tuple[int, int], have: Target | None, manual: bool) -> str | None:
    uses = candidates(read.opcode, read.modifiers, TYPED, manual)
    if uses is None or isinstance(uses, Misfit):
        return explain(read, uses, TYPED, manual).diagnostics[0].message
    kinds = tuple(map(kind, read.operands))
    if read.guard is not None and _named(read.guard.name) not in ("pred", "any"):
        return "the guard is no predicate"
    open_uses = tuple(use for use in uses if _gated(use, at, have, manual) is None)
    chosen = judge(open_uses, kinds, manual=manual) if open_uses else None
    if not isinstance(chosen, Use):
        gated = judge(uses, kinds, manual=manual)
        if isinstance(gated, Use):
            return _gated(gated, at, have, manual)
        assert isinstance(gated, Trouble)
        return gated.message
    trouble = check_values(chosen, arrange(chosen, len(kinds)) or (), values_of(read.operands))
    return trouble.message if trouble else None


def _gated(use: Use, at: tuple[int, int], have: Target | None, manual: bool) -> str | None:
    """What the use needs and does not have; None for nothing."""
    for word, gate in use.gates(manual=manual):
        lacking = missing(gate, at, have)
        if lacking:
            return f"'{word or use.form.mnemonic}' {lacking}"
    if use.form.until and missing(use.form.until, at, have) is None:
        return f"'{use.form.mnemonic}' is gone in this form"
    return None

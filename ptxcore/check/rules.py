"""What instructions ask beyond their forms: of parameters, of addresses, of the texture mode."""

from __future__ import annotations

import struct
from math import gcd

from ptxcore.check.context import Context
from ptxcore.check.mismatch import OperandKind, OperandMismatch
from ptxcore.check.symbols import DeclaredVariable
from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Use
from ptxcore.syntax.tree import Address, Float, Name, Operand


def broken_rule(context: Context, use: Use, kinds: tuple[OperandKind, ...]) -> OperandMismatch | None:
    """The first rule that a use with operands of these kinds breaks in this module."""
    rules = _RULES.get(use.form.mnemonic, ())
    return next((mismatch for rule in rules if (mismatch := rule(context, use, kinds)) is not None), None)


#: What each opcode does with a parameter that it addresses, and the roles that forbid it.
_FORBIDDEN = {
    "st": (("kernel", "input"), "a function does not write its input parameters"),
    "ld": (("output",), "a function does not read its return parameters"),
    "mov": (("local",), "a .param variable of a function's body has no address"),
    "cvta": (("local",), "a .param variable of a function's body has no address"),
    "prefetch": (("local",), "a .param variable of a function's body has no address"),
}


def _parameters(context: Context, use: Use, kinds: tuple[OperandKind, ...]) -> OperandMismatch | None:
    """What may be done with parameters depends on whose they are (sections 5.1.6 and 7.1)."""
    forbidden = _FORBIDDEN.get(use.form.mnemonic)
    if forbidden is None:
        return None
    for index, kind in enumerate(kinds):
        base = kind[1] if type(kind) is tuple and kind[0] in ("[", "[]") else kind
        if type(base) is tuple and base[0] in ("var", "var+") and base[-1] in forbidden[0]:
            return OperandMismatch((index,), forbidden[1])
    return None


def _width(context: Context, use: Use, kinds: tuple[OperandKind, ...]) -> OperandMismatch | None:
    """ptxas 13.0 gives up a module that has 32-bit addresses of generic or .global memory."""
    narrow = use.width == 32 and not context.manual
    hint = "32-bit compilation is no longer supported: write .u64"
    if narrow and use.form.mnemonic == "cvta":
        return OperandMismatch((), "generic addresses have 64 bits", hint)
    if narrow and use.form.mnemonic == "mov" and len(kinds) > 1 and kinds[1][:2] == ("var", "global"):
        return OperandMismatch((1,), "addresses of .global variables have 64 bits", hint)
    return None


def misaligned(context: Context, use: Use, operands: tuple[Operand, ...]) -> OperandMismatch | None:
    """An address of a variable with an offset that cannot be aligned to what is accessed (section 6.4.1)."""
    for index, e in enumerate(use.expected[: len(operands)]):
        operand = operands[index]
        if e is None or e.parameter.role != "memory" or not isinstance(operand, Address) or operand.index is not None:
            continue
        symbol = context.scopes.find(operand.base.name) if isinstance(operand.base, Name) else None
        size = use.width // 8 * int(use.words["vec"][1:] or 1)
        if not isinstance(symbol, DeclaredVariable) or symbol.space == "reg" or size < 1:
            continue
        offset = operand.offset * (symbol.element_bytes if operand.indexed else 1)
        if offset % gcd(symbol.alignment, size):
            return OperandMismatch((index,), f"{size} bytes are accessed, and the address is no multiple of {size}")
    return None


def wrong_value(use: Use, operands: tuple[Operand, ...]) -> OperandMismatch | None:
    """A floating-point constant that the instruction cannot take."""
    if use.form.mnemonic != "createpolicy":
        return None
    for index, operand in enumerate(operands):
        if isinstance(operand, Float):
            value = struct.unpack(
                "<f" if operand.width == 32 else "<d", operand.bits.to_bytes(operand.width // 8, "little")
            )[0]
            # The operand is single, so the least doubles are 0 and the next after 1 is 1.
            if not 2.0**-150 < value < 1.0 + 2.0**-24:
                return OperandMismatch((index,), f"a fraction is above 0 and at most 1, {value:g} is not")
    return None


#: Instructions that `wrong_value` looks at.
VALUED = frozenset(("createpolicy",))

#: Words of `txq` that ask a sampler where textures and samplers are apart.
_SAMPLER_WORDS = frozenset(("filter_mode", "addr_mode_0", "addr_mode_1", "addr_mode_2"))


def _texture_mode(context: Context, use: Use, kinds: tuple[OperandKind, ...]) -> OperandMismatch | None:
    """In the independent texture mode a texture has no sampler by itself (section 5.3)."""
    if "texmode_independent" not in context.options:
        return None
    hint = ".target says texmode_independent"
    for index, kind in enumerate(kinds):
        if type(kind) is not tuple or kind[0] != "[":
            continue
        if use.form.mnemonic == "txq":
            if kind[1:] == ("texref",) and _SAMPLER_WORDS & use.present:
                return OperandMismatch((index,), "a sampler is asked for this, not a texture", hint)
        elif len(kind) == 3:  # a texture and coordinates
            return OperandMismatch((index,), "a sampler is needed behind the texture", hint)
    return None


def _sampler_handle(context: Context, use: Use, kinds: tuple[OperandKind, ...]) -> OperandMismatch | None:
    """Measured: what takes no register with the address of a sampler, and which operands stand behind one."""
    bracket = next((i for i, k in enumerate(kinds) if type(k) is tuple and len(k) == 4 and k[0] == "["), None)
    if bracket is None or kinds[bracket][2] == "samplerref":
        return None
    new = context.lacks("sm_90") is None
    if use.has("cube+!level acube level+3d grad+a1d grad+a2d") or (new and use.has("grad+3d")):
        return OperandMismatch((bracket, 1), "the name of a sampler is needed for this geometry, not a register")
    names = [p.name for p in use.parameters]
    behind = dict(zip(names[bracket:], kinds[bracket:], strict=False))
    offset, compare = behind.get("offset"), behind.get("compare")
    last = (len(kinds) - 1,)
    if use.has("level") and compare is None:
        lod = behind["lod"]
        typed = lod != "b32" and lod[0] != "{" and use.has("ctype=s32")
        if offset not in (None, "b32") or (offset is None and typed):
            return OperandMismatch(last, "a .b32 register is needed here where a register has the sampler's address")
    if new and use.has("grad"):
        if compare is not None:
            return OperandMismatch(last, "the name of a sampler is needed for a comparison, not a register")
        if offset is not None and (type(offset) is not tuple or offset[0] != "{"):
            return OperandMismatch(last, "the offset is a vector where a register has the sampler's address")
    return None


_RULES = {
    "ld": (_parameters,),
    "st": (_parameters,),
    "mov": (_parameters, _width),
    "cvta": (_parameters, _width),
    "prefetch": (_parameters,),
    "tex": (_texture_mode, _sampler_handle),
    "tld4": (_texture_mode, _sampler_handle),
    "txq": (_texture_mode,),
}

DIFFERENCES = (
    Difference(
        "5.1.4",
        "Addresses of generic and global memory that have 32 bits, `cvta.u32` and `mov` of such addresses end "
        "the compilation.",
        "They are the addresses of a module with `.address_size 32`.",
    ),
    Difference(
        "6.4.2",
        "A vector of two has components `.z` and `.w`.",
        "It has `.x` and `.y`.",
    ),
    Difference(
        "6.4.1",
        "An address may be misaligned for certain, as in `ld.u32` of a variable and 2.",
        "Addresses are multiples of what is accessed.",
    ),
    Difference(
        "10",
        "A special register may be the base of an address.",
        "`mov` and `cvt` alone read them.",
    ),
)

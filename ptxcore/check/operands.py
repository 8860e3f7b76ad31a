"""Do the operands of a statement fit a form: types, sizes, immediates, addresses, vectors (PTX ISA 9.0, chapters 6 and 9.4).

Operands are judged by their *kind*, a small hashable value without names, so that one judgement serves every statement
of the same shape:

    "u32"                   a register of that type; "v4.f32" one of a vector type
    "int"                   an integer;  "0f" "0d" "decimal"  floating-point constants by notation
    "_"                     the sink
    ("sreg", type, widths)  a special register of that type, or of `v4.` and it; narrower widths that it is read in too
    ("var", space, type)    the name of a variable;  ("var+", space, type)  with an offset, outside of brackets
    "label" "function" "texref" "samplerref" "surfref" "prototype" "targets" "callees"  what such a name stands for
    "any"                   something already reported: fits everywhere
    ("!", kind) ("-", kind) a negated operand;  ("sel", type, "b0")  a register with a selector
    ("reg+", type)          a register with an offset, as the base of an address
    ("[", kind)             an address by its base;  ("[", kind, kind ...)  a bracket of several parts
    ("[]", kind, index)     name[index] without outer brackets
    ("unified", kind)       an address marked `.unified`
    ("{", kind ...) ("(", kind ...) ("|", kind, kind)      a vector, a call's list, two destinations
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ptxcore.check.mismatch import NOUNS, OperandKind, OperandMismatch, describe
from ptxcore.check.values import (
    HANDLES,
    OPAQUE,
    fit_handle,
    fit_tuple,
    fit_untyped,
    fit_value,
    fit_vector,
    is_bfloat_vector,
)
from ptxcore.isa.advice import forms_hint
from ptxcore.isa.form import Expected, Use
from ptxcore.isa.types import FUNDAMENTAL


def judge(uses: Sequence[Use], kinds: tuple[OperandKind, ...], *, manual: bool = False) -> Use | OperandMismatch:
    """The first of the uses (what the opcode's modifiers leave possible) that the operands fit, or what is wrong with
    them, by the use that they fit furthest."""
    best: tuple[tuple[int, ...], OperandMismatch] | None = None
    for use in uses:
        mismatch = _judge(use, kinds, manual)
        if mismatch is None:
            return use
        rank = (len(mismatch.path) > 0, *mismatch.path)
        if best is None or rank > best[0]:
            best = rank, mismatch
    assert best is not None
    if not best[1].path and len(uses) > 1:
        return best[1]._replace(hint=forms_hint(use.form for use in uses))
    return best[1]


@lru_cache(maxsize=8192)  # a use and a number come again and again
def arrange(use: Use, number: int) -> Sequence[int | None] | None:
    """For each parameter of the use the index of its operand, None for one that is left out; None altogether where no
    `number` of operands can be given to it."""
    expected = use.expected
    wanted = sum(e is not None for e in expected)
    optional = sum(e is not None and e.parameter.optional for e in expected)
    spare = number - (wanted - optional)
    if spare < 0 or number > wanted:
        return None
    places: list[int | None] = []
    following = 0
    for e in expected:
        if e is not None and e.parameter.optional:
            spare -= 1
        if e is None or (e.parameter.optional and spare < 0):
            places.append(None)
        else:
            places.append(following)
            following += 1
    return tuple(places)


def _judge(use: Use, kinds: tuple[OperandKind, ...], manual: bool) -> OperandMismatch | None:
    places = arrange(use, len(kinds))
    if places is None:
        return wrong_number(use, len(kinds))
    for e, place in zip(use.expected, places, strict=True):
        if e is not None and place is not None:
            mismatch = _fit(use, e, kinds[place], (place,), manual)
            if mismatch is not None:
                return mismatch
    return None


def wrong_number(use: Use, given: int) -> OperandMismatch:
    """What to say of `given` operands that `arrange` cannot give to the use."""
    expected = [e for e in use.expected if e is not None]
    fewest = sum(not e.parameter.optional for e in expected)
    most = len(expected)
    number = f"{fewest} {'or' if most == fewest + 1 else 'to'} {most}" if fewest < most else str(most or "no")
    noun = "operand" if number == "1" else "operands"
    message = f"'{use.form.mnemonic}' takes {number} {noun} here, not {given}"
    return OperandMismatch((), message, forms_hint((use.form,)))


def _fit(use: Use, e: Expected, kind: OperandKind, path: tuple[int, ...], manual: bool) -> OperandMismatch | None:
    if kind == "any":
        return None
    p = e.parameter
    second = p.second
    if type(kind) is tuple and kind[0] == "|":
        dropped = path == (0,) and kind[2] == "_" and type(kind[1]) is str and kind[1] in FUNDAMENTAL
        if second is None and dropped and not manual:
            return _fit_plain(use, e, kind[1], (*path, 0), manual)  # measured: a second result is dropped everywhere
        if second is None:
            return OperandMismatch(
                path, f"one destination stands here, not two: '{use.form.mnemonic}' gives no second result"
            )
        if kind[1] == kind[2] == "_":
            return OperandMismatch(path, "'_|_' cannot stand here: one of the two results is wanted")
        mismatch = _fit_plain(use, e, kind[1], (*path, 0), manual)
        return mismatch or fit_value(use, Expected(second, second.type or "pred", 0), kind[2], (*path, 1), manual)
    if second is not None and not second.optional:
        return OperandMismatch(path, "a second destination is missing", forms_hint((use.form,)))
    return _fit_plain(use, e, kind, path, manual)


def _fit_plain(use: Use, e: Expected, kind: OperandKind, path: tuple[int, ...], manual: bool) -> OperandMismatch | None:
    role = e.parameter.role
    if role in ("destination", "source"):
        if e.parameter.flags & HANDLES:
            return fit_handle(e, kind, path)
        if "untyped" in e.parameter.flags and not manual:
            return fit_untyped(use, e, kind, path)
        if not manual and is_bfloat_vector(use, e, kind):
            return None
        if e.length or (type(kind) is tuple and kind[0] == "{") or (type(kind) is str and kind[:1] == "v"):
            return fit_vector(use, e, kind, path, manual)
        return fit_value(use, e, kind, path, manual)
    return _BY_ROLE[role](use, e, kind, path, manual)


# Addresses.

#: Spaces in which a variable lies that an access to a space may name.
_REACHES = {
    "generic": ("global", "local", "shared"),
    "shared::cta": ("shared",),
    "shared::cluster": ("shared",),
    "param::entry": ("param",),
    "param::func": ("param",),
}

#: Spaces whose addresses have 64 bits wherever ptxas still compiles.
_WIDE_SPACES = ("generic", "global")


def _fit_memory(
    use: Use, e: Expected, kind: OperandKind, path: tuple[int, ...], manual: bool
) -> OperandMismatch | None:
    spaces = e.parameter.words or (use.words["space"] or "generic",)
    if type(kind) is tuple and kind[0] == "unified":
        if use.parameters[0].role != "destination" or not all(s in _WIDE_SPACES for s in spaces):
            return OperandMismatch(path, "'.unified' marks what a load or an atomic reads, in .global or generic space")
        kind = kind[1]
    if type(kind) is not tuple or kind[0] not in ("[", "[]") or (kind[0] == "[" and len(kind) != 2):
        bare = (type(kind) is str and kind in FUNDAMENTAL) or (type(kind) is tuple and kind[0] in ("var", "var+", "+"))
        return OperandMismatch(path, f"an address in brackets is needed here, not {describe(kind)}",
                       "write it in brackets: [...]" if bare else None)  # fmt: skip
    base = kind[1]
    if base == "any" or (not manual and "any" in e.parameter.flags):
        return None
    if e.parameter.flags & HANDLES:
        return fit_handle(e, base, path)
    if type(base) is tuple and base[0] == "reg+":
        base = base[1]
    if "tensor" in spaces:
        return _fit_tensor(e, base, path, manual)
    if base == "int":
        if manual or "imm" in e.parameter.flags or "local" in spaces:
            return None
        return OperandMismatch(
            path, "a number is no address here", "only .local takes one; name a variable or a register"
        )
    if type(base) is str and base in FUNDAMENTAL:
        bits = FUNDAMENTAL[base]
        if base[0] not in "bus" or bits > 64:
            return OperandMismatch(path, f"an address needs an integer register, not {describe(base)}")
        narrow = manual or "narrow" in e.parameter.flags
        if bits < 64 and not narrow and all(s in _WIDE_SPACES for s in spaces):
            where = "a generic" if spaces[0] == "generic" else f"a .{spaces[0]}"
            return OperandMismatch(path, f"a 64-bit register for {where} address is needed here, not {describe(base)}",
                           "32-bit compilation is no longer supported")  # fmt: skip
        return None
    if type(base) is tuple and base[0] in ("var", "var+"):
        if "registers" in e.parameter.flags and not manual:
            return OperandMismatch(path, "an address in a register is needed here, not a variable")
        reached = {s for space in spaces for s in _REACHES.get(space, (space,))}
        if "mbarrier" in e.parameter.flags:
            reached &= {"shared"}
        if base[1] in reached:
            return None
        message = f"a .{' or .'.join(sorted(reached))} variable is needed here, not {describe(base)}"
        given = use.words["space"]
        better = f"write .{base[1]} instead of .{given}" if given else f"add .{base[1]}, the space that it is in"
        return OperandMismatch(
            path, message, better if any(base[1] in s.words for s in use.form.pattern.slots) else None
        )
    return OperandMismatch(path, f"{describe(base)} is no address")


def _fit_tensor(e: Expected, base: OperandKind, path: tuple[int, ...], manual: bool) -> OperandMismatch | None:
    """Tensor Memory is addressed by 32-bit registers alone."""
    untyped = "untyped" in e.parameter.flags
    if base == "b32" or (manual and base in ("u32", "s32")):
        return None
    if untyped and not manual and base in ("u32", "s32", "f16x2"):
        return None
    return OperandMismatch(path, f"an address in Tensor Memory is a .b32 register, not {describe(base)}")


def _fit_bracket(
    use: Use, e: Expected, kind: OperandKind, path: tuple[int, ...], manual: bool
) -> OperandMismatch | None:
    if type(kind) is not tuple or kind[0] != "[":
        return OperandMismatch(path, f"{_shown_bracket(e)} is needed here, not {describe(kind)}")
    parts = e.parts
    if len(kind) - 1 < len(parts):
        parts = tuple(part for part in parts if not part.parameter.optional)
    elif any(part.parameter.optional for part in parts):
        parts = tuple(_braced_only(part) for part in parts)
    if len(kind) - 1 != len(parts):
        return OperandMismatch(path, f"{_shown_bracket(e)} has {len(e.parts)} parts, not {len(kind) - 1}")
    for i, (part, inner) in enumerate(zip(parts, kind[1:], strict=True)):
        mismatch = _fit_part(use, part, inner, (*path, i), manual)
        if mismatch is not None:
            return mismatch
    return None


def _braced_only(e: Expected) -> Expected:
    """Measured: with a sampler, coordinates are a vector even where a plain register would do without one."""
    return e._replace(parameter=e.parameter._replace(flags=e.parameter.flags - {"bare"}))


def _fit_part(use: Use, e: Expected, kind: OperandKind, path: tuple[int, ...], manual: bool) -> OperandMismatch | None:
    if "tensormap" in e.parameter.flags and not manual:
        return _fit_tensor_map(kind, path)
    if e.parameter.flags & HANDLES:
        return fit_handle(e, kind, path)
    if e.parameter.words or not e.type:  # an address within the bracket
        return _fit_memory(use, e, ("[", kind), path, manual)
    return _fit_plain(use, e, kind, path, manual)


def _fit_tensor_map(kind: OperandKind, path: tuple[int, ...]) -> OperandMismatch | None:
    """Measured: any register, or a variable in .global without an offset."""
    if (type(kind) is str and (kind in FUNDAMENTAL or kind in OPAQUE)) or kind[:2] == ("var", "global"):
        return None
    return OperandMismatch(path, f"the address of a tensor map is needed here, not {describe(kind)}")


def _shown_bracket(e: Expected) -> str:
    return "[" + ", ".join(part.parameter.name for part in e.parts) + "]"


# Names that stand for no value.


def _fit_named(use: Use, e: Expected, kind: OperandKind, path: tuple[int, ...], manual: bool) -> OperandMismatch | None:
    role = e.parameter.role
    if kind == role:
        return None
    indirect = role == "function" and type(kind) is str and kind in FUNDAMENTAL
    hint = "a call through a register ends with a prototype or .calltargets" if indirect else None
    return OperandMismatch(path, f"{NOUNS[role]} is needed here, not {describe(kind)}", hint)


#: What a call through a pointer may name as its last operand besides a prototype: `.calltargets`, and arrays of functions.
_CALLEES = ("callees", *(("var", space, type_) for space in ("global", "const") for type_ in ("u64", "u32", "u8")))


def _fit_prototype(
    use: Use, e: Expected, kind: OperandKind, path: tuple[int, ...], manual: bool
) -> OperandMismatch | None:
    if kind == "prototype" or kind in _CALLEES:
        return None
    return OperandMismatch(path, f"a prototype or a list of functions is needed here, not {describe(kind)}")


def _fit_list(use: Use, e: Expected, kind: OperandKind, path: tuple[int, ...], manual: bool) -> OperandMismatch | None:
    if type(kind) is tuple and kind[0] == "(":
        return None  # signatures are the call's matter
    return OperandMismatch(path, f"a list in parentheses is needed here, not {describe(kind)}")


_BY_ROLE = {
    "memory": _fit_memory,
    "bracket": _fit_bracket,
    "tuple": fit_tuple,
    "label": _fit_named,
    "function": _fit_named,
    "prototype": _fit_prototype,
    "targets": _fit_named,
    "arguments": _fit_list,
    "results": _fit_list,
}

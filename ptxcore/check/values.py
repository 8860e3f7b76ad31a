"""Does an operand that is a value fit: a register, a constant, a name that stands for a number, a vector of these.

Kinds are those of `ptxcore.check.operands`. What ptxas takes beyond the manual was measured, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ptxcore.check.mismatch import NOUNS, OperandKind, OperandMismatch, describe
from ptxcore.isa.advice import forms_hint
from ptxcore.isa.form import ANY_LENGTH, Expected, Use
from ptxcore.isa.operand import SELECTIONS
from ptxcore.isa.types import EXACT, FUNDAMENTAL, LOOSE, WIDTHS

_BFLOATS = ("bf16", "bf16x2")


def is_bfloat_vector(use: Use, e: Expected, kind: OperandKind) -> bool:
    """Measured: where arithmetic has an operand of bfloat16, ptxas takes a vector of untyped registers of its size."""
    if e.type not in _BFLOATS:
        return False
    if e.length or type(kind) is not tuple or kind[0] != "{" or "dropped" in e.parameter.flags:
        return False
    if any("memory" in p.role for p in use.parameters):
        return False
    elements = kind[1:]
    if len(elements) not in (1, 2, 4) or (e.parameter.role == "source" and "_" in elements):
        return False
    return _mixed(elements) is None and _whole(elements) == f"b{WIDTHS[e.type]}"


def fit_vector(use: Use, e: Expected, kind: OperandKind, path: tuple[int, ...], manual: bool) -> OperandMismatch | None:
    """A vector of elements of one type, as a register of a vector type or in braces."""
    if type(kind) is str and kind[:1] == "v":  # a register of a vector type
        count, _, element = kind.partition(".")
        if not e.length or int(count[1:]) != e.length:
            return OperandMismatch(path, f"{_wanted(use, e)} is needed here, not {describe(kind)}")
        if not manual and _are_bits(use, e, element):
            element = f"b{_SIZES[element]}"
        return fit_value(use, e._replace(length=0), element, path, manual)
    if type(kind) is tuple and kind[0] == "sreg" and kind[1][:3] == f"v{e.length}.":
        return fit_value(use, e._replace(length=0), (kind[0], kind[1][3:], kind[2]), path, manual)
    if type(kind) is not tuple or kind[0] != "{":
        if kind == "_" and e.parameter.role == "destination" and "sink" in e.parameter.flags:
            return None
        if (e.length == 1 or "longer" in e.parameter.flags) and "bare" in e.parameter.flags:
            return fit_value(use, e, kind, path, manual)
        return OperandMismatch(path, f"{_wanted(use, e)} is needed here, not {describe(kind)}")
    if not e.length:
        if len(kind) == 2 and "braced" in e.parameter.flags:
            return fit_value(use, e, kind[1], (*path, 0), manual)
        return OperandMismatch(path, f"{_wanted(use, e)} is needed here, not a vector")
    longer = "longer" in e.parameter.flags and e.length < len(kind) - 1 in (2, 4)
    fits = len(kind) - 1 in _LENGTHS if e.length == ANY_LENGTH else len(kind) - 1 == e.length
    if not fits and not longer:
        number = f"{len(kind) - 1} element{'s' * (len(kind) != 2)}"
        return OperandMismatch(path, f"{_wanted(use, e)} is needed here, not one of {number}")
    return _fit_elements(use, e._replace(length=0), kind[1:], path, manual)


#: Lengths that a vector may have where nothing says which.
_LENGTHS = (1, 2, 4, 8)


def _fit_elements(
    use: Use, e: Expected, elements: Sequence[OperandKind], path: tuple[int, ...], manual: bool
) -> OperandMismatch | None:
    """The elements of a vector make one type together, which must fit."""
    destination = e.parameter.role == "destination"
    drops = (destination and "kept" not in e.parameter.flags) or "sink" in e.parameter.flags
    if drops and all(element == "_" for element in elements):
        return OperandMismatch(
            path, "a vector of nothing but '_' has no type", "name a register for one of the elements"
        )
    proper = "registers" in e.parameter.flags
    whole = None if manual else _whole(elements)
    if whole is not None and _are_bits(use, e, whole):
        whole = f"b{_SIZES[whole]}"
    for i, element in enumerate(elements):
        if element == "_" and drops:
            continue
        counted = element if proper else _plain(element)
        if whole is None:
            mismatch = fit_value(use, e, element, (*path, i), manual)
            if mismatch is None and e.parameter.flags & {"registers", "inferred"} and _untyped(e, element):
                mismatch = OperandMismatch((*path, i), "one of a vector's elements must be a register here")
        elif counted in _SIZES and not (proper and element == "pred"):
            mismatch = fit_value(use, e, whole, (*path, i), manual)
        elif proper and element in _CONSTANTS and element != "int":
            mismatch = fit_value(use, e, element, (*path, i), manual)
        elif (
            element in _CONSTANTS and not destination and "reg" not in e.parameter.flags and _goes_with(whole, element)
        ):
            mismatch = None
        else:
            mismatch = fit_value(use, e, element, (*path, i), manual)
        if mismatch is not None:
            return mismatch
    indices = 2 * ("twice_indexed" in e.parameter.flags) or int("indexed" in e.parameter.flags)
    for i, element in enumerate(elements[:indices]):
        index = e._replace(type="u32", parameter=e.parameter._replace(type="u32"))
        mismatch = fit_value(use, index, element, (*path, i), manual)
        if mismatch is not None:
            return mismatch
    mixed = _mixed(elements[indices:])
    if mixed is not None:
        i, message = mixed
        return OperandMismatch((*path, indices + i), message)
    return None


def _are_bits(use: Use, e: Expected, whole: str) -> bool:
    """Measured: where a modifier says how long a vector is, one of integers will do for floating-point types of their
    size, except in what is loaded from parameters. Coordinates and fragments are alike."""
    p = e.parameter
    if (p.length != "vec" and "bits" not in p.flags) or e.type not in ("f16", "f32", "f64") or whole[0] not in "us":
        return False
    loaded = p.role == "destination" and use.space.startswith("param")
    return _SIZES[whole] == WIDTHS[e.type] and not loaded


def _untyped(e: Expected, constant: OperandKind) -> bool:
    """Whether a constant cannot give a vector the untyped elements that it should have."""
    return (e.type == "b32" or "inferred" in e.parameter.flags) and constant in _CONSTANTS


#: Bits of the registers that a vector may have, as ptxas counts them there.
_SIZES = {**FUNDAMENTAL, "pred": 32}


def _plain(element: OperandKind) -> OperandKind:
    """An element as it counts within a vector: a special register is one without a type."""
    if type(element) is tuple and element[0] == "sreg" and element[1] in FUNDAMENTAL:
        return f"b{FUNDAMENTAL[element[1]]}"
    return element


def _whole(elements: Sequence[OperandKind]) -> str | None:
    """The type that a vector has: the one of its registers, or an untyped one where theirs differ. None where no
    element is a register."""
    types = {t for t in map(_plain, elements) if type(t) is str and t in _SIZES}
    if len(types) > 1:
        return f"b{max(_SIZES[t] for t in types)}"
    return types.pop() if types else None


def _goes_with(register: str, constant: OperandKind) -> bool:
    """Whether a constant may stand in a vector of such registers."""
    return register[0] in ("bus" if constant == "int" else "bf") and register != "f16x2"


def _mixed(elements: Sequence[OperandKind]) -> tuple[int, str] | None:
    """The first element that cannot stand beside the one before it: sizes differ, or both have a type and not the same
    one (measured: signs do not count, untyped registers go with all, and nothing is compared behind a constant)."""
    sized = _plain(elements[0]) in _SIZES
    for i, (one, other) in enumerate(pairwise(map(_plain, elements)), 1):
        if type(one) is not str or type(other) is not str:
            continue
        both = one in _SIZES and other in _SIZES
        if both and sized and _SIZES[one] != _SIZES[other]:
            return i, f"the elements of a vector have one size: {describe(other)} stands beside {describe(one)}"
        if {_sort(one), _sort(other)} in _APART or (both and "b" not in one[0] + other[0] and _apart(one, other)):
            return i, f"the elements of a vector have one type: {describe(other)} stands beside {describe(one)}"
    return None


def _apart(one: str, other: str) -> bool:
    return one != other and not (one[0] in "us" and other[0] in "us")


_APART = ({"integer", "float"},)


def _sort(kind: str) -> str:
    if kind in FUNDAMENTAL:
        return {"u": "integer", "s": "integer", "f": "float"}.get(kind[0], "untyped")
    return "integer" if kind == "int" else "untyped"


def fit_tuple(use: Use, e: Expected, kind: OperandKind, path: tuple[int, ...], manual: bool) -> OperandMismatch | None:
    """A vector whose elements mean different things."""
    if type(kind) is not tuple or kind[0] != "{":
        return OperandMismatch(path, f"a vector of {len(e.parts)} is needed here, not {describe(kind)}")
    if len(kind) - 1 != len(e.parts):
        return OperandMismatch(path, f"a vector of {len(e.parts)} is needed here, not one of {len(kind) - 1}")
    return _fit_elements(use, e.parts[0], kind[1:], path, manual)


def fit_untyped(use: Use, e: Expected, kind: OperandKind, path: tuple[int, ...]) -> OperandMismatch | None:
    """ptxas looks at no more than the size: a vector (where one may stand) counts by its elements, and a predicate for
    32 bits."""
    whole = kind[1] if kind == ("!", "pred") and e.parameter.role == "source" else kind
    if type(kind) is tuple and kind[0] == "{" and "braced" in e.parameter.flags:
        mixed = _mixed(kind[1:])
        if mixed is not None:
            return OperandMismatch((*path, mixed[0]), mixed[1])
        whole = _whole(kind[1:])
    if type(whole) is not str or WIDTHS[e.type] != 32:
        return fit_value(use, e, kind, path, False)
    source = e.parameter.role == "source"
    if whole in ("pred", "b32", "u32", "s32", "f32", "f16x2") or (whole == "0f" and source):
        return None
    if whole == "int":
        return OperandMismatch(path, f"{_wanted(use, e)} is needed here, not {describe(whole)}")
    return fit_value(use, e, kind, path, False)


def fit_value(use: Use, e: Expected, kind: OperandKind, path: tuple[int, ...], manual: bool) -> OperandMismatch | None:
    """A single value."""
    p = e.parameter
    if kind == "any":
        return None
    if type(kind) is tuple and kind[0] == "+" and p.role == "source" and not manual:
        kind = kind[1]  # measured: a register and a constant stand wherever the register does
    if type(kind) is tuple and kind[0] == "!" and p.negatable:
        kind = kind[1]
    if type(kind) is tuple and kind[0] == "-" and ("negative" in p.flags or "negated" in p.flags):
        kind = kind[1]
        if "f16x2" in (kind[1:2] if type(kind) is tuple else (kind,)):  # which fits an integer otherwise
            return OperandMismatch(path, f"'-' stands before an integer, not {describe('f16x2')}")
    elif "negated" in p.flags:
        return OperandMismatch(path, f"'-' is needed before {describe(kind)}")
    if type(kind) is tuple and kind[0] == "sel" and p.selector:
        if re.fullmatch(p.selector, kind[2]) is None:
            return OperandMismatch(path, f"'.{kind[2]}' cannot be selected here", f"it can be {SELECTIONS[p.selector]}")
        kind = kind[1]
    destination = p.role == "destination"
    if "dropped" in p.flags and kind != "_":
        return OperandMismatch(
            path, f"only '_' can stand here, not {describe(kind)}: '{use.form.mnemonic}' gives no result here"
        )
    if kind == "_":
        if destination and p.flags & {"sink", "dropped"}:
            return None
        return OperandMismatch(
            path, "'_' cannot stand here" + ("; the result cannot be dropped" if destination else "")
        )
    if type(kind) is str and kind in FUNDAMENTAL:
        if "imm" not in p.flags and kind in _registers(use, e):
            return None
    elif destination:
        pass
    elif type(kind) is str:
        if _fits_constant(e, kind) or (kind == "function" and not manual and _takes_function(use, e)):
            return None
    elif _fits_name(use, e, kind):
        return None
    return OperandMismatch(path, f"{_wanted(use, e)} is needed here, not {describe(kind)}", _advice(use, e, kind))


def _is_stated(use: Use, e: Expected) -> bool:
    """Whether the instruction's own types have the operand's, rather than the form alone."""
    flags = e.parameter.flags
    if "own" in flags or "stated" in flags:
        return "stated" in flags
    return e.parameter.type not in FUNDAMENTAL or e.parameter.type in use.types


def _registers(use: Use, e: Expected) -> frozenset[str]:
    fits = LOOSE if "loose" in e.parameter.flags else EXACT
    found = fits.get(e.type, frozenset())
    flags = e.parameter.flags
    if "strict" in flags:
        return found - {"b8", "b16", "b32", "b64", "f16x2"}
    if "unpacked" in flags:
        return found - {"f16x2"}
    # A type that the form states, rather than the instruction, takes no packed register for an integer.
    if e.type[:1] not in ("u", "s") or e.parameter.type not in FUNDAMENTAL:
        return found
    literal = any(slot.name == e.parameter.type for slot in use.form.pattern.types)
    return found if "stated" in flags or (literal and "own" not in flags) else found - {"f16x2"}


#: Types of operands that a constant of each notation may stand for.
_CONSTANTS = {
    "int": frozenset(("pred", "b128", *(f"{kind}{bits}" for kind in "bus" for bits in (8, 16, 32, 64)))),
    "0f": frozenset(("f32", "f64", "b32")),
    "0d": frozenset(("f32", "f64", "b64")),
    "decimal": frozenset(("f32", "f64", "b64")),
}


OPAQUE = ("texref", "samplerref", "surfref")
HANDLES = frozenset((*OPAQUE, "handle"))


def fit_handle(e: Expected, kind: OperandKind, path: tuple[int, ...]) -> OperandMismatch | None:
    """A texture, sampler or surface by its name, or a register that holds the address of one (sections 9.7.10, 9.7.11)."""
    flags = e.parameter.flags
    if type(kind) is str and (kind in flags or kind == "any" or ("handle" in flags and kind in EXACT["u64"] - {"f64"})):
        return None
    wanted = [NOUNS[name] for name in OPAQUE if name in flags]
    if "handle" in flags:
        wanted.append("a .u64 register with the address of one")
    return OperandMismatch(path, f"{' or '.join(wanted)} is needed here, not {describe(kind)}")


def _fits_constant(e: Expected, kind: str) -> bool:
    flags = e.parameter.flags
    if "reg" in flags:
        return False
    if kind in OPAQUE:
        return "opaque" in flags
    if kind == "int" and "imm" in flags:
        return True
    if kind == "function":
        return "address" in flags and not e.parameter.words and WIDTHS.get(e.type, 0) >= 32
    if kind != "0f" and "hexadecimal" in flags:
        return False
    return e.type in _CONSTANTS.get(kind, ())


#: Types for whose values the name of a function may stand: not bfloat16, nor formats that no register has.
_ADDRESSABLE = frozenset((*FUNDAMENTAL, "f32x2", "u16x2", "s16x2")) - {"pred"}


def _takes_function(use: Use, e: Expected) -> bool:
    """Measured: ptxas takes a function's name for any value whose type the instruction, not the form, states."""
    p = e.parameter
    if p.words and "stated" not in p.flags:
        return False
    return e.type in _ADDRESSABLE and _is_stated(use, e) and not p.flags & {"reg", "imm"}


def _fits_name(use: Use, e: Expected, kind: tuple[Any, ...]) -> bool:
    flags = e.parameter.flags
    spaces = e.parameter.words
    if spaces and kind[0] in ("var", "var+", "[]") and (kind[1][1] if kind[0] == "[]" else kind[1]) not in spaces:
        return False
    if kind[0] == "sreg":
        return "special" in flags and (kind[1] in _registers(use, e) or WIDTHS.get(e.type) in kind[2])
    if kind[0] == "var":
        return "address" in flags and e.type[:1] in ("u", "s", "b") and e.type in _CONSTANTS["int"]
    if kind[0] == "[]":
        return "address" in flags and e.type[:1] in ("u", "s", "b") and e.type in _CONSTANTS["int"] and kind[2] == "int"
    if kind[0] == "var+":
        return not flags & {"reg", "imm"} and e.type in _CONSTANTS["int"] and e.type != "pred"
    return False


# Words for messages.

_FAMILIES = {"u": "an integer", "s": "an integer", "b": "a value", "f": "a floating-point value", "p": "a predicate"}


def _wanted(use: Use, e: Expected) -> str:
    p = e.parameter
    if e.type == "pred":
        what = "a predicate"
    elif "imm" in p.flags:
        what = "an integer constant"
    elif e.type in WIDTHS:
        least = "at least " if "loose" in p.flags and e.type[:1] != "f" else ""
        family = _FAMILIES.get(e.type[0], "a value") if e.type in FUNDAMENTAL else f"a .{e.type}"
        what = f"{family} of {least}{WIDTHS[e.type]} bits" if e.type in FUNDAMENTAL else f"{family} operand"
    else:
        what = f"operand {p.name}"
    if e.length:
        what = f"a vector of {e.length}" if e.length != ANY_LENGTH else "a vector"
    if p.role == "destination" or "reg" in p.flags:
        what += " in a register" if not e.length else ""
    return what


def _advice(use: Use, e: Expected, kind: OperandKind) -> str | None:
    if e.type in FUNDAMENTAL and "imm" not in e.parameter.flags and e.parameter.role in ("destination", "source"):
        if kind == "int" and e.type[0] == "f" and e.parameter.role == "source":
            return "write it with a decimal point, or as 0f.. or 0d.."
        if kind in _CONSTANTS and e.parameter.role == "source":
            return None
        if type(kind) is tuple and kind[0] == "[" and e.parameter.role == "source":
            return "ld reads what is at an address"
        names = sorted(_registers(use, e), key=lambda t: (WIDTHS[t], t))
        return "registers that fit: " + " ".join(f".{t}" for t in names) if names else None
    return forms_hint((use.form,))

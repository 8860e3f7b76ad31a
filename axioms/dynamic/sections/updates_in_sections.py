"""What critical sections leave at a place, as functions of what stood there: whether these commute, on all values.

A function is a term over a symbol for what was there. Functions commute where they are all of one *kind* (a number is added, or
combined by `and`, `or`, `xor`, `min` or `max`), or where all are one function; or, from some value on, where all add a
floating-point number and no order rounds. Nothing else is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from axioms.dynamic.code.linear import congruent
from axioms.dynamic.core.sums import adds_exactly
from ptxcore.records import NamedTuple
from ptxcore.values.floats import fcompare
from ptxcore.values.ieee import FORMATS
from ptxcore.values.terms import Term, Value, given, mask, negate, substitute, subterms, symbol, symbols_of

#: What leaves what was there.
_NOTHING = ""
_BITWISE = ("and", "or", "xor")
#: Comparisons, and whether they are of signed numbers.
_LESS = {"ult": "u", "ule": "u", "slt": "s", "sle": "s"}
#: Comparisons of floats with the operands exchanged, and those that are so where they are not; what comes of taking the second.
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_MIRRORED |= {f"{one}u": f"{other}u" for one, other in _MIRRORED.items()}
_OTHERWISE = {"lt": "geu", "le": "gtu", "gt": "leu", "ge": "ltu"}
_OTHERWISE |= {other: one for one, other in _OTHERWISE.items()}
_TAKEN = {"l": "max", "g": "min"}


class Update(NamedTuple):
    """What a section leaves at a place: `value`, in terms of the symbol `found` for what stood there before."""

    found: Term
    value: Value


def commute(updates: Iterable[Update]) -> bool:
    """Whether each two of some updates of one place leave the same in both orders, whatever stands there."""
    updates = list(updates)
    if any(not symbols_of(update.value) <= {update.found} for update in updates):
        return False  # it hangs on another place, too
    kinds = {_kind(update.found, update.value) for update in updates if update.value is not update.found} - {_NOTHING}
    if len(kinds) <= 1 and None not in kinds:
        return True
    place = symbol("place", updates[0].found.width)
    return len({substitute(update.value, {update.found: place}) for update in updates}) == 1


def add_exactly(updates: Iterable[Update], first: int) -> bool:
    """Whether all of some updates of one place add floating-point numbers of one format, and come to the same in each order
    where the `first` value stood there before."""
    addends = [_addend(update.found, without_cases(update.found, update.value)) for update in updates]
    forms = {form for form, _ in addends}
    return len(forms) == 1 and "" not in forms and adds_exactly(forms.pop(), first, (number for _, number in addends))


def _addend(found: Term, value: Value) -> tuple[str, int]:
    """The floating-point number that a value adds to what was found, and its format, which is empty where it does not."""
    if isinstance(value, Term) and value.op == "fp" and value.args[0] == "add" and len(value.args) == 5:
        _, form, mode, *operands = value.args
        numbers = [one for one in operands if isinstance(one, int)]
        if mode == "rn" and found in operands and len(numbers) == 1 and FORMATS[form].width == found.width:
            return form, numbers[0]
    return "", 0


def _kind(found: Term, value: Value) -> str | None:
    """What an update does, where it is one of those that commute with their like."""
    value = without_cases(found, value)
    if not isinstance(value, Term) or value.width != found.width:
        return None
    form = congruent(value, lambda of: (0, mask(of.width)) if of is found else None)
    if form is not None and dict(form.factors) == {found: 1}:
        return "add" if form.start & mask(found.width) else _NOTHING
    return _combination(found, value)


def without_cases(found: Term, value: Value) -> Value:
    """The same function without cases of one value for which the rest says the same: what was found is asked of fewer."""
    for case in subterms([value]):
        if case.op == "eq" and case.args[0] is found and isinstance(case.args[1], int):
            rest, there = given(value, negate(case)), {found: case.args[1]}
            if rest is not value and substitute(rest, there) == substitute(value, there):
                return without_cases(found, rest)
    return value


def _combination(found: Term, value: Term) -> str | None:
    """The operation by which a value combines what was found with numbers, once or several times."""
    kind = value.op if value.op in _BITWISE else _KINDS[value.op](value) if value.op in _KINDS else None
    inner = [part for part in value.args[-2:] if isinstance(part, Term)]
    if kind is None or len(inner) != 1:
        return None
    return kind if inner[0] is found or _combination(found, inner[0]) == kind else None


def _extreme(value: Term) -> str | None:
    """Whether a choice is that of the greater or the lesser of two, and how they are compared."""
    condition, one, other = value.args
    if condition.op == "not":
        condition, one, other = condition.args[0], other, one
    if condition.op == "fp" and condition.args[0] == "compare":
        form, comparison, a, b = condition.args[1:]
        return _float_extreme(form, comparison, (a, b), (one, other))
    if condition.op not in _LESS:
        return None
    if (one, other) == condition.args:
        return f"{_LESS[condition.op]}min"
    return f"{_LESS[condition.op]}max" if (other, one) == condition.args else None


def _instruction(value: Term) -> str | None:
    """The same of the instructions of floats (9.7.3.11 and 9.7.3.12), of which a number is one operand: of it and a NaN it is
    left, and of two zeros the same one in any order."""
    name, form, mode, *operands = value.args
    numbers = [one for one in operands if isinstance(one, int)]
    if name not in ("min", "max") or mode or len(numbers) != 1 or fcompare(form, "nan", numbers[0], numbers[0]):
        return None
    return f"{form} {name}"


#: How values of a kind of term may combine two.
_KINDS: Mapping[str, Callable[[Term], str | None]] = {"ite": _extreme, "fp": _instruction}


def _float_extreme(
    form: str, comparison: str, compared: tuple[Value, Value], choice: tuple[Value, Value]
) -> str | None:
    """The same of floats: the first of `choice` where both compare so, else the second, of which one is a number. Which of two
    zeros is left hangs on who comes first, so there is one of them only; a NaN stays where it is found, or gives way, by all
    alike."""
    a, b = compared
    if comparison not in _MIRRORED or choice not in ((a, b), (b, a)) or isinstance(a, int) is isinstance(b, int):
        return None
    if isinstance(a, int):
        a, b, comparison = b, a, _MIRRORED[comparison]
    taken = comparison if choice[0] == b else _OTHERWISE[comparison]
    sign = 1 << FORMATS[form].width - 1
    if b == sign or fcompare(form, "nan", b, b):
        return None
    return f"{form}{_TAKEN[taken[0]]}{'u' * taken.endswith('u')}"

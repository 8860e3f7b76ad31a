"""What critical sections leave at a place, as functions of what stood there: whether these commute, on all values.

A function is a term over a symbol for what was there. Functions commute where they are all of one *kind* (a number is added, or
combined by `and`, `or`, `xor`, `min` or `max`), or where all are one function. Nothing else is looked for.
"""

from __future__ import annotations

from collections.abc import Iterable

from axioms.dynamic.code.linear import congruent
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Term, Value, mask, substitute, symbol, symbols_of

#: What leaves what was there.
_NOTHING = ""
_BITWISE = ("and", "or", "xor")
#: Comparisons, and whether they are of signed numbers.
_LESS = {"ult": "u", "ule": "u", "slt": "s", "sle": "s"}


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


def _kind(found: Term, value: Value) -> str | None:
    """What an update does, where it is one of those that commute with their like."""
    if not isinstance(value, Term) or value.width != found.width:
        return None
    form = congruent(value, lambda of: (0, mask(of.width)) if of is found else None)
    if form is not None and dict(form.factors) == {found: 1}:
        return "add" if form.start & mask(found.width) else _NOTHING
    return _combination(found, value)


def _combination(found: Term, value: Term) -> str | None:
    """The operation by which a value combines what was found with numbers, once or several times."""
    kind = value.op if value.op in _BITWISE else _extreme(value) if value.op == "ite" else None
    inner = [part for part in value.args[-2:] if isinstance(part, Term)]
    if kind is None or len(inner) != 1:
        return None
    return kind if inner[0] is found or _combination(found, inner[0]) == kind else None


def _extreme(value: Term) -> str | None:
    """Whether a choice is that of the greater or the lesser of two, and how they are compared."""
    condition, one, other = value.args
    if condition.op == "not":
        condition, one, other = condition.args[0], other, one
    if condition.op not in _LESS:
        return None
    if (one, other) == condition.args:
        return f"{_LESS[condition.op]}min"
    return f"{_LESS[condition.op]}max" if (other, one) == condition.args else None

"""What modules spell shortly, in full."""

from __future__ import annotations

from ptxcore.isa.types import WIDTHS
from ptxcore.syntax.tree import Operand

#: Where a component of a vector stands in it.
COMPONENTS_AT = {"x": 0, "y": 1, "z": 2, "w": 3, "r": 0, "g": 1, "b": 2, "a": 3}


def flushing(modifiers: tuple[str, ...]) -> tuple[str, ...]:
    """Modifiers with `.ftz` before the types."""
    types = next(i for i, modifier in enumerate(modifiers) if modifier in WIDTHS)
    return (*modifiers[:types], "ftz", *modifiers[types:])


def expanded(operand: Operand) -> tuple[str, ...]:
    """The labels that an argument of `.branchtargets` names: `N<5>` is N0 to N4."""
    name = getattr(operand, "name", "")
    stem, less, count = name.partition("<")
    return tuple(f"{stem}{i}" for i in range(int(count.rstrip(">")))) if less else (name,)

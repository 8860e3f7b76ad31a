"""What modifiers make of a floating-point operation: rounding, `.ftz`, `.sat`, `.relu`, and types of several elements.

Targets before sm_20 flush subnormal singles also without `.ftz`; here they are kept, as all later targets do.
"""

from __future__ import annotations

from collections.abc import Callable

from ptxcore.isa.form import Use
from ptxcore.values.floats import flush, rectify, saturate
from ptxcore.values.ieee import FORMATS
from ptxcore.values.packed import each
from ptxcore.values.terms import Value


def rounding(how: Use) -> str:
    """The rounding mode; `rn` where none is written."""
    return how.words["rnd"] or "rn"


def elementwise(how: Use, operation: Callable[..., Value], *operands: Value) -> Value:
    """`operation(format, a, b ...)` of the instruction's type, for each element of a packed one (`.f16x2`). With `.ftz`,
    subnormal operands are zeros of their signs."""
    form, _, number = how.type.partition("x")

    def on_elements(*elements: Value) -> Value:
        if how.words["ftz"]:
            elements = tuple(flush(form, x) for x in elements)
        return operation(form, *elements)

    return each(on_elements, FORMATS[form].width, int(number or 1), *operands)


def computed(how: Use, operation: Callable[..., Value], *operands: Value) -> Value:
    """As `elementwise`, and the result modified as the instruction says."""
    return elementwise(how, lambda form, *elements: modified(how, form, operation(form, *elements)), *operands)


def modified(how: Use, form: str, d: Value) -> Value:
    """A result with `.ftz`, `.sat` and `.relu` applied."""
    if how.words["ftz"]:
        d = flush(form, d)
    if how.words["sat"]:
        d = saturate(form, d)
    if how.words["relu"]:
        d = rectify(form, d)
    return d

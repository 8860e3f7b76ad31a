"""Why there is no answer: what is wrong with an input, taken from whoever found it, and written as all errors are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxcore.diagnostics import printable
from ptxmm.harmless import plain
from ptxmm.result import Refusal, Spot

if TYPE_CHECKING:
    from ptxcore.diagnostics import InputError


def of_input(error: InputError, path: str) -> Refusal:
    """The first finding in an input; the source lines and what else was found are details. `path`: of the test, which a
    finding without a line is about as a whole."""
    first = error.diagnostics[0]
    line, column, _ = first.span
    spot = Spot(printable(error.path), line, column) if line or error.path != path else None
    return Refusal(printable(first.message).splitlines()[0], spot, tuple(error.render().splitlines()[1:]))


def written(refusal: Refusal, path: str) -> str:
    """`PATH: error: message`, and the details."""
    return "\n".join([f"{plain(path)}: error: {refusal.message}", *refusal.details])

"""What this tool says of single statements, in the form in which `ptxas.accepts` answers."""

from __future__ import annotations

from collections.abc import Sequence

import layout
from layout import Layout

from ptxcore.check.module import check
from ptxcore.syntax.reader import read_module


def verdicts(
    statements: Sequence[str], *, version: str = "9.0", target: str = "sm_90", manual: bool = False
) -> list[str | None]:
    """For each statement None where we accept it, else our first message for it."""
    laid = Layout(statements, layout.header(version, target))
    said: list[str | None] = [None] * len(statements)
    alone = [i for i, statement in enumerate(laid.statements) if not layout.is_balanced(statement)]
    together = sorted(set(range(len(statements))) - set(alone))
    for batch in (*([i] for i in alone), together):
        if batch:
            _judge(laid, batch, said, manual)
    return said


def _judge(laid: Layout, batch: Sequence[int], said: list[str | None], manual: bool) -> None:
    text, standing = laid.module(batch)
    try:
        module, faults = read_module(text)
        found = [*faults, *check(module, manual=manual)]
    except Exception as error:  # never to happen; which statement it is shall be told
        if len(batch) == 1:
            said[batch[0]] = f"(our crash: {error!r})"
        else:
            middle = len(batch) // 2
            _judge(laid, batch[:middle], said, manual)
            _judge(laid, batch[middle:], said, manual)
        return
    for diagnostic in found:
        if diagnostic.severity == "error":
            what = standing.get(diagnostic.span.line)
            for i in batch if what is None else laid.meant(what, batch):
                said[i] = said[i] or diagnostic.message

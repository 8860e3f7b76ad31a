"""A parity that a wait is handed, as an expression of what the loops around it count by.

Which variable holds the number of the turn, the PTX does not say. What a loop counts up by is tried, from the innermost loop
outwards; and both parities, since a loop may begin elsewhere than at 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptxmm.repair.cuda.arguments import last_arguments
from ptxmm.repair.cuda.code import CudaCode, CudaStatement
from ptxmm.repair.cuda.source_edits import Places, SourceEdits
from ptxmm.repair.parity_sites import in_words
from ptxmm.repair.sites import TextEdit, Wanted

_COUNTED = re.compile(r"\+\+\s*+([A-Za-z_]\w*+)|\b([A-Za-z_]\w*+)\s*+(?:\+\+|\+=)")
_FLIPPED = re.compile(r"\s*+\^\s*+1[uU]?\Z")
#: So many variables are tried.
_MOST = 3


def parities(code: CudaCode, wanted: Wanted, here: Places) -> Iterator[SourceEdits]:
    """The last argument of a call becomes the other parity, or that of the turn."""
    turn = wanted.in_turn
    if turn is None:
        return
    for statement in (s for place in here for s in code.at(*place)):
        for start, end in last_arguments(code, statement):
            if turn.flipped:
                yield SourceEdits((TextEdit(start, end, other_parity(code.text[start:end])),))
            counted = list(counters(code, statement)) if turn.every else []
            for more in (turn.more, 1 - turn.more):
                for counter in counted:
                    every = _named(code, statement, counter, turn.every)
                    yield SourceEdits((TextEdit(start, end, in_words(counter, every, turn.offset, more)),))


def other_parity(parity: str) -> str:
    """The other parity, as it is written."""
    if parity.strip("uU") in ("0", "1"):
        return str(1 - int(parity.strip("uU")))
    if _FLIPPED.search(parity):
        flipped = _FLIPPED.sub("", parity)
        return (
            flipped[1:-1]
            if flipped.startswith("(") and CudaCode(flipped).partner.get(0) == len(flipped) - 1
            else flipped
        )
    return f"{parity} ^ 1" if re.fullmatch(r"[\w.]+", parity) else f"({parity}) ^ 1"


def counters(code: CudaCode, statement: CudaStatement) -> Iterator[str]:
    """What the loops around a statement count up by, of the innermost one first."""
    texts = [code.bare[statement.start : statement.end]]
    for opened in _around(code, statement):
        head = next((s for s in code.statements if s.end == opened + 1), None)
        if head is not None and re.match(r"(?:for|while|do)\b", code.bare[head.start : head.end]):
            texts += [code.bare[head.start : head.end], code.bare[opened : code.partner[opened]]]
    found = dict.fromkeys(match[1] or match[2] for text in texts for match in _COUNTED.finditer(text))
    yield from list(found)[:_MOST]


def _named(code: CudaCode, statement: CudaStatement, counter: str, every: int) -> int | str:
    """How many turns there are, as a block around a statement says it: what the counter is taken modulo."""
    modulo = re.compile(rf"\b{re.escape(counter)}\s*%\s*([A-Za-z_]\w*)")
    for opened in _around(code, statement) if every > 1 else ():
        if (found := modulo.search(code.bare, opened, code.partner[opened])) is not None:
            return found[1]
    return every


def _around(code: CudaCode, statement: CudaStatement) -> list[int]:
    """Where the blocks around a statement begin, the innermost first."""
    opened = (o for o, end in code.partner.items() if o < statement.start < end and code.bare[o] == "{")
    return sorted(opened, reverse=True)

"""Fixes applied: the changes that diagnostics propose, made in the text."""

from __future__ import annotations

from collections.abc import Sequence

from ptxcore.diagnostics import Diagnostic, Edit


def applied(text: str, found: Sequence[Diagnostic]) -> tuple[str, list[Diagnostic]]:
    """The text with the fixes of all findings that have one, and the findings that were mended. A fix that changes what another
    one changed, in another way, is left out: it is there again where the result is checked. The same change twice is one."""
    edits: dict[Edit, None] = {}
    mended = []
    for diagnostic in found:
        if diagnostic.fix is None:
            continue
        new = [edit for edit in diagnostic.fix.edits if edit not in edits]
        if any(_overlap(edit, other) for edit in new for other in edits):
            continue
        edits.update(dict.fromkeys(new))
        mended.append(diagnostic)
    starts = [0]
    for each in text.split("\n"):
        starts.append(starts[-1] + len(each) + 1)
    for (line, column, end), new_text, further in sorted(edits, reverse=True):
        if line > 0 and line + further < len(starts):
            first, last = starts[line - 1] + column - 1, starts[line - 1 + further] + end - 1
            text = text[:first] + new_text + text[last:]
    return text, mended


def _overlap(one: Edit, other: Edit) -> bool:
    """Whether two changes are of the same characters, or at the same place."""
    begun, ended = _ends(one)
    other_begun, other_ended = _ends(other)
    return begun == other_begun or (begun < other_ended and other_begun < ended)


def _ends(edit: Edit) -> tuple[tuple[int, int], tuple[int, int]]:
    """Line and column at which a change begins, and behind its end."""
    line, column, end = edit.span
    return (line, column), (line + edit.lines, end)

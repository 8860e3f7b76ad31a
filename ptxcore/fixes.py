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
    lines = text.split("\n")
    for (line, column, end), new_text in sorted(edits, reverse=True):
        if 0 < line <= len(lines):
            old = lines[line - 1]
            lines[line - 1] = old[: column - 1] + new_text + old[end - 1 :]
    return "\n".join(lines), mended


def _overlap(one: Edit, other: Edit) -> bool:
    """Whether two changes are of the same characters, or at the same place."""
    (line, start, end), (other_line, other_start, other_end) = one.span, other.span
    return line == other_line and (start == other_start or (start < other_end and other_start < end))

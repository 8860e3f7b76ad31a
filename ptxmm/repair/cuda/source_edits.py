"""What is typed in a source, and where."""

from __future__ import annotations

from collections.abc import Sequence

from ptxcore.records import dataclass
from ptxmm.repair.sites import TextEdit


@dataclass(frozen=True, slots=True)
class SourceEdits:
    """Edits of a source, and the headers that what they write needs."""

    edits: tuple[TextEdit, ...]
    headers: tuple[str, ...] = ()


#: Line and column, the innermost first.
Places = Sequence[tuple[int, int]]

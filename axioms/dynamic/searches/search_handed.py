"""What a thread has of hand-overs on its way in a search (`searches.search_handovers`)."""

from __future__ import annotations

from axioms.dynamic.searches.search_cells import SearchedBytes
from ptxcore.records import NamedTuple

_NONE = frozenset[SearchedBytes]()


class HandedCells(NamedTuple):
    """What a thread has of hand-overs on its way: cells that it has found written, and comes behind (`behind`), or will by its
    next fence (`found`); those that it has written itself (`put`); whether all weak accesses come before its last fence
    (`fenced`)."""

    behind: frozenset[SearchedBytes] = _NONE
    found: frozenset[SearchedBytes] = _NONE
    put: frozenset[SearchedBytes] = _NONE
    fenced: bool = False

    def finds(self, cell: SearchedBytes, *, acquires: bool) -> HandedCells:
        """It has found that a cell was written, by an operation that acquires, or not."""
        if acquires:
            return self._replace(behind=self.behind | {cell}, found=self.found - {cell})
        return self if cell in self.behind else self._replace(found=self.found | {cell})

    def accesses(self) -> HandedCells:
        """A weak access."""
        return self._replace(fenced=False) if self.fenced else self

    def fences(self, *, acquires: bool, releases: bool) -> HandedCells:
        """A fence in a scope that has all threads."""
        found = self._replace(behind=self.behind | self.found, found=_NONE) if acquires else self
        return found._replace(fenced=True) if releases else found

    def puts(self, cell: SearchedBytes) -> HandedCells:
        return self._replace(put=self.put | {cell})


#: What a thread has where a search begins.
NOTHING_HANDED = HandedCells()


__all__ = ["NOTHING_HANDED", "HandedCells"]

"""Threads of a warp that execute an instruction together without a member mask (`activemask`).

The manual leaves open who does. Here, as in the formula, it is all threads of the warp that come to it, of one place: so who
these are is determinate where the code comes to it once at most, and nobody comes when the others have met. In a loop, or in a
function that is called, a thread may come to it in another round than others, so that is left open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from axioms.dynamic.joins import is_in_loop

#: Instructions of a warp that have no member mask.
_UNMASKED = "activemask"


class Convergence:
    """Of one launch."""

    def __init__(self) -> None:
        self._met: set[tuple[int, int, int]] = set()
        self._in_loop: dict[int, bool] = {}

    def meets(self, threads: Sequence[Any]) -> bool:
        """Threads of a warp execute something without a member mask; whether all do that ever come to it."""
        first = threads[0]
        op = first.launch.running() or first.instruction
        if op.use.form.mnemonic != _UNMASKED or any(thread.frames for thread in threads):
            return False
        if id(op) not in self._in_loop:
            self._in_loop[id(op)] = is_in_loop(*first.launch.compiled.compiler.place_of(op))
        key = id(op), first.number - first.lane, first.warp
        if self._in_loop[id(op)] or key in self._met:
            return False
        self._met.add(key)
        return True


__all__ = ["Convergence"]

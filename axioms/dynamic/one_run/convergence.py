"""Threads of a warp that execute an instruction together without a member mask (`activemask`).

The manual leaves open who does. Here, as in the formula, it is all threads of the warp that come to it in the same round of
the loops around it (`ptxcore.machine.run.rounds` counts these): so who they are is determinate where each comes to it once at
most in a round, and nobody comes when the others have met. In a loop without rounds, or in a function that is called, that is
left open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from axioms.dynamic.code.joins import is_in_loop
from ptxcore.machine.run.rounds import UNMASKED


class Convergence:
    """Of one launch."""

    def __init__(self) -> None:
        self._met: set[tuple[object, ...]] = set()
        #: Of instructions, whether a loop leads to them again whose rounds nobody counts.
        self._in_loop: dict[int, bool] = {}

    def meets(self, threads: Sequence[Any]) -> bool:
        """Threads of a warp execute something without a member mask; whether all do that ever come to it."""
        first = threads[0]
        op = first.launch.running() or first.instruction
        if op.use.form.mnemonic != UNMASKED or any(thread.frames for thread in threads):
            return False
        if id(op) not in self._in_loop:
            self._in_loop[id(op)] = not op.sources and is_in_loop(*first.launch.compiled.compiler.place_of(op))
        counts = [first.R[source.value] for source in op.sources if source is not None and source.kind == "register"]
        key = id(op), first.number - first.lane, first.warp, *counts
        if self._in_loop[id(op)] or key in self._met:
            return False
        self._met.add(key)
        return True


__all__ = ["Convergence"]

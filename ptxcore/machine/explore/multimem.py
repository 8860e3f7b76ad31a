"""Multimem addresses of a thread that is explored: accesses to each of the locations behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NoReturn

from ptxcore.isa.form import Use
from ptxcore.machine.ir.dependencies import union
from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.values.spread import spread
from ptxcore.values.terms import Value, add, disj, eq, extract, ite

if TYPE_CHECKING:
    from ptxcore.machine.ir.effects import Dependencies, Effect
    from ptxcore.machine.ir.steps import Step, ThreadCode


class Multimem:
    """What `ptxcore.isa.thread.Thread` asks of multimem addresses."""

    if TYPE_CHECKING:
        code: ThreadCode
        effects: list[Effect]
        _elements: list[Dependencies] | None
        _returned: Dependencies
        _step: Step

        def require(self, condition: Value, kind: str, message: str) -> None: ...
        def _refuse(self, why: str) -> NoReturn: ...

    def replicas(self, how: Use, address: Value) -> Iterator[Value]:
        """The locations behind an address. What is done at them is in no order."""
        known = self.code.multimem
        first, elements = len(self.effects), self._elements
        windows = _windows(address, known)
        number = extract(address, 63, GLOBAL_BITS)
        inside: Value = 0
        for window in windows:
            inside = disj(inside, eq(number, window))
        self.require(inside, "bad-multimem", "a multimem instruction at an address that is no multimem address")
        counts = {len(known[window]) for window in windows}
        if len(counts) > 1:
            self._refuse("is at one of several multimem addresses, of different numbers of devices")
        for i in range(max(counts, default=0)):
            base = known[windows[-1]][i] - (windows[-1] << GLOBAL_BITS)
            place = add(address, base, 64)
            for window in windows[:-1]:
                other = add(address, known[window][i] - (window << GLOBAL_BITS), 64)
                place = ite(eq(number, window), other, place, 64)
            self._elements = None
            yield place
            elements = _together(elements, self._elements)
        if not counts:
            yield address
            elements = self._elements
        for effect in self.effects[first:]:
            effect.group = first
        self._deliver(elements)

    def _deliver(self, elements: list[Dependencies] | None) -> None:
        """What each destination depends on: the elements that it has."""
        self._elements = None
        targets = len(self._step.targets)
        if not elements or not targets:
            return
        size = len(elements) // targets
        made: list[Dependencies] = [{} for _ in range(targets)]
        for i, depends in enumerate(elements):
            made[i // size] = union(made[i // size], depends)
        if targets > 1:
            self._elements = made
        else:
            self._returned = union(self._returned, made[0])


def _windows(address: Value, known: Mapping[int, tuple[int, ...]]) -> list[int]:
    """Those that an address may lie in."""
    low, high, _ = spread(address)
    if low >> GLOBAL_BITS == high >> GLOBAL_BITS:
        window = low >> GLOBAL_BITS & ((1 << GLOBAL_BITS) - 1)
        return [window] if window in known else []
    return list(known)


def _together(one: list[Dependencies] | None, other: list[Dependencies] | None) -> list[Dependencies] | None:
    if one is None or other is None:
        return other if one is None else one
    return [union(a, b) for a, b in zip(one, other, strict=True)]

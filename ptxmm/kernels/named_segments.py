"""The memory of buffers while a test runs, and which of their observed elements may hold something else in other executions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set

from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.run.memory import GlobalMemory, Segment
from ptxmm.kernels.expressions import TYPES
from ptxmm.kernels.launch import Buffer
from ptxmm.kernels.test import KernelTest, observed


class NamedSegments:
    """The buffers of a run: names by the numbers of segments, and segments by their names, as launches begin."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.segments: dict[str, Segment] = {}
        self._before: dict[int, str] = {}

    def place(self, names: dict[int, str]) -> None:
        """Where buffers have been placed."""
        self.names = dict(names)

    def note(self, memory: GlobalMemory) -> None:
        """A launch begins with this memory."""
        found = {self.names[n]: s for n, s in memory.segments.items() if n in self.names}
        self.segments.update((name, s) for name, s in found.items() if isinstance(s, Segment))
        self._before = self.names

    def moved(self, address: int) -> int | None:
        """Where a byte lies now that lay at an address in the launch before; None where it is of no buffer that is here."""
        place = self.named(address)
        return None if place is None else self.at(*place)

    def named(self, address: int) -> tuple[str, int] | None:
        """The buffer of which a byte was in the launch before, and which byte; None where it was of none."""
        name = self._before.get(address >> GLOBAL_BITS)
        return None if name is None else (name, address & (1 << GLOBAL_BITS) - 1)

    def at(self, name: str, offset: int) -> int | None:
        """Where a byte of a buffer lies now; None where that is not here."""
        number = next((n for n, other in self.names.items() if other == name), None)
        return None if number is None else number << GLOBAL_BITS | offset

    def open_elements(self, test: KernelTest, is_open: Callable[[Segment, int, int], bool]) -> Iterator[str]:
        """The observed elements that may have other values. `is_open`: whether some bytes of a segment, from the first one to
        the end, may hold something else."""
        types = {p.name: TYPES[p.type].width // 8 for p in test.parameters if isinstance(p, Buffer)}
        for name, index in observed(test.checks):
            segment = self.segments.get(name)
            if segment is not None and is_open(segment, index * types[name], (index + 1) * types[name]):
                yield f"{name}[{index}]"  # others are not passed to a kernel

    def spread_over(
        self,
        test: KernelTest,
        spread: Iterable[tuple[Segment, int, int]],
        bytes_of: Callable[[Segment], Set[int]] = lambda _: frozenset(),
    ) -> frozenset[str]:
        """Those of which bytes are in some parts of segments, from a first byte to an end, or among `bytes_of` one."""
        varying = {id(segment): bytes_of(segment) for segment in self.segments.values()}

        def is_open(segment: Segment, first: int, end: int) -> bool:
            reached = any(of is segment and low < end and first < high for of, low, high in spread)
            return reached or not varying[id(segment)].isdisjoint(range(first, end))

        return frozenset(self.open_elements(test, is_open))


__all__ = ["NamedSegments"]

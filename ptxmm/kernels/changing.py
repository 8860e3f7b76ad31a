"""Kernel tests whose CTAs can change places: of runs that are alike but for that, one is made."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING

from axioms.dynamic.ctas.alike import Alike, InAnyPlace, NotAlike
from axioms.dynamic.several.symmetry import Symmetry
from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.run.memory import Segment
from ptxmm.kernels.expressions import TYPES
from ptxmm.kernels.launch import Buffer
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import observed

if TYPE_CHECKING:
    from axioms.dynamic.several.plan import Script, StrongBytes
    from ptxcore.machine.lower.ops import ExecutableModule


class ChangingCtas:
    """The CTAs of a test of one launch, and what their runs access."""

    def __init__(self, runs: Runs) -> None:
        """Raises NotAlike for a test of which this does not speak."""
        if len(runs.test.launches) != 1:
            raise NotAlike
        self.runs, self.launch = runs, runs.test.launches[0]
        self.ctas = self.launch.grid[0]
        if self.launch.cluster is not None or prod(self.launch.grid) != self.ctas or self.ctas < 2:
            raise NotAlike
        self.symmetry = Symmetry(prod(self.launch.block))
        self._alike: Alike | None = None
        self._last: InAnyPlace | None = None
        self._buffers: dict[str, int] = {}
        self._differ: set[str] = set()
        #: Memory in the last run, and what buffers held at first.
        self._segments: dict[int, Segment] = {}
        self._first: dict[int, bytes] = {}

    def placed(self, names: dict[int, str]) -> None:
        """Is told which segment is which buffer."""
        self._buffers = {name: segment for segment, name in names.items()}

    def watcher(self, program: ExecutableModule, known: StrongBytes, script: Script) -> InAnyPlace:
        """Who watches the next run. Raises NotAlike."""
        device = self.runs.devices[self.launch.loaded]
        code = program.functions[self.launch.entry]
        if self._alike is None:
            if code.directives.get("reqnctapercluster") or "blocksareclusters" in code.directives:
                raise NotAlike
            segments = device.memory.segments.items()
            sizes = {number: len(segment.data) for number, segment in segments if isinstance(segment, Segment)}
            self._alike = Alike(code, self.ctas, self.launch.block, sizes)
        self._segments = {n: s for n, s in device.memory.segments.items() if isinstance(s, Segment)}
        if not self._first:
            self._first = {n: bytes(self._segments[n].data) for n in self._buffers.values() if n in self._segments}
        self._last = InAnyPlace(self.symmetry.size, known, script, self._alike.accessed)
        return self._last

    def look(self) -> None:
        """Looks at what was accessed so far, and at what a run has left. Raises NotAlike."""
        assert self._alike is not None and self._last is not None
        if self._last.in_shared_memory():
            raise NotAlike
        self._alike.look()
        for label, address, size in self._observed():
            if len({self._bytes(at, size) for at in self._alike.others(address, size) or ()}) > 1:
                self._differ.add(label)

    def differing(self) -> frozenset[str]:
        """What the checks speak of that may have other values where CTAs change places."""
        assert self._alike is not None
        unknown = {label for label, address, size in self._observed() if self._alike.others(address, size) is None}
        return frozenset(self._differ | unknown)

    def _observed(self) -> Iterator[tuple[str, int, int]]:
        """What the checks speak of, where it is, and how many bytes."""
        types = {p.name: TYPES[p.type].width // 8 for p in self.runs.test.parameters if isinstance(p, Buffer)}
        for name, index in observed(self.runs.test.checks):
            if name in self._buffers:  # it is passed to the kernel
                yield f"{name}[{index}]", (self._buffers[name] << GLOBAL_BITS) + index * types[name], types[name]

    def _bytes(self, address: int, size: int) -> tuple[bytes, bytes]:
        """What some bytes of a buffer held at first and at the end: where CTAs differ in either, places do not look alike."""
        number, offset = address >> GLOBAL_BITS, address & (1 << GLOBAL_BITS) - 1
        part = slice(offset, offset + size)
        return self._first[number][part], bytes(self._segments[number].data[part])


__all__ = ["ChangingCtas", "NotAlike"]

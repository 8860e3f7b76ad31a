"""Who a thread of a kernel test is, and where to look for a line: the one rule for all findings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ptxcore.diagnostics import Diagnostic
from ptxcore.places import thread_name
from ptxcore.sources import beside
from ptxmm.kernels.launch import Dimensions
from ptxmm.kernels.test import KernelTest
from ptxmm.result import Spot

if TYPE_CHECKING:
    from axioms.dynamic.core.findings import Party
    from ptxcore.machine.lower.ops import ExecutableModule, Op

_WARP = 32  # threads


class Places:
    """Names and places of a test; launches are known by their numbers."""

    def __init__(self, test: KernelTest) -> None:
        self.test = test

    def thread(self, launch: int, cta: Dimensions, thread: Dimensions) -> str:
        """The name by which people know a thread: `CTA 0 thread (1, 2)`."""
        made = self.test.launches[launch]
        kernel = f" of {made.name or made.entry}" if len(self.test.launches) > 1 else ""
        return f"{thread_name(cta, thread)}{kernel}"

    def lane(self, launch: int, cta: Dimensions, thread: Dimensions) -> str:
        """The name with the warp and the lane, where a CTA has several warps: `CTA 0 thread 33 (warp 1, lane 1)`."""
        name = self.thread(launch, cta, thread)
        (x, y, z), (bx, by, bz) = thread, self.test.launches[launch].block
        warp, lane = divmod(x + bx * (y + by * z), _WARP)
        return f"{name} (warp {warp}, lane {lane})" if bx * by * bz > _WARP else name

    def launch_spot(self, launch: int, line: int) -> Spot:
        """A line of the PTX of a launch."""
        return Spot(_from_here(self.test.launches[launch].path), line)

    def warnings(self, found: Mapping[int, Iterable[Diagnostic]]) -> list[tuple[Spot, str]]:
        """What the authors of modules should know, by the number of a launch of each."""
        return [(self.launch_spot(n, d.span.line), d.message) for n, several in found.items() for d in several]

    def source_spot(self, launch: int, place: tuple[str, int]) -> Spot:
        """A place of the source, its file as it is found from here."""
        path, line = place
        return Spot(_from_here(beside(path, self.test.launches[launch].path)), line)

    def of(self, launch: int, op: Op, program: ExecutableModule) -> Spot:
        """Where to look for an instruction of the program of a launch."""
        return self.look(launch, op.instruction.span.line, self.source_of(launch, op, program))

    def of_party(self, launch: int, party: Party | None, program: ExecutableModule) -> str:
        """Where a thread is in the program of a launch; empty where nothing is known of that."""
        return "" if party is None else str(self.of(launch, party.op, program))

    def source_of(self, launch: int, op: Op, program: ExecutableModule) -> Spot | None:
        """Where such an instruction comes from, where that is known."""
        found = program.locations[op.location] if op.location >= 0 else None
        return self.source_spot(launch, found) if found else None

    def look(self, launch: int, line: int, source: Spot | None) -> Spot:
        """Where to look for a line of the PTX: at its source, where that is known and there to look at; else at the PTX. PTX
        that was compiled just now is in no file: then at the source as a whole."""
        if source is not None and os.path.exists(source.path):
            return source
        made_of = self.test.launches[launch].source
        return Spot(_from_here(made_of)) if made_of else self.launch_spot(launch, line)


def _from_here(path: str) -> str:
    """A path as seen from here, where it lies below."""
    relative = os.path.relpath(path) if os.path.isabs(path) else ".."
    return path if relative.startswith("..") else relative

"""Locks and barriers by size: how many threads can be decided, and in what time.

`python tests/kernels/sizes.py` prints the table of docs/locks.md: each lock or barrier of `locks/`, right and with one order
or scope weakened, for grids from 2x1 (blocks x threads of a block) on until one takes longer than a minute of a processor.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import ptxmm
from ptxmm.kernels.check import KernelQuestion

HERE = Path(__file__).parent
LOCKS = ("cas_lock", "ttas_lock", "ticket_lock", "grid_barrier")
VARIANTS = ("correct", "weak_order", "weak_scope")
#: Blocks and threads; the first six always, the others while the one before took less than `PATIENCE`.
GRIDS = ((2, 1), (2, 2), (2, 3), (4, 1), (4, 2), (3, 3), (6, 2), (4, 4), (6, 4), (8, 4))
ALWAYS = 6
PATIENCE = 60.0  # seconds of a processor
#: A check has so many times as long by the clock: others may compute on the machine.
SHARE = 4


class Row(NamedTuple):
    name: str
    variant: str
    grid: tuple[int, int]
    events: int
    verdict: str
    complete: bool
    seconds: float


def parameters(name: str, blocks: int, threads: int) -> tuple[dict[str, int], str]:
    """The buffers of a lock or barrier, with their elements; and what must hold in the end."""
    count = blocks * threads
    if name == "grid_barrier":
        seen = " && ".join(f"out[{i}] == {(i + threads) % count + 1}" for i in range(count))
        return {"x": count, "arrived": 1, "go": 1, "out": count}, seen
    if name == "ticket_lock":
        return {"next": 1, "serving": 1, "x": 1}, f"x[0] == {count}"
    return {"lock": 1, "x": 1}, f"x[0] == {count}"


def kernel(name: str, variant: str, blocks: int, threads: int) -> ptxmm.Kernel:
    """A lock or barrier as a kernel test."""
    buffers, seen = parameters(name, blocks, threads)
    params = {key: {"type": "u32", "elements": elements} for key, elements in buffers.items()}
    return ptxmm.Kernel(
        ptx=HERE / "locks" / f"{name}.{variant}.ptx", entry="k", grid=(blocks, 1, 1), block=(threads, 1, 1),
        params=params, forall=seen, name=f"{name}.{variant}",
    )  # fmt: skip


def row(name: str, variant: str, grid: tuple[int, int], patience: float | None = None) -> Row:
    """Decides one of them."""
    test = kernel(name, variant, *grid)
    begun = time.process_time()
    result = test.check(timeout=patience and SHARE * patience)
    seconds = time.process_time() - begun
    events = KernelQuestion(test.test, ptxmm.api.model_named("ptx-9.0")).built.program.size
    return Row(name, variant, grid, events, result.verdict, result.complete, seconds)


def rows() -> Iterator[Row]:
    for name in LOCKS:
        for variant in VARIANTS:
            for i, grid in enumerate(GRIDS):
                found = row(name, variant, grid, PATIENCE)
                yield found
                if i + 1 >= ALWAYS and (found.verdict == "undecided" or found.seconds > PATIENCE):
                    break


def table(found: list[Row]) -> str:
    lines = ["| kernel | variant | grid | threads | events | verdict | seconds |", "|---|---|---|---|---|---|---|"]
    for r in found:
        verdict = r.verdict
        blocks, threads = r.grid
        lines.append(
            f"| {r.name} | {r.variant} | {blocks}x{threads} | {blocks * threads} | {r.events} | {verdict} | {r.seconds:.1f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    done: list[Row] = []
    for each in rows():
        done.append(each)
        print(each, file=sys.stderr, flush=True)
    print(table(done))

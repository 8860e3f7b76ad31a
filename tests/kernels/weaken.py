"""What each fence, scope and order of a lock is good for: one step weaker, is it still right?

`python tests/kernels/weaken.py` prints the table of docs/locks.md: every weakening (see `weakenings`) of the locks and
barriers, for two blocks of two threads, with what it breaks, or that it breaks nothing: then no execution of that launch shows
a difference in what is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sizes import HERE, LOCKS, parameters
from weakenings import Weakening, weakenings

import ptxmm

#: A fifth lock, of those that nvcc makes of the kernels in `gate`.
QUEUE_LOCK = HERE / "gate" / "mcs_lock" / "fixed.ptx"


class Effect(NamedTuple):
    """What a weakening does: `harm` are the checks that it breaks, or the reason why it leaves no meaning."""

    kernel: str
    weakening: Weakening
    harm: tuple[str, ...]
    complete: bool


def test_of(name: str, text: str) -> ptxmm.Kernel:
    """A module as a test of the lock or barrier whose name it has."""
    if name == "mcs_lock":
        buffers = {"tail": 1, "next": 5, "locked": 5, "x": 1}
        seen, grid, block = "x[0] == 2", (2, 1, 1), (1, 1, 1)
    else:
        buffers, seen = parameters(name, 2, 2)
        grid = block = (2, 1, 1)
    return ptxmm.Kernel(
        ptx=text, entry="k", grid=grid, block=block, name=name, forall=seen, race_free=True, terminates=True,
        params={key: {"type": "u32", "elements": count} for key, count in buffers.items()},
    )  # fmt: skip


def modules() -> Iterator[tuple[str, Path]]:
    for name in LOCKS:
        yield name, HERE / "locks" / f"{name}.correct.ptx"
    yield "mcs_lock", QUEUE_LOCK


def effect(name: str, weakening: Weakening, timeout: float | None = None) -> Effect:
    """Decides a weakened module. Raises AssertionError for one that is not decided."""
    result = test_of(name, weakening.text).check(timeout=timeout)
    assert result.verdict in ("ok", "no", "undefined"), result.error
    broken = tuple(check.kind for check in result.checks if check.holds is False)
    harm = (result.error or "undefined",) if result.verdict == "undefined" else broken
    return Effect(name, weakening, harm, result.complete)


def table(found: list[Effect]) -> str:
    lines = ["| kernel | line | weakened | breaks |", "|---|---|---|---|"]
    for e in found:
        harm = ", ".join(e.harm) or ("nothing" if e.complete else "nothing within the bounds")
        lines.append(f"| {e.kernel} | {e.weakening.line} | `{e.weakening.what}` | {harm} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table([effect(name, w) for name, path in modules() for w in weakenings(path.read_text())]))

"""What each fence, scope and order of a lock is good for: `ptxmm weaken` says it.

`python tests/kernels/weaken.py` prints the table of docs/locks.md from what the command answers of each lock and barrier, for
two blocks of two threads (the queue lock: of one).
"""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from sizes import HERE, LOCKS, parameters

import ptxmm
from ptxmm.cli.main import main

#: A fifth lock, of those that nvcc makes of the kernels in `gate`.
QUEUE_LOCK = "mcs_lock"
NAMES = (*LOCKS, QUEUE_LOCK)


class Lock(NamedTuple):
    """A lock or barrier, what it is launched with, and what must hold in the end. `buffers` have so many elements."""

    path: Path
    buffers: dict[str, int]
    forall: str
    block: int

    def words(self) -> list[str]:
        """The launch and the claims, as `ptxmm check` and `ptxmm weaken` take them."""
        args = [word for name, count in self.buffers.items() for word in ("--arg", f"{name}=u32[{count}]")]
        launch = ["--entry", "k", "--grid", "2", "--block", str(self.block), *args, "--forall", self.forall]
        return [str(self.path), *launch, "--check", "race_free", "--check", "terminates"]

    def test(self, text: str) -> ptxmm.Kernel:
        """A module with this launch and these claims."""
        return ptxmm.Kernel(
            ptx=text, entry="k", grid=2, block=self.block, forall=self.forall, race_free=True, terminates=True,
            params={name: {"type": "u32", "elements": count} for name, count in self.buffers.items()},
        )  # fmt: skip


def lock(name: str) -> Lock:
    if name == QUEUE_LOCK:
        buffers = {"tail": 1, "next": 5, "locked": 5, "x": 1}
        return Lock(HERE / "gate" / name / "fixed.ptx", buffers, "x[0] == 2", 1)
    return Lock(HERE / "locks" / f"{name}.correct.ptx", *parameters(name, 2, 2), 2)


def weakened(name: str, timeout: int = 300) -> dict[str, Any]:
    """What `ptxmm weaken --format json` answers. Raises AssertionError where the search did not come to its end."""
    with redirect_stdout(StringIO()) as out:
        main(["weaken", *lock(name).words(), "--format", "json", "--timeout", str(timeout)])
    found: dict[str, Any] = json.loads(out.getvalue())["tests"][0]
    assert found["holds"] and found["complete"] and all(w["minimal"] and not w["bounded"] for w in found["weakens"])
    return found


def rows(name: str, found: dict[str, Any]) -> list[tuple[str, int, str, str]]:
    """The rows of a lock: what can be weaker, and what then cannot be, with the checks that fail."""
    made = []
    for number, one in enumerate(found["weakens"] or [{"edits": [], "needs": found["needs"]}], 1):
        who = f"{name}, weakening {number}" if one["edits"] else name
        steps = [(edit["line"], edit["what"], "nothing") for edit in one["edits"]]
        steps += [(need["line"], need["without"], broken_by(need)) for need in one["needs"]]
        made += [(who, line, f"`{what}`", broken) for line, what, broken in steps]
    return made


def kinds(failed: list[str]) -> str:
    """Which checks fail, by their first words."""
    return ", ".join(check.split()[0] for check in failed)


def broken_by(need: dict[str, Any]) -> str:
    """Which checks fail, and whether a larger launch is what shows it."""
    return kinds(need["fails"]) + f" on {need['on']}" * bool(need["on"])


def table(found: list[tuple[str, int, str, str]]) -> str:
    return "\n".join(["| kernel | line | weakened | breaks |", "|---|---|---|---|",
                      *(f"| {' | '.join(map(str, row))} |" for row in found)])  # fmt: skip


if __name__ == "__main__":
    print(table([row for name in NAMES for row in rows(name, weakened(name))]))

"""What a run of a launch comes by: which instructions that others may notice each thread executes, and how often.

A launch that never comes to an access says nothing of it, and one that goes round a loop many times says little more than one
that goes round it a few times: stages of buffers are used again then.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Instruction
from ptxmm.kernels.quiet_watcher import QuietWatcher, place_of_thread
from ptxmm.kernels.runs import Runs, Watchers
from ptxmm.kernels.test import KernelTest

#: How often a thread executes an instruction counts up to this: with four rounds, each of two or three stages is used again.
ROUNDS = 4
#: What others may notice, by opcode, unless it is about memory that no other thread sees.
_NOTICED = frozenset(
    {"ld", "st", "atom", "red", "cp", "bar", "barrier", "mbarrier", "fence", "membar", "wgmma", "tcgen05"}
)
_OWN = frozenset({"param", "const", "local"})


class ReachedCode(NamedTuple):
    """How often each thread executes each instruction that others may notice, up to `ROUNDS` times; of how many such
    instructions; and how often all of that is executed in all."""

    often: dict[tuple[int, object], int]
    noticed: int
    steps: int

    @property
    def instructions(self) -> int:
        """How many instructions some thread comes by."""
        return len({line for line, _ in self.often})

    @property
    def is_little(self) -> bool:
        """Whether they are less than a third of all: what is unrolled stands there several times."""
        return not self.often or 3 * self.instructions < self.noticed


def reached(test: KernelTest, limit: int) -> ReachedCode | None:
    """What a run of so many instructions at most comes by; None where it does not come to its end. Raises InputError."""
    watcher = _Passing()
    try:
        Runs(test, watched=True).run(limit=limit, unwritten=0, watch=lambda *_: Watchers(None, lambda: watcher))
    except (KernelError, UsageError):
        return None
    often = {place: min(count, ROUNDS) for place, count in watcher.often.items()}
    return ReachedCode(often, len(watcher.noticed), watcher.often.total())


def _is_noticed(instruction: Instruction) -> bool:
    return instruction.opcode in _NOTICED and not _OWN & set(instruction.modifiers)


class _Passing(QuietWatcher):
    """Counts how often each thread comes by which instruction, by its line; `noticed` are all that others may notice."""

    def __init__(self) -> None:
        self.often: Counter[tuple[int, object]] = Counter()
        self.noticed: set[int] = set()

    def _passes(self, *told: Any, **_: Any) -> Any:
        thread = told[0]
        if not self.noticed:
            instructions = (op.instruction for op in thread.launch.compiled.ops)
            self.noticed = {one.span.line for one in instructions if _is_noticed(one)}
        line = thread.instruction.instruction.span.line
        if line in self.noticed:
            self.often[line, place_of_thread(thread)] += 1

    reads = writes = updates = operates = begins = commits = waited = arrives = other = _passes

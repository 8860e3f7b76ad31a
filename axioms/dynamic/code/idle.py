"""Code in which a thread does nothing but pass time: how long it sleeps between two polls, and how long it has polled already.

A waiting loop of libcu++ counts its polls, reads a clock, and sleeps for longer and longer. What it does then hangs on things
that no execution determines, and yet nothing that anybody sees does. Blocks of code are *idle* where

1. they only compute, read special registers, sleep (`nanosleep`) and branch;
2. all ways through them lead to one place behind them, and none goes round within them;
3. no instruction outside of idle blocks depends on what they write to registers.

So each idle block can be taken for a jump to that place: whatever its threads hold in their registers, they come there, soon,
and hold the same as before in all that matters from there on. With a jump in the place of one of them, what it read is read no
more: so all of them can be replaced, one after the other, and what idle blocks read decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from axioms.dynamic.code.needed import needed_bits
from ptxcore.machine.ir.steps import CHANGING
from ptxcore.machine.lower.liveness import writes
from ptxcore.machine.lower.ops import Code, Op, Source
from ptxcore.records import NamedTuple

_LEAVES = ("branch", "jump", "exit", "return")


class Idle(NamedTuple):
    """The idle blocks of a function: their instructions, by their identities; and by the first instruction of each the one that
    it leads to."""

    operations: frozenset[int] = frozenset()
    jumps: Mapping[int, int] = MappingProxyType({})


def idle_blocks(code: Code) -> Idle:
    """Those of a function that reads a clock or sleeps."""
    if not any(op.use.form.mnemonic == "nanosleep" or reads_a_clock(op) for op in code.ops):
        return Idle()
    blocks = _Blocks(code)
    idle = {b for b in blocks.order if all(map(_passes_time, blocks.ops(b)))}
    while True:
        before = len(idle)
        leads = blocks.leading_to_one(idle)
        idle = set(leads)
        found = frozenset(id(op) for b in idle for op in blocks.ops(b))
        needed = needed_bits(code, found)
        idle = {b for b in idle if not any(needed.get(slot) for op in blocks.ops(b) for slot in writes(op))}
        if len(idle) == before:
            return Idle(found, {blocks.cuts[b]: blocks.cuts[to] for b, to in leads.items()})


def reads_a_clock(op: Op) -> bool:
    """Whether an instruction reads a special register that changes while its thread runs."""
    return any(s.kind == "special" and s.name in CHANGING for s in _all(op.sources))


def _all(sources: list[Source | None]) -> list[Source]:
    found: list[Source] = []
    waiting = list(sources)
    while waiting:
        source = waiting.pop()
        if source is not None:
            found.append(source)
            waiting += source.parts
    return found


def _passes_time(op: Op) -> bool:
    """Whether an instruction only computes, sleeps, or branches."""
    form = op.use.form
    if form.kind == "value":
        return op.call is None and not form.carry and not form.updates
    return form.mnemonic == "nanosleep" or form.kind in ("branch", "nothing")


class _Blocks:
    """The basic blocks of a function: where each begins, which come behind it, and which of them begin loops."""

    def __init__(self, code: Code) -> None:
        self.code = code
        ends = {at + 1 for at, op in enumerate(code.ops) if op.labels or op.use.form.kind in _LEAVES}
        self.cuts = sorted(cut for cut in {0, *code.labels.values(), *ends} if cut < len(code.ops))
        numbers = {cut: b for b, cut in enumerate(self.cuts)}
        self.behind: list[list[int | None]] = []  # None: the end of the function
        for b in range(len(self.cuts)):
            last = self.ops(b)[-1]
            goes: list[int | None] = [numbers.get(code.labels.get(label, -1)) for label in last.labels]
            if last.guard is not None or last.use.form.kind not in _LEAVES:
                goes.append(b + 1 if b + 1 < len(self.cuts) else None)
            self.behind.append(goes)
        #: Every way round leads back to one of the heads; all other ways lead to blocks that come before in the order.
        self.heads, self.order = self._searched()

    def _searched(self) -> tuple[set[int], list[int]]:
        """The blocks to which a search in depth comes back while it is behind them; and all that it finds, as it leaves
        them."""
        heads: set[int] = set()
        order: list[int] = []
        begun, ended = {0}, set[int]()
        way = [(0, iter(self.behind[0]))]
        while way:
            block, goes = way[-1]
            to = next(goes, -1)
            if to == -1:
                way.pop()
                ended.add(block)
                order.append(block)
            elif to is not None and to in begun:
                heads |= {to} - ended
            elif to is not None:
                begun.add(to)
                way.append((to, iter(self.behind[to])))
        return heads, order

    def ops(self, block: int) -> list[Op]:
        end = self.cuts[block + 1] if block + 1 < len(self.cuts) else len(self.code.ops)
        return self.code.ops[self.cuts[block] : end]

    def leading_to_one(self, blocks: set[int]) -> dict[int, int]:
        """Those of some blocks of which all ways, within these, lead to one other block, with that."""
        leads: dict[int, int] = {}
        for block in filter(
            blocks.__contains__, self.order
        ):  # a way round comes back to one of which nothing is known yet
            ends = {leads.get(to) if to in blocks else to for to in self.behind[block] if to is not None}
            ends |= {None} if None in self.behind[block] else set()
            if len(ends) == 1 and (end := ends.pop()) is not None:
                leads[block] = end
        return leads

"""Products of warpgroups, of all that stand at one instruction together (`wgmma`, PTX ISA 9.0, section 9.7.15); as in
`ptxcore.machine.run.warpgroups`: computed when somebody waits for them, and until then nobody wrote the registers of A and D.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxcore.isa.warpgroup_product import (
    THREADS,
    BadMatrixDescriptor,
    Given,
    filled,
    fragments,
    given,
    matrix,
    multiplied,
    planned,
    registers,
)
from ptxcore.machine.lower.liveness import operands_read, writes
from ptxcore.machine.lower.ops import Code, Op
from ptxcore.machine.run.special import WARP
from ptxcore.machine.vector.memory import GroupMemory
from ptxcore.machine.vector.registers import NOTHING, Irregular, LaneRegisters, Partial, merge, select
from ptxcore.machine.vector.steps import Meet
from ptxcore.machine.vector.steps import filled as with_numbers


class ProductBatch:
    """One product of some warpgroups. `threads` are theirs, in order; `a`, `before` and `metadata` what they bring, `result`
    the registers of D."""

    def __init__(self, op: Op, threads: Any, told: list[Given]) -> None:
        self.op, self.plan, self.threads, self.told = op, planned(op.use), threads, told
        self.to = writes(op)
        self.from_: list[int] = []
        self.a: list[Any] = []
        self.before: list[Any] = []
        self.metadata: Any = None
        self.earlier: ProductBatch | None = None
        self.result: list[Any] = []

    def finish(self, memory: GroupMemory, rows: Any) -> None:
        """Computes D, unless that is done; `rows` are the CTAs of all threads. Raises Irregular."""
        if self.result:
            return
        plan, first = self.plan, self.told[0]
        memory.settle()
        found = []
        for number, told in enumerate(self.told):
            row = int(rows[self.threads[number * THREADS]])
            start = row * memory.stride
            data = memory.shared.bytes[start : start + memory.shared_bytes]
            written = memory.shared.known
            known = None if written is None else written[row, : memory.shared_bytes]
            pair = []
            for name, descriptor, transposed in zip("ab", told[3:5], told.transposed, strict=True):
                if descriptor is not None:
                    part, unknown, _ = _matrix(plan, name, descriptor, data, known, transposed)
                    if unknown.any():
                        raise Irregular("memory that nobody wrote")
                    pair.append(part)
            found.append(pair)
        b = np.stack([pair[-1] for pair in found])
        a = np.stack([pair[0] for pair in found]) if plan.a is None else fragments(plan.a, _of_warps(self.a))
        if plan.sparse is not None:
            a, good = filled(self.op.use, plan, a, _of_warps([self.metadata])[0], np.array([first.selector]))
            if not good.all():
                raise Irregular("metadata that has no meaning")
        c = None
        if first.adds:
            before = self.before
            if self.earlier is not None:
                self.earlier.finish(memory, rows)
                before = self.earlier.result
            c = fragments(plan.d, _of_warps(before))
        d = multiplied(plan, a, b, c, first.signs)
        self.result = [np.ascontiguousarray(r).reshape(-1) for r in registers(plan.d, d)]
        self.before, self.earlier = [], None


def _matrix(*arguments: Any) -> Any:
    *rest, transposed = arguments
    try:
        return matrix(*rest, transposed=transposed)
    except BadMatrixDescriptor as error:
        raise Irregular(str(error.args[1])) from None


def _of_warps(columns: list[Any]) -> list[Any]:
    return [np.ascontiguousarray(column, np.uint32).reshape(-1, WARP) for column in columns]


class GroupProducts:
    """The products of a group of CTAs that are not waited for. `number`: the warpgroup of each thread."""

    def __init__(
        self, code: Code, rows: Any, within: Any, threads: int, registers_: LaneRegisters, memory: GroupMemory
    ) -> None:
        self.rows, self.registers, self.memory = rows, registers_, memory
        self.count = len(rows)
        self.number = rows * -(-threads // THREADS) + within // THREADS
        self.slots = sorted({s for op in code.ops if op.use.form.updates for s in (*operands_read(op), *writes(op))})
        self.fenced = np.zeros(self.count, np.bool_)
        #: The registers that products access, as they were at the last fence.
        self.snapshot: dict[int, Any] = {}
        #: By slot, for each thread the product that holds the register, and 0.
        self.holders: dict[int, Any] = {}
        self.batches: list[ProductBatch | None] = [None]
        self.open: dict[int, list[int]] = {}
        self.closed: dict[int, list[list[int]]] = {}

    def ready(self, threads: Any) -> Any:
        """Which threads have all of their warpgroup beside them."""
        numbers = self.number[threads]
        return (np.bincount(numbers) == THREADS)[numbers]

    def execute(self, op: Op, meet: Meet, threads: Any, operands: tuple[Any, ...]) -> None:
        """Whole warpgroups execute an instruction. Raises Irregular."""
        left = iter(operands)
        sources = [with_numbers(shape, left) for shape in meet.shapes]
        action = op.instruction.modifiers[0]
        if action == "mma_async":
            for some, told in self._alike(op, threads, sources):
                places = np.flatnonzero(some)
                self._begin(op, threads[places], told, [_some(s, places) for s in sources])
        elif action == "fence":
            self._fence(threads)
        elif action == "commit_group":
            for number in np.unique(self.number[threads]).tolist():
                self.closed.setdefault(number, []).append(self.open.pop(number, []))
        else:
            self._wait(threads, int(sources[0]))

    def _alike(self, op: Op, threads: Any, sources: list[Any]) -> list[tuple[Any, list[Given]]]:
        """The warpgroups by what they say but for descriptors. Raises Irregular where the threads of one differ."""
        plan = planned(op.use)
        for name, i in plan.at.items():
            value = sources[i]
            if name in ("a", "sp_meta") or not _varies(value):
                continue
            if (value.reshape(-1, THREADS) != value[::THREADS, None]).any():
                raise Irregular("threads that do not agree")
        found: dict[Any, list[tuple[int, Given]]] = {}
        for number in range(threads.size // THREADS):
            at = number * THREADS
            one = [0 if isinstance(s, tuple) or type(s) is Partial else s[at] if _varies(s) else s for s in sources]
            told = given(plan, one)
            found.setdefault((told[:3], told.selector), []).append((number, told))
        result = []
        for some in found.values():
            mine = np.zeros(threads.size // THREADS, np.bool_)
            mine[[number for number, _ in some]] = True
            result.append((np.repeat(mine, THREADS), [told for _, told in some]))
        return result

    def _begin(self, op: Op, threads: Any, told: list[Given], sources: list[Any]) -> None:
        if not self.fenced[threads].all():
            raise Irregular("a product without a fence")
        batch = ProductBatch(op, threads, told)
        plan = batch.plan
        for slot in batch.to:
            value, holder = self._held(slot, threads)
            if holder is not None:
                if batch.earlier not in (None, holder) or slot not in holder.to or not _follows(batch, holder):
                    raise Irregular("a register of a product that is not waited for")
                batch.earlier = holder
            elif batch.earlier is not None:
                raise Irregular("some registers of a product that is not waited for")
            elif told[0].adds and type(value) is Partial:
                raise Irregular("a register that nothing wrote")
            else:
                batch.before.append(_wide(value, threads.size) if told[0].adds else None)
        if plan.a is not None:
            self._take(batch, op.sources[plan.at["a"]], sources[plan.at["a"]])
        if plan.sparse is not None:
            batch.metadata = _wide(sources[plan.at["sp_meta"]], threads.size)
        identity = len(self.batches)
        self.batches.append(batch)
        for slot in (*batch.to, *batch.from_):
            self.holders.setdefault(slot, np.zeros(self.count, np.int64))[threads] = identity
            self.registers.put(slot, NOTHING, threads)
        for number in np.unique(self.number[threads]).tolist():
            self.open.setdefault(number, []).append(identity)

    def _take(self, batch: ProductBatch, source: Any, values: Any) -> None:
        """A in registers."""
        for part, given_ in zip(source.parts, values, strict=True):
            value = given_
            if part.kind == "register":
                batch.from_.append(part.value)
                value, holder = self._held(part.value, batch.threads)
                if holder is not None:
                    if part.value not in holder.from_ or not np.array_equal(holder.threads, batch.threads):
                        raise Irregular("a register of a product that is not waited for")
                    value = holder.a[holder.from_.index(part.value)]
            if type(value) is Partial:
                raise Irregular("a register that nothing wrote")
            batch.a.append(_wide(value, batch.threads.size))
        if len(batch.from_) != len(batch.a):
            raise Irregular("A is in part no register")

    def _held(self, slot: int, threads: Any) -> tuple[Any, ProductBatch | None]:
        """A register, and the product that holds it. Raises Irregular where it was written since the last fence, or was touched
        by somebody else."""
        value = select(self.registers.values[slot], threads)
        holders = self.holders.get(slot)
        mine = None if holders is None else holders[threads]
        if mine is not None and mine.any():
            if (mine != mine[0]).any() or not _undefined(value):
                raise Irregular("a register of a product that is not waited for")
            return value, self.batches[int(mine[0])]
        if not _same(value, select(self.snapshot.get(slot, NOTHING), threads)):
            raise Irregular("a register that was written since the fence")
        return value, None

    def _fence(self, threads: Any) -> None:
        self.fenced[threads] = True
        self.registers.own.clear()
        for slot in self.slots:
            now = self.registers.values[slot]
            if threads.size != self.count:
                now = merge(self.snapshot.get(slot, NOTHING), threads, select(now, threads), self.count)
            self.snapshot[slot] = now

    def _wait(self, threads: Any, pending: int) -> None:
        due: dict[int, list[Any]] = {}
        numbers = self.number[threads]
        for number in np.unique(numbers).tolist():
            groups = self.closed.get(number, [])
            waited = groups[: len(groups) - pending] if pending else groups
            self.closed[number] = groups[len(waited) :]
            mine = threads[numbers == number]
            for group in waited:
                for identity in group:
                    due.setdefault(identity, []).append(mine)
        for identity in sorted(due):
            self._release(identity, np.concatenate(due[identity]))

    def _release(self, identity: int, threads: Any) -> None:
        """Threads have waited for a product."""
        batch = self.batches[identity]
        assert batch is not None
        batch.finish(self.memory, self.rows)
        places = np.searchsorted(batch.threads, threads)
        for slot, column in zip((*batch.to, *batch.from_), (*batch.result, *batch.a), strict=True):
            holders = self.holders[slot]
            mine = holders[threads] == identity
            if not mine.any():
                continue  # a later product has it
            if not mine.all() or not _undefined(select(self.registers.values[slot], threads)):
                raise Irregular("a register of a product that is not waited for")
            holders[threads] = 0
            self.registers.put(slot, column[places], threads)
            self.registers.own.pop(slot, None)
            now = self.registers.values[slot]
            if threads.size != self.count:
                now = merge(self.snapshot.get(slot, NOTHING), threads, column[places], self.count)
            self.snapshot[slot] = now

    def ended(self, threads: Any) -> None:
        """Threads end: their products are computed."""
        for number in np.unique(self.number[threads]).tolist():
            for group in (*self.closed.get(number, ()), self.open.get(number, [])):
                for identity in group:
                    batch = self.batches[identity]
                    assert batch is not None
                    batch.finish(self.memory, self.rows)


def _follows(batch: ProductBatch, earlier: ProductBatch) -> bool:
    """Whether a product may go on with the accumulator of one that is not waited for."""
    alike = batch.op.use.words["shape"] == earlier.op.use.words["shape"]
    return alike and batch.to == earlier.to and np.array_equal(batch.threads, earlier.threads)


def _some(value: Any, places: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_some(v, places) for v in value)
    return select(value, places) if type(value) is Partial or _varies(value) else value


def _wide(value: Any, count: int) -> Any:
    return value if _varies(value) else np.full(count, value, np.uint32)


def _undefined(value: Any) -> bool:
    return type(value) is Partial and (value.values is None or not value.defined.any())


def _same(now: Any, before: Any) -> bool:
    if now is before:
        return True
    if type(now) is Partial or type(before) is Partial:
        return _undefined(now) and _undefined(before)
    return bool((now == before).all())


def _varies(value: Any) -> bool:
    """Whether a value is an array of one for each thread."""
    return type(value) is not Partial and bool(np.ndim(value))

"""A group of CTAs whose threads go on together: those that stand at the same instruction execute it as one.

Where threads have parted, those that are furthest behind go on, so that paths come together again. What does not fit is
`Irregular`: a value that nobody wrote, an error, threads that wait for others by looking at memory again and again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxcore.machine.ir.windows import SHARED, SHARED_BITS
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.special import OF_THREAD, WARP, Shape, Triple, of_cta
from ptxcore.machine.vector.atomic import modified
from ptxcore.machine.vector.codegen import Blocks
from ptxcore.machine.vector.meeting import Arrivals, Barriers, Crew, Lanes, Released, together
from ptxcore.machine.vector.memory import GroupMemory, Several
from ptxcore.machine.vector.order import Order
from ptxcore.machine.vector.registers import ALL, Irregular, Registers, select, written
from ptxcore.machine.vector.steps import Fork, Meet, Stop, extended
from ptxcore.machine.vector.watching import Accesses, Watcher

#: Blocks after which other paths have a turn, and after which it is looked whether anything changes.
_TURN = 1680
#: The coordinates of CTAs, by the special registers that have them.
_INDICES = {"ctaid.x": 0, "ctaid.y": 1, "ctaid.z": 2}


class Group:
    """CTAs under way. `first` is the number of their first thread."""

    def __init__(
        self, blocks: Blocks, memory: GroupMemory, ctas: list[Triple], shape: Shape, places: list[Any], dynamic: int,
        first: int, watcher: Watcher | None, allowed: int | None,
    ) -> None:  # fmt: skip
        self.blocks, self.memory, self.dynamic = blocks, memory, dynamic
        self.first, self.watcher, self.allowed = first, watcher, allowed
        self.ctas, self.shape, self.places = ctas, shape, places
        self.count = len(places) * len(ctas)
        self.registers = Registers(blocks.slots, self.count)
        self.executed = 0
        #: Threads that can go on, by block; None: all of the group.
        self.paths: dict[int, Any] = {}
        #: Threads that wait for others of their warps: by block, with the operands of their instruction.
        self.parked: dict[int, tuple[Op, Any, tuple[Any, ...], int]] = {}
        self.operators: dict[int, str] = {}
        warps = -(-len(places) // WARP)
        within = np.arange(self.count) % len(places)
        self.crew = Crew(memory.row, memory.row * warps + within // WARP, within % WARP, np.ones(self.count, np.bool_))
        self.barriers: Barriers | None = None
        #: Sees to it that the order of threads does not matter in shared memory; who watches does so in ways of its own.
        self.order: Order | None = None
        if watcher is None and memory.shared.size:
            self.order = Order(self.crew, memory.shared.size, blocks.granule)
        self._special: dict[tuple[str, Any], Any] = {}
        self._variables: dict[tuple[Any, ...], Any] = {}
        self._steps = 0
        self._seen: tuple[Any, ...] = ()
        #: The registers of a path when it looked last at what others write, by block; and paths that did so in vain, which
        #: go on when others have done something.
        self._polled: dict[int, tuple[Any, list[Any]]] = {}
        self._resting: dict[int, Any] = {}
        self._moved = False
        #: Threads that went on after they had waited so.
        self._resumed = 0
        self.ended = 0

    # Running.

    def run(self) -> None:
        """All threads to their ends. Raises Irregular."""
        self.paths[0] = None
        while self.paths or self._resting:
            if not self.paths:
                self._resumed += sum(self.count if who is None else who.size for who in self._resting.values())
                if not self._moved or (self._resumed > self.count and self.watcher is None):
                    raise Irregular("threads that wait for others")
                self.paths, self._resting, self._moved = self._resting, {}, False
            block = min(self.paths)
            self._advance(block, self.paths.pop(block))
        if self.ended < self.count:
            raise Irregular("no thread can go on")

    def _advance(self, block: int, who: Any) -> None:
        """Lets the threads of one path go on until they part, meet others, or are ahead of them."""
        run, costs, polling = self.blocks.run, self.blocks.costs, self.blocks.polling
        count = self.count if who is None else who.size
        while True:
            if polling[block] and self._polls(block, who):
                self._resting[block] = who
                return
            self.executed += costs[block] * count
            if who is None:
                self.registers.own.clear()
            following = run[block](self, who, count)
            self._steps += 1
            if self._steps % _TURN == 0:
                self._check(block, who)
            if type(following) is int:
                if following < 0:
                    self._exit(who)
                    return
                block = following
                if self.paths and block >= min(self.paths):
                    self._add(block, who)
                    return
                continue
            if type(following) is Fork:
                numbers = self.numbers(who)
                for i, target in enumerate(following.targets):
                    part = numbers[following.way == i]
                    if part.size:
                        self._add(target, part) if target >= 0 else self._exit(part)
                return
            self._stop(block, who, following)
            return

    def numbers(self, who: Any) -> Any:
        """The numbers of threads in the group."""
        return np.arange(self.count) if who is None else who

    def _add(self, block: int, who: Any) -> None:
        """Threads come to a block."""
        others = self.paths.get(block)
        if others is not None:
            who = np.concatenate((others, who))
            who.sort()
        self.paths[block] = None if who is not None and who.size == self.count else who

    def _exit(self, who: Any) -> None:
        numbers = self.numbers(who)
        if self.watcher is not None:
            self.watcher.exit(numbers + self.first)
        self.crew.alive[numbers] = False
        self.ended += numbers.size
        self._moved = True
        if self.barriers is not None and self.barriers.pending:
            self._release(self.barriers.ended(self.operators))
        for block in list(self.parked):
            op, waiting, operands, following = self.parked.pop(block)
            self._converge(block, op, waiting, operands, following)

    def _polls(self, block: int, who: Any) -> bool:
        """A path looks at what others write. Whether it has done so before, and nothing has changed since."""
        numbers = self.numbers(who)
        before = self._polled.get(block)
        values = self.registers.values
        now = [select(values[slot], numbers) for slot in sorted(self.blocks.wanted[block])]
        self._polled[block] = numbers, now
        if before is None or before[0].size < numbers.size:
            self._moved = True
            return False
        at = np.searchsorted(before[0], numbers)
        if not (before[0][np.minimum(at, before[0].size - 1)] == numbers).all():
            self._moved = True
            return False
        if not all(_same(select(a, at), b) for a, b in zip(before[1], now, strict=True)):
            self._moved = True
            return False
        del self._polled[block]
        if block in self._resting:
            raise Irregular("several paths that wait for others")
        return True

    def _check(self, block: int, who: Any) -> None:
        """Many steps later: whether there were too many, and whether anything has changed."""
        if self.allowed is not None and self.executed > self.allowed:
            raise Irregular("more instructions than are allowed")
        if self.paths or self.parked or self._resting:
            raise Irregular("a path that others wait for, for long")
        values = self.registers.values
        now = [v if who is None else v if not getattr(v, "ndim", 0) else v[who] for v in values]
        before, self._seen = self._seen, (block, now)
        if before and before[0] == block and all(_same(a, b) for a, b in zip(before[1], now, strict=True)):
            raise Irregular("a loop in which nothing changes")

    # Meetings.

    def _stop(self, block: int, who: Any, stop: Stop) -> None:
        numbers = self.numbers(who)
        op, operands = stop.op, stop.operands
        if stop.places is not ALL:
            stays = np.zeros(numbers.size, np.bool_)
            stays[stop.places] = True
            self._add(stop.following, numbers[~stays]) if stop.following >= 0 else self._exit(numbers[~stays])
            numbers = numbers[stays]
        meet = self.blocks.meets[id(op)]
        if op.use.form.kind == "warp":
            earlier = self.parked.pop(block, None)
            if earlier is not None:
                numbers, operands = _joined(earlier[1], earlier[2], numbers, operands)
            self._converge(block, op, numbers, operands, stop.following)
            return
        self._barrier(op, meet, numbers, operands, stop.following)

    def _barrier(self, op: Op, meet: Meet, threads: Any, operands: tuple[Any, ...], following: int) -> None:
        identity, count, operand = operands
        if (identity.ndim and (identity != identity[0]).any()) or (
            count is not None and count.ndim and (count != count[0]).any()
        ):
            raise Irregular("threads at several barriers")
        if count is not None and not count.min():
            raise Irregular("a count that cannot be")
        number = int(identity.min())
        many = 0 if count is None else int(count.min())
        if self.barriers is None:
            self.barriers = Barriers(self.crew)
        self._moved = True
        self.memory.settle()
        waits = meet.action != "arrive"
        if self.watcher is not None:
            self.watcher.arrive(op, threads + self.first, number, many or None, waits)
        if self.operators.setdefault(number, meet.operator) != meet.operator and number in self.barriers.pending:
            raise Irregular("two reductions at one barrier")
        self.operators[number] = meet.operator
        done = self.barriers.arrive(number, many, meet.operator, Arrivals(op, threads, following, operand, waits))
        if not waits:
            self._add(following, threads) if following >= 0 else self._exit(threads)
        self._release(done)

    def _release(self, done: list[tuple[int, list[Released], Any]]) -> None:
        for number, released, came in done:
            if self.order is not None:
                self.order.barrier(came)
            if self.watcher is not None:
                waited = np.concatenate([r.threads for r in released]) if released else came[:0]
                waited.sort()
                for row in np.unique(self.crew.row[came]):
                    of_row = self.crew.row[came] == row
                    goes = waited[self.crew.row[waited] == row]
                    cta = self.first // len(self.places) + int(row)
                    self.watcher.complete(number, cta, came[of_row] + self.first, goes + self.first)
            for r in released:
                target = next((t for t in self.blocks.meets[id(r.arrivals.op)].targets if t is not None), None)
                if target is not None and r.result is not None:
                    self.registers.put(target.slot, extended(r.result, target), r.threads)
                following = r.arrivals.following
                self._add(following, r.threads) if following >= 0 else self._exit(r.threads)

    def _converge(self, block: int, op: Op, threads: Any, operands: tuple[Any, ...], following: int) -> None:
        """Threads are at an instruction of warps: those whose warps are complete go on."""
        meet = self.blocks.meets[id(op)]
        if meet.mask is None:
            raise Irregular("whoever comes")
        ready = Lanes.ready(self.crew, threads, operands[meet.mask])
        if not ready.all():
            self.parked[block] = op, threads[~ready], tuple(_part(o, ~ready) for o in operands), following
            if not ready.any():
                return
            threads, operands = threads[ready], tuple(_part(o, ready) for o in operands)
        self._moved = True
        if self.watcher is not None:
            self.watcher.converge(op, threads + self.first)
        if self.order is not None:
            self.order.converge(threads)
        targets = meet.targets
        if targets:
            widths = tuple(t.width if t is not None else 64 for t in targets)
            for part, given in _by_mask(threads, operands, meet.mask):
                for target, result in zip(targets, together(self.crew, op.use, part, given, widths), strict=True):
                    if target is not None:
                        self.registers.put(target.slot, extended(result, target), part)
        self._add(following, threads) if following >= 0 else self._exit(threads)

    # What blocks ask.

    def special(self, name: str, kind: Any, who: Any) -> Any:
        """A special register: an array, or one number where it is the same for all."""
        found = self._special.get((name, kind))
        if found is None:
            if name in OF_THREAD:
                values = [place.special[name] for place in self.places]
                found = np.tile(np.array(values, np.uint64).astype(kind), len(self.ctas))
            else:
                axis = _INDICES.get(name)
                values = [of_cta(self.shape, cta)[name] if axis is None else cta[axis] for cta in self.ctas]
                if min(values) == max(values):
                    found = kind(values[0])
                else:
                    found = np.repeat(np.array(values, np.uint64).astype(kind), len(self.places))
            self._special[name, kind] = found
        return found if who is None or not found.ndim else found.take(who)

    def variable(self, offset: int, further: int, kind: Any, who: Any) -> Any:
        """The address of a variable in shared memory; of an `offset` -1, of what the launch gives."""
        key = offset, further, kind
        found = self._variables.get(key)
        if found is None:
            at = (self.dynamic if offset < 0 else offset) + further
            if self.memory.ranked is None:
                found = kind(SHARED + at)
            else:
                found = ((self.memory.ranked << np.uint64(SHARED_BITS)) + np.uint64(SHARED + at)).astype(kind)
            self._variables[key] = found
        return found if who is None or not found.ndim else found.take(who)

    def rank(self, who: Any) -> Any:
        """The rank of each thread's CTA in its cluster."""
        ranked = self.memory.ranked
        if ranked is None:
            return np.uint32(0)
        return (ranked if who is None else ranked[who]).astype(np.uint32)

    def parameter(self, address: int, size: int) -> Any:
        """A parameter of the kernel."""
        key = "parameter", address, size
        found = self._variables.get(key)
        if found is None:
            area, place = self.memory.locate("param", np.uint64(address), size, None, False)
            found = self._variables[key] = area.view(size)[place]
        return found

    def fence(self, op: Op, who: Any) -> None:
        """A fence; memory here is sequentially consistent."""
        if self.watcher is not None:
            self.watcher.fence(op, self.numbers(who) + self.first)

    def load(self, op: Op, space: str, a: Any, size: int, who: Any, count: int) -> Any:
        """What stands at addresses: one number where they are one."""
        try:
            area, places = self.memory.locate(space, a, size, who, False)
            values = area.view(size)[places]
            if area is self.memory.shared and self.order is not None:
                self.order.access(places, size, self.numbers(who), "read")
        except Several:
            values = self._split(a, who, lambda b, w: self.load(op, space, b, size, w, b.size))
            return values
        if self.watcher is not None:
            self._tell(op, "read", who, a, size, read=values)
        return values

    def load_parts(self, op: Op, space: str, a: Any, size: int, parts: int, who: Any, count: int) -> tuple[Any, ...]:
        """The elements of vectors."""
        try:
            area, places = self.memory.locate(space, a, size * parts, who, False)
            rows = area.view(size, parts)[places]
            if area is self.memory.shared and self.order is not None:
                self.order.access(places, size * parts, self.numbers(who), "read")
        except Several:
            rows = self._split(a, who, lambda b, w: np.stack(self.load_parts(op, space, b, size, parts, w, b.size), 1))
            return tuple(np.ascontiguousarray(rows[:, i]) for i in range(parts))
        values = tuple(rows[i] if rows.ndim == 1 else np.ascontiguousarray(rows[:, i]) for i in range(parts))
        if self.watcher is not None:
            self._tell(op, "read", who, a, size, parts, read=values)
        return values

    def store(self, op: Op, space: str, a: Any, size: int, value: Any, who: Any, count: int) -> None:
        """Writes numbers; of threads that write to one place the last one stays."""
        written(value)
        try:
            area, places = self.memory.locate(space, a, size, who, True)
        except Several:
            self._split(a, who, lambda b, w, at: self.store(op, space, b, size, _part(value, at), w, b.size), False)
            return
        if area is self.memory.shared and self.order is not None:
            self.order.access(places, size, self.numbers(who), "write")
        view = area.view(size)
        view[places] = value if type(places) is not int or not value.ndim else value[-1]
        if self.watcher is not None:
            self._tell(op, "write", who, a, size, written=value)

    def store_parts(self, op: Op, space: str, a: Any, size: int, values: tuple[Any, ...], who: Any, count: int) -> None:
        """Writes the elements of vectors."""
        for value in values:
            written(value)
        try:
            area, places = self.memory.locate(space, a, size * len(values), who, True)
        except Several:
            self._split(
                a, who,
                lambda b, w, at: self.store_parts(op, space, b, size, tuple(_part(v, at) for v in values), w, b.size),
                False,
            )  # fmt: skip
            return
        if area is self.memory.shared and self.order is not None:
            self.order.access(places, size * len(values), self.numbers(who), "write")
        view = area.view(size, len(values))
        for i, value in enumerate(values):
            view[places, i] = value if type(places) is not int or not value.ndim else value[-1]
        if self.watcher is not None:
            self._tell(op, "write", who, a, size, len(values), written=values)

    def modify(self, op: Op, space: str, a: Any, size: int, update: Any, operands: Any, who: Any, count: int) -> Any:
        """An atomic read-modify-write, in the order of the threads; gives what was there before."""
        try:
            self.memory.locate(space, a, size, who, False)
            area, places = self.memory.locate(space, a, size, who, True)
        except Several:
            raise Irregular("atomic operations in several buffers") from None
        if area is self.memory.shared and self.order is not None:
            self.order.access(places, size, self.numbers(who), "atomic")
        old, new, writes = modified(area.view(size), places, count, update, operands, a, self.rank(who))
        if self.watcher is not None:
            threads = self.numbers(who) + self.first
            self.watcher.access(Accesses(op, "atomic", threads, a, size, 1, old, new, writes))
        return old

    def _split(self, a: Any, who: Any, each: Any, gives: bool = True) -> Any:
        """An access to several stretches of memory, one after the other."""
        numbers = self.numbers(who)
        high = a >> np.uint64(32)
        keys = np.where(high != 0, high + np.uint64(16), a >> np.uint64(28))
        found: Any = None
        for key in np.unique(keys):
            at = np.flatnonzero(keys == key)
            if not gives:
                each(a[at], numbers[at], at)
                continue
            values = each(a[at], numbers[at])
            if found is None:
                found = np.zeros((a.size, *values.shape[1:]), values.dtype)
            found[at] = values
        return found

    def _tell(self, op: Op, kind: str, who: Any, a: Any, size: int, parts: int = 1, **values: Any) -> None:
        assert self.watcher is not None
        self.watcher.access(Accesses(op, kind, self.numbers(who) + self.first, a, size, parts, **values))


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if not hasattr(a, "dtype") or not hasattr(b, "dtype"):
        return False
    return bool(np.array_equal(a, b))


def _part(value: Any, chosen: Any) -> Any:
    return value if value is None or not value.ndim else value[chosen]


def _by_mask(threads: Any, operands: tuple[Any, ...], position: int) -> list[tuple[Any, tuple[Any, ...]]]:
    """Threads with their operands, by the member masks that they have."""
    masks = operands[position]
    if not masks.ndim or (masks == masks[0]).all():
        return [(threads, operands)]
    found = []
    for mask in np.unique(masks):
        same = masks == mask
        found.append((threads[same], tuple(_part(o, same) for o in operands)))
    return found


def _joined(before: Any, operands: tuple[Any, ...], threads: Any, more: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Threads that waited and threads that come, in order, with their operands."""
    both = np.concatenate((before, threads))
    order = np.argsort(both, kind="stable")
    joined = tuple(
        None
        if a is None
        else np.concatenate((np.broadcast_to(a, before.shape), np.broadcast_to(b, threads.shape)))[order]
        for a, b in zip(operands, more, strict=True)
    )
    return both[order], joined

"""A group of CTAs whose threads go on together: those that stand at the same instruction execute it as one.

Where threads have parted, those that are furthest behind go on, so that paths come together again. What does not fit is
`Irregular`: a value that nobody wrote, an error, threads that wait for others by looking at memory again and again.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np

from ptxcore.machine.ir.collective import EVERYBODY
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.faults import Fault
from ptxcore.machine.run.special import WARP, LaunchShape, Triple
from ptxcore.machine.run.thread import Asleep
from ptxcore.machine.vector.arrays import array_type
from ptxcore.machine.vector.arrays import numbers as leaves_of
from ptxcore.machine.vector.asked import AskedGroup, part
from ptxcore.machine.vector.codegen import Blocks
from ptxcore.machine.vector.meeting import (
    BARRIERS,
    CLUSTER,
    Arrivals,
    ClusterBarrier,
    Crew,
    MeetingLanes,
    Released,
    VectorBarriers,
    together,
)
from ptxcore.machine.vector.memory import GroupMemory
from ptxcore.machine.vector.order import Order
from ptxcore.machine.vector.registers import ALL, TOO_MANY, Irregular, LaneRegisters, select
from ptxcore.machine.vector.singles import Singles
from ptxcore.machine.vector.steps import CollectiveStop, Fork, Meet, extended, filled
from ptxcore.machine.vector.warpgroups import GroupProducts
from ptxcore.machine.vector.watching import Watcher

#: Blocks after which other paths have a turn, and after which it is looked whether anything changes.
_TURN = 1680
#: Instructions of all threads at a step, below which single threads are faster, and how many turns may pass so.
_LEAST, _PATIENCE = 16, 4


class CtaGroup(AskedGroup):
    """CTAs under way. `first` is the number of their first thread."""

    def __init__(
        self, blocks: Blocks, memory: GroupMemory, ctas: list[Triple], shape: LaunchShape, places: list[Any], dynamic: int,
        first: int, watcher: Watcher | None, allowed: int | None,
    ) -> None:  # fmt: skip
        self.blocks, self.memory, self.dynamic = blocks, memory, dynamic
        self.first, self.watcher, self.allowed = first, watcher, allowed
        self.ctas, self.shape, self.places = ctas, shape, places
        self.count = len(places) * len(ctas)
        self.registers = LaneRegisters(blocks.slots, self.count)
        self.everyone = np.arange(self.count)
        self.executed = 0
        #: Threads that can go on, by block; None: all of the group.
        self.paths: dict[int, Any] = {}
        #: Threads that wait for others of their warps: by block, with the operands of their instruction.
        self.parked: dict[int, tuple[Op, Any, tuple[Any, ...], int]] = {}
        self.operators: dict[int, str] = {}
        warps = -(-len(places) // WARP)
        within = np.arange(self.count) % len(places)
        self.crew = Crew(memory.row, memory.row * warps + within // WARP, within % WARP, np.ones(self.count, np.bool_))
        self.barriers: VectorBarriers | None = None
        self.clusters: ClusterBarrier | None = None
        self.singles: Singles | None = None
        self.products: GroupProducts | None = None
        #: Sees to it that the order of threads does not matter in shared memory; who watches does so in ways of its own.
        self.order: Order | None = None
        if watcher is None and memory.shared.size:
            self.order = Order(self.crew, memory.shared.size, blocks.granule)
        self._special: dict[tuple[str, Any], Any] = {}
        self._variables: dict[tuple[Any, ...], Any] = {}
        self._last_told = None, None
        self._steps = self._counted = self._narrow = 0
        #: Whether it is time to look how far it has come.
        self._due = False
        self._seen: dict[int, tuple[Any, list[Any]]] = {}
        #: The registers of a path when it looked last at what others write, by block; and paths that did so in vain, which
        #: go on when others have done something.
        self._polled: dict[int, tuple[Any, list[Any]]] = {}
        self._resting: dict[int, Any] = {}
        self._moved = False
        #: How many threads have looked so in vain.
        self._looked = 0
        self.ended = 0

    # Running.

    def run(self) -> None:
        """All threads to their ends. Raises Irregular."""
        self.paths[0] = None
        while True:
            if self.paths:
                block = min(self.paths)
                self._advance(block, self.paths.pop(block))
                continue
            if self._settle():
                continue
            performed = self._perform()
            if self._resting:
                if not (self._moved or performed) or (self._looked > 2 * self.count and self.watcher is None):
                    raise Irregular("threads that wait for others")
                self.paths, self._resting, self._moved = self._resting, {}, False
            elif not performed:
                break
        if self.ended < self.count:
            raise Irregular("no thread can go on")

    def _advance(self, block: int, who: Any) -> None:
        """Lets the threads of one path go on until they part, meet others, or are ahead of them."""
        run, costs, polling = self.blocks.run, self.blocks.costs, self.blocks.polling
        count = self.count if who is None else who.size
        while True:
            if polling[block] and self._polls(block, who):
                self._looked += count
                self._rest(block, self.numbers(who))
                return
            self.executed += costs[block] * count
            if who is None:
                self.registers.own.clear()
            following = run[block](self, who, count)
            self._steps += 1
            if self._steps % _TURN == 0:
                self._due = True
            if type(following) is int:
                if following < 0:
                    self._exit(who)
                    return
                block = following
                if self._due and self._check(block, who):
                    self._moved = True
                    self._rest(block, self.numbers(who))
                    return
                if self.paths and block >= min(self.paths):
                    self._add(block, who)
                    return
                continue
            if type(following) is Fork:
                numbers = self.numbers(who)
                for i, target in enumerate(following.targets):
                    some = numbers[following.way == i]
                    if some.size:
                        self._add(target, some) if target >= 0 else self._exit(some)
                return
            self._stop(block, who, following)
            return

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
        if self.singles is not None:
            try:
                self.singles.ended(numbers)
            except Fault as error:
                raise Irregular(str(error.args[0])) from None
        if self.products is not None:
            self.products.ended(numbers)
        self.crew.alive[numbers] = False
        self.ended += numbers.size
        self._moved = True
        if self.clusters is not None and self.clusters.ended(numbers):
            self._release_clusters()
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
        now = [select(values[slot], numbers) for slot in self.blocks.wanted[block]]
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
        return True

    def _check(self, block: int, who: Any) -> bool:
        """Many steps later: whether there were too many, whether anything has changed, and whether arrays gain at all. Gives
        whether other paths are to go on meanwhile."""
        self._due = False
        if self.allowed is not None and self.executed > self.allowed:
            raise Irregular(TOO_MANY)
        self._narrow = self._narrow + 1 if self.executed - self._counted < _LEAST * _TURN else 0
        self._counted = self.executed
        if self._narrow > _PATIENCE:
            raise Irregular("few threads at a time")
        numbers = self.numbers(who)
        now = numbers, [select(self.registers.values[slot], numbers) for slot in self.blocks.wanted[block]]
        before, self._seen[block] = self._seen.get(block), now
        if before is not None and _same(before[0], numbers) and all(map(_same, before[1], now[1])):
            raise Irregular("a loop in which nothing changes")
        return bool(self.paths)

    # Meetings.

    def _stop(self, block: int, who: Any, stop: CollectiveStop) -> None:
        numbers = self.numbers(who)
        op, operands = stop.op, stop.operands
        if stop.places is not ALL:
            stays = np.zeros(numbers.size, np.bool_)
            stays[stop.places] = True
            self._add(stop.following, numbers[~stays]) if stop.following >= 0 else self._exit(numbers[~stays])
            numbers = numbers[stays]
        meet = self.blocks.meets[id(op)]
        if meet.action == "alone":
            self._alone(block, op, meet, numbers, operands, stop.following)
            return
        if meet.action.startswith("cluster"):
            self._meet_cluster(op, meet.action, numbers, stop.following)
            return
        if op.use.form.kind == "warp" or meet.action == "warpgroup":
            earlier = self.parked.pop(block, None)
            if earlier is not None:
                numbers, operands = _joined(earlier[1], earlier[2], numbers, operands)
            self._converge(block, op, numbers, operands, stop.following)
            return
        self._barrier(op, meet, numbers, operands, stop.following)

    def _alone(self, block: int, op: Op, meet: Meet, threads: Any, operands: tuple[Any, ...], following: int) -> None:
        """Each thread executes an instruction by itself; who has to wait does so again when something has happened."""
        if self.singles is None:
            self.singles = Singles(self.memory, self.ctas, self.places, self.order)
        slept = np.zeros(threads.size, np.bool_)
        results: list[list[int]] = [[0] * threads.size for _ in meet.targets]
        rows = zip(*(leaves_of(o, threads.size) for o in operands), strict=False)
        for i, (number, leaves) in enumerate(zip(threads.tolist(), rows if operands else repeat(()), strict=False)):
            left = iter(leaves)
            sources = [filled(shape, left) for shape in meet.shapes]
            try:
                result = op.use.form.meaning(op.use, self.singles.thread(number, op), *sources)
            except Asleep:
                slept[i] = True
                continue
            except Fault as error:
                raise Irregular(str(error.args[0])) from None
            for column, value in zip(results, result if isinstance(result, tuple) else (result,), strict=False):
                column[i] = value
        goes = ~slept
        done = threads[goes]
        if slept.any():
            self._rest(block, threads[slept])
            self.executed -= int(slept.sum())
        if self.watcher is not None and done.size:
            given = tuple(part(o, goes) for o in operands)
            self.watcher.alone(op, done + self.first, given, [np.array(r)[goes] for r in results])
        if not done.size:
            return
        self._moved = True
        for target, column in zip(meet.targets, results, strict=True):
            if target is not None:
                self.registers.put(
                    target.slot, extended(np.array(column, array_type(target.width))[goes], target), done
                )
        if self.order is not None:
            truth = (
                np.array(results[0], np.bool_)[goes]
                if op.instruction.modifiers[0] in ("test_wait", "try_wait")
                else None
            )
            self.order.barrier(done if truth is None else done[truth])
        self._add(following, done) if following >= 0 else self._exit(done)

    def _rest(self, block: int, threads: Any) -> None:
        others = self._resting.get(block)
        self._resting[block] = threads if others is None else np.union1d(self.numbers(others), threads)

    def _perform(self) -> bool:
        """Does what is asynchronous; whether there was anything."""
        try:
            return self.singles is not None and self.singles.perform()
        except Fault as error:
            raise Irregular(str(error.args[0])) from None

    def _meet_cluster(self, op: Op, action: str, threads: Any, following: int) -> None:
        """Threads arrive at the barrier of their cluster, or wait there."""
        if self.clusters is None:
            self.clusters = ClusterBarrier(self.crew, self.memory.ranks)
        waits = action == "cluster wait"
        self._moved = True
        if self.watcher is not None:
            self.watcher.arrive(op, threads + self.first, CLUSTER, None, waits)
        if waits:
            self.clusters.wait(threads, following)
            self._release_clusters()
            return
        complete = self.clusters.arrive(threads)
        self._add(following, threads) if following >= 0 else self._exit(threads)
        if complete:
            self._release_clusters()

    def _release_clusters(self) -> None:
        assert self.clusters is not None
        for threads, following in self.clusters.released():
            if self.order is not None:
                self.order.barrier(threads)
            if self.watcher is not None:
                self.watcher.complete(CLUSTER, threads + self.first, threads + self.first)
            self._add(following, threads) if following >= 0 else self._exit(threads)

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
            self.barriers = VectorBarriers(self.crew)
        if self.singles is not None and self.singles.pending:
            try:
                self.singles.age()
            except Fault as error:
                raise Irregular(str(error.args[0])) from None
        self._moved = True
        self.memory.settle()
        waits = meet.action != "arrive"
        if self.watcher is not None:
            self.watcher.arrive(op, threads + self.first, number, many or None, waits)
        if self.operators.setdefault(number, meet.operator) != meet.operator and number in self.barriers.pending:
            raise Irregular("two reductions at one barrier")
        self.operators[number] = meet.operator
        arrivals = Arrivals(op, threads, following, operand, waits)
        everybody = threads.size == self.count - self.ended and number not in self.barriers.pending
        if everybody and waits and count is None and not meet.operator and number < BARRIERS:
            self._release([(number, [Released(arrivals, threads, None)], threads)])
            return
        done = self.barriers.arrive(number, many, meet.operator, arrivals)
        if not waits:
            self._add(following, threads) if following >= 0 else self._exit(threads)
        self._release(done)

    def _release(self, done: list[tuple[int, list[Released], Any]]) -> None:
        for number, released, came in done:
            if self.order is not None:
                self.order.barrier(came)
            if self.watcher is not None:
                waited = released[0].threads if released else came[:0]
                if len(released) > 1:
                    waited = np.sort(np.concatenate([r.threads for r in released]))
                self.watcher.complete(number, came + self.first, waited + self.first)
            for r in released:
                target = next((t for t in self.blocks.meets[id(r.arrivals.op)].targets if t is not None), None)
                if target is not None and r.result is not None:
                    self.registers.put(target.slot, extended(r.result, target), r.threads)
                following = r.arrivals.following
                self._add(following, r.threads) if following >= 0 else self._exit(r.threads)

    def _settle(self) -> bool:
        """Nobody can go on: whoever meets without a mask goes on as they are. Whether anybody does."""
        for block in sorted(self.parked):
            op, threads, operands, following = self.parked[block]
            meet = self.blocks.meets[id(op)]
            if meet.mask is None and meet.whole is None and meet.action != "warpgroup":
                del self.parked[block]
                self._met(op, threads, operands, following)
                return True
        return False

    def _converge(self, block: int, op: Op, threads: Any, operands: tuple[Any, ...], following: int) -> None:
        """Threads are at an instruction of warps: those whose warps are complete go on."""
        meet = self.blocks.meets[id(op)]
        if meet.action == "warpgroup":
            self._warpgroups(block, op, threads, operands, following)
            return
        if meet.whole is not None and threads.size == self.count:
            self._met(op, threads, operands, following)
            return
        if meet.mask is None and meet.whole is None:
            self.parked[block] = op, threads, operands, following
            return
        masks = np.int64(EVERYBODY) if meet.mask is None else operands[meet.mask]
        ready = MeetingLanes.ready(self.crew, threads, masks)
        if not ready.all():
            self.parked[block] = op, threads[~ready], tuple(part(o, ~ready) for o in operands), following
            if not ready.any():
                return
            threads, operands = threads[ready], tuple(part(o, ready) for o in operands)
        self._met(op, threads, operands, following)

    def _warpgroups(self, block: int, op: Op, threads: Any, operands: tuple[Any, ...], following: int) -> None:
        """Threads are at an instruction of warpgroups: those whose warpgroups are complete go on."""
        if self.watcher is not None:
            raise Irregular(op.name)
        if self.products is None:
            within = np.arange(self.count) % len(self.places)
            self.products = GroupProducts(
                self.blocks.code, self.crew.row, within, len(self.places), self.registers, self.memory
            )
        ready = self.products.ready(threads)
        if not ready.all():
            late, now = np.flatnonzero(~ready), np.flatnonzero(ready)
            self.parked[block] = op, threads[late], tuple(select(o, late) for o in operands), following
            if not now.size:
                return
            threads, operands = threads[now], tuple(select(o, now) for o in operands)
        self._moved = True
        self.products.execute(op, self.blocks.meets[id(op)], threads, operands)
        self._add(following, threads) if following >= 0 else self._exit(threads)

    def _met(self, op: Op, threads: Any, operands: tuple[Any, ...], following: int) -> None:
        """Threads execute an instruction of warps."""
        meet = self.blocks.meets[id(op)]
        self._moved = True
        if self.watcher is not None:
            masks = (
                np.int64(EVERYBODY) if meet.whole is not None else None if meet.mask is None else operands[meet.mask]
            )
            self.watcher.converge(op, threads + self.first, masks)
        if self.order is not None:
            self.order.converge(threads)
        targets = meet.targets
        if meet.whole is not None:
            results = meet.whole.execute(self, self.crew.lane[threads], threads, operands, self.watcher)
            for target, result in zip(targets, results, strict=False):
                if target is None:
                    continue
                if threads is self.everyone:
                    self.registers.put_all(target.slot, extended(result, target))
                else:
                    self.registers.put(target.slot, extended(result, target), threads)
        elif targets:
            widths = tuple(t.width if t is not None else 64 for t in targets)
            for these, given in _by_mask(threads, operands, meet.mask):
                results = together(self.crew, op.use, these, given, widths, self.watcher is not None)
                for target, result in zip(targets, results, strict=True):
                    if target is not None:
                        self.registers.put(target.slot, extended(result, target), these)
        self._add(following, threads) if following >= 0 else self._exit(threads)


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if not hasattr(a, "dtype") or not hasattr(b, "dtype"):
        return False
    return bool(np.array_equal(a, b))


def _by_mask(threads: Any, operands: tuple[Any, ...], position: int | None) -> list[tuple[Any, tuple[Any, ...]]]:
    """Threads with their operands, by the member masks that they have."""
    masks = None if position is None else operands[position]
    if masks is None or not masks.ndim or (masks == masks[0]).all():
        return [(threads, operands)]
    found = []
    for mask in np.unique(masks):
        same = masks == mask
        found.append((threads[same], tuple(part(o, same) for o in operands)))
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

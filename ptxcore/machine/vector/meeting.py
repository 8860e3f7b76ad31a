"""Where the threads of a group wait for each other: barriers of their CTAs, and instructions that warps execute together."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ptxcore.isa.data_movement import ShuffleLanes as Brought
from ptxcore.isa.form import Use
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.special import WARP
from ptxcore.machine.vector.arrays import NAMES, ArrayPrinter, Unprintable, array_type
from ptxcore.machine.vector.registers import Irregular
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Term, Value, symbol

BARRIERS = 16
#: What watchers are told for the number of a cluster's barrier.
CLUSTER = -1


class Arrivals(NamedTuple):
    """Threads that have come to a barrier by one instruction; `following` is the block behind it."""

    op: Op
    threads: Any
    following: int
    operand: Any
    waits: bool


class VectorBarrier:
    """The instances of one barrier of the CTAs of a group, one for each CTA: `arrived` counts threads, `counts` how many must
    come (0: all), -1 where nobody has."""

    def __init__(self, ctas: int, threads: int) -> None:
        self.arrived = np.zeros(ctas, np.int64)
        self.counts = np.full(ctas, -1, np.int64)
        self.here = np.zeros(threads, np.bool_)
        self.entries: list[Arrivals] = []


class Crew(NamedTuple):
    """The threads of a group as they meet: the CTA, the warp and the lane of each, and who runs."""

    row: Any
    warp: Any
    lane: Any
    alive: Any


class Released(NamedTuple):
    """Threads that go on: what they were, and what a reduction gave them."""

    arrivals: Arrivals
    threads: Any
    result: Any


class VectorBarriers:
    """The barriers of all CTAs of a group (section 9.7.13.1)."""

    def __init__(self, crew: Crew) -> None:
        self.crew = crew
        self.ctas = int(crew.row[-1]) + 1
        self.warps = int(crew.warp[-1]) + 1
        self.pending: dict[int, VectorBarrier] = {}

    def arrive(
        self, number: int, count: int, operator: str, arrivals: Arrivals
    ) -> list[tuple[int, list[Released], Any]]:
        """Threads come to a barrier. Gives what is complete: the number, who goes on, and who had come; see `_complete`."""
        crew = self.crew
        if number >= BARRIERS or count % WARP:
            raise Irregular("a barrier that does not exist, or a count that cannot be")
        barrier = self.pending.get(number)
        if barrier is None:
            barrier = self.pending[number] = VectorBarrier(self.ctas, len(crew.row))
        threads = arrivals.threads
        rows = crew.row[threads]
        come = np.bincount(rows, minlength=self.ctas)
        before = barrier.counts[come > 0]
        if barrier.here[threads].any() or ((before != -1) & (before != count)).any():
            raise Irregular("a barrier with two counts, or a thread that comes twice")
        self._check_warps(barrier, arrivals)
        barrier.here[threads] = True
        barrier.counts[come > 0] = count
        barrier.arrived += come
        barrier.entries.append(arrivals)
        return self._complete(number, operator)

    def _check_warps(self, barrier: VectorBarrier, arrivals: Arrivals) -> None:
        """The threads of a warp come together, or else one of the two machines must say what that means."""
        crew = self.crew
        here = np.bincount(crew.warp[arrivals.threads], minlength=self.warps)
        if not arrivals.waits and ((here > 0) & (here != self._running())).any():
            raise Irregular("a part of a warp arrives")
        if barrier.entries:
            others = np.bincount(crew.warp[barrier.here], minlength=self.warps)
            if ((here > 0) & (others > 0)).any():
                aligned = any(
                    e.op.use.words["aligned"] and e.op is not arrivals.op for e in (*barrier.entries, arrivals)
                )
                if aligned or not arrivals.waits or any(not e.waits for e in barrier.entries):
                    raise Irregular("a warp that comes in parts")

    def _running(self) -> Any:
        return np.bincount(self.crew.warp[self.crew.alive], minlength=self.warps)

    def ended(self, operators: dict[int, str]) -> list[tuple[int, list[Released], Any]]:
        """Threads have ended: nobody waits for them any more."""
        return [found for number in list(self.pending) for found in self._complete(number, operators.get(number, ""))]

    def _complete(self, number: int, operator: str) -> list[tuple[int, list[Released], Any]]:
        barrier = self.pending[number]
        crew = self.crew
        alive = np.bincount(crew.row[crew.alive], minlength=self.ctas)
        counted = barrier.counts > 0
        here = barrier.here
        if counted.any():
            lanes = np.bincount(crew.warp[here], minlength=self.warps)
            whole = (lanes > 0) & (lanes == self._running())
            per_cta = np.bincount(np.arange(self.warps) // (self.warps // self.ctas), whole, minlength=self.ctas)
            arrived = np.where(counted, per_cta.astype(np.int64) * WARP, barrier.arrived)
            if ((lanes > 0) & ~whole).any() and (counted & (arrived >= barrier.counts)).any():
                raise Irregular("a warp that comes in parts")
        else:
            arrived = barrier.arrived
        wanted = np.where(counted, barrier.counts, alive)
        if (counted & (arrived > wanted)).any():
            raise Irregular("more threads than a barrier takes")
        done = (arrived >= wanted) & (arrived > 0) & (barrier.counts >= 0)
        if not done.any():
            return []
        released: list[Released] = []
        if done.sum() == (barrier.counts >= 0).sum():
            came = np.flatnonzero(here)
            entries, left = barrier.entries, []
            del self.pending[number]
        else:
            leaving = here & done[crew.row]
            came = np.flatnonzero(leaving)
            entries, left = [], list[Arrivals]()
            for e in barrier.entries:
                goes = leaving[e.threads]
                for part, chosen in ((entries, goes), (left, ~goes)):
                    if chosen.any():
                        operand = e.operand[chosen] if e.operand.ndim else e.operand
                        part.append(e._replace(threads=e.threads[chosen], operand=operand))
            barrier.here &= ~leaving
            barrier.arrived[done], barrier.counts[done] = 0, -1
            barrier.entries = left
        result = self._reduced(operator, entries, came)
        for e in entries:
            if e.waits:
                released.append(Released(e, e.threads, None if result is None else result[crew.row[e.threads]]))
        return [(number, released, came)]

    def _reduced(self, operator: str, entries: list[Arrivals], came: Any) -> Any:
        """What a reduction gives in each CTA."""
        if not operator:
            return None
        rows = self.crew.row
        total = np.zeros(self.ctas, np.int64)
        for e in entries:
            total += np.bincount(rows[e.threads], np.broadcast_to(e.operand, e.threads.shape), self.ctas).astype(
                np.int64
            )
        if operator == "popc":
            return total.astype(np.uint32)
        return total > 0 if operator == "or" else total == np.bincount(rows[came], minlength=self.ctas)


class ClusterBarrier:
    """The barrier of each cluster of a group (section 9.7.13.3): in which phase it is, and how many have arrived; for each
    thread in which phase it arrived, -1 where it did not."""

    def __init__(self, crew: Crew, ranks: int) -> None:
        self.crew = crew
        self.cluster = crew.row // ranks
        self.count = int(self.cluster[-1]) + 1
        self.phase = np.zeros(self.count, np.int64)
        self.arrived = np.zeros(self.count, np.int64)
        self.passed = np.full(len(crew.row), -1, np.int64)
        #: Who waits: threads and the block behind.
        self.waiting: list[tuple[Any, int]] = []

    def arrive(self, threads: Any) -> bool:
        """Threads arrive; whether some cluster is complete."""
        if (self.passed[threads] >= 0).any():
            raise Irregular("an arrival without a wait before")
        self.passed[threads] = self.phase[self.cluster[threads]]
        self.arrived += np.bincount(self.cluster[threads], minlength=self.count)
        return self._complete()

    def ended(self, threads: Any) -> bool:
        """Threads have ended, which counts as an arrival; whether some cluster is complete."""
        had = threads[self.passed[threads] == self.phase[self.cluster[threads]]]
        self.arrived -= np.bincount(self.cluster[had], minlength=self.count)
        self.passed[threads] = -1
        return self._complete()

    def _complete(self) -> bool:
        alive = np.bincount(self.cluster[self.crew.alive], minlength=self.count)
        done = (self.arrived >= alive) & (self.arrived > 0)
        self.phase += done
        self.arrived[done] = 0
        return bool(done.any())

    def wait(self, threads: Any, following: int) -> None:
        """Threads wait for the phase in which they arrived to be over."""
        if (self.passed[threads] < 0).any():
            raise Irregular("a wait without an arrival")
        self.waiting.append((threads, following))

    def released(self) -> list[tuple[Any, int]]:
        """Those who go on."""
        found, left = [], []
        for threads, following in self.waiting:
            goes = self.phase[self.cluster[threads]] > self.passed[threads]
            if goes.any():
                found.append((threads[goes], following))
                self.passed[threads[goes]] = -1
            if not goes.all():
                left.append((threads[~goes], following))
        self.waiting = left
        return found


# Warps.


class MeetingLanes:
    """Threads that have come to an instruction of warps by one block, and those of them who may go on: all that their masks
    name and that have not ended are there."""

    @staticmethod
    def ready(crew: Crew, threads: Any, masks: Any) -> Any:
        """The truth for each thread. Raises Irregular where a mask leaves out its thread."""
        lane, warp = crew.lane[threads], crew.warp[threads]
        bits = np.left_shift(1, lane)
        masks = np.broadcast_to(masks, threads.shape).astype(np.int64)
        if not (masks & bits).all():
            raise Irregular("a mask that leaves out its thread")
        count = int(crew.warp[-1]) + 1
        running = np.bincount(crew.warp[crew.alive], np.exp2(crew.lane[crew.alive]), count)
        wanted = masks & running.astype(np.int64)[warp]
        first = np.zeros(count, np.int64)
        first[warp] = masks
        if (first[warp] == masks).all():  # one mask in each warp
            here = np.bincount(warp, np.exp2(lane), count).astype(np.int64)
            return here[warp] == wanted
        here = np.zeros(threads.shape, np.int64)
        for mask in np.unique(masks):
            same = masks == mask
            here[same] = np.bincount(warp[same], np.exp2(lane[same]), count).astype(np.int64)[warp[same]]
        return here == wanted


def _undetermined(lane: int) -> Value:
    """A value from a lane that does not take part. Raises Irregular."""
    raise Irregular("a value that nothing determines")


def together(
    crew: Crew, how: Use, threads: Any, operands: tuple[Any, ...], widths: tuple[int, ...], strict: bool = False
) -> list[Any]:
    """The results of an instruction of warps for threads all of whose warps are complete: an array for each. Raises Irregular;
    with `strict` also for values that the manual leaves open."""
    count = threads.size
    whole = [None if o is None else np.broadcast_to(o, (count,)) for o in operands]
    warp = crew.warp[threads]
    lanes = crew.lane[threads]
    results = [np.zeros(count, array_type(w)) for w in widths]
    starts = np.flatnonzero(np.concatenate(([True], warp[1:] != warp[:-1])))
    sizes = np.diff(np.append(starts, count))
    if (sizes == sizes[0]).all():
        size = int(sizes[0])
        shape = (starts.size, size)
        same = lanes.reshape(shape)
        controls = [w.reshape(shape) for w in whole[1:] if w is not None]
        if (same == same[0]).all() and all((c == c[0]).all() for c in controls):
            given = tuple(None if w is None else tuple(w[:size].tolist()) for w in whole[1:])
            plan = _plan(how, tuple(same[0].tolist()), given, strict)
            if plan is not None:
                data = None if not whole or whole[0] is None else whole[0].reshape(shape)
                plan(data, [r.reshape(shape) for r in results])
                return results
    for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
        part = slice(start, start + size)
        brought: dict[int, tuple[Any, ...]] = {
            lane: tuple(None if w is None else int(w[start + i]) for w in whole)
            for i, lane in enumerate(lanes[part].tolist())
        }
        found = how.form.meaning(how, Brought(brought, _undetermined) if strict else brought)
        for i, lane in enumerate(brought):
            row = found[lane] if isinstance(found[lane], tuple) else (found[lane],)
            for result, value in zip(results, row, strict=False):
                result[start + i] = value
    return results


@lru_cache(256)
def _plan(how: Use, lanes: tuple[int, ...], controls: tuple[tuple[int, ...] | None, ...], strict: bool) -> Any:
    """What an instruction does in every warp whose threads have these lanes and operands but the first, which are symbols:
    a function of an array with a row for each warp, and arrays for the results. None where terms do not tell."""
    width = 1 if how.form.mnemonic == "vote" else how.width
    symbols = [symbol(("lane", lane), width) for lane in lanes]
    given: dict[int, tuple[Any, ...]] = {
        lane: (symbols[i], *(None if c is None else int(c[i]) for c in controls)) for i, lane in enumerate(lanes)
    }
    try:
        found = how.form.meaning(how, Brought(given, _undetermined) if strict else given)
    except (AssertionError, TypeError, ValueError, KeyError):
        return None
    rows = [found[lane] if isinstance(found[lane], tuple) else (found[lane],) for lane in lanes]
    makers = [_column([row[i] for row in rows], symbols) for i in range(len(rows[0]))]
    if None in makers:
        return None

    def execute(data: Any, results: list[Any]) -> None:
        for maker, result in zip(makers, results, strict=False):
            maker(data, result)

    return execute


def _column(values: list[Value | None], symbols: list[Any]) -> Any:
    """One result of all lanes: where each takes it from, or an expression over the columns of the lanes."""
    if any(v is None for v in values):
        return lambda data, result: None
    places = {s: i for i, s in enumerate(symbols)}
    if all(v in places for v in values):
        order = np.array([places[v] for v in values])

        def taken(data: Any, result: Any) -> None:
            result[:] = data.take(order, axis=1)

        return taken
    if all(type(v) is int for v in values):
        numbers = list(values)

        def numbered(data: Any, result: Any) -> None:
            result[:] = np.array(numbers, result.dtype)

        return numbered
    width = next(v.width for v in values if type(v) is Term)
    distinct = list(dict.fromkeys(values))
    printer = ArrayPrinter({s: f"d[{i}]" for i, s in enumerate(symbols)})
    try:
        lines, texts = printer.print([(v, width) for v in distinct])  # type: ignore[misc]
    except Unprintable:
        return None
    text = "def columns(d):\n" + "".join(f"    {line}\n" for line in lines) + f"    return [{', '.join(texts)}]\n"
    names = {**NAMES, **printer.names}
    exec(text, names)
    columns, which = names["columns"], [distinct.index(v) for v in values]

    def computed(data: Any, result: Any) -> None:
        found = columns(np.ascontiguousarray(data.T))
        for i, place in enumerate(which):
            result[:, i] = found[place]

    return computed

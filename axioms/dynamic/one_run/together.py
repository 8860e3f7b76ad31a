"""Whether one run stands for all executions, checked for all threads that execute an instruction together.

The conditions are those of `one_run.determinate`, which sees one thread at a time. Here are weak accesses, barriers, and
atomic operations that commute; a launch with anything else runs thread by thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from axioms.dynamic.core.accesses import ORDERING, SAME, commuting, conflict, scope_of
from axioms.dynamic.core.findings import ByteRace, Open, Party, Stopped, step
from axioms.dynamic.core.shadow import CONSTANT, Access
from axioms.dynamic.core.sums import Sums, is_sum
from axioms.dynamic.one_run.log import Accessed, Conflict, Log, Region
from axioms.dynamic.one_run.rows import ClockRows
from ptxcore.machine.ir.windows import LOCAL
from ptxcore.machine.lower.ops import Code, ExecutableModule, Op
from ptxcore.machine.run.special import WARP
from ptxcore.machine.vector.registers import TOO_MANY, Irregular
from ptxcore.machine.vector.watching import WatchedAccesses
from ptxcore.places import WIDE
from ptxcore.records import NamedTuple

#: Batches that are one step of the work.
_LOOK = 16
#: Bytes of the largest words.
_WORD = 16
#: Conflicts that are no races, behind which it is looked for races.
_CONFLICTS = 64
_KINDS = {"read": "R", "write": "W", "atomic": "A"}
#: State spaces of which each thread has its own, or that nobody writes.
_OWN = frozenset(("local", "const", "param"))
_POINTER = 8


class _How(NamedTuple):
    """What the accesses of an instruction are: its number, the scope of strong ones, what commuting ones do."""

    number: int
    strong: str
    commutes: str


class _Arrived(NamedTuple):
    """Threads that have come to a barrier, as they were."""

    threads: Any
    times: Any
    rows: Any
    waits: Any


class _Instance(NamedTuple):
    """The last instance of a barrier in a CTA: who arrived, when, and who waited, by the place in the CTA."""

    threads: Any
    times: Any
    waited: Any


class Together:
    """Watches one launch (`ptxcore.machine.vector.watching.Watcher`), as `one_run.determinate.Determinate` does."""

    def __init__(self, program: ExecutableModule, entry: str, size: int) -> None:
        """`size`: the threads of a CTA."""
        self.program, self.size = program, size
        self.code: Code = program.functions[entry]
        self.indices: list[tuple[int, int, int]] = []
        self.clocks = ClockRows(size, self._kept)
        self.log = Log(self.clocks)
        self.accesses = self.meetings = self.waits = 0
        self.exact = True
        #: What is open: nothing is settled, but a race that comes up is one.
        self.unknown: Open | None = None
        self.ops: list[Op] = []
        self._hows: dict[int, _How] = {}
        self._regions: dict[int, Region] = {}
        self._shift = _word(self.code)
        self._arrived: dict[int, list[_Arrived]] = {}
        #: By barrier and CTA, instances that not all threads of the CTA have waited for.
        self._last: dict[int, dict[int, _Instance]] = {}
        self._batches = self._conflicts = 0
        self.sums = Sums()

    @property
    def commuted(self) -> bool:
        """Whether some atomic operations may come in any order."""
        return self.log.commuted

    def _kept(self) -> Iterator[Any]:
        return (arrived.rows for come in self._arrived.values() for arrived in come)

    # Threads.

    def begin(self, first: int, ctas: Sequence[tuple[int, int, int]], threads: int) -> None:
        self.clocks.enter(len(ctas))
        self.indices.extend(ctas)
        self._regions = {key: region for key, region in self._regions.items() if not region.shared}
        self._last.clear()

    def exit(self, threads: Any) -> None:
        pass

    def restart(self, why: str) -> None:
        if why == TOO_MANY:
            raise Stopped(Open("limit"))

    def alone(self, op: Op, threads: Any, operands: Any, results: Any) -> None:
        raise Irregular(op.name)

    def fence(self, op: Op, threads: Any) -> None:
        """Without strong reads nothing acquires, so that fences order nothing; but it is open then what is unordered."""
        if (
            op.use.words.get("restrict")
            or op.use.words.get("operation")
            or op.use.form.mnemonic not in ("fence", "membar")
        ):
            raise Irregular(op.name)
        self.exact = False

    # Accesses.

    def access(self, accesses: WatchedAccesses) -> None:
        area = accesses.area
        if area.kind in _OWN:
            return
        threads, op = accesses.threads, accesses.op
        self.accesses += threads.size
        self._batches += 1
        if not self._batches % _LOOK:
            step()
        how = self._hows.get(id(op)) or self._how(op)
        region = self._regions.get(id(area)) or self._region(area)
        a = self._accessed(accesses, how, region)
        if accesses.kind == "read":
            found = self.log.constant(a) if how.strong else self.log.read(a)
        elif accesses.kind == "write":
            if self.code.frame and accesses.size == _POINTER:
                self._hands_on(accesses.written)
            found = self.log.write(a)
        else:
            if region.stride == 0 and how.strong not in WIDE:
                raise Irregular(op.name)  # whose threads need not be in each other's scope
            if is_sum(op.use):
                self._adds(accesses)
            found = self.log.update(a, how.commutes)
        if found is not None:
            self._tell(self._conflict(found, how, accesses, region))

    def _adds(self, accesses: WatchedAccesses) -> None:
        """Sums of floating-point numbers, in the order of the threads. An operand that is a number is no array."""
        op, number = accesses.op, accesses.op.sources[1]
        if accesses.operands:
            addend = accesses.operands[0]
        elif number is not None and number.kind == "constant":
            addend = np.uint64(number.value)
        else:
            raise Irregular(op.name)
        each = np.broadcast_arrays(accesses.places, addend, accesses.read)
        for place, addend, found in zip(*(values.tolist() for values in each), strict=True):
            self.sums.add((id(accesses.area), place), op, found, addend)

    def _tell(self, why: ByteRace | Open) -> None:
        """A conflict: if it is no race, one that comes later is one all the same, since this run is an execution. Raises
        Stopped."""
        self._conflicts += 1
        if isinstance(why, ByteRace) or self._conflicts > _CONFLICTS:
            raise Stopped(self.unknown or why if isinstance(why, Open) else why)
        self.unknown = self.unknown or why

    def _how(self, op: Op) -> _How:
        """What the accesses of an instruction are. Raises Irregular for those that are not looked at together."""
        strong, commutes = scope_of(op.use), ""
        plain = strong == "" or (strong == CONSTANT and op.use.form.mnemonic in ("ld", "ldu"))
        if op.use.form.mnemonic in ("atom", "red") and op.use.sem == "relaxed":
            commutes = commuting(self.program.functions.values(), op, op.use)
        if not plain and commutes in ("", SAME):
            raise Irregular(op.name)
        if op.use.sem in ORDERING:
            self.exact = False
        assert strong is not None
        found = self._hows[id(op)] = _How(len(self.ops), strong, commutes)
        self.ops.append(op)
        return found

    def _region(self, area: Any) -> Region:
        found = self._regions[id(area)] = Region(area, area.size, self._shift, area.name, area.stride)
        return found

    def _accessed(self, accesses: WatchedAccesses, how: _How, region: Region) -> Accessed:
        """The words of accesses. Raises Irregular for shared memory of other CTAs."""
        size, places = accesses.size * accesses.parts, accesses.places
        units = size >> self._shift
        if not units:
            raise Irregular("a small access")
        crowd = self.clocks.crowd(accesses.threads)
        if region.shared and region.of.ranks > 1:
            row = (places * size) // region.stride
            if (row != self.clocks.cta[accesses.threads] - self.clocks.first // self.size).any():
                raise Irregular("shared memory of another CTA")
        uniform = type(places) is int or not places.ndim
        words = np.atleast_1d(places)
        if units > 1:
            words = (words[:, None] * units + np.arange(units)).ravel()
        return Accessed(crowd, how.number, region, words, units, uniform and crowd.threads.size > 1)

    def _hands_on(self, values: Any) -> None:
        """Others may read where a thread's stack is, and find their own at that address."""
        for value in values if isinstance(values, tuple) else (values,):
            if ((value >= LOCAL) & (value < LOCAL + self.code.frame)).any():
                raise Irregular("a pointer to a thread's stack")

    def _conflict(self, found: Conflict, how: _How, accesses: WatchedAccesses, region: Region) -> ByteRace | Open:
        """What a conflict is."""

        def access(number: int, thread: int, kind: str) -> tuple[Party, Access]:
            op = self.ops[number]
            size = _bytes(op)
            first = (found.word << self._shift) // size * size
            first -= first // region.stride * region.stride if region.stride else 0
            known = self._hows[id(op)]
            return Party(thread, op), Access(thread, 0, number, kind, known.strong, first, size, known.commutes)

        kind = _KINDS[accesses.kind]
        second, after = access(how.number, found.thread, kind)
        other = how.number if found.batch is None else found.batch.op
        first, before = access(other, found.other, kind)
        return conflict(first, second, before, after, region.name, exact=self.exact)

    # Threads together.

    def arrive(self, op: Op, threads: Any, identity: int, count: int | None, waits: bool) -> None:
        if identity < 0:
            raise Irregular("a barrier of a cluster")
        last = self._last.get(identity)
        if last:
            self._in_order(op, threads, last)
        times, rows = self.clocks.release(threads)
        come = self._arrived.setdefault(identity, [])
        come.append(_Arrived(threads, times, rows, np.full(threads.size, waits)))

    def _in_order(self, op: Op, threads: Any, last: dict[int, _Instance]) -> None:
        """Whoever did not wait for the last instance comes to the next one only behind all who arrived at that; else it is open
        what other executions do."""
        clocks = self.clocks
        ctas = clocks.cta[threads]
        for cta in np.unique(ctas).tolist():
            instance = last.get(cta)
            if instance is None:
                continue
            mine = threads[ctas == cta]
            mine = mine[~instance.waited[clocks.place[mine]]]
            if not mine.size:
                continue
            rows = clocks.rows[np.unique(clocks.row[mine])]
            if (rows[:, clocks.place[instance.threads]] >= instance.times).all():
                continue
            for thread in mine.tolist():
                same = np.full(instance.threads.size, thread)
                if not clocks.ordered(same, instance.threads, instance.times).all():
                    self.unknown = self.unknown or Open("instance", Party(thread, op))
                    return

    def complete(self, identity: int, threads: Any, waited: Any) -> None:
        come = self._arrived.pop(identity)
        both = come[0] if len(come) == 1 else _Arrived(*map(np.concatenate, zip(*come, strict=True)))
        if both.threads.size > threads.size:
            here = np.isin(both.threads, threads)
            self._arrived[identity] = [_Arrived(*(column[~here] for column in both))]
            both = _Arrived(*(column[here] for column in both))
        self._met(identity, both, sorted_=len(come) == 1)

    def _met(self, identity: int, come: _Arrived, *, sorted_: bool) -> None:
        """Instances of a barrier are complete; `sorted_`: the threads come in their order."""
        clocks, size, threads = self.clocks, self.size, come.threads
        first, end = int(threads[0]), int(threads[-1]) + 1
        if threads.size == end - first and not (first % size or end % size) and sorted_ and come.waits.all():
            clocks.meet_whole(threads, come.times, come.rows)
            clocks.level(threads, self.log.next)
            self.meetings += threads.size // size
            if last := self._last.get(identity):
                for cta in range(first // size, end // size):
                    last.pop(cta, None)
            return
        ctas, groups = np.unique(clocks.cta[come.threads], return_inverse=True)
        clocks.meet(groups, come.threads, come.times, come.rows, come.waits)
        self.meetings += ctas.size
        waiting = np.bincount(groups, come.waits, ctas.size)
        whole = waiting == size
        if whole.all():
            clocks.level(come.threads, self.log.next)
            if last := self._last.get(identity):
                for cta in ctas.tolist():
                    last.pop(cta, None)
            return
        last = self._last.setdefault(identity, {})
        for i, cta in enumerate(ctas.tolist()):
            mine = groups == i
            if whole[i]:
                clocks.level(come.threads[mine], self.log.next)
                last.pop(cta, None)
                continue
            here = np.zeros(size, np.bool_)
            here[clocks.place[come.threads[mine & come.waits]]] = True
            last[cta] = _Instance(come.threads[mine], come.times[mine], here)

    def unspecified(self, op: Op) -> None:
        self.unknown = self.unknown or Open("rounding", Party(0, op))

    def converge(self, op: Op, threads: Any, masks: Any) -> None:
        if masks is None:
            raise Irregular(op.name)  # who takes part is seen thread by thread (`one_run.convergence`)
        clocks = self.clocks
        warps = clocks.cta[threads] * np.int64(-(-self.size // WARP)) + clocks.place[threads] // WARP
        keys, groups = np.unique((warps << WARP) + masks.astype(np.int64), return_inverse=True)
        self.meetings += keys.size
        if op.use.form.mnemonic == "bar":
            times, rows = clocks.release(threads)
            clocks.meet(groups, threads, times, rows, np.ones(threads.size, np.bool_))


def _bytes(op: Op) -> int:
    """The bytes that an access of an instruction has; those of whole warps have pieces of one size."""
    whole = op.use.form.whole
    if whole is not None:
        return whole.least(op.use) if whole.least is not None else 0
    return op.use.width // 8 * int((op.use.words.get("vec") or "v1")[1:])


def _word(code: Code) -> int:
    """The size of words, as a power of two, of which every access of a kernel has some."""
    accesses = [op for op in code.ops if op.use.form.kind == "effect" and op.use.form.mnemonic in _ACCESSES]
    sizes = [_bytes(op) for op in (*accesses, *(op for op in code.ops if op.use.form.whole is not None))]
    return min([_WORD, *(size for size in sizes if size)]).bit_length() - 1


_ACCESSES = frozenset(("ld", "ldu", "st", "atom", "red"))

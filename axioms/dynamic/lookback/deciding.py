"""Look-backs of threads that meet, gone by cases: what a read may find is told apart only where something hangs on it.

A warp that looks back at 32 tiles may find one of two values at each, and go 2 to the 32 ways. But what comes of it hangs on
few of these at a time: with the first tile that has published the sum of all up to it, what stands in the tiles behind that is
of no matter. So each read gives all that it may find at once, and what is computed from that is as much as is known of it
(`lookback.found_values`). Where such a value decides something (a branch, an address, who meets, what is live at the end) the
case is left for others, in each of which this read finds some of its values, and the cases together leave none out. In a case
that comes to its end, nothing that decided anything hangs on what is left open in it: so all ways of the case come to that.

A *round* is what threads do up to where one comes to a read, or reads an address, a second time; there all live registers hold
numbers, or there are more cases. docs/whole-launches/waits.md, Look-backs, has the argument.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import reduce
from typing import Any

from axioms.dynamic.code.idle import reads_a_clock
from axioms.dynamic.code.live import Live, Same
from axioms.dynamic.core.accesses import scope_of
from axioms.dynamic.core.findings import step
from axioms.dynamic.core.shadow import CONSTANT
from axioms.dynamic.lookback.found_values import (
    OPEN,
    Bits,
    CannotDecide,
    Choice,
    Needs,
    OneOf,
    Undecided,
    first_of,
    meant,
    number_of,
    of_bits,
    one_of,
    together,
)  # fmt: skip
from axioms.dynamic.lookback.lookbacks import Alone, NotConfluent, Ways, is_plain_fence
from axioms.dynamic.lookback.sightings import CannotFind, FoundBySight, Seen, Sighting
from axioms.dynamic.waits.waiting import plain
from ptxcore.isa import data_movement, fences
from ptxcore.isa.effect_kinds import FENCE
from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.lower.ops import Code, Op, Source, TargetRegister
from ptxcore.machine.run.faults import UNDEFINED, UndefinedValue
from ptxcore.records import NamedTuple
from ptxcore.values.terms import mask, sext

#: Cases of one look-back, and instructions that a thread executes in one round.
_MOST_CASES, _MOST_STEPS = 2000, 2000


class _Place(NamedTuple):
    """Where a thread is: about to execute an instruction of its function."""

    at: int
    registers: list[Any]
    carry: Any
    fences: tuple[int, ...]
    seen: Seen


class _Round(NamedTuple):
    """Where all threads come to in a case: `ended`, or to where one reads once more; the key of that, and what was found."""

    ended: bool
    key: tuple[Hashable, ...]
    places: tuple[_Place, ...]
    found: tuple[Sighting, ...]

    @property
    def seen(self) -> tuple[Seen, ...]:
        return tuple(place.seen for place in self.places)


class _Thread:
    """A thread in a round of a case."""

    def __init__(self, way: CaseWays, number: int, begins: _Place) -> None:
        self._way, self._number, self.alone = way, number, way.threads[number]
        self.at, self.registers, self.carry, self.fences, self.seen = begins
        self.registers = list(self.registers)
        #: Instructions by which it has read, by their identity, and addresses.
        self._met: set[int] = set()
        self._reads = self._steps = 0
        #: What it brings to a meeting, where it waits at one; whether it comes to a read once more.
        self.brings: tuple[Any, ...] | None = None
        self.again = self.ended = False
        self.found: list[Sighting] = []

    @property
    def op(self) -> Op:
        return self._way.code.ops[self.at]

    def goes_on(self) -> None:
        """Up to where it has to wait, or ends."""
        while self.brings is None and not (self.again or self.ended):
            step()
            self._steps += 1
            if self.at >= len(self._way.code.ops) or self._steps > _MOST_STEPS:
                raise CannotDecide
            self._executes(self.op)

    def _executes(self, op: Op) -> None:
        form = op.use.form
        if op.call is not None or form.carry or form.updates:
            raise CannotDecide
        if op.guard is not None and form.kind != "value" and not self._is_executed(op):
            self.at += 1
        elif form.kind == "branch" and len(op.labels) == 1:
            self.at = self._way.code.labels[op.labels[0]]
        elif form.kind == "value":
            self._computes(op)
            self.at += 1
        elif form.kind == "nothing":
            self.at += 1
        elif form.run is data_movement.ld and op.use.space == "param":
            self._takes(op, lambda address, size: ((0, 0), (self.alone.held(address, size),)))
        elif form.run is data_movement.ld and id(op.instruction) in self._way.searched:
            self._read(op)
        elif form.run is fences.fence and is_plain_fence(FENCE, op.use):
            one = id(op.instruction)
            if self.fences[-1:] != (one,) and one not in self._way.searched:
                self.fences += (one,)
            self.seen = self.alone.sight.fence(op.use, self.seen)
            self.at += 1
        elif form.kind == "warp" and form.whole is None and form.mnemonic != "bar":
            self.brings = tuple(self.source(source) for source in op.sources)
        elif form.kind in ("branch", "jump") or op.use.space in ("const", "local"):
            raise CannotDecide
        else:
            if form.run is data_movement.ld and scope_of(op.use) != CONSTANT:
                self.alone.further.add(id(op.instruction))
            self.ended = True

    def _is_executed(self, op: Op) -> bool:
        slot, negated = op.guard or (0, False)
        return bool(number_of(self.registers[slot])) is not negated

    # Reads.

    def _read(self, op: Op) -> None:
        address = number_of(self.source(op.sources[0]))
        if not self._met.isdisjoint((id(op.instruction), address)):
            self.again = True
            return
        self._met |= {id(op.instruction), address}
        if address >> GLOBAL_BITS == 0:
            raise CannotDecide
        choice = self._number, self._reads
        self._reads += 1
        self._takes(op, lambda address, size: (choice, self._allowed(choice, op, address, size)))

    def _allowed(self, choice: Choice, op: Op, address: int, size: int) -> tuple[int, ...]:
        found = self._way.allowed(choice, lambda: self._finds(op, address, size))
        self.fences = ()
        self.seen = reduce(self.alone.sight.both, [one.seen for one in found])
        self.found += [one.by for one in found[-1:] if one.by is not None]
        return tuple(one.value for one in found)

    def _takes(self, op: Op, finds: Callable[[int, int], tuple[Choice, tuple[int, ...]]]) -> None:
        """Loads what is found at an address, one of some numbers."""
        targets = op.targets[0] if isinstance(op.targets[0], list) else [op.targets[0]]
        width = op.use.width
        choice, found = finds(number_of(self.source(op.sources[0])), width // 8 * len(targets))
        for n, target in enumerate(targets):
            self._put(target, one_of(choice, tuple(one >> n * width & mask(width) for one in found)))
        self.at += 1

    def _finds(self, op: Op, address: int, size: int) -> list[FoundBySight]:
        try:
            return self.alone.sight.finds(self._way.place_of(op), address, size, self.seen)
        except CannotFind:
            raise CannotDecide from None

    # Registers.

    def source(self, source: Source | None, among: int | None = None) -> Any:
        """A source; `among`: with one of several values, those of a number."""
        if source is None:
            return None
        if source.kind in ("vector", "packed"):
            return tuple(self.source(part, among) for part in source.parts)
        if source.kind != "register":
            return self.alone.value(source)
        value = self.registers[source.value]
        if isinstance(value, OneOf) and among is not None:
            value = value.values[among]
        if isinstance(value, OneOf) and (source.has > source.width or source.negated or source.offset):
            return one_of(value.choice, tuple(_cut(one, source) for one in value.values))
        return _cut(value, source) if type(value) in (int, bool) else value

    def _computes(self, op: Op) -> None:
        if any(source is not None and source.kind == "packed" for source in op.sources):
            raise CannotDecide
        guard = None if op.guard is None else self.registers[op.guard[0]]
        first = first_of(guard)
        if guard is not None and first is None and bool(number_of(guard)) is op.guard[1]:  # type: ignore[index]
            return
        result = Needs(first) if first is not None else self._result(op)
        self._spread(op.targets[0] if len(op.targets) == 1 else op.targets, result)

    def _result(self, op: Op) -> Any:
        if reads_a_clock(op):
            return UNDEFINED
        sources = [self.source(source) for source in op.sources]
        leaves = [leaf for source in sources for leaf in (source if isinstance(source, tuple) else (source,))]
        if any(isinstance(leaf, UndefinedValue) for leaf in leaves):
            return UNDEFINED
        open_ = [leaf for leaf in leaves if isinstance(leaf, OPEN)]
        if not open_:
            return meant(op, sources)
        if any(isinstance(leaf, Bits) for leaf in open_):
            return of_bits(op, sources)
        first = first_of(open_[0])
        assert first is not None
        if any(not isinstance(leaf, OneOf) or leaf.choice != first.choice for leaf in open_):
            return Needs(first)
        ways = [meant(op, [self.source(s, n) for s in op.sources]) for n in range(len(first.values))]
        if isinstance(ways[0], tuple):
            return tuple(one_of(first.choice, values) for values in zip(*ways, strict=True))
        return one_of(first.choice, tuple(ways))

    def _spread(self, targets: Any, result: Any) -> None:
        if not isinstance(targets, list):
            self._put(targets, result[0] if isinstance(result, tuple) else result)
            return
        results = result if isinstance(result, tuple) else [result] * len(targets)
        for inner, value in zip(targets, results, strict=False):
            self._spread(inner, value)

    def _put(self, target: TargetRegister | None, value: Any) -> None:
        if target is None:
            return
        if target.has > target.width and target.signed:
            if isinstance(value, OneOf):
                value = one_of(value.choice, tuple(int(sext(v, target.width, target.has)) for v in value.values))  # type: ignore[arg-type]
            elif type(value) is int:
                value = sext(value, target.width, target.has)
            elif isinstance(value, Bits):
                first = first_of(value)
                value = value if first is None else Needs(first)
        self.registers[target.slot] = value

    def answered(self, result: Any) -> None:
        """What a meeting gives it."""
        self.brings = None
        self._spread(self.op.targets[0] if len(self.op.targets) == 1 else self.op.targets, result)
        self.at += 1

    # Where it is.

    def key(self) -> Hashable:
        """What tells where it is. Raises Undecided where a live register holds no number."""
        place = self._way.live.before(self.op, self.registers)
        for _, value in place[2]:
            if isinstance(value, Same) and (first := first_of(value.value)) is not None:
                raise Undecided(first)
        return place, plain(self.carry), self.fences

    def place(self) -> _Place:
        """The same, with numbers alone: nothing hangs on what else a register holds."""
        registers = [UNDEFINED if isinstance(value, OPEN) else value for value in self.registers]
        return _Place(self.at, registers, self.carry, self.fences, self.seen)


def _cut(value: int, source: Source) -> int:
    """The value of a register as an operand takes it."""
    number = int(value) & mask(source.width) if source.has > source.width else int(value)
    number = 1 - number if source.negated else number
    return number + source.offset & mask(source.width) if source.offset else number


class CaseWays:
    """All ways of a look-back, by cases. `number`: how many there were."""

    def __init__(self, of: Ways, live: Live, searched: frozenset[int], running: int) -> None:
        self._of, self.live, self.searched, self._running = of, live, searched, running
        self.threads: list[Alone] = of.threads
        self._launch = of.launch
        compiled = self._launch.compiled
        self.code: Code
        begins = []
        codes = set()
        for thread in self.threads:
            code, at = compiled.begins[thread.begins.block]
            codes.add(id(code))
            self.code = code
            begins.append(_Place(at, thread.begins.registers, thread.begins.carry, (), thread.begins.seen))
        if len(codes) != 1:
            raise CannotDecide
        self._begins = tuple(begins)
        self._numbers = {id(op): n for n, op in enumerate(compiled.ops)}
        self._case: dict[Choice, tuple[FoundBySight, ...]] = {}
        self._last = False
        self.number = 0

    def place_of(self, op: Op) -> int:
        return self._numbers[id(op)]

    def allowed(self, choice: Choice, finds: Callable[[], Iterable[FoundBySight]]) -> tuple[FoundBySight, ...]:
        """What a read finds in this case, and in those that leave it open all that it may."""
        if choice not in self._case:
            found = tuple(finds())
            self._case[choice] = found[-1:] if self._last else found
        return self._case[choice]

    def check(self) -> None:
        """Raises NotConfluent where not all ways come to the same, or the run went none of them; CannotDecide where that is not
        known."""
        ends: dict[Hashable, tuple[Sighting, ...]] = {}
        lasts: dict[Hashable, Hashable] = {}
        known: set[Hashable] = set()
        waiting: list[tuple[Hashable, tuple[_Place, ...], tuple[Sighting, ...]]] = [(None, self._begins, ())]
        while waiting:
            key, places, before = waiting.pop()
            for at in self._cases(places):
                found = (*before, *at.found)
                if at.ended:
                    ends.setdefault(at.key, found)
                    if len(ends) > 1:
                        self._of.suspects = list(ends.values())
                        self._of.fences = {fence for place in at.places for fence in place.fences}
                        raise NotConfluent
                elif (at.key, at.seen) not in known:
                    known.add((at.key, at.seen))
                    waiting.append((at.key, at.places, found))
            last = self._once(places, {}, last=True)
            lasts[key] = _END if last.ended else last.key
        _all_end(lasts)
        if self._of.replayed() not in ends:
            raise CannotDecide

    def _cases(self, begins: tuple[_Place, ...]) -> Iterable[_Round]:
        """Where threads come to in a round, in each case."""
        left: list[dict[Choice, tuple[FoundBySight, ...]]] = [{}]
        while left:
            case = left.pop()
            self.number += 1
            if self.number > _MOST_CASES:
                raise CannotDecide
            try:
                yield self._once(begins, case)
            except Undecided as undecided:
                choice, values = undecided.first.choice, undecided.first.values
                found = self._case[choice]
                parts: dict[int, list[FoundBySight]] = {}
                for value, one in zip(values, found, strict=True):
                    parts.setdefault(int(value), []).append(one)
                left += [{**case, choice: tuple(part)} for part in parts.values()]

    def _once(
        self, begins: tuple[_Place, ...], case: dict[Choice, tuple[FoundBySight, ...]], *, last: bool = False
    ) -> _Round:
        """One round in a case; `last`: in which all reads find what they do in the end."""
        self._case, self._last = dict(case), last
        threads = [_Thread(self, n, place) for n, place in enumerate(begins)]
        while True:
            for thread in threads:
                thread.goes_on()
            if not self._meet(threads):
                break
        # Where nobody reads once more, who waits at a meeting waits for others that are behind the look-back: it ends there.
        ended = not any(thread.again for thread in threads)
        keys = tuple((ended or thread.ended, thread.key()) for thread in threads)
        found = tuple(one for thread in threads for one in thread.found)
        return _Round(ended, keys, tuple(thread.place() for thread in threads), found)

    def _meet(self, threads: Sequence[_Thread]) -> bool:
        """Threads that have come together go on; whether some have."""
        met: dict[tuple[Any, ...], list[_Thread]] = {}
        for number, thread in enumerate(threads):
            if thread.brings is not None:
                how, position = self._launch.collective(self.place_of(thread.op))
                if position is None:
                    raise CannotDecide
                alone = self.threads[number]
                place = alone.warp, id(alone.cta), id(how.form), how.present, number_of(thread.brings[position])
                met.setdefault(place, []).append(thread)
        some = False
        for place, those in met.items():
            lanes = {thread.alone.lane: thread for thread in those}
            if sum(1 << lane for lane in lanes) != place[-1] & self._running:
                continue
            how, _ = self._launch.collective(self.place_of(those[0].op))
            results = together(how, {lane: lanes[lane].brings for lane in sorted(lanes)})
            for lane, thread in lanes.items():
                thread.answered(results[lane])
            some = True
        return some


#: Where the last values lead in the end.
_END = "end"


def _all_end(lasts: dict[Hashable, Hashable]) -> None:
    """Raises NotConfluent where threads that find the last values everywhere go round and round."""
    for key in lasts:
        seen = set()
        while key != _END:
            if key in seen or key not in lasts:
                raise NotConfluent
            seen.add(key)
            key = lasts[key]

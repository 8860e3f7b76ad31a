"""Whether CTAs of a launch can change places: what each knows of its number decides nothing but where it keeps its data.

Values are followed through the code, instruction by instruction, the same for all threads. A value is

    the same       in what p(c) does as in what c does, for each p that changes the places of CTAs: what was computed from the
                   same values, or found in memory where the same was stored
    a step         %ctaid times a number, with something added that is the same
    anything       else: what was found in memory that is a CTA's own, or computed from that

An address that is a step leads to bytes that are a CTA's own: those of CTA c, less c steps, lie within one step, whatever CTA
they are of, and no other instruction comes near any CTA's. So p(c) accesses there what no other CTA does, as c does in the run
that was looked at, and nothing of it is out of bounds (numbers that become wider are checked not to wrap around). Guards,
branches, all other addresses, and all operands and results of strong operations must be the same. Then each run with CTAs in
other places is a run, in which the same operations find the same, and all that is ordered is: docs/whole-launches. Memory at
the end is the same but for what CTAs have of their own, which has changed places, and where anything was stored
(`Alike.others`).
"""

from __future__ import annotations

from typing import Any

from axioms.dynamic.core.accesses import scope_of
from axioms.dynamic.core.shadow import CONSTANT
from axioms.dynamic.several.open_operations import OneOfSeveral
from axioms.dynamic.several.plan import Script, StrongBytes
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.lower.liveness import writes
from ptxcore.machine.lower.ops import Code, Op, Source
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.records import NamedTuple

#: Memory is followed by so many bytes, in bits.
_GRANULE = 2
#: The stacks of threads, of which nobody is told.
_LOCAL = -1
#: What stands in each special register is the same in all CTAs, but for the first one: its steps.
_SAME = ("tid.", "ntid.", "nctaid.", "laneid", "lanemask_")
#: Instructions that access memory, or of which the threads of a CTA or a warp execute one together.
_ACCESSES = ("ld", "st", "atom", "red")
_MEET = ("bar", "barrier", "shfl", "vote", "match", "redux", "activemask")
_QUIET = ("fence", "membar", "nanosleep")
_INTEGERS = frozenset(f"{kind}{width}" for kind in "usb" for width in (32, 64))
#: Numbers below this do not wrap around where they become wider, signed or not.
_NARROW = 1 << 31


class NotAlike(Exception):
    """The CTAs cannot change places, as far as this tells."""


class Value(NamedTuple):
    """What a register holds: `steps` times %ctaid (None: anything), and something that is the same, from `low` to `high` where
    that is known."""

    steps: int | None
    low: int | None = None
    high: int | None = None

    @property
    def number(self) -> int | None:
        """The number that it is, where it is always one."""
        return self.low if self.steps == 0 and self.low == self.high else None


SAME, ANYTHING = Value(0), Value(None)


class Alike:
    """A kernel, and where its instructions have accessed memory in runs: `accessed`, by the identity of the instruction and the
    number of the CTA, in units of four bytes."""

    def __init__(self, code: Code, ctas: int, block: tuple[int, int, int], sizes: dict[int, int]) -> None:
        """`ctas`: of a grid of one dimension; `sizes`: of segments of `.global` memory by their numbers. Raises NotAlike."""
        self.code, self.ctas, self.block, self.sizes = code, ctas, block, sizes
        self.accessed: dict[int, dict[int, set[int]]] = {}
        #: What registers hold, and before each instruction, as far as one can come there.
        self.registers: dict[int, Value] = {}
        self.before: dict[int, dict[int, Value]] = {}
        #: Memory in which CTAs have stored what is not the same, or where they have some of their own; the first of these;
        #: and the memory of CTAs' own, with its first unit and the units of each.
        self.stored: set[int] = set()
        self.mixed: set[int] = set()
        self.own: list[tuple[int, int]] = []
        for op in code.ops:
            refuse(op)

    def others(self, address: int, size: int) -> list[int] | None:
        """Where the bytes stand with which some change places where CTAs do, none if they do not; None where nothing is known
        of what is there then."""
        units = set(range(address >> _GRANULE, (address + size - 1 >> _GRANULE) + 1))
        for first, step in self.own:
            inside = {(unit - first) // step for unit in units if first <= unit < first + self.ctas * step}
            if not inside:
                continue
            if len(inside) > 1 or not units.isdisjoint(self.mixed):
                return None
            moved = [address + ((cta - min(inside)) * step << _GRANULE) for cta in range(self.ctas)]
            more = {unit + (cta - min(inside)) * step for unit in units for cta in range(self.ctas)}
            return moved if more.isdisjoint(self.mixed) else None
        return [] if units.isdisjoint(self.stored) else None

    def look(self) -> None:
        """Follows all values. Raises NotAlike where CTAs cannot change places."""
        self.stored, self.mixed = set(), set()
        while self._follow():
            pass
        for number, op in enumerate(self.code.ops):
            if number in self.before:
                self.registers = self.before[number]
                self._decides(op)
        self._keep_apart()

    # What registers hold.

    def _follow(self) -> bool:
        """What registers hold before each instruction, with what is known of memory; whether more of that is known now."""
        stored = len(self.stored)
        self.before = {0: {}}
        waiting = [0]
        while waiting:
            number = waiting.pop()
            op, self.registers = self.code.ops[number], self.before[number]
            after = self._after(op)
            for following in self._behind(number, op):
                before = self.before.get(following)
                joined = after if before is None else _merged(before, after)
                if joined != before:
                    self.before[following] = joined
                    waiting.append(following)
        return len(self.stored) > stored

    def _behind(self, number: int, op: Op) -> list[int]:
        """The instructions that may come next."""
        leaves = op.use.form.kind in ("branch", "exit") and op.guard is None
        if not self.code.labels.keys() >= set(op.labels):
            raise NotAlike
        found = [self.code.labels[label] for label in op.labels] + [number + 1] * (not leaves)
        return [number for number in found if number < len(self.code.ops)]

    def _after(self, op: Op) -> dict[int, Value]:
        """What registers hold behind an instruction."""
        found, results, after = self._result(op), writes(op), dict(self.registers)
        guarded = op.guard is not None and self.registers.get(op.guard[0], SAME).steps != 0
        if guarded or (len(results) > 1 and found.steps != 0):  # parts of a number are no steps
            found = ANYTHING
        for slot in results:
            after[slot] = found if op.guard is None else _joined(self.registers.get(slot), found)
        if op.use.form.mnemonic in ("st", "atom", "red") and any(self._of(source).steps != 0 for source in op.sources):
            self.stored |= self._units(op)
            if any(self._of(source).steps != 0 for source in op.sources[1:]):
                self.mixed |= self._units(op)
        return after

    def _result(self, op: Op) -> Value:
        mnemonic, given = op.use.form.mnemonic, [self._of(source) for source in op.sources if source is not None]
        if mnemonic in _ACCESSES:
            return self._found(op, given)
        words, types = op.instruction.modifiers, op.use.types
        of_integers = bool(types) and _INTEGERS.issuperset(types) and not {"sat", "cc", "hi"} & set(words)
        if len(given) >= 1 and (mnemonic == "cvta" or (of_integers and mnemonic in ("mov", "cvt") and len(given) == 1)):
            width = [int(kind[1:]) for kind in types]
            wider = mnemonic == "cvt" and max(width) > width[-1]
            return self._wider(given[0]) if wider else given[0]
        if of_integers and mnemonic in ("add", "sub") and len(given) == 2:
            return _sum(given[0], given[1] if mnemonic == "add" else _times(given[1], Value(0, -1, -1)))
        if of_integers and mnemonic == "shl" and len(given) == 2 and given[1].number is not None:
            return _times(given[0], Value(0, *[1 << min(given[1].number, 64)] * 2))
        if of_integers and mnemonic in ("mul", "mad") and len(given) == 2 + (mnemonic == "mad"):
            factors = [self._wider(value) for value in given[:2]] if "wide" in words else given
            product = _times(factors[0], factors[1])
            product = self._wider(product) if "wide" in words else product
            return _sum(product, given[2]) if mnemonic == "mad" else product
        return SAME if all(value.steps == 0 for value in given) else ANYTHING

    def _wider(self, value: Value) -> Value:
        """A number that becomes wider: it must not have wrapped around, in any CTA."""
        if value.steps in (0, None):
            return value
        assert value.steps is not None
        ends = [] if value.low is None or value.high is None else [value.low, value.high]
        reach = [end + value.steps * cta for end in ends for cta in (0, self.ctas - 1)]
        return value if reach and min(reach) >= 0 and max(reach) < _NARROW else ANYTHING

    def _found(self, op: Op, given: list[Value]) -> Value:
        """What an access finds."""
        if op.use.space in ("param", "const"):
            return SAME if given[0].steps == 0 else ANYTHING
        if given[0].steps != 0 or (op.use.form.mnemonic != "ld" and any(value.steps != 0 for value in given)):
            return ANYTHING
        return ANYTHING if self._units(op) & self.stored else SAME

    def _units(self, op: Op) -> set[int]:
        of = self.accessed.get(id(op.instruction))
        return set().union(*of.values()) if of else {_LOCAL}

    def _of(self, source: Source | None) -> Value:
        if source is None:
            return SAME
        if source.kind == "constant":
            number = source.value + source.offset
            return Value(0, number, number)
        if source.kind == "register":
            found = self.registers.get(source.value, SAME)
            return _sum(found, Value(0, source.offset, source.offset))
        if source.kind == "special":
            return self._special(source.name.removeprefix("%"))
        parts = [self._of(part) for part in source.parts]
        return SAME if all(value.steps == 0 for value in parts) else ANYTHING

    def _special(self, name: str) -> Value:
        if name in ("ctaid.y", "ctaid.z"):
            return Value(0, 0, 0)
        if name == "ctaid.x":
            return Value(1, 0, 0)
        if not name.startswith(_SAME):
            raise NotAlike
        sizes = dict(zip("xyz", self.block, strict=True))
        if name.startswith("ntid."):
            return Value(0, sizes[name[-1]], sizes[name[-1]])
        if name.startswith("tid."):
            return Value(0, 0, sizes[name[-1]] - 1)
        return Value(0, 0, 31) if name == "laneid" else SAME

    # What decides.

    def _decides(self, op: Op) -> None:
        """Raises NotAlike where something else than the same decides what a thread does."""
        mnemonic, kind = op.use.form.mnemonic, op.use.form.kind
        given = [self._of(source) for source in op.sources]
        same = [value.steps == 0 for value in given]
        if op.guard is not None and self.registers.get(op.guard[0], SAME).steps != 0 and kind != "value":
            raise NotAlike
        if mnemonic in _ACCESSES:
            strong = scope_of(op.use)
            if given and given[0].steps is None:
                raise NotAlike
            if strong not in ("", CONSTANT) and not (all(same) and self._found(op, given).steps == 0):
                raise NotAlike
        elif kind != "value" and not all(same[mnemonic in ("shfl", "vote", "match", "redux") :]):
            raise NotAlike

    def _keep_apart(self) -> None:
        """Raises NotAlike where what is a CTA's own may meet what is not."""
        self.own = []
        windows: dict[int, tuple[int, int, int]] = {}
        common: set[int] = set()
        for number, op in enumerate(self.code.ops):
            of = self.accessed.get(id(op.instruction)) if op.use.form.mnemonic in _ACCESSES else None
            if not of:
                continue
            if number not in self.before:
                raise NotAlike
            self.registers = self.before[number]
            steps = self._of(op.sources[0]).steps
            if steps == 0:
                common.update(*of.values())
                continue
            if steps is None or steps <= 0 or steps % (1 << _GRANULE):
                raise NotAlike
            step = steps >> _GRANULE
            for cta, units in of.items():
                for segment in {unit << _GRANULE >> GLOBAL_BITS for unit in units}:
                    if segment not in self.sizes:
                        raise NotAlike
                    start = segment << GLOBAL_BITS >> _GRANULE
                    less = [u - start - cta * step for u in units if u << _GRANULE >> GLOBAL_BITS == segment]
                    before = windows.get(segment, (step, min(less), max(less)))
                    if before[0] != step:
                        raise NotAlike
                    windows[segment] = step, min(before[1], *less), max(before[2], *less)
        for segment, (step, low, high) in windows.items():
            start, most = segment << GLOBAL_BITS >> _GRANULE, self.sizes[segment] >> _GRANULE
            if high - low >= step or low < 0 or high + (self.ctas - 1) * step >= most:
                raise NotAlike
            self.own.append((start + low, step))
        if any(first <= unit < first + self.ctas * step for unit in common for first, step in self.own):
            raise NotAlike


def refuse(op: Op) -> None:
    """Raises NotAlike for an instruction of which this does not know what it does."""
    form = op.use.form
    known = form.kind in ("value", "branch", "exit", "nothing") or form.mnemonic in (*_ACCESSES, *_MEET, *_QUIET)
    if op.call is not None or op.refused or not known or form.carry or form.updates:
        raise NotAlike
    if form.mnemonic in _ACCESSES and scope_of(op.use) is None:
        raise NotAlike


def _joined(one: Value | None, other: Value) -> Value:
    """What holds either of two values; of numbers that grow nothing is known soon."""
    if one is None or one == other:
        return other
    return ANYTHING if one.steps != other.steps else Value(one.steps)


def _merged(one: dict[int, Value], other: dict[int, Value]) -> dict[int, Value]:
    """What registers hold that come from two places; what none has written may be left out."""
    return one | {slot: _joined(one.get(slot), value) for slot, value in other.items()}


def _sum(one: Value, other: Value) -> Value:
    if one.steps is None or other.steps is None:
        return ANYTHING
    bounds = (one.low, one.high, other.low, other.high)
    if any(bound is None for bound in bounds):
        return Value(one.steps + other.steps)
    low, high, more, most = (bound or 0 for bound in bounds)
    return Value(one.steps + other.steps, low + more, high + most)


def _times(one: Value, other: Value) -> Value:
    one, other = (one, other) if other.number is not None else (other, one)
    if one.steps is None or other.steps is None:
        return ANYTHING
    number = other.number
    if number is None:
        return SAME if one.steps == other.steps == 0 else ANYTHING
    ends = [] if one.low is None or one.high is None else [number * one.low, number * one.high]
    return Value(one.steps * number, min(ends, default=None), max(ends, default=None))


class InAnyPlace(OneOfSeveral):
    """Watches one launch in one of several runs, and notes who accesses what."""

    def __init__(self, size: int, known: StrongBytes, script: Script, accessed: dict[int, dict[int, set[int]]]) -> None:
        """`accessed`: where it is noted (`Alike.accessed`)."""
        super().__init__(size, 0, known, script)
        self._accessed = accessed

    def _note(self, thread: WatchedThread, address: int, size: int) -> None:
        units = self._accessed.setdefault(id(thread.instruction.instruction), {}).setdefault(
            thread.number // self.size, set()
        )
        units.update(range(address >> _GRANULE, (address + size - 1 >> _GRANULE) + 1))

    def reads(self, thread: WatchedThread, address: int, size: int) -> int | None:
        self._note(thread, address, size)
        return super().reads(thread, address, size)

    def writes(self, thread: WatchedThread, address: int, size: int, value: Any) -> None:
        self._note(thread, address, size)
        super().writes(thread, address, size, value)

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> int | None:
        self._note(thread, address, size)
        return super().updates(thread, how, address, size, write)

    def in_shared_memory(self) -> bool:
        """Whether the order of operations on shared memory is open."""
        return any(event.spot.name.cta >= 0 for event in self.events)


__all__ = ["ANYTHING", "SAME", "Alike", "InAnyPlace", "NotAlike", "Value", "refuse"]

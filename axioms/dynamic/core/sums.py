"""Sums of floating-point numbers that atomic operations add up in memory: whether each order gives the same.

Floating-point addition is not associative, since it rounds. But it does not round where all that is added to a place, and what
stood there, are whole multiples of one unit, a power of two, and their magnitudes together are no more units than the fraction
has room for: then what any of them come to, in any order, is a number of the format. The unit is not subnormal, so it is of no
matter whether subnormal numbers are flushed (section 9.7.13.5). Tests of kernels mostly add up small integers: these are exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from axioms.dynamic.core.findings import Open, Party, Stopped
from ptxcore.isa.form import Use
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.watched import Told, WatchedThread, Write
from ptxcore.records import NamedTuple
from ptxcore.values.ieee import FORMATS, FloatFormat, add, decode

#: Operations that count round and round.
_AROUND = ("inc", "dec")


def is_sum(how: Use) -> bool:
    """Whether an atomic operation adds floating-point numbers, one or a packed two."""
    return how.op == "add" and how.type.partition("x")[0] in FORMATS and not how.words["vec"]


class AddedAround(NamedTuple):
    """What is added to a value that is less than a number, by which it goes round."""

    operand: int
    modulus: int


def added_around(thread: WatchedThread, how: Use) -> AddedAround | None:
    """What `inc` and `dec` add to a value that is no greater than their bound, from which they go on with 0, or to which from
    there (section 9.7.13.5); None of others."""
    source = thread.instruction.sources[1] if how.op in _AROUND else None
    bound = None if source is None else thread.value(source)
    return AddedAround(1 if how.op == "inc" else bound, bound + 1) if type(bound) is int else None


class _Added(NamedTuple):
    """What was added to a place: the exponent of the unit, the magnitudes together in units, and what stands there now."""

    unit: int
    total: int
    value: int


class Sums:
    """What atomic operations have added, by place and half of a packed type.

    `noted`: of those that hang on their order, the instructions by their identity, where somebody follows what is computed of
    them (`code.depends`); else None.
    """

    def __init__(self, noted: dict[int, Op] | None = None) -> None:
        self.noted = noted
        self._added: dict[tuple[int, int, int], _Added | None] = {}  # None where some order may round
        #: By place, the additions that hang on their order, as far as they were seen to.
        self._hanging: Counter[tuple[int, int]] = Counter()

    @property
    def hanging(self) -> int:
        """To each place to which additions hang on their order there were so many, or more (0 where there is none): those
        before it was seen that they do are not counted."""
        return min(self._hanging.values(), default=0)

    def operand(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> Any:
        """What an atomic operation adds, of integers, whose sums are the same in any order; None where it does something else.
        Raises Stopped as `hangs`."""
        value = write(0)[0] if how.op == "add" else added_around(thread, how)
        if not is_sum(how):
            return value
        segment, first = thread.segment(address)
        self.add((id(segment), first), thread.instruction, segment.read(first, size), value)
        return None

    def add(self, place: tuple[int, int], op: Op, found: Any, addend: Any, type_: str = "") -> None:
        """One more addition to a place (a segment of memory and a byte of it), where `found` stands; `type_` where the
        instruction does not say that of the elements. Raises Stopped as `hangs`."""
        if not self.exact(place, type_ or op.use.type, found, addend):
            self._hanging[place] += 1
            self.hangs(op)

    def combined(self, copy: Told, type_: str, address: int) -> None:
        """A reducing copy is about to add to an element of a type. Raises Stopped as `hangs`."""
        segment, first = copy.thread.segment(address)
        op: Op = copy.agent.party.op
        self.add((id(segment), first), op, segment.read(first, copy.element), copy.addend(address), type_)

    def exact(self, place: tuple[int, int], type_: str, found: Any, addend: Any) -> bool:
        """One more addition to a place; whether those so far come to the same in any order."""
        if type(found) is not int or type(addend) is not int:
            return False
        name, _, packed = type_.partition("x")
        form, exact = FORMATS[name], True
        for half in range(2 if packed else 1):
            one, other = (bits >> half * form.width & (1 << form.width) - 1 for bits in (found, addend))
            exact &= self._add((*place, half), form, one, other)
        return exact

    def hang(self, place: tuple[int, int], ops: Iterable[Op], number: int) -> None:
        """What some instructions leave at a place, by so many operations, hangs on their order. Raises Stopped as `hangs`."""
        self._hanging[place] += number
        for op in ops:
            self.hangs(op)

    def hangs(self, op: Op) -> None:
        """What an instruction adds up hangs on the order. Raises Stopped where nobody follows what is computed of it."""
        if self.noted is None:
            raise Stopped(Open("outcome", Party(0, op)))
        self.noted[id(op.instruction)] = op

    def _add(self, key: tuple[int, int, int], form: FloatFormat, found: int, addend: int) -> bool:
        before = self._added.get(key, _NOTHING)
        if before is not None and before.value != found:  # something else was written there
            before = _with(before, form, found)
        after = _with(before, form, addend)
        if after is not None:
            after = after._replace(value=add(form, found, addend))
        self._added[key] = after
        return after is not None


def adds_exactly(form: str, first: int, addends: Iterable[int]) -> bool:
    """Whether numbers of a format, added to a first one, come to the same in any order: no order rounds."""
    sums, now = Sums(), first
    for addend in addends:
        if not sums.exact((0, 0), form, now, addend):
            return False
        now = add(FORMATS[form], now, addend)
    return True


#: No value of a place.
_NOTHING = _Added(1 << 20, 0, -1)


def _with(before: _Added | None, form: FloatFormat, bits: int) -> _Added | None:
    """One number more; None where the sum of all may be rounded."""
    number = decode(form, bits)
    if before is None or number.kind != "finite":
        return None
    if number.zero:
        return before
    low = (number.mantissa & -number.mantissa).bit_length() - 1
    unit, more = number.exponent + low, number.mantissa >> low
    least = min(unit, before.unit)
    total = (before.total << before.unit - least if before.total else 0) + (more << unit - least)
    room = total <= 1 << form.fraction + 1 and least >= 1 - form.bias and total.bit_length() + least <= form.bias + 1
    return _Added(least, total, before.value) if room else None

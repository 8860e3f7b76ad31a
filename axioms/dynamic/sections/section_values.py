"""What critical sections of one lock may find in the bytes that it guards, and so to which addresses they may be led.

Sections of one lock follow each other (docs/whole-launches, Critical sections), so what the k-th one finds was there first,
or k - 1 sections before it have left it, each what it leaves of what it found. The values that may stand somewhere are so
found in as many rounds as there are sections. Where all of them add a number to a place, a section finds there what all of its
own thread before it have added, and what others have by then. Sets are of single places, so that they hold combinations, too,
which no execution has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import gcd

from axioms.dynamic.code.linear import congruent
from axioms.dynamic.core.findings import step
from axioms.dynamic.sections.section_records import LedAccess, LockedSection, Place
from axioms.dynamic.sections.told import Untold
from ptxcore.machine.run.uninitialised import Varying
from ptxcore.values.terms import Term, Value, evaluate, mask, signed, symbols_of

#: Values that are told apart at a place, and combinations that are looked at for one address.
_MOST_VALUES, _MOST_COMBINATIONS = 1024, 1 << 14
#: Some values; None for any.
Values = frozenset[int] | None
_Told = Sequence[tuple[Value, bool]]


class SectionValues:
    """Of the sections of one lock. `reached` has for each access all addresses to which it may be led."""

    def __init__(
        self,
        sections: Sequence[LockedSection],
        starts: Mapping[Place, Values],
        reset: set[Place],
        place_at: Callable[[LedAccess, int], Place],
    ) -> None:
        """`starts`: what stood at places when sections came there; `reset`: those that are written outside of sections, too;
        `place_at`: where an access at an address is. Raises Untold where an access may be led to any address."""
        self.reached: dict[int, set[int]] = {}
        self._sections, self._place_at = sections, place_at
        self._values: dict[Place, Values] = dict(starts)
        self._sums = self._additive(reset)
        self._of_symbols: dict[Term, Values] = {}
        for _ in sections:
            if not self._round():
                return

    # Sums.

    def _additive(self, reset: set[Place]) -> dict[tuple[Place, int], Values]:
        """By place and the number of a section, what it may find where all sections add."""
        found: dict[tuple[Place, int], Values] = {}
        places = dict.fromkeys(place for section in self._sections for place in section.left)
        for place in places:
            start = self._values.get(place)
            added = [_added(section, place) for section in self._sections]
            if place in reset or start is None or len(start) != 1 or None in added:
                continue
            addends = [number or 0 for number in added]
            unit, (first,) = gcd(*addends), start
            sums: dict[int, tuple[int, int, int]] = {}  # of each thread: the least one, the greatest one, all
            for section, addend in zip(self._sections, addends, strict=True):
                least, greatest, total = sums.get(section.holder, (0, 0, 0))
                total += addend
                sums[section.holder] = min(least, total), max(greatest, total), total
            low, high = sum(s[0] for s in sums.values()), sum(s[1] for s in sums.values())
            own: dict[int, int] = {}
            for section, addend in zip(self._sections, addends, strict=True):
                before = own.get(section.holder, 0)
                least, greatest, _ = sums[section.holder]
                begin, end = first + before + low - least, first + before + high - greatest
                found[place, section.number] = _range(begin, end, unit, place[1])
                own[section.holder] = before + addend
        return found

    # Rounds.

    def _round(self) -> bool:
        """One more section may have come before each; whether that makes a difference."""
        left: dict[Place, Values] = {}
        grown = False
        for section in self._sections:
            of = {v.term: self._found(section, place) for place, v in section.found.items()}
            for led in section.led:
                grown |= self._leads(led, of)
            for place, (_, _, value) in section.left.items():
                if (place, section.number) not in self._sums:
                    more = self._all(value.term if isinstance(value, Varying) else value, (), of)
                    left[place] = _joined(left.get(place, frozenset()), more)
        for place, more in left.items():
            grown |= self._puts(place, more)
        return grown

    def _found(self, section: LockedSection, place: Place) -> Values:
        key = place, section.number
        return self._sums[key] if key in self._sums else self._values.get(place)

    def _leads(self, led: LedAccess, of: dict[Term, Values]) -> bool:
        """An access comes where it may be led; whether that is new."""
        addresses = self._all(led.address, led.told, of)
        if addresses is None:
            raise Untold
        reached = self.reached.setdefault(id(led), set())
        grown = not addresses <= reached
        reached |= addresses
        places = [self._place_at(led, address) for address in addresses]
        if led.kind == "R":
            found: Values = frozenset()
            for place in places:
                found = _joined(found, self._values.get(place))
            if isinstance(led.value, Term):
                of[led.value] = found
            return grown
        put = None if led.value is None else self._all(led.value, led.told, of)
        for place in places:
            grown |= self._puts(place, put)
        return grown

    def _puts(self, place: Place, values: Values) -> bool:
        before = self._values.get(place, frozenset())
        after = self._values[place] = _joined(before, values)
        return before != after

    def _all(self, value: Value, told: _Told, of: Mapping[Term, Values]) -> Values:
        """All numbers that a value may be, where branches were told so."""
        if isinstance(value, int):
            return frozenset((value,))
        symbols = set(symbols_of(value))
        if any(of.get(symbol) is None for symbol in symbols):
            return None
        conditions = []
        for condition, truth in told:
            more = set(symbols_of(condition))
            if not more.isdisjoint(symbols) and all(of.get(symbol) is not None for symbol in more):
                conditions.append((condition, truth))
                symbols |= more
        ordered = list(symbols)
        sets = [sorted(of.get(symbol) or ()) for symbol in ordered]
        combinations = 1
        for values in sets:
            combinations *= len(values)
        if combinations > _MOST_COMBINATIONS:
            return None
        found = set()
        for numbers in product(*sets):
            step()
            here = dict(zip(ordered, numbers, strict=True))
            if all(bool(evaluate(condition, here)) is truth for condition, truth in conditions):
                found.add(evaluate(value, here))
        return frozenset(found)


def _added(section: LockedSection, place: Place) -> int | None:
    """What a section adds to what it found at a place; None where it does something else."""
    if place not in section.left:
        return 0
    value, found = section.left[place][2], section.found.get(place)
    if not isinstance(value, Varying) or found is None:
        return None
    width = 8 * place[1]
    form = congruent(value.term, lambda of: (0, mask(width)) if of is found.term else None)
    if form is None or dict(form.factors) != {found.term: 1} or value.term.width != width:
        return None
    return signed(form.start & mask(width), width)


def _range(first: int, last: int, unit: int, size: int) -> Values:
    numbers = range(first, last + 1, unit or 1)
    return None if len(numbers) > _MOST_VALUES else frozenset(n & mask(8 * size) for n in numbers)


def _joined(one: Values, other: Values) -> Values:
    if one is None or other is None or len(one) + len(other) > 2 * _MOST_VALUES:
        return None
    return one | other


def noted(starts: dict[Place, Values], place: Place, number: int | None) -> None:
    """Something stands at a place when a section comes there; None where that is not known."""
    before = starts.get(place, frozenset())
    starts[place] = None if number is None or before is None else before | {number}


__all__ = ["SectionValues", "Values", "noted"]

"""What comes of reads in a case of a look-back (`lookback.deciding`): numbers, and what is known of others.

Of a read it is open which of some values it finds. What is computed from it is one of several values (`OneOf`), or bits of
which each is by a read of its own (`Bits`), or something of which it is known only on which read it hangs first (`Needs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from axioms.dynamic.lookback.lookbacks import NotConfluent
from ptxcore.isa import data_movement
from ptxcore.isa.warp import ballot, vote
from ptxcore.machine.lower.ops import Op

_WARP = 32
#: A read: the thread by its place in the look-back, and which of its reads in the round.
Choice = tuple[int, int]


class OneOf:
    """What one of several findings of a read gives, in their order."""

    __slots__ = ("choice", "values")

    def __init__(self, choice: Choice, values: tuple[int, ...]) -> None:
        self.choice, self.values = choice, values


class Needs:
    """A value of which is known only what it hangs on first."""

    __slots__ = ("first",)

    def __init__(self, first: OneOf) -> None:
        self.first = first


class Bits:
    """A word of which some bits are open, each by itself; the lowest one first."""

    __slots__ = ("bits",)

    def __init__(self, bits: Sequence[int | OneOf | Needs]) -> None:
        self.bits = tuple(bits)


OPEN = (OneOf, Needs, Bits)


class Undecided(Exception):
    """Something hangs on what a read finds: which one, and how its findings are told apart."""

    def __init__(self, first: OneOf) -> None:
        super().__init__(first)
        self.first = first


class CannotDecide(Exception):
    """Nothing is known of ways that are gone so."""


def first_of(value: Any) -> OneOf | None:
    """What a value hangs on first; None where it hangs on nothing."""
    if isinstance(value, Bits):
        return next((first for bit in value.bits if (first := first_of(bit)) is not None), None)
    return value if isinstance(value, OneOf) else value.first if isinstance(value, Needs) else None


def number_of(value: Any) -> int:
    """A value that decides something."""
    first = first_of(value)
    if first is not None:
        raise Undecided(first)
    if type(value) not in (int, bool):
        raise NotConfluent
    return int(value)


def one_of(choice: Choice, values: tuple[Any, ...]) -> Any:
    if any(type(value) not in (int, bool) for value in values):
        raise CannotDecide
    return values[0] if len(set(values)) == 1 else OneOf(choice, values)


def meant(op: Op, sources: Sequence[Any]) -> Any:
    try:
        return op.use.form.meaning(op.use, *sources)
    except Exception:  # what has no meaning
        raise NotConfluent from None


def word_of(bits: Sequence[int | OneOf | Needs]) -> int | Bits:
    """The word of some bits, the lowest one first."""
    if any(first_of(bit) is not None for bit in bits):
        return Bits(bits)
    return sum(number_of(bit) << n for n, bit in enumerate(bits))


def of_bits(op: Op, sources: Sequence[Any]) -> Any:
    """What an instruction makes of a word of which each bit hangs on something else, as far as it is known."""
    mnemonic = op.use.form.mnemonic
    word = next(source for source in sources if isinstance(source, Bits))
    first = first_of(word)
    assert first is not None
    if op.use.width == _WARP and mnemonic in ("and", "or"):
        other = sources[1] if sources[0] is word else sources[0]
        if type(other) is int:
            wins = 0 if mnemonic == "and" else 1  # of a bit of the other word
            return word_of([wins if (other >> n & 1) == wins else bit for n, bit in enumerate(word.bits)])
    elif op.use.width == _WARP and mnemonic == "brev":
        return word_of(word.bits[::-1])
    elif op.use.width == _WARP and mnemonic == "clz":
        for n, bit in enumerate(reversed(word.bits)):
            if (open_ := first_of(bit)) is not None:
                return Needs(open_)
            if bit:
                return n
    return Needs(first)


def together(how: Any, brings: dict[int, Any]) -> dict[int, Any]:
    """What an instruction of a warp gives each of those that execute it together."""
    if not any(first_of(value) is not None for brought in brings.values() for value in brought):
        try:
            return dict(how.form.meaning(how, data_movement.ShuffleLanes(brings, _undetermined)))
        except NotConfluent:
            raise
        except Exception:  # what has no meaning
            raise NotConfluent from None
    if how.form.run is data_movement.shfl or how.form.meaning is data_movement.shfl:
        return _shuffled(how, brings)
    votes = {lane: brought[0] for lane, brought in brings.items()}
    if how.form.meaning is ballot:
        return dict.fromkeys(brings, word_of([votes.get(lane, 0) for lane in range(_WARP)]))
    if how.form.meaning is vote and how.words["mode"] in ("all", "any"):
        decides = how.words["mode"] == "any"  # the vote that decides
        if any(first_of(a) is None and bool(number_of(a)) is decides for a in votes.values()):
            return dict.fromkeys(brings, int(decides))
        return dict.fromkeys(brings, Needs(next(first for a in votes.values() if (first := first_of(a)) is not None)))
    raise Undecided(next(f for brought in brings.values() for v in brought if (f := first_of(v)) is not None))


def _shuffled(how: Any, brings: dict[int, Any]) -> dict[int, Any]:
    """What a shuffle gives: who looks at whom may be open for some of the threads."""
    open_ = {lane: next(filter(None, map(first_of, brought[1:])), None) for lane, brought in brings.items()}
    asked = {lane: (lane, *((0, 0) if open_[lane] is not None else brought[1:3])) for lane, brought in brings.items()}
    absent: set[int] = set()

    def nobody(lane: int) -> int:
        absent.add(lane)
        return lane

    found = how.form.meaning(how, data_movement.ShuffleLanes(asked, nobody))
    results: dict[int, Any] = {}
    for lane, (source, inside) in found.items():
        first = open_[lane]
        if first is not None:
            results[lane] = Needs(first), Needs(first)
        elif lane in absent:
            raise NotConfluent
        else:
            results[lane] = brings[source][0], inside
    return results


def _undetermined(lane: int) -> int:
    raise NotConfluent

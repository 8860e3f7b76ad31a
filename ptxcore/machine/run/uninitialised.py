"""Values that nothing wrote, in memory or registers: they may be carried about, and computed with where nothing comes of it
(a minimum that is thrown away, the padding of a structure). Compilers write such code; so the error is to let such a value
decide something: a branch, an address, what global memory holds, what other threads get.

Compiled code stops at such a value; `emulation` goes on with it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Protocol

from ptxcore.machine.run.faults import Blamed, UndefinedValue, UnwrittenValue
from ptxcore.records import NamedTuple
from ptxcore.values.terms import (
    Term,
    Value,
    bit_and,
    bit_or,
    concat,
    mask,
    signed,
    subterms,
    symbol,
)

_serials = count()


class UninitialisedRead(NamedTuple):
    """Where unknown bits came from: the kind and message of the error that it is to let them decide something, the
    instruction to blame, where it is not the one that does so, and the one that read them from memory."""

    kind: str
    message: str
    op: Blamed | None = None
    reader: Blamed | None = None


class Uninitialised(UndefinedValue):
    """A value of which at least some bits are unknown: `term` is over symbols for them. `size` counts its operations."""

    __slots__ = ("cause", "size", "term")

    def __init__(self, term: Term, cause: UninitialisedRead, size: int = 1) -> None:
        self.term, self.cause, self.size = term, cause, size

    def _use(self, *_: object) -> int:
        raise error_of(self.cause)

    def read_by(self, op: Blamed | None) -> None:
        """It came from memory with this instruction."""
        self.cause = self.cause._replace(reader=op)


class Varying(Uninitialised):
    """A value that other executions may have another one in the place of: `number` is the one of this run. `owner` is who made
    the symbols of its term, and is asked where it decides something. Memory that tells what was written takes it for unwritten,
    so that nobody but its owner finds it there."""

    __slots__ = ("number", "owner")

    def __init__(self, term: Term, cause: UninitialisedRead, size: int, number: int, owner: Owner) -> None:
        super().__init__(term, cause, size)
        self.number, self.owner = number, owner

    @classmethod
    def fresh(cls, width: int, number: int, owner: Owner) -> Varying:
        """A value of `width` bits of which nothing else is known."""
        return cls(anything(width), VARIES, 1, number, owner)


#: What it is to let a value decide something that other executions have another one of.
VARIES = UninitialisedRead("varies", "a value decides something here that hangs on the order of atomic operations")


class Owner(Protocol):
    """Who has made values that vary."""

    def decides(self, thread: Any, value: Varying, op: Any) -> int:
        """A predicate decides whether a thread executes an instruction (`op`); gives it as all executions have it, or the run.
        What it raises ends the run."""
        ...

    def locates(self, thread: Any, value: Varying) -> int:
        """The next accesses of a thread, by one instruction, are at this address; gives that of the run."""
        ...


def error_of(cause: UninitialisedRead) -> UnwrittenValue:
    """What it is to let such bits decide something."""
    error = UnwrittenValue(cause.kind, cause.message)
    error.origin, error.reader = cause.op, cause.reader
    return error


def unknown(data: bytes, known: bytes, where: str) -> Uninitialised:
    """The little-endian number of bytes of which some bits are unknown; `known` has a 1 for each of the others."""
    value: Value = 0
    for i, byte in enumerate(data):
        part: Value = byte
        if known[i] != 0xFF:
            open_ = bit_and(anything(8), 0xFF ^ known[i], 8)
            part = bit_or(open_, byte & known[i], 8)
        value = concat(part, value, 8, 8 * i) if i else part
    assert isinstance(value, Term)
    return Uninitialised(value, UninitialisedRead("uninitialised", where))


def anything(width: int) -> Term:
    """A symbol of its own."""
    found = symbol(("uninitialised", next(_serials)), width)
    assert isinstance(found, Term)
    return found


def opaque(width: int, cause: UninitialisedRead) -> Uninitialised:
    """A value of which nothing is known."""
    return Uninitialised(anything(width), cause)


def bytes_of(value: Uninitialised, size: int) -> tuple[bytes, bytes]:
    """The bytes of a value, and which of their bits are known."""
    number, open_ = known_bits(value.term)
    whole = (1 << 8 * size) - 1
    return (number & ~open_ & whole).to_bytes(size, "little"), (~open_ & whole).to_bytes(size, "little")


def known_bits(value: Value) -> tuple[int, int]:
    """What is known of the bits of a value: the value with 0 for the unknown ones, and a 1 for each unknown one. What stands in
    a sum with both signs is gone: a scan takes what it has added off again (an exclusive sum is an inclusive one less the
    element)."""
    found: dict[Value, tuple[int, int]] = {}
    sums: dict[Term, _Sum] = {}

    def of(part: Value) -> tuple[int, int]:
        return (part, 0) if isinstance(part, int) else found[part]

    for term in subterms([value]):
        if term.op in ("add", "sub"):
            sums[term] = _summed(term, sums)
            number, open_ = _of_sum(sums[term], of)
            found[term] = number & ~open_ & mask(term.width), open_ & mask(term.width)
            continue
        bits = _BITS.get(term.op)
        number, open_ = (0, mask(term.width)) if bits is None else bits(term, of)
        found[term] = number & ~open_ & mask(term.width), open_ & mask(term.width)
    return of(value)


_Bits = tuple[int, int]
_Of = Callable[[Value], _Bits]


def _conjunction(term: Term, of: _Of) -> _Bits:
    (a, x), (b, y) = of(term.args[0]), of(term.args[1])
    return a & b, (x | y) & (a | x) & (b | y)  # a known 0 decides


def _disjunction(term: Term, of: _Of) -> _Bits:
    (a, x), (b, y) = of(term.args[0]), of(term.args[1])
    return a | b, (x | y) & ~a & ~b  # a known 1 decides


def _difference(term: Term, of: _Of) -> _Bits:
    (a, x), (b, y) = of(term.args[0]), of(term.args[1])
    return a ^ b, x | y


def _shift(move: Callable[[int, int], int]) -> Callable[[Term, _Of], _Bits]:
    def shifted(term: Term, of: _Of) -> _Bits:
        (a, x), (b, y) = of(term.args[0]), of(term.args[1])
        return (0, mask(term.width)) if y else (move(a, min(b, term.width)), move(x, min(b, term.width)))

    return shifted


#: A number, and how often each of some other values is added to it, modulo 2 to the width.
_Sum = tuple[int, dict[Value, int]]


def _summed(term: Term, sums: dict[Term, _Sum]) -> _Sum:
    """What an addition or subtraction gives, `sums` being what those below it give."""
    whole, parts, bits = 0, dict[Value, int](), mask(term.width)
    for part, sign in zip(term.args, (1, -1 if term.op == "sub" else 1), strict=True):
        number, others = (part, {}) if isinstance(part, int) else sums.get(part, (0, {part: 1}))
        whole += sign * number
        for other, times in others.items():
            parts[other] = parts.get(other, 0) + sign * times & bits
    return whole & bits, {part: times for part, times in parts.items() if times}


def _of_sum(summed: _Sum, of: _Of) -> _Bits:
    whole, parts = summed
    lowest = 0
    for part, times in parts.items():
        number, open_ = of(part)
        whole += times * number
        lowest |= (times & -times) * (open_ & -open_)
    return whole, -(lowest & -lowest)  # carries go up


def _choice(term: Term, of: _Of) -> _Bits:
    (c, open_), (a, x), (b, y) = (of(part) for part in term.args)
    if open_:
        return a, x | y | (a ^ b)
    return (a, x) if c else (b, y)


def _joined(term: Term, of: _Of) -> _Bits:
    low = term.args[1].width if isinstance(term.args[1], Term) else term.width - term.args[0].width
    (a, x), (b, y) = of(term.args[0]), of(term.args[1])
    return a << low | b, x << low | y


def _extended(term: Term, of: _Of) -> _Bits:
    (a, x), width = of(term.args[0]), term.args[0].width
    return signed(a, width), signed(x, width)


def _all(term: Term, of: _Of) -> _Bits:
    parts = [of(part) for part in term.args]
    return int(all(a for a, _ in parts)), int(any(x for _, x in parts) and all(a or x for a, x in parts))


def _any(term: Term, of: _Of) -> _Bits:
    parts = [of(part) for part in term.args]
    return int(any(a for a, _ in parts)), int(any(x for _, x in parts) and not any(a for a, _ in parts))


#: What is known of the result of an operation.
_BITS: dict[str, Callable[[Term, _Of], _Bits]] = {
    "and": _conjunction,
    "or": _disjunction,
    "xor": _difference,
    "shl": _shift(lambda a, n: a << n),
    "lshr": _shift(lambda a, n: a >> n),
    "ite": _choice,
    "concat": _joined,
    "extract": lambda term, of: (of(term.args[0])[0] >> term.args[2], of(term.args[0])[1] >> term.args[2]),
    "zext": lambda term, of: of(term.args[0]),
    "sext": _extended,
    "not": lambda term, of: (1 - of(term.args[0])[0], of(term.args[0])[1]),
    "all": _all,
    "any": _any,
}

"""Claims: atomic operations of which the first one to come wins, and all others learn that they lost.

    atomicOr(&words[v / 32], bit) & bit     the first one finds the bit clear
    atomicCAS(&seen[v], 0, x) == 0          the first one finds what stood there
    atomicMin(&level[v], 3) > 3
    atomicExch(&once, 1) == 0

Whatever the order is, each claim has one winner. A thread that claims the same a second time has lost, and so has who claims
what stands there already. What the results are otherwise is taken for open, but for what whoever wins may put there later, for
all others to wait for (`tickets.publications`).
"""

from __future__ import annotations

import math
from dataclasses import field
from enum import IntEnum

from axioms.dynamic.core.findings import Party
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.uninitialised import anything, known_bits
from ptxcore.records import dataclass
from ptxcore.values.terms import Term, Value, bit_and, bit_or, evaluate, mask, substitute

#: The operations that claim.
CLAIMING = ("or", "exch", "cas", "min", "max")


class Heard(IntEnum):
    """What a thread has of a publication: it has found it, by a relaxed operation; it comes behind it."""

    NOTHING = 0
    FOUND = 1
    KNOWN = 2


@dataclass(eq=False)
class ClaimedBytes:
    """Bytes that some operation claims, in a launch, with what stood there first; `claims` has all of them. `agent`: stands
    in clocks for the CTA of whoever wins, `published`: what the winner puts there in the end; `ends`: the number of the access
    that sets them back; `is_shared`: they lie in shared memory."""

    segment: Segment
    first: int
    size: int
    start: int
    claims: list[ClaimOperation] = field(default_factory=list)
    agent: int = -1
    published: int | None = None
    ends: float = math.inf
    is_shared: bool = False
    #: The threads that have claimed them, with the keys of their claims.
    by: set[tuple[int, int]] = field(default_factory=set)

    @property
    def is_sound(self) -> bool:
        """Whether each claim has one winner: they are of one kind, one of a bit has that bit alone or with all others that have
        it, and what stood there first tells that nobody has claimed yet."""
        ops = {claim.op for claim in self.claims}
        contenders = [claim for claim in self.claims if claim.contends]
        if len(ops) > 1:
            return False
        keys = {claim.put for claim in contenders}
        if ops == {"or"}:
            apart = sum(keys) == _joined(keys)  # no bit is in two of them
            return apart and not any(key & self.start for key in keys)
        if ops == {"cas"}:  # who compares with something else must never find that
            return keys.isdisjoint({self.start, *(c.expected for c in self.claims if not c.contends)})
        if ops == {"exch"}:
            return len(contenders) == len(self.claims)
        return len(keys) <= 1

    @property
    def has_one_outcome(self) -> bool:
        """Whether the same stands there in the end, whoever wins."""
        ops = {claim.op for claim in self.claims}
        alike = len(ops) == 1 and len({claim.put for claim in self.claims if claim.contends}) <= 1
        return ops == {"or"} or alike or self.published is not None


@dataclass(eq=False)
class ClaimOperation:
    """One operation: what it puts there, what it must find for that (None: anything), and its result: a symbol, and `number`
    in the run; `at`: the number of its access. `contends`: it changes what stood there first; `again`: its thread has claimed
    the same before."""

    place: ClaimedBytes
    op: str
    put: int
    expected: int | None
    symbol: Term
    number: int
    party: Party
    at: float = 0
    contends: bool = True
    again: bool = False

    @property
    def key(self) -> tuple[int, int]:
        """Equal for claims of which one wins."""
        return id(self.place), self.put if self.op == "or" else 0

    @property
    def won(self) -> bool:
        """Whether it won in the run."""
        if not self.may_win:
            return False
        return self.number == self.place.start if self.op != "or" else not self.number & self.put

    @property
    def may_win(self) -> bool:
        """Whether it wins in some execution."""
        return self.contends and not self.again

    def tells(self, term: Value) -> tuple[int, int, int]:
        """What a truth value that is computed from the result is where the claim has won; where it has lost; and where it has
        lost and found what the winner put there in the end. Raises OpenClaim where one of these is not known."""
        if isinstance(term, int):
            return term, term, term
        place, width = self.place, 8 * self.place.size
        if self.op == "or":
            others = bit_and(anything(width), mask(width) & ~self.put, width)
            ways = (substitute(term, {self.symbol: bit_or(others, bits, width)}) for bits in (0, self.put))
            won, lost = map(_truth, ways)
            late = lost
        else:
            won = evaluate(term, {self.symbol: place.start})
            puts = {claim.put for claim in place.claims if claim.contends}
            found = puts if puts and self.contends else puts | {place.start}
            values = {evaluate(term, {self.symbol: value}) for value in found}
            lost = values.pop() if len(values) == 1 else None
            late = lost if place.published is None else evaluate(term, {self.symbol: place.published})
        won = won if self.may_win else lost
        if won is None or lost is None or late is None:
            raise OpenClaim
        return won, lost, late


class OpenClaim(Exception):
    """What a truth value is hangs on more than who wins."""


def _joined(keys: set[int]) -> int:
    found = 0
    for key in keys:
        found |= key
    return found


def _truth(term: Value) -> int | None:
    """A truth value, as far as the bits that are known of its parts tell it."""
    if isinstance(term, int):
        return term
    if term.op == "not":
        inner = _truth(term.args[0])
        return None if inner is None else 1 - inner
    if term.op == "eq":
        (a, x), (b, y) = known_bits(term.args[0]), known_bits(term.args[1])
        if (a ^ b) & ~(x | y):
            return 0
        return None if x | y else 1
    number, open_ = known_bits(term)
    return None if open_ else number


__all__ = ["CLAIMING", "ClaimOperation", "ClaimedBytes", "Heard", "OpenClaim"]

"""What an instruction asks of its thread, found by executing its meaning once on symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxcore.isa.effect_kinds import UPDATES, EffectKind
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import GLOBAL_BITS, SHARED, SHARED_BITS, WINDOW_BITS
from ptxcore.machine.vector.memory import _WINDOWS
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Term, Value, bit_and, bit_or, concat, eq, extract, symbol, ult, zext


class Untraceable(Exception):
    """The instruction asks for something that is no term."""


class Modification(NamedTuple):
    """A read-modify-write: what is written in terms of `old`, and the condition under which it is."""

    address: Value
    old: Term
    new: Value
    writes: Value


class TracedArrival(NamedTuple):
    """An arrival at a barrier of the CTA."""

    action: str
    identity: Value
    threads: Value | None
    operator: str
    operand: Value


#: The rank of a thread's CTA in its cluster, and what a barrier's reduction gives.
RANK = symbol("rank of the CTA", 32)
REDUCED = symbol("result of a reduction", 32)


class TracedThread:
    """A thread that takes down what is asked of it. Raises Untraceable."""

    def __init__(self) -> None:
        self.modification: Modification | None = None
        self.meeting: TracedArrival | None = None
        #: What must be 1, or the manual leaves open what happens.
        self.required: list[Value] = []
        self.fences = False

    def __getattr__(self, name: str) -> Any:
        raise Untraceable(name)

    def modify(self, kind: str, how: Use, address: Value, write: Callable[[Any], tuple[Any, Any]]) -> Value:
        if kind not in UPDATES or self.modification is not None or how.words["vec"] or how.width > 64:
            raise Untraceable(kind)
        old = symbol("old value", how.width)
        new, writes = write(old)
        if not isinstance(new, int | Term):
            raise Untraceable(kind)
        self.modification = Modification(address, old, new, writes)
        return old

    def barrier(self, action: str, how: Use, **fields: Any) -> Value:
        if self.meeting is not None:
            raise Untraceable("barrier")
        if fields.get("level", "cta") == "cluster":
            self.meeting = TracedArrival(f"cluster {action}", 0, None, "", 0)
            return 0
        self.meeting = TracedArrival(
            action, fields["identity"], fields["count"], fields.get("operator", ""), fields.get("operand", 0)
        )
        reduced = {"popc": 32}.get(self.meeting.operator, 1)
        return extract(REDUCED, reduced - 1, 0)

    def effect(self, kind: EffectKind, how: Use, **fields: Any) -> None:
        self.fences = True

    def require(self, condition: Value, kind: str, message: str) -> None:
        self.required.append(condition)

    def in_space(self, address: Value, space: str) -> Value:
        base = space.partition("::")[0]
        if base == "global":
            return ult((1 << GLOBAL_BITS) - 1, zext(address, 64), 64)
        inside = eq(extract(zext(address, 64), 63, WINDOW_BITS), _WINDOWS.get(base, SHARED) >> WINDOW_BITS)
        if base not in (*_WINDOWS, "shared"):
            raise Untraceable(space)
        if space != "shared::cta":
            return inside
        rank = extract(address, SHARED_BITS + 3, SHARED_BITS)
        return bit_and(inside, eq(rank, extract(RANK, 3, 0)), 1)

    def map_address(self, how: Use, address: Value, rank: Value) -> Value:
        width = address.width if type(address) is Term else 64
        inside = bit_and(address, (1 << SHARED_BITS) - 1, width)
        shifted = zext(concat(extract(rank, 3, 0), 0, 4, SHARED_BITS), width)
        return bit_or(bit_or(inside, shifted, width), SHARED, width)

    def rank_of(self, how: Use, address: Value) -> Value:
        return zext(extract(address, SHARED_BITS + 3, SHARED_BITS), 32)

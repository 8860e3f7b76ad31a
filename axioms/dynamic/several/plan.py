"""What one of several runs is to do: which operations come in which order, and what is known of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ptxcore.records import NamedTuple, dataclass

#: An operation of a run: the launch, the thread, and the number of this operation among the open ones of the thread.
Name = tuple[int, int, int]


class Bytes(NamedTuple):
    """Bytes that strong operations access, the same in all runs: the launch, the CTA whose shared memory it is (-1 for
    `.global`), the address or the offset, and their number."""

    launch: int
    cta: int
    address: int
    size: int


#: Some operations on the same bytes between two plain writes: the bytes, and the number of writes before.
Round = tuple[Bytes, int]


class Takers(NamedTuple):
    """Operations that all do the same, so that only a thread's position among them tells what it finds: their `number`, and
    the positions at which a thread goes on as at no other one; `exchangeable`: it does not matter who takes these."""

    number: int
    telling: frozenset[int]
    exchangeable: bool = False


@dataclass(frozen=True)
class Script:
    """How a run begins. `orders`: the writes to some bytes, in order; `sources`: the number of the write that a read finds,
    -1 for the first value; `takers`: who takes a position; `awaits`: the number of a write that a read comes behind."""

    orders: Mapping[Bytes, tuple[Name, ...]] = field(default_factory=dict)
    sources: Mapping[Name, int] = field(default_factory=dict)
    takers: Mapping[Round, Mapping[int, Name]] = field(default_factory=dict)
    awaits: Mapping[Name, int] = field(default_factory=dict)

    def key(self) -> object:
        """Equal for scripts that are alike."""
        takers = frozenset((where, frozenset(of.items())) for where, of in self.takers.items() if of)
        orders = frozenset((where, order) for where, order in self.orders.items() if order)
        return orders, frozenset(self.sources.items()), takers, frozenset(self.awaits.items())


@dataclass
class StrongBytes:
    """What runs have shown of the bytes that strong operations access. `modes`: `quiet` where no order of the operations leads
    a thread elsewhere; `counted` where only telling positions do; `ordered` where each order is a way of its own. `usual`:
    what is taken for granted until more is known; `together`: bytes of which a whole CTA learns by a barrier what one of its
    threads finds."""

    modes: dict[Bytes, str] = field(default_factory=dict)
    usual: str = "quiet"
    takers: dict[Round, Takers] = field(default_factory=dict)
    together: set[Bytes] = field(default_factory=set)

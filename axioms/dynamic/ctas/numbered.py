"""CTAs that nothing tells apart but a ticket: which of them takes which is of no matter, since they can change places.

A scan whose tiles are taken in the order in which CTAs begin has each CTA take one ticket, by an atomic addition, and do what
that says. Where the code of the kernel has nothing else that differs from CTA to CTA, each execution is one in which tickets
are taken as in the run, with CTAs in other places. So the results of these additions count as what they are in the run, and one
run stands for all executions (docs/whole-launches/tickets.md, Numbered CTAs, has the argument).
"""

from __future__ import annotations

from axioms.dynamic.code.joins import special_registers
from axioms.dynamic.core.accesses import commutative
from axioms.dynamic.core.findings import Open, Party, Stopped
from axioms.dynamic.ctas.alike import NotAlike, refuse
from axioms.dynamic.lookback.confluent import Confluent
from ptxcore.isa.form import Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL
from ptxcore.machine.lower.ops import Code
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.run.watched import WatchedThread, Write
from ptxcore.places import WIDE

#: Special registers that hold the same in threads of the same place in all CTAs.
_SAME = ("tid.", "ntid.", "nctaid.", "laneid", "lanemask_")
#: Of additions that number CTAs: they may come in any order among themselves, and beside nothing else.
_NUMBERS = "numbering"


def interchangeable(code: Code) -> bool:
    """Whether nothing in the code of a kernel tells its CTAs apart, which are no clusters."""
    if code.directives.get("reqnctapercluster") or "blocksareclusters" in code.directives:
        return False
    try:
        for op in code.ops:
            refuse(op)
    except NotAlike:
        return False
    asked = {name.removeprefix("%") for op in code.ops for name in special_registers(op.sources)}
    return all(name.startswith(_SAME) for name in asked)


class Numbered(Confluent):
    """Watches one launch. `numbering`: the instructions by which CTAs take their numbers, by their identity."""

    def __init__(self, size: int, searched: frozenset[int], numbering: frozenset[int]) -> None:
        super().__init__(size, searched)
        self.numbering = numbering
        #: Who has taken a number, in order; of the first one the place in its CTA, the counter, and what it added.
        self.takers: list[Party] = []
        self._numbered: set[int] = set()
        self._like: tuple[object, ...] = ()
        self._segment: Segment | None = None
        self._next = 0

    def updates(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> int | None:
        if id(thread.instruction.instruction) not in self.numbering:
            return super().updates(thread, how, address, size, write)
        self._ends(thread.number)
        self._takes(thread, how, address, size, write)
        return None

    def _takes(self, thread: WatchedThread, how: Use, address: int, size: int, write: Write) -> None:
        """A CTA takes its number."""
        cta, place = divmod(thread.number, self.size)
        wide = address >= FIRST_GLOBAL and self._scope_of(thread) in WIDE
        if cta in self._numbered or not wide or how.op != "add" or not commutative(how):
            raise self.leaves(thread, "order")
        segment, first = thread.segment(address)
        found, added = segment.read(first, size), write(0)[0]
        if type(found) is not int or type(added) is not int:
            raise self.leaves(thread, "order")
        if not self.takers:
            self._segment, self._next = segment, found
            self._like = place, thread.op, first, size, added
        if segment is not self._segment or self._like != (place, thread.op, first, size, added) or found != self._next:
            raise self.leaves(thread, "order")
        self._access(thread, "A", address, size, _NUMBERS, added)
        self._numbered.add(cta)
        self.takers.append(Party(thread.number, thread.instruction))
        self._next = write(found)[0] & ((1 << 8 * size) - 1)

    def settle(self) -> None:
        """The launch is over. Raises Stopped where a CTA took no number, or something else is open."""
        if self.takers and len(self._numbered) != len(self.indices):
            raise Stopped(Open("order", self.takers[0]))
        super().settle()


__all__ = ["Numbered", "interchangeable"]

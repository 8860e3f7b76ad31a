"""Read-modify-writes that change nothing: an exchange that finds 1 and writes 1, an addition of 0. Such an operation is
effect-free, and a loop that spins on it is a loop that waits.

    loop: old = exchange(lock, 1); if old != 0: loop        an iteration that fails writes what stood there already
    loop: old = add(flag, 0); if old == 0: loop             every iteration does

Such an iteration may be left out where everybody's accesses to the place are morally strong: all of them strong, of one size,
at one address, each with a scope that takes in the others. Whoever read what the iteration wrote can then read what the
iteration read instead: the value is the same; nothing lies between the two in coherence order (8.10.3), so that the same writes
follow; and observation leads there directly just as it led there through the iteration (8.9.2), since all are morally strong.
Everything else that the iteration took part in only demanded more. So an execution with such iterations is consistent only if
the one without them is, with the same outcome; and that is an execution as well.

So it is where threads of a warp compute together, too. An iteration in which they do is none of these: others take part in it.
So who meets whom there, and how often, is the same without the iterations that are left out; and what a thread brings is
computed from what its last iteration read, which stays.

An address that is not known is one of the numbers that may flow there (`axioms.events.value_sets`), which are the same however
many such iterations there are: they write what stood there.

What an iteration reads there, nothing tells while it is explored. It is a number that stood there at the start or that somebody
writes, where all write numbers that are known; that they do is looked at afterwards (`holds`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Protocol

from ptxcore.isa.effect_kinds import ATOM, COPY, LOAD, MBARRIER
from ptxcore.machine.explore.heap import on_heap
from ptxcore.machine.ir.effects import Effect
from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.places import Placement, includes

if TYPE_CHECKING:
    from axioms.events.event import ProgramThread
    from axioms.events.memory import Object, View
    from axioms.events.value_sets import LaterFlow, NumberSet


class InitialMemory(Protocol):
    """The memory of launches: which objects there are, and who sees them where."""

    objects: list[Object]
    views: list[View]

    def initial(self, address: int, size: int) -> int | None: ...


#: Numbers that may stand at an address; None where not all are known.
Noops = Mapping[int, frozenset[int] | None]


def noop_places(threads: Sequence[ProgramThread], memory: InitialMemory) -> dict[int, frozenset[int] | None]:
    """The addresses in global memory, but not on the heap, where an atomic that writes what it reads is effect-free."""
    always: dict[int, bool] = {}
    for _, e in _effects(threads):
        if e.kind is ATOM and type(e.address) is int and e.address >> GLOBAL_BITS and not on_heap(e.address):
            same = e.value is e.result
            if same or type(e.value) is int:
                always[e.address] = always.get(e.address, False) or same
    alike = {address: _numbers(threads, memory, address) for address in always if _alike(threads, address, _nothing)}
    return {address: numbers for address, numbers in alike.items() if always[address] or numbers is not None}


def holds(threads: Sequence[ProgramThread], memory: InitialMemory, assumed: Noops) -> bool:
    """Whether threads that were explored on an assumption bear it out."""
    flow = _flow(threads, memory)
    for address, numbers in assumed.items():
        if not _alike(threads, address, lambda e: flow().numbers(e.address)):
            return False
        if numbers is not None:
            found = _numbers(threads, memory, address)
            if found is None or not found <= numbers:
                return False
    return True


def _effects(threads: Sequence[ProgramThread]) -> Iterator[tuple[Placement, Effect]]:
    for thread in threads:
        for effect in thread.execution.effects:
            if effect.kind.memory or effect.kind is MBARRIER:
                yield thread.place, effect


def _nothing(effect: Effect) -> frozenset[int]:
    """Where an access goes is not asked for now."""
    return frozenset()


def _flow(threads: Sequence[ProgramThread], memory: InitialMemory) -> LaterFlow:
    from axioms.events import kinds
    from axioms.events.memory import AddressSpace
    from axioms.events.value_sets import LaterFlow

    accesses = [(t, e) for t, thread in enumerate(threads) for e in thread.execution.effects if e.kind.memory]
    space = AddressSpace(memory.objects, memory.views)
    return LaterFlow(space, accesses, lambda e: [(span.address, span.size) for span in kinds.spans_of(e)])


def _alike(threads: Sequence[ProgramThread], address: int, numbers: Callable[[Effect], NumberSet]) -> bool:
    """Whether all accesses to an address are morally strong. `numbers` are those that an address may be that is not known."""
    size = _width(threads, address) // 8
    scopes: set[tuple[str, Placement]] = set()
    for place, e in _effects(threads):
        if type(e.address) is not int or e.kind is COPY:
            found = numbers(e) if e.kind.accesses else None
            if found is None or any(n < address + size and address < n + e.width // 8 for n in found):
                return False
            continue
        if e.address >> GLOBAL_BITS != address >> GLOBAL_BITS:  # another buffer
            continue
        if e.kind.ranges or e.kind is MBARRIER:
            return False
        if e.address >= address + size or address >= e.address + e.width // 8:
            continue
        if (e.address, e.width, e.proxy, e.agent) != (address, 8 * size, "generic", -1):
            return False
        if e.semantics == "weak" or e.scope is None:
            return False
        scopes.add((e.scope, place))
    return all(includes(a, p, q) for (a, p), (_, q) in product(scopes, repeat=2))


def _numbers(threads: Sequence[ProgramThread], memory: InitialMemory, address: int) -> frozenset[int] | None:
    """The numbers that may stand at an address where all accesses are alike; None where not all that is written is known."""
    first = memory.initial(address, _width(threads, address) // 8)
    if first is None:
        return None
    numbers = {first}
    for _, e in _effects(threads):
        if e.address == address and e.kind is not LOAD and e.value is not e.result:
            if type(e.value) is not int:
                return None
            numbers.add(e.value)
    return frozenset(numbers)


def _width(threads: Sequence[ProgramThread], address: int) -> int:
    return next((e.width for _, e in _effects(threads) if e.kind is ATOM and e.address == address), 8)

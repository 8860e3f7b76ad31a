"""Walks: threads that follow the links of a list whose order hangs on that of atomic exchanges, and come to the same.

    next[me] = atomicExch(&head[b], me);        ... later: for (n = head[b]; n; n = next[n]) sum += value[n];

Whatever the order of the exchanges was, the list has all their nodes, each once, and ends in what stood at its head first. So
a walk is one step for each node, in some order. Here each step is executed on a copy of the thread, with a symbol for the next
link, and one for each register that steps change: a step is a function of these. Where the functions commute, or some nodes
end the walk, all in the same way, and no other step matters, all orders come to the same. docs/whole-launches (Walks) has
the argument.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator, Mapping
from itertools import combinations
from typing import Any

from axioms.dynamic.code.live import Live
from axioms.dynamic.core.accesses import scope_of
from axioms.dynamic.core.findings import step
from axioms.dynamic.sections.emulated_terms import AsTold, named_symbol, symbols_in
from axioms.dynamic.sections.told import Untold
from axioms.dynamic.sections.updates_in_sections import Update, commute
from axioms.dynamic.tickets.errand_threads import LookingThread
from axioms.dynamic.waits.waiting import Ended, plain, stopped_at
from ptxcore.clock import OutOfTime
from ptxcore.isa.form import Use
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.codegen import DONE
from ptxcore.machine.run.emulation import recover
from ptxcore.machine.run.uninitialised import VARIES, Varying
from ptxcore.machine.run.watched import Write
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Term, Value, evaluate, substitute, symbols_of

#: Blocks of one step; how often registers that steps change are looked for; pairs of nodes that are held against each other.
_MOST_BLOCKS, _MOST_TIMES, _MOST_PAIRS = 256, 6, 200_000
#: What some bytes hold for a thread: a number; None where they are the head of the list, or a link.
_Reads = Callable[[Any, int, int], int | None]


class ListBytes(NamedTuple):
    """Where a list is, by addresses: its head, of so many bytes, what stood there first, which ends it, and which node has its
    link where; `places`: one of these of each node."""

    head: int
    size: int
    ends: int
    links: Mapping[int, int]
    places: Mapping[int, int]

    def order(self, thread: Any) -> list[int]:
        """The nodes as they come in the run, for a thread."""
        found: list[int] = []
        at = self.head
        for _ in self.places:
            segment, first = thread.segment(at)
            found.append(int.from_bytes(segment.data[first : first + self.size], "little"))
            at = self.places[found[-1]]
        return found

    def moved(self, to: Callable[[int], int | None]) -> ListBytes | None:
        """The same, where buffers lie elsewhere; None where one of them is there no more."""
        head, links = to(self.head), {to(at): node for at, node in self.links.items()}
        if head is None or None in links:
            return None
        known = {at: node for at, node in links.items() if at is not None}
        return self._replace(head=head, links=known, places={node: at for at, node in known.items()})

    def bytes(self) -> Iterator[int]:
        """The addresses of all bytes that hang on its order."""
        for at in (self.head, *self.links):
            yield from range(at, at + self.size)


class _Turns(BaseException):
    """A copy lets the link decide something."""


class _At(NamedTuple):
    """Where a walk lets the next link decide something: before an instruction, with some registers."""

    op: Op
    registers: list[Any]
    carry: Any


class _Exit(NamedTuple):
    """What a thread goes on with behind its walk."""

    key: Hashable


class ListWalk:
    """What a thread does from a read of the head of a list on, up to the next thing that others see but weak reads."""

    def __init__(self, thread: Any, live: Live, of: ListBytes, reads: _Reads) -> None:
        """`reads`: gives what stands in some bytes, and raises Untold where that is open."""
        self._live, self._of, self._reads = live, of, reads
        self._thread: Any = copy.copy(thread)
        self._thread.__class__ = LookingThread
        self._thread.watcher, self._thread.frames = self, []
        #: The addresses that are read with any node, but for links, and those of links, with their sizes.
        self.touched: dict[int, int] = {}
        self.links: dict[int, int] = {}
        self._reads_now: list[int] = []
        #: Of each node the links that the first step and a later one reads; the nodes that end the walk.
        self._read_first: dict[int, list[int]] = {}
        self._read_later: dict[int, list[int]] = {}
        self._over: set[int] = set()
        self._node: int | None = None
        self._begins = thread.instruction, list(thread.R), thread.carry
        self._link: Term | None = None

    # What a copy does.

    def reads(self, thread: Any, address: int, size: int) -> Any:
        if scope_of(thread.instruction.use) != "":
            raise Ended
        if address == self._of.head and self._link is not None:
            raise Ended  # another walk begins
        found = self._reads(thread, address, size)
        if found is not None:
            self.touched[address] = max(size, self.touched.get(address, 0))
            return found
        if self._link is not None and not self._is_own(address):
            raise Untold
        self.links[address] = size
        self._reads_now.append(address)
        self._link = named_symbol("link", 8 * size)
        return Varying(self._link, VARIES, 1, 0, AsTold())

    def _is_own(self, address: int) -> bool:
        """Whether a link is that of the node of this step."""
        return self._of.links.get(address) == self._node

    def updates(self, thread: Any, how: Use, address: int, size: int, write: Write) -> Any:
        raise Ended

    def writes(self, thread: Any, address: int, size: int, value: Any) -> None:
        raise Ended

    def decides(self, thread: Any, value: Varying, op: Op) -> int:
        raise _Turns if self._is_link(value) else Untold

    def locates(self, thread: Any, value: Varying) -> int:
        raise _Turns if self._is_link(value) else Untold

    def other(self, thread: Any, what: str, how: Use | None = None, address: int = 0) -> None:
        if what != "unknown":
            raise Ended

    def _is_link(self, value: Varying) -> bool:
        return self._link in symbols_of(value.term)

    def _goes(self, at: _At) -> _At | _Exit:
        """What comes of going on before an instruction. Raises Untold."""
        step()
        self._reads_now = []
        thread, compiled = self._thread, self._thread.launch.compiled
        parameters = thread.launch.read_parameters
        thread.R, thread.carry = list(at.registers), at.carry
        block = compiled.compiler.again(compiled, at.op)
        for _ in range(_MOST_BLOCKS):
            op: Op | None = None
            try:
                block = compiled.blocks[block](thread, thread.R, parameters)
            except (Untold, OutOfTime):
                raise
            except (Ended, Exception) as error:  # whatever goes wrong goes wrong there, and not here
                op = stopped_at(compiled, error)
                if op is None:
                    raise Untold from None
                if isinstance(error, Ended):
                    return self._exit(op)
                try:
                    block = self._recovered(op, error)
                except _Turns:
                    return _At(op, list(thread.R), thread.carry)
                except Ended:
                    return self._exit(op)
            if block == DONE:
                return _Exit(("ends", plain(thread.carry)))
        raise Untold

    def _exit(self, op: Op) -> _Exit:
        return _Exit((self._live.before(op, self._thread.R), plain(self._thread.carry)))

    def _recovered(self, op: Op, error: Exception) -> int:
        """An instruction met a value that varies; the block that goes on."""
        try:
            block = recover(self._thread, op, error)
        except (Untold, OutOfTime, Ended, _Turns):
            raise
        except Exception:
            raise Untold from None
        if block is None:
            raise Untold
        return block

    # Steps.

    def check(self) -> None:
        """Raises Untold where the walk may come to something else in another order of the list."""
        op, registers, carry = self._begins
        first = self._goes(_At(op, registers, carry))
        if isinstance(first, _Exit):
            if self._hangs(first):
                raise Untold
            return
        nodes = sorted(self._of.places)
        begun = self._each(first, nodes, self._read_first)
        places = [after for after in begun.values() if isinstance(after, _At)]
        exits = {after for after in begun.values() if isinstance(after, _Exit)}
        if not places:
            self._over = set(nodes)
            self._one_exit(exits)
            return
        changing, after = self._functions(places, nodes)
        here = places[0]
        over = self._over = {node for node, then in after.items() if isinstance(then, _Exit)}
        if over != {node for node, then in begun.items() if isinstance(then, _Exit)}:
            raise Untold
        if over:
            self._one_exit({*exits, *(then for then in after.values() if isinstance(then, _Exit))})
            return
        self._commute(changing, begun, after)
        self._node = None
        last = self._goes(self._with(self._symbolic(here, changing), self._of.ends))
        if isinstance(last, _At) or any(self._link in found for found in symbols_in(last.key)):
            raise Untold

    def _each(self, at: _At, nodes: list[int], read: dict[int, list[int]]) -> dict[int, _At | _Exit]:
        """What comes of a step with each node, and the links that it reads."""
        found: dict[int, _At | _Exit] = {}
        for node in nodes:
            self._node = node
            found[node] = self._goes(self._with(at, node))
            read[node] = self._reads_now
        return found

    def links_in_order(self, order: list[int]) -> list[int]:
        """The links that are read where the nodes come in an order."""
        found: list[int] = []
        for number, node in enumerate(order):
            found += (self._read_later if number else self._read_first).get(node, [])
            if node in self._over:
                break
        return found

    def _one_exit(self, exits: set[_Exit]) -> None:
        """Some node ends the walk: each comes to the same, whatever other steps have done. Raises Untold."""
        if len(exits) != 1 or any(self._hangs(one) for one in exits):
            raise Untold

    @staticmethod
    def _hangs(one: _Exit) -> bool:
        """Whether what a thread goes on with is no number."""
        return any(symbols_in(one.key))

    def _functions(self, places: list[_At], nodes: list[int]) -> tuple[dict[int, Term], dict[int, _At | _Exit]]:
        """The registers that steps change, as symbols, and what comes of a step with each node. Raises Untold."""
        here = places[0]
        if any(one.op is not here.op for one in places):
            raise Untold
        changing: dict[int, Term] = {}
        self._differing(changing, here, places)
        for _ in range(_MOST_TIMES):
            begins = self._symbolic(here, changing)
            after = self._each(begins, nodes, self._read_later)
            again = [then for then in after.values() if isinstance(then, _At)]
            if any(one.op is not here.op for one in again):
                raise Untold
            if not self._differing(changing, here, again):
                return changing, after
        raise Untold

    def _differing(self, changing: dict[int, Term], here: _At, places: list[_At]) -> bool:
        """Adds the registers that are not the same in all places; whether there are any."""
        mine, more = self._live_at(here), False
        for one in places:
            for slot, value in self._live_at(one).items():
                if slot not in changing and value != mine.get(slot):
                    if type(value) is not int and not isinstance(value, Term):
                        raise Untold
                    changing[slot] = named_symbol(f"changing {slot}", self._width(slot, places))
                    more = True
            if plain(one.carry) != plain(here.carry):
                raise Untold
        return more

    def _width(self, slot: int, places: list[_At]) -> int:
        code, _ = self._thread.launch.compiled.compiler.place_of(places[0].op)
        return int(code.widths[slot])

    def _live_at(self, at: _At) -> dict[int, Any]:
        _, _, values = self._live.before(at.op, at.registers)
        return dict(values)

    def _symbolic(self, at: _At, changing: dict[int, Term]) -> _At:
        registers = list(at.registers)
        for slot, one in changing.items():
            registers[slot] = Varying(one, VARIES, 1, 0, AsTold())
        return at._replace(registers=registers)

    def _with(self, at: _At, node: int) -> _At:
        """The same where the link is a node."""
        link = self._link
        assert link is not None
        registers = []
        for value in at.registers:
            if isinstance(value, Varying) and link in symbols_of(value.term):
                term = substitute(value.term, {link: node})
                registers.append(term if isinstance(term, int) else Varying(term, VARIES, value.size, 0, AsTold()))
            else:
                registers.append(value)
        return at._replace(registers=registers)

    def _commute(self, changing: dict[int, Term], begun: dict[int, _At | _Exit], after: dict[int, _At | _Exit]) -> None:
        """Raises Untold where steps leave something else in another order."""
        for slot, one in changing.items():
            found: dict[int, Value] = {}
            for node, then in after.items():
                assert isinstance(then, _At)
                value = self._live_at(then).get(slot)
                if type(value) is not int and not isinstance(value, Term):
                    raise Untold
                found[node] = value
            if not commute(Update(one, value) for value in found.values()):
                raise Untold
            self._begins_alike(slot, one, begun, found)

    def _begins_alike(self, slot: int, one: Term, begun: dict[int, _At | _Exit], found: dict[int, Value]) -> None:
        """Of each two nodes that come first, either may come first. Raises Untold."""
        if len(found) ** 2 > _MOST_PAIRS:
            raise Untold
        first: dict[int, int] = {}
        for node, at in begun.items():
            value = self._live_at(at).get(slot) if isinstance(at, _At) else None
            if type(value) is not int:
                raise Untold
            first[node] = value
        for node, other in combinations(found, 2):
            values = [
                value if isinstance(value, int) else evaluate(value, {one: first[before]})
                for before, value in ((node, found[other]), (other, found[node]))
            ]
            if None in values or values[0] != values[1]:
                raise Untold


__all__ = ["ListBytes", "ListWalk"]

"""What comes of one block of a search (`searches.searches`), with all that a thread may find in it.

What a look at memory finds is a symbol with a set of values (`SymbolRange`): a branch divides it, an address is each.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Hashable, Iterator
from typing import Any

from axioms.dynamic.core.accesses import scope_of
from axioms.dynamic.core.shadow import CONSTANT
from axioms.dynamic.searches.search_cells import SearchedBytes, SymbolRange
from axioms.dynamic.searches.search_nodes import (
    CellMove,
    DoneInStep,
    OpenSearch,
    ReachedBytes,
    SearchNode,
    SearchStep,
    SearchStore,
    SwapFound,
)
from axioms.dynamic.searches.search_symbols import WaysOfSearches
from axioms.dynamic.searches.search_threads import (
    Divides,
    FoundThere,
    Searcher,
    Stops,
    TellsApart,
    asked_of,
    where_unlike,
)
from axioms.dynamic.searches.search_tickets import SearchTickets
from axioms.dynamic.sections.told import only_looks
from axioms.dynamic.tickets.errand_threads import UnknownErrand, is_in
from axioms.dynamic.tickets.publications import fence_scope
from axioms.dynamic.waits.waiting import plain, stopped_at
from ptxcore.clock import OutOfTime
from ptxcore.isa.form import ACQUIRES, RELEASES, Use
from ptxcore.machine.ir.windows import FIRST_GLOBAL
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.codegen import DONE
from ptxcore.machine.run.emulation import emulate
from ptxcore.machine.run.faults import Fault, UnwrittenValue
from ptxcore.machine.run.uninitialised import VARIES, Varying
from ptxcore.machine.run.watched import Write
from ptxcore.places import WIDE
from ptxcore.values.terms import Term, evaluate_each, mask, substitute, symbols_of

#: Operations that tell who is the first one there; all but exchanges, where all put one value.
_CLAIMING = frozenset(("exch", "min", "max", "or"))


class SearchBlock(SearchTickets):
    """Executes one block, and watches the copy of the thread that does."""

    def __init__(self, of: WaysOfSearches, node: SearchNode, number: int) -> None:
        super().__init__(of, node, number)
        self.edges: list[SearchStep] = []
        self.reaches: set[ReachedBytes] = set()
        self._finds: tuple[tuple[SearchedBytes, SymbolRange], ...] = ()
        self._told: list[FoundThere] = []
        self._retries = False
        self._added: tuple[tuple[SearchedBytes, int], ...] = ()
        self._done: frozenset[DoneInStep] = frozenset()

    def run(
        self,
        block: int,
        registers: list[Any],
        carry: Any,
        ranges: dict[Term, SymbolRange],
        won: frozenset[SearchedBytes],
        passed: frozenset[SearchedBytes],
    ) -> None:
        """Adds what comes of it. Raises OpenSearch."""
        start = self.node.start
        if start.copy is None:
            start.copy = copy.copy(start.thread)
            start.copy.__class__ = Searcher
        thread = start.copy  # one after the other
        thread.watcher, thread.R, thread.frames, thread.carry = self, list(registers), [], carry
        self.ranges, self.won, self.passed = dict(ranges), won, passed
        self._step(block, thread)

    def _step(self, block: int, thread: Any) -> None:
        compiled, parameters = thread.launch.compiled, thread.launch.read_parameters
        try:
            after = compiled.blocks[block](thread, thread.R, parameters)
        except Divides as divides:
            self._divide(thread, compiled, stopped_at(compiled, divides), divides.ways)
            return
        except TellsApart as tells:
            op = stopped_at(compiled, tells)
            if op is None:
                raise OpenSearch from None
            self._each(thread, compiled.compiler.again(compiled, op), tells.value)
            return
        except Stops as stops:
            op = stopped_at(compiled, stops)
            if op is None or any(isinstance(value, Term) for _, value in self.of.live.before(op, thread.R)[-1]):
                raise OpenSearch(op) from None
            self._end((self.of.live.before(op, thread.R), plain(thread.carry)))
            return
        except OutOfTime:
            raise
        except Exception as error:  # whatever goes wrong goes wrong there, and not here
            self._recover(thread, compiled, stopped_at(compiled, error), error)
            return
        if after == DONE:
            self._end("ends")
        else:
            self._goes(after, thread)

    def _end(self, key: Hashable) -> None:
        way = self._finds, self._wrote, self.passed, key, self.handed.put, self._added, self._done
        self.edges.append(SearchStep(None, *way, won=self.won, kept=self.kept, retries=self._retries))

    def _goes(
        self,
        block: int,
        thread: Any,
        ranges: dict[Term, SymbolRange] | None = None,
        more: Any = (),
        took: tuple[SearchedBytes, int] | None = None,
    ) -> None:
        """The thread goes on at a block, if it can, with what is so of some cells besides."""
        node, passed, handed, won, done = self.node, self.passes(more), self.handed, self.won, self._done
        won = frozenset(cell for cell in won if cell.once)  # others have no one winner
        if passed is None:
            return
        if took is not None and took[0].bag is not None:
            won, done = won | {self.of.role(took[0].bag, took[1])}, done | {DoneInStep(took[0])}
        for cell, range_ in more:
            if range_.is_told:
                handed = handed.finds(cell, acquires=range_.looks > 1)
        made = SearchNode(
            node.start,
            block,
            list(thread.R),
            thread.carry,
            self.ranges if ranges is None else ranges,
            won,
            node.share,
            passed,
            handed,
            self.kept,
        )
        finds = (*self._finds, *more)
        to = self.of.node(made)
        step = SearchStep(to, finds, self._wrote, passed, added=self._added, done=done, took=took)
        self.edges.append(step._replace(retries=self._retries))

    def _divide(self, thread: Any, compiled: Any, op: Op | None, ways: list[FoundThere]) -> None:
        """The thread goes on with each thing that an operation may find."""
        if op is None:
            raise OpenSearch
        block = compiled.compiler.again(compiled, op)
        finds, wrote, registers, carry = self._finds, self._wrote, list(thread.R), thread.carry
        retries = self._retries
        handed, added, done, kept = self.handed, self._added, self._done, self.kept
        for found in ways:
            self.handed, self._added, self._done, self.kept = handed, added, done, kept
            if len(found.won) > 1:
                self.of.claims_several()
            self._told = [found]
            self._finds, self._wrote = (*finds, *found.finds), wrote or found.wrote
            self._retries = retries or found.retries
            self.run(block, registers, carry, found.ranges, found.won, found.passed)
        self._finds, self._wrote, self._retries = finds, wrote, retries

    def _recover(self, thread: Any, compiled: Any, op: Op | None, error: Exception) -> None:
        """An instruction met a symbol. Raises OpenSearch where that is not the reason."""
        if isinstance(error, SwapFound):
            raise error
        if op is None or isinstance(error, UnknownErrand | OpenSearch):
            raise OpenSearch(op) from None
        if isinstance(error, Fault) and not isinstance(error, UnwrittenValue):
            raise OpenSearch(op) from None
        compiler = compiled.compiler
        guard = None if op.guard is None else thread.R[op.guard[0]]
        if isinstance(guard, Varying):
            self._branch(thread, compiler.again(compiled, op), guard)
            return
        asked = self._addresses(thread, op)
        if asked and not self._appends(thread, op):
            self._each(thread, compiler.again(compiled, op), asked[0])
            return
        try:
            done = emulate(thread, op, error)
        except OutOfTime:
            raise
        except (Divides, TellsApart, Stops, Exception):
            raise OpenSearch(op) from None
        if not done:
            raise OpenSearch(op)
        self._step(compiler.behind(compiled, op), thread)

    @staticmethod
    def _addresses(thread: Any, op: Op) -> list[Varying]:
        """The symbols of which each value is another address, or another operand of an atomic operation."""
        mnemonic = op.use.form.mnemonic
        if op.use.form.kind == "value":
            return []
        sources = op.sources[:1] if mnemonic in ("ld", "st") else op.sources
        found = [thread.R[one.value] for one in sources if one is not None and one.kind == "register"]
        return [value for value in found if isinstance(value, Varying)]

    # Symbols.

    def _branch(self, thread: Any, block: int, guard: Varying) -> None:
        """A branch divides what a symbol may be."""
        term = guard.term
        symbols = symbols_of(term)
        if len(symbols) > 1:
            unlike = self._where_unlike(term, symbols)
            if unlike is None:
                self._each(thread, block, guard)
            else:
                self._decided(thread, block, self.ranges, guard, unlike)
            return
        (one,) = symbols
        asked, of = asked_of(term, one), self.ranges.get(one, SymbolRange())
        if asked is None and (of.ticket or (of.cell is not None and of.cell.top and of.among is None)):
            for truth in (1, 0):
                self._decided(thread, block, {**self.ranges, one: of.guarded(term, one, truth)}, guard, truth)
            return
        if asked is None:
            values = self.values_of(one)
            holds = frozenset(
                value for value, truth in zip(values, evaluate_each(term, one, values), strict=True) if truth
            )
            for truth, among in ((1, holds), (0, frozenset(values) - holds)):
                if among:
                    self._keep(
                        thread, block, one, self.ranges.get(one, SymbolRange())._replace(among=among), guard, truth
                    )
            return
        numbers, otherwise = asked
        for number in sorted(numbers):
            if self.may_be(one, number):
                self._put(thread, block, one, number)
        rest = self.without(one, numbers)
        if rest is not None:
            self._keep(thread, block, one, rest, guard, otherwise)

    def _keep(self, thread: Any, block: int, one: Term, range_: SymbolRange, guard: Varying, truth: int) -> None:
        """A symbol is one of some values; the guard is a truth value then."""
        told = range_.cell is not None and range_ != self.ranges.get(one)  # who learns nothing may have looked long ago
        more = ((range_.cell, range_),) if told else ()
        self._decided(thread, block, {**self.ranges, one: range_}, guard, truth, more)

    def _decided(
        self, thread: Any, block: int, ranges: dict[Term, SymbolRange], guard: Varying, truth: int, more: Any = ()
    ) -> None:
        """The guard is a truth value."""
        registers = thread.R
        thread.R = [truth if isinstance(value, Varying) and value.term is guard.term else value for value in registers]
        self._goes(block, thread, ranges, more)
        thread.R = registers

    def _where_unlike(self, term: Term, symbols: Collection[Term]) -> int | None:
        """What a truth value is that asks whether two symbols are equal of which is known that they are not."""
        for one in symbols if len(symbols) == 2 else ():
            other = self.ranges.get(one, SymbolRange()).unlike
            if other is not None and other in symbols:
                return where_unlike(term, one, other)
        return None

    def _put(self, thread: Any, block: int, one: Term, value: int) -> None:
        """A symbol is this value."""
        registers = thread.R
        thread.R = [self._with(v, one, value) for v in registers]
        carry, thread.carry = thread.carry, self._with(thread.carry, one, value)
        of = self.ranges.get(one, SymbolRange())
        ranges = {other: of for other, of in self.ranges.items() if other is not one}
        more = () if of.cell is None else ((of.cell, of._replace(without=frozenset(), among=frozenset((value,)))),)
        bag = None if of.cell is None else of.cell.bag
        took = (of.cell, value) if of.cell is not None and bag is not None and value in bag.elements else None
        self._goes(block, thread, ranges, more, took)
        thread.R, thread.carry = registers, carry

    def _with(self, value: Any, one: Term, number: int) -> Any:
        if not isinstance(value, Varying) or one not in symbols_of(value.term):
            return value
        term = substitute(value.term, {one: number})
        return term if isinstance(term, int) else Varying(term, VARIES, value.size, 0, self)

    def _each(self, thread: Any, block: int, value: Varying) -> None:
        """A symbol is each of the values that it may be."""
        one = min(symbols_of(value.term), key=lambda one: one.serial)
        for number in sorted(self.values_of(one)):
            self._put(thread, block, one, number)

    # Accesses.

    def reads(self, thread: Any, address: int, size: int) -> Any:
        cell = self._reach(thread, "R", address, size)
        if self._told:
            return self._told.pop().value
        if cell.follows_moves and not cell.top:
            raise Divides([*self._each_found(cell, set(self.possible_of(cell)))])
        return self._look(cell, thread)

    def _each_found(self, cell: SearchedBytes, values: set[int]) -> Iterator[FoundThere]:
        """The ways of a look at a cell, one for each value that may be found."""
        cell.any.add(self.number)
        for value in sorted(values):
            finds = ((cell, SymbolRange(cell, among=frozenset((value,)))),)
            passed = self.passes(finds)
            if passed is not None:
                yield FoundThere(value, self.ranges, self.won, finds, False, passed)

    def _look(self, cell: SearchedBytes, thread: Any) -> Any:
        """What is found there: a number where it can be one only, else a symbol."""
        if not cell.top and len(cell.values) == 1:
            cell.other.setdefault(frozenset(cell.values), set()).add(self.number)
            return next(iter(cell.values))
        use = thread.instruction.use
        acquires = use.sem in ACQUIRES
        looks = 1 + acquires if scope_of(use) in WIDE else 0
        return self._symbol(8 * cell.size, cell, SymbolRange(cell, looks=looks, latest=True))

    def _symbol(self, width: int, cell: SearchedBytes, of: SymbolRange) -> Varying:
        made = Varying.fresh(width, 0, self)
        self.ranges = {**self._looked_at(cell), made.term: of}
        return made

    def writes(self, thread: Any, address: int, size: int, value: Any) -> None:
        if self._at is not None:
            self._append(thread, address, size, value)
            return
        cell = self._reach(thread, "W", address, size)
        self._wrote = True
        self._done |= {DoneInStep(cell, stores=True)}
        cell.strays = True
        self.of.again(cell.is_claimed(None, None))
        stored, use = self.stored(value, size), thread.instruction.use
        for one in stored:
            self.puts.add((cell, one))
        strong, known = scope_of(use) in WIDE, stored.isdisjoint(cell.starts | {None})
        released = self.handed.fenced or use.sem in RELEASES
        hands_over = strong and known and released and cell not in self.handed.put
        self.stores.add(SearchStore(cell, self.won, hands_over))
        if strong and self.won:
            self.of.again(cell.may_tell())
            self.handed = self.handed.puts(cell)

    def updates(self, thread: Any, how: Use, address: int, size: int, write: Write) -> Any:
        told = self._told
        if told:
            self._told = []
            cell = self._reach(thread, "A", address, size)
            if told[0].moves is not None:
                self.kept = self.kept._replace(moves=self.kept.moves | {told[0].moves})
            if told[0].adds:
                self._added = (*self._added, (cell, told[0].adds))
                self._adds(cell, told[0].adds)
            if how.op != "cas" or not (cell.top or only_looks(thread, how, write)):
                self._done |= {DoneInStep(cell)}
            return told[0].value
        if how.words["vec"]:
            raise UnknownErrand
        operands = [thread.value(source) for source in thread.instruction.sources[1:] if source is not None]
        if how.op == "cas" and scope_of(how) in WIDE and any(isinstance(operand, Varying) for operand in operands):
            ways = self._added_by_swap(self._reach(thread, "A", address, size), *operands[:2])
            if ways:
                raise Divides(ways)
        for operand in operands:
            if isinstance(operand, Varying):
                if how.op != "cas" and _is_strong(thread) and self.is_open(operand.term):
                    return self._put_anything(self._reach(thread, "A", address, size), 0)
                raise TellsApart(operand)
            if type(operand) is not int:
                raise UnknownErrand
        cell = self._reach(thread, "A", address, size)
        if not _is_strong(thread):
            raise UnknownErrand
        if how.op == "cas":
            return self._compare(cell, *(operand & mask(8 * size) for operand in operands[:2]))
        is_atom = thread.instruction.use.form.mnemonic == "atom" and how.type[:1] in "bus"
        if how.op in _CLAIMING and cell.once and not cell.top and is_atom:
            start = cell.claimed if cell.claimed != -1 else min(cell.starts) if len(cell.starts) == 1 else None
            if how.op != "exch":
                cell.any.add(self.number)
            if start is not None:
                put = int(write(start)[0]) & mask(8 * size)
                if put != start and (how.op == "exch" or cell.values.keys() <= {start, put}):
                    return self._compare(cell, start, put, exchanges=how.op == "exch")
        if (how.op == "add" and write(0)[0] != 0) or how.type[:1] not in "bus" or cell.top:
            adds = how.op == "add" and how.type[:1] in "bus"
            addend = write(0)[0] & mask(8 * size) if adds else 0
            return self._put_anything(cell, addend, ticket=addend if scope_of(how) in WIDE else 0)
        cell.any.add(self.number)
        changes = False
        for value in list(self.possible_of(cell)):
            written, writes = write(value)
            if type(written) is not int:
                raise UnknownErrand
            if writes and written & mask(8 * size) != value:
                changes = True
                cell.moves.add((value, written & mask(8 * size)))
                self.puts.add((cell, written & mask(8 * size)))
        if changes:
            self._wrote = True
            self.stores.add(SearchStore(cell, frozenset(), hands_over=False))
            self.of.again(cell.is_claimed(None, None))
        return self._look(cell, thread)

    def _put_anything(self, cell: SearchedBytes, addend: int, *, ticket: int = 0) -> Varying:
        """An atomic operation puts something of which nothing is known; it adds a number, if that is not zero."""
        self._wrote = True
        if addend:
            self._added = (*self._added, (cell, addend))
            self._adds(cell, addend)
        self._puts_anything(cell, adds=bool(addend))
        return self._symbol(8 * cell.size, cell, SymbolRange(cell, ticket=ticket))

    def _compare(self, cell: SearchedBytes, compared: int, put: int, *, exchanges: bool = False) -> Any:
        """A compare-and-swap succeeds, or fails; an exchange is the first one there, or not."""
        if cell.top:
            raise UnknownErrand
        ways: list[FoundThere] = []
        without = frozenset((compared,))
        possible = set(self.possible_of(cell))
        if exchanges:
            cell.strays = True
            self.stores.add(SearchStore(cell, frozenset(), hands_over=False))
            self.of.again(cell.is_claimed(compared, put, exchanges=True))
            self.puts.add((cell, put))
        if compared not in possible:
            cell.one.setdefault(compared, set()).add(self.number)
        else:
            swaps = compared != put
            won = self.won | {cell} if swaps else self.won
            found = () if swaps else ((cell, SymbolRange(cell, among=without)),)
            moves = CellMove(cell, compared, put) if swaps and cell.follows_moves else None
            ways.append(FoundThere(compared, self.ranges, won, found, swaps, self.passed, moves=moves))
            if swaps and not exchanges:
                cell.moves.add((compared, put))
                self.stores.add(SearchStore(cell, frozenset(), hands_over=False))
                self.of.again(cell.is_claimed(compared, put))
                self.puts.add((cell, put))
        if cell.follows_moves:
            ways += self._each_found(cell, possible - {compared})
        elif not possible - {compared}:
            cell.other.setdefault(without, set()).add(self.number)
        else:
            finds = ((cell, SymbolRange(cell, without)),)
            passed = self.passes(finds)
            if passed is not None:
                made = Varying.fresh(8 * cell.size, 0, self)
                ranges = {**self.ranges, made.term: finds[0][1]}
                ways.append(FoundThere(made, ranges, self.won, () if exchanges else finds, exchanges, passed))
        raise Divides(ways)

    def _reach(self, thread: Any, kind: str, address: int, size: int) -> SearchedBytes:
        if type(address) is not int or not is_in("" if address >= FIRST_GLOBAL else "shared", thread, address):
            raise UnknownErrand
        segment, first = thread.segment(address)
        op = thread.instruction
        strong = scope_of(op.use)
        if not strong:
            self.handed = self.handed.accesses()
        if strong is None or address & (size - 1) or first + size > segment.size or (strong and op.use.words["vec"]):
            raise UnknownErrand
        if kind != "R" and not segment.writable:
            raise UnknownErrand
        cell = self.of.cell(self.node.start, segment, first, size)
        handed = self.handed
        late = bool(strong) and handed.fenced
        reached = ReachedBytes(kind, strong, cell, self.won, thread.op, handed.behind, handed.put, late)
        self.reaches.add(reached._replace(moves=self.kept.moves))
        return cell

    # What else a copy does.

    def fences(self, thread: Any, how: Use) -> None:
        """A fence: no order is taken from it but of what is handed over."""
        if fence_scope(how) in WIDE and not how.words["restrict"] and not how.words["operation"]:
            self.handed = self.handed.fences(acquires=how.sem != "release", releases=how.sem != "acquire")

    def polls(self, thread: Any, block: int) -> None:
        """It looks at what others write."""

    def other(self, thread: Any, what: str, how: Use | None = None, address: int = 0) -> None:
        if what != "unknown":
            raise UnknownErrand
        self._at = None


def _is_strong(thread: Any) -> bool:
    return scope_of(thread.instruction.use) not in (None, "", CONSTANT)


__all__ = ["SearchBlock"]

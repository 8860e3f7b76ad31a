"""Threads that wait for what others write: what a strong read that nothing orders with a write may find, and what is certain.

Where a thread polls, each value that it may find leads it back to poll again, or on: which, is found by going on with it, on a
copy of the thread, up to what others see next. A read that leads on is *determinate* where every value that leads on leads to
the same; it is certain of those writes that every such value needs.
"""

from __future__ import annotations

import copy
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import product
from math import prod
from typing import Any, NoReturn

from axioms.dynamic.code.live import Live, Same
from axioms.dynamic.core.clocks import Clocks
from axioms.dynamic.waits.strong_reads import StrongRead
from axioms.dynamic.waits.written import Written, knows, morally_strong, observes
from ptxcore.isa.effect_kinds import FENCE, UPDATES, EffectKind
from ptxcore.isa.form import Use
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.codegen import Compiled
from ptxcore.machine.run.snapshot import Snapshot
from ptxcore.machine.run.watched import WatchedThread, Write, number_at

#: Blocks that a copy of a thread runs at most to find out what a value leads to.
_MOST_BLOCKS = 64
_MOST_VALUES = 4096  # values that are looked at for one read


class WrittenBytes:
    """Some bytes that strong operations access: their first value (None where nothing determines it), the writes in the order
    of the run, and the reads that led on."""

    def __init__(self, size: int, first: int | None) -> None:
        self.size, self.first = size, first
        self.writes: list[Written] = []
        self.reads: list[StrongRead] = []
        self._by: dict[int, list[StrongRead]] = {}  # by thread
        #: Reads before others that would find there what these may find (`waits.early_looks`).
        self.looks: list[StrongRead] = []
        #: A read that leads on in several ways.
        self.open: StrongRead | None = None
        #: Whether that is so since a store leads it back that does not come before the one that leads it on.
        self.returns = False
        #: Whether some write is in a scope that has not all threads.
        self._narrow = False

    def read(self, read: StrongRead, clocks: Clocks) -> bool:
        """A thread goes on; whether it is determinate with the writes so far."""
        self.locate(read, clocks)
        found = self._certain(read, clocks)
        if found is None:
            self.open = read
            return False
        read.certain, read.seen = found, len(self.writes)
        self.reads.append(read)
        self._by.setdefault(read.thread, []).append(read)
        return True

    def locate(self, read: StrongRead, clocks: Clocks) -> None:
        """Finds out which of the writes so far come before a read."""
        ordered = (n for n, w in enumerate(self.writes) if clocks.ordered(read.thread, w.thread, w.time))
        read.before = frozenset(ordered)
        read.behind = read.before.union(*(r.certain for r in self._by.get(read.thread, ())))

    def write(self, written: Written, clocks: Clocks) -> bool:
        """One more write; whether all reads that led on stay determinate, and certain of what they were."""
        self.writes.append(written)
        self._narrow = self._narrow or not clocks.wide(written.scope)
        for read in self.reads:
            if not knows(written, read.thread, read.time, clocks) and not self._stays(read, clocks):
                self.open = read
                return False
        looks = [look for look in self.looks if not knows(written, look.thread, look.time, clocks)]
        return all(self._looks_in_vain(look, clocks) or self._stays(look, clocks) for look in looks)

    def _stays(self, read: StrongRead, clocks: Clocks) -> bool:
        """Whether a read is certain of what it was, now that there are more writes."""
        found = self._certain(read, clocks)
        stays = found is not None and read.certain <= found
        hands_on = not (read.observes or read.found) or self.observes(read, clocks)
        return stays and hands_on and all(self._finds(read, n, clocks) for n in read.found)

    def observes(self, read: StrongRead, clocks: Clocks) -> bool:
        """Whether a read observes, in every execution, all writes that it is certain of and that nothing orders before it; what
        comes later must not change that."""
        wide = not self._narrow and clocks.wide(read.scope)
        read.observes = wide or observes(read, self.writes, clocks)
        return read.observes

    def looked(self, look: StrongRead, fresh: frozenset[int], clocks: Clocks) -> bool:
        """A thread has gone on that looked before it polled; whether it is as certain of some writes where that look finds what
        leads on."""
        look.certain, look.observes = fresh, True
        self.looks.append(look)
        if self._looks_in_vain(look, clocks) or self._stays(look, clocks):
            return True
        self.open = look
        return False

    def _looks_in_vain(self, look: StrongRead, clocks: Clocks) -> bool:
        """Whether nothing that a look may find leads its thread on."""
        before, beside = sorted(look.behind), self._beside(look, clocks)
        kinds, modulus = {self.writes[n].kind for n in beside}, self._modulus(before, beside)
        value = None if modulus is None else self._base(before, modulus)[0]
        if modulus is None or value is None or len(kinds) > 1 or "other" in kinds:
            return False
        values = {value, *(self.writes[n].value for n in beside)}
        found = self._values(value, beside, modulus) if kinds == {"add"} else values
        return found is not None and all(look.leads(self._cut(one)) is None for one in found)

    def may_lead_on(self, leads: Callable[[int], object]) -> bool:
        """Whether something that has stood here at some time leads a thread on, as far as is known."""
        stores = all(w.kind == "store" for w in self.writes)
        values = [self.first, *(w.value for w in self.writes)]
        return not stores or any(value is None or leads(self._cut(value)) is not None for value in values)

    def stored_before(self, thread: int, clocks: Clocks) -> bool:
        """Whether a thread comes behind a store, so that it finds that or something later."""
        return any(w.kind == "store" and clocks.ordered(thread, w.thread, w.time) for w in self.writes)

    def base(self, read: StrongRead) -> int | None:
        """What the writes that come before a read have left; None where nothing determines it."""
        before = sorted(read.behind)
        modulus = self._modulus(before, [])
        value = None if modulus is None else self._base(before, modulus)[0]
        return None if value is None else self._cut(value)

    def observed(self, writer: int, time: int, thread: int, clocks: Clocks) -> bool:
        """Whether a thread comes behind a read that observes the writes of another one at a time, in every execution (section
        8.9.5, causality order, clause 2); and behind all that threads of its CTA wrote there before."""
        numbers = [n for n, w in enumerate(self.writes) if w.thread == writer and w.time == time]
        if not numbers or writer // clocks.size == thread // clocks.size:
            return False
        before = [n for n in range(numbers[-1] + 1) if self.writes[n].thread // clocks.size == writer // clocks.size]
        return all(self._comes_behind(n, thread, clocks) for n in before)

    def _comes_behind(self, n: int, thread: int, clocks: Clocks) -> bool:
        """Whether a thread comes behind a write, in causality order."""
        w = self.writes[n]
        if clocks.ordered(thread, w.thread, w.time):
            return True
        for read in self.reads:
            scopes = morally_strong((w.scope, w.thread), (read.scope, read.thread), clocks) and self.observes(
                read, clocks
            )
            fresh = scopes and n in read.certain and n not in read.behind
            if fresh and clocks.ordered(thread, read.thread, read.time) and self._finds(read, n, clocks):
                read.found |= {n}
                return True
        return False

    def _finds(self, read: StrongRead, n: int, clocks: Clocks) -> bool:
        """Whether a read, of the writes that it is certain of, finds this one itself; or additions that came behind it, each
        of which found what the one before had left."""
        beside = self._beside(read, clocks)
        if all(self.writes[m].kind == "add" for m in beside):
            return True
        return [m for m in beside if read.leads(self._cut(self.writes[m].value)) is not None] == [n]

    def possible(self, read: StrongRead, clocks: Clocks) -> set[int] | None:
        """What an operation may find, of which `before` is known, in any order of the writes; None where that is open."""
        writes, before = self.writes, sorted(read.behind)
        beside = self._beside(read, clocks)
        if not beside:
            return {read.value}
        modulus = self._modulus(before, beside)
        if (
            {writes[n].kind for n in beside} != {"add"}
            or "other" in {writes[n].kind for n in before}
            or modulus is None
        ):
            return None
        value, last = self._base(before, modulus)
        if value is None:
            return None
        reset = last < 0 or all(self._follows(n, last, clocks) for n in beside)
        return self._values(value, beside, modulus) if reset else None

    def leads_on_with(self, read: StrongRead, sure: frozenset[int], clocks: Clocks) -> bool:
        """Whether a determinate read leads on where some writes have come, whichever others have."""
        before, beside = sorted(read.behind), self._beside(read, clocks)
        modulus = self._modulus(before, beside)
        value = None if modulus is None else self._base(before, modulus)[0]
        if modulus is None or value is None:
            return not beside
        if {self.writes[n].kind for n in beside} == {"store"}:  # none of which leads back behind one that leads on
            values = [value, *(self.writes[n].value for n in beside if n in sure)]
            return any(read.leads(self._cut(one)) is not None for one in values)
        value = self._sum(value, (self.writes[n].value for n in beside if n in sure), modulus)
        found = self._values(value, [n for n in beside if n not in sure], modulus)
        return found is not None and all(read.leads(self._cut(one)) is not None for one in found)

    def _beside(self, read: StrongRead, clocks: Clocks) -> list[int]:
        """The writes that nothing orders with a read, or an atomic operation."""
        own = read.own
        return [
            n for n, w in enumerate(self.writes)
            if n not in read.behind
            and not knows(w, read.thread, read.time, clocks)
            and not (own >= 0 and self._waited(w, own))
        ]  # fmt: skip

    def _modulus(self, before: list[int], beside: list[int]) -> int | None:
        """By which number what additions leave goes round, 0 for none, of all that may come between each other: those that
        come before a read since the last plain write, and those beside it; None where they differ."""
        last = max((n for n in before if self.writes[n].kind != "add"), default=-1)
        added = [
            self.writes[n] for n in (*before, *beside) if self.writes[n].kind == "add" and (n > last or n in beside)
        ]
        moduli = {w.modulus for w in added} or {0}
        return moduli.pop() if len(moduli) == 1 else None

    def _base(self, before: list[int], modulus: int) -> tuple[int | None, int]:
        """The value that the writes before leave, None where nothing determines it, and the last plain one of them."""
        value, last = self.first, -1
        for n in before:
            w = self.writes[n]
            if w.kind != "add":
                value, last = w.value, n
            elif value is not None:
                value = None if modulus and value >= modulus else self._sum(value, (w.value,), modulus)
        return (None if value is None or (modulus and value >= modulus) else value), last

    def _certain(self, read: StrongRead, clocks: Clocks) -> frozenset[int] | None:
        """The writes without which no value leads the thread on; None where its way is open."""
        writes = self.writes
        beside = self._beside(read, clocks)
        if not beside:
            return read.behind
        before, kinds = sorted(read.behind), {writes[n].kind for n in beside}
        modulus = self._modulus(before, beside)
        if modulus is None:
            return None
        value, last = self._base(before, modulus)
        if value is None or "other" in {writes[n].kind for n in read.behind}:
            return None
        if kinds == {"add"}:
            reset = last < 0 or all(self._follows(n, last, clocks) for n in beside)
            return self._sums(read, value, beside, modulus, clocks) if reset else None
        return self._stores(read, value, beside, clocks) if kinds == {"store"} else None

    def _sums(
        self, read: StrongRead, base: int, beside: list[int], modulus: int, clocks: Clocks
    ) -> frozenset[int] | None:
        """Of additions in any order: the values are sums of some of them."""
        wanted = read.leads(self._cut(read.value))
        every = self._values(base, beside, modulus)
        if every is None or wanted is None:
            return None
        ways = {value: read.leads(value) for value in every}
        total = self._sum(base, (self.writes[n].value for n in beside), modulus)
        if any(way not in (None, wanted) for way in ways.values()) or ways[total] is None:
            return None
        later = [n for n in beside if n >= read.seen >= 0]
        if later:  # some may come only where it leads on, though nothing orders them behind it
            stands = self._sum(base, (self.writes[n].value for n in beside if n < read.seen), modulus)
            if any(ways[value] is None for value in self._values(stands, later, modulus) or ()):
                return None
        certain = set(read.behind)
        for n in beside:
            others = [m for m in beside if m != n and not self._follows(m, n, clocks)]
            if all(ways[value] is None for value in self._values(base, others, modulus) or ()):
                certain.add(n)
        return frozenset(certain)

    def _sum(self, base: int, parts: Iterable[int], modulus: int) -> int:
        value = base + sum(parts)
        return value % modulus if modulus else self._cut(value)

    def _values(self, base: int, numbers: list[int], modulus: int) -> set[int] | None:
        """All sums of some additions; None where there are too many."""
        operands = Counter(self.writes[n].value for n in numbers)
        if prod(count + 1 for count in operands.values()) > _MOST_VALUES:
            return None
        chosen = product(*([k * operand for k in range(count + 1)] for operand, count in operands.items()))
        return {self._sum(base, parts, modulus) for parts in chosen}

    def _stores(self, read: StrongRead, base: int, beside: list[int], clocks: Clocks) -> frozenset[int] | None:
        """Of stores: what the first of those gives that lead on, where the others that do are ordered behind it, and those that
        do not before it."""
        wanted = read.leads(self._cut(read.value))
        ways = {n: read.leads(self._cut(self.writes[n].value)) for n in beside}
        if wanted is None or any(way not in (None, wanted) for way in ways.values()):
            return None
        if (at_once := read.leads(self._cut(base))) is not None:  # it need not have waited
            return read.behind if all(way == wanted for way in (at_once, *ways.values())) else None
        leading = [n for n in beside if ways[n] is not None]
        if not leading:
            return None
        first = leading[0]
        for n in beside:
            if ways[n] is None:
                in_order = self._follows(first, n, clocks) or self._needs(n, read, clocks)
                self.returns = self.returns or not in_order
            else:
                in_order = n == first or self._follows(n, first, clocks)
            if not in_order:
                return None
            if n != first and ways[n] is not None and not self._hands_on(n, first, clocks):
                return None
        return read.behind | {first}

    def _hands_on(self, n: int, m: int, clocks: Clocks) -> bool:
        """Whether who reads a store synchronizes with all that who reads another one does: of the same thread it is in the same
        release pattern; a store of another thread carries nothing on but what that thread releases (section 8.8)."""
        one, other = self.writes[n], self.writes[m]
        if one.thread == other.thread:
            return True
        cta, place = divmod(other.thread, clocks.size)
        wide = (hand.table.get(cta) for hand in one.hands if clocks.wide(hand.scope))
        return any(times is not None and times[place] >= other.time for times in wide)

    def _follows(self, n: int, m: int, clocks: Clocks) -> bool:
        """Whether one write comes behind another in coherence order: it is ordered so, or its thread had waited until it was
        certain of that one, and would not write had it not found it (sections 8.10.4 and 8.10.5)."""
        one, other = self.writes[n], self.writes[m]
        if one.thread == other.thread:
            return n > m
        if knows(one, other.thread, other.time, clocks) or self._waited(one, m):
            return True
        # Coherence order is transitive: so is this, of writes that threads had waited for.
        return any(k < n and self._follows(k, m, clocks) for k in self._awaited(one))

    def _needs(self, n: int, read: StrongRead, clocks: Clocks) -> bool:
        """Whether a write is executed only where a read has led on."""
        return clocks.executed(self.writes[n].known, read.thread, read.time)

    def _waited(self, written: Written, m: int) -> bool:
        """Whether a thread had waited, before it wrote, until it was certain of a write."""
        return any(read.time < written.time and m in read.certain for read in self._by.get(written.thread, ()))

    def _awaited(self, written: Written) -> frozenset[int]:
        """The writes that a thread had waited for when it wrote."""
        reads = [read.certain for read in self._by.get(written.thread, ()) if read.time < written.time]
        return reads[0].union(*reads[1:]) if reads else frozenset()

    def _cut(self, value: int) -> int:
        return value & ((1 << 8 * self.size) - 1)


class Ended(BaseException):
    """A copy of a thread has come to what others would see."""


class Still:
    """Watches a copy of a thread: one instruction finds a value; whatever others would see, or what it might find otherwise,
    ends it. `fences`: those that it has come by."""

    def __init__(self, op: int, value: int, live: Live) -> None:
        self.op, self.value, self.live = op, value, live
        self.fences: list[int] = []

    def reads(self, thread: WatchedThread, address: int, size: int) -> int:
        if thread.op != self.op:
            raise Ended
        return self.value & ((1 << 8 * size) - 1)

    def __getattr__(self, name: str) -> Any:
        def ended(*_: object, **__: object) -> None:
            raise Ended

        return ended


def _ended(*_: Any, **__: Any) -> NoReturn:
    raise Ended


class Copying(WatchedThread):
    """A thread that goes on by itself: up to whatever others take part in or see, and up to its end."""

    __slots__ = ()

    def polls(self, block: int) -> None:
        pass

    def modify(self, kind: str, how: Use, address: int, write: Write) -> Any:
        watcher: Any = self.watcher
        if kind not in UPDATES:
            raise Ended
        return watcher.reads(self, address, how.width // 8)

    def effect(self, kind: EffectKind, how: Use, **fields: Any) -> Any:
        if kind is not FENCE or how.words["restrict"] or how.words["operation"]:
            raise Ended
        self.watcher.fences.append(self.op)  # type: ignore[attr-defined]

    def ask(self, name: str) -> int:
        live, compiled = getattr(self.watcher, "live", None), self.launch.compiled
        number = number_at(compiled, sys._getframe(1).f_lineno)
        if not isinstance(live, Live) or not live.is_idle(compiled.ops[number]):
            raise Ended
        return 0

    barrier = collective = copy = defer = pause = clear = cancel_cluster = call = leave = _ended
    ended = staticmethod(_ended)
    stop = commit = wait = after_copies = allocate = refuse = jump = _ended


class Poll(Snapshot[WatchedThread]):
    """A thread at the beginning of a block in which it polls."""

    __slots__ = ("block",)

    def __init__(self, thread: WatchedThread, block: int) -> None:
        super().__init__(thread)
        self.block = block

    def leads(
        self, live: Live, op: int, value: int, kind: type[Copying] | None = None, watcher: Still | None = None
    ) -> object:
        """Where the thread goes on if its instruction `op` finds a value: None where it polls again just so; else something
        that is equal where it goes on equally. An atomic operation has been executed there, if it was one. `kind`: how it
        finds the value; `watcher`: who is told of it."""
        thread = copy.copy(self.thread)
        thread.__class__ = kind or Copying
        thread.answer = value
        thread.watcher = watcher = watcher or Still(op, value, live)
        thread.R, thread.frames = list(self.registers), list(self.thread.frames)
        compiled, parameters = thread.launch.compiled, thread.launch.read_parameters  # type: ignore[attr-defined]
        at = self.block
        for _ in range(_MOST_BLOCKS):
            try:
                at = compiled.blocks[at](thread, thread.R, parameters)
            except (Ended, Exception) as error:  # whatever goes wrong goes wrong there, and not here
                stopped = stopped_at(compiled, error)
                if stopped is None:
                    return Same(error)
                return *live.before(stopped, thread.R), plain(thread.carry), *watcher.fences
            if at == self.block:
                carry = self.thread.carry
                same = live.same(at, thread.R, self.registers) and plain(thread.carry) == plain(carry)
                if same and (kind is None or not watcher.fences):
                    return None  # `Determinate.vain` leaves out fences of this round
                break
        return at, live.of(at, thread.R), plain(thread.carry), *watcher.fences


def stopped_at(compiled: Compiled, error: BaseException) -> Op | None:
    """The instruction at which compiled code stopped."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<kernel>":
            return compiled.where[trace.tb_lineno]
        trace = trace.tb_next
    return None


def plain(value: object) -> object:
    return value if type(value) is int else Same(value)


def leading(poll: Poll | None, live: Live, op: int) -> Callable[[int], object]:
    """Where a thread goes on with what its instruction `op` finds: None, back to poll again. Who does not poll anywhere goes on
    differently with each value."""
    known: dict[int, object] = {}

    def lead(value: int) -> object:
        if value not in known:
            known[value] = (value,) if poll is None else poll.leads(live, op, value)
        return known[value]

    return lead

"""Positions of which it does not matter who takes them: whoever comes last to the barrier of a grid lets the others go on.

    if (atomicInc(&count, n - 1) == n - 1) generation = g + 1; else while (generation == g);

Whoever takes the last position of a round has a *duty*: it writes something, by the last write of all what the others wait for.
If each of them would do the same, by the same instructions, and comes to the same place with the same live registers, whether
it has the duty or waits, and if all hand on what came before their operations, take that in, and hand it on by the last
write, then executions differ in nothing but who has the duty (docs/whole-launches/several-runs.md, Several runs).

    if (atomicSub(&users, 1) == 1) mbarrier_inval(&full);      // and all of them end

So they do where nobody waits, since all end behind what they do.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NoReturn

from axioms.dynamic.asynchronous.phases import SIZE
from axioms.dynamic.code.live import Live
from axioms.dynamic.core.accesses import LEVELS, scope_of
from axioms.dynamic.core.clocks import Clocks
from axioms.dynamic.core.findings import step
from axioms.dynamic.several.noted import OpenBytes, OpenOperation
from axioms.dynamic.tickets.errand_threads import ErrandThread, UnknownErrand, is_in
from axioms.dynamic.waits.waiting import Ended, plain, stopped_at
from axioms.dynamic.waits.written import Written, knows
from ptxcore.clock import OutOfTime
from ptxcore.isa.form import ACQUIRES, RELEASES, Use
from ptxcore.isa.mbarrier import initial
from ptxcore.machine.ir.windows import FIRST_GLOBAL
from ptxcore.machine.lower.liveness import results_unused
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.codegen import DONE
from ptxcore.machine.run.watched import Write
from ptxcore.places import WIDE
from ptxcore.records import NamedTuple

#: Scopes that have a CTA, beside those that have all threads.
_OF_CTA = frozenset(("cta", "cluster"))
#: Blocks of one way.
_MOST_BLOCKS = 64
#: Some bytes of memory that all threads share: the address of the first one, and their number.
_Address = tuple[int, int]


class DutyStep(NamedTuple):
    """What a thread does on a way that others see: a fence (`F`), a read (`R`), the invalidation of an mbarrier object (`I`), a
    write (`W`): of a value, or with operands (`does`) on what stands there (the value is None then)."""

    kind: str
    op: Op
    at: _Address = (0, 0)
    value: int | None = None
    does: tuple[object, ...] = ()

    def acquires(self, scopes: Set[str] = WIDE) -> bool:
        """Whether it acquires, in one of some scopes."""
        sem = self.op.use.sem
        return (sem != "release" if self.kind == "F" else sem in ACQUIRES) and self._scope in scopes

    @property
    def releases(self) -> bool:
        sem = self.op.use.sem
        return (sem != "acquire" if self.kind == "F" else sem in RELEASES) and self._scope in WIDE

    @property
    def _scope(self) -> str | None:
        use = self.op.use
        return LEVELS.get(use.scope or "", use.scope) if self.kind == "F" else scope_of(use)


class _Way(NamedTuple):
    """A way: its steps, and where it ends, with all that the thread goes on with."""

    steps: tuple[DutyStep, ...]
    ends: object


def _ended(*_: Any, **__: Any) -> NoReturn:
    raise Ended


class _DutyThread(ErrandThread):
    """A copy of a thread on its way from an arrival: where others take part, it stops."""

    __slots__ = ()
    barrier = collective = _ended

    def modify(self, kind: str, how: Use, address: int, write: Write) -> Any:
        if kind != "inval":
            return super().modify(kind, how, address, write)
        if not is_in("shared", self, address):
            raise UnknownErrand
        self.watcher.invalidates(self, address)  # type: ignore[attr-defined]
        return initial(1)  # it is valid, as in the run


class _Watching:
    """Watches a copy: its first operation finds a value, and so do its next reads of some bytes."""

    def __init__(self, value: int, finds: Mapping[_Address, Sequence[int]]) -> None:
        self.value: int | None = value
        self.finds = {at: list(values) for at, values in finds.items()}
        self.steps: list[DutyStep] = []

    def reads(self, thread: Any, address: int, size: int) -> int:
        values = self.finds.get((address, size))
        if self.value is not None or not values or scope_of(thread.instruction.use) not in WIDE:
            raise Ended
        self.steps.append(DutyStep("R", thread.instruction, (address, size)))
        return values.pop(0)

    def writes(self, thread: Any, address: int, size: int, value: Any) -> None:
        if self.value is not None or type(value) is not int or thread.instruction.use.words["vec"]:
            raise UnknownErrand
        if address < FIRST_GLOBAL and not is_in("shared", thread, address):
            raise UnknownErrand  # the thread's own
        self.steps.append(DutyStep("W", thread.instruction, (address, size), value & (1 << 8 * size) - 1))

    def updates(self, thread: Any, how: Use, address: int, size: int, write: Write) -> int:
        if self.value is not None:
            found, self.value = self.value, None
            return found
        if not results_unused(thread.launch.program.functions.values(), thread.instruction) or how.words["vec"]:
            raise Ended
        same = {write(0)[0], write(1)[0]}  # of an exchange
        value = same.pop() if how.op == "exch" and len(same) == 1 else None
        does = tuple(plain(thread.value(s)) for s in thread.instruction.sources[1:] if s is not None)
        self.steps.append(DutyStep("W", thread.instruction, (address, size), value, does))
        return 0

    def invalidates(self, thread: Any, address: int) -> None:
        if self.value is not None:
            raise UnknownErrand
        self.steps.append(DutyStep("I", thread.instruction, (address, SIZE)))

    def fences(self, thread: Any, how: Use) -> None:
        if self.value is not None:
            raise UnknownErrand
        self.steps.append(DutyStep("F", thread.instruction))

    def polls(self, thread: Any, block: int) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        raise UnknownErrand


def _way(event: OpenOperation, live: Live, value: int, finds: Mapping[_Address, Sequence[int]]) -> _Way:
    """The way of a thread whose arrival finds a value. Raises UnknownErrand."""
    assert event.poll is not None
    thread: Any = copy.copy(event.poll.thread)
    thread.__class__ = _DutyThread
    watching = _Watching(value, finds)
    thread.watcher, thread.R, thread.frames = watching, list(event.poll.registers), []
    compiled, parameters = thread.launch.compiled, thread.launch.read_parameters
    block = event.poll.block
    for _ in range(_MOST_BLOCKS):
        step()
        if block == DONE:
            return _Way(tuple(watching.steps), DONE)
        try:
            block = compiled.blocks[block](thread, thread.R, parameters)
        except (UnknownErrand, OutOfTime):
            raise
        except (Ended, Exception) as error:
            stopped = stopped_at(compiled, error)
            if stopped is None or not isinstance(error, Ended) or watching.value is not None:
                raise UnknownErrand from None
            return _Way(tuple(watching.steps), (live.before(stopped, thread.R), plain(thread.carry)))
    raise UnknownErrand


def exchangeable(
    takers: Sequence[OpenOperation], lives: Sequence[Live], opened: Iterable[OpenBytes], clocks: Clocks
) -> bool:
    """Whether it does not matter which of the threads of a round takes its last position, which alone tells. `opened`: the
    bytes that strong operations access."""
    try:
        return _exchangeable(takers, lives, list(opened), clocks)
    except UnknownErrand:
        return False


def _exchangeable(
    takers: Sequence[OpenOperation], lives: Sequence[Live], opened: list[OpenBytes], clocks: Clocks
) -> bool:
    *others, last = takers
    if not others or any(e.poll is None or e.op is not last.op or e.poll.thread.frames for e in takers):
        return False
    if not all(e.alone for e in takers) or len({e.name[1] for e in takers}) != len(takers):
        return False
    duty = _way(last, lives[-1], last.found, {})
    if duty.ends == DONE and _is_an_end(takers, lives, duty, clocks):
        return True
    if not all(not e.released.isdisjoint(WIDE) and e.strong in WIDE for e in takers):
        return False
    written = [one for one in duty.steps if one.kind == "W"]
    counter = last.spot.name.address, last.spot.name.size
    if not written or last.op is None or not _hands_on(last.op, duty.steps, counter):
        return False
    if any(one.at[0] < FIRST_GLOBAL for one in written):
        return False  # of a CTA's own memory
    final = written[-1]
    if final.value is None and sum(one.at == final.at for one in written) > 1:
        return False
    spot = next((s for s in opened if s.name.cta < 0 and (s.name.address, s.name.size) == final.at), None)
    found = None if spot is None else _found_at(spot, last, final, clocks)
    if found is None or any(
        s.mode == "ordered" and (s.name.address, s.name.size) in {w.at for w in written} for s in opened
    ):
        return False
    names = {e.name[1] for e in takers}
    ends = [i + 1 for i, one in enumerate(duty.steps) if one.kind == "W"]
    if not all(_is_anybodys(duty.steps[:end], last.op, counter, opened, names) for end in ends):
        return False
    before, after = found
    waits: _Way | None = None
    for event, live in zip(takers, lives, strict=True):
        ways = [_way(event, live, takers[0].found, {final.at: values}) for values in ((after,), (before, after))]
        mine = _way(event, live, last.found, {})
        same = mine.steps == duty.steps and mine.ends == ways[0].ends == ways[1].ends
        waits = waits or ways[0]
        if not same or ways[0].steps != waits.steps or not _takes_in(ways[0].steps):
            return False
        if any(one.kind == "W" for way in ways for one in way.steps):
            return False
    return True


def _is_an_end(takers: Sequence[OpenOperation], lives: Sequence[Live], duty: _Way, clocks: Clocks) -> bool:
    """Whether each of the threads of a round would end with this duty, and without one, and all that any of them comes behind
    comes before what the duty does: weak stores and invalidations, which nobody observes."""
    together = len({e.name[1] // clocks.size for e in takers}) == 1
    scopes = WIDE | _OF_CTA if together else WIDE
    if clocks.cluster > 1 or not all(e.strong in scopes and not e.released.isdisjoint(scopes) for e in takers):
        return False
    op, does = takers[-1].op, [one for one in duty.steps if one.kind != "F"]
    if op is None or any(one.kind == "R" or (one.kind == "W" and scope_of(one.op.use)) for one in does):
        return False
    if any(one.at[0] < FIRST_GLOBAL for one in does) and not together:
        return False  # of a CTA's own memory
    first = next((i for i, one in enumerate(duty.steps) if one.kind != "F"), len(duty.steps))
    if does and _acquired(op, duty.steps, scopes) >= first:
        return False
    for event, live in zip(takers, lives, strict=True):
        without = _way(event, live, takers[0].found, {})
        if without.ends != DONE or any(one.kind != "F" for one in without.steps):
            return False
        if _way(event, live, takers[-1].found, {}) != duty:
            return False
    return True


def _is_anybodys(
    steps: Sequence[DutyStep], arrives: Op, counter: _Address, opened: Iterable[OpenBytes], takers: Set[int]
) -> bool:
    """Whether what the last write of these hands on to others than those of the round, and whether it races with what they do,
    is the same whoever has the duty: where there are such, all are in each other's scope, and who comes behind the write is
    behind the acquire on arrival, as behind the last write of the duty. A weak one before that acquire is behind the operations
    of the round, and not behind what else its threads do."""
    first, scope = steps[-1].at[0], scope_of(steps[-1].op.use)
    near = [s for s in opened if s.name.cta < 0 and first < s.name.address + s.name.size]
    touched = [s.place for s in near if s.name.address < sum(steps[-1].at)]
    others = {w.scope for place in touched for w in place.writes if w.thread not in takers}
    others |= {r.scope for place in touched for r in (*place.reads, *place.looks) if r.thread not in takers}
    if not scope and _acquired(arrives, steps) >= len(steps):
        return not others and not any(place.reads or place.looks for place in touched)
    if not any(others) or not scope:
        return others <= {"", *WIDE}
    return {scope, *others} <= {"", *WIDE} and _hands_on(arrives, steps, counter)


def _acquired(arrives: Op, steps: Sequence[DutyStep], scopes: Set[str] = WIDE) -> int:
    """The first of some steps by which a thread has acquired what it found on arrival, in one of some scopes: -1 where the
    arrival does, their number where none does."""
    if DutyStep("A", arrives).acquires(scopes):
        return -1
    return next((i for i, s in enumerate(steps) if s.kind == "F" and s.acquires(scopes)), len(steps))


def _hands_on(arrives: Op, steps: Sequence[DutyStep], counter: _Address) -> bool:
    """Whether who does this acquires what was found on arrival, before it writes anything but the counter, by a write that all
    are in the scope of or a weak one, and then releases all by its last write."""
    last = max(i for i, one in enumerate(steps) if one.kind == "W")
    if scope_of(steps[last].op.use) not in WIDE:
        return False
    acquired = _acquired(arrives, steps)
    before = [one for one in steps[: max(0, acquired)] if one.kind == "W"]
    if acquired >= last or any(one.at != counter or scope_of(one.op.use) not in ("", *WIDE) for one in before):
        return False
    if steps[last].releases:
        return True
    behind = max([acquired, *(i for i, one in enumerate(steps[:last]) if one.kind == "W")])
    return any(one.kind == "F" and one.releases for one in steps[max(0, behind) : last])


def _takes_in(steps: Sequence[DutyStep]) -> bool:
    """Whether who waits so acquires what it finds."""
    reads = [i for i, one in enumerate(steps) if one.kind == "R"]
    return bool(reads) and any(one.acquires() for one in steps[reads[-1] :])


def _found_at(spot: OpenBytes, last: OpenOperation, final: DutyStep, clocks: Clocks) -> tuple[int, int] | None:
    """What stands in the bytes of the last write before it, and behind it; None where the run does not say."""
    value: int | None = spot.place.first
    mask = (1 << 8 * spot.name.size) - 1
    for w in spot.place.writes:
        before, value = value, None
        if w.kind == "store":
            value = w.value
        elif w.kind == "add" and before is not None and not w.modulus:
            value = before + w.value & mask
        if w.thread == last.name[1] and w.time >= last.time:
            same = value is not None and before is not None and before != value
            if w.kind == "store":
                same = same and value == final.value
            elif same:
                same = final.value is None and all(_ordered(w, other, clocks) for other in spot.place.writes)
            return (before, value) if same and before is not None and value is not None else None
    return None


def _ordered(one: Written, other: Written, clocks: Clocks) -> bool:
    """Whether a write is the other one, or ordered with it: additions of which that is not so would not be in conflict."""
    return one is other or knows(one, other.thread, other.time, clocks) or knows(other, one.thread, one.time, clocks)


__all__ = ["exchangeable"]

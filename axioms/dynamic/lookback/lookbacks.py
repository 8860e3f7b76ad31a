"""Look-backs: threads that read what others publish, on their own or together with others of their warp, and come to the
same whatever they find.

A scan with decoupled look-back reads what the tiles before it have published: sums of tiles, or sums of all up to a tile.
Which of them it finds hangs on time, and so does how far back it reads; but what it has added up in the end does not. So a
*look-back* is all that one thread, or threads that meet, do between two things that others see, where they do nothing but
read and exchange values. All ways are gone, on copies of the threads: wherever one of them reads, it may find what is ordered
last before the look-back, or any store that nothing orders with it. A way that comes back to where another one has been ends
there. The look-back is *confluent* if all ways that end come to the same: the same instructions, with the same live registers;
and if from everywhere the values that the bytes have in the end lead on. docs/whole-launches/waits.md has the argument.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, NoReturn, TypeVar

from axioms.dynamic.code.live import Live
from axioms.dynamic.core.accesses import scope_of
from axioms.dynamic.core.clocks import Table
from axioms.dynamic.core.findings import step
from axioms.dynamic.core.shadow import CONSTANT
from axioms.dynamic.lookback.sightings import NOTHING, CannotFind, FoundBySight, Seen, Sight, Sighting
from axioms.dynamic.waits.waiting import Copying, Ended, Poll, plain, stopped_at
from ptxcore.isa.data_movement import ShuffleLanes
from ptxcore.isa.effect_kinds import FENCE, EffectKind
from ptxcore.isa.form import Use
from ptxcore.machine.lower.ops import Op, Source
from ptxcore.records import NamedTuple

T = TypeVar("T", bound="At | Stop")
#: Places that a thread comes to by itself; and those that threads come to together, with all ways there.
_MOST_STATES, _MOST_WAYS = 1000, 20_000


class NotConfluent(Exception):
    """What the threads come to may hang on what they find, as far as this tells."""


class LookBackThread:
    """A thread of a look-back. `poll`: where it begins; `known`: what is ordered before that; `found`: what it read in the
    run, by instruction, address and value; `end`: its own time behind it, None where nothing comes behind it."""

    __slots__ = ("end", "found", "known", "poll")

    def __init__(self, poll: Poll, known: Table) -> None:
        self.poll, self.known = poll, known
        self.found: list[tuple[int, int, int]] = []
        self.end: int | None = None


class LookBack:
    """One look-back: its threads by their numbers, and of their warp the lanes that had not ended. `asks`: its first read."""

    def __init__(self, asks: Op) -> None:
        self.asks = asks
        self.members: dict[int, LookBackThread] = {}
        self.running = 0


class _Asks(BaseException):
    """A copy is about to read, and has not been told what it finds."""


class _Meets(BaseException):
    """A copy is about to execute an instruction together with others of its warp."""


class _Reader:
    """Watches a copy: reads by some instructions find what they are told; whatever others would see ends it, but fences.
    `fences`: those that it has come by since it read last; `seen`: what of others' releases."""

    def __init__(self, searched: frozenset[int], sight: Sight) -> None:
        self.searched, self.sight = searched, sight
        self.told: int | None = None
        self.fences: tuple[int, ...] = ()
        self.seen = NOTHING

    def reads(self, thread: Any, address: int, size: int) -> int:
        if id(thread.instruction.instruction) not in self.searched:
            raise Ended
        if self.told is None:
            raise _Asks(thread.op, address, size)
        value, self.told, self.fences = self.told, None, ()
        return value & ((1 << 8 * size) - 1)

    def __getattr__(self, name: str) -> Any:
        return _ended


def _ended(*_: Any, **__: Any) -> NoReturn:
    raise Ended


class _Walker(Copying):
    """A copy of a thread that meets others."""

    __slots__ = ()

    def collective(self, op: int, arguments: tuple[Any, ...]) -> Any:
        if self.answered:
            return self._answer()
        how, mask = self.launch.collective(op)
        if mask is None or how.form.whole is not None or how.form.mnemonic == "bar":
            raise Ended  # __syncwarp orders memory, and so is something that others see
        raise _Meets(op, arguments)

    def effect(self, kind: EffectKind, how: Use, **_: Any) -> None:
        if not is_plain_fence(kind, how):
            raise Ended
        watcher: Any = self.watcher
        one = id(self.instruction.instruction)
        if watcher.fences[-1:] != (one,) and one not in watcher.searched:
            watcher.fences += (one,)
        watcher.seen = watcher.sight.fence(how, watcher.seen)

    modify = _ended


def is_plain_fence(kind: EffectKind, how: Use) -> bool:
    """Whether something that a thread does is a fence between its accesses to memory, all of them."""
    return kind is FENCE and not how.words["restrict"] and not how.words["operation"]


class At(NamedTuple):
    """Where a thread is: about to execute a block. `fences`: those since its last read; `seen`: what it has seen on its way,
    which `key` does not tell, and `path` by what strong reads."""

    key: Hashable
    block: int
    registers: list[Any]
    carry: Any
    fences: tuple[int, ...] = ()
    seen: Seen = NOTHING
    path: tuple[Sighting, ...] = ()


class Stop(NamedTuple):
    """Where a thread goes on only with others (`op`, with what it brings), or with what others see."""

    key: Hashable
    at: At
    op: int = -1
    brings: tuple[Any, ...] = ()
    fences: tuple[int, ...] = ()


class _Reached(NamedTuple):
    """All stops that a thread may come to from somewhere by itself, and the one that it does with the last values; of those
    that tell nothing but what it has seen there is one, with what it has surely seen there."""

    stops: tuple[Stop, ...]
    last: Stop


class Alone:
    """A thread on its ways."""

    def __init__(self, member: LookBackThread, live: Live, searched: frozenset[int], sight: Sight) -> None:
        poll = member.poll
        self._walker: Any = _copied(poll)
        self._reader = self._walker.watcher = _Reader(searched, sight)
        self._live, self.sight = live, sight
        self._path: tuple[Sighting, ...] = ()
        #: What it has found where nothing is known of what it finds next.
        self.suspect: tuple[Sighting, ...] = ()
        self._compiled, self._parameters = poll.thread.launch.compiled, poll.thread.launch.read_parameters  # type: ignore[attr-defined]
        self.lane, self.warp, self.cta = self._walker.lane, self._walker.warp, self._walker.cta
        self.begins = self._at(poll.block, poll.registers, poll.thread.carry)
        self._reached: dict[tuple[Hashable, Seen], _Reached] = {}
        #: The reads at which ways have ended, since they are by no instruction that is searched with.
        self.further: set[int] = set()

    def _at(self, block: int, registers: list[Any], carry: Any) -> At:
        fences, seen = self._reader.fences, self._reader.seen
        key = block, self._live.of(block, registers), plain(carry), fences
        return At(key, block, registers, carry, fences, seen, self._path)

    def _stop(self, op: Op, at: At, number: int = -1, brings: tuple[Any, ...] = ()) -> Stop:
        place, carry, reader = self._live.before(op, self._walker.R), plain(self._walker.carry), self._reader
        key = place, carry, reader.fences
        return Stop(key, at._replace(seen=reader.seen, path=self._path), number, brings, reader.fences)

    def value(self, source: Source) -> Any:
        """The value of a source that is no register."""
        return self._walker.value(source)

    def held(self, address: int, size: int) -> Any:
        """What memory holds that nobody writes, as parameters."""
        segment, first = self._walker.segment(address)
        return segment.read(first, size)

    def is_same(self, op: int, other: int) -> bool:
        """Whether two numbers are of one instruction."""
        return self._compiled.ops[op] is self._compiled.ops[other]

    def reached(self, begins: At | Stop) -> _Reached:
        """Raises NotConfluent where it never stops with the last values, or there is too much to look at."""
        if isinstance(begins, Stop):
            return _Reached((begins,), begins)
        key = begins.key, begins.seen
        if key not in self._reached:
            self._reached[key] = self._walk(begins)
        return self._reached[key]

    def _walk(self, begins: At) -> _Reached:
        stops: dict[Hashable, Stop] = {}
        lasts: dict[Hashable, At | Stop] = {}
        seen, waiting = {(begins.key, begins.seen)}, [begins]
        while waiting:
            at = waiting.pop()
            step()
            for after, is_last in self._behind(at):
                if is_last:
                    lasts[at.key, at.seen] = after
                if isinstance(after, Stop):
                    stops[after.key] = self.either(stops.get(after.key, after), after)
                elif (after.key, after.seen) not in seen:
                    seen.add((after.key, after.seen))
                    waiting.append(after)
            if len(seen) > _MOST_STATES:
                raise NotConfluent
        for key in seen:
            _last(lasts, key)
        return _Reached(tuple(stops.values()), _last(lasts, (begins.key, begins.seen)))

    def either(self, one: T, other: T) -> T:
        """A place that is like two others, with what the thread has surely seen there, whichever it is."""
        if isinstance(one, At) and isinstance(other, At):
            return one._replace(seen=self.sight.both(one.seen, other.seen))
        if isinstance(one, Stop) and isinstance(other, Stop):
            return one._replace(at=self.either(one.at, other.at))
        raise NotConfluent

    def _behind(self, at: At) -> Iterable[tuple[At | Stop, bool]]:
        """What comes behind a block, and whether it does with the last value."""
        try:
            yield self.executes(at), True
            return
        except _Asks as asks:
            op, address, size = asks.args
        try:
            found = self.sight.finds(op, address, size, at.seen)
        except CannotFind:
            self.suspect = at.path
            raise NotConfluent from None
        for one in found:
            yield self.executes(at, one.value, one), one is found[-1]

    def executes(
        self, at: At, told: int | None = None, found: FoundBySight | None = None, answer: Any = None
    ) -> At | Stop:
        """One block, or what there is of it before a read, with what the read at its beginning finds, and what the thread has
        seen then, or with what others have brought. Raises _Asks where it begins with a read and is told nothing."""
        walker = self._walker
        walker.R, walker.carry, walker.op = list(at.registers), at.carry, -1
        walker.answer, walker.answered = answer, answer is not None
        self._reader.told, self._reader.fences = told, at.fences
        self._reader.seen = at.seen if found is None else found.seen
        self._path = at.path if found is None or found.by is None else (*at.path, found.by)
        try:
            block = self._compiled.blocks[at.block](walker, walker.R, self._parameters)
        except _Asks as asks:
            block = self._compiled.compiler.again(self._compiled, self._compiled.ops[asks.args[0]])
            if block == at.block and told is None and answer is None:
                raise
        except _Meets as meets:
            op, brings = meets.args
            return self._stop(self._compiled.ops[op], at, op, brings)
        except (Ended, Exception) as error:  # whatever goes wrong goes wrong there, and not here
            stopped = stopped_at(self._compiled, error)
            if stopped is None or not isinstance(error, Ended):
                raise NotConfluent from None
            if stopped.use.form.mnemonic == "ld" and scope_of(stopped.use) != CONSTANT:
                self.further.add(id(stopped.instruction))
            return self._stop(stopped, at)
        if block < 0:
            raise NotConfluent
        return self._at(block, walker.R, walker.carry)


def _copied(poll: Poll) -> Any:
    walker = copy.copy(poll.thread)
    walker.__class__ = _Walker
    walker.frames = list(poll.thread.frames)
    return walker


def _last(lasts: dict[Hashable, At | Stop], key: Hashable) -> Stop:
    """Where the last values lead. Raises NotConfluent where they lead round and round."""
    seen = set()
    while key not in seen:
        seen.add(key)
        after = lasts.get(key)
        if after is None:
            break
        if isinstance(after, Stop):
            return after
        key = after.key, after.seen
    raise NotConfluent


#: Where each thread of a look-back is.
_Together = tuple[At | Stop, ...]


class Ways:
    """All ways of a look-back."""

    def __init__(
        self,
        of: LookBack,
        live: Live,
        searched: frozenset[int],
        sight: Callable[[LookBackThread], Sight],
    ) -> None:
        """`sight`: what a thread may see."""
        self._of = of
        self.threads = [Alone(member, live, searched, sight(member)) for member in of.members.values()]
        self.launch: Any = next(iter(of.members.values())).poll.thread.launch
        self.number = 0
        #: Fences by which not all ways come, perhaps: the run may do without their order.
        self.fences: set[int] = set()
        #: What is found where threads come to something else than elsewhere.
        self.suspects: list[tuple[Sighting, ...]] = []

    def check(self) -> None:
        """Raises NotConfluent where not all ways come to the same, or the run went none of them."""
        begins: _Together = tuple(thread.begins for thread in self.threads)
        ends: dict[Hashable, tuple[Sighting, ...]] = {}
        lasts: dict[Hashable, Hashable] = {}
        known, waiting = {_key(begins): begins}, [begins]
        while waiting:
            at = waiting.pop()
            reached = [thread.reached(place) for thread, place in zip(self.threads, at, strict=True)]
            self.number += prod(len(found.stops) for found in reached)
            if self.number > _MOST_WAYS:
                raise NotConfluent
            last = _key([found.last for found in reached])
            for stops in product(*(found.stops for found in reached)):
                step()
                after = self._meet(stops)
                if after is None:
                    ends.setdefault(_key(stops), tuple(one for stop in stops for one in stop.at.path))
                    if len(ends) > 1:
                        self.suspects = list(ends.values())
                        self.fences = {fence for stop in stops for fence in stop.fences}
                        raise NotConfluent
                else:
                    before = known.get(_key(after))
                    if before is not None:
                        after = tuple(map(Alone.either, self.threads, before, after))
                    if before is None or _seen(after) != _seen(before):
                        known[_key(after)] = after
                        waiting.append(after)
                if _key(stops) == last:
                    lasts[_key(at)] = None if after is None else _key(after)
        _all_end(lasts)
        if self.replayed() not in ends:
            raise NotConfluent

    def _meet(self, stops: Sequence[Stop]) -> _Together | None:
        """Threads that have come together go on; None where there are none."""
        places: dict[tuple[Any, ...], list[int]] = {}
        for i, stop in enumerate(stops):
            if stop.op >= 0:
                how, position = self.launch.collective(stop.op)
                thread = self.threads[i]
                place = thread.warp, id(thread.cta), id(how.form), how.present, stop.brings[position]
                places.setdefault(place, []).append(i)
        after: list[At | Stop] = list(stops)
        for place, met in places.items():
            for i, answered in self._answers(place[-1], met, stops).items():
                after[i] = self.threads[i].executes(stops[i].at, answer=() if answered is None else answered)
        return None if all(one is other for one, other in zip(after, stops, strict=True)) else tuple(after)

    def _answers(self, mask: Any, met: Sequence[int], stops: Sequence[Stop]) -> dict[int, Any]:
        """What an instruction of a warp gives each of the threads that have met at it, none where others have to come. Raises
        NotConfluent where that cannot be told."""
        lanes = {self.threads[i].lane: i for i in met}
        how, _ = self.launch.collective(stops[met[0]].op)
        try:
            if sum(1 << lane for lane in lanes) != mask & self._of.running:
                return {}
            results = how.form.meaning(
                how, ShuffleLanes({lane: stops[lanes[lane]].brings for lane in sorted(lanes)}, _undetermined)
            )
        except Exception:  # a mask or a lane that nobody knows, or what has no meaning
            raise NotConfluent from None
        return {i: results[lane] for lane, i in lanes.items()}

    def replayed(self) -> Hashable:
        """What tells where the run comes to. Raises NotConfluent where its threads do not read what it has found."""
        return _key(self._replayed(tuple(thread.begins for thread in self.threads)))

    def _replayed(self, begins: _Together) -> tuple[Stop, ...]:
        """Where the run comes to, by what its threads have found. Raises NotConfluent where they do not read just that."""
        found = [iter(member.found) for member in self._of.members.values()]
        at = begins
        while True:
            stops = tuple(map(follow, self.threads, at, found))
            after = self._meet(stops)
            if after is None:
                break
            at = after
        if any(next(left, None) is not None for left in found):
            raise NotConfluent
        return stops


def follow(thread: Alone, begins: At | Stop, found: Iterator[tuple[int, int, int]]) -> Stop:
    """Where a thread comes to that finds what it found in the run."""
    at = begins
    while isinstance(at, At):
        step()
        at = _once_more(thread, at, found)
    return at


def _once_more(thread: Alone, at: At, found: Iterator[tuple[int, int, int]]) -> At | Stop:
    try:
        return thread.executes(at)
    except _Asks as asks:
        op, address, _ = asks.args
        of_run = next(found, None)
        if of_run is None or not thread.is_same(op, of_run[0]) or of_run[1] != address:
            raise NotConfluent from None
        return thread.executes(at, of_run[2])


def _key(together: Sequence[At | Stop]) -> Hashable:
    return tuple((type(one) is Stop, one.key) for one in together)


def _seen(together: Sequence[At | Stop]) -> list[Seen]:
    return [one.at.seen if isinstance(one, Stop) else one.seen for one in together]


def _all_end(lasts: dict[Hashable, Hashable]) -> None:
    """Raises NotConfluent where threads that find the last values everywhere go round and round."""
    ending: set[Hashable] = {None}
    for key in lasts:
        on_the_way: list[Hashable] = []
        while key not in ending:
            if key in on_the_way or key not in lasts:
                raise NotConfluent
            on_the_way.append(key)
            key = lasts[key]
        ending.update(on_the_way)


def _undetermined(lane: int) -> NoReturn:
    raise NotConfluent

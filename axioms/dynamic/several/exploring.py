"""All executions of a test by a few runs: each run shows where another one must begin otherwise.

A run notes its open operations. For each that could have come earlier, or could have found something else, and for each
position that tells and that somebody else could have taken, a script says how a run begins that shows this, unless there
was a run that begins so. docs/whole-launches/several-runs.md shows that these are all.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence, Set

from axioms.dynamic.core.findings import step
from axioms.dynamic.several.noted import Again, OpenBytes, OpenOperation, place_of
from axioms.dynamic.several.plan import Bytes, Name, Round, Script, StrongBytes
from axioms.dynamic.several.symmetry import CtaNames, Symmetry
from ptxcore.clock import left
from ptxcore.records import NamedTuple

#: Runs at most.
MOST = 400
#: How often more is known of some bytes, and all begins again.
_MOST_AGAIN = 200
#: Other ways that are drawn of those that a run shows, where nothing rests on all of them: of 256 additions to one word there
#: are 32,640 pairs, and a script for each would take minutes.
_DRAWN = 512


class TooMany(Exception):
    """There are more executions than can be run one by one."""


class Done(NamedTuple):
    """What a run noted: its operations, and the writes to each of the bytes in order."""

    events: tuple[tuple[OpenOperation, ...], ...]  # by launch

    def all(self) -> Iterator[OpenOperation]:
        """The operations of all launches."""
        for events in self.events:
            yield from events


def explore(
    run: Callable[[StrongBytes, Script], Sequence[Sequence[OpenOperation]]],
    most: int = MOST,
    same: Symmetry | None = None,
    known: StrongBytes | None = None,
    *,
    brief: bool = False,
) -> int:
    """Runs until no run shows anything new; gives the number of runs that stand for all executions, at most so many. `run`
    begins as a script says, and raises Again where more is known. `same`: the CTAs that can change places; `known`: what runs
    have shown before, to which more is added. `brief`: it ends as soon as the runs that wait are too many, or would not end in
    the time that is left. Raises TooMany."""
    known = StrongBytes() if known is None else known
    for _ in range(_MOST_AGAIN):
        try:
            return _explored(run, known, most, same or CtaNames(), brief=brief)
        except Again:
            continue
    raise TooMany


def explore_apart(
    run: Callable[[StrongBytes, Script], Sequence[Sequence[OpenOperation]]],
    groups: Sequence[Callable[[OpenOperation], bool]],
    begins: Callable[[int], None],
    known: StrongBytes,
    most: int = MOST,
) -> int:
    """The same, one group of operations after the other: the orders of one are run while all others come as in the first run.
    `begins` is told the number of each group. Raises TooMany, also where they would not end in the time that is left."""
    for _ in range(_MOST_AGAIN):
        count, began = 0, time.monotonic()
        try:
            for number, group in enumerate(groups):
                begins(number)
                count += _explored(run, known, most - count, CtaNames(), brief=True, among=group)
                if _are_too_long(len(groups) - number - 1, number + 1, began):
                    raise TooMany
            return count
        except Again:
            continue
    raise TooMany


def _explored(
    run: Callable[[StrongBytes, Script], Sequence[Sequence[OpenOperation]]],
    known: StrongBytes,
    most: int,
    same: Symmetry,
    *,
    brief: bool,
    among: Callable[[OpenOperation], bool] = lambda _: True,
) -> int:
    waiting, met = [Script()], set()
    begun: list[Script] = []
    began = time.monotonic()
    while waiting:
        script = waiting.pop()
        if any(same.begins(done, script) for done in begun):
            continue
        if len(begun) >= most:
            raise TooMany
        events = Done(tuple(tuple(of) for of in run(known, script)))
        begun.append(_shown(events))
        for other in _others(events, known, among):
            key = same.key(other)
            if key not in met:
                met.add(key)
                waiting.append(other)
        if brief and (len(begun) + len(waiting) > most or _are_too_long(len(waiting), len(begun), began)):
            raise TooMany
    return len(begun)


def _are_too_long(waiting: int, begun: int, began: float) -> bool:
    """Whether runs that wait, or groups, would not end in the time that is left, after so many since a time."""
    rest = left()
    return rest is not None and waiting * (time.monotonic() - began) > rest * begun


def wander(run: Callable[[Script], Sequence[Sequence[OpenOperation]]], most: int = MOST) -> None:
    """Runs that begin otherwise than those before them, drawn at random from what these show; they stand for nothing, but one
    of them may show something wrong. `run` ends it by raising, `most` runs do."""
    draw = random.Random(0)
    waiting, older = _Waiting(draw), _Waiting(draw)  # of the latter in each a read finds what is older
    waiting.add((-1, None), Script())
    met = set()
    known = StrongBytes()
    fresh_places = _FreshPlaces()
    for turn in range(most):
        # By turns: a missing acquire shows where one read finds something older, a wrong order in the other runs.
        pools = (older, waiting) if turn % 2 else (waiting, older)
        pool = next((pool for pool in pools if pool.scripts), None)
        if pool is None and not fresh_places.scripts:
            return
        script = fresh_places.scripts.pop(0) if fresh_places.scripts or pool is None else pool.pop()
        done = Done(tuple(tuple(of) for of in run(script)))
        fresh_places.were_come_to(done)
        for way in _drawn(draw, list(_ways(done, known))):
            other, where = _begun(done, known, way), (way.event.at, way.event.spot.name)
            latest = Script(other.orders, {}, other.takers, other.awaits)  # reads find what is there
            fresh_places.add(way, other if way.change[0] == "source" else latest)
            for fresh, into in ((latest, waiting), (other, older if other.sources else waiting)):
                if fresh.key() not in met:
                    met.add(fresh.key())
                    into.add(where, fresh)


class _FreshPlaces:
    """Scripts in which an operation leads a thread where its instruction has led none so far: one of each is run before all
    others, among which it would be lost."""

    def __init__(self) -> None:
        self.scripts: list[Script] = []
        self._known: set[tuple[int, object]] = set()

    def were_come_to(self, done: Done) -> None:
        """A run has come to such places."""
        for event in done.all():
            if event.lead is not None:
                self._known.add((event.at, place_of(event.lead(event.found))))

    def add(self, way: _Way, script: Script) -> None:
        """Adds a script if that is so of its operation."""
        value = _found_there(way)
        if value is None or way.event.lead is None:
            return
        place = way.event.at, place_of(way.event.lead(value))
        if place not in self._known:
            self._known.add(place)
            self.scripts.append(script)


class _Waiting:
    """Scripts of runs that are to be made, by the operation at which they differ from one that was: all instructions come as
    often, and of one all bytes, so that the order of two stores is not lost among those of many additions, nor that of a
    counter among those of the elements of an array."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.scripts: dict[int, dict[Bytes | None, list[Script]]] = {}

    def add(self, where: tuple[int, Bytes | None], script: Script) -> None:
        op, place = where
        self.scripts.setdefault(op, {}).setdefault(place, []).append(script)

    def pop(self) -> Script:
        op = self.draw.choice(list(self.scripts))
        places = self.scripts[op]
        place = self.draw.choice(list(places))
        pool = places[place]
        at = self.draw.randrange(len(pool))
        pool[at], pool[-1] = pool[-1], pool[at]
        script = pool.pop()
        if not pool:
            del places[place]
        if not places:
            del self.scripts[op]
        return script


def _shown(done: Done) -> Script:
    """A whole run as a script."""
    return _script(list(done.all()))


def _script(events: Sequence[OpenOperation], telling: Callable[[OpenOperation], bool] = lambda _: True) -> Script:
    """Operations as a run did them; of those of which only the position tells, those that `telling` holds of."""
    orders: dict[Bytes, tuple[Name, ...]] = {}
    sources: dict[Name, int] = {}
    takers: dict[Round, dict[int, Name]] = {}
    kept = set(events)
    for event in events:
        where = event.spot.name
        if event.kind == "taker":
            if telling(event):
                takers.setdefault((where, event.round), {})[event.position] = event.name
        elif event.kind == "read":
            sources[event.name] = _number(event.source, event.spot, kept)
        else:
            orders[where] = (*orders.get(where, ()), event.name)
    return Script(orders, sources, takers)


#: What becomes of an operation: it comes at a place in the order, finds what a write left, comes only behind that, or somebody
#: takes its position.
_Change = tuple[str, int, Name]


class _Way(NamedTuple):
    """How a run could have been different: `event`, of launch `launch`, in another way, without what comes behind `others`."""

    launch: int
    event: OpenOperation
    others: tuple[OpenOperation, ...]
    change: _Change


def _found_there(way: _Way) -> int | None:
    """What the operation finds that has changed; None where that is no number."""
    kind, number, _ = way.change
    if kind == "taker":
        return None
    return way.event.spot.after(number - 1 if kind == "order" else number)


def _drawn(draw: random.Random, ways: list[_Way]) -> list[_Way]:
    """Some of many ways, of all bytes."""
    if len(ways) <= _DRAWN:
        return ways
    spots: dict[Bytes, list[_Way]] = {}
    for way in ways:
        spots.setdefault(way.event.spot.name, []).append(way)
    share = max(1, _DRAWN // len(spots))
    return [way for of in spots.values() for way in (of if len(of) <= share else draw.sample(of, share))]


def _others(done: Done, known: StrongBytes, among: Callable[[OpenOperation], bool]) -> Iterator[Script]:
    """How runs begin that a run shows to be different, by some operations."""
    for way in _ways(done, known):
        if among(way.event):
            yield _begun(done, known, way)


def _begun(done: Done, known: StrongBytes, way: _Way) -> Script:
    """How a run begins that goes such a way."""
    step()
    earlier = [event for of in done.events[: way.launch] for event in of]
    kept = _without(done.events[way.launch], *way.others)
    script = _script([*earlier, *kept], lambda event: _tells(known, event))
    return _changed(script, way.event, _renumbered(way.change, way.event.spot, kept))


def _tells(known: StrongBytes, event: OpenOperation) -> bool:
    return event.position in known.takers[event.spot.name, event.round].telling


def _ways(done: Done, known: StrongBytes) -> Iterator[_Way]:
    """How a run could have been different."""
    for launch, events in enumerate(done.events):
        for event in events:
            step()
            if event.kind == "taker":
                ways = _other_takers(event, events, known)
            elif event.kind == "read":
                ways = _other_sources(event)
            else:
                ways = _earlier(event)
            for others, change in ways:
                yield _Way(launch, event, others, change)


def _renumbered(change: _Change, spot: OpenBytes, kept: Sequence[OpenOperation]) -> _Change:
    kind, number, name = change
    if kind == "taker":
        return change
    return kind, _number(number - 1, spot, set(kept)) + 1 if kind == "order" else _number(number, spot, set(kept)), name


def _number(number: int, spot: OpenBytes, kept: Set[OpenOperation]) -> int:
    """The number of a write among those that are kept."""
    return sum(event in kept for event in spot.order[: number + 1]) - 1


def _changed(script: Script, event: OpenOperation, change: _Change) -> Script:
    kind, number, name = change
    where = event.spot.name
    if kind == "order":
        order = (*script.orders.get(where, ())[:number], name)
        return Script({**script.orders, where: order}, script.sources, script.takers)
    if kind == "source":
        return Script(script.orders, {**script.sources, name: number}, script.takers)
    if kind == "await":
        return Script(script.orders, script.sources, script.takers, {name: number})
    taken = (where, event.round)
    before = {p: n for p, n in script.takers.get(taken, {}).items() if p < number and n != name}
    return Script(script.orders, script.sources, {**script.takers, taken: {**before, number: name}})


def _earlier(event: OpenOperation) -> Iterator[tuple[tuple[OpenOperation, ...], _Change]]:
    """An atomic operation that wrote: before each other write that it need not come behind; or, where it compares, with what
    an earlier write left."""
    spot = event.spot
    position = spot.order.index(event)
    for number in range(position):
        other = spot.order[number]
        if event.before & other.bit or event.again(other.found):
            continue
        if event.write is not None and not event.write(other.found)[1]:
            continue  # there it would not write: below
        yield (other, event), ("order", number, event.name)
    if event.write is None:
        return
    for number in range(max(event.floor, -1), position - 1):
        value = spot.after(number)
        if not event.write(value)[1] and not event.again(value):
            yield (event,), ("source", number, event.name)


def _other_sources(event: OpenOperation) -> Iterator[tuple[tuple[OpenOperation, ...], _Change]]:
    """A read: each write that it could have found."""
    spot = event.spot
    for number in range(event.floor, len(spot.order)):
        if number >= 0 and spot.order[number].past & event.bit:
            continue
        if event.again(spot.after(number)):
            if number > event.source:  # where nothing comes after that, it is blocked without end
                yield (event,), ("await", number, event.name)
            continue
        if event.write is None or not event.write(spot.after(number))[1]:
            if number != event.source:
                yield (event,), ("source", number, event.name)
            continue
        follows = spot.order[number + 1] if number + 1 < len(spot.order) else None
        if follows is None or not event.before & follows.bit:
            yield (event, *([follows] if follows else [])), ("order", number + 1, event.name)


def _other_takers(
    event: OpenOperation, events: Sequence[OpenOperation], known: StrongBytes
) -> Iterator[tuple[tuple[OpenOperation, ...], _Change]]:
    """Somebody took a position that tells: each other one."""
    if not _tells(known, event) or known.takers[event.spot.name, event.round].exchangeable:
        return
    for other in events:
        same = other.kind == "taker" and (other.spot, other.round) == (event.spot, event.round) and other is not event
        if same and not (_tells(known, other) and other.position < event.position):
            yield (event, other), ("taker", event.position, other.name)


def _without(events: Sequence[OpenOperation], *others: OpenOperation) -> list[OpenOperation]:
    """The operations of a run that do not come behind some of them."""
    bits = 0
    for other in others:
        bits |= other.bit
    return [event for event in events if not event.past & bits]

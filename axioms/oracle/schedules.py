"""How threads that run on numbers come through their barriers, scheduled step by step, for brute force: who waits is told apart
from who goes on, as on the machine.

    a step      a thread arrives, or ends
    then        an instance that has all whom it waits for is over, and who waits there goes on
    until       nobody can do anything

A thread is a sequence of arrivals, at barriers and at instructions that the threads of a warp execute together. It ends after
the last of them, or stays where it is. Who is said to wait at the last of its arrivals must still wait when nothing moves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

from axioms.events.collectives import Sites, lane_of
from axioms.events.event import Event, ProgramThread
from axioms.oracle.barriers import BarrierChoice, cluster_choices
from axioms.oracle.budget import MOST_CHOICES, BeyondBruteForce
from axioms.program import Program, ends_by
from axioms.witness.candidate import REDUCTIONS
from ptxcore.isa.effect_kinds import BARRIER, COLLECTIVE
from ptxcore.machine.ir.effects import Effect
from ptxcore.records import NamedTuple, dataclass

_WARP = 32


class ThreadPrefix(NamedTuple):
    """What a thread does. `waits`: whether it is stopped at the last of its effects, a barrier or a collective instruction;
    `ends`: whether it comes to its end. Who does neither stays where it is."""

    effects: Sequence[Effect]
    waits: bool
    ends: bool


def may_circle(threads: Sequence[ProgramThread]) -> bool:
    """Whether threads of one warp wait for each other at more than barriers at which all of them wait: where they execute
    something together, or one of them arrives at a barrier without waiting for more than its warp. (The barriers that the short
    dialect names are not scheduled.)"""
    effects = [(t, e) for t, thread in enumerate(threads) for e in thread.execution.effects if _stops(e)]
    if any(e.instance is not None for _, e in effects):
        return False
    places = [thread.place for thread in threads]
    warps = Counter((p.gpu, p.warp) for p in places if not p.host)
    return any(
        warps[places[t].gpu, places[t].warp] > 1 and (e.kind is COLLECTIVE or e.barrier == "arrive") for t, e in effects
    )


class _Arrival(NamedTuple):
    thread: int
    effect: Effect


class _Round(NamedTuple):
    """An instance that is over: who arrived, and who had ended by then of those whom it would have waited for."""

    arrivals: tuple[_Arrival, ...]
    exited: tuple[int, ...]


@dataclass(slots=True)
class BarrierSchedule:
    """One way through the barriers: the instances that were over, in their order, and arrivals with the next ones of threads
    that had arrived with them but did not wait."""

    rounds: tuple[_Round, ...]
    again: tuple[tuple[_Arrival, _Arrival], ...]

    def choice(self, program: Program) -> BarrierChoice:
        """What it says of events."""
        pairs: list[tuple[int, int]] = []
        flows: list[tuple[int, int]] = []
        ended: list[tuple[int, int]] = []
        for arrivals, exited in self.rounds:
            if arrivals[0].effect.kind is not BARRIER:
                continue
            for b in arrivals:
                wait = _events(program, b)[1:]
                if wait:
                    met = [(_events(program, a)[0].index, wait[0].index) for a in arrivals]
                    pairs += met
                    flows += met if b.effect.barrier == "red" else []
                    ended += [(i, wait[0].index) for t in exited for i, holds in ends_by(program, t) if holds]
        again = tuple((_events(program, a)[0].index, _events(program, b)[0].index) for a, b in self.again)
        whole = BarrierChoice(tuple(pairs), tuple(flows), again=again, ended=tuple(ended))
        for cluster in cluster_choices(program):
            whole.misuse = whole.misuse or cluster.misuse
            whole.phases += cluster.phases
            whole.phase_order += cluster.phase_order
            whole.ended += cluster.ended
        return whole


def _events(program: Program, arrival: _Arrival) -> Sequence[Event]:
    return program.by_effect[arrival.thread][arrival.effect.index]


#: Which barrier, or instruction that threads execute together.
_Key = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class _State:
    """How far each thread is, who is at which barrier, and what is over. `last` is the round of each barrier that was over
    last."""

    positions: tuple[int, ...]
    here: Mapping[_Key, tuple[_Arrival, ...]]
    waiting: frozenset[int]
    last: Mapping[_Key, tuple[_Arrival, ...]]
    rounds: tuple[_Round, ...]
    again: tuple[tuple[_Arrival, _Arrival], ...]

    def key(self) -> Hashable:
        """Equal where the same can still come, and what was over is the same."""
        here = frozenset((k, _names(arrivals)) for k, arrivals in self.here.items())
        return (
            self.positions,
            here,
            frozenset(_names(r.arrivals) for r in self.rounds),
            frozenset(map(_names, self.again)),
        )


def _names(arrivals: Sequence[_Arrival]) -> frozenset[tuple[int, int]]:
    return frozenset((a.thread, a.effect.index) for a in arrivals)


class BarrierSchedules:
    """All schedules of some parts. With `strict`, who is said to wait must still wait at the end. Ways in which somebody
    misuses a barrier are left out. `tick` is called now and then, so that a caller can stop."""

    def __init__(
        self, threads: Sequence[ProgramThread], parts: Sequence[ThreadPrefix], strict: bool, tick: Callable[[], None]
    ) -> None:
        self.threads, self.parts, self.strict, self.tick = threads, parts, strict, tick
        self.steps = [[e for e in part.effects if _stops(e)] for part in parts]
        #: The ways to where everybody is where he should be but one, whose next step, the last one, misuses a barrier.
        self.misused: list[BarrierSchedule] = []
        #: The ways to where somebody misuses a barrier, wherever the others are.
        self.broken: list[BarrierSchedule] = []
        self.keys = [_keys(threads[t], steps) for t, steps in enumerate(self.steps)]

    def __iter__(self) -> Iterator[BarrierSchedule]:
        state: _State | None = _State((0,) * len(self.parts), {}, frozenset(), {}, (), ())
        waiting, seen = [state], set[Hashable]()
        while waiting:
            self.tick()
            state = waiting.pop()
            assert state is not None
            key = state.key()
            if key in seen:
                continue
            seen.add(key)
            if len(seen) > MOST_CHOICES:
                raise BeyondBruteForce("there are too many schedules of barriers for brute force")
            moved = False
            for t in range(len(self.parts)):
                if self._can_move(state, t):
                    moved = True
                    after = self._moved(state, t)
                    if after is not None:
                        waiting.append(after)
            if not moved and all(self._is_where_it_should_be(state, t) for t in range(len(self.parts))):
                yield BarrierSchedule(state.rounds, state.again)

    def _can_move(self, state: _State, t: int) -> bool:
        position = state.positions[t]
        if t in state.waiting or position == len(self.steps[t]):
            return False
        if self.steps[t][position].barrier == "wait" and self._in_turn(t, position):
            # Of a cluster: there is something to do when its round is over.
            return self.keys[t][position] in state.last and (self.strict or not self._stays(t, position))
        return True

    def _stays(self, t: int, position: int) -> bool:
        """Whether a thread is said to wait at one of its steps."""
        return self.parts[t].waits and position == len(self.steps[t]) - 1

    def _is_where_it_should_be(self, state: _State, t: int) -> bool:
        left = len(self.steps[t]) - state.positions[t]
        if self.parts[t].waits:
            return left == (self.steps[t][-1].barrier == "wait")
        return not left and t not in state.waiting

    def _moved(self, state: _State, t: int) -> _State | None:
        """What comes of the next step of a thread. None where it misuses something, or goes on where it should wait."""
        position = state.positions[t]
        effect, key = self.steps[t][position], self.keys[t][position]
        positions = (*state.positions[:t], position + 1, *state.positions[t + 1 :])
        if not self._in_turn(t, position):
            self._misuses(state, t)
            return None
        if effect.barrier == "wait":
            return None if self._stays(t, position) else self._settled(replace(state, positions=positions))
        arrival = _Arrival(t, effect)
        arrivals = (*state.here.get(key, ()), arrival)
        if self._is_misused(arrivals):
            self._misuses(state, t)
            return None
        before = state.last.get(key, ())
        renewed = any(a.thread == t and a.effect.barrier == "arrive" for a in before)
        again = state.again + (tuple((a, arrival) for a in before) if renewed and effect.level == "cta" else ())
        new = replace(
            state, positions=positions, here={**state.here, key: arrivals}, again=again, waiting=state.waiting | {t}
        )
        return self._settled(new)

    def _in_turn(self, t: int, position: int) -> bool:
        """Whether a thread comes to the barrier of its cluster as it should: to arrive and to wait by turns."""
        return _takes_turns(self.steps[t][: position + 1])

    def _misuses(self, state: _State, t: int) -> None:
        """Notes that the next step of a thread misuses a barrier, and the way where it is the last one of all."""
        self.broken.append(BarrierSchedule(state.rounds, state.again))
        others = (u for u in range(len(self.parts)) if u != t)
        if self._stays(t, state.positions[t]) and all(self._is_where_it_should_be(state, u) for u in others):
            self.misused.append(BarrierSchedule(state.rounds, state.again))

    def _settled(self, state: _State) -> _State | None:
        """The state after every round that has all whom it waits for is over."""
        exited = {t for t, part in enumerate(self.parts) if part.ends and state.positions[t] == len(self.steps[t])}
        exited -= state.waiting
        released = state.waiting.intersection(
            t for some in state.here.values() for t in self._whole_warps(some, exited)
        )
        if released:
            if self.strict and any(self._stays(t, state.positions[t] - 1) for t in released):
                return None
            return self._settled(replace(state, waiting=state.waiting - released))
        for key, arrivals in state.here.items():
            absent = self._absent(key, arrivals)
            if absent is None or not exited.issuperset(absent):
                continue
            if not _reduces(self, state, arrivals):
                return None
            released = state.waiting & {a.thread for a in arrivals}
            if self.strict and any(self._stays(t, state.positions[t] - 1) for t in released):
                return None
            rest = {k: some for k, some in state.here.items() if k != key}
            after = replace(
                state, here=rest, waiting=state.waiting - released, last={**state.last, key: arrivals},
                rounds=(*state.rounds, _Round(arrivals, tuple(absent))),
            )  # fmt: skip
            return self._settled(after)
        return state

    def _whole_warps(self, arrivals: Sequence[_Arrival], exited: set[int]) -> Iterator[int]:
        """Those who wait for nobody but their warp, and it is there, or has ended."""
        there = {a.thread for a in arrivals} | exited
        places = [thread.place for thread in self.threads]
        for t, effect in arrivals:
            if effect.barrier == "arrive" and all(
                u in there or p.warp != places[t].warp or p.host for u, p in enumerate(places)
            ):
                yield t

    def _absent(self, key: _Key, arrivals: Sequence[_Arrival]) -> list[int] | None:
        """Who must have ended for a round to be over; None where that is not enough."""
        present = {a.thread for a in arrivals}
        first = arrivals[0]
        places = [thread.place for thread in self.threads]
        mine = places[first.thread]
        if first.effect.kind is COLLECTIVE or first.effect.level == "warp":
            assert type(first.effect.mask) is int
            mates = [t for t, p in enumerate(places) if (p.gpu, p.warp) == (mine.gpu, mine.warp)]
            lanes = _lanes(self.threads, mates)
            return [t for t in mates if first.effect.mask >> lanes[t] & 1 and t not in present]
        if first.effect.level == "cluster":
            return [t for t, p in enumerate(places) if p.cluster == mine.cluster and not p.host and t not in present]
        mates = [t for t, p in enumerate(places) if p.cta == mine.cta and not p.host]
        if first.effect.count is not None:
            warps = {places[t].warp for t in present}
            if len(warps) * _WARP != first.effect.count:
                return None
            mates = [t for t in mates if places[t].warp in warps]
        return [t for t in mates if t not in present]

    def _is_misused(self, arrivals: Sequence[_Arrival]) -> bool:
        """Whether the last of those who have arrived may not come now, or not like this."""
        *others, (thread, effect) = arrivals
        if any(a.thread == thread for a in others):
            return True
        if effect.kind is COLLECTIVE:
            return False  # whom its mask names is for the instruction to say
        if effect.level == "warp":
            return thread not in self._named(thread, effect)
        if effect.level == "cluster":
            return self._is_apart(arrivals)
        count = effect.count
        if (
            (type(effect.identity) is int and effect.identity > 15)
            or count == 0
            or (type(count) is int and count % _WARP)
        ):
            return True
        effects = [a.effect for a in arrivals]
        mixed = len({e.operator for e in effects}) > 1 or len({e.count for e in effects}) > 1
        return mixed or self._is_apart(arrivals)

    def _named(self, thread: int, effect: Effect) -> list[int]:
        """The threads of its warp that a member mask names."""
        place = self.threads[thread].place
        mates = [t for t, x in enumerate(self.threads) if (x.place.gpu, x.place.warp) == (place.gpu, place.warp)]
        lanes = _lanes(self.threads, mates)
        assert type(effect.mask) is int
        return [t for t in mates if effect.mask >> lanes[t] & 1]

    def _is_apart(self, arrivals: Sequence[_Arrival]) -> bool:
        """Whether the last one comes to an aligned barrier by another instruction than a thread of its warp."""
        *others, (thread, effect) = arrivals
        mine = self.threads[thread]
        return any(
            (effect.aligned or a.effect.aligned)
            and a.effect.instruction is not effect.instruction
            and self.threads[a.thread].place.warp == mine.place.warp
            and mine.code.private is not None
            and self.threads[a.thread].code.private is not None
            for a in others
        )


def _takes_turns(steps: Sequence[Effect]) -> bool:
    """Whether a thread waits at the barrier of its cluster once after each time that it arrives there."""
    words = [e.barrier for e in steps if e.kind is BARRIER and e.level == "cluster"]
    return all(word == ("arrive", "wait")[i % 2] for i, word in enumerate(words))


def _stops(effect: Effect) -> bool:
    """Whether it is a barrier, or an instruction that waits for others of the warp."""
    if effect.kind is COLLECTIVE:
        return effect.how is not None and effect.how.form.waits
    return effect.kind is BARRIER


def _keys(thread: ProgramThread, steps: Sequence[Effect]) -> list[_Key]:
    """Where each step of a thread takes place."""
    sites = Sites()
    place = thread.place
    clusters = {"arrive": 0, "wait": 0}
    found: list[_Key] = []
    for e in steps:
        if e.kind is COLLECTIVE:
            found.append(("together", place.gpu, place.warp, *sites.of(e)))
        elif e.level == "warp":
            found.append(("warp", place.gpu, place.warp, e.mask))
        elif e.level == "cluster":
            found.append(("cluster", place.cluster, clusters[e.barrier]))
            clusters[e.barrier] += 1
        else:
            found.append(("cta", place.cta, e.identity))
    return found


def _lanes(threads: Sequence[ProgramThread], mates: Sequence[int]) -> dict[int, int]:
    """The numbers of threads in their warp."""
    return {t: lane_of(threads[t]) if "laneid" in threads[t].code.special else number for number, t in enumerate(mates)}


def _reduces(schedules: BarrierSchedules, state: _State, arrivals: Sequence[_Arrival]) -> bool:
    """Whether each `bar.red` returned what the predicates of its round reduce to, to those who go on."""
    for thread, effect in arrivals:
        if effect.barrier == "red" and not schedules._stays(thread, state.positions[thread] - 1):
            votes = [a.effect.operand for a in arrivals]
            if effect.answer != REDUCTIONS[effect.operator]([v for v in votes if type(v) is int]):
                return False
    return True

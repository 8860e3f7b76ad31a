"""Interchangeable threads: same code, same surroundings, and a question that does not tell them apart.

Without more, a solver explores every order in which n such threads can take a lock: n! times the same thing. Where each of
them certainly writes one location, and those writes are ordered in coherence anyway, that order may be fixed in advance:

    for interchangeable threads t1, t2, ... with such writes w1, w2, ...:   co(w1, w2), co(w2, w3), ...

Every execution has a permutation of the threads that satisfies this, so outcomes are lost only up to permutation; `orbit`
gives them back.

Where threads may stop on their way (`axioms.liveness`), whoever comes to its end has executed such a write. Then those who
did come first, in the order of those writes, and the others behind them:

    w2 is executed  =>  w1 is executed and co(w1, w2)

Threads choose to stop there; exchanging two of them exchanges their choices, too (`AlikeThreads`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from axioms.cat.model import Model
from axioms.events.event_kinds import BARRIER_EVENT, FENCE_EVENT, READ, WRITE
from axioms.program import Event, Program
from ptxcore.isa.effect_kinds import BARRIER, COLLECTIVE
from ptxcore.machine.ir.effects import Effect
from ptxcore.places import LEVELS
from ptxcore.records import NamedTuple
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value


class Swap(NamedTuple):
    """Exchanging two threads: where each event goes, and from which observable each observable takes its value."""

    events: tuple[int, ...]
    labels: dict[str, str]


class SymmetryClass(NamedTuple):
    """Threads that can be exchanged freely. `swaps` exchange neighbours; `writes` is the event to order, of each thread."""

    threads: tuple[int, ...]
    swaps: tuple[Swap, ...]
    writes: tuple[int, ...]


class AlikeThreads(NamedTuple):
    """Threads that may stop on their way: of each its own choices, in order; the truth value of "it comes to its end"; and
    truth values that go over into those of the other one when two threads are exchanged."""

    choices: Sequence[Sequence[Term]]
    ends: Sequence[Value]
    said: Sequence[Sequence[Value]]


def classes(
    program: Program, model: Model, ordered: set[tuple[int, int]], alike: AlikeThreads | None = None
) -> list[SymmetryClass]:
    """The classes of interchangeable threads that have writes to order. `ordered` are the pairs of writes
    that coherence relates whenever both are executed."""
    ends = [t.execution.finishes for t in program.threads] if alike is None else alike.ends
    levels = _telling_levels(program, model)
    named = _named_lanes(program)
    groups: dict[object, list[int]] = {}
    for t, thread in enumerate(program.threads):
        if thread.source is not None and t not in named:
            groups.setdefault(thread.source, []).append(t)
    by_thread: dict[int, list[Event]] = {}
    for e in program.events:
        by_thread.setdefault(e.thread, []).append(e)
    found = []
    for members in groups.values():
        if len(members) < 2:
            continue
        for run, swaps in _runs(program, members, by_thread, levels, alike):
            writes = _ordered_writes(ends, run, by_thread, ordered)
            if writes is not None:
                found.append(SymmetryClass(tuple(run), tuple(swaps), tuple(writes)))
    return found


def _runs(
    program: Program,
    members: list[int],
    by_thread: dict[int, list[Event]],
    levels: Sequence[str],
    alike: AlikeThreads | None,
) -> Iterator[tuple[list[int], list[Swap]]]:
    """Maximal runs of members in which neighbours can be exchanged."""
    run, swaps = [members[0]], list[Swap]()
    for t in members[1:]:
        swap = _swap(program, run[-1], t, by_thread, levels, alike)
        if swap is None:
            if len(run) > 1:
                yield run, swaps
            run, swaps = [t], []
        else:
            run.append(t)
            swaps.append(swap)
    if len(run) > 1:
        yield run, swaps


def _telling_levels(program: Program, model: Model) -> Sequence[str]:
    """The levels of placement that can make a difference: those that are somebody's scope; and all of them where something
    else asks who is in one CTA with whom, as barriers, other proxies, and models of users do."""
    own = [e for e in program.events if e.thread >= 0]
    if model.uses("scta") or any(e.kind not in _ALONE or e.tags & _PLACED for e in own):
        return LEVELS
    scopes = {e.effect.scope for e in own if e.effect is not None}
    return [level for level in LEVELS if level in scopes]


def _named_lanes(program: Program) -> set[int]:
    """Threads with others in their warp where lanes are told apart: by what the warp computes together, and by a member mask
    that leaves out some of it. An exchange of two threads would have to exchange bits of masks and of results, too."""
    warps: dict[int, list[int]] = {}
    for t, thread in enumerate(program.uncut):
        warps.setdefault(thread.place.warp, []).append(t)
    several = (mates for mates in warps.values() if len(mates) > 1)
    return {
        t
        for mates in several
        if any(_names_lanes(e, (1 << len(mates)) - 1) for u in mates for e in program.uncut[u].execution.effects)
        for t in mates
    }


def _names_lanes(effect: Effect, everybody: int) -> bool:
    """Whether an effect treats some threads of its warp differently from others; `everybody` is the mask of them all."""
    if effect.kind is COLLECTIVE or effect.mates:
        return True
    meets = effect.kind is BARRIER and effect.level == "warp"
    return meets and (type(effect.mask) is not int or bool(everybody & ~effect.mask))


#: Tags of events for which it counts where their threads are, besides their scopes.
#: What threads do that may be alike: by themselves, and where they meet at barriers.
_ALONE = frozenset((READ, WRITE, FENCE_EVENT))
_MEETING = _ALONE | {BARRIER_EVENT}
_PLACED = frozenset(("SUR", "TEX", "CON", "ASYNC", "TMAP", "ALIAS", "ONEWAY", "RESTRICT", "ASY"))


def _swap(
    program: Program,
    a: int,
    b: int,
    by_thread: dict[int, list[Event]],
    levels: Sequence[str],
    alike: AlikeThreads | None,
) -> Swap | None:
    """The exchange of two threads with the same source, if nothing tells them apart."""
    if any(_placed_apart(program, a, b, level) for level in levels):
        return None
    mine, yours = by_thread.get(a, []), by_thread.get(b, [])
    exchange = _exchange(mine, yours)
    if exchange is None or not (alike is None or _choose_alike(alike, a, b, exchange)):
        return None
    events = list(range(program.size))
    for x, y in zip(mine, yours, strict=True):
        events[x.index], events[y.index] = y.index, x.index
    # Equal threads may stop for unequal reasons, and what told them apart may be left out: what came of it must not be.
    is_sliced = program.constant_reads is not None and program.constant_reads.sliced
    told = program.events if alike is not None else mine if is_sliced else ()
    if not _goes_over(program, exchange, events, told):
        return None
    for asked in (program.condition, program.filter):
        if not _same(terms.substitute(asked, exchange), asked):
            return None
    labels: dict[str, str] = {}
    for o in program.observed:
        moved = terms.substitute(o.value, exchange)
        same = (p for p in program.observed if _same(p.value, moved) and (p.width, p.signed) == (o.width, o.signed))
        image = next(same, None)
        if image is None:
            return None
        labels[o.label] = image.label
    return Swap(tuple(events), labels)


def _placed_apart(program: Program, a: int, b: int, level: str) -> bool:
    """Whether some third thread is together with one of two threads only."""
    at = [getattr(t.place, level) for t in program.threads]
    return any(k not in (a, b) and (place == at[a]) != (place == at[b]) for k, place in enumerate(at))


def _exchange(mine: Sequence[Event], yours: Sequence[Event]) -> dict[Term, Value] | None:
    """What the reads of two threads return, each for that of the other; None where they do not do the same."""
    if [_kind(e) for e in mine] != [_kind(e) for e in yours]:
        return None
    if any(e.kind not in _MEETING or not e.in_po or e.unstable for e in mine):
        return None  # what mbarrier objects, asynchronous operations and hosts do is not a matter of rf and co alone
    exchange: dict[Term, Value] = {}
    for x, y in zip(mine, yours, strict=True):
        if x.kind is READ:
            for a_value, b_value in zip(x.values, y.values, strict=True):
                if type(a_value) is Term and type(b_value) is Term:
                    exchange[a_value], exchange[b_value] = b_value, a_value
        elif x.effect is not None and x.effect.result is not None and x.kind is BARRIER_EVENT:
            return None  # what a reducing barrier returns is not a matter of rf and co alone
    return exchange


def _choose_alike(alike: AlikeThreads, a: int, b: int, exchange: dict[Term, Value]) -> bool:
    """Whether two threads may stop in the same places; adds their choices to what is exchanged."""
    if len(alike.choices[a]) != len(alike.choices[b]) or len(alike.said[a]) != len(alike.said[b]):
        return False
    for x, y in zip(alike.choices[a], alike.choices[b], strict=True):
        exchange[x], exchange[y] = y, x
    pairs = [(alike.ends[a], alike.ends[b]), *zip(alike.said[a], alike.said[b], strict=True)]
    return all(_same(terms.substitute(x, exchange), y) and _same(terms.substitute(y, exchange), x) for x, y in pairs)


def _goes_over(program: Program, exchange: dict[Term, Value], where: Sequence[int], events: Iterable[Event]) -> bool:
    """Whether the conditions of events, and what they write, become those of the events in their place."""
    pairs = [(e, program.events[where[e.index]]) for e in events]
    return all(
        _same(terms.substitute(x.guard, exchange), y.guard)
        and (x.kind is not WRITE or _same(terms.substitute(x.value, exchange), y.value))
        for x, y in pairs
    )


def _kind(e: Event) -> tuple[str, frozenset[str], Sequence[int], int]:
    """What two events must have in common to stand for each other."""
    return e.kind, e.tags, e.cells, e.mapping


def _same(a: Value, b: Value) -> bool:
    return a is b or (type(a) is int and a == b)


def _ordered_writes(
    ends: Sequence[Value], run: list[int], by_thread: dict[int, list[Event]], ordered: set[tuple[int, int]]
) -> list[int] | None:
    """For each thread of a run the same write, which whoever ends has executed, and which coherence orders among them.

    Any such write will do, and some say more. What a thread writes that depends on what it read, or whether it does so, tells
    where it stands among the others: a ticket, a compare-and-swap that succeeded. An exchange that may have come too early
    tells nothing, and the last write, which opens the lock, does."""
    last = None
    for position, e in enumerate(by_thread.get(run[0], [])):
        if e.kind is not WRITE:
            continue
        writes = [by_thread[t][position] for t in run]
        certain = all(terms.implies(ends[w.thread], w.guard) for w in writes)
        if certain and all((a.index, b.index) in ordered for i, a in enumerate(writes) for b in writes[i + 1 :]):
            last = [w.index for w in writes]
            if _tells(e):
                break
    return last


def _tells(write: Event) -> bool:
    """Whether a read-modify-write hangs on what it read."""
    read = None if write.effect is None else write.effect.result
    return read is not None and read in terms.symbols_of(write.guard) | terms.symbols_of(write.value)


def orbit(state: dict[str, int], swaps: list[Swap], limit: int) -> Iterator[tuple[dict[str, int], tuple[int, ...]]]:
    """The states that a state becomes when threads are exchanged, at most `limit`, each with where the events go.

    The state itself comes first, with every event in its place.
    """
    size = len(swaps[0].events) if swaps else 0
    start = (state, tuple(range(size)))
    seen = {tuple(sorted(state.items()))}
    waiting = [start]
    count = 0
    while waiting and count < limit:
        current, where = waiting.pop(0)
        count += 1
        yield current, where
        for swap in swaps:
            moved = {label: current[swap.labels[label]] for label in current}
            key = tuple(sorted(moved.items()))
            if key not in seen:
                seen.add(key)
                waiting.append((moved, tuple(swap.events[i] for i in where)))

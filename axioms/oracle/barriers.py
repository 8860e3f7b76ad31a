"""Barriers on numbers, for brute force: every way to put the arrivals of a concrete program into instances.

The rules are those that `axioms.sync.barriers` states, written a second time, on purpose and in another way: the two engines
must not share what decides.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from axioms.cat.evaluate import closure
from axioms.cat.nodes import Rows
from axioms.oracle.budget import kept
from axioms.program import Event, Program, ends_by
from ptxcore.isa.effect_kinds import BARRIER
from ptxcore.records import NamedTuple, dataclass
from ptxcore.syntax.tree import Instruction

_WARP = 32
_INSTANCES = "ways to put arrivals into instances of a barrier"


@dataclass(slots=True)
class BarrierChoice:
    """`pairs` are arrivals with the waits that receive from them; `flows` the same for `bar.red`. `phases` are the same for
    barriers of clusters, and `phase_order` says which of their events come first. `misuse` is a reason. `order` is what comes
    before what besides: instances of one barrier, and exits of threads before waits that do without them. `again` are
    arrivals with the next ones of threads that arrived with them, but did not wait. `early` is misuse too, but excuses nobody
    from waiting. `ended` are reads that decide that a thread ends, with the waits that are over because it has.
    `culprits` are arrivals, or waits at barriers of clusters, that misuse a barrier together."""

    pairs: tuple[tuple[int, int], ...] = ()
    flows: tuple[tuple[int, int], ...] = ()
    misuse: str | None = None
    order: tuple[tuple[int, int], ...] = ()
    phases: tuple[tuple[int, int], ...] = ()
    phase_order: tuple[tuple[int, int], ...] = ()
    again: tuple[tuple[int, int], ...] = ()
    early: str | None = None
    ended: tuple[tuple[int, int], ...] = ()
    culprits: tuple[tuple[int, ...], ...] = ()

    def rows(self, size: int) -> Rows:
        return _as_rows(self.pairs, size)

    def again_rows(self, size: int) -> Rows:
        return _as_rows(self.again, size)


def _as_rows(pairs: Sequence[tuple[int, int]], size: int) -> Rows:
    rows = [0] * size
    for i, j in pairs:
        rows[i] |= 1 << j
    return rows


@dataclass(slots=True)
class _Arrival:
    event: Event
    wait: Event | None

    @property
    def count(self) -> int | None:
        assert self.event.effect is not None
        count = self.event.effect.count
        assert count is None or type(count) is int
        return count

    @property
    def operation(self) -> str:
        """How predicates are combined; "" where they are not."""
        return self.event.effect.operator if self.event.effect is not None else ""


class NamedBarrier(NamedTuple):
    """A barrier instruction of the short dialect, whether it is executed or not. `identity` is a number, or None."""

    thread: int
    instruction: Instruction
    instance: int
    identity: int | None


def barrier_choices(
    program: Program,
    reached: Sequence[NamedBarrier] = (),
    tick: Callable[[], None] = lambda: None,
    cut: frozenset[int] = frozenset(),
) -> Iterator[BarrierChoice]:
    """All choices without a deadlock. `reached` lists the short dialect's barriers, executed or not; `tick` is
    called now and then, so that a caller can stop. `cut` are threads that a loop bound stopped: they might still have arrived,
    so that no deadlock is said to be due to them."""
    named: dict[tuple[int, int, object], list[_Arrival]] = {}
    instructions: dict[tuple[int, int], list[_Arrival]] = {}
    counted: dict[tuple[int, object], list[_Arrival]] = {}
    of_warps: dict[tuple[int, object], list[_Arrival]] = {}
    for e in program.events:
        if "BA" not in e.tags:
            continue
        assert e.effect is not None
        made = program.by_effect[e.thread][e.effect.index]
        arrival = _Arrival(e, made[1] if len(made) > 1 else None)
        cta = program.threads[e.thread].place.cta
        if e.effect.level == "warp":
            of_warps.setdefault((program.threads[e.thread].place.warp, e.effect.mask), []).append(arrival)
        elif e.effect.instance is None:
            counted.setdefault((cta, e.effect.identity), []).append(arrival)
        else:
            named.setdefault((cta, e.effect.instance, e.effect.identity), []).append(arrival)
            instructions.setdefault((cta, e.effect.instance), []).append(arrival)
    groups = [kept(_named(program, members, reached, tick, cut), _INSTANCES) for members in named.values()]
    groups += [kept(_counted(program, cta, members, tick, cut), _INSTANCES) for (cta, _), members in counted.items()]
    groups += [[_of_warp(program, warp, mask, members)] for (warp, mask), members in of_warps.items()]
    groups += [[choice] for choice in cluster_choices(program)]
    for combination in itertools.product(*groups):
        tick()
        whole = BarrierChoice(
            tuple(p for c in combination for p in c.pairs),
            tuple(p for c in combination for p in c.flows),
            next((c.misuse for c in combination if c.misuse), None),
            tuple(p for c in combination for p in c.order),
            tuple(p for c in combination for p in c.phases),
            tuple(p for c in combination for p in c.phase_order),
            tuple(p for c in combination for p in c.again),
            ended=tuple(p for c in combination for p in c.ended),
            culprits=tuple(p for c in combination for p in c.culprits),
        )
        if len(groups) > len(named) and not _runs(program, whole):
            continue
        whole.misuse = whole.misuse or next((c.early for c in combination if c.early), None)
        if cut or all(_agrees(program, whole, a) for members in counted.values() for a in members):
            yield whole


def _runs(program: Program, choice: BarrierChoice) -> bool:
    """Whether the arrivals and waits can happen one after the other: they are in no circle, or behind some misuse, whose
    culprits are not in one themselves, nor behind one."""
    rows = list(program.relations["po"])
    for i, j in (*choice.pairs, *choice.order, *choice.phases):
        rows[i] |= 1 << j
    reached = 0
    for i, row in enumerate(closure(rows)):
        if row >> i & 1:
            reached |= row  # itself too
    if choice.misuse is None:
        return not reached
    return any(not any(reached >> e & 1 for e in some) for some in choice.culprits) or not choice.culprits


def _culprits(program: Program, group: Sequence[_Arrival]) -> Iterator[tuple[int, ...]]:
    """Arrivals of an instance that misuse its barrier, by themselves or two together."""
    for m in group:
        if _strange([m]):
            yield (m.event.index,)
    for a, b in itertools.combinations(group, 2):
        if a.count != b.count or a.operation != b.operation or _divergent(program, [a.event, b.event]):
            yield a.event.index, b.event.index


def _agrees(program: Program, choice: BarrierChoice, arrival: _Arrival) -> bool:
    """Whether a `bar.red` returned what the predicates of its instance reduce to."""
    if not arrival.operation or arrival.wait is None:
        return True
    votes = []
    for i, j in choice.pairs:
        if j == arrival.wait.index:
            effect = program.events[i].effect
            assert effect is not None and type(effect.operand) is int
            votes.append(effect.operand)
    reduced = {"popc": sum(votes), "and": int(all(votes)), "or": int(any(votes))}[arrival.operation]
    return arrival.event.effect is not None and arrival.event.effect.answer == reduced


def _named(
    program: Program,
    members: list[_Arrival],
    reached: Sequence[NamedBarrier],
    tick: Callable[[], None],
    cut: frozenset[int],
) -> Iterator[BarrierChoice]:
    """The short dialect: one instance, by its name. Each order of arrival says who has come when a waiting thread passes."""
    if all(m.count is None for m in members):
        if not cut and not _all_reached(program, members, reached):
            return
        pairs = [(a.event.index, b.wait.index) for a in members for b in members if b.wait is not None]
        yield BarrierChoice(tuple(pairs))
        return
    seen = set()
    for order in itertools.permutations(range(len(members))):
        tick()
        position = {m: p for p, m in enumerate(order)}
        pairs = []
        good = True
        for y, b in enumerate(members):
            if b.wait is None:
                continue
            count = b.count
            if count is None:
                good = good and (bool(cut) or _all_reached(program, members, reached))
                last = len(members)
            else:
                good = good and (bool(cut) or len(members) >= count)
                last = max(position[y] + 1, count)
            pairs += [(members[x].event.index, b.wait.index) for x in order[:last]]
        key = frozenset(pairs)
        if good and key not in seen:
            seen.add(key)
            yield BarrierChoice(tuple(pairs))


def _all_reached(program: Program, members: list[_Arrival], wanted: Sequence[NamedBarrier]) -> bool:
    """Whether every instruction of the barrier was executed by its thread."""
    first = members[0].event
    assert first.effect is not None
    cta = program.threads[first.thread].place.cta
    executed = {(m.event.thread, id(m.event.effect.instruction)) for m in members if m.event.effect is not None}
    return all(
        (w.thread, id(w.instruction)) in executed
        for w in wanted
        if w.instance == first.effect.instance
        and w.identity == first.effect.identity
        and program.threads[w.thread].place.cta == cta
    )


def _counted(
    program: Program, cta: int, members: list[_Arrival], tick: Callable[[], None], cut: frozenset[int]
) -> Iterator[BarrierChoice]:
    """PTX: one barrier of one CTA. Deals the arrivals into instances, thread by thread in order."""
    threads = [t for t, thread in enumerate(program.threads) if thread.place.cta == cta and not thread.place.host]
    by_thread = {t: [m for m in members if m.event.thread == t] for t in threads}
    numbers_of = (itertools.combinations(range(len(members)), len(mine)) for mine in by_thread.values())
    columns = [kept(numbers, _INSTANCES) for numbers in numbers_of]
    for dealt in itertools.product(*columns):
        tick()
        instances: dict[int, list[_Arrival]] = {}
        for mine, numbers in zip(by_thread.values(), dealt, strict=True):
            for m, k in zip(mine, numbers, strict=True):
                instances.setdefault(k, []).append(m)
        if sorted(instances) != list(range(len(instances))):
            continue
        choice = _deal(program, threads, by_thread, instances, cut)
        if choice is not None:
            yield choice


def _deal(
    program: Program,
    threads: list[int],
    by_thread: dict[int, list[_Arrival]],
    instances: dict[int, list[_Arrival]],
    cut: frozenset[int],
) -> BarrierChoice | None:
    """The choice that a numbering of the arrivals makes, or None where there is a deadlock."""
    choice = BarrierChoice()
    number = {m.event.index: k for k, group in instances.items() for m in group}
    pairs: list[tuple[int, int]] = []
    flows: list[tuple[int, int]] = []
    exits: list[tuple[int, int]] = []
    ended: list[tuple[int, int]] = []
    again: list[tuple[int, int]] = []
    disagreed: list[tuple[int, int]] = []
    for k, group in sorted(instances.items()):
        renewed = [
            b for b in group for a in instances.get(k - 1, ()) if a.event.thread == b.event.thread and a.wait is None
        ]
        again += [(c.event.index, b.event.index) for b in renewed for c in instances[k - 1]]
        if renewed and not _enough(program, instances[k - 1]):
            choice.early = _EARLY
        waiting = [m for m in group if m.wait is not None]
        choice.misuse = choice.misuse or _strange(group)
        differ = len({m.count for m in group}) > 1
        if differ and waiting:
            choice.misuse = _DIFFERENT_COUNTS
        elif differ:
            before = _disagreeing(program, group)
            if before is None or not all(_enough(program, instances[j]) for j in range(k)):
                return None
            disagreed += before
            choice.early = _DIFFERENT_COUNTS
        if _divergent(program, [m.event for m in group]):
            choice.misuse = _DIVERGENT
        if waiting and len({m.operation for m in group}) > 1:
            how = "with different operations" if all(m.operation for m in group) else "mixed with other barriers"
            choice.misuse = f"bar.red {how} in one instance of a barrier"
        if choice.misuse is not None and not choice.culprits:
            choice.culprits = tuple(_culprits(program, group))
        # From its first misuse on, a barrier owes nothing.
        for m in group if choice.misuse is None and (waiting or not differ) else []:
            if not _complete(program, threads, by_thread, number, k, group, m, cut):
                return None
        present = {m.event.thread for m in group}
        for b in waiting:
            mates = threads
            if b.count is not None:
                warps = {program.threads[t].place.warp for t in present}
                mates = [t for t in threads if program.threads[t].place.warp in warps]
            exits += _exits(program, [t for t in mates if t not in present], b.wait)
            ended += _ended(program, [t for t in mates if t not in present], b.wait)
        for a in group:
            for b in waiting:
                assert b.wait is not None
                pairs.append((a.event.index, b.wait.index))
                if b.operation:
                    flows.append((a.event.index, b.wait.index))
    order = [(i, j) for i, k in number.items() for j, l in number.items() if k < l]
    whole = BarrierChoice(tuple(pairs), tuple(flows), choice.misuse, (*order, *exits, *disagreed), again=tuple(again))
    whole.early, whole.ended, whole.culprits = choice.early, tuple(ended), choice.culprits
    return whole


def _disagreeing(program: Program, group: Sequence[_Arrival]) -> list[tuple[int, int]] | None:
    """Who must have come before whom where those who wait for nobody disagree on the count of an instance: all but the last
    warp agree, and with them alone the instance is not complete. None where that is not so."""
    warp = {m.event.index: program.threads[m.event.thread].place.warp for m in group}
    counts = {m.count for m in group if m.count is not None}
    orders = []
    for asked, other in itertools.permutations(counts, 2):
        early, late = ([m for m in group if m.count == count] for count in (asked, other))
        if len({warp[m.event.index] for m in late}) == 1 and len({*warp.values()}) * _WARP <= asked:
            orders.append([(a.event.index, b.event.index) for a in early for b in late])
    if len(counts) != 2 or not orders:
        return None
    return orders[0] if len(orders) == 1 else []


def _enough(program: Program, group: Sequence[_Arrival]) -> bool:
    """Whether as many warps have come as those who do not wait say."""
    warps = {program.threads[m.event.thread].place.warp for m in group}
    return all(m.count is None or len(warps) * _WARP >= m.count for m in group if m.wait is None)


def _strange(members: Sequence[_Arrival]) -> str | None:
    """What is wrong with the number of a barrier, or with how many threads it is for."""
    for m in members:
        assert m.event.effect is not None
        identity = m.event.effect.identity
        if type(identity) is int and identity > 15:
            return "a barrier whose number is not one of 0 to 15"
        if m.count is not None and (m.count == 0 or m.count % _WARP):
            return "a barrier of a number of threads that is 0 or no multiple of 32"
    return None


_DIFFERENT_COUNTS = "different thread counts in one instance of a barrier"
_EARLY = "an arrival at a barrier by a thread that has arrived there before, of which others have not"
_DIVERGENT = "threads of one warp at an aligned barrier by different instructions"


def _divergent(program: Program, group: Sequence[Event]) -> bool:
    """Whether threads of one warp of a kernel come to an aligned barrier by different instructions."""
    for a, b in itertools.combinations(group, 2):
        assert a.effect is not None and b.effect is not None
        if not (a.effect.aligned or b.effect.aligned) or a.effect.instruction is b.effect.instruction:
            continue
        first, second = program.threads[a.thread], program.threads[b.thread]
        together = a.thread != b.thread and first.place.warp == second.place.warp
        if together and first.code.private is not None and second.code.private is not None:
            return True
    return False


def _exits(program: Program, threads: Sequence[int], wait: Event | None) -> list[tuple[int, int]]:
    """All that these threads do at barriers comes before that wait, for which they have exited."""
    assert wait is not None
    found = [e for e in program.events if _is_of_barrier(e) and e.thread in threads]
    return [(e.index, wait.index) for e in found]


def _ended(program: Program, threads: Sequence[int], wait: Event | None) -> list[tuple[int, int]]:
    """What decided that these threads have exited, for which the wait is over."""
    assert wait is not None
    return [(i, wait.index) for t in threads for i, condition in ends_by(program, t) if condition]


def _is_of_barrier(e: Event) -> bool:
    return e.effect is not None and e.effect.kind is BARRIER


def _complete(
    program: Program,
    threads: list[int],
    by_thread: dict[int, list[_Arrival]],
    number: dict[int, int],
    k: int,
    group: list[_Arrival],
    m: _Arrival,
    cut: frozenset[int],
) -> bool:
    """Whether instance `k` has the arrivals that `m` asks for (no more of them, where `m` does not wait), or threads that were
    cut off might still bring them."""
    present = {a.event.thread for a in group}
    exited = {t for t in threads if all(number[a.event.index] <= k for a in by_thread[t])}
    if m.count is None:
        return m.wait is None or present | exited >= set(threads)
    warps = {program.threads[t].place.warp for t in present}
    if m.wait is None:
        return len(warps) * _WARP <= m.count
    whole = all(t in present or t in exited for t in threads if program.threads[t].place.warp in warps)
    missing = m.count - len(warps) * _WARP
    return whole and (missing == 0 or (missing > 0 and any(t in exited and t not in present for t in cut)))


def _of_warp(program: Program, warp: int, mask: object, members: list[_Arrival]) -> BarrierChoice:
    """`bar.warp.sync` with one mask: each thread's first with each other's first, and so on."""
    assert type(mask) is int
    mates = [t for t, thread in enumerate(program.threads) if thread.place.warp == warp]
    meeting = [t for lane, t in enumerate(mates) if mask >> lane & 1]
    by_thread = {t: [m for m in members if m.event.thread == t] for t in meeting}
    pairs: list[tuple[int, int]] = []
    exits: list[tuple[int, int]] = []
    ended: list[tuple[int, int]] = []
    for k in range(max(map(len, by_thread.values()), default=0)):
        here = [mine[k] for mine in by_thread.values() if k < len(mine)]
        for b in here:
            assert b.wait is not None
            pairs += [(a.event.index, b.wait.index) for a in here]
            exited = [t for t in meeting if len(by_thread[t]) <= k]
            exits += _exits(program, exited, b.wait)
            ended += _ended(program, exited, b.wait)
    strange = tuple((m.event.index,) for m in members if m.event.thread not in meeting)
    misuse = "bar.warp.sync by a thread that its member mask does not name" if strange else None
    return BarrierChoice(tuple(pairs), (), misuse, tuple(exits), ended=tuple(ended), culprits=strange)


def cluster_choices(program: Program) -> Iterator[BarrierChoice]:
    """The barrier of each cluster: everybody's first arrival before everybody's first wait, and so on."""
    clusters: dict[int, dict[int, list[Event]]] = {}
    for t, thread in enumerate(program.threads):
        if not thread.place.host:
            clusters.setdefault(thread.place.cluster, {})[t] = []
    for e in program.events:
        if _is_of_barrier(e) and e.effect is not None and e.effect.level == "cluster":
            clusters[program.threads[e.thread].place.cluster][e.thread].append(e)
    for by_thread in clusters.values():
        if any(by_thread.values()):
            yield _of_cluster(program, by_thread)


def _of_cluster(program: Program, by_thread: dict[int, list[Event]]) -> BarrierChoice:
    """What a thread does behind its first misuse is in no phase, and nobody waits for it any more."""
    misuse = None
    culprits: list[tuple[int, ...]] = []
    steps: dict[int, list[Event]] = {}  # arrivals of phase k at 2k, waits at 2k + 1
    well: set[int] = set()
    for t, events in by_thread.items():
        counts = {"MA": 0, "MW": 0}
        for e in events:
            tag = "MA" if "MA" in e.tags else "MW"
            rule = _out_of_turn(tag, counts)
            if rule:
                misuse = misuse or rule
                culprits.append((e.index,))
                break
            steps.setdefault(2 * counts[tag] + (tag == "MW"), []).append(e)
            counts[tag] += 1
        else:
            well.add(t)
    for step, events in steps.items():
        if step % 2 == 0 and _divergent(program, events):
            misuse = misuse or _DIVERGENT
            culprits += [
                (a.index, b.index) for a, b in itertools.combinations(events, 2) if _divergent(program, [a, b])
            ]
    phases: list[tuple[int, int]] = []
    exits: list[tuple[int, int]] = []
    ended: list[tuple[int, int]] = []
    for step, waits in steps.items():
        if step % 2:
            arrivals = steps.get(step - 1, [])
            present = {a.thread for a in arrivals}
            phases += [(a.index, w.index) for a in arrivals for w in waits]
            for w in waits:
                exited = [t for t in by_thread if t not in present and t in well]
                exits += _exits(program, exited, w)
                ended += _ended(program, exited, w)
    order = [
        (a.index, b.index)
        for k, some in steps.items()
        for l, more in steps.items()
        if k < l
        for a in some
        for b in more
    ]
    whole = BarrierChoice((), (), misuse, tuple(exits), tuple(phases), tuple(order), ended=tuple(ended))
    whole.culprits = tuple(culprits)
    return whole


def _out_of_turn(tag: str, counts: Mapping[str, int]) -> str:
    """What is wrong with an arrival, or a wait, of a thread that has done so many of each; empty where nothing is."""
    if tag == "MA" and counts["MA"] > counts["MW"]:
        return "barrier.cluster.arrive by a thread that has not waited since it arrived before"
    if tag == "MW" and counts["MA"] != counts["MW"] + 1:
        return "barrier.cluster.wait by a thread that has not arrived"
    return ""


__all__ = ["BarrierChoice", "NamedBarrier", "barrier_choices", "cluster_choices"]

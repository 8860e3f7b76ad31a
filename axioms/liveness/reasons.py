"""What makes blocking non-termination, as clauses: at barriers, at what a warp does together, at mbarrier objects."""

from __future__ import annotations

from collections.abc import Iterator

from axioms.encode.encoding import Encoding
from axioms.events.encounters import WARP
from axioms.events.event import BarrierMisuse, Event
from axioms.events.event_kinds import MBARRIER_EVENT
from axioms.liveness.blocking import Blocking, BlockingPoint, is_arrival
from axioms.sat.formula import BOTH, FALSE, TRUE
from axioms.sync.arrivals import EARLY
from axioms.sync.numbered_barriers import BarrierInstances
from axioms.sync.rounds import RoundPart, Rounds
from ptxcore.isa.effect_kinds import MBARRIER
from ptxcore.machine.ir.effects import Effect
from ptxcore.values import terms


class Reasons:
    """What makes blocking non-termination, as clauses."""

    def __init__(self, giving: Blocking, encoding: Encoding) -> None:
        self.giving, self.encoding, self.formula = giving, encoding, encoding.formula
        self.ends = [encoding.truth(e) for e in giving.ends]
        self._known: dict[tuple[int, int, int], int] = {}
        #: Who arrives again at a barrier before it is complete, where that is looked at.
        self.early: list[BarrierMisuse] = []
        self.stopped: dict[tuple[int, int], int] = {
            (s.thread, s.effect): encoding.truth(s.guard) for s in giving.stops if s.kind == "barrier"
        }

    def require(self, *, reasons: bool) -> None:
        """Who passes a barrier that some never arrive at has waited for these to end. With `reasons`, nobody blocks who
        could go on."""
        self._kernels(reasons)
        barriers = self.encoding.barriers
        for thread, literal in barriers.absences:
            self.formula.add([-literal, self.ends[thread]])
        for rounds in barriers.meetings:
            self._rounds_follow(rounds)
        for instances in barriers.counted:
            self._one_after_another(instances)
        self._at_collectives(reasons)
        for rounds in barriers.meetings:
            self._arrivals_at_rounds(rounds, reasons)
        for instances in barriers.counted:
            self._arrivals_at_instances(instances, reasons)
        self.encoding.note_misuse(self.early)
        if not reasons:
            return
        for rounds in barriers.meetings:
            self._at_rounds(rounds)
        for instances in barriers.counted:
            self._at_instances(instances)
        for named in barriers.named:
            for member, complete in named.complete():
                self.formula.add([-self._stop(member.arrive), -complete])
        for stop in self.giving.stops:
            if stop.reads:
                self._at_object(stop)

    # Kernels.

    def _kernels(self, reasons: bool) -> None:
        """Kernels end by their threads, and begin when they may: see `axioms.liveness.launching`."""
        launching, formula, truth = self.giving.launching, self.formula, self.encoding.truth
        if launching is None:
            return
        for k, kernel in enumerate(launching.streams.kernels):
            ended, begins = truth(launching.ended[k]), truth(launching.begins[k])
            all_end = formula.conj_all([self.ends[t] for t in sorted(kernel.threads)], BOTH)
            formula.add([-ended, all_end])
            come = [truth(launching.ended[i]) for i in launching.streams.before(k)]
            launched = [self._executes(t, e) for t, e in launching.streams.launches.get(k, ())]
            formula.add([-begins, self._may_begin(k)])
            for literal in (*launched, *[truth(launching.ended[i]) for i in launching.streams.after(k)]):
                formula.add([-begins, literal])
            if reasons:
                formula.add([-all_end, ended])
                formula.add([begins, *[-l for l in (*come, *launched)]])

    def _may_begin(self, k: int) -> int:
        """The literal of "the kernel before k in its stream has ended, or lets it begin early"."""
        launching = self.giving.launching
        assert launching is not None
        previous = launching.streams.previous(k)
        if previous is None:
            return TRUE
        ctas = [
            self.formula.disj(
                [
                    *[self._executes(t, e) for t, e in effects],
                    self.formula.conj_all([self.ends[t] for t in threads], BOTH),
                ],
                BOTH,
            )
            for threads, effects in launching.streams.letting(previous)
        ]
        if not any(effects for _, effects in launching.streams.letting(previous)):
            return self.encoding.truth(launching.ended[previous])
        return self.formula.disj(
            [self.encoding.truth(launching.ended[previous]), self.formula.conj_all(ctas, BOTH)], BOTH
        )

    def _executes(self, thread: int, effect: Effect) -> int:
        """The literal of "a thread comes to one of its effects, and does it"."""
        return self.encoding.truth(self.giving.program.threads[thread].execution.effects[effect.index].guard)

    # Barriers.

    def _stop(self, event: Event) -> int:
        assert event.effect is not None
        return self.stopped.get((event.thread, event.effect.index), FALSE)

    def _at_rounds(self, rounds: Rounds) -> None:
        for part, k, here in self._waiting(rounds):
            stop = self.formula.conj(self._stop(part.event), here, BOTH)
            if stop != FALSE:
                self.formula.add([-stop, -self._over(rounds, k)])

    def _rounds_follow(self, rounds: Rounds) -> None:
        """Who arrives without waiting arrives next when that round is over."""
        for k, arrivals in enumerate(rounds.arrivals[1:] if rounds.warps else ()):
            for part, begins in arrivals:
                self._comes_again(part.event, begins, self._over(rounds, k), TRUE)

    def _comes_again(self, arrival: Event, begins: int, over: int, came: int) -> None:
        """Who arrives in the next instance of a barrier does so when the one before is over; or misuses it, having come to
        that one."""
        if self.giving.program.well_used:
            self.formula.add([-begins, over])
            return
        self.formula.add([-begins, over, came])
        early = self.formula.conj_all([begins, -over, came], BOTH)
        if early != FALSE:
            self.early.append(BarrierMisuse(early, EARLY, (arrival,)))

    def _over(self, rounds: Rounds, k: int) -> int:
        """The literal of "whoever must arrive in round k has, and the others have ended"."""
        key = id(rounds), -1, k
        known = self._known.get(key)
        if known is None:
            arrived = [self.formula.disj([-missing, self.ends[t]], BOTH) for t, missing in rounds.absent(k)]
            known = self._known[key] = self.formula.conj_all([*rounds.present(k), *arrived], BOTH)
        return known

    def _waiting(self, rounds: Rounds) -> Iterator[tuple[RoundPart, int, int]]:
        """Each part that may wait, with each round that it may be in and the literal of "it is"."""
        for k, arrivals in enumerate(rounds.arrivals):
            yield from ((part, k, literal) for part, literal in arrivals if part.wait is not None)
        waited: dict[int, list[int]] = {}
        for part in rounds.parts:
            if part.arrive is None:
                so_far = waited.setdefault(part.thread, [TRUE])
                yield from ((part, k, literal) for k, literal in enumerate(self.formula.exactly(so_far)))
                waited[part.thread] = self.formula.one_more(so_far, part.passes)

    def _at_collectives(self, reasons: bool) -> None:
        """Who goes on has all those there for whom it waits, but for those who have ended."""
        if not self.giving.together:
            return
        from axioms.events.collectives import Flows

        formula, truth = self.formula, self.encoding.truth
        flows = Flows(self.giving.program.threads)
        for thread, effect, passes in self.giving.together:
            there = [
                formula.disj([*[truth(here) for _, here in some], self.ends[u], -truth(named)], BOTH)
                for u, some, named in flows.awaited(thread, effect)
            ]
            whole = formula.conj_all(there, BOTH)
            formula.add([-truth(terms.conj(effect.guard, passes)), whole])
            if reasons:
                formula.add([-self.stopped[thread, effect.index], -whole])

    def _arrivals_at_rounds(self, rounds: Rounds, reasons: bool) -> None:
        """Who arrives without waiting for all waits for its warp."""
        for k, arrivals in enumerate(rounds.arrivals):
            missing: dict[int, int] | None = None
            for part, here in arrivals:
                mates = self.giving.warp_mates[part.thread]
                if mates and part.event.effect is not None and is_arrival(part.event.effect):
                    missing = dict(rounds.absent(k)) if missing is None else missing
                    there = [self.formula.disj([-missing.get(t, FALSE), self.ends[t]], BOTH) for t in mates]
                    self._with_warp(part.event, here, there, reasons)

    def _arrivals_at_instances(self, instances: BarrierInstances, reasons: bool) -> None:
        for x, member in enumerate(instances.members):
            mates = self.giving.warp_mates[member.arrive.thread]
            if mates and is_arrival(member.effect):
                for k, here in enumerate(instances.number[x]):
                    there = [self.formula.disj([instances.arrived(t, x, k), self.ends[t]], BOTH) for t in mates]
                    self._with_warp(member.arrive, here, there, reasons)

    def _with_warp(self, arrival: Event, here: int, there: list[int], reasons: bool) -> None:
        """An arrival that goes on when its whole warp is there, or has ended."""
        whole, stop = self.formula.conj_all(there, BOTH), self._stop(arrival)
        self.formula.add([-here, stop, whole])
        if reasons and stop != FALSE:
            self.formula.add([-here, -stop, -whole])

    def _at_instances(self, instances: BarrierInstances) -> None:
        for x, member in enumerate(instances.members):
            if member.wait is None:
                continue
            for k, literal in enumerate(instances.number[x]):
                stop = self.formula.conj(self._stop(member.arrive), literal, BOTH)
                if stop != FALSE:
                    self.formula.add([-stop, -self._complete(instances, x, k)])

    def _one_after_another(self, instances: BarrierInstances) -> None:
        """An instance begins when the one before it is complete."""
        members = range(len(instances.members))
        for k in range(instances.bound - 1):
            for y in members:
                begins, arrival = instances.number[y][k + 1], instances.members[y].arrive
                if _is_one(instances):  # somebody is in the instance before
                    came = instances.arrived(arrival.thread, 0, k)
                    self._comes_again(arrival, begins, self._complete(instances, 0, k), came)
                    continue
                for x in members:
                    together = self.formula.conj_all([instances.number[x][k], begins, instances.same[x][y]], BOTH)
                    if x != y and together != FALSE:
                        came = instances.arrived(arrival.thread, x, k)
                        self._comes_again(arrival, together, self._complete(instances, x, k), came)

    def _complete(self, instances: BarrierInstances, x: int, k: int) -> int:
        """The literal of "the instance in which member x is number k has all its arrivals"."""
        key = id(instances), -1 if _is_one(instances) else x, k
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._new_complete(instances, x, k)
        return known

    def _new_complete(self, instances: BarrierInstances, x: int, k: int) -> int:
        formula = self.formula
        effect = instances.members[x].effect
        arrived = {t: instances.arrived(t, x, k) for t in instances.threads}
        gone = {t: formula.disj([arrived[t], self.ends[t]], BOTH) for t in instances.threads}
        if effect.count is None:
            return formula.conj_all(gone.values(), BOTH)
        places = [t.place for t in self.giving.program.threads]
        warps: dict[int, list[int]] = {}
        for t in instances.threads:
            warps.setdefault(places[t].warp, []).append(t)
        whole = []
        for mates in warps.values():
            some = formula.disj([arrived[t] for t in mates], BOTH)
            whole.append(formula.conj_all([some, *[gone[t] for t in mates]], BOTH))
        cases = []
        for count, holds in instances.whole.counts(effect.count):
            wanted = count // WARP
            at_least = formula.count(whole, wanted)
            cases.append(formula.conj(holds, at_least[wanted] if wanted < len(at_least) else FALSE, BOTH))
        return formula.disj(cases, BOTH)

    # mbarrier objects.

    def _at_object(self, stop: BlockingPoint) -> None:
        """What an iteration saw of mbarrier objects stays as it is."""
        stays = self.encoding.truth(stop.guard)
        made = self.giving.program.by_effect[stop.thread]
        for event in (e for effect in stop.reads for e in made.get(effect, ()) if e.kind is MBARRIER_EVENT):
            if stays != FALSE:
                self._sees_last(event, [-stays, -self.encoding.executed.literals[event.index]])

    def _sees_last(self, wait: Event, unless: list[int]) -> None:
        """No operation on the mbarrier object follows."""
        for operation in self.giving.program.events:
            effect = operation.effect
            if (
                operation.kind is not MBARRIER_EVENT
                or effect is None
                or effect.kind is not MBARRIER
                or effect.operation == "wait"
            ):
                continue
            follows = self.encoding.mbarriers.mbo.literal(wait.index, operation.index)
            if follows != FALSE:
                self.formula.add([*unless, -self.encoding.executed.literals[operation.index], -follows])


def _is_one(instances: BarrierInstances) -> bool:
    """Whether all members are certainly at one barrier, of one number of threads."""
    first = instances.same[0]
    same = all(row is first for row in instances.same) and set(first) == {TRUE}
    return same and len({m.effect.count for m in instances.members}) == 1

"""Barriers of CTAs, warps and clusters (PTX ISA 9.0, sections 9.7.13.1 to 9.7.13.3): which arrivals and waits belong together.

Every executed arrival at a barrier is in one instance of it, such that

1. a thread's arrivals at one barrier are in instances that follow each other;
2. an instance in which somebody waits is complete: its arrivals come from as many threads as its count says, or, without a
   count, from every thread of the CTA (the cluster, the member mask) that has not exited;
3. instances follow each other without a gap;
4. arrivals, waits, exits and program order form no cycle (otherwise threads deadlock).

Where nobody gives a count, or the count takes in every warp that ever comes there, instances are rounds (see `rounds`). The
others are numbered (see `numbered_barriers`). The short dialect names instances itself; there a barrier with a count lets each
waiting thread pass as soon as that many have arrived, and those are the ones it has synchronised with (see `named_barriers`).

`syncbar` relates each arrival to each wait of its instance, at barriers of CTAs and warps; `mbrf` does at those of clusters,
whose phases `mbo` orders. `again` relates each arrival to the next one of a thread that arrived in the same instance, but did
not wait: if it came too early, it would come to that instance once more, which is misuse.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator, Sequence

from axioms.cat.evaluate import bits
from axioms.errors import UnsupportedProgram
from axioms.events.encounters import BarrierMeeting, meeting_at
from axioms.events.event import BarrierMisuse, Event
from axioms.program import Program
from axioms.sat.acyclicity import cycles, edges
from axioms.sat.formula import BOTH, FALSE, TRUE, UP, Formula
from axioms.sat.relations import Executed, Relation, filled, merged, union
from axioms.sat.values import Lowering
from axioms.sync.arrivals import DIVERGENT, EARLY, BarrierArrival, Gathered, LiteralRows, mixed
from axioms.sync.named_barriers import NamedBarriers
from axioms.sync.numbered_barriers import BarrierInstances
from axioms.sync.rounds import RoundPart, Rounds
from ptxcore.isa.effect_kinds import BARRIER
from ptxcore.machine.ir.effects import Effect
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

#: Masks of a warp's barrier that are told apart.
_MAX_MASKS = 16


class Barriers(Gathered):
    """`misuse` has literals and the reasons why behaviour is undefined where they hold; `meetings` and `counted` are the
    barriers of either sort."""

    def __init__(
        self, program: Program, executed: Executed, lowering: Lowering, formula: Formula, by_warps: bool
    ) -> None:
        super().__init__(program, executed, lowering, formula, by_warps)
        self._cluster_rows: LiteralRows = {}
        self._cluster_order: LiteralRows = {}
        self._barriers = 0
        self.meetings: list[Rounds] = []
        self.counted: list[BarrierInstances] = []
        self.named: list[NamedBarriers] = []
        self._find()
        size = program.size
        self.syncbar = filled(self.rows, [0] * size, formula, BOTH)
        self.again = filled(self.renewed, [0] * size, formula, BOTH)
        self.mbrf = filled(self._cluster_rows, [0] * size, formula, BOTH)
        self.mbo = filled(self._cluster_order, [0] * size, formula, BOTH)
        if self._barriers > 1 or by_warps:
            self._no_deadlock()
        self.misuse += self.early

    # Who is there.

    def _find(self) -> None:
        named: dict[tuple[int, int], list[BarrierArrival]] = {}
        of_ctas: dict[int, list[BarrierArrival]] = {}
        of_warps: dict[tuple[int, int], list[BarrierArrival]] = {}
        of_clusters: dict[int, list[RoundPart]] = {}
        places = [t.place for t in self.program.threads]
        for t, first, events in self._barrier_events():
            effect = first.effect
            assert effect is not None
            if effect.level == "cluster":
                of_clusters.setdefault(places[t].cluster, []).append(self._cluster_part(t, first))
                continue
            arrival = self._arrival(events, effect)
            if effect.level == "warp":
                for mask, some in self._by_mask(arrival, effect):
                    of_warps.setdefault((places[t].warp, mask), []).append(some)
            elif effect.instance is not None:
                named.setdefault((places[t].cta, effect.instance), []).append(arrival)
            else:
                of_ctas.setdefault(places[t].cta, []).append(arrival)
        for instance in named.values():
            self.named.append(NamedBarriers(self, instance))
        for (warp, mask), members in of_warps.items():
            self._of_warp(warp, mask, members)
        for cta, members in of_ctas.items():
            self._of_cta([t for t, p in enumerate(places) if p.cta == cta and not p.host], members)
        for cluster, parts in of_clusters.items():
            self._of_cluster([t for t, p in enumerate(places) if p.cluster == cluster and not p.host], parts)

    def _barrier_events(self) -> Iterator[tuple[int, Event, Sequence[Event]]]:
        for t, made in enumerate(self.program.by_effect):
            for events in made.values():
                effect = events[0].effect if events else None
                if effect is not None and effect.kind is BARRIER:
                    yield t, events[0], events

    def _arrival(self, events: Sequence[Event], effect: Effect) -> BarrierArrival:
        literals = self.executed.literals
        wait = events[1] if len(events) > 1 else None
        executed = literals[events[0].index]
        return BarrierArrival(events[0], wait, effect, executed, FALSE if wait is None else literals[wait.index])

    def _by_mask(self, arrival: BarrierArrival, effect: Effect) -> Iterator[tuple[int, BarrierArrival]]:
        """A warp's barrier of each mask that it may have, with the arrival where it has that one."""
        mask, conj = effect.mask, self.formula.conj
        if type(mask) is int:
            yield mask, arrival
            return
        numbers = self.program.flow().numbers(mask)
        if numbers is None or len(numbers) > _MAX_MASKS:
            raise UnsupportedProgram(
                f"line {effect.instruction.span.line}: bar.warp.sync with a mask that may be too many numbers is not "
                "supported"
            )
        for number in sorted(numbers):
            this = self.lowering.condition(terms.eq(mask, number))
            executed, passes = conj(arrival.executed, this, BOTH), conj(arrival.passes, this, BOTH)
            yield number, arrival._replace(executed=executed, passes=passes)

    def _cluster_part(self, thread: int, event: Event) -> RoundPart:
        literal = self.executed.literals[event.index]
        if "MA" in event.tags:
            return RoundPart(thread, event, None, literal, FALSE)
        return RoundPart(thread, None, event, FALSE, literal)

    # Barriers at which everybody meets.

    def _of_warp(self, warp: int, mask: int, members: list[BarrierArrival]) -> None:
        mates = [t for t, thread in enumerate(self.program.threads) if thread.place.warp == warp]
        meeting = [t for lane, t in enumerate(mates) if mask >> lane & 1]
        reason = "bar.warp.sync by a thread that its member mask does not name"
        strange = [m for m in members if m.arrive.thread not in meeting and m.executed != FALSE]
        self.misuse += [BarrierMisuse(m.executed, reason, (m.arrive,)) for m in strange]
        named = [m for m in members if m.arrive.thread in meeting]
        if named:
            self._meet(BarrierMeeting(tuple(meeting)), named, meeting)

    def _of_cta(self, threads: list[int], members: list[BarrierArrival]) -> None:
        self.strange(members)
        by_identity: dict[Value | None, list[BarrierArrival]] = {}
        for m in members:
            by_identity.setdefault(m.effect.identity, []).append(m)
        if any(type(identity) is Term for identity in by_identity):
            self._numbered(threads, members)
            return
        places = [t.place for t in self.program.threads]
        for some in by_identity.values():
            meeting = meeting_at(places, threads, [(m.arrive.thread, m.effect.count) for m in some])
            if meeting is None or self._may_come_too_early(some):
                self._numbered(threads, some)
            else:
                self._meet(meeting, some, threads)

    def _may_come_too_early(self, members: list[BarrierArrival]) -> bool:
        """Whether somebody may arrive without waiting, and again where others never come: rounds do not tell."""
        if self.program.well_used or all(m.wait is not None for m in members):
            return False
        arriving = collections.Counter(m.arrive.thread for m in members)
        return len(set(arriving.values())) > 1 or any(m.executed != TRUE for m in members)

    def _meet(self, meeting: BarrierMeeting, members: list[BarrierArrival], threads: Sequence[int]) -> None:
        """The barrier of threads that all meet, with their arrivals and waits there. `threads` might come there."""
        self._barriers += 1
        parts = [RoundPart(m.arrive.thread, m.arrive, m.wait, m.executed, m.passes) for m in members]
        rounds = Rounds(meeting, parts, self.formula)
        self.meetings.append(rounds)
        by_event = {m.arrive.index: m for m in members}
        self._waits(rounds, self.rows)
        self._renew(rounds)
        broken: list[int] = []
        for k, arrivals in enumerate(rounds.arrivals):
            before = len(self.misuse)
            kinds = {by_event[p.event.index].effect.operator for p, _ in arrivals}
            if len(kinds) > 1:
                self._mixed([(by_event[p.event.index], literal) for p, literal in arrivals])
            self._divergent(arrivals)
            broken += [m.literal for m in self.misuse[before:]]
            for p, literal in arrivals:
                broken += [self.formula.conj(literal, odd, BOTH) for odd in self.odd.get(p.event.index, ())]
            self._warps(rounds, k, threads, broken)
        if any(m.effect.result is not None for m in members):
            for arrivals in rounds.arrivals:
                for (p, x), (q, y) in itertools.permutations(arrivals, 2):
                    self.meet(p.event, q.event, self.formula.conj(x, y, BOTH))
            self.reduce(members)

    def _warps(self, rounds: Rounds, k: int, threads: Sequence[int], broken: list[int]) -> None:
        """Nobody passes without somebody of each warp that counts, unless a thread was stopped that may still come. A misused
        barrier owes nothing."""
        missing = [some for some in rounds.present(k) if some != TRUE] if k < len(rounds.waits) else []
        if missing:
            absent = dict(rounds.absent(k))
            stopped = [
                self.formula.conj(self.stopped[t], absent.get(t, FALSE if t in rounds.threads else TRUE), BOTH)
                for t in threads
                if self.stopped[t] != FALSE
            ]
            coming = self.formula.disj(stopped, BOTH)
            for some in missing:
                for _, passes in rounds.waits[k]:
                    self.formula.add([-passes, some, coming, *broken])

    def _renew(self, rounds: Rounds) -> None:
        """Who arrives again without having waited must know in another way that everybody has come, and they must have."""
        for k, (before, after) in enumerate(itertools.pairwise(rounds.arrivals)):
            silent = [(a, x) for a, x in before if a.wait is None]
            missing = -self.formula.conj_all(rounds.present(k), BOTH) if silent else FALSE
            for (a, x), (b, y) in itertools.product(silent, after):
                if a.thread == b.thread:
                    both = self.formula.conj(x, y, BOTH)
                    for other, z in before:
                        self.relate(self.renewed, other.event, b.event, self.formula.conj(both, z, BOTH))
                    early = self.formula.conj(both, missing, BOTH)
                    if early != FALSE:
                        self.early.append(BarrierMisuse(early, EARLY, (a.event, b.event)))

    def _divergent(self, arrivals: list[tuple[RoundPart, int]]) -> None:
        """Threads of one warp come to an aligned barrier by one instruction."""
        by_instruction: dict[int, list[tuple[RoundPart, int]]] = {}
        for part, literal in arrivals:
            effect = part.event.effect
            assert effect is not None
            by_instruction.setdefault(id(effect.instruction), []).append((part, literal))
        for some, others in itertools.combinations(by_instruction.values(), 2):
            for (a, x), (b, y) in itertools.product(some, others):
                if self.diverge(a.event, b.event):
                    both = self.formula.conj(x, y, BOTH)
                    if both != FALSE:
                        self.misuse.append(BarrierMisuse(both, DIVERGENT, (a.event, b.event)))

    def _mixed(self, arrivals: list[tuple[BarrierArrival, int]]) -> None:
        """`red` and others, or `red` of different operations, in one round: undefined."""
        reducing = [(m, l) for m, l in arrivals if m.effect.barrier == "red"]
        others = [(m, l) for m, l in arrivals if m.effect.barrier != "red"]
        for (a, x), (b, y) in (*itertools.product(reducing, others), *itertools.combinations(reducing, 2)):
            why = mixed(a.effect, b.effect)
            both = self.formula.conj(x, y, BOTH) if why else FALSE
            if both != FALSE:
                self.misuse.append(BarrierMisuse(both, why, (a.arrive, b.arrive)))

    def _of_cluster(self, threads: list[int], parts: list[RoundPart]) -> None:
        self._barriers += 1
        rounds = Rounds(BarrierMeeting(tuple(threads)), parts, self.formula)
        self.meetings.append(rounds)
        self.misuse += rounds.unpaired
        self._waits(rounds, self._cluster_rows)
        for arrivals in rounds.arrivals:
            self._divergent(arrivals)
        # What happens in a phase comes before what happens in later ones.
        steps: list[list[tuple[RoundPart, int]]] = []
        for k in range(max(len(rounds.arrivals), len(rounds.waits))):
            steps += [some[k] if k < len(some) else [] for some in (rounds.arrivals, rounds.waits)]
        for earlier, later in itertools.combinations(steps, 2):
            for (a, x), (b, y) in itertools.product(earlier, later):
                well = [rounds.well_until(part.thread, part.event) for part in (a, b)]
                self.relate(self._cluster_order, a.event, b.event, self.formula.conj_all((x, y, *well), BOTH))

    def _waits(self, rounds: Rounds, rows: LiteralRows) -> None:
        """Who waits in a round waits for all who arrive in it, and for the exits of those who never do. Who misuses the barrier
        is in no round."""
        conj_all = self.formula.conj_all
        for k, waits in enumerate(rounds.waits):
            arrivals = rounds.arrivals[k] if k < len(rounds.arrivals) else []
            absent = list(rounds.absent(k))
            for b, literal in waits:
                assert b.wait is not None
                passes = self.formula.conj(literal, rounds.well_until(b.thread, b.wait), BOTH)
                for a, arrives in arrivals:
                    assert a.arrive is not None
                    well = rounds.well_until(a.thread, a.arrive)
                    self.relate(rows, a.arrive, b.wait, conj_all((arrives, passes, well), BOTH))
                for t, missing in absent:
                    self.exits(t, b.wait, conj_all((missing, passes, rounds.well_until(t, None)), BOTH))

    # Barriers with a number of threads, of which not all that arrive are in every instance.

    def _numbered(self, threads: list[int], members: list[BarrierArrival]) -> None:
        identities = {m.effect.identity for m in members}
        self._barriers += len(identities) + any(type(i) is Term for i in identities)
        self.counted.append(BarrierInstances(self, threads, members))

    def _no_deadlock(self) -> None:
        """Program order, instances, waiting for arrivals and for exits form no cycle, unless behind the misuse of a barrier."""
        misused = self.formula.disj((m.literal for m in self.misuse), BOTH)
        size = self.program.size
        events = {e.index for _, _, made in self._barrier_events() for e in made}
        mask = sum(1 << i for i in events)
        po = [row & mask if i in events else 0 for i, row in enumerate(self.program.relations["po"])]
        dynamic = filled(self.order, [0] * size, self.formula, UP)
        whole = union([self.executed.static(po), self.syncbar, self.mbrf, dynamic], self.formula, UP)
        executed = self.executed
        if self.by_warps:
            from axioms.sync.warp_waits import waits

            graph = (self.program, executed, self.lowering, self.formula)
            joined, executed = waits(*graph, whole, self.exited, self.at_once)
        else:
            joined = merged(whole, self.at_once, self.formula)
        found = cycles(joined, executed, self.formula)
        needed = self._before_misuse(joined, executed) if found else {}
        for i, _, literals in found:
            for l in literals:
                self.formula.add([-l, misused])
                if i in needed:
                    self.formula.add([-l, -needed[i]])

    def _before_misuse(self, order: Relation, steps: Executed) -> dict[int, int]:
        """Literals of the steps that are over before some misuse, of those that excuse, comes about: who is blocked without end
        among them never gets to it, and it would come of itself."""
        formula = self.formula
        found = [m for m in self.misuse if m.literal != FALSE and m.events]
        needed = {i: formula.new() for i in range(len(steps.literals))} if found else {}
        excuses = []
        for m in found:
            excuses.append(excuse := formula.new())
            formula.add([-excuse, m.literal])
            for event in m.events:
                formula.add([-excuse, needed[self.at_once.get(event.index, event.index)]])
        for i, j, literal in edges(order, steps, formula) if found else ():
            formula.add([-needed[j], -literal, needed[i]])
        if found:
            formula.add([-formula.disj((m.literal for m in self.misuse), BOTH), *excuses])
        return needed

    # bar.red: the predicates of an instance, reduced.

    def _meets(self, a: BarrierArrival, b: BarrierArrival) -> int:
        return self.together.get((a.arrive.index, b.arrive.index), FALSE)

    def data(self) -> Iterator[tuple[int, int, int]]:
        """The flow of predicates through `bar.red`: from each arrival to each other wait of its instance."""
        for b, members in self.reductions:
            assert b.wait is not None
            for a in members:
                yield a.arrive.index, b.wait.index, b.executed if a.arrive is b.arrive else self._meets(a, b)

    def control(self) -> Iterator[tuple[int, int, int]]:
        """What stands behind a wait that is over because a thread has ended depends on what decided that it does."""
        po = self.program.relations["po"]
        for i, waits in self.ended.items():
            for w, literals in waits.items():
                over = self.formula.disj(literals, BOTH)
                for j in bits(po[w]):
                    yield i, j, self.formula.conj(over, self.executed.literals[j], BOTH)

    def add_sources(self, sources: dict[Term, list[Value]]) -> None:
        for b, members in self.reductions:
            assert b.effect.result is not None
            most = len(members) if b.effect.operator == "popc" else 1
            sources[b.effect.result] = list(range(most + 1))

    def tie_results(self) -> None:
        """What a reduction returns, from the predicates that took part."""
        formula, lowering = self.formula, self.lowering
        for b, members in self.reductions:
            assert b.effect.result is not None
            part = [(TRUE if a is b else self._meets(a, b), lowering.truth(a.effect.operand)) for a in members]
            if b.effect.operator == "popc":
                self._tie_count(b, [formula.conj(p, l, BOTH) for p, l in part])
                continue
            if b.effect.operator == "and":
                result = -formula.disj([formula.conj(p, -l, BOTH) for p, l in part], BOTH)
            else:
                result = formula.disj([formula.conj(p, l, BOTH) for p, l in part], BOTH)
            outcome = lowering.truth(b.effect.result)
            formula.add([-b.executed, -outcome, result, self.cut])
            formula.add([-b.executed, outcome, -result, self.cut])

    def _tie_count(self, b: BarrierArrival, votes: list[int]) -> None:
        assert b.effect.result is not None
        choices = self.lowering.value(b.effect.result)
        exact = self.formula.exactly(self.formula.count(votes, len(votes)))
        self.formula.add([-b.executed, *choices.values()])
        for count, chosen in choices.items():
            self.formula.add([-b.executed, -chosen, self.cut, exact[count] if count < len(exact) else FALSE])

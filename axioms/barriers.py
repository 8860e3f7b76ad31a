"""CTA barriers (PTX ISA 9.0, section 9.7.13.1): which arrivals and waits belong to one instance of a barrier.

An execution gives every executed arrival an instance number, such that

1. a thread's arrivals at one barrier have increasing numbers;
2. an instance in which somebody waits is complete: its arrivals come from as many threads as its count says, or, without a
   count, from every thread of the CTA that has not exited;
3. instances follow each other without a gap;
4. arrivals, waits and program order form no cycle (otherwise threads wait for each other for ever).

The short dialect names instances itself; there a barrier with a count lets each waiting thread pass as soon as that many have
arrived, and those are the ones it has synchronised with.

`syncbar` relates each arrival to each wait of its instance.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from axioms.formula import BOTH, FALSE, TRUE, UP, Formula
from axioms.program import Event, Program
from axioms.relations import Executed, Paths, Relation, filled
from axioms.values import Lowering
from ptxcore.machine.effects import Effect
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

#: Threads that a warp counts for at a barrier.
WARP = 32


class Arrival(NamedTuple):
    """One barrier instruction: its arrival event, and its waiting event if it waits."""

    arrive: Event
    wait: Event | None
    effect: Effect
    executed: int


class Barriers:
    def __init__(self, program: Program, executed: Executed, lowering: Lowering, formula: Formula) -> None:
        self.program, self.lowering, self.formula = program, lowering, formula
        self.executed = executed
        self.together: dict[tuple[int, int], int] = {}  # arrivals (by event) -> literal of "in one instance"
        self.reductions: list[tuple[Arrival, list[Arrival]]] = []
        self.misuse: list[tuple[int, str]] = []
        self._rows: dict[int, dict[int, list[int]]] = {}
        # A thread that a loop bound stopped might still have arrived: then nobody is said to wait for ever.
        self.cut = formula.disj([lowering.condition(t.execution.cut) for t in program.threads], BOTH)
        groups: dict[tuple[int, int | None], list[Arrival]] = {}
        for arrival in self._arrivals():
            place = program.threads[arrival.arrive.thread].place
            groups.setdefault((place.cta, arrival.effect.instance), []).append(arrival)
        for (_, instance), members in groups.items():
            if instance is None:
                self._counted(members)
            else:
                self._named(members)
        self.syncbar = filled(self._rows, [0] * program.size, formula, BOTH)

    def _arrivals(self) -> Iterator[Arrival]:
        for made in self.program.by_effect:
            for events in made.values():
                first = events[0] if events else None
                if first is not None and first.effect is not None and "BA" in first.tags:
                    wait = events[1] if len(events) > 1 else None
                    yield Arrival(first, wait, first.effect, self.executed.literals[first.index])

    def _same(self, a: Value | None, b: Value | None) -> int:
        if a is None or b is None:
            return TRUE if a is b else FALSE
        return self.lowering.condition(terms.eq(a, b))

    def _edge(self, a: Arrival, b: Arrival, literal: int) -> None:
        if b.wait is not None and literal != FALSE:
            both = self.formula.conj(literal, self.executed.pair(a.arrive.index, b.wait.index), BOTH)
            if both != FALSE:
                self._rows.setdefault(a.arrive.index, {}).setdefault(b.wait.index, []).append(both)

    # The short dialect: instances by name.

    def _named(self, members: list[Arrival]) -> None:
        formula = self.formula
        position: dict[tuple[int, int], int] = {}
        for x, y in itertools.combinations(range(len(members)), 2):
            position[x, y] = formula.new()
            position[y, x] = -position[x, y]
        for x, y, z in itertools.permutations(range(len(members)), 3):
            if x < y and x < z:
                formula.add([-position[x, y], -position[y, z], position[x, z]])
        for y, b in enumerate(members):
            mates: list[tuple[int, int]] = []  # (other, literal of "executed and of the same barrier")
            for x, a in enumerate(members):
                if x != y:
                    same = self._same(a.effect.identity, b.effect.identity)
                    mates.append((x, formula.conj(same, a.executed, BOTH)))
            if b.wait is None:
                continue
            if b.effect.count is None:
                self._wait_for_all(b, members)
                for x, there in mates:
                    self._edge(members[x], b, there)
                continue
            self._wait_for_some(b, y, mates, members, position)

    def _wait_for_all(self, b: Arrival, members: list[Arrival]) -> None:
        """Without a count, every instruction of the same barrier must be reached (in some turn, if it is in a loop)."""
        instructions: dict[tuple[int, int], list[Arrival]] = {}
        for a in members:
            if type(a.effect.identity) is not Term:
                instructions.setdefault((a.arrive.thread, id(a.effect.instruction)), []).append(a)
        for copies in instructions.values():
            same = self._same(copies[0].effect.identity, b.effect.identity)
            self.formula.add([-b.executed, -same, self.cut, *[a.executed for a in copies]])

    def _wait_for_some(
        self,
        b: Arrival,
        y: int,
        mates: list[tuple[int, int]],
        members: list[Arrival],
        position: dict[tuple[int, int], int],
    ) -> None:
        """`b` passes when `count` have arrived: those before it, and if they are too few those next after it."""
        formula = self.formula
        seen = {x: formula.new() for x, _ in mates}
        for x, there in mates:
            formula.add([-seen[x], there])
            formula.add([-there, -position[x, y], seen[x]])
            for z, also in mates:
                if z != x:
                    formula.add([-seen[x], -also, -position[z, x], seen[z]])
            self._edge(members[x], b, seen[x])
        for count, holds in self._counts(b.effect.count):
            # At least count - 1 others: of any n - count + 2 others one is seen. More than there are: never.
            needed = count - 1
            if needed > len(mates):
                formula.add([-b.executed, -holds, self.cut])
            elif needed > 0:
                for some in itertools.combinations(seen.values(), len(mates) - needed + 1):
                    formula.add([-b.executed, -holds, self.cut, *some])

    def _counts(self, count: Value | None) -> list[tuple[int, int]]:
        """The numbers that a count can be, each with its literal. Only numbers up to the threads at hand tell apart."""
        if type(count) is int:
            return [(count, TRUE)]
        assert type(count) is Term
        possible = range(WARP * len(self.program.threads) + 1)
        found = [(n, self.lowering.condition(terms.eq(count, n))) for n in possible]
        rest = self.formula.conj_all((-l for _, l in found), BOTH)
        return [*found, (possible[-1] + 1, rest)]

    # PTX: instances by counting.

    def _counted(self, members: list[Arrival]) -> None:
        formula, lowering = self.formula, self.lowering
        most = max(sum(1 for m in members if m.arrive.thread == t) for t in {m.arrive.thread for m in members})
        bound = most if all(m.effect.count is None for m in members) else len(members)
        number = [[formula.new() for _ in range(bound)] for _ in members]
        if bound == 1:
            number = [[m.executed] for m in members]
        by_identity = [terms.zext(m.effect.identity, 32) if m.effect.identity is not None else 0 for m in members]
        for m, row in zip(members, number, strict=True):
            if bound > 1:
                formula.add([-m.executed, *row])
                formula.at_most_one(row)
                for l in row:
                    formula.add([-l, m.executed])
        same: dict[tuple[int, int], int] = {}
        for x, y in itertools.combinations(range(len(members)), 2):
            same[x, y] = same[y, x] = lowering.condition(terms.eq(by_identity[x], by_identity[y]))
        self._in_order(members, number, same, bound)
        misused = [self._misused(k, members, number, same) for k in range(bound)]
        for x, b in enumerate(members):
            self._complete(x, b, members, number, same, misused)
        self._join(members, number, same, bound)
        self._no_deadlock(members, number, same, bound)

    def _in_order(
        self, members: list[Arrival], number: list[list[int]], same: dict[tuple[int, int], int], bound: int
    ) -> None:
        """Numbers increase along each thread, and start at 0 without a gap."""
        formula = self.formula
        for x, y in itertools.combinations(range(len(members)), 2):
            if members[x].arrive.thread == members[y].arrive.thread:
                for k in range(bound):
                    for j in range(k + 1):
                        formula.add([-same[x, y], -number[x][k], -number[y][j]])
        for x in range(len(members)):
            for k in range(1, bound):
                earlier = [
                    formula.conj(number[y][k - 1], same[x, y] if x != y else TRUE, BOTH)
                    for y in range(len(members))
                    if y != x
                ]
                formula.add([-number[x][k], *earlier])

    def _complete(
        self,
        x: int,
        b: Arrival,
        members: list[Arrival],
        number: list[list[int]],
        same: dict[tuple[int, int], int],
        misused: list[list[tuple[int, int]]],
    ) -> None:
        """Where `b` waits in instance k, the instance has all its arrivals. A misused barrier owes nothing."""
        formula = self.formula
        places = [t.place for t in self.program.threads]
        cta = places[b.arrive.thread].cta
        threads = [t for t, p in enumerate(places) if p.cta == cta and not p.host]
        warps: dict[int, list[int]] = {}
        for t in threads:
            warps.setdefault(places[t].warp, []).append(t)
        broken = [self.cut]  # and literals of "this barrier was misused in an instance up to k"
        bound = len(misused)
        for k in range(bound):
            here = number[x][k]
            broken += [formula.conj(wrong, same[x, y] if x != y else TRUE, BOTH) for y, wrong in misused[k]]
            arrived = {t: self._arrived(t, x, k, members, number, same) for t in threads}
            if b.effect.count is None:
                if b.wait is not None:
                    for t in threads:
                        # A thread that does not arrive has exited: it has no arrival at this barrier from k on.
                        for y, m in enumerate(members):
                            if m.arrive.thread == t and y != x:
                                for j in range(k + 1, bound):
                                    formula.add([-here, -same[x, y], -number[y][j], arrived[t], *broken])
                continue
            present = [formula.disj([arrived[t] for t in mates], BOTH) for mates in warps.values()]
            for mates, some in zip(warps.values(), present, strict=True):
                for t in mates:  # a warp arrives as a whole
                    if b.wait is not None:
                        formula.add([-here, -some, arrived[t], *broken])
            for count, holds in self._counts(b.effect.count):
                whole = count // WARP if count % WARP == 0 else -1
                self._exactly(whole, present, [-here, -holds, *broken], b.wait is not None)

    def _arrived(
        self,
        thread: int,
        x: int,
        k: int,
        members: list[Arrival],
        number: list[list[int]],
        same: dict[tuple[int, int], int],
    ) -> int:
        """The literal of "this thread arrives in the instance in which member x is number k"."""
        mine = [
            self.formula.conj(number[y][k], same[x, y] if x != y else TRUE, BOTH)
            for y, m in enumerate(members)
            if m.arrive.thread == thread
        ]
        return self.formula.disj(mine, BOTH)

    def _exactly(self, wanted: int, present: list[int], unless: list[int], waits: bool) -> None:
        """`wanted` of `present` hold, or fewer where nobody waits; `unless` are literals that excuse."""
        formula = self.formula
        if wanted < 0 or wanted > len(present):
            if waits or wanted < 0:
                formula.add(list(unless))
            return
        for some in itertools.combinations(present, wanted + 1):
            formula.add([*unless, *[-l for l in some]])
        if waits and wanted > 0:
            for some in itertools.combinations(present, len(present) - wanted + 1):
                formula.add([*unless, *some])

    def _misused(
        self, k: int, members: list[Arrival], number: list[list[int]], same: dict[tuple[int, int], int]
    ) -> list[tuple[int, int]]:
        """Arrivals of instance k (by position) with the literal of "another one there disagrees with it".

        Arrivals of one instance that disagree on the count, or mix `red` with others, have no defined meaning.
        """
        found = []
        for (x, b), (y, m) in itertools.combinations(enumerate(members), 2):
            other_kind = (b.effect.barrier == "red") != (m.effect.barrier == "red")
            if (b.wait is None and m.wait is None) or same[x, y] == FALSE:
                continue
            if other_kind:
                differ = TRUE
            elif b.effect.count is not None and m.effect.count is not None:
                differ = -self.lowering.condition(terms.eq(b.effect.count, m.effect.count))
            else:
                differ = FALSE if b.effect.count is m.effect.count else TRUE
            if differ == FALSE:
                continue
            wrong = self.formula.conj_all([number[x][k], number[y][k], same[x, y], differ], BOTH)
            if wrong != FALSE:
                reason = "bar.red mixed with other barriers" if other_kind else "different thread counts"
                self.misuse.append((wrong, f"{reason} in one instance of a barrier"))
                found.append((x, wrong))
        return found

    def _join(
        self, members: list[Arrival], number: list[list[int]], same: dict[tuple[int, int], int], bound: int
    ) -> None:
        formula = self.formula
        for x, a in enumerate(members):
            for y, b in enumerate(members):
                if x == y:
                    self._edge(a, b, TRUE)
                    continue
                meet = [formula.conj_all([number[x][k], number[y][k], same[x, y]], BOTH) for k in range(bound)]
                literal = formula.disj(meet, BOTH)
                self.together[a.arrive.index, b.arrive.index] = literal
                self._edge(a, b, literal)
        for b in members:
            if b.effect.result is not None:
                self.reductions.append((b, members))

    def _no_deadlock(
        self, members: list[Arrival], number: list[list[int]], same: dict[tuple[int, int], int], bound: int
    ) -> None:
        """Program order, the order of instances, and waiting for arrivals form no cycle. One barrier alone never does."""
        identities = {m.effect.identity for m in members}
        if len(identities) == 1 and type(next(iter(identities))) is int:
            return
        size = self.program.size
        rows: dict[int, dict[int, list[int]]] = {
            i: {j: list(l) for j, l in row.items()} for i, row in self._rows.items()
        }
        for x, a in enumerate(members):
            for y, b in enumerate(members):
                if x != y:
                    earlier = [
                        self.formula.conj_all([number[x][j], number[y][k], same[x, y]], BOTH)
                        for k in range(bound)
                        for j in range(k)
                    ]
                    rows.setdefault(a.arrive.index, {}).setdefault(b.arrive.index, []).extend(earlier)
        dynamic = filled(rows, [0] * size, self.formula, UP)
        events = {e.index for m in members for e in (m.arrive, m.wait) if e is not None}
        mask = sum(1 << i for i in events)
        po = [row & mask if i in events else 0 for i, row in enumerate(self.program.relations["po"])]
        known = self.executed.known(po)
        merged = {i: dict(row) for i, row in dynamic.may.items()}
        for i, row in known.may.items():
            for j, l in row.items():
                merged.setdefault(i, {})[j] = self.formula.disj([l, merged[i][j]], UP) if j in merged.get(i, {}) else l
        must = [a | b for a, b in zip(known.must, dynamic.must, strict=True)]
        whole = Relation(must, merged)
        diagonal = [1 << i if i in events else 0 for i in range(size)]
        for _, _, literals in Paths(whole, self.executed, self.formula).paths(diagonal):
            for l in literals:
                self.formula.add([-l])

    # bar.red: the predicates of an instance, reduced.

    def data(self) -> Iterator[tuple[int, int, int]]:
        """The flow of predicates through `bar.red`: from each arrival to each other wait of its instance."""
        for b, members in self.reductions:
            assert b.wait is not None
            for a in members:
                if a.arrive is b.arrive:
                    yield a.arrive.index, b.wait.index, b.executed
                else:
                    yield a.arrive.index, b.wait.index, self.together[a.arrive.index, b.arrive.index]

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
            part = [
                (TRUE if a is b else self.together[a.arrive.index, b.arrive.index], lowering.truth(a.effect.operand))
                for a in members
            ]
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

    def _tie_count(self, b: Arrival, votes: list[int]) -> None:
        assert b.effect.result is not None
        choices = self.lowering.value(b.effect.result)
        self.formula.add([-b.executed, *choices.values()])
        for count, chosen in choices.items():
            self._exactly(count, votes, [-b.executed, -chosen, self.cut], True)

"""Barriers of CTAs with numbers of threads: which arrivals are in which instance, as literals, by counting warps.

A warp arrives as a whole (PTX ISA 9.0, section 9.7.13.1), so its threads that execute the same barriers under the same
conditions are in the same instances: what is asked of one of them is asked of all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from axioms.events.encounters import WARP
from axioms.events.event import BarrierMisuse
from axioms.sat.formula import BOTH, FALSE, TRUE
from axioms.sync.arrivals import DIFFERENT_COUNTS, DIVERGENT, EARLY, BarrierArrival, Gathered, mixed
from ptxcore.values import terms
from ptxcore.values.terms import Term


class BarrierInstances:
    """Barriers of one CTA, by counting: `number[x][k]` is the literal of "member x is in instance k of its barrier"."""

    def __init__(self, whole: Gathered, threads: list[int], members: list[BarrierArrival]) -> None:
        self.whole, self.formula, self.threads, self.members = whole, whole.formula, threads, members
        by_thread: dict[int, list[int]] = {}
        for x, m in enumerate(members):
            by_thread.setdefault(m.arrive.thread, []).append(x)
        self.by_thread = by_thread
        self.bound = self._bound()
        #: For each member the first of those that it arrives with, in its warp, whatever the execution; and by such a first one
        #: all of them.
        self.first = self._firsts()
        self.mates: dict[int, list[int]] = {}
        for x, first in enumerate(self.first):
            self.mates.setdefault(first, []).append(x)
        self._say_together()
        rows = {x: self._numbers(members[x]) for x in self.mates}
        self.number = [rows[first] for first in self.first]
        self.same = self._same_barrier()
        self._in_order()
        self._arrived: dict[tuple[int, int, int], int] = {}
        #: By instance, arrivals there that wait for nobody with the literal of "another one disagrees on the count".
        self.disagreed: dict[int, list[tuple[int, int]]] = {}
        misused = [self._misused(k) for k in range(self.bound)]
        for x in self.mates:
            self._complete(x, misused)
        self._join()
        self._renew()
        self._diverge()

    def _firsts(self) -> list[int]:
        """Threads of a warp whose arrivals so far are the same are together at the next one."""
        firsts: dict[tuple[object, ...], int] = {}
        found = [0] * len(self.members)
        for t, mine in self.by_thread.items():
            so_far: tuple[object, ...] = (self.whole.program.threads[t].place.warp,)
            for x in mine:
                m = self.members[x]
                unequal = self.whole.odd.get(m.arrive.index) or m.effect.result is not None
                same = (id(m.effect.instruction), m.executed, m.passes, m.effect.identity, m.effect.count)
                so_far = (*so_far, x if unequal else same)
                found[x] = firsts.setdefault(so_far, x)
        return found

    def _say_together(self) -> None:
        """What is over at once for the threads of a warp."""
        for x, first in enumerate(self.first):
            a, b = self.members[first], self.members[x]
            self.whole.at_once[b.arrive.index] = a.arrive.index
            if a.wait is not None and b.wait is not None:
                self.whole.at_once[b.wait.index] = a.wait.index

    def _bound(self) -> int:
        """More instances than this there are not. In each that is complete, as many warps as its count says take part, each
        with all of its threads that have not exited."""
        most = max(map(len, self.by_thread.values()))
        counts = {m.effect.count for m in self.members}
        if counts == {None}:
            return most
        warps: dict[int, int] = {}
        for t, mine in self.by_thread.items():
            warp = self.whole.program.threads[t].place.warp
            warps[warp] = max(warps.get(warp, 0), len(mine))
        smallest = min(max(1, c // WARP) if type(c) is int else 1 for c in counts)
        return max(most, sum(warps.values()) // smallest + 1)

    def _numbers(self, m: BarrierArrival) -> list[int]:
        if self.bound == 1:
            return [m.executed]
        row = [self.formula.new() for _ in range(self.bound)]
        self.formula.add([-m.executed, *row])
        self.formula.at_most_one(row)
        for l in row:
            self.formula.add([-l, m.executed])
        return row

    def _same_barrier(self) -> list[list[int]]:
        """For each two members the literal of "at one barrier"."""
        identities = [terms.zext(m.effect.identity or 0, 32) for m in self.members]
        if all(i is identities[0] or i == identities[0] for i in identities if type(i) is int) and not any(
            type(i) is Term for i in identities
        ):
            return [[TRUE] * len(identities)] * len(identities)
        return [[self.whole.lowering.condition(terms.eq(a, b)) for b in identities] for a in identities]

    def _in_order(self) -> None:
        """Numbers increase along each thread, and start at 0 without a gap."""
        formula, number, same = self.formula, self.number, self.same
        for mine in self._unlike_threads():
            for x, y in itertools.combinations(mine, 2):
                for k in range(self.bound):
                    for j in range(k + 1):
                        formula.add([-same[x][y], -number[x][k], -number[y][j]])
        for x in self.mates:
            for k in range(1, self.bound):
                earlier = [formula.conj(number[y][k - 1], same[x][y], BOTH) for y in self.mates if y != x]
                formula.add([-number[x][k], *earlier])

    def _unlike_threads(self) -> Iterable[Sequence[int]]:
        """The members of each thread, of those that do the same only once."""
        return {tuple([self.first[x] for x in mine]): mine for mine in self.by_thread.values()}.values()

    def _complete(self, x: int, misused: list[list[tuple[int, int]]]) -> None:
        """Where member x waits in instance k, the instance has all its arrivals. A misused barrier owes nothing."""
        formula, b = self.formula, self.members[x]
        places = [t.place for t in self.whole.program.threads]
        warps: dict[int, list[int]] = {}
        for t in self.threads:
            warps.setdefault(places[t].warp, []).append(t)
        broken = list(self.whole.odd.get(b.arrive.index, ()))
        for k in range(self.bound):
            arrives = self.number[x][k]
            passes = FALSE if b.wait is None else formula.conj(arrives, b.passes, BOTH)
            broken += [formula.conj(wrong, self.same[x][y], BOTH) for y, wrong in misused[k]]
            for y in self.mates:
                for wrong in self.whole.odd.get(self.members[y].arrive.index, ()) if y != x else ():
                    broken.append(formula.conj_all((wrong, self.same[x][y], self.number[y][k]), BOTH))
            arrived = {t: self.arrived(t, x, k) for t in self.threads}
            present = [formula.disj([arrived[t] for t in mates], BOTH) for mates in warps.values()]
            if b.effect.count is None:
                for t in self.threads:
                    self._left_before(t, x, k, arrived[t], passes, [-passes, *broken])
                continue
            for mates, some in zip(warps.values(), present, strict=True):
                for t in mates:  # a warp arrives as a whole, but for those of its threads that have exited
                    here = formula.conj(passes, some, BOTH)
                    self._left_before(t, x, k, arrived[t], here, [-here, *broken])
            if b.wait is None:
                self._with_its_warp(x, k, warps[places[b.arrive.thread].warp], broken)
            coming = self._may_still_come(x, k, arrived)
            crowded = [formula.conj(wrong, self.same[x][y], BOTH) for y, wrong in self.disagreed.get(k, ())]
            for count, holds in self.whole.counts(b.effect.count):
                self._at_most(count, present, [-holds, *broken, *crowded], arrives)
                self._at_least(count, present, [-holds, *broken], passes, coming)

    def _left_before(self, t: int, x: int, k: int, arrived: int, passes: int, unless: list[int]) -> None:
        """A thread that does not arrive in instance k has exited: it has no arrival at this barrier from there on."""
        if arrived == TRUE:
            return
        for y in self.by_thread.get(t, ()):
            if y != x:
                for j in range(k + 1, self.bound):
                    self.formula.add([*unless, -self.same[x][y], -self.number[y][j], arrived])
        self.whole.exits(t, self.members[x].wait, self.formula.conj(passes, -arrived, BOTH))

    def _with_its_warp(self, x: int, k: int, mates: Sequence[int], broken: list[int]) -> None:
        """Who arrives without waiting for others, and goes on, has its warp there too, but for those who have exited."""
        over = self.whole.lowering.condition(self.members[x].effect.complete)
        goes_on = self.formula.conj(self.number[x][k], over, BOTH)
        for t in mates:
            self._left_before(t, x, k, self.arrived(t, x, k), FALSE, [-goes_on, *broken])

    def _may_still_come(self, x: int, k: int, arrived: Mapping[int, int]) -> int:
        """The literal of "some thread was stopped before it could arrive in the instance in which member x is number k"."""
        formula, found = self.formula, []
        for t in self.threads:
            if self.whole.stopped[t] != FALSE:
                later = [
                    formula.conj(self.same[x][y], self.number[y][j], BOTH)
                    for y in self.by_thread.get(t, ())
                    for j in range(k + 1, self.bound)
                ]
                absent = (-arrived[t], -formula.disj(later, BOTH))
                found.append(formula.conj_all((self.whole.stopped[t], *absent), BOTH))
        return formula.disj(found, BOTH)

    def arrived(self, thread: int, x: int, k: int) -> int:
        """The literal of "this thread arrives in the instance in which member x is number k"."""
        key = (thread, -1 if self.same[x] is self.same[0] else x, k)
        known = self._arrived.get(key)
        if known is None:
            mine = [self.formula.conj(self.number[y][k], self.same[x][y], BOTH) for y in self.by_thread.get(thread, ())]
            known = self._arrived[key] = self.formula.disj(mine, BOTH)
        return known

    def _at_most(self, count: int, present: list[int], unless: list[int], arrives: int) -> None:
        """No more warps than `count` asks for are present. One that is no multiple of warps is misuse."""
        at_least = self.formula.count(present, count // WARP + 1)
        if count % WARP == 0 and count // WARP + 1 < len(at_least):
            self.formula.add([*unless, -arrives, -at_least[count // WARP + 1]])

    def _at_least(self, count: int, present: list[int], unless: list[int], passes: int, coming: int) -> None:
        """As many warps as `count` asks for are present, or fewer where nobody waits or some may still be `coming`."""
        if count % WARP == 0:
            at_least = self.formula.count(present, count // WARP + 1)
            enough = at_least[count // WARP] if count // WARP < len(at_least) else FALSE
            self.formula.add([*unless, -passes, coming, enough])

    def _misused(self, k: int) -> list[tuple[int, int]]:
        """Arrivals of instance k (by position) with the literal of "another one there disagrees with it".

        Arrivals of one instance that disagree on the count, mix `red` with others, or reduce in different ways, have no defined
        meaning.
        """
        found = []
        for (x, b), (y, m) in itertools.combinations([(x, self.members[x]) for x in self.mates], 2):
            differ = self._disagree(b, m)
            wrong = self.formula.conj_all([self.number[x][k], self.number[y][k], self.same[x][y], differ], BOTH)
            if wrong != FALSE and b.wait is None and m.wait is None:
                self._disagree_early(x, y, k, wrong)
            elif wrong != FALSE:
                reason = mixed(b.effect, m.effect) or DIFFERENT_COUNTS
                self.whole.misuse.append(BarrierMisuse(wrong, reason, (b.arrive, m.arrive)))
                found.append((x, wrong))
        return found

    def _disagree_early(self, x: int, y: int, k: int, together: int) -> None:
        """Two that wait for nobody and disagree on the count come to one instance, `together`. It was not complete by then: no
        more warps come there than one of them asks for, who came first; and the instances before it are. Nobody goes on only
        since they do."""
        formula, whole = self.formula, self.whole
        together = formula.conj_all([together, *[self._are_full(x, j) for j in range(k)]], BOTH)
        if together == FALSE:
            return
        first, second = self._has_room(x, k), self._has_room(y, k)
        for one, other, only in ((x, y, (first, -second)), (y, x, (second, -first))):
            order = formula.conj_all([together, *only], BOTH)
            for a, b in itertools.product(self.mates[one], self.mates[other]):
                whole.relate(whole.order, self.members[a].arrive, self.members[b].arrive, order)
        wrong = formula.conj(together, formula.disj([first, second], BOTH), BOTH)
        if wrong != FALSE:
            whole.early.append(BarrierMisuse(wrong, DIFFERENT_COUNTS, (self.members[x].arrive, self.members[y].arrive)))
            self.disagreed.setdefault(k, []).append((x, wrong))

    def _has_room(self, x: int, k: int) -> int:
        """The literal of "no more warps come to the instance in which member x is number k than it asks for"."""
        present = self._present(x, k)
        at_least = self.formula.count(present, len(present))
        enough = [
            self.formula.conj(holds, -at_least[count // WARP + 1] if count // WARP + 1 < len(at_least) else TRUE, BOTH)
            for count, holds in self.whole.counts(self.members[x].effect.count)
        ]
        return self.formula.disj(enough, BOTH)

    def _are_full(self, x: int, k: int) -> int:
        """The literal of "whoever comes to instance k of the barrier of member x finds as many warps there as it asks for"."""
        formula, full = self.formula, []
        for y, b in ((y, self.members[y]) for y in self.mates if self.members[y].effect.count is not None):
            at_least = formula.count(self._present(y, k), len(self.threads))
            enough = [
                formula.conj(holds, at_least[count // WARP] if count // WARP < len(at_least) else FALSE, BOTH)
                for count, holds in self.whole.counts(b.effect.count)
            ]
            full.append(formula.disj([-self.number[y][k], -self.same[x][y], *enough], BOTH))
        return formula.conj_all(full, BOTH)

    def _present(self, x: int, k: int) -> list[int]:
        """Of each warp the literal of "some thread of it arrives in the instance in which member x is number k"."""
        warps: dict[int, list[int]] = {}
        for t in self.threads:
            warps.setdefault(self.whole.program.threads[t].place.warp, []).append(self.arrived(t, x, k))
        return [self.formula.disj(some, BOTH) for some in warps.values()]

    def _disagree(self, b: BarrierArrival, m: BarrierArrival) -> int:
        if mixed(b.effect, m.effect):
            return TRUE
        if b.effect.count is not None and m.effect.count is not None:
            return -self.whole.lowering.condition(terms.eq(b.effect.count, m.effect.count))
        return FALSE if b.effect.count is m.effect.count else TRUE

    def _join(self) -> None:
        formula, number, same = self.formula, self.number, self.same
        for x, y in itertools.product(self.mates, repeat=2):
            meet = [formula.conj_all([number[x][k], number[y][k], same[x][y]], BOTH) for k in range(self.bound)]
            literal = formula.disj(meet, BOTH)
            earlier = [
                formula.conj_all([number[x][k], number[y][k + 1], same[x][y]], BOTH) for k in range(self.bound - 1)
            ]
            before = FALSE if x == y else formula.disj(earlier)
            for a, b in itertools.product(*[[self.members[z] for z in self.mates[first]] for first in (x, y)]):
                self.whole.edge(a, b, TRUE if a is b else literal)
                if a is not b:
                    self.whole.meet(a.arrive, b.arrive, literal)
                    self.whole.relate(self.whole.order, a.arrive, b.arrive, before)
        self.whole.reduce(self.members)

    def _diverge(self) -> None:
        """Threads of one warp come to an aligned barrier by one instruction."""
        for (x, a), (y, b) in itertools.combinations([(x, self.members[x]) for x in self.mates], 2):
            if self.whole.diverge(a.arrive, b.arrive):
                meet = [
                    self.formula.conj_all([self.number[x][k], self.number[y][k], self.same[x][y]], BOTH)
                    for k in range(self.bound)
                ]
                self.whole.misuse.append(BarrierMisuse(self.formula.disj(meet, BOTH), DIVERGENT, (a.arrive, b.arrive)))

    def _renew(self) -> None:
        """Who arrives again without having waited must know in another way that everybody has come, and they must have."""
        formula = self.formula
        for mine in self._unlike_threads():
            for x, y in itertools.combinations(mine, 2):
                if self.members[x].wait is None:
                    for k in range(self.bound - 1):
                        here = [self.number[x][k], self.number[y][k + 1], self.same[x][y]]
                        both = formula.conj_all(here, BOTH)
                        if both != FALSE:
                            self._renewed(x, y, k, both)

    def _renewed(self, x: int, y: int, k: int, both: int) -> None:
        formula, whole, b = self.formula, self.whole, self.members[y]
        for z, other in enumerate(self.members):
            together = formula.conj_all([both, self.number[z][k], self.same[x][z]], BOTH)
            for again in self.mates[self.first[y]]:
                whole.relate(whole.renewed, other.arrive, self.members[again].arrive, together)
        present = self._present(x, k)
        at_least = formula.count(present, len(present))
        for count, holds in whole.counts(self.members[x].effect.count):
            enough = at_least[count // WARP] if count // WARP < len(at_least) else FALSE
            early = formula.conj_all([both, holds, -enough], BOTH)
            if early != FALSE:
                whole.early.append(BarrierMisuse(early, EARLY, (self.members[x].arrive, b.arrive)))

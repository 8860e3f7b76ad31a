"""Who stops because nobody schedules him, as clauses: progress models, and how many CTAs run at once.

A thread comes as far as its scheduler lets it (`Blocking.alive`); one that stops short of its end, and does not wait,
is one that need not be scheduled fairly. With `resident = N`, CTAs of a GPU that have begun and have not ended are at most
N at any time. Times are two points for each CTA, its first step and its end, in one order:

    a CTA begins before it ends; one that another reads from has begun before that other ends
    at the beginning of each CTA, at most N - 1 others of its GPU have begun and have not ended

A CTA that has not begun is not waited for by the scheduler where N others of its GPU never end.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from axioms.encode.encoding import Encoding
from axioms.errors import UnsupportedProgram
from axioms.liveness.blocking import Blocking
from axioms.liveness.progress import Progress, Residents, Status, fairly_scheduled, residents
from axioms.sat.formula import BOTH, FALSE, TRUE, Formula

#: Orders of more CTAs than these are not written down.
_MOST_CTAS = 20


class Literals:
    """Truth values that are literals of a formula."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula

    def all_of(self, values: Sequence[int]) -> int:
        return self.formula.conj_all(values, BOTH)

    def any_of(self, values: Sequence[int]) -> int:
        return self.formula.disj(values, BOTH)

    def negate(self, value: int) -> int:
        return -value


class Scheduling:
    """`stopped` has for each thread the literal of "it stops and is not scheduled any more"."""

    def __init__(self, blocking: Blocking, encoding: Encoding, progress: Progress, resident: int | None) -> None:
        self.blocking, self.encoding, self.formula = blocking, encoding, encoding.formula
        self.logic = Literals(encoding.formula)
        self.places = [t.place for t in blocking.program.threads]
        comes = [[encoding.truth(symbol) for symbol in alive] if len(alive) > 1 else [TRUE] for alive in blocking.alive]
        for alive in comes:
            for a, b in itertools.pairwise(alive):
                self.formula.add([-b, a])
        self.stopped = [-alive[-1] for alive in comes]
        self.ends = [encoding.truth(e) for e in blocking.ends]
        launching = blocking.launching
        begins = [TRUE if launching is None else encoding.truth(launching.of(t)) for t in range(len(comes))]
        for stopped, begun in zip(
            self.stopped, begins, strict=True
        ):  # who has not begun waits for that, and for nothing else
            self.formula.add([-stopped, begun])
        self.started = [self.logic.all_of([alive[0], begun]) for alive, begun in zip(comes, begins, strict=True)]
        may = [TRUE] * len(comes) if resident is None else self._resident(resident)
        able = [self.logic.all_of([-end, *can]) for end, *can in zip(self.ends, may, begins, strict=True)]
        fair = fairly_scheduled(self.places, progress, Status(self.started, able), self.logic)
        for stopped, must, can in zip(self.stopped, fair.threads, able, strict=True):
            self.formula.add([-stopped, -must, -can])
        for must, group in fair.groups:
            self.formula.add([-must, *[self.logic.all_of([able[t], -self.stopped[t]]) for t in group]])

    def _resident(self, resident: int) -> list[int]:
        """Of each thread the literal of "its CTA has begun, or there is room for it"."""
        formula, groups = self.formula, residents(self.places)
        if len(groups) > _MOST_CTAS:
            raise UnsupportedProgram(f"resident CTAs of a grid of more than {_MOST_CTAS} are not supported")
        begun = [formula.disj([self.started[t] for t in g.threads], BOTH) for g in groups]
        ended = [formula.conj_all([self.ends[t] for t in g.threads], BOTH) for g in groups]
        live = [formula.conj_all([b, -e], BOTH) for b, e in zip(begun, ended, strict=True)]
        for literal, g in zip(begun, groups, strict=True):
            if g.size > resident:
                formula.add([-literal])
        self._in_time(groups, begun, live, resident)
        may = [TRUE] * len(self.places)
        for i, g in enumerate(groups):
            slots = [
                literal
                for j, literal in enumerate(live)
                for _ in range(groups[j].size)
                if j != i and groups[j].gpu == g.gpu
            ]
            room = resident - g.size
            too_many = formula.count(slots, room + 1)
            full = too_many[room + 1] if 0 <= room + 1 < len(too_many) else (FALSE if room >= 0 else TRUE)
            for t in g.threads:
                may[t] = formula.disj([begun[i], -full], BOTH)
        return may

    def _runs_before(self, thread: int, other: int) -> bool:
        """Whether the kernel of one thread ends before that of another begins."""
        launching = self.blocking.launching
        if launching is None:
            return False
        streams = launching.streams
        a, b = streams.of_thread.get(thread), streams.of_thread.get(other)
        if a is None or b is None or a not in streams.before(b):
            return False
        return a in streams.after(b) or not any(effects for _, effects in launching.streams.letting(a))

    def _in_time(self, groups: list[Residents], begun: list[int], live: list[int], resident: int) -> None:
        """There is an order of beginnings and ends in which no more run at once, and nobody reads what is not there yet."""
        formula, count = self.formula, len(begun)
        sizes, threads = [g.size for g in groups], [g.threads for g in groups]
        if all(sum(g.size for g in groups if g.gpu == gpu) <= resident for gpu in {g.gpu for g in groups}):
            return
        order: dict[tuple[int, int], int] = {}
        for p, q in itertools.combinations(range(2 * count), 2):  # 2c: c begins; 2c + 1: it ends
            order[p, q] = formula.new()
            order[q, p] = -order[p, q]
        for p, q, r in itertools.permutations(range(2 * count), 3):
            formula.add([-order[p, q], -order[q, r], order[p, r]])
        for c in range(count):
            formula.add([order[2 * c, 2 * c + 1]])
            running = []
            for d in range(count):
                if d != c:
                    formula.add([-live[d], order[2 * c, 2 * d + 1]])  # who never ends has not ended before
                if d != c and groups[d].gpu == groups[c].gpu:
                    running += sizes[d] * [
                        formula.conj_all([begun[d], order[2 * d, 2 * c], order[2 * c, 2 * d + 1]], BOTH)
                    ]
            room = resident - sizes[c]
            if 0 <= room < len(running):
                formula.add([-begun[c], -formula.count(running, room + 1)[room + 1]])
        for c, d in itertools.permutations(range(count), 2):
            if self._runs_before(threads[c][0], threads[d][0]):
                formula.add([-begun[d], order[2 * c + 1, 2 * d]])
        cta = {t: c for c, some in enumerate(threads) for t in some}
        events = self.blocking.program.events
        for (r, _), sources in self.encoding.rf.items():
            c = cta.get(events[r].thread, -1)
            for w, literal in sources.items():
                d = cta.get(events[w].thread, -1)
                if min(c, d) >= 0 and c != d and literal != FALSE:
                    formula.add([-literal, -self.encoding.executed.literals[r], order[2 * d, 2 * c + 1]])

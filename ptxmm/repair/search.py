"""All weakest sets of changes with which the checks hold, cheapest first.

A vector chooses an option at each site. One that fails because some execution is wrong rules out every vector that is nowhere
stronger: what is weaker allows that execution too (docs/repair.md says why). The failing vector is first made as strong as it
can be and still fails, so that it rules out much. What is left is searched for its cheapest vector (a minimal hitting set,
by Z3); that one is checked, and when it holds, so is each vector that is one step weaker: none of them may hold. A vector that
fails for another reason (a barrier that nobody passes) rules out itself alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import z3

from ptxmm.repair.sites import Site, Vector


class Judgement(NamedTuple):
    """What became of the checks: all `hold`, or not, or (None) nobody knows. `wrong`: some execution shows it, or two accesses
    race. `failed` names the checks that fail. `bounded`: what holds rests on bounds of loops."""

    holds: bool | None
    wrong: bool = False
    failed: tuple[str, ...] = ()
    bounded: bool = False
    reason: str = ""


class Step(NamedTuple):
    """A site of a solution, one step weaker, and the checks that fail then."""

    site: int
    option: int
    failed: tuple[str, ...]


@dataclass
class Solution:
    """A vector with which the checks hold, and what shows that nothing of it can be left out."""

    vector: Vector
    cost: int
    needs: tuple[Step, ...]
    bounded: bool = False
    #: Whether each step weaker is known to fail.
    minimal: bool = True


@dataclass
class Search:
    """The search over `sites`, whose vectors `check` judges. `most`: so many sites at most may be changed.

    `exhausted` is True once nothing more can be found and everything was decided; `undecided` counts vectors that were not."""

    sites: Sequence[Site]
    check: Callable[[Vector], Judgement]
    most: int | None = None
    asked: int = 0
    undecided: int = 0
    exhausted: bool = False
    #: A weaker vector held where a stronger one failed: nothing is concluded from failures then.
    upside_down: bool = False
    told: Callable[[str], None] = lambda _: None
    _known: dict[Vector, Judgement] = field(default_factory=dict)

    def judge(self, vector: Vector) -> Judgement:
        """The judgement of a vector, once. Raises OutOfTime."""
        known = self._known.get(vector)
        if known is None:
            self.asked += 1
            known = self._known[vector] = self.check(vector)
            self.undecided += known.holds is None
            self.told(f"{self.asked} texts checked")
        return known

    def solutions(self) -> Iterator[Solution]:
        """Each weakest vector that holds, as it is found, the cheapest first. Raises OutOfTime, KeyboardInterrupt: what came
        before counts."""
        self._choices()
        while (vector := self._next()) is not None:
            judged = self.judge(vector)
            if judged.holds:
                found = self._descend(vector)
                self._rule_out_above(found.vector)
                yield found
            elif judged.wrong:
                self._rule_out_below(self._grown(vector))
            else:
                self._rule_out(vector)
        self.exhausted = not self.undecided and not self.upside_down

    # The formula: who is chosen at each site.

    def _choices(self) -> None:
        self._chosen = [[z3.Bool(f"{s}.{o}") for o in range(1, len(site.options))] for s, site in enumerate(self.sites)]
        self._solver = z3.Optimize()
        for chosen in self._chosen:
            if len(chosen) > 1:
                self._solver.add(z3.AtMost(*chosen, 1))
        every = [(v, site.options[o].cost) for chosen, site in zip(self._chosen, self.sites, strict=True)
                 for o, v in enumerate(chosen, 1)]  # fmt: skip
        if every:
            self._solver.minimize(z3.Sum([z3.If(v, cost, 0) for v, cost in every]))
            if self.most is not None:
                self._solver.add(z3.AtMost(*(v for v, _ in every), self.most))

    def _literal(self, site: int, option: int) -> z3.BoolRef:
        return self._chosen[site][option - 1]

    def _next(self) -> Vector | None:
        if self._solver.check() != z3.sat:
            return None
        model = self._solver.model()
        return tuple(next((o for o, v in enumerate(chosen, 1) if z3.is_true(model[v])), 0) for chosen in self._chosen)

    def _rule_out(self, vector: Vector) -> None:
        different = [
            z3.Not(self._literal(s, o)) if o else z3.Or(self._chosen[s])
            for s, o in enumerate(vector)
            if self._chosen[s]
        ]
        self._solver.add(z3.Or(different))

    def _rule_out_below(self, vector: Vector) -> None:
        """Some site must be stronger, or another way, than in a vector that fails."""
        self._solver.add(z3.Or([
            self._literal(s, o)
            for s, site in enumerate(self.sites)
            for o in range(1, len(site.options))
            if not site.at_most(o, vector[s])
        ]))  # fmt: skip

    def _rule_out_above(self, vector: Vector) -> None:
        """What is as strong everywhere is no further answer."""
        weaker = [
            z3.Not(z3.Or([self._literal(s, o) for o in range(1, len(site.options)) if site.at_most(vector[s], o)]))
            for s, site in enumerate(self.sites)
            if vector[s]
        ]
        self._solver.add(z3.Or(weaker))

    # From what fails upwards, and from what holds downwards.

    def _grown(self, vector: Vector) -> Vector:
        """A vector as strong that is wrong, and is as strong as can be, as far as whole groups of sites are tried."""
        current = list(vector)
        waiting = [list(range(len(self.sites)))]
        while waiting:
            group = waiting.pop()
            if len(group) == 1:
                self._raised(current, group[0])
                continue
            tried = list(current)
            for s in group:
                tried[s] = next(
                    (o for o in self.sites[s].highest() if self.sites[s].at_most(current[s], o)), current[s]
                )
            if tried == current:
                continue
            if self._wrong(tuple(tried)):
                current = tried
            else:
                half = len(group) // 2
                waiting += [group[half:], group[:half]]
        return tuple(current)

    def _raised(self, current: list[int], s: int) -> None:
        """Makes one site as strong as can be, the strongest first."""
        site = self.sites[s]
        for option in sorted(range(len(site.options)), key=lambda o: -len(site.below[o])):
            if option != current[s] and site.at_most(current[s], option):
                tried = [*current[:s], option, *current[s + 1 :]]
                if self._wrong(tuple(tried)):
                    current[s] = option
                    return

    def _wrong(self, vector: Vector) -> bool:
        return self.judge(vector).wrong

    def _descend(self, vector: Vector) -> Solution:
        """The vector, or a weaker one that holds; each step weaker fails."""
        current = list(vector)
        needs: list[Step] = []
        known = again = True
        while again:
            again, needs, known = False, [], True
            for s, o in enumerate(current):
                for lower in self.sites[s].under(o):
                    tried = (*current[:s], lower, *current[s + 1 :])
                    judged = self.judge(tried)
                    if judged.holds:  # cheaper, and ruled out: by a failure of something stronger
                        self.upside_down = True
                        current, again = list(tried), True
                        break
                    known = known and judged.holds is False
                    needs.append(Step(s, lower, judged.failed))
                if again:
                    break
        final = tuple(current)
        cost = sum(site.options[o].cost for site, o in zip(self.sites, final, strict=True))
        return Solution(final, cost, tuple(needs), self.judge(final).bounded, known)

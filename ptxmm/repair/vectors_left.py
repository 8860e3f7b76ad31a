"""Which vectors are left: those that nothing judged so far rules out, as a formula over who is chosen at each site."""

from __future__ import annotations

from collections.abc import Sequence

import z3

from ptxcore.clock import LONGEST, OutOfTime
from ptxmm.repair.arrivals import MOST_ARRIVALS
from ptxmm.repair.sites import EditSite, Vector

#: Assumed to be false while vectors that were put off are none to judge.
_PUT_OFF = z3.Bool("put off")


def _up_to(arrivals: int) -> z3.BoolRef:
    return z3.Bool(f"up to {arrivals}")


class VectorsLeft:
    """The vectors over `sites` that are left, of which at most so many sites change (`most`; None: any number). `rounds`: with
    up to how many arrivals they are asked for, one after the other."""

    def __init__(self, sites: Sequence[EditSite], most: int | None) -> None:
        self.sites, self.most = sites, most
        self._chosen = [[z3.Bool(f"{s}.{o}") for o in range(1, len(site.options))] for s, site in enumerate(self.sites)]
        self._solver = z3.Optimize()
        arriving = [(v, option.arrives) for chosen, site in zip(self._chosen, self.sites, strict=True)
                    for v, option in zip(chosen, site.options[1:], strict=True) if option.arrives]  # fmt: skip
        self.rounds = range(1, MOST_ARRIVALS + 1) if arriving else range(1)
        for most in self.rounds if arriving else ():
            self._solver.add(z3.Implies(_up_to(most), z3.PbLe(arriving, most)))
        for chosen in self._chosen:
            if len(chosen) > 1:
                self._solver.add(z3.AtMost(*chosen, 1))
        every = self._priced()
        if every:
            self._solver.minimize(z3.Sum([z3.If(v, cost, 0) for v, cost in every]))
            if self.most is not None:
                self._solver.add(z3.AtMost(*(v for v, _ in every), self.most))

    def _priced(self) -> list[tuple[z3.BoolRef, int]]:
        """Each literal with what its option costs."""
        return [(v, site.options[o].cost) for chosen, site in zip(self._chosen, self.sites, strict=True)
                for o, v in enumerate(chosen, 1)]  # fmt: skip

    def ask_for_less_than(self, cost: int) -> None:
        """Leaves only what costs less."""
        self._solver.add(z3.PbLe([(v, price) for v, price in self._priced() if price], cost - 1))

    def _literal(self, site: int, option: int) -> z3.BoolRef:
        return self._chosen[site][option - 1]

    def next(self, arrivals: int, *, put_off: bool = True, seconds: float | None = None) -> Vector | None:
        """The cheapest vector that is left, with so many arrivals at most; of those that were `put_off`, too, or not. Raises
        OutOfTime where that takes longer than so many seconds."""
        assumed = [_up_to(arrivals)] * bool(arrivals) + [z3.Not(_PUT_OFF)] * (not put_off)
        if seconds is not None:
            self._solver.set("timeout", max(1, int(min(seconds, LONGEST) * 1000)))
        found = self._solver.check(*assumed)
        if found == z3.unknown:
            raise OutOfTime
        if found == z3.unsat:
            return None
        model = self._solver.model()
        return tuple(next((o for o, v in enumerate(chosen, 1) if z3.is_true(model[v])), 0) for chosen in self._chosen)

    def rule_out(self, vector: Vector) -> None:
        """This one alone is not left."""
        self._solver.add(z3.Or(self._other_than(vector)))

    def put_off(self, vector: Vector) -> None:
        """This one alone comes later."""
        self._solver.add(z3.Or(*self._other_than(vector), _PUT_OFF))

    def _other_than(self, vector: Vector) -> list[z3.BoolRef]:
        return [
            z3.Not(self._literal(s, o)) if o else z3.Or(self._chosen[s])
            for s, o in enumerate(vector)
            if self._chosen[s]
        ]

    def rule_out_below(self, vector: Vector, failed: Vector, wrong: bool) -> None:
        """Some site must be stronger, or another way, than in a vector that fails and was grown from `failed`; or what changes
        how other barriers are met is not there, or any barrier where threads wait and nothing is `wrong`."""
        stronger = [
            self._literal(s, o)
            for s, site in enumerate(self.sites)
            for o in range(1, len(site.options))
            if not site.at_most(o, vector[s])
        ]
        met = [(s, o) for s, o in enumerate(failed) if o and (self._alters(s, o) or (not wrong and self._meets(s, o)))]
        away = [z3.Not(self._literal(s, o)) for s, o in met]
        self._solver.add(z3.Or(stronger + away))

    def rule_out_as_nonterminating(self, vector: Vector) -> None:
        """Of a vector in which no execution ends: some site must be weaker, or others meet at barriers, than they do there."""
        other = []
        for s, site in enumerate(self.sites):
            stronger = [o for o in range(len(site.options)) if site.at_most(vector[s], o)]
            same = [o for o in stronger if o == vector[s] or not self._alters(s, o)]
            other += [self._literal(s, o) for o in range(1, len(site.options)) if o not in same]
            if 0 not in same and self._chosen[s]:
                other.append(z3.Not(z3.Or(self._chosen[s])))
        self._solver.add(z3.Or(other))

    def _meets(self, site: int, option: int) -> bool:
        return self.sites[site].options[option].meets

    def _alters(self, site: int, option: int) -> bool:
        return self.sites[site].options[option].alters

    def rule_out_above(self, vector: Vector) -> None:
        """What is as strong everywhere is no further answer."""
        weaker = [
            z3.Not(z3.Or([self._literal(s, o) for o in range(1, len(site.options)) if site.at_most(vector[s], o)]))
            for s, site in enumerate(self.sites)
            if vector[s]
        ]
        self._solver.add(z3.Or(weaker))

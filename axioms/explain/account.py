"""The account of an execution: what is strange in it, and why the model lets it be so."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import islice

from axioms.events.event_kinds import WRITE
from axioms.explain.claims import DEPENDENCIES, Claim, Ground, Reason, holds
from axioms.explain.missing import MissingSynchronisation
from axioms.witness.execution import Execution

#: Reasons that are told of one pair that nothing orders.
_MOST_REASONS = 3
#: So many pairs that nothing orders are looked at for these.
_MOST_PAIRS = 30


class Account:
    """One execution, in the order of its linearisation (`line`), and what there is to say of it."""

    def __init__(self, execution: Execution) -> None:
        self.execution, self.events = execution, execution.events
        self.ground = Ground(execution)
        self.line = self.ground.line
        #: Reads that miss a newer write; that miss one, newer or not; that precede the one that they read from.
        self.stale = dict(self.line.stale())
        self.missed = {**dict(self.line.passed()), **self.stale}
        self.ahead = dict(self.line.ahead())

    @functools.cached_property
    def missing(self) -> MissingSynchronisation:
        return MissingSynchronisation(self.ground)

    def reasons(self) -> list[Reason]:
        """Why the execution is not what its author may have meant: what is read before it is written, out of date, atomic to
        nobody, or overtaken; without any such, what stands in this order by chance. Every claim holds."""
        doubled, torn = self.missing.doubled(), self.missing.torn()
        told = set(doubled.involved) if doubled else set[int]()
        found = [*filter(None, (doubled, torn)), *self._circles()]
        found += [
            reason
            for w, r in self._stale()
            if not told.issuperset(self.missing.instructions(w, r))
            for reason in self._late(w, r)
        ]
        found += self._passed()
        found += self._kept()
        if not found:
            by_chance = (self.missing.explained(a, b) for a, b in islice(self._by_chance(), _MOST_PAIRS))
            found = [reason for reason in by_chance if reason]
            found.sort(key=lambda reason: not reason.culprits)  # where something is known to be missing first
        accesses = any(e.kind.accesses and e.thread >= 0 for e in self.events)
        if not found and accesses and holds(Claim("serial"), self.ground):
            return [Reason(Claim("serial"))]
        return list(dict.fromkeys(found))[:_MOST_REASONS]

    def _circles(self) -> Iterator[Reason]:
        """Reads of what stands behind them: the circle in which the steps go, and what might have kept one of them in order."""
        for r, w in self.ahead.items():
            steps = self.line.circle(r, w)
            claims = [claim for step in steps for claim in self._step(*step)]
            explained = self.missing.explained(r, w)
            claims += [] if explained else [Claim("allowed")]
            involved = tuple(a for a, _, _ in steps)
            if all(holds(claim, self.ground) for claim in (Claim("ahead", (r, w)), *claims)):
                yield Reason(Claim("ahead", (r, w)), tuple(claims), ((r, Claim("ahead", (r, w))),), involved)
            if explained:
                yield explained
            return  # one circle tells of all its reads

    def _step(self, a: int, name: str, b: int) -> Iterator[Claim]:
        yield Claim("step", (a, b), (name,))
        if name == "po":
            how = [Claim("dependent", (a, b), (d,)) for d in DEPENDENCIES]
            yield from [c for c in (*how, Claim("independent", (a, b))) if holds(c, self.ground)][:1]

    def _stale(self) -> list[tuple[int, int]]:
        """What reads are out of date with, reads first that the program computes with weakly: synchronisation is meant for
        them."""
        found = sorted(self.stale.items(), key=lambda pair: "WEAK" not in self.events[pair[0]].tags)
        return [(w, r) for r, w in found]

    def _late(self, w: int, r: int) -> list[Reason]:
        explained = self.missing.explained(w, r)
        stale = Claim("stale", (r, w))
        return [explained or Reason(stale, (Claim("allowed"),), ((r, stale),), (r, w))]

    def _passed(self) -> Iterator[Reason]:
        for r, w in self.line.passed():
            head = Claim("passed", (r, w))
            sources = sorted(self.line.sources[r].values())
            why = self.missing.explained(w, r) or self.missing.unordered(sources[-1], w)
            yield Reason(head, why.all() if why else (), why.culprits if why else ((r, head),), (r, w))

    def _kept(self) -> Iterator[Reason]:
        for w, later in self.line.kept():
            head = Claim("kept", (w, later))
            why = self.missing.unordered(w, later)
            claims, culprits = (why.all(), why.culprits) if why else ((), ())
            yield Reason(head, claims, culprits, (w, later, *(why.involved if why else ())))

    def _by_chance(self) -> Iterator[tuple[int, int]]:
        """Accesses of different threads to one location, one of them a write, that stand in this order by chance."""
        for i, a in enumerate(self.line.order):
            one = self.events[a]
            for b in self.line.order[i + 1 :]:
                other = self.events[b]
                if one.location is None or one.location != other.location or one.thread == other.thread:
                    continue
                weak = "WEAK" in one.tags or "WEAK" in other.tags
                if weak and WRITE in (one.kind, other.kind) and min(one.thread, other.thread) >= 0:
                    yield a, b

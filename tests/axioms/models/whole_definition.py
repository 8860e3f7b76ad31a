"""ptx-9.0 written down a second time, all of it, over one execution: sets of pairs, walks and plain loops, no cat.

It follows the definition of the model and not the cat file: base causality is walked edge by edge, with what each edge is good
for; proxies are an automaton along the walk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from definitions import cyclic, plus, reflexive, seq, takes_in
from whole import Execution, Happened, Pair, Pairs

from ptxcore.places import Placement

#: A proxy, a mapping and, but for the generic proxy, a CTA; None: any, behind the end of a kernel.
Domain = tuple[str, int, int | None] | None


@dataclass(slots=True)
class Verdict:
    """`broken` are the axioms that an execution breaks, `flags` the pairs of events of each kind of race and misuse."""

    broken: set[str]
    relations: dict[str, Pairs]
    flags: dict[str, Pairs] = field(default_factory=dict)


def judge(x: Execution) -> Verdict:
    return _Judgement(x).verdict()


class _Judgement:
    def __init__(self, x: Execution) -> None:
        self.x, self.events = x, x.events
        self.ms = x.pairs(self.morally_strong)
        self.rf = {(w, r) for (r, _), w in x.rf.items()}
        self.rmw = {(a.index, a.partner.index) for a in self.events if a.kind == "R" and a.partner is not None}
        self.phases = {(a, w) for s in x.sequences for a in s for w in s if self.in_phase(a, w)}
        self.obs = self.observation()
        self.sync = self.synchronisation()
        self.sc = {p for p in x.fences if self.scoped(*self.both(p))}
        self.bars = {p for p in x.barriers if self.one_cta(*self.both(p))}
        self.steps = self.graph()

    def both(self, pair: Pair) -> tuple[Happened, Happened]:
        return self.events[pair[0]], self.events[pair[1]]

    # Sections 1 to 3 of the definition.

    def overlap(self, a: Happened, b: Happened) -> bool:
        return a.memory and b.memory and a.thing is b.thing and not set(a.cells).isdisjoint(b.cells)

    def virtual(self, a: Happened, b: Happened) -> bool:
        return self.overlap(a, b) and (a.initial or b.initial or a.mapping == b.mapping)

    def complete(self, a: Happened, b: Happened) -> bool:
        return self.virtual(a, b) and a.cells == b.cells and not a.initial and not b.initial

    def strong(self, a: Happened) -> bool:
        return (a.memory and a.semantics != "weak") or a.kind in ("F", "MA", "MW") or (a.kind == "PF" and a.one_way)

    def scoped(self, a: Happened, b: Happened) -> bool:
        if a.place is None or b.place is None or a.scope is None or b.scope is None:
            return False
        if a.thread == b.thread:
            return True
        here, there = self.made(a), self.made(b)
        return takes_in(a.scope, here, there) and takes_in(b.scope, there, here)

    def made(self, e: Happened) -> Placement:
        """Where an operation counts as made: a completion of an asynchronous one, in the CTA that holds the mbarrier object."""
        assert e.place is not None
        if e.kind == "MA" and e.issue is not None and e.thing is not None:
            places = (y.place for y in self.events if y.place is not None and not y.place.host)
            return next((p for p in places if p.cta == e.thing.cta), e.place)
        return e.place

    def one_cta(self, a: Happened, b: Happened) -> bool:
        if a.place is None or b.place is None:
            return False
        return a.thread == b.thread or (not a.place.host and not b.place.host and a.place.cta == b.place.cta)

    def morally_strong(self, a: Happened, b: Happened) -> bool:
        i, j = a.index, b.index
        if i == j or not ((i, j) in self.x.po or (j, i) in self.x.po
                          or (self.strong(a) and self.strong(b) and self.scoped(a, b))):  # fmt: skip
            return False
        return not (a.memory and b.memory) or (a.proxy == b.proxy and self.complete(a, b))

    # Section 4.

    def in_phase(self, a: int, w: int) -> bool:
        first, second = self.events[a], self.events[w]
        return first.kind == "MA" and second.kind == "MW" and first.phase == second.phase

    def observation(self) -> Pairs:
        obs = self.rf & self.ms
        while True:
            longer = obs | seq(obs, self.rmw, obs)
            if longer == obs:
                return obs
            obs = longer

    def about(self, fence: Happened, e: Happened) -> bool:
        """Whether a fence says something of an access, or of an operation on an mbarrier object."""
        if fence.limit is not None:
            thing, mapping, cells = fence.limit
            return e.thing is thing and e.mapping == mapping and not set(cells).isdisjoint(e.cells)
        if not fence.only:
            return True
        if e.thing is None or e.place is None or fence.place is None:
            return False
        if fence.only == "mbarrier_init":
            return e.kind == "MI" and e.thread == fence.thread
        owner = e.thing.cta
        if fence.only == "global":
            return owner is None
        if owner is None or fence.place.host:
            return False
        clusters = {p.cta: p.cluster for p in (y.place for y in self.events) if p is not None and not p.host}
        return owner == fence.place.cta if fence.only == "shared::cta" else clusters.get(owner) == fence.place.cluster

    def releases(self) -> Iterator[Pair]:
        """Release patterns: first operation, and the write or the arrival."""
        for a in self.events:
            if a.kind in ("W", "MA") and a.semantics == "release" and a.place is not None:
                yield a.index, a.index
        for i, j in self.x.po:
            a, b = self.events[i], self.events[j]
            fence = a.kind == "F" and a.semantics in ("sc", "acq_rel", "release")
            if b.kind == "MA" and fence:
                yield i, j
            if b.kind == "W" and b.semantics != "weak":
                same = a.memory and self.complete(a, b) and a.proxy == b.proxy
                if (a.kind == "W" and a.semantics == "release" and same) or (fence and self.about(a, b)):
                    yield i, j

    def acquires(self) -> Iterator[Pair]:
        for a in self.events:
            if (a.kind in ("R", "MW")) and a.semantics == "acquire":
                yield a.index, a.index
        for i, j in self.x.po:
            a, b = self.events[i], self.events[j]
            fence = b.kind == "F" and b.semantics in ("sc", "acq_rel", "acquire")
            if a.kind == "MW" and fence:
                yield i, j
            if a.kind == "R" and a.semantics != "weak" and not a.silent:
                same = b.memory and self.complete(a, b) and a.proxy == b.proxy
                if (b.kind == "R" and b.semantics == "acquire" and same) or (fence and self.about(b, a)):
                    yield i, j

    def synchronisation(self) -> Pairs:
        return seq(set(self.releases()), self.obs | self.phases, set(self.acquires())) & self.ms

    def proxy_pairs(self) -> Pairs:
        """One-way fences of proxies that synchronise: a release, and an acquire."""
        release = {
            (i, j) for i, j in self.x.po
            if self.events[i].one_way and self.events[i].semantics == "release"
            and (self.events[j].kind == "MA" or (self.events[j].kind == "W" and self.events[j].semantics != "weak"))
        }  # fmt: skip
        acquire = {
            (i, j) for i, j in self.x.po
            if self.events[j].one_way and self.events[j].semantics == "acquire"
            and (self.events[i].kind == "MW"
                 or (self.events[i].kind == "R" and self.events[i].semantics != "weak" and not self.events[i].silent))
        }  # fmt: skip
        return seq(release, self.obs | self.phases, acquire) & self.ms

    # Base causality, as walks. An edge is good for some of the events that a walk may begin with.

    def graph(self) -> dict[int, list[tuple[int, str]]]:
        """The edges: `base` from one event of a thread to another, `issue`, `comp`."""
        found: dict[int, list[tuple[int, str]]] = {}

        def add(pairs: Pairs, kind: str) -> None:
            for i, j in pairs:
                found.setdefault(i, []).append((j, kind))

        asynchronous = {e.index for e in self.events if e.issue is not None}
        add(self.x.po | self.sc | self.bars, "base")
        add(self.x.api, "api")
        add({p for p in self.sync if p[0] not in asynchronous}, "sync")
        completing = {p for p in self.sync if p[0] in asynchronous}
        add(completing, "completed")
        add({p for p in completing if self.events[p[0]].kind == "W"}, "released")
        add(self.x.issue, "issue")
        add(self.x.comp, "comp")
        return found

    def good_for(self, x: Happened, i: int, j: int) -> bool:
        """Whether a synchronisation counts on walks from x: restricted fences at its ends are about x."""
        ends = [self.events[k] for k in (i, j) if self.events[k].kind == "F" and self.events[k].only]
        return all(x.thing is not None and self.about(fence, x) for fence in ends)

    def walk(
        self, x: Happened, domain: Domain, changes: Callable[[Happened, Domain], list[Domain]], begin: int | None = None
    ) -> set[tuple[int, Domain]]:
        """Where walks from x lead, in which domains; `changes` says what domains an event may turn one into. With `begin`,
        only those that went there."""
        state = "completing" if x.issue is not None else "thread"
        seen: set[tuple[int, str, Domain]] = set()
        stack = [(x.index if begin is None else begin, state, domain)]
        reached: set[tuple[int, Domain]] = set()
        while stack:
            i, state, d = stack.pop()
            for j, kind in self.steps.get(i, ()):
                if kind in ("sync", "completed", "released") and not self.good_for(x, i, j):
                    continue
                after = _following(state, kind, self.events[j])
                if after is None:
                    continue
                domains = {None} if kind == "api" else {d, *changes(self.events[j], d)}
                for new in domains:
                    reached.add((j, new))
                    if (j, after, new) not in seen:
                        seen.add((j, after, new))
                        stack.append((j, after, new))
        return reached

    def causality_base(self) -> Pairs:
        return {(e.index, j) for e in self.events for j, _ in self.walk(e, ("", 0, None), lambda y, d: [])}

    # Proxy-preserved base causality.

    def domain(self, e: Happened) -> Domain:
        assert e.place is not None
        if e.proxy == "generic":
            return "generic", e.mapping, None
        return e.proxy, e.mapping, -1 - e.thread if e.place.host else e.place.cta

    def changes(self, x: Happened) -> Callable[[Happened, Domain], list[Domain]]:
        mappings = {e.mapping for e in self.events if e.memory and e.place is not None}

        def of(fence: Happened, d: Domain) -> list[Domain]:
            if fence.kind != "PF" or fence.one_way or d is None or not self.about(fence, x):
                return []
            assert fence.place is not None
            proxy, mapping, cta = d
            if fence.proxy == "alias":
                return [("generic", m, None) for m in mappings] if proxy == "generic" else []
            here = -1 - fence.thread if fence.place.host else fence.place.cta
            if proxy == "generic":
                return [(fence.proxy, mapping, here)]
            return [("generic", mapping, None)] if (proxy, cta) == (fence.proxy, here) else []

        return of

    def proxy_preserved(self, bc: Pairs) -> Pairs:
        found: Pairs = set()
        turns = self.turns(bc)
        for x in self.events:
            if not x.memory or x.place is None:
                continue
            changes = self.changes(x)
            reached = self.walk(x, self.domain(x), changes)
            reached |= {
                (y, None if d is None else ("turned to " + self.events[f].proxy, d[1], None))
                for r, d in reached if d is None or d[0] == "generic"
                for release, f, y in turns if release == r
            }  # fmt: skip
            for j, d in reached:
                y = self.events[j]
                if not y.memory or y.place is None or not self.overlap(x, y):
                    continue
                turned = d is not None and d[0] == f"turned to {y.proxy}" and d[1] == y.mapping
                if d is None or d == self.domain(y) or turned:
                    found.add((x.index, j))
        return found

    def turns(self, bc: Pairs) -> list[tuple[int, int, int]]:
        """One-way fences, a release and an acquire behind it, and accesses of that proxy behind both."""
        found = []
        for r, f in bc | self.proxy_pairs():
            release, acquire = self.events[r], self.events[f]
            if (release.one_way and release.semantics == "release" and acquire.one_way
                    and acquire.semantics == "acquire" and release.proxy == acquire.proxy):  # fmt: skip
                for i, j in bc:
                    y = self.events[j]
                    there = i == f and y.memory and y.proxy == acquire.proxy and self.one_cta(acquire, y)
                    if there and self.about(acquire, y) and self.about(release, y):
                        found.append((r, f, j))
        return found

    # Sections 5 and 6: axioms.

    def verdict(self) -> Verdict:
        events, x = self.events, self.x
        bc = self.causality_base()
        ppbc = self.proxy_preserved(bc)
        cause = ppbc | seq(self.obs, ppbc)
        relations = {"ms": self.ms, "obs": self.obs, "causality-base": bc, "ppbc": ppbc, "cause": cause}
        initially = x.pairs(lambda a, b: a.initial and not b.initial and self.overlap(a, b))
        before = cause | initially
        broken: set[str] = set()
        for i, j in before:
            a, b = events[i], events[j]
            if a.kind == b.kind == "W" and self.overlap(a, b) and (i, j) not in x.co:
                broken.add("coherence")
        for i, j in self.ms:
            a, b = events[i], events[j]
            if a.kind == b.kind == "W" and self.overlap(a, b) and (i, j) not in x.co and (j, i) not in x.co:
                broken.add("coherence-total")
        if reflexive(bc):
            broken.add("fence-sc")
        if self.torn():
            broken.add("single-copy")
        if self.not_atomic():
            broken.add("atomicity")
        found = {(i, j) for i, j in self.mbarrier_order() if events[j].kind == "MW"}
        if cyclic(self.rf | found | x.addr | x.data | x.ctrl | self.rmw):
            broken.add("no-thin-air")
        if any((r, w) in before for w, r in self.rf) or any((w, r) in before for r, w in self.fr()):
            broken.add("causality")
        if any((j, i) in bc for i, j in self.mbarrier_order()):
            broken.add("mbarrier-order")
        if not x.denied.isdisjoint(bc):
            broken.add("try-wait")
        return Verdict(broken, relations, self.flags(bc, cause))

    def fr(self) -> Pairs:
        return {
            (r, v) for (r, c), w in self.x.rf.items() for u, v in self.x.co if u == w and c in self.events[v].cells
        }  # fmt: skip

    def torn(self) -> bool:
        """A read reads bytes of a write that it is morally strong with, and others of one that is older than that."""
        for (r, c), w in self.x.rf.items():
            for (same, d), older in self.x.rf.items():
                if same == r and c != d and (w, r) in self.ms and (older, w) in self.x.co:
                    return True
        return False

    def not_atomic(self) -> bool:
        x, fr = self.x, self.fr()
        if any(
            (r, v) in fr and (v, w) in x.co and (v, r) in self.ms for r, w in self.rmw for v in range(len(self.events))
        ):
            return True
        for r, w in self.rmw:
            for s, v in self.rmw:
                a, b = self.events[w], self.events[v]
                same = a.proxy == b.proxy and self.complete(a, b)
                if w == v or same or not self.virtual(a, b) or not self.scoped(a, b):
                    continue
                if (w, v) not in x.co and (v, w) not in x.co:
                    return True  # neither is first
                # With the first in coherence the first: what it reads is not of the second or later, nor does the
                # second read what is older than the first.
                if (w, v) in x.co and ((v, r) in self.rf or (s, w) in fr):
                    return True
        return False

    def mbarrier_order(self) -> Iterator[Pair]:
        for sequence in self.x.sequences:
            for n, a in enumerate(sequence):
                for m in range(n + 1, len(sequence)):
                    if any(self.events[k].kind not in ("MW", "MN") for k in sequence[n : m + 1]):
                        yield a, sequence[m]

    # Races and misuse.

    def flags(self, bc: Pairs, cause: Pairs) -> dict[str, Pairs]:
        found: dict[str, Pairs] = {}
        for i, j in self.x.pairs(lambda a, b: self.conflict(a, b)):
            if (i, j) not in self.ms and not self.ordered(i, j, cause) and not self.ordered(j, i, cause):
                found.setdefault(self.kind_of_race(i, j, bc), set()).add((i, j))
        order = set(self.mbarrier_order())
        found["early"] = {p for p in self.x.again if p not in bc}
        found["initialisation"] = set(self.uninitialised(bc, order))
        found["overwritten"] = set(self.overwritten(bc, order))
        found["unfinished"] = set(self.unfinished())
        found["exited"] = set(self.exited(bc))
        return {kind: pairs for kind, pairs in found.items() if pairs}

    def ordered(self, i: int, j: int, cause: Pairs) -> bool:
        """Whether one operation comes before another in causality order: an atomic one is one, of which the write counts."""
        return any((a, b) in cause for a in self.halves(i) for b in self.halves(j))

    def halves(self, i: int) -> list[int]:
        e = self.events[i]
        return [i] if e.kind != "R" or e.partner is None else [i, e.partner.index]

    def conflict(self, a: Happened, b: Happened) -> bool:
        if a is b or a.initial or b.initial or a.partner is b or "W" not in (a.kind, b.kind):
            return False
        return self.overlap(a, b)

    def kind_of_race(self, i: int, j: int, bc: Pairs) -> str:
        a, b = self.events[i], self.events[j]
        read, write = (a, b) if a.kind == "R" else (b, a)
        over = read.kind != write.kind and write.proxy == "async" and read.proxy != "async"
        if a.issue is not None or b.issue is not None:
            follows = over and (read.index, write.index) in bc
            if not follows and not (a.atomic and b.atomic and self.scoped(a, b)):
                return "async"
            if over:
                return "war"
        elif self.virtual(a, b) and not self.complete(a, b):
            return "mixed-size"
        return "proxy" if a.proxy != b.proxy or not self.virtual(a, b) else "data"

    def uninitialised(self, bc: Pairs, order: Pairs) -> Iterator[Pair]:
        """Operations on mbarrier objects that an initialisation comes before in their order, but not in causality; by what
        works through the async proxy, not through the fence that it takes."""
        implied = {e.index for e in self.events if e.kind == "PF" and e.issue is not None}
        by_copy = {j for i, j in self.x.comp if i in implied and self.events[j].kind == "MA"}
        for i, j in order:
            if self.events[i].kind != "MI":
                continue
            if (i, j) not in bc or (j in by_copy and not self.proxy_reached(i, j, bc)):
                yield i, j

    def proxy_reached(self, i: int, j: int, bc: Pairs) -> bool:
        init = self.events[i]
        for f in self.events:
            if not self.about(f, init):
                continue
            if f.kind == "PF" and f.proxy == "async" and not f.one_way:
                if {(i, f.index), (f.index, j)} <= bc:
                    return True
            elif f.only == "mbarrier_init" and (i, f.index) in self.x.po and self.reaches_issue(init, f.index, j):
                return True
        return False

    def reaches_issue(self, init: Happened, fence: int, j: int) -> bool:
        """Whether an operation's issue follows a fence of initialisations, in a way that is good for this one."""
        issues = {i for i, k in self.x.issue if k == j}
        return any(k in issues for k, _ in self.walk(init, ("", 0, None), lambda y, d: [], begin=fence))

    def overwritten(self, bc: Pairs, order: Pairs) -> Iterator[Pair]:
        for init in self.events:
            if init.kind == "MI" and not init.ends_life:
                for e in self.events:
                    if e.memory and e.place is not None and e.thing is init.thing and (e.index, init.index) not in bc:
                        ends = (v for v in self.events if v.kind == "MI" and v.ends_life)
                        if not any((init.index, v.index) in order and (v.index, e.index) in bc for v in ends):
                            yield init.index, e.index

    def unfinished(self) -> Iterator[Pair]:
        """What asynchronous operations do to shared memory, and nobody has waited for."""
        done = plus(self.x.comp)
        told = {e.index for e in self.events if e.kind == "CW"} | {a for a, _ in self.phases}
        for e in self.events:
            if e.issue is None or not e.memory or e.thing is None or e.thing.cta is None:
                continue
            if not any((e.index, t) in done for t in told):
                yield e.index, e.issue.index

    def exited(self, bc: Pairs) -> Iterator[Pair]:
        """What is done to shared memory of another CTA, or by an asynchronous operation, and nothing that the CTA does whose it
        is comes after it. Who has waited for the phase of an arrival knows that the arrival is over, and what it tells of."""
        waited = self.phases | seq(plus(self.x.comp), self.phases)
        over = bc | waited | seq(waited, bc)
        for a in self.events:
            if a.place is None or a.thing is None or not a.thing.ends or a.thing.cta is None:
                continue
            owner = a.thing.cta
            theirs = (
                e.index
                for e in self.events
                if e.place is not None and not e.place.host and e.place.cta == owner and e.issue is None
            )
            background = a.memory and a.issue is not None
            if (owner != a.place.cta or background) and not any((a.index, k) in over for k in theirs):
                yield a.index, a.index


def _following(state: str, kind: str, to: Happened) -> str | None:
    """The state of a walk after an edge; None where it cannot take it. A completion publishes nothing of its thread, so what
    was issued leads nowhere, except that a release by an asynchronous operation is one by its thread."""
    if state == "completing":
        if kind in ("comp", "completed"):
            return "completing" if to.issue is not None else "thread"
        return None
    if state == "issued":
        return "thread" if kind == "released" else None
    if kind == "issue":
        return "issued"
    return "thread" if kind in ("base", "api", "sync") else None


__all__ = ["Verdict", "judge"]

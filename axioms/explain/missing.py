"""Missing synchronisation: why nothing orders two events of an execution, as claims.

News of an event may come to another thread in several ways: a write and a read of it, an arrival on an mbarrier object or a
cluster barrier and a wait for its phase, a barrier, the completion of an asynchronous operation, the order of kernels. What
the model makes of them (`sync`, `bars`, `api` ...) orders events already. Of the other ways, the one with the least missing is
the likeliest intention: what is missing is the reason. The search only proposes; each claim is evaluated, and those that do not
hold of this execution and this model are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import pairwise

from axioms.events.event_kinds import BARRIER_EVENT, FENCE_EVENT, READ, WRITE
from axioms.explain.claims import (
    ACQUIRES,
    DIFFERENCES,
    FOLLOWS,
    RELEASES,
    Claim,
    Ground,
    Reason,
    holds,
    proxy_of,
    scope_of,
    waits_for,
)
from axioms.witness.checker import EventPair, successors
from axioms.witness.execution import ExecutedEvent
from ptxcore.places import includes
from ptxcore.records import NamedTuple

#: A way over weak accesses is the likelier intention only where nothing else leads there.
_WEAK = 10
#: Definitions of models that order events of different threads, and the base relation that does.
_ORDERING = ("sync", "sync-some", "sc", "bars")


class MissingAt(NamedTuple):
    """An event at which something is missing."""

    event: int
    claim: Claim


class Leap(NamedTuple):
    """A step of a way that is not program order. `kind`: `given` (the model orders the two), `read` (a write, and a read of
    it in another thread), `phase` (an arrival, and a wait for the phase that it counted in)."""

    before: int
    kind: str
    after: int


class Connection(NamedTuple):
    """How news of one event may have come to another: the leaps, and what is missing there."""

    leaps: tuple[Leap, ...]
    missing: tuple[MissingAt, ...]


class MissingSynchronisation:
    """What there is to say of the order of one execution."""

    def __init__(self, ground: Ground) -> None:
        self.ground, self.events = ground, ground.events
        execution, judged = ground.execution, ground.judged
        relations = {name: set(pairs) for name, pairs in execution.relations.items()}
        self.rf = relations.get("rf", set())
        self.rmw = dict(relations.get("rmw", set()))
        self.halves = {write: read for read, write in self.rmw.items()}
        self.co = relations.get("co", set())
        self.phases = relations.get("mbrf", set())
        self.comp = relations.get("comp", set())
        self.issue = judged.base("issue")
        ordering = {*relations.get("api", set())}.union(*(judged.defined(name) or () for name in _ORDERING))
        self._po = successors(relations.get("po", set()))
        self._given = successors({*ordering, *self.comp})
        self._issued = successors(self.issue)
        self._read = successors({(w, r) for w, r in self.rf if self._are_apart(w, r)} - ordering)
        self._phase = successors(self.phases - ordering)
        self._of_thread: dict[int, list[ExecutedEvent]] = {}
        for e in self.events:
            self._of_thread.setdefault(e.thread, []).append(e)

    def _are_apart(self, a: int, b: int) -> bool:
        one, other = self.events[a], self.events[b]
        return one.thread != other.thread or "ASY" in one.tags or "ASY" in other.tags

    def _kept(self, reason: Reason | None) -> Reason | None:
        """A reason with those of its claims that hold; None where what is to be explained is not so."""
        if reason is None or not holds(reason.head, self.ground):
            return None
        claims = tuple(c for c in dict.fromkeys(reason.claims) if holds(c, self.ground))
        culprits = tuple((e, c) for e, c in reason.culprits if c in claims or holds(c, self.ground))
        return reason._replace(claims=claims, culprits=culprits)

    # Two events.

    def explained(self, before: int, after: int, *, racing: bool = False) -> Reason | None:
        """Why nothing orders one event before another; `racing`: by the model's definition for races."""
        a, b = self.events[before], self.events[after]
        way = self.way(before, after)
        if way is None:
            said = self._unlinked(a, b)
        else:
            missing = way.missing or (*self._through(a, b), *self._ignored(way, before, after))
            said = _of(missing, tuple(i for leap in way.leaps for i in (leap.before, leap.after)))
        head = Claim("unordered", (before, after), (self.ground.orders(before, after, racing=racing),))
        return self._kept(said._replace(head=head, involved=(before, after, *said.involved)))

    def unordered(self, one: int, other: int) -> Reason | None:
        """Why nothing orders two events that race: in the direction in which the least is missing."""
        pairs = [(one, other), (other, one)]
        before, after = min(pairs, key=lambda pair: self._rank(*pair))
        return self.apart(one, other) or self._weak_one(before, after) or self.explained(before, after, racing=True)

    def apart(self, one: int, other: int) -> Reason | None:
        """Why two strong accesses to one place are in no order: they do not take in each other's thread, or could not be
        morally strong even so."""
        a, b = self.events[one], self.events[other]
        if a.thread == b.thread or {"WEAK"} & (a.tags | b.tags):
            return None
        never = [Claim("never strong", (one, other), (how,)) for how in DIFFERENCES]
        never = [claim for claim in never if holds(claim, self.ground)][:1]
        missing = [one for one in self.reach(a, b) if holds(one.claim, self.ground)]
        if not never and not missing:
            return None
        return self._in_no_order(a, b, _of(missing)._replace(claims=(*never, *(one.claim for one in missing))))

    def _in_no_order(self, a: ExecutedEvent, b: ExecutedEvent, said: Reason) -> Reason | None:
        head = Claim("no order", (a.index, b.index), (self.ground.orders(a.index, b.index, racing=True),))
        return self._kept(said._replace(head=head, involved=(a.index, b.index, *said.involved)))

    def _weak_one(self, before: int, after: int) -> Reason | None:
        """Of a weak access and a strong one to one place, where nothing may have been meant to order them: were both strong,
        they would not race."""
        a, b = self.events[before], self.events[after]
        way = self.way(before, after)
        lost = way is None or any(leap.kind == "read" and self._is_weak(leap) for leap in way.leaps)
        if not lost or {"ASY", "IW"} & (a.tags | b.tags) or ("WEAK" in a.tags) == ("WEAK" in b.tags):
            return None
        weak, other = (before, after) if "WEAK" in a.tags else (after, before)
        claim = Claim("weak", (weak, other), ("pair",))
        said = Reason(claim, (claim, *self._nothing_read(a, b)), ((weak, claim),))
        return self._in_no_order(a, b, said)

    def _rank(self, before: int, after: int) -> tuple[int, ...]:
        a, b = self.events[before], self.events[after]
        way = self.way(before, after)
        if way is not None:
            return (0, len(way.missing), len(way.leaps), before)
        missed = self._missed(a, b) is not None
        return (1, "ASY" not in a.tags, not missed, a.kind is not WRITE, before)

    # Ways from one event to another.

    def way(self, before: int, after: int, *, everything: bool = False) -> Connection | None:
        """How news of one event may have come to another: with the least missing, and of that the shortest. With `everything`,
        as though the completion of an asynchronous operation published what its thread did before."""
        queue: list[tuple[int, int, int, tuple[Leap, ...]]] = [(0, 0, before, ())]
        seen: set[int] = set()
        pair = self.instructions(before, after)
        while queue:
            cost, length, at, leaps = heappop(queue)
            if at == after:
                return (
                    Connection(leaps, tuple(self._missing_on(before, leaps, after)))
                    if self._tells(before, leaps, after)
                    else None
                )
            if at in seen:
                continue
            seen.add(at)
            for following in (*self._po.get(at, ()), *([self.rmw[at]] if at in self.rmw else [])):
                heappush(queue, (cost, length, following, leaps))
            for price, leap in self._leaps(at, after, everything):
                if leap.kind == "read" and self.instructions(leap.before, leap.after) == pair:
                    continue  # that the one is read by the other does not order them
                heappush(queue, (cost + price, length + 1, leap.after, (*leaps, leap)))
        return None

    def _tells(self, before: int, leaps: Sequence[Leap], after: int) -> bool:
        """Whether a way is more than chance: data that was passed on weakly is none, but for a flag that should be strong."""
        weak = [leap for leap in leaps if leap.kind == "read" and self._is_weak(leap)]
        meant = {self.events[before].object, self.events[after].object}
        return not weak or (len(weak) == 1 and self.events[weak[0].before].object not in meant)

    def _is_weak(self, leap: Leap) -> bool:
        return "WEAK" in self.events[leap.before].tags and "WEAK" in self.events[leap.after].tags

    def _leaps(self, at: int, target: int, everything: bool) -> Iterator[tuple[int, Leap]]:
        for b in self._given.get(at, ()):
            yield 0, Leap(at, "given", b)
        for b in self._issued.get(at, ()):  # what is before the issue is published by a release only, not by completion
            if everything or b == target or (self.events[b].kind is WRITE and "REL" in self.events[b].tags):
                yield 0, Leap(at, "given", b)
        for b in self._phase.get(at, ()):
            yield 1, Leap(at, "phase", b)
        for b in self._read.get(at, ()):
            weak = "WEAK" in self.events[at].tags or "WEAK" in self.events[b].tags
            yield (_WEAK if weak else 1), Leap(at, "read", b)

    def _missing_on(self, before: int, leaps: Sequence[Leap], after: int) -> Iterator[MissingAt]:
        """What is missing on a way. Where an atomic operation hands on what it read, the leaps to it and from it are one."""
        merged: list[list[Leap]] = []
        for leap in leaps:
            last = merged[-1][-1] if merged else None
            if last and last.kind == leap.kind == "read" and self.rmw.get(last.after) == leap.before:
                merged[-1].append(leap)
            else:
                merged.append([leap])
        starts = [before, *(chain[-1].after for chain in merged)]
        ends = [*(chain[0].before for chain in merged[1:]), after]
        for chain, start, end in zip(merged, starts, ends, strict=False):
            if chain[0].kind != "given":
                yield from self._missing(self.events[start], self.events[end], chain, first=start == before)

    def _missing(self, start: ExecutedEvent, end: ExecutedEvent, chain: Sequence[Leap], first: bool) -> list[MissingAt]:
        """What is missing for a write and a read of it, or an arrival and a wait, to order `start` before `end`."""
        w, r = self.events[chain[0].before], self.events[chain[-1].after]
        if "WEAK" in w.tags and "WEAK" in r.tags:
            return [MissingAt(w.index, Claim("weak link", (w.index, r.index)))]
        missing: list[MissingAt] = []
        observed = first and w.index == start.index  # whoever reads the event itself follows it
        released = w if observed else self._released(start, w, first)
        acquired = r if observed else self._acquired(r, end)
        names = (chain[0].kind,)
        if released is None and "WEAK" not in w.tags:
            from_ = start.index if first or start.index != w.index else w.index
            missing.append(MissingAt(w.index, Claim("no release", (from_, w.index), names)))
        if acquired is None and "WEAK" not in r.tags:
            missing.append(MissingAt(r.index, Claim("no acquire", (r.index, self._limit(end)), names)))
            missing += [MissingAt(r.index, Claim("reduction", (r.index,)))] if "RED" in r.tags else []
        for leap in chain:
            x, y = self.events[leap.before], self.events[leap.after]
            missing += [*self._out_of_reach(x, y), *self._out_of_reach(y, x)]
        for end_of_pattern, itself, other in ((released, w, r), (acquired, r, w)):
            if end_of_pattern is not None and end_of_pattern is not itself:
                missing += self._out_of_reach(end_of_pattern, other)
        if released and acquired and not missing:
            fences = [f.index for f in (released, acquired) if "RESTRICT" in f.tags]
            missing += [MissingAt(f, Claim("restricted", (f, of.index))) for f in fences for of in (start, w, r, end)]
            unlike = [Claim("unlike", (leap.before, leap.after), (how,)) for leap in chain for how in DIFFERENCES]
            missing += [MissingAt(claim.events[1], claim) for claim in unlike]
            missing = [one for one in missing if holds(one.claim, self.ground)][:1]
        return missing

    def _released(self, start: ExecutedEvent, w: ExecutedEvent, first: bool) -> ExecutedEvent | None:
        """What makes a write or an arrival a release for an event before it: where a release pattern begins that ends with it;
        itself before all. Unless it is the `first` event, it follows itself: as the completion that leads to it."""
        begins = self.ground.ends(RELEASES, w.index)
        if w.index in begins and (w.index != start.index or not first):
            return w
        between = [e for e in begins if self.ground.before(start.index, e) and e != w.index]
        return self.events[between[0]] if between else None

    def _acquired(self, r: ExecutedEvent, end: ExecutedEvent) -> ExecutedEvent | None:
        """What makes a read or a wait an acquire for an event behind it: where an acquire pattern ends that begins with it; or
        with a later read of what an atomic operation made of it."""
        limit = self._limit(end)
        again = [e for w, e in self.rf if w == self.rmw.get(r.index) and self.events[e].thread == r.thread]
        for first in (r.index, *again):
            found = self.ground.begins(ACQUIRES, first)
            if first in found:
                return self.events[first]
            inside = [e for e in found if e == limit or self.ground.before(e, limit)]
            if inside:
                return self.events[inside[0]]
        return None

    def _limit(self, end: ExecutedEvent) -> int:
        """The event itself; of an asynchronous operation, the instruction that issues it."""
        issues = [i for i, e in self.issue if e == end.index] if "ASY" in end.tags else []
        return max(issues, default=end.index)

    def _out_of_reach(self, one: ExecutedEvent, other: ExecutedEvent) -> list[MissingAt]:
        scope = scope_of(one)
        if scope is None:
            return [MissingAt(one.index, Claim("weak", (one.index, other.index)))]
        if includes(scope, self.ground.places[one.thread], self.ground.places[other.thread]):
            return []
        return [MissingAt(one.index, Claim("narrow", (one.index, other.index), (scope,)))]

    def reach(self, one: ExecutedEvent, other: ExecutedEvent) -> list[MissingAt]:
        """What keeps two strong events from taking in each other's thread."""
        return [*self._out_of_reach(one, other), *self._out_of_reach(other, one)]

    # What is ordered in time, but not for these accesses.

    def _through(self, a: ExecutedEvent, b: ExecutedEvent) -> Iterator[MissingAt]:
        """Why a path does not order accesses: they go through different proxies, or to different virtual addresses."""
        late = max(a.index, b.index)
        one, other = proxy_of(a), proxy_of(b)
        pair = a.index, b.index
        how = next((h for h in FOLLOWS if holds(Claim("renamed", pair, (h,)), self.ground)), None)
        if how is not None:
            yield MissingAt(late, Claim("renamed", pair, (how,)))
        elif {one, other} != {"generic"}:
            fences = (e.index for e in self.events if e.kind is FENCE_EVENT and "ASY" not in e.tags)
            claims = (Claim("fence elsewhere", (a.index, f, b.index)) for f in fences)
            elsewhere = next((c for c in claims if holds(c, self.ground)), None)
            for h in FOLLOWS:
                yield MissingAt(late, Claim("wrong proxy", pair, (one, other, h)))
            if elsewhere is not None:
                yield MissingAt(elsewhere.events[1], elsewhere)

    def _ignored(self, way: Connection, before: int, after: int) -> Iterator[MissingAt]:
        """What leads from one event to another, and the model makes nothing of for these: fences about others, kernels,
        completions, program order alone."""
        for leap in way.leaps:
            for fence in (leap.before, leap.after):
                if "RESTRICT" in self.events[fence].tags:
                    yield MissingAt(fence, Claim("restricted", (fence, before)))
            for name in ("api", "comp", "issue", "mbrf"):
                yield MissingAt(leap.after, Claim("unknown", (leap.before, leap.after), (name,)))
        yield MissingAt(after, Claim("program order", (before, after)))

    # Where nothing leads from one event to another.

    def _unlinked(self, a: ExecutedEvent, b: ExecutedEvent) -> Reason:
        if "ASY" in a.tags:
            return self._incomplete(a, b)
        if "ASY" in b.tags:
            issue = next((i for i, e in sorted(self.issue) if e == b.index), None)
            if issue is not None:
                claim = Claim("not issued behind", (a.index, b.index, issue))
                return Reason(claim, (claim,), ((issue, claim),), (issue,))
        crossed = self._crossed(a, b)
        if crossed is not None:
            return crossed
        missed = self._missed(a, b)
        if missed is not None:
            w, r = missed
            missing = self.reach(w, r)
            claim = Claim("returned", (r.index, w.index))
            culprits = [(one.event, one.claim) for one in missing] or [(r.index, claim)]
            return Reason(claim, (claim, *(one.claim for one in missing)), tuple(culprits), (w.index, r.index))
        way = self.way(a.index, b.index, everything=True)
        if way is not None and not way.missing:
            first = next((leap.after for leap in way.leaps if "ASY" in self.events[leap.after].tags), None)
            if first is not None:
                claim = Claim("publishes itself", (a.index, first, b.index))
                return Reason(claim, (claim,), ((first, claim),), (first,))
        claims = self._nothing_read(a, b)
        return Reason(claims[0], claims)

    def _nothing_read(self, a: ExecutedEvent, b: ExecutedEvent) -> tuple[Claim, ...]:
        """That nothing at all leads from one event to another."""
        joined = self._may_have_barriers(a.thread, b.thread)
        found = Claim("nothing read", (a.index, b.index))
        return (found, Claim("no barrier", (a.index, b.index))) if joined else (found,)

    def _crossed(self, a: ExecutedEvent, b: ExecutedEvent) -> Reason | None:
        """Each of two threads writes, and then misses what the other wrote: a fence.sc in both rules that out."""
        if a.kind is not WRITE or b.kind is not READ or "WEAK" in a.tags | b.tags or not self._is_older(b, a):
            return None
        reads = [e for e in self._of_thread[a.thread] if e.kind is READ and e.index > a.index]
        writes = [e for e in self._of_thread[b.thread] if e.kind is WRITE and e.index < b.index]
        reads, writes = ([e for e in some if "WEAK" not in e.tags] for some in (reads, writes))
        pair = next(((u, v) for u in reads for v in writes if v.location == u.location and self._is_older(u, v)), None)
        if pair is None:
            return None
        read, write = pair
        crossed = Claim("crossed", (a.index, read.index, write.index, b.index))
        fences = [self._full(a, read), self._full(write, b)]
        there = [(fence, other) for fence, other in zip(fences, (b, a), strict=True) if fence is not None]
        missing = [one for fence, other in there for one in self._out_of_reach(fence, other)]
        spans = zip(((a, read), (write, b)), fences, strict=True)
        bare = [
            MissingAt(late.index, Claim("no sc fence", (early.index, late.index)))
            for (early, late), f in spans
            if not f
        ]
        every = [*bare, *missing]
        culprits = tuple((one.event, one.claim) for one in every)
        would = (Claim("ruled out", crossed.events),) if bare else ()
        claims = (crossed, *would, *(one.claim for one in every))
        return Reason(crossed, claims, culprits, (read.index, write.index))

    def _full(self, one: ExecutedEvent, other: ExecutedEvent) -> ExecutedEvent | None:
        """A fence.sc between two events of a thread."""
        between = (e for e in self._of_thread[one.thread] if one.index < e.index < other.index)
        return next((e for e in between if e.kind is FENCE_EVENT and "SC" in e.tags), None)

    def _incomplete(self, a: ExecutedEvent, b: ExecutedEvent) -> Reason:
        """Of an event of an asynchronous operation: who waits for its completion, and where."""
        waits = sorted(waits_for(self.ground, a.index))[:2]
        if not waits:
            claim = Claim("unawaited", (a.index,))
            return Reason(claim, (claim,), ((a.index, claim),))
        where = Claim("awaited", (a.index, *waits))
        late, apart = Claim("awaited late", (a.index, b.index)), Claim("awaited apart", (a.index, b.index))
        then = late if holds(late, self.ground) else apart
        return Reason(where, (where, then), tuple((i, where) for i in waits), tuple(waits))

    def _missed(self, a: ExecutedEvent, b: ExecutedEvent) -> tuple[ExecutedEvent, ExecutedEvent] | None:
        """A strong write behind the first event that a strong read before the second could have read, and did not."""
        writes = [
            e for e in self._of_thread[a.thread] if e.kind is WRITE and e.index > a.index and "WEAK" not in e.tags
        ]
        reads = [e for e in self._of_thread[b.thread] if e.kind is READ and e.index < b.index and "WEAK" not in e.tags]
        for r in sorted(reads, key=lambda e: ("ACQ" not in e.tags, -e.index)):
            for w in sorted(writes, key=lambda e: ("REL" not in e.tags, e.index)):
                if w.location == r.location and self._is_older(r, w):
                    return w, r
        return None

    def _is_older(self, r: ExecutedEvent, w: ExecutedEvent) -> bool:
        return holds(Claim("older", (r.index, w.index)), self.ground)

    def _may_have_barriers(self, *threads: int) -> bool:
        """Whether threads share a CTA, or have barriers that others share."""
        together = len({self.ground.places[t].cta for t in threads}) == 1
        return together or all(
            any(e.kind is BARRIER_EVENT or e.tags & {"MA", "MW"} for e in self._of_thread.get(t, ())) for t in threads
        )

    # Atomic operations.

    def instructions(self, *events: int) -> tuple[int, ...]:
        """The reads of atomic operations in place of their writes."""
        return tuple(self.halves.get(i, i) for i in events)

    def doubled(self) -> Reason | None:
        """Two atomics that read one write: their scopes do not make them atomic to one another."""
        readers: dict[int, list[int]] = {}
        for w, r in sorted(self.rf):
            if r in self.rmw:
                readers.setdefault(w, []).append(r)
        for found in readers.values():
            for one, other in pairwise(found):
                a, b = self.events[one], self.events[other]
                missing = [one for one in self.reach(a, b) if holds(one.claim, self.ground)]
                if a.thread != b.thread and missing:
                    return self._kept(_of(missing, (one, other))._replace(head=Claim("both read", (one, other))))
        return None

    def torn(self) -> Reason | None:
        """A vector access that is seen in part: each of its elements is an access of its own."""
        vector = self._vectors()
        missed: dict[EventPair, list[EventPair]] = {}
        later = successors((a, b) for a, b in self.ground.judged.base("co") if b in vector)
        for w, r in sorted(self.rf):
            for b in later.get(w, ()) if r in vector else ():
                missed.setdefault((vector[b], vector[r]), []).append((b, r))
        for w, r in sorted(self.rf):
            for other, missing in missed.get((vector.get(w, -1), vector.get(r, -1)), ()):
                if w != other and r != missing:
                    claim = Claim("torn", (w, other, r, missing))
                    return self._kept(Reason(claim, (), ((r, claim),), (w, other, r, missing)))
        return None

    def _vectors(self) -> dict[int, int]:
        """The events that are elements of vectors, with the first of the same access."""
        found: dict[int, int] = {}
        for a, b in sorted(self.ground.judged.base("group")):
            if self.events[a].kind.accesses and "ASY" not in self.events[a].tags:
                found.setdefault(a, min(a, b))
        return found


def _of(missing: Sequence[MissingAt], involved: tuple[int, ...] = ()) -> Reason:
    """A reason without a head: what is missing."""
    claims = tuple(one.claim for one in missing)
    return Reason(Claim("serial"), claims, tuple((one.event, one.claim) for one in missing), involved)

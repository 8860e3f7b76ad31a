"""Why nothing orders two events of an execution: what leads from the one to the other, and what is missing there.

News of an event may come to another thread in several ways: a write and a read of it, an arrival on an mbarrier object or a
cluster barrier and a wait for its phase, a barrier, the completion of an asynchronous operation, the order of kernels. What
the model makes of them (`sync`, `barrier`, `api` ...) orders events already. Of the other ways, the one that lacks least is
the likeliest intention: what it lacks is the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from axioms.execution import ExecutedEvent, Execution
from ptxcore.places import includes

#: A way over weak accesses is the likelier intention only where nothing else leads there.
_WEAK = 10
_SCOPES = {"CTA": "cta", "CLUSTER": "cluster", "GPU": "gpu", "SYS": "sys"}
_FENCES = frozenset({"ACQ_REL", "SC"})
_PROXIES = {
    "SUR": "surface",
    "TEX": "texture",
    "CON": "constant",
    "ASYNC": "async",
    "TMAP": "tensormap",
    "GEN": "generic",
}
#: Relations of the model that order events of different threads.
_ORDERING = ("sync", "sync-some", "sc", "barrier", "syncbar", "api")


class Reason(NamedTuple):
    """Why nothing orders two events. `culprits`: the events to look at first, each with what is wrong there. `involved`: the
    events that it speaks of."""

    text: str
    culprits: tuple[tuple[int, str], ...] = ()
    involved: tuple[int, ...] = ()


class Lack(NamedTuple):
    """An event that lacks something: its index, that in words, and in few."""

    event: int
    text: str
    brief: str


class Leap(NamedTuple):
    """A step of a way that is not program order. `kind`: `given` (the model orders the two), `read` (a write, and a read of
    it in another thread), `phase` (an arrival, and a wait for the phase that it counted in)."""

    before: int
    kind: str
    after: int


class Way(NamedTuple):
    """How news of one event may have come to another: the leaps, and what they lack."""

    leaps: tuple[Leap, ...]
    lacks: tuple[Lack, ...]


class Reasons:
    """What there is to say of the order of one execution. `name` gives the name of a thread by its number, `place` where an
    event stands."""

    def __init__(self, execution: Execution, name: Callable[[int], str], place: Callable[[ExecutedEvent], str]) -> None:
        self.events, self.name, self.place = execution.events, name, place
        self.places = [place for _, place in execution.threads]
        relations = {name: set(pairs) for name, pairs in execution.relations.items()}
        self.rf = relations.get("rf", set())
        self.rmw = dict(relations.get("rmw", set()))
        self.halves = {write: read for read, write in self.rmw.items()}
        self.co = relations.get("co", set())
        self.phases = relations.get("mbrf", set())
        self.comp = relations.get("comp", set())
        self.issue = self._issues(relations.get("issue", set()))
        self.alias = relations.get("alias", set())
        self.ordering = set[tuple[int, int]]().union(*(relations.get(name, set()) for name in _ORDERING))
        self._po = successors(relations.get("po", set()))
        self._given = successors({*self.ordering, *self.comp})
        self._issued = successors(self.issue)
        told = {(w, r) for w, r in self.rf if self._are_apart(w, r)} - self.ordering
        self._read = successors(told)
        self._phase = successors(self.phases - self.ordering)
        self._of_thread: dict[int, list[ExecutedEvent]] = {}
        for e in self.events:
            self._of_thread.setdefault(e.thread, []).append(e)

    def _issues(self, first: set[tuple[int, int]]) -> set[tuple[int, int]]:
        """From asynchronous instructions to all that their operations do, not only to what comes first."""
        after, found, todo = successors(self.comp), set(first), list(first)
        while todo:
            issue, event = todo.pop()
            for following in after.get(event, ()):
                if "ASY" in self.events[following].tags and (issue, following) not in found:
                    found.add((issue, following))
                    todo.append((issue, following))
        return found

    def _are_apart(self, a: int, b: int) -> bool:
        one, other = self.events[a], self.events[b]
        return one.thread != other.thread or "ASY" in one.tags or "ASY" in other.tags

    # Two events.

    def explained(self, before: int, after: int) -> Reason:
        """Why nothing orders one event before another."""
        a, b = self.events[before], self.events[after]
        way = self.way(before, after)
        if way is None:
            said = self._unlinked(a, b)
        else:
            lacks = way.lacks or tuple(self._through(a, b))
            text = ", and ".join(lack.text for lack in lacks) or "what leads from the one to the other orders neither"
            involved = tuple(i for leap in way.leaps for i in (leap.before, leap.after))
            said = Reason(text, tuple((lack.event, lack.brief) for lack in lacks), involved)
        return self._headed(f"{self.what(a)} is not ordered before {self.what(b)}", a, b, said)

    def _headed(self, head: str, a: ExecutedEvent, b: ExecutedEvent, said: Reason) -> Reason:
        """A reason with its head, where the two events are named; behind it they are the former and the latter."""
        text = said.text.replace(self.what(a), "the former").replace(self.what(b), "the latter")
        return Reason(f"{head}: {text}", said.culprits, (a.index, b.index, *said.involved))

    def apart(self, one: int, other: int) -> Reason | None:
        """Why two strong accesses to one place are in no order: they do not take in each other's thread."""
        a, b = self.events[one], self.events[other]
        if a.thread == b.thread or {"WEAK"} & (a.tags | b.tags):
            return None
        how = "of different sizes" if a.width != b.width else ""
        how = how or ("through different proxies" if self._proxy(a) != self._proxy(b) else "")
        how = how or ("through different virtual addresses" if self._are_aliases(a, b) else "")
        if how:
            said = Reason(f"accesses {how} are never morally strong, and nothing else orders them")
            return self._headed(f"{self.what(a)} and {self.what(b)} are in no order", a, b, said)
        lacks = self.reach(a, b)
        if not lacks:
            return None
        said = Reason(", and ".join(lack.text for lack in lacks), tuple((lack.event, lack.brief) for lack in lacks))
        return self._headed(f"{self.what(a)} and {self.what(b)} are in no order", a, b, said)

    def unordered(self, one: int, other: int) -> Reason:
        """Why nothing orders two events that race: in the direction in which the least is missing."""
        pairs = [(one, other), (other, one)]
        before, after = min(pairs, key=lambda pair: self._rank(*pair))
        return self.apart(one, other) or self._weak_one(before, after) or self.explained(before, after)

    def _weak_one(self, before: int, after: int) -> Reason | None:
        """Of a weak access and a strong one to one place, where nothing may have been meant to order them: were both strong,
        they would not race."""
        a, b = self.events[before], self.events[after]
        way = self.way(before, after)
        lost = way is None or any(leap.kind == "read" and self._is_weak(leap) for leap in way.leaps)
        if not lost or {"ASY", "IW"} & (a.tags | b.tags) or ("WEAK" in a.tags) == ("WEAK" in b.tags):
            return None
        which, weak = ("former", a) if "WEAK" in a.tags else ("latter", b)
        text = f"the {which} is weak, so that the two are not morally strong, and {self._nothing_read(a, b)}"
        said = Reason(text, ((weak.index, "a weak access"),))
        return self._headed(f"{self.what(a)} and {self.what(b)} are in no order", a, b, said)

    def _rank(self, before: int, after: int) -> tuple[int, ...]:
        a, b = self.events[before], self.events[after]
        way = self.way(before, after)
        if way is not None:
            return (0, len(way.lacks), len(way.leaps), before)
        missed = self._missed(a, b) is not None
        return (1, "ASY" not in a.tags, not missed, a.kind != "W", before)

    # Ways from one event to another.

    def way(self, before: int, after: int, *, everything: bool = False) -> Way | None:
        """How news of one event may have come to another: what lacks least, and of that the shortest. With `everything`, as
        though the completion of an asynchronous operation published what its thread did before."""
        queue: list[tuple[int, int, int, tuple[Leap, ...]]] = [(0, 0, before, ())]
        seen: set[int] = set()
        pair = self.instructions(before, after)
        while queue:
            cost, length, at, leaps = heappop(queue)
            if at == after:
                return (
                    Way(leaps, tuple(self._lacks(before, leaps, after))) if self._tells(before, leaps, after) else None
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
        meant = {_variable(self.events[before]), _variable(self.events[after])}
        return not weak or (len(weak) == 1 and _variable(self.events[weak[0].before]) not in meant)

    def _is_weak(self, leap: Leap) -> bool:
        return "WEAK" in self.events[leap.before].tags and "WEAK" in self.events[leap.after].tags

    def _leaps(self, at: int, target: int, everything: bool) -> Iterator[tuple[int, Leap]]:
        for b in self._given.get(at, ()):
            yield 0, Leap(at, "given", b)
        for b in self._issued.get(at, ()):  # what is before the issue is published by a release only, not by completion
            if everything or b == target or (self.events[b].kind == "W" and "REL" in self.events[b].tags):
                yield 0, Leap(at, "given", b)
        for b in self._phase.get(at, ()):
            yield 1, Leap(at, "phase", b)
        for b in self._read.get(at, ()):
            weak = "WEAK" in self.events[at].tags or "WEAK" in self.events[b].tags
            yield (_WEAK if weak else 1), Leap(at, "read", b)

    def _lacks(self, before: int, leaps: Sequence[Leap], after: int) -> Iterator[Lack]:
        """What a way lacks. Where an atomic operation hands on what it read, the leaps to it and from it are one."""
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

    def _missing(self, start: ExecutedEvent, end: ExecutedEvent, chain: Sequence[Leap], first: bool) -> list[Lack]:
        """What is missing for a write and a read of it, or an arrival and a wait, to order `start` before `end`."""
        w, r = self.events[chain[0].before], self.events[chain[-1].after]
        if "WEAK" in w.tags and "WEAK" in r.tags:
            text = f"all that links them are {self.what(w)} and {self.what(r)}, and weak accesses synchronize nothing"
            return [Lack(w.index, text, "a weak access, which synchronizes nothing")]
        lacks: list[Lack] = []
        observed = first and w.index == start.index  # whoever reads the event itself follows it
        released = w if observed else self._released(start, w, first)
        acquired = r if observed else self._acquired(r, end)
        saw = ", which the other thread saw," if chain[0].kind == "read" else ""
        by = ", which saw it," if chain[0].kind == "read" else ""
        if released is None and "WEAK" not in w.tags:
            lacks.append(Lack(w.index, f"{self.what(w)}{saw} has no release semantics", "no release semantics"))
        if acquired is None and "WEAK" not in r.tags:
            also = ", and a reduction forms no acquire pattern" if "RED" in r.tags and "SINK" not in r.tags else ""
            lacks.append(Lack(r.index, f"{self.what(r)}{by} has no acquire semantics{also}", "no acquire semantics"))
        for leap in chain:
            x, y = self.events[leap.before], self.events[leap.after]
            lacks += [*self._out_of_reach(x, y), *self._out_of_reach(y, x)]
        for end_of_pattern, itself, other in ((released, w, r), (acquired, r, w)):
            if end_of_pattern is not None and end_of_pattern is not itself:
                lacks += self._out_of_reach(end_of_pattern, other)
        if released and acquired and not lacks:
            lacks += [self._partial(f) for f in (released, acquired) if "RESTRICT" in f.tags]
        return lacks

    def _partial(self, fence: ExecutedEvent) -> Lack:
        return Lack(fence.index, f"{self.what(fence)} is about other operations only", "about other operations only")

    def _released(self, start: ExecutedEvent, w: ExecutedEvent, first: bool) -> ExecutedEvent | None:
        """What makes a write or an arrival a release for an event before it: itself, an earlier release to the same place,
        or a fence between the two. Unless it is the `first` event, it follows itself: as the completion that leads to it."""
        if "REL" in w.tags and (w.index != start.index or not first):
            return w
        between = [e for e in self._of_thread[w.thread] if start.index < e.index < w.index and "ASY" not in e.tags]
        fences = [f for f in between if f.kind == "F" and f.tags & (_FENCES | {"REL"}) and "ONEWAY" not in f.tags]
        same = [e for e in between if e.kind == "W" and "REL" in e.tags and _is_at_one_place(e, w)]
        return next(iter((*same, *fences)), None)

    def _acquired(self, r: ExecutedEvent, end: ExecutedEvent) -> ExecutedEvent | None:
        """What makes a read or a wait an acquire for an event behind it: itself, a later acquire from the same place, or a
        fence between the two. An atomic operation hands on what it read to its own thread too, where that reads it again."""
        limit = end.index
        if "ASY" in end.tags:
            limit = max((i for i, e in self.issue if e == end.index), default=-1)
        mine = [e for e in self._of_thread[r.thread] if r.index < e.index <= limit and "ASY" not in e.tags]
        again = [e for e in mine if (self.rmw.get(r.index), e.index) in self.rf]
        for first in (r, *again):
            if "RED" in first.tags and "SINK" not in first.tags:
                continue
            if "ACQ" in first.tags:
                return first
            behind = [e for e in mine if e.index > self.rmw.get(first.index, first.index)]
            fences = [f for f in behind if f.kind == "F" and f.tags & (_FENCES | {"ACQ"}) and "ONEWAY" not in f.tags]
            same = [e for e in behind if e.kind == "R" and "ACQ" in e.tags and _is_at_one_place(e, first)]
            if same or fences:
                return (*same, *fences)[0]
        return None

    def _out_of_reach(self, one: ExecutedEvent, other: ExecutedEvent) -> list[Lack]:
        scope = next((name for tag, name in _SCOPES.items() if tag in one.tags), None)
        if scope is None:
            text = f"{self.what(one)} is weak, and weak accesses synchronize nothing"
            return [Lack(one.index, text, "a weak access, which synchronizes nothing")]
        if includes(scope, self.places[one.thread], self.places[other.thread]):
            return []
        who = self.name(other.thread)
        text = f"the .{scope} scope of {self.what(one)} does not reach {who}"
        return [Lack(one.index, text, f"the .{scope} scope does not reach {who}")]

    def reach(self, one: ExecutedEvent, other: ExecutedEvent) -> list[Lack]:
        """What keeps two strong events from taking in each other's thread."""
        return [*self._out_of_reach(one, other), *self._out_of_reach(other, one)]

    # What is ordered in time, but not for these accesses.

    def _are_aliases(self, a: ExecutedEvent, b: ExecutedEvent) -> bool:
        return bool({(a.index, b.index), (b.index, a.index)} & self.alias)

    @staticmethod
    def _proxy(event: ExecutedEvent) -> str:
        return next((name for tag, name in _PROXIES.items() if tag in event.tags), "generic")

    def _through(self, a: ExecutedEvent, b: ExecutedEvent) -> Iterator[Lack]:
        """Why a path does not order accesses: they go through different proxies, or to different virtual addresses."""
        one, other = self._proxy(a), self._proxy(b)
        late = max(a, b, key=lambda e: e.index)
        they = "they synchronize" if a.thread != b.thread else "they follow one another in their thread"
        if one != other:
            named = "fence.proxy.async" if "async" in (one, other) else "fence between these proxies"
            text = (
                f"{they}, but the former goes through the {one} proxy and the latter through the {other} proxy, "
                f"and no {named} stands where it would order them"
            )
            yield Lack(late.index, text, f"no {named} before it")
        elif self._are_aliases(a, b):
            text = (
                f"{they}, but go to the same memory at different virtual addresses, and no fence.proxy.alias stands "
                "between them"
            )
            yield Lack(late.index, text, "no fence.proxy.alias before it")
        elif one != "generic" and a.thread != b.thread:
            yield Lack(late.index, f"{they}, but not through the {one} proxy", "no fence between proxies")

    # Where nothing leads from one event to another.

    def _unlinked(self, a: ExecutedEvent, b: ExecutedEvent) -> Reason:
        if "ASY" in a.tags:
            return self._incomplete(a, b)
        if "ASY" in b.tags:
            issued = next((i for i, e in self.issue if e == b.index), None)
            if issued is not None:
                issue = self.events[issued]
                text = f"nothing leads from there to {self.place(issue)}, where {self.name(issue.thread)} issues it"
                return Reason(text, ((issued, "issued here, with nothing to order it"),), (issued,))
        crossed = self._crossed(a, b)
        if crossed is not None:
            return crossed
        missed = self._missed(a, b)
        if missed is not None:
            w, r = missed
            text = f"{self.what(r)} returned {r.number}, from before {self.what(w)}, so that these did not synchronize"
            lacks = self.reach(w, r)
            text += "".join(f", and {lack.text}" for lack in lacks)
            culprits = [(lack.event, lack.brief) for lack in lacks] or [(r.index, "this read did not synchronize")]
            return Reason(text, tuple(culprits), (w.index, r.index))
        way = self.way(a.index, b.index, everything=True)
        if way is not None and not way.lacks:
            first = next(e for leap in way.leaps if "ASY" in (e := self.events[leap.after]).tags)
            text = f"all that leads there is {self.what(first)}, which publishes that operation, and not what came before it"
            return Reason(text, ((first.index, "it does not publish what came before"),), (first.index,))
        return Reason(self._nothing_read(a, b))

    def _nothing_read(self, a: ExecutedEvent, b: ExecutedEvent) -> str:
        """That nothing at all leads from one event to another."""
        who, other = self.name(b.thread), self.name(a.thread)
        text = f"before the latter, {who} reads nothing that {other} writes after the former"
        joined = self._may_have_barriers(a.thread, b.thread)
        return f"{text}, and no barrier joins them in between" if joined else text

    def _crossed(self, a: ExecutedEvent, b: ExecutedEvent) -> Reason | None:
        """Each of two threads writes, and then misses what the other wrote: a fence.sc in both rules that out."""
        if a.kind != "W" or b.kind != "R" or "WEAK" in a.tags | b.tags or not self._is_older(b, a):
            return None
        reads = [e for e in self._of_thread[a.thread] if e.kind == "R" and e.index > a.index]
        writes = [e for e in self._of_thread[b.thread] if e.kind == "W" and e.index < b.index]
        reads, writes = ([e for e in some if "WEAK" not in e.tags] for some in (reads, writes))
        pair = next(((u, v) for u in reads for v in writes if v.location == u.location and self._is_older(u, v)), None)
        if pair is None:
            return None
        read, write = pair
        fences = [self._full(a, read), self._full(write, b)]
        turned = f"{self.what(read)} in turn missed {self.what(write)}"
        there = [(fence, other) for fence, other in zip(fences, (b, a), strict=True) if fence is not None]
        lacks = [lack for fence, other in there for lack in self._out_of_reach(fence, other)]
        bare = [late for late, fence in zip((read, b), fences, strict=True) if fence is None]
        if bare:
            where = " and ".join(f"before {self.what(e)}" for e in bare)
            turned += (
                f"; a fence.sc in each thread, between its write and its read, would rule that out: none is {where}"
            )
        text = ", and ".join([turned, *(lack.text for lack in lacks)])
        culprits = [(e.index, "no fence.sc before it") for e in bare] + [(lack.event, lack.brief) for lack in lacks]
        return Reason(text, tuple(culprits), (read.index, write.index))

    def _full(self, one: ExecutedEvent, other: ExecutedEvent) -> ExecutedEvent | None:
        """A fence.sc between two events of a thread."""
        between = (e for e in self._of_thread[one.thread] if one.index < e.index < other.index)
        return next((e for e in between if e.kind == "F" and "SC" in e.tags), None)

    def _incomplete(self, a: ExecutedEvent, b: ExecutedEvent) -> Reason:
        """Of an event of an asynchronous operation: who waits for its completion, and where."""
        tellers, todo = set[int](), [a.index]
        after = successors(self.comp)
        while todo:
            for x in after.get(todo.pop(), ()):
                if x not in tellers:
                    tellers.add(x)
                    todo.append(x)
        waits = {i for i in tellers if self.events[i].kind == "C"} | {m for x, m in self.phases if x in tellers}
        if not waits:
            what = "read" if a.kind == "R" else "write"
            return Reason(f"nobody waits for the completion of this {what}", ((a.index, "nobody waits for it"),))
        first = [self.events[i] for i in sorted(waits)[:2]]
        where = " and ".join(f"by {self.name(e.thread)} at {self.place(e)}" for e in first)
        late = all(e.thread == b.thread and e.index > b.index for e in first)
        behind = "only after the latter" if late else "and nothing leads from there to the latter"
        text = f"the completion of the former is waited for {where}, {behind}"
        brief = "the completion is waited for here only"
        return Reason(text, tuple((e.index, brief) for e in first), tuple(e.index for e in first))

    def _missed(self, a: ExecutedEvent, b: ExecutedEvent) -> tuple[ExecutedEvent, ExecutedEvent] | None:
        """A strong write behind the first event that a strong read before the second could have read, and did not."""
        writes = [e for e in self._of_thread[a.thread] if e.kind == "W" and e.index > a.index and "WEAK" not in e.tags]
        reads = [e for e in self._of_thread[b.thread] if e.kind == "R" and e.index < b.index and "WEAK" not in e.tags]
        for r in sorted(reads, key=lambda e: ("ACQ" not in e.tags, -e.index)):
            for w in sorted(writes, key=lambda e: ("REL" not in e.tags, e.index)):
                if w.location == r.location and self._is_older(r, w):
                    return w, r
        return None

    def _is_older(self, r: ExecutedEvent, w: ExecutedEvent) -> bool:
        """Whether a read returns something that comes before a write in coherence order."""
        after = successors(self.co)
        todo = [source for source, read in self.rf if read == r.index]
        seen = set(todo)
        while todo:
            for x in after.get(todo.pop(), ()):
                if x == w.index:
                    return True
                if x not in seen:
                    seen.add(x)
                    todo.append(x)
        return False

    def _may_have_barriers(self, *threads: int) -> bool:
        """Whether threads share a CTA, or have barriers that others share."""
        together = len({self.places[t].cta for t in threads}) == 1
        return together or all(
            any(e.kind == "B" or e.tags & {"MA", "MW"} for e in self._of_thread.get(t, ())) for t in threads
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
                why = self.reach(a, b)
                if a.thread != b.thread and why:
                    text = f"{self.what(a)} and {self.what(b)} both read {a.value}: {why[0].text}"
                    return Reason(text, ((why[0].event, why[0].brief),), (one, other))
        return None

    def torn(self) -> Reason | None:
        """A vector access that is seen in part: each of its elements is an access of its own."""
        vector = self._vectors()
        missed: dict[tuple[int, int], list[tuple[int, int]]] = {}
        later = successors((a, b) for a, b in self.co if b in vector)
        for w, r in sorted(self.rf):
            for b in later.get(w, ()) if r in vector else ():
                missed.setdefault((vector[b], vector[r]), []).append((b, r))
        for w, r in sorted(self.rf):
            for other, missing in missed.get((vector.get(w, -1), vector.get(r, -1)), ()):
                if w != other and r != missing:
                    writer, x, y = self.events[w], self.events[missing], self.events[r]
                    text = (
                        f"of what {self.name(writer.thread)} writes at {self.place(writer)}, {self.name(y.thread)} sees "
                        f"{y.location} = {y.number} at {self.place(y)} and misses {x.location}: the elements of a vector are "
                        "accessed each by itself, in any order"
                    )
                    return Reason(text, ((r, "a vector, accessed element by element"),), (w, other, r, missing))
        return None

    def _vectors(self) -> dict[int, int]:
        """The events that are elements of vectors, with the first of the same access: they stand next to one another, and
        program order does not relate them."""
        found: dict[int, int] = {}
        before: ExecutedEvent | None = None
        for e in self.events:
            if before and _instruction(before) == _instruction(e) and e.kind in ("R", "W") and "ASY" not in e.tags:
                first = found.get(before.index, before.index)
                if e.index not in self._po.get(first, ()):
                    found[first] = found[e.index] = first
            before = e
        return found

    # Words.

    def what(self, event: ExecutedEvent) -> str:
        """`the store to x[0] by CTA 0 at line 12 (lock.cu:7)`"""
        joint = " on" if event.kind == "X" else ""
        where = f"{joint} {event.location}" if event.location else ""
        by = f" by {self.name(event.thread)}" if event.thread >= 0 else ""
        return f"the {self._kind(event)}{where}{by} at {self.place(event)}"

    def _kind(self, event: ExecutedEvent) -> str:
        if event.index in self.rmw or event.index in self.halves:
            return "atomic on"
        if "ASY" in event.tags:
            return {"R": "asynchronous read of", "W": "asynchronous write to", "X": "completion"}.get(
                event.kind, "asynchronous operation"
            )
        if event.kind == "X":
            return next((word for tag, word in _OPERATIONS if tag in event.tags), "operation on an mbarrier object")
        return {"R": "load of", "W": "store to", "F": "fence", "B": "barrier"}.get(event.kind, "operation")


_OPERATIONS = (("MA", "arrival"), ("MW", "wait"), ("MBINIT", "initialisation"))


def _variable(event: ExecutedEvent) -> str:
    """What an event is in: a word, or an array."""
    return (event.location or "").partition("[")[0]


def _instruction(event: ExecutedEvent) -> tuple[int, int | None, str, str]:
    return event.thread, event.line, event.text, event.kind


def _is_at_one_place(one: ExecutedEvent, other: ExecutedEvent) -> bool:
    return (one.location, one.width) == (other.location, other.width)


def successors(pairs: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for a, b in sorted(pairs):
        found.setdefault(a, []).append(b)
    return found

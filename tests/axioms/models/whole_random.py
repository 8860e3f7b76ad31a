"""Random executions of everything that the model of PTX 9.0 knows, many of them nearly consistent.

Threads are drawn as lists of steps, most of them what programs synchronise by. An execution is drawn by running all events in
some order that issue, completion, phases and barriers allow, on one memory; a few of its choices are then changed.
"""

from __future__ import annotations

from random import Random
from typing import TypedDict, Unpack

from whole import Execution, Happened, Pairs, Thing

from ptxcore.places import Placement

_SCOPES = ("cta", "cluster", "gpu", "gpu", "sys")
#: CTA and cluster of each thread; None: a thread of the host.
_PLACES = (
    ((0, 0), (0, 0), (0, 0)), ((0, 0), (0, 0), (0, 0)), ((0, 0), (0, 0), (1, 0)), ((0, 0), (1, 0), (1, 0)),
    ((0, 0), (1, 0), (2, 0)), ((0, 0), (1, 0), (2, 1)), ((0, 0), (1, 1), (0, 0)), ((0, 0), None, (0, 0)),
)  # fmt: skip


class _More(TypedDict, total=False):
    """What may be said of an event besides its thread, its place and its kind."""

    semantics: str
    scope: str | None
    proxy: str
    thing: Thing | None
    cells: tuple[int, ...]
    mapping: int
    atomic: bool
    silent: bool
    partner: Happened | None
    only: str
    one_way: bool
    limit: tuple[Thing, int, tuple[int, ...]] | None
    ends_life: bool
    phase: int
    group: int


class Scene:
    """Threads and memory; `events` are those so far, thread by thread in program order, and those of operations."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        places = rng.choice(_PLACES)[: rng.choice((1, 2, 2, 2, 3, 3))]
        self.places = [
            Placement(-1 - t, -1, -1, -1, True) if p is None else Placement(t, p[0], p[1], 0)
            for t, p in enumerate(places)
        ]
        ends = rng.random() < 0.2
        self.x, self.f = Thing("x"), Thing("f")
        self.s, self.m = Thing("s", rng.choice((0, 0, 0, 0, 1)), ends), Thing("m", 0, ends)
        #: What data is kept in, mostly, and through which other proxy.
        self.datum = rng.choice((self.x, self.s))
        self.other = rng.choice(("surface", "texture", "async", "async", "tensormap", "alias", "alias", "none"))
        self.scopes = (rng.choice(_SCOPES),) * 4 + (rng.choice(_SCOPES),)
        self.sizes = rng.random() < 0.4
        self.narrow = 0.8 if rng.random() < 0.3 else 0.1  # how many fences of memory are about some operations only
        self.events: list[Happened] = []
        self.po: Pairs = set()
        self.issue: list[tuple[Happened, Happened]] = []
        self.comp: list[tuple[Happened, Happened]] = []
        self.halves: dict[object, tuple[list[Happened], list[Happened]]] = {}
        self.again: list[tuple[Happened, Happened]] = []
        self.threads: list[list[Happened]] = [[] for _ in self.places]
        self.groups = 0
        if rng.random() < 0.4:
            self.step(rng.randrange(len(places)), "MI", thing=self.m)
            if rng.random() < 0.7:
                t = self.events[-1].thread
                rng.choice((self.initialised, lambda t: self.proxy_fence(t, "async")))(t)
                self.meet(t, 0)
                for other in range(len(places)):
                    if other != t:
                        self.meet(other, 0)
        for t in range(len(places)):
            for _ in range(rng.choice((1, 1, 2) if len(places) > 2 else (1, 2, 2))):
                self.idiom(t)
        self.ended = rng.random() < 0.3
        self.kernels()

    # Steps.

    def step(self, t: int, kind: str, **more: Unpack[_More]) -> Happened:
        e = Happened(t, self.places[t], kind, **more)
        self.threads[t].append(e)
        self.events.append(e)
        return e

    def scope(self, t: int) -> str:
        return "sys" if self.places[t].host and self.rng.random() < 0.6 else self.rng.choice(self.scopes)

    def cells(self, thing: Thing) -> tuple[int, ...]:
        if thing in (self.f, self.m) or not self.sizes:
            return (0, 1)
        return self.rng.choice(((0, 1), (0, 1), (0,), (1,)))

    def mapping(self) -> int:
        return self.rng.choice((0, 1)) if self.other == "alias" else 0

    def access(self, t: int, thing: Thing | None = None, writes: bool | None = None) -> None:
        rng = self.rng
        thing = thing or rng.choice((self.datum, self.datum, self.x, self.s, self.f))
        if rng.random() < 0.03:
            thing = self.m
        proxy = (
            self.other
            if self.other in ("surface", "texture") and rng.random() < 0.4 and thing is not self.f
            else "generic"
        )
        kind = "R" if proxy == "texture" else rng.choice("RW") if writes is None else "W" if writes else "R"
        semantics = rng.choice(("weak", "weak", "weak", "relaxed", "release" if kind == "W" else "acquire"))
        scope = None if semantics == "weak" else self.scope(t)
        cells = self.cells(thing)
        if rng.random() < 0.1:  # a vector
            self.groups += 1
            for cell in (0, 1):
                self.step(t, kind, semantics=semantics, scope=scope, thing=thing, cells=(cell,), group=self.groups)
            return
        self.step(
            t, kind, semantics=semantics, scope=scope, thing=thing, cells=cells, mapping=self.mapping(), proxy=proxy
        )

    def atomic(self, t: int, thing: Thing | None = None, semantics: str | None = None) -> None:
        rng = self.rng
        thing, scope = thing or rng.choice((self.f, self.datum)), self.scope(t)
        read = rng.choice(("relaxed", "acquire")) if semantics is None else semantics.replace("release", "relaxed")
        write = rng.choice(("relaxed", "release")) if semantics is None else semantics.replace("acquire", "relaxed")
        silent = rng.random() < 0.3
        if self.sizes and rng.random() < 0.5:
            thing = self.datum
        cells, mapping = self.cells(thing), self.mapping()
        proxy = "surface" if self.other == "surface" and rng.random() < 0.2 else "generic"
        more = {"scope": scope, "thing": thing, "cells": cells, "mapping": mapping, "atomic": True, "silent": silent}
        r = self.step(t, "R", semantics=read, proxy=proxy, **more)
        if rng.random() < 0.85:
            w = self.step(t, "W", semantics=write, proxy=proxy, **more)
            r.partner, w.partner = w, r

    def fence(self, t: int, *semantics: str) -> None:
        rng = self.rng
        chosen = rng.choice(semantics or ("sc", "acq_rel", "acquire", "release"))
        only = ""
        if rng.random() < self.narrow:
            only = {"release": "shared::cta", "acquire": "shared::cluster"}.get(chosen, "")
        self.step(t, "F", semantics=chosen, scope=self.scope(t), only=only)

    def initialised(self, t: int) -> None:
        self.step(t, "F", semantics="release", scope="cluster", only="mbarrier_init")

    def proxy_fence(self, t: int, proxy: str = "") -> None:
        rng = self.rng
        proxy = proxy or (self.other if self.other not in ("none", "tensormap") else "async")
        only = rng.choice(("", "", "shared::cta", "shared::cluster", "global")) if proxy == "async" else ""
        self.step(t, "PF", proxy=proxy, only=only)

    def turn(self, t: int, semantics: str) -> None:
        """A fence of proxies that works one way."""
        proxy = self.other if self.other in ("async", "tensormap") else "tensormap"
        scope = "cta" if self.rng.random() < 0.3 else self.scope(t)
        if proxy == "async":
            only = "shared::cta" if semantics == "release" else "shared::cluster"
            self.step(t, "PF", proxy=proxy, one_way=True, semantics=semantics, scope="cluster", only=only)
        elif semantics == "release":
            self.step(t, "PF", proxy=proxy, one_way=True, semantics=semantics, scope=scope)
        else:
            limit = self.rng.choice((self.datum, self.datum, self.datum, self.x)), 0, (0, 1)
            self.step(t, "PF", proxy=proxy, one_way=True, semantics=semantics, scope=scope, limit=limit)

    def before(self, t: int) -> None:
        """A fence of proxies may stand between data and what publishes it."""
        draw = self.rng.random()
        if self.other != "none" and draw < 0.5:
            self.proxy_fence(t)
        if (self.other == "async" and 0.3 < draw < 0.6) or (self.other == "tensormap" and draw > 0.1):
            self.turn(t, "release")

    def behind(self, t: int) -> None:
        draw = self.rng.random()
        if (self.other == "async" and 0.3 < draw < 0.6) or (self.other == "tensormap" and draw > 0.1):
            self.turn(t, "acquire")
        if self.other != "none" and draw < 0.5:
            self.proxy_fence(t)

    # What programs synchronise by.

    def idiom(self, t: int) -> None:
        rng = self.rng
        kinds = [self.publish] * 4 + [self.consume] * 4 + [self.relay, self.buffer, self.anything]
        if self.sizes:
            kinds += [self.relay] * 2
        rng.choice([*kinds, self.copy, self.copy, self.copy])(t)

    def anything(self, t: int) -> None:
        if self.rng.random() < 0.1:
            self.step(t, "MI", thing=self.m, ends_life=True)
            self.access(t, self.m)
        for _ in range(self.rng.choice((1, 2))):
            self.rng.choice((self.access, self.access, self.atomic, self.fence, self.proxy_fence))(t)

    def publish(self, t: int) -> None:
        if self.rng.random() < 0.25:
            self.copy(t)
        else:
            self.access(t, self.datum, True if self.rng.random() < 0.8 else None)
        self.before(t)
        kind = self.rng.random()
        if kind < 0.2:
            self.step(t, "W", semantics="release", scope=self.scope(t), thing=self.f, cells=(0, 1))
        elif kind < 0.4:
            self.fence(t, "release", "release", "acq_rel", "sc")
            self.flag(t)
        elif kind < 0.5:
            self.step(t, "W", semantics="release", scope=self.scope(t), thing=self.f, cells=(0, 1))
            self.flag(t)
        elif kind < 0.8:
            if self.rng.random() < max(0.4, self.narrow):
                self.fence(t, "release")
            self.arrive(t)
        else:
            self.meet(t, 0)

    def flag(self, t: int) -> None:
        if self.rng.random() < 0.3:
            return self.atomic(t, self.f, "relaxed")
        self.step(t, "W", semantics="relaxed", scope=self.scope(t), thing=self.f, cells=(0, 1))

    def consume(self, t: int) -> None:
        kind = self.rng.random()
        if kind < 0.2:
            self.step(t, "R", semantics="acquire", scope=self.scope(t), thing=self.f, cells=(0, 1))
        elif kind < 0.4:
            self.step(t, "R", semantics="relaxed", scope=self.scope(t), thing=self.f, cells=(0, 1))
            self.fence(t, "acquire", "acquire", "acq_rel", "sc")
        elif kind < 0.5:
            self.step(t, "R", semantics="relaxed", scope=self.scope(t), thing=self.f, cells=(0, 1))
            self.step(t, "R", semantics="acquire", scope=self.scope(t), thing=self.f, cells=(0, 1))
        elif kind < 0.8:
            self.wait(t)
        else:
            self.meet(t, 1)
        self.behind(t)
        if self.rng.random() < (0.8 if self.other == "tensormap" else 0.35):
            self.copy(t)
        else:
            self.access(t, self.datum)

    def relay(self, t: int) -> None:
        self.atomic(t, self.f)

    def buffer(self, t: int) -> None:
        self.access(t, self.datum)
        self.fence(t, "sc")
        self.access(t)

    def arrive(self, t: int) -> None:
        semantics = "relaxed" if self.rng.random() < max(0.3, self.narrow) else "release"
        scope = self.rng.choice(("cta", "cluster"))
        self.step(t, "MA", semantics=semantics, scope=scope, thing=self.m, phase=self.rng.choice((0, 0, 1)))

    def wait(self, t: int) -> None:
        semantics = "relaxed" if self.rng.random() < max(0.3, self.narrow) else "acquire"
        scope = self.rng.choice(("cta", "cluster"))
        if self.rng.random() < 0.3:
            self.step(t, "MN", thing=self.m)
            return
        self.step(t, "MW", semantics=semantics, scope=scope, thing=self.m, phase=self.rng.choice((0, 0, 1)))
        if semantics == "relaxed" and self.rng.random() < 0.7:
            self.fence(t, "acquire")

    def meet(self, t: int, instance: int) -> None:
        """A barrier of the CTA."""
        if self.places[t].host:
            return
        key = self.places[t].cta, self.rng.choice((0, 0, 0, instance))
        arrivals, waits = self.halves.setdefault(key, ([], []))
        mine = [a for a in arrivals if a.thread == t]
        arrivals.append(self.step(t, "BA"))
        if mine:
            self.again.append((self.rng.choice(arrivals[:-1]), arrivals[-1]))
        if self.rng.random() < 0.8:
            waits.append(self.step(t, "BW"))

    # Asynchronous operations.

    def agent(self, issue: Happened, kind: str, **more: Unpack[_More]) -> Happened:
        e = Happened(issue.thread, issue.place, kind, issue=issue, **more)
        self.events.append(e)
        if kind != "PF":
            self.issue.append((issue, e))
        return e

    def copy(self, t: int) -> None:
        """One operation: what it does, and what tells of its completion."""
        rng = self.rng
        kind = rng.choice(("copy", "bulk", "bulk", "bulk", "reduce", "store", "red", "release", "tensor"))
        if self.other == "tensormap" and rng.random() < 0.7:
            kind = "tensor"
        to = self.datum if rng.random() < 0.6 else rng.choice((self.x, self.s))
        source = self.s if to is self.x else self.x
        if kind in ("bulk", "tensor") and rng.random() < 0.4:
            to, source = source, to
        issue = self.step(t, "I")
        cells = self.cells(to)
        proxy = "async" if kind in ("bulk", "reduce", "tensor") else "generic"
        mapping = self.mapping() if proxy == "generic" else 0
        reads: list[Happened] = []
        writes: list[Happened] = []
        if kind in ("copy", "bulk", "reduce", "tensor"):
            reads.append(self.agent(issue, "R", thing=source, cells=cells, proxy=proxy, mapping=mapping))
        if kind == "tensor":
            reads.append(self.agent(issue, "R", thing=self.datum, cells=(0, 1), proxy="tensormap"))
        if kind in ("reduce", "red"):
            scope = "gpu" if kind == "reduce" else "cluster"
            more = {"scope": scope, "thing": to, "cells": cells, "mapping": mapping, "atomic": True, "silent": True}
            r = self.agent(issue, "R", semantics="relaxed", proxy=proxy, **more)
            w = self.agent(issue, "W", semantics="relaxed", proxy=proxy, **more)
            r.partner, w.partner = w, r
            reads.append(r)
            writes.append(w)
        elif kind == "release":
            to = self.f if rng.random() < 0.7 else to
            scope = self.scope(t)
            writes.append(
                self.agent(issue, "W", semantics="release", scope=scope, thing=to, cells=(0, 1), mapping=mapping)
            )
        else:
            writes.append(self.agent(issue, "W", thing=to, cells=cells, proxy=proxy, mapping=mapping))
        self.comp += [(r, w) for r in reads for w in writes]
        last = reads + writes
        if proxy == "async":
            fence = self.agent(issue, "PF", proxy="async")
            self.comp += [(e, fence) for e in last]
            last = [*last, fence]
        self.told(t, kind, reads, last)

    def told(self, t: int, kind: str, reads: list[Happened], all_: list[Happened]) -> None:
        """What tells of the completion of an operation."""
        rng, issue = self.rng, all_[0].issue
        assert issue is not None
        draw = rng.random()
        if kind == "release":
            return  # the end of its kernel only, see `kernels`
        if kind in ("store", "red") or draw < 0.5:
            if kind == "copy":
                issue = self.step(t, "I")
            scope = "cta" if kind == "copy" else "cluster"
            arrival = self.agent(
                issue, "MA", semantics="release", scope=scope, thing=self.m, phase=rng.choice((0, 0, 1))
            )
            self.comp += [(e, arrival) for e in all_]
            if rng.random() < 0.4:
                self.wait(t)
        elif draw < 0.95:
            if rng.random() < 0.3:
                self.access(t)
            wait = self.step(t, "CW")
            if rng.random() < 0.25 and reads:
                last = reads
                if kind != "copy":
                    fence = self.agent(issue, "PF", proxy="async")
                    self.comp += [(e, fence) for e in reads]
                    last = [*reads, fence]
                self.comp += [(e, wait) for e in last]
            else:
                self.comp += [(e, wait) for e in all_]
            if rng.random() < 0.3:
                self.access(t, self.datum)

    # Kernels.

    def kernels(self) -> None:
        self.api: list[tuple[Happened, Happened]] = []
        if not self.ended:
            return
        rng, cut = self.rng, self.rng.randrange(1, len(self.places) + 1)
        members = [set(range(cut)), set(range(cut, len(self.places)))]
        ends: list[Happened] = []
        for own in members:
            if not own or any(self.places[t].host for t in own):
                continue
            start, end = Happened(-1, None, "KS"), Happened(-1, None, "KE")
            self.events += [start, end]
            for t in own:
                self.api += [(start, e) for e in self.threads[t]] + [(e, end) for e in self.threads[t]]
            if ends and rng.random() < 0.6:
                self.api.append((ends[-1], start))
            ends.append(end)
            for e in self.events:
                if e.issue is not None and e.thread in own and (e.memory or e.kind == "PF"):
                    self.comp.append((e, end))


def drawn(rng: Random) -> Execution:
    """A random execution."""
    scene = Scene(rng)
    things = (scene.x, scene.f, scene.s, scene.m)
    initial = [Happened(-1, None, "W", thing=thing, cells=(cell,)) for thing in things for cell in (0, 1)]
    events = [*initial, *scene.events]
    for n, e in enumerate(events):
        e.index = n

    def numbered(pairs: list[tuple[Happened, Happened]]) -> Pairs:
        return {(a.index, b.index) for a, b in pairs}

    po = {
        (a.index, b.index) for thread in scene.threads for n, a in enumerate(thread) for b in thread[n + 1 :]
        if a.group < 0 or a.group != b.group
    }  # fmt: skip
    barriers = {
        (a.index, w.index) for arrivals, waits in scene.halves.values() for a in arrivals for w in waits
        if rng.random() < 0.97
    }  # fmt: skip
    issue, comp, api = numbered(scene.issue), numbered(scene.comp), numbered(scene.api)
    phases = {
        (a.index, w.index) for a in events for w in events if a.kind == "MA" and w.kind == "MW" and a.phase == w.phase
    }  # fmt: skip
    order = _interleaving(rng, events, po | barriers | issue | comp | api | phases)
    rf = _last_writes(order)
    others = list(order)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        change = rng.random()
        if change < 0.45 and rf:
            r, c = rng.choice(sorted(rf))
            thing = events[r].thing
            writes = [
                w.index
                for w in events
                if w.kind == "W" and w.thing is thing and c in w.cells and w.partner is not events[r]
            ]
            rf[r, c] = rng.choice(writes)
            if rng.random() < 0.6:  # all of it
                for s, d in rf:
                    if s == r and d in events[rf[r, c]].cells:
                        rf[s, d] = rf[r, c]
        else:
            _move(rng, order if change < 0.8 else others)
    if rng.random() < 0.15:
        others = _interleaving(rng, events, po | issue | comp)
    co = {
        (a, b) for a, b in _common(order, others)
        if events[a].kind == events[b].kind == "W" and events[a].thing is events[b].thing
        and set(events[a].cells) & set(events[b].cells) and not events[b].initial
    }  # fmt: skip
    co |= {
        (a.index, b.index) for a in initial for b in events
        if b.kind == "W" and not b.initial and b.thing is a.thing and a.cells[0] in b.cells
    }  # fmt: skip
    fences = {
        (a.index, b.index) for n, a in enumerate(order) for b in order[n + 1 :]
        if a.kind == b.kind == "F" and a.semantics == b.semantics == "sc"
    }  # fmt: skip
    members = [e.index for e in order if e.kind in ("MA", "MW", "MN", "MX", "MI")]
    denied = {
        (a, b) for n, b in enumerate(members) if events[b].kind == "MN" and rng.random() < 0.5
        for a in [a for a in members[:n] if events[a].kind in ("MA", "MI")][-1:]
    }  # fmt: skip
    dependencies: list[Pairs] = [set(), set(), set()]
    for a, b in sorted(po):
        if events[a].kind in ("R", "MW") and events[b].kind in ("R", "W", "I", "MA") and rng.random() < 0.2:
            rng.choice(dependencies).add((a, b))
    data = dependencies[1] | {
        (a, b) for a, b in comp if events[a].kind == "R" and events[b].kind == "W" and events[a].issue is events[b].issue
    }  # fmt: skip
    return Execution(
        events, po, rf, co, fences, barriers, numbered(scene.again), [members], issue, comp, api,
        dependencies[0], data, dependencies[2], denied,
    )  # fmt: skip


def _interleaving(rng: Random, events: list[Happened], before: Pairs) -> list[Happened]:
    """The events in an order that has all of these pairs, as far as they contradict each other nowhere. Atomic operations stay
    whole, as often as not."""
    missing = {e.index: {a for a, b in before if b == e.index} for e in events}
    order: list[Happened] = []
    left = list(events)
    thread = -1
    while left:
        ready = [e for e in left if not missing[e.index]] or left
        partner = order[-1].partner if order and order[-1].kind == "R" else None
        mine = [e for e in ready if e.thread == thread]
        if partner is not None and partner in ready and rng.random() < 0.8:
            e = partner
        elif ready[0].initial:
            e = ready[0]
        else:
            e = rng.choice(mine if mine and rng.random() < 0.6 else ready)
        thread = e.thread
        order.append(e)
        left.remove(e)
        for waiting in missing.values():
            waiting.discard(e.index)
    return order


def _last_writes(order: list[Happened]) -> dict[tuple[int, int], int]:
    memory: dict[tuple[str, int], int] = {}
    rf = {}
    for e in order:
        for c in e.cells if e.memory else ():
            assert e.thing is not None
            if e.kind == "W":
                memory[e.thing.name, c] = e.index
            else:
                rf[e.index, c] = memory[e.thing.name, c]
    return rf


def _move(rng: Random, order: list[Happened]) -> None:
    movable = [n for n, e in enumerate(order) if not e.initial]
    if len(movable) > 1:
        e = order.pop(rng.choice(movable))
        order.insert(rng.choice(movable[:-1]), e)


def _common(first: list[Happened], second: list[Happened]) -> Pairs:
    """What two orders agree on."""
    places = {e.index: n for n, e in enumerate(second)}
    return {
        (a.index, b.index) for n, a in enumerate(first) for b in first[n + 1 :] if places[a.index] < places[b.index]
    }  # fmt: skip


__all__ = ["Scene", "drawn"]

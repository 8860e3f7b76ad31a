"""Executions as the whole model of PTX 9.0 sees them, free of programs: events, and relations that were chosen.

`Happened` is one event. An `Execution` says who read from whom and in which orders; `base` translates it into the sets and
relations that cat files start from. What a definition needs besides (overlap, scopes, what fences are about) it works out on
its own, from the events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from axioms.cat.nodes import Rows
from axioms.witness.judge import BaseValues
from ptxcore.places import Placement, includes

Pair = tuple[int, int]
Pairs = set[Pair]


@dataclass(slots=True, eq=False)
class Thing:
    """A stretch of memory; `cta` is whose shared memory it is. `ends`: no longer there than that CTA."""

    name: str
    cta: int | None = None
    ends: bool = False


@dataclass(slots=True, eq=False)
class Happened:
    """An event. `kind`: R, W; F and PF, fences of memory and of proxies; BA and BW, halves of barriers; MA, MW, MN
    and MX, arrivals, waits, waits that say no, and other operations on an mbarrier object or a cluster's barrier; MI, its
    initialisation; I, the issue of an asynchronous operation; CW, a wait for groups; KS and KE, start and end of a kernel.

    `only` is what a fence of memory, or one of the async proxy, is restricted to; `limit` the cells that a one-way acquire is
    about. `partner` is the other half of an atomic operation; `issue` the I of an event of an asynchronous operation; `phase`
    of an arrival and a wait the phase that it counts in, or waited for.
    """

    thread: int
    place: Placement | None
    kind: str
    semantics: str = "weak"
    scope: str | None = None
    proxy: str = "generic"
    thing: Thing | None = None
    cells: tuple[int, ...] = ()
    mapping: int = 0
    atomic: bool = False
    silent: bool = False
    partner: Happened | None = None
    issue: Happened | None = None
    only: str = ""
    one_way: bool = False
    limit: tuple[Thing, int, tuple[int, ...]] | None = None
    ends_life: bool = False
    phase: int = -1
    group: int = -1  # of elements of one instruction
    index: int = -1

    @property
    def memory(self) -> bool:
        return self.kind in ("R", "W")

    @property
    def initial(self) -> bool:
        return self.memory and self.place is None


@dataclass(slots=True)
class Execution:
    """`rf` has the write of each cell of a read; `sequences` the operations and waits of each mbarrier object in order."""

    events: list[Happened]
    po: Pairs
    rf: dict[tuple[int, int], int]
    co: Pairs
    fences: Pairs
    barriers: Pairs
    again: Pairs
    sequences: list[list[int]]
    issue: Pairs
    comp: Pairs
    api: Pairs
    addr: Pairs = field(default_factory=set)
    data: Pairs = field(default_factory=set)
    ctrl: Pairs = field(default_factory=set)
    denied: Pairs = field(default_factory=set)

    def pairs(self, condition: Callable[[Happened, Happened], bool]) -> Pairs:
        return {(a.index, b.index) for a in self.events for b in self.events if condition(a, b)}


# What cat files start from.

_PROXIES = {
    "generic": "GEN",
    "surface": "SUR",
    "texture": "TEX",
    "constant": "CON",
    "async": "ASYNC",
    "tensormap": "TMAP",
}
_READ = {"weak": "WEAK", "relaxed": "RLX", "acquire": "ACQ"}
_WRITE = {"weak": "WEAK", "relaxed": "RLX", "release": "REL"}
_FENCE = {"sc": "SC", "acq_rel": "ACQ_REL", "acquire": "ACQ", "release": "REL"}


def _tags(e: Happened) -> Iterable[str]:
    if e.initial:
        return ("W", "M", "IW", "WEAK", "GEN", "SUR", "TEX", "CON")
    found = [e.scope.upper() if e.scope else "", "ASY" if e.issue is not None else "", "FOREIGN" if _foreign(e) else ""]
    if e.memory:
        found.append("SHARED" if e.issue is not None and e.thing is not None and e.thing.cta is not None else "")
        found += [e.kind, "M", (_READ if e.kind == "R" else _WRITE)[e.semantics], _PROXIES[e.proxy]]
        found += ["NONGEN" if e.proxy != "generic" else "", "RMW" if e.atomic else "", "RED" if e.silent else ""]
        found += ["TORN" if e.kind == "R" and len(e.cells) > 1 else ""]
    elif e.kind == "F":
        found += ["F", "GEN", _FENCE[e.semantics], "RESTRICT" if e.only else ""]
        found += ["MBINIT" if e.only == "mbarrier_init" else ""]
    elif e.kind == "PF":
        found += ["F", "ALIAS" if e.proxy == "alias" else _PROXIES[e.proxy]]
        found += ["RESTRICT" if e.only or e.limit else "", *(("ONEWAY", _FENCE[e.semantics]) if e.one_way else ())]
    elif e.kind in ("MA", "MW"):
        found += ["MB", e.kind, {"release": "REL", "acquire": "ACQ", "relaxed": "RLX"}[e.semantics]]
    elif e.kind == "MI":
        found += ["MB", "MBINIT", "INVAL" if e.ends_life else ""]
    else:
        found += {"MX": ["MB"], "MN": ["MB", "REFUSED"]}.get(e.kind, [e.kind])
    return [tag for tag in found if tag]


def _may_cover(fence: Happened, e: Happened, events: Sequence[Happened]) -> bool:
    """Whether a fence that is about some operations only is about this one."""
    if e.thing is None or e.place is None:
        return False
    if fence.only == "mbarrier_init":
        return e.kind == "MI" and e.thread == fence.thread
    if fence.limit is not None:
        thing, mapping, cells = fence.limit
        return e.thing is thing and e.mapping == mapping and bool(set(cells) & set(e.cells))
    here = fence.place
    assert here is not None
    owner = e.thing.cta
    if fence.only == "global":
        return owner is None
    if fence.only == "shared::cta":
        return owner is not None and owner == here.cta and not here.host
    return any(x.place is not None and not x.place.host and x.place.cta == owner and x.place.cluster == here.cluster
               for x in events)  # fmt: skip


def base(x: Execution) -> BaseValues:
    """The sets and relations of an execution."""
    events, size = x.events, len(x.events)
    found = BaseValues({"_": (1 << size) - 1}, size)
    for e in events:
        for tag in _tags(e):
            row = found.get(tag, 0)
            assert isinstance(row, int)
            found[tag] = row | 1 << e.index

    def rows(pairs: Iterable[Pair]) -> Rows:
        made = [0] * size
        for i, j in pairs:
            made[i] |= 1 << j
        return made

    of_cta = {e.place.cta: e.place for e in reversed(events) if e.place is not None and not e.place.host}
    holders = {
        e.index: of_cta[e.thing.cta]
        for e in events
        if e.kind == "MA" and e.issue is not None and e.thing is not None and e.thing.cta in of_cta
    }

    def meets(a: Happened, b: Happened) -> bool:
        return a.memory and b.memory and a.thing is b.thing and bool(set(a.cells) & set(b.cells))

    def at_one(a: Happened, b: Happened) -> bool:
        return meets(a, b) and (a.initial or b.initial or a.mapping == b.mapping)

    def whole(a: Happened, b: Happened) -> bool:
        return at_one(a, b) and a.cells == b.cells and a.initial == b.initial

    def scoped(a: Happened, b: Happened) -> bool:
        if a.scope is None or b.scope is None or a.place is None or b.place is None:
            return False
        here, there = holders.get(a.index, a.place), holders.get(b.index, b.place)
        return a.thread == b.thread or (includes(a.scope, here, there) and includes(b.scope, there, here))

    def one_cta(a: Happened, b: Happened) -> bool:
        if a.place is None or b.place is None:
            return False
        return a.thread == b.thread or (not a.place.host and not b.place.host and a.place.cta == b.place.cta)

    found["id"] = rows((i, i) for i in range(size))
    found["int"] = rows(x.pairs(lambda a, b: a is b or (a.thread == b.thread >= 0)))
    found["ext"] = rows(x.pairs(lambda a, b: a is not b and not a.thread == b.thread >= 0))
    found["po"], found["co"] = rows(x.po), rows(x.co)
    found["loc"], found["vloc"], found["cov"] = rows(x.pairs(meets)), rows(x.pairs(at_one)), rows(x.pairs(whole))
    found["mixed"] = rows(x.pairs(lambda a, b: at_one(a, b) and not whole(a, b) and not a.initial and not b.initial))
    found["alias"] = rows(x.pairs(lambda a, b: meets(a, b) and not at_one(a, b)))
    found["sr"], found["scta"] = rows(x.pairs(scoped)), rows(x.pairs(one_cta))
    found["rmw"] = rows((a.index, a.partner.index) for a in events if a.kind == "R" and a.partner is not None)
    found["rf"] = rows((w, r) for (r, _), w in x.rf.items())
    found["fr"] = rows((r, v) for (r, c), w in x.rf.items() for u, v in x.co if u == w and c in events[v].cells)
    found["addr"], found["data"], found["ctrl"] = rows(x.addr), rows(x.data), rows(x.ctrl)
    found["sync_fence"], found["syncbar"], found["again"] = rows(x.fences), rows(x.barriers), rows(x.again)
    found["issue"], found["comp"], found["api"] = rows(x.issue), rows(x.comp), rows(x.api)
    found["mbo"], found["denied"] = rows(_order(x)), rows(x.denied)
    found["mbrf"] = rows(
        (a, w) for s in x.sequences for a in s for w in s
        if events[a].kind == "MA" and events[w].kind == "MW" and events[a].phase == events[w].phase
    )  # fmt: skip
    found["covers"] = rows(x.pairs(
        lambda a, b: a.kind in ("F", "PF") and bool(a.only or a.limit) and _may_cover(a, b, events)
    ))  # fmt: skip
    found["object"] = rows(x.pairs(
        lambda a, b: a.kind == "MI" and b.memory and b.place is not None and a.thing is b.thing
    ))  # fmt: skip
    found["owner"] = rows(x.pairs(_keeps))
    return found


def _foreign(a: Happened) -> bool:
    """Whether something is done to shared memory that ends with its CTA, by another CTA or in the background."""
    if a.place is None or a.thing is None:
        return False
    in_background = a.memory and a.issue is not None
    return a.thing.ends and a.thing.cta is not None and (a.thing.cta != a.place.cta or in_background)


def _keeps(a: Happened, b: Happened) -> bool:
    """What is done there, and what that CTA's threads do."""
    if not _foreign(a) or b.place is None or b.issue is not None or a.thing is None:
        return False
    return not b.place.host and b.place.cta == a.thing.cta


def _order(x: Execution) -> Iterable[Pair]:
    """`mbo`: what stands before what, but waits that no operation separates are in no order."""
    for sequence in x.sequences:
        for n, a in enumerate(sequence):
            operated = x.events[a].kind not in ("MW", "MN")
            for b in sequence[n + 1 :]:
                operated = operated or x.events[b].kind not in ("MW", "MN")
                if operated:
                    yield a, b


__all__ = ["Execution", "Happened", "Pair", "Pairs", "Thing", "base"]

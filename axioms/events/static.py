"""The relations that are known before any solving, as rows of bitsets: they hold if both events are executed."""

from __future__ import annotations

from axioms.events.event import Collector, Event
from axioms.events.event_kinds import BARRIER_EVENT, MBARRIER_EVENT, READ
from ptxcore.clock import paced
from ptxcore.places import Placement, includes
from ptxcore.values import terms


def known_relations(collector: Collector) -> dict[str, list[int]]:
    events = collector.events
    n = len(events)
    zero = [0] * n
    names = ("po", "int", "ext", "rmw", "sr", "scta")
    relations: dict[str, list[int]] = {name: list(zero) for name in names}
    relations["id"] = [1 << i for i in range(n)]
    everything = (1 << n) - 1

    threads: dict[int, int] = {}
    ordered: dict[int, int] = {}
    for e in events:
        if e.thread >= 0:
            threads[e.thread] = threads.get(e.thread, 0) | 1 << e.index
            if e.in_po:
                ordered[e.thread] = ordered.get(e.thread, 0) | 1 << e.index
    initial = frozenset(e.index for e in events if "IW" in e.tags)
    before = sum(1 << i for i in initial)
    int_, po, ext, rmw = relations["int"], relations["po"], relations["ext"], relations["rmw"]
    for e in events:
        i = e.index
        bit = 1 << i
        mates = threads[e.thread] if e.thread >= 0 else bit
        int_[i], ext[i] = mates, everything & ~mates
        if e.index in initial:  # in no thread, and in no other one than its like
            int_[i], ext[i] = 0, everything & ~before
        if e.in_po:
            po[i] = ordered[e.thread] & -(bit << 1)
            if e.effect is not None:
                made = collector.by_effect[e.thread][e.effect.index]
                for other in paced(made) if len(made) > 1 else ():
                    if terms.conj(e.guard, other.guard) == 0:
                        po[i] &= ~(1 << other.index)  # the same access at another address
        if e.kind is READ and e.partner is not None:
            rmw[i] = 1 << e.partner.index
    _overlaps(collector, relations)
    _scope_relations(collector, relations)
    _groups(events, relations)
    _owners(collector, relations)
    return relations


def _overlaps(collector: Collector, relations: dict[str, list[int]]) -> None:
    """`loc`: a byte in common; `vloc`: through one mapping too; `cov`: all bytes in common, through one mapping. Where there
    are such, `mixed`: some bytes in common, through one mapping; `alias`: a byte in common, through different mappings.

    An initial write overlaps each mapping of its cell; it covers nothing but itself.
    """
    n = len(collector.events)
    loc, vloc, cov = [0] * n, [0] * n, [0] * n
    relations["loc"], relations["vloc"], relations["cov"] = loc, vloc, cov
    by_cell: dict[int, int] = {}
    by_mapping: dict[tuple[int, int], int] = {}
    memory = [e for e in collector.events if e.cells]
    for e in paced(memory):
        bit = 1 << e.index
        for c in e.cells:
            by_cell[c] = by_cell.get(c, 0) | bit
            key = c, e.mapping
            by_mapping[key] = by_mapping.get(key, 0) | bit
    for e in memory:
        i = e.index
        for c in e.cells:
            loc[i] |= by_cell[c]
            vloc[i] |= by_cell[c] if e.thread < 0 else by_mapping[c, e.mapping] | by_mapping[c, -1]
    if all(len(e.cells) == 1 for e in memory):  # who has a cell in common has all
        for e in memory:
            cov[e.index] = by_mapping[e.cells[0], e.mapping]
    else:
        _partial_overlaps(memory, relations)
    if loc != vloc:
        alias = [a & ~v for a, v in zip(loc, vloc, strict=True)]
        if any(alias):
            relations["alias"] = alias
    _objects(collector, relations)


def _partial_overlaps(memory: list[Event], relations: dict[str, list[int]]) -> None:
    """`cov` and `mixed`, where accesses have several cells."""
    vloc, cov = relations["vloc"], relations["cov"]
    by_bytes: dict[tuple[int, int, int, int], int] = {}
    accesses = [e for e in memory if e.thread >= 0]
    initial = 0
    for e in memory:
        bit = 1 << e.index
        if e.thread < 0:
            initial |= bit
            cov[e.index] = bit
        else:
            whole = e.object, e.offset, e.width, e.mapping
            by_bytes[whole] = by_bytes.get(whole, 0) | bit
    mixed = [0] * len(vloc)
    for e in accesses:
        cov[e.index] = by_bytes[e.object, e.offset, e.width, e.mapping]
        mixed[e.index] = vloc[e.index] & ~cov[e.index] & ~initial
    if any(mixed):
        relations["mixed"] = mixed


def _objects(collector: Collector, relations: dict[str, list[int]]) -> None:
    """`object`, where there is such: accesses to the bytes of an mbarrier object."""
    inits = [e for e in collector.events if "MBINIT" in e.tags]
    if not inits:
        return
    rows = [0] * len(collector.events)
    accesses = [e for e in collector.events if e.cells and e.thread >= 0]
    for init in inits:
        for e in accesses:
            apart = e.offset + e.width // 8 <= init.offset or init.offset + init.width // 8 <= e.offset
            if e.object == init.object and not apart:
                rows[init.index] |= 1 << e.index
    if any(rows):
        relations["object"] = rows


def _in_background(e: Event) -> bool:
    """Whether an event is an access of an asynchronous operation."""
    return e.kind.accesses and e.thread >= 0 and not e.in_po


def _owners(collector: Collector, relations: dict[str, list[int]]) -> None:
    """`owner`, where there is such: from what is done to shared memory that is there no longer than its CTA, by another CTA or
    by an asynchronous operation, to what the threads of that CTA do. `FOREIGN` are the former, whether these do anything or
    not; `SHARED` are accesses of asynchronous operations to any shared memory."""
    objects = collector.space.objects
    for e in collector.events:
        if _in_background(e) and objects[e.object].space == "shared":
            e.tags |= {"SHARED"}
    if not any(thing.ends for thing in objects):
        return
    rows = [0] * len(collector.events)
    places = [thread.place for thread in collector.threads]
    theirs: dict[int, int] = {}
    for e in collector.events:
        if e.thread >= 0 and e.in_po:
            theirs[places[e.thread].cta] = theirs.get(places[e.thread].cta, 0) | 1 << e.index
    for e in collector.events:
        if e.object >= 0 and e.thread >= 0:
            thing = objects[e.object]
            if thing.ends and thing.cta is not None and (thing.cta != places[e.thread].cta or _in_background(e)):
                e.tags |= {"FOREIGN"}
                rows[e.index] = theirs.get(thing.cta, 0)
    if any(rows):
        relations["owner"] = rows


def _groups(events: list[Event], relations: dict[str, list[int]]) -> None:
    """`group`: elements of one instruction, which no program order relates."""
    members: dict[tuple[int, int], dict[int, int]] = {}
    for e in events:
        if e.effect is not None and e.effect.group >= 0:
            elements = members.setdefault((e.thread, e.effect.group), {})
            elements[e.effect.index] = elements.get(e.effect.index, 0) | 1 << e.index
    if not members:
        return
    rows = relations["group"] = [0] * len(events)
    po = relations["po"]
    for e in events:
        if e.effect is not None and e.effect.group >= 0:
            elements = members[e.thread, e.effect.group]
            for element, mates in elements.items():
                if element != e.effect.index:
                    rows[e.index] |= mates
            po[e.index] &= ~rows[e.index]


def _scope_relations(collector: Collector, relations: dict[str, list[int]]) -> None:
    """`sr` and `scta`. Events fall into few classes (thread, scope, and where they count as made), so classes are compared and
    not events."""
    places = [t.place for t in collector.threads]
    holders = _holders(collector, places)
    key_of: dict[int, tuple[int, str | None, Placement]] = {}
    classes: dict[tuple[int, str | None, Placement], int] = {}
    for e in collector.events:
        if e.thread >= 0 and e.effect is not None:
            key = (
                e.thread,
                e.effect.scope if e.kind is not BARRIER_EVENT else None,
                holders.get(e.index, places[e.thread]),
            )
            key_of[e.index] = key
            classes[key] = classes.get(key, 0) | 1 << e.index
    sr, scta = relations["sr"], relations["scta"]
    reach = {key: [0, 0] for key in classes}
    pairs = list(classes.items())
    for n, (one, mine) in enumerate(paced(pairs)):
        (ta, sa, a), whole = one, reach[one]
        for two, members in pairs[n:]:  # both relations are symmetric
            (tb, sb, b), other = two, reach[two]
            if ta == tb or (places[ta].cta == places[tb].cta and not places[ta].host and not places[tb].host):
                whole[1] |= members
                other[1] |= mine
            if sa and sb and includes(sa, a, b) and includes(sb, b, a):
                whole[0] |= members
                other[0] |= mine
    for i, key in key_of.items():
        sr[i], scta[i] = reach[key]


def _holders(collector: Collector, places: list[Placement]) -> dict[int, Placement]:
    """Where completions count as made that mbarrier objects of other CTAs are told of: in the CTA that holds the object, so
    that a wait there observes them whatever its scope."""
    found: dict[int, Placement] = {}
    if "completion-by-issuer" in collector.options:
        return found
    of_cta: dict[int, Placement] = {}
    for place in places:
        if not place.host:
            of_cta.setdefault(place.cta, place)
    for e in collector.events:
        if e.kind is MBARRIER_EVENT and e.thread >= 0 and not e.in_po and e.object >= 0:
            holder = of_cta.get(collector.space.objects[e.object].cta or 0)
            if holder is not None and holder.cta != places[e.thread].cta:
                found[e.index] = holder
    return found

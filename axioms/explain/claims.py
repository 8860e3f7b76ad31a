"""Claims: what a sentence of an explanation says of an execution, as values, and whether it is so.

    Claim("no release", (start, write))  ->  holds(claim, ground)  ->  words (`ptxmm.words.claims`)

Nothing is said that was not evaluated here before, on the execution that it is about: its events, the base relations that every
model may use, and the definitions of the model that judged it, as that model has them. A claim about a definition that a model
does not have (a user's may have none called `release`) is not true of it, and so is not said.

It is one file because it is one table: a check of a few lines for each kind of claim.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from axioms.cat.names import BASE
from axioms.events.event_kinds import COPIES_WAIT, FENCE_EVENT, READ
from axioms.explain.linearisation import STEPS, Linearisation
from axioms.witness.checker import EventPair, reached, successors
from axioms.witness.execution import ExecutedEvent, Execution
from ptxcore.places import includes
from ptxcore.records import NamedTuple

_SCOPES = {"CTA": "cta", "CLUSTER": "cluster", "GPU": "gpu", "SYS": "sys"}
_PROXIES = {
    "SUR": "surface",
    "TEX": "texture",
    "CON": "constant",
    "ASYNC": "async",
    "TMAP": "tensormap",
    "GEN": "generic",
}
#: What patterns are called that make a write or an arrival a release, and a read or a wait an acquire.
RELEASES = ("release", "release-some", "arrive", "arrive-some")
ACQUIRES = ("acquire", "acquire-some", "await", "await-some")
#: In what accesses differ that are never morally strong.
DIFFERENCES = ("sizes", "proxies", "addresses")
DEPENDENCIES = ("addr", "data", "ctrl", "rmw")


class Claim(NamedTuple):
    """`events` are whom it is about, in the order that the kind asks for; `names` are relations, scopes or proxies."""

    kind: str
    events: tuple[int, ...] = ()
    names: tuple[str, ...] = ()


class Reason(NamedTuple):
    """Claims that are one explanation: what is to be explained (`head`), and why it is so. `culprits`: the events to look at
    first, each with what is wrong there. `involved`: further events that it speaks of."""

    head: Claim
    claims: tuple[Claim, ...] = ()
    culprits: tuple[tuple[int, Claim], ...] = ()
    involved: tuple[int, ...] = ()

    def all(self) -> tuple[Claim, ...]:
        return (self.head, *self.claims)


class Ground:
    """What claims are evaluated on: an execution, its linearisation, and its model."""

    def __init__(self, execution: Execution) -> None:
        self.execution, self.events = execution, execution.events
        self.line = Linearisation(execution)
        self.judged = self.line.judged
        self.places = [place for _, place in execution.threads]

    @functools.cached_property
    def depending(self) -> frozenset[EventPair]:
        """Dependencies of all kinds, also through what a thread wrote and read again itself."""
        within = {(w, r) for w, r in self.judged.base("rf") if self.events[w].thread == self.events[r].thread}
        after = successors(within.union(*map(self.judged.base, DEPENDENCIES)))
        return frozenset((a, b) for a in after for b in reached(after, a))

    def before(self, a: int, b: int) -> bool:
        return (a, b) in self.judged.base("po")

    def is_defined(self, name: str) -> bool:
        return self.judged.defined(name) is not None

    def related(self, name: str, a: int, b: int) -> bool:
        """Whether the model relates two events by one of its definitions."""
        return (a, b) in (self.judged.defined(name) or ())

    def unrelated(self, name: str, a: int, b: int) -> bool:
        """Whether the model has such a definition, and does not relate the two by it."""
        return self.is_defined(name) and not self.related(name, a, b)

    def orders(self, a: int, b: int, *, racing: bool = False) -> str:
        """The definition by which the model orders two events: causality between accesses, and its base between others. That of
        races counts an atomic operation as one, where the model has such a definition."""
        accesses = self.events[a].kind.accesses and self.events[b].kind.accesses
        if racing and accesses and self.judged.model.shipped and self.is_defined("before"):
            return "before"
        return "cause" if accesses else "causality-base"

    def ends(self, names: tuple[str, ...], end: int) -> list[int]:
        """Where the patterns begin that end with an event."""
        return sorted({e for name in names for e, w in self.judged.defined(name) or () if w == end})

    def begins(self, names: tuple[str, ...], begin: int) -> list[int]:
        """Where the patterns end that begin with an event."""
        return sorted({e for name in names for r, e in self.judged.defined(name) or () if r == begin})


def scope_of(event: ExecutedEvent) -> str | None:
    return next((name for tag, name in _SCOPES.items() if tag in event.tags), None)


def proxy_of(event: ExecutedEvent) -> str:
    return next((name for tag, name in _PROXIES.items() if tag in event.tags), "generic")


_Check = Callable[[Ground, Claim], bool]
_HOLDS: dict[str, _Check] = {}


def kinds() -> list[str]:
    """The kinds of claims that there are."""
    return list(_HOLDS)


def holds(claim: Claim, ground: Ground) -> bool:
    """Whether a claim is true of an execution."""
    return _HOLDS[claim.kind](ground, claim)


def _kind(name: str) -> Callable[[_Check], _Check]:
    def register(check: _Check) -> _Check:
        _HOLDS[name] = check
        return check

    return register


# What the order of the steps shows.


@_kind("serial")
def _serial(g: Ground, c: Claim) -> bool:
    """Each read returns what was written last before it, in the order told; and memory keeps what was written last."""
    return g.line.is_serial() and not any(g.line.kept())


@_kind("stale")
def _stale(g: Ground, c: Claim) -> bool:
    """A read misses a write before it in the order told, which coherence puts behind what the read returns."""
    r, w = c.events
    sources, position = g.line.sources.get(r, {}), g.line.position
    newer = any(w in g.line.writers[cell] and (source, w) in g.judged.base("co") for cell, source in sources.items())
    return newer and position[w] < position[r]


@_kind("passed")
def _passed(g: Ground, c: Claim) -> bool:
    """A read misses a write that stands between it and what it returns, and that coherence does not relate to the latter."""
    r, w = c.events
    position, co = g.line.position, g.judged.base("co")
    return any(
        w in g.line.writers[cell]
        and position[source] < position[w] < position[r]
        and not {(source, w), (w, source)} & co
        for cell, source in g.line.sources.get(r, {}).items()
    )


@_kind("ahead")
def _ahead(g: Ground, c: Claim) -> bool:
    """A read reads from a write behind it, and no order has the write before it: steps lead from the read to the write."""
    r, w = c.events
    way = g.line.circle(r, w)
    return (w, r) in g.judged.base("rf") and g.line.position[w] > g.line.position[r] and bool(way)


@_kind("kept")
def _kept(g: Ground, c: Claim) -> bool:
    """Memory keeps the value of a write, though another one of the same byte stands behind it in the order told."""
    w, later = c.events
    return g.line.position[later] > g.line.position[w] and any(
        final == w and later in g.line.writers[cell] for cell, final in g.line.finals.items()
    )


@_kind("latest")
def _latest(g: Ground, c: Claim) -> bool:
    """A read returns what coherence puts behind all other writes that it relates to that, in every cell."""
    sources = g.line.sources.get(c.events[0], {})
    co = g.judged.base("co")
    return bool(sources) and not any((w, x) in co for cell, w in sources.items() for x in g.line.writers[cell])


@_kind("step")
def _step(g: Ground, c: Claim) -> bool:
    """A base relation leads from one event to another, in the order in which such things happen."""
    (a, b), (name,) = c.events, c.names
    if name == "syncbar":
        behind = {x for x, y in g.judged.base("po") if y == b}
        return any(x == a and y in behind for x, y in g.judged.base("syncbar"))
    return name in STEPS and (a, b) in g.judged.base(name)


@_kind("independent")
def _independent(g: Ground, c: Claim) -> bool:
    """An event comes after another in program order, and neither its value, nor its address, nor whether it takes place
    depends on it."""
    a, b = c.events
    return g.before(a, b) and (a, b) not in g.depending


@_kind("dependent")
def _dependent(g: Ground, c: Claim) -> bool:
    (a, b), (name,) = c.events, c.names
    return name in DEPENDENCIES and (a, b) in g.judged.base(name)


@_kind("older")
def _older(g: Ground, c: Claim) -> bool:
    """A read returns something that coherence puts before a write."""
    r, w = c.events
    return any(r == read and (source, w) in g.judged.base("co") for source, read in g.judged.base("rf"))


# What the model does not order.


@_kind("unordered")
def _unordered(g: Ground, c: Claim) -> bool:
    """The model does not order one event before another, by the definition named."""
    (a, b), (name,) = c.events, c.names
    return g.unrelated(name, a, b)


@_kind("no order")
def _no_order(g: Ground, c: Claim) -> bool:
    """The model orders two events neither way."""
    (a, b), (name,) = c.events, c.names
    return g.unrelated(name, a, b) and g.unrelated(name, b, a)


@_kind("allowed")
def _allowed(g: Ground, c: Claim) -> bool:
    """No axiom of the model forbids the execution."""
    return not g.judged.evaluation.violated()


# What is missing on the way.


@_kind("weak link")
def _weak_link(g: Ground, c: Claim) -> bool:
    """A weak read returns what a weak write wrote, and the model does not make the two synchronise."""
    w, r = c.events
    weak = "WEAK" in g.events[w].tags and "WEAK" in g.events[r].tags
    return weak and (w, r) in g.judged.base("rf") and g.unrelated("sync", w, r)


@_kind("no release")
def _no_release(g: Ground, c: Claim) -> bool:
    """No release pattern ends with a write or an arrival and begins behind an event (of its thread, or itself)."""
    start, w = c.events
    if not any(map(g.is_defined, RELEASES)) or "WEAK" in g.events[w].tags or not _met(g, c, w, 0):
        return False
    return not any(e == start or g.before(start, e) or start == w for e in g.ends(RELEASES, w))


@_kind("no acquire")
def _no_acquire(g: Ground, c: Claim) -> bool:
    """No acquire pattern begins with a read or a wait and ends before an event."""
    r, end = c.events
    if not any(map(g.is_defined, ACQUIRES)) or "WEAK" in g.events[r].tags or not _met(g, c, r, 1):
        return False
    return not any(e == end or g.before(e, end) for e in g.begins(ACQUIRES, r))


def _met(g: Ground, c: Claim, event: int, side: int) -> bool:
    """Where that is claimed too (`read`): another thread, or an asynchronous operation, reads the write, or is read."""
    pairs = (p for p in g.judged.base("rf") if p[side] == event)
    return c.names != ("read",) or any(
        g.events[w].thread != g.events[r].thread or "ASY" in g.events[w].tags | g.events[r].tags for w, r in pairs
    )


@_kind("reduction")
def _reduction(g: Ground, c: Claim) -> bool:
    """The read of a reduction that begins no acquire pattern, whatever follows it."""
    (r,) = c.events
    return (
        g.events[r].kind is READ and "RED" in g.events[r].tags and not g.begins(ACQUIRES, r) and g.is_defined("acquire")
    )


@_kind("weak")
def _weak(g: Ground, c: Claim) -> bool:
    """An access is weak, so that it is not morally strong with another event."""
    one, other = c.events
    return "WEAK" in g.events[one].tags and g.unrelated("ms", one, other)


@_kind("narrow")
def _narrow(g: Ground, c: Claim) -> bool:
    """The scope of an event does not take in the thread of another, and the two are not morally strong."""
    (one, other), (scope,) = c.events, c.names
    a, b = g.events[one], g.events[other]
    reach = scope_of(a) == scope and includes(scope, g.places[a.thread], g.places[b.thread])
    return scope_of(a) == scope and not reach and g.unrelated("ms", one, other)


@_kind("restricted")
def _restricted(g: Ground, c: Claim) -> bool:
    """A fence that is about some operations only, and not about an access."""
    fence, access = c.events
    return "RESTRICT" in g.events[fence].tags and (fence, access) not in g.judged.base("covers")


@_kind("never strong")
def _never_strong(g: Ground, c: Claim) -> bool:
    """Two strong accesses that differ in their sizes, proxies or addresses: the model takes no such pair for morally strong."""
    (one, other), (how,) = c.events, c.names
    a, b = g.events[one], g.events[other]
    differ = {
        "sizes": a.width != b.width,
        "proxies": proxy_of(a) != proxy_of(b) and not {"RMW"} <= a.tags & b.tags,
        "addresses": bool({(one, other), (other, one)} & g.judged.base("alias")),
    }[how]
    never = g.unrelated("ms", one, other) and g.unrelated("complete-overlap", one, other)
    return differ and never and not {"WEAK"} & (a.tags | b.tags)


@_kind("unlike")
def _unlike(g: Ground, c: Claim) -> bool:
    """A strong read sees a strong write from which it differs in such a way: the two do not synchronise."""
    return _never_strong(g, c) and c.events in g.judged.base("rf")


@_kind("wrong proxy")
def _wrong_proxy(g: Ground, c: Claim) -> bool:
    """Base causality leads from one access to another, but they go through different proxies (or both through one that is not
    the generic one), and no fence between the proxies stands where causality would follow."""
    (a, b), (one, other, how) = c.events, c.names
    named = (proxy_of(g.events[a]), proxy_of(g.events[b])) == (one, other)
    return named and {one, other} != {"generic"} and _follows(g, a, b, how) and g.unrelated("cause", a, b)


@_kind("renamed")
def _renamed(g: Ground, c: Claim) -> bool:
    """Base causality leads from one access to another of the same memory at another address, and no alias fence lies there."""
    (a, b), (how,) = c.events, c.names
    alias = bool({(a, b), (b, a)} & g.judged.base("alias"))
    return alias and _follows(g, a, b, how) and g.unrelated("cause", a, b)


#: How one access follows another, whatever proxies and addresses make of that: in its thread; by synchronisation; because what
#: observed the one comes before the other.
FOLLOWS = ("thread", "synchronized", "observed")


def _follows(g: Ground, a: int, b: int, how: str) -> bool:
    based = g.is_defined("ppbc") and g.related("causality-base", a, b)
    if how == "thread":
        return based and g.before(a, b)
    if how == "synchronized":
        return based and not g.before(a, b)
    seen = (r for w, r in g.judged.defined("obs") or () if w == a)
    return g.is_defined("ppbc") and any(g.related("causality-base", r, b) for r in seen)


@_kind("program order")
def _program_order(g: Ground, c: Claim) -> bool:
    """One event comes before another in program order, and the model makes no causality of that."""
    a, b = c.events
    return g.before(a, b) and g.unrelated("causality-base", a, b)


@_kind("unknown")
def _unknown(g: Ground, c: Claim) -> bool:
    """A base relation leads on from one event on the way to another, and no axiom of the model depends on that relation."""
    (a, b), (name,) = c.events, c.names
    return (a, b) in g.judged.base(name) and not g.judged.model.uses(name)


@_kind("fence elsewhere")
def _fence_elsewhere(g: Ground, c: Claim) -> bool:
    """A fence of the proxies of two accesses stands between them, in another CTA than the access that is not generic."""
    a, fence, b = c.events
    access = a if proxy_of(g.events[a]) != "generic" else b
    named = g.events[access].tags & g.events[fence].tags & (_PROXIES.keys() - {"GEN"})
    between = g.related("causality-base", a, fence) and g.related("causality-base", fence, b)
    return (
        bool(named) and g.events[fence].kind is FENCE_EVENT and between and (fence, access) not in g.judged.base("scta")
    )


@_kind("not issued behind")
def _not_issued_behind(g: Ground, c: Claim) -> bool:
    """Nothing orders an event before the place where an asynchronous operation is issued."""
    a, b, issue = c.events
    return (issue, b) in g.judged.base("issue") and g.unrelated("causality-base", a, issue) and not g.before(a, issue)


@_kind("crossed")
def _crossed(g: Ground, c: Claim) -> bool:
    """Of two threads each writes, and then misses what the other wrote; neither write is ordered before the other's read."""
    a, read, write, b = c.events
    there = g.before(a, read) and g.before(write, b)
    missed = all(holds(Claim("older", pair), g) for pair in ((read, write), (b, a)))
    return there and missed and g.events[a].thread != g.events[b].thread


@_kind("ruled out")
def _ruled_out(g: Ground, c: Claim) -> bool:
    """Crossed accesses that a fence.sc in each thread would rule out: they go to one address each, through the generic proxy,
    and the model orders one of the fences before the other (as those that ship do)."""
    a, read, write, b = c.events
    one_place = {(a, b), (write, read)} <= g.judged.base("vloc")
    generic = all(proxy_of(g.events[i]) == "generic" for i in c.events)
    return bool(g.judged.model.shipped) and one_place and generic and holds(Claim("crossed", c.events), g)


@_kind("no sc fence")
def _no_sc_fence(g: Ground, c: Claim) -> bool:
    """No fence.sc stands between a write and a read of a thread."""
    a, b = c.events
    fences = (e.index for e in g.events if e.kind is FENCE_EVENT and "SC" in e.tags and "ASY" not in e.tags)
    return g.before(a, b) and not any(g.before(a, f) and g.before(f, b) for f in fences)


@_kind("returned")
def _returned(g: Ground, c: Claim) -> bool:
    """A strong read that could have read a strong write, and returned something older: the two do not synchronise."""
    r, w = c.events
    strong = "WEAK" not in g.events[r].tags | g.events[w].tags
    return strong and _older(g, c) and g.unrelated("sync", w, r)


@_kind("publishes itself")
def _publishes_itself(g: Ground, c: Claim) -> bool:
    """The completion of an asynchronous operation leads to an event; what its thread did before it issued it does not."""
    a, x, b = c.events
    issues = {i for i, e in g.judged.base("issue") if e == x or g.related("done", e, x)}
    return (
        "ASY" in g.events[x].tags
        and any(g.before(a, i) for i in issues)
        and (g.related("causality-base", x, b))
        and g.unrelated("causality-base", a, b)
    )


@_kind("nothing read")
def _nothing_read(g: Ground, c: Claim) -> bool:
    """Before an event, its thread reads nothing that the thread of another event writes after that one."""
    a, b = c.events
    rmw = dict(g.judged.base("rmw"))
    return not any(
        g.events[w].thread == g.events[a].thread
        and g.before(a, w)
        and w != rmw.get(a)
        and g.before(r, b)
        and rmw.get(r) != b
        for w, r in g.judged.base("rf")
        if g.events[r].thread == g.events[b].thread
    )


@_kind("no barrier")
def _no_barrier(g: Ground, c: Claim) -> bool:
    """No barrier of a CTA joins two threads between their events."""
    a, b = c.events
    return not any((x == a or g.before(a, x)) and (y == b or g.before(y, b)) for x, y in g.judged.base("syncbar"))


@_kind("unawaited")
def _unawaited(g: Ground, c: Claim) -> bool:
    """Nobody waits for the completion of an asynchronous access."""
    return "ASY" in g.events[c.events[0]].tags and not waits_for(g, c.events[0])


@_kind("awaited")
def _awaited(g: Ground, c: Claim) -> bool:
    """Whoever waits for the completion of an asynchronous access, waits at these places."""
    return {*c.events[1:]} <= waits_for(g, c.events[0]) and len(c.events) > 1


@_kind("awaited late")
def _awaited_late(g: Ground, c: Claim) -> bool:
    """The thread of an event waits for the completion of an asynchronous access, but only after that event."""
    a, b = c.events
    return bool(waits_for(g, a)) and all(g.before(b, wait) for wait in waits_for(g, a))


@_kind("awaited apart")
def _awaited_apart(g: Ground, c: Claim) -> bool:
    """Nothing leads from the waits for the completion of an asynchronous access to an event."""
    a, b = c.events
    waits = waits_for(g, a)
    return bool(waits) and all(g.unrelated("causality-base", wait, b) and not g.before(wait, b) for wait in waits)


def waits_for(g: Ground, access: int) -> set[int]:
    """The waits that tell of the completion of an asynchronous access: for its group, or for the phase that it completes."""
    tellers = reached(successors(g.judged.base("comp")), access)
    told = {wait for arrival, wait in g.judged.base("mbrf") if arrival in tellers}
    return told | {i for i in tellers if g.events[i].kind is COPIES_WAIT}


# Atomic operations and vectors.


@_kind("both read")
def _both_read(g: Ground, c: Claim) -> bool:
    """Two atomic operations of different threads read one write."""
    a, b = c.events
    rf, rmw = g.judged.base("rf"), dict(g.judged.base("rmw"))
    common = {w for w, r in rf if r == a} & {w for w, r in rf if r == b}
    return bool(common) and a in rmw and b in rmw and g.events[a].thread != g.events[b].thread


@_kind("torn")
def _torn(g: Ground, c: Claim) -> bool:
    """Of two elements that one vector access writes, another vector access reads the one and misses the other."""
    seen, missed, y, x = c.events
    rf, group = g.judged.base("rf"), g.judged.base("group")
    return (seen, y) in rf and holds(Claim("older", (x, missed)), g) and {(seen, missed), (y, x)} <= group


# Edges of a reason why an outcome is forbidden.


@_kind("edge")
def _edge(g: Ground, c: Claim) -> bool:
    """A relation, base or defined, leads from one event to another; `R^-1` the other way round."""
    (a, b), (name,) = c.events, c.names
    if name.endswith("^-1"):
        a, b, name = b, a, name.removesuffix("^-1")
    if name == "fr":
        return _older(g, Claim("older", (a, b)))
    if name == "comp":
        return b in reached(successors(g.judged.base("comp")), a)
    return (a, b) in g.judged.base(name) if name in BASE else g.related(name, a, b)

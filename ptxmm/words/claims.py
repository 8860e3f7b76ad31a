"""Claims in words: the one place where explanations become sentences.

Each kind of claim (`axioms.explain.claims`) has a sentence, and where it says what is wrong with an event, a short one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from axioms.events.event_kinds import BARRIER_EVENT, FENCE_EVENT, ISSUE_EVENT, KERNEL_EVENT, MBARRIER_EVENT, READ, WRITE
from axioms.explain.claims import Claim, Ground, Reason, proxy_of
from axioms.witness.execution import ExecutedEvent
from ptxcore.records import NamedTuple
from ptxmm.words.vectors import BRIEFLY_TORN, BY_ELEMENTS


class ThreadNames(Protocol):
    """Who is who: see `ptxmm.words.linearisation.Cast`."""

    @property
    def name(self) -> Callable[[int], str]: ...

    def place(self, event: ExecutedEvent) -> str: ...


class ToldClaim(NamedTuple):
    """A reason in words. `culprits`: the events to look at first, each with what is wrong there. `involved`: the events that
    it speaks of."""

    text: str
    culprits: tuple[tuple[int, str], ...] = ()
    involved: tuple[int, ...] = ()


_OPERATIONS = (("MA", "arrival"), ("MW", "wait"), ("MBINIT", "initialisation"))
_PARTS = {READ: "asynchronous read of", WRITE: "asynchronous write to", MBARRIER_EVENT: "completion"}
_KINDS = {READ: "load of", WRITE: "store to", FENCE_EVENT: "fence", BARRIER_EVENT: "barrier"}
#: How a step leads from `{a}` to `{b}`.
_STEPS = {
    "po": "{a} comes before {b} in program order",
    "rf": "{a} is read by {b}",
    "rmw": "{a} is one atomic operation with {b}",
    "issue": "{a} issues {b}",
    "comp": "{a} is complete before {b}",
    "api": "{a} comes before {b} by the order of kernels and streams",
    "mbrf": "{a} arrives in the phase that {b} waits for",
    "syncbar": "{a} is waited for at a barrier before {b}",
}
_DEPENDS = {
    "data": "with a data dependency",
    "addr": "with an address dependency",
    "ctrl": "with a control dependency",
    "rmw": "as one atomic operation",
}
_HOW = {
    "sizes": "of different sizes",
    "proxies": "through different proxies",
    "addresses": "through different virtual addresses",
}
_UNKNOWN = {
    "api": "the order of kernels and streams",
    "comp": "the completion of an asynchronous operation",
    "issue": "the issue of an asynchronous operation",
    "mbrf": "an mbarrier object",
}
_BRIEF = {
    "program order": "behind it in program order only",
    "unknown": "the model makes nothing of what leads here",
    "weak link": "a weak access, which synchronizes nothing",
    "no release": "no release semantics",
    "no acquire": "no acquire semantics",
    "reduction": "a reduction, which forms no acquire pattern",
    "restricted": "about other operations only",
    "unlike": "it differs from what it saw, and does not synchronize",
    "renamed": "no fence.proxy.alias before it",
    "fence elsewhere": "in another CTA",
    "not issued behind": "issued here, with nothing to order it",
    "no sc fence": "no fence.sc before it",
    "returned": "this read did not synchronize",
    "publishes itself": "it does not publish what came before",
    "unawaited": "nobody waits for it",
    "awaited": "the completion is waited for here only",
    "torn": BRIEFLY_TORN,
    "ahead": "this read stands before the write that it reads from",
    "stale": "this read is out of date",
    "passed": "this read misses a write",
}


class ClaimWords:
    """The words for one execution. In a reason, its two events are named once: then they are the former and the latter."""

    def __init__(self, ground: Ground, cast: ThreadNames) -> None:
        self.ground, self.events, self.cast = ground, ground.events, cast
        self._rmw = dict(ground.judged.base("rmw"))
        self._halves = {w: r for r, w in self._rmw.items()}
        self._pair: tuple[str, str] | None = None

    # Events.

    def what(self, index: int) -> str:
        """`the store to x[0] by CTA 0 at line 12 (lock.cu:7)`"""
        full = self._full(index)
        if self._pair and full in self._pair:
            return ("the former", "the latter")[self._pair.index(full)]
        return full

    def _full(self, index: int) -> str:
        event = self.events[index]
        if event.kind is KERNEL_EVENT:
            return event.text
        joint = " on" if event.kind is MBARRIER_EVENT else ""
        where = f"{joint} {event.location}" if event.location else ""
        if event.thread < 0:
            return f"the initial value of {event.location}"
        return f"the {self._kind(event)}{where} by {self.cast.name(event.thread)} at {self.cast.place(event)}"

    def _kind(self, event: ExecutedEvent) -> str:
        if "ASY" in event.tags:
            return _PARTS.get(event.kind, "asynchronous operation")
        if event.index in self._rmw or event.index in self._halves:
            return "atomic on"
        if event.kind is ISSUE_EVENT:
            return "asynchronous instruction"
        if event.kind is MBARRIER_EVENT:
            return next((word for tag, word in _OPERATIONS if tag in event.tags), "operation on an mbarrier object")
        return _KINDS.get(event.kind, "operation")

    def _who(self, index: int) -> str:
        return self.cast.name(self.events[index].thread)

    # Reasons.

    def told(self, reason: Reason) -> ToldClaim:
        """A reason as one text: its head, and why."""
        head, claims = reason.head, list(reason.claims)
        text = ""
        if head.kind in ("kept", "passed") and claims and claims[0].kind in ("unordered", "no order"):
            text = f"{self.sentence(head)}: "
            head = claims.pop(0)
        said = self.sentence(head)
        pair = (
            (self._full(head.events[0]), self._full(head.events[1])) if head.kind in ("unordered", "no order") else None
        )
        self._pair = pair if pair and pair[0] != pair[1] else None
        why = (
            "; ".join(self._steps(claims))
            if head.kind == "ahead"
            else ", and ".join(dict.fromkeys(self._joined(claims)))
        )
        culprits = tuple((event, self.brief(claim)) for event, claim in reason.culprits)
        self._pair = None
        return ToldClaim(
            f"{text}{said}: {why}" if why else f"{text}{said}", tuple(dict.fromkeys(culprits)), reason.involved
        )

    def _joined(self, claims: list[Claim]) -> Iterator[str]:
        """Sentences; of claims that say one thing of several events, one."""
        bare = [f"before {self.what(claim.events[1])}" for claim in claims if claim.kind == "no sc fence"]
        would = any(claim.kind == "ruled out" for claim in claims)
        for claim in claims:
            if claim.kind == "ruled out":
                yield f"{self.sentence(claim)}: none is {' and '.join(bare)}"
            elif claim.kind == "awaited" and any(c.kind == "awaited late" for c in claims):
                yield f"{self.sentence(claim)}, {self.sentence(claims[-1])}"
            elif claim.kind != "awaited late" and (claim.kind != "no sc fence" or not would):
                yield self.sentence(claim)

    def _steps(self, claims: list[Claim]) -> Iterator[str]:
        """The steps of a circle; what is said of a step stands with it."""
        at = 0
        while at < len(claims):
            step = self.sentence(claims[at])
            follows = at + 1 < len(claims) and claims[at + 1].kind in ("dependent", "independent")
            yield f"{step}, {self.sentence(claims[at + 1])}" if follows else step
            at += 2 if follows else 1

    def sentence(self, claim: Claim) -> str:
        """What a claim says."""
        return _SENTENCES[claim.kind](self, claim)

    def brief(self, claim: Claim) -> str:
        """What is wrong with an event, in few words."""
        if claim.kind == "narrow":
            return f"the .{claim.names[0]} scope does not reach {self._who(claim.events[1])}"
        if claim.kind == "weak":
            return "a weak access" if claim.names else "a weak access, which synchronizes nothing"
        if claim.kind == "wrong proxy":
            one, other, _ = claim.names
            return "no fence between proxies" if one == other else f"no {_fence(one, other)} before it"
        return _BRIEF[claim.kind]


def _fence(one: str, other: str) -> str:
    return "fence.proxy.async" if "async" in (one, other) else "fence between these proxies"


def _ahead(w: ClaimWords, c: Claim) -> str:
    r, x = (w.what(i) for i in c.events)
    names = {name for _, name, _ in w.ground.line.circle(*c.events)}
    kind = "load buffering: " if names <= {"po", "rf"} else ""
    return f"{kind}{r} reads what {x} writes, though no order of the steps puts that before it: they go in a circle"


def _kept(w: ClaimWords, c: Claim) -> str:
    event = w.events[c.events[0]]
    return f"{event.location} keeps {event.number}"


def _unordered(w: ClaimWords, c: Claim) -> str:
    by = "" if w.ground.judged.model.shipped else f" by this model's `{c.names[0]}`"
    return f"{w.what(c.events[0])} is not ordered before {w.what(c.events[1])}{by}"


def _no_order(w: ClaimWords, c: Claim) -> str:
    by = "" if w.ground.judged.model.shipped else f" by this model's `{c.names[0]}`"
    return f"{w.what(c.events[0])} and {w.what(c.events[1])} are in no order{by}"


def _seen(c: Claim, words: str) -> str:
    return words if c.names == ("read",) else ""


def _weak(w: ClaimWords, c: Claim) -> str:
    rest = "so that the two are not morally strong" if c.names else "and weak accesses synchronize nothing"
    return f"{w.what(c.events[0])} is weak, {rest}"


#: How one access follows another: see `axioms.explain.claims.FOLLOWS`.
_FOLLOW = {"thread": "they follow one another in their thread", "synchronized": "they synchronize"}


def _they(w: ClaimWords, c: Claim) -> str:
    return _FOLLOW.get(c.names[-1], f"a read of {w.what(c.events[0])} comes before {w.what(c.events[1])}")


def _wrong_proxy(w: ClaimWords, c: Claim) -> str:
    (a, b), (one, other, _) = c.events, c.names
    if one == other:
        return f"{_they(w, c)}, but not through the {one} proxy"
    return (
        f"{_they(w, c)}, but {w.what(a)} goes through the {one} proxy and {w.what(b)} through the {other} proxy, "
        f"and no {_fence(one, other)} stands where it would order them"
    )


def _renamed(w: ClaimWords, c: Claim) -> str:
    return (
        f"{_they(w, c)}, but they go to the same memory at different virtual addresses, and no fence.proxy.alias stands "
        "between them"
    )


def _fence_elsewhere(w: ClaimWords, c: Claim) -> str:
    a, fence, b = c.events
    access = a if proxy_of(w.events[a]) != "generic" else b
    return f"{w.what(fence)} is in another CTA than {w.what(access)}, and works in its own"


def _not_issued_behind(w: ClaimWords, c: Claim) -> str:
    issue = w.events[c.events[2]]
    return f"nothing leads from there to {w.cast.place(issue)}, where {w.cast.name(issue.thread)} issues it"


def _awaited(w: ClaimWords, c: Claim) -> str:
    waits = [w.events[i] for i in c.events[1:]]
    where = " and ".join(f"by {w.cast.name(e.thread)} at {w.cast.place(e)}" for e in waits)
    return f"the completion of {w.what(c.events[0])} is waited for {where}"


def _both_read(w: ClaimWords, c: Claim) -> str:
    return f"{w.what(c.events[0])} and {w.what(c.events[1])} both read {w.events[c.events[0]].value}"


def _torn(w: ClaimWords, c: Claim) -> str:
    writer, _, y, x = (w.events[i] for i in c.events)
    return (
        f"of what {w.cast.name(writer.thread)} writes at {w.cast.place(writer)}, {w.cast.name(y.thread)} sees "
        f"{y.location} = {y.number} at {w.cast.place(y)} and misses {x.location}: {BY_ELEMENTS}"
    )


def _returned(w: ClaimWords, c: Claim) -> str:
    r, x = c.events
    return f"{w.what(r)} returned {w.events[r].number}, from before {w.what(x)}, so that these did not synchronize"


def _serial(w: ClaimWords, c: Claim) -> str:
    if any(e.kind is READ for e in w.events):
        return "no read is out of date: each returns what was written last before it, in this order"
    return "memory keeps what was written last, in this order"


_SENTENCES: dict[str, Callable[[ClaimWords, Claim], str]] = {
    "serial": _serial,
    "stale": lambda w, c: (
        f"{w.what(c.events[0])} returns {w.events[c.events[0]].number}, older than what {w.what(c.events[1])} "
        "writes before it in this order"
    ),
    "passed": lambda w, c: (
        f"{w.what(c.events[0])} misses {w.what(c.events[1])}, which no coherence order relates to what it returns"
    ),
    "ahead": _ahead,
    "kept": _kept,
    "older": lambda w, c: f"{w.what(c.events[0])} misses {w.what(c.events[1])}",
    "latest": lambda w, c: "nobody writes there any more",
    "step": lambda w, c: _STEPS[c.names[0]].format(a=w.what(c.events[0]), b=w.what(c.events[1])),
    "independent": lambda w, c: "without a dependency",
    "dependent": lambda w, c: _DEPENDS[c.names[0]],
    "unordered": _unordered,
    "no order": _no_order,
    "allowed": lambda w, c: "no axiom of the model forbids it",
    "weak link": lambda w, c: (
        f"what links them is {w.what(c.events[0])}, which {w.what(c.events[1])} reads, and weak accesses synchronize nothing"
    ),
    "no release": lambda w, c: (
        f"{w.what(c.events[1])}{_seen(c, ', which the other thread saw,')} has no release semantics"
    ),
    "no acquire": lambda w, c: f"{w.what(c.events[0])}{_seen(c, ', which saw it,')} has no acquire semantics",
    "reduction": lambda w, c: "a reduction forms no acquire pattern",
    "weak": _weak,
    "narrow": lambda w, c: f"the .{c.names[0]} scope of {w.what(c.events[0])} does not reach {w._who(c.events[1])}",
    "restricted": lambda w, c: f"{w.what(c.events[0])} is about other operations only",
    "never strong": lambda w, c: f"accesses {_HOW[c.names[0]]} are never morally strong, and nothing else orders them",
    "unlike": lambda w, c: (
        f"{w.what(c.events[1])} saw {w.what(c.events[0])}, but accesses {_HOW[c.names[0]]} do not synchronize"
    ),
    "wrong proxy": _wrong_proxy,
    "program order": lambda w, c: "they follow one another in their thread, which the model makes no causality of",
    "unknown": lambda w, c: f"what leads there is {_UNKNOWN[c.names[0]]}, which the model makes nothing of",
    "renamed": _renamed,
    "fence elsewhere": _fence_elsewhere,
    "not issued behind": _not_issued_behind,
    "crossed": lambda w, c: f"{w.what(c.events[1])} in turn missed {w.what(c.events[2])}",
    "ruled out": lambda w, c: "a fence.sc in each thread, between its write and its read, would rule that out",
    "no sc fence": lambda w, c: f"no fence.sc stands between {w.what(c.events[0])} and {w.what(c.events[1])}",
    "returned": _returned,
    "publishes itself": lambda w, c: (
        f"all that leads there is {w.what(c.events[1])}, which publishes that operation, and not what came before it"
    ),
    "nothing read": lambda w, c: (
        f"before {w.what(c.events[1])}, {w._who(c.events[1])} reads nothing that {w._who(c.events[0])} writes after "
        f"{w.what(c.events[0])}"
    ),
    "no barrier": lambda w, c: "no barrier joins them in between",
    "unawaited": lambda w, c: (
        f"nobody waits for the completion of this {'read' if w.events[c.events[0]].kind is READ else 'write'}"
    ),
    "awaited": _awaited,
    "awaited late": lambda w, c: f"only after {w.what(c.events[1])}",
    "awaited apart": lambda w, c: f"nothing leads from there to {w.what(c.events[1])}",
    "both read": _both_read,
    "torn": _torn,
}

"""Claims of explanations, evaluated a second time: by the language of models itself, and by running the steps.

The product evaluates a claim with sets of pairs (`axioms.explain.claims`). Here the model's own file is read again as it was
written, with a definition for each kind of claim added in the cat language; the evaluator of models computes them on the
execution, and a pair is in a claim's relation or is not. What is claimed of the order of the steps is found by running them:
memory as a table of cells, a step after the other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import networkx as nx

from axioms.cat.evaluate import Evaluation, bits
from axioms.cat.model import Model, compile_model
from axioms.explain.claims import Claim, Ground
from axioms.witness.execution import Execution

MODELS = Path(__file__).resolve().parents[3] / "axioms" / "models"
_HEAD = """
let c-older = rf^-1; co
let c-depends = (addr | data | ctrl | rmw | (rf & int))+
let c-independent = po \\ c-depends
let c-weak-rf = [WEAK & W]; rf; [WEAK & R]
let c-reads-on = (po \\ rmw); rf; (po \\ rmw)
let c-barrier = po?; syncbar; po?
let c-sc-between = po; [F & SC \\ ASY]; po
let c-waits = (comp+; [CW]) | (comp*; mbrf)
let c-restricted = ([RESTRICT]; (_ * _)) \\ covers
let c-alias = alias | alias^-1
let c-atomics = RMW * RMW
let c-strong = ((_ \\ WEAK) * (_ \\ WEAK)) \\ id
let c-seen = rf & ext | [ASY]; rf | rf; [ASY]
let c-comp = comp+
let c-vector = group
let c-through = syncbar; po
let c-issue-on = issue; comp*
let c-other-cta = (_ * _) \\ scta
"""
#: Where the model has the definitions that these are made of.
_TAIL = {
    "c-cause": ("cause", "cause"),
    "c-before": ("before", "cause | rmw; cause | cause; rmw^-1"),
    "c-base": ("causality-base", "causality-base"),
    "c-ms": ("ms", "ms"),
    "c-sync": ("sync", "sync"),
    "c-overlap": ("complete-overlap", "complete-overlap"),
    "c-observed": ("obs", "obs; causality-base"),
}
_RELEASES = ("release", "release-some", "arrive", "arrive-some")
_ACQUIRES = ("acquire", "acquire-some", "await", "await-some")


@functools.cache
def second_reading(text: str, options: frozenset[str]) -> Model:
    """A model with definitions for claims: those of base relations before its own, the others behind."""
    plain = compile_model("plain", text, options=options)
    tail = [f"let {name} = {made}" for name, (needs, made) in _TAIL.items() if _has(plain, needs)]
    for name, parts in (("c-releases", _RELEASES), ("c-acquires", _ACQUIRES)):
        known = [part for part in parts if _has(plain, part)]
        if known:
            tail.append(f"let {name} = {' | '.join(known)}")
    return compile_model("again", _HEAD + _untitled(text) + "\n" + "\n".join(tail) + "\n", options=options)


def _has(model: Model, name: str) -> bool:
    return name in model.names and model.names[name].kind == "relation"


def _untitled(text: str) -> str:
    """A title may stand at the beginning only."""
    first, _, rest = text.partition("\n")
    return rest if first.startswith('"') else text


class Again:
    """The second evaluation of the claims about one execution."""

    def __init__(self, execution: Execution, ground: Ground, text: str, shipped: str) -> None:
        judged = execution.judged
        assert judged is not None
        self.execution, self.events, self.shipped = execution, execution.events, shipped
        self.order = list(ground.line.order)  # what is told is told of this order
        self.candidate = judged._candidate
        self.number = judged.number
        self.model = second_reading(text, frozenset())
        self.evaluation = Evaluation(self.model, self.candidate.program.size, self.candidate.base())
        self._known: dict[str, set[tuple[int, int]]] = {}

    def holds(self, claim: Claim) -> bool:
        return bool(_AGAIN[claim.kind](self, *claim.events, *claim.names))

    def pairs(self, name: str) -> set[tuple[int, int]]:
        if name not in self._known:
            node = self.model.names.get(name)
            if node is not None:
                rows = self.evaluation.rows(node)
            else:
                rows = self.evaluation.base[name]  # type: ignore[assignment]
            number = self.number
            self._known[name] = {
                (number[i], number[j])
                for i, row in enumerate(rows)
                for j in bits(row)
                if i in number and j in number and (i == j or number[i] != number[j])
            }
        return self._known[name]

    def base(self, name: str) -> set[tuple[int, int]]:
        """A base relation, whatever the model calls so."""
        rows = self.evaluation.base[name]
        assert isinstance(rows, list)
        number = self.number
        return {
            (number[i], number[j])
            for i, row in enumerate(rows)
            for j in bits(row)
            if {i, j} <= number.keys() and number[i] != number[j]
        }

    def has(self, name: str) -> bool:
        return name in self.model.names

    def related(self, name: str, a: int, b: int) -> bool:
        return self.has(name) and (a, b) in self.pairs(name)

    def unrelated(self, name: str, a: int, b: int) -> bool:
        return self.has(name) and (a, b) not in self.pairs(name)

    def before(self, a: int, b: int) -> bool:
        return (a, b) in self.base("po")

    def at(self, event: int) -> int:
        return self.order.index(event)

    # Memory, run step by step.

    def cells(self) -> Iterator[tuple[int, str, int, int]]:
        """Each access of each cell, in the order told: event, kind, cell, and the write that it is of (its own, or read)."""
        events = {self.number[e.index]: e for e in self.candidate.program.events if e.index in self.number and e.cells}
        for i in self.order:
            e = events.get(i)
            if e is not None and e.kind == "W":
                yield from ((i, "W", c, i) for c in e.cells)
            elif e is not None and e.kind == "R":
                yield from (
                    (i, "R", c, self.number[w]) for c, w in zip(e.cells, self.candidate.rf[e.index], strict=True)
                )

    def runs_serially(self) -> bool:
        """Whether memory, run in this order, gives every read what it returned, and ends as the execution does."""
        memory: dict[int, int] = {}
        for i, kind, cell, w in self.cells():
            if kind == "R" and memory.get(cell) != w:
                return False
            if kind == "W":
                memory[cell] = i
        return all(memory.get(c) == self.number[w] for c, w in self.candidate.finals.items())

    def reads(self, r: int) -> dict[int, int]:
        return {c: w for i, kind, c, w in self.cells() if i == r and kind == "R"}

    def writes(self, w: int) -> set[int]:
        return {c for i, kind, c, _ in self.cells() if i == w and kind == "W"}

    def waits(self, a: int) -> set[int]:
        return {b for x, b in self.pairs("c-waits") if x == a}


def _stale(g: Again, r: int, w: int) -> bool:
    newer = any(c in g.writes(w) and (source, w) in g.base("co") for c, source in g.reads(r).items())
    return newer and g.at(w) < g.at(r)


def _passed(g: Again, r: int, w: int) -> bool:
    return any(
        c in g.writes(w) and g.at(source) < g.at(w) < g.at(r) and not {(source, w), (w, source)} & g.base("co")
        for c, source in g.reads(r).items()
    )


def _ahead(g: Again, r: int, w: int) -> bool:
    graph = nx.DiGraph()
    for name in ("po", "rf", "rmw", "issue", "comp", "api", "mbrf"):
        graph.add_edges_from(g.base(name))
    graph.add_edges_from(g.pairs("c-through"))
    return w in g.reads(r).values() and g.at(w) > g.at(r) and nx.has_path(graph, r, w)


def _kept(g: Again, w: int, later: int) -> bool:
    finals = {c for c, x in g.candidate.finals.items() if g.number[x] == w}
    return bool(finals & g.writes(later)) and g.at(later) > g.at(w)


def _step(g: Again, a: int, b: int, name: str) -> bool:
    return (a, b) in (g.pairs("c-through") if name == "syncbar" else g.base(name))


def _no_release(g: Again, start: int, w: int, *how: str) -> bool:
    begins = {e for e, x in g.pairs("c-releases") if x == w} if g.has("c-releases") else {start}
    behind = {e for e in begins if e == start or g.before(start, e)}
    seen = "read" not in how or w in {x for x, _ in g.pairs("c-seen")}
    return "WEAK" not in g.events[w].tags and seen and not (begins if start == w else behind)


def _no_acquire(g: Again, r: int, end: int, *how: str) -> bool:
    ends = {e for x, e in g.pairs("c-acquires") if x == r} if g.has("c-acquires") else {end}
    saw = "read" not in how or r in {x for _, x in g.pairs("c-seen")}
    return "WEAK" not in g.events[r].tags and saw and not {e for e in ends if e == end or g.before(e, end)}


def _narrow(g: Again, one: int, other: int, scope: str) -> bool:
    mine, theirs = (g.execution.threads[g.events[i].thread][1] for i in (one, other))
    level = {"cta": "cta", "cluster": "cluster", "gpu": "gpu", "sys": None}[scope]
    reach = level is None or getattr(mine, level) == getattr(theirs, level)
    return scope.upper() in g.events[one].tags and not reach and g.unrelated("c-ms", one, other)


_TAGS = {"surface": "SUR", "texture": "TEX", "constant": "CON", "async": "ASYNC", "tensormap": "TMAP", "generic": "GEN"}


def _proxies(g: Again, *events: int) -> list[str]:
    return [next((name for name, tag in _TAGS.items() if tag in g.events[i].tags), "generic") for i in events]


def _never(g: Again, a: int, b: int, how: str) -> bool:
    differ = {
        "sizes": g.events[a].width != g.events[b].width,
        "proxies": len(set(_proxies(g, a, b))) == 2 and (a, b) not in g.pairs("c-atomics"),
        "addresses": (a, b) in g.pairs("c-alias"),
    }
    apart = g.unrelated("c-ms", a, b) and g.unrelated("c-overlap", a, b)
    return differ[how] and apart and (a, b) in g.pairs("c-strong")


def _follows(g: Again, a: int, b: int, how: str) -> bool:
    if how == "observed":
        return g.related("c-observed", a, b)
    return g.related("c-base", a, b) and g.before(a, b) == (how == "thread")


def _wrong_proxy(g: Again, a: int, b: int, one: str, other: str, how: str) -> bool:
    named = _proxies(g, a, b) == [one, other] and (one, other) != ("generic", "generic")
    return named and _follows(g, a, b, how) and g.unrelated("c-cause", a, b)


def _fence_elsewhere(g: Again, a: int, f: int, b: int) -> bool:
    access = next(i for i in (a, b) if _proxies(g, i) != ["generic"])
    same = _TAGS[_proxies(g, access)[0]] in g.events[f].tags
    there = g.related("c-base", a, f) and g.related("c-base", f, b)
    return same and there and (f, access) in g.pairs("c-other-cta")


def _crossed(g: Again, a: int, read: int, write: int, b: int) -> bool:
    older = g.pairs("c-older")
    return g.before(a, read) and g.before(write, b) and (read, write) in older and (b, a) in older


def _ruled_out(g: Again, a: int, read: int, write: int, b: int) -> bool:
    """With the two fences, and the one before the other, either read would go against causality."""
    one_place = {(a, b), (write, read)} <= g.base("vloc")
    return (
        bool(g.shipped)
        and _crossed(g, a, read, write, b)
        and one_place
        and set(_proxies(g, a, read, write, b)) == {"generic"}
    )


def _publishes(g: Again, a: int, x: int, b: int) -> bool:
    issues = {i for i, e in g.pairs("c-issue-on") if e == x}
    return any(g.before(a, i) for i in issues) and g.related("c-base", x, b) and g.unrelated("c-base", a, b)


def _awaited_apart(g: Again, a: int, b: int) -> bool:
    waits = g.waits(a)
    return bool(waits) and all(g.unrelated("c-base", w, b) for w in waits)


def _both_read(g: Again, a: int, b: int) -> bool:
    return bool(set(g.reads(a).values()) & set(g.reads(b).values())) and (a, b) in g.pairs("c-atomics")


def _torn(g: Again, seen: int, missed: int, y: int, x: int) -> bool:
    group = g.pairs("c-vector")
    return (seen, y) in g.base("rf") and (x, missed) in g.pairs("c-older") and {(seen, missed), (y, x)} <= group


def _edge(g: Again, a: int, b: int, name: str) -> bool:
    if name.endswith("^-1"):
        a, b, name = b, a, name.removesuffix("^-1")
    own = {"fr": "c-older", "comp": "c-comp"}.get(name)
    return (a, b) in (g.pairs(own) if own else g.pairs(name))


#: By which definition something is in no order.
_ORDERS = {"cause": "c-cause", "before": "c-before", "causality-base": "c-base"}
_AGAIN: dict[str, Callable[..., object]] = {
    "serial": lambda g: g.runs_serially(),
    "stale": _stale,
    "passed": _passed,
    "ahead": _ahead,
    "kept": _kept,
    "latest": lambda g, r: r not in {x for x, _ in g.base("fr")},
    "step": _step,
    "independent": lambda g, a, b: (a, b) in g.pairs("c-independent"),
    "dependent": lambda g, a, b, name: (a, b) in g.base(name),
    "older": lambda g, r, w: (r, w) in g.pairs("c-older"),
    "unordered": lambda g, a, b, name: g.unrelated(_ORDERS[name], a, b),
    "no order": lambda g, a, b, name: g.unrelated(_ORDERS[name], a, b) and g.unrelated(_ORDERS[name], b, a),
    "allowed": lambda g: not g.evaluation.violated(),
    "weak link": lambda g, w, r: (w, r) in g.pairs("c-weak-rf") and g.unrelated("c-sync", w, r),
    "no release": _no_release,
    "no acquire": _no_acquire,
    "reduction": lambda g, r: "RED" in g.events[r].tags and r not in {x for x, _ in g.pairs("c-acquires")},
    "weak": lambda g, a, b, *how: "WEAK" in g.events[a].tags and g.unrelated("c-ms", a, b),
    "narrow": _narrow,
    "restricted": lambda g, f, of: (f, of) in g.pairs("c-restricted"),
    "never strong": _never,
    "unlike": lambda g, w, r, how: _never(g, w, r, how) and (w, r) in g.base("rf"),
    "wrong proxy": _wrong_proxy,
    "renamed": lambda g, a, b, how: (
        (a, b) in g.pairs("c-alias") and _follows(g, a, b, how) and g.unrelated("c-cause", a, b)
    ),
    "program order": lambda g, a, b: g.before(a, b) and g.unrelated("c-base", a, b),
    "unknown": lambda g, a, b, name: (a, b) in g.base(name) and not g.model.uses(name),
    "fence elsewhere": _fence_elsewhere,
    "not issued behind": lambda g, a, b, issue: (issue, b) in g.base("issue") and g.unrelated("c-base", a, issue),
    "crossed": _crossed,
    "ruled out": _ruled_out,
    "no sc fence": lambda g, a, b: g.before(a, b) and (a, b) not in g.pairs("c-sc-between"),
    "returned": lambda g, r, w: (r, w) in g.pairs("c-older") and g.unrelated("c-sync", w, r),
    "publishes itself": _publishes,
    "nothing read": lambda g, a, b: (a, b) not in g.pairs("c-reads-on"),
    "no barrier": lambda g, a, b: (a, b) not in g.pairs("c-barrier"),
    "unawaited": lambda g, a: not g.waits(a),
    "awaited": lambda g, a, *waits: set(waits) <= g.waits(a) and waits,
    "awaited late": lambda g, a, b: g.waits(a) and all(g.before(b, w) for w in g.waits(a)),
    "awaited apart": _awaited_apart,
    "both read": _both_read,
    "torn": _torn,
    "edge": _edge,
}


def kinds() -> set[str]:
    """The kinds of claims that are evaluated here."""
    return set(_AGAIN)

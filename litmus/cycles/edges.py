"""The edges of a cycle: what diy calls relaxations, with what PTX adds to them.

    Rfe Rfi Fre Fri Coe Coi       communication, between threads (e) or within one (i)
    Po[sd][RW][RW]                program order, to the same (s) or a different (d) location
    Fence.<sem>.<scope>[sd][RW][RW], Fence[sd][RW][RW]     a fence in between; without a name fence.sc.sys
    Proxy.<kind>[sd][RW][RW]      a proxy fence in between
    CpAsync Bulk BulkReduce, each [sd][RW][RW]             a copy makes the first access, and is waited for
    CpAsync.<n> Bulk.<n> BulkReduce.<n>, Bulk.read         the same, but the wait is for all groups but the last n, or for
                                                           what copies read only
    Dp(Addr|Data|Ctrl)[sd][RW]    a dependency on a read
    Rmw                           from the read to the write of an atomic operation
    Bar ClusterBar Mbar Stream, each [sd][RW][RW]          synchronisation, from one thread to another
    CpAsyncMbar BulkMbar, each [sd][RW][RW]                a copy makes the first access, its end is told to another thread
    StAsyncMbar MulticastMbar, each [sd]W[RW]              the same across CTAs: st.async, a bulk copy with multicast

`*` stands for R or W, and for every semantics or scope of a fence. Behind a `.` stands what is said of the events at the
ends (`PodWW.rel.gpu`), see `litmus.cycles.annotations`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import cached_property

from litmus.cycles.annotations import (
    NOTHING,
    PLAIN,
    Annotation,
    Unfit,
    expanded,
    merged,
    read_annotations,
    settled,
)
from litmus.cycles.foreign import instead
from ptxcore.diagnostics import Diagnostic, InputError, Span, nearest
from ptxcore.places import SCOPES
from ptxcore.records import dataclass
from ptxcore.syntax.tree import NOWHERE

FENCES = ("sc", "acq_rel", "acquire", "release")
#: The kinds of proxy fences that may stand in a cycle.
PROXIES = ("alias", "async")
DEPENDENCIES = ("Addr", "Data", "Ctrl")
#: Edges that write to the shared memory of another CTA, and synchronise by that.
REMOTE = ("StAsyncMbar", "MulticastMbar")
#: Edges that synchronise two threads, by what makes them.
SYNCHRONISATION = ("Bar", "ClusterBar", "Mbar", "Stream", "CpAsyncMbar", "BulkMbar", *REMOTE)
#: Edges whose first access a copy makes, by what it is made by. Of `COPIED` a bulk copy is told to an mbarrier object.
COPYING = {
    "CpAsync": "cp",
    "Bulk": "bulk",
    "BulkReduce": "reduce",
    "CpAsyncMbar": "cp",
    "BulkMbar": "bulk",
    "StAsyncMbar": "stasync",
    "MulticastMbar": "bulk",
}
COPIED = ("BulkMbar", "MulticastMbar")
#: Edges that wait for groups of copies.
WAITING = ("CpAsync", "Bulk", "BulkReduce")
COMMUNICATION = {"Rf": ("W", "R"), "Fr": ("R", "W"), "Co": ("W", "W")}
#: In which order edges are tried, and which of two rotations of a cycle is the first: as in diy.
_RANKS = ("Rf", "Fr", "Co", "Po", "Fence", "Dp", "Proxy", *SYNCHRONISATION, "Rmw", *WAITING)
_RANK = {kind: rank for rank, kind in enumerate(_RANKS)}
_DETAIL = {"Addr": 0, "Data": 1, "Ctrl": 2}
_DIRECTION = {"*": 0, "W": 1, "R": 2}
#: What comes before what where two rotations of a cycle are compared.
_LATE, _EARLY = ("Po", "Rf"), ("Fence", "Dp", "Proxy", *WAITING)

_ENDS = r"(?P<place>[sd])(?P<ends>[RW*]{2})"
_FORMS = (
    re.compile(r"(?P<kind>Rf|Fr|Co|Ws)(?P<ie>[ie])"),
    re.compile(r"(?P<kind>Rmw|LxSx)"),
    re.compile(rf"(?P<kind>Po){_ENDS}"),
    re.compile(rf"Fence\.(?P<sem>\w+|\*)\.(?P<scope>cta|cluster|gpu|sys|\*)(?:{_ENDS})?(?![\w*])"),
    re.compile(rf"(?P<kind>Fence)d?{_ENDS}"),
    re.compile(r"(?P<kind>Fence)(?![\w.*])"),
    re.compile(rf"Proxy\.(?P<proxy>[a-z]+?)(?:{_ENDS})?(?![\w*])"),
    re.compile(r"Dp(?P<dp>Addr|Data|Ctrl)(?P<place>[sd])(?P<end>[RW*])"),
    re.compile(rf"(?P<kind>{'|'.join((*SYNCHRONISATION, *WAITING))}){_ENDS}"),
    re.compile(rf"(?P<kind>{'|'.join(WAITING)})\.(?P<wait>[1-9]|read){_ENDS}"),
)
_TOKEN = re.compile(r"[^\s,]+")
EXAMPLES = (
    "Rfe",
    "Fre",
    "Coe",
    "Rfi",
    "Fri",
    "Coi",
    "PodWR",
    "PosRR",
    "Fence.sc.gpudWR",
    "DpAddrdR",
    "DpDatadW",
    "DpCtrldW",
    "Rmw",
)
#: What a misspelt edge may have been meant to be.
_SPELLED = (
    *EXAMPLES,
    *(
        f"{kind}{place}{a}{b}"
        for kind in ("Po", "Fence", *SYNCHRONISATION, *WAITING, *(f"{kind}.1" for kind in WAITING), "Bulk.read")
        for place in "ds"
        for a in "WR"
        for b in "WR"
    ),
    *(f"Dp{dp}{place}{end}" for dp in DEPENDENCIES for place in "ds" for end in "RW" if dp + end != "DataR"),
    *(f"Proxy.{proxy}dWR" for proxy in PROXIES),
    *("Coi", "Fri", "Rfi"),
)


@dataclass(frozen=True)
class Edge:
    """One edge. `kind` is one of `Rf Fr Co Po Fence Proxy Dp Rmw`, `SYNCHRONISATION`, `COPYING`; `detail` tells more of it: the
    semantics and scope of a fence (`sc.gpu`, nothing for the strongest), the kind of a proxy fence or dependency, what a wait
    for copies leaves.

    `external` edges lead to another thread. `same` edges stay at one location. `source` and `target` are `R`, `W` or `*`;
    `first` and `last` are what is said of the events there. `span` is where it was written.
    """

    kind: str
    detail: str
    external: bool
    same: bool
    source: str
    target: str
    first: Annotation = PLAIN
    last: Annotation = PLAIN
    span: Span = field(default=NOWHERE, compare=False)

    @cached_property
    def shape(self) -> tuple[object, ...]:
        """What orders edges where nothing is said of events."""
        detail = _DETAIL.get(self.detail, self.detail)
        where = (not self.same, _DIRECTION[self.source], _DIRECTION[self.target])
        if self.kind in COMMUNICATION or self.kind == "Rmw":
            return (_RANK[self.kind], self.external)
        return (
            (_RANK[self.kind], detail, *where)
            if detail != "" or self.kind in ("Fence", "Dp", *WAITING)
            else (_RANK[self.kind], *where)
        )

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Edges are tried in the order of their keys, and the least rotation of a cycle is its `Cycle=`."""
        return (self.first, self.last, self.shape)

    @cached_property
    def communicates(self) -> bool:
        """Whether it is `Rf`, `Fr` or `Co`."""
        return self.kind in COMMUNICATION

    @cached_property
    def begin(self) -> Annotation:
        """What is said of the event at the source, but for what the edge says by its name."""
        return replace(self.first, operation="") if self.kind in COPYING else self.first

    @cached_property
    def bare(self) -> str:
        """The edge as it is written, without what is said of events."""
        ends = f"{'s' if self.same else 'd'}{self.source}{self.target}"
        if self.communicates:
            return f"{self.kind}{'e' if self.external else 'i'}"
        if self.kind == "Rmw":
            return "Rmw"
        if self.kind == "Dp":
            return f"Dp{self.detail}{ends[0]}{ends[2]}"
        if self.kind == "Fence" and not self.detail:
            return f"Fence{'d' if not self.same else 's'}{ends[1:]}"
        return f"{self.kind}{'.' + self.detail if self.detail else ''}{ends}"

    def said(self, first: bool = True, last: bool = True) -> str:
        """What is said of the events at the ends that are asked for, so that it can be read again: `.rel.gpu` or nothing."""
        a, b = self.begin if first else PLAIN, self.last if last else PLAIN
        if a == b == PLAIN:
            return ""
        for one in (a, b) if self.kind != "Rmw" else (a,):
            if one != PLAIN and self._spread(one) == (a, b):
                return f".{one}"
        return f".{a}.{b}"

    def _spread(self, annotation: Annotation) -> tuple[Annotation, Annotation]:
        """An annotation that stands alone: an acquire is the read's, a release the write's, anything else both events'."""
        if self.kind == "Rmw":
            return annotation, annotation
        if annotation.semantics == "acquire":
            return (annotation, PLAIN) if self.source == "R" else (PLAIN, annotation)
        if annotation.semantics == "release":
            return (PLAIN, annotation) if self.target == "W" else (annotation, PLAIN)
        if annotation.operation == "red" and "W" in (self.source, self.target):
            return annotation if self.source == "W" else PLAIN, annotation if self.target == "W" else PLAIN
        return annotation, annotation

    def __str__(self) -> str:
        return self.bare + self.said()


def shown(edges: Sequence[Edge], i: int) -> tuple[bool, bool]:
    """At which ends of edge `i` of a cycle it is written what is said of the event there, so that it stands once: at `Rmw`,
    else at the first edge within the thread, else at the edge that leaves the thread."""
    edge = edges[i]
    if edge.kind == "Rmw":
        return True, True
    following = edges[(i + 1) % len(edges)]
    return edges[i - 1].external, not edge.external and following.kind != "Rmw"


def before(a: Edge, b: Edge) -> int:
    """-1, 0 or 1: which edge comes first where rotations of a cycle are compared. That is no order: it goes in circles."""
    if (a.kind in _LATE and b.kind in _EARLY) or (a.kind == "Dp" and b.kind in ("Fence", "Proxy")):
        return 1
    if (b.kind in _LATE and a.kind in _EARLY) or (b.kind == "Dp" and a.kind in ("Fence", "Proxy")):
        return -1
    x, y = (a.shape, a.first, a.last), (b.shape, b.first, b.last)
    return (x > y) - (x < y)


# Reading.


def read_edge(text: str, span: Span = NOWHERE) -> list[Edge]:
    """The edges that a word stands for: one, or several where it has `*` for a fence, an order or a scope.

    `*` for a direction stays. Raises `Unfit` for what is no edge.
    """
    for form in _FORMS:
        found = form.match(text)
        if found and text[found.end() : found.end() + 1] in ("", "."):
            return [
                edge
                for bare in _bare(found.groupdict(), span)
                for edge in _annotated(bare, text[found.end() + 1 :].split(".") if found.end() < len(text) else [])
            ]
    elsewhere = instead(text)
    if elsewhere:
        raise Unfit(f"'{text}' is no edge", elsewhere)
    if text.startswith("Fence."):
        raise Unfit(f"'{text}' is no edge", f"as in Fence.sc.gpudWR; the scopes are {', '.join(SCOPES)}")
    raise Unfit(f"'{text}' is no edge", nearest(text, _SPELLED) or f"such as {', '.join(EXAMPLES)}")


def _bare(groups: dict[str, str | None], span: Span) -> Iterable[Edge]:
    kind, ends = groups.get("kind") or "", groups.get("ends") or "**"
    same = groups.get("place") == "s"
    if groups.get("ie"):
        kind = "Co" if kind == "Ws" else kind
        yield Edge(kind, "", groups["ie"] == "e", True, *COMMUNICATION[kind], span=span)
    elif kind in ("Rmw", "LxSx"):
        yield Edge("Rmw", "", False, True, "R", "W", span=span)
    elif groups.get("sem"):
        sem, scope = groups["sem"] or "", groups["scope"] or ""
        if sem not in (*FENCES, "*"):
            raise Unfit(f"there is no fence.{sem}", f"a fence is {', '.join(FENCES)}")
        for one in FENCES if sem == "*" else (sem,):
            for level in SCOPES if scope == "*" else (scope,):
                yield Edge("Fence", f"{one}.{level}", False, same, ends[0], ends[1], span=span)
    elif groups.get("proxy"):
        proxy = groups["proxy"] or ""
        if proxy not in PROXIES:
            known = ", ".join(f"Proxy.{one}dWR" for one in PROXIES)
            raise Unfit("this is no proxy fence that a cycle has", f"there is {known}, and so on")
        yield Edge("Proxy", proxy, False, same, ends[0], ends[1], span=span)
    elif groups.get("dp"):
        dp, end = groups["dp"] or "", groups["end"] or ""
        if dp == "Data" and end == "R":
            raise Unfit("a data dependency leads to a write", "as in DpDatadW")
        yield Edge("Dp", dp, False, same, "R", "W" if dp == "Data" else end, span=span)
    else:
        wait = groups.get("wait") or ""
        if wait == "read" and kind != "Bulk":
            raise Unfit("only a bulk copy tells that it has read, before it has written", "as in Bulk.readdRW")
        first = Annotation(operation=COPYING.get(kind, ""))
        yield Edge(kind, wait, kind in SYNCHRONISATION, same, ends[0], ends[1], first, span=span)


def _annotated(edge: Edge, words: list[str]) -> list[Edge]:
    """The edge with what the words behind it say of its events, in all ways in which it can be meant."""
    if not words:
        return [edge]
    said = read_annotations(words)
    if len(said) > 2:
        raise Unfit("an edge has two ends, and more is said", f"'{NOTHING}' stands for an end of which nothing is said")
    found: dict[Edge, None] = {}
    wrong: Unfit | None = None
    for concrete in directed(edge):
        ends = [concrete._spread(a) for a in expanded(said[0])]
        if len(said) == 2:
            ends = [(a, b) for a in expanded(said[0]) for b in expanded(said[1])]
        for first, last in ends:
            try:
                first = merged(first, edge.first)
                settled(first, "RW" if edge.kind == "Rmw" else concrete.source)
                settled(last, "RW" if edge.kind == "Rmw" else concrete.target)
                found[replace(concrete, first=first, last=last)] = None
            except Unfit as unfit:
                wrong = unfit
    if not found:
        raise wrong or Unfit(f"no event is like '{'.'.join(words)}'")
    return list(found)


def directed(edge: Edge) -> list[Edge]:
    """The edges with directions that one with `*` stands for."""
    sources = "WR" if edge.source == "*" else edge.source
    targets = "WR" if edge.target == "*" else edge.target
    if "*" not in (edge.source, edge.target):
        return [edge]
    return [replace(edge, source=s, target=t) for s in sources for t in targets]


def read_cycle(text: str) -> list[Edge]:
    """The edges of a cycle, with blanks or commas between them. Raises `InputError` with the place of what is no edge."""
    edges: list[Edge] = []
    findings = []
    for found in _TOKEN.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        column = found.start() - (text.rfind("\n", 0, found.start()) + 1) + 1
        span = Span(line, column, column + len(found[0]))
        try:
            several = read_edge(found[0], span)
        except Unfit as unfit:
            findings.append(Diagnostic(span, str(unfit), unfit.hint))
            continue
        if len(several) > 1:
            hint = f"such as {several[0]}; --edges takes them all"
            findings.append(Diagnostic(span, f"'{found[0]}' stands for several edges", hint))
        edges.append(several[0])
    if not edges and not findings:
        findings.append(Diagnostic(Span(1, 1, 2), "a cycle has edges", "as in 'PodWW Rfe PodRR Fre'"))
    if findings:
        raise InputError(findings, "<cycle>", text)
    return edges


def alphabet(text: str) -> list[list[Edge]]:
    """What cycles may be made of: the edges of a list with wildcards, in the order in which they are tried, each once. A
    sequence in brackets (`[Rfe Fence.sc.gpudRR]`) is taken as one.

    Raises `InputError` with the place of what is no edge.
    """
    findings: list[Diagnostic] = []
    found: dict[tuple[Edge, ...], None] = {}
    for item in re.finditer(r"\[([^\[\]]*)\]|[^\s,\[\]]+|[\[\]]", text):
        start, inner = (item.start(1), item[1]) if item[1] is not None else (item.start(), item[0])
        if inner in ("[", "]"):
            findings.append(
                Diagnostic(_span(start, inner), f"this '{inner}' has no other", "a sequence is [Rfe FencedRR]")
            )
            continue
        found.update(dict.fromkeys(_sequences(start, inner, findings)))
    if not found and not findings:
        findings.append(Diagnostic(Span(1, 1, 2), "a list has edges", "as in 'Pod**,Rfe,Fre,Coe'"))
    if findings:
        raise InputError(findings, "<edges>", text)
    return [list(s) for s in sorted(found, key=lambda s: [edge.key for edge in s])]


def _span(start: int, text: str) -> Span:
    return Span(1, start + 1, start + 1 + len(text))


def _sequences(start: int, text: str, findings: list[Diagnostic]) -> list[tuple[Edge, ...]]:
    """What an edge, or several that count as one, stand for; what is wrong with them goes to the findings."""
    sequences: list[tuple[Edge, ...]] = [()]
    for token in _TOKEN.finditer(text):
        span = _span(start + token.start(), token[0])
        try:
            several = [d for edge in read_edge(token[0], span) for d in directed(edge)]
        except Unfit as unfit:
            findings.append(Diagnostic(span, str(unfit), unfit.hint))
            return []
        longer = [(*s, e) for s in sequences for e in several if not s or s[-1].target == e.source]
        if not longer:
            last, ends = sequences[0][-1].bare, "a read" if sequences[0][-1].target == "R" else "a write"
            findings.append(Diagnostic(span, f"this edge does not start at {ends}, where {last} before it ends"))
            return []
        sequences = longer
    if sequences == [()]:
        findings.append(Diagnostic(_span(start - 1, "[]"), "a sequence has edges", "as in [Rfe FencedRR]"))
        return []
    return sequences

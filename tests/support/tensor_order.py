"""A second way to what `wgmma` and `tcgen05` order: sections 8.9.5, 9.7.15 and 9.7.16.6 as relations over everything that the
threads of one run did, looked at when it is over.

`axioms.dynamic` decides while a run goes on, by tables of what each thread knows. Here is a graph of what threads do, in
program order and with an edge for each synchronization, and what orders two accesses is written as the manual has it. Shared
with the other way are what instructions do and that the machine tells it.
What is left out: who may initialise what, a fence between proxies where a thread writes what tcgen05 has read, and clusters but
one. Registers of products in flight are the machine's own errors in both ways.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

from ptxcore.isa.mbarrier import contents
from ptxcore.machine.run.faults import KernelError
from ptxmm.kernels.runs import Runs, Watchers
from ptxmm.kernels.test import KernelTest

WARP, LANES, COLUMNS = 32, 128, 512
#: Errors of the machine that say that a launch has no meaning.
_MEANINGLESS = ("tensor-", "bad-", "unfenced-", "unfinished-")
#: "The specific pairings are as follows" (9.7.16.6.2), but for products, which have to be of one shape and accumulator, too.
_PIPELINES = {("cp", "mma"), ("cp.4x256b", "mma"), ("shift", "mma"), ("shift", "cp.4x256b"), ("mma", "shift")}


class Span(NamedTuple):
    """Bytes of a shared memory."""

    memory: int
    first: int
    size: int

    def meets(self, other: Span) -> bool:
        apart = self.first + self.size <= other.first or other.first + other.size <= self.first
        return self.memory == other.memory and not apart


@dataclass(eq=False)
class Operation:
    """What a tcgen05 instruction does to Tensor Memory, and reads of shared memory; `number`: of the loads, or of the stores,
    of its thread. Columns are given back at any of `nodes`, those of a warp."""

    thread: int
    kind: str
    place: Any
    number: int
    nodes: list[int]
    cells: dict[tuple[int, bool], Any] = field(default_factory=dict)
    reads: list[Span] = field(default_factory=list)


@dataclass(eq=False)
class Product:
    """A product of a warpgroup: the last `wgmma.fence` of each thread before it, and the waits that it is complete at."""

    issued: int
    fences: list[int]
    reads: list[Span] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)


@dataclass(eq=False)
class Copy:
    """A bulk copy: what it writes, and where it tells so."""

    writes: list[Span] = field(default_factory=list)
    told: list[int] = field(default_factory=list)


@dataclass(eq=False)
class Access:
    """What a thread does itself to shared memory; the lanes of a warp that allocates store at its `nodes` together."""

    span: Span
    writes: bool
    strong: bool
    nodes: list[int]
    of_allocation: bool = False


class Definition:
    """Watches a run (`ptxcore.machine.run.watched.RunWatcher`), and judges it."""

    def __init__(self) -> None:
        #: What comes right before each node: by any execution ordering operation, and by what acquires and releases.
        self.edges: list[tuple[list[int], list[int]]] = []
        self.last: dict[int, int] = {}
        self.threads = 0
        self.coming: dict[Any, list[tuple[int, int, bool]]] = defaultdict(list)
        #: Of each mbarrier object the arrivals in each phase, and whether they release.
        self.phases: dict[tuple[int, int], list[list[tuple[int, bool]]]] = {}
        self.flags: dict[Span, tuple[int, bool]] = {}
        self.accesses: list[Access] = []
        self.allocations: dict[tuple[int, Any], Access] = {}
        self.proxy_fences: list[int] = []
        self.products: list[Product] = []
        self.copies: list[Copy] = []
        self.of_copies: dict[int, Copy] = {}
        self.fenced: dict[int, int] = {}
        self.performing: Any = None
        self.operations: list[Operation] = []
        self.commits: dict[int, list[tuple[int, list[int]]]] = defaultdict(list)
        self.before: dict[int, list[int]] = defaultdict(list)
        self.behind: dict[int, list[int]] = defaultdict(list)
        #: By thread and kind how many were begun, and at each wait for them how many had been.
        self.begun: dict[tuple[int, str], int] = defaultdict(int)
        self.waits_for: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
        self.giving: dict[tuple[int, int], Operation] = {}

    # The graph.

    def node(self, thread: int | None, any_: Iterable[int] = (), strong: Iterable[int] = ()) -> int:
        own = [self.last[thread]] if thread in self.last and thread is not None else []
        self.edges.append(([*own, *any_, *strong], [*own, *strong]))
        number = len(self.edges) - 1
        if thread is not None:
            self.last[thread] = number
        return number

    def meet(self, come: Sequence[tuple[int, int, bool]]) -> None:
        together = self.node(None, (), [node for _, node, _ in come])
        for thread, _, waits in come:
            if waits:
                self.node(thread, (), [together])

    # What the machine tells of threads.

    def enters(self, cta: Any) -> int:
        self.threads += 1
        return self.threads - 1

    def ends(self, cta: Any) -> None: ...

    def arrives(self, thread: Any, level: str, identity: int, waits: bool, count: int | None) -> None:
        key = (level, id(thread.cta), identity) if level == "cta" else level
        self.coming[key].append((thread.number, self.node(thread.number), waits or level != "cta"))

    def released(self, cta: Any, level: str, identity: int, whole: bool) -> None:
        self.meet(self.coming.pop((level, id(cta), identity) if level == "cta" else level, []))

    def met(self, how: Any, threads: Sequence[Any], masked: bool) -> None:
        if how.form.mnemonic == "bar":
            self.meet([(t.number, self.node(t.number), True) for t in threads])

    def reads(self, thread: Any, address: int, size: int) -> None:
        self._accesses(thread, address, size, writes=False)

    def writes(self, thread: Any, address: int, size: int, value: Any) -> None:
        self._accesses(thread, address, size, writes=True)

    def _accesses(self, thread: Any, address: int, size: int, *, writes: bool) -> None:
        segment, first = thread.segment(address)
        if segment is not thread.cta.shared:
            return
        op, span = thread.instruction, Span(id(segment), first, size)
        sem = op.use.sem if op.use.form.mnemonic in ("ld", "st") else "weak"
        found = self.flags.get(span) if sem != "weak" and not writes else None
        acquires = found is not None and found[1] and sem == "acquire"
        node = self.node(thread.number, [found[0]] if found else (), [found[0]] if found and acquires else ())
        if sem != "weak" and writes:
            self.flags[span] = node, sem == "release"
        if op.use.form.mnemonic == "tcgen05":
            one = Access(span, writes, False, [], of_allocation=True)
            one = self.allocations.setdefault((thread.number // WARP, id(op)), one)
            one.nodes.append(node)
            if len(one.nodes) > 1:
                return
        else:
            one = Access(span, writes, sem != "weak", [node])
        self.accesses.append(one)

    def operates(self, thread: Any, kind: str, how: Any, address: int, write: Callable[[Any], tuple[Any, Any]]) -> None:
        segment, first = thread.segment(address)
        key = id(segment), first
        if kind == "init":
            self.node(thread.number)
            self.phases[key] = [[]]
            return
        phases = self.phases[key]
        if kind == "wait":
            over = [arrival for phase in phases[:-1] for arrival in phase]
            strong = [node for node, releases in over if releases and how.sem != "relaxed"]
            self.node(thread.number, [node for node, _ in over], strong)
            return
        if self.performing is None:
            arrival, releases = self.node(thread.number), how.sem == "release"
        else:
            arrival, releases = self.performing(), True
        phases[-1].append((arrival, releases))
        old = segment.read(first, 8)
        if contents(write(old)[0]).phase != contents(old).phase:
            phases.append([])

    def other(self, thread: Any, what: str, how: Any = None, address: int = 0) -> None:
        name = thread.instruction.name
        if what == "proxy_fence" and "proxy.async" in name and not name.endswith(".global"):
            self.proxy_fences.append(self.node(thread.number))

    # Of asynchronous operations.

    def begins(self, thread: Any, how: Any, copy: Any) -> Any:
        node = self.node(thread.number)
        if copy is None:
            told: list[int] = []
            self.commits[thread.number].append((node, told))
            return lambda: self._tells(told, [node])
        made = Copy()
        self.copies.append(made)
        self.of_copies[id(copy)] = made
        return lambda: self._tells(made.told, ())

    def _tells(self, told: list[int], any_: Iterable[int]) -> int:
        told.append(self.node(None, any_))
        return told[-1]

    def performs(self, agent: Any, action: Callable[[], None]) -> None:
        outer, self.performing = self.performing, agent
        try:
            action()
        finally:
            self.performing = outer

    def copied(self, copy: Any, kind: str, address: int, size: int) -> None:
        segment, first = copy.thread.segment(address)
        span = Span(id(segment), first, size)
        if isinstance(copy.agent, Product):
            copy.agent.reads.append(span)
        elif kind == "W" and segment is copy.thread.cta.shared:
            self.of_copies[id(copy)].writes.append(span)

    def multiplies(self, threads: Sequence[Any], how: Any, product: Any) -> Product:
        issued = [self.node(t.number) for t in threads]
        made = Product(max(issued), [self.fenced[t.number] for t in threads if t.number in self.fenced])
        self.products.append(made)
        return made

    def of_products(self, thread: Any, action: str, complete: Sequence[Any]) -> None:
        node = self.node(thread.number)
        if action == "fence":
            self.fenced[thread.number] = node
        for product in complete:
            product.agent.waits.append(node)

    def tensors(self, thread: Any, how: Any) -> Any:
        return _Tensors(self)

    def unsettled(self, op: Any) -> None: ...

    def left_open(self, lane: int) -> int:
        return 0

    def looks(self, thread: Any, block: int) -> None: ...

    # The relations.

    def _closed(self, which: int) -> list[int]:
        """Of each node the set of those before it, as bits; edges lead forward."""
        found: list[int] = []
        for edges in self.edges:
            before = 0
            for other in edges[which]:
                before |= found[other] | 1 << other
            found.append(before)
        return found

    def judged(self) -> set[str]:
        """What is not ordered, as the verdicts that follow: `undefined`, or `no` for a race of weak accesses."""
        self.any_before, self.strong_before = self._closed(0), self._closed(1)
        found = set(self._races())
        if not self._all_ordered():
            found.add("undefined")
        if not all(self._seen(read, own) for read, own in self._asynchronous_reads()):
            found.add("undefined")
        return found

    def _x(self, one: int, two: int) -> bool:
        """Whether a node comes before another one by execution ordering operations."""
        return bool(self.any_before[two] >> one & 1)

    def _s(self, one: int, two: int) -> bool:
        """Whether it does in base causality order, or is the same."""
        return one == two or bool(self.strong_before[two] >> one & 1)

    def _conflicts(self) -> Iterator[tuple[Operation, Operation]]:
        cells: dict[tuple[int, int], list[tuple[Operation, bool]]] = defaultdict(list)
        for operation in self.operations:
            for (memory, writes), places in operation.cells.items():
                for place in places.tolist():
                    cells[memory, place].append((operation, writes))
        pairs = {
            (one, two)
            for found in map(tuple, {tuple(found) for found in cells.values()})
            for (one, w1), (two, w2) in combinations(found, 2)
            if (w1 or w2) and one is not two
        }
        return ((one, two) if one.nodes[0] < two.nodes[0] else (two, one) for one, two in pairs)

    def _all_ordered(self) -> bool:
        """Whether each two operations on the same cells are ordered, by operations on these between them or directly."""
        pairs = list(self._conflicts())
        places = {id(o): i for i, o in enumerate(sorted(self.operations, key=lambda o: o.nodes[0]))}
        before = [0] * len(places)
        for one, two in sorted(pairs, key=lambda pair: places[id(pair[1])]):
            if self._ordered(one, two):
                before[places[id(two)]] |= before[places[id(one)]] | 1 << places[id(one)]
        return all(before[places[id(two)]] >> places[id(one)] & 1 for one, two in pairs)

    def _ordered(self, one: Operation, two: Operation) -> bool:
        if _pipelined(one, two) and self._in_a_pipeline(one, two):
            return True
        return any(self._complete(one, self._ready(two, node), two, node) for node in two.nodes)

    def _ready(self, two: Operation, node: int) -> int | None:
        """What comes before this comes before the operation: the last fence::after_thread_sync of its thread; of a synchronous
        operation itself (9.7.16.6.1, 9.7.16.6.3)."""
        if two.kind == "dealloc":
            return node
        return max((fence for fence in self.behind[two.thread] if fence < node), default=None)

    def _in_a_pipeline(self, one: Operation, two: Operation) -> bool:
        """In one thread in any case, of two threads with fences around what orders their execution (9.7.16.6.4.1, .3)."""
        if one.thread == two.thread:
            return True
        released, ready = _next(self.before[one.thread], one.nodes[0]), self._ready(two, two.nodes[0])
        return released is not None and ready is not None and self._x(released, ready)

    def _complete(self, one: Operation, ready: int | None, two: Operation, node: int) -> bool:
        """Whether one is complete, and the other one comes behind that (9.7.16.6.2.2, 9.7.16.6.2.3, 9.7.16.6.4.2, .4)."""
        if one.kind in ("ld", "st"):
            if one.thread // WARP == two.thread // WARP:  # the wait is the warp's, so that each thread of it has waited
                waits = self.waits_for[two.thread, one.kind]
                return any(count >= one.number and wait < node for wait, count in waits)
            return ready is not None and any(self._x(fence, ready) for fence in self._released(one))
        told = (arrival for commit, told in self.commits[one.thread] if commit > one.nodes[0] for arrival in told)
        return ready is not None and any(self._x(arrival, ready) for arrival in told)

    def _lanes(self, thread: int) -> range:
        return range(thread // WARP * WARP, thread // WARP * WARP + WARP)

    def _released(self, one: Operation) -> Iterator[int]:
        """Where threads of its warp have waited for a load or store and then released it."""
        for lane in self._lanes(one.thread):
            wait = next((node for node, count in self.waits_for[lane, one.kind] if count >= one.number), None)
            fence = None if wait is None else _next(self.before[lane], wait)
            if fence is not None:
                yield fence

    # Shared memory (8.9.5, 9.7.15.4, 9.7.16.6.5).

    def _races(self) -> Iterator[str]:
        """Accesses of threads themselves that base causality order does not relate."""
        for one, two in combinations(self.accesses, 2):
            if not (one.writes or two.writes) or (one.strong and two.strong) or not one.span.meets(two.span):
                continue
            if not any(self._s(a, b) or self._s(b, a) for a in one.nodes for b in two.nodes):
                yield "undefined" if one.of_allocation or two.of_allocation else "no"

    def _asynchronous_reads(self) -> Iterator[tuple[Operation | Product, list[Span]]]:
        for operation in self.operations:
            yield operation, operation.reads
        for product in self.products:
            yield product, product.reads

    def _seen(self, read: Operation | Product, spans: list[Span]) -> bool:
        """Whether all that is written where the async proxy reads comes before that, or behind it."""
        issued = read.issued if isinstance(read, Product) else read.nodes[0]
        points = read.fences if isinstance(read, Product) else read.nodes
        for access in self.accesses:
            if access.writes and any(map(access.span.meets, spans)):
                write = access.nodes[0]
                if not (self._fenced(write, points) if write < issued else self._over(read, write)):
                    return False
        written = (copy for copy in self.copies if any(s.meets(o) for s in copy.writes for o in spans))
        return all(any(all(self._s(told, p) for p in points) for told in copy.told) for copy in written)

    def _fenced(self, write: int, points: list[int]) -> bool:
        """Whether a fence between the proxies stands on the way from a write to each of some nodes."""
        fences = [fence for fence in self.proxy_fences if self._s(write, fence)]
        return all(any(self._s(fence, point) for fence in fences) for point in points)

    def _over(self, read: Operation | Product, write: int) -> bool:
        """Whether a read is complete before a write."""
        if isinstance(read, Product):
            return any(self._s(wait, write) for wait in read.waits)
        told = (arrival for commit, told in self.commits[read.thread] if commit > read.nodes[0] for arrival in told)
        return any(self._x(arrival, write) for arrival in told)


class _Tensors:
    """What the machine tells of Tensor Memory."""

    def __init__(self, definition: Definition) -> None:
        self.to = definition

    def begins(self, thread: Any, kind: str, place: Any, *, pair: bool = False) -> Operation:
        number = self.to.begun[thread.number, kind] = self.to.begun[thread.number, kind] + 1
        made = Operation(thread.number, kind, place, number, [self.to.node(thread.number)])
        self.to.operations.append(made)
        return made

    def touches(self, agent: Operation, memory: Any, lanes: Any, columns: Any, *, writes: bool) -> None:
        import numpy as np

        touched = np.zeros((LANES, COLUMNS), np.bool_)
        touched[lanes, columns] = True
        found = agent.cells.get((id(memory), writes), ())
        agent.cells[id(memory), writes] = np.union1d(found, np.flatnonzero(touched)).astype(int)

    def reads_shared(self, agent: Operation, cta: Any, offset: int, size: int) -> None:
        agent.reads.append(Span(id(cta.shared), offset, size))

    def allocates(self, thread: Any, memory: Any, address: int, columns: int) -> None: ...

    def relinquishes(self, thread: Any, memory: Any) -> None: ...

    def takes(self, thread: Any, memory: Any) -> None: ...

    def frees(self, thread: Any, memory: Any, address: int, columns: int) -> None:
        self._gives_back(thread, memory, address, columns)

    def meet(self, thread: Any, name: str, memory: Any, what: tuple[int, ...], warps: tuple[int, int]) -> None:
        if name == "dealloc":
            self._gives_back(thread, memory, *what)

    def _gives_back(self, thread: Any, memory: Any, address: int, columns: int) -> None:
        node = self.to.node(thread.number)
        key = thread.number // WARP, id(memory)
        if key not in self.to.giving:
            self.to.giving[key] = made = Operation(thread.number, "dealloc", None, 0, [])
            self.to.operations.append(made)
            self.touches(made, memory, slice(None), slice(address, address + columns), writes=True)
        self.to.giving[key].nodes.append(node)

    def waits(self, thread: Any, kind: str) -> None:
        key = thread.number, kind
        self.to.waits_for[key].append((self.to.node(thread.number), self.to.begun[key]))

    def fences(self, thread: Any, which: str) -> None:
        node = self.to.node(thread.number)
        (self.to.before if which.endswith("before_thread_sync") else self.to.behind)[thread.number].append(node)


def _pipelined(one: Operation, two: Operation) -> bool:
    if one.kind == two.kind == "mma":
        return bool(one.place == two.place)
    return (one.kind, two.kind) in _PIPELINES


def _next(nodes: list[int], behind: int) -> int | None:
    return next((node for node in nodes if node > behind), None)


def by_definition(test: KernelTest) -> set[str]:
    """What one run of a test shows not to be ordered, as the verdicts that follow; nothing where all is."""
    definition = Definition()
    try:
        Runs(test, watched=True).run(watch=lambda launch, program: Watchers(None, lambda: definition))
    except KernelError as error:
        if error.kind.startswith(_MEANINGLESS):
            return {"undefined"}
        raise
    return definition.judged()

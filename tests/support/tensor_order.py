"""A second way to what `wgmma` and `tcgen05` order: sections 8.9.5, 9.7.15 and 9.7.16.6 as a model in cat (`tensor_order.cat`)
over everything that the threads of a run did, looked at when it is over; of many schedules of a launch.

`axioms.dynamic` decides while a run goes on, by tables of what each thread knows, and one run stands for all. Here is a graph
of what threads do, in program order and with an edge for each synchronization; what orders two accesses is written as the
manual has it, and the evaluator of models, which brute force decides with, says what of it holds. Shared with the other way
are what instructions do and that the machine tells it.
What is left out: who may initialise what, a fence between proxies where a thread writes what tcgen05 has read, and clusters but
one. Registers of products in flight are the machine's own errors in both ways.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, combinations
from pathlib import Path
from typing import Any, NamedTuple

from axioms.cat.compiled import Axiom, Model
from axioms.cat.evaluate import Evaluation
from axioms.cat.model import compile_model
from axioms.cat.names import BASE, BaseName
from axioms.cat.nodes import Rows
from ptxcore.isa.mbarrier import contents
from ptxcore.machine.run.faults import KernelError
from ptxmm.kernels.runs import Runs, Watchers
from ptxmm.kernels.test import KernelTest

WARP, LANES, COLUMNS = 32, 128, 512
#: Errors of the machine that say that a launch has no meaning.
_MEANINGLESS = ("tensor-", "bad-", "unfenced-", "unfinished-")
#: The model, and what of a launch breaks its axioms where that is not a launch without a meaning.
TEXT = Path(__file__).with_suffix(".cat").read_text(encoding="utf-8")
VERDICTS = {"race": "no"}
#: The sets of operations whose names are not theirs.
_SETS = {"cp.4x256b": "CP4", "mma": "MMA"}
#: What is given to the model: a set or a relation, and what it is. Nodes are what threads do, and what becomes of asynchronous
#: operations; of an operation that several threads execute together the first one stands for all.
GIVEN = {
    "po": ("relation", "program order"),
    "step": ("relation", "what comes right before a node: in program order, by any execution ordering operation"),
    "strong": ("relation", "the same by what acquires and releases"),
    "as-one": ("relation", "from each node of what several threads do together to the first one"),
    "TENSOR": ("set", "operations on Tensor Memory, but for `dealloc`"),
    **{name: ("set", f"operations of this kind: {what}") for name, what in (
        ("LD", "loads"), ("ST", "stores"), ("CP", "copies"), ("CP4", "those of the shape 4x256b"), ("SHIFT", "shifts"),
        ("MMA", "products"), ("DEALLOC", "the nodes of `dealloc`"))},
    "FB": ("set", "`fence::before_thread_sync`"),
    "FA": ("set", "`fence::after_thread_sync`"),
    "PF": ("set", "fences between the generic and the async proxy"),
    "COMMIT": ("set", "`tcgen05.commit`"),
    "ALLOC": ("set", "stores of `tcgen05.alloc`"),
    "WRITES": ("set", "what threads write to shared memory"),
    "conflict": ("relation", "operations on the same cells of Tensor Memory, one of which writes them, both ways"),
    "accumulator": ("relation", "products of the same shape and accumulator"),
    "tells": ("relation", "from a commit to its arrivals"),
    "waited": ("relation", "from a load or store to the waits of its warp for it"),
    "clash": ("relation", "accesses of threads to the same bytes of shared memory, one of which writes, not both strong"),
    "read-by": ("relation", "from what a thread writes to what reads it through the async proxy"),
    "since": ("relation", "from what reads so to what it may read from on: `wgmma.fence`, or itself"),
    "awaited": ("relation", "from a product of a warpgroup to the waits that it is complete at"),
    "copied-for": ("relation", "from a copy to what reads through the async proxy what it writes"),
    "told": ("relation", "from a copy to what tells of its bytes"),
}  # fmt: skip


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
    """A product of a warpgroup: where its threads issue it, the last `wgmma.fence` of each of them before that, and the waits
    that it is complete at."""

    issued: list[int]
    fences: list[int | None]
    reads: list[Span] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)


@dataclass(eq=False)
class Copy:
    """A bulk copy: what it writes, and where it tells so."""

    issued: int
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
        self.of_threads: dict[int, list[int]] = defaultdict(list)
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
            self.of_threads[thread].append(number)
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
        made = Copy(node)
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
        made = Product(issued, [self.fenced.get(t.number) for t in threads])
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

    def unspecified(self, op: Any) -> None: ...

    def left_open(self, lane: int) -> int:
        return 0

    def polls(self, thread: Any, block: int) -> None: ...

    # The relations.

    def violated(self, of: Model) -> list[Axiom]:
        """The axioms that do not hold."""
        return Evaluation(of, len(self.edges), self.base()).violated()

    def base(self) -> dict[str, int | Rows]:
        """What `GIVEN` names."""
        size = len(self.edges)
        found: dict[str, Any] = {"_": (1 << size) - 1, "id": [1 << i for i in range(size)]}
        for name, (kind, _) in GIVEN.items():
            found[name] = 0 if kind == "set" else [0] * size
        for number, edges in enumerate(self.edges):
            for name, before in zip(("step", "strong"), edges, strict=True):
                for other in before:
                    found[name][other] |= 1 << number
        for nodes in self.of_threads.values():
            later = 0
            for node in reversed(nodes):
                found["po"][node] = later
                later |= 1 << node
        for name, nodes in (
            ("FB", chain(*self.before.values())), ("FA", chain(*self.behind.values())), ("PF", self.proxy_fences)
        ):  # fmt: skip
            found[name] = _set(nodes)
        for node, told in chain(*self.commits.values()):
            found["COMMIT"] |= 1 << node
            found["tells"][node] |= _set(told)
        self._of_operations(found)
        self._of_accesses(found)
        return found

    def _of_operations(self, found: dict[str, Any]) -> None:
        for one in self.operations:
            first = one.nodes[0]
            found[_SETS.get(one.kind, one.kind.upper())] |= _set(one.nodes)
            if one.kind != "dealloc":
                found["TENSOR"] |= 1 << first
            for node in one.nodes:
                found["as-one"][node] |= 1 << first
            if one.kind in ("ld", "st"):
                for lane in range(one.thread // WARP * WARP, one.thread // WARP * WARP + WARP):
                    waits = self.waits_for[lane, one.kind]
                    found["waited"][first] |= _set(wait for wait, count in waits if count >= one.number)
            found["since"][first] |= 1 << first
        for one, two in self._conflicts():
            for i, j in ((one, two), (two, one)):
                found["conflict"][i.nodes[0]] |= 1 << j.nodes[0]
                if i.kind == j.kind == "mma" and i.place == j.place:
                    found["accumulator"][i.nodes[0]] |= 1 << j.nodes[0]

    def _conflicts(self) -> set[tuple[Operation, Operation]]:
        cells: dict[tuple[int, int], list[tuple[Operation, bool]]] = defaultdict(list)
        for operation in self.operations:
            for (memory, writes), places in operation.cells.items():
                for place in places.tolist():
                    cells[memory, place].append((operation, writes))
        return {
            (one, two)
            for found in map(tuple, {tuple(found) for found in cells.values()})
            for (one, w1), (two, w2) in combinations(found, 2)
            if (w1 or w2) and one is not two
        }

    def _of_accesses(self, found: dict[str, Any]) -> None:
        """Shared memory."""
        for one in self.accesses:
            for node in one.nodes:
                found["as-one"][node] |= 1 << one.nodes[0]
            if one.of_allocation:
                found["ALLOC"] |= 1 << one.nodes[0]
            if one.writes:
                found["WRITES"] |= 1 << one.nodes[0]
        for one, two in combinations(self.accesses, 2):
            if (one.writes or two.writes) and not (one.strong and two.strong) and one.span.meets(two.span):
                found["clash"][one.nodes[0]] |= 1 << two.nodes[0]
        for product in self.products:
            for node, fence in zip(product.issued, product.fences, strict=True):
                found["since"][node] |= 0 if fence is None else 1 << fence
                found["awaited"][node] |= _set(product.waits)
        readers: list[tuple[list[int], list[Span]]] = [(p.issued, p.reads) for p in self.products]
        readers += [(o.nodes, o.reads) for o in self.operations]
        for nodes, spans in readers:
            for access in self.accesses:
                if access.writes and any(map(access.span.meets, spans)):
                    found["read-by"][access.nodes[0]] |= _set(nodes)
            for copy in self.copies:
                if any(s.meets(o) for s in copy.writes for o in spans):
                    found["copied-for"][copy.issued] |= _set(nodes)
                    found["told"][copy.issued] |= _set(copy.told)


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


def _set(nodes: Iterable[int]) -> int:
    found = 0
    for node in nodes:
        found |= 1 << node
    return found


@cache
def model(text: str) -> Model:
    """The model, with what is given to it."""
    added = {name: BaseName(kind, meaning) for name, (kind, meaning) in GIVEN.items() if name not in BASE}
    BASE.update(added)
    try:
        return compile_model("tensor_order.cat", text)
    finally:
        for name in added:
            del BASE[name]


def by_definition(test: KernelTest, schedules: Iterable[int | None] = (None,), text: str = TEXT) -> set[str]:
    """What some of these schedules of a test shows not to be ordered, as the verdicts that follow; nothing where all is."""
    return {verdict for seed in schedules for verdict in in_schedule(test, seed, text)}


def in_schedule(test: KernelTest, seed: int | None, text: str = TEXT) -> set[str]:
    """What one run shows not to be ordered."""
    definition = Definition()
    try:
        Runs(test, watched=True).run(seed, watch=lambda launch, program: Watchers(None, lambda: definition))
    except KernelError as error:
        if error.kind.startswith(_MEANINGLESS):
            return {"undefined"}
        raise
    return {VERDICTS.get(axiom.name, "undefined") for axiom in definition.violated(model(text))}

"""The executions of threads that ran on numbers, for brute force.

for each assignment of barrier instances, each order of operations on mbarrier objects, each reads-from, each order of
fences, each coherence:
    evaluate the model on that one execution
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from axioms.cat.evaluate import bits
from axioms.cat.model import Model
from axioms.cat.nodes import Rows
from axioms.events.event_kinds import READ, WRITE
from axioms.oracle import mbarriers as mbarrier_orders
from axioms.oracle.barriers import BarrierChoice
from axioms.oracle.budget import BeyondBruteForce, kept
from axioms.oracle.mbarriers import MisuseOf, OperationOrder
from axioms.program import Event, Program, dependency_pairs
from axioms.witness.candidate import Candidate, Reads
from axioms.witness.judge import ModelChecker
from axioms.witness.staged import StagedEvaluation, Stages
from axioms.witness.tearing import mixes
from ptxcore.values import terms
from ptxcore.values.terms import Value

#: More writes to a location have too many orders. Where nothing orders them there are 130,023 strict partial orders of six, and
#: 6,129,859 of seven, which are not kept.
_MAX_WRITES = 7
#: Sets of elements that an order closes: more make one step of the search long. An order of twelve has no more.
_MOST_CLOSED = 4096
#: As many are gone through between two looks at the budget.
_BETWEEN = 64

#: Pairs of events.
_Pairs = frozenset[tuple[int, int]]


class EnumeratedExecutions:
    """The consistent executions of a program of numbers. `stages` are those of the model, `wrong` says what is wrong with
    operations on mbarrier objects; `check_time` is called now and then, so that a caller can stop."""

    def __init__(
        self, program: Program, model: Model, stages: Stages, wrong: MisuseOf, check_time: Callable[[], None]
    ) -> None:
        self.program, self.model, self.stages = program, model, stages
        self.wrong, self.check_time = wrong, check_time
        self.dependencies = _dependency_rows(program, carrying=False)
        carrying = _dependency_rows(program, carrying=True)
        self.carrying = [a | b for a, b in zip(carrying["data"], carrying["addr"], strict=True)]
        self.judge = ModelChecker(program, model)

    def arrangements(
        self, barriers: Iterable[BarrierChoice]
    ) -> Iterator[tuple[BarrierChoice, tuple[OperationOrder, ...]]]:
        """Instances of barriers with orders of the operations on mbarrier objects. Who misuses either is told in the former."""
        orders_of = mbarrier_orders.order_choices(self.program, self.wrong, self.check_time)
        choices = kept(orders_of, "orders of operations on mbarrier objects")
        for barrier in barriers:
            for orders in choices:
                misuse = next((o.misuse for o in orders if o.misuse), barrier.misuse)
                yield replace(barrier, misuse=misuse), orders

    def of(self, barrier: BarrierChoice, orders: Sequence[OperationOrder], finals: bool) -> Iterator[Candidate]:
        """The consistent executions of one arrangement; with `finals`, one for each choice of the values that stay."""
        static = self._static(barrier, orders)
        met = (*barrier.pairs, *barrier.again)
        sequences = [[e.index for e in o.events] for o in orders]
        program, judge = self.program, self.judge
        evaluation = StagedEvaluation(self.model, program, self.stages, static)
        for rf in self._reads_from(barrier):
            with_rf = evaluation.extend("rf", _rf_rows(program, rf))
            if with_rf is None:
                continue
            for order in _fence_orders(program, self.check_time):
                with_fences = with_rf.extend("sync_fence", order)
                if with_fences is None:
                    continue
                for co in self._coherences(with_fences):
                    if with_fences.extend("co", co, fr=_fr_rows(program, rf, co, judge.writes)) is None:
                        continue
                    for final in _final_writes(program, co) if finals else ({},):
                        found = Candidate(judge, [True] * program.size, rf, co, order, met, final, sequences=sequences)
                        if self.model.residual is None or found.passes:
                            yield found

    def _static(self, barrier: BarrierChoice, orders: Sequence[OperationOrder]) -> dict[str, Rows]:
        """What an arrangement says of relations."""
        program, dependencies = self.program, self.dependencies
        data, control = list(dependencies["data"]), list(dependencies["ctrl"])
        for i, j in barrier.flows:
            data[i] |= 1 << j
        for i, w in barrier.ended:
            control[i] |= program.relations["po"][w]
        mbo, mbrf, denied = mbarrier_orders.rows(program, orders)
        for row, pairs in ((mbo, barrier.phase_order), (mbrf, barrier.phases)):
            for i, j in pairs:
                row[i] |= 1 << j
        found = {**dependencies, "data": data, "ctrl": control, "mbo": mbo, "mbrf": mbrf, "denied": denied}
        return {**found, "syncbar": barrier.rows(program.size), "again": barrier.again_rows(program.size)}

    def _reads_from(self, barrier: BarrierChoice) -> Iterator[Reads]:
        """Each choice of a write for each cell of each read, that wrote there what is read there. What copies read is known
        when all is chosen."""
        program = self.program
        writes = _writes(program)
        reads = [(e, c) for e in program.events if e.kind is READ for c in e.cells]
        sources = [
            [w.index for w in writes[c] if w is not r.partner and _may_be(w.value_at(c), r.value_at(c))]
            for r, c in reads
        ]
        flow = list(self.carrying)
        for i, j in barrier.flows:
            flow[i] |= 1 << j
        for chosen in itertools.product(*sources):
            self.check_time()
            rf: dict[int, tuple[int, ...]] = {}
            for (r, _), w in zip(reads, chosen, strict=True):
                rf[r.index] = (*rf.get(r.index, ()), w)
            if _grounded(program, rf, flow) and _agree(program, rf) and not self._mixes(rf):
                yield rf

    def _mixes(self, rf: Reads) -> bool:
        """Whether a read that may not be torn is."""
        return any(
            len(chosen) > 1
            and not self.program.tears(self.program.events[r].width)
            and mixes(self.program.events[r], (self.program.events[w] for w in chosen))
            for r, chosen in rf.items()
        )

    def _coherences(self, evaluation: StagedEvaluation) -> Iterator[Rows]:
        """All choices of a strict partial order of the writes of each cell, that agree on writes which meet in several cells
        and have the pairs which an axiom demands outright."""
        demanded, related = evaluation.demands()
        rows = [0] * self.program.size
        by_cell: dict[tuple[int, ...], list[_Pairs]] = {}
        for initial, *others in _writes(self.program).values():
            if len(others) > _MAX_WRITES:
                raise BeyondBruteForce("too many writes to one location for brute force")
            writes = tuple(w.index for w in others)
            rows[initial.index] = sum(1 << w for w in writes)
            if writes not in by_cell:
                orders = strict_orders(writes, demanded, related, self.check_time)
                by_cell[writes] = kept(orders, "orders of the writes to one location")
        for pairs in _agreeing(list(by_cell.items()), self.check_time):
            self.check_time()
            co = list(rows)
            for i, j in pairs:
                co[i] |= 1 << j
            yield co


def _agreeing(by_cell: Sequence[tuple[tuple[int, ...], list[_Pairs]]], tick: Callable[[], None]) -> Iterator[_Pairs]:
    """One order for each set of writes, so that all say the same of writes that several sets have."""
    if not by_cell:
        yield frozenset()
        return
    (writes, orders), *rest = by_cell
    decided = {p for some, _ in rest for p in itertools.permutations(some, 2)}
    shared = [p for p in itertools.permutations(writes, 2) if p in decided]
    for others in _agreeing(rest, tick):
        if shared:
            tick()
        for order in orders:
            if all((p in order) == (p in others) for p in shared):
                yield order | others


def _may_be(written: Value, read: Value) -> bool:
    return written == read or type(written) is not int or type(read) is not int


def _agree(program: Program, rf: Reads) -> bool:
    """Whether reads return what was written, where copies carried it there. No value comes out of itself."""
    symbols: dict[terms.Term, int] = {}
    waiting: list[tuple[Value, Value]] = []
    for r, chosen in rf.items():
        for c, read, w in zip(program.events[r].cells, program.events[r].values, chosen, strict=True):
            write = program.events[w]
            if write.unstable and type(read) is not int:
                raise BeyondBruteForce("copies of what a discard leaves behind are beyond brute force")
            if not write.unstable and not type(read) is type(write.value_at(c)) is int:
                waiting.append((read, write.value_at(c)))
    while waiting:
        later = []
        for read, written in waiting:
            try:
                value = terms.evaluate(written, symbols)
            except KeyError:
                later.append((read, written))
                continue
            if type(read) is terms.Term:
                symbols[read] = value
            elif read != value:
                return False
        waiting = later
    return True


def _writes(program: Program) -> dict[int, list[Event]]:
    """The writes of each cell, the initial one first."""
    found: dict[int, list[Event]] = {}
    for e in program.events:
        if e.kind is WRITE:
            for c in e.cells:
                found.setdefault(c, []).append(e)
    return found


def _rf_rows(program: Program, rf: Reads) -> Rows:
    rows = [0] * program.size
    for r, writes in rf.items():
        for w in writes:
            rows[w] |= 1 << r
    return rows


def _fr_rows(program: Program, rf: Reads, co: Rows, writes: Mapping[int, int]) -> Rows:
    """`fr` cell by cell; `writes` are those of each cell."""
    rows = [0] * program.size
    for r, chosen in rf.items():
        for c, w in zip(program.events[r].cells, chosen, strict=True):
            rows[r] |= co[w] & writes[c]
    return rows


def _dependency_rows(program: Program, *, carrying: bool) -> dict[str, Rows]:
    found = {}
    for name, pairs in dependency_pairs(program, carrying=carrying).items():
        rows = [0] * program.size
        for i, j, condition in pairs:
            if condition:
                rows[i] |= 1 << j
        found[name] = rows
    return found


def _grounded(program: Program, rf: Reads, flow: Rows) -> bool:
    """Whether no value comes out of itself."""
    successors = [a | b for a, b in zip(flow, _rf_rows(program, rf), strict=True)]
    degrees = [0] * program.size
    for row in successors:
        for j in bits(row):
            degrees[j] += 1
    ready = [i for i, d in enumerate(degrees) if d == 0]
    done = 0
    while ready:
        done += 1
        for j in bits(successors[ready.pop()]):
            degrees[j] -= 1
            if degrees[j] == 0:
                ready.append(j)
    return done == program.size


def strict_orders(elements: Sequence[int], demanded: Rows, related: Rows, tick: Callable[[], None]) -> Iterator[_Pairs]:
    """Every strict partial order of some elements that has the `demanded` pairs of theirs, and of each `related` pair one
    direction. What an order says of the first elements is such an order of these, so one is built on the other, and none is
    kept. `tick` is called now and then, so that a caller can stop."""
    if any((demanded[e] | related[e]) >> e & 1 for e in elements):
        return
    earlier = [list(enumerate(elements[:k])) for k in range(len(elements))]
    numbered = list(zip(earlier, elements, strict=True))
    below = [sum(1 << i for i, a in before if demanded[a] >> b & 1) for before, b in numbered]
    above = [sum(1 << i for i, a in before if demanded[b] >> a & 1) for before, b in numbered]
    either = [sum(1 << i for i, a in before if (related[a] >> b | related[b] >> a) & 1) for before, b in numbered]

    def grown(before: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Those that go on from an order of the first elements: of each what comes before it, as a set of bits."""
        k = len(before)
        if k == len(elements):
            yield before
            return
        tick()
        for low, high in _places(before, tick):
            if not (below[k] & ~low or above[k] & ~high or either[k] & ~(low | high)):
                yield from grown((*(b | (high >> i & 1) << k for i, b in enumerate(before)), low))

    pairs = [[(a, b) for a in elements] for b in elements]  # made once, for all orders
    for before in grown(()):
        yield frozenset(pairs[j][i] for j, row in enumerate(before) for i in bits(row))


def _places(before: Sequence[int], tick: Callable[[], None]) -> Iterator[tuple[int, int]]:
    """Where a new element fits: a set of elements below it and one above, closed, every lower one below every upper one."""
    behind = [sum(1 << j for j, row in enumerate(before) if row >> i & 1) for i in range(len(before))]
    lower, upper = _closed(before), _closed(behind)
    for low in lower:
        if len(upper) > _BETWEEN:
            tick()
        for high in upper:
            if not low & high and all(not low & ~before[a] for a in bits(high)):
                yield low, high


def _closed(before: Sequence[int]) -> list[int]:
    """The sets of elements that have with each one all that comes before it."""
    found = [0]
    for e in sorted(range(len(before)), key=lambda e: before[e].bit_count()):  # behind all that comes before it
        found += [s | 1 << e for s in found if not before[e] & ~s]
        if len(found) > _MOST_CLOSED:
            raise BeyondBruteForce("there are too many orders of writes or fences for brute force")
    return found


def _fence_orders(program: Program, tick: Callable[[], None]) -> Iterator[Rows]:
    """Strict orders of the fence.sc events that relate all pairs in `sr`."""
    fences = tuple(e.index for e in program.events if "SC" in e.tags)
    others = [row & ~(1 << e) for e, row in enumerate(program.relations["sr"])]
    for pairs in strict_orders(fences, [0] * program.size, others, tick):
        rows = [0] * program.size
        for a, b in pairs:
            rows[a] |= 1 << b
        yield rows


def _final_writes(program: Program, co: Rows) -> Iterator[dict[int, int]]:
    """Each choice of a co-maximal write for every cell."""
    by_cell = [
        [(c, w.index) for w in writes if not any(co[w.index] >> later.index & 1 for later in writes)]
        for c, writes in _writes(program).items()
    ]
    shown = {c for c, _ in program.finals}
    for chosen in itertools.product(*by_cell):
        if any(program.events[w].unstable for c, w in chosen if c in shown):
            raise BeyondBruteForce("what a discard leaves behind may be any of too many numbers for brute force")
        yield {c: w for c, w in chosen if not program.events[w].unstable}

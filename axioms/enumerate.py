"""The same question without a solver: every candidate execution is built and evaluated. The oracle of the tests.

    run each thread on numbers, reads answered with every value that the location may ever hold
    for each choice of one run a thread:
        for each assignment of barrier instances, each order of operations on mbarrier objects, each reads-from, each order of
        fences, each coherence:
            evaluate the model on that one execution

Nothing of the encoding is used here: threads run concretely, relations are bitsets, and the model is evaluated, not solved.
Exponential in everything; good for up to four threads.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from axioms import mbarrier_orders
from axioms.asynchronous import moves
from axioms.barrier_instances import BarrierChoice, NamedBarrier, barrier_choices
from axioms.candidate import Candidate, Judge, Reads
from axioms.cat.evaluate import Rows, bits
from axioms.cat.model import Model
from axioms.collectives import Meetings, Sites
from axioms.inputs import samples
from axioms.mbarrier_orders import Contents, Looks, Order
from axioms.origins import MAX_VALUES, Origins, Source, TooLarge, number_of
from axioms.program import Event, Program, Thread, dependency_pairs
from axioms.races import Seen, undefined
from axioms.result import Decision, OutOfTime
from axioms.staged import StagedEvaluation
from axioms.tearing import mixes
from ptxcore.machine.effects import Effect, ThreadExecution
from ptxcore.machine.run import Trace, run
from ptxcore.syntax.tree import Instruction
from ptxcore.values import terms
from ptxcore.values.terms import Value

#: There are 130,023 strict partial orders of six writes, and 6,129,859 of seven.
_MAX_WRITES = 7


def _readings(program: Program) -> dict[Instruction, Sequence[int] | None]:
    """The numbers that stand for all that a clock may say, by the instruction that reads it; None where nothing less than all
    will do."""
    known, found = samples(program), dict[Instruction, Sequence[int] | None]()
    for thread in program.threads:
        for e in thread.execution.effects:
            if e.result is not None and e.result in known:
                numbers, others = known[e.result], found.get(e.instruction, ())
                found[e.instruction] = None if numbers is None or others is None else sorted({*numbers, *others})
    return found


def decide(program: Program, model: Model, *, deadline: float | None, max_states: int, races: bool = False) -> Decision:
    """All outcomes, and with `races` all of those. Raises OutOfTime after `deadline` (a time of `time.monotonic`)."""
    search = _Search(program, model, deadline)
    decision = search.decide(max_states)
    decision.races = search.races.races()
    decision.undefined = decision.undefined or undefined(decision.races)
    if not races:
        del decision.races[1:]
    return decision


class _Search:
    def __init__(self, program: Program, model: Model, deadline: float | None) -> None:
        self.program, self.model, self.deadline = program, model, deadline
        self.stages = StagedEvaluation.stages_of(model)
        self.races = Seen(model)
        self.named_barriers = [
            NamedBarrier(t, e.instruction, e.instance, e.identity)
            for t, thread in enumerate(program.threads)
            for e in thread.execution.effects
            if e.kind == "barrier" and e.instance is not None and not isinstance(e.identity, terms.Term)
        ]
        self.contents = Contents(program, self.check_time)
        self.clocks = _readings(program)
        self.meetings = Meetings(program.threads, self.check_time)

    def check_time(self) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTime

    def decide(self, max_states: int) -> Decision:
        traces = self._traces()
        decision = Decision()
        found: dict[tuple[tuple[str, int], ...], tuple[Candidate, bool]] = {}
        for combination in itertools.product(*traces):
            self.check_time()
            statuses = {t.status for t in combination}
            if "waits" in statuses or ("cut" in statuses and not decision.complete):
                continue
            if not self.meetings.agree(combination):
                continue
            concrete = self._assemble(combination)
            if "cut" in statuses:  # says nothing but that it is there: what else it does, its whole executions do
                cut = frozenset(t for t, trace in enumerate(combination) if trace.status == "cut")
                decision.complete = next(self._consistent(concrete, set(), Decision(), cut), None) is None
                continue
            if concrete.troubles:
                if next(self._consistent(concrete, set(), decision), None) is not None:
                    decision.undefined = concrete.troubles[0].message
                continue
            seen = set(found)
            for candidate in self._consistent(concrete, seen, decision):
                state = tuple(sorted(candidate.state().items()))
                if terms.evaluate(concrete.filter, candidate.symbols):
                    holds = bool(terms.evaluate(concrete.condition, candidate.symbols))
                    found.setdefault(state, (candidate, holds))
        for state, (candidate, holds) in sorted(found.items()):
            decision.positive += holds
            decision.negative += not holds
            if len(decision.states) < max_states:
                decision.states.append(dict(state))
                decision.satisfied.append(holds)
                decision.witnesses.append(candidate.execution(dict(state)))
            else:
                decision.listed_all = False
        return decision

    # Runs of the threads.

    def _assemble(self, combination: Sequence[Trace]) -> Program:
        assert self.program.assemble is not None
        threads = [
            Thread(t.name, t.place, t.code, _execution(trace))
            for t, trace in zip(self.program.threads, combination, strict=True)
        ]
        return self.program.assemble(threads, self.program.layout)

    def _traces(self) -> list[list[Trace]]:
        """Every run of every thread, with reads answered by all values that can reach their location."""
        origins = Origins(self.program.cells)
        if not _grounds_control(self.model):
            for cell, c in enumerate(self.program.cells):
                for value in _constants(self.program):
                    # Of a number wider than the cell, each part may be what is meant.
                    while value:
                        origins.add((cell,), value & terms.mask(c.width), [])
                        value >>= c.width
        while True:
            traces = [self._runs(t, thread, origins) for t, thread in enumerate(self.program.threads)]
            grown = self.contents.learn(traces) | self.meetings.learn(traces)
            for t, runs in enumerate(traces):
                for trace in runs:
                    for effect in trace.effects:
                        if effect.kind == "mbarrier":
                            continue
                        if effect.kind in ("copy", "clear", "discard"):
                            grown |= self._copied(t, effect, origins)
                        elif effect.value is not None and effect.writes:
                            grown |= origins.add(
                                self._cells(t, effect), number_of(effect.value), self._sources(t, trace, effect)
                            )
            if not grown:
                return traces
            if any(len(v) > MAX_VALUES for v in origins.cells):
                raise TooLarge("a location may hold too many values for brute force")

    def _cells(self, t: int, effect: Effect) -> Sequence[int]:
        """The cells that an access of a concrete run goes to."""
        return self.program.cells_at(t, number_of(effect.address), effect.width // 8)

    def _copied(self, t: int, effect: Effect, origins: Origins) -> bool:
        """Notes what a copy, a clear or a discard may write. True if that is news."""
        key, news = (t, effect.index), False
        for move in moves(effect):
            to = self._covering(t, move.to, move.size)
            if effect.kind == "discard":
                news |= self._spoiled(to, origins)
                continue
            if move.source is None:
                news |= origins.add(to, 0, [])
                continue
            source = self._covering(t, move.source, move.size)
            if not to or not source:
                continue  # it has no meaning, which the whole execution says
            if effect.combine is None:
                for a, b in zip(source, to, strict=True):
                    for value in origins.options((a,), key):
                        news |= origins.add((b,), value, [(key, (a,), value)])
                continue
            for old, new in itertools.product(origins.options(to, key), origins.options(source, key)):
                value = number_of(effect.combine(old, new))
                news |= origins.add(to, value, [(key, to, old), (key, source, new)])
        return news

    def _spoiled(self, cells: Sequence[int], origins: Origins) -> bool:
        """Cells may hold anything. True if that is news."""
        if any(1 << origins.bits(c) > MAX_VALUES and self._is_read(c) for c in cells):
            raise TooLarge("what a discard leaves behind may be any of too many numbers for brute force")
        news = False
        for c in filter(self._is_read, cells):
            for n in range(1 << origins.bits(c)):
                news |= origins.add((c,), n, [])
        return news

    def _is_read(self, cell: int) -> bool:
        return any(cell in e.cells for e in self.program.events if e.kind == "R")

    def _covering(self, t: int, address: object, size: int) -> Sequence[int]:
        """The cells at an address of a concrete run; none where there is no memory."""
        at = self.program.space.at(t, number_of(address), size)
        return () if at is None else self.program.layout.covering(at[0].object, at[1], size)

    def _sources(self, t: int, trace: Trace, effect: Effect) -> list[Source]:
        """The reads that a written value is computed from: which, of what cells, returning what."""
        found = []
        by_index = {e.index: e for e in trace.effects}
        wanted = {*effect.data_dependencies}
        # An exchange and a compare-and-swap write an operand as it is: not what they read.
        if effect.answer is not None and not {"exch", "cas"} & set(effect.instruction.modifiers):
            wanted.add(effect.index)
        for index in wanted:
            source = by_index[index]
            if source.kind not in ("barrier", "mbarrier", "input", "collective") and source.answer is not None:
                found.append(((t, index), self._cells(t, source), source.answer))
        return found

    def _runs(self, t: int, thread: Thread, origins: Origins) -> list[Trace]:
        """All runs of one thread: depth first over the answers to its reads, replaying the answers so far."""
        runs: list[Trace] = []
        answers: list[Value] = []
        choices: list[list[Value]] = []
        while True:
            self.check_time()
            trace = run(thread.code, self._answering(t, answers, choices, origins), unroll=self.program.unroll)
            # A run that ends up waiting is no execution, but others may read what it wrote before.
            runs.append(trace)
            while choices and not choices[-1]:
                choices.pop()
                answers.pop()
            if not choices:
                return runs
            answers[-1] = choices[-1].pop()

    def _answering(
        self, t: int, answers: list[Value], choices: list[list[Value]], origins: Origins
    ) -> Callable[[Effect], Value]:
        asked = itertools.count()
        sites, looks = Sites(), Looks(self.contents, t)

        def answer(effect: Effect) -> Value:
            position = next(asked)
            site = sites.of(effect) if effect.kind == "collective" else None
            if position == len(answers):
                options = (
                    self.meetings.options(t, site) if site is not None else self._options(t, effect, origins, looks)
                )
                answers.append(options.pop())
                choices.append(options)
            if effect.kind == "mbarrier":
                self.contents.ask(t, effect, answers[:position])
                looks.note(effect, answers[position])
            return answers[position]

        return answer

    def _options(self, t: int, effect: Effect, origins: Origins, looks: Looks) -> list[Value]:
        if effect.kind == "mbarrier":
            return looks.options(effect)
        if effect.kind == "input":
            if effect.width > 1:
                numbers = self.clocks.get(effect.instruction, (0,))
                if numbers is None:
                    raise TooLarge(
                        "what a clock says, or a register that nothing wrote, may be any number: beyond brute force"
                    )
                return [*numbers]
            return [0, 1]
        if effect.kind == "barrier":
            most = len(self.program.threads) * self.program.unroll if effect.operator == "popc" else 1
            return list(range(most + 1))
        cells = self._cells(t, effect)
        return [*origins.options(cells, (t, effect.index))] if cells else [0]

    # Candidates of one choice of runs.

    def _consistent(
        self,
        program: Program,
        seen: set[tuple[tuple[str, int], ...]],
        decision: Decision,
        cut: frozenset[int] = frozenset(),
    ) -> Iterator[Candidate]:
        """The consistent candidates of a program of numbers, one for each outcome that is not in `seen`. `cut` are the threads
        that a loop bound stopped."""
        wanted = [o.value for o in program.observed]
        final_matters = any(type(v) is not int for v in [*wanted, program.condition, program.filter])
        # One execution for each state is enough, but for races and barriers, whose misuse must be found wherever it is.
        hasty = not final_matters and not self.model.flags and not any(e.kind in "BX" for e in program.events)
        if hasty and tuple(sorted((o.label, _shown(o.value, o.width, o.signed)) for o in program.observed)) in seen:
            return
        dependencies = _dependency_rows(program)
        for barrier, orders in self._arrangements(program, cut):
            if barrier.misuse is not None and not cut and decision.undefined is not None:
                continue
            data = list(dependencies["data"])
            for i, j in barrier.flows:
                data[i] |= 1 << j
            mbo, mbrf = mbarrier_orders.rows(program, orders)
            for row, pairs in ((mbo, barrier.phase_order), (mbrf, barrier.phases)):
                for i, j in pairs:
                    row[i] |= 1 << j
            control = list(dependencies["ctrl"])
            for i, w in barrier.ended:
                control[i] |= program.relations["po"][w]
            static = {
                **dependencies,
                "data": data,
                "ctrl": control,
                "mbo": mbo,
                "mbrf": mbrf,
                "syncbar": barrier.rows(program.size),
            }
            static["again"] = barrier.again_rows(program.size)
            sequences = [[e.index for e in o.events] for o in orders]
            for candidate in self._with_barriers(program, barrier, sequences, static, final_matters):
                if barrier.misuse is not None and not cut:
                    decision.undefined = barrier.misuse
                    break
                if not cut and not program.troubles and barrier.misuse is None:
                    self.races.add(candidate)
                state = tuple(sorted(candidate.state().items()))
                if state not in seen:
                    seen.add(state)
                    yield candidate
                    if hasty:
                        return

    def _arrangements(self, program: Program, cut: frozenset[int]) -> Iterator[tuple[BarrierChoice, tuple[Order, ...]]]:
        """Instances of barriers with orders of the operations on mbarrier objects. Who misuses either is told in the former."""
        choices = list(mbarrier_orders.order_choices(program, self.contents.wrong, self.check_time))
        for barrier in barrier_choices(program, self.named_barriers, self.check_time, cut):
            for orders in choices:
                misuse = next((o.misuse for o in orders if o.misuse), barrier.misuse)
                yield replace(barrier, misuse=misuse), orders

    def _with_barriers(
        self,
        program: Program,
        barrier: BarrierChoice,
        sequences: list[list[int]],
        static: dict[str, Rows],
        final_matters: bool,
    ) -> Iterator[Candidate]:
        judge = Judge(program, self.model)
        met = (*barrier.pairs, *barrier.again)
        evaluation = StagedEvaluation(self.model, program, self.stages, static)
        for rf in self._reads_from(program, static):
            with_rf = evaluation.extend("rf", _rf_rows(program, rf))
            if with_rf is None:
                continue
            for order in _fence_orders(program):
                with_fences = with_rf.extend("sync_fence", order)
                if with_fences is None:
                    continue
                for co in self._coherences(program, with_fences):
                    if with_fences.extend("co", co, fr=_fr_rows(program, rf, co, judge.writes)) is None:
                        continue
                    for finals in _final_writes(program, co) if final_matters else ({},):
                        yield Candidate(judge, [True] * program.size, rf, co, order, met, finals, sequences=sequences)

    def _reads_from(self, program: Program, static: dict[str, Rows]) -> Iterator[Reads]:
        """Each choice of a write for each cell of each read, that wrote there what is read there. What copies read is known
        when all is chosen."""
        writes = _writes(program)
        reads = [(e, c) for e in program.events if e.kind == "R" for c in e.cells]
        sources = [
            [w.index for w in writes[c] if w is not r.partner and _may_be(w.value_at(c), r.value_at(c))]
            for r, c in reads
        ]
        flow = [a | b for a, b in zip(static["data"], static["addr"], strict=True)]
        for chosen in itertools.product(*sources):
            self.check_time()
            rf: dict[int, tuple[int, ...]] = {}
            for (r, _), w in zip(reads, chosen, strict=True):
                rf[r.index] = (*rf.get(r.index, ()), w)
            if _grounded(program, rf, flow) and _agree(program, rf) and not self._mixes(program, rf):
                yield rf

    def _mixes(self, program: Program, rf: Reads) -> bool:
        """Whether a read that may not be torn is."""
        return any(
            len(chosen) > 1
            and not self.program.tears(program.events[r].width)
            and mixes(program.events[r], (program.events[w] for w in chosen))
            for r, chosen in rf.items()
        )

    def _coherences(self, program: Program, evaluation: StagedEvaluation) -> Iterator[Rows]:
        """All choices of a strict partial order of the writes of each cell, that agree on writes which meet in several cells
        and have the pairs which an axiom demands outright."""
        demanded, related = evaluation.demands()
        rows = [0] * program.size
        by_cell: dict[tuple[int, ...], list[frozenset[tuple[int, int]]]] = {}
        for initial, *others in _writes(program).values():
            if len(others) > _MAX_WRITES:
                raise TooLarge("too many writes to one location for brute force")
            writes = tuple(w.index for w in others)
            rows[initial.index] = sum(1 << w for w in writes)
            if writes not in by_cell:
                orders = strict_orders(writes, self.check_time)
                by_cell[writes] = [o for o in orders if _fits(o, writes, demanded, related)]
        for pairs in _agreeing(list(by_cell.items())):
            co = list(rows)
            for i, j in pairs:
                co[i] |= 1 << j
            yield co


def _agreeing(
    by_cell: Sequence[tuple[tuple[int, ...], list[frozenset[tuple[int, int]]]]],
) -> Iterator[frozenset[tuple[int, int]]]:
    """One order for each set of writes, so that all say the same of writes that several sets have."""
    if not by_cell:
        yield frozenset()
        return
    (writes, orders), *rest = by_cell
    decided = {p for some, _ in rest for p in itertools.permutations(some, 2)}
    shared = [p for p in itertools.permutations(writes, 2) if p in decided]
    for others in _agreeing(rest):
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
                raise TooLarge("copies of what a discard leaves behind are beyond brute force")
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
        if e.kind == "W":
            for c in e.cells:
                found.setdefault(c, []).append(e)
    return found


def _grounds_control(model: Model) -> bool:
    """Whether the model forbids that a read makes its thread take the branch which writes what it reads.

    Then the values that runs write one after the other are all there are.
    """
    wanted = {"rf", "ctrl", "data", "addr"}
    for axiom in model.axioms:
        if axiom.kind == "acyclic" and not axiom.negated:
            parts = axiom.node.args if axiom.node.op == "union" else (axiom.node,)
            if wanted <= {n.name for n in parts if n.op == "base"}:
                return True
    return False


def _constants(program: Program) -> set[int]:
    """The numbers that threads store, choose or compare with: what a read may have to return for some path to be taken."""
    found: set[int] = set()
    for thread in program.threads:
        for effect in thread.execution.effects:
            stored = 0 if effect.value is None else effect.value
            if type(stored) is int:
                found.add(stored)
            for t in terms.subterms([stored, effect.guard, thread.execution.finishes]):
                if t.op in ("ite", "eq", "ult", "ule", "slt", "sle"):
                    found.update(a for a in t.args if type(a) is int)
    return found


def _shown(value: object, width: int, signed: bool) -> int:
    number = number_of(value)
    return terms.signed(number, width) if signed else number


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


def _execution(trace: Trace) -> ThreadExecution:
    return ThreadExecution(trace.effects, trace.registers, 1, 0, trace.requirements, control=trace.control)


def _dependency_rows(program: Program) -> dict[str, Rows]:
    found = {}
    for name, pairs in dependency_pairs(program).items():
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


def strict_orders(
    elements: tuple[int, ...], tick: Callable[[], None] = lambda: None
) -> list[frozenset[tuple[int, int]]]:
    """Every strict partial order of a few elements. `tick` is called now and then, so that a caller can stop."""
    orders: list[frozenset[tuple[int, int]]] = [frozenset()]
    for k in range(1, len(elements)):
        new = elements[k]
        grown = set()
        for order in orders:
            tick()
            for below, above in _places(elements[:k], order):
                grown.add(order | {(b, new) for b in below} | {(new, a) for a in above})
        orders = list(grown)
    return orders


def _places(
    elements: tuple[int, ...], order: frozenset[tuple[int, int]]
) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
    """Where a new element fits: a set of elements below it and one above, closed, every lower one below every upper one."""
    subsets = [frozenset(c) for n in range(len(elements) + 1) for c in itertools.combinations(elements, n)]
    lower = [s for s in subsets if all(a in s for a, b in order if b in s)]
    upper = [s for s in subsets if all(b in s for a, b in order if a in s)]
    for below in lower:
        for above in upper:
            if not below & above and all((b, a) in order for b in below for a in above):
                yield below, above


def _fits(pairs: frozenset[tuple[int, int]], writes: Sequence[int], demanded: Rows, related: Rows) -> bool:
    for i in writes:
        for j in writes:
            if demanded[i] >> j & 1 and (i, j) not in pairs:
                return False
            if related[i] >> j & 1 and (i, j) not in pairs and (j, i) not in pairs:
                return False
    return True


def _fence_orders(program: Program) -> Iterator[Rows]:
    """Strict orders of the fence.sc events that relate all pairs in `sr`."""
    fences = tuple(e.index for e in program.events if "SC" in e.tags)
    sr = program.relations["sr"]
    for pairs in strict_orders(fences) if fences else [frozenset[tuple[int, int]]()]:
        if all((a, b) in pairs or (b, a) in pairs for a in fences for b in fences if a != b and sr[a] >> b & 1):
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
            raise TooLarge("what a discard leaves behind may be any of too many numbers for brute force")
        yield {c: w for c, w in chosen if not program.events[w].unstable}


__all__ = ["TooLarge", "decide", "strict_orders"]

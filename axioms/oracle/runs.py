"""The runs of threads on numbers, for brute force: each thread alone, its reads answered with all that their location may ever
hold.

    the values that locations hold at first
    until nothing is new: run each thread with all answers; note what the runs write, and what it is computed from
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from axioms.cat.model import Model
from axioms.encode.inputs import samples
from axioms.events.collectives import CollectiveMeetings, Sites
from axioms.events.copied import moves
from axioms.events.event_kinds import READ
from axioms.oracle.budget import MOST_RUNS, BeyondBruteForce
from axioms.oracle.mbarriers import ObjectContents, ObjectReads
from axioms.oracle.provenance import MAX_VALUES, Provenance, ReadSource, number_of
from axioms.program import Program, ProgramThread
from ptxcore.isa.effect_kinds import BARRIER, COLLECTIVE, DISCARD, INPUT, MBARRIER
from ptxcore.machine.explore.concrete import Trace, run
from ptxcore.machine.ir.effects import Effect
from ptxcore.syntax.tree import Instruction
from ptxcore.values import terms
from ptxcore.values.terms import Value


class ThreadRuns:
    """All runs of all threads, and what was learnt on the way: `contents` of mbarrier objects, `meetings` of warps."""

    def __init__(self, program: Program, model: Model, check_time: Callable[[], None]) -> None:
        self.program, self.model, self.check_time = program, model, check_time
        self.contents = ObjectContents(program, check_time)
        self.clocks = _readings(program)
        self.meetings = CollectiveMeetings(program.threads, program.options, check_time)

    def of_threads(self) -> list[list[Trace]]:
        """Every run of every thread, with reads answered by all values that can reach their location."""
        provenance = Provenance(self.program.cells)
        if not _grounds_control(self.model):
            for cell, c in enumerate(self.program.cells):
                for value in _constants(self.program):
                    # Of a number wider than the cell, each part may be what is meant.
                    while value:
                        provenance.add((cell,), value & terms.mask(c.width), [])
                        value >>= c.width
        while True:
            traces: list[list[Trace]] = []
            for t, thread in enumerate(self.program.threads):
                traces.append(self._runs(t, thread, provenance, MOST_RUNS - sum(map(len, traces))))
            grown = self.contents.learn(traces) | self.meetings.learn(traces)
            for t, runs in enumerate(traces):
                for trace in runs:
                    for effect in trace.effects:
                        if effect.kind is MBARRIER:
                            continue
                        if effect.kind.ranges:
                            grown |= self._copied(t, effect, provenance)
                        elif effect.value is not None and effect.writes:
                            grown |= provenance.add(
                                self._cells(t, effect), number_of(effect.value), self._sources(t, trace, effect)
                            )
            if not grown:
                return traces
            if any(len(v) > MAX_VALUES for v in provenance.cells):
                raise BeyondBruteForce("a location may hold too many values for brute force")

    def _cells(self, t: int, effect: Effect) -> Sequence[int]:
        """The cells that an access of a concrete run goes to. Raises TooLarge where the program has none: threads come there
        with no value that it found possible, and with one that nothing has excluded so far."""
        try:
            return self.program.cells_at(t, number_of(effect.address), effect.width // 8)
        except KeyError:
            raise BeyondBruteForce("brute force comes to bytes that no execution accesses") from None

    def _copied(self, t: int, effect: Effect, provenance: Provenance) -> bool:
        """Notes what a copy, a clear or a discard may write. True if that is news."""
        key, news = (t, effect.index), False
        for move in moves(effect):
            to = self._covering(t, move.to, move.size)
            if effect.kind is DISCARD:
                news |= self._spoiled(to, provenance)
                continue
            if move.source is None:
                news |= provenance.add(to, move.number, [])
                continue
            source = self._covering(t, move.source, move.size)
            if not to or not source:
                continue  # it has no meaning, which the whole execution says
            if effect.combine is None:
                for a, b in zip(source, to, strict=True):
                    for value in provenance.options((a,), key):
                        news |= provenance.add((b,), value, [(key, (a,), value)])
                continue
            for old, new in itertools.product(provenance.options(to, key), provenance.options(source, key)):
                value = number_of(effect.combine(old, new))
                news |= provenance.add(to, value, [(key, to, old), (key, source, new)])
        return news

    def _spoiled(self, cells: Sequence[int], provenance: Provenance) -> bool:
        """Cells may hold anything. True if that is news."""
        if any(1 << provenance.bits(c) > MAX_VALUES and self._is_read(c) for c in cells):
            raise BeyondBruteForce("what a discard leaves behind may be any of too many numbers for brute force")
        news = False
        for c in filter(self._is_read, cells):
            for n in range(1 << provenance.bits(c)):
                news |= provenance.add((c,), n, [])
        return news

    def _is_read(self, cell: int) -> bool:
        return any(cell in e.cells for e in self.program.events if e.kind is READ)

    def _covering(self, t: int, address: object, size: int) -> Sequence[int]:
        """The cells at an address of a concrete run; none where there is no memory."""
        at = self.program.space.at(t, number_of(address), size)
        return () if at is None else self.program.layout.covering(at[0].object, at[1], size)

    def _sources(self, t: int, trace: Trace, effect: Effect) -> list[ReadSource]:
        """The reads that a written value is computed from: which, of what cells, returning what."""
        found = []
        by_index = {e.index: e for e in trace.effects}
        wanted = {*effect.values_from[1]}
        # An exchange and a compare-and-swap write an operand as it is: not what they read.
        if effect.answer is not None and effect.operation not in ("exch", "cas"):
            wanted.add(effect.index)
        for index in wanted:
            source = by_index[index]
            if source.kind not in (BARRIER, MBARRIER, INPUT, COLLECTIVE) and source.answer is not None:
                found.append(((t, index), self._cells(t, source), source.answer))
        return found

    def _runs(self, t: int, thread: ProgramThread, provenance: Provenance, most: int) -> list[Trace]:
        """All runs of one thread: depth first over the answers to its reads, replaying the answers so far. Raises
        BeyondBruteForce where there are more than `most`."""
        runs: list[Trace] = []
        answers: list[Value] = []
        choices: list[list[Value]] = []
        while True:
            self.check_time()
            trace = run(thread.code, self._answering(t, answers, choices, provenance), unroll=self.program.unroll)
            # A run that ends up waiting is no execution, but others may read what it wrote before.
            runs.append(trace)
            if len(runs) > most:
                raise BeyondBruteForce("threads have too many runs for brute force")
            while choices and not choices[-1]:
                choices.pop()
                answers.pop()
            if not choices:
                return runs
            answers[-1] = choices[-1].pop()

    def _answering(
        self, t: int, answers: list[Value], choices: list[list[Value]], provenance: Provenance
    ) -> Callable[[Effect], Value]:
        asked = itertools.count()
        sites, object_reads = Sites(), ObjectReads(self.contents, t)

        def answer(effect: Effect) -> Value:
            position = next(asked)
            site = sites.of(effect) if effect.kind is COLLECTIVE else None
            if position == len(answers):
                options = (
                    self.meetings.options(t, site)
                    if site is not None
                    else self._options(t, effect, provenance, object_reads)
                )
                answers.append(options.pop())
                choices.append(options)
            if effect.kind is MBARRIER:
                self.contents.ask(t, effect, answers[:position])
                object_reads.note(effect, answers[position])
            return answers[position]

        return answer

    def _options(self, t: int, effect: Effect, provenance: Provenance, object_reads: ObjectReads) -> list[Value]:
        if effect.kind is MBARRIER:
            return object_reads.options(effect)
        if effect.kind is INPUT:
            if effect.width > 1:
                numbers = self.clocks.get(effect.instruction, (0,))
                if numbers is None:
                    raise BeyondBruteForce(
                        "what a clock says, or a register that nothing wrote, may be any number: beyond brute force"
                    )
                return [*numbers]
            return [0, 1]
        if effect.kind is BARRIER:
            most = len(self.program.threads) * self.program.unroll if effect.operator == "popc" else 1
            return list(range(most + 1))
        cells = self._cells(t, effect)
        return [*provenance.options(cells, (t, effect.index))] if cells else [0]


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
    """The numbers that threads store, also where all that they read is zero, choose or compare with: what a read may have to
    return for some path to be taken."""
    found: set[int] = set()
    for thread in program.threads:
        for effect in thread.execution.effects:
            stored = 0 if effect.value is None else effect.value
            reads = {t: 0 for t in terms.subterms([stored]) if t.op == "symbol"}
            found.add(number_of(terms.evaluate(stored, reads)))
            for t in terms.subterms([stored, effect.guard, thread.execution.finishes]):
                if t.op in ("ite", "eq", "ult", "ule", "slt", "sle"):
                    found.update(a for a in t.args if type(a) is int)
    return found

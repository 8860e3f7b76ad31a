"""An execution that repeats without end, written out with what is repeated several times over, and evaluated.

Whoever finds one says what each thread does before (P) and again and again (S), who reads from whom, and in which
orders writes and fences are. In each copy of S but the first, a read of what stood there before S reads what the copy
before wrote last."""

from __future__ import annotations

from collections.abc import Sequence

from axioms.cat.model import Model
from axioms.cat.nodes import Rows
from axioms.events.event_kinds import READ, WRITE
from axioms.liveness.graph import first_state, machine_of
from axioms.program import Event, Program, ProgramThread
from axioms.witness.candidate import Candidate
from axioms.witness.concrete import assembled
from axioms.witness.fitted import fitted
from axioms.witness.judge import ModelChecker
from ptxcore.isa.effect_kinds import kinds_with
from ptxcore.machine.explore.concrete import Trace
from ptxcore.machine.explore.state import State
from ptxcore.machine.ir.effects import Effect
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Value

#: What an execution is written out of.
PLAIN = kinds_with("accesses", "fences")
#: So many copies are evaluated: of three, the middle one has a copy on either side.
COPIES = 3


class ThreadPart(NamedTuple):
    """What a thread does: what each of its accesses and fences found (None where it reads nothing), the last `again` of
    them without end."""

    found: tuple[int | None, ...]
    again: int


#: An access or fence of a thread, by its number there; -1 for what memory held at first.
PointInLoop = tuple[int, int]


class Periodic(NamedTuple):
    """An execution without an end. `sources` has for each read the write of each cell, `writes` the order of writes to
    each cell (but for the first), `fences` that of all fences."""

    parts: tuple[ThreadPart, ...]
    sources: dict[PointInLoop, tuple[PointInLoop, ...]]
    writes: dict[int, list[PointInLoop]]
    fences: list[PointInLoop]


def written_out(program: Program, model: Model, execution: Periodic, copies: int) -> Candidate | None:
    """The execution with so many copies of what is repeated; None where a thread does something else than was said."""
    traces = []
    for thread, part in zip(program.threads, execution.parts, strict=True):
        trace = replayed(thread, _times(part, copies))
        if trace is None:
            return None
        traces.append(trace)
    return _Copies(assembled(program, traces), model, execution, copies).candidate()


def breaks(program: Program, model: Model, execution: Periodic) -> list[str]:
    """What is wrong with an execution, with several copies of what is repeated; nothing: it has no end, and is consistent."""
    candidate = written_out(program, model, execution, COPIES)
    return ["the program"] if candidate is None else candidate.defects()


def _times(part: ThreadPart, copies: int) -> list[int | None]:
    begin = len(part.found) - part.again
    return [*part.found[:begin], *copies * part.found[begin:]]


class _Enough(Exception):
    """The thread has done all that it should."""


def replayed(thread: ProgramThread, found: Sequence[int | None]) -> Trace | None:
    """A thread that does as many accesses and fences as are given, which find these numbers; None where it does otherwise."""
    code = thread.code
    wanted = len(found)

    def answer(effect: Effect, width: int) -> Value:
        number = _count(machine.effects) - 1
        if number >= wanted:
            raise _Enough
        value = found[number]
        return 0 if value is None else value & (1 << width) - 1

    machine = machine_of(code, answer)
    state, number = first_state(code), 0
    last = len(code.blocks) - 1
    edges: list[tuple[int, State]] = []
    try:
        while number != last and _count(machine.effects) < wanted:
            machine._block(code.blocks[number], state, edges)
            ((number, state),) = edges
            edges.clear()
    except _Enough:
        pass
    ended = number == last
    effects: list[Effect] = []
    for effect in machine.effects:
        if _count(effects) < wanted:
            effects.append(effect)
    if _count(effects) < wanted or any(e.kind not in PLAIN for e in effects):
        return None
    return Trace(effects, {}, "finished" if ended else "stopped", [], state.control)


def _count(effects: Sequence[Effect]) -> int:
    return sum(e.kind in PLAIN and e.guard != 0 for e in effects)


class _Copies:
    def __init__(self, program: Program, model: Model, execution: Periodic, copies: int) -> None:
        self.program, self.execution, self.copies = program, execution, copies
        self.judge = ModelChecker(program, fitted(model, program, frozenset()))
        self.initial = {c: e.index for e in program.events if e.thread < 0 and e.kind is WRITE for c in e.cells}
        self.events: dict[PointInLoop, list[Event]] = {}
        for t, thread in enumerate(program.threads):
            done = [e for e in thread.execution.effects if e.kind in PLAIN and e.guard != 0]
            for i, effect in enumerate(done):
                self.events[t, i] = program.by_effect[t][effect.index]

    def candidate(self) -> Candidate:
        program = self.program
        rf: dict[int, tuple[int, ...]] = {}
        for point, sources in self.execution.sources.items():
            for copy in range(self.copies if self._is_again(point) else 1):
                for e in self.events[self._at(point, copy)]:
                    if e.kind is READ:
                        rf[e.index] = tuple(self._source(s, c, copy) for s, c in zip(sources, e.cells, strict=True))
        co: Rows = [0] * program.size
        for cell, points in self.execution.writes.items():
            self._order([self.initial[cell], *[self._write(p, k, cell) for p, k in self._in_order(points)]], co)
        fences: Rows = [0] * program.size
        order = [
            e.index
            for p, k in self._in_order(self.execution.fences)
            for e in self.events[self._at(p, k)]
            if "SC" in e.tags
        ]
        self._order(order, fences)
        return Candidate(self.judge, [True] * program.size, rf, co, fences, ())

    def _order(self, events: Sequence[int], rows: Rows) -> None:
        later = 0
        for i in reversed(events):
            rows[i] |= later
            later |= 1 << i

    def _is_again(self, point: PointInLoop) -> bool:
        t, i = point
        part = self.execution.parts[t]
        return i >= len(part.found) - part.again

    def _at(self, point: PointInLoop, copy: int) -> PointInLoop:
        return point[0], point[1] + copy * self.execution.parts[point[0]].again if self._is_again(point) else point[1]

    def _in_order(self, points: Sequence[PointInLoop]) -> list[tuple[PointInLoop, int]]:
        """Points of all copies: those before, then copy by copy."""
        again = [p for p in points if self._is_again(p)]
        return [(p, 0) for p in points if not self._is_again(p)] + [(p, k) for k in range(self.copies) for p in again]

    def _write(self, point: PointInLoop, copy: int, cell: int) -> int:
        return next(e.index for e in self.events[self._at(point, copy)] if e.kind is WRITE and cell in e.cells)

    def _source(self, source: PointInLoop, cell: int, copy: int) -> int:
        """The write that a read of a copy reads from."""
        if source[0] >= 0 and self._is_again(source):
            return self._write(source, copy, cell)
        again = [p for p in self.execution.writes.get(cell, ()) if self._is_again(p)]
        if copy and again:
            return self._write(again[-1], copy - 1, cell)
        return self.initial[cell] if source[0] < 0 else self._write(source, 0, cell)

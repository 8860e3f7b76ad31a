"""One candidate execution, complete and concrete: who read from whom, in which orders. Checked here against everything.

Whoever proposes it (a solver, brute force), the same evaluation says whether it is an execution at all and whether the model
allows it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from axioms.cat.evaluate import Evaluation, bits, closure, is_acyclic
from axioms.cat.nodes import Rows
from axioms.cat.orders import immediate, is_strict_order, those_after
from axioms.events.event import what_is_read
from axioms.events.event_kinds import BARRIER_EVENT, MBARRIER_EVENT, READ
from axioms.program import Event
from axioms.witness.asked import displayed, within_identity
from axioms.witness.execution import ExecutedEvent, Execution
from axioms.witness.judge import BaseValues, ModelChecker
from axioms.witness.tearing import mixes
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

if TYPE_CHECKING:
    from axioms.cat.nodes import Node
    from axioms.sync.phases import MbarrierPhases
    from axioms.witness.checker import JudgedExecution

#: Definitions of a model that are shown in witnesses where it has them, and under which name.
_SHOWN = {"sync": "sync", "cause": "cause", "sc": "sc", "bars": "barrier"}
#: What `bar.red` returns of the predicates that took part.
REDUCTIONS: Mapping[str, Callable[[list[int]], int]] = {
    "popc": sum,
    "and": lambda votes: int(all(votes)),
    "or": lambda votes: int(any(votes)),
}


#: For each read, the write that each of its cells comes from.
Reads = Mapping[int, tuple[int, ...]]


class Candidate:
    """`rf` maps reads to the writes of their cells, `finals` cells to the write they keep; orders are rows of bitsets over
    events. `sequences` are the operations and waits of each mbarrier object in their order; `syncbar` has the pairs of
    `syncbar` and of `again`."""

    #: What the model says of it, as far as it was kept without the rest.
    _said: Mapping[Node, int | Rows] = {}

    def __init__(
        self,
        judge: ModelChecker,
        executed: list[bool],
        rf: Reads,
        co: Rows,
        sync_fence: Rows,
        syncbar: Iterable[tuple[int, int]],
        finals: Mapping[int, int] | None = None,
        results: Mapping[Term, int] | None = None,
        claimed: Mapping[Term, int] | None = None,
        sequences: Sequence[Sequence[int]] = (),
    ) -> None:
        program = judge.program
        self.judge, self.program, self.model = judge, program, judge.model
        self.executed, self.rf = executed, rf
        self.finals = finals or {}
        self.alive = sum(1 << i for i, e in enumerate(executed) if e)
        self.co, self.sync_fence = self._rows(co), self._rows(sync_fence)
        self.syncbar, self.again = [0] * program.size, [0] * program.size
        for i, j in syncbar:
            rows = self.again if "BA" in program.events[j].tags else self.syncbar
            rows[i] |= 1 << j
        self.symbols: dict[Term, int] = dict(results or {})
        self.claimed, self.sequences = claimed or {}, sequences
        self._chosen = dict(self.symbols)
        self.circular = not self._read_values()
        self._evaluation: Evaluation | None = None

    def key(self) -> object:
        """What makes it this execution: two with equal keys are one."""
        rf = tuple(sorted((r, ws) for r, ws in self.rf.items() if self.executed[r]))
        orders = tuple(map(tuple, (self.co, self.sync_fence, self.syncbar, self.again, *self.sequences)))
        chosen = frozenset((str(symbol), number) for symbol, number in self._chosen.items())
        return self.alive, rf, orders, tuple(sorted(self.finals.items())), chosen

    def moved(self, where: Sequence[int]) -> Candidate:
        """The same execution after interchangeable threads were exchanged: event i is now event `where[i]`."""

        def rows(old: Rows) -> Rows:
            new = [0] * len(old)
            for i, row in enumerate(old):
                new[where[i]] = sum(1 << where[j] for j in bits(row))
            return new

        executed = [False] * len(self.executed)
        for i, e in enumerate(self.executed):
            executed[where[i]] = e
        met = (*enumerate(self.syncbar), *enumerate(self.again))
        syncbar = [(where[i], where[j]) for i, row in met for j in bits(row)]
        return Candidate(
            self.judge,
            executed,
            {where[r]: tuple(where[w] for w in ws) for r, ws in self.rf.items()},
            rows(self.co),
            rows(self.sync_fence),
            syncbar,
            {c: where[w] for c, w in self.finals.items()},
            claimed={
                symbol: self.symbols[value]
                for e in self.program.events
                if e.kind is READ
                for value, symbol in zip(e.values, self.program.events[where[e.index]].values, strict=True)
                if type(value) is Term and value in self.symbols and type(symbol) is Term
            },
            sequences=[[where[i] for i in sequence] for sequence in self.sequences],
        )

    def sources(self, read: Event) -> tuple[int, ...]:
        """The write that each cell of a read comes from; none where nothing is said."""
        return self.rf.get(read.index, ())

    def _read_rows(self) -> Rows:
        """`rf` over executed reads."""
        rows = [0] * self.program.size
        for r, ws in self.rf.items():
            if self.executed[r]:
                for w in ws:
                    rows[w] |= 1 << r
        return rows

    def _from_reads(self) -> Rows:
        """`fr`: cell by cell, the writes that follow the one that is read there."""
        program = self.program
        rows = [0] * program.size
        for r in self.rf:
            read = program.events[r]
            if self.executed[r]:
                for c, w in zip(read.cells, self.sources(read), strict=True):
                    rows[r] |= self.co[w] & self.judge.writes[c]
        return rows

    def _rows(self, rows: Rows) -> Rows:
        alive = self.alive
        return [row & alive if alive >> i & 1 else 0 for i, row in enumerate(rows)]

    def _read_values(self) -> bool:
        """What each read returns, following `rf`. False when a value would have to come out of itself."""
        events = self.program.events
        symbols = self.symbols
        for e in events:
            if e.kind is READ and not self.executed[e.index]:
                for value in e.values:
                    if type(value) is Term:
                        symbols.setdefault(value, 0)
        # The reads of a concrete run know what they returned; `_broken_execution` compares it.
        waiting: list[tuple[Term, Value]] = []  # what is read, and what is written there
        for e in events:
            if e.kind is READ and self.executed[e.index] and type(e.value) is Term:
                sources = self.sources(e) or (-1,) * len(e.cells)
                for c, symbol, w in zip(e.cells, e.values, sources, strict=True):
                    assert type(symbol) is Term
                    symbols.pop(symbol, None)  # one access at several possible addresses shares its symbol
                    waiting.append((symbol, what_is_read(events[w], c, e.index) if w >= 0 else 0))
            elif e.kind is MBARRIER_EVENT and type(e.value) is Term and not self.executed[e.index]:
                symbols.setdefault(e.value, 0)
        if self.sequences:
            from axioms.sync.phases import states_found

            found = list(states_found(self.program, self.sequences))
            for symbol, _ in found:
                symbols.pop(symbol, None)
            waiting += found
        while waiting:
            later = []
            for symbol, written in waiting:
                try:
                    symbols[symbol] = terms.evaluate(written, symbols)
                except KeyError:
                    later.append((symbol, written))
            if len(later) == len(waiting):
                # Stuck. A branch may choose the value that decides the branch; data may not flow in a circle.
                if not self._claim(later):
                    return False
                break
            waiting = later
        for c, w in self.finals.items():
            symbols[self.program.final(c)] = terms.evaluate(what_is_read(events[w], c, -1), symbols)
        return True

    def value(self, event: Event) -> int:
        return terms.evaluate(event.value, self.symbols)

    def state(self) -> dict[str, int]:
        found = {}
        for o in self.program.observed:
            number = terms.evaluate(o.value, self.symbols)
            found[o.label] = terms.signed(number, o.width) if o.signed else number
        return found

    def defects(self) -> list[str]:
        """Everything that is wrong with it: as an execution of the program, and under the model. Empty: it is allowed."""
        if self.circular:
            return ["values: one comes out of itself"]
        wrong = self._broken_execution()
        wrong = wrong or list(dict.fromkeys(a.name for a in self.evaluation.violated()))
        if not wrong and self.model.residual is not None and not self.passes:
            return [self.model.residual.name]
        return wrong

    @functools.cached_property
    def passes(self) -> bool:
        """Whether it passes what the model asks of executions by themselves."""
        from axioms.witness.asked import allowed

        return allowed(self)

    def _claim(self, reads: Iterable[tuple[Term, Value]]) -> bool:
        """Takes what the proposer says of reads that only a branch ties to themselves; `_broken_execution` compares it."""
        for symbol, _ in reads:
            if symbol not in self.claimed:
                return False
            self.symbols[symbol] = self.claimed[symbol]
        flow = self._dependencies(carrying=True)
        steps = zip(_rows(flow["data"]), _rows(flow["addr"]), self._read_rows(), strict=True)
        return is_acyclic([a | b | c for a, b, c in steps])

    def _broken_execution(self) -> list[str]:
        program, executed = self.program, self.executed
        for e in program.events:
            happens = e.guard if type(e.guard) is int else terms.evaluate(e.guard, self.symbols)
            if bool(happens) != executed[e.index]:
                return [f"control flow at event {e.index}"]
            if e.kind is READ and executed[e.index]:
                sources = self.sources(e)
                if len(sources) != len(e.cells):
                    return [f"reads-from of event {e.index}"]
                if len(sources) > 1 and not program.tears(e.width) and mixes(e, (program.events[w] for w in sources)):
                    return [f"reads-from of event {e.index}"]
                for c, w in zip(e.cells, sources, strict=True):
                    if not executed[w] or not self.judge.writes[c] >> w & 1:
                        return [f"reads-from of event {e.index}"]
                    read, written = e.value_at(c), what_is_read(program.events[w], c, e.index)
                    if terms.evaluate(read, self.symbols) != terms.evaluate(written, self.symbols):
                        return [f"the value of event {e.index}"]
        for t in program.threads:
            if not terms.evaluate(t.execution.finishes, self.symbols):
                return [f"the end of {t.name}"]
        if not is_strict_order(self.sync_fence, (1 << program.size) - 1):
            return ["sync_fence as a strict order"]
        for writes in self.judge.writes.values():
            if not is_strict_order(self.co, writes):
                return ["co as a strict order"]
        for c, w in self.finals.items():
            if self.co[w] & self.judge.writes[c]:
                return ["a final value"]
        return self._broken_reductions() or ([] if self.phases is None else self.phases.defects[:1])

    def _broken_reductions(self) -> list[str]:
        """A `bar.red` must return what the predicates of its instance reduce to."""
        events, symbols = self.program.events, self.symbols
        votes: dict[int, list[int]] = {}
        for i, j in self._reduced():
            effect = events[i].effect
            assert effect is not None
            votes.setdefault(j, []).append(terms.evaluate(effect.operand, symbols))
        for j, cast in votes.items():
            effect = events[j].effect
            assert effect is not None
            returned = effect.answer if effect.result is None else symbols[effect.result]
            if returned != REDUCTIONS[effect.operator](cast):
                return [f"the result of event {j}"]
        return []

    @functools.cached_property
    def phases(self) -> MbarrierPhases | None:
        """None for a program without barriers, whose phases are nothing."""
        if self.program.kinds.isdisjoint(("barrier", "mbarrier")):
            return None
        from axioms.sync.phases import MbarrierPhases

        return MbarrierPhases(self.program, self.alive, self.sequences, self.symbols)

    @property
    def evaluation(self) -> Evaluation:
        if self._evaluation is None:
            _, values = self.judge.fixed(self.alive)
            self._evaluation = Evaluation(self.model, self.program.size, self.base(), values)
        return self._evaluation

    def base(self) -> BaseValues:
        """The base sets and relations of this execution."""
        base = BaseValues(self.judge.fixed(self.alive)[0], self.program.size)
        base.update({"rf": self._read_rows(), "co": self.co, "fr": self._from_reads()})
        base.update({"sync_fence": self.sync_fence, "syncbar": self.syncbar, "again": self.again})
        if self.phases is not None:
            base.update({"mbo": self.phases.mbo, "mbrf": self.phases.mbrf, "denied": self.phases.denied})
        base.update(self._dependencies())
        return base

    def _dependencies(self, carrying: bool = False) -> dict[str, int | Rows]:
        found: dict[str, int | Rows] = {}
        for name, pairs in (self.judge.carrying if carrying else self.judge.dependencies).items():
            rows = [0] * self.program.size
            for i, j, condition in pairs:
                both = self.executed[i] and self.executed[j]
                if both and (condition == 1 or terms.evaluate(condition, self.symbols)):
                    rows[i] |= 1 << j
            if name == "data":
                for i, j in self._reduced():
                    rows[i] |= 1 << j
            found[name] = rows
        return found

    def _reduced(self) -> Iterable[tuple[int, int]]:
        """Flow of predicates through `bar.red`: from each arrival to each wait of its instance."""
        events = self.program.events
        for i, row in enumerate(self.syncbar):
            for j in bits(row):
                effect = events[j].effect
                if effect is not None and effect.barrier == "red":
                    yield i, j

    def execution(self, state: Mapping[str, int], title: str = "", more: Mapping[str, Rows] | None = None) -> Execution:
        """This candidate, written out for people and pictures; with `more` relations than it has of itself."""
        shown, relations = self._written
        relations = {**relations, **{name: self._pairs(rows, self.numbers()) for name, rows in (more or {}).items()}}
        threads = tuple((t.name, t.place) for t in self.program.threads)
        judged = self.judged if more else self.unevaluated().judgement()
        return Execution(shown, {k: v for k, v in relations.items() if v}, threads, dict(state), title, judged)

    def later(self, state: Mapping[str, int]) -> Execution | Callable[[], Execution]:
        """How this candidate is written out. Of what the model says of it, only what is drawn is kept until then."""
        model = self.model
        if model.shown or model.residual is not None:  # that is a question of its own, which may take long
            return self.execution(state)
        kept = self.unevaluated()
        if self._evaluation is not None:
            values = self._evaluation.values
            drawn = [model.names[name] for name in _SHOWN if name in model.names]
            kept._said = {node: values[node] for node in drawn if node in values}
        return functools.partial(kept.execution, state)

    @functools.cached_property
    def judged(self) -> JudgedExecution:
        """What explanations ask, once for all the races of a candidate."""
        return self.judgement()

    def judgement(self) -> JudgedExecution:
        from axioms.witness.checker import JudgedExecution  # not where nobody looks at executions

        return JudgedExecution(self)

    def unevaluated(self) -> Candidate:
        """The same without what the model says of it, which is long: it is computed again where somebody asks."""
        same = object.__new__(Candidate)
        same.__dict__.update(self.__dict__, _evaluation=None)
        same.__dict__.pop("_written", None)
        return same

    @functools.cached_property
    def _written(self) -> tuple[tuple[ExecutedEvent, ...], dict[str, tuple[tuple[int, int], ...]]]:
        """Events and relations as people see them, once for all the races of a candidate."""
        number = self.numbers()
        drawn = [
            e for e in self.program.events if e.index in number and not (e.kind is BARRIER_EVENT and "BW" in e.tags)
        ]
        shown = tuple(self._shown(number[e.index], e) for e in drawn)
        relations = displayed(self, self._drawn())
        return shown, {
            name: self._pairs(rows, number, name in self.model.shown and within_identity(rows))
            for name, rows in relations.items()
        }

    def numbers(self) -> dict[int, int]:
        """The number in pictures of each executed event; a waiting barrier is one event there."""
        number: dict[int, int] = {}
        halves = [e for e in self.program.events if self.executed[e.index]]
        for e in halves:
            if not (e.kind is BARRIER_EVENT and "BW" in e.tags):
                number[e.index] = len(number)
        for e in halves:
            if e.kind is BARRIER_EVENT and "BW" in e.tags:
                number[e.index] = number[e.index - 1]
        return number

    def _shown(self, index: int, e: Event) -> ExecutedEvent:
        text, cell, line, whole, count = self.judge.names[e.index]
        value = self.value(e) if e.kind.accesses and not e.unstable else None
        if e.effect is None:
            return ExecutedEvent(
                index, -1, e.kind, text or f"{cell} = {value}", cell, value, e.width, e.tags, None, whole, count
            )
        group = e.effect.group
        return ExecutedEvent(index, e.thread, e.kind, text, cell, value, e.width, e.tags, line, whole, count, group)

    def _background(self) -> dict[str, Rows]:
        """Asynchronous operations and kernels, without the pairs that others imply."""
        relations = self.program.relations
        found: dict[str, Rows] = {}
        if "issue" in relations:
            comp = _rows(self._dependencies()["comp"])
            issue, done = self._rows(relations["issue"]), closure(comp)
            found["comp"] = [a & b for a, b in zip(immediate(done), comp, strict=True)]
            found["issue"] = [row & ~sum(1 << j for j in those_after(row, done)) for row in issue]
        if "api" in relations:
            api, po = self._rows(relations["api"]), self._rows(relations["po"])
            both = immediate(closure([a | b for a, b in zip(api, po, strict=True)]))
            found["api"] = [a & b for a, b in zip(both, api, strict=True)]
        if "alias" in relations:
            found["alias"] = self._rows(relations["alias"])
        return found

    def _drawn(self) -> dict[str, Rows]:
        program = self.program
        rf, co = self._read_rows(), immediate(self.co)
        fr = [0] * program.size
        for r in self.rf:
            if self.executed[r]:
                read = program.events[r]
                for c, w in zip(read.cells, self.sources(read), strict=True):
                    fr[r] |= co[w] & self.judge.writes[c]
                if read.partner is not None:
                    fr[r] &= ~(1 << read.partner.index)
        drawn = {
            "po": list(self.judge.steps(self.alive)),
            "rf": rf,
            "co": co,
            "fr": fr,
            "rmw": self._rows(program.relations["rmw"]),
        }
        drawn |= self._background()
        if self.phases is not None:
            drawn["mbrf"] = self._rows(self.phases.mbrf)
        for name, label in _SHOWN.items():
            node = self.model.names.get(name)
            if node is not None and node.kind == "relation":
                said = self._said.get(node)
                drawn[label] = self.evaluation.rows(node) if said is None else _rows(said)
        return drawn

    @staticmethod
    def _pairs(rows: Rows, number: Mapping[int, int], itself: bool = False) -> tuple[tuple[int, int], ...]:
        found = {
            (number[i], number[j]): None for i, row in enumerate(rows) if i in number for j in bits(row) if j in number
        }
        return tuple(p for p in found if itself or p[0] != p[1])


def _rows(value: int | Rows) -> Rows:
    assert isinstance(value, list)
    return value

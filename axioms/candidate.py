"""One candidate execution, complete and concrete: who read from whom, in which orders. Checked here against everything.

Whoever proposes it (a solver, brute force), the same evaluation says whether it is an execution at all and whether the model
allows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from axioms.cat.evaluate import Evaluation, Rows, bits, is_acyclic
from axioms.cat.model import Model, Node
from axioms.execution import ExecutedEvent, Execution
from axioms.program import Event, Program, dependency_pairs, final_symbol, members_by_tag
from ptxcore.syntax.printer import print_statement
from ptxcore.values import terms
from ptxcore.values.terms import Term

#: Definitions of a model that are shown in witnesses where it has them, and under which name.
_SHOWN = {"sync": "sync", "cause": "cause", "sc": "sc", "bars": "barrier"}


#: What `bar.red` returns of the predicates that took part.
REDUCTIONS: Mapping[str, Callable[[list[int]], int]] = {
    "popc": sum,
    "and": lambda votes: int(all(votes)),
    "or": lambda votes: int(any(votes)),
}


class Judge:
    """What all candidates of one program share when a model judges them."""

    def __init__(self, program: Program, model: Model) -> None:
        self.program, self.model = program, model
        self.members = members_by_tag(program)
        self.dependencies = dependency_pairs(program)
        self._alive = -1
        self._base: dict[str, int | Rows] = {}
        self._values: dict[Node, int | Rows] = {}

    def fixed(self, alive: int) -> tuple[dict[str, int | Rows], dict[Node, int | Rows]]:
        """Base sets and relations, and the model's values over them, that only depend on which events are executed."""
        if alive != self._alive:
            self._alive = alive
            program = self.program
            base = Base({"_": alive}, program.size)
            for tag, members in self.members.items():
                base[tag] = members & alive
            for name, rows in program.relations.items():
                base[name] = [row & alive if alive >> i & 1 else 0 for i, row in enumerate(rows)]
            self._base = base
            evaluation = Evaluation.__new__(Evaluation)
            evaluation.model, evaluation.size, evaluation.base, evaluation.values = self.model, program.size, base, {}
            evaluation.compute(self.model.fixed)
            self._values = evaluation.values
        return self._base, self._values


class Candidate:
    """`rf` maps reads to writes, `finals` cells to the write they keep; orders are rows of bitsets over events."""

    def __init__(
        self,
        judge: Judge,
        executed: list[bool],
        rf: Mapping[int, int],
        co: Rows,
        sync_fence: Rows,
        syncbar: Iterable[tuple[int, int]],
        finals: Mapping[int, int] | None = None,
        results: Mapping[Term, int] | None = None,
        claimed: Mapping[Term, int] | None = None,
    ) -> None:
        program = judge.program
        self.judge, self.program, self.model = judge, program, judge.model
        self.executed, self.rf = executed, rf
        self.finals = finals or {}
        self.alive = sum(1 << i for i, e in enumerate(executed) if e)
        self.co, self.sync_fence = self._rows(co), self._rows(sync_fence)
        self.syncbar = [0] * program.size
        for i, j in syncbar:
            self.syncbar[i] |= 1 << j
        self.symbols: dict[Term, int] = dict(results or {})
        self.claimed = claimed or {}
        self.circular = not self._read_values()
        self._evaluation: Evaluation | None = None

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
        syncbar = [(where[i], where[j]) for i, row in enumerate(self.syncbar) for j in bits(row)]
        return Candidate(
            self.judge,
            executed,
            {where[r]: where[w] for r, w in self.rf.items()},
            rows(self.co),
            rows(self.sync_fence),
            syncbar,
            {c: where[w] for c, w in self.finals.items()},
            claimed={
                symbol: self.symbols[e.value]
                for e in self.program.events
                if e.kind == "R" and type(e.value) is Term and e.value in self.symbols
                if type(symbol := self.program.events[where[e.index]].value) is Term
            },
        )

    def _rows(self, rows: Rows) -> Rows:
        alive = self.alive
        return [row & alive if alive >> i & 1 else 0 for i, row in enumerate(rows)]

    def _read_values(self) -> bool:
        """What each read returns, following `rf`. False when a value would have to come out of itself."""
        events = self.program.events
        symbols = self.symbols
        for e in events:
            if e.kind == "R" and type(e.value) is Term and not self.executed[e.index]:
                symbols.setdefault(e.value, 0)
        # The reads of a concrete run know what they returned; `_broken_execution` compares it.
        waiting = [e for e in events if type(e.value) is Term and e.kind == "R" and self.executed[e.index]]
        for e in waiting:
            assert type(e.value) is Term
            symbols.pop(e.value, None)  # one access at several possible addresses shares its symbol
        while waiting:
            later = []
            for e in waiting:
                assert type(e.value) is Term
                source = self.rf.get(e.index)
                if source is None:
                    symbols[e.value] = 0
                    continue
                try:
                    symbols[e.value] = terms.evaluate(events[source].value, symbols)
                except KeyError:
                    later.append(e)
            if len(later) == len(waiting):
                # Stuck. A branch may choose the value that decides the branch; data may not flow in a circle.
                if not self._claim(later):
                    return False
                break
            waiting = later
        for c, w in self.finals.items():
            symbols[final_symbol(c, self.program.cells[c].width)] = terms.evaluate(events[w].value, symbols)
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
        return wrong or list(dict.fromkeys(a.name for a in self.evaluation.violated()))

    def _claim(self, reads: list[Event]) -> bool:
        """Takes what the proposer says of reads that only a branch ties to themselves; `_broken_execution` compares it."""
        for e in reads:
            assert type(e.value) is Term
            if e.value not in self.claimed:
                return False
            self.symbols[e.value] = self.claimed[e.value]
        flow = self._dependencies()
        rows = [a | b for a, b in zip(_rows(flow["data"]), _rows(flow["addr"]), strict=True)]
        for r, w in self.rf.items():
            if self.executed[r]:
                rows[w] |= 1 << r
        return is_acyclic(rows)

    def _broken_execution(self) -> list[str]:
        program, executed = self.program, self.executed
        for e in program.events:
            if bool(terms.evaluate(e.guard, self.symbols)) != executed[e.index]:
                return [f"control flow at event {e.index}"]
            if e.kind == "R" and executed[e.index]:
                w = self.rf.get(e.index)
                if w is None or not executed[w] or program.events[w].cell != e.cell:
                    return [f"reads-from of event {e.index}"]
                if self.value(e) != self.value(program.events[w]):
                    return [f"the value of event {e.index}"]
        for t in program.threads:
            if not terms.evaluate(t.execution.finishes, self.symbols):
                return [f"the end of {t.name}"]
        for rows, name in ((self.co, "co"), (self.sync_fence, "sync_fence")):
            for i, row in enumerate(rows):
                through = 0
                for j in bits(row):
                    through |= rows[j]
                if through & ~row or row >> i & 1:
                    return [f"{name} as a strict order"]
        for w in self.finals.values():
            if self.co[w]:
                return ["a final value"]
        return self._broken_reductions()

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

    @property
    def evaluation(self) -> Evaluation:
        if self._evaluation is None:
            fixed, values = self.judge.fixed(self.alive)
            self._evaluation = Evaluation(self.model, self.program.size, self._base(fixed), values)
        return self._evaluation

    def _base(self, fixed: Mapping[str, int | Rows]) -> Base:
        """The base sets and relations of this execution."""
        rf = [0] * self.program.size
        for r, w in self.rf.items():
            if self.executed[r]:
                rf[w] |= 1 << r
        base = Base(fixed, self.program.size)
        base.update({"rf": rf, "co": self.co, "sync_fence": self.sync_fence, "syncbar": self.syncbar})
        base.update(self._dependencies())
        return base

    def _dependencies(self) -> dict[str, int | Rows]:
        found: dict[str, int | Rows] = {}
        for name, pairs in self.judge.dependencies.items():
            rows = [0] * self.program.size
            for i, j, condition in pairs:
                if (
                    self.executed[i]
                    and self.executed[j]
                    and (condition == 1 or terms.evaluate(condition, self.symbols))
                ):
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

    def execution(self, state: Mapping[str, int], title: str = "") -> Execution:
        """This candidate, written out for people and pictures."""
        program = self.program
        number: dict[int, int] = {}
        shown: list[ExecutedEvent] = []
        for e in program.events:
            if not self.executed[e.index] or (e.kind == "B" and "BW" in e.tags):
                continue
            number[e.index] = len(shown)
            shown.append(self._shown(len(shown), e))
        for e in program.events:
            if e.kind == "B" and "BW" in e.tags and self.executed[e.index]:
                number[e.index] = number[e.index - 1]  # a waiting barrier is one event in pictures
        relations = {name: self._pairs(rows, number) for name, rows in self._drawn().items()}
        threads = tuple((t.name, t.place) for t in program.threads)
        return Execution(tuple(shown), {k: v for k, v in relations.items() if v}, threads, dict(state), title)

    def _shown(self, index: int, e: Event) -> ExecutedEvent:
        cell = program_cell(self.program, e)
        value = self.value(e) if e.kind in "RW" else None
        if e.effect is None:
            return ExecutedEvent(index, -1, "W", f"{cell} = {value}", cell, value, e.width, e.tags)
        instruction = e.effect.instruction
        return ExecutedEvent(
            index,
            e.thread,
            e.kind,
            print_statement(instruction),
            cell,
            value,
            e.width,
            e.tags,
            instruction.span.line or None,
        )

    def _drawn(self) -> dict[str, Rows]:
        program, n = self.program, self.program.size
        rf = [0] * n
        for r, w in self.rf.items():
            if self.executed[r]:
                rf[w] |= 1 << r
        co = _immediate(self.co)
        fr = [0] * n
        for r, w in self.rf.items():
            if self.executed[r]:
                fr[r] = co[w] & ~(1 << (p.index if (p := program.events[r].partner) is not None else n))
        drawn = {
            "po": _immediate(self._rows(program.relations["po"])),
            "rf": rf,
            "co": co,
            "fr": fr,
            "rmw": self._rows(program.relations["rmw"]),
        }
        for name, label in _SHOWN.items():
            node = self.model.names.get(name)
            if node is not None and node.kind == "relation":
                drawn[label] = self.evaluation.rows(node)
        return drawn

    @staticmethod
    def _pairs(rows: Rows, number: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
        found = {
            (number[i], number[j]): None for i, row in enumerate(rows) if i in number for j in bits(row) if j in number
        }
        return tuple(p for p in found if p[0] != p[1])


def _rows(value: int | Rows) -> Rows:
    assert isinstance(value, list)
    return value


class Base(dict[str, "int | Rows"]):
    """Base names to values; a set that no event is in, or a relation that none are in, is empty."""

    def __init__(self, values: Mapping[str, int | Rows], size: int) -> None:
        super().__init__(values)
        self.size = size

    def __missing__(self, name: str) -> int | Rows:
        from axioms.cat.names import BASE

        return 0 if BASE[name].kind == "set" else [0] * self.size


def program_cell(program: Program, event: Event) -> str | None:
    return program.cells[event.cell].name if event.cell >= 0 else None


def _immediate(rows: Rows) -> Rows:
    """A strict order without the pairs that others imply."""
    result = []
    for row in rows:
        through = 0
        for j in bits(row):
            through |= rows[j]
        result.append(row & ~through)
    return result

"""mbarrier objects (PTX ISA 9.0, section 9.7.13.15) as a formula: in which order their operations take place.

The executed operations on one object stand at positions 1, 2, ...; each wait stands behind one of them. So much follows:

    state(p)       what the object is after p operations, out of the states that it can reach
    result         what an operation or a wait returns: the state before it
    mbo            who stands before whom
    mbrf           from an arrival (or the completion of a transaction) to each wait that says that this one's phase is over
    denied         from the operation with which a phase was over to each wait that says no all the same

An order never contradicts program order. The model says what else it must agree with: one that has a say in it does not let it
contradict barriers of the CTA or the issue of asynchronous operations. Where all that leaves one order only, nothing here is a
variable.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from axioms.cat.evaluate import bits, closure
from axioms.events.barrier_events import COUNTED, early_no
from axioms.events.event import BarrierMisuse
from axioms.events.event_kinds import MBARRIER_EVENT
from axioms.program import Program
from axioms.sat.formula import BOTH, FALSE, TRUE, Formula
from axioms.sat.relations import Executed, filled
from axioms.sat.values import Lowering
from axioms.sync.arrivals import LiteralRows
from axioms.sync.mbarrier_states import ARRIVALS, WRECKS, ObjectState, Transition
from axioms.sync.mbarrier_windows import Windows
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

#: Section 9.7.13.15.4.
UNSEEN = "an arrival in a phase of an mbarrier object before any wait said that the phase before is over"

StateLiterals = list[dict[ObjectState | None, int]]


class Mbarriers:
    """The objects of a program. `flows` says under which literal a symbol has which number. `broken` is the literal of "some
    object is misused, so that it has no state any more"; `misuse` has literals and reasons."""

    def __init__(
        self,
        program: Program,
        executed: Executed,
        lowering: Lowering,
        formula: Formula,
        known: Sequence[list[int]],
        found: Mapping[object, list[Transition]],
        tick: Callable[[], None],
    ) -> None:
        """`known` are relations, as rows, that the order of operations certainly agrees with; `found` are the operations and
        waits on each object."""
        self.program, self.executed, self.lowering, self.formula, self.tick = program, executed, lowering, formula, tick
        self.flows: list[tuple[int, Term, Value]] = []
        self.misuse: list[BarrierMisuse] = []
        self.objects: list[_Object] = []
        order, source, denied = LiteralRows(), LiteralRows(), LiteralRows()
        #: What anything looks at of what operations return: no number where an operation can be nowhere.
        self.results: list[Term] = []
        if found:
            precedes = _precedence(program, executed, known)
            needed = _needed(program)
            for members in found.values():
                self.results += [s.result for s in members if s.result is not None and s.result in needed]
                alive = [s for s in members if executed.literals[s.event.index] != FALSE]
                self.objects.append(_Object(self, alive, precedes, needed, order, source))
                self.objects[-1].denials(denied)
        self.broken = formula.disj([o.broken for o in self.objects], BOTH)
        self.mbo = filled(order, [0] * program.size, formula, BOTH)
        self.mbrf = filled(source, [0] * program.size, formula, BOTH)
        self.denied = filled(denied, [0] * program.size, formula, BOTH)

    def over(self, wait: Transition) -> int:
        """The literal of "the phase is over that a `try_wait` asks for"."""
        event = wait.event
        assert event.effect is not None
        no = early_no(event.effect, self.program.threads[event.thread].execution.effects)
        return FALSE if no is None else self.lowering.condition(no.guard)

    def add_sources(self, sources: dict[Term, list[Value]]) -> None:
        """The numbers that each result may be."""
        for symbol in self.results:
            sources.setdefault(symbol, [])
        for _, symbol, number in self.flows:
            into = sources.setdefault(symbol, [])
            if number not in into:
                into.append(number)

    def sequences(self, true: Callable[[int], bool]) -> list[list[int]]:
        """The order of each object's operations and waits, as events, in a model of the formula."""
        return [o.sequence(true) for o in self.objects]


def _precedence(program: Program, executed: Executed, known: Sequence[list[int]]) -> list[int]:
    """Which events certainly come before which, given that both are executed: by paths through events that certainly are."""
    direct = list(program.relations["po"])
    for rows in known:
        direct = [a | b for a, b in zip(direct, rows, strict=True)]
    certain = executed.certain
    through = closure([row & certain if certain >> i & 1 else 0 for i, row in enumerate(direct)])
    found = []
    for row in direct:
        reached = row
        for j in bits(row & certain):
            reached |= through[j]
        for j in bits(reached & certain):
            reached |= direct[j]
        found.append(reached)
    return found


def _needed(program: Program) -> set[Term]:
    """The symbols that anything but an mbarrier operation looks at."""
    found: set[Term] = set()
    for e in program.events:
        found |= terms.symbols_of(e.guard)
        if e.kind is not MBARRIER_EVENT:
            found |= terms.symbols_of(e.value)
    for thread in program.threads:
        found |= terms.symbols_of(thread.execution.finishes) | terms.symbols_of(thread.execution.cut)
        for stuck in thread.execution.stuck:
            found |= terms.symbols_of(stuck.guard)
        for effect in thread.execution.effects:
            for dependencies in (effect.address_dependencies, effect.data_dependencies, effect.control_dependencies):
                for condition in dependencies.values():
                    found |= terms.symbols_of(condition)
        for requirement in thread.execution.requirements:
            symbols = terms.symbols_of(requirement.condition)
            if len(symbols) > 1:
                found |= symbols
            found |= terms.symbols_of(requirement.guard)
    for value in (program.condition, program.filter, *[o.value for o in program.observed]):
        found |= terms.symbols_of(value)
    return found


class _Object:
    """One object: `operations` and `waits` by number, `at[i][p]` the literal of "operation i stands at position p",
    `behind[w][p]` that of "wait w stands behind p operations", `states[p]` the literal of each state after p operations,
    `found[i][p]` those of the states that operation i can find at position p."""

    def __init__(
        self,
        whole: Mbarriers,
        members: list[Transition],
        precedes: list[int],
        needed: set[Term],
        order: LiteralRows,
        source: LiteralRows,
    ) -> None:
        self.formula, self.literals, self.pair = whole.formula, whole.executed.literals, whole.executed.pair
        self.whole, self.precedes, self.needed = whole, precedes, needed
        self._seen_by: dict[tuple[int, int], int] = {}
        self._beginning: dict[tuple[int, tuple[int, int]], int] = {}
        self.operations = [s for s in members if not s.waits]
        self.waits = [s for s in members if s.waits]
        certain = {s.event.index for s in members if self._literal(s) == TRUE}
        self.windows = Windows(self.operations, self.waits, certain, precedes)
        self.before, self.possible = self.windows.before, self.windows.possible
        whole.tick()
        self.at = self._positions()
        self.upto = [self._ladder(row, s) for row, s in zip(self.at, self.operations, strict=True)]
        self._keep_order()
        self.behind = [self._place_wait(w, able) for w, able in zip(self.waits, self.windows.able, strict=True)]
        self.seen = [self._ladder(row, w) for row, w in zip(self.behind, self.waits, strict=True)]
        self._order_waits()
        self.states = self._states()
        self.found = [self._found(i) for i in range(len(self.operations))]
        self.broken = self.formula.disj([row[None] for row in self.states if None in row], BOTH)
        self._results()
        whole.tick()
        self._order(order)
        self._phases(source)

    def _literal(self, step: Transition) -> int:
        return self.literals[step.event.index]

    # Positions.

    def _positions(self) -> list[list[int]]:
        """Position 0 stands for nobody. Executed operations fill positions from 1 on."""
        formula, n = self.formula, len(self.operations)
        at = []
        for i, step in enumerate(self.operations):
            first, last = self.windows.first[i], self.windows.last[i]
            executed = self._literal(step)
            row = [FALSE] * (n + 1)
            if first == last:
                row[first] = executed
            else:
                for p in range(first, last + 1):
                    row[p] = formula.new()
                    formula.add([-row[p], executed])
                formula.add([-executed, *row[first : last + 1]])
                formula.at_most_one(row[first : last + 1])
            at.append(row)
        self.filled = [TRUE]
        for p in range(1, n + 1):
            here = [row[p] for row in at if row[p] != FALSE]
            formula.at_most_one(here)
            self.filled.append(formula.disj(here, BOTH))
            formula.add([-self.filled[p], self.filled[p - 1]])
        return at

    def _ladder(self, row: list[int], step: Transition) -> list[int]:
        """For each position the literal of "executed, and at this position or before it"."""
        formula = self.formula
        upto, some = [], FALSE
        last = max((p for p, l in enumerate(row) if l != FALSE), default=0)
        for p, here in enumerate(row):
            some = self._literal(step) if p >= last else formula.disj([some, here], BOTH)
            upto.append(some)
        return upto

    def _keep_order(self) -> None:
        """Who certainly comes first stands first."""
        for j, row in enumerate(self.before):
            for i in bits(row):
                executed = self._literal(self.operations[i])
                for p, here in enumerate(self.at[j]):
                    if here != FALSE:
                        self.formula.add([-here, -executed, self.upto[i][p - 1]])

    def _place_wait(self, wait: Transition, able: Sequence[int]) -> list[int]:
        """A wait stands behind the operations that certainly precede it, and before those that certainly follow."""
        formula, precedes = self.formula, self.precedes
        me, executed = wait.event.index, self._literal(wait)
        earlier = [i for i, s in enumerate(self.operations) if precedes[s.event.index] >> me & 1]
        later = [i for i, s in enumerate(self.operations) if precedes[me] >> s.event.index & 1]
        row = [FALSE] * (len(self.operations) + 1)
        if len(able) == 1:
            row[able[0]] = executed
        else:
            for p in able:
                row[p] = formula.new()
                formula.add([-row[p], executed])
            formula.add([-executed, *[row[p] for p in able]])
            formula.at_most_one([row[p] for p in able])
        for p in able:
            formula.add([-row[p], self.filled[p]])
            for i in earlier:
                formula.add([-row[p], -self._literal(self.operations[i]), self.upto[i][p]])
            for i in later:
                formula.add([-row[p], -self.upto[i][p]])
        return row

    def _order_waits(self) -> None:
        """Of two waits the one that certainly comes first sees no more than the other."""
        for x, y in itertools.permutations(range(len(self.waits)), 2):
            first, second = self.waits[x], self.waits[y]
            if self.precedes[first.event.index] >> second.event.index & 1:
                for p, here in enumerate(self.behind[y]):
                    if here != FALSE:
                        self.formula.add([-here, -self._literal(first), self.seen[x][p]])

    # States.

    def _states(self) -> StateLiterals:
        formula = self.formula
        states: StateLiterals = []
        for possible in self.possible:
            ordered = sorted(possible, key=lambda s: (s is None, s or ()))
            if len(ordered) == 1:
                states.append({ordered[0]: TRUE})
                continue
            row: dict[ObjectState | None, int] = {s: formula.new() for s in ordered}
            formula.at_most_one(list(row.values()))
            states.append(row)
        for p in range(1, len(states)):
            for i, step in enumerate(self.operations):
                here = self.at[i][p]
                if here == FALSE:
                    continue
                able = self.windows.found_by[i].get(p, set())
                for state, literal in states[p - 1].items():
                    if state not in able:
                        formula.add([-here, -literal])  # a solver would have to count operations to learn it
                    elif state is None or step.wrong(state):
                        formula.add([-here, -literal, states[p].get(None, FALSE)])
                    else:
                        for case, after in step.following(state):
                            holds = self.whole.lowering.condition(case)
                            formula.add([-here, -literal, -holds, states[p].get(after, FALSE)])
        return states

    def _found(self, i: int) -> StateLiterals:
        """The states that an operation can find, for each of its positions."""
        finds = self.windows.found_by[i]
        return [
            {s: literal for s, literal in self.states[p - 1].items() if s in finds.get(p, ())}
            for p in range(len(self.states))
        ]

    def _results(self) -> None:
        """What operations and waits return; and which of them misuse the object."""
        for step, row, found in self._placed():
            reasons: dict[str, list[int]] = {}
            wrecked = []
            for p, here in enumerate(row):
                if here == FALSE:
                    continue
                for state, literal in found[p].items():
                    if state is None:
                        wrecked.append((here, literal))
                        continue
                    reason = step.wrong(state)
                    if reason:
                        both = self.formula.conj(here, literal, BOTH)
                        reasons.setdefault(reason, []).append(both)
                        wrecked.append((here, literal))
                    else:
                        self._flow(step, here, literal, state.content)
            self._wreck(step, wrecked)
            for reason, literals in reasons.items():
                self.whole.misuse.append(BarrierMisuse(self.formula.disj(literals, BOTH), reason, (step.event,)))

    def _placed(self) -> Iterator[tuple[Transition, list[int], StateLiterals]]:
        """Operations and waits with their positions, and the states that they can find there."""
        yield from zip(self.operations, self.at, self.found, strict=True)
        for step, row in zip(self.waits, self.behind, strict=True):
            yield step, row, self.states

    def _flow(self, step: Transition, here: int, literal: int, content: int) -> None:
        if step.result is not None and step.result in self.needed:
            both = self.formula.conj(here, literal)
            if both != FALSE:
                self.whole.flows.append((both, step.result, content))

    def _wreck(self, step: Transition, cases: list[tuple[int, int]]) -> None:
        """In these cases, behaviour is undefined and the result any of `WRECKS`."""
        if not cases or step.result is None or step.result not in self.needed:
            return
        free = [self.formula.new() for _ in WRECKS]
        for here, literal in cases:
            self.formula.add([-here, -literal, *free])
        self.whole.flows += [(l, step.result, content) for l, content in zip(free, WRECKS, strict=True)]

    # Relations.

    def _order(self, rows: LiteralRows) -> None:
        n = len(self.operations)
        for i, j in itertools.combinations(range(n), 2):
            self.whole.tick()
            first = self._first(i, j)
            self._relate(rows, self.operations[i], self.operations[j], first)
            self._relate(rows, self.operations[j], self.operations[i], -first)
        for w, wait in enumerate(self.waits):
            for i, step in enumerate(self.operations):
                self.whole.tick()
                seen = self._sees(w, i)
                self._relate(rows, step, wait, seen)
                self._relate(rows, wait, step, -seen)
        for v, w in itertools.permutations(range(len(self.waits)), 2):
            self.whole.tick()
            self._relate(rows, self.waits[v], self.waits[w], self._sees_less(v, w))

    def _relate(self, rows: LiteralRows, a: Transition, b: Transition, literal: int) -> None:
        if literal != FALSE:
            both = self.formula.conj(literal, self.pair(a.event.index, b.event.index), BOTH)
            if both != FALSE:
                rows.setdefault(a.event.index, {}).setdefault(b.event.index, []).append(both)

    def _first(self, i: int, j: int) -> int:
        """The literal of "i stands before j", given that both are executed."""
        if self.before[j] >> i & 1:
            return TRUE
        if self.before[i] >> j & 1:
            return FALSE
        formula = self.formula
        literal = formula.new()
        for p in range(1, len(self.at[i])):
            formula.add([-self.at[j][p], -self.upto[i][p - 1], literal])
            formula.add([-self.at[i][p], -self.upto[j][p - 1], -literal])
        return literal

    def _sees(self, w: int, i: int) -> int:
        """The literal of "operation i stands before wait w", given that both are executed."""
        known = self._seen_by.get((w, i))
        if known is None:
            known = self._seen_by[w, i] = self._new_sees(w, i)
        return known

    def _new_sees(self, w: int, i: int) -> int:
        wait, step = self.waits[w].event.index, self.operations[i].event.index
        able = [p for p, here in enumerate(self.behind[w]) if here != FALSE]
        if self.precedes[step] >> wait & 1 or all(self.upto[i][p] == self._literal(self.operations[i]) for p in able):
            return TRUE
        if self.precedes[wait] >> step & 1 or all(self.upto[i][p] == FALSE for p in able):
            return FALSE
        formula = self.formula
        literal = formula.new()
        for p, here in enumerate(self.behind[w]):
            if here != FALSE:
                formula.add([-here, -self.upto[i][p], literal])
                formula.add([-here, self.upto[i][p], -literal])
        return literal

    def _sees_less(self, v: int, w: int) -> int:
        """The literal of "wait v stands behind fewer operations than wait w", given that both are executed."""
        cases = [
            self.formula.conj(here, self.seen[v][p - 1], BOTH)
            for p, here in enumerate(self.behind[w])
            if p and here != FALSE
        ]
        return self.formula.disj(cases, BOTH)

    def _phases(self, rows: LiteralRows) -> None:
        """Which waits say that the phase of which arrival is over, and arrivals in a phase although nobody waited for the end
        of the one before."""
        formula = self.formula
        over: dict[tuple[int, int], list[tuple[int, int]]] = {}  # phase -> waits, each with a literal
        for w, wait in enumerate(self.waits):
            if "MW" in wait.event.tags:
                for (life, phase), literal in self._epochs(wait, self.behind[w], self.states).items():
                    over.setdefault((life, phase - 1), []).append((w, literal))
        for i, step in enumerate(self.operations):
            if step.operation not in COUNTED:
                continue
            for epoch, literal in self._epochs(step, self.at[i], self.found[i]).items():
                for w, sees in over.get(epoch, ()):
                    self._relate(rows, step, self.waits[w], formula.conj(literal, sees, BOTH))
                if step.operation in ARRIVALS and epoch[1] > 0:
                    earlier = [
                        self.formula.conj_all([sees, self._literal(self.waits[w]), -self._sees(w, i)], BOTH)
                        for w, sees in over.get((epoch[0], epoch[1] - 1), ())
                    ]
                    unseen = self.formula.conj_all([literal, *[-l for l in earlier]], BOTH)
                    if unseen != FALSE:
                        self.whole.misuse.append(BarrierMisuse(unseen, UNSEEN, (step.event,)))

    def denials(self, rows: LiteralRows) -> None:
        """Which operations ended the phase that a wait asks for, where it says no although the phase is over."""
        for w, wait in enumerate(self.waits):
            over = self.whole.over(wait) if "REFUSED" in wait.event.tags else FALSE
            if over != FALSE and self._literal(wait) != FALSE:
                for epoch, finds in self._epochs(wait, self.behind[w], self.states).items():
                    late = self.formula.conj(finds, over, BOTH)
                    for i, step in enumerate(self.operations) if late != FALSE else ():
                        self._relate(rows, step, wait, self.formula.conj(self._begins(i, epoch), late, BOTH))

    def _begins(self, i: int, epoch: tuple[int, int]) -> int:
        """The literal of "with operation i a phase begins"."""
        known = self._beginning.get((i, epoch))
        if known is None:
            self.whole.tick()
            cases = [
                self.formula.conj_all([here, self._not_in(self.found[i][p], epoch), after], BOTH)
                for p, here in enumerate(self.at[i])
                if here != FALSE and (after := self._in_phase(p, epoch)) != FALSE
            ]
            known = self._beginning[i, epoch] = self.formula.disj(cases, BOTH)
        return known

    def _in_phase(self, p: int, epoch: tuple[int, int]) -> int:
        """The literal of "the object is in that phase after p operations"."""
        return self.formula.disj(
            [l for state, l in self.states[p].items() if state is not None and state.is_valid and state.epoch == epoch],
            BOTH,
        )

    def _not_in(self, found: dict[ObjectState | None, int], epoch: tuple[int, int]) -> int:
        """The literal of "the object is in a state, and not in that phase", of states that may be found."""
        return self.formula.disj(
            [l for old, l in found.items() if old is not None and not (old.is_valid and old.epoch == epoch)], BOTH
        )

    def _epochs(self, step: Transition, row: list[int], found: StateLiterals) -> dict[tuple[int, int], int]:
        """For each phase that the object may be in when a step takes place, the literal of "it is". Where there is one only,
        it is whenever the step takes place: an executed step has a position, and every position a state."""
        cases: dict[tuple[int, int] | None, list[tuple[int, int]]] = {}
        for p, here in enumerate(row):
            if here != FALSE:
                for state, literal in found[p].items():
                    epoch = state.epoch if state is not None and state.is_valid else None
                    cases.setdefault(epoch, []).append((here, literal))
        if len(cases) == 1:
            return {epoch: self._literal(step) for epoch in cases if epoch is not None}
        conj, disj = self.formula.conj, self.formula.disj
        return {
            epoch: disj([conj(here, literal, BOTH) for here, literal in pairs], BOTH)
            for epoch, pairs in cases.items()
            if epoch is not None
        }

    def sequence(self, true: Callable[[int], bool]) -> list[int]:
        """The order of operations and waits in a model of the formula."""
        found = []
        for after, steps, rows in ((0, self.operations, self.at), (1, self.waits, self.behind)):
            for step, row in zip(steps, rows, strict=True):
                if true(self._literal(step)):
                    p = next(p for p, l in enumerate(row) if true(l))
                    found.append((p, after, step.event.index))
        return [event for _, _, event in sorted(found)]

"""What the threads of a warp wait for: each other, at instructions that they execute together, and where one of them arrives at
a barrier (PTX ISA 9.0, sections 9.7.9.6, 9.7.13.1, 9.7.13.3 and 9.7.13.9 to 9.7.13.14). One rule for all of these:

    who comes to `shfl.sync`, `vote.sync`, `match.sync`, `redux.sync` or `elect.sync` waits until each thread of its member
    mask has come to the same instruction, with the same qualifiers and the same mask, as often as it has itself, or has exited
    who arrives at a barrier of its CTA or its cluster waits until each thread of its warp has arrived there, or has exited

A thread that comes to another instruction instead, and waits there, is waited for. Where that closes a circle nobody goes on:
such an execution does not end, and is none of those that are looked at here. It is not undefined: the manual asks that threads
come together on targets before sm_70 only.

The graph is one of steps: barrier events, and instructions that threads of a warp execute together, which are no events. An
edge says "is over before the other one is". Programs in which everybody certainly gets on need none of this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from axioms.events.collectives import Flows
from axioms.events.event import Event
from axioms.program import Program
from axioms.sat.formula import BOTH, FALSE, UP, Formula
from axioms.sat.relations import Executed, Relation, filled, merged, union
from axioms.sat.values import Lowering
from axioms.sync.shared_waits import SharedWaits, mates_in_warps
from ptxcore.isa.effect_kinds import BARRIER
from ptxcore.machine.ir.effects import Effect
from ptxcore.records import NamedTuple
from ptxcore.values import terms
from ptxcore.values.terms import Value


class Exit(NamedTuple):
    """A thread that has exited when somebody passes a wait, given a literal."""

    thread: int
    wait: Event
    literal: int


def is_bare_arrival(effect: Effect) -> bool:
    """Whether somebody arrives at a barrier of the CTA or the cluster and waits for nobody but its warp."""
    return effect.kind is BARRIER and effect.barrier == "arrive" and effect.instance is None


def may_block(program: Program) -> bool:
    """Whether threads of a warp that wait for each other may not all get on."""
    mates = mates_in_warps(program.threads)
    waits = any(
        mates[t] and (effect.mates or is_bare_arrival(effect))
        for t, thread in enumerate(program.threads)
        for effect in thread.execution.effects
    )
    if not waits:
        return False
    ended = [t._replace(execution=replace(t.execution, finishes=1)) for t in program.threads]
    return not SharedWaits(ended).all_end


class _Step(NamedTuple):
    """A step of a thread: the index of its effect, and its number in the graph."""

    effect: int
    node: int


def waits(
    program: Program,
    executed: Executed,
    lowering: Lowering,
    formula: Formula,
    barriers: Relation,
    exits: Sequence[Exit],
    at_once: Mapping[int, int] = MappingProxyType({}),
) -> tuple[Relation, Executed]:
    """Which step is over before which other one, and which steps there are: events have their index, and what threads execute
    together has numbers behind those. A cycle means a deadlock. `barriers` relates barrier
    events; `exits` are those that others wait for there; `at_once` gives for events one that is over when they are."""
    graph = _Graph(program, executed, lowering, formula)
    return graph.waits(barriers, exits, at_once), graph.executed


class _Graph:
    def __init__(self, program: Program, executed: Executed, lowering: Lowering, formula: Formula) -> None:
        self.program, self.lowering, self.formula = program, lowering, formula
        self.flows = Flows(program.threads)
        literals = list(executed.literals)
        self.steps: list[list[_Step]] = []
        self.together: list[tuple[int, Effect, int]] = []  # thread, effect, number
        for t, thread in enumerate(program.threads):
            mine: list[_Step] = []
            for effect in thread.execution.effects:
                if effect.kind is BARRIER:
                    mine += [_Step(effect.index, e.index) for e in program.by_effect[t].get(effect.index, ())]
                elif effect.mates and effect.guard != 0:
                    mine.append(_Step(effect.index, len(literals)))
                    self.together.append((t, effect, len(literals)))
                    literals.append(lowering.condition(terms.conj(effect.guard, effect.complete)))
            self.steps.append(mine)
        self.executed = Executed(literals, formula)
        self.rows: dict[int, dict[int, list[int]]] = {}

    def waits(self, barriers: Relation, exits: Sequence[Exit], at_once: Mapping[int, int]) -> Relation:
        size = len(self.executed.literals)
        order = [0] * size
        for mine in self.steps:
            later = 0
            for step in reversed(mine):
                order[step.node] = later
                later |= 1 << step.node
        for t, effect, node in self.together:
            for u, some, named in self.flows.awaited(t, effect):
                self._behind(u, node, [(came.index, there) for came, there in some], named)
        for t, thread in enumerate(self.program.threads):
            for effect in thread.execution.effects:
                if is_bare_arrival(effect):
                    self._arrival(t, effect)
        for thread_, wait, literal in exits:
            for step in self.steps[thread_]:
                self._edge(step.node, wait.index, literal)
        wider = Relation([*barriers.must, *[0] * (size - len(barriers.must))], barriers.may)
        waiting = filled(self.rows, [0] * size, self.formula, UP)
        whole = union([self.executed.static(order), wider, waiting], self.formula, UP)
        return merged(whole, at_once, self.formula)

    def _arrival(self, t: int, effect: Effect) -> None:
        """Who arrives waits for its warp: the other threads' arrivals there as often as its own, or their exits."""
        made = self.program.by_effect[t].get(effect.index, ())
        if not made:
            return
        number = [e.index for e in self._arrivals(t, effect)].index(effect.index)
        for u in mates_in_warps(self.program.threads)[t]:
            theirs = [*self._arrivals(u, effect)][number : number + 1]
            self._behind(u, made[0].index, [(e.index, e.guard) for e in theirs], effect.complete)

    def _arrivals(self, t: int, like: Effect) -> Iterator[Effect]:
        """What a thread does at the barrier of another effect."""
        for e in self.program.threads[t].execution.effects:
            arrives = e.kind is BARRIER and e.level == like.level and e.barrier != "wait"
            if arrives and terms.eq(e.identity or 0, like.identity or 0) != 0:
                yield e

    def _behind(self, u: int, node: int, some: Sequence[tuple[int, Value]], named: Value) -> None:
        """A step is over when thread u has come to one of some effects (each with the truth value of "to this one"), or has
        exited; if it is `named`. So what it does before it comes is over then."""
        effects = self.program.threads[u].execution.effects
        for step in self.steps[u]:
            came = terms.any_of(there for index, there in some if index <= step.effect)
            missing = terms.conj(named, terms.negate(came))
            if any(index == step.effect for index, _ in some):
                missing = terms.conj(missing, effects[step.effect].guard)
            self._edge(step.node, node, self.lowering.condition(missing))

    def _edge(self, a: int, b: int, literal: int) -> None:
        if literal != FALSE:
            both = self.formula.conj(literal, self.executed.pair(a, b), BOTH)
            if both != FALSE:
                self.rows.setdefault(a, {}).setdefault(b, []).append(both)

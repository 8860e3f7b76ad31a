"""What follows from threads reaching their ends: which events are executed in any case, and what some reads must return; and
the program in which those that do not have been stopped."""

from __future__ import annotations

from dataclasses import replace

from axioms.program import Program
from axioms.sat.formula import TRUE
from axioms.sat.values import Lowering
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value


def executed_literals(program: Program, lowering: Lowering, *, ended: bool) -> list[int]:
    """The literal of each event's guard. What a thread certainly executes when it ends needs none, if all threads end."""
    known: dict[tuple[int, Value], int] = {}
    literals = []
    for e in program.events:
        key = e.thread, e.guard
        literal = known.get(key)
        if literal is None:
            certain = ended and e.thread >= 0 and e.guard != 1 and _is_certain(program, e.thread, e.guard)
            literal = known[key] = TRUE if certain else lowering.condition(e.guard)
        literals.append(literal)
    return literals


def _is_certain(program: Program, thread: int, guard: Value) -> bool:
    return terms.implies(program.threads[thread].execution.finishes, guard)


def forced_values(program: Program) -> dict[Term, int]:
    """What reads must return for their threads to end, where the end says so outright: the flag that a spin waits for."""
    forced: dict[Term, int] = {}
    for thread in program.threads:
        finishes = thread.execution.finishes
        if type(finishes) is not Term:
            continue
        for part in finishes.args if finishes.op == "all" else (finishes,):
            if part.op == "eq" and type(part.args[1]) is int and part.args[0].op == "symbol":
                forced[part.args[0]] = part.args[1]
    return forced


def with_waits_as_stops(program: Program) -> Program:
    """The program in which a thread that waits in a loop counts as stopped, as one does that a loop bound has stopped: what it
    waits for may be what that one would have done."""
    threads = [
        t._replace(execution=replace(t.execution, cut=terms.any_of([t.execution.cut, *[s.guard for s in t.execution.stuck]])))
        for t in program.threads
    ]  # fmt: skip
    return replace(program, threads=tuple(threads))

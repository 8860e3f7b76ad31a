"""The question, and who answers it: outcomes of a program under a model, by solving or by enumeration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from axioms.cat.model import Model
from axioms.encode.cut_off import unbounded
from axioms.errors import UnsupportedProgram
from axioms.passes import reduced
from axioms.program import Program
from axioms.witness.asked import refuse
from axioms.witness.execution import Execution
from axioms.witness.fitted import fitted
from axioms.witness.races import FREED, MISUSE, UNSET, wanted_flags
from axioms.witness.result import Decision, states_to_list
from axioms.witness.tearing import with_tearing
from ptxcore.clock import OutOfTime
from ptxcore.isa.effect_kinds import FREE, kinds_with

#: What waits for other threads.
_MEETING = kinds_with("meets")
_BOTH = frozenset((True, False))
#: So many outcomes are asked for with values that nothing determines.
_FEW = 4


def decide(
    program: Program,
    model: Model,
    *,
    engine: str = "solve",
    backend: str | None = None,
    deadline: float | None = None,
    steps: int | None = None,
    max_states: int | None = None,
    explain: bool = False,
    witnesses: bool = True,
    races: bool = False,
    why: bool = False,
    settles: bool | None = None,
    partial: bool = False,
    truths: frozenset[bool] | None = None,
) -> Decision:
    """All outcomes of `program` that `model` allows, with a witness for each.

    `engine` is `solve` or `enumerate` (brute force, an independent oracle for small programs); `backend` forces `sat` or
    `z3`; `deadline` is a time of `time.monotonic`, after which OutOfTime is raised; brute force raises it after so many
    `steps` too. With `explain`, a proposition that nothing satisfies comes with the axioms that forbid it, with `why` also
    with the way in which it would break one. With `races` every kind of race is searched for that the model has a flag for;
    those that make a program undefined are always decided. `settles` is a truth of the condition: one outcome with it is
    enough, others may be left out (`listed_all` says so). With `partial` what was found until the deadline is given, and the
    decision says why it `stopped`; OutOfTime is raised only where nothing was looked at. Every witness is re-checked;
    `witnesses=False` only spares writing them out. `truths` of the condition are those whose outcomes the answer hangs on,
    by default `settles`, or both: where values that nothing determines decide whether there are such, the program is
    undefined (see `axioms.events.undetermined`). Raises UnsupportedProgram for what is not decided yet, EngineDefect when
    the engine contradicts itself.
    """
    if max_states is None:
        max_states = states_to_list(program.size)
    if FREE in program.kinds and all(flag.name != FREED for flag in model.flags):
        raise UnsupportedProgram(f"the model has no flag '{FREED}': it does not say when memory may be given back")
    if model.residual is not None:
        refuse(program, model)
        explain = why = False
    if engine == "solve" and not (races or why or explain):
        quick = _by_one_outcome(program, model, deadline)
        if quick is not None:
            return quick
    asked = with_tearing(reduced(program, model) if engine == "solve" and model.residual is None else program, model)
    fit = fitted(model, asked, wanted_flags(model, races))
    decision = _decided(asked, fit, engine, backend, deadline, steps, max_states, witnesses, races, settles)
    if decision.stopped is None and decision.undefined is None:
        try:
            _look_at_beginnings(program, model, decision, engine, backend, deadline, steps, races)
        except OutOfTime as error:
            decision.stopped = error
    if decision.stopped is not None and not partial:
        raise decision.stopped
    decision.unset = [r for r in decision.races if r.kind == UNSET]
    decision.races = [r for r in decision.races if r.kind not in MISUSE and r.kind != UNSET]
    if program.undetermined and decision.undefined is None and decision.stopped is None:
        hangs_on = truths if truths is not None else _BOTH if settles is None else frozenset((settles,))
        more = {"deadline": deadline, "steps": steps, "races": races, "settles": settles}
        _depends(program, model, decision, hangs_on, engine, backend, partial, more)
    if (why or (explain and engine == "solve")) and decision.stopped is None and decision.ends:
        # Without an axiom, or with something weaker in it, reads may return what they cannot as it stands.
        plain = with_tearing(program, model)
        from axioms.explain.forbidding import explain as explain_decision

        explain_decision(plain, fitted(model, plain, wanted_flags(model, races)), decision, deadline, patient=why)
        if why:
            from axioms.explain.why import why as tell_why

            tell_why(plain, model, decision, deadline)
    return decision


def executions(
    program: Program,
    model: Model,
    *,
    engine: str = "solve",
    backend: str | None = None,
    deadline: float | None = None,
    steps: int | None = None,
) -> Iterator[tuple[Execution, bool]]:
    """Every execution that `model` allows and in which all threads end, as they are found, each with whether it satisfies the
    condition; arguments as those of `decide`. Two are one where the same events happen, with the same `rf`, orders, barrier
    instances and final values. Passes that leave something out should be left out themselves (`axioms.passes`).

    Raises UnsupportedProgram where values have no bound, and OutOfTime.
    """
    from axioms.encode import executions as encoded
    from axioms.oracle import outcomes as oracle
    from axioms.sat.values import TooManyValues

    refuse(program, model)
    asked = with_tearing(program, model)
    fit = fitted(model, asked, wanted_flags(model, False))
    if engine == "enumerate":
        found = oracle.executions(asked, fit, deadline=deadline, steps=steps)
    else:
        found = encoded.executions(asked, fit, backend=backend, deadline=deadline)
    try:
        for candidate, holds in found:
            yield candidate.execution(candidate.state()), holds
    except TooManyValues:
        raise unbounded() from None


def _look_at_beginnings(
    program: Program,
    model: Model,
    decision: Decision,
    engine: str,
    backend: str | None,
    deadline: float | None,
    steps: int | None,
    races: bool,
) -> None:
    """Adds what is wrong in executions that do not end."""
    if (
        all(t.execution.finishes == 1 for t in program.threads)
        and program.kinds.isdisjoint(_MEETING)
        and not program.kernels
    ):
        return
    from axioms.liveness import beginnings

    if not beginnings.may_not_end(program, model):
        return
    if engine == "enumerate":
        from axioms.oracle.beginnings import look

        look(with_tearing(program, model), model, decision, races=races, deadline=deadline, steps=steps)
    else:
        beginnings.look(program, model, decision, races=races, backend=backend, deadline=deadline)
    if decision.undefined is not None and decision.complete and not decision.ends:
        decision.undefined = replace(decision.undefined, nonterminating=True)


def _by_one_outcome(program: Program, model: Model, deadline: float | None) -> Decision | None:
    """The outcomes of a program with loops of which only is asked whether it ends, where that is quickly seen."""
    if not program.is_bounded or program.observed or program.undefined_behaviours or type(program.condition) is not int:
        return None
    if fitted(model, program, wanted_flags(model, False)).flags:
        return None
    from axioms.liveness.interleave import decided_by_one

    return decided_by_one(program, model, deadline)


def _depends(
    program: Program,
    model: Model,
    decision: Decision,
    truths: frozenset[bool],
    engine: str,
    backend: str | None,
    partial: bool,
    more: Mapping[str, Any],
) -> None:
    """Notes in a decision that it depends on what nothing determines."""
    from axioms.dependence import depends
    from axioms.events.undetermined import is_chosen

    if is_chosen(program.options):
        return

    def noted(found: Decision) -> Decision:
        decision.complete = decision.complete and found.complete  # a bound that cuts with any number may matter
        return found

    def again(other: Program) -> Decision:
        return noted(decide(other, model, engine=engine, backend=backend, witnesses=False, **more))

    def by_solver(other: Program) -> Decision:
        return noted(decide(other, model, witnesses=False, max_states=_FEW, **{**more, "settles": None}))

    try:
        reason = depends(
            program, decision, truths, again, None if engine == "enumerate" or backend == "sat" else by_solver
        )
    except OutOfTime as error:
        if not partial:
            raise
        decision.stopped = error
        return
    decision.undefined = decision.undefined or reason


def _decided(
    program: Program,
    model: Model,
    engine: str,
    backend: str | None,
    deadline: float | None,
    steps: int | None,
    max_states: int,
    witnesses: bool,
    races: bool,
    settles: bool | None,
) -> Decision:
    if engine == "enumerate":
        from axioms.oracle import outcomes as oracle

        return oracle.decide(program, model, deadline=deadline, max_states=max_states, races=races, steps=steps)
    from axioms.encode import solve
    from axioms.sat.values import TooManyValues

    try:
        return solve.decide(
            program, model, backend=backend, deadline=deadline, max_states=max_states, witnesses=witnesses, races=races,
            settles=settles,
        )  # fmt: skip
    except TooManyValues:
        if backend == "sat":
            raise unbounded() from None
        from axioms.encode.symbolic import decide_symbolic

        return decide_symbolic(program, model, deadline=deadline, max_states=max_states, races=races, settles=settles)

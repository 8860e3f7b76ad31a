"""The question, and who answers it: outcomes of a program under a model, by solving or by enumeration."""

from __future__ import annotations

from axioms.cat.model import Model
from axioms.facts import fitted
from axioms.program import Program, UnsupportedProgram
from axioms.races import FREED, MISUSE, UNSET, wanted_flags
from axioms.result import Decision, states_to_list
from axioms.tearing import with_tearing

#: Programs of so many events at most are decided as they are: that takes less time than to find out what is settled.
_SMALL = 64


def decide(
    program: Program,
    model: Model,
    *,
    engine: str = "solve",
    backend: str | None = None,
    deadline: float | None = None,
    max_states: int | None = None,
    explain: bool = False,
    witnesses: bool = True,
    races: bool = False,
    why: bool = False,
    settles: bool | None = None,
) -> Decision:
    """All outcomes of `program` that `model` allows, with a witness for each.

    `engine` is `solve` or `enumerate` (brute force, an independent oracle for small programs); `backend` forces `sat` or `z3`;
    `deadline` is a time of `time.monotonic`, after which OutOfTime is raised. With `explain`, a proposition that nothing
    satisfies comes with the axioms that forbid it, with `why` also with the way in which it would break one. With `races`
    every kind of race is searched for that the model has a flag for; those that make a program undefined are always decided.
    `settles` is a truth of the condition: one outcome with it is enough, others may be left out (`listed_all` says so).
    Every witness is re-checked; `witnesses=False` only spares writing them out. Raises UnsupportedProgram for what is not
    decided yet, EngineDefect when the engine contradicts itself.
    """
    if max_states is None:
        max_states = states_to_list(program.size)
    if "free" in program.kinds and all(flag.name != FREED for flag in model.flags):
        raise UnsupportedProgram(f"the model has no flag '{FREED}': it does not say when memory may be given back")
    asked = with_tearing(_settled(program, model) if engine == "solve" else program, model)
    fit = fitted(model, asked, wanted_flags(model, races))
    decision = _decided(asked, fit, engine, backend, deadline, max_states, witnesses, races, settles)
    decision.unset = [r for r in decision.races if r.kind == UNSET]
    decision.races = [r for r in decision.races if r.kind not in MISUSE and r.kind != UNSET]
    if why or (explain and engine == "solve"):
        # Without an axiom, or with something weaker in it, reads may return what they cannot as it stands.
        plain = with_tearing(program, model)
        from axioms.explain import explain as explain_decision

        explain_decision(plain, fitted(model, plain, wanted_flags(model, races)), decision, deadline)
        if why:
            from axioms.why import why as tell_why

            tell_why(plain, model, decision, deadline)
    return decision


def _settled(program: Program, model: Model) -> Program:
    """The program with what its reads return put in, as far as that is known before solving: see `axioms.settled`."""
    if program.size <= _SMALL or program.kinds.isdisjoint(("barrier", "atom", "red")):
        return program
    from axioms.settled import MODELS

    return program.settled() if model.name in MODELS else program


def _decided(
    program: Program,
    model: Model,
    engine: str,
    backend: str | None,
    deadline: float | None,
    max_states: int,
    witnesses: bool,
    races: bool,
    settles: bool | None,
) -> Decision:
    if engine == "enumerate":
        from axioms import enumerate as oracle

        return oracle.decide(program, model, deadline=deadline, max_states=max_states, races=races)
    from axioms import solve
    from axioms.values import TooManyValues

    try:
        return solve.decide(
            program, model, backend=backend, deadline=deadline, max_states=max_states, witnesses=witnesses, races=races,
            settles=settles,
        )  # fmt: skip
    except TooManyValues:
        if backend == "sat":
            raise unbounded() from None
        from axioms.symbolic import decide_symbolic

        return decide_symbolic(program, model, deadline=deadline, max_states=max_states, races=races, settles=settles)


def unbounded() -> UnsupportedProgram:
    """What a SAT solver alone says of values that are too many to be told apart by literals."""
    return UnsupportedProgram("values that no finite set bounds: only Z3 decides them, not --backend sat")

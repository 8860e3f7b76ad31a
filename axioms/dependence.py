"""Whether an answer depends on what the manual leaves open: see `axioms.events.undetermined`.

a program has numbers for such values, first numbers that nobody else computes with
its answer is compared with those that other numbers give: the same for all of them, numbers that the program and its
condition name, what these add up to; with the solver whatever number would change it, as far as one is found
where one of them answers otherwise, the test is undefined

An execution that does not end with the first numbers is asked for with all of them at once: the solver leaves the values open.
So where there is none, that is proven for every number; where there is one, the answer depends on them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from axioms.errors import UnsupportedProgram
from axioms.events.undetermined import OPTION, WIDTH, is_chosen
from axioms.program import Observable, Program, showing, with_options
from axioms.witness.result import Decision, Undefined
from axioms.witness.stalls import Bounded, Stall
from ptxcore.isa.effect_kinds import COLLECTIVE
from ptxcore.machine.ir.collective import UNDETERMINED
from ptxcore.records import NamedTuple
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

_SHUFFLE = "a shuffle from a lane that is not there, has exited, or is not in the member mask gives any value"
_PRODUCT = (
    "a sum of products of matrices may be added and rounded in any order, which gives other values than the exact sum"
)
#: So many numbers of the program are tried, and so many combinations of them.
_MOST_NUMBERS, _MOST_SUMS = 12, 24
#: Outcomes with open values are asked for of programs of so many events.
_MOST_EVENTS = 300


def with_way(program: Program, way: str) -> Program:
    """The program with other numbers."""
    kept = [option for option in program.options if not option.startswith(OPTION)]
    return with_options(program, frozenset([*kept, OPTION + way]))


#: Decides a program: its outcomes, its races.
Decide = Callable[[Program], Decision]


class DependentAnswer(NamedTuple):
    """What of a decision a test's answer hangs on."""

    outcomes: tuple[bool, ...]
    races: bool
    undefined: bool


def depends(
    program: Program, decision: Decision, truths: frozenset[bool], decide: Decide, by_solver: Decide | None
) -> Undefined | None:
    """Why the answer depends on what is left open; None where no number was found that changes it. `decision` is that of the
    program as it stands. The answer hangs on whether there is an outcome with one of `truths`, and on races. `decide` decides
    the program with other numbers, `by_solver` (where there is one) with open ones."""

    def answer(found: Decision) -> DependentAnswer:
        counted = {True: found.positive > 0, False: found.negative > 0}
        return DependentAnswer(
            tuple(counted[t] for t in sorted(truths)), bool(found.races), found.undefined is not None
        )

    before = answer(decision)
    loose = _loose(program)
    if loose is not None and not _is_used(loose):
        return None
    for way in _ways(loose, sums=by_solver is None):
        found = decide(with_way(program, way))
        if answer(found) != before:
            return found.undefined or _why(program)
    if by_solver is None or loose is None or program.size > _MOST_EVENTS:
        return None
    return _found_by_solver(program, loose, before, answer, decide, by_solver)


#: Looks in a program for an execution that does not end as it should.
Find = Callable[[Program], Stall | Bounded | None]


def with_any_numbers(program: Program, find: Find, *, by_solver: bool) -> Stall | Bounded | None:
    """What `find` finds in a program, whatever the values are that nothing determines. An execution that only some of them
    have is undefined; None only where none of them has any. `by_solver`: `find` can be asked with open values."""
    found = find(program)
    if not program.undetermined or is_chosen(program.options):
        return found
    loose = _loose(program)
    if loose is not None and not _is_used(loose):
        return found
    ways = (with_way(program, way) for way in _ways(loose, sums=not by_solver))
    if isinstance(found, Stall):
        return found if all(find(other) is not None for other in ways) else _undefined(program, found)
    for other in [loose] if by_solver and loose is not None else ways:
        more = find(other)
        if isinstance(more, Stall):
            return _undefined(program, more)
        found = found or more
    return found


def _why(program: Program) -> Undefined:
    """What is open, of which the answer depends."""
    names = {symbol.args[0][2].partition(".")[0] for symbol in program.undetermined}
    reasons = [*[_PRODUCT] * bool(names & {"mma", "wmma"}), *[_SHUFFLE] * bool(names - {"mma", "wmma"})]
    return Undefined(f"{', or '.join(reasons)}, and the answer depends on it")


def _undefined(program: Program, stall: Stall) -> Stall:
    return stall._replace(undefined=stall.undefined or _why(program))


def _found_by_solver(
    program: Program,
    loose: Program,
    before: DependentAnswer,
    answer: Callable[[Decision], DependentAnswer],
    decide: Decide,
    by_solver: Decide,
) -> Undefined | None:
    """Asks for outcomes and races with any numbers, and tries the numbers of each kind of outcome."""
    shown = [Observable(f"{UNDETERMINED} {i}", s, WIDTH) for i, s in enumerate(program.undetermined)]
    try:
        found = by_solver(showing(loose, shown))
    except UnsupportedProgram:
        return None
    if (found.races and not before.races) or (found.undefined and not before.undefined):
        return found.undefined or _why(program)
    for state in found.states:  # a few, with one of each kind among them
        numbers = ",".join(str(state[o.label] & terms.mask(WIDTH)) for o in shown)
        other = decide(with_way(program, f"these:{numbers}"))
        if answer(other) != before:
            return other.undefined or _why(program)
    return None


def _loose(program: Program) -> Program | None:
    """The program with the values left open; None where it cannot be laid out without knowing them."""
    try:
        return with_way(program, "open")
    except UnsupportedProgram:
        return None


def _is_used(loose: Program) -> bool:
    """Whether anything that counts is computed from values that are open."""
    wanted = set(loose.undetermined)
    return any(type(v) is Term and not wanted.isdisjoint(terms.symbols_of(v)) for v in _values(loose))


def _ways(loose: Program | None, *, sums: bool) -> Iterator[str]:
    yield from ("all:0", "each:1", f"all:{terms.mask(WIDTH)}")
    named = [] if loose is None else list(dict.fromkeys(itertools.islice(_numbers(loose), _MOST_NUMBERS)))
    near = [n + d for n in named for d in (0, -1, 1)]
    more = [f(a, b) for a, b in itertools.permutations(named, 2) for f in (int.__sub__, int.__add__, int.__xor__)]
    candidates = [*near, *(more[:_MOST_SUMS] if sums else ())]
    yield from (
        f"all:{n}" for n in dict.fromkeys(c & terms.mask(WIDTH) for c in candidates) if n not in (0, terms.mask(WIDTH))
    )


def _values(program: Program) -> Iterator[Value]:
    """The condition, and what threads compute."""
    yield from (program.condition, program.filter)
    for thread in program.threads:
        execution = thread.execution
        for e in execution.effects:
            if e.kind is COLLECTIVE:  # who takes part; what it gives stands in the program's definitions
                yield from (e.guard, e.mask)
            else:
                yield from (
                    e.guard,
                    e.address,
                    e.source,
                    e.operand,
                    e.mask,
                    e.fill,
                    e.selected,
                    e.complete,
                    e.writes,
                    e.pending,
                )
                yield from (v for v in (e.value, e.size, e.identity, e.count) if v is not None)
        yield from (execution.finishes, execution.cut, *[s.guard for s in execution.stuck])
        yield from (v for x in execution.requirements for v in (x.guard, x.condition))


def _numbers(program: Program) -> Iterator[int]:
    """The numbers that the condition names, then those that threads compute with."""
    for value in _values(program):
        for term in terms.subterms([value]):
            if term.op not in ("extract", "zext", "sext", "concat", "symbol"):
                yield from (a for a in term.args if type(a) is int)

"""What the manual leaves open: what `shfl` gives of a lane that has exited, is inactive, or is not in the member mask (PTX ISA
9.0, sections 9.7.9.5 and 9.7.9.6, "results are undefined"). It is any value, and a test has no answer that depends on it:

    a program has numbers for such values, first numbers that nobody else computes with
    its answer is compared with those that other numbers give: the same for all of them, numbers that the program and its
    condition name, what these add up to; with the solver whatever number would change it, as far as one is found
    where one of them answers otherwise, the test is undefined

Both engines choose the same numbers. They are part of a program's options, `undetermined=...`, so that whatever is made of the
program has them too: `all:N` is N everywhere, `each:S` one for each lane, `these:N,N,...` one for each value, in their order;
`open` leaves the values open.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from axioms.events import UnsupportedProgram
from ptxcore.machine.collective import UNDETERMINED
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

if TYPE_CHECKING:
    from axioms.program import Program
    from axioms.result import Decision

REASON = (
    "a shuffle from a lane that is not there, has exited, or is not in the member mask gives any value, and the answer depends "
    "on it"
)
_OPTION = "undetermined="
_FIRST = "each:0"
_WIDTH = 32
#: So many numbers of the program are tried, and so many combinations of them.
_MOST_NUMBERS, _MOST_SUMS = 12, 24
#: Outcomes with open values are asked for of programs of so many events.
_MOST_EVENTS = 300


def values_in(definitions: Mapping[Term, Value]) -> tuple[Term, ...]:
    """Those that definitions have in them."""
    found: set[Term] = set()
    for value in definitions.values():
        for symbol in terms.symbols_of(value) if type(value) is Term else ():
            if isinstance(symbol.args[0], tuple) and symbol.args[0][0] == UNDETERMINED:
                found.add(symbol)
    return tuple(sorted(found, key=lambda s: s.serial))


def is_chosen(options: Iterable[str]) -> bool:
    """Whether somebody has said how numbers are chosen."""
    return any(o.startswith(_OPTION) for o in options)


def way_of(options: Iterable[str]) -> str:
    """How a program's options choose numbers."""
    return next((o.removeprefix(_OPTION) for o in options if o.startswith(_OPTION)), _FIRST)


def number(way: str, lane: int, instruction: str) -> int:
    """The number that a way gives for an instruction in a lane."""
    kind, _, rest = way.partition(":")
    if kind == "each":
        mixed = (lane + 1) * 0x9E3779B1 + (int(rest) + 1) * 0x85EBCA6B + zlib.crc32(instruction.encode())
        return (mixed ^ mixed >> 15) * 0x2C1B3C6D & terms.mask(_WIDTH) | 1
    return int(rest) & terms.mask(_WIDTH)


def chosen(symbols: Sequence[Term], options: Iterable[str]) -> dict[Term, Value]:
    """The numbers that options give; none where they leave the values open."""
    way = way_of(options)
    if way == "open":
        return {}
    if way.startswith("these:"):
        numbers = map(int, way.removeprefix("these:").split(","))
        return dict(zip(symbols, numbers, strict=True))
    found: dict[Term, Value] = {}
    for symbol in symbols:
        name = symbol.args[0]
        assert isinstance(name, tuple)
        found[symbol] = number(way, name[1], name[2])
    return found


def with_way(program: Program, way: str) -> Program:
    """The program with other numbers."""
    return program.cut((), frozenset([*[o for o in program.options if not o.startswith(_OPTION)], _OPTION + way]))


#: Decides a program: its outcomes, its races.
Decide = Callable[["Program"], "Decision"]
#: What of a decision a test's answer hangs on.
Answer = tuple[object, ...]


def depends(
    program: Program, decision: Decision, truths: frozenset[bool], decide: Decide, by_solver: Decide | None
) -> str | None:
    """Why the answer depends on what is left open; None where no number was found that changes it. `decision` is that of the
    program as it stands. The answer hangs on whether there is an outcome with one of `truths`, and on races. `decide` decides
    the program with other numbers, `by_solver` (where there is one) with open ones."""

    def answer(found: Decision) -> Answer:
        counted = {True: found.positive > 0, False: found.negative > 0}
        return tuple(counted[t] for t in sorted(truths)), bool(found.races), found.undefined is not None

    before = answer(decision)
    loose = _loose(program)
    if loose is not None and not _is_used(loose):
        return None
    for way in _ways(loose, sums=by_solver is None):
        found = decide(with_way(program, way))
        if answer(found) != before:
            return found.undefined or REASON
    if by_solver is None or loose is None or program.size > _MOST_EVENTS:
        return None
    return _found_by_solver(program, loose, before, answer, decide, by_solver)


def _found_by_solver(
    program: Program,
    loose: Program,
    before: Answer,
    answer: Callable[[Decision], Answer],
    decide: Decide,
    by_solver: Decide,
) -> str | None:
    """Asks for outcomes with any numbers, and tries the numbers of each kind of outcome."""
    from axioms.program import Observable

    shown = [Observable(f"{UNDETERMINED} {i}", s, _WIDTH) for i, s in enumerate(program.undetermined)]
    try:
        found = by_solver(loose.showing(shown))
    except UnsupportedProgram:
        return None
    for state in found.states:  # a few, with one of each kind among them
        numbers = ",".join(str(state[o.label] & terms.mask(_WIDTH)) for o in shown)
        other = decide(with_way(program, f"these:{numbers}"))
        if answer(other) != before:
            return other.undefined or REASON
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
    yield from ("all:0", "each:1", f"all:{terms.mask(_WIDTH)}")
    named = [] if loose is None else list(dict.fromkeys(itertools.islice(_numbers(loose), _MOST_NUMBERS)))
    near = [n + d for n in named for d in (0, -1, 1)]
    more = [f(a, b) for a, b in itertools.permutations(named, 2) for f in (int.__sub__, int.__add__, int.__xor__)]
    candidates = [*near, *(more[:_MOST_SUMS] if sums else ())]
    yield from (
        f"all:{n}"
        for n in dict.fromkeys(c & terms.mask(_WIDTH) for c in candidates)
        if n not in (0, terms.mask(_WIDTH))
    )


def _values(program: Program) -> Iterator[Value]:
    """The condition, and what threads compute."""
    yield from (program.condition, program.filter)
    for thread in program.threads:
        execution = thread.execution
        for e in execution.effects:
            if e.kind != "collective":
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


__all__ = ["REASON", "chosen", "depends", "number", "values_in", "way_of", "with_way"]

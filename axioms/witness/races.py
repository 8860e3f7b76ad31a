"""Races: the pairs of events that a model's flags are raised for, and the executions that raise them.

A flag `~empty R as KIND` of a model tells of pairs of events in consistent executions in which every thread ends. Flags are
asked for one after another, as they stand in the file, and a pair of instructions is told of under each that some execution
raises. Only those of `ONE_OF` are names for what may be one thing, a pair of accesses that nothing orders: of these, a pair
has the first.

Executions that a loop bound cuts off, and those in which a thread does not terminate, are no executions here: their races are
found in beginnings of executions, see `axioms.liveness.beginnings`.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator

from axioms.cat.evaluate import bits
from axioms.cat.model import Axiom, Model
from axioms.errors import UnsupportedProgram
from axioms.program import Event, Program
from axioms.witness.candidate import Candidate
from axioms.witness.result import Race, Site, Undefined, site_of
from ptxcore.values import terms
from ptxcore.values.terms import Value

#: The flag of what is done to memory that `free` takes back.
FREED = "freed"
#: Flags that leave a program without a meaning, and why.
UNDEFINED = {
    "mixed-size": "a mixed-size race: accesses of different sizes to the same bytes, which nothing orders",
    "async": "an access that nothing orders with that of an asynchronous operation to the same bytes",
    "overwritten": "an access to the bytes of an mbarrier object that is in use",
    "early": "an arrival at a barrier by a thread that has arrived there before, maybe before others have",
    "unfinished": "an asynchronous operation that nobody waited for when its kernel ended",
    "exited": "an access to the shared memory of a CTA that may have ended by then",
    "undefined": "an execution that the model does not define: it breaks what `undefined_unless` demands",
    FREED: "memory that is given back by free, and accessed or given back by what does not certainly come before",
    "initialisation": "an operation on an mbarrier object before which its initialisation does not certainly come",
}

#: Those of them that are no races.
MISUSE = frozenset(UNDEFINED) - {"mixed-size", "async"}

#: The flag of a read that may find what nothing wrote: neither a race nor misuse, but the answer hangs on what it finds.
UNSET = "unset"

#: Flags of what nobody did until an end came: of the kernel whose threads started an operation, of the CTA whose memory it is.
BY_THE_END = frozenset(("unfinished", "exited"))

#: The kinds of races, of which a pair of accesses has one: the first in the order of the model's file.
ONE_OF = frozenset(("async", "war", "mixed-size", "proxy", "data"))

#: What a flag of another name says of the beginning of an execution, nobody knows.
_OF_BEGINNINGS = ONE_OF | frozenset(UNDEFINED) | {UNSET}

#: A pair of instructions: thread, line and effect of each.
CellPair = tuple[tuple[int, int, int], tuple[int, int, int]]
#: Under which condition a pair of events may raise a flag, by its name.
Only = Callable[[str, Event, Event], Value]


def wanted_flags(model: Model, all_kinds: bool) -> frozenset[str]:
    """The names of the flags that are decided: those that make programs undefined and `UNSET` always, the others if asked for.

    Raises UnsupportedProgram where one is not of the shape that is decided.
    """
    chosen = frozenset(f.name for f in model.flags if all_kinds or f.name in UNDEFINED or f.name == UNSET)
    for flag in model.flags:
        if flag.name in chosen and not (flag.negated and flag.kind == "empty"):
            raise UnsupportedProgram(f"the model's flag '{flag.name}' is not of the form 'flag ~empty R as NAME'")
    return chosen


def flags_of_beginnings(model: Model, all_kinds: bool) -> frozenset[str]:
    """Those of the flags that are wanted of which it is known what the beginning of an execution says."""
    return wanted_flags(model, all_kinds) & _OF_BEGINNINGS


def add_races(known: list[Race], more: Iterable[Race]) -> None:
    """Adds races that are not told of. Of a pair of accesses one race is told, as elsewhere."""
    told = {("" if r.kind in ONE_OF else r.kind, *r.events) for r in known}
    known += [r for r in more if ("" if r.kind in ONE_OF else r.kind, *r.events) not in told]


class Tellings:
    """The pairs of instructions that were told of, by what must not be told of them again."""

    def __init__(self) -> None:
        self._told: dict[str, set[CellPair]] = {}

    def of(self, name: str) -> set[CellPair]:
        return self._told.setdefault("" if name in ONE_OF else name, set())


def raised(flag: Axiom, candidate: Candidate, only: Only | None = None) -> Iterator[tuple[CellPair, int, int]]:
    """The pairs of events of one execution that raise a flag, of those that count."""
    events = candidate.program.events
    symbols = collections.defaultdict(int, candidate.symbols)  # what was not executed has no value, and decides nothing
    for i, row in enumerate(candidate.evaluation.rows(flag.node)):
        for j in bits(row):
            if only is None or terms.evaluate(only(flag.name, events[i], events[j]), symbols):
                yield pair_of(events[i], events[j]), i, j


def race(kind: str, candidate: Candidate, i: int, j: int) -> Race:
    """A race, with the execution in which it happens."""
    program = candidate.program
    rows = [0] * program.size
    rows[i] |= 1 << j
    first, second = sorted((i, j))
    events = (_site(program, program.events[first]), _site(program, program.events[second]))
    return Race(kind, events, candidate.execution(candidate.state(), more={"race": rows}))


def _site(program: Program, event: Event) -> Site:
    if event.effect is None:
        return Site(-1, "", 0, f"{program.cells[event.cell].name} = {event.value}")
    return site_of(program.threads, event.thread, event.effect.instruction)


def pair_of(a: Event, b: Event) -> CellPair:
    """The pair of instructions that two events are of."""
    first, second = sorted((_place(a), _place(b)))
    return first, second


def _place(event: Event) -> tuple[int, int, int]:
    if event.effect is None:
        return -1, event.cell, 0
    span = event.effect.instruction.span
    return event.thread, span.line, span.column


class SeenRaces:
    """The races of executions that come one by one, as brute force has them."""

    def __init__(self, model: Model) -> None:
        self.flags = model.flags
        self.first: list[dict[CellPair, Race]] = [{} for _ in self.flags]
        self.asked = RacesAsked()

    def add(self, candidate: Candidate, only: Only | None = None) -> None:
        for flag, known in zip(self.flags, self.first, strict=True):
            for pair, i, j in raised(flag, candidate, only):
                if pair not in known:
                    known[pair] = race(flag.name, candidate, i, j)
        self.asked.add(candidate)

    def races(self) -> list[Race]:
        races: list[Race] = []
        tellings = Tellings()
        for flag, known in zip(self.flags, self.first, strict=True):
            told = tellings.of(flag.name)
            races += [found for pair, found in known.items() if pair not in told]
            told.update(known)
        return races + self.asked.races


class RacesAsked:
    """The races of which executions tell when they are asked one by one, see `axioms.cat.residual`."""

    def __init__(self) -> None:
        self.races: list[Race] = []
        self._told: set[tuple[str, CellPair]] = set()

    def add(self, candidate: Candidate) -> None:
        """Takes those of one more execution."""
        if candidate.model.residual is None:
            return
        from axioms.witness.asked import flags_asked

        events = candidate.program.events
        for name, i, j in flags_asked(candidate):
            key = name, pair_of(events[i], events[j])
            if key not in self._told:
                self._told.add(key)
                self.races.append(race(name, candidate, i, j))


def undefined(races: Iterable[Race]) -> Undefined | None:
    """Why a program has no meaning, if one of its races says so."""
    race = next((r for r in races if r.kind in UNDEFINED), None)
    return race and Undefined(UNDEFINED[race.kind], tuple(dict.fromkeys(race.events)), race.kind)

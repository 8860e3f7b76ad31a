"""The program itself: a value that never changes.

Events are listed in one order: initial writes first, then thread by thread in program order. Relations known in advance are
rows of bitsets over that order. They say what holds *if both events are executed*; whether they are is the solver's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from axioms.events.event import Event, ProgramThread, UndefinedBehaviour
from axioms.events.event_kinds import READ, WRITE
from axioms.events.memory import AddressSpace, Cell, CellLayout, GuardedLocation, Object
from axioms.models.options import passes_off
from axioms.program.source import Observable, ProgramSource, final_symbol
from ptxcore.isa.effect_kinds import EffectKind
from ptxcore.records import dataclass
from ptxcore.values.terms import Term, Value

if TYPE_CHECKING:
    from axioms.analysis.constant_reads import ConstantReads
    from axioms.events.definitions import Definitions
    from axioms.events.launches import Grids, KernelThreads
    from axioms.events.value_sets import LaterFlow, NumberSet

#: Reads of more bits may be torn even with the option `no-tearing`.
_WHOLE_BITS = 64


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Program:
    """See the module. `threads`, `observed`, `condition` and `filter` are those of the `source` with all definitions put in;
    `kinds` are those of its effects. `places` has for each access (thread and effect's index) where each of its spans may
    go, `by_effect` the events of each effect, thread by thread. `undefined_behaviours` are what makes the behaviour undefined.
    `flow`: which numbers reads may return, as their effects stand before cells are known. `grids` are None in a program without
    kernels. `finals` are the cells whose final values count, each with its symbol.

    `undetermined` are values that nothing says anything of, see `axioms.events.undetermined`; `open` are those that have no
    number here. `uncut` are the threads as they are before what stands for several cells was cut into pieces: new programs are
    made of them, since of an address that is put together from pieces nobody knows any more where it may lead. `pieces` puts
    these in: for values of `uncut` that somebody asks this program about. `well_used`: executions that misuse a barrier are
    not looked at."""

    source: ProgramSource
    threads: tuple[ProgramThread, ...]
    observed: tuple[Observable, ...]
    condition: Value
    filter: Value
    kinds: frozenset[EffectKind]
    objects: tuple[Object, ...]
    space: AddressSpace
    layout: CellLayout
    cells: Sequence[Cell]
    flow: LaterFlow
    places: Mapping[tuple[int, int], list[list[GuardedLocation]]]
    events: Sequence[Event]
    size: int
    by_effect: Sequence[Mapping[int, list[Event]]]
    undefined_behaviours: Sequence[UndefinedBehaviour]
    relations: Mapping[str, list[int]]
    grids: Grids | None
    finals: Sequence[tuple[int, Term]]
    undetermined: tuple[Term, ...]
    open: tuple[Term, ...]
    uncut: tuple[ProgramThread, ...]
    pieces: Definitions
    options: frozenset[str]
    kernels: tuple[KernelThreads, ...]
    well_used: bool = False

    @property
    def unroll(self) -> int:
        """How often loop bodies ran at most."""
        return self.source.unroll

    @property
    def constant_reads(self) -> ConstantReads | None:
        """What reads return for certain, where that was asked."""
        return self.source.constant_reads

    @property
    def off(self) -> frozenset[str]:
        """The names of passes that are left out, see `axioms.passes`."""
        return passes_off(self.options)

    @property
    def is_bounded(self) -> bool:
        """Whether a loop bound may have cut executions off."""
        return any(t.execution.cut != 0 for t in self.threads)

    def tears(self, bits: int) -> bool:
        """Whether a read of so many bits may mix bytes of several writes of its size."""
        return bits > _WHOLE_BITS or "no-tearing" not in self.options

    def cells_at(self, thread: int, address: int, size: int) -> Sequence[int]:
        """The cells that so many bytes are which a thread finds at an address; none where there are no such bytes."""
        at = None if address % size else self.space.at(thread, address, size)
        return () if at is None else self.layout.covering(at[0].object, at[1], size)

    def location_of(self, event: Event) -> str | None:
        """What people call the bytes that an event accesses, or its mbarrier object."""
        return self.objects[event.object].label(event.offset, event.width // 8) if event.object >= 0 else None

    def final(self, cell: int) -> Term:
        """The symbol for a cell's value when all threads have ended."""
        return final_of(self.layout, cell)


def final_of(layout: CellLayout, cell: int) -> Term:
    """The symbol for a cell's value when all threads have ended."""
    c = layout.cells[cell]
    return final_symbol(c.object, c.offset, c.width)


def numbers_written(program: Program) -> Callable[[Event, int], NumberSet]:
    """Says which numbers a write may write to one of its cells; None for anything."""
    from axioms.analysis.carried import CarriedWrites

    return CarriedWrites(program.cells, program.events, program.flow, program.uncut).numbers


_members: WeakKeyDictionary[Program, Mapping[str, int]] = WeakKeyDictionary()


def members_by_tag(program: Program) -> Mapping[str, int]:
    """The events of each tag, as bitsets."""
    found = _members.get(program)
    if found is None:
        found = _members[program] = _members_by_tag(program)
    return found


def _members_by_tag(program: Program) -> dict[str, int]:
    by_tags: dict[frozenset[str], int] = {}
    for e in program.events:
        by_tags[e.tags] = by_tags.get(e.tags, 0) | 1 << e.index
    members: dict[str, int] = {}
    for tags, events in by_tags.items():
        for tag in tags:
            members[tag] = members.get(tag, 0) | events
    torn = sum(1 << e.index for e in program.events if e.kind is READ and len(e.cells) > 1)
    if torn:
        members["TORN"] = torn
    cells = frozenset(c for c, _ in program.finals)
    kept = (
        sum(1 << e.index for e in program.events if e.kind is WRITE and not cells.isdisjoint(e.cells)) if cells else 0
    )
    if kept:
        members["FINAL"] = kept
    return members

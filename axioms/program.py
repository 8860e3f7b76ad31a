"""A program as the engine sees it: guarded events, and the relations that are known before any solving.

Events are listed in one order: initial writes first, then thread by thread in program order. Relations known in advance are
rows of bitsets over that order. They say what holds *if both events are executed*; whether they are is the solver's business.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

from ptxcore.machine.code import ThreadCode
from ptxcore.machine.effects import Dependencies, Effect, ThreadExecution
from ptxcore.places import Place, includes
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value


class Cell(NamedTuple):
    """A physical location: `width` bits that are always accessed as a whole. `initial` is a number."""

    name: str
    width: int
    initial: int


class Virtual(NamedTuple):
    """What stands at a virtual address: a cell, and the number of the virtual mapping through which it is reached.

    Addresses of one mapping are the same virtual address to the model; those of different mappings are aliases.
    """

    cell: int
    mapping: int


class Thread(NamedTuple):
    """`code` re-executes the thread on numbers; `execution` is all its executions at once.

    Threads with equal `source` run the same program on the same memory; None where that is not known.
    """

    name: str
    place: Place
    code: ThreadCode
    execution: ThreadExecution
    source: Hashable = None


class Observable(NamedTuple):
    """Something that states list. `value` is a term over read results and final cells, of `width` bits."""

    label: str
    value: Value
    width: int
    signed: bool = False


class Event:
    """One event. `kind` is R, W, F or B; `tags` are the base sets it belongs to, but `_`.

    `guard` is the condition under which it is executed. For memory events `cell` and `mapping` say where; `value` is what a
    write writes, or the symbol that a read returns. `partner` is the other half of an atomic. `number` is the position in its
    thread's list of events.
    """

    __slots__ = ("cell", "effect", "guard", "index", "kind", "mapping", "partner", "tags", "thread", "value", "width")

    def __init__(
        self, index: int, thread: int, kind: str, tags: frozenset[str], guard: Value, effect: Effect | None = None
    ) -> None:
        self.index, self.thread, self.kind, self.tags, self.guard, self.effect = (
            index,
            thread,
            kind,
            tags,
            guard,
            effect,
        )
        self.cell = self.mapping = -1
        self.width = 0
        self.value: Value = 0
        self.partner: Event | None = None

    def __repr__(self) -> str:
        return f"{self.kind}{self.index}@{self.thread}"


class UnsupportedProgram(Exception):
    """The program uses something that the engine does not decide yet; the message names it."""


class Trouble(NamedTuple):
    """An access that may go where it must not: by which effect, under which condition, and to which cell if to any."""

    thread: int
    effect: Effect
    condition: Value
    cell: int = -1


class Program:
    """See the module. `condition` and `filter` are truth values over the symbols of reads and final cells.

    Loop bodies ran at most `unroll` times. `assemble` makes the same program of threads that were executed otherwise: on
    numbers, for instance.
    """

    def __init__(
        self,
        threads: Sequence[Thread],
        cells: Sequence[Cell],
        addresses: Mapping[int, Virtual],
        observed: Sequence[Observable] = (),
        condition: Value = 1,
        filter: Value = 1,
        *,
        unroll: int = 4,
        assemble: Callable[[Sequence[Thread]], Program] | None = None,
    ) -> None:
        self.unroll, self.assemble = unroll, assemble
        self.threads, self.cells, self.addresses = tuple(threads), tuple(cells), addresses
        self.observed, self.condition, self.filter = tuple(observed), condition, filter
        self.wild: list[Trouble] = []  # accesses to no location
        self.mixed: list[Trouble] = []  # accesses of another size than their location's
        self.events: list[Event] = []
        self.by_effect: list[dict[int, list[Event]]] = []
        self._collect()
        self.relations = _known_relations(self)

    @property
    def size(self) -> int:
        return len(self.events)

    @property
    def is_bounded(self) -> bool:
        """Whether a loop bound may have cut executions off."""
        return any(t.execution.cut != 0 for t in self.threads)

    def refuse_mixed(self) -> None:
        """Raises UnsupportedProgram for the first access of a wrong size, if there is one."""
        for trouble in self.mixed:
            cell, instruction = self.cells[trouble.cell], trouble.effect.instruction
            raise UnsupportedProgram(
                f"line {instruction.span.line}: an access of {trouble.effect.width} bits to '{cell.name}', which has "
                f"{cell.width}: mixed-size accesses are not supported yet"
            )

    def final(self, cell: int) -> Term:
        """The symbol for a cell's value when all threads have ended."""
        return final_symbol(cell, self.cells[cell].width)

    def _collect(self) -> None:
        for i, cell in enumerate(self.cells):
            event = Event(i, -1, "W", _INITIAL_TAGS, 1)
            event.cell, event.width, event.value = i, cell.width, cell.initial
            event.mapping = -1  # an initial write overlaps every mapping of its cell
            self.events.append(event)
        for t, thread in enumerate(self.threads):
            made: dict[int, list[Event]] = {}
            self.by_effect.append(made)
            for effect in thread.execution.effects:
                made[effect.index] = _EVENTS[effect.kind](self, t, effect)

    def new(self, thread: int, kind: str, tags: frozenset[str], guard: Value, effect: Effect) -> Event:
        event = Event(len(self.events), thread, kind, tags, guard, effect)
        self.events.append(event)
        return event


def final_symbol(cell: int, width: int) -> Term:
    return terms.symbol(("final", cell), width)


# From effects to events.

_INITIAL_TAGS = frozenset({"W", "M", "IW", "WEAK", "GEN", "SUR", "TEX", "CON"})
_PROXY_TAGS = {
    "generic": "GEN",
    "surface": "SUR",
    "texture": "TEX",
    "constant": "CON",
    "alias": "ALIAS",
    "async": "ASYNC",
}
_READ_TAGS = {"weak": "WEAK", "relaxed": "RLX", "acquire": "ACQ", "release": "RLX", "acq_rel": "ACQ"}
_WRITE_TAGS = {"weak": "WEAK", "relaxed": "RLX", "acquire": "RLX", "release": "REL", "acq_rel": "REL"}
_FENCE_TAGS = {"sc": "SC", "acq_rel": "ACQ_REL", "acquire": "ACQ", "release": "REL"}

_tag_sets: dict[tuple[str, ...], frozenset[str]] = {}


def _tags(*words: str) -> frozenset[str]:
    found = _tag_sets.get(words)  # as many entries as there are spellings of instructions: a few hundred at most
    if found is None:
        found = _tag_sets[words] = frozenset(w for w in words if w)
    return found


def _places(program: Program, thread: int, effect: Effect) -> list[tuple[Value, Virtual]]:
    """Where an access may go: the condition and the cell for each possible address.

    Addresses outside of every location, and cells of another size, are noted as trouble.
    """
    address = effect.address
    if isinstance(address, int):
        virtual = program.addresses.get(address)
        if virtual is None:
            program.wild.append(Trouble(thread, effect, effect.guard))
            return []
        candidates = [(effect.guard, virtual)]
    else:
        candidates, inside = [], []
        for a, virtual in program.addresses.items():
            here = terms.eq(address, a)
            if here != 0:
                inside.append(here)
                guard = terms.conj(effect.guard, here)
                if guard != 0:
                    candidates.append((guard, virtual))
        outside = terms.conj(effect.guard, terms.negate(terms.any_of(inside)))
        if outside != 0:
            program.wild.append(Trouble(thread, effect, outside))
    found = []
    for guard, virtual in candidates:
        if program.cells[virtual.cell].width == effect.width:
            found.append((guard, virtual))
        else:
            program.mixed.append(Trouble(thread, effect, guard, virtual.cell))
    return found


def _access(
    program: Program, thread: int, effect: Effect, kind: str, tags: frozenset[str], guard: Value, at: Virtual
) -> Event:
    event = program.new(thread, kind, tags, guard, effect)
    event.cell, event.mapping, event.width = at.cell, at.mapping, effect.width
    return event


def _scope_tag(effect: Effect) -> str:
    return effect.scope.upper() if effect.scope else ""


def _returned(effect: Effect) -> Value:
    """What a read returns: a symbol, or the number that a concrete run was given."""
    value = effect.answer if effect.result is None else effect.result
    assert value is not None
    return value


def _load(program: Program, thread: int, effect: Effect) -> list[Event]:
    returned = _returned(effect)
    tags = _tags("R", "M", _READ_TAGS[effect.semantics], _scope_tag(effect), _PROXY_TAGS[effect.proxy])
    events = []
    for guard, at in _places(program, thread, effect):
        event = _access(program, thread, effect, "R", tags, guard, at)
        event.value = returned
        events.append(event)
    return events


def _store(program: Program, thread: int, effect: Effect) -> list[Event]:
    assert effect.value is not None
    tags = _tags("W", "M", _WRITE_TAGS[effect.semantics], _scope_tag(effect), _PROXY_TAGS[effect.proxy])
    events = []
    for guard, at in _places(program, thread, effect):
        event = _access(program, thread, effect, "W", tags, guard, at)
        event.value = effect.value
        events.append(event)
    return events


def _atomic(program: Program, thread: int, effect: Effect) -> list[Event]:
    assert effect.value is not None
    returned = _returned(effect)
    sink = "RED" if effect.kind == "red" or not effect.returns else ""
    rest = ("M", "RMW", sink, _scope_tag(effect), _PROXY_TAGS[effect.proxy])
    read_tags = _tags("R", _READ_TAGS[effect.semantics], *rest)
    write_tags = _tags("W", _WRITE_TAGS[effect.semantics], *rest)
    events = []
    for guard, at in _places(program, thread, effect):
        read = _access(program, thread, effect, "R", read_tags, guard, at)
        read.value = returned
        events.append(read)
        writes = terms.conj(guard, effect.writes)
        if writes != 0:
            write = _access(program, thread, effect, "W", write_tags, writes, at)
            write.value = effect.value
            write.partner, read.partner = read, write
            events.append(write)
    return events


def _fence(program: Program, thread: int, effect: Effect) -> list[Event]:
    tags = _tags("F", _FENCE_TAGS[effect.semantics], _scope_tag(effect), "GEN")
    return [program.new(thread, "F", tags, effect.guard, effect)]


def _proxy_fence(program: Program, thread: int, effect: Effect) -> list[Event]:
    proxy = effect.proxy.split(".", 1)[0].split("::", 1)[0]
    if proxy not in _PROXY_TAGS:
        raise UnsupportedProgram(f"fence.proxy.{effect.proxy} is not supported yet")
    return [program.new(thread, "F", _tags("F", _PROXY_TAGS[proxy]), effect.guard, effect)]


def _barrier(program: Program, thread: int, effect: Effect) -> list[Event]:
    events = [program.new(thread, "B", _tags("BA"), effect.guard, effect)]
    if effect.barrier != "arrive":
        events.append(program.new(thread, "B", _tags("BW"), effect.guard, effect))
    return events


_EVENTS = {
    "load": _load,
    "store": _store,
    "atom": _atomic,
    "red": _atomic,
    "fence": _fence,
    "proxy_fence": _proxy_fence,
    "barrier": _barrier,
}

# Relations known before solving.


def _known_relations(program: Program) -> dict[str, list[int]]:
    events, n = program.events, program.size
    zero = [0] * n
    names = ("id", "po", "int", "ext", "loc", "vloc", "rmw", "sr", "scta")
    relations: dict[str, list[int]] = {name: list(zero) for name in names}
    relations["id"] = [1 << i for i in range(n)]
    relations["cov"] = relations["vloc"]  # all accesses to a location have its size
    everything = (1 << n) - 1

    threads: dict[int, int] = {}
    cells: dict[int, int] = {}
    mappings: dict[tuple[int, int], int] = {}
    initial: dict[int, int] = {}
    for e in events:
        bit = 1 << e.index
        if e.thread >= 0:
            threads[e.thread] = threads.get(e.thread, 0) | bit
        if e.cell >= 0:
            cells[e.cell] = cells.get(e.cell, 0) | bit
            if e.thread < 0:
                initial[e.cell] = bit
            else:
                mappings[e.cell, e.mapping] = mappings.get((e.cell, e.mapping), 0) | bit
    int_, po, ext = relations["int"], relations["po"], relations["ext"]
    loc, vloc, rmw = relations["loc"], relations["vloc"], relations["rmw"]
    for e in events:
        i = e.index
        bit = 1 << i
        mates = threads[e.thread] if e.thread >= 0 else bit
        int_[i], ext[i] = mates, everything & ~mates
        if e.thread >= 0:
            po[i] = mates & -(bit << 1)
            if e.effect is not None:
                for other in program.by_effect[e.thread][e.effect.index]:
                    if terms.conj(e.guard, other.guard) == 0:
                        po[i] &= ~(1 << other.index)  # the same access at another address
        if e.cell >= 0:
            loc[i] = cells[e.cell]
            vloc[i] = cells[e.cell] if e.thread < 0 else mappings[e.cell, e.mapping] | initial.get(e.cell, 0)
        if e.kind == "R" and e.partner is not None:
            rmw[i] = 1 << e.partner.index
    _scope_relations(program, relations)
    return relations


def _scope_relations(program: Program, relations: dict[str, list[int]]) -> None:
    """`sr` and `scta`. Events fall into few classes (thread and scope), so classes are compared and not events."""
    classes: dict[tuple[int, str | None], int] = {}
    for e in program.events:
        if e.thread >= 0 and e.effect is not None:
            key = (e.thread, e.effect.scope if e.kind != "B" else None)
            classes[key] = classes.get(key, 0) | 1 << e.index
    places = [t.place for t in program.threads]
    sr, scta = relations["sr"], relations["scta"]
    reach: dict[tuple[int, str | None], tuple[int, int]] = {}
    for ta, sa in classes:
        strong = same_cta = 0
        for (tb, sb), members in classes.items():
            if ta == tb or (places[ta].cta == places[tb].cta and not places[ta].host and not places[tb].host):
                same_cta |= members
            if sa and sb and includes(sa, places[ta], places[tb]) and includes(sb, places[tb], places[ta]):
                strong |= members
        reach[ta, sa] = strong, same_cta
    for e in program.events:
        if e.thread >= 0 and e.effect is not None:
            sr[e.index], scta[e.index] = reach[e.thread, e.effect.scope if e.kind != "B" else None]


def dependency_pairs(program: Program) -> dict[str, list[tuple[int, int, Value]]]:
    """`addr`, `data` and `ctrl` as (from, to, condition given that both are executed)."""
    pairs: dict[str, list[tuple[int, int, Value]]] = {"addr": [], "data": [], "ctrl": []}
    for t, thread in enumerate(program.threads):
        made = program.by_effect[t]
        for effect in thread.execution.effects:
            for e in made[effect.index]:
                _depend(pairs["ctrl"], made, effect.control_dependencies, e)
                if e.cell >= 0:
                    _depend(pairs["addr"], made, effect.address_dependencies, e)
                if e.kind == "W" or "BA" in e.tags:
                    _depend(pairs["data"], made, effect.data_dependencies, e)
                if e.kind == "W" and e.partner is not None:
                    _own_dependency(pairs, effect, e)
    return pairs


def _own_dependency(pairs: dict[str, list[tuple[int, int, Value]]], effect: Effect, write: Event) -> None:
    """Inside an atomic: the new value is computed from the old, and a compare-and-swap writes only if the old one is right."""
    assert write.partner is not None
    pair = write.partner.index, write.index, 1
    modifiers = effect.instruction.modifiers
    if "cas" in modifiers:
        pairs["ctrl"].append(pair)
    elif "exch" not in modifiers:
        pairs["data"].append(pair)


def _depend(
    pairs: list[tuple[int, int, Value]], made: Mapping[int, list[Event]], sources: Dependencies, target: Event
) -> None:
    for source, condition in sources.items():
        for e in made.get(source, ()):
            if e.kind == "R" or "BW" in e.tags:
                pairs.append((e.index, target.index, condition))


def members_by_tag(program: Program) -> dict[str, int]:
    """The events of each tag, as bitsets."""
    by_tags: dict[frozenset[str], int] = {}
    for e in program.events:
        by_tags[e.tags] = by_tags.get(e.tags, 0) | 1 << e.index
    members: dict[str, int] = {}
    for tags, events in by_tags.items():
        for tag in tags:
            members[tag] = members.get(tag, 0) | events
    return members

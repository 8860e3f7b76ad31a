"""Where a read may be torn: return bytes of several writes, each of which covers all that is read (PTX ISA 9.0, 8.10.3).

Every byte of a read comes from some write of that byte. Only where all writes that it may read are morally strong with it,
and ordered among each other, single-copy atomicity sees to it that they are one. In the engine bytes that are one cell come
from one write, so a cell has to be cut where tearing can be observed:

- some read of it (or the final value, which nobody reads) may take several writes, not all of which are so bound; and
- the values that may come to it differ in more than one byte.

Where they differ in one byte only, cutting changes nothing. For take an execution in which bytes of one cell come from
several writes, and let all of them come from the write that this one byte comes from. The values stay what they were; `rf`
and `fr` only lose pairs, since each write of a cell covers all of it; and axioms forbid pairs of these and never ask for
them. Flags of races are raised where causality does not order: they stay raised when there is less of it. So a cell is cut
into pieces that have one such byte each. What is torn may be computed with and stored elsewhere: `axioms.events.value_sets`,
which says what values there are, lets every byte of a read come from another write.

A model tells that it is about bytes by having an axiom named `single-copy`. The others are about words: under these a read
never mixes writes of its size, as with the option `no-tearing`. A model that is asked for less this axiom is about bytes, too,
and nothing binds them: a cell is cut wherever its values differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from axioms.cat.model import Model
from axioms.events.event import Event
from axioms.events.event_kinds import READ, WRITE
from axioms.events.value_sets import NumberSet
from axioms.program import Program, cut_at, members_by_tag, numbers_written

_SINGLE_COPY = "single-copy"
_PROXIES = ("GEN", "SUR", "TEX", "CON", "ASYNC", "TMAP")


def with_tearing(program: Program, model: Model) -> Program:
    """The program with its cells cut wherever a read may be torn under a model."""
    bound = any(axiom.name == _SINGLE_COPY for axiom in model.axioms)
    if not bound and _SINGLE_COPY not in model.without:
        whole = all(len(e.cells) <= 1 for e in program.events if e.kind is READ)
        return program if whole else cut_at(program, (), program.options | {"no-tearing"})
    cuts = torn_at(program, bound=bound)
    return cut_at(program, cuts) if cuts else program


def torn_at(program: Program, *, bound: bool = True) -> set[tuple[int, int]]:
    """Where to cut, as objects and offsets. `bound`: single-copy atomicity holds."""
    suspects = _suspects(program, bound)
    found: set[tuple[int, int]] = set()
    if not suspects:
        return set()
    written = numbers_written(program)
    for cell, events in suspects.items():
        varying = _varying(program, written, cell, events)
        place = program.cells[cell]
        found |= {(place.object, place.offset + b) for b in varying[1:]}
    return found


def whole_source(read: Event, write: Event) -> int | None:
    """Which write of a read's size a write is, the initial ones being one; None for writes of other bytes."""
    if write.thread < 0:
        return -1
    same = (write.object, write.offset, write.width) == (read.object, read.offset, read.width)
    return write.index if same else None


def mixes(read: Event, writes: Iterable[Event]) -> bool:
    """Whether a read that takes its cells from these writes mixes several of its size."""
    return len({whole_source(read, w) for w in writes} - {None}) > 1


def _suspects(program: Program, atomic: bool) -> dict[int, list[Event]]:
    """The cells that some read may find torn, each with the writes that it may take, as far as placement and values that
    are known say it."""
    writes: dict[int, list[Event]] = {}
    reads: dict[int, list[Event]] = {}
    for e in program.events:
        if e.kind.accesses:
            for c in e.cells:
                if program.cells[c].size > 1:
                    (writes if e.kind is WRITE else reads).setdefault(c, []).append(e)
    finals = {c for c, _ in program.finals}
    crowded = {c: ws for c, ws in writes.items() if len(ws) > 1 and not _is_flat(program, c, ws)}
    if not crowded:
        return {}
    strong = _surely_strong(program) if atomic else [0] * len(program.events)
    found: dict[int, list[Event]] = {}
    for c, (initial, *others) in crowded.items():
        row = sum(1 << w.index for w in others)
        bound = all(not row & ~strong[w.index] & ~(1 << w.index) for w in others)
        sources: dict[Event, None] = {}
        if c in finals and not bound and program.tears(program.cells[c].width):
            sources.update(dict.fromkeys(others))
        for r in reads.get(c, ()):
            behind = strong[r.index] & program.relations["po"][r.index]
            if r.partner is not None:
                behind |= 1 << r.partner.index
            if program.tears(r.width) and not (bound and not row & ~behind & ~strong[r.index]):
                sources.update(dict.fromkeys(w for w in (initial, *others) if not behind >> w.index & 1))
        if len(sources) > 1:
            found[c] = list(sources)
    return found


def _is_flat(program: Program, cell: int, writes: Iterable[Event]) -> bool:
    """Whether numbers only are written, and differ in no more than one byte."""
    values = [w.value_at(cell) for w in writes]
    differ = 0
    for v in values:
        if type(v) is not int:
            return False
        differ |= v ^ values[0]  # type: ignore[operator]
    return len(_bytes_set(differ)) <= 1


def _bytes_set(number: int) -> list[int]:
    return [i for i, b in enumerate(number.to_bytes((number.bit_length() + 7) // 8, "little")) if b]


def _surely_strong(program: Program) -> list[int]:
    """Pairs that are morally strong whenever both are executed."""
    members, relations = members_by_tag(program), program.relations
    proxies = [members.get(p, 0) for p in _PROXIES]
    before = [0] * program.size
    for i, row in enumerate(relations["po"]):
        while row:
            low = row & -row
            before[low.bit_length() - 1] |= 1 << i
            row ^= low
    rows = []
    for i, (cov, po, sr) in enumerate(zip(relations["cov"], relations["po"], relations["sr"], strict=True)):
        same = 0
        for p in proxies:
            if p >> i & 1:
                same |= p
        rows.append(cov & same & (po | before[i] | sr))
    return rows


def _varying(program: Program, written: Callable[[Event, int], NumberSet], cell: int, events: list[Event]) -> list[int]:
    """The bytes of a cell in which the values that events write there may differ."""
    differ, first = 0, None
    for e in events:
        numbers = written(e, cell)
        if numbers is None:
            return list(range(program.cells[cell].size))
        for n in numbers:
            first = n if first is None else first
            differ |= n ^ first
    return _bytes_set(differ)

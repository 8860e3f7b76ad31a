"""Memory that may hold anything at first, for brute force: the program with each of its contents, one after the other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from axioms.events.event_kinds import READ
from axioms.oracle.budget import BeyondBruteForce
from axioms.program import Program, build
from ptxcore.values.terms import Term

#: So many bits may be anything.
_MOST_BITS = 10


def each(program: Program) -> Iterator[Program]:
    """The program with all contents of its memory that somebody looks at; itself, where all is known. Raises TooLarge."""
    if not any(thing.open for thing in program.objects):
        yield program
        return
    read = {c for e in program.events if e.kind is READ for c in e.cells} | {c for c, _ in program.finals}
    cells = [program.cells[c] for c in sorted(read) if type(program.cells[c].initial) is Term]
    bits = sum(cell.width for cell in cells)
    if bits > _MOST_BITS:
        raise BeyondBruteForce(
            f"what {', '.join(cell.name for cell in cells[:3])} may hold at first are {bits} bits, and brute force tries all "
            f"contents of {_MOST_BITS} at most"
        )
    for numbers in itertools.product(*[range(1 << cell.width) for cell in cells]):
        held = [bytearray(thing.size) if thing.open else b"" for thing in program.objects]
        for cell, number in zip(cells, numbers, strict=True):
            there = held[cell.object]
            assert isinstance(there, bytearray)
            there[cell.offset : cell.offset + cell.size] = number.to_bytes(cell.size, "little")
        objects = [
            thing._replace(initial=bytes(some), open=False) if thing.open else thing
            for thing, some in zip(program.objects, held, strict=True)
        ]
        yield build(replace(program.source, objects=objects, layout=program.layout.of(objects)))

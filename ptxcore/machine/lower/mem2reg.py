"""Places on the stack that are as good as registers: parameters of calls and spills, which are only ever accessed by name and
as a whole. As registers they are not carried from one iteration of a loop to the next where every iteration writes them
first."""

from __future__ import annotations

from collections.abc import Iterator

from ptxcore.isa import data_movement
from ptxcore.machine.lower.ops import Code, ExecutableModule, Op, Source

#: The largest register, in bytes.
_LARGEST = 8


def promotable(code: Code, program: ExecutableModule) -> tuple[frozenset[tuple[int, int]], bool]:
    """The places in a function's frame that can be registers, by offset and bytes, and whether nothing else is accessed
    there. None where the function lets an address in its frame out of sight."""
    accessed: set[tuple[int, int]] = set()
    kept: set[tuple[int, int]] = set()  # whatever else is accessed there
    for op in code.ops:
        place = direct(op)
        for i, source in enumerate(op.sources):
            for leaf in _leaves(source):
                if leaf.kind == "frame" and (place is None or i > 0):
                    return frozenset(), False
        if place is not None:
            accessed.add(place)
        if op.call is not None:
            callee = program.functions.get(op.call.name)
            runtime = callee is not None and not callee.defined
            for passed in (*op.call.arguments, *op.call.results):
                if passed.source is None:
                    (kept if runtime else accessed).add((passed.offset, passed.size))
                elif passed.source.kind == "frame":
                    return frozenset(), False
    if not code.entry:
        accessed |= {(p.offset, p.size) for p in (*code.parameters, *code.results) if p.slot is None}
    everything = accessed | kept
    places = frozenset(
        (offset, size)
        for offset, size in accessed
        if size <= _LARGEST
        and size & (size - 1) == 0
        and not _meets(offset, size, everything - {(offset, size)} | kept)
    )
    return places, places == everything


def direct(op: Op) -> tuple[int, int] | None:
    """The offset and bytes of a place in the frame that a load or store names."""
    first = op.sources[0] if op.sources else None
    plain = op.use.form.run in (data_movement.ld, data_movement.st) and not op.use.words["vec"]
    if not plain or first is None or first.kind != "frame" or op.use.space == "generic":
        return None
    return first.value + first.offset, op.use.width // 8


def _meets(offset: int, size: int, others: set[tuple[int, int]]) -> bool:
    """Whether any of the other places overlaps one."""
    return any(o < offset + size and offset < o + s for o, s in others)


def _leaves(source: Source | None) -> Iterator[Source]:
    if source is not None:
        if source.kind == "vector":
            for part in source.parts:
                yield from _leaves(part)
        else:
            yield source

"""What copies move: the stretches of each, what they access, and what they write where (PTX ISA 9.0, section 9.7.9.25)."""

from __future__ import annotations

from collections.abc import Iterator

from axioms.errors import UnsupportedProgram
from axioms.events.event import ByteRange
from axioms.events.memory import MAX_ALIGNMENT
from ptxcore.isa.effect_kinds import COPY
from ptxcore.machine.ir.effects import Effect
from ptxcore.records import NamedTuple
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

#: Copies of so many bytes may have a length that is only known when they run.
_OPEN_LENGTHS = 16
#: The bytes in which a mask selects.
_CHUNK = 16
#: What `st.bulk` asks of its address; `discard` asks more, and says so itself.
_CLEARED = 8


class CopiedPart(NamedTuple):
    """A stretch of a copy under a condition: so many bytes, then others that come from nowhere, which are `filling`. `offset`
    tells it from others of the copy."""

    guard: Value
    offset: int
    to: Value
    source: Value
    size: int
    fill: int
    filling: int = 0

    @property
    def whole(self) -> int:
        return self.size + self.fill


def parts(effect: Effect) -> list[CopiedPart]:
    """The stretches of a copy. A length that is not known is any of the few that it may be."""
    if effect.pieces:
        return _pieces(effect)
    size, fill = effect.size, effect.fill
    if type(size) is int and type(fill) is int:
        return _selected(effect, 1, size, fill)
    assert size is not None
    found: list[CopiedPart] = []
    for n in range(_OPEN_LENGTHS + 1):
        here = terms.eq(size, n)
        zeros = terms.substitute(fill, {size: n}) if type(size) is Term else fill
        if here != 0:
            if type(zeros) is not int:
                raise _unsupported(effect, "a copy whose length is not known")
            found += _selected(effect, here, n, zeros)
    if type(size) is Term and terms.any_of([p.guard for p in found]) != 1 and effect.proxy == "async":
        raise _unsupported(effect, "a bulk copy whose size is not known")
    return found


def _pieces(effect: Effect) -> list[CopiedPart]:
    found, offset = [], 0
    for to, source, size, filling in effect.pieces:
        inside = source is not None
        found.append(CopiedPart(1, offset, to, source or 0, size if inside else 0, 0 if inside else size, filling))
        offset += size
    return found


def _selected(effect: Effect, guard: Value, size: int, fill: int) -> list[CopiedPart]:
    mask = effect.selected
    if mask == 0xFFFF:
        return [CopiedPart(guard, 0, effect.address, effect.source, size, fill)] if size + fill else []
    if type(mask) is not int:
        raise _unsupported(effect, "a copy whose byte mask is not known")
    chosen = [i for i in range(size) if mask >> i % _CHUNK & 1]
    found: list[CopiedPart] = []
    for i in chosen:
        if found and found[-1].offset + found[-1].size == i:
            found[-1] = found[-1]._replace(size=found[-1].size + 1)
        else:
            found.append(CopiedPart(guard, i, _after(effect.address, i), _after(effect.source, i), 1, 0))
    return found


def _unsupported(effect: Effect, what: str) -> UnsupportedProgram:
    return UnsupportedProgram(f"line {effect.instruction.span.line}: {what} is not supported")


def _after(address: Value, offset: int) -> Value:
    return terms.add(address, offset, 64) if offset else address


class Move(NamedTuple):
    """Bytes that a copy writes: those at `source`, or where there is none those of a number."""

    to: Value
    source: Value | None
    size: int
    number: int = 0


def moves(effect: Effect) -> Iterator[Move]:
    """What a copy, or a `clear`, of a concrete run writes where. Of a reduction, each element and what it is combined with."""
    if effect.kind is not COPY:
        assert type(effect.size) is int
        yield Move(effect.address, None, effect.size)
        return
    step = effect.width // 8
    for part in parts(effect):
        if effect.combine is not None:
            for i in range(0, part.size, step):
                yield Move(_after(part.to, i), _after(part.source, i), step)
        elif part.size:
            yield Move(part.to, part.source, part.size)
        if part.fill:
            yield Move(_after(part.to, part.size), None, part.fill, part.filling)


def copy_spans(effect: Effect) -> tuple[ByteRange, ...]:
    """For each part of a copy where it writes, and twice what it copies, which is cut alike at both ends. Of a reduction
    where it reads, and each element."""
    if effect.combine is not None:
        return _reduction_spans(effect)
    spans: list[ByteRange] = []
    align = _alignment(effect)
    for group, (guard, _, to, source, size, fill, _) in enumerate(parts(effect), 1):
        spans.append(ByteRange(to, size + fill, guard=guard, alignment=align))
        if size:
            spans += [ByteRange(to, size, group, guard, align), ByteRange(source, size, group, guard, align)]
    return tuple(spans)


def _alignment(effect: Effect) -> int:
    """The most that is asked of an address: of pieces, nothing more than of what they are pieces."""
    return 1 if effect.pieces else MAX_ALIGNMENT


def reductions(effect: Effect) -> list[CopiedPart]:
    if type(effect.size) is not int:
        raise _unsupported(effect, "a reduction whose size is not known")
    return [part for part in parts(effect) if part.size]


def _reduction_spans(effect: Effect) -> tuple[ByteRange, ...]:
    spans: list[ByteRange] = []
    element, align, number = effect.width // 8, _alignment(effect), 0
    for part in reductions(effect):
        spans.append(ByteRange(part.source, part.size, alignment=align))
        for i in range(0, part.size, element):
            number += 1
            to, source = _after(part.to, i), _after(part.source, i)
            spans += [ByteRange(to, element, number), ByteRange(source, element, number)]
    return tuple(spans)


def ends(effect: Effect) -> Iterator[str]:
    """For each span of a copy what it is of it, `destination` or `source`; "" where another one says so already."""
    if effect.combine is not None:
        for part in reductions(effect):
            yield "source"
            yield from ("destination", "") * (8 * part.size // effect.width)
        return
    for part in parts(effect):
        yield "destination"
        yield from ("", "source") if part.size else ()


def range_span(effect: Effect) -> tuple[ByteRange, ...]:
    """The bytes that a `clear` or a `discard` writes."""
    if type(effect.size) is not int:
        raise _unsupported(effect, "a size that is not known")
    return (ByteRange(effect.address, effect.size, alignment=_CLEARED),) if effect.size else ()

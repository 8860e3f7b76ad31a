"""What the manual leaves open: what `shfl` gives of a lane that has exited, is inactive, or is not in the member mask (PTX ISA
9.0, sections 9.7.9.5 and 9.7.9.6, "results are undefined"). It is any value, and a test has no answer that depends on it;

`axioms.dependence` asks whether it does.

Both engines choose the same numbers. They are part of a program's options, `undetermined=...`, so that whatever is made of the
program has them too: `all:N` is N everywhere, `each:S` one for each lane, `these:N,N,...` one for each value, in their order;
`open` leaves the values open.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence

from ptxcore.machine.ir.collective import UNDETERMINED
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

#: How the option of a program begins that says how such values are chosen.
OPTION = "undetermined="
_FIRST = "each:0"
#: Bits of such a value.
WIDTH = 32


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
    return any(o.startswith(OPTION) for o in options)


def way_of(options: Iterable[str]) -> str:
    """How a program's options choose numbers."""
    return next((o.removeprefix(OPTION) for o in options if o.startswith(OPTION)), _FIRST)


def number(way: str, lane: int, instruction: str) -> int:
    """The number that a way gives for an instruction in a lane."""
    kind, _, rest = way.partition(":")
    if kind == "each":
        mixed = (lane + 1) * 0x9E3779B1 + (int(rest) + 1) * 0x85EBCA6B + zlib.crc32(instruction.encode())
        return (mixed ^ mixed >> 15) * 0x2C1B3C6D & terms.mask(WIDTH) | 1
    return int(rest) & terms.mask(WIDTH)


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

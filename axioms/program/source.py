"""What a program is built of: threads that were executed, memory, and what is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from axioms.events.memory import CellLayout, Object, ObjectBytes, View
from ptxcore.records import NamedTuple, dataclass
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

if TYPE_CHECKING:
    from axioms.analysis.constant_reads import ConstantReads
    from axioms.events.event import ProgramThread
    from axioms.events.launches import KernelThreads


class Observable(NamedTuple):
    """Something that states list. `value` is a term over read results and final values, of `width` bits."""

    label: str
    value: Value
    width: int
    signed: bool = False


class AskedValues(NamedTuple):
    """What states list, and the question: `condition` and `filter` are truth values over the symbols of reads and of
    `final_symbol`."""

    observed: Sequence[Observable] = ()
    condition: Value = 1
    filter: Value = 1


@dataclass(frozen=True, slots=True, eq=False)
class ProgramSource:
    """What a program is built of. `ask` says what is asked where threads end so: of the same threads on numbers it is the same
    question. Loop bodies ran at most `unroll` times. `definitions` are symbols that stand for other values, as what a shuffle
    returns does. Without `kernels` all threads are one launch. `options` are of `axioms.models.options`. With a `layout` the
    program has its cells. `constant_reads`: what reads return for certain, see `axioms.analysis.constant_reads`; None where
    nobody asked."""

    threads: Sequence[ProgramThread]
    objects: Sequence[Object]
    views: Sequence[View]
    ask: Callable[[Sequence[ProgramThread]], AskedValues]
    unroll: int = 4
    definitions: Mapping[Term, Value] = field(default_factory=dict)
    kernels: tuple[KernelThreads, ...] = ()
    options: frozenset[str] = frozenset()
    layout: CellLayout | None = None
    constant_reads: ConstantReads | None = None


_FINAL = "final"


def final_symbol(number: int, offset: int, width: int) -> Term:
    """The symbol for what `width` bits of an object hold when all threads have ended."""
    return terms.symbol((_FINAL, number, offset), width)


def finals_in(asked: AskedValues) -> list[Term]:
    """The final values that are asked for."""
    found: dict[Term, None] = {}
    for value in (*[o.value for o in asked.observed], asked.condition, asked.filter):
        if type(value) is Term:
            found.update(dict.fromkeys(sorted(terms.symbols_of(value), key=lambda s: s.serial)))
    return [s for s in found if isinstance(s.args[0], tuple) and s.args[0][0] == _FINAL]


def bytes_of(symbol: Term) -> ObjectBytes:
    """The bytes whose final value a symbol stands for."""
    _, number, offset = symbol.args[0]
    return number, offset, symbol.width // 8

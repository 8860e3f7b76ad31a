"""Programs made of others: functions from one to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from axioms.events.event import ProgramThread
from axioms.program.building import build
from axioms.program.program import Program
from axioms.program.source import AskedValues, Observable, bytes_of, finals_in
from ptxcore.values.terms import Value

#: Of programs with more events than this, constant reads that nothing else asks for are left out of what is solved, and of what
#: is told.
_LARGE = 1000


def cut_at(program: Program, cuts: Iterable[tuple[int, int]], options: frozenset[str] | None = None) -> Program:
    """The program with its cells cut at more places, objects and offsets, and perhaps with other options."""
    options = program.options if options is None else options
    return build(replace(program.source, layout=program.layout.cut(cuts), options=options))


def with_options(program: Program, options: frozenset[str]) -> Program:
    """The program under other options. Under these its threads may go elsewhere, and find something else: cells, and what reads
    can only return, are found anew."""
    found = build(replace(program.source, layout=None, constant_reads=None, options=options))
    return found if program.source.constant_reads is None else with_constant_reads(found)


def asking(program: Program, condition: Value) -> Program:
    """The same program with another condition."""
    ask = program.source.ask
    return _asking(program, lambda threads: ask(threads)._replace(condition=condition))


def showing(program: Program, more: Iterable[Observable]) -> Program:
    """The same program with more that states list."""
    ask, also = program.source.ask, tuple(more)

    def shown(threads: Sequence[ProgramThread]) -> AskedValues:
        asked = ask(threads)
        return asked._replace(observed=(*asked.observed, *also))

    return _asking(program, shown)


def _asking(program: Program, ask: Callable[[Sequence[ProgramThread]], AskedValues]) -> Program:
    return build(replace(program.source, ask=ask, layout=program.layout))


def with_threads(program: Program, threads: Sequence[ProgramThread]) -> Program:
    """The same program, with the same cells, of threads that were executed otherwise, on numbers for instance."""
    return build(replace(program.source, threads=tuple(threads), layout=program.layout, constant_reads=None))


def with_constant_reads(program: Program, *, slices: bool = True) -> Program:
    """The program with what its reads can only return put in: see `axioms.analysis.constant_reads`."""
    from axioms.analysis.constant_reads import ConstantReadSearch

    ends_matter = program.grids is not None
    values = [*[o.value for o in program.observed], program.condition, program.filter]
    search = ConstantReadSearch(program.threads, program.space, values, ends_matter=ends_matter)
    found = search.found()
    if not found.sources:
        return program
    if slices and program.size > _LARGE and not ends_matter:
        from axioms.analysis.slicing import sliced

        asked = finals_in(AskedValues(program.observed, program.condition, program.filter))
        finals = ((number, first, first + size) for number, first, size in map(bytes_of, asked))
        left_out = sliced(search, program.space, finals)
        found = found._replace(sliced=left_out.effects, behind=left_out.behind)
    return build(replace(program.source, layout=None, constant_reads=found))

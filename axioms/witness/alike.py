"""Whether models certainly say the same of a program, before anything is decided: what is left of each, fitted to the
program, has one shape, and each cuts memory into the same cells. Models that are read with other options may have programs
of their own: then these must have the same events, with the same values and relations. A search for what tells two models
apart passes over such programs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from axioms.cat.model import Model
from axioms.cat.shapes import RelationShape, shape
from axioms.events.event import Event
from axioms.events.event_kinds import READ
from axioms.program import Program
from axioms.witness.fitted import fitted
from axioms.witness.races import wanted_flags
from axioms.witness.tearing import with_tearing


def alike(asked: Sequence[tuple[Program, Model]], *, races: bool = False) -> bool:
    """Whether each model says the same of its program; the programs are of one test. `races`: whether races of every kind are
    asked for. Raises UnsupportedProgram for a flag that is not decided."""
    if any(model.residual is not None for _, model in asked):
        return False  # what is asked of each execution by itself has no shape
    (first, model), *others = [(with_tearing(program, model), model) for program, model in asked]
    left = _left(model, first, races)
    return all(_same(first, cut) and left == _left(m, cut, races) for cut, m in others)


def _left(model: Model, program: Program, races: bool) -> RelationShape:
    """What is left of a model for a program."""
    return _shape(fitted(model, program, wanted_flags(model, races)))


@lru_cache(maxsize=4096)
def _shape(model: Model) -> RelationShape:
    return shape(model)


def _same(one: Program, other: Program) -> bool:
    """Whether two programs of one test, with their cells cut, are the same but for options that make no difference."""
    if one is other:
        return True
    if tuple(one.cells) != tuple(other.cells) or _bound(one) != _bound(other):
        return False
    return one.source is other.source or _made(one) == _made(other)


def _bound(program: Program) -> tuple[object, ...]:
    """What options say of executions: the reads of several cells that may not be torn, and the passes that are left out."""
    whole = [e.index for e in program.events if e.kind is READ and len(e.cells) > 1 and not program.tears(e.width)]
    return tuple(whole), program.off


def _made(program: Program) -> tuple[object, ...]:
    """All that a program was made to be. Values that are the same are one object, while both programs are there."""
    threads = tuple(t.source for t in program.threads)
    asked = (program.observed, program.condition, program.filter)
    return threads, asked, program.relations, list(program.undefined_behaviours), [_seen(e) for e in program.events]


def _seen(event: Event) -> tuple[object, ...]:
    partner = None if event.partner is None else event.partner.index
    where = (event.object, event.offset, event.width, event.mapping, tuple(event.cells))
    said = (event.thread, event.kind, event.tags, event.guard, event.in_po, event.unstable, event.label)
    return said, where, event.value, event.values, partner

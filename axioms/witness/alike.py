"""Whether models certainly say the same of a program, before anything is decided: what is left of each, fitted to the
program, has one shape, and each cuts memory into the same cells. A search for what tells two models apart passes over
such programs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from axioms.cat.model import Model
from axioms.cat.shapes import Shape, shape
from axioms.program import Program
from axioms.witness.fitted import fitted
from axioms.witness.races import wanted_flags
from axioms.witness.tearing import with_tearing


def alike(program: Program, models: Sequence[Model], *, races: bool = False) -> bool:
    """`races`: whether races of every kind are asked for. Raises UnsupportedProgram for a flag that is not decided."""
    if any(model.residual is not None for model in models):
        return False  # what is asked of each execution by itself has no shape
    return len({_what_counts(program, model, races) for model in models}) <= 1


def _what_counts(program: Program, model: Model, races: bool) -> tuple[object, ...]:
    cut = with_tearing(program, model)
    return tuple(cut.cells), cut.options, _shape(fitted(model, cut, wanted_flags(model, races)))


@lru_cache(maxsize=4096)
def _shape(model: Model) -> Shape:
    return shape(model)

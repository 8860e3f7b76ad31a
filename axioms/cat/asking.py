"""Asks one execution for the value of any expression, under the names of a model."""

from __future__ import annotations

import functools

from axioms.cat.compiled import ExecutionFacts
from axioms.cat.nodes import RELATION, SET
from axioms.cat.reader import read_expression
from axioms.cat.residual import OneExecution, Residual
from axioms.cat.statements import ModelCompiler
from axioms.cat.values import (
    EMPTY,
    UNIVERSE,
    CatEvent,
    CatPair,
    CatValue,
    ConcreteValue,
    Env,
    NeedsExecution,
    SourceFile,
    kind_of,
)
from ptxcore.diagnostics import InputError, Span, fail

#: What an expression is called in messages.
_PATH = "<expression>"


class ModelNames:
    """What names mean at the end of a model. `sources` are its texts with the names of their files, its own first; it is read
    with `options`."""

    def __init__(self, sources: tuple[tuple[str, str], ...], options: frozenset[str]) -> None:
        (path, text), *others = sources
        self.compiler = ModelCompiler(path, options, dict(others).get)
        self.compiler.read(text, path)
        self.compiler.finished()

    def value(self, text: str, facts: ExecutionFacts) -> ConcreteValue:
        """The set or the relation that an expression is in an execution. Where the model chooses (`with x from S`), it is that
        of the first choice for which the model's tests hold. Raises InputError, with the place in the expression, for one that
        is neither, or has no meaning."""
        source = SourceFile(_PATH, text)
        try:
            e = read_expression(text)
            carried = OneExecution(Residual(self.compiler, self.compiler.units), facts)
            for _ in carried.choices():
                found = carried.force(carried.value(e, Env({}, self.compiler.scope.size, source)), e.span)
                return _plain(carried, found, e.span)
            raise fail(e.span, "the model does not allow this execution, so that its choices mean nothing")
        except NeedsExecution as needs:
            raise _told(fail(needs.span, f"{needs.what} is no set and no relation"), source) from None
        except InputError as error:
            raise _told(error, source) from None


def _plain(carried: OneExecution, value: CatValue, span: Span) -> ConcreteValue:
    """What takes the kind that is asked of it is a relation where it is empty, and a set where it is everything."""
    kind = SET if value is UNIVERSE or isinstance(value, CatEvent) else RELATION
    if value in (EMPTY, UNIVERSE) or isinstance(value, (CatEvent, CatPair)):
        value = carried.as_kind(value, kind, span)
    if not isinstance(value, ConcreteValue):
        raise fail(span, f"this is {kind_of(value)}, and no set of events and no relation")
    return value


def _told(error: InputError, source: SourceFile) -> InputError:
    if not error.text:
        error.text, error.path = source.text, source.path
    return error


@functools.lru_cache(maxsize=8)
def names_of(sources: tuple[tuple[str, str], ...], options: frozenset[str]) -> ModelNames:
    """The names of a model that was read before."""
    return ModelNames(sources, options)

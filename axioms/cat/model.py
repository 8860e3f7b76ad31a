"""Reads and compiles a memory model, see `axioms.cat.compiled` for what becomes of it."""

from __future__ import annotations

from collections.abc import Iterable

from axioms.cat.compile import MOST_WORK, FindModel
from axioms.cat.compiled import Axiom, Model
from axioms.cat.marks import completed
from axioms.cat.nodes import Facts, Node
from axioms.cat.statements import ModelCompiler
from ptxcore.diagnostics import Diagnostic, InputError, Span, nearest


def compile_model(
    name: str,
    text: str,
    include: FindModel = lambda _: None,
    options: Iterable[str] = (),
    without: Iterable[str] = (),
    shown: Iterable[str] = (),
) -> Model:
    """Reads and compiles a model. `include` gives the text of an included file, or None where there is none; it raises OSError
    or ValueError for one that is not to be read. `options` are those for which the model's `if "option"` holds. `without`
    names axioms that are left out: all statements of that name. `shown` is what pictures show besides what the model
    says itself, each as behind `show` (`rf; co as seen`).

    Raises InputError, also for a model that has neither an axiom nor a flag, for an option that the model does not
    ask for, for an axiom to leave out that it does not have, for something to show that means nothing here, and for
    definitions that expand to more than `MOST_WORK`."""
    sources = [(name, text)]

    def noted(path: str) -> str | None:
        found = include(path)
        if found is not None:
            sources.append((path, found))
        return found

    compiler = ModelCompiler(name, frozenset(options), noted)
    try:
        compiler.read(text, name)
    except InputError as error:
        if not error.text:
            error.text, error.path = text, name
        raise
    for words in shown:
        compiler.show_also(words)
    model = compiler.finished()
    model.sources, model.readings = tuple(sources), compiler.options
    residual = model.residual
    tells = model.axioms or model.flags or (residual is not None and (residual.forbids or residual.raises))
    if not tells and not (model.title and compiler.includes):
        hint = "an axiom is as in 'acyclic po | rf | co | fr as sc'; 'empty 0' forbids nothing"
        message = "the model has no axiom and no flag, so it would allow every outcome and say nothing of it"
        raise InputError([Diagnostic(Span(0, 0, 0), message, hint)], name)
    for option in sorted(compiler.options - model.options):
        hint_ = nearest(option, model.options)
        raise InputError([Diagnostic(Span(0, 0, 0), f"the model has no option '{option}'", hint_)], name)
    finished = completed(model, compiler.created)
    _leave_out(finished, frozenset(without))
    return finished


def _leave_out(model: Model, without: frozenset[str]) -> None:
    """Takes axioms out of a model that is complete otherwise: what it speaks of stays the same, so that an axiom less never
    forbids more. Raises InputError for an axiom that the model does not have."""
    known = list(dict.fromkeys(axiom.name for axiom in model.axioms))
    for name in sorted(without.difference(known)):
        hint = nearest(name, known) or f"its axioms are {', '.join(known)}"
        raise InputError([Diagnostic(Span(0, 0, 0), f"the model has no axiom '{name}'", hint)], model.name)
    model.axioms = [axiom for axiom in model.axioms if axiom.name not in without]
    model.without = without


__all__ = ["MOST_WORK", "Axiom", "Facts", "FindModel", "Model", "Node", "compile_model", "completed"]

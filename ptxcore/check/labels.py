"""Labels, and the branches that go to them (PTX ISA 9.0, sections 4.4, 9.7.12.3, 9.7.12.4 and 11.3.1).

A label is seen in the block that has it and in the blocks inside, from the beginning of the block on: branches to labels
that are still to come wait in their scope, and move outwards when it closes.
"""

from __future__ import annotations

from typing import Any

from ptxcore.check.context import Context
from ptxcore.check.kinds import MOST_PLACES
from ptxcore.check.places import word_span
from ptxcore.check.symbols import LabelSymbol, Scope
from ptxcore.syntax.spans import find_span
from ptxcore.syntax.tree import Directive, Instruction, Label, Name, Prototype

#: What stands under a label, by the class or the directive that follows it: the sort of its symbol.
_SORTS = {"branchtargets": "targets", "calltargets": "callees"}


def declare_label(context: Context, label: Label, following: object) -> bool:
    """Declare a label by what stands under it; whether it hides an outer name."""
    scopes = context.scopes
    before = scopes.exactly_here(label.name)
    if before is not None:
        line = f"line {before.span.line} has it"
        what = "label" if isinstance(before, LabelSymbol) else "name"
        context.report("redeclared", label.span, f"the {what} '{label.name}' stands twice in this block", line)
    symbol = LabelSymbol("label", "label", label.span)
    if isinstance(following, Prototype):
        symbol.sort = symbol.kind = "prototype"
        symbol.prototype = following
    elif isinstance(following, Directive) and following.name in _SORTS:
        symbol.sort = symbol.kind = _SORTS[following.name]
        symbol.names = tuple(a.name for a in following.arguments if isinstance(a, Name))
    else:
        scopes.stack[-1].labels.append(label.name)
    return scopes.declare(label.name, symbol)


def expect_labels(context: Context, directive: Directive) -> None:
    """`.branchtargets`: its labels may come later."""
    pending = context.scopes.stack[-1].pending
    for argument in directive.arguments:
        if isinstance(argument, Name):
            pending.setdefault(argument.name, []).append((directive, argument))


def settle(scope: Scope, outer: Scope | None) -> dict[str, list[Any]]:
    """Of a scope that was closed: branches to its labels are settled, the others go to `outer`, or are given back where
    there is none."""
    for name in scope.labels:
        scope.pending.pop(name, None)
    if outer is None:
        return scope.pending
    # The smaller part moves, so that no depth of nesting makes this quadratic.
    if len(outer.pending) < len(scope.pending):
        outer.pending, scope.pending = scope.pending, outer.pending
    for name, waiting in scope.pending.items():
        there = outer.pending.setdefault(name, waiting)
        if there is not waiting:
            if len(there) < len(waiting):
                there, waiting = waiting, there
                outer.pending[name] = there
            there += waiting
    return {}


def report_missing(context: Context, pending: dict[str, list[Any]], body: Scope) -> None:
    """Branches to labels that the function does not have where the branch could see them; `body` has its own labels."""
    told: dict[int, int] = {}
    for name, waiting in pending.items():
        hint = context.suggest_among(name, body.labels) or "a label is seen in its own block only"
        for statement, operand in waiting:
            told[id(statement)] = number = told.get(id(statement), 0) + 1
            if number > MOST_PLACES:
                span = statement.span
            elif isinstance(statement, Instruction):
                span = find_span(statement, operand)
            else:
                span = word_span(statement, name)
            context.report("label", span, f"no label '{name}' can be seen from here", hint)

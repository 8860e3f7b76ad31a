"""Evaluates expressions of a model, over an explicit stack: functions may call each other as deep as the budget lasts.

The same rules hold for a model that is compiled (sets and relations are nodes) and for one that is evaluated on an execution
(they are known). What only an execution says raises NeedsExecution in the former.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from axioms.cat.nodes import RELATION, SET, Node
from axioms.cat.operators import HINT, EvaluationSteps, Operators, op_of
from axioms.cat.syntax import Binders, Clause, Expression
from axioms.cat.values import (
    EMPTY,
    UNIVERSE,
    CatEvent,
    CatPair,
    CatValue,
    Closure,
    Collection,
    ConcreteValue,
    Env,
    NeedsExecution,
    Primitive,
    Tag,
    TupleValue,
    as_pair,
    kind_of,
)
from ptxcore.diagnostics import InputError, Span, fail


class TooMuch(InputError):
    """The definitions of a model expand to too much: nothing in the model can answer for that."""


class Evaluator(Operators):
    """`algebra` makes sets and relations of others."""

    def __init__(self) -> None:
        self.calls: dict[tuple[int, ...], CatValue] = {}  # what functions gave, by their number and their arguments'

    # What the two kinds of evaluation do in their own way.

    @abstractmethod
    def named(self, e: Expression, env: Env) -> CatValue:
        """What a name means."""

    @abstractmethod
    def primitive(self, name: str, value: CatValue, span: Span) -> CatValue:
        """A function of the language, applied."""

    @abstractmethod
    def recursion(self, e: Expression, env: Env) -> Env:
        """`let rec` in an expression: the environment of its body."""

    @abstractmethod
    def choose(self, e: Expression, empty: CatValue, then: CatValue, otherwise: CatValue) -> CatValue:
        """`then` where a set or a relation holds nothing, else `otherwise`."""

    @abstractmethod
    def split(self, e: Expression, value: CatValue) -> tuple[list[CatValue], Any] | None:
        """The members of a set in their order, and what makes a set of some of them again; None where it is empty."""

    def function(self, closure: Closure, argument: CatValue, span: Span) -> CatValue | None:
        """What a function that is known gives; None where its text says it."""
        return None

    @abstractmethod
    def close(self, names: Binders, body: Expression, env: Env, name: str) -> Closure:
        """A function."""

    @abstractmethod
    def is_option(self, name: str) -> bool:
        """Whether the model is read with an option."""

    # Evaluation.

    def value(self, expression: Expression, env: Env) -> CatValue:
        """The value of an expression. Raises InputError for one without a meaning, NeedsExecution."""
        if expression.op == "name":
            return self._named(expression, env)
        stack: list[tuple[EvaluationSteps, Env]] = [(self._steps(expression, env), env)]
        given: CatValue | None = None
        failed: Exception | None = None
        while stack:
            steps, where = stack[-1]
            try:
                if failed is not None:
                    error, failed = failed, None
                    asked, inside = steps.throw(error)
                else:
                    asked, inside = steps.send(given)  # type: ignore[arg-type]
                given = None
                if asked.op == "name":
                    given = self._named(asked, inside)
                else:
                    stack.append((self._steps(asked, inside), inside))
            except StopIteration as end:
                stack.pop()
                given = end.value
            except (InputError, NeedsExecution) as error:
                if inspect.getgeneratorstate(steps) == inspect.GEN_CLOSED:
                    stack.pop()
                failed = placed(error, where)
        if failed is not None:
            raise failed
        assert given is not None
        return given

    def _named(self, e: Expression, env: Env) -> CatValue:
        try:
            return self.named(e, env)
        except InputError as error:
            raise placed(error, env) from None

    def _steps(self, e: Expression, env: Env) -> EvaluationSteps:
        self.algebra.spend(1)
        steps: EvaluationSteps = _STEPS[e.op](self, e, env)
        return steps

    def _call(self, e: Expression, env: Env) -> EvaluationSteps:
        """`f(a, b)`, and `f x` of any expression for f."""
        if e.op == "call":
            function = self.called(e, env)
            values = []
            for operand in e.operands:
                values.append((yield operand, env))
            argument = values[0] if len(values) == 1 else TupleValue(tuple(values))
        else:
            function = yield e.operands[0], env
            argument = yield e.operands[1], env
        if isinstance(function, Primitive):
            if isinstance(argument, TupleValue) and e.op == "call" and function.name in _SINGLE:
                raise fail(e.span, f"'{function.name}' takes 1 argument, {len(argument.items)} given")
            return self.primitive(function.name, argument, e.operands[-1].span if e.operands else e.span)
        if not isinstance(function, Closure):
            hint = None if e.op == "call" else "an operator may be missing between the two"
            name = e.operands[0].name if e.op == "apply" else e.name
            raise fail(
                e.span, f"'{name}' is not a function" if name else f"{kind_of(function)} is not a function", hint
            )
        bound = parameters(function.names, argument, e.span, function.name)
        found = self.function(function, argument, e.span)
        if found is not None:
            return found
        key = _key(function, list(bound.values()))
        if key is not None and key in self.calls:
            return self.calls[key]
        result = yield function.body, function.env.with_(bound)
        if key is not None:
            self.calls[key] = result
        return result

    def called(self, e: Expression, env: Env) -> CatValue:
        """The function that a call means."""
        return self._named(e, env)

    def _tag(self, e: Expression, env: Env) -> EvaluationSteps:
        return self.named(e, env)
        yield

    def _fun(self, e: Expression, env: Env) -> EvaluationSteps:
        return self.close(e.names, e.operands[0], env, "fun")
        yield

    def _tuple(self, e: Expression, env: Env) -> EvaluationSteps:
        values = []
        for operand in e.operands:
            values.append((yield operand, env))
        return TupleValue(tuple(values))

    def _set_of(self, e: Expression, env: Env) -> EvaluationSteps:
        values = []
        for operand in e.operands:
            value = yield operand, env
            if value is UNIVERSE:
                raise fail(operand.span, "'_' is no member of a set: it has no kind here")
            values.append(value)
        return self.collected(values, e.span)

    def _let(self, e: Expression, env: Env) -> EvaluationSteps:
        if e.name == "rec":
            return (yield e.operands[0], self.recursion(e, env))
        found: dict[str, CatValue] = {}
        for b in e.bindings:
            if b.parameters is not None:
                found[b.name] = self.close(b.parameters, b.body, env, b.name)
                continue
            value = yield b.body, env
            found |= {b.name: value} if b.name else parameters(b.parts, value, b.span, "let")
        return (yield e.operands[0], env.with_(found))

    def _try(self, e: Expression, env: Env) -> EvaluationSteps:
        try:
            return (yield e.operands[0], env)
        except TooMuch:
            raise
        except InputError:
            pass
        return (yield e.operands[1], env)

    def _if(self, e: Expression, env: Env) -> EvaluationSteps:
        if len(e.operands) == 2:
            # Both branches are read: a mistake in the one that is not taken is a mistake.
            then = yield e.operands[0], env
            otherwise = yield e.operands[1], env
            self.same_branches(e, then, otherwise)
            return then if self.is_option(e.name) else otherwise
        a = yield e.operands[0], env
        b = yield e.operands[1], env
        holds = self.condition(e, a, b)
        if isinstance(holds, bool):
            return (yield e.operands[2 if holds else 3], env)
        then = yield e.operands[2], env
        otherwise = yield e.operands[3], env
        return self.choose(e, holds, then, otherwise)

    def same_branches(self, e: Expression, then: CatValue, otherwise: CatValue) -> None:
        """Raises InputError where an option decides of which kind something is."""
        kinds = [v.kind for v in (then, otherwise) if isinstance(v, (Node, ConcreteValue)) and op_of(v) != "empty"]
        if len(set(kinds)) > 1:
            raise fail(e.span, f"one branch is a {kinds[0]}, the other a {kinds[1]}", HINT)

    def condition(self, e: Expression, a: CatValue, b: CatValue) -> CatValue | bool:
        """Whether `a = b`, `a subset b` or `a in b`; a set or relation that is empty where it holds, if that is not known."""
        if e.name == "in":
            return self.is_member(e, a, b)
        plain = (Node, ConcreteValue, CatEvent, CatPair)
        if isinstance(a, plain) or isinstance(b, plain):
            kind = self.common_kind(e, [a, b])
            x, y = self.as_kind(a, kind, e.span), self.as_kind(b, kind, e.span)
            missing = self.algebra.difference(x, y)
            if e.name == "=":
                missing = self.algebra.union([missing, self.algebra.difference(y, x)])
            return missing
        if UNIVERSE in (a, b) or isinstance(a, (Closure, Primitive)) or isinstance(b, (Closure, Primitive)):
            raise fail(e.span, f"'{e.name}' between {kind_of(a)} and {kind_of(b)}")
        left, right = _members(a), _members(b)
        if self.undecided(left + right):
            raise NeedsExecution(e.span, f"'{e.name}' between sets of sets or relations")
        if e.name == "=" and not isinstance(a, Collection) and not isinstance(b, Collection):
            return a == b
        return set(left) == set(right) if e.name == "=" else set(left) <= set(right)

    def is_member(self, e: Expression, a: CatValue, b: CatValue) -> CatValue | bool:
        """`a in b`."""
        a = as_pair(a)
        if isinstance(a, (CatEvent, CatPair)):
            single = self.as_kind(a, SET if isinstance(a, CatEvent) else RELATION, e.span)
            return self.algebra.difference(single, self.as_kind(b, single.kind, e.span))
        if b is EMPTY:
            return False
        if not isinstance(b, Collection):
            raise fail(e.span, f"'in' takes a set of values, this is {kind_of(b)}")
        if self.undecided([a, *b.items]):
            raise NeedsExecution(e.span, "'in' of sets of sets or relations")
        return a in b.items

    # Matches.

    def _match(self, e: Expression, env: Env) -> EvaluationSteps:
        subject = yield e.operands[0], env
        if e.clauses[0].kind in ("tag", "other"):
            clause = matching(e.operands[0], e.clauses, subject)
            assert clause.body is not None
            return (yield clause.body, env)
        found = self.split(e.operands[0], subject)
        empty = next(c for c in e.clauses if c.kind == "empty")
        other = next(c for c in e.clauses if c.kind != "empty")
        assert empty.body is not None and other.body is not None
        if found is None:
            return (yield empty.body, env)
        items, again = found
        if other.kind == "first":
            values = [items[0], again(items[1:])]
        else:
            half = len(items) // 2
            values = [again(items[:half]), items[half], again(items[half + 1 :])]
        bound = {n: v for n, v in zip(other.names, values, strict=True) if n is not None}
        return (yield other.body, env.with_(bound))


def _key(function: Closure, values: Sequence[CatValue]) -> tuple[int, ...] | None:
    """By what a call is known that was made before."""
    found = [function.number]
    for v in values:
        if not isinstance(v, Node):
            return None
        found.append(v.serial)
    return tuple(found)


def _members(value: CatValue) -> list[CatValue]:
    return list(value.items) if isinstance(value, Collection) else [] if value is EMPTY else [value]


def parameters(names: Binders, value: CatValue, span: Span, function: str) -> dict[str, CatValue]:
    """What the parameters of a function are; one parameter takes what there is, several the parts of a tuple."""
    if len(names) == 1:
        return {} if names[0] is None else {names[0]: value}
    items: tuple[CatValue, ...] = value.items if isinstance(value, TupleValue) else (value,)
    if isinstance(value, CatPair):
        items = (CatEvent(value.first), CatEvent(value.second))
    if len(items) != len(names):
        if function == "let":
            raise fail(span, f"{len(names)} names for {len(items)} value(s)")
        raise fail(span, f"'{function}' takes {len(names)} argument(s), {len(items)} given")
    return {n: v for n, v in zip(names, items, strict=True) if n is not None}


def matching(subject: Expression, clauses: Sequence[Clause], value: CatValue) -> Clause:
    """The clause for a tag. Raises InputError where there is none."""
    if not isinstance(value, Tag):
        raise fail(subject.span, f"a match by tags of {kind_of(value)}")
    for clause in clauses:
        if clause.kind == "other" or clause.names[0] == value.name:
            return clause
    raise fail(subject.span, f"no clause of this match is for '{value.name}")


def placed(error: Exception, env: Env) -> Exception:
    """An error with the file that it is in."""
    if isinstance(error, InputError) and not error.text and env.source.path:
        error.text, error.path = env.source.text, env.source.path
    return error


_SINGLE = frozenset({"domain", "range", "toid", "fencerel"})
_STEPS: dict[str, Any] = {
    "call": Evaluator._call,
    "apply": Evaluator._call,
    "tag": Evaluator._tag,
    "fun": Evaluator._fun,
    "tuple": Evaluator._tuple,
    "set": Evaluator._set_of,
    "let": Evaluator._let,
    "try": Evaluator._try,
    "if": Evaluator._if,
    "match": Evaluator._match,
    "union": Operators.read_union,
    "intersection": Operators.read_intersection,
    "difference": Operators.read_difference,
    "sequence": Operators.read_sequence,
    "product": Operators.read_product,
    "identity": Operators.read_identity,
    "plus": Operators.read_postfix,
    "star": Operators.read_postfix,
    "opt": Operators.read_postfix,
    "inverse": Operators.read_postfix,
    "complement": Operators.read_complement,
    "add": Operators.read_add,
}

"""What a model says that no operation on sets and relations says: asked of one execution at a time.

The rest of a model is compiled, and who solves or enumerates hands on executions that it allows. Here the statements that are
left are carried out on such an execution, with the values that names have in it. `with x from S` takes every member of S in
turn: an execution is allowed where all tests hold for some.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from axioms.cat.algebra import concrete, members, rows
from axioms.cat.compiled import CarriedOut, ExecutionFacts
from axioms.cat.evaluate import Evaluation, bits, closure, is_acyclic
from axioms.cat.expand import matching, parameters, placed
from axioms.cat.nodes import RELATION, SET, Node, Rows
from axioms.cat.primitives import PRIMITIVES, MemberEvaluator, simple
from axioms.cat.syntax import Binders, Binding, Call, Expression, Forall, If, Item, Let, Match, Procedure, Stated, With
from axioms.cat.values import (
    EMPTY,
    CatEvent,
    CatPair,
    CatValue,
    Choice,
    Classes,
    ClassRelation,
    Closure,
    Collection,
    ConcreteValue,
    Env,
    FailedDefinition,
    Later,
    NeedsExecution,
    Orders,
    Routine,
    Tag,
    TupleValue,
    kind_of,
)
from ptxcore.diagnostics import InputError, Span, fail
from ptxcore.records import NamedTuple

if TYPE_CHECKING:
    from axioms.cat.compile import ExpressionCompiler

#: Flags that leave a program without a meaning: `axioms.witness.races` says why.
_UNDEFINED = frozenset(
    ["mixed-size", "async", "overwritten", "early", "unfinished", "exited", "freed", "initialisation", "unset"]
)


class Unit(NamedTuple):
    """A statement, and where it stands. `number` is that of the choice that a `with` makes."""

    item: Item
    env: Env
    number: int


class Residual:
    """The statements of a model that each execution is asked. `forbids` says whether one of them can forbid any."""

    def __init__(self, compiler: ExpressionCompiler, units: Sequence[Unit]) -> None:
        self.compiler, self.units = compiler, tuple(units)
        self.forbids = any(_forbids(u.item) for u in units)
        self.raises = any(_raises(u.item) for u in units)
        self.undefines = any(_undefines(u.item) for u in units)

    @property
    def what(self) -> str:
        """The first of them, with its place."""
        unit = self.units[0]
        span = unit.item.span if not isinstance(unit.item, Let) else Span(0, 0, 0)
        return f"{unit.env.source.path}:{span.line}:{span.column}"

    @property
    def name(self) -> str:
        """What the tests among them are called."""
        found = [u.item.name for u in self.units if isinstance(u.item, Stated) and u.item.name]
        return found[0] if len(found) == 1 else "what the model asks of each execution"

    def answers(self, facts: ExecutionFacts) -> Iterator[CarriedOut]:
        """Every way in which all tests hold. Raises InputError for what has no meaning in this execution."""
        yield from OneExecution(self, facts).answers()

    def allows(self, facts: ExecutionFacts) -> bool:
        """Whether there is one."""
        return next(self.answers(facts), None) is not None

    def flags(self, facts: ExecutionFacts) -> dict[str, Rows]:
        """The pairs of each flag, of all ways together."""
        found: dict[str, Rows] = {}
        for answer in self.answers(facts):
            for name, more in answer.flags.items():
                before = found.get(name, [0] * facts.size)
                found[name] = [a | b for a, b in zip(before, more, strict=True)]
        return found


def _forbids(item: Item) -> bool:
    if isinstance(item, Stated):
        return not item.flag and not item.demanded
    return (
        isinstance(item, With)
        or (isinstance(item, Forall) and any(_forbids(i) for i in item.items))
        or isinstance(item, Call)
    )


def _raises(item: Item) -> bool:
    if isinstance(item, Stated):
        return item.flag or item.demanded
    return isinstance(item, Call) or (isinstance(item, Forall) and any(_raises(i) for i in item.items))


def _undefines(item: Item) -> bool:
    """Whether a statement may tell of what makes programs undefined; the name of a flag says that."""
    if isinstance(item, Stated):
        return item.demanded or (item.flag and item.name in _UNDEFINED)
    return isinstance(item, Call) or (isinstance(item, Forall) and any(_undefines(i) for i in item.items))


class OneExecution(MemberEvaluator):
    """Statements and expressions on one execution."""

    def __init__(self, residual: Residual, facts: ExecutionFacts) -> None:
        super().__init__(facts)
        self.compiler, self.residual = residual.compiler, residual
        self.evaluation = Evaluation.of(facts.size, facts.base)
        self.chosen: dict[int, CatValue] = {}
        self.defined: dict[tuple[int, int, int], dict[str, CatValue]] = {}
        self.flags: dict[str, Rows] = {}

    def answers(self) -> Iterator[CarriedOut]:
        """See `Residual.answers`."""
        for _ in self.choices():
            yield CarriedOut(dict(self.flags), self._shown())

    def choices(self) -> Iterator[None]:
        """Every way to take members of sets in which all tests hold; until the next, names mean what they mean in it."""
        return self._units(0)

    def _shown(self) -> dict[str, Rows]:
        found = {}
        for name, value in self.compiler.model.shown.items():
            try:
                value = self.force(value, Span(0, 0, 0))
                if isinstance(value, ConcreteValue):
                    found[name] = rows(value if value.kind == RELATION else self.algebra.identity(value))
            except InputError:
                continue
        return found

    def _units(self, at: int) -> Iterator[None]:
        if at == len(self.residual.units):
            yield
            return
        unit = self.residual.units[at]
        if isinstance(unit.item, With):
            for value in self.members(unit.item.source, unit.env):
                self.chosen[unit.number] = value
                self.defined.clear()
                yield from self._units(at + 1)
            return
        flags = dict(self.flags)
        for _ in self._item(unit.item, [unit.env]):
            yield from self._units(at + 1)
        self.flags = flags

    # Statements. `frame` holds the environment, which definitions replace.

    def _items(self, items: Sequence[Item], frame: list[Env]) -> Iterator[None]:
        if not items:
            yield
            return
        for _ in self._item(items[0], frame):
            yield from self._items(items[1:], list(frame))

    def _item(self, item: Item, frame: list[Env]) -> Iterator[None]:
        env = frame[0]
        if isinstance(item, Stated):
            if self._test(item, env):
                yield
        elif isinstance(item, Forall):
            yield from self._forall(item, self.members(item.over, env), env)
        elif isinstance(item, With):
            for value in self.members(item.source, env):
                frame[0] = env.with_({item.name: value})
                yield
        elif isinstance(item, Call):
            routine = self.compiler.meaning(item.name, env)
            if not isinstance(routine, Routine):
                raise placed(fail(item.span, f"'{item.name}' is no procedure"), env)
            bound = parameters(routine.names, self.value(item.argument, env), item.span, item.name)
            yield from self._items(routine.items, [routine.env.with_(bound)])
        elif isinstance(item, Match):
            clause = matching(item.subject, item.clauses, self.value(item.subject, env))
            yield from self._items(clause.items, frame)
        else:
            if isinstance(item, Let):
                frame[0] = env.with_(self._let_item(item, env))
            elif isinstance(item, Procedure):
                routine = Routine(item.name, item.parameters, item.items, env)
                frame[0] = env.with_({item.name: routine})
                if item.recursive:
                    routine.env = frame[0]
            elif isinstance(item, If):
                yield from self._items(item.then if self.is_option(item.option) else item.otherwise, frame)
                return
            yield

    def _let_item(self, item: Let, env: Env) -> dict[str, CatValue]:
        if item.recursive:
            return self.recursive(item.bindings, env)
        found: dict[str, CatValue] = {}
        for b in item.bindings:
            if b.parameters is not None:
                found[b.name] = self.close(b.parameters, b.body, env, b.name)
            else:
                value = self.value(b.body, env)
                found |= {b.name: value} if b.name else parameters(b.parts, value, b.span, "let")
        return found

    def _forall(self, item: Forall, values: list[CatValue], env: Env) -> Iterator[None]:
        if not values:
            yield
            return
        for _ in self._items(item.items, [env.with_({item.name: values[0]})]):
            yield from self._forall(item, values[1:], env)

    def _test(self, item: Stated, env: Env) -> bool:
        value = self.value(item.body, env)
        rows_ = self._related(value, item)
        on_it = [row & 1 << i for i, row in enumerate(rows_)]
        if item.kind == "acyclic":
            reached = closure(rows_)
            found = [row & _inverse_row(reached, i, rows_) for i, row in enumerate(rows_)]
            good = is_acyclic(rows_)
        else:
            found = on_it if item.kind == "irreflexive" else rows_
            good = not any(found)
        holds = good != item.negated
        if not item.flag and not item.demanded:
            return holds
        if holds == item.flag:
            told = found if any(found) and not good else rows(self.algebra.identity(self.algebra.everything(SET)))
            name = "undefined" if item.demanded else item.name or f"{item.kind}@{item.span.line}"
            before = self.flags.get(name, [0] * self.facts.size)
            self.flags[name] = [a | b for a, b in zip(before, told, strict=True)]
        return True

    def _related(self, value: CatValue, item: Stated) -> Rows:
        """What a test is about, as rows; a relation between sets is one between their numbers."""
        if isinstance(value, ClassRelation):
            numbers = {c: i for i, c in enumerate(dict.fromkeys(c for pair in value.pairs for c in pair))}
            found = [0] * max(len(numbers), self.facts.size)
            for a, b in value.pairs:
                found[numbers[a]] |= 1 << numbers[b]
            return found
        if isinstance(value, (ConcreteValue, CatEvent)) and self.as_kind(value, SET, item.span) is not None:
            if item.kind != "empty":
                raise fail(item.body.span, f"'{item.kind}' takes a relation, this is a set")
            return rows(self.algebra.identity(self.as_kind(value, SET, item.span)))
        return rows(self.relation(value, item.body.span, f"'{item.kind}'"))

    def members(self, e: Expression, env: Env) -> list[CatValue]:
        """The members of a set of values."""
        value = self.value(e, env)
        if isinstance(value, Tag):
            return [value]
        if value is EMPTY:
            return []
        value = self.expanded(value, e.span)
        if not isinstance(value, Collection):
            raise placed(fail(e.span, f"this takes a set of values, and gets {kind_of(value)}"), env)
        return list(value.items)

    # Values.

    def named(self, e: Expression, env: Env) -> CatValue:
        if e.op == "tag":
            return self.compiler.named(e, env)
        value = self.compiler.meaning(e.name, env)
        if value is None:
            return self.compiler.named(e, env)  # which says what is wrong
        return self.force(value, e.span)

    def force(self, value: CatValue, span: Span) -> CatValue:
        """What a value is in this execution."""
        if isinstance(value, Node):
            return concrete(self.evaluation.value(value))
        if isinstance(value, Choice):
            return self.force(self.chosen[value.number], span)
        if isinstance(value, FailedDefinition):
            raise value.error
        if isinstance(value, Later):
            return self._later(value)
        if isinstance(value, Collection):
            return self.collection([self.force(i, span) for i in value.items])
        if isinstance(value, TupleValue):
            return TupleValue(tuple(self.force(i, span) for i in value.items))
        return value

    def base(self, name: str) -> CatValue:
        return self.force(self.compiler.base(name), Span(0, 0, 0))

    def _later(self, later: Later) -> CatValue:
        key = (id(later.bindings or later.expression), id(later.env.local), later.env.since)
        if key not in self.defined:
            if later.expression is None:
                self.defined[key] = self.recursive(later.bindings, later.env)
            else:
                self.defined[key] = {"": self.value(later.expression, later.env)}
        found = self.defined[key]
        if isinstance(later.part, str):
            return found[later.part]
        value = found[""]
        items: tuple[CatValue, ...] = value.items if isinstance(value, TupleValue) else (value,)
        if isinstance(value, CatPair):
            items = (CatEvent(value.first), CatEvent(value.second))
        assert later.expression is not None
        if later.part >= len(items):
            raise placed(fail(later.expression.span, f"there are {len(items)} value(s) here"), later.env)
        return items[later.part]

    def primitive(self, name: str, value: CatValue, span: Span) -> CatValue:
        """A function of the language, applied."""
        return PRIMITIVES[name](self, value, span) if name in PRIMITIVES else simple(self, name, value, span)

    def condition(self, e: Expression, a: CatValue, b: CatValue) -> CatValue | bool:
        found = super().condition(e, self.expanded(a, e.span), self.expanded(b, e.span))
        if isinstance(found, ConcreteValue):
            return not (members(found) if found.kind == SET else any(rows(found)))
        return found

    def choose(self, e: Expression, empty: CatValue, then: CatValue, otherwise: CatValue) -> CatValue:
        raise AssertionError("every condition is decided in an execution")

    def split(self, e: Expression, value: CatValue) -> tuple[list[CatValue], Any] | None:
        value = self.expanded(value, e.span)
        found: list[CatValue]
        if isinstance(value, ConcreteValue):
            if value.kind == SET:
                found = [CatEvent(i) for i in bits(members(value))]
            else:
                found = [CatPair(i, j) for i, row in enumerate(rows(value)) for j in bits(row)]
            empty: CatValue = self.algebra.empty(value.kind)
        elif isinstance(value, Collection):
            found, empty = sorted(value.items, key=str), EMPTY
        elif value is EMPTY:
            return None
        else:
            raise fail(e.span, f"a match of a set, and this is {kind_of(value)}")
        return (found, lambda items: self.collected(items, e.span) if items else empty) if found else None

    def function(self, function: Closure, argument: CatValue, span: Span) -> CatValue | None:
        return self.compiler.function(function, argument, span) if isinstance(argument, (Orders, Classes)) else None

    def close(self, names: Binders, body: Expression, env: Env, name: str) -> Closure:
        self.compiler.functions += 1
        return Closure(names, body, env, name, self.compiler.functions)

    def is_option(self, name: str) -> bool:
        return self.compiler.is_option(name)

    def tags(self, tag: CatValue) -> tuple[CatValue, ...]:
        return self.compiler.tags(tag)

    def recursion(self, e: Expression, env: Env) -> Env:
        return env.with_(self.recursive(e.bindings, env))

    def recursive(self, bindings: tuple[Binding, ...], env: Env) -> dict[str, CatValue]:
        """What `let rec` defines: least solutions from below, and functions that may call each other."""
        functions = [b for b in bindings if b.parameters is not None]
        values = [b for b in bindings if b.parameters is None]
        current: dict[str, CatValue] = {n: EMPTY for b in values for n in (b.name, *b.parts) if n}
        for _ in range(self.facts.size**2 * max(1, len(values)) + 2):
            before = dict(current)
            inside = env.with_({**current, **self._knot(functions, env, current)})
            for b in values:
                value = self.value(b.body, inside)
                found: dict[str, CatValue] = {b.name: value} if b.name else parameters(b.parts, value, b.span, "let")
                current |= found
                inside = inside.with_(found)
            if all(_same(current[n], before[n]) for n in current):
                return {**current, **self._knot(functions, env, current)}
        raise fail(values[0].span, "the recursion has no least solution")

    def _knot(self, functions: list[Binding], env: Env, inner: dict[str, CatValue]) -> dict[str, CatValue]:
        local: dict[str, CatValue] = {**env.local, **inner}
        made: dict[str, CatValue] = {}
        for b in functions:
            closure = self.close(b.parameters or (), b.body, Env(local, env.since, env.source), b.name)
            made[b.name] = local[b.name] = closure
        return made


def _same(a: CatValue, b: CatValue) -> bool:
    if b is EMPTY and isinstance(a, ConcreteValue):
        return not (members(a) if a.kind == SET else any(rows(a)))
    return a == b


def _inverse_row(reached: Rows, i: int, step: Rows) -> int:
    """Where one step from an event leads that comes back to it."""
    return sum(1 << j for j in bits(step[i]) if j == i or reached[j] >> i & 1)


__all__ = ["CarriedOut", "ExecutionFacts", "NeedsExecution", "Residual", "Unit"]

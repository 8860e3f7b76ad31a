"""What the operators of the language make of values: sets and relations by an algebra, sets of other values by themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from typing import Any

from axioms.cat.nodes import RELATION, SET, Node
from axioms.cat.syntax import Expression
from axioms.cat.values import (
    EMPTY,
    UNIVERSE,
    Algebra,
    CatEvent,
    CatPair,
    CatValue,
    ClassRelation,
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
from ptxcore.diagnostics import Span, fail

#: What an evaluation asks for on its way: the value of an expression where it stands.
EvaluationSteps = Generator["tuple[Expression, Env]", "CatValue", "CatValue"]
HINT = "[S] makes a relation of a set S"
_SIGN = {"union": "|", "intersection": "&", "difference": "\\"}
_POSTFIX = {"plus": "'+'", "star": "'*'", "opt": "'?'", "inverse": "'^-1'"}
_ASSOCIATIVE = frozenset({"sequence", "union", "intersection"})


class Operators(ABC):
    """`algebra` makes sets and relations of others; `size` is the number of events, where there are any."""

    algebra: Algebra
    size = 0

    def collected(self, values: Sequence[CatValue], span: Span) -> CatValue:
        """The set of some values. Events make a set of events, pairs of them a relation."""
        if all(isinstance(v, CatEvent) for v in values):
            return ConcreteValue(SET, sum({1 << v.number for v in values if isinstance(v, CatEvent)}))
        if all(isinstance(v, CatPair) for v in values):
            return self.algebra.union([self.relation(v, span, "") for v in values])
        if any(isinstance(v, (Closure, Primitive, CatEvent, CatPair)) for v in values):
            raise fail(span, "a set holds values of one kind, and no functions")
        return self.collection(values)

    def collection(self, values: Sequence[CatValue]) -> Collection:
        """A set of values, each once. What is nothing is of the kind of the others."""
        kind = next((v.kind for v in values if isinstance(v, (Node, ConcreteValue))), None)
        alike = values if kind is None else [self.algebra.empty(kind) if v is EMPTY else v for v in values]
        return Collection(tuple(dict.fromkeys(alike)))

    def undecided(self, values: Sequence[CatValue]) -> bool:
        """Whether only an execution says which of these are the same."""
        return any(
            isinstance(v, Node) or (isinstance(v, (Collection, TupleValue)) and self.undecided(v.items)) for v in values
        )

    def operands(self, e: Expression, env: Env) -> Generator[tuple[Expression, Env], CatValue, list[CatValue]]:
        """What a chain of operators is applied to."""
        values = []
        for operand in chain(e):
            values.append((yield operand, env))
        return values

    def read_union(self, e: Expression, env: Env) -> EvaluationSteps:
        """`a | b`."""
        values = yield from self.operands(e, env)
        if UNIVERSE in values:
            return UNIVERSE
        left = [_as_collection(v) for v in values if v is not EMPTY]
        if not left:
            return EMPTY
        if any(isinstance(v, Collection) for v in left):
            if not all(isinstance(v, Collection) for v in left):
                raise fail(e.span, f"'|' between {kind_of(left[0])} and {kind_of(left[-1])}")
            return self.collection([i for v in left if isinstance(v, Collection) for i in v.items])
        if any(isinstance(v, ClassRelation) for v in left):
            return self._classes(e, left, frozenset.union)
        return self.algebra.union(self._alike(e, left))

    def read_intersection(self, e: Expression, env: Env) -> EvaluationSteps:
        """`a & b`."""
        values = [_as_collection(v) for v in (yield from self.operands(e, env))]
        left = [v for v in values if v is not UNIVERSE]
        if not left:
            return UNIVERSE
        if EMPTY in left:
            return EMPTY
        if any(isinstance(v, Collection) for v in left):
            sets = [self._decided(e, v) for v in left]
            return Collection(tuple(i for i in sets[0] if all(i in s for s in sets[1:])))
        if any(isinstance(v, ClassRelation) for v in left):
            return self._classes(e, left, frozenset.intersection)
        return self.algebra.intersection(self._alike(e, left))

    def read_difference(self, e: Expression, env: Env) -> EvaluationSteps:
        """`a \\ b`."""
        a, b = [_as_collection(v) for v in (yield from self.operands(e, env))]
        if b is UNIVERSE or a is EMPTY:
            return EMPTY
        if b is EMPTY:
            return a
        if isinstance(a, Collection) or isinstance(b, Collection):
            if a is UNIVERSE:
                return self.complement(e, b)
            left, right = self._decided(e, a), self._decided(e, b)
            return Collection(tuple(i for i in left if i not in right))
        if isinstance(a, ClassRelation) or isinstance(b, ClassRelation):
            return self._classes(e, [a, b], frozenset.difference)
        x, y = self._alike(e, [a, b])
        return self.algebra.difference(x, y)

    def _decided(self, e: Expression, value: CatValue) -> tuple[CatValue, ...]:
        if not isinstance(value, Collection):
            raise fail(e.span, f"'{_SIGN[e.op]}' between a set of values and {kind_of(value)}")
        if self.undecided(value.items):
            raise NeedsExecution(e.span, f"'{_SIGN[e.op]}' of sets of sets or relations")
        return value.items

    def _classes(self, e: Expression, values: Sequence[CatValue], operation: Any) -> CatValue:
        if not all(isinstance(v, ClassRelation) for v in values):
            raise fail(e.span, f"'{_SIGN[e.op]}' between {kind_of(values[0])} and {kind_of(values[-1])}")
        return ClassRelation(operation(*[v.pairs for v in values if isinstance(v, ClassRelation)]))

    def _alike(self, e: Expression, values: list[CatValue]) -> list[Any]:
        """The operands of a union, an intersection or a difference: all sets, or all relations."""
        kind = self.common_kind(e, values)
        return [self.as_kind(v, kind, e.span) for v in values]

    def common_kind(self, e: Expression, values: Sequence[CatValue]) -> str:
        """Whether the operands are sets or relations. Raises InputError where they are neither, or not the same."""
        found, first = "", None
        turns = turns_of(e) if e.op in _ASSOCIATIVE else []
        for at, v in enumerate(values):
            kind = _kind(v)
            if kind is None:
                if isinstance(v, (Node, ConcreteValue)) or v in (EMPTY, UNIVERSE):
                    continue
                raise fail(e.span, f"'{_SIGN.get(e.op, e.name)}' takes sets or relations, this is {kind_of(v)}")
            if found and kind != found:
                place = turns[at - 1].span if at and at <= len(turns) else e.span
                sign = _SIGN.get(e.op, e.name)
                raise fail(place, f"'{sign}' between a {found} and a {kind}", HINT)
            found, first = kind, first or v
        return found or next((v.kind for v in values if isinstance(v, (Node, ConcreteValue))), RELATION)

    def as_kind(self, value: CatValue, kind: str, span: Span) -> Any:
        """A value as a set or as a relation: what takes the kind that is asked of it, events and pairs."""
        if isinstance(value, Node) and value.kind == kind and value.op != "empty":
            return value
        if value is EMPTY or op_of(value) == "empty":
            return self.algebra.empty(kind)
        if value is UNIVERSE:
            return self.algebra.everything(kind)
        if isinstance(value, CatEvent) and kind == SET:
            return ConcreteValue(SET, 1 << value.number)
        if isinstance(value, CatPair) and kind == RELATION:
            rows = [0] * self.size
            rows[value.first] = 1 << value.second
            return ConcreteValue(RELATION, tuple(rows))
        return value if isinstance(value, ConcreteValue) and value.kind == kind else None

    def relation(self, value: CatValue, span: Span, what: str) -> Any:
        """A value as the relation that `what` takes. Raises InputError."""
        found = self.as_kind(value, RELATION, span)
        if found is None:
            raise fail(
                span, f"{what} takes a relation, this is {kind_of(value)}", HINT if _kind(value) == SET else None
            )
        return found

    def set_of(self, value: CatValue, span: Span, what: str) -> Any:
        """A value as the set that `what` takes. Raises InputError."""
        found = self.as_kind(value, SET, span)
        if found is None:
            raise fail(span, f"{what} takes a set, this is {kind_of(value)}")
        return found

    def read_sequence(self, e: Expression, env: Env) -> EvaluationSteps:
        """`a; b`."""
        values = yield from self.operands(e, env)
        if any(isinstance(v, ClassRelation) for v in values):
            pairs = self._classes(e._replace(op="union"), values[:1], frozenset.union)
            for v in values[1:]:
                if not isinstance(v, ClassRelation) or not isinstance(pairs, ClassRelation):
                    raise fail(e.span, "';' between a relation between sets and something else")
                pairs = ClassRelation(frozenset((a, d) for a, b in pairs.pairs for c, d in v.pairs if b == c))
            return pairs
        operands = [self.relation(v, o.span, "';'") for v, o in zip(values, chain(e), strict=True)]
        return self.algebra.sequence(operands)

    def read_product(self, e: Expression, env: Env) -> EvaluationSteps:
        """`a * b`."""
        values = yield from self.operands(e, env)
        a, b = [self.set_of(v, o.span, "'*'") for v, o in zip(values, e.operands, strict=True)]
        return self.algebra.product(a, b)

    def read_identity(self, e: Expression, env: Env) -> EvaluationSteps:
        """`[a]`."""
        value = yield e.operands[0], env
        return self.algebra.identity(self.set_of(value, e.operands[0].span, "'[ ]'"))

    def read_postfix(self, e: Expression, env: Env) -> EvaluationSteps:
        """`a+`, `a*`, `a?`, `a^-1`."""
        value = yield e.operands[0], env
        if isinstance(value, ClassRelation) and e.op == "inverse":
            return ClassRelation(frozenset((b, a) for a, b in value.pairs))
        if value is UNIVERSE or (value is EMPTY and e.op in ("plus", "inverse")):
            return value
        r = self.relation(value, e.operands[0].span, _POSTFIX[e.op])
        if e.op == "star":
            return self.algebra.opt(self.algebra.plus(r))
        return {"plus": self.algebra.plus, "opt": self.algebra.opt, "inverse": self.algebra.inverse}[e.op](r)

    def read_complement(self, e: Expression, env: Env) -> EvaluationSteps:
        """`~a`."""
        return self.complement(e, (yield e.operands[0], env))

    def complement(self, e: Expression, value: CatValue) -> CatValue:
        """What is not in a set or a relation, or which tags are not."""
        if value in (EMPTY, UNIVERSE):
            return UNIVERSE if value is EMPTY else EMPTY
        value = _as_collection(value)
        if isinstance(value, Collection) and value.items and all(isinstance(i, Tag) for i in value.items):
            return Collection(tuple(t for t in self.tags(value.items[0]) if t not in value.items))
        if not isinstance(value, (Node, ConcreteValue)):
            raise fail(e.span, f"'~' takes a set or a relation, this is {kind_of(value)}")
        return self.algebra.difference(self.algebra.everything(value.kind), value)

    @abstractmethod
    def tags(self, tag: CatValue) -> tuple[CatValue, ...]:
        """All tags of a tag's `enum`."""

    def read_add(self, e: Expression, env: Env) -> EvaluationSteps:
        """`a ++ b`: b with a for one more member."""
        a = yield e.operands[0], env
        b = yield e.operands[1], env
        if b is UNIVERSE:
            return b
        if a is UNIVERSE:
            raise fail(e.span, "'_' is no member of a set: it has no kind here")
        a = as_pair(a)
        if isinstance(a, (CatEvent, CatPair)):
            kind = SET if isinstance(a, CatEvent) else RELATION
            rest = self.as_kind(b, kind, e.span)
            if rest is not None:
                return self.algebra.union([self.as_kind(a, kind, e.span), rest])
        elif b is EMPTY:
            return self.collected([a], e.span)
        elif isinstance(b, Collection):
            return self.collected([a, *b.items], e.span)
        raise fail(e.span, f"'++' of {kind_of(a)} and {kind_of(b)}; use '|' between sets")


def op_of(value: CatValue) -> str:
    return value.op if isinstance(value, Node) else ""


def _kind(value: CatValue) -> str | None:
    """Whether something is a set or a relation; None for what is neither, or takes the kind that is asked of it."""
    if isinstance(value, Node):
        return None if value.op == "empty" else value.kind
    if isinstance(value, CatEvent):
        return SET
    if isinstance(value, CatPair):
        return RELATION
    return value.kind if isinstance(value, ConcreteValue) else None


def _as_collection(value: CatValue) -> CatValue:
    return Collection((value,)) if isinstance(value, Tag) else value


def turns_of(e: Expression) -> list[Expression]:
    """`a | b | c` as its operations, the first one first: one value is made of them, not one for each."""
    turns = [e]
    while turns[-1].operands[0].op == e.op:
        turns.append(turns[-1].operands[0])
    return turns[::-1]


def chain(e: Expression) -> tuple[Expression, ...]:
    """What an operation is applied to; of an associative one, everything that a chain of it is applied to."""
    if e.op not in _ASSOCIATIVE:
        return e.operands
    turns = turns_of(e)
    return (turns[0].operands[0], *[t.operands[1] for t in turns])

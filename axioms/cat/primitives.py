"""The members of sets, on one execution: its locations, the orders of some events, unions of one relation of each set; and the
functions of the language that look at them."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from axioms.cat.algebra import Concrete, concrete, members, rows
from axioms.cat.compiled import ExecutionFacts
from axioms.cat.evaluate import bits, closure
from axioms.cat.expand import Evaluator
from axioms.cat.nodes import RELATION, SET
from axioms.cat.values import (
    EMPTY,
    UNIVERSE,
    CatValue,
    Classes,
    ClassRelation,
    Collection,
    ConcreteValue,
    Orders,
    Tag,
    TupleValue,
)
from ptxcore.diagnostics import Diagnostic, InputError, Span, fail

#: Operations that one execution may cost.
_MOST_WORK = 2_000_000
#: Orders of the events of one location that are looked at.
_MOST_ORDERS = 50_000


class MemberEvaluator(Evaluator):
    """An evaluator that knows the execution, so that it can list the members of sets."""

    algebra: Concrete

    def __init__(self, facts: ExecutionFacts) -> None:
        super().__init__()
        self.size, self.facts = facts.size, facts
        self.left = _MOST_WORK
        alive = facts.base["_"]
        assert isinstance(alive, int)
        self.algebra = Concrete(facts.size, alive, self._spend)

    def force(self, value: CatValue, span: Span) -> CatValue:
        """What a value is in this execution."""
        raise NotImplementedError

    def base(self, name: str) -> CatValue:
        """A set or relation that every model may use, in this execution."""
        raise NotImplementedError

    def _spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise InputError(
                [Diagnostic(Span(0, 0, 0), f"an execution takes more than {_MOST_WORK} operations to evaluate")]
            )

    def expanded(self, value: CatValue, span: Span) -> CatValue:
        """Sets that have a name of their own, with their members."""
        if isinstance(value, Classes):
            value = self.by_place(self.force(value.members, span))
        elif isinstance(value, Orders):
            classes = self.by_place(self.force(value.members, span))
            before = self.force(value.before, span)
            assert isinstance(classes, Collection) and isinstance(before, ConcreteValue)
            each = Collection(
                tuple(self.orders(c, before, span) for c in classes.items if isinstance(c, ConcreteValue))
            )
            value = self.crossed(each) if value.crossed else each
        return value

    def by_place(self, value: CatValue) -> CatValue:
        """The events of a set, location by location."""
        assert isinstance(value, ConcreteValue)
        loc = self.facts.base["loc"]
        assert isinstance(loc, list)
        left, found = members(value), []
        while left:
            first = bits(left & -left)[0]
            together = (loc[first] | 1 << first) & left
            found.append(concrete(together))
            left &= ~together
        return Collection(tuple(found))

    def orders(self, events: ConcreteValue, before: ConcreteValue, span: Span) -> CatValue:
        """The strict total orders of some events that have the pairs of a relation among them."""
        among = members(events)
        wanted = [row & among for row in rows(before)]
        found: list[CatValue] = []

        def extend(order: list[int], left: int) -> None:
            if len(found) > _MOST_ORDERS:
                raise fail(span, f"there are more than {_MOST_ORDERS} orders of the events of a location here")
            self._spend(1)
            if not left:
                result, after = [0] * self.facts.size, 0
                for i in reversed(order):
                    result[i] = after
                    after |= 1 << i
                found.append(concrete(result))
            for i in bits(left):
                if not any(wanted[j] >> i & 1 for j in bits(left)):
                    extend([*order, i], left & ~(1 << i))

        extend([], among)
        return Collection(tuple(found))

    def crossed(self, sets: Collection) -> CatValue:
        """All unions of one relation of each set."""
        parts = [s.items if isinstance(s, Collection) else () for s in sets.items]
        nothing = self.algebra.empty(RELATION)
        found = [
            self.algebra.union([nothing, *[self.as_kind(r, RELATION, Span(0, 0, 0)) for r in some]])
            for some in itertools.product(*parts)
        ]
        return self.collection(found)


def _two(value: CatValue, span: Span, name: str) -> tuple[CatValue, CatValue]:
    if not isinstance(value, TupleValue) or len(value.items) != 2:
        raise fail(span, f"'{name}' takes 2 arguments")
    return value.items[0], value.items[1]


def _classes(c: MemberEvaluator, value: CatValue, span: Span) -> CatValue:
    """The classes of a relation, taken as an equivalence on the events that it relates."""
    r = rows(c.relation(value, span, "'classes'"))
    both = [a | b for a, b in zip(r, rows(c.algebra.inverse(concrete(r))), strict=True)]
    reached = closure(both)
    left = sum(1 << i for i, row in enumerate(both) if row)
    found = []
    while left:
        first = bits(left & -left)[0]
        together = reached[first] | 1 << first
        found.append(concrete(together))
        left &= ~together
    return Collection(tuple(found)) if found else EMPTY


def _partition(c: MemberEvaluator, value: CatValue, span: Span) -> CatValue:
    return c.by_place(c.set_of(value, span, "'classes-loc'"))


def _linearisations(c: MemberEvaluator, value: CatValue, span: Span) -> CatValue:
    a, b = _two(value, span, "linearisations")
    return c.orders(c.set_of(a, span, "'linearisations'"), c.relation(b, span, "'linearisations'"), span)


def _co_locs(c: MemberEvaluator, value: CatValue, span: Span) -> CatValue:
    before, classes = _two(value, span, "co_locs")
    found = c.expanded(classes, span)
    r = c.relation(before, span, "'co_locs'")
    items = found.items if isinstance(found, Collection) else ()
    return Collection(tuple(dict.fromkeys(c.orders(c.set_of(s, span, "'co_locs'"), r, span) for s in items)))


def _cross(c: MemberEvaluator, value: CatValue, span: Span) -> CatValue:
    found = c.expanded(value._replace(crossed=False) if isinstance(value, Orders) else value, span)
    if found is not EMPTY and not isinstance(found, Collection):
        raise fail(span, "'cross' takes a set of sets of relations")
    return c.crossed(found if isinstance(found, Collection) else Collection(()))


def _generate(c: MemberEvaluator, value: CatValue, span: Span) -> CatValue:
    members_, before = _two(value, span, "generate_orders")
    return _cross(c, _co_locs(c, TupleValue((before, _partition(c, members_, span))), span), span)


def _coherences(c: MemberEvaluator, value: CatValue, span: Span) -> CatValue:
    return _generate(c, TupleValue((c.base("W"), value)), span)


def _different(c: MemberEvaluator, value: CatValue, span: Span) -> CatValue:
    values = [c.facts.value(i) for i in range(c.facts.size)]
    found = []
    for i, row in enumerate(rows(c.relation(value, span, "'different-values'"))):
        found.append(sum(1 << j for j in bits(row) if values[i] is None or values[i] != values[j]))
    return concrete(found)


def _loc2events(c: MemberEvaluator, value: CatValue, span: Span) -> CatValue:
    if not isinstance(value, Tag):
        raise fail(span, "'loc2events' takes a tag that names a location")
    alive = members(c.algebra.everything(SET))
    return concrete(sum(1 << i for i in bits(alive) if c.facts.place(i) == value.name))


def _lift(c: MemberEvaluator, value: CatValue, span: Span) -> CatValue:
    classes, r = _two(value, span, "lift")
    found = c.expanded(classes, span)
    if not isinstance(found, Collection):
        raise fail(span, "'lift' takes a set of sets of events, and a relation")
    where = {i: members(s) for s in found.items if isinstance(s, ConcreteValue) for i in bits(members(s))}
    pairs = {(i, j) for i, row in enumerate(rows(c.relation(r, span, "'lift'"))) for j in bits(row)}
    return ClassRelation(frozenset((where[i], where[j]) for i, j in pairs if i in where and j in where))


def _delift(c: MemberEvaluator, value: CatValue, span: Span) -> CatValue:
    found = [0] * c.facts.size
    if value is not EMPTY and not isinstance(value, ClassRelation):
        raise fail(span, "'delift' takes a relation between sets of events")
    for a, b in value.pairs if isinstance(value, ClassRelation) else ():
        for i in bits(a):
            found[i] |= b
    return concrete(found)


def _deliftinter(c: MemberEvaluator, value: CatValue, span: Span) -> CatValue:
    r, classes = _two(value, span, "deliftinter")
    return c.algebra.intersection([c.relation(r, span, "'deliftinter'"), _delift(c, classes, span)])


def _bisimulation(c: MemberEvaluator, value: CatValue, span: Span) -> CatValue:
    """The largest part of an equivalence in which whoever is related makes the same steps."""
    t, e = _two(value, span, "bisimulation")
    steps, found = rows(c.relation(t, span, "'bisimulation'")), rows(c.relation(e, span, "'bisimulation'"))
    while True:
        kept = []
        for i, row in enumerate(found):
            good = 0
            for j in bits(row):
                there = all(any(found[k] >> m & 1 for m in bits(steps[j])) for k in bits(steps[i]))
                back = all(any(found[m] >> k & 1 for m in bits(steps[i])) for k in bits(steps[j]))
                good |= 1 << j if there and back else 0
            kept.append(good)
        if kept == found:
            return concrete(found)
        found = kept


def simple(c: MemberEvaluator, name: str, value: CatValue, span: Span) -> CatValue:
    """Those that need not look at members: as in a compiled model."""
    algebra = c.algebra
    if name in ("domain", "range"):
        if value in (EMPTY, UNIVERSE):
            return value
        r = c.relation(value, span, f"'{name}'")
        return algebra.domain(r) if name == "domain" else algebra.range(r)
    if name == "fail":
        raise fail(span, "the model says that this must not be reached")
    s = c.set_of(value, span, f"'{name}'")
    if name == "toid":
        return algebra.identity(s)
    if name == "fromto":
        s = algebra.intersection([s, c.base("F")])
    po = c.base("po")
    return algebra.sequence([po, algebra.identity(s), po])


PRIMITIVES: dict[str, Callable[[MemberEvaluator, CatValue, Span], CatValue]] = {
    "classes": _classes,
    "classes-loc": _partition,
    "partition": _partition,
    "linearisations": _linearisations,
    "co_locs": _co_locs,
    "cross": _cross,
    "generate_orders": _generate,
    "generate_cos": _coherences,
    "different-values": _different,
    "loc2events": _loc2events,
    "lift": _lift,
    "delift": _delift,
    "deliftinter": _deliftinter,
    "bisimulation": _bisimulation,
}

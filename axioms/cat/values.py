"""What an expression of a model may be: sets and relations, and what is made of them or computes them.

A set or a relation is a node of a compiled model (its value is found for each execution), or, where a model is evaluated on one
execution, that value itself (`ConcreteValue`). Everything else is known when the model is read, or it waits for an execution
(`Later`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Protocol

from axioms.cat.nodes import Node
from axioms.cat.syntax import Binders, Binding, Expression, Item
from ptxcore.diagnostics import InputError, Span
from ptxcore.records import NamedTuple


class Anything(Enum):
    """What takes the kind that is asked of it."""

    EMPTY = "nothing"
    UNIVERSE = "everything"


EMPTY, UNIVERSE = Anything.EMPTY, Anything.UNIVERSE


class ConcreteValue(NamedTuple):
    """A set (a bitset) or a relation (its rows) of one execution."""

    kind: str
    value: int | tuple[int, ...]


class CatEvent(NamedTuple):
    number: int


class CatPair(NamedTuple):
    first: int
    second: int


class ClassRelation(NamedTuple):
    """A relation between sets of events."""

    pairs: frozenset[tuple[int, int]]


class Tag(NamedTuple):
    enum: str
    name: str


class Collection(NamedTuple):
    """A set of what is no event and no pair of events: tags, sets, relations, tuples."""

    items: tuple[CatValue, ...]


class TupleValue(NamedTuple):
    """A tuple."""

    items: tuple[CatValue, ...]


class SourceFile(NamedTuple):
    """The file that something stands in."""

    path: str
    text: str


class Env(NamedTuple):
    """Where an expression stands: what its parameters are, how many of the file's definitions it sees, and in which file."""

    local: Mapping[str, CatValue]
    since: int
    source: SourceFile

    def with_(self, more: Mapping[str, CatValue]) -> Env:
        """With more names, which hide those of the same name."""
        return Env({**self.local, **more}, self.since, self.source) if more else self


class Closure:
    """A function of the model. `instead` computes the same on nodes, for a function that is known."""

    def __init__(self, names: Binders, body: Expression, env: Env, name: str, number: int) -> None:
        self.names, self.body, self.env, self.name, self.number = names, body, env, name, number
        self.instead = ""


class Routine:
    """A procedure of the model."""

    def __init__(self, name: str, names: Binders, items: tuple[Item, ...], env: Env) -> None:
        self.name, self.names, self.items, self.env = name, names, items, env


class Primitive(NamedTuple):
    """A function of the language, by its name."""

    name: str


class Classes(NamedTuple):
    """The writes, or other events, of a set, location by location."""

    members: Node


class Orders(NamedTuple):
    """The strict orders of a set's events that are total at each location and have the pairs of a relation there. Where not
    yet `crossed`, the orders of each location by themselves."""

    members: Node
    before: Node
    crossed: bool


class Later:
    """What only an execution says: an expression, or one part of a tuple or of a recursion."""

    def __init__(self, env: Env, expression: Expression | None, bindings: tuple[Binding, ...], part: str | int) -> None:
        self.env, self.expression, self.bindings, self.part = env, expression, bindings, part


class Choice(NamedTuple):
    """What `with x from S` takes out of S, by the number of that statement."""

    number: int


class FailedDefinition(NamedTuple):
    """A definition without a meaning, which nobody may need."""

    error: InputError


CatValue = (
    Node | ConcreteValue | CatEvent | CatPair | ClassRelation | Tag | Collection | TupleValue | Closure | Routine
    | Primitive | Classes | Orders | Later | Choice | FailedDefinition | Anything
)  # fmt: skip


class Algebra(Protocol):
    """What makes sets and relations of others: a builder of nodes, or the values of one execution."""

    def spend(self, work: int) -> None: ...
    def empty(self, kind: str) -> Node | ConcreteValue: ...
    def everything(self, kind: str) -> Node | ConcreteValue: ...
    def union(self, parts: list[Any]) -> Node | ConcreteValue: ...
    def intersection(self, parts: list[Any]) -> Node | ConcreteValue: ...
    def difference(self, a: Any, b: Any) -> Node | ConcreteValue: ...
    def sequence(self, parts: list[Any]) -> Node | ConcreteValue: ...
    def inverse(self, a: Any) -> Node | ConcreteValue: ...
    def plus(self, a: Any) -> Node | ConcreteValue: ...
    def opt(self, a: Any) -> Node | ConcreteValue: ...
    def identity(self, a: Any) -> Node | ConcreteValue: ...
    def product(self, a: Any, b: Any) -> Node | ConcreteValue: ...
    def domain(self, a: Any) -> Node | ConcreteValue: ...
    def range(self, a: Any) -> Node | ConcreteValue: ...


class NeedsExecution(Exception):
    """Raised where a model asks what only an execution says; `what` is told where that cannot be asked."""

    def __init__(self, span: Span, what: str) -> None:
        super().__init__(what)
        self.span, self.what = span, what


def as_pair(value: CatValue) -> CatValue:
    """Two events are a pair of events where one is meant."""
    if isinstance(value, TupleValue) and len(value.items) == 2:
        a, b = value.items
        if isinstance(a, CatEvent) and isinstance(b, CatEvent):
            return CatPair(a.number, b.number)
    return value


_WORDS: dict[type, str] = {
    CatEvent: "an event",
    CatPair: "a pair of events",
    ClassRelation: "a relation between sets",
    Tag: "a tag",
    Collection: "a set of values",
    TupleValue: "a tuple",
    Closure: "a function",
    Primitive: "a function",
    Routine: "a procedure",
    Classes: "a set of sets",
    Orders: "a set of relations",
}


def kind_of(value: CatValue) -> str:
    """What people call a value, with its article."""
    if isinstance(value, (Node, ConcreteValue)):
        return f"a {value.kind}"
    if isinstance(value, Anything):
        return "nothing" if value is EMPTY else "everything"
    return _WORDS.get(type(value), "a value")

"""Compiles the expressions of a model: to nodes, and to whatever else is known when the model is read."""

from __future__ import annotations

import contextlib
import itertools
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Any

from axioms.cat.compiled import Model
from axioms.cat.expand import Evaluator, TooMuch, parameters, placed
from axioms.cat.library import DERIVED, FUNCTIONS, MEANINGLESS, OF_TOTAL_ORDERS, PRIMITIVES
from axioms.cat.names import BASE
from axioms.cat.nodes import RELATION, SET, Builder, Node, SignedNodes
from axioms.cat.syntax import Binders, Binding, Expression
from axioms.cat.values import (
    EMPTY,
    UNIVERSE,
    CatValue,
    Choice,
    Classes,
    Closure,
    Collection,
    Env,
    FailedDefinition,
    Later,
    NeedsExecution,
    Orders,
    Primitive,
    SourceFile,
    Tag,
    TupleValue,
)
from ptxcore.diagnostics import Diagnostic, InputError, Span, fail, nearest

FindModel = Callable[[str], str | None]

#: What a model may cost to compile, in operations and operands that are made or looked at: a second or two. The largest model
#: that ships costs some thousands.
MOST_WORK = 3_000_000
NOWHERE = SourceFile("", "")
_NOTHING = frozenset({"0", "emptyset", "{}"})


class NameScope:
    """What names mean, and what they meant: a name may be defined again, and functions keep what they were defined with."""

    def __init__(self) -> None:
        self._meanings: dict[str, list[tuple[int, CatValue]]] = {}
        self.size = 0

    def define(self, name: str, bound: CatValue) -> None:
        """From here on the name means something else."""
        self.size += 1
        self._meanings.setdefault(name, []).append((self.size, bound))

    def meaning(self, name: str, since: int) -> CatValue | None:
        """The last meaning among the first `since` definitions."""
        found = self._meanings.get(name)
        if not found:
            return None
        if found[-1][0] <= since:
            return found[-1][1]
        at = bisect_right(found, since, key=lambda f: f[0])
        return found[at - 1][1] if at else None

    def names(self) -> Iterable[str]:
        """All that were defined."""
        return self._meanings


class ExpressionCompiler(Builder, Evaluator):
    """Evaluates expressions to nodes. What only an execution says raises NeedsExecution."""

    def __init__(self, name: str, options: frozenset[str]) -> None:
        Builder.__init__(self)
        Evaluator.__init__(self)
        self.algebra = self
        self.model = Model(name)
        self.options = options
        self.scope = NameScope()
        self.enums: dict[str, tuple[Tag, ...]] = {}
        self.tag_of: dict[str, Tag] = {}
        self.left = MOST_WORK
        self.place = Span(0, 0, 0)  # of the expression that is being compiled
        self.functions = 0
        self.orders_needed = False
        self.from_library: dict[str, CatValue] = {}

    def spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            message = f"the definitions expand to more than {MOST_WORK} operations up to here"
            hint = "functions that call functions twice grow exponentially"
            raise TooMuch([Diagnostic(self.place, message, hint)])

    def value(self, expression: Expression, env: Env) -> CatValue:
        self.place = expression.span
        return Evaluator.value(self, expression, env)

    # Names.

    def meaning(self, name: str, env: Env) -> CatValue | None:
        """What a name means; None for one that means nothing."""
        bound = env.local.get(name)
        if bound is None:
            bound = self.scope.meaning(name, env.since)
        if bound is not None:
            return bound
        if name in BASE:
            return UNIVERSE if name == "_" else self.base(name)
        if name in _NOTHING:
            return EMPTY
        if name in DERIVED:
            self.orders_needed = self.orders_needed or name in OF_TOTAL_ORDERS
            return DERIVED[name].build(self)
        if name in PRIMITIVES:
            return Primitive(name)
        return self._of_library(name) if name in FUNCTIONS else None

    def _of_library(self, name: str) -> CatValue:
        if name not in self.from_library:
            self.from_library[name] = self.library_function(name)
        return self.from_library[name]

    @abstractmethod
    def library_function(self, name: str) -> CatValue:
        """A function or a procedure of the standard library."""

    def named(self, e: Expression, env: Env) -> CatValue:
        if e.op == "tag":
            if e.name not in self.tag_of:
                raise fail(e.span, f"unknown tag ''{e.name}'", nearest(e.name, self.tag_of))
            return self.tag_of[e.name]
        bound = self.meaning(e.name, env)
        if bound is None:
            what = "function" if e.op == "call" else "set or relation"
            if e.name in MEANINGLESS:
                raise fail(e.span, f"'{e.name}' means nothing for PTX: {MEANINGLESS[e.name]}")
            known = [*env.local, *self.scope.names(), *BASE, *DERIVED] if e.op != "call" else self.callable_names(env)
            raise fail(e.span, f"unknown {what} '{e.name}'", nearest(e.name, known))
        return self.settled(bound, e)

    def note_orders(self, found: object, env: Env) -> None:
        """Notes whether something that only an execution says speaks of what has to be total for it."""
        stack = [found]
        while stack:
            e = stack.pop()
            if isinstance(e, Expression) and e.op == "name" and e.name in OF_TOTAL_ORDERS:
                self.meaning(e.name, env)
            if isinstance(e, tuple):
                stack += e

    def callable_names(self, env: Env) -> list[str]:
        """What a call may mean."""
        return [*env.local, *self.scope.names(), *PRIMITIVES, *FUNCTIONS]

    def settled(self, bound: CatValue, e: Expression) -> CatValue:
        """What a name stands for, if that is known."""
        if isinstance(bound, (Later, Choice)):
            raise NeedsExecution(e.span, f"'{e.name}'")
        if isinstance(bound, FailedDefinition):
            raise bound.error
        return bound

    def tags(self, tag: CatValue) -> tuple[CatValue, ...]:
        assert isinstance(tag, Tag)
        return self.enums[tag.enum]

    def is_option(self, name: str) -> bool:
        self.model.options |= {name}
        return name in self.options

    # Functions.

    def close(self, names: Binders, body: Expression, env: Env, name: str) -> Closure:
        self.functions += 1
        closure = Closure(names, body, env, name, self.functions)
        self.check_body(closure)
        return closure

    def check_body(self, closure: Closure) -> None:
        """A function is expanded where it is called; that its names mean something is checked where it stands."""
        bound = frozenset(n for n in closure.names if n is not None)
        stack = [(closure.body, bound)]
        while stack:
            e, known = stack.pop()
            self.spend(1)
            if e.op in ("name", "call", "tag") and e.name not in known:
                if e.op == "call" and e.name == closure.name and self.meaning(e.name, closure.env) is None:
                    raise placed(
                        fail(e.span, f"function '{e.name}' calls itself", "'let rec' defines one that may"), closure.env
                    )
                with contextlib.suppress(NeedsExecution):
                    self.named(e, closure.env)
            stack += [(o, known) for o in below(e, known)] if not e.bindings and not e.clauses and not e.names else []
            stack += _scoped(e, known)

    def function(self, closure: Closure, argument: CatValue, span: Span) -> CatValue | None:
        if closure.instead == "co_locs" and isinstance(argument, TupleValue) and len(argument.items) == 2:
            before, classes = argument.items
            if isinstance(classes, Classes):
                return Orders(classes.members, self.relation(before, span, "a linearisation"), False)
        if closure.instead == "cross" and isinstance(argument, Orders):
            return argument._replace(crossed=True)
        return None

    def primitive(self, name: str, value: CatValue, span: Span) -> CatValue:
        if name in ("domain", "range"):
            if value in (EMPTY, UNIVERSE):
                return value
            r = self.relation(value, span, f"'{name}'")
            return self.domain(r) if name == "domain" else self.range(r)
        if name == "toid":
            return self.identity(self.set_of(value, span, "'toid'"))
        if name == "fencerel":
            po = self.base("po")
            return self.sequence([po, self.identity(self.set_of(value, span, "'fencerel'")), po])
        if name == "fromto":
            po, s = self.base("po"), self.intersection([self.set_of(value, span, "'fromto'"), self.base("F")])
            return self.sequence([po, self.identity(s), po])
        if name in ("partition", "classes-loc"):
            return Classes(self.set_of(value, span, f"'{name}'"))
        if name == "fail":
            raise fail(span, "the model says that this must not be reached")
        if name == "generate_cos":
            return Orders(self.base("W"), self.relation(value, span, "'generate_cos'"), True)
        return self._of_orders(name, value, span)

    def _of_orders(self, name: str, value: CatValue, span: Span) -> CatValue:
        if name == "cross" and isinstance(value, Orders):
            return value._replace(crossed=True)
        if name in ("generate_orders", "co_locs") and isinstance(value, TupleValue) and len(value.items) == 2:
            a, b = value.items
            if name == "generate_orders":
                return Orders(self.set_of(a, span, f"'{name}'"), self.relation(b, span, f"'{name}'"), True)
            if isinstance(b, Classes):
                return Orders(b.members, self.relation(a, span, f"'{name}'"), False)
        raise NeedsExecution(span, f"'{name}'")

    def split(self, e: Expression, value: CatValue) -> tuple[list[CatValue], Any] | None:
        if value is EMPTY or (isinstance(value, Node) and value.op == "empty"):
            return None
        if isinstance(value, Collection):
            if not value.items:
                return None
            if len(value.items) == 1 or not self.undecided(value.items):
                return sorted(value.items, key=str) if len(value.items) > 1 else list(value.items), _again
        elif not isinstance(value, (Node, Classes, Orders)):
            raise fail(e.span, "a match of a set, and this is none")
        raise NeedsExecution(e.span, "the members of a set")

    def choose(self, e: Expression, empty: CatValue, then: CatValue, otherwise: CatValue) -> CatValue:
        assert isinstance(empty, Node)
        if empty.op == "empty":
            return then
        plain = (then, otherwise)
        if not all(isinstance(v, Node) or v in (EMPTY, UNIVERSE) for v in plain):
            raise NeedsExecution(e.span, f"'{e.name}' of sets or relations")
        kind = self.common_kind(e, plain)
        yes, no = self.as_kind(then, kind, e.span), self.as_kind(otherwise, kind, e.span)
        every = self.everything(RELATION)
        some: Node = self.sequence([every, self.identity(empty) if empty.kind == SET else empty, every])
        if kind == SET:
            some = self.domain(some)
        return self.union([self.difference(yes, some), self.intersection([no, some])])

    # Recursions.

    def recursion(self, e: Expression, env: Env) -> Env:
        return env.with_(self.recursive(e.bindings, env))

    def recursive(self, bindings: tuple[Binding, ...], env: Env) -> dict[str, CatValue]:
        """What `let rec` defines: functions that may call each other, and least solutions."""
        functions = [b for b in bindings if b.parameters is not None]
        values = [b for b in bindings if b.parameters is None]
        if any(b.parts for b in values):
            raise NeedsExecution(values[0].span, "a recursion of tuples")
        if not values:
            return self.knot(functions, env, {})
        first: InputError | None = None
        for guess in itertools.product((RELATION, SET), repeat=min(len(values), 6)):
            kinds = dict(zip((b.name for b in values), (*guess, *[RELATION] * len(values)), strict=False))
            variables = [self.variable(b.name) for b in values]
            inner: dict[str, CatValue] = {
                b.name: self._as(v, kinds.get(b.name, RELATION)) for b, v in zip(values, variables, strict=True)
            }
            inside = env.with_({**inner, **self.knot(functions, env, inner)})
            try:
                bodies = self._bodies(values, inside, kinds)
            except TooMuch:
                raise
            except InputError as error:
                first = first or error
                continue
            if bodies is not None:
                break
        else:
            raise first or fail(values[0].span, f"'{values[0].name}' is neither a relation nor a set")
        if len(bodies) == 1 and (closed := self.as_closure(variables[0], bodies[0])) is not None:
            nodes = [closed]
        else:
            nodes = [self.fixpoint(b.name, i, tuple(bodies), tuple(variables)) for i, b in enumerate(values)]
            for node, b in zip(nodes, values, strict=True):
                self.check_monotone(node, b.span)
        found: dict[str, CatValue] = {
            b.name: self._as(n, kinds.get(b.name, RELATION)) for b, n in zip(values, nodes, strict=True)
        }
        return {**found, **self.knot(functions, env, found)}

    def _as(self, node: Node, kind: str) -> Node:
        """A set is solved for as the part of the identity on it."""
        return self.domain(node) if kind == SET else node

    def _bodies(self, values: list[Binding], inside: Env, kinds: dict[str, str]) -> list[Node] | None:
        """The bodies of a recursion as relations; None where some are not of the kinds that they were taken for."""
        bodies: list[Node] = []
        for b in values:
            body = self.value(b.body, inside)
            if isinstance(body, (Collection, TupleValue, Classes, Orders)):
                raise NeedsExecution(b.span, f"'let rec {b.name}'")
            body = self.as_kind(body, kinds[b.name], b.span)
            if body is None:
                return None
            assert isinstance(body, Node)
            bodies.append(self.identity(body) if kinds[b.name] == SET else body)
        return bodies

    def knot(self, functions: list[Binding], env: Env, inner: dict[str, CatValue]) -> dict[str, CatValue]:
        """Functions that see each other, and what else is defined with them."""
        local: dict[str, CatValue] = {**env.local, **inner}
        inside = Env(local, env.since, env.source)
        made: dict[str, CatValue] = {}
        for b in functions:
            self.functions += 1
            made[b.name] = local[b.name] = Closure(b.parameters or (), b.body, inside, b.name, self.functions)
        for closure in made.values():
            assert isinstance(closure, Closure)
            self.check_body(closure)
        return made

    def check_monotone(self, node: Node, span: Span) -> None:
        """Raises InputError for a recursion that has no least solution."""
        monotone: SignedNodes = set()
        if any(self.finds(body, True, lambda n, p: not p and n in node.variables, monotone) for body in node.args):
            raise fail(span, f"'{node.name}' depends on what it does not contain: the recursion has no least solution")


def _again(items: list[CatValue]) -> CatValue:
    return Collection(tuple(items)) if items else EMPTY


def below(e: Expression, known: frozenset[str]) -> tuple[Expression, ...]:
    """The operands whose names must mean something: what `try` tries need not."""
    return e.operands[1:] if e.op == "try" else e.operands


def _scoped(e: Expression, known: frozenset[str]) -> list[tuple[Expression, frozenset[str]]]:
    """The parts of an expression that has names of its own, each with the names that it sees."""
    if e.names:
        return [(o, known.union(n for n in e.names if n)) for o in e.operands]
    found: list[tuple[Expression, frozenset[str]]] = []
    if e.bindings:
        inner = known.union(n for b in e.bindings for n in (b.name, *b.parts) if n)
        for b in e.bindings:
            found.append((b.body, (inner if e.name == "rec" else known).union(n for n in b.parameters or () if n)))
        found += [(o, inner) for o in e.operands]
    if e.clauses:
        found += [(o, known) for o in e.operands]
        for c in e.clauses:
            if c.body is not None:
                found.append((c.body, known.union(n for n in c.names if n) if c.kind != "tag" else known))
    return found


#: Functions that choose orders of all locations, as herd's library writes them, by what they consist of whatever their names
#: are: they are told by that, not by the file that they come from. By the length of what they consist of, and its digest.
_KNOWN = {165: ("573fb96f830e87a4", "co_locs"), 332: ("1973b4fbfb23a800", "cross")}


def known_function(body: Expression, names: Binders) -> str:
    """Which of the functions that a compiled model has an operation for this one is; "" for none."""
    text = _shape(body, names)
    if text is None or len(text) not in _KNOWN:
        return ""
    from hashlib import sha256  # takes as long to import as a model takes to compile

    digest, name = _KNOWN[len(text)]
    return name if sha256(text.encode()).hexdigest()[:16] == digest else ""


def _shape(body: Expression, names: Binders) -> str | None:
    """An expression without its places, its own names numbered; None for a long one."""
    words: list[str] = []
    count = 0

    def bind(known: dict[str, str], new: Iterable[str | None]) -> dict[str, str]:
        nonlocal count
        found = dict(known)
        for n in new:
            count += 1
            if n is not None:
                found[n] = f"#{count}"
        return found

    stack: list[tuple[Expression, dict[str, str]]] = [(body, bind({}, names))]
    while stack:
        e, known = stack.pop()
        if len(words) > 400:
            return None
        words.append(f"{e.op}:{known.get(e.name, e.name)}:{len(e.operands)}:{len(e.names)}")
        inner = bind(known, e.names)
        if e.bindings:
            inner = bind(known, [b.name for b in e.bindings])
            for b in e.bindings:
                words.append(f"{len(b.parameters or ())}")
                stack.append((b.body, bind(inner if e.name == "rec" else known, b.parameters or ())))
        for c in e.clauses:
            words.append(c.kind + ("" if c.kind != "tag" else str(c.names)))
            if c.body is not None:
                stack.append((c.body, bind(known, c.names) if c.kind != "tag" else known))
        stack += [(o, inner) for o in e.operands]
    return " ".join(words)


__all__ = ["MOST_WORK", "NOWHERE", "ExpressionCompiler", "FindModel", "NameScope", "known_function", "parameters"]

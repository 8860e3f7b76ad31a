"""A memory model, compiled: a list of operations over sets and relations in which every value is computed once.

Definitions are inlined, functions expanded, equal subexpressions shared, and derived operators reduced to few:

    r?  =  r | id        r*  =  r+ | id        ~r  =  everything \\ r
    irreflexive r  =  empty (r & id)           empty (a | b)  =  empty a, empty b

Each operation also knows its polarity: whether making its value larger can break an axiom (`grows`), mend one (`shrinks`),
or both. An engine needs only one direction of a definition for a value of one polarity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from axioms.cat import reader
from axioms.cat.names import BASE, STANDARD_INCLUDES
from axioms.cat.nodes import RELATION, SET, Builder, Facts, Node, signed
from axioms.cat.reader import Expression
from ptxcore.diagnostics import Diagnostic, InputError, Span, fail, nearest


class Axiom(NamedTuple):
    """`node` must be empty (`kind` "empty") or acyclic; with `negated`, must not be. `name` is for people.

    A flag is such a statement too, and raised by the executions for which it is true.
    """

    kind: str
    negated: bool
    node: Node
    name: str


class Model:
    """A compiled model. `nodes` are those that the axioms need, in order of computation; `names` are its definitions;
    `options` are those that it asks for, set or not. `flags` stand in the order of the file.

    `fixed` and `chosen` are the nodes that an evaluation computes: those that every execution of the same events shares, and
    those that depend on who reads from whom, on orders or on dependencies. Parts of a recursion are in neither. What only
    flags need is computed when they are asked for.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.title = ""
        self.nodes: list[Node] = []
        self.axioms: list[Axiom] = []
        self.flags: list[Axiom] = []
        self.names: dict[str, Node] = {}
        self.options: frozenset[str] = frozenset()
        self.fixed: list[Node] = []
        self.chosen: list[Node] = []
        self.bases: dict[str, Node] = {}  # by name, those that axioms and flags depend on
        #: The same model for programs of which more is known, see `axioms.cat.specialise`.
        self.special: dict[tuple[Facts, frozenset[str]], Model] = {}

    def uses(self, name: str) -> bool:
        """Whether some axiom or flag depends on a base name."""
        return name in self.bases


Include = Callable[[str], str | None]
_Bound = Node | reader.Binding


def compile_model(name: str, text: str, include: Include = lambda _: None, options: Iterable[str] = ()) -> Model:
    """Reads and compiles a model. `include` gives the text of an included file, or None; `options` are those for which the
    model's `if "option"` holds. Raises InputError, also for an option that the model does not ask for."""
    compiler = _Compiler(name, frozenset(options))
    try:
        compiler.run(text, include)
    except InputError as error:
        if not error.text:
            error.text, error.path = text, name
        raise
    for option in sorted(compiler.options - compiler.model.options):
        hint = nearest(option, compiler.model.options)
        raise InputError([Diagnostic(Span(0, 0, 0), f"the model has no option '{option}'", hint)], name)
    return completed(compiler.model, compiler.created)


class _Compiler(Builder):
    def __init__(self, name: str, options: frozenset[str]) -> None:
        super().__init__()
        self.model = Model(name)
        self.options = options
        self.scope: dict[str, _Bound] = {}

    # Expressions, bottom up over an explicit stack.

    def value(self, expression: Expression, scope: Mapping[str, _Bound]) -> Node:
        done: list[Node] = []
        # A call opens the scope of its parameters; "leave" closes it again.
        scopes: list[Mapping[str, _Bound]] = [scope]
        active: list[str] = []
        stack: list[tuple[str, Expression, Sequence[Expression]]] = [("enter", expression, ())]
        while stack:
            step, e, given = stack.pop()
            if step == "enter":
                if e.op == "name":
                    done.append(self.named(e, scopes[-1]))
                else:
                    given = _operands(e)
                    stack.append(("apply", e, given))
                    stack += [("enter", o, ()) for o in reversed(given)]
            elif step == "leave":
                scopes.pop()
                active.pop()
            else:
                first = len(done) - len(given)
                operands = done[first:]
                del done[first:]
                if e.op == "call" and e.name not in _FUNCTIONS:
                    binding = self.function(e, scopes[-1], len(given))
                    if e.name in active:
                        raise fail(e.span, f"function '{e.name}' calls itself")
                    scopes.append({**self.scope, **dict(zip(binding.parameters or (), operands, strict=True))})
                    active.append(e.name)
                    stack += [("leave", e, ()), ("enter", binding.body, ())]
                else:
                    done.append(self.apply(e, given, operands))
        return done[0]

    def named(self, e: Expression, scope: Mapping[str, _Bound]) -> Node:
        name = e.name
        bound = scope.get(name)
        if isinstance(bound, Node):
            return bound
        if bound is not None:
            raise fail(e.span, f"'{name}' is a function; write {name}({', '.join(bound.parameters or ())})")
        if name in BASE:
            return self.base(name)
        if name in ("0", "emptyset", "{}"):
            return self.empty(RELATION if name == "0" else SET)
        raise fail(e.span, f"unknown set or relation '{name}'", nearest(name, [*scope, *BASE]))

    @staticmethod
    def function(e: Expression, scope: Mapping[str, _Bound], count: int) -> reader.Binding:
        bound = scope.get(e.name)
        if bound is None:
            raise fail(e.span, f"unknown function '{e.name}'", nearest(e.name, [*scope, *_FUNCTIONS]))
        if isinstance(bound, Node) or bound.parameters is None:
            raise fail(e.span, f"'{e.name}' is not a function")
        if len(bound.parameters) != count:
            raise fail(e.span, f"'{e.name}' takes {len(bound.parameters)} argument(s), {count} given")
        return bound

    def apply(self, e: Expression, given: Sequence[Expression], args: list[Node]) -> Node:
        op = e.op
        if op == "if":
            self.model.options |= {e.name}
            then, otherwise = self.same_kind(e, args[0], args[1])
            return then if e.name in self.options else otherwise
        if op == "difference":
            return self.difference(*self.same_kind(e, args[0], args[1]))
        if op in ("union", "intersection"):
            if any(a.op == "empty" or a.kind != args[0].kind for a in args):
                for at, turn in enumerate(_turns(e), 1):
                    args[at - 1], args[at] = self.same_kind(turn, args[at - 1], args[at])
                args[0], args[-1] = self.same_kind(e, args[0], args[-1])
            return self.union(args) if op == "union" else self.intersection(args)
        if op == "complement":
            return self.difference(self.everything(args[0].kind), args[0])
        if op == "call":
            kind, build = _FUNCTIONS[e.name]
            if len(args) != 1:
                raise fail(e.span, f"'{e.name}' takes 1 argument, {len(args)} given")
            self.need(e.operands[0], args[0], kind, f"'{e.name}'")
            return build(self, args[0])
        wanted, text = _OPERAND[op]
        for operand, arg in zip(given, args, strict=True):
            if arg.kind != wanted:
                self.need(operand, arg, wanted, text)
        if op == "sequence":
            return self.sequence(args)
        if op == "product":
            return self.product(args[0], args[1])
        if op == "star":
            return self.opt(self.plus(args[0]))
        return {"plus": self.plus, "opt": self.opt, "inverse": self.inverse, "identity": self.identity}[op](args[0])

    def same_kind(self, e: Expression, a: Node, b: Node) -> tuple[Node, Node]:
        if a.op == "empty":
            a = self.empty(b.kind)
        elif b.op == "empty":
            b = self.empty(a.kind)
        if a.kind != b.kind:
            if e.op == "if":
                raise fail(e.span, f"one branch is a {a.kind}, the other a {b.kind}", "[S] makes a relation of a set S")
            sign = {"union": "|", "intersection": "&", "difference": "\\"}[e.op]
            raise fail(e.span, f"'{sign}' between a {a.kind} and a {b.kind}", "[S] makes a relation of a set S")
        return a, b

    @staticmethod
    def need(operand: Expression, node: Node, kind: str, what: str) -> None:
        if node.kind != kind and node.op != "empty":
            hint = "[S] makes a relation of a set S" if kind == RELATION else None
            raise fail(operand.span, f"{what} takes a {kind}, this is a {node.kind}", hint)

    # Items.

    def run(self, text: str, include: Include) -> None:
        title, items = reader.read(text)
        self.model.title = self.model.title or title
        for item in items:
            if isinstance(item, reader.Let):
                self.let(item)
            elif isinstance(item, reader.Axiom):
                self.axiom(item)
            elif item.path.rsplit("/", 1)[-1] not in STANDARD_INCLUDES:
                included = include(item.path)
                if included is None:
                    raise fail(item.span, f"cannot include '{item.path}': no such file beside the model")
                try:
                    self.run(included, lambda path: None)
                except InputError as error:
                    if not error.text:
                        error.text, error.path = included, item.path
                    raise

    def let(self, item: reader.Let) -> None:
        if item.recursive:
            self.recursion(item)
            return
        # All right-hand sides see the scope before the `let`: `let co = co+` rebinds `co`.
        values: list[tuple[str, _Bound]] = []
        for b in item.bindings:
            values.append((b.name, self.value(b.body, self.scope) if b.parameters is None else b))
        for name, value in values:
            self.scope[name] = value
            if isinstance(value, Node):
                self.model.names[name] = value

    def recursion(self, item: reader.Let) -> None:
        variables = []
        for b in item.bindings:
            if b.parameters is not None:
                raise fail(b.span, f"'let rec' of a function ('{b.name}') is not supported")
            variables.append(self.variable(b.name))
        inner = {**self.scope, **{b.name: v for b, v in zip(item.bindings, variables, strict=True)}}
        bodies = []
        for b in item.bindings:
            body = self.value(b.body, inner)
            if body.kind != RELATION and body.op != "empty":
                raise fail(b.span, f"'let rec {b.name}' defines a set; only relations may be recursive")
            bodies.append(body)
        if len(bodies) == 1 and (closed := self.as_closure(variables[0], bodies[0])) is not None:
            self.scope[item.bindings[0].name] = self.model.names[item.bindings[0].name] = closed
            return
        for index, b in enumerate(item.bindings):
            node = self.fixpoint(b.name, index, tuple(bodies), tuple(variables))
            self.check_monotone(node, b.span)
            self.scope[b.name] = self.model.names[b.name] = node

    def check_monotone(self, node: Node, span: Span) -> None:
        for body in node.args:
            for n, positive in signed((body, True)):
                if n in node.variables and not positive:
                    raise fail(
                        span, f"'{node.name}' depends on what it does not contain: the recursion has no least solution"
                    )

    def axiom(self, item: reader.Axiom) -> None:
        node = self.value(item.body, self.scope)
        if node.kind == SET:
            if item.kind != "empty":
                raise fail(item.body.span, f"'{item.kind}' takes a relation, this is a set")
            node = self.identity(node)
        name = item.name or f"{item.kind}@{item.span.line}"
        kind = item.kind
        if kind == "irreflexive":
            kind, node = "empty", self.on_diagonal(node)
        if item.flag:
            self.model.flags.append(Axiom(kind, item.negated, node, name))
            return
        parts = node.args if kind == "empty" and node.op == "union" and not item.negated else (node,)
        self.model.axioms += [Axiom(kind, item.negated, p, name) for p in parts]


def completed(model: Model, created: list[Node]) -> Model:
    """A model whose axioms and flags are set, with everything that follows from them."""
    needed = _reachable([a.node for a in model.axioms])
    model.nodes = [n for n in created if n in needed]
    told = _reachable([f.node for f in model.flags])
    model.bases = {n.name: n for n in created if n.op == "base" and (n in needed or n in told)}
    _mark_polarity(model)
    _mark_deferred(model, created)
    _mark_chosen(model)
    return model


_ASSOCIATIVE = frozenset({"sequence", "union", "intersection"})


def _turns(e: Expression) -> list[Expression]:
    """`a | b | c` as its operations, the first one first: one value is made of them, not one for each."""
    turns = [e]
    while turns[-1].operands[0].op == e.op:
        turns.append(turns[-1].operands[0])
    return turns[::-1]


def _operands(e: Expression) -> tuple[Expression, ...]:
    """What an operation is applied to; of an associative one, everything that a chain of it is applied to."""
    if e.op not in _ASSOCIATIVE:
        return e.operands
    turns = _turns(e)
    return (turns[0].operands[0], *[t.operands[1] for t in turns])


def _domain(c: _Compiler, a: Node) -> Node:
    return c.make("domain", SET, (a,)) if a.op != "empty" else c.empty(SET)


def _range(c: _Compiler, a: Node) -> Node:
    return c.make("range", SET, (a,)) if a.op != "empty" else c.empty(SET)


def _fencerel(c: _Compiler, a: Node) -> Node:
    return c.sequence([c.base("po"), c.identity(a), c.base("po")])


_FUNCTIONS: dict[str, tuple[str, Callable[[_Compiler, Node], Node]]] = {
    "domain": (RELATION, _domain),
    "range": (RELATION, _range),
    "toid": (SET, lambda c, a: c.identity(a)),
    "fencerel": (SET, _fencerel),
}

_OPERAND = {
    "sequence": (RELATION, "';'"),
    "plus": (RELATION, "'+'"),
    "star": (RELATION, "'*'"),
    "opt": (RELATION, "'?'"),
    "inverse": (RELATION, "'^-1'"),
    "identity": (SET, "'[ ]'"),
    "product": (SET, "'*'"),
}


def _reachable(roots: list[Node]) -> set[Node]:
    seen: set[Node] = set()
    stack = list(roots)
    while stack:
        n = stack.pop()
        if n not in seen:
            seen.add(n)
            stack += [*n.args, *n.variables]
    return seen


def _mark_polarity(model: Model) -> None:
    # A flag is asked for as an axiom is: whether its statement can be true.
    for n, positive in signed(*[(a.node, not a.negated) for a in (*model.axioms, *model.flags)]):
        if positive:
            n.grows = True
        else:
            n.shrinks = True
    for n in _reachable([a.node for a in (*model.axioms, *model.flags)]):
        if n.op == "fixpoint":
            for v in n.variables:
                v.grows, v.shrinks = n.grows, n.shrinks


#: The base relations that differ between executions of the same events.
CHOSEN = frozenset({"rf", "co", "fr", "sync_fence", "syncbar", "addr", "data", "ctrl", "mbo", "mbrf", "comp"})


def _mark_chosen(model: Model) -> None:
    varying: set[Node] = set()
    inside: set[Node] = set()
    for n in model.nodes:
        if n.op == "variable" or (any(a in inside for a in n.args) and n.op != "fixpoint"):
            inside.add(n)
        if (n.op == "base" and n.name in CHOSEN) or n.op == "variable" or any(a in varying for a in n.args):
            varying.add(n)
    for n in model.nodes:
        if n not in inside:
            (model.chosen if n in varying else model.fixed).append(n)


def _mark_deferred(model: Model, created: list[Node]) -> None:
    """A sequence that one intersection alone uses need be computed only where the intersection's others allow."""
    users: dict[Node, list[Node | None]] = {}
    wanted = _reachable([a.node for a in (*model.axioms, *model.flags)])
    nodes = [n for n in created if n in wanted]
    for n in nodes:
        for a in n.args:
            users.setdefault(a, []).append(n)
    for axiom in (*model.axioms, *model.flags):
        users.setdefault(axiom.node, []).append(None)
    for n in nodes:
        using = users.get(n, [])
        if n.op == "sequence" and len(using) == 1 and using[0] is not None and using[0].op == "intersection":
            others = [a for a in using[0].args if a is not n and not a.deferred]
            n.deferred = bool(others)


__all__ = ["CHOSEN", "Axiom", "Facts", "Include", "Model", "Node", "compile_model", "completed"]

"""A memory model, compiled: a list of operations over sets and relations in which every value is computed once.

Definitions are inlined, functions expanded, equal subexpressions shared, and derived operators reduced to few:

    r?  =  r | id        r*  =  r+ | id        ~r  =  everything \\ r
    irreflexive r  =  empty (r & id)           empty (a | b)  =  empty a, empty b

Each operation also knows its polarity: whether making its value larger can break an axiom (`grows`), mend one (`shrinks`),
or both. An engine needs only one direction of a definition for a value of one polarity.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from axioms.cat import reader
from axioms.cat.marks import mark_chosen, mark_deferred, mark_polarity, reachable
from axioms.cat.names import BASE, STANDARD_INCLUDES
from axioms.cat.nodes import RELATION, SET, Builder, Facts, Node
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
    statement: str = ""  # as it is written, on one line


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
        #: The name under which it ships, for what ships: a model that is only called so has none.
        self.shipped = ""
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


class _Function(NamedTuple):
    """A function, its number, and how many definitions its body sees: those before it, whatever comes later."""

    binding: reader.Binding
    number: int
    since: int


_Bound = Node | _Function
#: What a model may cost to compile, in operations and operands that are made or looked at: a second or two. The largest model
#: that ships costs some thousands.
MOST_WORK = 3_000_000
_DEEPEST = 16  # files that include each other


def compile_model(name: str, text: str, include: Include = lambda _: None, options: Iterable[str] = ()) -> Model:
    """Reads and compiles a model. `include` gives the text of an included file, or None where there is none; it raises OSError
    or ValueError for one that is not to be read. `options` are those for which the model's `if "option"` holds.

    Raises InputError, also for a model without an axiom, for an option that the model does not ask for, and for definitions
    that expand to more than `MOST_WORK`."""
    compiler = _Compiler(name, frozenset(options), include)
    try:
        compiler.run(text)
    except InputError as error:
        if not error.text:
            error.text, error.path = text, name
        raise
    if not compiler.model.axioms:
        hint = "an axiom is as in 'acyclic po | rf | co | fr as sc'; 'empty 0' forbids nothing"
        message = "the model has no axiom, so it would allow every outcome"
        raise InputError([Diagnostic(Span(0, 0, 0), message, hint)], name)
    for option in sorted(compiler.options - compiler.model.options):
        hint_ = nearest(option, compiler.model.options)
        raise InputError([Diagnostic(Span(0, 0, 0), f"the model has no option '{option}'", hint_)], name)
    return completed(compiler.model, compiler.created)


class _Scope:
    """What names mean, and what they meant: a name may be defined again, and functions keep what they were defined with."""

    def __init__(self) -> None:
        self._meanings: dict[str, list[tuple[int, _Bound]]] = {}
        self.size = 0

    def define(self, name: str, bound: _Bound) -> None:
        self.size += 1
        self._meanings.setdefault(name, []).append((self.size, bound))

    def meaning(self, name: str, since: int) -> _Bound | None:
        """The last meaning among the first `since` definitions."""
        found = self._meanings.get(name)
        if not found:
            return None
        if found[-1][0] <= since:
            return found[-1][1]
        at = bisect_right(found, since, key=lambda f: f[0])
        return found[at - 1][1] if at else None

    def names(self) -> Iterable[str]:
        return self._meanings


class _Frame(NamedTuple):
    """Where an expression stands: what its parameters are, and how many definitions it sees."""

    parameters: Mapping[str, Node]
    since: int


class _Compiler(Builder):
    def __init__(self, name: str, options: frozenset[str], include: Include) -> None:
        super().__init__()
        self.model = Model(name)
        self.options, self.include = options, include
        self.scope = _Scope()
        self.including: list[str] = []
        self.calls: dict[tuple[int, ...], Node] = {}  # what functions gave, by their number and their arguments'
        self.left = MOST_WORK
        self.place = Span(0, 0, 0)  # of the expression that is being compiled

    def spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            message = f"the definitions expand to more than {MOST_WORK} operations up to here"
            raise fail(self.place, message, "functions that call functions twice grow exponentially")

    # Expressions, bottom up over an explicit stack.

    def value(self, expression: Expression, parameters: Mapping[str, Node] | None = None) -> Node:
        self.place = expression.span
        done: list[Node] = []
        # A call opens the frame of its parameters; "leave" closes it again.
        frames = [_Frame(parameters or {}, self.scope.size)]
        asked: list[tuple[int, ...]] = []
        stack: list[tuple[str, Expression, Sequence[Expression]]] = [("enter", expression, ())]
        while stack:
            step, e, given = stack.pop()
            self.spend(1)
            if step == "enter":
                if e.op == "name":
                    done.append(self.named(e, frames[-1]))
                else:
                    given = _operands(e)
                    stack.append(("apply", e, given))
                    stack += [("enter", o, ()) for o in reversed(given)]
            elif step == "leave":
                frames.pop()
                self.calls[asked.pop()] = done[-1]
            else:
                first = len(done) - len(given)
                operands = done[first:]
                del done[first:]
                function = self.function(e, frames[-1], len(given)) if e.op == "call" else None
                if function is None:
                    done.append(self.apply(e, given, operands))
                    continue
                key = (function.number, *[n.serial for n in operands])
                known = self.calls.get(key)
                if known is not None:
                    done.append(known)
                    continue
                names = function.binding.parameters or ()
                frames.append(_Frame(dict(zip(names, operands, strict=True)), function.since))
                asked.append(key)
                stack += [("leave", e, ()), ("enter", function.binding.body, ())]
        return done[0]

    def named(self, e: Expression, frame: _Frame) -> Node:
        name = e.name
        bound = frame.parameters.get(name) or self.scope.meaning(name, frame.since)
        if isinstance(bound, Node):
            return bound
        if bound is not None:
            raise fail(e.span, f"'{name}' is a function; write {name}({', '.join(bound.binding.parameters or ())})")
        if name in BASE:
            return self.base(name)
        if name in _EMPTY:
            return self.empty(RELATION if name == "0" else SET)
        known = [*frame.parameters, *self.scope.names(), *BASE]
        raise fail(e.span, f"unknown set or relation '{name}'", nearest(name, known))

    def function(self, e: Expression, frame: _Frame, count: int) -> _Function | None:
        """The function that a call means; None for one of the language."""
        bound = frame.parameters.get(e.name) or self.scope.meaning(e.name, frame.since)
        if bound is None:
            if e.name in _FUNCTIONS:
                return None
            raise fail(e.span, f"unknown function '{e.name}'", nearest(e.name, [*self.scope.names(), *_FUNCTIONS]))
        if isinstance(bound, Node):
            raise fail(e.span, f"'{e.name}' is not a function")
        wanted = len(bound.binding.parameters or ())
        if wanted != count:
            raise fail(e.span, f"'{e.name}' takes {wanted} argument(s), {count} given")
        return bound

    def check_body(self, binding: reader.Binding) -> None:
        """A function is expanded where it is called; that its names mean something is checked where it stands."""
        stands_for = self.base("_")
        frame = _Frame(dict.fromkeys(binding.parameters or (), stands_for), self.scope.size)
        stack = [binding.body]
        while stack:
            e = stack.pop()
            self.spend(1)
            if e.op == "name":
                self.named(e, frame)
            elif e.op == "call":
                if e.name == binding.name and self.scope.meaning(e.name, frame.since) is None:
                    raise fail(e.span, f"function '{e.name}' calls itself")
                self.function(e, frame, len(e.operands))
            stack += reversed(e.operands)

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

    def run(self, text: str) -> None:
        self.spend(2 * len(text))
        title, items = reader.read(text)
        self.model.title = self.model.title or title
        lines = text.split("\n")
        for item in items:
            if isinstance(item, reader.Let):
                self.let(item)
            elif isinstance(item, reader.Axiom):
                self.axiom(item, _statement(lines, item))
            else:
                self.included(item)

    def included(self, item: reader.Include) -> None:
        try:
            text = self.include(item.path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise fail(item.span, f"cannot include '{item.path}': {reason}") from None
        if text is None:
            if item.path in STANDARD_INCLUDES:
                return
            raise fail(item.span, f"cannot include '{item.path}': no such file beside the model")
        if item.path in self.including or len(self.including) >= _DEEPEST:
            raise fail(item.span, f"cannot include '{item.path}': it is included by itself, or too deep")
        self.including.append(item.path)
        try:
            self.run(text)
        except InputError as error:
            if not error.text:
                error.text, error.path = text, item.path
            raise
        self.including.pop()

    def let(self, item: reader.Let) -> None:
        if item.recursive:
            self.recursion(item)
            return
        # All right-hand sides see the scope before the `let`: `let co = co+` rebinds `co`.
        values: list[tuple[str, Node | reader.Binding]] = []
        for b in item.bindings:
            if b.parameters is None:
                values.append((b.name, self.value(b.body)))
            else:
                self.check_body(b)
                values.append((b.name, b))
        before = self.scope.size
        for name, value in values:
            self.define(name, value if isinstance(value, Node) else _Function(value, self.scope.size, before))

    def define(self, name: str, bound: _Bound) -> None:
        self.scope.define(name, bound)
        if isinstance(bound, Node):
            self.model.names[name] = bound

    def recursion(self, item: reader.Let) -> None:
        variables = []
        for b in item.bindings:
            if b.parameters is not None:
                raise fail(b.span, f"'let rec' of a function ('{b.name}') is not supported")
            variables.append(self.variable(b.name))
        inner = {b.name: v for b, v in zip(item.bindings, variables, strict=True)}
        bodies = []
        for b in item.bindings:
            body = self.value(b.body, inner)
            if body.kind != RELATION and body.op != "empty":
                raise fail(b.span, f"'let rec {b.name}' defines a set; only relations may be recursive")
            bodies.append(body)
        if len(bodies) == 1 and (closed := self.as_closure(variables[0], bodies[0])) is not None:
            self.define(item.bindings[0].name, closed)
            return
        for index, b in enumerate(item.bindings):
            node = self.fixpoint(b.name, index, tuple(bodies), tuple(variables))
            self.check_monotone(node, b.span)
            self.define(b.name, node)

    def check_monotone(self, node: Node, span: Span) -> None:
        for body in node.args:
            for n, positive in self.signed(body):
                if n in node.variables and not positive:
                    raise fail(
                        span, f"'{node.name}' depends on what it does not contain: the recursion has no least solution"
                    )

    def axiom(self, item: reader.Axiom, statement: str) -> None:
        node = self.value(item.body)
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
        self.model.axioms += [Axiom(kind, item.negated, p, name, statement) for p in parts]


_COMMENT = re.compile(r"\(\*.*?\*\)|//[^\n]*", re.DOTALL)


def _statement(lines: Sequence[str], item: reader.Axiom) -> str:
    """What an axiom says, as it is written: without its name and without comments, on one line."""
    (first, start, _), (last, end, _) = item.span, item.after
    written = [*lines[first - 1 : last - 1], lines[last - 1][: end - 1]]
    written[0] = written[0][start - 1 :]
    return ("~" if item.negated else "") + " ".join(_COMMENT.sub(" ", "\n".join(written)).split())


def completed(model: Model, created: list[Node]) -> Model:
    """A model whose axioms and flags are set, with everything that follows from them."""
    needed = reachable([a.node for a in model.axioms])
    model.nodes = [n for n in created if n in needed]
    told = reachable([f.node for f in model.flags])
    model.bases = {n.name: n for n in created if n.op == "base" and (n in needed or n in told)}
    mark_polarity(model)
    mark_deferred(model, created)
    mark_chosen(model)
    return model


_EMPTY = frozenset({"0", "emptyset", "{}"})
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


__all__ = ["Axiom", "Facts", "Include", "Model", "Node", "compile_model", "completed"]

"""Compiles the statements of a model. What none of its operations says, because it asks for the members of a set, for all
orders or for a choice, is kept as it is written, to be asked of each execution: see `axioms.cat.residual`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from typing import Any

from axioms.cat.compile import NOWHERE, ExpressionCompiler, FindModel, known_function
from axioms.cat.compiled import Axiom, Model
from axioms.cat.expand import matching, parameters, placed
from axioms.cat.library import FILES, FUNCTIONS
from axioms.cat.nodes import RELATION, SET, Node, SignedNodes
from axioms.cat.reader import read
from axioms.cat.residual import Residual, Unit
from axioms.cat.syntax import (
    Binding,
    Call,
    Debug,
    Enum,
    Expression,
    Forall,
    If,
    Item,
    Let,
    Match,
    Procedure,
    Show,
    With,
)
from axioms.cat.syntax import (
    Include as Included,
)
from axioms.cat.syntax import (
    Stated as Test,
)
from axioms.cat.values import (
    EMPTY,
    UNIVERSE,
    CatValue,
    Choice,
    Closure,
    Collection,
    ConcreteValue,
    Env,
    FailedDefinition,
    Later,
    NeedsExecution,
    Orders,
    Routine,
    SourceFile,
    Tag,
    kind_of,
)
from ptxcore.diagnostics import InputError, Span, fail

_DEEPEST = 16  # files that include each other
_CALLS = 100  # procedures that call each other

_COMMENT = re.compile(r"\(\*.*?\*\)|(?://|#)[^\n]*", re.DOTALL)


#: What pictures show unless a model hides it.
ALWAYS_SHOWN = frozenset({"po", "rf", "co", "fr", "rmw"})


class CallFrame:
    """Where statements stand: at the top of a file, whose definitions everybody sees that follows, or in a body."""

    def __init__(self, compiler: ModelCompiler, env: Env, top: bool, included: bool = False) -> None:
        self.compiler, self.top, self.included, self._env = compiler, top, included, env

    @property
    def env(self) -> Env:
        return self._env._replace(since=self.compiler.scope.size) if self.top else self._env

    def define(self, name: str, value: CatValue) -> None:
        """From here on the name means this."""
        if not self.top:
            self._env = self._env.with_({name: value})
            return
        self.compiler.scope.define(name, value)
        if value in (EMPTY, UNIVERSE):
            value = self.compiler.as_kind(value, RELATION, self.compiler.place)
        if isinstance(value, Node):
            self.compiler.model.names[name] = value

    def inner(self, more: dict[str, CatValue]) -> CallFrame:
        """A body that sees more."""
        return CallFrame(self.compiler, self.env.with_(more), False, self.included)


class ModelCompiler(ExpressionCompiler):
    """Compiles one model, with what it includes."""

    def __init__(self, name: str, options: frozenset[str], include: FindModel) -> None:
        super().__init__(name, options)
        self.include = include
        self.including: list[str] = []
        self.includes = False
        self.units: list[Unit] = []
        self.choices = 0
        self.called_now = 0
        self.lines: tuple[str, list[str]] = "", []
        self.total = False
        #: Below these no recursion is asked for no more than it contains: see `asks_back`.
        self.harmless: SignedNodes = set()

    def read(self, text: str, path: str) -> None:
        """Compiles a file."""
        self.spend(2 * len(text))
        title, items = read(text)
        self.model.title = self.model.title or title
        frame = CallFrame(self, Env({}, 0, SourceFile(path, text)), True, bool(self.including))
        for item in items:
            self.execute(item, frame)

    def show_also(self, words: str) -> None:
        """What whoever asks for the model wants to see besides: unlike in a file, where what has no meaning here is left out as
        herd has it, that is a mistake of the one who asks. Raises InputError."""
        text = f"show {words}"
        source = SourceFile("<show>", text)
        frame = CallFrame(self, Env({}, 0, source), True)
        try:
            _, items = read(text)
            if len(items) != 1 or not isinstance(items[0], Show):
                raise fail(
                    Span(1, 6, len(text) + 1),
                    "'--show' takes what stands behind one 'show': expressions, each with 'as NAME'",
                )
            self.execute(items[0], frame)
            for expression, _ in items[0].shown:
                with contextlib.suppress(NeedsExecution):
                    self.value(expression, frame.env)
        except InputError as error:
            raise placed(error, frame.env) from None

    def finished(self) -> Model:
        """The model, once everything is read."""
        if self.orders_needed and not self.total:
            self.total_order("the last write of a location")
        self.include = _nowhere
        if self.units:
            self.model.residual = Residual(self, self.units)
        return self.model

    def execute(self, item: Item, frame: CallFrame) -> None:
        """Compiles a statement."""
        try:
            _STATEMENTS[type(item)](self, item, frame)
        except InputError as error:
            raise placed(error, frame.env) from None

    def run(self, items: Sequence[Item], frame: CallFrame) -> None:
        """Compiles statements one after another."""
        for item in items:
            self.execute(item, frame)

    def keep(self, item: Item, frame: CallFrame, number: int = 0) -> None:
        """Leaves a statement to be asked of each execution."""
        self.note_orders(item, frame.env)
        self.units.append(Unit(item, frame.env, number))

    def lines_of(self, source: SourceFile) -> list[str]:
        """The lines of a file."""
        if self.lines[0] is not source.text:
            self.lines = source.text, source.text.split("\n")
        return self.lines[1]

    # Definitions.

    def let(self, item: Let, frame: CallFrame) -> None:
        if item.recursive:
            self.let_rec(item, frame)
            return
        # All right-hand sides see the scope before the `let`: `let co = co+` rebinds `co`.
        env = frame.env
        found: list[tuple[str, CatValue]] = []
        for b in item.bindings:
            found += self.bound(b, env, frame)
        for name, value in found:
            frame.define(name, value)

    def bound(self, b: Binding, env: Env, frame: CallFrame) -> list[tuple[str, CatValue]]:
        """What one binding defines."""
        try:
            if b.parameters is not None:
                closure = self.close(b.parameters, b.body, env, b.name)
                closure.instead = known_function(b.body, b.parameters)
                return [(b.name, closure)]
            value = self.value(b.body, env)
            if isinstance(value, Closure) and (known := known_function(b.body, ())):
                value.instead = known
            return [(b.name, value)] if b.name else list(parameters(b.parts, value, b.span, "let").items())
        except NeedsExecution:
            self.note_orders(b, env)
            if b.name:
                return [(b.name, Later(env, b.body, (), ""))]
            return [(n, Later(env, b.body, (), i)) for i, n in enumerate(b.parts) if n is not None]
        except InputError as error:
            if not frame.included:
                raise
            placed(error, env)
            return [(n, FailedDefinition(error)) for n in (b.name, *b.parts) if n]

    def let_rec(self, item: Let, frame: CallFrame) -> None:
        env = frame.env
        try:
            found = self.recursive(item.bindings, env)
        except NeedsExecution:
            self.note_orders(item, env)
            names = [n for b in item.bindings for n in (b.name, *b.parts) if n]
            found = {n: Later(env, None, item.bindings, n) for n in names}
        for name, value in found.items():
            frame.define(name, value)
        if item.when is not None:
            self.test(item.when, frame)

    def library_function(self, name: str) -> CatValue:
        (item,) = read(FUNCTIONS[name])[1]
        frame = CallFrame(self, Env({}, 0, NOWHERE), False)
        self.execute(item, frame)
        return frame.env.local[name]

    def enum(self, item: Enum, frame: CallFrame) -> None:
        tags = tuple(Tag(item.name, t) for t in dict.fromkeys(item.tags))
        self.enums[item.name] = tags
        self.tag_of |= {t.name: t for t in tags}
        frame.define(item.name, Collection(tags))

    def procedure(self, item: Procedure, frame: CallFrame) -> None:
        routine = Routine(item.name, item.parameters, item.items, frame.env)
        if item.recursive:
            routine.env = frame.env.with_({item.name: routine})
        frame.define(item.name, routine)

    # Statements.

    def call(self, item: Call, frame: CallFrame) -> None:
        routine = self.meaning(item.name, frame.env)
        if isinstance(routine, FailedDefinition):
            raise routine.error
        if not isinstance(routine, Routine):
            raise fail(item.span, f"'{item.name}' is no procedure")
        if self.called_now >= _CALLS:
            raise fail(item.span, f"more than {_CALLS} procedures call each other here")
        try:
            argument = self.value(item.argument, frame.env)
            bound = parameters(routine.names, argument, item.span, item.name)
        except NeedsExecution:
            single = len(routine.names) == 1
            bound = {
                n: Later(frame.env, item.argument, (), "" if single else i) for i, n in enumerate(routine.names) if n
            }
        self.called_now += 1
        self.run(routine.items, CallFrame(self, routine.env.with_(bound), False, frame.included))
        self.called_now -= 1

    def forall(self, item: Forall, frame: CallFrame) -> None:
        try:
            value = self.value(item.over, frame.env)
            if isinstance(value, (Node, Orders)) or (not isinstance(value, (Collection, Tag)) and value is not EMPTY):
                if not isinstance(value, (Closure, Routine, Node)):
                    raise NeedsExecution(item.over.span, "the members of a set")
                raise fail(item.over.span, f"'forall' takes a set of values, this is {kind_of(value)}")
        except NeedsExecution:
            self.keep(item, frame)
            return
        for v in value.items if isinstance(value, Collection) else (value,) if isinstance(value, Tag) else ():
            self.run(item.items, frame.inner({item.name: v}))

    def with_(self, item: With, frame: CallFrame) -> None:
        """`with x from S`. The first order of all writes that is asked for is the coherence of the engine."""
        try:
            value = self.value(item.source, frame.env)
            if isinstance(value, Orders) and value.crossed and value.members is self.base("W") and not self.total:
                self.total_order(f"{item.name} is one of the orders that 'with' takes it from", value.before)
                frame.define(item.name, self.base("co"))
                return
            if value is EMPTY or (isinstance(value, Collection) and not value.items):
                self.model.axioms.append(Axiom("empty", True, self.empty(RELATION), f"with {item.name}"))
                frame.define(item.name, EMPTY)
                return
            if isinstance(value, Collection) and len(value.items) == 1:
                frame.define(item.name, value.items[0])
                return
            if not isinstance(value, (Collection, Orders)):
                raise fail(item.source.span, f"'with' takes a set of values, this is {kind_of(value)}")
        except NeedsExecution:
            pass
        self.choices += 1
        self.keep(item, frame, self.choices)
        frame.define(item.name, Choice(self.choices))

    def total_order(self, why: str, before: Node | None = None) -> None:
        """From here on `co` relates any two writes of a location, and has the pairs of `before` there."""
        co, writes = self.base("co"), self.base("W")
        pairs = self.intersection([self.base("loc"), self.product(writes, writes)])
        apart = self.difference(pairs, self.base("id"))
        total = self.difference(apart, self.union([co, self.inverse(co)]))
        self.model.axioms.append(Axiom("empty", False, total, "co", f"co is total at each location: {why}"))
        if before is not None and before is not self.meaning("co0", Env({}, 0, NOWHERE)):
            wanted = self.difference(self.intersection([before, pairs]), co)
            self.model.axioms.append(Axiom("empty", False, wanted, "co", why))
        self.total = True

    def match(self, item: Match, frame: CallFrame) -> None:
        try:
            value = self.value(item.subject, frame.env)
        except NeedsExecution:
            raise fail(
                item.span, "which statements are meant hangs on an execution here, which is not supported"
            ) from None
        self.run(matching(item.subject, item.clauses, value).items, frame)

    def if_(self, item: If, frame: CallFrame) -> None:
        self.run(item.then if self.is_option(item.option) else item.otherwise, frame)

    def show(self, item: Show, frame: CallFrame) -> None:
        for e, name in item.shown:
            if not name:
                raise fail(e.span, "what is shown needs a name: 'show ... as NAME'")
            if item.hidden:
                self.model.shown.pop(name, None)
                self.model.hidden.add(name)
                continue
            self.model.hidden.discard(name)
            if name in ALWAYS_SHOWN and e.op == "name" and e.name == name:
                continue  # drawn without the pairs that others imply
            try:
                value = self.value(e, frame.env)
            except NeedsExecution:
                value = Later(frame.env, e, (), "")
            except InputError:
                continue  # as herd has it: nothing is shown then
            if value in (EMPTY, UNIVERSE):
                self.model.shown[name] = self.as_kind(value, RELATION, e.span)
            elif isinstance(value, Node):
                self.model.shown[name] = self.identity(value) if value.kind == SET else value
            elif isinstance(value, Later):
                self.model.shown[name] = value

    def included(self, item: Included, frame: CallFrame) -> None:
        try:
            text = self.include(item.path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise fail(item.span, f"cannot include '{item.path}': {reason}") from None
        if text is None:
            text = FILES.get(item.path)
        if text is None:
            hint = "it may lie beside the model, or in a folder that -I names"
            raise fail(item.span, f"cannot include '{item.path}': there is no such file", hint)
        if item.path in self.including or len(self.including) >= _DEEPEST:
            raise fail(item.span, f"cannot include '{item.path}': it is included by itself, or too deep")
        if not frame.top:
            raise fail(item.span, "a file is included at the top of a model, not in a body")
        self.including.append(item.path)
        self.includes = True
        try:
            self.read(text, item.path)
        except InputError as error:
            if not error.text:
                error.text, error.path = text, item.path
            raise
        self.including.pop()

    # Tests.

    def test(self, item: Test, frame: CallFrame) -> None:
        try:
            value = self.value(item.body, frame.env)
        except NeedsExecution:
            self.keep(item, frame)
            return
        node = self.tested(item, value)
        if self.asks_back(node, not item.negated):
            self.keep(item, frame)
            return
        name = item.name or f"{item.kind}@{item.span.line}"
        kind = item.kind
        if item.flag or item.demanded:
            negated = item.negated != item.demanded
            name = "undefined" if item.demanded else name
            self.model.flags.append(Axiom("empty", True, self.raising(kind, negated, node), name))
            return
        if kind == "irreflexive":
            kind, node = "empty", self.on_diagonal(node)
        statement = _statement(self.lines_of(frame.env.source), item)
        parts = node.args if kind == "empty" and node.op == "union" and not item.negated else (node,)
        self.model.axioms += [Axiom(kind, item.negated, p, name, statement) for p in parts]

    def asks_back(self, node: Node, positive: bool) -> bool:
        """Whether a statement holds by what a recursion contains, and no more: that is a least solution of each execution, and
        no formula says what is least."""
        return self.finds(node, positive, lambda n, p: n.op == "fixpoint" and not p, self.harmless)

    def tested(self, item: Test, value: CatValue) -> Node:
        """What a test is about, as a relation."""
        if isinstance(value, Closure):
            names = ", ".join(n or "_" for n in value.names)
            raise fail(item.body.span, f"'{item.body.name}' is a function; write {item.body.name}({names})")
        if isinstance(value, Node) and value.kind == SET and value.op != "empty":
            if item.kind != "empty":
                raise fail(item.body.span, f"'{item.kind}' takes a relation, this is a set")
            return self.identity(value)
        node = self.relation(value, item.body.span, f"'{item.kind}'")
        assert isinstance(node, Node)
        return node

    def raising(self, kind: str, negated: bool, node: Node) -> Node:
        """A relation that is empty in the executions for which a test does not hold: the pairs that a flag tells of. Where the
        test holds because something is not there, each event tells of it."""
        if kind == "acyclic":
            back = self.inverse(self.opt(self.plus(node)))
            node = self.intersection([node, back])
        elif kind == "irreflexive":
            node = self.on_diagonal(node)
        if negated:
            return node
        every = self.everything(RELATION)
        return self.difference(self.base("id"), self.sequence([every, node, every]))


def _nowhere(path: str) -> None:
    """No file: everything is read."""


def _nothing(compiler: ModelCompiler, item: Debug, frame: CallFrame) -> None:
    return None


_STATEMENTS: dict[type, Any] = {
    Let: ModelCompiler.let,
    Test: ModelCompiler.test,
    Included: ModelCompiler.included,
    Show: ModelCompiler.show,
    Enum: ModelCompiler.enum,
    Procedure: ModelCompiler.procedure,
    Call: ModelCompiler.call,
    Forall: ModelCompiler.forall,
    With: ModelCompiler.with_,
    Match: ModelCompiler.match,
    If: ModelCompiler.if_,
    Debug: _nothing,
}


def _statement(lines: Sequence[str], item: Test) -> str:
    """What an axiom says, as it is written: without its name and without comments, on one line."""
    (first, start, _), (last, end, _) = item.span, item.after
    written = [*lines[first - 1 : last - 1], lines[last - 1][: end - 1]]
    written[0] = written[0][start - 1 :]
    return ("~" if item.negated else "") + " ".join(_COMMENT.sub(" ", "\n".join(written)).split())


__all__ = ["ConcreteValue", "Expression", "ModelCompiler"]

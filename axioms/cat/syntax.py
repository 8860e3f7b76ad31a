"""What a .cat file is read into: expressions and statements, each with its place."""

from __future__ import annotations

from ptxcore.diagnostics import Span
from ptxcore.records import NamedTuple

#: What a function or a `let` takes apart: one name, or the parts of a tuple. None stands for `_`.
Binders = tuple["str | None", ...]


class Expression(NamedTuple):
    """A node of an expression. `op` is one of

    `union sequence difference intersection product add`; `plus star opt inverse identity complement`;
    `name`, `tag` (`name` says which), `set` and `tuple` of their operands;
    `call` (a function by name, its arguments), `apply` (a function and one argument);
    `if` (`name` is an option, or `=`, `subset`, `in`, which have two operands of their own first; then what holds with it and
    without), `try`, `let` (`bindings`, `name` is "rec" or not), `fun` (`names`), `match` (by tags, or of a set; see `clauses`).
    """

    op: str
    operands: tuple[Expression, ...]
    span: Span
    name: str = ""
    names: Binders = ()
    bindings: tuple[Binding, ...] = ()
    clauses: tuple[Clause, ...] = ()


class Clause(NamedTuple):
    """`kind` is `tag` (its name is the first of `names`), `other` (`_`), `empty` (`{}`), `first` (`x ++ rest`) or `middle`
    (`before | x ++ after`). The body is an expression, or in a statement its statements."""

    kind: str
    names: Binders
    body: Expression | None
    items: tuple[Item, ...] = ()


class Binding(NamedTuple):
    """`let name(parameters) = body`; `parameters` is None for a plain name. `let (a, b) = body` has no name but `parts`, and
    so has `let _ = body`."""

    name: str
    parameters: Binders | None
    body: Expression
    span: Span
    parts: Binders = ()


class Stated(NamedTuple):
    """`kind` is acyclic, irreflexive or empty. A `flag` forbids nothing: it tells of executions; `demanded` ones
    (`undefined_unless`) tell of executions that break them."""

    kind: str
    negated: bool
    flag: bool
    body: Expression
    name: str
    span: Span
    after: Span  # what comes behind the body
    demanded: bool = False


class Let(NamedTuple):
    bindings: tuple[Binding, ...]
    recursive: bool
    when: Stated | None = None


class Include(NamedTuple):
    path: str
    span: Span


class Show(NamedTuple):
    """`show`, or with `hidden` `unshow`: expressions, each under a name."""

    shown: tuple[tuple[Expression, str], ...]
    hidden: bool
    span: Span


class Enum(NamedTuple):
    name: str
    tags: tuple[str, ...]
    span: Span


class Procedure(NamedTuple):
    name: str
    parameters: Binders
    items: tuple[Item, ...]
    recursive: bool
    span: Span


class Call(NamedTuple):
    name: str
    argument: Expression
    span: Span


class Forall(NamedTuple):
    name: str
    over: Expression
    items: tuple[Item, ...]
    span: Span


class With(NamedTuple):
    name: str
    source: Expression
    span: Span


class Match(NamedTuple):
    subject: Expression
    clauses: tuple[Clause, ...]
    span: Span


class If(NamedTuple):
    option: str
    then: tuple[Item, ...]
    otherwise: tuple[Item, ...]
    span: Span


class Debug(NamedTuple):
    """`debug`, and what speaks to other tools: it is read, and says nothing."""

    span: Span


Item = Let | Stated | Include | Show | Enum | Procedure | Call | Forall | With | Match | If | Debug

__all__ = [
    "Binders",
    "Binding",
    "Call",
    "Clause",
    "Debug",
    "Enum",
    "Expression",
    "Forall",
    "If",
    "Include",
    "Item",
    "Let",
    "Match",
    "Procedure",
    "Show",
    "Stated",
    "With",
]  # fmt: skip

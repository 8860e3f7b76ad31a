"""A memory model, compiled: a list of operations over sets and relations in which every value is computed once.

Definitions are inlined, functions expanded, equal subexpressions shared, and derived operators reduced to few:

    r?  =  r | id        r*  =  r+ | id        ~r  =  everything \\ r
    irreflexive r  =  empty (r & id)           empty (a | b)  =  empty a, empty b

Each operation also knows its polarity: whether making its value larger can break an axiom (`grows`), mend one (`shrinks`),
or both. An engine needs only one direction of a definition for a value of one polarity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from axioms.cat.nodes import Facts, Node, Rows
from ptxcore.records import NamedTuple

if TYPE_CHECKING:
    from axioms.cat.values import CatValue


class Axiom(NamedTuple):
    """`node` must be empty (`kind` "empty") or acyclic; with `negated`, must not be. `name` is for people.

    A flag is such a statement too, and raised by the executions for which it is true.
    """

    kind: str
    negated: bool
    node: Node
    name: str
    statement: str = ""  # as it is written, on one line


class ExecutionFacts(NamedTuple):
    """One execution: `base` has the base sets and relations, `read` the value that an event reads or writes (None for one
    without), `place` the name of what it accesses."""

    size: int
    base: Mapping[str, int | Rows]
    value: Callable[[int], int | None]
    place: Callable[[int], str | None]


class CarriedOut(NamedTuple):
    """One way to carry everything out: the pairs of each flag that is raised, and the relations that are shown."""

    flags: Mapping[str, Rows]
    shown: Mapping[str, Rows]


class AskedOfExecutions(Protocol):
    """What a model says that no operation on sets and relations says: `axioms.cat.residual` has the one there is. `forbids`:
    whether a statement of it can forbid an execution, `raises`: raise a flag, `undefines`: one that leaves a program
    undefined."""

    forbids: bool
    raises: bool
    undefines: bool

    @property
    def what(self) -> str:
        """The first statement, with its place."""
        ...

    @property
    def name(self) -> str:
        """What the tests among them are called."""
        ...

    def answers(self, facts: ExecutionFacts) -> Iterator[CarriedOut]:
        """Every way in which all tests hold. Raises InputError for what has no meaning in this execution."""
        ...

    def allows(self, facts: ExecutionFacts) -> bool:
        """Whether there is one."""
        ...

    def flags(self, facts: ExecutionFacts) -> dict[str, Rows]:
        """The pairs of each flag, of all ways together."""
        ...


class Model:
    """A compiled model. `nodes` are those that the axioms need, in order of computation; `names` are its definitions;
    `options` are those that it asks for, set or not. `flags` stand in the order of the file. `residual` is what it says that
    no operation on sets and relations says, and that is asked of each execution by itself; `shown` what pictures show, by name.

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
        #: Makes `names`, when they are first asked for: most questions are about axioms alone.
        self.make_names: Callable[[], dict[str, Node]] = dict
        #: The texts that it was read from, each with the name of its file: its own, and those that it includes.
        self.sources: tuple[tuple[str, str], ...] = ()
        self.options: frozenset[str] = frozenset()
        #: Those that are set.
        self.readings: frozenset[str] = frozenset()
        #: The names of axioms that whoever asked for the model has left out.
        self.without: frozenset[str] = frozenset()
        self.fixed: list[Node] = []
        self.chosen: list[Node] = []
        self.bases: dict[str, Node] = {}  # by name, those that axioms and flags depend on
        self.residual: AskedOfExecutions | None = None
        self.shown: dict[str, CatValue] = {}
        #: The names that pictures do not show.
        self.hidden: set[str] = set()
        #: The same model for programs of which more is known, see `axioms.cat.specialise`.
        self.special: dict[tuple[Facts, frozenset[str]], Model] = {}

    @cached_property
    def names(self) -> dict[str, Node]:
        return self.make_names()

    def uses(self, name: str) -> bool:
        """Whether some axiom or flag depends on a base name."""
        return name in self.bases

"""One execution, as the statements of a model that each execution is asked see it; and what asks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from axioms.cat.nodes import Rows
from ptxcore.records import NamedTuple


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

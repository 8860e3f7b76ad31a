"""What deciding a program gives: plain values, safe to send between processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from axioms.witness.execution import Execution, ExecutionsFound
from ptxcore.clock import OutOfTime
from ptxcore.records import NamedTuple, dataclass
from ptxcore.syntax.printer import print_statement
from ptxcore.syntax.tree import Instruction

if TYPE_CHECKING:
    from axioms.events.event import ProgramThread
    from axioms.events.memory import Beside

#: States listed unless asked otherwise. What is true of all states is decided all the same.
MAX_STATES = 1000
#: A program with many events gets fewer: re-checking a witness costs about the square of its events.
_MAX_WORK = 2_000_000


def states_to_list(events: int) -> int:
    """How many states are listed for a program of so many events, unless asked otherwise: 1000 up to 44 events."""
    return max(50, min(MAX_STATES, _MAX_WORK // max(1, events * events)))


class Site(NamedTuple):
    """An instruction of a thread: the thread's number and name, the line. What gives memory its first values is a site too, of
    thread -1."""

    thread: int
    name: str
    line: int
    instruction: str


def site_of(threads: Sequence[ProgramThread], thread: int, instruction: Instruction) -> Site:
    return Site(thread, threads[thread].name, instruction.span.line, print_statement(instruction))


class Race(NamedTuple):
    """Two events that nothing orders, in one consistent execution."""

    kind: str
    events: tuple[Site, Site]
    execution: Execution


@dataclass(frozen=True, slots=True)
class Undefined:
    """Why a program, or one execution of it, has no meaning: the `rule` that is broken says what is done against it, and
    `culprits` do it, where that is known. `flag`: the flag of the model that is raised, where one is. `beside`: where an
    access goes that finds no memory, where it goes there in any case. `nonterminating`: no execution ends, and no bound is the
    reason; it was seen in the beginning of one that does not terminate."""

    rule: str
    culprits: tuple[Site, ...] = ()
    flag: str = ""
    beside: Beside | None = None
    nonterminating: bool = False


class ExecutionEdge(NamedTuple):
    """An edge between two events of an execution, by their numbers there: a relation of the model, or `R^-1` for one against
    its direction. `parts` are the edges that a derived relation consists of."""

    before: int
    relation: str
    after: int
    parts: tuple[ExecutionEdge, ...] = ()


class Rest(NamedTuple):
    """What cannot be weaker: of an instruction its being a `fence` at all, or a `wait` for asynchronous operations, its
    `semantics` or its `scope`, and which weaker one (`instead`) would let the outcome in; or, where a `state` is there, that
    other one, which answers the condition as the outcome does that is told."""

    site: Site
    kind: str
    instead: str
    state: tuple[tuple[str, int], ...] = ()


class Why(NamedTuple):
    """Why an outcome is forbidden: an execution that has it, the edges in it that go against an axiom, and what these rest
    on. `statement` is the axiom as the model writes it; `shipped` the model's name, where it is one that ships. `whole`: what
    it rests on was looked for to the end, and not given up for time."""

    axiom: str
    steps: tuple[ExecutionEdge, ...]
    execution: Execution
    rests: tuple[Rest, ...]
    statement: str = ""
    shipped: str = ""
    whole: bool = True


class ValueFlow(NamedTuple):
    """Where a value would come from: a read of it, the write that would be read, and the read whose value that write stores;
    each as the instruction of a thread."""

    read: Site
    write: Site
    source: Site


class Unreachable(NamedTuple):
    """Why no axiom is named for an outcome that is not there. `kind`: `impossible` (no candidate execution has it, whatever the
    axioms say), `time` (the search was given up after so many `seconds`), `values` (they are too many to be told apart), or
    `size` (the program has more events than are looked at: `events`, of `most`).

    Of the impossible: `values` are those that candidate executions end with, of what is observed, where they are few; `circle`
    is how any other value would have to come out of itself, where that is the only way; `axiom` the one of the model `shipped`
    that says so too, where there is one.
    """

    kind: str
    values: tuple[tuple[str, tuple[int, ...]], ...] = ()
    circle: tuple[ValueFlow, ...] = ()
    seconds: float = 0.0
    events: int = 0
    most: int = 0
    axiom: str = ""
    shipped: str = ""


@dataclass(slots=True)
class Decision:
    """`states` are the outcomes, sorted; `witnesses` has one execution for each, in the same order, written out when it is
    looked at.

    `positive` and `negative` count the states that satisfy the proposition and those that do not. `listed_all` is False when
    there are more states than were asked for; then the counts are of those listed, but never 0 for a kind that exists.
    `complete` is False when a loop bound cut executions off. `ends`: some execution ends, whether or not the filter lets it
    through. `stopped`: why the search was given up before all was looked at; what was found stands. `undefined`: why the
    program has no meaning. `satisfied` says of each state whether it satisfies the proposition. `forbidding` names the axioms
    that forbid what does not occur, see `axioms.explain.forbidding`: all of them are needed, or where `forbidding_each` is set
    each alone would do. `why` tells more of it, where that was asked, or `unreachable` says why no axiom is named. `races` are
    those that were asked for, and otherwise the one that makes the program undefined, if one does. `unset` are reads of what
    nothing wrote, in memory that may hold anything then, each with the initial write: one of them at least, if there are any.
    """

    states: list[dict[str, int]] = field(default_factory=list)
    witnesses: ExecutionsFound = field(default_factory=ExecutionsFound)
    positive: int = 0
    negative: int = 0
    complete: bool = True
    ends: bool = False
    stopped: OutOfTime | None = None
    listed_all: bool = True
    undefined: Undefined | None = None
    satisfied: list[bool] = field(default_factory=list)
    forbidding: tuple[str, ...] = ()
    forbidding_each: bool = False
    races: list[Race] = field(default_factory=list)
    unset: list[Race] = field(default_factory=list)
    why: Why | None = None
    unreachable: Unreachable | None = None


__all__ = [
    "MAX_STATES",
    "Decision",
    "ExecutionEdge",
    "Race",
    "Rest",
    "Site",
    "Undefined",
    "Unreachable",
    "ValueFlow",
    "Why",
    "site_of",
    "states_to_list",
]

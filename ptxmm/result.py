"""What is asked of a test, and what checking it gives: plain values."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from ptxcore.records import NamedTuple, dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from axioms.witness.execution import ExecutedEvent, Execution
    from axioms.witness.result import Undefined
    from ptxmm.graphs.waiting import Stays

#: The verdicts (docs/answers.md). `ok`: proven. `bounded`: holds in all that was explored, and a bound cut off executions that
#: could matter. `undecided`: out of time, or nothing known but within the bounds of loops. `undefined`: the model gives the
#: program no meaning. `error`: bad input, or our defect.
VERDICTS = ("ok", "bounded", "no", "undecided", "undefined", "error")
#: What is checked unasked: the assertions that kernels make themselves.
ASSERTIONS = "assertions"
#: How a quantifier is named in results.
KINDS = {"exists": "exists", "~exists": "not exists", "forall": "forall"}


class HowDecided(NamedTuple):
    """How a litmus test is decided, as `ptxmm.check` was asked; `checks` are all that is asked besides what the test asks,
    `options` all readings, `model_name` is what results call the model."""

    unroll: int
    timeout: float | None
    engine: str
    backend: str | None
    all_registers: bool
    options: frozenset[str]
    explain: bool = False
    witnesses: bool = True
    why: bool = False
    checks: tuple[str, ...] = ()
    progress: str | None = None
    resident: int | None = None
    model_name: str = ""


def identity(path: str, variant: str) -> str:
    """How a test is called in every report: `FILE:NAME`, and `FILE` where a file is one test."""
    return f"{path}:{variant}" if variant else path


class Spot(NamedTuple):
    """Where something stands: a file, a line and a column from 1 (0: the file as a whole)."""

    path: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


def where_of(line: int, source: Spot | None) -> str:
    """A line of PTX or of a litmus test (0: unknown), behind that of the source that it was compiled from."""
    if source is not None:
        return f"{source} (PTX {line})" if line else str(source)
    return f"line {line}" if line else "an unknown line"


class Cause(NamedTuple):
    """What is wrong at a `spot`, in few words: `text` is the instruction there."""

    spot: Spot
    what: str
    text: str


class Step(NamedTuple):
    """A step of an execution that is told: where, who (a thread's name, empty for memory), and how soon a short report may
    leave it out; the higher, the sooner."""

    spot: Spot | None
    who: str
    rank: int


class ToldSteps(NamedTuple):
    """The steps of an execution, a line each, with the `events` that it tells; one more says how many are `left` out."""

    lines: list[str]
    steps: list[Step]
    left: int
    events: list[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class RaceEvent:
    """One of two instructions that race: the `thread` that executes it, the `line` of the litmus test or of the PTX, of kernels
    also the `file` of the PTX, what that was compiled from (`source`), and where to look (`at`)."""

    thread: str
    line: int
    instruction: str
    file: str | None = None
    source: Spot | None = None
    at: Spot | None = None

    def __getitem__(self, field: str) -> Any:
        """A field by its name, as in the JSON of a report."""
        return getattr(self, field)


def event_text(event: RaceEvent) -> str:
    return f"{event.thread}, {where_of(event.line, event.source)}: {event.instruction}"


@dataclass(frozen=True, slots=True)
class RaceEntry:
    """A race: its `kind`, its two `events`, the `reason` (why nothing orders them), and what is at the bottom of that
    (`causes`). The lines of `execution`, in which nothing orders them, are `steps`, of which `left` are left out. `lacking`:
    the lines of the PTX at which threads should have synchronized, and what lacks there
    (`axioms.dynamic.wrong.unsynchronized`). `reading`: one of the manual, by its name, under which there may be no race."""

    kind: str
    events: tuple[RaceEvent, RaceEvent]
    reason: str = ""
    execution: Sequence[str] = ()
    causes: Sequence[Cause] = ()
    steps: Sequence[Step] = ()
    left: int = 0
    lacking: Sequence[tuple[int, str]] = ()
    reading: str = ""

    def __getitem__(self, field: str) -> Any:
        """A field by its name, as in the JSON of a report."""
        return getattr(self, field)


class Refusal(NamedTuple):
    """Why a test has no answer: a `message`, where it says so at a `spot` of its own, and further lines."""

    message: str
    spot: Spot | None = None
    details: tuple[str, ...] = ()


class Loop(NamedTuple):
    """A loop that was not followed to its end. `kind`: `bounded`, cut after so many `iterations`; or `waiting`, a spin loop
    reduced to its last iteration, which changes no outcome. `spot` is in the PTX or the litmus test, `source` in what that was
    compiled from. `label` may be empty; `threads` are the names of the threads that run it."""

    kind: str
    spot: Spot
    source: Spot | None
    label: str
    iterations: int
    threads: tuple[str, ...]
    look: Spot | None = None

    @property
    def at(self) -> Spot:
        """Where to look: at the source, where that is there to look at."""
        return self.look or self.spot


@dataclass(kw_only=True, slots=True)
class Checked:
    """One check of a test. `text` is the check as written, `spot` where. `holds` is None where that was not decided; where it
    is True, `bounded` says that it rests on a bound. `hangs`: it does not hold for no other reason than that no execution
    ends. `besides`: the test itself does not ask for it.

    What shows that it does not hold: `message`, in a sentence; `spots`, where, each with what happens there; `state`,
    the outcome; `linearisation`, the execution, a line for each step; `waits`, who does not terminate, for programs. Where
    nothing is out of date, only the order of the steps is another one than was meant: `keeps` is what wrote the outcome.
    `counts`: of a condition that was decided, how many states satisfy its proposition, and how many do not.
    `place` tells it from other findings of its kind, and stays the same when unrelated lines change.
    `causes` are what to look at first. The first lines of `linearisation` are `steps`, of which `left` are left out."""

    kind: str
    text: str
    spot: Spot | None = None
    holds: bool | None = None
    bounded: bool = False
    hangs: bool = False
    besides: bool = False
    message: str = ""
    spots: list[tuple[Spot, str]] = field(default_factory=list)
    keeps: list[tuple[Spot, str]] = field(default_factory=list)
    state: dict[str, int] = field(default_factory=dict)
    linearisation: list[str] = field(default_factory=list)
    waits: list[dict[str, Any]] = field(default_factory=list)
    place: str = ""
    witness: Witness | None = None
    counts: tuple[int, int] | None = None
    causes: list[Cause] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    left: int = 0

    def tell(self, steps: ToldSteps, reasons: Iterable[str] = ()) -> None:
        """The linearisation is these steps, and these reasons for them."""
        self.linearisation, self.steps, self.left = [*steps.lines, *reasons], steps.steps, steps.left


class Witness:
    """One allowed execution (`execution`), and the state that it ends in; `stays` are threads that go no further in it.
    `satisfied`: of one that was listed by itself, whether it satisfies the proposition. What is given as a function is written
    out when somebody looks at it."""

    __slots__ = ("_execution", "satisfied", "stays")

    def __init__(
        self, execution: Execution | Callable[[], Execution], stays: Sequence[Stays] = (), satisfied: bool | None = None
    ) -> None:
        self._execution, self.stays, self.satisfied = execution, stays, satisfied

    def __reduce__(self) -> tuple[object, ...]:
        return Witness, (self.execution, self.stays, self.satisfied)

    @property
    def execution(self) -> Execution:
        if callable(self._execution):
            self._execution = self._execution()
        return self._execution

    def __repr__(self) -> str:
        return f"Witness({self.state})"

    @property
    def state(self) -> dict[str, int]:
        return self.execution.state

    @property
    def events(self) -> tuple[ExecutedEvent, ...]:
        return self.execution.events

    @property
    def relations(self) -> dict[str, tuple[tuple[int, int], ...]]:
        return self.execution.relations

    def evaluate(self, expression: str) -> tuple[int, ...] | tuple[tuple[int, int], ...]:
        """What an expression of the cat language is in this execution: the events of a set, or the pairs of a relation, by the
        numbers of `events`, sorted; `rf; co`, `domain(fr)`, `[REL]; causality_order`. `expression` may use what every model may
        use, and what the model defines that the execution was decided under. Relations are whole here: `po` has all its pairs.

        Raises `InputError`, with the place in the expression, for one that has no meaning or is neither a set nor a relation,
        and ValueError for a witness that says no more than its relations: one that was made in another process, or that is part
        of a run of all threads."""
        if self.execution.judged is None:
            raise ValueError(
                "the witness says no more than its relations: it was made in another process, "
                "or is part of a run of all threads"
            )
        return self.execution.judged.value(expression)

    def svg(self, engine: str = "own") -> str:
        """The execution as a graph: SVG text that stands alone. `engine` is `own`, or `dot` for Graphviz's program. Raises
        `ptxmm.graphs.dot.NoDot` where that is not installed or does not draw."""
        if engine == "dot":
            from ptxmm.graphs.dot import dot_svg

            return dot_svg(self._drawn())
        if engine != "own":
            raise ValueError(f"engine must be 'own' or 'dot', not {engine!r}")
        from ptxmm.graphs.svg import svg

        return svg(self._drawn())

    def dot(self) -> str:
        """The execution as a graph: DOT text, which `dot -Tsvg` draws."""
        from ptxmm.graphs.dot import dot

        return dot(self._drawn())

    def tikz(self) -> str:
        """The execution as a graph: a LaTeX document that holds one TikZ picture."""
        from ptxmm.graphs.tikz import tikz

        return tikz(self._drawn())

    def text(self, width: int = 100) -> str:
        """The execution as a graph of characters, for terminals of that `width`: boxes in columns, and lists of lines."""
        from ptxmm.graphs.terminal import text

        return text(self._drawn(), width)

    def _drawn(self) -> Execution:
        if not self.stays:
            return self.execution
        from ptxmm.graphs.waiting import with_those_who_stay

        return with_those_who_stay(self.execution, self.stays)


@dataclass(kw_only=True, slots=True)
class Executions:
    """Executions that end, each for itself: `positive` satisfy the proposition, `negative` do not. `listed_all` is False where
    there are more, or may be; `bounded`: those in which a loop is executed more often are not among them. `documents` are
    those that were wanted as data."""

    witnesses: list[Witness] = field(default_factory=list)
    positive: int = 0
    negative: int = 0
    listed_all: bool = True
    bounded: bool = False
    documents: list[dict[str, Any]] = field(default_factory=list)

    def add(self, witness: Witness) -> None:
        """One more."""
        self.witnesses.append(witness)
        self.positive += witness.satisfied is True
        self.negative += witness.satisfied is False


@dataclass(kw_only=True, slots=True)
class Result:
    """The answer for one test.

    `path`, `name`: of the test; `model`: the name of the one that it was decided under; `verdict`: one of `VERDICTS`.
    `kind` is `exists`, `not exists` or `forall`, `condition` the proposition after it, `observation` is `never`,
    `sometimes` or `always`: all three None when a test could not be read, `observation` also when it was not decided.
    `states` are the allowed outcomes, sorted: what the condition, `filter` and `locations` name, with its number.
    `positive` of them satisfy the proposition, `negative` do not; `witnesses` has an execution for each, in the same
    order. `listed_all` is False when there are more states than are listed. `complete` is False when a loop bound cut
    executions off, or nobody knows whether one did. `stopped`: the search ended early, so that states may be missing.
    `seconds` is the time for executing and deciding (on the command line also for reading). `error` says why the
    verdict is `error`, `undecided` or `undefined`. `forbidding` names the axioms without which the forbidden outcome
    would be allowed: all of them are needed, or with `forbidding_each` any one is enough. `spot` is where the condition
    stands. `satisfied` says of each state whether it satisfies the proposition. `expectation` is the verdict that the
    test says it should have; where several are right, `|` stands between them. `own` is the verdict of what the test
    itself asks, where more was asked besides; that must be expected too.

    `races` are those that were found, `race_witnesses` the executions in which nothing orders them. `why` is what was asked by
    that name, as words by section, `why_witness` the execution that it is about, and `why_edges` has for each line of its text
    the relations between two of its events that the line speaks of; of an execution that is there, `why_steps` has where each
    of its steps stands.

    `loops` are those that the answer rests on: cut at their bounds, or reduced to their last iterations. `checks` has what
    became of each check: of a litmus test the condition first, then what else is asked; `of_kernel`: it is a kernel test.
    `notes` are what was assumed, `warnings` what the authors of modules should know, with the places.

    `kept` are the files of PTX that was compiled just now; `threads` those that are told of, in their order: the name of each,
    and who that is.

    `bounded_ok`: whoever asked accepts a bounded answer where `ok` is expected. `known` is set
    where a baseline accepts what is wrong with the test. `runs`: how many runs of all threads decided it, of which no more
    is kept than what a verdict speaks of; 0 where the formula did. `undefined` is why the program has no meaning,
    `places` say where that lies; `refusal` is what is wrong where the verdict is `error`. `executions` are those that
    were asked for.
    """

    path: str
    name: str
    model: str
    verdict: str
    kind: str | None = None
    condition: str | None = None
    observation: str | None = None
    states: list[dict[str, int]] = field(default_factory=list)
    positive: int = 0
    negative: int = 0
    complete: bool = True
    listed_all: bool = True
    seconds: float = 0.0
    error: str | None = None
    races: list[RaceEntry] = field(default_factory=list)
    race_witnesses: list[Witness] = field(default_factory=list)
    why: dict[str, Any] | None = None
    why_witness: Witness | None = None
    why_edges: list[list[tuple[str, int, int]]] = field(default_factory=list)
    why_steps: list[Step] = field(default_factory=list)
    witnesses: list[Witness] = field(default_factory=list)
    expectation: str = "ok"
    own: str = ""
    forbidding: tuple[str, ...] = ()
    forbidding_each: bool = False
    satisfied: list[bool] = field(default_factory=list)
    checks: list[Checked] = field(default_factory=list)
    of_kernel: bool = False
    bounded_ok: bool = False
    stopped: bool = False
    loops: list[Loop] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[tuple[Spot, str]] = field(default_factory=list)
    spot: Spot | None = None
    known: bool = False
    runs: int = 0
    places: list[tuple[Spot, str]] = field(default_factory=list)
    undefined: Undefined | None = None
    refusal: Refusal | None = None
    executions: Executions | None = None
    kept: list[str] = field(default_factory=list)
    threads: dict[str, str] = field(default_factory=dict)

    @property
    def trouble(self) -> str:
        """`error`, and the instructions that it is about where these are known."""
        if self.undefined is None:
            return self.error or ""
        from ptxmm.undefined import whole

        return whole(self.undefined)

    @property
    def culprits(self) -> list[str]:
        """The instructions that make the behaviour undefined, each with who executes it."""
        from ptxmm.undefined import culprit

        return [culprit(site) for site in self.undefined.culprits] if self.undefined else []

    @property
    def passed(self) -> bool:
        """Whether the test answers as it says it should: what is asked besides makes none pass that does not by itself."""
        return self._is_expected(self.verdict) and (not self.own or self._is_expected(self.own))

    def __bool__(self) -> bool:
        """Raises TypeError: any object is true, so that `assert ptxmm.check(test)` could not fail."""
        raise TypeError("a result is neither true nor false: ask for its verdict, or whether it passed")

    def _is_expected(self, verdict: str) -> bool:
        expected = self.expectation.split("|")
        if verdict == "bounded" and self.bounded_ok and "ok" in expected:
            return True
        return verdict in expected or (self.hangs and "hangs" in expected)

    @property
    def hangs(self) -> bool:
        """Whether the verdict is `no` for no other reason than that no execution ends."""
        failed = [check for check in self.checks if check.holds is False]
        return self.verdict == "no" and bool(failed) and all(check.hangs for check in failed)


def observation_of(positive: int, negative: int) -> str:
    """Whether the proposition is satisfied never, sometimes or always; never where there is no execution at all."""
    if positive == 0:
        return "never"
    return "sometimes" if negative else "always"


def out_of_time(timeout: float | None) -> str:
    """What a result says of a test that was not decided in time."""
    return "out of time" if timeout is None else f"out of time after {timeout:g} s"


def undefined_by_race(result: Result) -> bool:
    """Whether one of its races is why a test is undefined: whoever tells of that race tells why."""
    return result.undefined is not None and any(race.kind == result.undefined.flag for race in result.races)

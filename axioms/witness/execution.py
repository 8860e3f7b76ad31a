"""One execution, written out: what a witness is, and what graphs are drawn from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, overload

from axioms.events.event_kinds import EventKind
from ptxcore.places import Placement
from ptxcore.records import dataclass

if TYPE_CHECKING:
    from axioms.witness.checker import JudgedExecution

_FEW = 8


@dataclass(frozen=True, slots=True)
class ExecutedEvent:
    """An event that happened. `thread` is -1 for the initial writes; `kind` is one of `axioms.events.event_kinds`.

    An atomic is two events, R and W, related by `rmw`. `text` is the instruction as written; `line` its source line, or None.
    `location` is what people call the bytes that it accesses, which are so many `elements` of an `object`. `group` is the same
    for events of its thread that are the elements of one vector access, -1 for others. `source` is where the instruction was
    compiled from: `lock.cu:7`.
    """

    index: int
    thread: int
    kind: EventKind
    text: str
    location: str | None = None
    value: int | None = None
    width: int = 32
    tags: frozenset[str] = frozenset()
    line: int | None = None
    object: str = ""
    elements: int = 1
    group: int = -1
    source: str = ""

    @property
    def number(self) -> str:
        """What it reads or writes, as people read it: of several elements, each of them."""
        if self.value is None:
            return "?"
        count = self.elements
        if count == 1:
            return str(self.value) if self.width <= 64 else f"{self.value:#x}"
        bits = self.width // count
        if count > _FEW or bits * count != self.width:
            return f"{self.value:#x}"
        return f"{{{', '.join(str(self.value >> i * bits & (1 << bits) - 1) for i in range(count))}}}"


@dataclass(frozen=True, slots=True)
class Execution:
    """A consistent execution: events, relations by name as pairs of event indices, and the state it ends in.

    Relations: `po` (immediate pairs only), `rf`, `co` (immediate), `fr` (to the co-first write only), `rmw`, and those that the
    model defines under well-known names where it does: `sync`, `cause`. `threads` gives (name, place) by thread index.
    `state` maps what the test observes (`1:r0`, `x`) to numbers. `judged` has all relations, as the model sees them; None in
    copies that were sent elsewhere.
    """

    events: tuple[ExecutedEvent, ...]
    relations: dict[str, tuple[tuple[int, int], ...]]
    threads: tuple[tuple[str, Placement], ...]
    state: dict[str, int] = field(default_factory=dict)
    title: str = ""
    judged: JudgedExecution | None = field(default=None, compare=False, repr=False)


class ExecutionsFound(Sequence[Execution]):
    """Executions, each written out when somebody looks at it: most are found, re-checked and counted, and never seen."""

    __slots__ = ("_made",)

    def __init__(self, made: Iterable[Execution] = ()) -> None:
        self._made: list[Execution | Callable[[], Execution]] = list(made)

    def append(self, made: Execution | Callable[[], Execution]) -> None:
        """One more, or how it is written out."""
        self._made.append(made)

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, at: int) -> Execution: ...
    @overload
    def __getitem__(self, at: slice) -> list[Execution]: ...
    def __getitem__(self, at: int | slice) -> Execution | list[Execution]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        made = self._made[at]
        if not isinstance(made, Execution):
            made = self._made[at] = made()
        return made

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (ExecutionsFound, list)) else NotImplemented

    def __repr__(self) -> str:
        return repr(list(self))

    def __reduce__(self) -> tuple[object, ...]:
        return ExecutionsFound, (list(self),)

"""Who has a column: each thread, and beside it what works for it on its own: copies, tensor cores, completions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from axioms.events.event_kinds import MBARRIER_EVENT
from axioms.witness.execution import ExecutedEvent, Execution
from ptxcore.places import LEVELS, Placement
from ptxcore.records import NamedTuple

#: Names of threads that are longer than this are short in the picture, and whole in its legend.
_LONG_NAME = 10
#: What works for a thread, by how its instructions begin; what nobody names is a copy.
_AGENTS = (("tcgen05.", "tensor core"), ("wgmma.", "tensor core"), ("mbarrier.", "mbarrier"))


class Column(NamedTuple):
    """A column: of the thread of that number, or of an `agent` that works for it."""

    thread: int
    agent: str
    name: str
    place: Placement


def agent_of(event: ExecutedEvent) -> str:
    """Who does what an event stands for, where it is not the thread itself: empty for what the thread does."""
    if "ASY" not in event.tags or event.thread < 0:
        return ""
    if event.kind is MBARRIER_EVENT:
        return "completion"
    return next((agent for begin, agent in _AGENTS if event.text.startswith(begin)), "copy")


def columns(execution: Execution, shown: dict[str, str]) -> list[Column]:
    """The columns from left to right; `shown` has the names of threads as they are shown."""
    agents: dict[int, dict[str, None]] = {}
    for event in execution.events:
        if agent := agent_of(event):
            agents.setdefault(event.thread, {})[agent] = None
    found = []
    for thread in column_order(execution.threads):
        name, place = execution.threads[thread]
        name = shown.get(name, name)
        found.append(Column(thread, "", name, place))
        found += [Column(thread, agent, f"{name}: {agent}", place) for agent in agents.get(thread, ())]
    return found


def short_names(execution: Execution) -> dict[str, str]:
    """Short names for threads, where theirs are long: `T3` for `CTA 0 thread 3`."""
    names = [name for name, _ in execution.threads]
    if all(len(name) <= _LONG_NAME for name in names):
        return {}
    return {name: f"T{i}" for i, name in enumerate(names)}


def column_order(threads: Sequence[tuple[str, Placement]]) -> list[int]:
    """Thread indices from left to right: in the order given, but those that share a level stand together."""
    first: dict[tuple[str, int], int] = {}
    for i, (_, place) in enumerate(threads):
        for level in LEVELS:
            first.setdefault((level, getattr(place, level)), i)

    def key(i: int) -> tuple[int, ...]:
        place = threads[i][1]
        if place.host:
            return (1, i)
        return (0, *(first[level, getattr(place, level)] for level in reversed(LEVELS)), i)

    return sorted(range(len(threads)), key=key)


def told_levels(threads: Iterable[tuple[str, Placement]]) -> list[str]:
    """The levels worth a frame, outermost first: the CTA always; others where they join or part what the next does
    not."""
    places = [place for _, place in threads if not place.host]
    told = []
    if len({p.gpu for p in places}) > 1:
        told.append("gpu")
    if len({p.cluster for p in places}) < len({p.cta for p in places}):
        told.append("cluster")
    if places:
        told.append("cta")
    if len({p.warp for p in places}) < len(places):
        told.append("warp")
    return told

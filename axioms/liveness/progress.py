"""Progress models: which threads are scheduled fairly in an execution that does not end.

    fair      every thread
    hsa       the thread of the lowest number that has not ended
    obe       threads that have made a step
    hsa_obe   both
    lobe      threads that have made a step, and all of lower number
    unfair    none

A thread that is scheduled fairly gets on as long as it can. One that is not may stop anywhere and never go on; that it does is
no execution without an end by itself: some thread must go round, or be blocked, without end. Threads are numbered as the test
lists them.

By scope, as in `cta=obe,gpu=fair`, a model says who is scheduled fairly among the parts of each group: at `cta` the
threads of a CTA, at `cluster` the CTAs of a cluster, at `gpu` the clusters of a GPU (CTAs where there are none), at `sys`
the GPUs. A part has made a step when one of its threads has, and has ended when all have; it has the number of its first
thread. A thread is scheduled fairly if it is within its CTA, and each group that holds it is within the next one; of a
group that is scheduled fairly some thread at least goes on. A scope that is not named is fair.

`resident = N`: at most N CTAs of each GPU run at once. A CTA runs from the first step of one of its threads until all have
ended; which one begins when there is room is open (no order is promised), but the CTAs of a cluster begin together.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Generic, Protocol, TypeVar

from ptxcore.places import Placement
from ptxcore.records import NamedTuple

#: The models, in the order of the table.
NAMES = ("fair", "hsa", "obe", "hsa_obe", "lobe", "unfair")
#: The scopes whose parts are scheduled, from the outermost.
SCOPES = ("sys", "gpu", "cluster", "cta")


class Progress(NamedTuple):
    """A progress model: one for all threads (`of_scopes` empty), or one for the parts of each scope."""

    name: str = "fair"
    of_scopes: tuple[tuple[str, str], ...] = ()

    @property
    def is_fair(self) -> bool:
        """Whether every thread is scheduled fairly."""
        return self.name == "fair" and all(model == "fair" for _, model in self.of_scopes)

    def __str__(self) -> str:
        return ",".join(f"{scope}={model}" for scope, model in self.of_scopes) or self.name


FAIR = Progress()


def progress_named(text: str) -> Progress:
    """A progress model as people write it: `obe`, or `cta=obe,gpu=fair`. Raises ValueError for anything else, which says what
    would be right."""
    text = text.strip()
    if "=" not in text:
        return Progress(_model(text))
    chosen: dict[str, str] = {}
    for part in text.split(","):
        scope, _, model = (word.strip() for word in part.partition("="))
        if scope not in SCOPES:
            raise ValueError(
                f"'{scope}' is no scope of a progress model; write one of {', '.join(SCOPES)}, as in cta=obe"
            )
        if scope in chosen:
            raise ValueError(f"the progress model of scope '{scope}' is given twice")
        chosen[scope] = _model(model)
    return Progress("fair", tuple((scope, chosen[scope]) for scope in SCOPES if scope in chosen))


def _model(word: str) -> str:
    if word not in NAMES:
        raise ValueError(f"'{word}' is no progress model; write one of {', '.join(NAMES)}")
    return word


# Who is scheduled fairly, over numbers and over formulas alike.

T = TypeVar("T")


class Logic(Protocol[T]):
    """Truth values: Python's, or literals of a formula."""

    def all_of(self, values: Sequence[T]) -> T: ...
    def any_of(self, values: Sequence[T]) -> T: ...
    def negate(self, value: T) -> T: ...


class Truths:
    """Python's truth values."""

    def all_of(self, values: Sequence[bool]) -> bool:
        return all(values)

    def any_of(self, values: Sequence[bool]) -> bool:
        return any(values)

    def negate(self, value: bool) -> bool:
        return not value


class Status(NamedTuple, Generic[T]):
    """Of each thread: whether it has made a step, and whether it could make another (it has not ended, and its CTA runs)."""

    started: Sequence[T]
    able: Sequence[T]


class Fair(NamedTuple, Generic[T]):
    """Of each thread that could go on, whether it is scheduled fairly; and groups of threads of which some must go on where the
    truth value holds."""

    threads: list[T]
    groups: list[tuple[T, list[int]]]


def fairly_scheduled(places: Sequence[Placement], progress: Progress, status: Status[T], logic: Logic[T]) -> Fair[T]:
    """Who is scheduled fairly."""
    if not progress.of_scopes:
        return Fair(_among([[t] for t in range(len(places))], progress.name, status, logic), [])
    found: list[list[T]] = [[] for _ in places]
    models = dict(progress.of_scopes)
    groups: list[tuple[T, list[int]]] = []
    for scope, parts_of in _LEVELS:
        for group in _groups(places, list(range(len(places))), scope):
            parts = [[t] for t in group] if parts_of is None else _groups(places, group, parts_of)
            fair = _among(parts, models.get(scope, "fair"), status, logic)
            for part, truth in zip(parts, fair, strict=True):
                for t in part:
                    found[t].append(truth)
                if parts_of is not None:
                    able = logic.any_of([status.able[t] for t in part])
                    groups.append((logic.all_of([able, *found[part[0]]]), part))
    return Fair([logic.all_of(truths) for truths in found], groups)


#: Each scope, and the level of its parts: None for threads.
_LEVELS = (("sys", "gpu"), ("gpu", "cluster"), ("cluster", "cta"), ("cta", None))


def _groups(places: Sequence[Placement], threads: Sequence[int], level: str) -> list[list[int]]:
    """The threads by their numbers at a level, in the order of their first ones. Threads of the host are each by themselves."""
    found: dict[object, list[int]] = {}
    for t in threads:
        place = places[t]
        key = "sys" if level == "sys" else ("host", t) if place.host else getattr(place, level)
        found.setdefault(key, []).append(t)
    return list(found.values())


def _among(parts: Sequence[Sequence[int]], model: str, status: Status[T], logic: Logic[T]) -> list[T]:
    """Of each part of a group, whether it is scheduled fairly within it."""
    able = [logic.any_of([status.able[t] for t in part]) for part in parts]
    started = [logic.any_of([status.started[t] for t in part]) for part in parts]
    by_model: list[list[T]] = []
    if model == "fair":
        by_model.append([logic.all_of([])] * len(parts))
    if model in ("hsa", "hsa_obe"):
        by_model.append([
            logic.all_of([able[i], *[logic.negate(a) for a in able[:i]]]) for i in range(len(parts))
        ])  # fmt: skip
    if model in ("obe", "hsa_obe"):
        by_model.append(started)
    if model == "lobe":
        by_model.append([logic.any_of(started[i:]) for i in range(len(parts))])
    return [logic.any_of([one[i] for one in by_model]) for i in range(len(parts))]


class Residents(NamedTuple):
    """CTAs that begin together: their threads, and how many they are."""

    threads: list[int]
    size: int
    gpu: int


def residents(places: Sequence[Placement]) -> list[Residents]:
    """The clusters of a launch."""
    groups = _groups(places, [t for t, p in enumerate(places) if not p.host], "cluster")
    return [Residents(g, len({places[t].cta for t in g}), places[g[0]].gpu) for g in groups]


class Schedule:
    """Who may make a step, and who must sooner or later, where each thread is at a node of its graph."""

    def __init__(
        self, places: Sequence[Placement], resident: int | None, waits: Sequence[Collection[int]] | None = None
    ) -> None:
        """`waits`: of each thread, those that must have ended before it may begin."""
        self.places, self.resident = places, resident
        self.waits = waits if waits is not None and any(waits) else None
        self.groups = residents(places)
        self._known: dict[tuple[Progress, tuple[bool, ...], tuple[bool, ...]], Fair[bool]] = {}

    def may_move(self, started: Sequence[bool], ended: Sequence[bool]) -> list[int]:
        """The threads that have not ended, and run or may begin to."""
        living = [t for t in range(len(self.places)) if not ended[t] and not self.waiting_for(t, ended)]
        if self.resident is None:
            return living
        running = [
            g for g in self.groups if any(started[t] for t in g.threads) and not all(ended[t] for t in g.threads)
        ]
        room = {g.gpu: self.resident for g in self.groups}
        for g in running:
            room[g.gpu] -= g.size
        inside = {t for g in self.groups for t in g.threads if g in running or g.size <= room[g.gpu]}
        return [t for t in living if t in inside or self.places[t].host]

    def waiting_for(self, thread: int, ended: Sequence[bool]) -> list[int]:
        """The threads that must end before one begins, and have not."""
        return [] if self.waits is None else [t for t in self.waits[thread] if not ended[t]]

    def must_move(self, progress: Progress, started: Sequence[bool], ended: Sequence[bool]) -> frozenset[int]:
        """Those of them that are scheduled fairly."""
        fair = self._fair(progress, tuple(started), tuple(ended))
        return frozenset(t for t in self.may_move(started, ended) if fair.threads[t])

    def allows(
        self, progress: Progress, started: Sequence[bool], ended: Sequence[bool], moving: Collection[int]
    ) -> bool:
        """Whether only these threads may fail to terminate."""
        fair = self._fair(progress, tuple(started), tuple(ended))
        return self.must_move(progress, started, ended) <= set(moving) and not any(
            truth and set(group).isdisjoint(moving) for truth, group in fair.groups
        )

    def _fair(self, progress: Progress, started: tuple[bool, ...], ended: tuple[bool, ...]) -> Fair[bool]:
        key = progress, started, ended
        known = self._known.get(key)
        if known is None:
            may = set(self.may_move(started, ended))
            status = Status(started, [t in may for t in range(len(self.places))])
            known = self._known[key] = fairly_scheduled(self.places, progress, status, Truths())
        return known

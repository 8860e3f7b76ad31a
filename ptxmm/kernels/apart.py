"""Kernel tests of which groups of CTAs have nothing to do with each other: what runs tell of each group, and of all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from axioms.dynamic.core.findings import Open, Stopped
from axioms.dynamic.several.exploring import TooMany
from axioms.dynamic.several.separate import OneOfGroups, TouchedWords
from ptxcore.machine.run.memory import Segment
from ptxcore.records import NamedTuple
from ptxmm.kernels.runs import FinalValues, Runs, side_by_side

if TYPE_CHECKING:
    from axioms.dynamic.several.noted import OpenOperation
    from axioms.dynamic.several.plan import Script, StrongBytes
    from ptxmm.kernels.launch import Launch

#: Final values of all groups together, at most.
_MOST_STATES = 400


class GroupOfCtas(NamedTuple):
    """Some CTAs of the launch of a number, by their places; CTAs of `size` threads."""

    launch: int
    ctas: frozenset[int]
    size: int

    def has(self, event: OpenOperation) -> bool:
        """Whether a thread of them does an operation."""
        launch, thread, _ = event.name
        return launch == self.launch and thread // self.size in self.ctas


class SeparateGroups:
    """The groups of the launches of a test, which come one after the other, and what the runs of each have left."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self.groups: Sequence[GroupOfCtas] = ()
        #: Whether something goes on beside the threads of some run: then nothing is known of groups.
        self._beside = False
        self._touched: list[TouchedWords] = []
        self._left: dict[int, bytes] = {}
        self._states: list[list[FinalValues]] = []

    def watcher(self, launch: Launch, number: int, known: StrongBytes, script: Script) -> OneOfGroups:
        """Who watches the launch of a number in the next run. Raises Stopped where that finds another memory than in the run
        before."""
        if number:
            segments = self._runs.devices[launch.loaded].memory.segments.items()
            held = hashlib.sha256()
            for place, segment in segments:
                if isinstance(segment, Segment):
                    held.update(repr(place).encode() + segment.data)
            if self._left.setdefault(number, held.digest()) != held.digest():
                raise Stopped(Open("order"))
        if len(self._touched) <= number:
            self._touched.append(TouchedWords())
        return OneOfGroups(prod(launch.block), number, known, script, self._touched[number])

    def find(self) -> bool:
        """Whether there are several groups in a launch, by what the runs so far have touched."""
        self.groups = [] if self._beside else list(self._found())
        return self.are_several

    @property
    def are_several(self) -> bool:
        """Whether there are several in a launch."""
        return len(self.groups) > len(self._runs.test.launches)

    def _found(self) -> Iterator[GroupOfCtas]:
        launches = self._runs.test.launches
        if side_by_side(self._runs.test) or any(launch.cluster for launch in launches):
            return
        for number, (launch, touched) in enumerate(zip(launches, self._touched, strict=False)):
            for ctas in touched.groups(prod(launch.grid)):
                yield GroupOfCtas(number, ctas, prod(launch.block))

    def operations(self) -> Sequence[Callable[[OpenOperation], bool]]:
        """Which operations are those of each group."""
        return [group.has for group in self.groups]

    def begins(self, group: int) -> None:
        """The runs of a group begin, of the first one again where more is known."""
        self._states = [*self._states[:group], []] if group else [[]]

    def keeps(self, state: FinalValues, watchers: Sequence[OneOfGroups]) -> None:
        """What a run has left. Raises Stopped where something goes on beside the threads of a group."""
        self._beside |= any(watcher.agents.issued or watcher.clocks.cluster > 1 for watcher in watchers)
        if self._beside and self.groups:
            raise Stopped(Open("asynchronous"))
        if self._states:
            self._states[-1].append(state)

    def all_states(self) -> Sequence[FinalValues]:
        """The final values of all executions. Raises TooMany where these are, and where the groups are not apart after all."""
        if list(self._found()) != self.groups or not all(self._states):
            raise TooMany
        first = self._states[0][0]
        ways = [list({tuple((k, v) for k, v in s.items() if v != first[k]) for s in of}) for of in self._states]
        if prod(map(len, ways)) > _MOST_STATES:
            raise TooMany
        return [first | dict(pair for part in parts for pair in part) for parts in product(*ways)]


__all__ = ["GroupOfCtas", "SeparateGroups"]

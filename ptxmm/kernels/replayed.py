"""What goes wrong in a smaller launch of a kernel, done again in the launch that was asked for.

A smaller launch -> a run of it that is wrong -> the same steps by as many threads of the full launch, the others before, behind
or beside them -> a run of the full launch that is wrong. Only the last one is an answer: it is an execution of the full launch
whatever it was made from.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, get_args

from axioms.dynamic.core.findings import Stopped
from axioms.dynamic.wrong.replay import Others, Replay, ReplayInAnyFenceOrder
from ptxcore.clock import limited
from ptxcore.diagnostics import InputError
from ptxcore.machine.run.launch import UsageError
from ptxcore.records import NamedTuple
from ptxmm.kernels.hunting import RaceOf, TestFails, Wrong, hunt, one_run
from ptxmm.kernels.places import Places
from ptxmm.kernels.runs import FinalValues, Runs
from ptxmm.kernels.smaller import smaller_of
from ptxmm.kernels.test import Check
from ptxmm.kernels.wrong import breaking, tell_wrong
from ptxmm.words import whole as told

if TYPE_CHECKING:
    from axioms.dynamic.several.plan import Name
    from axioms.witness.execution import Execution
    from ptxmm.kernels.launch import Launch
    from ptxmm.kernels.test import KernelTest
    from ptxmm.result import Result

#: Runs of one smaller launch, and the seconds that they, and those of all of them, may take.
_MOST, _EACH, SECONDS = 150, 1.5, 5.0
#: Executions of a smaller launch that are followed in the full one.
_MOST_WITNESSES = 4


class Replayed(NamedTuple):
    """What a run of the full launch showed, and the CTAs of the smaller one and the threads of each."""

    found: Wrong
    ctas: int
    threads: int


def replayed(runs: Runs, broken: Callable[[FinalValues], bool], seconds: float = SECONDS) -> Replayed | None:
    """What goes wrong in a smaller launch, and in the launch of a test by the same steps; None where nothing was seen.
    `broken`: whether final values of the launch are against a check; `seconds`: for all runs of smaller launches."""
    deadline = time.monotonic() + min(seconds, SECONDS)
    for small in sorted(smaller_of(runs.test), key=_threads):  # runs of a few threads take no time
        asked = replace(
            small, checks=(*small.checks, Check("race_free"))
        )  # what races may come to another outcome, too
        try:
            with limited(min(_EACH, max(0.0, deadline - time.monotonic()))):
                wrong = hunt(Runs(asked, watched=True, readings=runs.readings), lambda _: False, _MOST, ("", "fences"))
        except InputError:
            return None
        if wrong is None:
            continue
        for steps in _taken(wrong.steps, small.launches[0], runs.test.launches[0]):
            reordered = isinstance(wrong, RaceOf) and wrong.watcher.reordered
            found = _with(runs, steps, broken, ReplayInAnyFenceOrder if reordered else Replay)
            if found is not None:
                launch = small.launches[0]
                return Replayed(found, prod(launch.grid), prod(launch.block))
    return None


def _threads(test: KernelTest) -> int:
    return prod(test.launches[0].grid) * prod(test.launches[0].block)


def redone(
    test: KernelTest, result: Result, small: KernelTest, found: Result, deadline: float, readings: frozenset[str]
) -> bool:
    """Whether the launch of a test shows, by some readings of the manual, what goes wrong in a smaller one, whose answer was
    found: then it is told in the result, which else stays as it is."""
    runs, places, broken = Runs(test, watched=True, readings=readings), Places(test), breaking(test)
    launch = small.launches[0]
    witnesses = [
        *found.race_witnesses,
        *(c.witness for c in found.checks if c.holds is False and c.witness is not None),
    ]
    with limited(max(0.0, deadline - time.monotonic())):
        for witness in witnesses[:_MOST_WITNESSES]:
            if witness.execution.judged is None:
                continue
            wrong = followed(runs, launch, witness.execution, broken)
            if wrong is not None and tell_wrong(runs, result, places, wrong):
                result.notes.append(told.replayed(prod(launch.grid), prod(launch.block)))
                return True
        again = None if witnesses else replayed(runs, broken)
        if again is not None and tell_wrong(runs, result, places, again.found):
            result.notes.append(told.replayed(again.ctas, again.threads))
            return True
    return False


def followed(runs: Runs, small: Launch, execution: Execution, broken: Callable[[FinalValues], bool]) -> Wrong | None:
    """What a run of the launch of a test shows whose threads go as those of an execution of a smaller launch of it."""
    for steps in _taken(_steps_of(execution), small, runs.test.launches[0]):
        for kind in (Replay, ReplayInAnyFenceOrder):
            found = _with(runs, steps, broken, kind, by_line=True)
            if found is not None:
                return found
    return None


def _steps_of(execution: Execution) -> tuple[Name, ...]:
    """The strong accesses of an execution in their order, as steps by lines. A read behind which its thread comes to the same
    instruction next has found nothing that led it on."""
    from axioms.explain.linearisation import Linearisation

    events = [execution.events[at] for at in Linearisation(execution).order]
    strong = [e for e in events if e.thread >= 0 and e.line is not None and e.kind.accesses and "WEAK" not in e.tags]
    found: list[Name] = []
    later: dict[int, int] = {}  # of each thread, the line that it comes to next
    for event in reversed(strong):
        assert event.line is not None
        if later.get(event.thread) != event.line or event.kind.changes:
            found.append((0, event.thread, event.line))
        later[event.thread] = event.line
    return tuple(reversed(found))


def _with(
    runs: Runs,
    steps: tuple[Name, ...],
    broken: Callable[[FinalValues], bool],
    kind: type[Replay] = Replay,
    *,
    by_line: bool = False,
) -> Wrong | None:
    """What a run of a launch shows in which its threads take such steps."""
    for others in get_args(Others):

        def make(size: int, launch: int, others: Others = others) -> Replay:
            return kind(size, launch, steps, others, by_line=by_line)

        try:
            one_run(runs, make, broken)
        except TestFails as wrong:
            return wrong.found
        except (Stopped, UsageError):
            return None
    return None


def _taken(steps: tuple[Name, ...], small: Launch, full: Launch) -> Iterator[tuple[Name, ...]]:
    """The steps with the threads that take them in the full launch: of its first CTAs, and of its last ones."""
    for first in sorted({0, full.grid[0] - small.grid[0]}):
        yield tuple((launch, _number(number, small, full, first), count) for launch, number, count in steps)


def _number(number: int, small: Launch, full: Launch, first: int) -> int:
    """The thread of the full launch at the coordinates of one of the smaller launch, of a CTA so much further on."""
    cta, thread = divmod(number, prod(small.block))
    return _moved(cta, small.grid, full.grid, first) * prod(full.block) + _moved(thread, small.block, full.block)


def _moved(number: int, small: tuple[int, int, int], full: tuple[int, int, int], first: int = 0) -> int:
    rest, x = divmod(number, small[0])
    z, y = divmod(rest, small[1])
    return (z * full[1] + y) * full[0] + x + first

"""Runs of kernel tests that look for something wrong: in orders of the threads that are likely to show it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, cycle, product
from math import prod
from typing import TYPE_CHECKING, Literal, TypeGuard

from axioms.dynamic.core.findings import ByteRace, Misuse, Open, Stopped, in_time
from axioms.dynamic.several.exploring import MOST, wander
from axioms.dynamic.wrong.exact import AnyFenceOrder, Exact
from axioms.dynamic.wrong.slow import SlowCta
from axioms.dynamic.wrong.suspected import Suspected, SuspectedInAnyOrder
from axioms.dynamic.wrong.torn import Tearing
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxcore.records import NamedTuple
from ptxmm.kernels.runs import FinalValues, Runs, Watchers, side_by_side
from ptxmm.kernels.several import LIMIT, UNWRITTEN, FailedExecution
from ptxmm.kernels.whole_findings import FAULTS

if TYPE_CHECKING:
    from axioms.dynamic.lookback.sightings import Sighting
    from axioms.dynamic.several.noted import OpenOperation
    from axioms.dynamic.several.plan import Name, Script
    from ptxcore.machine.lower.ops import ExecutableModule
    from ptxmm.kernels.launch import Launch

#: What a run shows besides what it does: nothing, what it does with its `fence.sc` in other orders, or what it does where
#: operations whose order is open come late.
Sight = Literal["", "fences", "late"]
#: Seeds of the orders in which a race is looked for, None being that of the CTAs; and how runs are watched.
ORDERS: tuple[tuple[int | None, Sight], ...] = ((None, ""), (None, "fences"), (None, "late"), (1, ""), (2, ""))
#: Reads that are torn, each in a run of its own.
_MOST_TORN = 8


class TestFails(Exception):
    """A run shows that a test fails."""

    def __init__(self, found: Wrong) -> None:
        super().__init__(found)
        self.found = found


class RaceOf(NamedTuple):
    """A race or misuse, in the launch of a number, and who watched that. `steps`: the open operations before it in their
    order."""

    race: ByteRace | Misuse
    launch: int
    watcher: Exact
    steps: tuple[Name, ...] = ()
    unwritten: int | None = None  # what was put into every byte of shared memory that nothing wrote


class FaultOf(NamedTuple):
    """An error that leaves the launch of a number without a meaning, and who watched that; `steps` as of a race."""

    error: KernelError
    launch: int
    watcher: Exact
    steps: tuple[Name, ...] = ()
    unwritten: int | None = None


#: What one run shows that is wrong, whatever others do.
Wrong = RaceOf | FaultOf | FailedExecution


def _size(runs: Runs, launch: Launch) -> int:
    """The threads of a CTA; of launches at the same time, of the largest."""
    return runs.most_threads if side_by_side(runs.test) else prod(launch.block)


def _looking(runs: Runs, watcher: Exact) -> Exact:
    """Who watches a run, with what a test says: whether it asks for data races, and on which devices its CTAs are."""
    watcher.readings = runs.readings
    watcher.tells_races = any(check.kind == "race_free" for check in runs.test.checks)
    watcher.clocks.devices = runs.devices_of_ctas
    return watcher


def race_of(
    runs: Runs, broken: Callable[[FinalValues], bool], orders: Sequence[tuple[int | None, Sight]] = ORDERS
) -> Wrong | None:
    """A race of some run, in one of a few `orders`, or else what leaves the launch without a meaning, or final values that are
    against a check; None where none of these was seen."""
    faulty: Wrong | None = None
    waiting, unwritten = list(orders), None
    while waiting:
        seed, sight = waiting.pop(0)
        watchers: list[Exact] = []

        def watch(
            launch: Launch, _: ExecutableModule, watchers: list[Exact] = watchers, sight: Sight = sight
        ) -> Watchers:
            def single() -> Exact:
                watchers.append(_watcher(_size(runs, launch), len(watchers), sight=sight))
                return _looking(runs, watchers[-1])

            return Watchers(None, single)

        try:
            state = runs.run(seed, limit=LIMIT, watch=watch, progress=in_time, unwritten=unwritten)
            faulty = faulty or _overwriting(watchers, unwritten=unwritten)
            if faulty is None and unwritten is None and broken(state):
                faulty = FailedExecution(state, _steps(watchers), watchers=watchers)
        except Stopped as stopped:
            if _is_shown(stopped.why, watchers):
                return RaceOf(stopped.why, len(watchers) - 1, watchers[-1], unwritten=unwritten)
            if stopped.why == Open("time"):
                break
        except KernelError as error:
            if error.kind == UNWRITTEN and unwritten is None:  # any values may be there: the run can go on with some
                waiting.insert(0, (seed, sight))
                unwritten = 0
            elif error.kind in FAULTS and faulty is None:
                faulty = FaultOf(error, len(watchers) - 1, watchers[-1], unwritten=unwritten)
        except UsageError:
            continue
    return faulty


def _is_shown(why: ByteRace | Misuse | Open, watchers: Sequence[Exact]) -> TypeGuard[ByteRace | Misuse]:
    """Whether what ended a run is wrong: misuse is, where all is known that orders something."""
    return isinstance(why, ByteRace) or (isinstance(why, Misuse) and watchers[-1].orders_all)


def _overwriting(
    watchers: Sequence[Exact], steps: tuple[Name, ...] = (), unwritten: int | None = None
) -> RaceOf | None:
    """Where an asynchronous operation writes behind a read without a fence between the proxies: told where nothing worse is."""
    for number, watcher in enumerate(watchers):
        if watcher.agent_accesses.overwriting is not None and watcher.orders_all and watcher.tells_races:
            return RaceOf(watcher.agent_accesses.overwriting, number, watcher, steps, unwritten)
    return None


def _watcher(size: int, launch: int, script: Script | None = None, sight: Sight = "") -> Exact:
    """Who watches a run that begins as a script says."""
    if sight == "fences" and not (script and script.sources):
        return AnyFenceOrder(size, launch, script)
    return Exact(size, launch, script, late=sight == "late")


def hunt(
    runs: Runs,
    broken: Callable[[FinalValues], bool],
    most: int = MOST,
    sights: Sequence[Sight] = ("", "fences", "late"),
) -> Wrong | None:
    """Something wrong in one of many runs that begin otherwise than those before it: a race, what leaves the launch without a
    meaning, final values that are against a check, or threads that do not terminate; None where none was seen. What they do
    not show is not known. `most`: runs; `sights`:
    how they are watched, one after the other."""
    turns = cycle(sights)

    def run(script: Script) -> Sequence[Sequence[OpenOperation]]:
        turn = next(turns)
        return one_run(runs, lambda size, launch: _watcher(size, launch, script, turn), broken)

    try:
        wander(run, most)
    except TestFails as wrong:
        return wrong.found
    except (Stopped, UsageError):
        pass
    return None


def on_suspicion(
    runs: Runs, broken: Callable[[FinalValues], bool], suspects: Sequence[tuple[Sighting, ...]]
) -> Wrong | None:
    """Something wrong in a run in which threads find what they may find on ways of look-backs; None where none was seen."""
    ways = list(dict.fromkeys(reversed(suspects)))  # the last CTAs show most of what others come to
    at_once: tuple[Callable[..., Exact], ...] = (Suspected, partial(Suspected, early=True))
    for way, make in chain(product(ways, at_once), product(ways, (SuspectedInAnyOrder,))):
        try:
            one_run(runs, partial(make, way=way), broken)
        except TestFails as wrong:
            return wrong.found
        except (Stopped, UsageError):
            return None
    return None


def with_a_slow_cta(runs: Runs, broken: Callable[[FinalValues], bool]) -> Wrong | None:
    """Something wrong in a run in which one CTA reads as late as can be; None where none was seen."""
    ctas = sum(prod(launch.grid) for launch in runs.test.launches)
    for slow in dict.fromkeys((0, ctas - 1, ctas // 2)):
        watchers: list[SlowCta] = []

        def make(size: int, launch: int, slow: int = slow, watchers: list[SlowCta] = watchers) -> SlowCta:
            watchers.append(SlowCta(size, launch, slow))
            return watchers[-1]

        try:
            one_run(runs, make, broken)
        except TestFails as wrong:
            return wrong.found
        except (Stopped, UsageError):
            return None
        if not any(watcher.reads_late for watcher in watchers):  # and so it is of the others
            return None
    return None


def with_torn_reads(runs: Runs, broken: Callable[[FinalValues], bool]) -> tuple[Wrong, Tearing] | None:
    """Something wrong in a run in which reads of vectors are torn, and who watched that; None where none was seen. First each
    that can be is torn, then some are by themselves."""
    try:
        if (found := _torn(*_tearing(runs, broken, None, every=True))) is not None:
            return found
        _, watchers = _tearing(runs, broken, None)
        for number in reversed(range(sum(watcher.tearable for watcher in watchers))[-_MOST_TORN:]):  # as above
            if (found := _torn(*_tearing(runs, broken, number))) is not None:
                return found
    except (Stopped, UsageError):
        pass
    return None


def _torn(wrong: Wrong | None, watchers: Sequence[Tearing]) -> tuple[Wrong, Tearing] | None:
    """What is wrong in a run, and who watched a torn read there; None where there is none of both."""
    torn = next((watcher for watcher in watchers if watcher.torn is not None), None)
    return None if wrong is None or torn is None else (wrong, torn)


def _tearing(
    runs: Runs, broken: Callable[[FinalValues], bool], number: int | None, *, every: bool = False
) -> tuple[Wrong | None, list[Tearing]]:
    """A run in which the read of a number is torn, or every one: what is wrong in it, and who watched its launches."""
    watchers: list[Tearing] = []

    def make(size: int, launch: int) -> Tearing:
        before = sum(watcher.tearable for watcher in watchers)
        watchers.append(Tearing(size, launch, None if number is None else number - before, every=every))
        return watchers[-1]

    try:
        one_run(runs, make, broken)
    except TestFails as fails:
        return fails.found, watchers
    return None, watchers


def _steps(watchers: Sequence[Exact]) -> tuple[Name, ...]:
    """The open operations of a run, in their order."""
    return tuple(event.name for watcher in watchers for event in watcher.events)


def one_run(
    runs: Runs, make: Callable[[int, int], Exact], broken: Callable[[FinalValues], bool]
) -> Sequence[Sequence[OpenOperation]]:
    """A run watched for races of its own: its open operations, by launch. `make` gives who watches a launch, by the threads of
    its CTAs and its number. Raises Wrong, Stopped where the time is over, and UsageError."""
    watchers: list[Exact] = []

    def watch(launch: Launch, _: ExecutableModule) -> Watchers:
        def single() -> Exact:
            watchers.append(make(_size(runs, launch), len(watchers)))
            return _looking(runs, watchers[-1])

        return Watchers(None, single)

    try:
        state = runs.run(None, limit=LIMIT, watch=watch, progress=in_time)
        if broken(state):
            raise TestFails(FailedExecution(state, _steps(watchers), watchers=watchers))
        overwriting = _overwriting(watchers, _steps(watchers))
        if overwriting is not None:
            raise TestFails(overwriting)
    except Stopped as stopped:
        if _is_shown(stopped.why, watchers):
            raise TestFails(RaceOf(stopped.why, len(watchers) - 1, watchers[-1], _steps(watchers))) from None
        if stopped.why == Open("time"):
            raise
    except KernelError as error:
        if error.kind == "deadlock" and all(w.free for w in watchers):
            raise TestFails(FailedExecution(None, _steps(watchers), error, len(watchers) - 1)) from None
        if error.kind in FAULTS:
            raise TestFails(FaultOf(error, len(watchers) - 1, watchers[-1], _steps(watchers))) from None
    return [w.events for w in watchers]

"""Kernel tests run several times, so that the runs together stand for all executions; and to look for a race of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, cycle, product
from math import prod
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

from axioms.dynamic.core.findings import ByteRace, Misuse, Open, Stopped, in_time
from axioms.dynamic.several.exploring import MOST, TooMany, explore, wander
from axioms.dynamic.several.noted import Again
from axioms.dynamic.several.open_operations import OneOfSeveral
from axioms.dynamic.wrong.exact import AnyFenceOrder, Exact
from axioms.dynamic.wrong.slow import SlowCta
from axioms.dynamic.wrong.suspected import Suspected, SuspectedInAnyOrder
from axioms.dynamic.wrong.torn import Tearing
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxcore.records import NamedTuple
from ptxmm.kernels.recorded_runs import UnrecordedRuns
from ptxmm.kernels.runs import FinalValues, Runs, Watchers, side_by_side
from ptxmm.kernels.whole_findings import FAULTS

if TYPE_CHECKING:
    from axioms.dynamic.lookback.sightings import Sighting
    from axioms.dynamic.several.noted import OpenOperation
    from axioms.dynamic.several.plan import Name, Script, StrongBytes
    from ptxcore.machine.lower.ops import ExecutableModule
    from ptxmm.kernels.changing import ChangingCtas
    from ptxmm.kernels.launch import Launch

#: Instructions after which a run is given up.
LIMIT = 100_000_000
#: What a run shows besides what it does: nothing, what it does with its `fence.sc` in other orders, or what it does where
#: operations whose order is open come late.
Sight = Literal["", "fences", "late"]
#: Seeds of the orders in which a race is looked for, None being that of the CTAs; and how runs are watched.
ORDERS: tuple[tuple[int | None, Sight], ...] = ((None, ""), (None, "fences"), (None, "late"), (1, ""), (2, ""))
#: Runs that are made after one has shown a circle.
_MORE = 16
#: Reads that are torn, each in a run of its own.
_MOST_TORN = 8


#: The error of letting memory decide something that nobody has written yet.
UNWRITTEN = "uninitialised"


class FinalStates(NamedTuple):
    """The final values of all executions, each once; how many runs there were, and how many accesses the last one had; and
    whether some of the values may be those of no execution. `changing`: CTAs may change places, and other runs are these
    with CTAs in others; `differing`: what may be another value then; `exchanged`: other runs are these with another thread
    that comes last to a barrier."""

    states: list[FinalValues]
    runs: int
    accesses: int
    beyond: bool
    changing: bool = False
    differing: frozenset[str] = frozenset()
    exchanged: bool = False


class FailedExecution(NamedTuple):
    """The final values of an execution that are not as a check wants them; None where it does not terminate. `steps`: its
    open operations in their order; `error`: where threads wait, in the launch of number `launch`."""

    state: FinalValues | None
    steps: tuple[Name, ...] = ()
    error: KernelError | None = None
    launch: int = 0


class OpenIn(NamedTuple):
    """What is open, and in the launch of which number."""

    launch: int
    open: Open


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


def race_of(runs: Runs, orders: Sequence[tuple[int | None, Sight]] = ORDERS) -> RaceOf | FaultOf | None:
    """A race of some run, in one of a few `orders`, or else what leaves the launch without a meaning; None where neither was
    seen."""
    faulty: RaceOf | FaultOf | None = None
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
            runs.run(seed, limit=LIMIT, watch=watch, progress=in_time, unwritten=unwritten)
            faulty = faulty or _overwriting(watchers, unwritten=unwritten)
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

    def steps() -> tuple[Name, ...]:
        return tuple(event.name for watcher in watchers for event in watcher.events)

    try:
        state = runs.run(None, limit=LIMIT, watch=watch, progress=in_time)
        if broken(state):
            raise TestFails(FailedExecution(state, steps()))
        overwriting = _overwriting(watchers, steps())
        if overwriting is not None:
            raise TestFails(overwriting)
    except Stopped as stopped:
        if _is_shown(stopped.why, watchers):
            raise TestFails(RaceOf(stopped.why, len(watchers) - 1, watchers[-1], steps())) from None
        if stopped.why == Open("time"):
            raise
    except KernelError as error:
        if error.kind == "deadlock" and all(w.free for w in watchers):
            raise TestFails(FailedExecution(None, steps(), error, len(watchers) - 1)) from None
        if error.kind in FAULTS:
            raise TestFails(FaultOf(error, len(watchers) - 1, watchers[-1], steps())) from None
    return [w.events for w in watchers]


def run_several(
    runs: Runs,
    broken: Callable[[FinalValues], bool],
    most: int = MOST,
    places: ChangingCtas | None = None,
    known: StrongBytes | None = None,
    contents: UnrecordedRuns | None = None,
    *,
    brief: bool = False,
) -> FinalStates | FailedExecution | OpenIn:
    """Runs a test as often as its open operations need it, so many times at most. `broken`: whether final values are against a
    check; `places`: the CTAs change places, and of runs that are alike but for that there is one; `known`: what such runs have
    shown before; `contents`: what is noted of runs, for what they say of other contents; `brief`: as of `explore`. Raises
    NotAlike where CTAs cannot change places."""
    found: list[tuple[FinalValues, int, bool]] = []
    at = [0]
    circles: list[OpenIn] = []

    shown: list[StrongBytes] = []
    noted = contents or UnrecordedRuns()

    def run(known: StrongBytes, script: Script) -> Sequence[Sequence[OpenOperation]]:
        watchers: list[OneOfSeveral] = []
        shown[:] = [known]
        noted.begins()

        def watch(launch: Launch, program: ExecutableModule) -> Watchers:
            def single() -> Any:
                size = prod(launch.block)
                if places is None:
                    watchers.append(OneOfSeveral(size, len(watchers), known, script))
                else:
                    watchers.append(places.watcher(program, known, script))
                watchers[-1].readings = runs.readings
                at[0] = len(watchers) - 1
                return noted.watches(watchers[-1], program)

            return Watchers(None, single)

        try:
            state = runs.run(
                None, limit=LIMIT, watch=watch, progress=in_time,
                placed=noted.placed if places is None else places.placed, fill=noted.fill,
            )  # fmt: skip
            if any(w.excluded() for w in watchers):
                return []
            if not any(w.stale for w in watchers) and broken(state):
                raise _Broken(state)
            for at[0], watcher in enumerate(watchers):
                _settle(watcher, at[0], circles)
        except Again:
            _forget(found, noted)
            raise
        except Stopped as stopped:
            if stopped.why == Open("time"):
                raise
            if any(w.excluded() for w in watchers):
                return []
            again = watchers[-1].known_better() if watchers else None
            if again is not None:
                _forget(found, noted)
                raise again from None
            raise
        except KernelError as error:
            if any(w.excluded() for w in watchers):
                return []
            # Where none of its own has to wait, the launch deadlocks.
            if error.kind == "deadlock" and all(w.free for w in watchers):
                raise _Broken(None, error) from None
            raise
        unknown = next((w.unknown for w in watchers if w.unknown is not None), None)
        if unknown is not None:
            raise Stopped(unknown)
        if any(w.agent_accesses.overwriting is not None for w in watchers):
            raise Stopped(Open("asynchronous"))
        if places is not None:
            places.look()
        # The order of `fence.sc`, or what orders more than was known, may exclude that a thread finds what is older.
        beyond = any(w.stale for w in watchers) and any(w.total or w.weaker for w in watchers)
        found.append((state, sum(w.accesses for w in watchers), beyond))
        noted.keeps(state, found[-1][1])
        return [w.events for w in watchers]

    try:
        count = explore(run, most, None if places is None else places.symmetry, known, brief=brief)
        if circles:
            return circles[0]
    except _Broken as failed:
        return FailedExecution(failed.state, (), failed.error, at[0])
    except Stopped as stopped:
        return OpenIn(at[0], _open(stopped.why))
    except KernelError as error:
        return OpenIn(at[0], Open("limit" if error.kind == "limit" else "error"))
    except UsageError:
        return OpenIn(at[0], Open("launch"))
    except TooMany:
        return OpenIn(at[0], Open("runs"))
    found.sort(key=lambda one: one[2])
    sure = {tuple(sorted(state.items())): beyond for state, _, beyond in reversed(found)}
    states = {tuple(sorted(state.items())): state for state, _, _ in found}
    exchanged = any(takers.exchangeable for of in shown[-1:] for takers in of.takers.values())
    every = FinalStates(list(states.values()), count, found[-1][1], any(sure.values()), exchanged=exchanged)
    return every if places is None else every._replace(changing=True, differing=places.differing())


def _forget(found: list[tuple[FinalValues, int, bool]], noted: UnrecordedRuns) -> None:
    """More is known: what runs have shown is forgotten."""
    found.clear()
    noted.clear()


def _settle(watcher: OneOfSeveral, launch: int, circles: list[OpenIn]) -> None:
    """Holds against a run what is known. Runs do not stand for all executions where there are circles, but some more of them
    may show one that is wrong."""
    try:
        watcher.settle()
    except Stopped as stopped:
        if stopped.why != Open("cycle") or len(circles) >= _MORE:
            raise
        circles.append(OpenIn(launch, stopped.why))


class TestFails(Exception):
    """A run shows that a test fails."""

    def __init__(self, found: Wrong) -> None:
        super().__init__(found)
        self.found = found


class _Broken(Exception):
    def __init__(self, state: FinalValues | None, error: KernelError | None = None) -> None:
        super().__init__(state)
        self.state, self.error = state, error


def _open(why: ByteRace | Misuse | Open) -> Open:
    """What ended a run, as something that is open."""
    if isinstance(why, ByteRace):
        return Open("unordered", why.after)
    return why if isinstance(why, Open) else Open("unordered")

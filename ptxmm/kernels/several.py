"""Kernel tests run several times, so that the runs together stand for all executions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from axioms.dynamic.core.findings import ByteRace, Misuse, Open, Stopped, in_time
from axioms.dynamic.several.exploring import MOST, TooMany, explore, explore_apart
from axioms.dynamic.several.noted import Again
from axioms.dynamic.several.noting import Noting
from axioms.dynamic.several.open_operations import OneOfSeveral
from axioms.dynamic.several.plan import StrongBytes
from axioms.dynamic.several.separate import OneOfGroups
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxcore.records import NamedTuple
from ptxmm.kernels.apart import SeparateGroups
from ptxmm.kernels.recorded_runs import UnrecordedRuns
from ptxmm.kernels.runs import FinalValues, Runs, Watchers

if TYPE_CHECKING:
    from axioms.dynamic.several.noted import OpenOperation
    from axioms.dynamic.several.plan import Name, Script
    from ptxcore.machine.lower.ops import ExecutableModule
    from ptxmm.kernels.changing import ChangingCtas
    from ptxmm.kernels.launch import Launch
    from ptxmm.kernels.symmetric import Numbers

#: Instructions after which a run is given up.
LIMIT = 100_000_000
#: Runs that are made after one has shown a circle.
_MORE = 16
#: The error of letting memory decide something that nobody has written yet.
UNWRITTEN = "uninitialised"


class FinalStates(NamedTuple):
    """The final values of all executions, each once; how many runs there were, and how many accesses the last one had; and
    whether some of the values may be those of no execution. `changing`: CTAs may change places, and other runs are these
    with CTAs in others; `differing`: what may be another value then, of `orders` (`ptxmm.kernels.symmetric`) in another
    order alone; `exchanged`: other runs are these with another thread that comes last to a barrier; `groups`: of CTAs that
    have nothing to do with each other."""

    states: list[FinalValues]
    runs: int
    accesses: int
    beyond: bool
    changing: bool = False
    differing: frozenset[str] = frozenset()
    exchanged: bool = False
    orders: tuple[Numbers, ...] = ()
    groups: int = 0


class FailedExecution(NamedTuple):
    """The final values of an execution that are not as a check wants them; None where it does not terminate. `steps`: its
    open operations in their order; `error`: where threads wait, in the launch of number `launch`; `watchers`: of each launch,
    where its causality is known."""

    state: FinalValues | None
    steps: tuple[Name, ...] = ()
    error: KernelError | None = None
    launch: int = 0
    watchers: Sequence[Noting] = ()


class OpenIn(NamedTuple):
    """What is open, and in the launch of which number."""

    launch: int
    open: Open


def run_several(
    runs: Runs,
    broken: Callable[[FinalValues], bool],
    most: int = MOST,
    places: ChangingCtas | None = None,
    known: StrongBytes | None = None,
    contents: UnrecordedRuns | None = None,
    *,
    brief: bool = False,
    apart: SeparateGroups | None = None,
) -> FinalStates | FailedExecution | OpenIn:
    """Runs a test as often as its open operations need it, so many times at most. `broken`: whether final values are against a
    check; `places`: the CTAs change places, and of runs that are alike but for that there is one; `known`: what such runs have
    shown before; `contents`: what is noted of runs, for what they say of other contents; `brief`: as of `explore`;
    `apart`: groups of CTAs that are run one after the other, or are to be found. Raises NotAlike where CTAs cannot change
    places."""
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
                watchers.append(_watcher(places, apart, launch, program, len(watchers), known, script))
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
        if apart is not None:
            apart.keeps(state, [w for w in watchers if isinstance(w, OneOfGroups)])
        return [w.events for w in watchers]

    try:
        count = _runs_of(run, most, places, apart, known, brief=brief)
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
    exchanged = any(takers.exchangeable for of in shown[-1:] for takers in of.takers.values())
    return _all_of(found, count, places, apart)._replace(exchanged=exchanged)


def _watcher(
    places: ChangingCtas | None,
    apart: SeparateGroups | None,
    launch: Launch,
    program: ExecutableModule,
    number: int,
    known: StrongBytes,
    script: Script,
) -> Any:
    """Who watches the launch of a number."""
    if apart is not None:
        return apart.watcher(launch, number, known, script)
    if places is not None:
        return places.watcher(program, known, script)
    return OneOfSeveral(prod(launch.block), number, known, script)


def _runs_of(
    run: Callable[[StrongBytes, Script], Sequence[Sequence[OpenOperation]]],
    most: int,
    places: ChangingCtas | None,
    apart: SeparateGroups | None,
    known: StrongBytes | None,
    *,
    brief: bool,
) -> int:
    """Makes the runs that stand for all executions; how many these were. Raises TooMany."""
    if apart is None or not apart.groups:
        return explore(run, most, None if places is None else places.symmetry, known, brief=brief)
    count = explore_apart(run, apart.operations(), apart.begins, StrongBytes() if known is None else known, most)
    if len(apart.all_states()) > most:
        raise TooMany
    return count


def _all_of(
    found: list[tuple[FinalValues, int, bool]],
    count: int,
    places: ChangingCtas | None,
    apart: SeparateGroups | None,
) -> FinalStates:
    """What so many runs say of all executions; final values that some execution certainly has come first."""
    found.sort(key=lambda one: one[2])
    sure = {tuple(sorted(state.items())): beyond for state, _, beyond in reversed(found)}
    states = {tuple(sorted(state.items())): state for state, _, _ in found}
    every = FinalStates(list(states.values()), count, found[-1][1], any(sure.values()))
    if apart is not None and apart.groups:
        return every._replace(states=list(apart.all_states()), groups=len(apart.groups))
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


class _Broken(Exception):
    def __init__(self, state: FinalValues | None, error: KernelError | None = None) -> None:
        super().__init__(state)
        self.state, self.error = state, error


def _open(why: ByteRace | Misuse | Open) -> Open:
    """What ended a run, as something that is open."""
    if isinstance(why, ByteRace):
        return Open("unordered", why.after)
    return why if isinstance(why, Open) else Open("unordered")

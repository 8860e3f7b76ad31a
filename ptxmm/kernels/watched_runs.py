"""One run of all launches of a kernel test, that is watched: whether it stands for all executions, or shows what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from axioms.dynamic.confluent import Confluent, open_reads
from axioms.dynamic.depends import Ran
from axioms.dynamic.determinate import Determinate
from axioms.dynamic.findings import Misuse, Open, Race, Stopped, step
from axioms.dynamic.recording import Batches, Recording
from axioms.dynamic.together import Together
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxmm.kernels.runs import Runs, State, Watchers

if TYPE_CHECKING:
    from ptxcore.machine.lower.ops import ExecutableModule
    from ptxmm.kernels.launch import Launch

#: Instructions after which a run of a test without a time limit is given up.
_LIMIT = 100_000_000


class WatchedRun(NamedTuple):
    """What became of a run: who watched its launches, the last one last; the final values where it ended, else why not."""

    watchers: list[Determinate | Together]
    state: State | None
    why: Race | Misuse | Open | None
    recorded: list[Ran]
    error: KernelError | None = None
    searched: frozenset[int] = frozenset()  # the instructions that were taken for look-backs


def watched_run(
    runs: Runs,
    seed: int | None,
    fill: int = 0,
    *,
    alone: bool = False,
    readings: frozenset[str] = frozenset(),
    clusters: Any = None,
    searched: frozenset[int] = frozenset(),
) -> WatchedRun:
    """One watched run, in an order that a seed draws; `alone`: thread by thread; `fill` is in every byte of buffers that may
    hold anything; `readings`: those of the manual that it follows; `clusters`: what makes those of a launch; `searched`: the
    instructions by which threads look back, by their identity."""
    watchers: list[Determinate | Together] = []
    recorded: list[Ran] = []

    def watch(launch: Launch, program: ExecutableModule) -> Watchers:
        size, number = prod(launch.block), len(watchers)
        recorded.append(Ran(Recording(None), program, {}, searched))

        def single() -> Recording:
            watcher = Confluent(size, searched) if searched else Determinate(size)
            watcher.readings = readings
            watchers[number:] = [watcher]
            recording = Recording(watcher)
            recording.makes_clusters = clusters
            recorded[number] = recorded[number]._replace(recording=recording)
            return recording

        if alone or searched or launch.entry not in program.functions:
            return Watchers(None, single)
        together = Together(program, launch.entry, size)
        watchers.append(together)
        batches = Batches(together)
        recorded[number] = recorded[number]._replace(recording=batches)
        return Watchers(batches, single)

    def placed(names: dict[int, str]) -> None:
        recorded[-1] = recorded[-1]._replace(buffers=names)

    try:
        state = runs.run(seed, limit=_LIMIT, watch=watch, progress=step, placed=placed, fill=fill)
        for watcher in watchers:
            if isinstance(watcher, Confluent):
                watcher.settle()
        return WatchedRun(watchers, state, None, recorded, searched=searched)
    except Stopped as stopped:
        return WatchedRun(watchers, None, stopped.why, recorded)
    except KernelError as error:
        return WatchedRun(watchers, None, Open("limit" if error.kind == "limit" else "error"), recorded, error)
    except UsageError:  # who builds the launch tells what is wrong
        return WatchedRun(watchers, None, Open("launch"), recorded)


def looking_back(run: Callable[..., WatchedRun], ran: WatchedRun) -> WatchedRun:
    """The run again, with the reads that lead on in several ways taken for look-backs; as it is where that decides nothing."""
    again = ran
    while isinstance(again.why, Open) and again.why.what == "order":
        last = again.watchers[-1]
        more = (
            {id(op.instruction) for op in open_reads(last)} - again.searched if isinstance(last, Determinate) else set()
        )
        if not more:
            return ran
        again = run(None, searched=again.searched | more)._replace(searched=again.searched | more)
    return ran if isinstance(again.why, Open) else again

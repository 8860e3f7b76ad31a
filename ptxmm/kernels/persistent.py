"""Kernel tests decided by one run of workers that take tickets in rounds (`axioms.dynamic.persistent`)."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from axioms.dynamic.findings import Open, Stopped, step
from axioms.dynamic.persistent import WARP, Persistent
from ptxcore.clock import limited
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxcore.records import NamedTuple
from ptxmm.kernels.runs import FinalValues, Runs, Watchers, all_beside
from ptxmm.kernels.several import LIMIT, FinalStates
from ptxmm.words import whole as told

if TYPE_CHECKING:
    from collections.abc import Callable

    from axioms.dynamic.persistent import TicketCounter
    from ptxcore.machine.lower.ops import ExecutableModule
    from ptxmm.kernels.launch import Launch
    from ptxmm.kernels.places import Places
    from ptxmm.result import Result

#: Seconds that the runs may take.
_LONGEST = 20.0


class InRounds(NamedTuple):
    """The final values of all executions; how many accesses there were; and the counters of the launches of a number, with what
    takes their tickets."""

    state: FinalValues
    accesses: int
    counters: list[tuple[int, TicketCounter]]
    worker: str


def decide_by_rounds(
    runs: Runs,
    result: Result,
    places: Places,
    otherwise: Callable[..., tuple[int, Open] | None],
    tell: Callable[[FinalStates, Callable[[str, list[str]], str]], None],
) -> tuple[int, Open] | None:
    """Answers the checks by one run of all rounds, where it stands for all executions, and `otherwise` as that says."""
    with limited(_LONGEST):
        found = run_in_rounds(runs)
    if found is None:
        return otherwise()
    tell(FinalStates([found.state], 1, found.accesses, beyond=False), told.of_tickets)
    test, said = runs.test, []
    for launch, counter in found.counters:
        program = runs.devices[test.launches[launch].loaded].program
        said.append((counter.taken, str(places.of(launch, counter.party.op, program))))
    threads = sum(prod(launch.grid) * prod(launch.block) for launch in test.launches)
    result.notes.append(told.in_rounds(threads, found.accesses, said, found.worker))
    return None


def run_in_rounds(runs: Runs) -> InRounds | None:
    """Runs a test once for each kind of worker; None where no run stands for all executions. Launches that run at the same time
    have parameters of their own, so their rounds are not alike."""
    if len(runs.test.launches) > 1 and all_beside(runs.test):
        return None
    for width, worker in ((0, "CTA"), (WARP, "warp"), (1, "thread")):
        found = _run(runs, width, worker)
        if found is not None:
            return found
    return None


def _run(runs: Runs, width: int, worker: str) -> InRounds | None:
    """Runs a test with workers of so many threads, 0 being those of a CTA."""
    watchers: list[Persistent] = []

    def watch(launch: Launch, _: ExecutableModule) -> Watchers:
        def single() -> Persistent:
            size = prod(launch.block)
            if size % (width or size):
                raise Stopped(Open("order"))
            watchers.append(Persistent(size, width))
            return watchers[-1]

        return Watchers(None, single)

    try:
        state = runs.run(None, limit=LIMIT, watch=watch, progress=step)
        for watcher in watchers:
            watcher.settle()
    except (Stopped, KernelError, UsageError):
        return None
    counters = [(number, w.counter) for number, w in enumerate(watchers) if w.counter is not None]
    return InRounds(state, sum(w.accesses for w in watchers), counters, worker) if counters else None

"""Kernel tests decided by one run up to the order of critical sections (`axioms.dynamic.sections`)."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from axioms.dynamic.findings import Party, Stopped, step
from axioms.dynamic.section_records import GuardedBytes
from axioms.dynamic.sections import TAKING
from axioms.dynamic.served import InServedSections
from ptxcore.clock import limited
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxmm.kernels.runs import FinalValues, Runs, Watchers
from ptxmm.kernels.several import LIMIT, FinalStates
from ptxmm.kernels.whole_answers import tell_all
from ptxmm.words import whole as told

if TYPE_CHECKING:
    from ptxcore.machine.lower.ops import ExecutableModule
    from ptxmm.kernels.launch import Launch
    from ptxmm.kernels.places import Places
    from ptxmm.result import Result

#: Seconds that the runs may take.
_LONGEST = 20.0


def decide_by_sections(runs: Runs, result: Result, places: Places) -> bool:
    """Answers all checks by one run up to the order of its critical sections; whether it stands for all executions so."""
    with limited(_LONGEST):
        found = run_with_sections(runs)
    if found is None:
        return False
    state, watchers = found
    accesses = sum(w.accesses for w in watchers)
    tell_all(runs.test, result, FinalStates([state], 1, accesses, beyond=False))
    threads = sum(prod(launch.grid) * prod(launch.block) for launch in runs.test.launches)
    number, party = next((i, w.taken) for i, w in enumerate(watchers) if w.taken is not None)
    program = runs.devices[runs.test.launches[number].loaded].program
    spot = str(places.of(number, party.op, program)) if isinstance(party, Party) else ""
    result.notes.append(told.in_sections(threads, accesses, sum(w.sections for w in watchers), spot))
    return True


def run_with_sections(runs: Runs) -> tuple[FinalValues, list[InServedSections]] | None:
    """Runs a test twice: the final values, and who watched the second run. None where it does not stand for all executions."""
    launches = runs.test.launches
    if not _may_lock(runs) or len({launch.queue for launch in launches}) > 1 or any(l.after for l in launches):
        return None
    guarded: list[GuardedBytes] = [GuardedBytes() for _ in launches]
    found = None
    for first in (True, False):
        found = _run(runs, guarded, first=first)
        if found is None or not any(w.sections for w in found[1]):
            return None
    return found


def _may_lock(runs: Runs) -> bool:
    """Whether some instruction may take a lock."""
    functions = [code for device in runs.devices.values() for code in device.program.functions.values()]
    takes = (*TAKING, "add")
    return any(op.use.form.mnemonic == "atom" and op.use.op in takes for code in functions for op in code.ops)


def _run(runs: Runs, guarded: list[GuardedBytes], *, first: bool) -> tuple[FinalValues, list[InServedSections]] | None:
    watchers: list[InServedSections] = []

    def watch(launch: Launch, _: ExecutableModule) -> Watchers:
        def single() -> InServedSections:
            if watchers:
                watchers[-1].settle()
            watchers.append(InServedSections(prod(launch.block), guarded[len(watchers)], first=first))
            return watchers[-1]

        return Watchers(None, single)

    try:
        state = runs.run(None, limit=LIMIT, watch=watch, progress=step)
        if watchers:
            watchers[-1].settle()
    except (Stopped, KernelError, UsageError):
        return None
    return state, watchers

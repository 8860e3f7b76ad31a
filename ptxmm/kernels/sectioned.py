"""Kernel tests decided by one run up to the order of critical sections (`axioms.dynamic.sections.sections`)."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from axioms.dynamic.core.findings import Open, Party, Stopped, in_time
from axioms.dynamic.sections.section_records import GuardedBytes
from axioms.dynamic.sections.sections import TAKING
from axioms.dynamic.tickets.branching import InBranchingSections
from ptxcore.clock import limited
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxcore.records import NamedTuple
from ptxmm.kernels.named_segments import NamedSegments
from ptxmm.kernels.runs import FinalValues, Runs, Watchers, truth
from ptxmm.kernels.several import LIMIT, FinalStates
from ptxmm.words import whole as told

if TYPE_CHECKING:
    from collections.abc import Callable

    from ptxcore.machine.lower.ops import ExecutableModule
    from ptxmm.kernels.launch import Launch
    from ptxmm.kernels.places import Places
    from ptxmm.kernels.test import Check, KernelTest
    from ptxmm.result import Result

#: Seconds that the runs may take; and those that other orders have where they leave a check open.
_LONGEST, _MORE = 30.0, 10.0
#: Runs, of which each may tell more of guarded bytes.
_MOST_RUNS = 6


class Sectioned(NamedTuple):
    """The final values of the run; who watched its launches; what may have others in other executions."""

    state: FinalValues
    watchers: list[InBranchingSections]
    differing: frozenset[str]

    def leaves_open(self, check: Check, test: KernelTest) -> bool:
        """Whether the run does not answer a check, since it is about what may be something else."""
        shown = truth(test, check, self.state) is (check.kind == "exists")
        return not shown and not check.elements().isdisjoint(self.differing)


def decide_by_sections(
    runs: Runs,
    result: Result,
    places: Places,
    by_orders: Callable[..., tuple[int, Open] | None],
    tell: Callable[[FinalStates, Callable[[str, list[str]], str]], None],
) -> bool:
    """Answers the checks by one run up to the order of its critical sections; whether it stands for all executions so. What
    it leaves open, other orders may show to be wrong, or decide."""
    test = runs.test
    with limited(_LONGEST):
        found = run_with_sections(runs)
    if found is None:
        return False
    if any(found.leaves_open(check, test) for check in test.checks):
        with limited(_MORE):
            if by_orders(raceless=True) is None:
                return True
    state, watchers, differing = found
    accesses = sum(w.accesses for w in watchers)
    tell(FinalStates([state], 1, accesses, beyond=False, differing=differing), told.of_sections)
    threads = sum(prod(launch.grid) * prod(launch.block) for launch in test.launches)
    number, party = next((i, w.taken) for i, w in enumerate(watchers) if w.taken is not None)
    program = runs.program_of(number)
    spot = str(places.of(number, party.op, program)) if isinstance(party, Party) else ""
    same = not any(w.lasting for w in watchers)
    result.notes.append(told.in_sections(threads, accesses, sum(w.sections for w in watchers), spot, same=same))
    return True


def run_with_sections(runs: Runs) -> Sectioned | None:
    """Runs a test until all is known of its guarded bytes. None where that does not stand for all executions."""
    launches = runs.test.launches
    if not _may_lock(runs) or len({launch.queue for launch in launches}) > 1 or any(l.after for l in launches):
        return None
    guarded: list[GuardedBytes] = [GuardedBytes() for _ in launches]
    found = None
    for number in range(_MOST_RUNS):
        found = _run(runs, guarded, first=not number)
        more = sum(of.close() for of in guarded) > 0
        if found is None and number and more:
            continue  # it did not know of all guarded bytes
        if found is None or not any(w.sections for w in found.watchers):
            return None
        if number and not more and not any(w.again for w in found.watchers):
            return found
    return None


def _may_lock(runs: Runs) -> bool:
    """Whether some instruction may take a lock."""
    functions = [code for device in runs.devices.values() for code in device.program.functions.values()]
    takes = (*TAKING, "add")
    return any(op.use.form.mnemonic == "atom" and op.use.op in takes for code in functions for op in code.ops)


def _run(runs: Runs, guarded: list[GuardedBytes], *, first: bool) -> Sectioned | None:
    watchers: list[InBranchingSections] = []
    buffers = NamedSegments()

    def watch(launch: Launch, _: ExecutableModule) -> Watchers:
        memory = runs.devices[launch.loaded].memory

        def single() -> InBranchingSections:
            if watchers:
                watchers[-1].settle()
                if watchers[-1].lasting:
                    raise Stopped(Open("order"))  # of what a later launch finds nothing is known
            buffers.note(memory)
            watchers.append(InBranchingSections(prod(launch.block), guarded[len(watchers)], first=first))
            return watchers[-1]

        return Watchers(None, single)

    try:
        state = runs.run(None, limit=LIMIT, watch=watch, progress=in_time, placed=buffers.place)
        if watchers:
            watchers[-1].settle()
    except (Stopped, KernelError, UsageError):
        return None
    if not watchers:
        return None
    return Sectioned(state, watchers, frozenset(buffers.open_elements(runs.test, watchers[-1].is_open)))

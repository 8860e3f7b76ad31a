"""Launches that begin before the one before them is over, and access what that does before they wait for it."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from axioms.dynamic.core.findings import Stopped, in_time
from axioms.dynamic.wrong.overtaken import Overtaken
from ptxcore.clock import limited
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxmm.kernels.named_segments import NamedSegments
from ptxmm.kernels.runs import Runs, Watchers
from ptxmm.kernels.several import LIMIT
from ptxmm.kernels.whole_findings import Findings

if TYPE_CHECKING:
    from ptxcore.machine.lower.ops import ExecutableModule
    from ptxmm.kernels.launch import Launch
    from ptxmm.kernels.places import Places
    from ptxmm.result import Result

#: Seconds that the run may take.
_LONGEST = 10.0


def comes_too_early(runs: Runs, result: Result, places: Places) -> bool:
    """Whether a run shows an access of a launch that may come before the launch before it is over: then it is told."""
    launches = runs.test.launches
    if len({launch.queue for launch in launches}) > 1 or any(launch.after for launch in launches):
        return False
    watchers: list[Overtaken] = []
    buffers = NamedSegments()

    def watch(launch: Launch, _: ExecutableModule) -> Watchers:
        def single() -> Overtaken:
            before = watchers[-1] if watchers else None
            watchers.append(Overtaken(prod(launch.block), len(watchers), dict(buffers.names), before))
            return watchers[-1]

        return Watchers(None, single)

    try:
        with limited(_LONGEST):
            runs.run(None, limit=LIMIT, watch=watch, progress=in_time, placed=buffers.place)
    except (Stopped, KernelError, UsageError):
        pass
    found = watchers[-1].found if watchers else None
    if found is None:
        return False
    race, earlier = found
    late, early = (Findings(runs, places, w.number, w.indices, result) for w in (watchers[-1], watchers[earlier]))
    late.overtaking(race, early)
    return result.verdict == "no"

"""What one run shows that is wrong, told as the answer of a test; and what is looked for in runs.

A run is an execution, so what it shows counts whatever other executions do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from axioms.dynamic.core.findings import Misuse, Party
from axioms.dynamic.several.noting import Noting
from axioms.dynamic.wrong.torn import Tearing
from axioms.dynamic.wrong.unsynchronized import out_of_date, unsynchronized
from ptxcore.clock import limited
from ptxmm.kernels.hunting import FaultOf, Wrong
from ptxmm.kernels.places import Places
from ptxmm.kernels.provenance import sought, tell_provenance
from ptxmm.kernels.runs import FinalValues, Runs, truth
from ptxmm.kernels.several import FailedExecution
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.whole_answers import tell_failed
from ptxmm.kernels.whole_findings import Findings
from ptxmm.result import Result
from ptxmm.words import whole as told

#: Seconds for who wrote a value that is against a check, where a run shows it that does not stand for all.
_PROVENANCE = 5.0


def breaking(test: KernelTest) -> Callable[[FinalValues], bool]:
    """Whether final values of one execution are against a check."""
    safe = [check for check in test.checks if check.kind in ("forall", "never")]
    return lambda state: not all(truth(test, check, state) for check in safe)


def tell_wrong(runs: Runs, result: Result, places: Places, wrong: Wrong, tearing: Tearing | None = None) -> bool:
    """Tells what a run shows that is wrong; whether the test fails by it. `tearing`: who watched a run with a torn read."""
    if isinstance(wrong, FailedExecution):
        tell_failed(runs.test, result, wrong.state)
        if wrong.error is not None:
            Findings(runs, places, wrong.launch, [], result).waiting(wrong.error)
        elif wrong.state is not None and tearing is None:
            with limited(_PROVENANCE):
                tell_provenance(runs, result, places, wrong.state)
            _tell_out_of_date(runs, result, places, wrong.watchers)
            _tell_last_writers(runs, result, places, wrong)
    else:
        findings = Findings(runs, places, wrong.launch, wrong.watcher.indices, result)
        if isinstance(wrong, FaultOf):
            findings.fault(wrong.error)
        elif isinstance(wrong.race, Misuse):
            findings.misuse(wrong.race)
        else:
            between = unsynchronized(wrong.watcher, wrong.race)
            findings.race(wrong.race, synchronized=not wrong.watcher.exact, between=between)
            result.notes += told.reordered(in_another=wrong.watcher.reordered)
        result.notes += told.shared_at_first(wrong.unwritten)
    shown = result.verdict in ("no", "undefined")
    if shown and tearing is not None and tearing.torn is not None:
        Findings(runs, places, tearing.launch, tearing.indices, result).torn(tearing.torn)
    return shown


def _tell_out_of_date(runs: Runs, result: Result, places: Places, watchers: Sequence[Noting]) -> None:
    """Tells which thread has found something older than it should have, and who did not synchronize."""
    for number, watcher in enumerate(watchers):
        found = out_of_date(watcher)
        if found is not None:
            Findings(runs, places, number, watcher.indices, result).out_of_date(*found)
            return


def _tell_last_writers(runs: Runs, result: Result, places: Places, wrong: FailedExecution) -> None:
    """Tells who wrote what is against a check last, of writes whose order is open, where nothing else was told of it."""
    assert wrong.state is not None
    for checked, check in zip(result.checks, runs.test.checks, strict=True):
        element = sought(runs.test, check, wrong.state) if checked.holds is False else None
        if element is None or checked.spots or checked.causes:
            continue
        for number, watcher in enumerate(wrong.watchers):
            at = (s for s in watcher.spots.values() if (s.segment.name, s.first) == (element.buffer, element.first))
            last = next((spot.order[-1] for spot in at if spot.order), None)
            if last is not None and last.does is not None:
                party = Party(last.name[1], last.does)
                checked.spots = [Findings(runs, places, number, watcher.indices, result).last(element.label, party)]


__all__ = ["breaking", "tell_wrong"]

"""What a few runs of a changed module show at once, before all is asked that a check asks.

Most candidates fail, and most of these in the first run: their threads wait for each other, or two accesses race that a watched
run sees. That takes hundredths of a second, where a formula of a few threads takes one, and many runs of a deadlock of a
hundred threads some. What a run shows is an answer, as everywhere; what it does not show is none, and the check is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxcore.clock import OutOfTime, limited
from ptxcore.diagnostics import InputError
from ptxcore.machine.run.launch import UsageError
from ptxmm.kernels.bugs import BugSearch
from ptxmm.kernels.determinism import NothingToCompare, with_expected
from ptxmm.kernels.hunting import hunt
from ptxmm.kernels.places import Places
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.watched_run import open_buffers
from ptxmm.kernels.whole import may_be_run, may_be_whole, tells_races
from ptxmm.kernels.wrong import breaking, tell_wrong
from ptxmm.result import Checked, Result

if TYPE_CHECKING:
    from axioms.cat.model import Model
    from ptxmm.kernels.test import KernelTest

#: Seconds for all runs: of a few threads, and of many.
_SECONDS, _MANY = 1.0, 3.0


def glanced_at(test: KernelTest, model: Model, patience: float | None = None) -> Result | None:
    """What some runs show that is wrong; None where they show nothing, in `patience` seconds at most. Of many threads, whose
    runs come first in a check, too, that is whether they wait for each other, where that is asked: other ways to learn it take
    many runs."""
    if not (may_be_run(test, model) and tells_races(model)) or open_buffers(test):
        return None
    many = may_be_whole(test, model)
    if many and all(check.kind != "no_deadlock" for check in test.checks):
        return None
    result = Result(
        path=test.identity, name=test.name, model=model.name, verdict="undecided", of_kernel=True,
        checks=[Checked(kind=check.kind, text=str(check), place=str(check)) for check in test.checks],
    )  # fmt: skip
    seconds = _MANY if many else _SECONDS
    try:
        with limited(seconds if patience is None else min(seconds, patience)):
            test = with_expected(test, None)
            runs, places = Runs(test, watched=True), Places(test)
            if many:
                wrong = hunt(runs, breaking(test), 1, ("",))
                return result if wrong is not None and tell_wrong(runs, result, places, wrong) else None
            bugs = BugSearch(runs, result, places)
            return result if bugs.in_orders() or bugs.at_once() else None
    except (
        InputError,
        UsageError,
        NothingToCompare,
        OutOfTime,
        TimeoutError,
    ):
        return None  # who checks the module tells what is wrong with it


__all__ = ["glanced_at"]

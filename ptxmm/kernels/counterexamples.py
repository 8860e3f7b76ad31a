"""Bugs first: a few runs of all threads, in orders drawn at random, before a formula says anything of all executions.

A run is sequentially consistent, and every model that ships allows what is: an outcome that must not be, a deadlock or a trap
of a run is one of the model. What no run shows is not thereby so.
"""

from __future__ import annotations

import copy
import time

from ptxcore.clock import OutOfTime, limited, look
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError
from ptxcore.records import NamedTuple
from ptxmm.answers import Coverage, own_verdict_of, settle, verdict_of
from ptxmm.kernels.broken import broken_elements
from ptxmm.kernels.launch import Buffer
from ptxmm.kernels.numbers import Declared
from ptxmm.kernels.places import Places
from ptxmm.kernels.runs import FinalValues, Runs, truth
from ptxmm.kernels.test import QUANTIFIERS, Check, KernelTest
from ptxmm.result import Checked, Result
from ptxmm.words import checks as words
from ptxmm.words import whole as told

#: Runs that are made at most, the first one in the order of the threads.
_MOST = 8
#: The part of a time limit that they may take, and their time without one, in seconds.
_SHARE, _SECONDS = 0.05, 5.0
#: Instructions after which a run is given up.
_LIMIT = 20_000_000
#: Seconds for who wrote a value that is against a check.
_PROVENANCE = 5.0
#: What leaves a launch open in such a way that a run says nothing: it uses values that the manual does not tell, of which the
#: formula knows whether they leave the launch without a meaning.
UNTOLD = ("unknown", "clock", "stack")
#: What the errors of a run show, by their kinds.
_SHOWN = {"deadlock": ("no_deadlock", "terminates"), "trap": ("no_trap",)}


class _Seen(NamedTuple):
    """What a run showed: its outcome, or the error that it ended with."""

    state: FinalValues | None
    error: KernelError | None


def shown_by_runs(test: KernelTest, result: Result, deadline: float | None) -> bool:
    """Whether some runs decide the test, with their answers in the result; else the result is as it was. Raises InputError for
    a module that is wrong."""
    runs = Runs(test)
    seconds = _SECONDS if deadline is None else min(_SECONDS, _SHARE * (deadline - time.monotonic()))
    seen: dict[int, tuple[int, _Seen]] = {}
    try:
        with limited(max(0.0, seconds)):
            for number in range(_MOST):
                one = _run(runs, number - 1 if number else None)
                for at, check in enumerate(test.checks):
                    if one is not None and at not in seen and _decides(test, check, one):
                        seen[at] = number + 1, one
                if _verdict(test, seen):
                    _tell(test, result, seen)
                    _tell_who_wrote(test, result, [one for number, one in seen.values() if number == 1])
                    return True
    except (OutOfTime, TimeoutError, UsageError):  # who builds the launch tells what is wrong with it
        pass
    return False


def shown_beside(test: KernelTest, result: Result, deadline: float | None) -> bool:
    """Whether some runs show that a check fails which is open in an answer for the order of operations alone; then that says
    so, too."""
    shown = copy.deepcopy(result)
    if not all(c.holds is not None or isinstance(c.message, told.OtherOrders) for c in result.checks):
        return False
    if not shown_by_runs(test, shown, deadline) or shown.verdict != "no":
        return False
    for at, (checked, other) in enumerate(zip(result.checks, shown.checks, strict=True)):
        if checked.holds is None and other.holds is False:
            other.spots = other.spots or checked.spots
            result.checks[at] = other
    result.verdict, result.own = verdict_of(result.checks), own_verdict_of(result.checks)
    result.runs, result.error, result.listed_all = shown.runs, None, False
    return result.verdict == "no"


def _run(runs: Runs, seed: int | None) -> _Seen | None:
    """One run; None where it shows nothing: it takes too long, or goes wrong in a way that the formula has words for."""
    try:
        return _Seen(runs.run(seed, limit=_LIMIT, progress=_step), None)
    except KernelError as error:
        return _Seen(None, error) if error.kind in _SHOWN and error.certain else None


def _step(finished: int, total: int, executed: int) -> None:
    """Looks at the clock: a run says seldom how far it is."""
    look()


def _existential(check: Check) -> bool:
    return check.kind == "exists" or not check.wanted


def _decides(test: KernelTest, check: Check, seen: _Seen) -> bool:
    """Whether what a run showed is a counterexample of a check, or its witness."""
    if check.kind in QUANTIFIERS:
        return seen.state is not None and truth(test, check, seen.state) is _existential(check)
    return seen.error is not None and check.kind in _SHOWN[seen.error.kind]


def _verdict(test: KernelTest, seen: dict[int, tuple[int, _Seen]]) -> str:
    """What is known of the whole test."""
    if any(not _existential(test.checks[at]) for at in seen):
        return "no"
    return "ok" if len(seen) == len(test.checks) else ""


def _tell(test: KernelTest, result: Result, seen: dict[int, tuple[int, _Seen]]) -> None:
    for at, (checked, check) in enumerate(zip(result.checks, test.checks, strict=True)):
        if at in seen:
            settle(checked, Coverage.COMPLETE, shown=True, existential=_existential(check))
            if checked.holds is False:
                _explain(test, check, checked, *seen[at])
        else:
            checked.message = told.beside_a_run(checked.text)
    result.runs = max(number for number, _ in seen.values())
    result.verdict, result.own = verdict_of(result.checks), own_verdict_of(result.checks)
    result.listed_all = False


def _tell_who_wrote(test: KernelTest, result: Result, shown: list[_Seen]) -> None:
    """Tells who wrote what is against a check, where the run in the order of the threads shows that."""
    from ptxmm.kernels.provenance import tell_provenance

    state = next((one.state for one in shown if one.state is not None), None)
    if result.verdict == "no" and state is not None:
        with limited(_PROVENANCE):
            tell_provenance(Runs(test, watched=True), result, Places(test), state)


def _explain(test: KernelTest, check: Check, checked: Checked, number: int, seen: _Seen) -> None:
    if seen.state is not None:
        checked.state = Declared(p for p in test.parameters if isinstance(p, Buffer)).state(seen.state)
        checked.message = told.by_a_run(words.broken(checked, broken_elements(test, check, checked.state)), number)
    elif seen.error is not None:
        checked.message = told.by_an_error(checked.text, number, seen.error.message)

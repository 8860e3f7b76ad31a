"""Launches that hang on how words of the manual are read: what they are under each reading.

A run leaves such a launch open. It is decided again with each of the two readings, and with each of two more where that leaves
another one open. What is wrong under every one of them is wrong; else the report says what the launch is under which.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from copy import copy, deepcopy
from typing import TYPE_CHECKING, TypeGuard

from axioms.models.options import CONTRARY, LENIENT
from ptxcore.clock import OutOfTime
from ptxcore.diagnostics import InputError
from ptxcore.records import NamedTuple
from ptxmm.kernels.warp_order import WARP_SYNC_ORDERS, in_warp_order
from ptxmm.kernels.whole import decide_whole
from ptxmm.words.readings import under_readings, under_them_all
from ptxmm.words.whole import LeftOpen

if TYPE_CHECKING:
    from axioms.cat.model import Model
    from ptxmm.kernels.test import KernelTest
    from ptxmm.result import Result

#: What a run leaves open that a reading settles (keys of `ptxmm.words.whole.OPEN`), with the two that there are.
SETTLED = dict(zip(("issue", "pair"), CONTRARY, strict=True))
_WRONG = ("no", "undefined")
#: What a run leaves open for the order of operations alone, or of what is done to an mbarrier object.
_OF_ORDER = ("order", "unordered", "mbarrier")


class Under(NamedTuple):
    """What a test is under some readings."""

    readings: tuple[str, ...]
    result: Result


def hangs_on_a_reading(open_: str) -> TypeGuard[LeftOpen]:
    """Whether what a run leaves open is settled by a reading."""
    return isinstance(open_, LeftOpen) and open_.what in SETTLED


def by_readings(
    test: KernelTest, blank: Result, deadline: float | None, model: Model, open_: LeftOpen
) -> tuple[Result, str]:
    """Decides a test that one run left `open_` under each reading that settles it; `blank` is a result that says nothing yet.
    Gives a result where it is wrong under all of them, with nothing open; else the blank one, and what was open with what the
    test is under each."""
    found = list(_each(test, blank, deadline, model, open_.what))
    verdicts = {under.result.verdict for under in found}
    if len(verdicts) == 1 and verdicts <= set(_WRONG):
        result = found[0].result
        result.notes.append(under_them_all([under.readings for under in found]))
        return result, ""
    more = LeftOpen(f"{open_}; {under_readings([(under.readings, under.result.verdict) for under in found])}")
    more.what = open_.what
    return blank, more


def _each(
    test: KernelTest, blank: Result, deadline: float | None, model: Model, what: str, chosen: tuple[str, ...] = ()
) -> Iterator[Under]:
    for reading in SETTLED[what]:
        readings = (*chosen, reading)
        result, open_ = _decided(test, blank, deadline, model, readings)
        every = model.readings | {*readings}
        if isinstance(open_, LeftOpen) and open_.what in SETTLED and not {*SETTLED[open_.what]} & every:
            yield from _each(test, blank, deadline, model, open_.what, readings)
        else:
            yield Under(readings, result)


def _decided(
    test: KernelTest, blank: Result, deadline: float | None, model: Model, readings: tuple[str, ...]
) -> tuple[Result, str]:
    """What one run says under readings, and what it leaves open."""
    read, result = copy(model), deepcopy(blank)
    read.readings = model.readings | {*readings}
    return result, decide_whole(test, result, deadline, read)


def _tried(
    test: KernelTest, blank: Result, deadline: float | None, model: Model, readings: tuple[str, ...]
) -> tuple[Result, str] | None:
    """The same, of readings that nobody has asked for; None where that does not come to an end. What a test is without them is
    known, and stays so."""
    try:
        return _decided(test, blank, deadline, model, readings)
    except (OutOfTime, TimeoutError, InputError):
        return None


def tells_leniently(test: KernelTest, result: Result, blank: Result, deadline: float | None, model: Model) -> None:
    """Where a launch is wrong for a race that there is not under a lenient reading, its result tells what it is under that, and
    under those that are needed with it."""
    readings: tuple[str, ...] = ()
    other = result
    while (reading := _lenient(other)) and reading not in readings:
        if reading == WARP_SYNC_ORDERS and not _may_order(test):
            break
        tried = _tried(test, blank, deadline, model, (*readings, reading))
        if tried is None or (reading == WARP_SYNC_ORDERS and tried[0].verdict in _WRONG):
            break  # nothing was between but what orders nothing in any case
        readings, other = (*readings, reading), tried[0]
    if readings:
        result.notes.append(under_readings([(readings, other.verdict)]))


def in_warps(test: KernelTest, blank: Result, deadline: float | None, model: Model, open_: str) -> str:
    """What was open in a test, with what it is where instructions of warps order memory, if it hangs on the order of operations
    and that decides it."""
    late = deadline is not None and time.monotonic() >= deadline
    of_order = isinstance(open_, LeftOpen) and open_.what in _OF_ORDER
    if not of_order or late or model.readings & {*LENIENT} or not _may_order(test):
        return open_
    tried = _tried(test, blank, deadline, model, (WARP_SYNC_ORDERS,))
    if tried is None or tried[1]:
        return open_
    return f"{open_}; {under_readings([((WARP_SYNC_ORDERS,), tried[0].verdict)])}"


def _may_order(test: KernelTest) -> bool:
    """Whether there are instructions by which threads of a warp wait for each other, and that order no memory."""
    return any(in_warp_order(text) != text for text in {launch.text for launch in test.launches})


def _lenient(result: Result) -> str:
    return next((race.reading for race in result.races if race.reading in LENIENT), "")


__all__ = ["SETTLED", "Under", "by_readings", "hangs_on_a_reading", "in_warps", "tells_leniently"]

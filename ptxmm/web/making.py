"""Tests from cycles, and repairs of tests."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Any

from ptxcore.clock import OutOfTime, limited
from ptxcore.diagnostics import InputError
from ptxmm.web import told
from ptxmm.web.asked import YOURS, PageRequest
from ptxmm.web.reading import named_model, test_of, your_model

if TYPE_CHECKING:
    from ptxmm.repair.found import Answer
    from ptxmm.repair.subjects import How, Subject

#: So many repairs are offered.
_MOST_REPAIRS = 4
#: Edits of one repair: what more would change is another program.
_MOST_EDITS = 4


def cycle(asked: PageRequest, seconds: float) -> dict[str, Any]:
    """The answer of /api/cycle: a test, or what is wrong with the cycle."""
    from litmus.cycles import generate
    from litmus.formats import write

    options = dict(asked.options)
    try:
        with limited(seconds):
            tests = generate(asked.text, places=options.get("places", ""), events=options.get("events", ""))
            test = next(islice(tests, 1), None)
    except InputError as error:
        return {"diagnostics": told.diagnostics(error.diagnostics)}
    except ValueError as error:
        return {"diagnostics": told.general(str(error))}
    except (OutOfTime, TimeoutError):
        return {"diagnostics": told.general("out of time", code=told.UNFINISHED)}
    if test is None:
        return {"diagnostics": told.general("no test is of this cycle")}
    return {"text": write(test), "name": test.name, "kind": "litmus"}


def repair(asked: PageRequest, seconds: float) -> dict[str, Any]:
    """The answer of /api/repair: the cheapest edits that make every check hold."""
    from ptxmm.repair.building import REPAIR
    from ptxmm.repair.finding import answered
    from ptxmm.repair.words import diff, text, title

    start = time.perf_counter()
    try:
        subject = _subject(asked, start + seconds)
        answer: Answer = answered(subject, REPAIR, every=False, most=_MOST_EDITS)
    except InputError as error:
        return {"repairs": [], "text": error.render(), "diagnostics": told.of_error(error, asked.path)}
    repairs = [
        {
            "says": title(answer, number, found),
            "text": found.text,
            "diff": diff(answer, found),
            "file": "" if subject.path == asked.path else subject.path,
            "changes": [f"{change.who} line {change.line}: {change.words}" for change in found.changes],
        }
        for number, found in enumerate(answer.found[:_MOST_REPAIRS], 1)
    ]
    return {"repairs": repairs, "text": text(answer), "stopped": answer.stopped}


def _subject(asked: PageRequest, deadline: float) -> Subject:
    from litmus.test import Test
    from ptxmm.repair.kernel_subject import KernelSubject
    from ptxmm.repair.subjects import LitmusSubject, noted

    test, how = test_of(asked), _how(asked, deadline)
    return noted(LitmusSubject(test, how) if isinstance(test, Test) else KernelSubject(test, how), how)


def _how(asked: PageRequest, deadline: float) -> How:
    from ptxmm.repair.subjects import How

    options = dict(asked.options)
    readings, name = frozenset(options.get("readings", ())), asked.models[0]
    model = your_model(asked.cat or "", readings) if name == YOURS else named_model(name)
    return How(
        name if name != YOURS else model, options.get("unroll", 4), options.get("checks", ()), deadline, readings
    )

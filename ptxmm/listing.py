"""Every execution of a litmus test, and not one for each outcome: what `--executions` lists, counted as herd7 counts.

The program is taken as it is written: passes that leave events out are left out. Of a loop that only waits the last
iteration counts; others are unrolled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from axioms.engine import executions as decided
from axioms.models.options import of_programs
from axioms.passes import PASSES, left_out
from ptxcore.clock import OutOfTime, deadline_of_all, limited
from ptxmm.pipeline import build
from ptxmm.result import Executions, HowDecided, Witness

if TYPE_CHECKING:
    from axioms.cat.model import Model
    from axioms.program import Program
    from axioms.witness.execution import ExecutedEvent, Execution
    from litmus.test import Test

#: `all` of them are so many at most: a list holds them until the test is over.
MOST = 10_000
#: Passes after which a program has the same executions.
_HARMLESS = ("specialise",)
#: Relations that a list shows whole.
_WHOLE = ("po", "rf", "co", "fr", "rmw")


def executions(
    test: Test,
    model: Model,
    how: HowDecided,
) -> Iterator[Witness]:
    """Each execution that ends, as it is found; see `ptxmm.api.executions`. Raises OutOfTime after `timeout` seconds."""
    program = as_written(test, how)
    deadline = deadline_of_all(how.timeout)
    for execution, holds in decided(program, model, engine=how.engine, backend=how.backend, deadline=deadline):
        yield Witness(replace(execution, title=f"{test.name}  ({model.name})"), satisfied=holds)


def as_written(test: Test, how: HowDecided) -> Program:
    """The program with all that the test does."""
    off = left_out(p.name for p in PASSES if p.name not in _HARMLESS)
    return build(test, how.unroll, how.all_registers, of_programs([*how.options, *off]))


def listed(
    test: Test,
    model: Model,
    most: int,
    how: HowDecided,
) -> Executions:
    """At most so many executions, as many as are found in the time that is left."""
    found = Executions(bounded=as_written(test, how).is_bounded)
    try:
        with limited(how.timeout):
            for witness in executions(test, model, how):
                if len(found.witnesses) == most:
                    found.listed_all = False
                    break
                found.add(witness)
    except (OutOfTime, TimeoutError):
        found.listed_all = False
    return found


def document(witness: Witness) -> dict[str, Any]:
    """An execution as JSON has it: its events, and relations as pairs of their numbers, those of the base whole."""
    execution = witness.execution
    relations = {name: [list(pair) for pair in pairs] for name, pairs in execution.relations.items()}
    if execution.judged is not None:
        for name in (n for n in _WHOLE if n not in execution.judged.model.hidden):
            relations[name] = [list(pair) for pair in sorted(execution.judged.base(name))]
    return {
        "state": execution.state,
        "satisfied": witness.satisfied,
        "events": [_event(execution, event) for event in execution.events],
        "relations": relations,
    }


def _event(execution: Execution, event: ExecutedEvent) -> dict[str, Any]:
    return {
        "event": event.index,
        "thread": execution.threads[event.thread][0] if event.thread >= 0 else None,
        "kind": str(event.kind),
        "instruction": event.text,
        "location": event.location,
        "value": event.value,
        "line": event.line,
        "tags": sorted(event.tags),
    }

"""What `bar.red` returns is the same for all who meet: then they need one symbol, and branch on it alike."""

from __future__ import annotations

from collections.abc import Sequence

from axioms.events.definitions import Definitions
from axioms.events.encounters import Encounters, InstanceName
from axioms.events.event import ProgramThread
from ptxcore.machine.ir.effects import Effect
from ptxcore.values.terms import Term, Value


def reduced_together(threads: Sequence[ProgramThread]) -> dict[Term, Value]:
    """The results that are those of other threads, where it is known before any execution that all who meet reduce, and that
    they come under the same condition."""
    waiting = _reductions(threads)
    found: dict[Term, Value] = {}
    while True:
        settled = Definitions(found)
        alike = [i for i, effects in waiting.items() if _one([settled(e.guard) for e in effects])]
        if not alike:
            return found
        for instance in alike:
            first, *others = (e.result for e in waiting.pop(instance))
            assert first is not None
            found |= {other: first for other in others if other is not None and other is not first}


def _reductions(threads: Sequence[ProgramThread]) -> dict[InstanceName, list[Effect]]:
    """Instances at which everybody reduces in the same way, with what each does there."""
    encounters = Encounters(threads)
    found: dict[InstanceName, dict[int, Effect]] = {}
    for (t, index), instance in encounters.names.items():
        found.setdefault(instance, {})[t] = threads[t].execution.effects[index]
    reductions = {}
    for instance, here in found.items():
        meeting = encounters.meetings.get(instance[0])
        kinds = {(e.barrier, e.operator, e.result is None) for e in here.values()}
        if (
            meeting is not None
            and set(here) == set(meeting.threads)
            and len(kinds) == 1
            and ("red", False) in {(barrier, silent) for barrier, _, silent in kinds}
        ):
            reductions[instance] = list(here.values())
    return reductions


def _one(values: Sequence[Value]) -> bool:
    first, *others = values
    return all(v is first or (type(v) is int and v == first) for v in others)

"""What a search for executions without an end finds."""

from __future__ import annotations

from collections.abc import Iterable

from axioms.events.event_kinds import READ, WRITE
from axioms.witness.candidate import Candidate
from axioms.witness.execution import Execution
from axioms.witness.missing_arrivals import Awaited, MissingArrivals
from axioms.witness.result import Undefined
from ptxcore.isa.effect_kinds import STOP
from ptxcore.machine.ir.effects import CutLoop, Effect
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Instruction

#: Ways not to terminate.
WAITS = ("barrier", "mbarrier", "loop", "livelock", "kernel", "launch")
#: Ways to end at once, and the whole launch with it.
ABORTS = ("trap", "assertion")


class Repeated(NamedTuple):
    """An access that a thread does again and again: its event in the execution, what it finds there and what it writes, in the
    first of the repetitions; None where it finds, or writes, nothing."""

    event: int
    instruction: Instruction
    location: str
    found: int | None
    written: int | None


class Wait(NamedTuple):
    """Where a thread waits, goes round, or ends the launch. `kind`: `barrier`; `mbarrier` or `loop` (that waits for
    such an object, or for something else); `livelock`: a loop that writes; `kernel`: an instruction that waits for the
    ends of kernels; `launch`: the thread's kernel never begins; or one of `ABORTS`. `says`: what the assertion says that
    failed; `absent`: of a wait at a numbered barrier of a CTA, those of its threads that are not there; `missing`: of a wait
    for an mbarrier object, what that lacks; `awaits`: of another loop, what would end it, where that is easily said;
    `again`: of a livelock what it does again and again, in the order of the thread; `unended`: of a wait for kernels, and
    of a kernel that never begins, those that have to end first, by name."""

    kind: str
    thread: int
    instruction: Instruction | None
    says: str = ""
    absent: tuple[int, ...] = ()
    missing: MissingArrivals | None = None
    awaits: Awaited | None = None
    again: tuple[Repeated, ...] = ()
    unended: tuple[str, ...] = ()


class Stall(NamedTuple):
    """Threads that do not terminate (or end the launch), and the execution in which they do. `undefined`: why its behaviour is;
    there is no other such execution then. `unscheduled`: the threads that stop for good because nothing
    makes the scheduler go on with them."""

    waits: tuple[Wait, ...]
    execution: Execution
    undefined: Undefined | None = None
    unscheduled: tuple[int, ...] = ()


class Bounded(NamedTuple):
    """No execution was found, and a bound of loops cut some off that may be one: `loops` are those loops, each with its
    threads."""

    loops: tuple[tuple[CutLoop, tuple[int, ...]], ...] = ()


def abort_of(effect: Effect) -> str | None:
    """Which of `ABORTS` an effect is."""
    if effect.kind is not STOP or effect.guard == 0:
        return None
    return "trap" if effect.operation in ("trap", "brkpt") else "assertion"


def repeated(candidate: Candidate, thread: int, effects: Iterable[int]) -> tuple[Repeated, ...]:
    """What some effects of a thread did in an execution, each as one access."""
    made, numbers = candidate.program.by_effect[thread], candidate.numbers()
    found = []
    for index in effects:
        events = [e for e in made.get(index, ()) if e.kind.accesses and candidate.executed[e.index]]
        if not events or events[0].effect is None:
            continue
        values = {e.kind: None if e.unstable else candidate.value(e) for e in events}
        location = candidate.program.location_of(events[0]) or ""
        instruction = events[0].effect.instruction
        found.append(Repeated(numbers[events[0].index], instruction, location, values.get(READ), values.get(WRITE)))
    return tuple(found)

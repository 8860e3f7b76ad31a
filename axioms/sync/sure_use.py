"""Whether barriers can be misused at all, as far as their instructions show.

Each rule about the use of a barrier (see `arrivals`) is broken by somebody who

- comes with a number of a barrier or of threads that there is none of, or to a warp's barrier whose mask does not name it;
- meets another one who does not do the same there: with another number of threads, or another reduction, or none; or, where
  the barrier is aligned, as a thread of its warp at another instruction;
- arrives without having waited since it arrived before, or waits without having arrived.

So where all threads do the same at barriers, by numbers that are known and good, and each arrival waits, nobody does, whatever
else happens, in executions that end and in others. Barriers that name their instances have no such rules.
"""

from __future__ import annotations

from collections.abc import Iterator

from axioms.events.encounters import WARP
from axioms.program import Program
from axioms.sync.arrivals import mixed
from ptxcore.isa.effect_kinds import BARRIER
from ptxcore.machine.ir.effects import Effect
from ptxcore.records import NamedTuple

#: Barriers of a CTA have these numbers (section 9.7.13.1).
_NUMBERS = range(16)


def may_be_misused(program: Program) -> bool:
    """Whether somebody may misuse a barrier of the program; False: nobody does, in any execution or beginning of one."""
    arrivals = list(_arrivals(program))
    return bool(arrivals) and not all(_is_good(a.effect) and _is_like(a, arrivals[0]) for a in arrivals)


class _Arrival(NamedTuple):
    effect: Effect
    of_kernel: bool


def _arrivals(program: Program) -> Iterator[_Arrival]:
    """What threads do at barriers that name no instance."""
    for thread in program.threads:
        for effect in thread.execution.effects:
            if effect.kind is BARRIER and effect.instance is None:
                yield _Arrival(effect, thread.code.private is not None)


def _is_good(effect: Effect) -> bool:
    """Whether an arrival waits, at a barrier of a CTA that there is, for threads that there may be."""
    number, count = effect.identity, effect.count
    return (
        effect.level == "cta"
        and effect.barrier in ("sync", "red")
        and (number is None or (type(number) is int and number in _NUMBERS))
        and (count is None or (type(count) is int and count > 0 and count % WARP == 0))
    )


def _is_like(one: _Arrival, other: _Arrival) -> bool:
    """Whether two may meet in one instance."""
    a, b = one.effect, other.effect
    diverge = one.of_kernel and (a.aligned or b.aligned) and a.instruction is not b.instruction
    return not diverge and a.count == b.count and not mixed(a, b)

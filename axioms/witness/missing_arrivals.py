"""What somebody who is blocked waits for: who is not at a barrier; what an mbarrier object lacks, and who could give it;
the numbers with which a loop ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axioms.events.event import Event
from axioms.events.event_kinds import MBARRIER_EVENT, READ
from axioms.witness.candidate import Candidate
from ptxcore.isa.effect_kinds import BARRIER, MBARRIER
from ptxcore.isa.mbarrier import contents, outstanding
from ptxcore.machine.ir.effects import Effect
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Instruction
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

#: What brings the end of a phase nearer.
_GIVING = ("arrive", "arrive_drop", "complete_tx")


class MissingArrivals(NamedTuple):
    """What the phase of an mbarrier object lacks: so many of the `expected` arrivals, and so many bytes (which may be more than
    were expected, and are less than 0 then). `others` are the operations of other threads on the object that would have given
    some, with their threads, and did not happen."""

    arrivals: int
    expected: int
    transactions: int
    others: tuple[tuple[int, Instruction], ...]


class Awaited(NamedTuple):
    """The numbers with which a loop ends: `one of` some, `none of` some, `at least` or `at most` one."""

    relation: str
    numbers: tuple[int, ...]


def absent(candidate: Candidate, waits: Mapping[int, Effect]) -> dict[int, tuple[int, ...]]:
    """Of each thread that waits at a numbered barrier of its CTA, the threads of the CTA that neither wait there too nor have
    arrived there and gone on, whichever instructions they came to it by. `waits`: the effects that threads wait at."""
    program = candidate.program
    places = [thread.place for thread in program.threads]
    arrivals = [
        (e.thread, e.effect)
        for e in program.events
        if candidate.executed[e.index] and e.effect is not None and e.effect.barrier == "arrive"
    ]
    came: dict[tuple[int, int], set[int]] = {}
    at: dict[int, tuple[int, int]] = {}
    for thread, effect in (*waits.items(), *arrivals):
        number = _number(candidate, effect)
        if number is not None:
            barrier = places[thread].cta, number
            came.setdefault(barrier, set()).add(thread)
            if waits.get(thread) is effect:
                at[thread] = barrier
    return {
        thread: tuple(
            t for t, place in enumerate(places) if place.cta == cta and not place.host and t not in came[cta, number]
        )
        for thread, (cta, number) in at.items()
    }


def _number(candidate: Candidate, effect: Effect) -> int | None:
    """The number of the barrier of the CTA that an effect is at; None for other barriers, and where it has none."""
    identity = effect.identity
    if effect.kind is not BARRIER or effect.level != "cta" or identity is None:
        return None
    if type(identity) is Term and not terms.symbols_of(identity) <= candidate.symbols.keys():
        return None
    return terms.evaluate(identity, candidate.symbols)


def missing_from_phase(candidate: Candidate, thread: int, reads: Sequence[int]) -> MissingArrivals | None:
    """What the mbarrier object lacks that a thread waits for, by the effects of the iteration that goes round."""
    wait = next((e for e in _events(candidate, thread, reads) if e.kind is MBARRIER_EVENT), None)
    if wait is None:
        return None
    now = contents(terms.evaluate(wait.value, candidate.symbols))
    if not now.valid:
        return None
    others = {
        (e.thread, e.effect.instruction): None
        for e in candidate.program.events
        if e.kind is MBARRIER_EVENT
        and e.effect is not None
        and e.effect.kind is MBARRIER
        and e.effect.operation in _GIVING
        if e.object == wait.object and e.thread != thread and not candidate.executed[e.index]
    }
    pending, expected, transactions = now.pending, now.expected, outstanding(now.transactions)
    assert type(pending) is int and type(expected) is int and type(transactions) is int
    return MissingArrivals(pending, expected, transactions, tuple(others))


def awaited(candidate: Candidate, thread: int, reads: Sequence[int], repeats: Value) -> Awaited | None:
    """What the first read of an iteration would have to return lest it goes round, where `repeats` says that it does and all
    else is as it is. None where that is not easily said."""
    read = next((e for e in _events(candidate, thread, reads) if e.kind is READ), None)
    if read is None or type(read.value) is not Term or read.value.op != "symbol":
        return None
    others = terms.symbols_of(repeats) - {read.value}
    if not others <= candidate.symbols.keys():
        return None
    known: dict[Term, Value] = {s: candidate.symbols[s] for s in others}
    return _ends(terms.substitute(repeats, known), read.value)


def _events(candidate: Candidate, thread: int, effects: Sequence[int]) -> list[Event]:
    made = candidate.program.by_effect[thread]
    return [e for effect in effects for e in made.get(effect, ()) if candidate.executed[e.index]]


def _ends(goes_on: Value, read: Term) -> Awaited | None:
    """The numbers for which a condition on a read does not hold."""
    if type(goes_on) is not Term:
        return None
    if goes_on.op == "all":
        parts = [_ends(part, read) for part in goes_on.args]
        if all(part is not None and part.relation == "one of" for part in parts):
            return Awaited("one of", tuple(n for part in parts if part is not None for n in part.numbers))
        return None
    negated = goes_on.op == "not"
    inner = goes_on.args[0] if negated else goes_on
    if inner.op == "eq" and inner.args[0] is read and type(inner.args[1]) is int:
        return Awaited("one of" if negated else "none of", (inner.args[1],))
    if inner.op not in ("ult", "ule"):
        return None
    a, b = inner.args
    step = 1 if inner.op == "ult" else 0
    if a is read and type(b) is int:  # read < b, or read <= b
        return Awaited("at most", (b - step,)) if negated else Awaited("at least", (b + 1 - step,))
    if b is read and type(a) is int:
        return Awaited("at least", (a + step,)) if negated else Awaited("at most", (a - 1 + step,))
    return None

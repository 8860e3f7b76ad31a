"""Waits at mbarrier objects whose answer decides nothing but whether their thread waits there once more.

A pipeline looks whether a stage is ready, does something else, and waits for the stage only where the answer was no, as
`producer_try_acquire` and `consumer_try_wait` of CUTLASS do. Such a *peek* may say either in different executions. Where a no
leads to a wait for the same phase of the same object that takes in no more than the peek, and from there to where a yes leads
at once, with the same live registers, both do the same: so a run may take the no, by which its thread learns nothing before it
has waited, and stands for the yes as well.

That a no leads so is found in the code alone: what the answer goes to is followed through registers, and decides nothing but
branches of that kind. That object and phase are the same is looked at when the thread has waited (`asynchronous.phases`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from axioms.dynamic.code.depends import computes
from axioms.dynamic.code.idle import idle_blocks
from axioms.dynamic.waits.written import WIDTHS
from ptxcore.isa.mbarrier import test_wait, test_wait_parity, try_wait, try_wait_parity
from ptxcore.machine.lower.liveness import live_registers, reads, writes
from ptxcore.machine.lower.ops import Code, Op, Source, TargetRegister
from ptxcore.records import NamedTuple

_WAITS = (test_wait, test_wait_parity, try_wait, try_wait_parity)
#: Instructions that are followed from a branch on.
_MOST = 64


class Peeks(NamedTuple):
    """The peeks of a function, by the identity of their instructions; and of each wait, the peeks whose no leads to it."""

    peeks: frozenset[int]
    behind: Mapping[int, frozenset[int]]


class _Way(NamedTuple):
    """Where control goes without a choice: what is executed, and where it ends, at something that does more than compute."""

    places: list[int]
    end: int


def peeks_of(code: Code) -> Peeks:
    """The peeks of a function."""
    peeks: set[int] = set()
    behind: dict[int, set[int]] = {}
    users: dict[int, list[int]] = {}  # by register, the instructions that read it
    waiting = [op for op in code.ops if op.use.form.run in _WAITS]
    begins = cache(lambda: live_registers(code, range(len(code.ops) + 1)).begins)
    idle = idle_blocks(code).jumps if len(waiting) > 1 else {}
    for at, op in enumerate(code.ops if len(waiting) > 1 else ()):
        for slot in reads(op):
            users.setdefault(slot, []).append(at)
    for op in waiting:
        if len(waiting) > 1:
            waits = _waits_behind(code, op, users, begins, idle)
            if waits is not None:
                peeks.add(id(op))
                for wait in waits:
                    behind.setdefault(id(wait), set()).add(id(op))
    return Peeks(frozenset(peeks), {wait: frozenset(found) for wait, found in behind.items()})


def _waits_behind(
    code: Code,
    peek: Op,
    users: Mapping[int, list[int]],
    begins: Callable[[], list[int]],
    idle: Mapping[int, int],
) -> list[Op] | None:
    """The waits that a no of a peek leads to; None where its answer decides something else. `users`: by register, the
    instructions that read it; `begins` gives the registers that are live before each instruction; `idle` as of `_way`."""
    carried, branches = set(writes(peek)), set()
    left = list(carried)
    while left:
        for at in users.get(left.pop(), ()):
            op = code.ops[at]
            if op.use.form.kind == "branch":
                branches.add(at)
            elif op is not peek:
                if not computes(op) or op.use.form.kind == "warp":
                    return None
                left += [slot for slot in writes(op) if slot not in carried]
                carried.update(writes(op))
    if not carried.isdisjoint(r.slot for r in code.results if r.slot is not None):
        return None
    found = []
    for at in sorted(branches):
        wait = _wait_on_one_side(code, at, begins, idle)
        if wait is None or wait is peek or not _acquires_as(peek, wait):
            return None
        found.append(wait)
    return found or None


def _acquires_as(peek: Op, wait: Op) -> bool:
    """Whether a yes of a peek takes in all that the wait does: it may be all that is executed."""
    wide = WIDTHS.get(peek.use.scope or "", 0) >= WIDTHS.get(wait.use.scope or "", 0)
    return wide and (peek.use.sem == "acquire" or wait.use.sem == "relaxed")


def _wait_on_one_side(code: Code, at: int, begins: Callable[[], list[int]], idle: Mapping[int, int]) -> Op | None:
    """The wait that one side of a branch leads to, and from there to the other side."""
    sides = [_way(code, at + 1, idle), _way(code, _target(code, at), idle)]
    for one, other in (sides, sides[::-1]):
        wait = code.ops[one.end] if one.end < len(code.ops) else None
        if wait is None or wait.use.form.run not in _WAITS or wait.guard is not None:
            continue
        after = _way(code, one.end + 1, idle)
        if after.end >= len(code.ops):
            continue
        out = code.ops[after.end]
        if out.use.form.kind != "branch" or out.guard is None:
            continue
        said = _told(code, wait, after.places).get(out.guard[0])
        if said is None:
            continue
        last = _way(code, after.end + 1 if bool(said) is out.guard[1] else _target(code, after.end), idle)
        there = [*other.places, other.end]
        met = next((place for place in (*last.places, last.end) if place in there), None)
        if met is None:
            continue
        more = [*one.places, one.end, *after.places, *last.places[: _index(last, met)]]
        changed = {slot for place in (*more, *there[: there.index(met)]) for slot in writes(code.ops[place])}
        if not any(begins()[met] >> slot & 1 for slot in changed):
            return wait
    return None


def _index(way: _Way, place: int) -> int:
    return way.places.index(place) if place in way.places else len(way.places)


def _told(code: Code, wait: Op, places: Sequence[int]) -> dict[int, int]:
    """The registers that hang on nothing but the answer of a wait behind some instructions, where that is a yes."""
    known = dict.fromkeys(writes(wait), 1)
    for op in (code.ops[place] for place in places):
        sources = [_value(source, known) for source in op.sources]
        for slot in writes(op):
            known.pop(slot, None)
        if op.use.form.kind == "value" and len(op.targets) == 1 and all(type(value) is int for value in sources):
            targets = op.targets[0]
            found = op.use.form.meaning(op.use, *sources)
            pairs = zip(targets, found, strict=False) if isinstance(targets, list) else [(targets, found)]
            known.update({target.slot: value for target, value in pairs if isinstance(target, TargetRegister)})
    return known


def _value(source: Source | None, known: Mapping[int, int]) -> int | None:
    if source is None or source.offset or source.kind not in ("constant", "register"):
        return None
    value = source.value if source.kind == "constant" else known.get(source.value)
    return 1 - value if source.negated and value is not None else value


def _way(code: Code, at: int, idle: Mapping[int, int]) -> _Way:
    """Where control goes from an instruction on; `idle`: where it comes from those with which code begins that only passes
    time."""
    places: list[int] = []
    while at < len(code.ops) and len(places) < _MOST and at not in places:
        if at in idle:
            at = idle[at]
            continue
        op = code.ops[at]
        jumps = op.use.form.kind == "branch" and op.guard is None
        if not (jumps or (computes(op) and op.use.form.kind == "value" and op.guard is None)):
            break
        places.append(at)
        at = _target(code, at) if jumps else at + 1
    return _Way(places, at)


def _target(code: Code, at: int) -> int:
    return code.labels[code.ops[at].labels[0]]


__all__ = ["Peeks", "peeks_of"]

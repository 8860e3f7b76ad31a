"""Loops that only wait, found in what compilers made of them: one principle, on value numbers.

An iteration of a loop may be left out where each of its effects only reads, or writes what it has read, and the live state at
the back edge equals that at the header, as terms: what it saw and left behind, the next iteration can see and leave behind. The
engine leaves such iterations out. Here loops are brought into the form in which their iterations are such ones:

    pass      | before                                   | after
    unrotate  |       old = load; if old == 0: exit      |       goto test
              | loop: ...                                | loop: ...
              | test: old = load; if old != 0: goto loop | test: old = load; if old != 0: goto loop
    one-poll  | poll; if done: exit; n times             | poll; if done: exit; once
    retries   |       old = load                         | loop: old = load
              | loop: r = cas(old, f(old))               |       r = cas(old, f(old))
              |       if r != old: old = r; goto loop    |       if r != old: goto loop

All three send control elsewhere, to where the same is done (`Numbering`).

unrotate: to the end of a loop that repeats what stands before it. That only shares code.

one-poll: to the same poll behind a poll that found nothing, which is an iteration that is left out.

retries: to a load, where a compare-and-swap has failed. An iteration depends on what the last one found, and on nothing else
of it; with the load it depends on none. With what was found, what stands behind the load does what the loop would go on with.
A load may read what a failing compare-and-swap has just read, if it orders no more than that; and where the load reads
something newer, the iteration that failed can be left out, since nothing leads to it but that load. Compilers copy what stands
between the load and the compare-and-swap, which value numbers do not tell apart.

What is weaker here than in general: compare-and-swaps that go on with what they found need a load to go on from, for without
one an iteration that is left out would change whether the next one fails.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import product

from ptxcore.isa import atomics, data_movement
from ptxcore.machine.ir.steps import InstructionStep
from ptxcore.machine.loops.control_flow import (
    BasicBlock,
    first_filled,
    is_conditional,
    loops_of,
    only_way,
    reached,
    redirected,
    registers_read,
    registers_written,
    straightened,
    successors,
    waiting_loop,
    with_block,
)
from ptxcore.machine.loops.value_numbering import KnownState, Numbering, result
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Value, eq, negate

#: Whether a step changes nothing for others, nor in memory of the thread's own.
IsPure = Callable[[InstructionStep], bool]
_SCOPES = frozenset(("cta", "cluster", "gpu", "sys"))
#: Loads that read otherwise than an atomic.
_OTHERWISE = frozenset(("volatile", "mmio", "nc", "const", "param"))


# Loop rotation.


def unrotated(shapes: Sequence[BasicBlock], widths: Sequence[int], is_pure: IsPure) -> list[BasicBlock]:
    """Where the end of a loop's iteration repeats what stands before the loop, the loop begins with it, if it is a wait then.
    Other loops stay as they are, since their iterations are counted."""
    made = list(shapes)
    numbering = Numbering(made, widths, is_pure)
    for loop in loops_of(shapes).values():
        ends = [b for b in sorted(loop.body - {loop.header}) if loop.header in successors(shapes[b])]
        outside = [b for b, shape in enumerate(shapes) if b not in loop.body and loop.header in successors(shape)]
        for b, end in product(outside, ends) if loop.single_entry else ():
            turned = numbering.sent(b, end)
            if turned is not None and waiting_loop(turned, end, is_pure):
                made, numbering = turned, Numbering(turned, widths, is_pure)
    return made


# Polls.


def one_poll(shapes: Sequence[BasicBlock], widths: Sequence[int], is_pure: IsPure) -> list[BasicBlock]:
    """Leaves out polls behind which the same poll follows where they found nothing."""
    made = list(shapes)
    less: list[BasicBlock] | None = made
    while less is not None:
        numbering = Numbering(made, widths, is_pure)
        edges = ((b, n) for b, shape in enumerate(made) if is_conditional(shape) for n in successors(shape) if n != b)
        less = next((found for b, n in edges if (found := numbering.sent(b, n, again=True)) is not None), None)
        made = made if less is None else straightened(less)
    return made


# Compare-and-swaps that try again.


class _Try(NamedTuple):
    """A compare-and-swap that decides where its block goes: to `again` where it fails, in this state, after it has read at this
    address."""

    block: int
    step: InstructionStep
    again: int
    state: KnownState
    address: Value


def without_retries(shapes: Sequence[BasicBlock], widths: Sequence[int], is_pure: IsPure) -> list[BasicBlock]:
    """The shapes with loads where compare-and-swaps try again with what they found."""
    made = list(shapes)
    for again in dict.fromkeys(t.again for t in _tries(made, widths)):
        tries = [t for t in _tries(made, widths) if t.again == again]
        made = next(_loading(made, tries, widths, is_pure), made)
    return made


def _tries(shapes: Sequence[BasicBlock], widths: Sequence[int]) -> Iterator[_Try]:
    """The compare-and-swaps at the ends of blocks."""
    for b, shape in enumerate(shapes):
        at = max((i for i, s in enumerate(shape.steps) if s.kind != "value"), default=-1)
        if at < 0 or shape.end is None or not is_conditional(shape):
            continue
        swap, state = shape.steps[at], KnownState(widths)
        if swap.run is not atomics.cas or swap.predicate is not None or swap.targets == (None,):
            continue
        address, expected = state.sources(swap)[:2]
        for step in shape.steps[at:]:
            state.execute(step)
        taken, succeeds = state.condition(shape.end), eq(result(0, swap.width), expected)
        again = first_filled(shapes, shape.follows if taken == succeeds else shape.target)
        if again is not None and taken in (succeeds, negate(succeeds)):
            yield _Try(b, swap, again, state, address)


def _loading(
    shapes: Sequence[BasicBlock], tries: Sequence[_Try], widths: Sequence[int], is_pure: IsPure
) -> Iterator[list[BasicBlock]]:
    """The shapes with a load where all of these go on that have failed, for each load that will do."""
    again, swaps = tries[0].again, {id(t.step) for t in tries}
    entries = {b for b, s in enumerate(shapes) if again in (first_filled(shapes, n) for n in successors(s))}
    entries -= {t.block for t in tries}
    ready = [s._replace(steps=_load_last(s.steps)) if b in entries else s for b, s in enumerate(shapes)]

    def only_tries(step: InstructionStep) -> bool:
        return id(step) in swaps or is_pure(step)

    for b, shape in enumerate(ready):
        for at, load in enumerate(shape.steps):
            if not all(_reads_alike(load, t) for t in tries):
                continue
            header = len(ready) - 1
            split = with_block(ready, shape._replace(steps=shape.steps[at:], label=shapes[again].label))
            split[b] = BasicBlock(shape.steps[:at], None, None, header, shape.label)
            for other in sorted(entries - {b}):
                split = Numbering(split, widths, only_tries).sent(other, header) or split
            moved = [t._replace(block=header) if t.block == b else t for t in tries]
            made = _failing_to(split, header, moved)
            numbering = Numbering(split, widths, only_tries).before(made)
            if all(_goes_on(numbering, t, header) for t in tries) and _is_left(made, header, moved, only_tries):
                yield made


def _failing_to(shapes: Sequence[BasicBlock], header: int, tries: Sequence[_Try]) -> list[BasicBlock]:
    """The shapes with compare-and-swaps that go to another block where they fail."""
    made = list(shapes)
    for t in tries:
        ways = {n: header for n in successors(made[t.block]) if first_filled(shapes, n) == t.again}
        made[t.block] = redirected(made[t.block], ways)
    return made


def _goes_on(numbering: Numbering, failed: _Try, header: int) -> bool:
    """Whether a block that begins with a load goes on as a compare-and-swap that failed, where it loads what that found."""
    shapes, begun = numbering.shapes, numbering.shapes[header]
    load, *rest = begun.steps
    there = failed.state.copy()
    there.returned(load, 0)
    if is_conditional(begun):
        return numbering.same(shapes[failed.again], failed.state, begun._replace(steps=tuple(rest)), there)
    done = [there.execute(step) for step in rest]
    return not any(done) and numbering.meet(failed.again, failed.state, only_way(begun), there)


def _is_left(shapes: Sequence[BasicBlock], header: int, tries: Sequence[_Try], only_tries: IsPure) -> bool:
    """Whether a loop only waits but for some compare-and-swaps, and is left where one of them succeeds: what comes to its
    header from them then has only read since it was there."""
    loop = waiting_loop(shapes, header, only_tries)
    blocks = {t.block for t in tries} & reached([successors(shape) for shape in shapes])
    stays = {n for b in blocks for n in successors(shapes[b]) if n != header}
    return loop is not None and blocks <= loop.body and loop.body.isdisjoint(stays)


def _reads_alike(load: InstructionStep, failed: _Try) -> bool:
    """Whether a load may read what a compare-and-swap has just read: it is one of the same place, and orders no more."""
    swap, words = failed.step, frozenset(load.instruction.modifiers)
    if load.run is not data_movement.ld or load.predicate is not None or len(load.targets) != 1 or None in load.targets:
        return False
    if (load.space, load.width) != (swap.space, swap.width) or words & _OTHERWISE:
        return False
    if failed.state.sources(load)[0] != failed.address:
        return False
    others = frozenset(swap.instruction.modifiers)
    strong = words & {"relaxed", "acquire"}
    if strong and words & _SCOPES != (others & _SCOPES or {"gpu"}):
        return False
    return "acquire" not in words or bool(others & {"acquire", "acq_rel"})


def _load_last(steps: Sequence[InstructionStep]) -> tuple[InstructionStep, ...]:
    """Steps with the last load, and what depends on it, behind those that have nothing to do with it."""
    at = max((i for i, s in enumerate(steps) if s.kind != "value"), default=-1)
    if at < 0 or steps[at].run is not data_movement.ld:
        return tuple(steps)
    moved, stays = [steps[at]], list(steps[:at])
    read, written = registers_read(steps[at]), registers_written(steps[at])
    for step in steps[at + 1 :]:
        if registers_read(step) & written or registers_written(step) & (read | written):
            moved.append(step)
            read, written = read | registers_read(step), written | registers_written(step)
        else:
            stays.append(step)
    return (*stays, *moved)


# Waits that begin an iteration.


def waits_inside(shapes: Sequence[BasicBlock], is_pure: IsPure) -> list[BasicBlock]:
    """Where the iteration of a loop begins with a wait, compilers let both loops begin at one block. Here each has its own,
    since iterations of the wait are not those of the other:

    loop: poll; if not done: loop; ...; if more: loop          loop: wait: poll; if not done: wait; ...; if more: loop
    """
    following = [successors(shape) for shape in shapes]
    for header, loop in loops_of(shapes).items():
        ends = [b for b in loop.body if header in following[b]]
        ways = [_iteration(header, b, loop.body, following) for b in ends]
        inner = frozenset().union(*[w for w in ways if all(is_pure(step) for b in w for step in shapes[b].steps)])
        if header and inner and any(b not in inner for b in ends):
            outer = len(shapes) - 1
            apart = [
                shape if b in inner or b == outer else redirected(shape, {header: outer})
                for b, shape in enumerate(with_block(shapes, BasicBlock((), None, None, header)))
            ]
            if waiting_loop(apart, header, is_pure):
                return waits_inside(apart, is_pure)
    return list(shapes)


def _iteration(header: int, end: int, body: Collection[int], following: Sequence[Sequence[int]]) -> frozenset[int]:
    """The blocks of a loop from which control comes to the end of an iteration before the next one begins."""
    found = {header, end}
    waiting = [end] if end != header else []
    while waiting:
        now = waiting.pop()
        before = {b for b in body if now in following[b]} - found
        found |= before
        waiting += before
    return frozenset(found)

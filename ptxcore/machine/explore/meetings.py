"""Which executions of instructions that the threads of a warp execute together belong together.

PTX ISA 9.0 (sections 9.7.9.6 and 9.7.13.9 to 9.7.13.14): who executes one with a member mask waits until all threads of the
mask that have not exited have executed it with the same qualifiers and the same mask. Nothing is said of places: one
instruction may stand in both arms of a branch, as compilers make it. So

    a thread's execution number k of such an instruction, under one mask, belongs together with number k of each other thread

A thread that its own mask leaves out is undefined; so who executes one under mask M is of M. Nobody gets behind number k before
each thread of M that has not exited has executed its number k, and nobody executes number k + 1 before it is behind number k.
By induction on k the wait of number k is over with one execution of each thread, which is its number k.

Which number an execution has may depend on what was read: then it is in several meetings, each under a condition. Where all
threads execute the same places under the same conditions, one number is one place: there nothing needs to be counted.

A mask that is no number is the same for all threads at one place of the code. Masks that are no numbers on two arms of a branch
may be equal or not: such programs are refused. Instructions without a mask (`activemask`) bring those together that are at one
place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

from ptxcore.clock import tick
from ptxcore.diagnostics import fail
from ptxcore.machine.ir.collective import name_of
from ptxcore.machine.ir.effects import Effect
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Term, Value, conj, disj, eq, implies, negate

#: Where an effect is: the place in the unrolled graph, line and column, its kind, and how many of that kind came before in the
#: instruction.
MeetingPlace = tuple[Any, ...]


class Came(NamedTuple):
    """An execution, and the condition under which it is in a meeting."""

    effect: Effect
    condition: Value


#: Of each thread of a warp, by its position there, the executions of which at most one is in the meeting.
Comings = dict[int, list[Came]]


class _Execution(NamedTuple):
    thread: int
    site: MeetingPlace
    effect: Effect


def has_mask(effect: Effect) -> bool:
    return effect.how is not None and effect.how.form.waits


class Meetings:
    """The meetings of a warp. `sites` are the collective effects of each thread in their order; without `one_code` equal sites
    of two threads are not the same place."""

    def __init__(self, sites: Sequence[Sequence[tuple[MeetingPlace, Effect]]], *, one_code: bool) -> None:
        self.one_code = one_code
        self.all: list[Comings] = []
        self._doubt: Effect | None = None
        families: dict[str, list[_Execution]] = {}
        for thread, mine in enumerate(sites):
            for site, effect in mine:
                families.setdefault(name_of(effect.instruction), []).append(_Execution(thread, site, effect))
        for family in families.values():
            if has_mask(family[0].effect):
                self._under_masks(family)
            else:
                self.all += _by_place(family)
                if not one_code and len(sites) > 1:
                    self._doubt = family[0].effect

    def check(self) -> None:
        """Raises InputError where it is not known who belongs together."""
        if self._doubt is not None:
            name, span = name_of(self._doubt.instruction), self._doubt.instruction.span
            raise fail(span, f"'{name}' is not explored: nothing says which threads are together")

    def _under_masks(self, family: Sequence[_Execution]) -> None:
        """The meetings of all executions of an instruction with the same qualifiers."""
        if self.one_code and _alike(family) and _one_mask_at_each_place(family):
            self.all += _by_place(family)
            return
        classes = [*_by_mask(family, self.one_code)]
        for some in classes:
            self.all += _by_place(some) if self.one_code and _alike(some) else _by_number(some)
        for a, b in combinations(classes, 2):
            if (type(a[0].effect.mask) is Term or type(b[0].effect.mask) is Term) and _on_two_arms(a, b):
                self._doubt = a[0].effect


def _by_thread(some: Sequence[_Execution]) -> dict[int, list[_Execution]]:
    found: dict[int, list[_Execution]] = {}
    for x in some:
        found.setdefault(x.thread, []).append(x)
    return found


def _alike(some: Sequence[_Execution]) -> bool:
    """Whether all threads execute the same places under the same conditions."""
    first, *others = [[(x.site, x.effect.guard) for x in mine] for mine in _by_thread(some).values()]
    return all(
        len(other) == len(first) and all(a == b and _same(g, h) for (a, g), (b, h) in zip(first, other, strict=True))
        for other in others
    )


def _same(a: Value, b: Value) -> bool:
    return a is b or (type(a) is int and a == b)


def _one_mask_at_each_place(family: Sequence[_Execution]) -> bool:
    """Whether no two threads are at one place under masks that are different numbers."""
    at: dict[MeetingPlace, Value] = {}
    return all(
        type(x.effect.mask) is not int or _same(at.setdefault(x.site, x.effect.mask), x.effect.mask) for x in family
    )


def _by_place(some: Sequence[_Execution]) -> Iterator[Comings]:
    found: dict[MeetingPlace, Comings] = {}
    for x in some:
        found.setdefault(x.site, {})[x.thread] = [Came(x.effect, x.effect.guard)]
    yield from found.values()


def _by_mask(family: Sequence[_Execution], one_code: bool) -> Iterator[list[_Execution]]:
    """The executions whose masks are the same: equal numbers, one term, or terms at one place."""
    classes: dict[Any, list[_Execution]] = {}
    of: dict[Any, Any] = {}  # of each name of a mask the class that has it
    for x in family:
        mask = x.effect.mask
        names = [mask] if type(mask) is int or not one_code else [mask, ("at", x.site)]
        known = [*dict.fromkeys(of[name] for name in names if name in of)]
        key = known[0] if known else names[0]
        for other in known[1:]:
            classes[key] += classes.pop(other)
            of = {name: key if c == other else c for name, c in of.items()}
        classes.setdefault(key, []).append(x)
        of |= dict.fromkeys(names, key)
    for some in classes.values():
        yield sorted(some, key=lambda x: (x.thread, x.effect.index))


def _on_two_arms(a: Sequence[_Execution], b: Sequence[_Execution]) -> bool:
    """Whether executions whose masks may be equal are on two arms of a branch."""
    mine, theirs = _by_thread(a), _by_thread(b)
    if mine.keys().isdisjoint(theirs):
        return any(eq(x.effect.mask, y.effect.mask) != 0 for x in a for y in b)
    return any(
        conj(x.effect.guard, y.effect.guard) == 0 and eq(x.effect.mask, y.effect.mask) != 0
        for thread in mine.keys() & theirs.keys()
        for x in mine[thread]
        for y in theirs[thread]
    )


def _by_number(some: Sequence[_Execution]) -> Iterator[Comings]:
    found: dict[int, Comings] = {}
    for thread, mine in _by_thread(some).items():
        for x, cases in zip(mine, numbers([x.effect.guard for x in mine]), strict=True):
            for number, condition in cases.items():
                found.setdefault(number, {}).setdefault(thread, []).append(Came(x.effect, condition))
    yield from found.values()


def numbers(guards: Sequence[Value]) -> list[Mapping[int, Value]]:
    """Of each execution, given under what condition each happens: how many of them come before it, each number with the
    condition under which it happens and is that number."""
    if all(implies(after, before) for before, after in pairwise(guards)):
        return [{k: guard} for k, guard in enumerate(guards)]
    found: list[Mapping[int, Value]] = []
    so_far: dict[int, Value] = {0: 1}
    for guard in guards:
        tick()
        cases = {k: c for k, before in so_far.items() if (c := conj(before, guard)) != 0}
        after: dict[int, Value] = {}
        for k, before in so_far.items():
            after[k] = disj(after.get(k, 0), conj(before, negate(guard)))
            after[k + 1] = cases.get(k, 0)
        so_far = {k: c for k, c in after.items() if c != 0}
        found.append(dict.fromkeys(cases, guard) if len(cases) == 1 else cases)
    return found

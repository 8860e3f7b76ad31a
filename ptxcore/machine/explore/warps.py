"""The threads of a warp, explored together: what they compute from each other's operands (`shfl`, `vote`, `match`, `redux`,
`elect`, `activemask`) is put together from what each of them brings.

Each thread is explored by itself first, with symbols for what such instructions return. Then it is known who executes
which of them, and with which operands, and the symbols are defined; with these definitions the threads are explored anew,
until nothing changes, since what is known now may decide branches and addresses. Executions of an instruction belong
together where they are at the same place of the unrolled code, under one member mask.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple

from ptxcore.clock import tick
from ptxcore.diagnostics import InputError, fail
from ptxcore.isa.form import Use
from ptxcore.machine.explore.engine import Thread
from ptxcore.machine.explore.symbolic import executed, thread_type
from ptxcore.machine.ir.collective import flows, resolve, undetermined
from ptxcore.machine.ir.effects import Effect, ThreadExecution
from ptxcore.machine.ir.steps import ThreadCode
from ptxcore.values.terms import Term, Value, all_of, conj, extract, ite, negate, substitute, symbol, symbols_of

#: Where an effect is: the place in the unrolled graph, line and column, its kind, and how many of that kind came before in the
#: instruction.
Site = tuple[Any, ...]

#: Lanes that may or may not take part: as many different conditions are told apart.
_MOST_CONDITIONS = 4
#: How often a warp is explored anew.
_MOST_ROUNDS = 40


class Lane(NamedTuple):
    """A thread of a warp: its number there, its code, its name for symbols."""

    number: int
    code: ThreadCode
    name: str


class Explored(NamedTuple):
    """`execution` of one thread; `sites` of the effects that returned something, by index."""

    execution: ThreadExecution
    sites: dict[int, Site]


def explore_warp(
    lanes: Sequence[Lane],
    unroll: int,
    *,
    one_code: bool = True,
    noops: Mapping[int, Collection[int] | None] | None = None,
) -> tuple[list[ThreadExecution], dict[Term, Value]]:
    """All executions of the threads of a warp, and what the symbols of collective instructions stand for: terms over what
    the threads read. Without `one_code` each thread has code of its own: there executions of instructions with the same
    qualifiers and the same member mask belong together, in their order. `noops` are those of `symbolic.explore`. Raises
    InputError where it depends on the execution who takes part, in too many ways."""
    defined: dict[Term, Value] = {}
    place = _in_the_code if one_code else _in_order
    for _ in range(_MOST_ROUNDS):
        explored = [_explore(lane, unroll, defined, place, noops or {}) for lane in lanes]
        if not one_code:
            _check_order(explored)
        if not any(e.kind == "collective" for x in explored for e in x.execution.effects):
            return [x.execution for x in explored], {}
        warp = _Warp(lanes, explored)
        found = warp.definitions()
        if len(found) == len(defined) and all(s in found and _same(found[s], defined[s]) for s in defined):
            _check_all(explored, found)
            warp.tell()
            return [x.execution for x in explored], found
        defined = found
    instruction = next(e.instruction for x in explored for e in x.execution.effects if e.kind == "collective")
    raise fail(instruction.span, "what the threads of the warp compute together decides again and again who takes part")


def _check_all(explored: Sequence[Explored], found: Mapping[Term, Value]) -> None:
    """Raises InputError where it is not known what an instruction returns."""
    for x in explored:
        for e in x.execution.effects:
            if e.kind == "collective" and e.guard != 0 and e.result not in found:
                raise fail(e.instruction.span, "what this returns hangs on itself, by way of other threads of the warp")


def _same(a: Value, b: Value) -> bool:
    return a is b or (type(a) is int and a == b)


#: Where an effect is, but for how many came before.
Place = tuple[Any, ...]


def _in_the_code(node: tuple[int, ...], effect: Effect) -> Place:
    return node, effect.instruction.span.line, effect.instruction.span.column, effect.kind


def _in_order(node: tuple[int, ...], effect: Effect) -> Place:
    """By what the instruction is, where that is what brings threads together."""
    if effect.kind != "collective" or not _has_mask(effect):
        return _in_the_code(node, effect)
    mask = effect.mask if type(effect.mask) is int else -1
    return (), mask, 0, ".".join((effect.instruction.opcode, *effect.instruction.modifiers))


def _check_order(explored: Sequence[Explored]) -> None:
    """Raises InputError where it depends on the execution how many such instructions come before one."""
    for x in explored:
        last: dict[str, Value] = {}
        for e in x.execution.effects:
            if e.kind == "collective":
                name = ".".join((e.instruction.opcode, *e.instruction.modifiers))
                if not _has_mask(e) and len(explored) > 1:
                    raise fail(e.instruction.span, f"'{name}' is not explored: nothing says which threads are together")
                if conj(e.guard, negate(last.get(name, 1))) != 0:
                    raise fail(e.instruction.span, f"'{name}' on one of several paths is not explored: which one of the "
                                                   "others it belongs to depends on the execution")  # fmt: skip
                last[name] = e.guard


def _explore(
    lane: Lane,
    unroll: int,
    defined: Mapping[Term, Value],
    place: Callable[[tuple[int, ...], Effect], Place],
    noops: Mapping[int, Collection[int] | None],
) -> Explored:
    """One thread; symbols that are defined are what they stand for."""
    sites: dict[int, Site] = {}
    counts: dict[Place, int] = {}
    symbols: dict[int, Term] = {}

    thread: Thread | None = None

    def answer(effect: Effect, width: int) -> Value:
        assert thread is not None
        at = place(thread.node, effect)
        count = counts[at] = counts.get(at, -1) + 1
        site = sites[effect.index] = (*at, count)
        fresh = symbols[effect.index] = symbol((lane.name, site), width)
        return defined.get(fresh, fresh)

    def begun() -> Thread:
        nonlocal thread
        for known in (sites, counts, symbols):
            known.clear()
        thread = thread_type(lane.code)(lane.code, answer, unroll)
        thread.noops = noops
        return thread

    execution = executed(begun)
    for index, fresh in symbols.items():
        execution.effects[index].result, execution.effects[index].answer = fresh, None
    return Explored(execution, sites)


class _Warp:
    """What the collective instructions of explored threads return."""

    def __init__(self, lanes: Sequence[Lane], explored: Sequence[Explored]) -> None:
        self.lanes, self.explored = lanes, explored
        self.known: dict[Term, Value] = {}
        #: By site, the effect of each thread that comes there.
        self.groups: dict[Site, dict[int, Effect]] = {}
        for i, x in enumerate(explored):
            for e in x.execution.effects:
                if e.kind == "collective":
                    self.groups.setdefault(x.sites[e.index], {})[i] = e
        self.unknown = {e.result for group in self.groups.values() for e in group.values()}

    def definitions(self) -> dict[Term, Value]:
        """What each symbol stands for. Symbols of which that is not known yet, since it hangs on others, are left out."""
        waiting = list(self.groups.values())
        while waiting:
            later = [group for group in waiting if not self.define(group)]
            if len(later) == len(waiting):
                break
            waiting = later
        if not self.known:
            effect = next(iter(self.groups.values()))
            raise self.refused(next(iter(effect.values())), "hangs on what it returns itself")
        return self.known

    def tell(self) -> None:
        """Tells each effect whose operands its result comes from, and for whom it waits."""
        for group in self.groups.values():
            there = {self.lanes[i].number: e for i, e in group.items() if e.guard != 0}
            if there:
                how = next(iter(there.values())).how
                assert how is not None
                found = flows(how, {lane: tuple(o for o in e.operands if o is not None) for lane, e in there.items()})
                for lane, e in there.items():
                    e.met = tuple((other, there[other].index) for other in sorted(found[lane]))
                    if _has_mask(e):
                        e.mates = tuple(self.awaited(lane, e, there))

    def awaited(self, lane: int, effect: Effect, there: Mapping[int, Effect]) -> Iterator[tuple[int, int]]:
        """For whom an effect waits."""
        for other in self.lanes:
            tick()
            if other.number != lane and extract(effect.mask, other.number, other.number) != 0:
                yield other.number, there[other.number].index if other.number in there else -1

    def settled(self, value: Value) -> Value | None:
        """A value with what is known put in; None where something is not."""
        if type(value) is not Term:
            return value
        value = substitute(value, self.known)
        return None if symbols_of(value) & self.unknown - self.known.keys() else value

    def define(self, group: dict[int, Effect]) -> bool:
        """Defines what an instruction returns in each thread; whether all that it hangs on is known."""
        guards: dict[int, Value] = {}
        masks: dict[int, Value] = {}
        operands: dict[int, tuple[Value, ...]] = {}
        for i, e in group.items():
            guard, mask = self.settled(e.guard), self.settled(e.mask)
            given = [self.settled(o) for o in e.operands if o is not None]
            if guard is None or mask is None or any(o is None for o in given):
                return False
            if guard != 0:
                guards[i], masks[i] = guard, mask
                operands[i] = tuple(o for o in given if o is not None)
        found: dict[Term, Value] = {}
        settled: dict[tuple[int, ...], dict[int, Value]] = {}
        for i in guards:
            effect = group[i]
            assert effect.result is not None
            found[effect.result] = self.result(i, effect, guards, masks[i], operands, settled, self._left_open(group))
        self.known.update(found)
        self.unknown -= {e.result for i, e in group.items() if i not in guards}  # they are never there
        return True

    def result(
        self,
        i: int,
        effect: Effect,
        guards: Mapping[int, Value],
        mask: Value,
        operands: Mapping[int, tuple[Value, ...]],
        settled: dict[tuple[int, ...], dict[int, Value]],
        left_open: Callable[[int], Value],
    ) -> Value:
        """What the instruction returns in one thread. `settled` has results that are known, by who takes part; `left_open` says
        what a lane finds where it looks for one that does not."""
        sure: list[int] = []
        unsure: dict[Value, list[int]] = {}
        for j, lane in enumerate(self.lanes):
            named = _has_mask(effect) and j != i  # that of the thread itself must be
            wanted: Value = extract(mask, lane.number, lane.number) if named else 1
            here = guards.get(j, 0)
            if wanted == 0 or here == 0:
                continue
            if j == i or conj(guards[i], negate(here)) == 0 or self.met(i, j, effect, guards[i], here):
                sure.append(j)
            elif conj(guards[i], here) != 0:
                unsure.setdefault(here, []).append(j)
        if len(unsure) > _MOST_CONDITIONS:
            return self.with_neutral(i, effect, sure, unsure, operands, left_open)
        value: Value | None = None
        for chosen in product((False, True), repeat=len(unsure)):
            tick()
            members = tuple(
                sorted([*sure, *(j for js, take in zip(unsure.values(), chosen, strict=True) if take for j in js)])
            )
            if members not in settled:
                assert effect.how is not None
                of = {self.lanes[j].number: operands[j] for j in members}
                results = resolve(effect.how, of, left_open)
                settled[members] = {j: results[self.lanes[j].number] for j in members}
            case = all_of(c if take else negate(c) for c, take in zip(unsure, chosen, strict=True))
            result = settled[members][i]
            value = result if value is None else ite(case, result, value, effect.width)
        assert value is not None
        return value

    def _left_open(self, group: Mapping[int, Effect]) -> Callable[[int], Value]:
        """What each lane finds where it looks for one that is not there: a value of its own, at each execution."""
        effects = {self.lanes[i].number: e for i, e in group.items()}

        def found(lane: int) -> Value:
            effect = effects[lane]
            assert effect.result is not None
            return undetermined(lane, effect.instruction, effect.result)

        return found

    def met(self, i: int, j: int, effect: Effect, guard: Value, here: Value) -> bool:
        """Whether a thread is there whenever another one is, since both come from a barrier of their CTA: nobody passes it
        before the other has arrived, and who has arrived goes on to the instruction."""
        mine, theirs = (
            [e for e in self.explored[x].execution.effects if e.kind == "barrier" and e.level == "cta"] for x in (i, j)
        )
        before = [e for e in mine if e.index < effect.index]
        if not before or any(type(e.identity) is not int for e in (*mine, *theirs)):
            return False
        number = before[-1].identity
        before, mine, theirs = ([e for e in some if e.identity == number] for some in (before, mine, theirs))
        if len(theirs) < len(before) or any(e.count is not None or e.barrier == "arrive" for e in (*mine, *theirs)):
            return False
        last = theirs[len(before) - 1]
        ends = self.explored[j].execution.finishes
        steps = [*_pairs([*[e.guard for e in before], guard]), *_pairs([e.guard for e in theirs])]
        return all(self.implies(a, b) for a, b in [*steps, (ends, last.guard), (last.guard, here)])

    def implies(self, value: Value, other: Value) -> bool:
        """Whether one truth value certainly implies another, as far as both are known by now."""
        one, same = self.settled(value), self.settled(other)
        return one is not None and same is not None and conj(one, negate(same)) == 0

    def with_neutral(
        self,
        i: int,
        effect: Effect,
        sure: Sequence[int],
        unsure: Mapping[Value, Sequence[int]],
        operands: Mapping[int, tuple[Value, ...]],
        left_open: Callable[[int], Value],
    ) -> Value:
        """The result where many threads may or may not take part: those that do not bring what changes nothing."""
        how = effect.how
        assert how is not None
        neutral = _neutral(how)
        if neutral is None:
            raise self.refused(effect, "is executed by threads of the warp each under a condition of its own")
        of = {self.lanes[j].number: operands[j] for j in sure}
        for condition, lanes in unsure.items():
            for j in lanes:
                first, *rest = operands[j]
                width = 1 if how.form.mnemonic == "vote" else how.width
                otherwise = neutral if neutral >= 0 else left_open(self.lanes[i].number)
                of[self.lanes[j].number] = (ite(condition, first, otherwise, width), *rest)
        return resolve(how, of, left_open)[self.lanes[i].number]

    def refused(self, effect: Effect, why: str) -> InputError:
        instruction = effect.instruction
        return fail(
            instruction.span, f"'{'.'.join((instruction.opcode, *instruction.modifiers))}' {why}, which is not explored"
        )


def _pairs(guards: Sequence[Value]) -> list[tuple[Value, Value]]:
    """Each guard with the one before it."""
    return [(after, before) for before, after in pairwise(guards)]


def _neutral(how: Use) -> int | None:
    """What a thread may bring so that the others' results are as without it; -1: what is left open; None where there is no
    such thing."""
    if how.form.mnemonic == "shfl":
        return -1  # nothing does: what comes from a thread that takes no part is left open
    if how.form.mnemonic == "vote":
        return {"all": 1, "any": 0, "": 0}.get(how.words["mode"])
    if how.form.mnemonic == "redux" and how.type in ("u32", "s32", "b32"):
        least, most = (0x8000_0000, 0x7FFF_FFFF) if how.signed else (0, 0xFFFF_FFFF)
        return {"min": most, "max": least, "and": 0xFFFF_FFFF}.get(how.op, 0)
    return None


def _has_mask(effect: Effect) -> bool:
    return effect.how is not None and bool(effect.how.form.mask)

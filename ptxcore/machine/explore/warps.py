"""The threads of a warp, explored together: what they compute from each other's operands (`shfl`, `vote`, `match`, `redux`,
`elect`, `activemask`) is put together from what each of them brings.

Each thread is explored by itself first, with symbols for what such instructions return. Then it is known who executes
which of them, and with which operands, and the symbols are defined; with these definitions the threads are explored anew,
until nothing changes, since what is known now may decide branches and addresses. Which executions of an instruction belong
together is said in `meetings`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise, product
from typing import Any

from ptxcore.clock import tick
from ptxcore.diagnostics import Diagnostic, InputError, NotExplored, fail
from ptxcore.isa.effect_kinds import BARRIER, COLLECTIVE
from ptxcore.isa.form import Use
from ptxcore.machine.explore.engine import Exploration
from ptxcore.machine.explore.meetings import Came, Comings, MeetingPlace, Meetings, has_mask
from ptxcore.machine.explore.symbolic import executed, thread_type
from ptxcore.machine.ir.collective import WARP, brought_widths, flows, name_of, resolve, undetermined
from ptxcore.machine.ir.effects import Effect, ThreadExecution
from ptxcore.machine.ir.steps import ThreadCode
from ptxcore.records import NamedTuple
from ptxcore.values.terms import (
    Term,
    Value,
    all_of,
    any_of,
    conj,
    disj,
    extract,
    given,
    implies,
    ite,
    negate,
    substitute,
    symbol,
    symbols_of,
)

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
    sites: dict[int, MeetingPlace]


def explore_warp(
    lanes: Sequence[Lane],
    unroll: int,
    *,
    one_code: bool = True,
    noops: Mapping[int, Collection[int] | None] | None = None,
) -> tuple[list[ThreadExecution], dict[Term, Value]]:
    """All executions of the threads of a warp, and what the symbols of collective instructions stand for: terms over what
    the threads read. Without `one_code` each thread has code of its own. `noops` are those of `symbolic.explore`. Raises
    InputError where it depends on the execution who takes part, in too many ways."""
    defined: dict[Term, Value] = {}
    for _ in range(_MOST_ROUNDS):
        explored = [_explore(lane, unroll, defined, noops or {}) for lane in lanes]
        if not any(e.kind is COLLECTIVE for x in explored for e in x.execution.effects):
            return [x.execution for x in explored], {}
        _check_whole(lanes, explored)
        warp = _Warp(lanes, explored, one_code=one_code)
        found = warp.definitions()
        if len(found) == len(defined) and all(s in found and _same(found[s], defined[s]) for s in defined):
            _check_all(explored, found)
            warp.meetings.check()
            warp.tell()
            return [x.execution for x in explored], found
        defined = found
    instruction = next(e.instruction for x in explored for e in x.execution.effects if e.kind is COLLECTIVE)
    message = "what the threads of the warp compute together decides again and again who takes part"
    raise NotExplored([Diagnostic(instruction.span, message)])


def _check_all(explored: Sequence[Explored], found: Mapping[Term, Value]) -> None:
    """Raises InputError where it is not known what an instruction returns."""
    for x in explored:
        for e in x.execution.effects:
            if e.kind is COLLECTIVE and e.guard != 0 and e.result not in found:
                message = "what this returns hangs on itself, by way of other threads of the warp"
                raise NotExplored([Diagnostic(e.instruction.span, message)])


def _check_whole(lanes: Sequence[Lane], explored: Sequence[Explored]) -> None:
    """Raises InputError where a warp that has not all its threads executes what a whole warp executes."""
    if len(lanes) == WARP:
        return
    for x in explored:
        for e in x.execution.effects:
            if e.kind is COLLECTIVE and e.how is not None and e.how.form.whole is not None:
                name = name_of(e.instruction)
                message = f"all {WARP} threads of a warp execute '{name}' together; here a warp has {len(lanes)}"
                raise fail(e.instruction.span, message)


def _same(a: Value, b: Value) -> bool:
    return a is b or (type(a) is int and a == b)


#: Where an effect is, but for how many came before.
EffectPlace = tuple[Any, ...]


def _place(node: tuple[int, ...], effect: Effect) -> EffectPlace:
    return node, effect.instruction.span.line, effect.instruction.span.column, effect.kind


def _explore(
    lane: Lane,
    unroll: int,
    defined: Mapping[Term, Value],
    noops: Mapping[int, Collection[int] | None],
) -> Explored:
    """One thread; symbols that are defined are what they stand for."""
    sites: dict[int, MeetingPlace] = {}
    counts: dict[EffectPlace, int] = {}
    symbols: dict[int, Term] = {}

    thread: Exploration | None = None

    def answer(effect: Effect, width: int) -> Value:
        assert thread is not None
        at = _place(thread.node, effect)
        count = counts[at] = counts.get(at, -1) + 1
        site = sites[effect.index] = (*at, count)
        fresh = symbols[effect.index] = symbol((lane.name, site), width)
        return defined.get(fresh, fresh)

    def begun() -> Exploration:
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


class _Brought(NamedTuple):
    """An execution in a meeting under a condition: its mask and its operands there."""

    effect: Effect
    condition: Value
    mask: Value
    operands: tuple[Value, ...]


#: Executions, by lane and index there, -1 for none, each with the condition under which one belongs with it.
_Told = dict[tuple[int, int], Value]


def _listed(told: _Told) -> tuple[tuple[int, int, Value], ...]:
    return tuple([(lane, index, when) for (lane, index), when in sorted(told.items(), key=lambda one: one[0])])


def _operands(effect: Effect) -> tuple[Value, ...]:
    return tuple([o for o in effect.operands if o is not None])


def _either(some: Sequence[_Brought]) -> tuple[Value, ...]:
    """What a thread brings that comes by one of several executions."""
    operands = some[-1].operands
    for b in some[:-1]:
        assert b.effect.how is not None
        first = 1 if b.effect.how.form.mnemonic == "vote" else b.effect.how.width
        widths = [first, *[32] * len(operands)]
        if b.effect.how.form.whole is not None:
            widths = [*brought_widths(b.effect.how)]
        triples = zip(b.operands, operands, widths, strict=False)
        operands = tuple([ite(b.condition, one, other, width) for one, other, width in triples])
    return operands


class _Warp:
    """What the collective instructions of explored threads return."""

    def __init__(self, lanes: Sequence[Lane], explored: Sequence[Explored], *, one_code: bool) -> None:
        self.lanes, self.explored = lanes, explored
        self.known: dict[Term, Value] = {}
        effects = [[e for e in x.execution.effects if e.kind is COLLECTIVE] for x in explored]
        sites = [[(x.sites[e.index], e) for e in mine] for x, mine in zip(explored, effects, strict=True)]
        self.meetings = Meetings(sites, one_code=one_code)
        self.unknown = {e.result for mine in effects for e in mine}
        came = [c for meeting in self.meetings.all for some in meeting.values() for c in some]
        #: In how many meetings each result is; and what it is there, under which conditions, as far as that is known.
        self.number = Counter(c.effect.result for c in came)
        self.cases: dict[Term, list[tuple[Value, Value]]] = {}

    def definitions(self) -> dict[Term, Value]:
        """What each symbol stands for. Symbols of which that is not known yet, since it hangs on others, are left out."""
        waiting = self.meetings.all
        while waiting:
            later = [meeting for meeting in waiting if not self.define(meeting)]
            if len(later) == len(waiting):
                break
            waiting = later
        if not self.known:
            first = next(iter(self.meetings.all[0].values()))[0]
            raise self.refused(first.effect, "hangs on what it returns itself")
        return self.known

    def tell(self) -> None:
        """Tells each effect whose operands its result comes from, and for whom it waits."""
        met: dict[tuple[int, int], _Told] = {}
        mates: dict[tuple[int, int], _Told] = {}
        for meeting in self.meetings.all:
            there = {i: came for i, some in meeting.items() if (came := [c for c in some if c.condition != 0])}
            if not there:
                continue
            first = next(iter(there.values()))[0].effect
            assert first.how is not None
            operands = {
                self.lanes[i].number: _either([_Brought(*c, c.effect.mask, _operands(c.effect)) for c in some])
                for i, some in there.items()
            }
            found = flows(first.how, operands)
            for i, some in there.items():
                sources = found[self.lanes[i].number]
                for came, (j, lane) in product(some, enumerate(self.lanes)):
                    mine = i, came.effect.index
                    if lane.number in sources:
                        self.add(met.setdefault(mine, {}), came, lane, there.get(j, ()))
                    if i != j and has_mask(first) and extract(came.effect.mask, lane.number, lane.number) != 0:
                        self.add(mates.setdefault(mine, {}), came, lane, there.get(j, ()))
        for i, x in enumerate(self.explored):
            for e in x.execution.effects:
                e.met, e.mates = _listed(met.get((i, e.index), {})), _listed(mates.get((i, e.index), {}))

    def add(self, to: _Told, mine: Came, lane: Lane, theirs: Sequence[Came]) -> None:
        """Notes which executions of another lane one belongs with, and when, given that both are there."""
        tick()
        if not theirs:
            to.setdefault((lane.number, -1), 1)
        for came in theirs:
            several = [c.condition for c in (mine, came) if self.number[c.effect.result] > 1]
            at = lane.number, came.effect.index
            to[at] = disj(to.get(at, 0), all_of(several))

    def settled(self, value: Value, condition: Value = 1) -> Value | None:
        """A value, where a condition holds, with what is known put in; None where something is not."""
        if type(value) is not Term:
            return value
        value = given(substitute(value, self.known), condition)
        return None if any(s in self.unknown and s not in self.known for s in symbols_of(value)) else value

    def define(self, meeting: Comings) -> bool:
        """Defines what an instruction returns in each thread; whether all that it hangs on is known."""
        every: dict[int, list[_Brought]] = {}
        for i, some in meeting.items():
            for came in some:
                brought = self.brought(came, several=len(some) > 1 or self.number[came.effect.result] > 1)
                if brought is None:
                    return False
                every.setdefault(i, []).append(brought)
        there = {i: kept for i, some in every.items() if (kept := [b for b in some if b.condition != 0])}
        guards = {i: any_of(b.condition for b in some) for i, some in there.items()}
        operands = {i: _either(some) for i, some in there.items()}
        left_open = self._left_open(meeting)
        settled: dict[tuple[int, ...], dict[int, Value]] = {}
        for i, mine in every.items():
            for b in mine:
                value: Value = 0
                if b.condition != 0:
                    value = self.result(i, b.effect, {**guards, i: b.condition}, b.mask, operands, settled, left_open)
                self.note(b.effect, b.condition, given(value, b.condition) if len(mine) > 1 else value)
        return True

    def brought(self, came: Came, *, several: bool) -> _Brought | None:
        """An execution in a meeting, with what it brings; None where something that it hangs on is not known. `several`: the
        condition tells it from others."""
        condition = self.settled(came.condition)
        if condition is None:
            return None
        where = condition if several else 1
        mask = self.settled(came.effect.mask, where)
        operands = [self.settled(o, where) for o in _operands(came.effect)]
        if mask is None or any(o is None for o in operands):
            return None
        return _Brought(came.effect, condition, mask, tuple([o for o in operands if o is not None]))

    def note(self, effect: Effect, condition: Value, value: Value) -> None:
        """Notes what an effect returns under a condition; defines its result when that of all its meetings is known."""
        assert effect.result is not None
        cases = self.cases.setdefault(effect.result, [])
        cases.append((condition, value))
        if len(cases) < self.number[effect.result]:
            return
        possible = [case for case in cases if case[0] != 0]
        if not possible:
            self.unknown.discard(effect.result)  # it is never there
            return
        whole = possible[-1][1]
        for holds, one in possible[:-1]:
            whole = ite(holds, one, whole, effect.width)
        self.known[effect.result] = whole

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
            named = has_mask(effect) and j != i  # that of the thread itself must be
            wanted: Value = extract(mask, lane.number, lane.number) if named else 1
            here = guards.get(j, 0)
            if wanted == 0 or here == 0:
                continue
            if j == i or implies(guards[i], here) or self.met(i, j, effect, guards[i], here):
                sure.append(j)
            elif conj(guards[i], here) != 0:
                unsure.setdefault(here, []).append(j)
        assert effect.how is not None
        if effect.how.form.whole is not None and len(sure) < WARP:
            raise self.refused(effect, "is executed by some of the threads of the warp only, or under other conditions")
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

    def _left_open(self, meeting: Comings) -> Callable[[int], Value]:
        """What each lane finds where it looks for one that is not there: a value of its own, at each execution."""
        effects = {self.lanes[i].number: some[0].effect for i, some in meeting.items()}

        def found(lane: int) -> Value:
            effect = effects[lane]
            assert effect.result is not None
            return undetermined(lane, effect.instruction, effect.result)

        return found

    def met(self, i: int, j: int, effect: Effect, guard: Value, here: Value) -> bool:
        """Whether a thread is there whenever another one is, since both come from a barrier of their CTA: nobody passes it
        before the other has arrived, and who has arrived goes on to the instruction."""
        mine, theirs = (
            [e for e in self.explored[x].execution.effects if e.kind is BARRIER and e.level == "cta"] for x in (i, j)
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
        return one is not None and same is not None and implies(one, same)

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
        name = ".".join((instruction.opcode, *instruction.modifiers))
        return NotExplored([Diagnostic(instruction.span, f"'{name}' {why}, which is not explored")])


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

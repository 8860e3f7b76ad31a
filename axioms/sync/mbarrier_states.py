"""What an mbarrier object goes through: its states, what each operation makes of them, and which of them can be reached.

The contents of an object and what operations do to them are those of `ptxcore.isa.mbarrier`. Here a state also counts
how often the object was initialised and how many phases it has completed since then, without bound. A misused object has no
state any more (None): behaviour is undefined from there on, and whatever looks at it finds one of `WRECKS`, as does a wait
that is itself misuse.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence

from axioms.errors import UnsupportedProgram
from axioms.events.barrier_events import is_of_state
from axioms.events.event import Event
from axioms.events.value_sets import NumberSet
from axioms.program import Program
from ptxcore.isa.effect_kinds import MBARRIER
from ptxcore.isa.mbarrier import Contents, contents, packed
from ptxcore.machine.ir.effects import Requirement
from ptxcore.records import NamedTuple
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value


class ObjectState(NamedTuple):
    """`content` are the 64 bits of the object, `life` counts its initialisations, `phase` the phases completed since."""

    content: int
    life: int
    phase: int

    @property
    def is_valid(self) -> bool:
        return _is_valid(self.content)

    @property
    def epoch(self) -> tuple[int, int]:
        return self.life, self.phase


@functools.lru_cache(4096)
def _is_valid(content: int) -> bool:
    """Whether these are the bits of an object: asked of few of them, very often."""
    return bool(contents(content).valid)


#: Memory that no `init` has made an object of.
START = ObjectState(0, 0, 0)


def _number(value: Value) -> int:
    assert type(value) is int
    return value


#: What operations on a misused object and waits for it return, any of them: somebody who waits may go on.
WRECKS = tuple(_number(packed(Contents(1, 1, 0, phase, 1))) for phase in range(4))

#: The operations of a phase that threads perform themselves.

ARRIVALS = ("arrive", "arrive_drop")


def next_state(state: ObjectState, operation: str, content: int) -> ObjectState:
    """The state after an operation that left `content`."""
    if operation == "init":
        return ObjectState(content, state.life + 1, 0)
    old, new = contents(state.content), contents(content)
    return ObjectState(content, state.life, state.phase + (bool(new.valid) and old.phase != new.phase))


class Transition:
    """What one operation, or one wait, makes of the states of its object. `checks` are what it requires of them. A count that
    comes from memory is one of several numbers: each is a case."""

    def __init__(self, event: Event, checks: Sequence[Requirement], numbers: Callable[[Value], NumberSet]) -> None:
        effect = event.effect
        assert effect is not None
        self.event, self.checks = event, checks
        self.operation = effect.operation
        self.result, self.value = effect.result, effect.value
        self._cases = self._numbers(numbers)
        self._wrong: dict[ObjectState, str] = {}
        self._next: dict[ObjectState, list[tuple[Value, ObjectState]]] = {}

    def _numbers(self, numbers: Callable[[Value], NumberSet]) -> list[dict[Term, int]]:
        """The values of all symbols but the result."""
        others = sorted(terms.symbols_of(self.value or 0) - {self.result}, key=lambda s: s.serial)
        found = [numbers(s) for s in others]
        if any(n is None or len(n) > _MAX_NUMBERS for n in found):
            assert self.event.effect is not None
            line = self.event.effect.instruction.span.line
            raise UnsupportedProgram(
                f"line {line}: an mbarrier operation whose count may be too many numbers is not supported"
            )
        ordered = [sorted(n or ()) for n in found]
        return [dict(zip(others, combination, strict=True)) for combination in itertools.product(*ordered)]

    @property
    def waits(self) -> bool:
        return self.operation == "wait"

    def wrong(self, state: ObjectState) -> str:
        """What is wrong with it in this state; nothing: ""."""
        found = self._wrong.get(state)
        if found is None:
            found = self._wrong[state] = self._checked(state)
        return found

    def _checked(self, state: ObjectState) -> str:
        if self.operation == "init" and state.is_valid:
            return "mbarrier.init on a valid mbarrier object"
        seen = self._seen(state)
        return next((c.message for c in self.checks if not terms.evaluate(c.condition, seen)), "")

    def _seen(self, state: ObjectState) -> dict[Term, int]:
        return {} if self.result is None else {self.result: state.content}

    def following(self, state: ObjectState) -> list[tuple[Value, ObjectState]]:
        """The states that it may leave, each with the truth value of "this one"."""
        if self.value is None:
            return [(1, state)]
        found = self._next.get(state)
        if found is None:
            found = self._next[state] = [
                (
                    terms.all_of([terms.eq(symbol, number) for symbol, number in case.items()]),
                    next_state(state, self.operation, terms.evaluate(self.value, {**self._seen(state), **case})),
                )
                for case in self._cases
            ]
        return found

    def after(self, state: ObjectState) -> tuple[ObjectState | None, str]:
        """Of an operation on numbers: the next state, or None and what is wrong."""
        reason = self.wrong(state)
        return (None, reason) if reason else (self.following(state)[0][1], "")

    def key(self) -> tuple[object, ...]:
        """Equal for operations that do the same."""
        if self.result is None or self.value is None:
            return self.operation, self.value
        plain = {self.result: terms.symbol("state", 64)}
        return (
            self.operation,
            terms.substitute(self.value, plain),
            tuple(terms.substitute(c.condition, plain) for c in self.checks),
        )


def steps(program: Program, numbers: Callable[[Value], NumberSet]) -> dict[object, list[Transition]]:
    """The operations and waits on each object of a program, by its place. `numbers` says what a count may be."""
    found: dict[object, list[Transition]] = {}
    checks: dict[tuple[int, int], list[Requirement]] = {}
    for t, thread in enumerate(program.threads):
        for requirement in thread.execution.requirements:
            if is_of_state(requirement, thread.execution.effects):
                checks.setdefault((t, requirement.effect), []).append(requirement)
    for e in program.events:
        if e.effect is not None and e.effect.kind is MBARRIER:
            mine = checks.get((e.thread, e.effect.index), ())
            found.setdefault(place(e), []).append(Transition(e, mine, numbers))
    return found


def place(event: Event) -> tuple[int, int]:
    """Where the object of an operation is."""
    return event.object, event.offset


#: Numbers that a count from memory may be.
_MAX_NUMBERS = 16
#: Sets of executed operations that are told apart when reachable states are computed.
_MAX_SETS = 3000
#: Vectors of how many operations of each fine class were executed, at one position; beyond, coarse classes are taken.
_MAX_VECTORS = 2000
#: The same of coarse classes; beyond, the program is refused.
_MAX_COUNTS = 100_000


class Reach:
    """`after[p]` are the states after p operations, `found_by[i][p]` those that operation i can find if it is the p-th one."""

    def __init__(self, size: int) -> None:
        self.after: list[set[ObjectState | None]] = [set() for _ in range(size + 1)]
        self.found_by: list[dict[int, set[ObjectState | None]]] = [{} for _ in range(size)]


def reachable(
    operations: Sequence[Transition], certain: Sequence[bool], before: Sequence[int], windows: Sequence[tuple[int, int]]
) -> Reach:
    """The states that an object can be in after 0, 1, 2, ... operations, and those that each operation can find.

    `before[i]` is the bitset of operations that precede operation i whenever both are executed; `certain` says which are
    executed in any case; `windows` has the first and the last position that each can have, counted from 1. Where too many
    sets of operations would have to be told apart, operations are told apart by what they do and how many of which kind
    precede them, and if need be by what they do alone: that only adds states.
    """
    reach = Reach(len(operations))
    level: dict[tuple[int, int], set[ObjectState | None]] = {
        (0, 0): {START}
    }  # (operations dealt with, executed) -> states
    sets = 0
    while level:
        following: dict[tuple[int, int], set[ObjectState | None]] = {}
        for (done, executed), states in level.items():
            reach.after[executed] |= states
            sets += 1
            if sets > _MAX_SETS:
                return _counted(operations, certain, before, windows)
            for i, step in enumerate(operations):
                if done >> i & 1 or before[i] & ~done:
                    continue
                with_it = done | 1 << i
                if windows[i][0] <= executed + 1 <= windows[i][1]:
                    following.setdefault((with_it, executed + 1), set()).update(_following(step, states))
                    reach.found_by[i].setdefault(executed + 1, set()).update(states)
                if not certain[i]:
                    following.setdefault((with_it, executed), set()).update(states)
        level = following
    return reach


def _following(step: Transition, states: set[ObjectState | None]) -> set[ObjectState | None]:
    found: set[ObjectState | None] = set()
    for state in states:
        if state is None or step.wrong(state):
            found.add(None)
        else:
            found.update(after for _, after in step.following(state))
    return found


def _counted(
    operations: Sequence[Transition], certain: Sequence[bool], before: Sequence[int], windows: Sequence[tuple[int, int]]
) -> Reach:
    """As `reachable`, by how many operations of each class were executed. Each one at a position where it can stand."""
    known = sum(1 << i for i, c in enumerate(certain) if c)
    same = [
        [i for i, o in enumerate(operations) if o.key() == key] for key in dict.fromkeys(o.key() for o in operations)
    ]
    for classes, most in ((_alike(same, before), _MAX_VECTORS), (same, _MAX_COUNTS)):
        reach = _by_counts(operations, classes, [row & known for row in before], windows, most)
        if reach is not None:
            return reach
    raise UnsupportedProgram("an mbarrier object with this many different operations is not supported yet")


def _alike(classes: list[list[int]], before: Sequence[int]) -> list[list[int]]:
    """Classes made finer: of one class, operations also have as many of each class before them, and behind them."""
    after = [sum(1 << j for j, row in enumerate(before) if row >> i & 1) for i in range(len(before))]
    while True:
        sets = [sum(1 << i for i in members) for members in classes]
        finer: list[list[int]] = []
        for members in classes:
            groups: dict[tuple[int, ...], list[int]] = {}
            for i in members:
                signature = (*((before[i] & s).bit_count() for s in sets), *((after[i] & s).bit_count() for s in sets))
                groups.setdefault(signature, []).append(i)
            finer += groups.values()
        if len(finer) == len(classes):
            return classes
        classes = finer


def _by_counts(
    operations: Sequence[Transition],
    classes: list[list[int]],
    before: Sequence[int],
    windows: Sequence[tuple[int, int]],
    most: int,
) -> Reach | None:
    """As `reachable`; None where more than `most` vectors of counts have to be told apart at one
    position. `before` are those that certainly are executed before each operation."""
    needs = [_needs(members, classes, before) for members in classes]
    reach = Reach(len(operations))
    level: dict[tuple[int, ...], set[ObjectState | None]] = {(0,) * len(classes): {START}}
    for position in range(len(operations) + 1):
        able = [sum(1 for i in members if windows[i][0] <= position + 1) for members in classes]
        here = [any(windows[i][0] <= position + 1 <= windows[i][1] for i in members) for members in classes]
        finds: list[set[ObjectState | None]] = [set() for _ in classes]
        following: dict[tuple[int, ...], set[ObjectState | None]] = {}
        for counts, states in level.items():
            reach.after[position] |= states
            for k, members in enumerate(classes):
                if here[k] and counts[k] < able[k] and all(counts[a] >= need[counts[k]] for a, need in needs[k]):
                    key = (*counts[:k], counts[k] + 1, *counts[k + 1 :])
                    following.setdefault(key, set()).update(_following(operations[members[0]], states))
                    finds[k] |= states
        if len(following) > most:
            return None
        for members, states in zip(classes, finds, strict=True):
            for i in members:
                reach.found_by[i][position + 1] = states
        level = following
    return reach


def _needs(members: list[int], classes: list[list[int]], before: Sequence[int]) -> list[tuple[int, list[int]]]:
    """For each class that counts, at how many of its operations must have been executed before the first, the second, ... of
    these: where no two of these have the same before them, each has its own."""
    found = []
    for a, others in enumerate(classes):
        whole = sum(1 << i for i in others)
        rows = [before[i] & whole for i in members]
        least = min(row.bit_count() for row in rows)
        if least:
            apart = sum(row.bit_count() for row in rows) == functools.reduce(operator.or_, rows).bit_count()
            found.append((a, [least * (count + 1) if apart else least for count in range(len(members))]))
    return found

"""A thread as a finite graph: where it can be, and what it does next there.

A node is a place in the code with the numbers that matter there: a block, the registers that are live where it begins,
memory of the thread's own, and what the accesses of that block have returned so far. An edge is one access to shared
memory, for a load or an atomic with what it finds. Steps between accesses belong to the edge before them. Nodes come to
be when somebody asks for an edge, so that a graph is as large as what was looked at.

Only threads that load, store and do atomics in memory that they name by numbers have such graphs; fences are passed by.
Everything else raises Unsuited: barriers, copies, clocks, what warps do together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from axioms.events.event import ProgramThread
from axioms.events.memory import AddressSpace
from ptxcore.diagnostics import InputError
from ptxcore.isa.effect_kinds import LOAD, STORE
from ptxcore.machine.explore.engine import Exploration as Machine
from ptxcore.machine.explore.state import State
from ptxcore.machine.explore.symbolic import thread_type
from ptxcore.machine.ir.dependencies import NO_DEPENDENCIES
from ptxcore.machine.ir.effects import Effect
from ptxcore.machine.ir.private_memory import PrivateMemory, Top
from ptxcore.machine.ir.steps import ThreadCode
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Value

#: What a graph has: accesses, and what no interleaving is about.
#: So many nodes of a thread at most; waiting loops and exchanges have few.
_MOST_NODES = 500
#: Blocks between two accesses, at most.
_MOST_BLOCKS = 200


class Unsuited(Exception):
    """The thread does what graphs do not know, or has too many nodes."""


class MemoryRange(NamedTuple):
    """Bytes of memory: object, offset, size."""

    object: int
    offset: int
    size: int


class NextAccess(NamedTuple):
    """What a thread does next: where, whether that returns what is found there, the effect, and how many fences stand before it
    (behind the access before)."""

    place: MemoryRange
    reads: bool
    effect: Effect
    fences: int


class AccessEdge(NamedTuple):
    """What comes of an access: the node behind it, and the number that it writes; None where it writes nothing."""

    to: int
    written: int | None


class _Asked(Exception):
    """An access asks for what it returns, and nobody has said."""


class _Key(NamedTuple):
    """What tells nodes apart."""

    block: int
    registers: tuple[tuple[Value, Value], ...]
    memory: Hashable
    answers: tuple[int, ...]
    done: int
    fences: int


#: The node of a thread that has ended, and that of one that goes round without end and without an access.
END, IDLE = -1, -2


class ProgressGraph:
    """The graph of a thread. Node 0 is where it begins; nobody comes back there."""

    def __init__(self, number: int, thread: ProgramThread, space: AddressSpace) -> None:
        """Raises Unsuited."""
        self.number, self.code, self.space = number, thread.code, space
        self._numbers: dict[_Key, int] = {}
        self.accesses: list[NextAccess] = []  # of each node
        self._keys: list[_Key] = []
        self._states: dict[tuple[int, tuple[tuple[Value, Value], ...], Hashable], State] = {}
        self._edges: dict[tuple[int, int], AccessEdge] = {}
        self.start = self._first()

    def access(self, node: int) -> NextAccess:
        """What the thread does next at a node."""
        return self.accesses[node]

    def edge(self, node: int, found: int) -> AccessEdge:
        """What comes of the access at a node, where it finds a number. Raises Unsuited."""
        key = node, found if self.access(node).reads else 0
        edge = self._edges.get(key)
        if edge is None:
            edge = self._edges[key] = self._new_edge(*key)
        return edge

    # Nodes come to be.

    def _first(self) -> int:
        state = first_state(self.code)
        return self._settle(0, state, fresh=True)

    def _new_edge(self, node: int, found: int) -> AccessEdge:
        access, key = self.access(node), self._keys[node]
        answers = (*key.answers, found) if access.reads else key.answers
        state = self._states[key[:3]]
        effects, following, after = self._run(key.block, state, answers)
        effect = effects[key.done]
        written = _written(effect)
        if following is not None:
            rest = next((i for i in range(key.done + 1, len(effects)) if effects[i].kind.accesses), None)
            if rest is None:
                return AccessEdge(self._settle(following, after, _fences(effects[key.done :])), written)
        else:
            rest = next(i for i in range(key.done + 1, len(effects)) if effects[i].kind.accesses)
        between = _fences(effects[key.done : rest])
        return AccessEdge(self._node(key._replace(answers=answers, done=rest, fences=between), effects[rest]), written)

    def _settle(self, number: int, state: State, fences: int = 0, fresh: bool = False) -> int:
        """The node that a thread comes to that enters a block, some fences behind its last access."""
        seen: set[object] = set()
        blocks = self.code.blocks
        for _ in range(_MOST_BLOCKS):
            if number == len(blocks) - 1:
                return END
            entry = number, self._live(number, state), _contents(state)
            if entry in seen:
                return IDLE
            seen.add(entry)
            known = self._states.setdefault(entry, state)
            effects, following, after = self._run(number, known, ())
            first = next((i for i, e in enumerate(effects) if e.kind.accesses), None)
            if first is not None:
                return self._node(_Key(*entry, (), first, fences + _fences(effects[:first])), effects[first], fresh)
            fences += _fences(effects)
            assert following is not None
            number, state = following, after
        raise Unsuited

    def _live(self, number: int, state: State) -> tuple[tuple[Value, Value], ...]:
        live = self.code.blocks[number].live
        chosen = range(len(state.values)) if live is None else live
        return tuple([(state.values[r], state.defined[r]) for r in chosen])

    def _node(self, key: _Key, effect: Effect, fresh: bool = False) -> int:
        known = None if fresh else self._numbers.get(key)
        if known is None:
            if len(self.accesses) >= _MOST_NODES:
                raise Unsuited
            known = len(self.accesses)
            self.accesses.append(self._access(effect, key.fences))
            self._keys.append(key)
            if not fresh:
                self._numbers[key] = known
        return known

    def _access(self, effect: Effect, fences: int) -> NextAccess:
        if type(effect.address) is not int or effect.proxy != "generic" or effect.agent >= 0 or effect.width % 8:
            raise Unsuited
        size = effect.width // 8
        at = self.space.at(self.number, effect.address, size)
        if at is None or effect.address % size:
            raise Unsuited
        view, offset = at
        return NextAccess(MemoryRange(view.object, offset, size), effect.kind is not STORE, effect, fences)

    def _run(self, number: int, state: State, answers: Sequence[int]) -> tuple[list[Effect], int | None, State]:
        """The effects of a block, up to the access that asks for more than `answers` have; the block behind it, None
        where it was not done, and the state there."""
        given = iter(answers)
        asked: list[Effect] = []

        def answer(effect: Effect, width: int) -> Value:
            if not effect.kind.accesses:
                raise Unsuited
            found = next(given, None)
            if found is None:
                asked.append(effect)
                raise _Asked
            return found & (1 << width) - 1

        machine = machine_of(self.code, answer)
        state = state.copy(1)
        edges: list[tuple[int, State]] = []
        try:
            machine._block(self.code.blocks[number], state, edges)
        except _Asked:
            pass
        except InputError:
            raise Unsuited from None
        if any(not e.kind.accesses and not e.kind.fences for e in machine.effects if e.guard != 0):
            raise Unsuited
        if machine.requirements and any(r.guard != 0 and r.condition != 1 for r in machine.requirements):
            raise Unsuited
        if asked:
            return machine.effects, None, state
        (edge,) = edges
        return machine.effects, *edge


def _written(effect: Effect) -> int | None:
    if effect.kind is LOAD or effect.writes == 0 or effect.value is None:
        return None
    if type(effect.value) is not int or effect.writes != 1:
        raise Unsuited
    return effect.value & (1 << effect.width) - 1


def _fences(effects: Sequence[Effect]) -> int:
    return sum(e.kind.fences and e.guard != 0 for e in effects)


def _contents(state: State) -> Hashable:
    return None if state.memory is None else state.memory.contents()


def machine_of(code: ThreadCode, answer: object) -> Machine:
    """What executes blocks of a thread, one path at a time."""
    machine = thread_type(code)(code, answer, 1)  # type: ignore[arg-type]
    if code.private is not None:
        machine.counting.known = code.uncounted
    machine.node = (0,)
    return machine


def first_state(code: ThreadCode) -> State:
    """The state in which a thread begins."""
    registers = code.registers
    return State(
        1,
        [r.initial for r in registers],
        [int(r.known) for r in registers],
        [NO_DEPENDENCIES] * len(registers),
        NO_DEPENDENCIES,
        None if code.private is None else PrivateMemory(Top(code.private.top)),
    )

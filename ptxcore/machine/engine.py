"""Executes a prepared thread along all its paths at once, and joins them where they meet.

One engine serves both uses. With fresh symbols for what loads return, every path is alive under its condition. With
known answers everything folds, one path is alive, and the same code is a concrete interpreter.

The unrolled graph is acyclic. Its nodes are a block and an iteration count for each loop around it, and they are
visited in topological order, so that a node has met all its predecessors before it runs, and effects come in program
order on every path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from ptxcore.diagnostics import Diagnostic, InputError
from ptxcore.isa.form import Use
from ptxcore.machine.code import Block, Step, Target, ThreadCode
from ptxcore.machine.effects import Dependencies, Effect, FinalRegister
from ptxcore.syntax.spans import find_span, guard_span
from ptxcore.syntax.tree import Name
from ptxcore.values.terms import Term, Value, all_of, any_of, conj, disj, extract, ite, negate, sext, zext

#: What a load, an atomic or a reducing barrier returns, given its effect so far and the bits of the result.
Answer = Callable[[Effect, int], Value]

_NONE: Dependencies = {}
_SIDE_EFFECTS = frozenset(("store", "red", "barrier", "atom"))


class State:
    """The registers where a path stands: values, the conditions under which they were written, what they depend on.

    All lists run by register number. `control` are the reads that decided how control came here.
    """

    __slots__ = ("control", "defined", "guard", "sources", "values")

    def __init__(
        self,
        guard: Value,
        values: list[Value],
        defined: list[Value],
        sources: list[Dependencies],
        control: Dependencies,
    ) -> None:
        self.guard, self.values, self.defined, self.sources, self.control = guard, values, defined, sources, control

    def copy(self, guard: Value) -> State:
        return State(guard, self.values[:], self.defined[:], self.sources[:], self.control)


class Thread:
    """One execution in progress, and what semantic functions call: `load`, `store`, `modify`, `effect`, `barrier`."""

    def __init__(self, code: ThreadCode, answer: Answer, unroll: int) -> None:
        self.code, self.answer, self.unroll = code, answer, unroll
        self.effects: list[Effect] = []
        self.finishes: Value = 0
        self.cut: Value = 0
        self.registers: dict[str, FinalRegister] = {}
        self._undefined: dict[Diagnostic, None] = {}
        # The step in progress.
        self._state: State
        self._step: Step
        self._guard: Value = 1
        self._control: Dependencies = _NONE
        self._read: int | None = None  # the index of the effect that gave the step's result

    # What semantic functions call.

    def effect(self, kind: str, how: Use, **fields: object) -> Effect:
        """Appends an effect of the instruction that is executing."""
        effect = Effect(
            index=len(self.effects),
            kind=kind,
            guard=self._guard,
            instruction=self._step.instruction,
            control_dependencies=self._control,
            **fields,  # type: ignore[arg-type]
        )
        self.effects.append(effect)
        return effect

    def _access(self, kind: str, how: Use, address: Value) -> Effect:
        step, state = self._step, self._state
        effect = Effect(
            index=len(self.effects),
            kind=kind,
            guard=self._guard,
            instruction=step.instruction,
            semantics=how.sem,
            scope=how.scope,
            proxy=how.proxy,
            space=step.space,
            width=step.width,
            address=address,
            address_dependencies=_gather(state.sources, step.address_reads),
            data_dependencies=_gather(state.sources, step.data_reads),
            control_dependencies=self._control,
        )
        self.effects.append(effect)
        return effect

    def _result(self, effect: Effect, width: int) -> Value:
        value = self.answer(effect, width)
        if type(value) is int:
            effect.answer = value
        else:
            assert type(value) is Term
            effect.result = value
        self._read = effect.index
        return value

    def load(self, how: Use, address: Value) -> Value:
        """A read of memory; gives what it returns, with the bits that are accessed."""
        effect = self._access("load", how, address)
        return self._result(effect, effect.width)

    def store(self, how: Use, address: Value, value: Value) -> None:
        """A write of the low bits of `value`."""
        effect = self._access("store", how, address)
        effect.value = _resize(value, how.width, effect.width, False)

    def modify(self, kind: str, how: Use, address: Value, write: Callable[[Value], tuple[Value, Value]]) -> Value:
        """An atomic read-modify-write: `write(old)` gives the new value and the condition under which it is written."""
        effect = self._access(kind, how, address)
        effect.returns = kind == "atom" and self._step.targets != (None,)
        result = self._result(effect, effect.width)
        old = _resize(result, effect.width, how.width, False)
        value, effect.writes = write(old)
        effect.value = _resize(value, how.width, effect.width, False)
        return old

    def barrier(
        self,
        action: str,
        how: Use,
        *,
        identity: Value | None,
        count: Value | None,
        operator: str = "",
        operand: Value = 0,
        instance: int | None = None,
    ) -> Value | None:
        """An arrival at a CTA barrier; gives the result of a reduction."""
        effect = self.effect(
            "barrier", how, barrier=action, identity=identity, count=count, instance=instance, operator=operator,
            operand=operand, data_dependencies=_gather(self._state.sources, self._step.data_reads),
        )  # fmt: skip
        if action != "red":
            return None
        effect.width = how.width
        return self._result(effect, how.width)

    # Running.

    def run(self) -> None:
        """Executes from the first block until no path is left. Raises InputError where a register is read unwritten."""
        registers = self.code.registers
        state = State(
            1,
            [r.initial for r in registers],
            [int(r.known) for r in registers],
            [_NONE] * len(registers),
            _NONE,
        )
        blocks = self.code.blocks
        last = len(blocks) - 1
        first = (0,) * len(blocks[0].loops)
        pending: dict[tuple[int, ...], tuple[int, tuple[int, ...], list[State]]] = {}
        queue: list[tuple[int, ...]] = []
        turns: dict[tuple[int, ...], int] = {}
        edges: list[tuple[int, State]] = []
        key = _key(blocks[0], first)
        pending[key] = (0, first, [state])
        queue.append(key)
        end: State | None = None
        while queue:
            key = heappop(queue)
            number, iterations, states = pending.pop(key)
            state = self._join(states, number == last)
            if number == last:
                end = state
                break
            block = blocks[number]
            for depth in range(len(iterations)):
                turns.setdefault(key[: 2 * depth + 2], len(self.effects))
            self._block(block, state, edges)
            for following, arriving in edges:
                to = blocks[following]
                context = self._enter(block, to, following, iterations, key, turns, arriving)
                if context is None:
                    continue
                there = _key(to, context)
                met = pending.get(there)
                if met is None:
                    pending[there] = (following, context, [arriving])
                    heappush(queue, there)
                else:
                    met[2].append(arriving)
            edges.clear()
        if self._undefined:
            raise InputError(self._undefined)
        self._finish(end)

    def _join(self, states: list[State], ending: bool) -> State:
        """The paths that meet, as one. Later arrivals first: what left a chain of tests last was told apart last."""
        state = states.pop()
        while states:
            _merge(state, states.pop(), self.code, ending)
        return state

    def _enter(
        self,
        block: Block,
        to: Block,
        following: int,
        iterations: tuple[int, ...],
        key: tuple[int, ...],
        turns: dict[tuple[int, ...], int],
        arriving: State,
    ) -> tuple[int, ...] | None:
        """The iteration counts with which an edge enters its block; None when the path ends here. May narrow the
        state's guard."""
        here, there = block.loops, to.loops
        if not here and not there:
            return ()
        common = 0
        while common < len(here) and common < len(there) and here[common].header == there[common].header:
            common += 1
        context = iterations[:common] + (0,) * (len(there) - common)
        if common and common == len(there) and there[-1].header == following:  # back to the header of the loop
            level = common - 1
            if to.waits[level]:
                # A turn that did nothing but look can be left out: only those that had side effects go on.
                guard = self._side_effects(turns[key[: 2 * level + 2]], arriving.guard)
                if guard == 0:
                    return None
                arriving.guard = guard
            if iterations[level] + 1 >= self.unroll:
                self.cut = disj(self.cut, arriving.guard)
                return None
            context = (*context[:level], iterations[level] + 1)
        return context

    def _side_effects(self, start: int, guard: Value) -> Value:
        """The condition, under `guard`, that one of the effects from `start` on wrote or synchronised."""
        happened = []
        for effect in self.effects[start:]:
            if effect.kind in _SIDE_EFFECTS:
                condition = all_of((guard, effect.guard, effect.writes))
                if type(condition) is int:
                    if condition or effect.guard == 1 == effect.writes:
                        return guard
                else:
                    happened.append(condition)
        return any_of(happened) if happened else 0

    def _block(self, block: Block, state: State, edges: list[tuple[int, State]]) -> None:
        self._state = state
        for step in block.steps:
            self._execute(step, state)
        end = block.end
        if end is None:
            assert block.follows is not None
            edges.append((block.follows, state))
            return
        assert block.target is not None
        if block.follows is None:
            edges.append((block.target, state))
            return
        taken = self._condition(end, state)
        if taken == 1:
            edges.append((block.target, state))
        elif taken == 0:
            edges.append((block.follows, state))
        else:
            goes, stays = conj(state.guard, taken), conj(state.guard, negate(taken))
            if goes != 0 and stays != 0:
                edges.append((block.target, state.copy(goes)))
            elif goes != 0:
                edges.append((block.target, state))
            if stays != 0:
                state.guard = stays
                edges.append((block.follows, state))

    def _condition(self, end: Step, state: State) -> Value:
        """Whether the branch or exit at the end of a block is taken; what decides it controls everything after."""
        taken: Value = 1
        if end.predicate is not None:
            taken = self._predicate(end, state)
        if taken != 0 and end.sources:
            self._check(end, state, conj(state.guard, taken))
            taken = conj(taken, end.run(end.how, *[f(state.values) for f in end.sources if f is not None]))
            state.control = _union(state.control, _gather(state.sources, end.reads))
        return taken

    def _predicate(self, step: Step, state: State) -> Value:
        """The value of the guard; a branch's is a control dependency of everything after."""
        register = step.predicate
        assert register is not None
        if type(state.defined[register]) is not int or not state.defined[register]:
            self._check_register(register, step, state.guard, state)
        if step.kind in ("branch", "exit"):
            state.control = _union(state.control, state.sources[register])
        value = state.values[register]
        return negate(value) if step.negated else value

    def _execute(self, step: Step, state: State) -> None:
        guard = state.guard
        control = state.control
        predicate: Value = 1
        if step.predicate is not None:
            predicate = self._predicate(step, state)
            control = _union(control, state.sources[step.predicate])
            guard = conj(guard, predicate)
            if guard == 0:
                self._skip(step, state)
                return
        self._check(step, state, guard)
        values = state.values
        sources = [None if f is None else f(values) for f in step.sources]
        if step.kind == "value":
            result = step.run(step.how, *sources)
            depends = _gather(state.sources, step.reads)
        elif step.kind == "effect":
            self._step, self._guard, self._control, self._read = step, guard, control, None
            result = step.run(step.how, self, *sources)
            depends = _NONE if self._read is None else {self._read: 1}
        else:
            return
        targets = step.targets
        if len(targets) == 1:
            self._write(targets[0], result, depends, step, state, predicate)
        elif targets:
            for target, value in zip(targets, result, strict=True):
                self._write(target, value, depends, step, state, predicate)

    def _skip(self, step: Step, state: State) -> None:
        """A guard that is false leaves registers as they are, but which value stands there still hangs on it."""
        assert step.predicate is not None
        for target in step.targets:
            if target is not None:
                register = target.register
                state.sources[register] = _union(state.sources[register], state.sources[step.predicate])

    def _write(
        self, target: Target | None, value: Value, depends: Dependencies, step: Step, state: State, predicate: Value
    ) -> None:
        if target is None:
            return
        register, from_width, width, signed = target
        if width != from_width:
            value = _resize(value, from_width, width, signed)
        if step.predicate is not None:
            if predicate != 1:
                value = ite(predicate, value, state.values[register], width)
                depends = _choose(predicate, depends, state.sources[register])
            depends = _union(depends, state.sources[step.predicate])
        state.values[register] = value
        state.sources[register] = depends
        if state.defined[register] != 1:
            state.defined[register] = disj(state.defined[register], predicate)

    def _check(self, step: Step, state: State, guard: Value) -> None:
        defined = state.defined
        for register in step.reads:
            if type(defined[register]) is not int or not defined[register]:
                self._check_register(register, step, guard, state)

    def _check_register(self, register: int, step: Step, guard: Value, state: State) -> None:
        if conj(guard, negate(state.defined[register])) == 0:
            return
        name = self.code.registers[register].name
        instruction = step.instruction
        span = instruction.span
        for operand in (instruction.guard, *instruction.operands):
            inner = getattr(operand, "base", operand)
            if isinstance(inner, Name) and inner.name.lstrip("%") == name:
                span = guard_span(instruction) if operand is instruction.guard else find_span(instruction, inner)
        message = f"register '{name}' is read here, but not written on every path that leads here"
        if type(state.defined[register]) is int:
            message = f"register '{name}' is read here before anything wrote it"
        hint = f"give it a value first, or in the init block, as in P0:{name}=0"
        self._undefined.setdefault(Diagnostic(span, message, hint))

    def _finish(self, end: State | None) -> None:
        self.finishes = 0 if end is None else end.guard
        for number, r in enumerate(self.code.registers):
            if r.final:
                value: Value = r.initial if end is None else end.values[number]
                self.registers[r.name] = FinalRegister(value, r.width, r.signed)


def _key(block: Block, iterations: tuple[int, ...]) -> tuple[int, ...]:
    """Where a block with its iteration counts stands in the order of the unrolled graph."""
    if not iterations:
        return block.position
    key: list[int] = []
    for position, iteration in zip(block.position, iterations, strict=False):
        key += (position, iteration)
    key.append(block.position[-1])
    return tuple(key)


def _merge(state: State, other: State, code: ThreadCode, ending: bool) -> None:
    """Joins the path of `other` into `state`: where it was taken, its registers hold. At the end only values matter."""
    condition = _difference(other.guard, state.guard)
    state.guard = disj(state.guard, other.guard)
    values, sources, defined = state.values, state.sources, state.defined
    for i, value in enumerate(other.values):
        if value is not values[i]:
            values[i] = ite(condition, value, values[i], code.registers[i].width)
        if ending:
            continue
        if other.sources[i] is not sources[i]:
            sources[i] = _choose(condition, other.sources[i], sources[i])
        if other.defined[i] is not defined[i]:
            defined[i] = ite(condition, other.defined[i], defined[i], 1)
    if not ending and other.control is not state.control:
        state.control = _choose(condition, other.control, state.control)


def _difference(guard: Value, other: Value) -> Value:
    """A shorter condition that tells two exclusive paths apart: `guard` without what both have in common."""
    if type(guard) is Term and type(other) is Term and guard.op == "all":
        common = other.args if other.op == "all" else (other,)
        return all_of(a for a in guard.args if a not in common)
    return guard


def _resize(value: Value, width: int, to: int, signed: bool) -> Value:
    if width == to:
        return value
    if to < width:
        return extract(value, to - 1, 0)
    return sext(value, width, to) if signed else zext(value, to)


# Dependencies are shared between registers and effects, and never changed once made.


def _gather(sources: list[Dependencies], registers: Iterable[int]) -> Dependencies:
    result = _NONE
    for register in registers:
        result = _union(result, sources[register])
    return result


def _union(a: Dependencies, b: Dependencies) -> Dependencies:
    if not b or a is b:
        return a
    if not a:
        return b
    result = dict(a)
    for index, condition in b.items():
        result[index] = disj(result[index], condition) if index in result else condition
    return result


def _choose(condition: Value, a: Dependencies, b: Dependencies) -> Dependencies:
    if type(condition) is int:
        return a if condition else b
    result: dict[int, Value] = {}
    for index in {**b, **a}:
        chosen = ite(condition, a.get(index, 0), b.get(index, 0), 1)
        if chosen != 0:
            result[index] = chosen
    return result

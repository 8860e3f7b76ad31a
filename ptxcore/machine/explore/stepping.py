"""Executes the steps of one basic block on the state of a thread: registers, what they depend on, whether they were
written."""

from __future__ import annotations

from ptxcore.clock import tick
from ptxcore.diagnostics import Diagnostic
from ptxcore.machine.explore.actions import Actions, AnswerOf
from ptxcore.machine.explore.state import State
from ptxcore.machine.ir.dependencies import NO_DEPENDENCIES, Dependencies, choose, gather, idle, settled, union
from ptxcore.machine.ir.effects import FinalRegister
from ptxcore.machine.ir.steps import CARRY, Block, InstructionStep, ResultTarget, ThreadCode
from ptxcore.syntax.spans import find_span, guard_span
from ptxcore.syntax.tree import Name
from ptxcore.values.packed import resize
from ptxcore.values.terms import Value, conj, disj, implies, ite, negate

#: Instructions at which others wait for a thread, besides those of its warp: whether it comes there decides how they go on.
_MEETING = frozenset(("bar", "barrier"))


class Stepping(Actions):
    """A thread as far as single blocks go: `engine.Thread` follows the control flow between them."""

    def __init__(self, code: ThreadCode, answer: AnswerOf) -> None:
        super().__init__(answer, code.special)
        self.code = code
        self.finishes: Value = 0
        self.control: Dependencies = NO_DEPENDENCIES
        self._passed: Dependencies = (
            NO_DEPENDENCIES  # what decided that it came to a barrier, or passed by, by predicates
        )
        self.registers: dict[str, FinalRegister] = {}
        self._known: Value = 1  # the condition under which the result of the step in progress is one
        self._undefined: dict[Diagnostic, None] = {}
        self._idle = False  # whether some dependencies carry no value

    def _block(self, block: Block, state: State, edges: list[tuple[int, State]]) -> None:
        self._state = state
        for step in block.steps:
            tick()
            self._execute(step, state)
            if self._stopped != 0:
                self._end(state)
                if state.guard == 0:
                    return
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

    def _end(self, state: State) -> None:
        """Who has stopped has stopped the whole launch (9.7.19.4): no thread of it comes to its end."""
        state.guard = conj(state.guard, negate(self._stopped))
        self._stopped = 0

    def _condition(self, end: InstructionStep, state: State) -> Value:
        """Whether the branch or exit at the end of a block is taken; what decides it controls everything after."""
        taken: Value = 1
        if end.predicate is not None:
            taken = self._predicate(end, state)
        if taken != 0 and end.sources:
            self._check(end, state, conj(state.guard, taken))
            taken = conj(taken, end.run(end.how, *[f(state.values) for f in end.sources if f is not None]))
            state.control = union(state.control, gather(state.sources, end.reads))
        return taken

    def _predicate(self, step: InstructionStep, state: State) -> Value:
        """The value of the guard; a branch's is a control dependency of everything after."""
        register = step.predicate
        assert register is not None
        if type(state.defined[register]) is not int or not state.defined[register]:
            self._check_register(register, step, state.guard, state)
        if step.kind in ("branch", "exit"):
            state.control = union(state.control, state.sources[register])
        value = state.values[register]
        return negate(value) if step.negated else value

    def _execute(self, step: InstructionStep, state: State) -> None:
        guard = state.guard
        control = state.control
        predicate: Value = 1
        if step.predicate is not None:
            predicate = self._predicate(step, state)
            decided = state.sources[step.predicate]
            control = union(control, decided)
            if step.kind == "warp" or step.how.form.mnemonic in _MEETING:
                self._passed = union(self._passed, {i: conj(state.guard, when) for i, when in decided.items()})
            guard = conj(guard, predicate)
            if guard == 0:
                self._skip(step, state)
                return
        self._check(step, state, guard)
        values = state.values
        sources = [None if f is None else f(values) for f in step.sources]
        kind = step.kind
        targets = step.targets
        if kind == "value":
            result = step.run(step.how, *sources)
            depends = gather(state.sources, step.reads)
            if step.folded and depends:
                depends, self._idle = idle(depends), True
        elif kind == "effect" or kind == "warp":
            self.begin(step, sources, guard, control)
            result = step.run(step.how, self, *sources) if kind == "effect" else self.together(step.how)
            depends = self._returned
            if self._wait is not None:
                self._wait.complete, self._wait = result, None
            if self._elements is not None:
                elements, self._elements = self._elements, None
                for target, value, own in zip(targets, result, elements, strict=True):
                    self._write(target, value, own, step, state, predicate)
                return
        else:
            return
        if len(targets) == 1:
            self._write(targets[0], result, depends, step, state, predicate)
        elif targets:
            for target, value in zip(targets, result, strict=True):
                self._write(target, value, depends, step, state, predicate)

    def _skip(self, step: InstructionStep, state: State) -> None:
        """A guard that is false leaves registers as they are, but which value stands there still hangs on it."""
        assert step.predicate is not None
        for target in step.targets:
            if target is not None:
                register = target.register
                state.sources[register] = union(state.sources[register], state.sources[step.predicate])

    def _write(
        self,
        target: ResultTarget | None,
        value: Value,
        depends: Dependencies,
        step: InstructionStep,
        state: State,
        predicate: Value,
    ) -> None:
        if target is None:
            return
        register, from_width, width, signed = target
        if width != from_width:
            value = resize(value, from_width, width, signed)
        if step.predicate is not None:
            if predicate != 1:
                value = ite(predicate, value, state.values[register], width)
                depends = choose(predicate, depends, state.sources[register])
            depends = union(depends, state.sources[step.predicate])
        state.values[register] = value
        state.sources[register] = depends
        if self._known != 1:
            state.defined[register] = ite(predicate, self._known, state.defined[register], 1)
        elif state.defined[register] != 1:
            state.defined[register] = disj(state.defined[register], predicate)

    def _check(self, step: InstructionStep, state: State, guard: Value) -> None:
        defined = state.defined
        for register in step.reads:
            if type(defined[register]) is not int or not defined[register]:
                self._check_register(register, step, guard, state)

    def _check_register(self, register: int, step: InstructionStep, guard: Value, state: State) -> None:
        if implies(guard, state.defined[register]):
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
        hint: str | None = f"give it a value first, or in the init block, as in P0:{name}=0"
        if name == CARRY or self.code.private is not None:
            hint = None
        self._undefined.setdefault(Diagnostic(span, message, hint))

    def _finish(self, end: State | None) -> None:
        self.finishes = 0 if end is None else end.guard
        self.control = NO_DEPENDENCIES if end is None else union(end.control, self._passed)
        if self._idle:
            self._settle()
        for number, r in enumerate(self.code.registers):
            if r.final:
                value: Value = r.initial if end is None else end.values[number]
                self.registers[r.name] = FinalRegister(value, r.width, r.signed)

    def _settle(self) -> None:
        """Tells of each effect what it depends on, and what of that carries a value."""
        self.control, _ = settled(self.control)
        for e in self.effects:
            e.control_dependencies, _ = settled(e.control_dependencies)
            e.address_dependencies, address = settled(e.address_dependencies)
            e.data_dependencies, data = settled(e.data_dependencies)
            e.address_carrying = None if address is e.address_dependencies else address
            e.data_carrying = None if data is e.data_dependencies else data

"""A kernel made ready to explore: its lowered instructions become steps in blocks, which all threads of a launch share.

    functions -> instances, one for each call (their registers side by side, their frames on one stack)
              -> shapes of blocks -> dead code pruned -> loops and live registers -> blocks

Special registers are registers that are known at the start; a thread is the shared code with its own values for them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Mapping

from ptxcore.isa import stack
from ptxcore.isa.table import TYPED
from ptxcore.machine.explore.assertions import Impossible, drop_impossible
from ptxcore.machine.explore.instances import Instances
from ptxcore.machine.explore.observable import effect_free, matters
from ptxcore.machine.explore.runtime import Runtime, RuntimeArgument
from ptxcore.machine.explore.unspelled import (
    forgetting,
    refusing,
    restoring,
    saving,
    step_of,
    taken,
    transfer,
)  # fmt: skip
from ptxcore.machine.ir.operands import Fetch
from ptxcore.machine.ir.private_memory import Constants, Private
from ptxcore.machine.ir.steps import RegisterInfo, ThreadCode
from ptxcore.machine.ir.windows import LOCAL, PARAM
from ptxcore.machine.loops.control_flow import kernel_blocks
from ptxcore.machine.loops.passes import Traits, after_passes
from ptxcore.machine.lower.graph import InlinedFunction
from ptxcore.machine.lower.ops import CallTarget, Code, ExecutableModule, Op
from ptxcore.records import dataclass
from ptxcore.syntax.tree import Instruction
from ptxcore.values.terms import eq, mask

#: How deep a function may call itself; and how deep once there are so many blocks.
_DEEPEST, _DEEPEST_OF_MANY = 64, 8
_MANY_BLOCKS = 1000
_FRAME_ALIGN = 16


@dataclass(slots=True)
class Explorable:
    """A kernel ready to explore. `special` has the register of each special register that it reads; `lines` file and line of
    the source by line of the PTX."""

    code: ThreadCode
    special: dict[str, int]
    lines: dict[int, tuple[str, int]]

    @property
    def constant(self) -> frozenset[int]:
        """The addresses of the variables that never change."""
        assert self.code.private is not None
        return frozenset(c.address for c in self.code.private.constants)

    def thread(self, special: Mapping[str, int], heap: Callable[[Hashable], int] | None = None) -> ThreadCode:
        """The code of one thread, whose special registers are known (`SHARED_BASE` among them), and which has its part of a
        heap. Raises KeyError with a register that is not known."""
        registers = list(self.code.registers)
        for name, register in self.special.items():
            value = 0 if name.endswith(".w") else special[name]
            registers[register] = registers[register]._replace(initial=value & mask(registers[register].width))
        return self.code._replace(registers=tuple(registers), special=special, heap=heap)

    def bounded(self, bounds: Mapping[str, int]) -> Explorable:
        """The same with bounds for single loops, by a label, a line of the PTX, or `FILE:LINE` of the source. Raises KeyError
        with what names no loop."""
        found: dict[int, int] = {}
        for name, iterations in bounds.items():
            headers = self._loops_at(name)
            if not headers:
                raise KeyError(name)
            found |= dict.fromkeys(headers, iterations)
        return Explorable(self.code._replace(bounds=found), self.special, self.lines)

    def _loops_at(self, name: str) -> set[int]:
        """The headers of the innermost loops in which a name lies."""
        headers: set[int] = set()
        depth: dict[int, int] = {}
        for block in self.code.blocks:
            steps = block.steps if block.end is None else (*block.steps, block.end)
            if block.loops and (name in block.label.split() or any(self._lies_at(s.instruction, name) for s in steps)):
                header = block.loops[-1].header
                headers.add(header)
                depth[header] = len(block.loops)
        deepest = max(depth.values(), default=0)
        return {header for header in headers if depth[header] == deepest}

    def _lies_at(self, instruction: Instruction, name: str) -> bool:
        line = instruction.span.line
        if name == str(line):
            return True
        source = self.lines.get(line)
        if source is None:
            return False
        file, _, number = name.rpartition(":")
        return bool(file) and number == str(source[1]) and (source[0] == file or source[0].endswith(f"/{file}"))


def explorable(
    program: ExecutableModule,
    entry: str,
    parameters: bytes,
    impossible: Impossible = lambda condition: False,
    off: Collection[str] = (),
) -> Explorable:
    """A kernel of a module, ready to explore, with the bytes of its parameters. `impossible` is asked whether what leads to
    an assertion's failure excludes itself. `off` are names of passes that are left out (`axioms.passes`). Raises InputError for
    what cannot be explored wherever it stands; most of that is refused when a thread comes to it."""
    return _Maker(program, entry, parameters, off).result(impossible)


class _Maker(Instances):
    def __init__(self, program: ExecutableModule, entry: str, parameters: bytes, off: Collection[str]) -> None:
        super().__init__(program, entry, off)
        self.parameters = parameters
        self.lines: dict[int, tuple[str, int]] = {}
        self.waiting: deque[tuple[InlinedFunction, int]] = deque()
        self.failing: list[int] = []  # the blocks in which assertions fail

    def result(self, impossible: Impossible) -> Explorable:
        code = self.program.functions[self.entry]
        first, end = self.block(), self.block()
        self.waiting.append((self.instance(code, LOCAL, end, ()), first))
        while self.waiting:  # the outermost calls first, lest one recursion leave nothing to the others
            self.expand(*self.waiting.popleft())
        constants = self.constants()
        if "impossible-assertions" not in self.off:
            drop_impossible(self.blocks, self.failing, self.widths, constants, impossible)
        last = len(self.blocks) - 1
        order = list(range(len(self.blocks)))
        order[end], order[last] = last, end  # the end of the thread comes last
        traits = Traits(matters, effect_free, self.widths)
        made = kernel_blocks(after_passes(self.shapes(order, self.widths), traits, self.off), len(self.widths))
        known = set(self.special.values())
        registers = tuple(
            RegisterInfo(name, width, False, 0, i in known, False)
            for i, (name, width) in enumerate(zip(self.names, self.widths, strict=True))
        )
        private = Private(LOCAL, self.stack, tuple(constants))
        return Explorable(ThreadCode(made, registers, TYPED, {}, private), self.special, self.lines)

    def constants(self) -> list[Constants]:
        found = [Constants(PARAM, self.parameters, "the kernel's parameters")] if self.parameters else []
        for placed in self.program.layout.variables:
            if placed.space == "const" or placed.address in self.never_written:
                data = placed.data + bytes(max(0, placed.size - len(placed.data)))
                found.append(Constants(placed.address, data, placed.name))
        return found

    # Functions.

    def fill(self, at: InlinedFunction, block: int, start: int, end: int, number: Mapping[int, int]) -> None:
        for op in at.code.ops[start:end]:
            if op.location >= 0:
                self.lines[op.instruction.span.line] = self.program.locations[op.location]
        super().fill(at, block, start, end, number)

    def append(self, at: InlinedFunction, op: Op, block: int, i: int, number: Mapping[int, int]) -> bool:
        kind = op.use.form.kind
        if op.call is not None:
            self.call(at, op, op.call, block, number[i + 1])
        elif op.refused or (op.use.form.run is None and kind not in ("nothing", "jump")):
            self.blocks[block].steps.append(refusing(op, f"'{op.name}' cannot be explored", self.guard(at, op)))
        elif kind == "jump":
            self.jump(at, op, block, [number[at.code.labels[label]] for label in op.labels], number[i + 1])
        elif kind != "nothing":
            return super().append(at, op, block, i, number)
        return op.call is not None or (kind == "jump" and not op.refused)

    def leaves_to(self, at: InlinedFunction, op: Op) -> int:
        return 1 if op.use.form.mnemonic == "exit" or at.code.entry else at.back

    def skipping(self, at: InlinedFunction, op: Op, block: int, otherwise: int) -> int:
        """The block in which an instruction is done whose guard holds; elsewhere control goes on with `otherwise`."""
        if op.guard is None:
            return block
        here = self.blocks[block]
        slot, negated = op.guard
        here.end = step_of(op, "branch", taken, guard=(at.registers + slot, not negated))
        here.target, here.follows = otherwise, self.block()
        return here.follows

    def jump(self, at: InlinedFunction, op: Op, block: int, goals: list[int], following: int) -> None:
        """A branch by a table, as a branch for each entry."""
        block = self.skipping(at, op, block, following)
        index, reads = self.fetch(at, op, op.sources[0], block)
        for i, goal in enumerate(goals):
            block = self.choice(op, block, index, reads, i, goal)
        self.ends(op, block, "bad-branch", f"the index of a branch with {len(goals)} targets is out of range")

    def choice(self, op: Op, block: int, index: Fetch, reads: tuple[int, ...], number: int, goal: int) -> int:
        """A branch to `goal` where a value is a number; gives the block for all others."""
        here = self.blocks[block]
        here.end = step_of(op, "branch", lambda how, value: eq(value, number), sources=(index,), reads=reads)
        here.target, here.follows = goal, self.block()
        return here.follows

    def ends(self, op: Op, block: int, kind: str, message: str) -> None:
        """The thread must not come here."""
        here = self.blocks[block]
        here.steps.append(step_of(op, "effect", lambda how, thread: thread.require(0, kind, message)))
        here.follows = 1

    # Calls.

    def call(self, at: InlinedFunction, op: Op, call: CallTarget, block: int, following: int) -> None:
        block = self.skipping(at, op, block, following)
        if call.pointer is None:
            self.call_named(at, op, call, call.name, block, following)
            return
        pointer, reads = self.fetch(at, op, call.pointer, block)
        for name, address in self.program.layout.functions.items():
            code = self.program.functions.get(name)
            if code is not None and not code.entry and _agrees(call, code):
                goal = self.block()
                block = self.choice(op, block, pointer, reads, address, goal)
                self.call_named(at, op, call, name, goal, following)
        self.ends(op, block, "bad-call", "a call goes to an address where no function is")

    def call_named(self, at: InlinedFunction, op: Op, call: CallTarget, name: str, block: int, following: int) -> None:
        code = self.program.functions[name]
        here = self.blocks[block]
        if not code.defined:
            self.call_runtime(at, op, call, name, block, following)
            return
        depth = at.around.count(code.name)
        if depth >= (_DEEPEST if len(self.blocks) < _MANY_BLOCKS else _DEEPEST_OF_MANY):
            message = f"'{name}' calls itself more than {depth} times, which is not explored"
            here.steps.append(refusing(op, message))
            here.follows = following
            return
        frame = -(-(at.frame + at.code.frame) // _FRAME_ALIGN) * _FRAME_ALIGN
        back = self.block()
        inner = self.instance(code, frame, back, at.around)
        if code.frame and not inner.is_promoted:
            here.steps.append(forgetting(op, frame, code.frame))
        for passed, formal in zip(call.arguments, code.parameters, strict=False):
            size = formal.size if passed.source is not None else min(passed.size, formal.size)
            here.steps.append(transfer(op, self.given(at, passed), self.taking(inner, formal), size))
        for formal, passed in zip(code.results, call.results, strict=False):
            size = formal.size if passed.source is not None else min(passed.size, formal.size)
            step = transfer(op, self.returned(inner, formal), self.wanted(at, passed, size), size)
            self.blocks[back].steps.append(step)
        if any(op.use.form.run in _GROWING for op in code.ops):
            saved = self.register("the stack pointer", 64)
            here.steps.append(saving(op, saved))
            self.blocks[back].steps.append(restoring(op, saved))
        here.follows = self.block()
        self.blocks[back].follows = following
        self.waiting.append((inner, here.follows))

    def call_runtime(
        self, at: InlinedFunction, op: Op, call: CallTarget, name: str, block: int, following: int
    ) -> None:
        """A function that the CUDA runtime gives. A failed assertion ends the thread."""
        here = self.blocks[block]
        here.follows = following
        arguments = [RuntimeArgument(self.given(at, a), a.size) for a in call.arguments]
        size = (call.results[0].size or 8) if call.results else 0
        result = self.wanted(at, call.results[0], size) if call.results else None
        step = Runtime(self.program.layout).call(op, name, arguments, result, size)
        here.steps.append(step or refusing(op, f"a call of '{name}' cannot be explored"))
        if name == "__assertfail":
            here.follows = 1
            self.failing.append(block)


#: What moves the end of the stack, which comes back when a function returns.
_GROWING = (stack.alloca, stack.stackrestore)


def _agrees(call: CallTarget, code: Code) -> bool:
    """Whether a function may be the one that a call through a pointer means: as many arguments and results."""
    return len(call.arguments) == len(code.parameters) and len(call.results) == len(code.results)

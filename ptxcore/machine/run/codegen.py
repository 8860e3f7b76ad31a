"""Functions as Python: each basic block becomes one Python function over the registers of a thread.

A block is `def bN(T, R, P)`: `T` the thread, `R` its registers, `P` the parameters of the kernel; it gives the number of
the block that follows. What an instruction does comes from its meaning: terms printed as Python (`expressions`), or the
meaning itself, called. Each instruction has lines of its own, so that the line at which Python stops tells the instruction.
An instruction that may have to wait begins a block: waiting is stopping there and running the block again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxcore.isa import data_movement
from ptxcore.isa.form import Use
from ptxcore.machine.ir.collective import brought
from ptxcore.machine.ir.steps import CHANGING
from ptxcore.machine.ir.windows import PARAM, SHARED
from ptxcore.machine.lower.layout import DYNAMIC
from ptxcore.machine.lower.ops import DROPPED, Code, ExecutableModule, Op, Source, TargetRegister, Targets
from ptxcore.machine.run.expressions import Printer
from ptxcore.machine.run.special import OF_THREAD, TOLD
from ptxcore.values.terms import Term, Value, mask, symbol

#: What ends a thread.
DONE = -1

#: Instructions that are ordered with what other threads do, besides loads and stores that are.
_ORDERED = frozenset(("red", "fence", "membar"))
#: Instructions, but for the collective ones, that may have to wait for others.
_WAITING = frozenset(("bar", "barrier", "cp", "griddepcontrol", "mbarrier", "wgmma"))
#: How a thread reads and writes a state space that the instruction names; elsewhere the address tells.
#: Each is there for some numbers of bytes too, with that number behind its name.
_READS = {"global": "read_global", "shared": "read_shared"}
_WRITES = {"global": "write_global", "shared": "write_shared"}
_WORDS = (1, 2, 4, 8)
_LOADS = (data_movement.ld,)
_STORES = (data_movement.st,)
#: Loads that may see what others write meanwhile.
_STRONG = frozenset(("volatile", "relaxed", "acquire", "mmio"))
#: Instructions that end a block.
ENDS = ("branch", "exit", "jump", "call", "return")


class Compiled:
    """A program as Python. `blocks` by number; `entries` by function; `where` finds the instruction of a line of the text;
    `costs` counts the instructions of each block, and `begins` says where it begins."""

    def __init__(self) -> None:
        self.blocks: list[Callable[..., int]] = []
        self.costs: list[int] = []
        self.begins: list[tuple[Code, int]] = []
        self.entries: dict[str, int] = {}
        self.where: list[Op | None] = []
        self.ops: list[Op] = []
        self.compiler: Compiler


#: What a meaning becomes, by its use and the shape of its sources: lines with `{0}` for the sources, and expressions.
Template = tuple[tuple[str, ...], tuple[str, ...]]


class Compiler:
    """Compiles a program."""

    def __init__(self, program: ExecutableModule, watched: bool = False, fine: bool = False) -> None:
        self.program, self.watched, self.fine = program, watched, fine
        self.lines: list[str] = []
        self.where: list[Op | None] = [None]
        self.names: dict[str, Any] = {}
        self.starts: dict[tuple[str, int], int] = {}
        self.places: dict[int, tuple[Code, int]] = {}  # of ops, by identity; made when first needed
        self.templates: dict[Any, Template | None] = {}
        self.uses: dict[int, str] = {}
        self.ops: list[Op] = []

    def compile(self) -> Compiled:
        """The whole program; each function becomes Python when a thread first comes to it. An instruction that has no
        meaning yet refuses when it is reached."""
        compiled = Compiled()
        for name, code in self.program.functions.items():
            if name != code.name:  # an alias
                continue
            cuts = self.cuts(code)
            numbers = range(len(compiled.blocks), len(compiled.blocks) + len(cuts))
            compiled.entries[code.name] = numbers[0]
            self.starts.update(zip(((code.name, cut) for cut in cuts), numbers, strict=True))
            compiled.costs += [max(1, end - cut) for cut, end in zip(cuts, [*cuts[1:], len(code.ops)], strict=True)]
            compiled.begins += [(code, cut) for cut in cuts]
            compiled.blocks += [_awaiting(self, compiled, code, cuts, number) for number in numbers]
        compiled.where, compiled.ops = self.where, self.ops
        compiled.compiler = self
        return compiled

    def function(self, compiled: Compiled, code: Code, cuts: list[int]) -> None:
        """Makes the blocks of a function."""
        first = len(self.where)
        for cut, end in zip(cuts, [*cuts[1:], len(code.ops)], strict=True):
            self.block(code, cut, end)
        self.execute(first)
        for cut in cuts:
            number = self.starts[code.name, cut]
            compiled.blocks[number] = self.names[f"b{number}"]

    def execute(self, first: int) -> None:
        """Runs the lines from a number on, which define blocks; `where` knows them by that number."""
        text = "\n" * (first - 1) + "\n".join(self.lines) + "\n"
        self.lines = []
        exec(__builtins__["compile"](text, "<kernel>", "exec"), self.names)  # type: ignore[index]

    def behind(self, compiled: Compiled, op: Op) -> int:
        """The number of the block that goes on behind an instruction, wherever it stands; compiled when first asked for."""
        code, at = self.place_of(op)
        return self._from(compiled, code, at + 1)

    def again(self, compiled: Compiled, op: Op) -> int:
        """The number of the block that begins with an instruction, wherever it stands; compiled when first asked for."""
        return self._from(compiled, *self.place_of(op))

    def _from(self, compiled: Compiled, code: Code, at: int) -> int:
        number = self.starts.get((code.name, at))
        if number is None:
            number = self.starts[code.name, at] = len(compiled.blocks)
            end = next((cut for cut in self.cuts(code) if cut > at), len(code.ops))
            first = len(self.where)
            self.block(code, at, end)
            self.execute(first)
            compiled.blocks.append(self.names[f"b{number}"])
            compiled.costs.append(max(1, end - at))
            compiled.begins.append((code, at))
        return number

    def place_of(self, op: Op) -> tuple[Code, int]:
        """The function that an instruction stands in, and its number there."""
        if not self.places:
            self.places = {id(o): (c, i) for c in self.program.functions.values() for i, o in enumerate(c.ops)}
        return self.places[id(op)]

    # Blocks.

    def cuts(self, code: Code) -> list[int]:
        """Where blocks begin."""
        return block_cuts(code, self.program.together or self.fine, self.watched)

    def emit(self, line: str, op: Op | None) -> None:
        self.lines.append(line)
        self.where.append(op)

    def block(self, code: Code, start: int, end: int) -> None:
        self.emit(f"def b{self.starts[code.name, start]}(T, R, P):", None)
        if any(polls(op) for op in code.ops[start:end]):
            self.emit(f"    T.polls({self.starts[code.name, start]})", None)
        ended = False
        for i in range(start, end):
            op = code.ops[i]
            lines = self.instruction(code, op, i)
            indent = "    "
            if op.guard is not None:
                slot, negated = op.guard
                self.emit(f"    if {'not ' if negated else ''}R[{slot}]:", op)
                indent = "        "
            for line in lines or ["pass"]:
                self.emit(indent + line, op)
            ended = op.use.form.kind in ENDS and op.guard is None
        if not ended:
            following = self.starts.get((code.name, end)) if start < len(code.ops) else None
            self.emit(f"    return {following}" if following is not None else f"    return T.leave({code.entry})", None)

    def instruction(self, code: Code, op: Op, at: int) -> list[str]:
        kind = op.use.form.kind
        if op.refused:
            return [f"T.refuse({self.op(op)})"]
        if op.call is not None:
            return [f"return T.call({self.op(op)}, {self.starts[code.name, at + 1]})"]
        if kind == "branch" or op.use.form.mnemonic == "bra":
            return [f"return {self.goal(code, op.labels[0])}"]
        if kind == "jump":
            table = ", ".join(str(self.goal(code, label)) for label in op.labels)
            return [f"return T.jump(({table},), {self.argument(op.sources[0])})"]
        if kind == "exit":
            return ["return T.leave(True)" if op.use.form.mnemonic == "exit" else f"return T.leave({code.entry})"]
        if kind == "nothing":
            return []
        if op.use.form.run is None:
            return [f"T.refuse({self.op(op)})"]
        if kind == "effect":
            return self.effect(op)
        if kind == "warp":
            arguments = "".join(f"{self.argument(s)}, " for s in op.sources)
            number, whole = self.op(op), op.use.form.whole
            if whole is None:
                return self.assigned(op, f"T.collective({number}, ({arguments}))")
            call = f"T.collective({number}, brought({self.how(op.use)}, ({arguments})))"
            self.names["brought"] = brought
            if whole.after is not None:
                name = f"m{id(whole.after)}"
                self.names[name] = whole.after
                call = f"{name}({self.how(op.use)}, T, {call}, {arguments})"
            return self.assigned(op, call, before=f"T.op = {number}")
        if op.use.form.mnemonic in ("div", "rem") and op.use.type[:1] in ("u", "s"):
            return self.quotient(op)
        return self.value(op)

    def quotient(self, op: Op) -> list[str]:
        """A division of integers, whose result is unknown where it is by zero."""
        target = op.targets[0]
        if not isinstance(target, TargetRegister):
            return self.value(op)
        divisor = self.argument(op.sources[1])
        normal = [f"    {line}" for line in self.value(op)]
        return [f"if {divisor}:", *normal, "else:", f"    R[{target.slot}] = T.divided_by_zero({self.op(op)})"]

    def goal(self, code: Code, label: str) -> int:
        at = code.labels[label]
        return self.starts[code.name, at]

    def op(self, op: Op) -> int:
        self.ops.append(op)
        return len(self.ops) - 1

    # Operands.

    def argument(self, source: Source | None) -> str:
        """The value of a source, cut to the operand's width, as Python."""
        if source is None:
            return "None"
        kind = source.kind
        if kind == "register":
            text = f"R[{source.value}]"
            if source.has > source.width:
                text = f"({text} & {mask(source.width)})"
            if source.negated:
                text = f"(1 - {text})"
        elif kind == "constant":
            return str((source.value + source.offset) & mask(source.width))
        elif kind == "frame":
            return f"(T.base + {source.value + source.offset})"
        elif kind == "shared":
            if source.value == DYNAMIC:
                return f"(T.dynamic + {source.offset})"
            return f"(T.shared + {self.program.layout.shared_variables[source.value].offset + source.offset})"
        elif kind == "special":
            text = (
                f"T.ask({source.name!r})"
                if source.name in CHANGING or (self.watched and source.name not in TOLD)
                else f"{_keeper(source.name)}.special[{source.name!r}]"
            )
            return f"({text} & {mask(source.width)})" if source.has > source.width else text
        else:
            return f"({''.join(self.argument(part) + ', ' for part in source.parts)})"
        return f"({text} + {source.offset} & {mask(source.width)})" if source.offset else text

    # Memory.

    def effect(self, op: Op) -> list[str]:
        use = op.use
        run = use.form.run
        plain = "vec" not in use.present or isinstance(op.targets[0] if op.targets else None, list)
        told = [f"T.op = {self.op(op)}"] if self.watched else []
        if run in _LOADS and plain:
            return told + self.load(op)
        if run in _STORES and len(op.sources) >= 2:
            return told + self.store(op)
        arguments = "".join(f", {self.argument(s)}" for s in op.sources)
        call = f"{self.meaning(use)}({self.how(use)}, T{arguments})"
        return self.assigned(op, call, before=f"T.op = {self.op(op)}")

    def load(self, op: Op) -> list[str]:
        source = op.sources[0]
        assert source is not None
        address = self.address(op, source)
        targets = op.targets[0]
        size = op.use.width // 8
        read = _READS.get(op.use.space, "read")
        whole = size * len(targets) if isinstance(targets, list) else size
        access = f"T.{read}_{whole}({address})" if whole in _WORDS else f"T.{read}({address}, {whole})"
        if isinstance(targets, TargetRegister) and source.kind == "constant" and PARAM <= source.value < SHARED:
            return [f"R[{targets.slot}] = {_extended(targets, f'P[{address}, {size}]')}"]  # a parameter of the kernel
        if isinstance(targets, list):
            lines = [f"v = {access}"]
            for i, target in enumerate(targets):
                if target is not None:
                    part = f"v >> {i * op.use.width} & {mask(op.use.width)}" if i else f"v & {mask(op.use.width)}"
                    lines.append(f"R[{target.slot}] = {_extended(target, f'({part})')}")
            return lines
        if targets is None:
            return [access]
        return [f"R[{targets.slot}] = {_extended(targets, access)}"]

    def address(self, op: Op, source: Source) -> str:
        """Where an instruction reads or writes; looked at where nobody else sees to its space."""
        text, space = self.argument(source), op.use.space
        if space in _READS or space == "generic" or source.kind != "register":
            return text
        return f"T.of({space!r}, {text})"

    def store(self, op: Op) -> list[str]:
        place, value = op.sources[0], op.sources[1]
        assert place is not None
        assert value is not None
        address = self.address(op, place)
        width = op.use.width
        write = _WRITES.get(op.use.space, "write")
        size, text = width // 8, self.argument(value)
        if value.kind == "vector":
            if any(part.name == DROPPED for part in value.parts):
                return [
                    f"T.{write}({address} + {i * size}, {size}, {self.argument(part._replace(width=width))})"
                    for i, part in enumerate(value.parts)
                    if part.name != DROPPED
                ]
            size *= len(value.parts)
            text = " | ".join(
                f"{self.argument(part._replace(width=width))} << {i * width}" if i else self.argument(part)
                for i, part in enumerate(value.parts)
            )
        if size in _WORDS:
            return [f"T.{write}_{size}({address}, {text})"]
        return [f"T.{write}({address}, {size}, {text})"]

    # Values.

    def value(self, op: Op) -> list[str]:
        use = op.use
        if use.form.carry or use.form.run in _LOADS:
            return self.called(op)
        key = (id(use), tuple(_shape(s) for s in op.sources), len(_flat(op.targets)))
        if key not in self.templates:
            self.templates[key] = self.template(op)
        template = self.templates[key]
        if template is None:
            return self.called(op)
        texts = [self.argument(p) for s in op.sources for p in _leaves(s)]
        lines = [line.format(*texts) for line in template[0]]
        targets = _flat(op.targets)
        results = [expression.format(*texts) for expression in template[1]]
        pairs = [(t, r) for t, r in zip(targets, results, strict=False) if t is not None]
        if len(pairs) > 1:  # all are computed before the first register is written
            left = ", ".join(f"R[{t.slot}]" for t, _ in pairs)
            return [*lines, f"{left} = {', '.join(_extended(t, r) for t, r in pairs)}"]
        return [*lines, *(f"R[{t.slot}] = {_extended(t, r)}" for t, r in pairs)]

    def template(self, op: Op) -> Template | None:
        """What the meaning gives on symbols, printed; None where that is too long or is no term at all."""
        names: dict[Term, str] = {}

        def value_of(source: Source | None) -> Any:
            if source is None:
                return None
            if source.kind == "vector":
                return tuple(value_of(part) for part in source.parts)
            position = len(names) + constants[0]
            if source.kind == "constant":
                constants[0] += 1
                return (source.value + source.offset) & mask(source.width)
            term = symbol(("operand", position), source.width)
            names[term] = f"{{{position}}}"
            return term

        constants = [0]
        sources = [value_of(s) for s in op.sources]
        result = op.use.form.meaning(op.use, *sources)
        values: list[Value] = _flat_values(result)
        printer = Printer(names)
        printed = printer.print(values)
        if printed is None:
            return None
        self.names.update(printer.helpers)
        return tuple(printed[0]), tuple(printed[1])

    def called(self, op: Op) -> list[str]:
        """The meaning, called as it is."""
        use = op.use
        arguments = "".join(f", {self.argument(s)}" for s in op.sources)
        if "in" in use.form.carry.split():
            arguments += ", T.carry"
        call = f"{self.meaning(use)}({self.how(use)}{arguments})"
        if "out" in use.form.carry.split():
            lines = [f"v, T.carry = {call}"]
            return lines + self.spread(op, "v")
        return self.assigned(op, call)

    def assigned(self, op: Op, call: str, before: str = "") -> list[str]:
        lines = [before] if before else []
        if not op.targets:
            return [*lines, call]
        single = op.targets[0] if len(op.targets) == 1 else None
        if isinstance(single, TargetRegister):
            return [*lines, f"R[{single.slot}] = {_extended(single, call)}"]
        return [*lines, f"v = {call}", *self.spread(op, "v")]

    def spread(self, op: Op, name: str) -> list[str]:
        """Writes the parts of a result to their registers."""
        targets = op.targets[0] if len(op.targets) == 1 else op.targets
        return _spread(targets, name)

    def meaning(self, use: Use) -> str:
        name = f"m{id(use.form.meaning)}"
        self.names[name] = use.form.meaning
        return name

    def how(self, use: Use) -> str:
        name = f"h{id(use)}"
        self.names[name] = use
        return name


def _awaiting(compiler: Compiler, compiled: Compiled, code: Code, cuts: list[int], number: int) -> Callable[..., int]:
    """The block of a number, before its function is compiled."""

    def block(*arguments: Any) -> int:
        compiler.function(compiled, code, cuts)
        return compiled.blocks[number](*arguments)

    return block


def _keeper(name: str) -> str:
    """Who has a special register."""
    return "T" if name in OF_THREAD else "T.cta"


def _spread(targets: Targets, name: str) -> list[str]:
    if targets is None:
        return []
    if isinstance(targets, TargetRegister):
        return [f"R[{targets.slot}] = {_extended(targets, name)}"]
    return [line for i, target in enumerate(targets) for line in _spread(target, f"{name}[{i}]")]


def _extended(target: TargetRegister, text: str) -> str:
    """A value as the register takes it: extended by its sign where its type has one."""
    if target.has > target.width and target.signed:
        top = 1 << (target.width - 1)
        return f"(({text} ^ {top}) - {top} & {mask(target.has)})"
    return text


def _shape(source: Source | None) -> Any:
    """What a template depends on."""
    if source is None:
        return None
    if source.kind == "vector":
        return tuple(_shape(part) for part in source.parts)
    return source.width, (source.value + source.offset if source.kind == "constant" else None)


def _leaves(source: Source | None) -> list[Source]:
    if source is None:
        return []
    return [leaf for part in source.parts for leaf in _leaves(part)] if source.kind == "vector" else [source]


def _flat(targets: Targets) -> list[TargetRegister | None]:
    if isinstance(targets, list):
        return [t for inner in targets for t in _flat(inner)]
    return [targets]


def _flat_values(result: Any) -> list[Value]:
    if isinstance(result, tuple):
        return [v for inner in result for v in _flat_values(inner)]
    return [result]


def polls(op: Op) -> bool:
    """Whether an instruction may be how a thread learns what others did: a loop around it may be one that waits."""
    modifiers = op.instruction.modifiers
    if op.instruction.opcode == "ld":
        return not _STRONG.isdisjoint(modifiers)
    return op.instruction.opcode == "atom" or "test_wait" in modifiers


def _told(op: Op) -> bool:
    """Whether an instruction may be how others learn what a thread did, or be ordered with what they do."""
    return op.instruction.opcode in _ORDERED or (op.instruction.opcode == "st" and op.use.sem != "weak")


def block_cuts(code: Code, together: bool, watched: bool = False) -> list[int]:
    """At labels (and at the end, where one stands or a call goes back to), behind whatever ends a block, at whatever may
    wait: who watches may let a thread wait at an atomic operation, a fence, and a load or store that is no weak one. Where the
    threads of a warp go on together, also at each access to memory, so that all load before one stores; and where schedules
    are to be as fine, so that others may come between any two."""
    cuts = {0, *code.labels.values()}
    for i, op in enumerate(code.ops):
        if op.call is not None or (op.use.form.kind in ENDS and i + 1 < len(code.ops)):
            cuts.add(i + 1)
        if op.use.form.kind == "warp" or op.instruction.opcode in _WAITING:
            cuts.add(i)
        if watched and (polls(op) or _told(op)):
            cuts.add(i)
        if together and op.use.form.kind == "effect" and op.use.space != "param":
            cuts.add(i)
    return sorted(cuts)

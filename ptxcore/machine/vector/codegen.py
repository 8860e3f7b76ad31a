"""Functions as Python over arrays: each basic block becomes one function of a group of threads.

A block is `def bN(G, I, n)`: `G` the group, `I` the numbers of the threads that execute it (None: all of the group), `n` how
many they are. Registers are taken from the group at the beginning, are local variables meanwhile, and are put back at the
end where somebody reads them later. It gives the number of the block that follows, or how threads part (`Fork`), or where
they meet others (`CollectiveStop`). Instructions come from the same meanings as those of `run`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxcore.isa import data_movement
from ptxcore.machine.ir.collective import mask_position
from ptxcore.machine.ir.liveness import registers
from ptxcore.machine.ir.windows import PARAM, SHARED
from ptxcore.machine.lower.liveness import live_registers, operands_read, writes
from ptxcore.machine.lower.ops import DROPPED, Code, ExecutableModule, Op, Source, TargetRegister
from ptxcore.machine.run.codegen import DONE, ENDS, _flat, _flat_values, _leaves, polls
from ptxcore.machine.vector.arrays import (
    NAMES,
    ArrayPrinter,
    Unprintable,
    cast,
    each,
    holder,
)
from ptxcore.machine.vector.flow import alone, block_cuts, meets
from ptxcore.machine.vector.operands import VectorOperands
from ptxcore.machine.vector.registers import ALL, NOTHING, Irregular, choose, merge, select
from ptxcore.machine.vector.steps import CollectiveStop, Fork, Meet, divisible, filled, fork, jump, required
from ptxcore.machine.vector.tracing import RANK, TracedThread, Untraceable
from ptxcore.machine.vector.warps import prepared
from ptxcore.values.terms import Term, mask, symbol

_SPACES = frozenset(("global", "shared", "shared::cluster", "local", "const", "param", "generic"))
_MAYBE_SHARED = frozenset(("shared", "shared::cluster", "generic"))
_WORDS = (1, 2, 4, 8)


_HELPERS: dict[str, Any] = {
    **NAMES,
    "ALL": ALL, "NOTHING": NOTHING, "Fork": Fork, "Stop": CollectiveStop, "Irregular": Irregular,
    "choose": choose, "select": select, "merge": merge, "jump": jump, "fork": fork, "divisible": divisible,
    "required": required,
}  # fmt: skip


class Blocks:
    """A kernel as functions over arrays. `run` by number (made when first needed), `costs` count their instructions,
    `meets` says of instructions at which threads meet how they do, `polling` which blocks look at what others write."""

    def __init__(self, program: ExecutableModule, code: Code) -> None:
        self.program, self.code = program, code
        self.cuts = block_cuts(code)
        self.numbers = {cut: i for i, cut in enumerate(self.cuts)}
        self.ends = [*self.cuts[1:], len(code.ops)]
        self.costs = [end - cut for cut, end in zip(self.cuts, self.ends, strict=True)]
        self.run: list[Callable[..., Any]] = [_awaiting(self, i) for i in range(len(self.cuts))]
        self.polling = [any(polls(op) for op in code.ops[a:b]) for a, b in zip(self.cuts, self.ends, strict=True)]
        self.slots = len(code.registers) + 1
        self.carry = len(code.registers)
        self.meets: dict[int, Meet] = {}
        #: Shapes of launches that did not fit.
        self.refused: set[Any] = set()
        #: The bytes of the smallest access that may be to shared memory.
        sizes = [op.use.width // 8 for op in code.ops if op.use.space in _MAYBE_SHARED and op.use.form.kind == "effect"]
        wholes = [(op.use, op.use.form.whole.least) for op in code.ops if op.use.form.whole is not None]
        sizes += [least(use) for use, least in wholes if least is not None]
        self.granule = min((size for size in sizes if size in _WORDS), default=4)
        #: The registers that are live where each block begins and ends; `wanted`: where it begins, one by one.
        self.live = live_registers(code, self.cuts, self.carry)
        self.wanted = [list(registers(bits)) for bits in self.live.begins]

    def make(self, number: int) -> Callable[..., Any]:
        """The function of a block."""
        self.run[number] = _Block(self, number).function()
        return self.run[number]


def _awaiting(blocks: Blocks, number: int) -> Callable[..., Any]:
    return lambda *arguments: blocks.make(number)(*arguments)


class _Block(VectorOperands):
    """The text of one block."""

    def function(self) -> Callable[..., Any]:
        self.names.update(_HELPERS)
        start, end = self.blocks.cuts[self.number], self.blocks.ends[self.number]
        result = str(self.number + 1) if self.number + 1 < len(self.blocks.cuts) else str(DONE)
        written: set[int] = set()
        for op in self.code.ops[start:end]:
            result = self.instruction(op) or result
            written.update(writes(op, self.blocks.carry))
        puts = sorted(slot for slot in written if self.blocks.live.ends[self.number] >> slot & 1 and slot in self.known)
        lines = ["R = G.registers.values"]
        if self.taken:
            lines.append("if I is None:")
            lines += [f"    r{slot} = R[{slot}]" for slot in sorted(self.taken)]
            lines.append("else:")
            lines += [f"    r{slot} = select(R[{slot}], I)" for slot in sorted(self.taken)]
        lines += self.lines
        if puts:
            lines.append("if I is None:")
            lines += [f"    R[{slot}] = r{slot}" for slot in puts]
            lines.append("else:")
            lines += [f"    G.registers.put({slot}, r{slot}, I)" for slot in puts]
        lines.append(f"return {result}")
        text = f"def b{self.number}(G, I, n):\n" + "\n".join(f"    {line}" for line in lines) + "\n"
        exec(compile(text, f"<block {self.number} of {self.code.name}>", "exec"), self.names)
        return self.names[f"b{self.number}"]  # type: ignore[no-any-return]

    # Instructions.

    def instruction(self, op: Op) -> str:
        """Adds the lines of an instruction; gives where threads go, if it says so."""
        kind = op.use.form.kind
        if op.use.form.mnemonic == "tcgen05":
            return self.irregular(op)
        if op.refused or op.call is not None or (op.use.form.run is None and kind not in (*ENDS, "nothing")):
            return self.irregular(op)
        if kind in ENDS or op.use.form.mnemonic == "bra":
            return self.control(op)
        if kind == "nothing":
            return ""
        if meets(op):
            return self.meeting(op)
        if op.guard is None:
            self.lines += self.body(op)
            return ""
        slot, negated = op.guard
        truth = self.register(slot)
        written = writes(op, self.blocks.carry)
        copied = sorted(set(operands_read(op)))
        copied += [self.blocks.carry] if "in" in op.use.form.carry.split() else []
        for r in (*copied, *written):
            self.register(r)
        self.prefix, self.who, self.count = "g", "J", "m"
        body = self.body(op)
        self.prefix, self.who, self.count = "r", "I", "n"
        self.lines += [
            f"k = choose({'~' if negated else ''}{truth}, n)",
            "if k is ALL:",
            *(f"    g{r} = r{r}" for r in copied),
            "    J, m = I, n",
            "elif k is not None:",
            *(f"    g{r} = select(r{r}, k)" for r in copied),
            "    J, m = k if I is None else I[k], k.size",
            "if k is not None:",
            *(f"    {line}" for line in (body or ["pass"])),
            *(f"    r{r} = g{r} if k is ALL else merge(r{r}, k, g{r}, n)" for r in written),
        ]
        return ""

    def irregular(self, op: Op) -> str:
        line = f"raise Irregular({op.name!r})"
        if op.guard is None:
            self.lines.append(line)
            return str(DONE)
        slot, negated = op.guard
        self.lines.append(f"if choose({'~' if negated else ''}{self.register(slot)}, n) is not None: {line}")
        return ""

    def control(self, op: Op) -> str:
        kind = op.use.form.kind
        numbers, labels = self.blocks.numbers, self.code.labels
        if kind == "jump":
            table = ", ".join(str(numbers[labels[label]]) for label in op.labels)
            return f"jump({self.argument(op.sources[0])}, ({table},))" if op.guard is None else self.irregular(op)
        target = DONE if kind in ("exit", "return") else numbers[labels[op.labels[0]]]
        if op.guard is None:
            return str(target)
        slot, negated = op.guard
        below = self.number + 1 if self.number + 1 < len(self.blocks.cuts) else DONE
        return f"fork({'~' if negated else ''}{self.register(slot)}, {target}, {below})"

    def body(self, op: Op) -> list[str]:
        """The lines of an instruction that has no guard, or has seen to it."""
        before = len(self.lines)
        try:
            if op.use.form.kind == "effect":
                return self.effect(op)
            return self.value(op)
        except (Untraceable, Unprintable):
            del self.lines[before:]
            return [f"raise Irregular({op.name!r})", *self._unreached(op)]

    def _unreached(self, op: Op) -> list[str]:
        """Registers have values, for those who read the text."""
        self.known.update(writes(op, self.blocks.carry))
        return [f"{self.prefix}{slot} = NOTHING" for slot in writes(op, self.blocks.carry)]

    # Values.

    def value(self, op: Op) -> list[str]:
        use = op.use
        sources, found = self.symbols(op)
        carry = use.form.carry.split()
        more: dict[Term, str] = {}
        if "in" in carry:
            flag = symbol("carry", 1)
            assert isinstance(flag, Term)
            self.register(self.blocks.carry)
            more[flag] = f"{self.prefix}{self.blocks.carry}"
            sources.append(flag)
        targets: list[TargetRegister | None] = list(_flat(op.targets))
        if "out" in carry:
            targets.append(TargetRegister(self.blocks.carry, 1, 1, False))
        checks = []
        if use.form.mnemonic in ("div", "rem") and use.type[:1] in ("u", "s"):
            checks.append(f"divisible({self.argument(op.sources[1])})")
        values = _flat_values(use.form.meaning(use, *sources))
        if len(targets) != len(values):
            targets = (targets + [None] * len(values))[: len(values)]
        widths = [
            v.width if type(v) is Term else t.width if t is not None else 64
            for v, t in zip(values, targets, strict=True)
        ]
        try:
            printer = self.printer(found, more)
            lines, texts = self.printed(printer, list(zip(values, widths, strict=True)))
        except Unprintable:
            lines, texts = self.one_by_one(op, found, more, widths)
        results = [f"v{i}" for i in range(len(texts))] if len(texts) > 1 else texts
        if len(texts) > 1:  # all are computed before the first register is written
            lines = [*lines, *(f"v{i} = {text}" for i, text in enumerate(texts))]
        written = [self.assigned(t, r, w) for t, r, w in zip(targets, results, widths, strict=True)]
        return [*checks, *lines, *(line for part in written for line in part)]

    def one_by_one(
        self, op: Op, found: dict[Term, Source], more: dict[Term, str], widths: list[int]
    ) -> tuple[list[str], list[str]]:
        """The meaning, called for each thread."""
        use = op.use
        shapes = [_shape(s) for s in op.sources]

        def one(*leaves: int) -> tuple[int, ...]:
            given = iter(leaves)
            sources = [filled(shape, given) for shape in shapes] + list(given)
            return tuple(_flat_values(use.form.meaning(use, *sources)))  # type: ignore[arg-type]

        texts = [self.argument(source) for source in found.values()] + list(more.values())
        for width in (*widths, *(s.width for s in found.values())):
            holder(width)  # raises Unprintable
        if not texts:
            raise Unprintable
        names = [f"v{i}" for i in range(len(widths))]
        return [f"{', '.join(names)}, = {self.name(each(one, widths), 'e')}({', '.join(texts)})"], names

    # Memory.

    def effect(self, op: Op) -> list[str]:
        run = op.use.form.run
        plain = "vec" not in op.use.present or isinstance(op.targets[0] if op.targets else None, list)
        if run is data_movement.ld and plain:
            return self.load(op)
        if run is data_movement.st and len(op.sources) >= 2:
            return self.store(op)
        return self.traced(op)

    def space(self, op: Op, source: Source) -> str:
        """Where the address of an instruction must lie."""
        space = op.use.space
        if source.kind != "register" and not space.startswith(("global", "shared")):
            return "generic"  # its place is known, and may be another space's: that of arguments is the frame
        if space not in _SPACES:
            base = space.partition("::")[0]
            if base not in ("param", "const"):
                raise Untraceable(space)
            space = base
        return space

    def address(self, source: Source) -> str:
        text = self.argument(source)
        if source.width not in (32, 64):
            raise Untraceable("an address")
        return cast(text, source.width, 64) if source.width != 64 else text

    def load(self, op: Op) -> list[str]:
        source = op.sources[0]
        assert source is not None
        given = op.targets[0] if op.targets else None
        targets = given if isinstance(given, list) else [given]
        width = op.use.width
        size = width // 8
        if size not in _WORDS or any(isinstance(t, list) for t in targets):
            raise Untraceable("the size")
        if source.kind == "constant" and PARAM <= source.value < SHARED and given is targets[0]:
            text = f"G.parameter({source.value + source.offset}, {size})"
            return self.assigned(targets[0], text, width)
        where = f"{self.name(op, 'o')}, {self.space(op, source)!r}, {self.address(source)}, {size}"
        if len(targets) == 1:
            lines = [f"v = G.load({where}, {self.who}, {self.count})"]
            return [*lines, *self.assigned(targets[0], "v", width)]
        lines = [f"v = G.load_parts({where}, {len(targets)}, {self.who}, {self.count})"]
        for i, target in enumerate(targets):
            lines += self.assigned(target, f"v[{i}]", width)
        return lines

    def store(self, op: Op) -> list[str]:
        place, value = op.sources[0], op.sources[1]
        assert place is not None
        assert value is not None
        width = op.use.width
        size = width // 8
        if size not in _WORDS:
            raise Untraceable("the size")
        where = f"{self.name(op, 'o')}, {self.space(op, place)!r}, {self.address(place)}"
        if value.kind != "vector":
            return [f"G.store({where}, {size}, {self.argument(value._replace(width=width))}, {self.who}, {self.count})"]
        parts = [part._replace(width=width) for part in value.parts]
        if any(part.name == DROPPED for part in parts):
            raise Untraceable("a part that is dropped")
        texts = "".join(f"{self.argument(part)}, " for part in parts)
        return [f"G.store_parts({where}, {size}, ({texts}), {self.who}, {self.count})"]

    def traced(self, op: Op) -> list[str]:
        """What the meaning asks of a thread that takes it down."""
        use = op.use
        sources, found = self.symbols(op)
        recorder = TracedThread()
        result = use.form.meaning(use, recorder, *sources)
        if recorder.meeting is not None:
            raise Untraceable("a barrier")
        more = {RANK: f"G.rank({self.who})"}
        modification = recorder.modification
        lines: list[str] = []
        if modification is not None:
            lines = self.modified(op, recorder, found)
            more[modification.old] = "v"
        printer = self.printer(found, more)
        for condition in recorder.required:
            if condition != 1:
                more_lines, (text,) = self.printed(printer, [(condition, 1)])
                lines = [*more_lines, f"required({text})", *lines]
        if recorder.fences:
            lines.append(f"G.fence({self.name(op, 'o')}, {self.who})")
        targets = _flat(op.targets)
        values = _flat_values(result) if targets else []
        if any(not isinstance(v, int | Term) for v in values):
            raise Untraceable("the result")
        widths = [
            v.width if type(v) is Term else t.width if t is not None else 64
            for v, t in zip(values, targets, strict=True)
        ]
        more_lines, texts = self.printed(printer, list(zip(values, widths, strict=True)))
        lines += more_lines
        for target, text, width in zip(targets, texts, widths, strict=True):
            lines += self.assigned(target, text, width)
        return lines

    def modified(self, op: Op, recorder: TracedThread, found: dict[Term, Source]) -> list[str]:
        """A read-modify-write: `v` is what was there."""
        modification = recorder.modification
        assert modification is not None
        use = op.use
        size = use.width // 8
        where = next((t for t in found if t is modification.address), None)
        if size not in _WORDS or (where is None and type(modification.address) is not int):
            raise Untraceable("the address")
        place = found[where] if where is not None else op.sources[0]
        assert place is not None
        address = self.address(place)
        others = {t: s for t, s in found.items() if t is not where}
        names = {t: f"a{i}" for i, t in enumerate(others)}
        printer = ArrayPrinter(
            {**names, modification.old: "old", **({where: "address"} if where is not None else {}), RANK: "rank"}
        )
        lines, (new, writes) = printer.print([(modification.new, use.width), (modification.writes, 1)])
        text = f"def update({', '.join(('old', 'address', 'rank', *names.values()))}):\n"
        text += "".join(f"    {line}\n" for line in lines) + f"    return {new}, {writes}\n"
        space = {**_HELPERS, **printer.names}
        exec(text, space)
        update = space["update"]
        update.addend = _addend(modification, names)
        operands = "".join(f"{self.argument(s)}, " for s in others.values())
        where_to = f"{self.name(op, 'o')}, {self.space(op, place)!r}, {address}, {size}"
        return [f"v = G.modify({where_to}, {self.name(update, 'u')}, ({operands}), {self.who}, {self.count})"]

    # Meetings.

    def meeting(self, op: Op) -> str:
        """A block of its own: its operands, and who comes."""
        try:
            operands = self.operands(op)
        except (Untraceable, Unprintable):
            return self.irregular(op)
        places = "ALL"
        if op.guard is not None:
            slot, negated = op.guard
            truth = f"{'~' if negated else ''}{self.register(slot)}"
            below = self.number + 1 if self.number + 1 < len(self.blocks.cuts) else DONE
            self.lines += [f"k = choose({truth}, n)", "if k is None:", f"    return {below}"]
            places = "k"
            operands = [f"{text} if k is ALL else select({text}, k)" for text in operands]
        self.known.clear()  # what it writes is put by the group
        below = self.number + 1 if self.number + 1 < len(self.blocks.cuts) else DONE
        return f"Stop({self.name(op, 'o')}, ({''.join(f'{text}, ' for text in operands)}), {places}, {below})"

    def operands(self, op: Op) -> list[str]:
        use = op.use
        targets = tuple(_flat(op.targets))
        if use.form.whole is not None:
            self.blocks.meets[id(op)] = Meet("", "", None, targets, whole=prepared(op))
            return [self.argument(s) for source in op.sources for s in _leaves(source)]
        if use.form.kind == "warp":
            if any(s is not None and s.kind == "vector" for s in op.sources):
                raise Untraceable("a vector")
            self.blocks.meets[id(op)] = Meet("", "", mask_position(use), targets)
            return ["None" if s is None else self.argument(s) for s in op.sources]
        sources, found = self.symbols(op)
        if alone(op) or op.instruction.opcode == "wgmma":
            how = "alone" if alone(op) else "warpgroup"
            self.blocks.meets[id(op)] = Meet(how, "", None, targets, tuple(_shape(s) for s in op.sources))
            return [self.argument(source) for source in found.values()]
        recorder = TracedThread()
        use.form.meaning(use, recorder, *sources)
        meeting = recorder.meeting
        if meeting is None or recorder.required or recorder.modification is not None:
            raise Untraceable(op.name)
        self.blocks.meets[id(op)] = Meet(meeting.action, meeting.operator, None, targets)
        printer = self.printer(found)
        count = meeting.threads if meeting.threads is not None else 0
        operand = meeting.operand
        _, texts = self.printed(printer, [(meeting.identity, 32), (count, 32), (operand, 1)])
        return [texts[0], texts[1] if meeting.threads is not None else "None", texts[2]]


def _addend(modification: Any, names: dict[Term, str]) -> int | None:
    """Which operand is added, of an atomic addition of integers."""
    new = modification.new
    if type(new) is not Term or new.op != "add" or modification.writes != 1 or modification.old not in new.args:
        return None
    other = new.args[1] if new.args[0] is modification.old else new.args[0]
    return list(names).index(other) if type(other) is Term and other in names else None


def _shape(source: Source | None) -> Any:
    """A source with its numbers, and Ellipsis for what is given later."""
    if source is None:
        return None
    if source.kind == "vector":
        return tuple(_shape(part) for part in source.parts)
    return (source.value + source.offset) & mask(source.width) if source.kind == "constant" else ...

"""Instructions at which compiled code stopped, since they meet a value that nothing wrote (`uninitialised`): they are
executed here, with symbols for what is unknown; the meaning is the same. Where the result comes out as a number, it did
not depend on them.
"""

from __future__ import annotations

from typing import Any

from ptxcore.isa import data_movement
from ptxcore.machine.lower.ops import Op, Source, TargetRegister, Targets
from ptxcore.machine.run.faults import UNDEFINED, Fault, UndefinedValue, UnwrittenValue
from ptxcore.machine.run.surroundings import ThreadView
from ptxcore.machine.run.uninitialised import Uninitialised, UninitialisedRead, Varying, anything, error_of, known_bits
from ptxcore.values.terms import Term, Value, add, extract, negate, sext, signed, zext

#: Operations that one unknown value may be made of; one that takes more is unknown in all its bits.
_LARGEST = 64
#: Numbers below are told in decimals.
_SHORT = 1 << 16


def emulate(thread: ThreadView, op: Op, error: Exception) -> bool:
    """Executes an instruction at which compiled code stopped. False where unknown values are not the reason, or where they
    decide something; then the error stands."""
    run = op.use.form.run
    if op.call is not None or run is None or not _reads_unknown(thread, op):
        return False
    if run is data_movement.ld and not isinstance(error, UnwrittenValue):
        return False
    address = 0
    if run is data_movement.ld:
        address = _load(thread, op)
    elif run is data_movement.st:
        address = _store(thread, op)
    elif op.use.form.kind == "value":
        _compute(thread, op)
    else:
        return False
    if thread.launch.watcher is not None:
        thread.launch.watcher.other(thread, "unknown", op.use, address)
    return True


def decide(thread: ThreadView, op: Op) -> bool:
    """Whether an instruction at which compiled code stopped has a guard that varies, and that is the same in all executions, as
    the owner of the value says: its register holds that now, and the instruction can be executed again."""
    if op.guard is None:
        return False
    value = thread.R[op.guard[0]]
    if not isinstance(value, Varying):
        return False
    thread.R[op.guard[0]] = value.owner.decides(thread, value, op)
    return True


def recover(thread: ThreadView, op: Op, error: Exception) -> int | None:
    """The block in which a thread goes on behind an instruction at which compiled code met a value that varies, or with it once
    more; None where that is not the reason for the error."""
    if isinstance(error, Fault) and not isinstance(error, UnwrittenValue):
        return None
    compiled = thread.launch.compiled
    if decide(thread, op):
        return int(compiled.compiler.again(compiled, op))
    return int(compiled.compiler.behind(compiled, op)) if emulate(thread, op, error) else None


def blame(thread: ThreadView, op: Op) -> UnwrittenValue | None:
    """The error that an instruction uses an unknown value, where it does."""
    registers = [] if op.guard is None else [op.guard[0]]
    registers += [s.value for s in _leaves(op) if s.kind == "register"]
    for slot in registers:
        value = thread.R[slot]
        if isinstance(value, Uninitialised):
            return error_of(value.cause)
        if value is UNDEFINED:
            return UnwrittenValue("undefined-register", "a register is used here that nothing wrote")
    return None


def _leaves(op: Op) -> list[Source]:
    found: list[Source] = []
    waiting = [s for s in op.sources if s is not None]
    while waiting:
        source = waiting.pop()
        found.append(source)
        waiting += source.parts
    return found


def _reads_unknown(thread: ThreadView, op: Op) -> bool:
    if op.guard is not None and isinstance(thread.R[op.guard[0]], UndefinedValue):
        return False
    values = [thread.R[s.value] for s in _leaves(op) if s.kind == "register"]
    if any(value is UNDEFINED for value in values):
        return op.use.form.kind == "value" or (op.use.form.run is data_movement.st and _is_told_apart(thread, op))
    carried = "in" in op.use.form.carry and isinstance(thread.carry, Uninitialised)
    return carried or op.use.form.run is data_movement.ld or any(isinstance(v, Uninitialised) for v in values)


def _is_told_apart(thread: ThreadView, op: Op) -> bool:
    """Whether a store goes to memory that knows what was written: registers that nothing wrote can be put away there."""
    source = op.sources[0]
    assert source is not None
    if source.kind == "register" and isinstance(thread.R[source.value], UndefinedValue):
        return False
    address = _Reader(thread, op).read(source)
    return isinstance(address, int) and thread.segment(address)[0].known is not None


def undefined_registers(thread: ThreadView, op: Op) -> str:
    """Which registers of an instruction nothing has written."""
    slots: list[int] = [] if op.guard is None else [op.guard[0]]
    slots += [s.value for s in _leaves(op) if s.kind == "register"]
    code = next((f for f in thread.launch.program.functions.values() if any(o is op for o in f.ops)), None)
    names = [code.registers[s] for s in slots if code is not None and thread.R[s] is UNDEFINED]
    return ", ".join(dict.fromkeys(names)) or "it"


def values_of(thread: ThreadView, op: Op) -> list[tuple[str, str]]:
    """The registers that an instruction reads, and what they hold, for messages."""
    code = next((f for f in thread.launch.program.functions.values() if any(o is op for o in f.ops)), None)
    if code is None or len(code.registers) > len(thread.R):
        return []
    registers = [] if op.guard is None else [(op.guard[0], 1)]
    registers += [(s.value, s.has) for s in _leaves(op) if s.kind == "register"]
    return [(code.registers[slot], _told(thread.R[slot], has)) for slot, has in dict(registers).items()]


def _told(value: Any, width: int) -> str:
    """A value in a message: short numbers as such, others by their bits."""
    if isinstance(value, UndefinedValue):
        return "undefined"
    if width == 1:
        return "true" if value else "false"
    number = signed(value, width)
    return str(number) if abs(number) < _SHORT else hex(value)


def widened(value: Uninitialised, width: int) -> Term:
    """A value as a register of so many bits has it: compiled code moves one that is unsigned into a wider register as it is."""
    term = zext(value.term, width) if value.term.width < width else value.term
    assert isinstance(term, Term)
    return term


class _Reader:
    """Reads sources; remembers the unknown ones. `numbers`: takes those of the run for values that vary."""

    def __init__(self, thread: ThreadView, op: Op, *, numbers: bool = False) -> None:
        self.thread, self.op, self.numbers = thread, op, numbers
        self.size = 1
        self.cause: UninitialisedRead | None = None
        #: One that varies, as long as none is unknown otherwise.
        self.varying: Varying | None = None

    def noted(self, value: Any, width: int) -> Value:
        if value is UNDEFINED:
            names, self.varying = undefined_registers(self.thread, self.op), None
            self.cause = self.cause or UninitialisedRead(
                "undefined-register", f"a register is used here that nothing wrote: {names}", self.op
            )
            return anything(width)
        if isinstance(value, Varying) and self.numbers:
            return value.number
        if isinstance(value, Uninitialised):
            self.size += value.size
            if self.cause is None or self.varying is not None:
                self.varying = value if isinstance(value, Varying) else None
            self.cause = self.cause or value.cause
            return widened(value, width)
        if isinstance(value, UndefinedValue):
            value._use()
        assert isinstance(value, int)
        return value

    def read(self, source: Source | None) -> Any:
        """The value of a source, cut to the operand's width, as codegen would give it."""
        thread = self.thread
        if source is None:
            return None
        if source.kind == "vector":
            return tuple(self.read(part) for part in source.parts)
        value: Value
        if source.kind == "register":
            value = self.noted(thread.R[source.value], source.has)
            if source.has > source.width:
                value = extract(value, source.width - 1, 0)
            if source.negated:
                value = negate(value)
        else:
            value = thread.value(source._replace(offset=0))
        return add(value, source.offset & ((1 << source.width) - 1), source.width) if source.offset else value

    def address(self, op: Op) -> int:
        value = self.read(op.sources[0])
        if isinstance(value, int):
            return value
        assert self.cause is not None
        varying = self.varying
        if varying is None:
            raise error_of(self.cause)
        number = _Reader(self.thread, op, numbers=True).read(op.sources[0])
        self.thread.of(op.use.space, number)
        return varying.owner.locates(self.thread, Varying(value, self.cause, self.size, number, varying.owner))

    def result(self, value: Value, here: Any = None) -> int | Uninitialised:
        """A result as registers and memory take it; `here` is it in this run, where it varies."""
        number, open_ = known_bits(value)
        if not open_:
            return number
        assert isinstance(value, Term)
        assert self.cause is not None
        if self.varying is not None:
            term = value if self.size <= _LARGEST else anything(value.width)
            size = self.size if self.size <= _LARGEST else 1
            return Varying(term, self.cause, size, here, self.varying.owner)
        if self.size > _LARGEST:
            return Uninitialised(anything(value.width), self.cause)
        return Uninitialised(value, self.cause, self.size)


def _put(reader: _Reader, target: TargetRegister | None, value: Value, here: Any = None) -> None:
    if target is None:
        return
    if isinstance(here, int) and target.has > target.width and target.signed:
        here = sext(here, target.width, target.has)
    if isinstance(value, Term) and target.has > value.width:
        value = sext(value, value.width, target.has) if target.signed else zext(value, target.has)
    elif isinstance(value, int) and target.has > target.width and target.signed:
        value = sext(value, target.width, target.has)
    reader.thread.R[target.slot] = reader.result(value, here)


def _load(thread: ThreadView, op: Op) -> int:
    """Executes a load; gives its address."""
    reader = _Reader(thread, op)
    address = reader.address(op)
    size = op.use.width // 8
    targets = op.targets[0] if isinstance(op.targets[0], list) else [op.targets[0]]
    wanted = [(i, target) for i, target in enumerate(targets) if target is not None]  # of `_` nothing is read
    found = [thread.read(address + i * size, size) for i, _ in wanted]
    parts = [reader.noted(value, 8 * size) for value in found]
    for (_, target), part, value in zip(wanted, parts, found, strict=True):
        _put(reader, target, part, value.number if isinstance(value, Varying) else value)
    return address


def _store(thread: ThreadView, op: Op) -> int:
    """Executes a store; gives its address."""
    reader = _Reader(thread, op)
    address = reader.address(op)
    width = op.use.width
    source = op.sources[1]
    assert source is not None
    parts = source.parts if source.kind == "vector" else (source,)
    values = [reader.read(part._replace(width=width)) for part in parts]
    numbers = _Reader(thread, op, numbers=True)
    for i, (value, part) in enumerate(zip(values, parts, strict=True)):
        here = numbers.read(part._replace(width=width)) if reader.varying is not None else None
        thread.write(address + i * (width // 8), width // 8, reader.result(value, here))  # type: ignore[arg-type]
    return address


def _compute(thread: ThreadView, op: Op) -> None:
    reader = _Reader(thread, op)
    use = op.use
    result = _meant(reader)
    here = _meant(_Reader(thread, op, numbers=True)) if reader.varying is not None else None
    if "out" in use.form.carry.split():
        result, flag = result
        here, flag_here = here or (None, None)
        thread.carry = reader.result(flag, flag_here)
    _spread(reader, op.targets[0] if len(op.targets) == 1 else op.targets, result, here)


def _meant(reader: _Reader) -> Any:
    """What an instruction gives, of what the reader reads."""
    op = reader.op
    sources = [reader.read(source) for source in op.sources]
    if "in" in op.use.form.carry.split():
        sources.append(reader.noted(reader.thread.carry, 1))
    return op.use.form.meaning(op.use, *sources)


def _spread(reader: _Reader, targets: Targets, result: Any, here: Any) -> None:
    if isinstance(targets, list):
        heres = [None] * len(targets) if here is None else here
        for inner, value, one in zip(targets, result, heres, strict=False):
            _spread(reader, inner, value, one)
    else:
        _put(reader, targets, result, here)

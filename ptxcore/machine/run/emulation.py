"""Instructions at which compiled code stopped, since they meet a value that nothing wrote (`uninitialised`): they are
executed here, with symbols for what is unknown; the meaning is the same. Where the result comes out as a number, it did
not depend on them.
"""

from __future__ import annotations

from typing import Any

from ptxcore.isa import data_movement
from ptxcore.machine.lower.ops import Op, Source, TargetRegister, Targets
from ptxcore.machine.run.faults import UNDEFINED, Undefined, UndefinedValue
from ptxcore.machine.run.surroundings import Thread
from ptxcore.machine.run.uninitialised import Cause, Uninitialised, anything, error_of, known_bits
from ptxcore.values.terms import Term, Value, add, extract, negate, sext, signed, zext

#: Operations that one unknown value may be made of; one that takes more is unknown in all its bits.
_LARGEST = 64
#: Numbers below are told in decimals.
_SHORT = 1 << 16


def emulate(thread: Thread, op: Op, error: Exception) -> bool:
    """Executes an instruction at which compiled code stopped. False where unknown values are not the reason, or where they
    decide something; then the error stands."""
    run = op.use.form.run
    if op.call is not None or run is None or not _reads_unknown(thread, op):
        return False
    if run is data_movement.ld and not isinstance(error, Undefined):
        return False
    if run is data_movement.ld:
        _load(thread, op)
    elif run is data_movement.st:
        _store(thread, op)
    elif op.use.form.kind == "value":
        _compute(thread, op)
    else:
        return False
    return True


def blame(thread: Thread, op: Op) -> Undefined | None:
    """The error that an instruction uses an unknown value, where it does."""
    registers = [] if op.guard is None else [op.guard[0]]
    registers += [s.value for s in _leaves(op) if s.kind == "register"]
    for slot in registers:
        value = thread.R[slot]
        if isinstance(value, Uninitialised):
            return error_of(value.cause)
        if value is UNDEFINED:
            return Undefined("undefined-register", "a register is used here that nothing wrote")
    return None


def _leaves(op: Op) -> list[Source]:
    found: list[Source] = []
    waiting = [s for s in op.sources if s is not None]
    while waiting:
        source = waiting.pop()
        found.append(source)
        waiting += source.parts
    return found


def _reads_unknown(thread: Thread, op: Op) -> bool:
    if op.guard is not None and isinstance(thread.R[op.guard[0]], UndefinedValue):
        return False
    values = [thread.R[s.value] for s in _leaves(op) if s.kind == "register"]
    if any(value is UNDEFINED for value in values):
        return op.use.form.kind == "value" or (op.use.form.run is data_movement.st and _is_told_apart(thread, op))
    carried = "in" in op.use.form.carry and isinstance(thread.carry, Uninitialised)
    return carried or op.use.form.run is data_movement.ld or any(isinstance(v, Uninitialised) for v in values)


def _is_told_apart(thread: Thread, op: Op) -> bool:
    """Whether a store goes to memory that knows what was written: registers that nothing wrote can be put away there."""
    source = op.sources[0]
    assert source is not None
    if source.kind == "register" and isinstance(thread.R[source.value], UndefinedValue):
        return False
    address = _Reader(thread, op).read(source)
    return isinstance(address, int) and thread.segment(address)[0].known is not None


def undefined_registers(thread: Thread, op: Op) -> str:
    """Which registers of an instruction nothing has written."""
    slots: list[int] = [] if op.guard is None else [op.guard[0]]
    slots += [s.value for s in _leaves(op) if s.kind == "register"]
    code = next((f for f in thread.launch.program.functions.values() if any(o is op for o in f.ops)), None)
    names = [code.registers[s] for s in slots if code is not None and thread.R[s] is UNDEFINED]
    return ", ".join(dict.fromkeys(names)) or "it"


def values_of(thread: Thread, op: Op) -> list[tuple[str, str]]:
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


class _Reader:
    """Reads sources; remembers the unknown ones."""

    def __init__(self, thread: Thread, op: Op) -> None:
        self.thread, self.op = thread, op
        self.size = 1
        self.cause: Cause | None = None

    def noted(self, value: Any, width: int) -> Value:
        if value is UNDEFINED:
            names = undefined_registers(self.thread, self.op)
            self.cause = self.cause or Cause(
                "undefined-register", f"a register is used here that nothing wrote: {names}", self.op
            )
            return anything(width)
        if isinstance(value, Uninitialised):
            self.size += value.size
            self.cause = self.cause or value.cause
            return value.term
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
        if not isinstance(value, int):
            assert self.cause is not None
            raise error_of(self.cause)
        return value

    def result(self, value: Value) -> int | Uninitialised:
        number, open_ = known_bits(value)
        if not open_:
            return number
        assert isinstance(value, Term)
        assert self.cause is not None
        if self.size > _LARGEST:
            return Uninitialised(anything(value.width), self.cause)
        return Uninitialised(value, self.cause, self.size)


def _put(reader: _Reader, target: TargetRegister | None, value: Value) -> None:
    if target is None:
        return
    if isinstance(value, Term) and target.has > value.width:
        value = sext(value, value.width, target.has) if target.signed else zext(value, target.has)
    elif isinstance(value, int) and target.has > target.width and target.signed:
        value = sext(value, target.width, target.has)
    reader.thread.R[target.slot] = reader.result(value)


def _load(thread: Thread, op: Op) -> None:
    reader = _Reader(thread, op)
    address = reader.address(op)
    size = op.use.width // 8
    targets = op.targets[0] if isinstance(op.targets[0], list) else [op.targets[0]]
    wanted = [(i, target) for i, target in enumerate(targets) if target is not None]  # of `_` nothing is read
    parts = [reader.noted(thread.read(address + i * size, size), 8 * size) for i, _ in wanted]
    for (_, target), part in zip(wanted, parts, strict=True):
        _put(reader, target, part)


def _store(thread: Thread, op: Op) -> None:
    reader = _Reader(thread, op)
    address = reader.address(op)
    width = op.use.width
    source = op.sources[1]
    assert source is not None
    parts = source.parts if source.kind == "vector" else (source,)
    values = [reader.read(part._replace(width=width)) for part in parts]
    for i, value in enumerate(values):
        thread.write(address + i * (width // 8), width // 8, reader.result(value))  # type: ignore[arg-type]


def _compute(thread: Thread, op: Op) -> None:
    reader = _Reader(thread, op)
    use = op.use
    sources = [reader.read(source) for source in op.sources]
    carry = use.form.carry.split()
    if "in" in carry:
        sources.append(reader.noted(thread.carry, 1))
    result = use.form.meaning(use, *sources)
    if "out" in carry:
        result, flag = result
        thread.carry = reader.result(flag)
    _spread(reader, op.targets[0] if len(op.targets) == 1 else op.targets, result)


def _spread(reader: _Reader, targets: Targets, result: Any) -> None:
    if isinstance(targets, list):
        for inner, value in zip(targets, result, strict=False):
            _spread(reader, inner, value)
    else:
        _put(reader, targets, result)

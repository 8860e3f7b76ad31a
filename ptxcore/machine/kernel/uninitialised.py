"""Values that nothing wrote, in memory or registers: they may be carried about, and computed with where nothing comes of it
(a minimum that is thrown away, the padding of a structure). Compilers write such code; so the error is to let such a value
decide something: a branch, an address, what global memory holds, what other threads get.

Compiled code stops at such a value. The instruction is then executed here, with symbols for what is unknown: its meaning
is the same. Where the result comes out as a number, it did not depend on them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from ptxcore.isa import data_movement
from ptxcore.machine.kernel.faults import UNDEFINED, Undefined, UndefinedValue
from ptxcore.values.terms import (
    Term,
    Value,
    add,
    bit_and,
    bit_or,
    concat,
    extract,
    mask,
    negate,
    sext,
    signed,
    subterms,
    symbol,
    zext,
)

if TYPE_CHECKING:
    from ptxcore.machine.kernel.lowering import Op, Source, Target, Targets
    from ptxcore.machine.kernel.thread import Thread

#: Operations that one unknown value may be made of; one that takes more is unknown in all its bits.
_LARGEST = 64
_serials = count()
#: Numbers below are told in decimals.
_SHORT = 1 << 16


class Cause(NamedTuple):
    """Where unknown bits came from: the kind and message of the error that it is to let them decide something, the
    instruction to blame, where it is not the one that does so, and the one that read them from memory."""

    kind: str
    message: str
    op: Op | None = None
    reader: Op | None = None


class Uninitialised(UndefinedValue):
    """A value of which at least some bits are unknown: `term` is over symbols for them. `size` counts its operations."""

    __slots__ = ("cause", "size", "term")

    def __init__(self, term: Term, cause: Cause, size: int = 1) -> None:
        self.term, self.cause, self.size = term, cause, size

    def _use(self, *_: object) -> int:
        raise _error(self.cause)

    def read_by(self, op: Op | None) -> None:
        """It came from memory with this instruction."""
        self.cause = self.cause._replace(reader=op)


def _error(cause: Cause) -> Undefined:
    error = Undefined(cause.kind, cause.message)
    error.origin, error.reader = cause.op, cause.reader
    return error


def unknown(data: bytes, known: bytes, where: str) -> Uninitialised:
    """The little-endian number of bytes of which some bits are unknown; `known` has a 1 for each of the others."""
    value: Value = 0
    for i, byte in enumerate(data):
        part: Value = byte
        if known[i] != 0xFF:
            open_ = bit_and(symbol(("uninitialised", next(_serials)), 8), 0xFF ^ known[i], 8)
            part = bit_or(open_, byte & known[i], 8)
        value = concat(part, value, 8, 8 * i) if i else part
    assert isinstance(value, Term)
    return Uninitialised(value, Cause("uninitialised", where))


def opaque(width: int, cause: Cause) -> Uninitialised:
    """A value of which nothing is known."""
    return Uninitialised(symbol(("uninitialised", next(_serials)), width), cause)


def bytes_of(value: Uninitialised, size: int) -> tuple[bytes, bytes]:
    """The bytes of a value, and which of their bits are known."""
    number, open_ = known_bits(value.term)
    whole = (1 << 8 * size) - 1
    return (number & ~open_ & whole).to_bytes(size, "little"), (~open_ & whole).to_bytes(size, "little")


def known_bits(value: Value) -> tuple[int, int]:
    """What is known of the bits of a value: the value with 0 for the unknown ones, and a 1 for each unknown one."""
    found: dict[Value, tuple[int, int]] = {}

    def of(part: Value) -> tuple[int, int]:
        return (part, 0) if isinstance(part, int) else found[part]

    for term in subterms([value]):
        bits = _BITS.get(term.op)
        number, open_ = (0, mask(term.width)) if bits is None else bits(term, of)
        found[term] = number & ~open_ & mask(term.width), open_ & mask(term.width)
    return of(value)


_Bits = tuple[int, int]
_Of = Callable[[Value], _Bits]


def _conjunction(term: Term, of: _Of) -> _Bits:
    (a, x), (b, y) = of(term.args[0]), of(term.args[1])
    return a & b, (x | y) & (a | x) & (b | y)  # a known 0 decides


def _disjunction(term: Term, of: _Of) -> _Bits:
    (a, x), (b, y) = of(term.args[0]), of(term.args[1])
    return a | b, (x | y) & ~a & ~b  # a known 1 decides


def _difference(term: Term, of: _Of) -> _Bits:
    (a, x), (b, y) = of(term.args[0]), of(term.args[1])
    return a ^ b, x | y


def _shift(move: Callable[[int, int], int]) -> Callable[[Term, _Of], _Bits]:
    def shifted(term: Term, of: _Of) -> _Bits:
        (a, x), (b, y) = of(term.args[0]), of(term.args[1])
        return (0, mask(term.width)) if y else (move(a, min(b, term.width)), move(x, min(b, term.width)))

    return shifted


def _sum(term: Term, of: _Of) -> _Bits:
    (a, x), (b, y) = of(term.args[0]), of(term.args[1])
    lowest = (x | y) & -(x | y)
    return a + b, -lowest  # carries go up


def _choice(term: Term, of: _Of) -> _Bits:
    (c, open_), (a, x), (b, y) = (of(part) for part in term.args)
    if open_:
        return a, x | y | (a ^ b)
    return (a, x) if c else (b, y)


def _joined(term: Term, of: _Of) -> _Bits:
    low = term.args[1].width if isinstance(term.args[1], Term) else term.width - term.args[0].width
    (a, x), (b, y) = of(term.args[0]), of(term.args[1])
    return a << low | b, x << low | y


def _extended(term: Term, of: _Of) -> _Bits:
    (a, x), width = of(term.args[0]), term.args[0].width
    return signed(a, width), signed(x, width)


def _all(term: Term, of: _Of) -> _Bits:
    parts = [of(part) for part in term.args]
    return int(all(a for a, _ in parts)), int(any(x for _, x in parts) and all(a or x for a, x in parts))


def _any(term: Term, of: _Of) -> _Bits:
    parts = [of(part) for part in term.args]
    return int(any(a for a, _ in parts)), int(any(x for _, x in parts) and not any(a for a, _ in parts))


#: What is known of the result of an operation.
_BITS: dict[str, Callable[[Term, _Of], _Bits]] = {
    "and": _conjunction,
    "or": _disjunction,
    "xor": _difference,
    "add": _sum,
    "shl": _shift(lambda a, n: a << n),
    "lshr": _shift(lambda a, n: a >> n),
    "ite": _choice,
    "concat": _joined,
    "extract": lambda term, of: (of(term.args[0])[0] >> term.args[2], of(term.args[0])[1] >> term.args[2]),
    "zext": lambda term, of: of(term.args[0]),
    "sext": _extended,
    "not": lambda term, of: (1 - of(term.args[0])[0], of(term.args[0])[1]),
    "all": _all,
    "any": _any,
}


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
            return _error(value.cause)
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
            return symbol(("uninitialised", next(_serials)), width)
        if isinstance(value, Uninitialised):
            self.size += value.size
            self.cause = self.cause or value.cause
            return value.term
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
            raise _error(self.cause)
        return value

    def result(self, value: Value) -> int | Uninitialised:
        number, open_ = known_bits(value)
        if not open_:
            return number
        assert isinstance(value, Term)
        assert self.cause is not None
        if self.size > _LARGEST:
            return Uninitialised(symbol(("uninitialised", next(_serials)), value.width), self.cause)
        return Uninitialised(value, self.cause, self.size)


def _put(reader: _Reader, target: Target | None, value: Value) -> None:
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
    parts = [reader.noted(thread.read(address + i * size, size), 8 * size) for i in range(len(targets))]
    for target, part in zip(targets, parts, strict=True):
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

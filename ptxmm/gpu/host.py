"""The thread of a test that is one of the host: what it does, and that it is done to all instances of a launch.

It does each of its statements for every instance before the next one; kernels are launched, and waited for, with all their
instances. Its accesses are plain loads and stores of a CPU: what is stronger is refused, since Python has no atomic accesses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeGuard

from litmus.test import TYPE_WIDTHS, AddressOf, LitmusThread, Test
from ptxcore.diagnostics import Diagnostic, Span
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Address, Immediate, Instruction, Name, Operand, Sink
from ptxmm.gpu.images import root_of

_WORDS = (8, 16, 32, 64)


class Begin(NamedTuple):
    """Kernels are launched, by number."""

    kernels: tuple[int, ...]


class Await(NamedTuple):
    """The host waits for a kernel to end; a number."""

    kernel: int


class HostAccess(NamedTuple):
    """A load to a register, or a store of a number or of what a register holds: so many bytes at an offset in a location.
    `signed`: what is loaded keeps its sign."""

    is_load: bool
    register: str
    value: int
    location: str
    offset: int
    size: int
    signed: bool = False


class HostMove(NamedTuple):
    """A register gets a number, or what another one holds."""

    register: str
    value: int
    source: str


HostStep = Begin | Await | HostAccess | HostMove


def refused_host(test: Test) -> Iterator[Diagnostic]:
    """What of the threads of the host cannot be run."""
    hosts = [t for t in test.threads if t.place.host]
    for t in hosts[1:]:
        message = f"{t.name} is another thread of the host: Python runs one at a time, so that no two would meet"
        yield Diagnostic(t.span, message)
    if not hosts:
        return
    for l in test.locations:
        if l.alias_of is not None and l.proxy == "generic":
            message = (
                f"'{l.name}' is another address of '{l.alias_of}': memory that is mapped twice is none of the host's"
            )
            yield Diagnostic(l.span, message)
    for name, value in hosts[0].registers:
        if isinstance(value, AddressOf):
            message = f"register '{name}' has an address, and the host accesses locations by their names here"
            yield Diagnostic(hosts[0].span, message)
    launched: dict[str, Span] = {}
    for s in hosts[0].statements:
        if not isinstance(s, Instruction):
            yield Diagnostic(s.span, "a thread of the host runs straight on here: it has no labels")
            continue
        try:
            _step(test, hosts[0], s)
        except _Refused as refused:
            yield Diagnostic(s.span, refused.args[0])
        if s.opcode == "launch":
            name = str(_name(s.operands[0]))
            if name in launched:
                yield Diagnostic(s.span, f"'{name}' is launched once more, and a kernel of a test runs once")
            launched[name] = s.span
    before: list[str] = []
    order = [n for n in launched if n in {k.name for k in test.kernels}]
    for kernel in test.kernels:
        needed = [k for k in test.kernels if k.name in before and (k.stream == kernel.stream or k.name in kernel.after)]
        for other in needed:
            if other.name in order and (kernel.name not in order or order.index(other.name) > order.index(kernel.name)):
                message = f"'{other.name}' is launched behind '{kernel.name}', which begins behind it"
                yield Diagnostic(launched[other.name], message)
        before.append(kernel.name)


class _Refused(Exception):
    """Why a statement cannot be run on the host."""


def host_thread(test: Test) -> LitmusThread | None:
    """The thread of the host, where there is one."""
    return next((t for t in test.threads if t.place.host), None)


def steps_of(test: Test) -> tuple[HostStep, ...]:
    """What the host does; kernels that nobody launches are there from the beginning. Nothing where there is no thread of it."""
    thread = host_thread(test)
    if thread is None:
        return ()
    own = [step for s in thread.statements if isinstance(s, Instruction) for step in _step(test, thread, s)]
    launched = {k for step in own if isinstance(step, Begin) for k in step.kernels}
    first = Begin(tuple(k for k in range(max(1, len(test.kernels))) if k not in launched))
    return (first, *own) if first.kernels else tuple(own)


def _step(test: Test, thread: LitmusThread, s: Instruction) -> tuple[HostStep, ...]:
    if s.guard is not None:
        raise _Refused("a thread of the host runs straight on here: it has no guards")
    numbers = {kernel.name: n for n, kernel in enumerate(test.kernels)}
    if s.opcode == "launch":
        return (Begin((numbers[str(_name(s.operands[0]))],)),)
    if s.opcode == "sync":
        operand = s.operands[0]
        if "stream" not in s.modifiers:
            waits = [numbers[str(_name(operand))]]
        else:
            assert isinstance(operand, Immediate)
            waits = [n for n, kernel in enumerate(test.kernels) if kernel.stream == operand.value]
        return _awaited(test, thread, s, waits)
    if s.opcode == "mov":
        return (_move(test, s),)
    if s.opcode in ("ld", "st"):
        return (_access(test, s),)
    raise _Refused(f"a thread of the host loads, stores and moves here, and has no '{s.opcode}'")


def _awaited(test: Test, thread: LitmusThread, s: Instruction, waits: Sequence[int]) -> tuple[HostStep, ...]:
    """The last of the kernels that are enqueued by then, or none."""
    launched, all_of_them = set(), set()
    behind = False
    for other in thread.statements:
        behind = behind or other is s
        if isinstance(other, Instruction) and other.opcode == "launch":
            name = _name(other.operands[0])
            all_of_them.add(name)
            if not behind:
                launched.add(name)
    names = [kernel.name for kernel in test.kernels]
    known = [k for k in waits if names[k] in launched or names[k] not in all_of_them]
    return tuple(Await(k) for k in known[-1:])


def _move(test: Test, s: Instruction) -> HostMove:
    target, source = s.operands
    if isinstance(target, Name) and s.modifiers[0][1:] in map(str, _WORDS):
        if isinstance(source, Immediate):
            return HostMove(_bare(target), source.value, "")
        if _is_register(source, test):
            return HostMove(_bare(target), 0, _bare(source))
    raise _Refused("a thread of the host moves whole numbers and registers here")


def _access(test: Test, s: Instruction) -> HostAccess:
    kind = s.modifiers[-1]
    if set(s.modifiers[:-1]) - {"weak", "global"} or not kind[1:].isdigit() or int(kind[1:]) not in _WORDS:
        raise _Refused(
            f"'{s.opcode}.{'.'.join(s.modifiers)}' is more than a plain access of a CPU, and Python has no atomic ones"
        )
    is_load = s.opcode == "ld"
    place, other = (s.operands[1], s.operands[0]) if is_load else (s.operands[0], s.operands[1])
    location, offset = _place(test, place)
    size = int(kind[1:]) // 8
    if is_load and isinstance(other, Name | Sink):
        name = _bare(other) if isinstance(other, Name) else ""
        return HostAccess(True, name, 0, location, offset, size, kind[0] == "s")
    if not is_load and isinstance(other, Immediate):
        return HostAccess(False, "", other.value, location, offset, size)
    if not is_load and _is_register(other, test):
        return HostAccess(False, _bare(other), 0, location, offset, size)
    raise _Refused("a thread of the host stores whole numbers and registers here")


def _place(test: Test, operand: Operand) -> tuple[str, int]:
    locations = {l.name: l for l in test.locations}
    if isinstance(operand, Address) and isinstance(operand.base, Name) and operand.base.name in locations:
        location = root_of(test, locations[operand.base.name])
        if location.space == "global" and operand.index is None:
            scale = TYPE_WIDTHS[location.type] // 8 if operand.indexed else 1
            return locations[operand.base.name].name, operand.offset * scale
    raise _Refused("a thread of the host accesses locations of global memory by their names here")


def _is_register(operand: Operand, test: Test) -> TypeGuard[Name]:
    return isinstance(operand, Name) and operand.name not in {l.name for l in test.locations}


def _name(operand: Operand) -> str | None:
    return operand.name if isinstance(operand, Name) else None


def _bare(name: Name) -> str:
    return name.name.lstrip("%")


#: Reads and writes so many bytes at an address in the memory of the launch.
HostRead = Callable[[int, int], int]
HostWrite = Callable[[int, int, int], None]


class Host:
    """The thread of the host for all instances. `registers` has for each what it holds, by the memory that an instance has;
    `places`: where the first instance of each location lies, and how far it is to the next one's; `widths`: of registers."""

    def __init__(
        self, widths: Mapping[str, int], first: Mapping[str, int], places: Mapping[str, tuple[int, int]], count: int,
        read: HostRead, write: HostWrite,
    ) -> None:  # fmt: skip
        self.widths, self.places, self.count, self._read, self._write = widths, places, count, read, write
        self.registers = {name: [first.get(name, 0)] * count for name in widths}

    def do(self, step: HostAccess | HostMove) -> None:
        """An access of all instances, or a move."""
        if isinstance(step, HostMove):
            mask = (1 << self.widths[step.register]) - 1
            held = self.registers[step.source] if step.source else [step.value] * self.count
            self.registers[step.register] = [value & mask for value in held]
            return
        offset, stride = self.places[step.location]
        mask = (1 << 8 * step.size) - 1
        for n in range(self.count):
            at = offset + n * stride + step.offset
            if not step.is_load:
                value = self.registers[step.register][n] if step.register else step.value
                self._write(at, step.size, value & mask)
                continue
            value = self._read(at, step.size)
            if step.signed and value >> (8 * step.size - 1):
                value -= mask + 1
            if step.register:
                self.registers[step.register][n] = value & ((1 << self.widths[step.register]) - 1)

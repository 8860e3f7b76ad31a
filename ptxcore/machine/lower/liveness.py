"""Liveness of registers in lowered code: what instructions read and write, and what is read later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ptxcore.machine.ir.liveness import live_in, live_out
from ptxcore.machine.lower.ops import Code, Op, Source, TargetRegister, Targets
from ptxcore.records import NamedTuple

#: Kinds of instructions behind which control goes elsewhere, unless a guard holds them back.
_LEAVES = ("branch", "jump", "exit", "return")


class LiveRegisters(NamedTuple):
    """Registers by slot, as bits, where each block begins and ends."""

    begins: list[int]
    ends: list[int]


def live_registers(code: Code, cuts: Sequence[int], carry: int | None = None) -> LiveRegisters:
    """The live registers of blocks that begin at `cuts`, in order. What a function returns is live where it returns. `carry`: a
    slot that stands for the carry flag."""
    numbers = {cut: b for b, cut in enumerate(cuts)}
    results = _bits(r.slot for r in code.results if r.slot is not None)
    held = _bits(s for op in code.ops if op.use.form.updates for s in (*reads(op), *writes(op)))
    following, used, killed = [], [], []
    for b, cut in enumerate(cuts):
        end = cuts[b + 1] if b + 1 < len(cuts) else len(code.ops)
        use, kill, falls = 0, 0, True
        goes: set[int] = set()
        for op in code.ops[cut:end]:
            use |= _bits(reads(op, carry)) & ~kill
            if held and "wait_group" in op.use.form.first.split() and op.instruction.opcode == "wgmma":
                use |= held & ~kill  # of products that may be under way
            goes.update(numbers[code.labels[label]] for label in op.labels if code.labels.get(label) in numbers)
            if op.guard is None:
                kill |= _bits(writes(op, carry))
            if op.use.form.kind == "return":
                use |= results & ~kill
            falls = falls and not (op.guard is None and op.use.form.kind in _LEAVES)
        if falls and b + 1 < len(cuts):
            goes.add(b + 1)
        elif falls:
            use |= results & ~kill
        following.append(sorted(goes))
        used.append(use)
        killed.append(kill)
    begins = live_in(following, used, killed)
    return LiveRegisters(begins, [live_out(goes, begins) for goes in following])


def operands_read(op: Op) -> list[int]:
    """The slots of the registers in the operands of an instruction, or of its call."""
    found: list[int] = []
    waiting: list[Source | None] = list(op.sources)
    if op.call is not None:
        waiting += [op.call.pointer, *(a.source for a in op.call.arguments)]
    while waiting:
        source = waiting.pop(0)
        if source is not None:
            waiting = [*source.parts, *waiting]
            if source.kind == "register":
                found.append(source.value)
    return found


def reads(op: Op, carry: int | None = None) -> list[int]:
    """The slots of the registers that an instruction reads."""
    found = operands_read(op) if op.guard is None else [op.guard[0], *operands_read(op)]
    if op.use.form.updates:
        found = [*found, *(t.slot for t in _targets(op.targets))]
    return [*found, carry] if carry is not None and "in" in op.use.form.carry.split() else found


def writes(op: Op, carry: int | None = None) -> list[int]:
    """The slots of the registers that an instruction writes; under a guard it may."""
    found = [t.slot for t in _targets(op.targets)]
    if op.call is not None:
        found += [r.source.value for r in op.call.results if r.source is not None]
    return [*found, carry] if carry is not None and "out" in op.use.form.carry.split() else found


def following(code: Code, place: int) -> list[int]:
    """The numbers of the instructions that may be executed behind one; the function's end is one, too."""
    op = code.ops[place]
    goes = [code.labels[label] for label in op.labels]
    leaves = op.use.form.kind in _LEAVES or op.use.form.mnemonic == "bra"
    if leaves and not op.labels:
        goes.append(len(code.ops))
    if not leaves or op.guard is not None:
        goes.append(place + 1)
    return goes


def results_unused(functions: Iterable[Code], op: Op) -> bool:
    """Whether no instruction of its function reads a register that an instruction writes, nor does it return one."""
    code = next(c for c in functions if any(o is op for o in c.ops))
    read = {r.slot for r in code.results}.union(*map(reads, code.ops))
    return read.isdisjoint(writes(op))


def _targets(targets: Iterable[Targets]) -> Iterator[TargetRegister]:
    for target in targets:
        if isinstance(target, TargetRegister):
            yield target
        elif target is not None:
            yield from _targets(target)


def _bits(slots: Iterable[int]) -> int:
    found = 0
    for slot in slots:
        found |= 1 << slot
    return found

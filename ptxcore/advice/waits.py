"""Loops that wait for another thread: their exit depends on what is read, again and again, at the same address."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptxcore.advice.accesses import AdvisedAccess, AdvisedFunction
from ptxcore.advice.values import sources, written
from ptxcore.clock import tick
from ptxcore.machine.ir.loop_nest import NaturalLoop
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Immediate, Instruction, names_in

#: Instructions of a loop that may only wait, and registers followed in one: bounds on the work.
_LONGEST_WAIT = 256
_LONGEST_CHAIN = 32


class AdvisedWait(NamedTuple):
    """A loop that goes on until `access`, a load or an atomic, gives another value. `inside`: its instructions."""

    access: AdvisedAccess
    loop: NaturalLoop
    inside: frozenset[int]


def waits(function: AdvisedFunction) -> list[AdvisedWait]:
    """The waits of a function; a load or atomic that decides about several loops stands in the innermost."""
    found: dict[int, AdvisedWait] = {}
    for loop in sorted(function.loops, key=lambda loop: len(loop.body)):
        inside = [i for b in sorted(loop.body) for i in function.graph.blocks[b]]
        if len(inside) > _LONGEST_WAIT:
            continue
        tick()
        writers = _writers(function, inside)
        for i in _deciding(function, loop, inside, writers):
            access = function.accesses.get(i)
            if access is not None and i not in found and _repeats(access, writers):
                found[i] = AdvisedWait(access, loop, frozenset(inside))
    return [found[i] for i in sorted(found)]


def _writers(function: AdvisedFunction, inside: Sequence[int]) -> dict[str, list[Instruction]]:
    """Who writes each register in a loop."""
    writers: dict[str, list[Instruction]] = {}
    for i in inside:
        for name in written(function.instructions[i]):
            writers.setdefault(name, []).append(function.instructions[i])
    return writers


def _deciding(
    function: AdvisedFunction, loop: NaturalLoop, inside: Sequence[int], writers: dict[str, list[Instruction]]
) -> Iterator[int]:
    """The loads and atomics of the loop whose values decide whether it goes on."""
    index = {id(function.instructions[i]): i for i in inside}
    graph = function.graph
    waiting = [
        last.guard.name
        for b in loop.body
        if any(s not in loop.body for s in graph.following[b]) and len(graph.following[b]) > 1
        and (last := function.instructions[graph.blocks[b][-1]]).guard is not None
    ]  # fmt: skip
    seen: set[str] = set()
    while waiting and len(seen) < _LONGEST_CHAIN:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for writer in writers.get(name, ()):
            if writer.opcode in ("ld", "atom"):
                yield index[id(writer)]
            elif writer.opcode != "call":
                waiting += sources(writer)


def _repeats(access: AdvisedAccess, writers: dict[str, list[Instruction]]) -> bool:
    """Whether an access does the same in each iteration, as one that waits does, not one that goes through memory or tries
    again with what it has read."""
    names = [*names_in(access.address)]
    if access.instruction.opcode == "atom":
        names += names_in(*access.instruction.operands[2:])
    return all(_is_steady(name, writers) for name in names)


def _is_steady(name: str, writers: dict[str, list[Instruction]]) -> bool:
    """Whether a register has the same value in each iteration: nothing that it is computed from is read from memory in the
    loop, or depends on itself."""
    path: list[str] = [name]
    seen = {name}
    while path:
        current = path.pop()
        for writer in writers.get(current, ()):
            if writer.opcode == "mov" and isinstance(writer.operands[1], Immediate):
                continue
            if writer.opcode in ("ld", "atom", "call", "shfl") and "param" not in writer.modifiers:
                return False
            for source in sources(writer):
                if source in seen and source in writers:
                    return False
                seen.add(source)
                path.append(source)
        if len(seen) > _LONGEST_CHAIN:
            return False
    return True

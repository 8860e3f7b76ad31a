"""Launches that may begin before the one before them in their stream is over, and what they do before they wait for it
(`griddepcontrol`, PTX ISA 9.0, section 9.7.13.13). The argument is in docs/whole-launches, "Launches that begin early".
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from ptxcore.machine.lower.liveness import following
from ptxcore.machine.lower.ops import Code, Op

_CONTROL = "griddepcontrol"
#: Instructions by which no memory is accessed that another launch has, nor anything else is called or begun.
_HARMLESS = frozenset(("bar", "barrier", "elect", "fence", "ldmatrix", "mapa", "membar", "shfl", "stmatrix", "vote"))
#: What these access of the state spaces of a CTA or a thread.
_ACCESSES, _OWN = frozenset(("ld", "st", "mbarrier")), frozenset(("const", "local", "param", "shared"))
#: Kinds of instructions that access no memory.
_KINDS = frozenset(("branch", "exit", "jump", "nothing", "value"))


def overtaking(codes: Sequence[Sequence[Code]], waited: Container[int]) -> tuple[int, Op] | None:
    """Of the launches of one stream, by their kernels' code, the first one that may do something that others see before the one
    before it is over, or be over before that is; and the instruction. None where there is none. `waited`: the launches in which
    some thread waits in each execution. Of each launch its kernel comes first, then the functions that it may call."""
    for number in range(1, len(codes)):
        if not lets_next(codes[number - 1]):
            continue
        early = _before_it_waits(codes[number][0], ends=number + 1 < len(codes) and number not in waited)
        if early is not None:
            return number, early
    return None


def lets_next(codes: Sequence[Code]) -> bool:
    """Whether a launch may let the next one of its stream begin before it is over, by its code."""
    return any(op.instruction.opcode == _CONTROL and not _waits(op) for code in codes for op in code.ops)


def _waits(op: Op) -> bool:
    return op.instruction.opcode == _CONTROL and "wait" in op.instruction.modifiers


def _before_it_waits(code: Code, *, ends: bool) -> Op | None:
    """An instruction to which a way without a wait leads, and by which a thread reaches memory that others have, or ends, where
    that counts."""
    found, waiting = set[int](), [0]
    while waiting:
        place = waiting.pop()
        if place in found:
            continue
        found.add(place)
        op = code.ops[place]
        if _waits(op) and op.guard is None:
            continue
        behind = following(code, place)
        if not _is_harmless(op) or (ends and len(code.ops) in behind):
            return op
        waiting += [other for other in behind if other < len(code.ops)]
    return None


def _is_harmless(op: Op) -> bool:
    if op.call is not None:
        return False
    opcode, kind = op.instruction.opcode, op.use.form.kind
    if opcode in _ACCESSES:
        space = op.access[0] if op.access is not None else op.use.space
        return space.partition("::")[0] in _OWN
    return kind in _KINDS or opcode in _HARMLESS or opcode == _CONTROL

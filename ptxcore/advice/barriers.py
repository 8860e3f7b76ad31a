"""Barriers for all threads of a CTA in code that only some of them may come to."""

from __future__ import annotations

from collections.abc import Iterator

from ptxcore.advice.accesses import AdvisedFunction
from ptxcore.advice.edits import warning
from ptxcore.advice.graph import BARRIERS, postdominators
from ptxcore.advice.values import THREAD
from ptxcore.clock import tick
from ptxcore.diagnostics import Diagnostic
from ptxcore.syntax.tree import Immediate, Instruction, Operand


def divergent_barriers(function: AdvisedFunction) -> Iterator[Diagnostic]:
    """Barriers behind a branch that depends on the thread, of which the other way comes back without one."""
    barriers = {
        i: number for i, instruction in enumerate(function.instructions)
        if (number := _of_all_threads(instruction)) is not None
    }  # fmt: skip
    if not barriers:
        return
    graph = function.graph
    after = postdominators(graph.following)
    told: set[int] = set()
    for b, following in enumerate(graph.following):
        branch = function.instructions[graph.blocks[b][-1]] if graph.blocks[b] else None
        join = after[b]
        if branch is None or branch.opcode != "bra" or branch.guard is None or len(following) != 2 or join is None:
            continue
        if not function.registers.causes(branch.guard) & THREAD or _only_ends(function, join):
            continue
        arms = [_arm(function, start, join, barriers) for start in following]
        for one, other in (arms, arms[::-1]):
            for i in sorted(one):
                if i not in told and all(barriers[i] != barriers[j] for j in other):
                    told.add(i)
                    yield _divergent(function.instructions[i], branch)


def _divergent(barrier: Instruction, branch: Instruction) -> Diagnostic:
    return warning(
        "divergent-barrier", barrier.span,
        f"'{barrier.name}' waits for all threads of the CTA, and the branch on line {branch.span.line}, which depends on the "
        "thread, may lead some of them past it",
        "move it to where all threads come, or give it a number of threads; for the lanes of one warp: bar.warp.sync",
    )  # fmt: skip


def _only_ends(function: AdvisedFunction, block: int) -> bool:
    """Whether nothing is done from a block on: threads that come there have left, and barriers do not wait for them."""
    return all(function.instructions[i].opcode in ("ret", "exit") for i in function.graph.blocks[block]) and all(
        _only_ends(function, s) for s in function.graph.following[block] if s > block
    )


def _of_all_threads(instruction: Instruction) -> Operand | None:
    """The number of a barrier that waits for all threads of its CTA; None for any other instruction, and for a barrier whose
    number a register has."""
    if instruction.opcode not in BARRIERS or {"arrive", "cluster", "warp"} & {*instruction.modifiers}:
        return None
    if "sync" not in instruction.modifiers or len(instruction.operands) > 1:
        return None
    number = instruction.operands[0] if instruction.operands else Immediate(0)
    return number if isinstance(number, Immediate) else None


def _arm(function: AdvisedFunction, start: int, join: int, barriers: dict[int, Operand]) -> set[int]:
    """The barriers between one way of a branch and where the ways meet."""
    found: set[int] = set()
    waiting, seen = [start], {join}
    while waiting:
        b = waiting.pop()
        if b in seen:
            continue
        seen.add(b)
        tick()
        found.update(i for i in function.graph.blocks[b] if i in barriers)
        waiting += function.graph.following[b]
    return found

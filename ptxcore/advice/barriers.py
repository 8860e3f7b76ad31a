"""Barriers for all threads of a CTA in code that only some of them may come to."""

from __future__ import annotations

from collections.abc import Iterator

from ptxcore.advice.accesses import AdvisedFunction
from ptxcore.advice.edits import moved_before, warning
from ptxcore.advice.graph import BARRIERS, postdominators
from ptxcore.advice.values import THREAD
from ptxcore.clock import tick
from ptxcore.diagnostics import Diagnostic, Fix
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
        arms = [_arm(function, start, join) for start in following]
        some = [{i for block in arm for i in graph.blocks[block] if i in barriers} for arm in arms]
        for one, other in (some, some[::-1]):
            for i in sorted(one):
                if i not in told and all(barriers[i] != barriers[j] for j in other):
                    told.add(i)
                    single = len(one) == 1 and not other and _has_one_entry(function, b, join, set.union(*arms))
                    yield _divergent(function, i, branch, _moved(function, i, join) if single else None)


def _divergent(function: AdvisedFunction, index: int, branch: Instruction, fix: Fix | None) -> Diagnostic:
    barrier = function.instructions[index]
    return warning(
        "divergent-barrier", barrier.span,
        f"'{barrier.name}' waits for all threads of the CTA, and the branch on line {branch.span.line}, which depends on the "
        "thread, may lead some of them past it",
        "move it to where all threads come, or give it a number of threads; for the lanes of one warp: bar.warp.sync",
        fix,
    )  # fmt: skip


def _has_one_entry(function: AdvisedFunction, branch: int, join: int, arms: set[int]) -> bool:
    """Whether nobody comes to the blocks of two ways, and to where they meet, but by their branch."""
    inside = {branch, *arms}
    return all(inside.issuperset(function.graph.before[block]) for block in (join, *arms))


def _moved(function: AdvisedFunction, index: int, join: int) -> Fix | None:
    """A barrier moved to where two ways meet, which the threads that came to it do next: they do as before, and the others come
    to it as well. None where they do anything else before that."""
    graph = function.graph
    block = graph.block_of[index]
    rest = [function.instructions[i] for i in range(index + 1, graph.blocks[block].stop)]
    barrier = function.instructions[index]
    if barrier.guard is not None or any(one.opcode != "bra" for one in rest) or graph.following[block] != (join,):
        return None
    return moved_before(barrier, function.instructions[graph.blocks[join].start], function.source)


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


def _arm(function: AdvisedFunction, start: int, join: int) -> set[int]:
    """The blocks between one way of a branch and where the ways meet."""
    waiting, seen = [start], {join}
    while waiting:
        b = waiting.pop()
        if b not in seen:
            seen.add(b)
            tick()
            waiting += function.graph.following[b]
    return seen - {join}

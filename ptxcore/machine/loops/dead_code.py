"""Dead code of a kernel: what has no effect is left out before its loops are looked at.

It matters for loops that wait: what libraries put there (counting the attempts, reading a clock, sleeping longer and longer)
only decides how long the thread sleeps. Without it, an iteration that found nothing leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ptxcore.machine.ir.loop_nest import NaturalLoop, nest
from ptxcore.machine.ir.steps import InstructionStep
from ptxcore.machine.loops.control_flow import BasicBlock, all_steps, predecessors, reached, reaching, successors


def pruned(shapes: Sequence[BasicBlock], matters: Callable[[InstructionStep], bool]) -> list[BasicBlock]:
    """The shapes without what nobody notices: steps whose results decide nothing, and branches that only choose among such
    steps. `matters` knows the steps that matter in themselves. Branches that leave loops stay: that a loop ends is noticed.
    """
    following = [successors(shape) for shape in shapes]
    found = nest(following)
    reachable = reached(following)
    before = predecessors(following)
    without_end = reachable - reaching(len(shapes) - 1, before)
    graph = [list(s) for s in following]
    for b in sorted(without_end):
        graph[b].append(len(shapes) - 1)
    behind = _post_dominators(graph, reachable)
    controllers = _controllers(graph, behind, reachable)

    writers: dict[int, list[tuple[int, InstructionStep]]] = {}
    for b in reachable:
        for step in all_steps(shapes[b]):
            for target in step.targets:
                if target is not None:
                    writers.setdefault(target.register, []).append((b, step))
    live_steps: set[int] = set()
    live_blocks: set[int] = set()
    waiting: list[tuple[int, InstructionStep]] = []

    def mark(b: int, step: InstructionStep) -> None:
        if id(step) not in live_steps:
            live_steps.add(id(step))
            waiting.append((b, step))

    for b in reachable:
        shape = shapes[b]
        for step in shape.steps:
            if matters(step):
                mark(b, step)
        if shape.end is not None and (
            b in without_end or _leaves(b, following[b], found.loops[b]) or matters(shape.end)
        ):
            mark(b, shape.end)
    while waiting:
        b, step = waiting.pop()
        registers = step.reads if step.predicate is None else (*step.reads, step.predicate)
        for register in registers:
            for writer in writers.get(register, ()):
                mark(*writer)
        if b not in live_blocks:
            live_blocks.add(b)
            for c in controllers[b]:
                end = shapes[c].end
                if end is not None:
                    mark(c, end)
    result = []
    for b, shape in enumerate(shapes):
        if b not in reachable:
            result.append(BasicBlock((), None, None, len(shapes) - 1) if b < len(shapes) - 1 else shape)
            continue
        steps = tuple(step for step in shape.steps if id(step) in live_steps)
        if shape.end is None or id(shape.end) in live_steps or shape.follows is None:
            result.append(shape._replace(steps=steps))
        else:
            result.append(shape._replace(steps=steps, end=None, target=None, follows=behind[b]))
    return result


def _leaves(block: int, successors: Sequence[int], loops: Sequence[NaturalLoop]) -> bool:
    """Whether a branch leaves a loop."""
    return any(s not in loop.body for loop in loops for s in successors)


def _post_dominators(graph: Sequence[Sequence[int]], reachable: set[int]) -> dict[int, int]:
    """For each block the first one behind it that every path to the end passes (Cooper, Harvey and Kennedy 2001)."""
    end = len(graph) - 1
    before = predecessors(graph)
    order: list[int] = []
    seen = {end}
    stack = [(end, iter(before[end]))]
    while stack:
        block, rest = stack[-1]
        following = next((p for p in rest if p in reachable and p not in seen), None)
        if following is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(before[following])))
    rank = {block: i for i, block in enumerate(order)}
    found = {end: end}
    changed = True
    while changed:
        changed = False
        for block in reversed(order[:-1]):
            new: int | None = None
            for s in graph[block]:
                if s not in found:
                    continue
                if new is None:
                    new = s
                    continue
                a, b = s, new
                while a != b:
                    while rank[a] < rank[b]:
                        a = found[a]
                    while rank[b] < rank[a]:
                        b = found[b]
                new = a
            assert new is not None
            if found.get(block) != new:
                found[block], changed = new, True
    return found


def _controllers(graph: Sequence[Sequence[int]], behind: dict[int, int], reachable: set[int]) -> dict[int, set[int]]:
    """For each block those whose branches decide whether control comes there (Ferrante, Ottenstein and Warren 1987)."""
    controllers: dict[int, set[int]] = {b: set() for b in reachable}
    for b in reachable:
        if len(graph[b]) < 2:
            continue
        for s in graph[b]:
            runner = s
            while runner != behind[b]:
                controllers[runner].add(b)
                runner = behind[runner]
    return controllers

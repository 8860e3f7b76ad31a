"""The control-flow graph of a thread made ready: what is known about its loops is found; of a kernel, what has no effect is
left out before.

    shapes -> pruned (dead code is gone) -> loops, live registers -> blocks

Dead code matters for loops that wait: what libraries put there (counting the attempts, reading a clock, sleeping longer and
longer) only decides how long the thread sleeps. Without it, an iteration that found nothing leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ptxcore.machine.ir.loop_nest import Loop, Nest, nest
from ptxcore.machine.ir.steps import Block, Step


class Shape(NamedTuple):
    """A block before its surroundings are known. As in `Block`, the last of `steps` may be a branch or an exit, and is `end`
    then. The last shape is the end of the thread."""

    steps: tuple[Step, ...]
    end: Step | None
    target: int | None
    follows: int | None
    label: str = ""


def blocks(shapes: Sequence[Shape], observed: Iterable[int]) -> tuple[Block, ...]:
    """The blocks of a litmus thread, with loops and positions. `observed` are the registers that matter at the end."""
    following = [successors(shape) for shape in shapes]
    found = nest(following)
    live = _live(shapes, following, _bits(observed)) if any(found.loops) else []
    waits = _waits(shapes, found, live)
    made = tuple([_block(shape, b, found, waits) for b, shape in enumerate(shapes)])
    if not live:
        return made
    return tuple([block._replace(live=tuple(_registers(live[b]))) for b, block in enumerate(made)])


def _registers(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def kernel_blocks(shapes: Sequence[Shape], registers: int) -> tuple[Block, ...]:
    """The blocks, with loops, positions and live registers. No register matters at the end."""
    following = [successors(shape) for shape in shapes]
    found = nest(following)
    live = _live(shapes, following, 0)
    waits = _waits(shapes, found, live)
    return tuple(
        _block(shape, b, found, waits)._replace(live=tuple(r for r in range(registers) if live[b] >> r & 1))
        for b, shape in enumerate(shapes)
    )


def _block(shape: Shape, number: int, found: Nest, waits: Mapping[int, bool]) -> Block:
    loops = found.loops[number]
    return Block(
        shape.steps, shape.end, shape.target, shape.follows, found.positions[number], loops,
        tuple([waits[loop.header] for loop in loops]), shape.label,
    )  # fmt: skip


def _waits(shapes: Sequence[Shape], found: Nest, live: Sequence[int]) -> dict[int, bool]:
    """By header: whether iterations of a loop can be left out, as far as registers are concerned."""
    waits: dict[int, bool] = {}
    for around in found.loops:
        for loop in around:
            if loop.header not in waits:
                waits[loop.header] = _independent(loop, shapes, live[loop.header])
    return waits


def successors(shape: Shape) -> tuple[int, ...]:
    """The blocks behind a block."""
    return tuple(x for x in (shape.target, shape.follows) if x is not None)


def _bits(numbers: Iterable[int]) -> int:
    bits = 0
    for number in numbers:
        bits |= 1 << number
    return bits


def _reads(step: Step) -> int:
    bits = _bits(step.reads)
    return bits if step.predicate is None else bits | 1 << step.predicate


def _writes(step: Step) -> int:
    bits = 0
    for target in step.targets:
        if target is not None:
            bits |= 1 << target.register
    return bits


def _all_steps(shape: Shape) -> tuple[Step, ...]:
    return shape.steps if shape.end is None else (*shape.steps, shape.end)


def _live(shapes: Sequence[Shape], following: Sequence[tuple[int, ...]], at_end: int) -> list[int]:
    """For each block the registers that are read there or behind before they are written, as bits; at the end those that
    matter there."""
    used, killed = [], []
    for shape in shapes:
        use = kill = 0
        for step in _all_steps(shape):
            use |= _reads(step) & ~kill
            if step.predicate is None:
                kill |= _writes(step)
        used.append(use)
        killed.append(kill)
    live = [0] * len(shapes)
    live[-1] = at_end
    waiting = list(range(len(shapes) - 1))
    before = _predecessors(following)
    queued = set(waiting)
    while waiting:
        b = waiting.pop()
        queued.discard(b)
        after = 0
        for s in following[b]:
            after |= live[s]
        now = used[b] | after & ~killed[b]
        if now != live[b]:
            live[b] = now
            for p in before[b]:
                if p not in queued:
                    queued.add(p)
                    waiting.append(p)
    return live


def live_registers(shapes: Sequence[Shape]) -> list[int]:
    """For each block of a kernel the registers that matter where it begins, as bits."""
    return _live(shapes, [successors(shape) for shape in shapes], 0)


def only_looks_at(shapes: Sequence[Shape], header: int, effect_free: Callable[[Step], bool]) -> bool:
    """Whether a loop of a kernel begins at a block that does nothing but look, each iteration as if it was the first.
    `effect_free` knows the steps that change nothing for others, nor in memory of the thread's own."""
    found = nest([successors(shape) for shape in shapes])
    loop = next((loop for around in found.loops for loop in around if loop.header == header), None)
    if loop is None or not all(effect_free(step) for b in loop.body for step in shapes[b].steps):
        return False
    return _independent(loop, shapes, live_registers(shapes)[header])


def _predecessors(following: Sequence[Sequence[int]]) -> list[list[int]]:
    before: list[list[int]] = [[] for _ in following]
    for b, behind in enumerate(following):
        for s in behind:
            before[s].append(b)
    return before


def _independent(loop: Loop, shapes: Sequence[Shape], live: int) -> bool:
    """Whether no iteration of a loop sees what an earlier iteration left in registers."""
    if not loop.single_entry:
        return False
    written = 0
    for b in loop.body:
        for step in _all_steps(shapes[b]):
            written |= _writes(step)
    return not written & live


# Dead code.


def pruned(shapes: Sequence[Shape], matters: Callable[[Step], bool]) -> list[Shape]:
    """The shapes without what nobody notices: steps whose results decide nothing, and branches that only choose among such
    steps. `matters` knows the steps that matter in themselves. Branches that leave loops stay: that a loop ends is noticed.
    """
    following = [successors(shape) for shape in shapes]
    found = nest(following)
    reachable = _reachable(following)
    before = _predecessors(following)
    without_end = reachable - _reaching(len(shapes) - 1, before)
    graph = [list(s) for s in following]
    for b in sorted(without_end):
        graph[b].append(len(shapes) - 1)
    behind = _post_dominators(graph, reachable)
    controllers = _controllers(graph, behind, reachable)

    writers: dict[int, list[tuple[int, Step]]] = {}
    for b in reachable:
        for step in _all_steps(shapes[b]):
            for target in step.targets:
                if target is not None:
                    writers.setdefault(target.register, []).append((b, step))
    live_steps: set[int] = set()
    live_blocks: set[int] = set()
    waiting: list[tuple[int, Step]] = []

    def mark(b: int, step: Step) -> None:
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
            result.append(Shape((), None, None, len(shapes) - 1) if b < len(shapes) - 1 else shape)
            continue
        steps = tuple(step for step in shape.steps if id(step) in live_steps)
        if shape.end is None or id(shape.end) in live_steps or shape.follows is None:
            result.append(shape._replace(steps=steps))
        else:
            result.append(shape._replace(steps=steps, end=None, target=None, follows=behind[b]))
    return result


def _leaves(block: int, successors: Sequence[int], loops: Sequence[Loop]) -> bool:
    """Whether a branch leaves a loop."""
    return any(s not in loop.body for loop in loops for s in successors)


def _reachable(following: Sequence[Sequence[int]]) -> set[int]:
    return _reaching(0, following)


def _reaching(start: int, edges: Sequence[Sequence[int]]) -> set[int]:
    seen = {start}
    stack = [start]
    while stack:
        for s in edges[stack.pop()]:
            if s not in seen:
                seen.add(s)
                stack.append(s)
    return seen


def _post_dominators(graph: Sequence[Sequence[int]], reachable: set[int]) -> dict[int, int]:
    """For each block the first one behind it that every path to the end passes (Cooper, Harvey and Kennedy 2001)."""
    end = len(graph) - 1
    before = _predecessors(graph)
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

"""The control-flow graph of a thread made ready: what is known about its loops is found, and lines are made straight.

shapes -> passes (`passes`; of kernels) -> loops, live registers -> blocks
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ptxcore.machine.ir.liveness import live_in, registers
from ptxcore.machine.ir.loop_nest import NaturalLoop, Nest, nest
from ptxcore.machine.ir.steps import Block, InstructionStep
from ptxcore.records import NamedTuple


class BasicBlock(NamedTuple):
    """A block before its surroundings are known. As in `Block`, the last of `steps` may be a branch or an exit, and is `end`
    then. The last shape is the end of the thread."""

    steps: tuple[InstructionStep, ...]
    end: InstructionStep | None
    target: int | None
    follows: int | None
    label: str = ""


def blocks(shapes: Sequence[BasicBlock], observed: Iterable[int]) -> tuple[Block, ...]:
    """The blocks of a litmus thread, with loops and positions. `observed` are the registers that matter at the end."""
    following = [successors(shape) for shape in shapes]
    found = nest(following)
    live = _live(shapes, following, _bits(observed)) if any(found.loops) else []
    waits = _waits(shapes, found, live)
    made = tuple([_block(shape, b, found, waits) for b, shape in enumerate(shapes)])
    if not live:
        return made
    return tuple([block._replace(live=tuple(registers(live[b]))) for b, block in enumerate(made)])


def kernel_blocks(shapes: Sequence[BasicBlock], registers: int) -> tuple[Block, ...]:
    """The blocks, with loops, positions and live registers. No register matters at the end."""
    following = [successors(shape) for shape in shapes]
    found = nest(following)
    live = _live(shapes, following, 0)
    waits = _waits(shapes, found, live)
    return tuple(
        _block(shape, b, found, waits)._replace(live=tuple(r for r in range(registers) if live[b] >> r & 1))
        for b, shape in enumerate(shapes)
    )


def _block(shape: BasicBlock, number: int, found: Nest, waits: Mapping[int, bool]) -> Block:
    loops = found.loops[number]
    return Block(
        shape.steps, shape.end, shape.target, shape.follows, found.positions[number], loops,
        tuple([waits[loop.header] for loop in loops]), shape.label,
    )  # fmt: skip


def _waits(shapes: Sequence[BasicBlock], found: Nest, live: Sequence[int]) -> dict[int, bool]:
    """By header: whether iterations of a loop can be left out, as far as registers are concerned."""
    waits: dict[int, bool] = {}
    for around in found.loops:
        for loop in around:
            if loop.header not in waits:
                waits[loop.header] = _independent(loop, shapes, live[loop.header])
    return waits


def successors(shape: BasicBlock) -> tuple[int, ...]:
    """The blocks behind a block."""
    return tuple(x for x in (shape.target, shape.follows) if x is not None)


def is_conditional(shape: BasicBlock) -> bool:
    """Whether control goes on from a block in two ways."""
    return shape.target is not None and shape.follows is not None


def only_way(shape: BasicBlock) -> int | None:
    """Where a block goes that goes one way."""
    return shape.follows if shape.target is None else shape.target


def first_filled(shapes: Sequence[BasicBlock], block: int | None) -> int | None:
    """The first block from here on that has anything in it."""
    seen: set[int] = set()
    while block is not None and block not in seen and not shapes[block].steps and shapes[block].end is None:
        if shapes[block].follows is None:
            break
        seen.add(block)
        block = shapes[block].follows
    return block


def with_block(shapes: Sequence[BasicBlock], new: BasicBlock) -> list[BasicBlock]:
    """The shapes with one more, which takes the number of the thread's end: that stays the last one."""
    last = len(shapes) - 1
    moved = [redirected(shape, {last: last + 1}) for shape in (*shapes[:last], new)]
    return [*moved, shapes[last]]


def redirected(shape: BasicBlock, to: Mapping[int, int]) -> BasicBlock:
    """A block with other numbers where it goes to these."""
    target, follows = (None if b is None else to.get(b, b) for b in (shape.target, shape.follows))
    return shape._replace(target=target, follows=follows)


def _bits(numbers: Iterable[int]) -> int:
    bits = 0
    for number in numbers:
        bits |= 1 << number
    return bits


def registers_read(step: InstructionStep) -> int:
    """The registers that a step reads, as bits."""
    bits = _bits(step.reads)
    return bits if step.predicate is None else bits | 1 << step.predicate


def registers_written(step: InstructionStep) -> int:
    """The registers that a step writes, as bits."""
    bits = 0
    for target in step.targets:
        if target is not None:
            bits |= 1 << target.register
    return bits


def all_steps(shape: BasicBlock) -> tuple[InstructionStep, ...]:
    """The steps of a block with its end."""
    return shape.steps if shape.end is None else (*shape.steps, shape.end)


def _live(shapes: Sequence[BasicBlock], following: Sequence[tuple[int, ...]], at_end: int) -> list[int]:
    """For each block the registers that are read there or behind before they are written, as bits; at the end those that
    matter there."""
    used, killed = [], []
    for shape in shapes:
        use = kill = 0
        for step in all_steps(shape):
            use |= registers_read(step) & ~kill
            if step.predicate is None:
                kill |= registers_written(step)
        used.append(use)
        killed.append(kill)
    used[-1] |= at_end
    return live_in(following, used, killed)


def live_registers(shapes: Sequence[BasicBlock]) -> list[int]:
    """For each block of a kernel the registers that matter where it begins, as bits."""
    return _live(shapes, [successors(shape) for shape in shapes], 0)


def loops_of(shapes: Sequence[BasicBlock]) -> dict[int, NaturalLoop]:
    """The loops, by their headers."""
    return {loop.header: loop for around in nest([successors(shape) for shape in shapes]).loops for loop in around}


def waiting_loop(
    shapes: Sequence[BasicBlock], header: int, is_pure: Callable[[InstructionStep], bool]
) -> NaturalLoop | None:
    """The loop that begins at a block, if it does nothing but look, each iteration as if it was the first. `is_pure` knows the
    steps that change nothing for others, nor in memory of the thread's own."""
    loop = loops_of(shapes).get(header)
    if loop is None or not all(is_pure(step) for b in loop.body for step in shapes[b].steps):
        return None
    return loop if _independent(loop, shapes, live_registers(shapes)[header]) else None


def reached(following: Sequence[Sequence[int]]) -> set[int]:
    """The blocks to which control may come."""
    return reaching(0, following)


def reaching(start: int, edges: Sequence[Sequence[int]]) -> set[int]:
    """The blocks to which edges lead from one."""
    seen = {start}
    stack = [start]
    while stack:
        for s in edges[stack.pop()]:
            if s not in seen:
                seen.add(s)
                stack.append(s)
    return seen


def predecessors(following: Sequence[Sequence[int]]) -> list[list[int]]:
    """The blocks from which control comes to each."""
    before: list[list[int]] = [[] for _ in following]
    for b, behind in enumerate(following):
        for s in behind:
            before[s].append(b)
    return before


def _independent(loop: NaturalLoop, shapes: Sequence[BasicBlock], live: int) -> bool:
    """Whether no iteration of a loop sees what an earlier iteration left in registers."""
    if not loop.single_entry:
        return False
    written = 0
    for b in loop.body:
        for step in all_steps(shapes[b]):
            written |= registers_written(step)
    return not written & live


# Straight lines.


def straightened(shapes: Sequence[BasicBlock]) -> list[BasicBlock]:
    """The shapes without empty blocks, and with blocks that only follow each other as one, jumps left out. Labels are kept."""
    last = len(shapes) - 1
    made = [_without_jump(shape, b) for b, shape in enumerate(shapes)]
    behind = [first_filled(made, b) or 0 for b in range(len(made))]
    for b, passed in enumerate(behind):
        if passed != b and made[b].label and passed != last:
            made[passed] = made[passed]._replace(label=_labels(made[b].label, made[passed].label))
    for b, shape in enumerate(made):
        target = None if shape.target is None else behind[shape.target]
        follows = None if shape.follows is None else behind[shape.follows]
        if target is not None and target == follows:  # both ways lead there
            made[b] = shape._replace(end=None, target=None, follows=follows)
        else:
            made[b] = shape._replace(target=target, follows=follows)
    count = _predecessor_counts(made)
    for b in range(len(made)):
        while True:
            shape = made[b]
            n = shape.follows
            if shape.end is not None or n is None or n in (b, 0, last) or count[n] != 1 or not count[b]:
                break
            label = _labels(shape.label, "" if made[n].steps or shape.steps else made[n].label)
            made[b] = made[n]._replace(steps=(*shape.steps, *made[n].steps), label=label)
            made[n] = BasicBlock((), None, None, last)
            count[n] = 0
    return made


def _without_jump(shape: BasicBlock, block: int) -> BasicBlock:
    """A block that always jumps to one other is one that this follows."""
    end = shape.end
    if end is None or end.kind != "branch" or end.predicate is not None or end.sources or shape.target in (None, block):
        return shape
    return shape._replace(end=None, target=None, follows=shape.target)


def _labels(first: str, second: str) -> str:
    return " ".join(dict.fromkeys([*first.split(), *second.split()]))


def _predecessor_counts(shapes: Sequence[BasicBlock]) -> list[int]:
    """From how many blocks that can be reached each is entered; the first one from outside as well."""
    following = [successors(shape) for shape in shapes]
    count = [1] + [0] * (len(shapes) - 1)
    for b in reached(following):
        for s in following[b]:
            count[s] += 1
    return count

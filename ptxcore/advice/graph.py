"""The control flow of a function as it is written: basic blocks of statements, before any lowering, so that a module with
errors has it too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ptxcore.clock import tick
from ptxcore.syntax.tree import Instruction, Label, Name

#: Instructions that searches of one function may look at: far beyond what compilers write, a bound for what machines make.
_MOST_STEPS = 1 << 20

_ENDS = frozenset(("ret", "exit", "trap"))
#: Opcodes that order memory among the threads of a CTA, or wait for them.
BARRIERS = frozenset(("bar", "barrier"))


class Graph:
    """The instructions of a function, its basic `blocks`, and for each block those that may come next (`following`) and
    before. The last block is the end of the function, and empty."""

    def __init__(self, statements: Sequence[Instruction | Label]) -> None:
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        for statement in statements:
            if isinstance(statement, Label):
                self.labels[statement.name] = len(self.instructions)
            else:
                self.instructions.append(statement)
        self.blocks = self._cut()
        self.block_of = [b for b, block in enumerate(self.blocks) for _ in block]
        self.block_of.append(len(self.blocks) - 1)
        self.following = [self._behind(b, block) for b, block in enumerate(self.blocks)]
        self.before: list[list[int]] = [[] for _ in self.blocks]
        for b, behind in enumerate(self.following):
            for s in behind:
                self.before[s].append(b)
        self._steps = _MOST_STEPS

    def _cut(self) -> list[range]:
        count = len(self.instructions)
        starts = {0, *self.labels.values()}
        for i, instruction in enumerate(self.instructions):
            tick()
            if instruction.opcode in ("bra", "brx") or instruction.opcode in _ENDS:
                starts.add(i + 1)
        cuts = sorted(s for s in starts if s < count)
        return [*(range(a, b) for a, b in zip(cuts, [*cuts[1:], count], strict=True)), range(count, count)]

    def _behind(self, number: int, block: range) -> tuple[int, ...]:
        if not block:
            return ()
        last = self.instructions[block[-1]]
        end = len(self.blocks) - 1
        if last.opcode == "brx":
            return tuple(sorted({self.block_of[at] for at in self.labels.values()} | {number + 1}))
        if last.opcode in _ENDS:
            return (end,) if last.guard is None else (number + 1, end)
        if last.opcode == "bra":
            goal = self.block_of[self.labels[label]] if (label := goal_of(last)) in self.labels else end
            return (goal,) if last.guard is None else tuple(dict.fromkeys((number + 1, goal)))
        return (number + 1,)

    def ahead(self, start: int, stops: Callable[[int], bool]) -> Iterator[int]:
        """The instructions that may come after one, each path up to the first that `stops` takes (which is among them); the
        number of instructions stands for the end. Nothing more once the searches of a function have cost too much."""
        block = self.blocks[self.block_of[start]]
        yield from self._walk([range(start + 1, block.stop)], self.following, stops)

    def behind(self, start: int, stops: Callable[[int], bool]) -> Iterator[int]:
        """As `ahead`, backwards; -1 stands for the beginning."""
        block = self.blocks[self.block_of[start]]
        yield from self._walk([range(start - 1, block.start - 1, -1)], self.before, stops)

    def _walk(
        self, waiting: list[range], edges: Sequence[Sequence[int]], stops: Callable[[int], bool]
    ) -> Iterator[int]:
        seen: set[int] = set()
        forwards = edges is self.following
        count = len(self.instructions)
        while waiting:
            part = waiting.pop()
            stopped = False
            for i in part:
                tick()
                self._steps -= 1
                yield i
                if stops(i) or self._steps < 0:
                    stopped = True
                    break
            if stopped:
                continue
            at = part.stop - 1 if forwards else part.stop + 1  # its last instruction, or its first
            block = self.block_of[at] if 0 <= at < count else len(self.blocks) - 1
            if not forwards and block == 0:
                yield -1
            for s in edges[block]:
                if s in seen:
                    continue
                seen.add(s)
                inside = self.blocks[s]
                if inside:
                    waiting.append(inside if forwards else inside[::-1])
                elif forwards:
                    yield count


def goal_of(instruction: Instruction) -> str:
    """The label that a branch goes to; "" for anything else."""
    if instruction.opcode == "bra" and instruction.operands and isinstance(instruction.operands[0], Name):
        return instruction.operands[0].name
    return ""


def postdominators(following: Sequence[Sequence[int]]) -> list[int | None]:
    """For each block the next one that all paths from it to the last block come to; None where there is no path."""
    end = len(following) - 1
    before: list[list[int]] = [[] for _ in following]
    for b, behind in enumerate(following):
        for s in behind:
            before[s].append(b)
    order: list[int] = []  # of the reversed graph, depth first, what is left first at the end
    seen, work = {end}, [(end, iter(before[end]))]
    while work:
        tick()
        deeper = next((x for x in work[-1][1] if x not in seen), None)
        if deeper is None:
            order.append(work.pop()[0])
        else:
            seen.add(deeper)
            work.append((deeper, iter(before[deeper])))
    place = {b: i for i, b in enumerate(order)}
    found: list[int | None] = [None] * len(following)
    found[end] = end
    changed = True
    while changed:
        changed = False
        for b in reversed(order[:-1]):
            tick()
            known = [s for s in following[b] if found[s] is not None]
            now = known[0]
            for s in known[1:]:
                now = _meet(now, s, found, place)
            changed, found[b] = changed or found[b] != now, now
    return found


def _meet(a: int, b: int, found: Sequence[int | None], place: dict[int, int]) -> int:
    while a != b:
        if place[a] > place[b]:
            a, b = b, a
        after = found[a]
        assert after is not None  # what has a place has been seen
        a = after
    return a

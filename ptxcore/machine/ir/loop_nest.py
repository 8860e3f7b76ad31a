"""The loops of a control-flow graph, nested, found by strongly connected components, so that any graph has them.

A component with a cycle is a loop; its header is the entry that comes first. Without the edges that lead back to the
header, the components inside are the inner loops, and so on. What is left at each level is acyclic and has an order;
the positions of a block along its nest, together with an iteration count for each loop, order the unrolled graph.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptxcore.clock import tick
from ptxcore.records import NamedTuple


class NaturalLoop(NamedTuple):
    """`single_entry`: control enters through the header only, so that an iteration can be left out without inventing a
    path."""

    header: int
    body: frozenset[int]
    single_entry: bool


class Uncounted(NamedTuple):
    """Iterations of loops, by their places in the unrolled graph, that bounds do not count: those that may be left out where
    they had no effect, and those that nobody chose. Both are known when a thread has been explored."""

    omitted: frozenset[tuple[int, ...]] = frozenset()
    forced: frozenset[tuple[int, ...]] = frozenset()


NONE_UNCOUNTED = Uncounted()


class Nest(NamedTuple):
    """For each block: the loops around it, outermost first, and its position at each level (one more than loops)."""

    loops: tuple[tuple[NaturalLoop, ...], ...]
    positions: tuple[tuple[int, ...], ...]


def nest(successors: Sequence[Sequence[int]]) -> Nest:
    """The loops of the blocks that are reachable from block 0."""
    if all(
        s > b for b, following in enumerate(successors) for s in following
    ):  # the usual case: all jumps lead forward
        return Nest(((),) * len(successors), tuple((b,) for b in range(len(successors))))
    count = len(successors)
    loops: list[tuple[NaturalLoop, ...]] = [()] * count
    positions: list[tuple[int, ...]] = [()] * count
    reachable = _reachable(successors)
    predecessors: dict[int, list[int]] = {b: [] for b in reachable}
    for b in reachable:
        for s in successors[b]:
            predecessors[s].append(b)
    first = {b: i for i, component in enumerate(_components(successors, reachable, None)) for b in component}
    regions: list[tuple[frozenset[int], int | None, tuple[NaturalLoop, ...], tuple[int, ...]]] = [
        (reachable, None, (), ())
    ]
    while regions:
        blocks, header, around, prefix = regions.pop()
        for position, component in enumerate(_components(successors, blocks, header)):
            block = component[0]
            here = (*prefix, position)
            if len(component) == 1 and (block not in successors[block] or block == header):
                loops[block], positions[block] = around, here
                continue
            body = frozenset(component)
            entries = [b for b in component if b == 0 or any(p not in body for p in predecessors[b])]
            chosen = min(entries, key=lambda b: (first[b], b))
            loop = NaturalLoop(chosen, body, entries == [chosen])
            regions.append((body, chosen, (*around, loop), here))
    return Nest(tuple(loops), tuple(positions))


def _reachable(successors: Sequence[Sequence[int]]) -> frozenset[int]:
    seen = {0}
    stack = [0]
    while stack:
        for s in successors[stack.pop()]:
            if s not in seen:
                seen.add(s)
                stack.append(s)
    return frozenset(seen)


def _components(successors: Sequence[Sequence[int]], blocks: frozenset[int], header: int | None) -> list[list[int]]:
    """The strongly connected components among `blocks`, edges to `header` left out, in topological order (Tarjan
    1972)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    open_: list[int] = []
    is_open: set[int] = set()
    found: list[list[int]] = []
    for root in sorted(blocks):
        tick()
        if root in index:
            continue
        work = [(root, iter(successors[root]))]
        index[root] = low[root] = len(index)
        open_.append(root)
        is_open.add(root)
        while work:
            block, rest = work[-1]
            for s in rest:
                if s not in blocks or s == header:
                    continue
                if s not in index:
                    index[s] = low[s] = len(index)
                    open_.append(s)
                    is_open.add(s)
                    work.append((s, iter(successors[s])))
                    break
                if s in is_open:
                    low[block] = min(low[block], index[s])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[block])
                if low[block] == index[block]:
                    component: list[int] = []
                    while not component or component[-1] != block:
                        component.append(open_.pop())
                        is_open.discard(component[-1])
                    found.append(sorted(component))
    found.reverse()
    return found

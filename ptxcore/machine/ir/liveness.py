"""Liveness: what is read later before it is written, as bits of blocks of any kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def live_in(following: Sequence[Sequence[int]], used: Sequence[int], killed: Sequence[int]) -> list[int]:
    """For each block what is live where it begins. `following`: the numbers of the blocks behind each; `used`: what a block
    reads before it writes it; `killed`: what it writes in any case."""
    before: list[list[int]] = [[] for _ in following]
    for b, behind in enumerate(following):
        for s in behind:
            before[s].append(b)
    live = [0] * len(following)
    waiting = list(range(len(following)))
    queued = set(waiting)
    while waiting:
        b = waiting.pop()
        queued.discard(b)
        now = used[b] | live_out(following[b], live) & ~killed[b]
        if now != live[b]:
            live[b] = now
            waiting += [p for p in before[b] if p not in queued]
            queued.update(before[b])
    return live


def live_out(behind: Sequence[int], live: Sequence[int]) -> int:
    """What is live where a block ends that is followed by those."""
    found = 0
    for s in behind:
        found |= live[s]
    return found


def registers(bits: int) -> Iterator[int]:
    """The registers that stand as bits, the lowest first."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest

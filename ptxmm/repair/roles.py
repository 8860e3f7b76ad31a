"""Which statements of a kernel no one thread executes both of: those of a producer and of a consumer, say.

What is tried first hangs on this, and no answer does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ptxcore.advice.graph import Graph
from ptxcore.syntax.tree import AnyStatement, Instruction, Label


class Roles:
    """The ways that threads go through the statements of a kernel."""

    def __init__(self, body: Sequence[AnyStatement]) -> None:
        self._body = body
        self._graph = Graph([s for s in body if isinstance(s, Instruction | Label)])
        self._number = {id(instruction): k for k, instruction in enumerate(self._graph.instructions)}
        self._reached: dict[int, set[int]] = {}

    def apart(self, i: int, others: Iterable[int]) -> bool:
        """Whether no thread that comes by statement number `i` executes one of the others, before or behind it."""
        here = self._block(i)
        return not any(there in self._from(here) or here in self._from(there) for there in map(self._block, others))

    def _block(self, i: int) -> int:
        following = next((s for s in self._body[i:] if isinstance(s, Instruction)), None)
        number = len(self._graph.instructions) if following is None else self._number[id(following)]
        return self._graph.block_of[number]

    def _from(self, block: int) -> set[int]:
        """The blocks that are reached from one, itself among them."""
        if block not in self._reached:
            found, waiting = set[int](), [block]
            while waiting:
                if (reached := waiting.pop()) not in found:
                    found.add(reached)
                    waiting += self._graph.following[reached]
            self._reached[block] = found
        return self._reached[block]

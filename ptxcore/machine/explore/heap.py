"""What `malloc` gives threads that are explored: each call, in each iteration of each thread, gets memory of its own."""

from __future__ import annotations

from collections.abc import Hashable

from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.lower.layout import FIRST_VARIABLE

#: The first number of a buffer on the heap, so that addresses leave the highest bits free, as those of devices do. Those below
#: are of launches, the others of variables.
_FIRST = 1 << 14
#: Addresses are multiples of this, and of nothing larger.
_ALIGN = 16


class Heap:
    """The addresses that were given, by thread and call: they stay the same however often a thread is executed, on symbols
    or on numbers."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def address(self, thread: str, call: Hashable) -> int:
        number = self._numbers.setdefault((thread, call), len(self._numbers))
        return (_FIRST + number << GLOBAL_BITS) + _ALIGN


def on_heap(address: int) -> bool:
    """Whether an address is of memory that `malloc` gave, or might have given."""
    return _FIRST <= address >> GLOBAL_BITS < FIRST_VARIABLE

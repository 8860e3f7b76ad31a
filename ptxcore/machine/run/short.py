"""The short way to memory: reading and writing 1, 2, 4 and 8 bytes where most accesses go, in few steps of Python.

What is not there (a buffer that ends, an address of another space, a byte that nobody wrote, a value that is unknown) is
left to the long way, which knows what to say of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.run.surroundings import ThreadView

Load = Callable[[Any, int], int]
Store = Callable[[Any, int, int], None]

_OFFSET = (1 << GLOBAL_BITS) - 1
#: Bytes of an address.
_POINTER = 8
#: Binary logarithms of the numbers of bytes.
_SHIFTS = range(4)


def loads(long: Callable[[Any, int, int], int]) -> list[Load]:
    """Reads from buffers of global memory."""

    def of(shift: int) -> Load:
        size, low = 1 << shift, (1 << shift) - 1

        def load(thread: ThreadView, address: int) -> int:
            segment = thread.globals.get(address >> GLOBAL_BITS)
            if segment is not None and not address & low:
                try:
                    value: int = segment.loads[shift][(address & _OFFSET) >> shift]
                    return value
                except IndexError:
                    pass
            return long(thread, address, size)

        return load

    return [of(shift) for shift in _SHIFTS]


def stores(long: Callable[[Any, int, int, int], None]) -> list[Store]:
    """Writes to buffers of global memory."""

    def of(shift: int) -> Store:
        size, low = 1 << shift, (1 << shift) - 1

        def store(thread: ThreadView, address: int, value: int) -> None:
            segment = thread.globals.get(address >> GLOBAL_BITS)
            if segment is not None and not address & low:
                try:
                    segment.stores[shift][(address & _OFFSET) >> shift] = value
                    return
                except (IndexError, TypeError, ValueError):
                    pass
            long(thread, address, size, value)

        return store

    return [of(shift) for shift in _SHIFTS]


def shared_loads(long: Callable[[Any, int, int], int]) -> list[Load]:
    """Reads from the shared memory of the thread's own CTA, where all bytes were written."""

    def of(shift: int) -> Load:
        size, low, known = 1 << shift, (1 << shift) - 1, (1 << (8 << shift)) - 1

        def load(thread: ThreadView, address: int) -> int:
            offset = address - thread.shared
            if offset >= 0 and not offset & low:
                cta, at = thread.cta, offset >> shift
                try:
                    if cta.known_words[shift][at] == known:
                        value: int = cta.words[shift][at]
                        return value
                except IndexError:
                    pass
            return long(thread, address, size)

        return load

    return [of(shift) for shift in _SHIFTS]


def shared_stores(long: Callable[[Any, int, int, int], None]) -> list[Store]:
    """Writes to the shared memory of the thread's own CTA."""

    def of(shift: int) -> Store:
        size, low, known = 1 << shift, (1 << shift) - 1, (1 << (8 << shift)) - 1

        def store(thread: ThreadView, address: int, value: int) -> None:
            offset = address - thread.shared
            if offset >= 0 and not offset & low:
                cta, at = thread.cta, offset >> shift
                try:
                    cta.words[shift][at] = value
                    cta.known_words[shift][at] = known
                    return
                except (IndexError, TypeError, ValueError):
                    pass
            long(thread, address, size, value)

        return store

    return [of(shift) for shift in _SHIFTS]


def watched_load(base: type, name: str, size: int) -> Load:
    """A read of a base class, told to the thread's watcher, who may say what it finds."""
    whole: Load = getattr(base, name)

    def load(thread: Any, address: int) -> int:
        told: int | None = thread.watcher.reads(thread, address, size)
        return whole(thread, address) if told is None else told

    return load


def watched_store(base: type, name: str, size: int) -> Store:
    """A write of a base class, told to the thread's watcher."""
    whole: Store = getattr(base, name)

    def store(thread: Any, address: int, value: int) -> None:
        thread.watcher.writes(thread, address, size, value)
        if size == _POINTER and type(value) is int:
            thread.hands_on(address, value)
        whole(thread, address, value)

    return store

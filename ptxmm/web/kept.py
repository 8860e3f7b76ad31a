"""Answers that are kept: those asked for last, in so many bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from ptxcore.records import NamedTuple


class Ready(NamedTuple):
    """An answer as it is sent."""

    status: int
    body: bytes


class Kept:
    """The last answers by what was asked: at most so many, and of so many bytes together, those of the questions included."""

    def __init__(self, most: int, size: int) -> None:
        self._most, self._size, self.used = most, size, 0
        self._found: OrderedDict[Hashable, tuple[Ready, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: Hashable) -> Ready | None:
        """The answer to what was asked, if it is kept."""
        found = self._found.get(key)
        if found is None:
            return None
        self._found.move_to_end(key)
        return found[0]

    def put(self, key: Hashable, answer: Ready, asked: int) -> None:
        """Keeps an answer to a question of so many bytes, and lets go of the oldest ones."""
        size = len(answer.body) + asked
        if size > self._size // 8:  # one must not drive out all others
            return
        self._drop(key)
        self._found[key] = answer, size
        self.used += size
        while self.used > self._size or len(self._found) > self._most:
            self._drop(next(iter(self._found)))

    def _drop(self, key: Hashable) -> None:
        found = self._found.pop(key, None)
        if found is not None:
            self.used -= found[1]

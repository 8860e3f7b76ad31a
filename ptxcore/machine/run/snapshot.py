"""A thread as it was at some time, of which a copy is made when somebody asks for it, which few do."""

from __future__ import annotations

import copy
from operator import attrgetter
from typing import Generic, TypeVar

from ptxcore.machine.run.thread import RunningThread

#: What changes of a thread while it runs, beside its registers and frames.
_CHANGING = (
    "answer", "answered", "base", "carry", "copied", "done", "insists", "op", "passed", "pc", "polled", "seen", "slept", "spun",
    "stuck", "top", "waiting",
)  # fmt: skip
_changing = attrgetter(*_CHANGING)

T = TypeVar("T", bound=RunningThread)


class Snapshot(Generic[T]):
    """A thread as it is now. (To copy each thread that looks at memory takes a fifth of a run.)"""

    __slots__ = ("_changing", "_copy", "_frames", "_of", "registers")

    def __init__(self, thread: T) -> None:
        self._of, self._changing = thread, _changing(thread)
        self.registers, self._frames = list(thread.R), list(thread.frames)
        self._copy: T | None = None

    @property
    def thread(self) -> T:
        """A thread that is as this one was; always the same one."""
        if self._copy is None:
            self._copy = copy.copy(self._of)
            self._copy.R, self._copy.frames = list(self.registers), self._frames
            for name, value in zip(_CHANGING, self._changing, strict=True):
                setattr(self._copy, name, value)
        return self._copy


__all__ = ["Snapshot"]

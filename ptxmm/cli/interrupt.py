"""Ctrl-C while a solver computes in this process: it answers at once, not when the solver returns."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

_GRACE = 0.4  # seconds for the interpreter to see the signal by itself


class PromptInterrupt:
    """Within this block a signal that the interpreter cannot act upon, because it waits for a solver, ends the process.

    The interpreter runs signal handlers between two instructions of its own, and a solver may compute for hours within
    one. A thread hears of the signal through a pipe; when the block has not been left a moment later, it calls
    `give_up` (which may print) and exits as the signal would have. Some solvers keep even other threads from running:
    of those only Ctrl-C is heard. Who has nothing to lose therefore says so, and the system ends the process at once
    when it is asked to terminate.
    """

    def __init__(self, give_up: Callable[[], None], *, nothing_to_lose: bool) -> None:
        self._give_up = give_up
        self._at_once = ("SIGTERM", "SIGHUP") if nothing_to_lose else ()
        self._handlers: dict[int, Any] = {}
        self._left = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> PromptInterrupt:
        if os.name == "posix" and threading.current_thread() is threading.main_thread():
            self._reader, self._writer = os.pipe()
            os.set_blocking(self._writer, False)
            self._before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
            for number in (getattr(signal, name) for name in self._at_once):
                self._handlers[number] = signal.signal(number, signal.SIG_DFL)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if self._thread:
            self._left.set()
            signal.set_wakeup_fd(self._before)
            os.close(self._writer)  # ends the thread's wait
            self._thread.join()
            os.close(self._reader)

    def _watch(self) -> None:
        while heard := os.read(self._reader, 1):
            if heard[0] in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) and not self._left.wait(_GRACE):
                try:
                    self._give_up()
                finally:
                    os._exit(128 + heard[0])

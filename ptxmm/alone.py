"""One item in a process of its own, as `ptxmm.workers` has many, without what only many need: a third of what those import.

A solver that runs out of memory ends its process, and none hears of Ctrl-C while it computes: so even a single test has one.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable
from typing import NoReturn, TypeVar

ItemT = TypeVar("ItemT")
AnswerT = TypeVar("AnswerT")

#: Where a process can be copied safely.
AVAILABLE = sys.platform == "linux"
_BLOCK = 1 << 16


def alone(task: Callable[[ItemT], AnswerT], item: ItemT, lost: Callable[[ItemT, str], AnswerT]) -> AnswerT:
    """What `task` makes of `item`; `lost` gives the answer where the process dies, with the reason. Whatever is raised here
    (KeyboardInterrupt) kills the process first."""
    answers, answer = os.pipe()
    life, mine = os.pipe()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until somebody would kill the process for it
    child = os.fork()
    if child == 0:
        os.close(answers)
        os.close(mine)
        _work(task, item, answer, life)
    ended = False
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(answer)
        os.close(life)
        told = _all_of(answers)
        _, status = os.waitpid(child, 0)
        ended = True
    finally:
        if not ended:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        os.close(answers)
        os.close(mine)
    try:
        found: AnswerT = pickle.loads(told)
    except Exception:  # it died on the way
        from ptxmm.endings import how_ended

        return lost(item, how_ended(os.waitstatus_to_exitcode(status)))
    return found


def _work(task: Callable[[ItemT], AnswerT], item: ItemT, answer: int, life: int) -> NoReturn:
    """The life of the process."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        _end_with(life)
        told = memoryview(pickle.dumps(task(item), pickle.HIGHEST_PROTOCOL))
        while told:
            told = told[os.write(answer, told) :]
        status = 0
    finally:
        os._exit(status)  # nothing of the parent's that was copied here is ours to clean up


def _end_with(life: int) -> None:
    """Lets the system end the process when the other end of a pipe is closed, as it is when the parent dies."""
    import fcntl

    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(life, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(life, fcntl.F_SETFL, fcntl.fcntl(life, fcntl.F_GETFL) | os.O_ASYNC)


def _all_of(pipe: int) -> bytes:
    found = bytearray()
    while block := os.read(pipe, _BLOCK):
        found += block
    return bytes(found)

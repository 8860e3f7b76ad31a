"""Runs a task over many items in worker processes, and keeps going whatever happens to one of them.

    with Workers(task, items, jobs=2) as workers:
        for result in workers:      # in the order of the items
            ...

What it promises:
  - items are taken as they are needed: there may be more than memory holds;
  - results come in the order of the items, each as soon as those before it are there (or, with `as_they_come`, at once);
  - an item that takes longer than `limit` seconds is stopped for good: its worker is killed and replaced, `late` gives
    its result;
  - a worker that dies (killed, out of memory) takes nothing with it: what it had finished is there, what it had not is
    given to others; the item that it was at is tried once more, then `lost` gives its result. One that aborts or crashes did
    so itself, as a solver without memory does, and would again: its item is not tried any more;
  - leaving the `with` block, by whatever way, kills and reaps every worker.

Each worker has a pipe of its own, so that a killed worker can break no queue and no lock that others need. Items are
sent ahead, a few milliseconds' worth, and every result is sent back at once. When nothing is left to hand out, an idle
worker takes over copies of what waits behind a slow item; the first result counts.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Generic, TypeVar

from ptxcore.clock import LONGEST
from ptxmm.endings import how_ended

ItemT = TypeVar("ItemT")
AnswerT = TypeVar("AnswerT")

_AHEAD = 0.010  # seconds of work to send ahead
_MOST_AHEAD = 32
_MOST_WORKERS = 512
_SLOW = 0.05  # an item that runs longer has what waits behind it taken over by idle workers
_MOST_START_FAILURES = 5
#: Signals by which a process ends itself.
_OWN_DOING = frozenset(
    getattr(signal, name) for name in ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE") if hasattr(signal, name)
)


class WorkersFailed(Exception):
    """Worker processes die before they are ready: nothing can be done here."""


class _Worker:
    """One process: `queue` holds the indices sent to it and not answered, the first being the one that it is at."""

    __slots__ = ("pipe", "process", "queue", "ready", "since")

    def __init__(self, process: BaseProcess, pipe: Connection) -> None:
        self.process = process
        self.pipe = pipe
        self.queue: deque[int] = deque()
        self.ready = False
        self.since = 0.0  # when it began the first of its queue


class Workers(Generic[ItemT, AnswerT]):
    """See the module. `late(item, seconds)` and `lost(item, reason)` make the results of items that gave none."""

    def __init__(
        self,
        task: Callable[[ItemT], AnswerT],
        items: Iterable[ItemT],
        *,
        jobs: int,
        late: Callable[[ItemT, float], AnswerT],
        lost: Callable[[ItemT, str], AnswerT],
        limit: float | None = None,
        start_method: str | None = None,
    ) -> None:
        self._task, self._late, self._lost = task, late, lost
        self._source = iter(items)
        self._exhausted = False
        self._taken = 0  # how many items were taken from the source
        self._items: dict[int, ItemT] = {}  # those that have no result yet
        most = len(items) if isinstance(items, Sized) else _MOST_WORKERS
        self._jobs = max(1, min(jobs, most, _MOST_WORKERS))
        self._limit = None if limit is None else min(limit, LONGEST)
        # Where fork is safe, workers start with everything imported; elsewhere they import for themselves.
        self._context: BaseContext = get_context(start_method or ("fork" if sys.platform == "linux" else "spawn"))
        self._workers: list[_Worker] = []
        self._waiting: deque[int] = deque()
        self._results: dict[int, AnswerT] = {}
        self._next = 0  # the first index not yet given out
        self._deaths: dict[int, int] = {}
        self._copied: set[int] = set()
        self._mean: float | None = None  # seconds for an item, lately
        self._start_failures = 0

    def __enter__(self) -> Workers[ItemT, AnswerT]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[AnswerT]:
        while self._goes_on():
            self._turn(None)
            while self._next in self._results:
                self._next += 1
                yield self._results.pop(self._next - 1)

    def as_they_come(self, pulse: float) -> Iterator[list[AnswerT]]:
        """All results, not in the order of the items: what came in, at least every `pulse` seconds, when it may be nothing."""
        while self._goes_on():
            self._turn(pulse)
            came = [self._results[i] for i in sorted(self._results)]
            self._results.clear()
            yield came

    def _goes_on(self) -> bool:
        self._take_items()
        if not (self._items or self._results):
            return False
        while len(self._workers) < min(self._jobs, len(self._items)):
            self._start()
        return True

    def _turn(self, pulse: float | None) -> None:
        """Hands out what there is to do, and waits for news, at most `pulse` seconds."""
        self._hand_out()
        waits = [wait for wait in (self._patience(), pulse) if wait is not None]
        self._receive(min(waits) if waits else None)
        self._stop_late_ones()

    def _take_items(self) -> None:
        """Takes items from the source, a few for each worker."""
        while not self._exhausted and len(self._waiting) < 2 * _MOST_AHEAD * self._jobs:
            for item in self._source:
                self._items[self._taken] = item
                self._waiting.append(self._taken)
                self._taken += 1
                break
            else:
                self._exhausted = True

    def finished(self) -> list[AnswerT]:
        """What is finished but has not been given out, because something before it is not: for an interrupted run."""
        self._receive(0)
        return [self._results[i] for i in sorted(self._results)]

    def processes(self) -> list[int]:
        """The process ids of the workers."""
        return [w.process.pid for w in self._workers if w.process.pid is not None]

    def close(self) -> None:
        """Kills and reaps every worker."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()
            worker.pipe.close()
        self._workers.clear()

    # Workers come and go.

    def _start(self) -> None:
        ours, theirs = self._context.Pipe()
        # A child must not keep the pipes of its sisters open, or nobody would see one of them end.
        inherited = [ours, *(w.pipe for w in self._workers)] if self._context.get_start_method() == "fork" else []
        process = self._context.Process(target=work, args=(theirs, inherited, self._task, os.getpid()), daemon=True)  # type: ignore[attr-defined]
        block = hasattr(signal, "pthread_sigmask")
        if block:  # until the child has said that Ctrl-C is its parent's business
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
            self._workers.append(_Worker(process, ours))
        finally:
            theirs.close()
            if block:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _remove(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.process.kill()
        worker.process.join()
        worker.pipe.close()
        left = [i for i in worker.queue if i in self._items]
        self._copied.difference_update(left)
        elsewhere = {i for w in self._workers for i in w.queue}
        self._waiting.extendleft(i for i in reversed(left) if i not in elsewhere)

    def _died(self, worker: _Worker) -> None:
        """A worker ended without being asked to."""
        worker.process.join()
        if not worker.ready:
            self._start_failures += 1
            if self._start_failures >= _MOST_START_FAILURES:
                raise WorkersFailed("worker processes end before they are ready")
        elif worker.queue:
            index = worker.queue[0]
            self._deaths[index] = self._deaths.get(index, 0) + 1
            code = worker.process.exitcode
            if self._deaths[index] >= 2 or (code is not None and -code in _OWN_DOING):
                worker.queue.popleft()
                again = ", twice" if self._deaths[index] >= 2 else ""
                self._lose(index, how_ended(code) + again)
        self._remove(worker)
        self._start()

    # Work goes out and comes back.

    def _depth(self) -> int:
        """How many items a worker should hold: the one that it is at, and a little ahead."""
        if self._mean is None:
            return 2
        return 1 + min(_MOST_AHEAD, int(_AHEAD / (self._mean + 1e-6)))

    def _hand_out(self) -> None:
        depth = self._depth()
        for worker in self._workers:
            if not self._waiting:
                break
            if 2 * len(worker.queue) <= depth:
                share = 1 + len(self._waiting) // len(self._workers)
                count = min(depth - len(worker.queue), share)
                self._send(worker, [self._waiting.popleft() for _ in range(min(count, len(self._waiting)))])
        if not self._waiting:
            self._copy_to_idle()

    def _copy_to_idle(self) -> None:
        idle = [w for w in self._workers if not w.queue and w.ready]
        if not idle:
            return
        now = time.monotonic()
        for worker in self._workers:
            if len(worker.queue) > 1 and worker.ready and now - worker.since > _SLOW:
                behind = [i for i in list(worker.queue)[1:] if i not in self._copied and i in self._items]
                for i in behind:
                    self._copied.add(i)
                    self._send(idle[i % len(idle)], [i])

    def _send(self, worker: _Worker, indices: list[int]) -> None:
        indices = [i for i in indices if i in self._items]
        if not indices:
            return
        if not worker.queue:
            worker.since = time.monotonic()
        worker.queue.extend(indices)
        with contextlib.suppress(OSError):  # it is dead: its end of the pipe will say so, and its items go to others
            worker.pipe.send([(i, self._items[i]) for i in indices])

    def _patience(self) -> float | None:
        """How long to wait for news: until the next time limit, or until something may be taken over."""
        now = time.monotonic()
        waits = []
        if self._limit is not None:
            waits += [w.since + self._limit - now for w in self._workers if w.queue and w.ready]
        if not self._waiting and any(not w.queue for w in self._workers):
            waits += [w.since + _SLOW - now for w in self._workers if set(list(w.queue)[1:]) - self._copied]
        return max(0.001, min(waits)) if waits else None

    def _receive(self, patience: float | None) -> None:
        by_pipe = {w.pipe: w for w in self._workers}
        for pipe in connection.wait(list(by_pipe), patience):
            worker = by_pipe[pipe]  # type: ignore[index]
            with _uninterrupted():
                self._take_all(worker)

    def _take_all(self, worker: _Worker) -> None:
        """What a worker has told."""
        try:
            while True:
                self._take(worker, worker.pipe.recv())
                if not worker.pipe.poll():
                    break
        except (EOFError, OSError):
            self._died(worker)

    def _take(self, worker: _Worker, message: tuple[int, bool, Any]) -> None:
        index, good, answer = message
        now = time.monotonic()
        if index < 0:
            worker.ready = True
            worker.since = now
            self._start_failures = 0
            return
        worker.queue.popleft()
        if good:
            spent = now - worker.since
            self._mean = spent if self._mean is None else 0.8 * self._mean + 0.2 * spent
        worker.since = now
        if good:
            self._settle(index, answer)
        else:
            self._lose(index, str(answer))

    def _settle(self, index: int, answer: AnswerT) -> None:
        """The result of an item: the first one counts."""
        if self._items.pop(index, self) is not self:
            self._results[index] = answer

    def _lose(self, index: int, reason: str) -> None:
        if index in self._items:
            self._settle(index, self._lost(self._items[index], reason))

    def _stop_late_ones(self) -> None:
        if self._limit is None:
            return
        now = time.monotonic()
        for worker in list(self._workers):
            if worker.queue and worker.ready and now - worker.since >= self._limit:
                index = worker.queue.popleft()
                if index in self._items:
                    self._settle(index, self._late(self._items[index], now - worker.since))
                self._remove(worker)
                self._start()


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C is heard behind it, so that nothing is lost that was told."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _die_with(parent: int) -> None:
    """Has Linux kill this process when its parent ends, even if that is killed: a solver would not hear of it for hours."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # 1: PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(0)


def work(pipe: Connection, inherited: list[Connection], task: Callable[[Any], Any], parent: int) -> None:
    """The life of a worker: until its pipe closes. It says `(-1, True, None)` when ready, takes lists of numbered items, and
    gives `(number, True, answer)` for each, or `(number, False, what went wrong)`. `inherited` pipes are not its own. It dies
    with its `parent`, as far as the platform lets it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for other in inherited:
        other.close()
    _die_with(parent)
    try:
        pipe.send((-1, True, None))
        while True:
            for index, item in pipe.recv():
                try:
                    message = (index, True, task(item))
                except BaseException as error:
                    message = (index, False, f"failed: {type(error).__name__}: {error}")
                pipe.send(message)
    except (EOFError, OSError):
        pass  # the parent is gone
    finally:
        os._exit(0)  # nothing of the parent's that was copied here is ours to clean up

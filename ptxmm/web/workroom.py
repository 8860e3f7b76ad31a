"""Worker processes that stay: jobs come in one by one, and each worker does one at a time.

    room = Workroom(task, lanes={"slow": 2, "quick": 1})
    room.open()
    answer = await room.ask(Job("check", request, "slow", 10.0))

Unlike `ptxmm.workers`, whose items are known beforehand, jobs come from people: they wait in a queue of bounded length, a newer
one of the same page takes the place of an older one, and whoever goes away takes the job along. A worker that is late, or whose
answer nobody waits for any more, is killed and replaced. The life of a worker is that of `ptxmm.workers.work`, sealed.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from ptxcore.records import NamedTuple
from ptxmm.endings import how_ended
from ptxmm.web.limits import GRACE, LONGEST_QUEUE, MEMORY, MOST_ANSWERS, MOST_FAILURES, SOON, SPARE_SECONDS
from ptxmm.workers import work

_OWN = 3  # the first file descriptor that is not a standard stream
_MOST_DESCRIPTORS = 65536


class JobGroup:
    """Jobs that belong together: none of them takes the place of another."""


class Job(NamedTuple):
    """`task(name, request, seconds)` is called in a worker of a `lane`. `place`: of jobs with the same one only those of the
    newest `group` are done; empty: all are."""

    name: str
    request: Any
    lane: str
    seconds: float
    place: str = ""
    group: JobGroup | None = None


class Refused(Exception):
    """A job that has no answer."""


class Busy(Refused):
    """Too many jobs wait."""


class Replaced(Refused):
    """A newer job took its place."""


class JobLate(Refused):
    """It was not done in its time."""


class Lost(Refused):
    """Its worker died: the text says how."""


class Task:
    """What a worker does with what comes through its pipe."""

    def __init__(self, task: Callable[[str, Any, float], Any]) -> None:
        self._task = task

    def __call__(self, item: tuple[str, Any, float]) -> Any:
        return self._task(*item)


class _Waiting:
    """A job, and who waits for its answer."""

    __slots__ = ("future", "job", "wanted")

    def __init__(self, job: Job, future: asyncio.Future[Any]) -> None:
        self.job, self.future, self.wanted = job, future, True


class _Worker:
    """One process, what it is at (`busy`), and when it has to be done with that."""

    __slots__ = ("answers", "born", "busy", "lane", "limit", "pipe", "process", "ready")

    def __init__(self, process: BaseProcess, pipe: Connection, lane: str) -> None:
        self.process, self.pipe, self.lane = process, pipe, lane
        self.busy: _Waiting | None = None
        self.limit: asyncio.TimerHandle | None = None
        self.ready, self.answers, self.born = False, 0, time.monotonic()

    @property
    def is_free(self) -> bool:
        return self.ready and self.busy is None


class Workroom:
    """See the module. `lanes`: how many workers each lane has."""

    def __init__(
        self,
        task: Callable[[str, Any, float], Any],
        lanes: Mapping[str, int],
        *,
        memory: int | None = MEMORY,
        longest_queue: int = LONGEST_QUEUE,
    ) -> None:
        self._task, self._lanes, self._memory, self._longest = Task(task), dict(lanes), memory, longest_queue
        self._workers: list[_Worker] = []
        self._queues: dict[str, deque[_Waiting]] = {lane: deque() for lane in lanes}
        self._context: Any = get_context("fork" if sys.platform == "linux" else "spawn")
        self._failures = 0
        self._closed = False

    # The room opens and closes.

    def open(self) -> None:
        """Starts the workers, in the running event loop."""
        self._loop = asyncio.get_running_loop()
        gc.collect()
        gc.freeze()  # what is there now stays as it is while workers share it
        for lane, count in self._lanes.items():
            for _ in range(count):
                self._start(lane)

    def close(self) -> None:
        """Kills and reaps every worker; whoever waits is told so."""
        self._closed = True
        for queue in self._queues.values():
            for waiting in queue:
                self._fail(waiting, Lost("the server ends"))
            queue.clear()
        for worker in list(self._workers):
            self._remove(worker, Lost("the server ends"))

    def processes(self) -> list[int]:
        """The process ids of the workers."""
        return [w.process.pid for w in self._workers if w.process.pid is not None]

    def waiting(self) -> int:
        """How many jobs wait for a worker."""
        return sum(len(queue) for queue in self._queues.values())

    def _start(self, lane: str) -> None:
        ours, theirs = self._context.Pipe()
        block = hasattr(signal, "pthread_sigmask")
        if block:  # until the child has said that Ctrl-C is its parent's business
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process = self._context.Process(
                target=_begin, args=(theirs, self._task, os.getpid(), self._memory), daemon=True
            )
            process.start()
        finally:
            theirs.close()
            if block:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        worker = _Worker(process, ours, lane)
        self._workers.append(worker)
        self._loop.add_reader(ours.fileno(), self._heard, worker)

    def _remove(self, worker: _Worker, reason: Refused) -> None:
        """Kills and reaps a worker; who waits for it hears the reason."""
        self._workers.remove(worker)
        self._loop.remove_reader(worker.pipe.fileno())
        if worker.limit is not None:
            worker.limit.cancel()
        worker.process.kill()
        worker.process.join()
        worker.process.close()
        worker.pipe.close()
        if worker.busy is not None:
            self._fail(worker.busy, reason)

    def _replace(self, worker: _Worker, reason: Refused) -> None:
        self._remove(worker, reason)
        if not self._closed:
            self._start(worker.lane)

    # Jobs come and go.

    async def ask(self, job: Job) -> Any:
        """The answer of a worker. Raises `Refused` where there is none; cancelling it takes the job back."""
        if self._closed:
            raise Lost("the server ends")
        at = self.supersede(job.place, job.group) if job.place else None
        if self.waiting() >= self._longest:
            raise Busy(f"{self._longest} requests wait already")
        if not any(w.lane == job.lane for w in self._workers):
            raise Lost("no worker can be started")
        waiting = _Waiting(job, self._loop.create_future())
        queue = self._queues[job.lane]
        queue.insert(len(queue) if at is None else at, waiting)
        self._hand_out(job.lane)
        try:
            return await waiting.future
        finally:
            self._abandon(waiting)

    def supersede(self, place: str, group: JobGroup | None) -> int | None:
        """Older jobs of a place, of another group, are nobody's any more. Gives where the first of those stood that waited: who
        types on must not stand behind all others again with each key."""
        at: int | None = None
        for queue in self._queues.values():
            mine = (i for i, w in enumerate(queue) if w.job.place == place and w.job.group is not group)
            at = next(mine, at)
        known = [*(w for queue in self._queues.values() for w in queue), *(w.busy for w in self._workers if w.busy)]
        for waiting in known:
            if waiting.job.place == place and (group is None or waiting.job.group is not group):
                self._fail(waiting, Replaced("a newer request of this page took its place"))
                self._abandon(waiting)
        return at

    def _abandon(self, waiting: _Waiting) -> None:
        """Nobody waits for it any more."""
        if not waiting.wanted:
            return
        waiting.wanted = False
        with contextlib.suppress(ValueError):
            self._queues[waiting.job.lane].remove(waiting)
        if any(w.busy is waiting for w in self._workers):
            self._loop.call_later(GRACE, self._stop, waiting)

    def _stop(self, waiting: _Waiting) -> None:
        for worker in self._workers:
            if worker.busy is waiting:
                self._replace(worker, Replaced("nobody waits for it"))
                return

    @staticmethod
    def _fail(waiting: _Waiting, reason: Refused) -> None:
        if not waiting.future.done():
            waiting.future.set_exception(reason)

    def _hand_out(self, lane: str) -> None:
        queue = self._queues[lane]
        for worker in self._workers:
            if not queue:
                return
            if worker.lane == lane and worker.is_free:
                self._give(worker, queue.popleft())

    def _give(self, worker: _Worker, waiting: _Waiting) -> None:
        job = waiting.job
        worker.busy = waiting
        worker.limit = self._loop.call_later(job.seconds * 1.1 + SPARE_SECONDS, self._late, worker)
        with contextlib.suppress(OSError):  # it is dead: its end of the pipe will say so
            worker.pipe.send([(0, (job.name, job.request, job.seconds))])

    def _late(self, worker: _Worker) -> None:
        if worker in self._workers and worker.busy is not None:
            self._replace(worker, JobLate(f"out of time after {worker.busy.job.seconds:g} s"))

    # What workers tell.

    def _heard(self, worker: _Worker) -> None:
        try:
            number, good, answer = worker.pipe.recv()
        except (EOFError, OSError):
            self._died(worker)
            return
        if number < 0:
            worker.ready = True
        else:
            self._settle(worker, good, answer)
        self._hand_out(worker.lane)

    def _settle(self, worker: _Worker, good: bool, answer: Any) -> None:
        waiting, worker.busy = worker.busy, None
        if worker.limit is not None:
            worker.limit.cancel()
        self._failures = 0
        if waiting is not None and not waiting.future.done():
            if good:
                waiting.future.set_result(answer)
            else:
                waiting.future.set_exception(Lost(str(answer)))
        worker.answers += 1
        if worker.answers >= MOST_ANSWERS or not good:
            self._replace(worker, Replaced("a fresh worker takes its place"))

    def _died(self, worker: _Worker) -> None:
        worker.process.join()
        ended = how_ended(worker.process.exitcode)
        if time.monotonic() - worker.born < SOON and worker.answers == 0:
            self._failures += 1
        if self._failures >= MOST_FAILURES:  # none can be had: whoever asks is told so
            self._remove(worker, Lost(f"its worker process {ended}"))
            for waiting in self._queues[worker.lane]:
                self._fail(waiting, Lost("no worker can be started"))
            return
        self._replace(worker, Lost(f"its worker process {ended}"))


def _begin(pipe: Connection, task: Task, parent: int, memory: int | None) -> None:
    """The life of a worker: with nothing of its parent's but its pipe, and sealed."""
    from ptxmm.web.sealed import seal

    with contextlib.suppress(ValueError, OSError):
        signal.set_wakeup_fd(-1)
    if hasattr(os, "closerange") and sys.platform != "win32":
        own = pipe.fileno()
        os.closerange(_OWN, own)
        os.closerange(own + 1, _MOST_DESCRIPTORS)
    with contextlib.suppress(OSError):
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.close(nothing)
    seal(memory)
    work(pipe, [], task, parent)

"""Who decides the tests of a campaign: processes on this machine, or those of a Dask cluster."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import importlib
import logging
import pickle
import queue
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from types import TracebackType
from typing import Any, Protocol

from ptxcore.collection import shared_with_children
from ptxmm.campaigns.database import ResultRow
from ptxmm.campaigns.deciding import AskedTest, Decider
from ptxmm.campaigns.identity import version
from ptxmm.workers import Workers

#: What a worker may take beyond the time of its test.
_SPARE, _SPARE_SECONDS = 1.02, 0.25


class PoolError(Exception):
    """Nobody is there to decide anything, in a line."""


class Pool(Protocol):
    """Decides tests in any order. Leaving it ends what it began."""

    def __enter__(self) -> Pool: ...

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def rows(self, pulse: float) -> Iterator[list[ResultRow]]:
        """What came in, at least every `pulse` seconds. Raises PoolError."""

    def finished(self) -> Sequence[ResultRow]:
        """What is there and was not given out, when somebody interrupted."""


class Processes:
    """Processes on this machine."""

    def __init__(self, decider: Decider, asked: Iterable[AskedTest], jobs: int) -> None:
        decider.warm()
        timeout = decider.settings[0].timeout
        self._workers: Workers[AskedTest, ResultRow] = Workers(
            decider,
            asked,
            jobs=jobs,
            limit=None if timeout is None else timeout * _SPARE + _SPARE_SECONDS,
            late=decider.late,
            lost=decider.lost,
        )
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Pool:
        self._stack.enter_context(shared_with_children())
        self._stack.enter_context(self._workers)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, value, trace)

    def rows(self, pulse: float) -> Iterator[list[ResultRow]]:
        yield from self._workers.as_they_come(pulse)

    def finished(self) -> Sequence[ResultRow]:
        return self._workers.finished()


# On a Dask cluster a task is a batch of tests, since handing one out costs as much as a small test. Dask gives the tasks of a
# worker that died to others. A batch that killed several workers is taken apart, and a test that did so alone is lost.

_BATCH_SECONDS = 0.5  # of work in a batch
_FIRST_BATCH, _MOST_IN_BATCH = 4, 200
_AHEAD = 3  # batches for each thread of the cluster
_CONNECT = 20.0  # seconds
_CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)


class Dask:
    """The workers of a Dask cluster, by the address of its scheduler."""

    def __init__(self, decider: Decider, asked: Iterable[AskedTest], address: str) -> None:
        """Raises PoolError where the cluster cannot be reached, or Dask is not there."""
        try:
            distributed: Any = importlib.import_module("distributed")
            importlib.import_module("distributed.scheduler")
            addressing: Any = importlib.import_module("distributed.comm.addressing")
        except ImportError:
            raise PoolError("--dask needs the package distributed: pip install 'ptxmm[dask]'") from None
        try:  # before there is a client, which would complain of itself when it goes
            _, port = addressing.get_address_host_port(address)
        except ValueError as error:
            raise PoolError(
                f"--dask {address}: this is no address of a scheduler: {error}; as in tcp://127.0.0.1:8786"
            ) from None
        if not 0 < port < _PORTS:
            raise PoolError(f"--dask {address}: this is no address of a scheduler: ports are from 1 to {_PORTS - 1}")
        _silence()
        self._killed = distributed.scheduler.KilledWorker
        self._decider, self._asked = decider, iter(asked)
        self._came: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._out: dict[Any, list[AskedTest]] = {}  # by task
        self._rows: list[ResultRow] = []
        self._size, self._each = _FIRST_BATCH, 0.0
        try:
            self._client = distributed.Client(address, timeout=_CONNECT, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise PoolError(f"--dask {address}: no scheduler answers there: {error}") from None
        self._sent = pickle.dumps(decider, pickle.HIGHEST_PROTOCOL)

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            self._client.cancel(list(self._out))
        with contextlib.suppress(Exception):
            self._client.close(timeout=5)

    def finished(self) -> Sequence[ResultRow]:
        return self._rows

    def _threads(self) -> int:
        with _asking():
            return sum(self._client.nthreads().values())

    def rows(self, pulse: float) -> Iterator[list[ResultRow]]:
        counted, most = 0.0, 0
        while True:
            now = time.monotonic()
            if now - counted > 1 or not most:  # workers come and go
                counted, most = now, _AHEAD * max(1, self._threads())
            while len(self._out) < most and (batch := list(islice(self._asked, self._size))):
                self._submit(batch)
            if not self._out:
                return
            with contextlib.suppress(queue.Empty):
                self._take(self._came.get(timeout=pulse))
                while True:
                    self._take(self._came.get_nowait())
            if self._client.status != "running":
                raise PoolError(f"the scheduler is gone (the client is {self._client.status})")
            came, self._rows = self._rows, []
            yield came

    def _submit(self, batch: list[AskedTest]) -> None:
        with _asking():
            future = self._client.submit(decide_all, self._sent, batch, pure=False)
        self._out[future] = batch
        future.add_done_callback(self._came.put)

    def _take(self, future: Any) -> None:
        batch = self._out.pop(future)
        try:
            who, rows, seconds = future.result()
        except _CANCELLED:  # which nobody here does
            raise PoolError("the scheduler is gone, or has dropped what it was asked") from None
        except self._killed:
            if len(batch) == 1:
                self._rows.append(self._decider.lost(batch[0], "died, more than once"))
            for one in batch if len(batch) > 1 else ():
                self._submit([one])
        except Exception as error:  # whatever a worker may lack, or the way to it
            if future.status == "error":
                raise PoolError(f"a worker cannot decide tests: {error}") from None
            raise PoolError(f"the scheduler is gone, or no way leads there: {error}") from None
        else:
            if who != version():
                raise PoolError(f"a worker runs ptxmm {who}, and this is {version()}: all must be the same")
            self._rows += rows
            self._each = seconds / len(batch) if not self._each else 0.7 * self._each + 0.3 * seconds / len(batch)
            self._size = max(1, min(_MOST_IN_BATCH, int(_BATCH_SECONDS / (self._each + 1e-6))))


@contextlib.contextmanager
def _asking() -> Iterator[None]:
    """For what a scheduler is asked. Raises PoolError where it goes while it is asked, however that shows."""
    try:
        yield
    except (*_CANCELLED, Exception) as error:
        raise PoolError(f"the scheduler is gone, or no way leads there: {' '.join(str(error).split())}") from None


#: Ports are below this number.
_PORTS = 1 << 16
#: Whoever logs when a connection closes: Dask, and the two loops below it.
_LOUD = ("distributed", "tornado", "asyncio")


def _silence() -> None:
    """What matters is told as ours: whatever these log, and at whichever level of its own, stays below it."""
    for name in (*_LOUD, *logging.root.manager.loggerDict):
        if name.partition(".")[0] in _LOUD:
            logging.getLogger(name).setLevel(logging.CRITICAL)


#: A worker may have several threads. Deciding shares what it remembers, and the interpreter runs one of them anyway.
_ONE_AT_A_TIME = threading.Lock()


def decide_all(sent: bytes, batch: list[AskedTest]) -> tuple[str, list[ResultRow], float]:
    """What a worker of the cluster does: who it is, the rows of a batch, the seconds that it took."""
    with _ONE_AT_A_TIME:
        start, decider = time.perf_counter(), _decider(sent)
        rows = [decider(asked) for asked in batch]
        return version(), rows, time.perf_counter() - start


@functools.lru_cache(maxsize=2)
def _decider(sent: bytes) -> Decider:
    """Made once in a process: with it goes what it remembers of models."""
    found: Decider = pickle.loads(sent)
    return found

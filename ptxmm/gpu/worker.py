"""A process that uses a GPU for us: where it dies or hangs it is started anew.

An error in a kernel leaves a process without a usable GPU, a compiler that dies takes the process along, and a kernel that does
not end cannot be stopped from within.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Any

from ptxmm.gpu.driver import CudaError, Driver, GpuDevice, LoadError

#: What a worker does with a job: a function of a module, which is given the driver.
Serve = Callable[[Driver, Any], Any]


def _work(ends: tuple[Connection, Connection], ordinal: int, serve: Serve) -> None:
    """Answers what the GPU is, then each job: with what `serve` makes of it, or an error that says why there is nothing."""
    theirs, connection = ends
    theirs.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches both; who asks ends this process, too
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        driver = Driver(ordinal)
        connection.send(driver.device())
        driver.activate()
    except CudaError as error:
        connection.send(error)
        return
    while True:
        try:
            job = connection.recv()
        except EOFError:
            return
        try:
            connection.send(serve(driver, job))
        except LoadError as error:
            connection.send(error)
        except CudaError as error:
            connection.send(error)
            return  # the context may be lost


def _end_with_parent() -> None:
    """Ends the process when who asks is gone, also while a kernel runs that does not end."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


class Worker:
    """A GPU, reached through a process. Raises CudaError where there is none. `patience`: seconds that a job may take."""

    def __init__(self, serve: Serve, ordinal: int = 0, patience: float = 300.0) -> None:
        self.serve, self.ordinal, self.patience = serve, ordinal, patience
        self._process: Any = None
        self._connection: Connection | None = None
        self.device = self._start()

    def _start(self) -> GpuDevice:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=((ours, theirs), self.ordinal, self.serve), daemon=True)
        self._process.start()
        theirs.close()
        self._connection = ours
        found = self._answer()
        if isinstance(found, GpuDevice):
            return found
        self.close()
        raise found

    def _answer(self) -> Any:
        assert self._connection is not None
        try:
            if not self._connection.poll(self.patience):
                return CudaError(f"no answer within {self.patience:.0f} s")
            return self._connection.recv()
        except (EOFError, OSError):
            self._process.join(5)
            return CudaError(f"the process died ({self._process.exitcode})")

    @property
    def alive(self) -> bool:
        """Whether it still has what earlier jobs left in it."""
        return self._connection is not None

    def ask(self, job: Any) -> Any:
        """What becomes of a job. Raises LoadError, behind which the process goes on, and CudaError, behind which the next job
        has a new one."""
        if self._connection is None:
            self._start()
        assert self._connection is not None
        with contextlib.suppress(OSError):  # then there is no answer either
            self._connection.send(job)
        found = self._answer()
        if isinstance(found, LoadError):
            raise found
        if isinstance(found, CudaError):
            self.close()
            raise found
        return found

    def close(self) -> None:
        """Ends the process."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            self._process.join(1)
            if self._process.is_alive():
                self._process.kill()
                self._process.join(5)
            self._process = None

"""Kernels on a GPU, through the CUDA driver API (`ptxmm.gpu.driver`).

A worker process does the work, one module at a time; where it dies or hangs it is started anew, and the module's kernels are
tried in halves until the one to blame is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import c_uint

from gpu.launches import Launch, Outcome

from ptxmm.gpu.driver import LIBRARY, CudaError, Driver, GpuDevice
from ptxmm.gpu.worker import Worker

__all__ = ["LIBRARY", "BuildError", "CudaError", "Gpu", "GpuDevice"]

#: What is to become of a module: its text, or what ptxas made of it, and the launches.
Job = tuple[bytes, Sequence[Launch]]


def serve(driver: Driver, job: Job) -> list[Outcome]:
    """Loads a module and launches kernels of it. Raises CudaError where it cannot be loaded, or one fails."""
    image, launches = job
    with driver.module(image) as module:
        found = []
        for one in launches:
            function = driver.function(module, one.name)
            with driver.memory(len(one.data), one.result_bytes) as (inputs, outputs):
                driver.write(inputs, one.data)
                driver.clear(outputs, max(one.result_bytes, 16))
                driver.launch(function, one.grid, one.block, (inputs, outputs, c_uint(one.count)))
                found.append(Outcome(driver.read(outputs, one.result_bytes)))
        return found


class Gpu(Worker):
    """A GPU, reached through a worker. Raises CudaError where there is none. `patience`: seconds that a module may take."""

    def __init__(self, ordinal: int = 0, patience: float = 300.0) -> None:
        super().__init__(serve, ordinal, patience)

    def run(self, build: Callable[[Sequence[int]], bytes], launches: Sequence[Launch]) -> list[Outcome]:
        """The outcomes of launches. `build(indices)` makes the module that has the kernels of these launches."""
        outcomes: list[Outcome] = [Outcome()] * len(launches)
        todo = [list(range(len(launches)))]
        while todo:
            part = todo.pop()
            try:
                found = self.ask((build(part), [launches[i] for i in part]))
            except (BuildError, CudaError) as error:
                if len(part) == 1:
                    outcomes[part[0]] = Outcome(error=str(error))
                else:
                    middle = len(part) // 2
                    todo += [part[middle:], part[:middle]]
                continue
            for i, outcome in zip(part, found, strict=True):
                outcomes[i] = outcome
        return outcomes


class BuildError(Exception):
    """A module that could not be made."""

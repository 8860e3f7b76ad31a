"""Whole kernels on a GPU, one job each (`ptxmm.gpu.worker`)."""

from __future__ import annotations

from typing import NamedTuple

from ptxmm.gpu.driver import CudaError, Driver
from ptxmm.gpu.worker import Worker

__all__ = ["CudaError", "Job", "WholeGpu"]


class Job(NamedTuple):
    """A module, the launch of its kernel `k`, and what its buffers hold before."""

    image: bytes
    grid: int
    block: int
    data: tuple[bytes, ...]


def serve(driver: Driver, job: Job) -> list[bytes]:
    """What a kernel leaves in its buffers. Raises CudaError where it cannot be loaded, or fails."""
    with driver.module(job.image) as module, driver.memory(*map(len, job.data)) as buffers:
        for buffer, data in zip(buffers, job.data, strict=True):
            driver.write(buffer, data)
        driver.launch(driver.function(module, "k"), job.grid, job.block, buffers)
        return [driver.read(buffer, len(data)) for buffer, data in zip(buffers, job.data, strict=True)]


class WholeGpu(Worker):
    """A GPU, reached through a worker. Raises CudaError where there is none. `patience`: seconds that a kernel may take."""

    def __init__(self, ordinal: int = 0, patience: float = 60.0) -> None:
        super().__init__(serve, ordinal, patience)

    def run(self, job: Job) -> list[bytes]:
        """What a kernel leaves in its buffers. Raises CudaError."""
        found: list[bytes] = self.ask(job)
        return found

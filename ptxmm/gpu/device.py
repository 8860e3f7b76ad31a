"""A GPU as the place where modules run."""

from __future__ import annotations

from ctypes import c_ulonglong, c_void_p
from typing import NamedTuple

from ptxmm.gpu.contract import ENTRY, Module
from ptxmm.gpu.driver import CudaError, Driver, LoadError
from ptxmm.gpu.layout import Launch, Seen, seen
from ptxmm.gpu.simulator import NoEnd
from ptxmm.gpu.worker import Worker

#: Seconds that a launch may take, with loading its module; they take milliseconds. One with a loop that waits for ever does
#: not end.
PATIENCE = 60.0


class _Load(NamedTuple):
    """A job: load this. The answer is how many CTAs of so many threads, with so much shared memory, run at once."""

    image: bytes
    block: int
    shared: int


class _Run(NamedTuple):
    """A job: launch this, of the module that was loaded. `launch` is None where it is the one from before."""

    launch: Launch | None
    seed: int
    addresses: dict[str, int]


class _Prepared:
    """What a worker keeps from job to job."""

    module: c_void_p | None = None
    launch: Launch | None = None
    buffers: list[c_ulonglong] = []  # noqa: RUF012 (there is one of it in a process)


def serve(driver: Driver, job: _Load | _Run) -> int | Seen:
    """What the worker's process does. Raises CudaError."""
    kept = _Prepared
    if isinstance(job, _Load):
        if kept.module is not None:
            driver.unload(kept.module)
            kept.module = None
        kept.module = driver.load(job.image)
        return driver.resident(driver.function(kept.module, ENTRY), job.block, job.shared)
    assert kept.module is not None
    if job.launch is not None:
        for buffer in kept.buffers:
            driver.free(buffer)
        kept.launch, kept.buffers = job.launch, []
        launch, tables = job.launch, job.launch.tables(0)
        sizes = (launch.memory_bytes, launch.result_bytes, *map(len, tables), launch.scratch_bytes, launch.memory_bytes)
        for size in sizes:
            kept.buffers.append(driver.allocate(size))
        driver.clear(kept.buffers[5], launch.scratch_bytes)
        driver.write(kept.buffers[6], launch.image(kept.buffers[0].value))
    assert kept.launch is not None
    return _run(driver, kept.module, kept.launch, kept.buffers, job)


def _run(driver: Driver, module: c_void_p, launch: Launch, buffers: list[c_ulonglong], job: _Run) -> Seen:
    memory, results, control, clusters, instances, scratch, first = buffers
    driver.copy(memory, first, launch.memory_bytes)
    driver.clear(results, launch.result_bytes)
    tables = launch.tables(job.seed)
    for buffer, data in zip((control, clusters, instances), tables, strict=True):
        driver.write(buffer, data)
    arguments = (memory, results, control, clusters, instances, scratch)
    driver.launch(driver.function(module, ENTRY), launch.grid, launch.block, arguments, launch.shared_bytes)
    stored = {v.label for v in launch.module.stored}
    looks = any(v.label not in stored for v in launch.module.values)
    return seen(
        launch, tables[2], driver.read(results, launch.result_bytes),
        driver.read(memory, launch.memory_bytes) if looks else b"", memory.value, job.addresses,
    )  # fmt: skip


class OnGpu:
    """Runs the launches of a module on a GPU. `image` is what is loaded: the text of the module, or what ptxas made of it."""

    def __init__(self, module: Module, worker: Worker, image: bytes | None = None) -> None:
        self._worker = worker
        self._image = module.text.encode() if image is None else image
        self._launch: Launch | None = None
        self.name, self.driver = worker.device.name, str(worker.device.driver)

    def most_ctas(self, launch: Launch) -> int | None:
        """How many CTAs run at once. Raises NoEnd where the driver does not take the module."""
        try:
            count = self._worker.ask(_Load(self._image, launch.block, launch.shared_bytes))
        except CudaError as error:
            raise NoEnd(str(error)) from None
        if not count:
            raise NoEnd(
                f"a CTA of {launch.block} threads with {launch.shared_bytes} bytes of shared memory does not fit"
            )
        return int(count)

    def run(self, launch: Launch, seed: int, addresses: dict[str, int]) -> Seen:
        """What a launch shows. Raises NoEnd."""
        try:
            if not self._worker.alive:
                self._launch = None
                self.most_ctas(launch)
            new = launch if launch is not self._launch else None
            found = self._worker.ask(_Run(new, seed, addresses))
        except CudaError as error:
            self._launch = None
            raise NoEnd(str(error)) from None
        self._launch = launch
        assert isinstance(found, Seen)
        return found


def open_gpu(ordinal: int = 0, patience: float = PATIENCE) -> Worker:
    """A GPU by its number. Raises CudaError where there is none."""
    return Worker(serve, ordinal, patience)


__all__ = ["PATIENCE", "LoadError", "OnGpu", "open_gpu", "serve"]

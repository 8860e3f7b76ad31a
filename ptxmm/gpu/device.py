"""A GPU as the place where modules run."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_ulonglong, c_void_p
from typing import ClassVar

from ptxcore.records import NamedTuple
from ptxmm.gpu.bound import BoundImages
from ptxmm.gpu.contract import ENTRY, GpuModule
from ptxmm.gpu.driver import CudaError, Driver, LoadError, Mapped
from ptxmm.gpu.host import Await, Begin, Host
from ptxmm.gpu.layout import GpuLaunch, SeenStates, seen
from ptxmm.gpu.placement import PlacedLaunch
from ptxmm.gpu.simulator import NoEnd
from ptxmm.gpu.worker import Worker

#: Seconds that a launch may take, with loading its module; they take milliseconds. One with a spin loop that nothing ends does
#: not end.
PATIENCE = 60.0
#: What a plain access of the host is, by its bytes.
_PLAIN = {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64}


class _Load(NamedTuple):
    """A job: load this, on so many GPUs. The answer is how many CTAs of so many threads, with so much shared memory, run at
    once on each."""

    image: bytes
    block: int
    shared: int
    cluster: int
    gpus: int


class _Run(NamedTuple):
    """A job: run the module that was loaded. `launch` is None where it is the one from before."""

    launch: GpuLaunch | None
    seed: int
    addresses: dict[str, int]


class _Buffers:
    """The memory of a launch. What all its kernels access lies on the first GPU; each kernel has its tables and its scratch
    memory on its own."""

    def __init__(self, launch: GpuLaunch, drivers: Sequence[Driver]) -> None:
        module, first = launch.module, drivers[0]
        self.launch, tables = launch, launch.tables(0)
        self.mapped: Mapped | None = None
        self._plain: list[tuple[Driver, c_ulonglong]] = []
        #: Where the memory is for the host, if a thread of it accesses that.
        self.on_host: c_void_p | None = None
        self.bound: BoundImages | None = None
        if module.steps:
            self.on_host, memory = first.host_memory(launch.memory_bytes)
            self.bases = [memory]
        elif module.extra_mappings:
            self.mapped = first.map(launch.memory_bytes, 1 + module.extra_mappings, drivers[1 : module.placement.gpus])
            self.bases = self.mapped.addresses
        else:
            self.bases = [self._new(first, launch.memory_bytes)]
        self.initial = self._new(first, launch.memory_bytes)
        self.results = self._new(first, launch.result_bytes)
        self.instances = self._new(first, len(tables.instances))
        self.control, self.clusters, self.scratch = [], [], []
        for n, part in enumerate(module.placement.parts):
            own = drivers[part.gpu]
            own.activate()
            self.control.append(self._new(own, len(tables.control[n])))
            self.clusters.append(self._new(own, len(tables.clusters[n])))
            self.scratch.append(self._new(own, launch.scratch_bytes))
            own.clear(self.scratch[-1], launch.scratch_bytes)
            own.wait()
        first.activate()
        first.write(self.initial, launch.image([base.value for base in self.bases]))
        self.more = self.bases[1:]
        if module.images:
            self.bound = BoundImages(launch, first, self.bases[0])
            self.more.append(self._new(first, len(self.bound.table)))
            first.write(self.more[-1], self.bound.table)

    def _new(self, driver: Driver, size: int) -> c_ulonglong:
        buffer = driver.allocate(size)
        self._plain.append((driver, buffer))
        return buffer

    def free(self) -> None:
        """Gives all of it back."""
        if self.bound is not None:
            self._plain[0][0].activate()
            self.bound.free()
        for driver, buffer in self._plain:
            driver.activate()
            driver.free(buffer)
        driver = self._plain[0][0]
        driver.activate()
        if self.mapped is not None:
            driver.unmap(self.mapped)
        if self.on_host is not None:
            driver.free_host(self.on_host)


class _Kept:
    """What a worker keeps from job to job, since there is one of it in a process: the GPUs, the module as each has it, memory,
    and streams and events, which can be used again."""

    drivers: ClassVar[list[Driver]] = []
    modules: ClassVar[list[c_void_p]] = []
    buffers: _Buffers | None = None
    streams: ClassVar[dict[tuple[int, int], c_void_p]] = {}
    events: ClassVar[dict[int, c_void_p]] = {}


def serve(driver: Driver, job: _Load | _Run) -> int | SeenStates:
    """What the worker's process does. Raises CudaError."""
    return _load(driver, job) if isinstance(job, _Load) else _run(job)


def _load(driver: Driver, job: _Load) -> int:
    kept = _Kept
    if not kept.drivers:
        kept.drivers.append(driver)
    _have(job.gpus)
    for own, module in zip(kept.drivers, kept.modules, strict=False):
        own.activate()
        own.unload(module)
    kept.modules.clear()
    counts = []
    for own in kept.drivers[: job.gpus]:
        own.activate()
        kept.modules.append(own.load(job.image))
        function = own.function(kept.modules[-1], ENTRY)
        counts.append(own.resident(function, job.block, job.shared, job.cluster))
    driver.activate()
    return min(counts)


def _have(gpus: int) -> None:
    """Makes as many GPUs ready, each of which can access the memory of all. Raises LoadError where there are not so many."""
    drivers = _Kept.drivers
    if gpus > drivers[0].gpus:
        raise LoadError(
            f"the test is on {gpus} GPUs, and from number {drivers[0].ordinal} on this machine has {drivers[0].gpus}"
        )
    try:
        while len(drivers) < gpus:
            new = Driver(drivers[0].ordinal + len(drivers))
            new.activate()
            for old in drivers:
                new.activate()
                new.reach(old)
                old.activate()
                old.reach(new)
            drivers.append(new)
    except CudaError as error:
        raise LoadError(str(error)) from None


def _run(job: _Run) -> SeenStates:
    kept = _Kept
    if job.launch is not None:
        if kept.buffers is not None:
            kept.buffers.free()
            kept.buffers = None
        kept.buffers = _Buffers(job.launch, kept.drivers)
    buffers = kept.buffers
    assert buffers is not None
    launch, first = buffers.launch, kept.drivers[0]
    tables = launch.tables(job.seed)
    first.copy(buffers.bases[0], buffers.initial, launch.memory_bytes)
    if buffers.bound is not None:
        buffers.bound.fill()
    first.clear(buffers.results, launch.result_bytes)
    first.write(buffers.instances, tables.instances)
    for n, part in enumerate(launch.module.placement.parts):
        own = kept.drivers[part.gpu]
        own.activate()
        own.write(buffers.control[n], tables.control[n])
        own.write(buffers.clusters[n], tables.clusters[n])
    host = _launch_parts(buffers)
    first.activate()
    if buffers.bound is not None:
        buffers.bound.take()
    stored = {v.label for v in launch.module.stored}
    looks = any(v.label not in stored for v in launch.module.values)
    return seen(
        launch, tables.instances, first.read(buffers.results, launch.result_bytes),
        first.read(buffers.bases[0], launch.memory_bytes) if looks else b"", [base.value for base in buffers.bases],
        job.addresses, host=host,
    )  # fmt: skip


def _launch_parts(buffers: _Buffers) -> dict[str, list[int]]:
    """Launches all parts and waits for them: one alone in the default stream; several, and what a thread of the host launches,
    in streams of their own, behind events of those that they need. Gives what the registers of the host's thread hold."""
    kept, module = _Kept, buffers.launch.module
    placement = module.placement
    several = len(placement.parts) > 1 or bool(module.steps)
    used = [kept.drivers[n] for n in range(placement.gpus)]
    if several:  # streams of their own do not wait for the copies, which are in the default one
        for driver in used:
            driver.activate()
            driver.wait()
    numbers = range(len(placement.parts))
    awaited = {step.kernel for step in module.steps if isinstance(step, Await)}
    needed = {n for part in placement.parts for n in part.needs}
    recorded = needed | {n for n in numbers if placement.parts[n].kernel in awaited}
    held: dict[str, list[int]] = {}
    if not module.steps:
        for n in numbers:
            _begin(buffers, n, several, n in recorded)
    else:
        held = _by_host(buffers, recorded)
    for driver in used:
        driver.activate()
        driver.wait()
    return held


def _begin(buffers: _Buffers, n: int, several: bool, recorded: bool) -> None:
    """Enqueues a part, behind the events of those that it needs, and records its own."""
    kept, launch = _Kept, buffers.launch
    placement = launch.module.placement
    part = placement.parts[n]
    driver = kept.drivers[part.gpu]
    driver.activate()
    stream = _stream(driver, part) if several else None
    for before in sorted(part.needs):
        if placement.parts[before].stream != part.stream:
            assert stream is not None
            driver.follow(stream, kept.events[before])
    arguments = [
        buffers.bases[0], buffers.results, buffers.control[n], buffers.clusters[n], buffers.instances,
        buffers.scratch[n], *buffers.more,
    ]  # fmt: skip
    function = driver.function(kept.modules[part.gpu], ENTRY)
    driver.begin(
        function, launch.grids[n], launch.block, arguments, launch.shared_bytes, placement.ctas, stream,
        early=part.follows is not None,
    )  # fmt: skip
    if recorded:
        assert stream is not None
        if n not in kept.events:
            kept.events[n] = driver.event()
        driver.record(kept.events[n], stream)


def _by_host(buffers: _Buffers, recorded: set[int]) -> dict[str, list[int]]:
    """Does what the thread of the host does, and gives what its registers hold."""
    kept, launch = _Kept, buffers.launch
    module, parts = launch.module, launch.module.placement.parts
    assert buffers.on_host is not None
    base = buffers.on_host.value or 0

    def read(at: int, size: int) -> int:
        return int(_PLAIN[size].from_address(base + at).value)

    def write(at: int, size: int, value: int) -> None:
        _PLAIN[size].from_address(base + at).value = value

    host = Host(module.host_widths, module.host_first, launch.offsets, launch.shape.instances, read, write)
    for step in module.steps:
        numbers = [n for n, part in enumerate(parts) if isinstance(step, Begin) and part.kernel in step.kernels]
        for n in numbers:
            _begin(buffers, n, True, n in recorded)
        if isinstance(step, Await):
            for n in (n for n, part in enumerate(parts) if part.kernel == step.kernel):
                kept.drivers[parts[n].gpu].activate()
                kept.drivers[parts[n].gpu].wait_for(kept.events[n])
        elif not isinstance(step, Begin):
            host.do(step)
    return host.registers


def _stream(driver: Driver, part: PlacedLaunch) -> c_void_p:
    which = part.gpu, part.stream
    if which not in _Kept.streams:
        _Kept.streams[which] = driver.stream()
    return _Kept.streams[which]


class OnGpu:
    """Runs the launches of a module on a GPU. `image` is what is loaded: the text of the module, or what ptxas made of it."""

    def __init__(self, module: GpuModule, worker: Worker, image: bytes | None = None) -> None:
        self._worker = worker
        self._image = module.text.encode() if image is None else image
        self._launch: GpuLaunch | None = None
        self.name, self.driver = worker.device.name, str(worker.device.driver)

    def most_ctas(self, launch: GpuLaunch) -> int | None:
        """How many CTAs run at once. Raises NoEnd where the driver does not take the module, or there are too few GPUs."""
        try:
            placement = launch.module.placement
            count = self._worker.ask(
                _Load(self._image, launch.block, launch.shared_bytes, placement.ctas, placement.gpus)
            )
        except CudaError as error:
            raise NoEnd(str(error)) from None
        if not count:
            raise NoEnd(
                f"a CTA of {launch.block} threads with {launch.shared_bytes} bytes of shared memory does not fit on this GPU"
            )
        return int(count)

    def run(self, launch: GpuLaunch, seed: int, addresses: dict[str, int]) -> SeenStates:
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
        assert isinstance(found, SeenStates)
        return found


def open_gpu(ordinal: int = 0, patience: float = PATIENCE) -> Worker:
    """A GPU by its number. Raises CudaError where there is none."""
    return Worker(serve, ordinal, patience)


__all__ = ["PATIENCE", "LoadError", "OnGpu", "open_gpu", "serve"]

"""Our own machine as the place where modules run: the written semantics of the instructions, in a random order of threads."""

from __future__ import annotations

import struct
from random import Random

from ptxcore.isa.image import Format, Image
from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import Device, load
from ptxmm.gpu.contract import ENTRY, HANDLES, GpuModule
from ptxmm.gpu.host import Await, Begin, Host
from ptxmm.gpu.layout import GpuLaunch, SeenStates, seen
from ptxmm.gpu.order import LaunchNeeds, OrderOfKernels

#: Instructions for each instance, behind which a launch counts as one that does not end.
_LIMIT = 2_000_000
#: Where handles of textures and surfaces begin, and what they are here.
_HANDLES = 1 << 62
_KINDS = {"texture": "texref", "surface": "surfref"}
#: How likely the host's thread does its next step between two rounds of turns.
_STEP = 0.1

#: Errors of a launch in which some threads do not terminate: what the others came to is there.
_UNENDED = ("deadlock", "limit")


class NoEnd(Exception):
    """A launch that went wrong: why, in a line."""


class Simulator:
    """Runs the launches of a module, each with a schedule of its own. `name` and `driver` tell it from a GPU."""

    name, driver = "simulated", ""

    def __init__(self, module: GpuModule) -> None:
        self.device: Device = load(module.text, module.test.name, fine=True)

    def most_ctas(self, launch: GpuLaunch) -> int | None:
        """How many CTAs run at once: any number."""
        return None

    def run(self, launch: GpuLaunch, seed: int, addresses: dict[str, int]) -> SeenStates:
        """What a launch shows. Raises NoEnd."""
        device, placement = self.device, launch.module.placement
        device.reset()
        memory = device.memory.allocate(max(launch.memory_bytes, 8), "memory")
        results = device.memory.allocate(max(launch.result_bytes, 8), "results")
        bases = [memory]
        for n in range(launch.module.extra_mappings):
            bases.append(device.memory.allocate(8, f"mapping {n + 1} of memory"))
            device.memory.segments[bases[-1] >> GLOBAL_BITS] = device.memory.at(memory)
        device.memory.at(memory).data[: launch.memory_bytes] = launch.image(bases)
        handles = self._handles(launch, memory)
        tables = launch.tables(seed)
        instances = self._table(tables.instances, "instances")
        random = Random(seed)
        parts = []
        for number, (control, clusters) in enumerate(zip(tables.control, tables.clusters, strict=True)):
            scratch = device.memory.allocate(launch.scratch_bytes, "scratch")
            own = self._table(control, "control"), self._table(clusters, "clusters")
            parts.append(
                device.prepare(
                    ENTRY, (launch.grids[number], 1, 1), (launch.block, 1, 1),
                    (memory, results, *own, instances, scratch, *bases[1:], *handles), dynamic_shared=launch.shared_bytes,
                    seed=random.getrandbits(32), limit=_LIMIT * launch.shape.instances,
                )
            )  # fmt: skip
        host = _Host(launch, device, memory, random)
        order = OrderOfKernels(
            parts, [LaunchNeeds(part.needs, part.follows) for part in placement.parts], random, host.has_launched
        )
        host.order, stuck = order, False
        try:
            order.run(host.between if launch.module.steps else None)
            host.finish()
        except KernelError as error:
            if error.kind not in _UNENDED:
                raise NoEnd(error.message) from None
            stuck = True
        return seen(
            launch, tables.instances, bytes(device.memory.at(results).data[: launch.result_bytes]),
            bytes(device.memory.at(memory).data), bases, addresses, stuck=stuck, host=host.registers,
        )  # fmt: skip

    def _handles(self, launch: GpuLaunch, memory: int) -> list[int]:
        """The table of the handles of textures and surfaces, all of which are seen where their locations lie; nothing where
        there are none."""
        images = self.device.memory.images
        found = []
        for n in range(launch.shape.instances):
            for image in launch.module.images:
                offset, stride = launch.offsets[image.root]
                handle = _HANDLES + len(images)
                texels = Format("u", image.bits, image.channels)
                count = 8 * image.size // (image.bits * image.channels)
                images[handle] = Image(
                    _KINDS[image.kind],
                    image.name,
                    "1d",
                    texels,
                    count,
                    linear=True,
                    bases=(memory + offset + n * stride,),
                )
                found.append(handle)
        return [self._table(struct.pack(f"<{len(found)}Q", *found), HANDLES)] if found else []

    def _table(self, data: bytes, name: str) -> int:
        """A buffer that holds this; its address."""
        place = self.device.memory.allocate(len(data), name)
        self.device.memory.at(place).data[:] = data
        return place


class _Host:
    """The host's thread of the test beside the launches: its next step is done between two rounds of their turns, now and
    then."""

    order: OrderOfKernels

    def __init__(self, launch: GpuLaunch, device: Device, memory: int, random: Random) -> None:
        self._steps, self._random = list(launch.module.steps), random
        segment = device.memory.at(memory)
        self._host = Host(
            launch.module.host_widths, launch.module.host_first, launch.offsets, launch.shape.instances,
            segment.read, segment.write,
        )  # fmt: skip
        self._launched: set[int] = set() if self._steps else set(range(len(launch.module.placement.parts)))
        self._kernels = [part.kernel for part in launch.module.placement.parts]
        self._advance()

    @property
    def registers(self) -> dict[str, list[int]]:
        """What its registers hold, by the memory that an instance has."""
        return self._host.registers

    def has_launched(self, number: int) -> bool:
        """Whether a launch has been enqueued."""
        return number in self._launched

    def between(self) -> None:
        """A step, or none."""
        if self._steps and self._random.random() < _STEP:
            self._step()

    def _advance(self) -> None:
        """Kernels that begin before anything else."""
        while self._steps and not self._launched:
            self._step()

    def finish(self) -> None:
        """The rest, when all launches have ended."""
        while self._steps:
            self._step()

    def _step(self) -> None:
        step = self._steps[0]
        if isinstance(step, Await) and not all(
            self.order.is_over(n) for n, kernel in enumerate(self._kernels) if kernel == step.kernel
        ):
            return
        del self._steps[0]
        if isinstance(step, Begin):
            self._launched |= {n for n, kernel in enumerate(self._kernels) if kernel in step.kernels}
        elif not isinstance(step, Await):
            self._host.do(step)

"""Our own machine as the place where modules run: the written semantics of the instructions, in a random order of threads."""

from __future__ import annotations

from random import Random

from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import Device, load
from ptxmm.gpu.contract import ENTRY, Module
from ptxmm.gpu.layout import Launch, Seen, seen

#: Instructions for each instance, behind which a launch counts as one that does not end.
_LIMIT = 2_000_000


#: Errors of a launch in which some threads wait for ever: what the others came to is there.
_UNENDED = ("deadlock", "limit")


class NoEnd(Exception):
    """A launch that went wrong: why, in a line."""


class Simulator:
    """Runs the launches of a module, each with a schedule of its own. `name` and `driver` tell it from a GPU."""

    name, driver = "simulated", ""

    def __init__(self, module: Module) -> None:
        self.device: Device = load(module.text, module.test.name, fine=True)

    def most_ctas(self, launch: Launch) -> int | None:
        """How many CTAs run at once: any number."""
        return None

    def run(self, launch: Launch, seed: int, addresses: dict[str, int]) -> Seen:
        """What a launch shows. Raises NoEnd."""
        device = self.device
        device.reset()
        memory = device.memory.allocate(max(launch.memory_bytes, 8), "memory")
        results = device.memory.allocate(max(launch.result_bytes, 8), "results")
        scratch = device.memory.allocate(launch.scratch_bytes, "scratch")
        device.memory.at(memory).data[: launch.memory_bytes] = launch.image(memory)
        places = []
        tables = launch.tables(seed)
        for data, name in zip(tables, ("control", "clusters", "instances"), strict=True):
            place = device.memory.allocate(len(data), name)
            device.memory.at(place).data[:] = data
            places.append(place)
        stuck = False
        try:
            device.launch(
                ENTRY, (launch.grid, 1, 1), (launch.block, 1, 1), (memory, results, *places, scratch),
                dynamic_shared=launch.shared_bytes, seed=Random(seed).getrandbits(32), limit=_LIMIT * launch.shape.instances,
            )  # fmt: skip
        except KernelError as error:
            if error.kind not in _UNENDED:
                raise NoEnd(error.message) from None
            stuck = True
        return seen(
            launch, tables[2], bytes(device.memory.at(results).data[: launch.result_bytes]),
            bytes(device.memory.at(memory).data), memory, addresses, stuck=stuck,
        )  # fmt: skip

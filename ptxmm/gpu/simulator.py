"""Our own machine as the place where modules run: the written semantics of the instructions, in a random order of threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.run.concurrent import Concurrent
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
        device, placement = self.device, launch.module.placement
        device.reset()
        memory = device.memory.allocate(max(launch.memory_bytes, 8), "memory")
        results = device.memory.allocate(max(launch.result_bytes, 8), "results")
        bases = [memory]
        for n in range(launch.module.extra_mappings):
            bases.append(device.memory.allocate(8, f"mapping {n + 1} of memory"))
            device.memory.segments[bases[-1] >> GLOBAL_BITS] = device.memory.at(memory)
        device.memory.at(memory).data[: launch.memory_bytes] = launch.image(bases)
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
                    (memory, results, *own, instances, scratch, *bases[1:]), dynamic_shared=launch.shared_bytes,
                    seed=random.getrandbits(32), limit=_LIMIT * launch.shape.instances,
                )
            )  # fmt: skip
        stuck = False
        try:
            for together in in_turns([part.needs for part in placement.parts], random):
                chosen = [parts[number] for number in together]
                (chosen[0] if len(chosen) == 1 else Concurrent(chosen)).run()
        except KernelError as error:
            if error.kind not in _UNENDED:
                raise NoEnd(error.message) from None
            stuck = True
        return seen(
            launch, tables.instances, bytes(device.memory.at(results).data[: launch.result_bytes]),
            bytes(device.memory.at(memory).data), bases, addresses, stuck=stuck,
        )  # fmt: skip

    def _table(self, data: bytes, name: str) -> int:
        """A buffer that holds this; its address."""
        place = self.device.memory.allocate(len(data), name)
        self.device.memory.at(place).data[:] = data
        return place


def in_turns(needs: Sequence[frozenset[int]], random: Random) -> Iterator[list[int]]:
    """Launches, each time some that run together: all that those need have ended before. Those that nothing keeps apart, and
    that need nothing, run together always where no launch needs another: they may wait for each other."""
    if not any(needs):
        yield list(range(len(needs)))
        return
    done: set[int] = set()
    while len(done) < len(needs):
        ready = [n for n, needed in enumerate(needs) if n not in done and needed <= done]
        some = [n for n in ready if random.random() < 0.5] or ready
        random.shuffle(some)
        yield some
        done.update(some)

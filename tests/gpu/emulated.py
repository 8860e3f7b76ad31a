"""Kernels of `emulating_driver.c`: they run on our own machine, in memory that the driver has."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from random import Random

from ptxcore.isa.image import Format, Image
from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import Device, load
from ptxcore.machine.run.memory import GlobalMemory, Segment
from ptxmm.gpu.order import Behind, OrderOfKernels

#: A GPU, the address of the module's text, CTAs, threads of each, bytes of shared memory, arguments, kernels that end before,
#: and the one that lets it begin (-1: none does).
Kernel = tuple[int, int, int, int, int, Sequence[int], Sequence[int], int]
#: The number of a buffer (the upper half of its address), where its bytes are, how many, and which GPUs may access it.
Buffer = tuple[int, int, int, int]
#: A texture or (1) a surface: its handle, its kind, where its texels are, bits and number of its channels, bytes.
Imaged = tuple[int, int, int, int, int, int]
_FAILED = 719  # CUDA_ERROR_LAUNCH_FAILED
_count = 0


def run(kernels: Sequence[Kernel], buffers: Sequence[Buffer], images: Sequence[Imaged], failed: int) -> None:
    """Runs kernels to their ends; sets the number at `failed` where one goes wrong."""
    global _count
    _count += 1
    random = Random(_count)
    stored: dict[int, Segment] = {}
    for number, place, size, _ in buffers:
        if place not in stored:
            stored[place] = Segment(size, f"buffer {number}")
            stored[place].data[:] = ctypes.string_at(place, size)
    launches = []
    for gpu, text, grid, block, shared, arguments, *_ in kernels:
        device = load(ctypes.string_at(text).decode(), "module", fine=True)
        own = Device(device.program, device.compiled, device.path, memory=GlobalMemory(), constants=device.constants)
        own.memory.segments.update((n, stored[place]) for n, place, _, who in buffers if who >> gpu & 1)
        for handle, surface, at, bits, channels, size in images:
            own.memory.images[handle] = Image(
                ("texref", "surfref")[surface], "an image", "1d", Format("u", bits, channels),
                8 * size // (bits * channels), linear=True, bases=(at,),
            )  # fmt: skip
        named = {p.name: argument >> GLOBAL_BITS for p, argument in zip(own.kernel("litmus"), arguments, strict=True)}
        _check(named, {number: place for number, place, _, _ in buffers}, stored)
        launches.append(
            own.prepare(
                "litmus", (grid, 1, 1), (block, 1, 1), arguments, dynamic_shared=shared, seed=random.getrandbits(32),
                limit=50_000_000,
            )
        )  # fmt: skip
    try:
        behind = [Behind(frozenset(needs), None if follows < 0 else follows) for *_, needs, follows in kernels]
        OrderOfKernels(launches, behind, random).run()
    except KernelError:
        ctypes.c_int.from_address(failed).value = _FAILED
    for _, place, size, _ in buffers:
        ctypes.memmove(place, bytes(stored[place].data), size)


def _check(named: dict[str, int], places: dict[int, int], stored: dict[int, Segment]) -> None:
    """What outcomes on our machine do not show: results are clear at first, so that a thread which does not run is noticed;
    mappings are the same memory, each at addresses of its own. `named`: the buffers that a kernel was given."""
    assert not any(stored[places[named["results"]]].data), "results are not clear"
    mappings = [number for name, number in named.items() if name == "memory" or name.startswith("mapping_")]
    assert len(set(mappings)) == len(mappings) and len({places[number] for number in mappings}) == 1, mappings

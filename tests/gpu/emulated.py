"""Kernels of `emulating_driver.c`: they run on our own machine, in memory that the driver has."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from random import Random

from gpu.cuda_numbers import CUBEMAP, INTEGERS, LAYERED_ARRAY, MODES, NORMALIZED

from ptxcore.isa.image import Format, Image, Sampler, geometry_of
from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import Device, load
from ptxcore.machine.run.memory import GlobalMemory, Segment
from ptxmm.gpu.order import LaunchNeeds, OrderOfKernels

#: A GPU, the address of the module's text, the kernel's name, CTAs, threads of each, bytes of shared memory, arguments, kernels
#: that end before, and the one that lets it begin (-1: none does).
Kernel = tuple[int, int, str, int, int, int, Sequence[int], Sequence[int], int]
#: The number of a buffer (the upper half of its address), where its bytes are, how many, and which GPUs may access it.
Buffer = tuple[int, int, int, int]
#: A texture or (1) a surface: its handle; its name in a module, or ""; which it is; kind, bits and number of its channels; its
#: sizes and flags as arrays have them; where its levels of detail are; whether it has such; modes of addressing, filters, flags
#: of textures, the least and the most level, colours of the border.
Imaged = tuple[
    int, str, int, str, int, int, tuple[int, int, int], int, Sequence[int], int, tuple[int, int, int], int, int, int, float,
    float, tuple[float, float, float, float],
]  # fmt: skip
#: Filters as cuda.h numbers them.
FILTER_NAMES = {"nearest": 0, "linear": 1}
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
    for gpu, text, entry, grid, block, shared, arguments, *_ in kernels:
        device = load(ctypes.string_at(text).decode(), "module", fine=True)
        own = Device(device.program, device.compiled, device.path, memory=GlobalMemory(), constants=device.constants)
        own.memory.segments.update((n, stored[place]) for n, place, _, who in buffers if who >> gpu & 1)
        own.memory.images.update(device.memory.images)  # samplers of the module
        names = {v.name: v.address for v in device.program.layout.variables}
        for handle, name, *described in images:
            if not name or name in names:
                own.memory.images[names[name] if name else handle] = _image(*described)
        if entry == "litmus":
            named = {p.name: argument >> GLOBAL_BITS for p, argument in zip(own.kernel(entry), arguments, strict=True)}
            _check(named, {number: place for number, place, _, _ in buffers}, stored)
        launches.append(
            own.prepare(
                entry, (grid, 1, 1), (block, 1, 1), arguments, dynamic_shared=shared, seed=random.getrandbits(32),
                limit=50_000_000,
            )
        )  # fmt: skip
    try:
        behind = [LaunchNeeds(frozenset(needs), None if follows < 0 else follows) for *_, needs, follows in kernels]
        OrderOfKernels(launches, behind, random).run()
    except KernelError:
        ctypes.c_int.from_address(failed).value = _FAILED
    for _, place, size, _ in buffers:
        ctypes.memmove(place, bytes(stored[place].data), size)


def _image(
    surface: int, kind: str, bits: int, channels: int, sizes: tuple[int, int, int], flags: int, bases: Sequence[int],
    mipmapped: int, modes: tuple[int, int, int], filters: int, level_filter: int, read: int, least: float, most: float,
    border: tuple[float, float, float, float],
) -> Image:  # fmt: skip
    """An image of our machine, by what the driver was told of it."""
    width, height, depth = sizes
    layered, cube = bool(flags & LAYERED_ARRAY), bool(flags & CUBEMAP)
    layers = (depth // 6 if cube else depth) if layered else 0
    depth = 0 if layered or cube else depth
    dimensions = 3 if depth else 2 if height else 1
    names = {number: name for name, number in MODES.items()}
    by_number = {number: format_ for format_, number in FILTER_NAMES.items()}
    x, y, z = (names[mode] for mode in modes)
    colours = tuple(int.from_bytes(struct.pack("<f", colour), "little") for colour in border)
    sampler = Sampler(
        by_number[filters], (x, y, z), by_number[level_filter], 0.0, least, most if mipmapped else float("inf"),
        (colours[0], colours[1], colours[2], colours[3]),
    )  # fmt: skip
    return Image(
        ("texref", "surfref")[surface], "an image", geometry_of(dimensions, layered=layered, cube=cube),
        Format(kind, bits, channels), width, height, depth, layers, mipmapped=bool(mipmapped), sampler=sampler,
        normalized=bool(read & NORMALIZED), fractions=not surface and kind != "f" and not read & INTEGERS,
        bases=tuple(bases),
    )  # fmt: skip


def _check(named: dict[str, int], places: dict[int, int], stored: dict[int, Segment]) -> None:
    """What outcomes on our machine do not show: results are clear at first, so that a thread which does not run is noticed;
    mappings are the same memory, each at addresses of its own. `named`: the buffers that a kernel was given."""
    assert not any(stored[places[named["results"]]].data), "results are not clear"
    mappings = [number for name, number in named.items() if name == "memory" or name.startswith("mapping_")]
    assert len(set(mappings)) == len(mappings) and len({places[number] for number in mappings}) == 1, mappings

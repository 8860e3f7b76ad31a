"""Kernels explored compute what kernels that run compute: one schedule of the explored effects, on the collection's inputs."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
import test_collection_arrays
import test_collection_control
import test_collection_floats
import test_collection_integers
import test_collection_threads
from kernel_collection import SOURCES, Case, Collection, Expect, device
from sequential import Schedule

from axioms.events.memory import Object, View
from ptxcore.isa.form import words
from ptxmm.kernels.explored import ExploredKernels
from ptxmm.kernels.launch import Buffer, Dimensions, Launch, Scalar

_MODULES = (
    test_collection_arrays, test_collection_control, test_collection_floats, test_collection_integers,
    test_collection_threads,
)  # fmt: skip
#: Not compared: what is not explored, races that old warps do not have, loops that data bound and asynchronous copies, which
#: a schedule of effects as simple as this one does not follow.
_LEFT_OUT = words(
    """fibonacci warp_synchronous argmax interpreter collatz radix merge fnv1a number_theory
    producer_consumer grid_barrier double_buffer ragged phases bulk cluster_sum cluster_histogram ring
    structures"""
)
#: Many threads, or many turns: a second and more.
_SLOW = words(
    """matmul mandelbrot transpose distinct last_block chained_scan bitonic rank_sort odd_even histogram crc32
    scan block_sum decimal odds heap"""
)


def _cases() -> list[Any]:
    found = [v for module in _MODULES for v in vars(module).values() if isinstance(v, Collection)]
    cases = [case for collection in found for case in collection.cases if str(case) not in _LEFT_OUT]
    # Warps from before sm_70 run in step, which the memory model does not know.
    cases = [case for case in cases if case.module != "old_warps" or str(case) == "warp_lock"]
    slow = [pytest.mark.campaign]
    return [pytest.param(case, id=str(case), marks=slow if str(case) in _SLOW else []) for case in cases]


class Bytes:
    """The memory that one thread sees, by address."""

    def __init__(self, objects: list[bytearray], views: list[View]) -> None:
        self.objects, self.views = objects, views

    def find(self, address: int) -> tuple[bytearray, int]:
        for view in self.views:
            if view.address <= address < view.address + len(self.objects[view.object]):
                return self.objects[view.object], address - view.address
        raise AssertionError(f"no memory at {address:#x}")

    def __contains__(self, address: int) -> bool:
        return self.find(address) is not None

    def __getitem__(self, address: int) -> int:
        held, offset = self.find(address)
        return held[offset]

    def __setitem__(self, address: int, value: int) -> None:
        held, offset = self.find(address)
        held[offset] = value


def _argument(name: str, given: Any, size: int) -> Buffer | Scalar:
    if isinstance(given, np.ndarray):
        kind = f"u{8 * given.dtype.itemsize}"
        numbers = np.ascontiguousarray(given).view(f"u{given.dtype.itemsize}").ravel()
        return Buffer(name, kind, max(1, given.size), tuple(int(n) for n in numbers), 256)
    if isinstance(given, bytes):
        return Scalar(name, given)
    if isinstance(given, np.generic):
        return Scalar(name, given.tobytes())
    if isinstance(given, float):
        return Scalar(name, struct.pack("<f" if size == 4 else "<d", given))
    return Scalar(name, int(given or 0))


def _triple(sizes: tuple[int, ...]) -> Dimensions:
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def _held(objects: list[Object]) -> list[bytearray]:
    return [bytearray(o.initial.ljust(o.size, b"\0")) for o in objects]


@pytest.mark.part(8)
@pytest.mark.parametrize("case", _cases())
def test_a_schedule_of_the_effects_ends_as_a_run(case: Case) -> None:
    told = case.inputs(np.random.default_rng(len(case.name)))
    arrays = [a.array if isinstance(a, Expect) else a for a in told]
    sizes = [p.size for p in device(case.module).program.functions[case.entry].parameters]
    params = tuple(_argument(f"p{i}", a, size) for i, (a, size) in enumerate(zip(arrays, sizes, strict=True)))
    launch = Launch(
        (SOURCES / f"{case.module}.ptx").read_text(), case.entry, case.module, _triple(case.grid), _triple(case.block),
        None if case.cluster is None else _triple(case.cluster), case.dynamic_shared, params, unroll=40,
    )  # fmt: skip
    explored = ExploredKernels([launch])
    objects = _held(explored.memory.objects)
    seen = [
        Bytes(objects, [v for v in explored.memory.views if v.threads is None or t in v.threads])
        for t in range(len(explored.threads))
    ]
    executions = [t.execution for t in explored.threads]
    Schedule(executions, [t.place.cta for t in explored.threads], seen, explored.definitions).run()
    for i, given in enumerate(told):
        if isinstance(given, Expect):
            held = objects[explored.memory.buffers[f"p{i}"][1]]
            got = np.frombuffer(bytes(held), given.array.dtype)[: given.array.size].reshape(given.array.shape)
            wanted = np.asarray(given.result, dtype=got.dtype).reshape(got.shape)
            if given.near:
                np.testing.assert_allclose(got, wanted, rtol=given.near)
            else:
                np.testing.assert_array_equal(got, wanted)

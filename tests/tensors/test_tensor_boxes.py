"""Copies of tensors, run, beside an independent reference in NumPy: every mode, type, swizzle and fill."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from agreement import compared
from campaigns import share
from tensor_cases import Case, case
from tensor_modules import ROOM, THREADS, loading, storing
from tensor_reference import load as load_reference
from tensor_reference import store as store_reference

import ptxmm
from ptxcore.machine.run.launch import Device, load
from ptxmm.running import launch

LOADS = ("tile", "tile::gather4", "im2col", "im2col::w", "im2col::w::128")
STORES = ("tile", "tile::scatter4", "im2col_no_offs")
_FEW = 8


def bytes_of(seed: str, count: int) -> np.ndarray:
    return np.frombuffer(random.Random(seed).randbytes(count), np.uint8).copy()


@lru_cache(maxsize=64)
def _device(text: str) -> Device:
    return load(text, "k.ptx")


def launched(
    text: str, one: Case, tensor: np.ndarray, shared: np.ndarray, seed: int | None, threads: int = THREADS
) -> None:
    map_ = ptxmm.TensorMap(tensor, **one.map)
    coordinates = [c & 0xFFFFFFFF for c in [*one.at, *[0] * 5][:5]]
    given: list[Any] = [
        map_,
        shared,
        *coordinates,
        *([*one.offsets, 0, 0, 0][:3] if threads > 1 else (0, 0, one.start)),
    ]
    launch(_device(text), "k", (1,), (threads,), given, seed=seed)


def loads(number: int, mode: str) -> Case:
    one = case(number, mode)
    tensor, shared = bytes_of(f"t{number}", one.tensor), bytes_of(f"s{number}", ROOM)
    expected, before = shared.copy(), tensor.copy()
    size = load_reference(one.map, tensor, mode, one.at, one.offsets, expected, one.start)
    assert size == one.size
    launched(loading(one.mode, len(one.map["dims"]), one.start, size), one, tensor, shared, number % 3 or None)
    assert np.array_equal(shared, expected), one
    assert np.array_equal(tensor, before), one
    return one


def stores(number: int, mode: str) -> Case:
    one = case(number, mode, stores=True)
    tensor, shared = bytes_of(f"t{number}", one.tensor), bytes_of(f"s{number}", ROOM)
    expected, before = tensor.copy(), shared.copy()
    store_reference(one.map, expected, mode, one.at, shared, one.start)
    launched(storing(one.mode, len(one.map["dims"]), one.start), one, tensor, shared, number % 3 or None)
    assert np.array_equal(tensor, expected), one
    assert np.array_equal(shared, before), one
    return one


@pytest.mark.part(3)
@pytest.mark.parametrize("mode", LOADS)
def test_boxes_are_loaded_as_the_reference_says(mode: str) -> None:
    for number in range(_FEW):
        compared(loads(number, mode))


@pytest.mark.parametrize("mode", STORES)
def test_boxes_are_stored_as_the_reference_says(mode: str) -> None:
    for number in range(_FEW):
        compared(stores(number, mode))


@pytest.mark.campaign
@pytest.mark.parametrize("mode", LOADS)
def test_a_thousand_boxes_are_loaded(mode: str) -> None:
    for number in range(share(1000)):
        compared(loads(1000 + number, mode))


@pytest.mark.campaign
@pytest.mark.parametrize("mode", STORES)
def test_a_thousand_boxes_are_stored(mode: str) -> None:
    for number in range(share(1000)):
        compared(stores(1000 + number, mode))

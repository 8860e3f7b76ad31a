"""Whole kernels out of other tests: what those launch to compare it with NumPy is what a GPU is to run.

A test is called as pytest would, and the launch that it makes is noted, and not made: the module, how many threads it has, its
arguments, and all memory that they lead to. What must come out the test knows, from a reference of its own.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from itertools import product
from typing import Any
from unittest import mock

import numpy as np
import pytest
import rounded_once
from gpu.whole import Argument, Image, Map, Number, Pointer, Whole
from gpu.whole_matrices import exact

from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.run import launch
from ptxcore.machine.run.launch import Device
from ptxcore.machine.run.memory import MultimemAddresses
from ptxcore.values.tensor_map import NoMap, decoded

_ROW = type(pytest.param())
#: Bytes of a tensor map, and of an address.
_MAP, _ADDRESS = 128, 8


class Noted(BaseException):
    """A launch that is not made. No `except Exception` of a test catches it."""

    def __init__(self, whole: Whole) -> None:
        super().__init__(whole.name)
        self.whole = whole


class Unrecordable(Exception):
    """Why what a test launches is no whole kernel."""


def recorded(name: str, call: Callable[[], object]) -> Whole:
    """What a call launches first. Raises Unrecordable."""
    texts: dict[int, tuple[Any, str]] = {}
    made = launch._made

    def _made(text: str, watched: bool, fine: bool) -> Any:
        found = made(text, watched, fine)
        texts[id(found[0])] = found[0], text
        return found

    def prepare(
        device: Device, entry: str, grid: Sequence[int], block: Sequence[int], arguments: Sequence[int | bytes],
        *, cluster: Sequence[int] | None = None, **options: Any,
    ) -> Any:  # fmt: skip
        if id(device.program) not in texts:
            raise Unrecordable(f"{name}: its module was loaded before")
        raise Noted(_noted(name, texts[id(device.program)][1], device, entry, grid, block, arguments, cluster))

    if (boxes := sys.modules.get("test_tensor_boxes")) is not None:
        boxes._device.cache_clear()  # a module that is there already would not be loaded again
    with mock.patch.object(launch, "_made", _made), mock.patch.object(Device, "prepare", prepare):
        try:
            call()
        except Noted as noted:
            return noted.whole
    raise Unrecordable(f"{name}: it launches nothing")


def _noted(
    name: str, text: str, device: Device, entry: str, grid: Sequence[int], block: Sequence[int],
    arguments: Sequence[int | bytes], cluster: Sequence[int] | None,
) -> Whole:  # fmt: skip
    if {*grid[1:], *block[1:], *(cluster or (1, 1))[1:]} != {1}:
        raise Unrecordable(f"{name}: it has more than one dimension")
    if cluster is not None and cluster[0] > 1 and "reqnctapercluster" not in text:
        text = re.sub(rf"(\.entry {entry}\([^)]*\))", rf"\1 .reqnctapercluster {cluster[0]}, 1, 1", text)
    own = {placed.address for placed in device.program.layout.variables}
    buffers = {
        address: segment
        for number, segment in device.memory.segments.items()
        if (address := number << GLOBAL_BITS) not in own
    }
    if any(isinstance(segment, MultimemAddresses) for segment in buffers.values()):
        raise Unrecordable(f"{name}: it has addresses of several devices")
    order = {address: number for number, address in enumerate(buffers)}
    given = [
        _argument(argument if isinstance(argument, bytes) else _bits(argument, parameter.size), order, device)
        for argument, parameter in zip(arguments, device.kernel(entry), strict=True)
    ]
    images = {handle: image for handle, image in device.memory.images.items() if image.kind != "samplerref"}
    return Whole(  # samplers are what the module says, wherever it is loaded
        name, text, grid[0], block[0], tuple(bytes(segment.data) for segment in buffers.values()), tuple(given), entry,
        tuple(buffers), tuple(images.items()),
    )  # fmt: skip


def _bits(value: int, size: int) -> bytes:
    return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def _argument(data: bytes, order: Mapping[int, int], device: Device) -> Argument:
    """What a parameter gets, by its bytes."""
    if len(data) == _ADDRESS:
        address = int.from_bytes(data, "little")
        if address in device.memory.images:
            return Image(address)
        found = _place(address, order)
        return Number(data) if found is None else Pointer(*found)
    if len(data) == _MAP:
        try:
            map_ = decoded(data)
        except NoMap:
            return Number(data)
        found = _place(map_.address, order)
        assert found is not None, "a map of no buffer"
        return Map(data, *found)
    return Number(data)


def _place(address: int, order: Mapping[int, int]) -> tuple[int, int] | None:
    """The buffer that an address is in, and how far."""
    base = address >> GLOBAL_BITS << GLOBAL_BITS
    return (order[base], address - base) if base in order else None


# Tests with parameters.


def cases(function: Callable[..., object]) -> Iterator[dict[str, Any]]:
    """The parameters with which pytest calls a test, in its order."""
    columns = []
    for mark in getattr(function, "pytestmark", []):
        if mark.name == "parametrize":
            names = mark.args[0]
            names = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)
            columns.append([dict(zip(names, _values(row, len(names)), strict=True)) for row in mark.args[1]])
    for row in product(*columns):
        yield {name: value for part in row for name, value in part.items()}


def _values(row: Any, count: int) -> Sequence[Any]:
    """The values of a row of parameters, which `pytest.param` may have made."""
    if isinstance(row, _ROW):
        return row.values
    return row if count > 1 else (row,)


def of_test(module: str, name: str, **fixed: Any) -> Iterator[Whole]:
    """What a test launches, for each of its parameters, of which some may be fixed; and threads take turns."""
    function = getattr(import_module(module), name)
    fixed = {"seed": None, **fixed}
    for case in cases(function):
        if any(key in case and case[key] != value for key, value in fixed.items()):
            continue
        shown = ", ".join(str(value) for key, value in case.items() if key != "seed")
        yield recorded(f"{name.removeprefix('test_')}{f' [{shown}]' if shown else ''}", partial(function, **case))


class Small:
    """Random numbers of which the sums are exact in every order: normal ones are small integers, none of them 0."""

    def __init__(self, chance: np.random.Generator) -> None:
        self.chance = chance

    def __getattr__(self, name: str) -> Any:
        return getattr(self.chance, name)

    def normal(self, size: Any = None) -> Any:
        return self.chance.choice(np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0]), size)


@contextmanager
def exact_sums(*modules: str) -> Iterator[None]:
    """Tests draw numbers whose sums are exact in every order. `modules` have a function `drawn` for elements of small types."""
    generator = np.random.default_rng
    with ExitStack() as stack:
        stack.enter_context(mock.patch("numpy.random.default_rng", lambda seed=None: Small(generator(seed))))
        for module in map(import_module, modules):
            stack.enter_context(mock.patch.object(module, "drawn", partial(_drawn, module.drawn)))
        yield


def _drawn(drawn: Callable[..., Any], chance: Any, kind: str, shape: tuple[int, ...]) -> Any:
    """Elements as a test draws them, but small integers where they are floating-point."""
    own = drawn(chance, kind, shape)
    return exact(kind, -2, 2, shape, chance).astype(own.dtype) if kind in rounded_once.FLOATS else own

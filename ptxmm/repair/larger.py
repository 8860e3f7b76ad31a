"""The next larger launch of a kernel test: more of what the launch has several of, with memory for it.

What is claimed of values is about the launch that is given; what is claimed of every launch (races, ends, traps) is asked
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ptxmm.kernels.launch import (
    Argument,
    Buffer,
    Dimensions,
    Field,
    Imaged,
    Launch,
    MultimemBuffers,
    Pointer,
    Structure,
)
from ptxmm.kernels.test import PROPERTIES, Check, KernelTest

#: Threads of a warp.
_WARP = 32


def next_larger(test: KernelTest, warps: bool = False) -> KernelTest | None:
    """The test with one more cluster, or CTA, of each launch that has several, else with twice the threads; for claims of any
    launch alone. `warps`: with two warps, or more, in blocks of one, where those of one have several threads. None where
    memory cannot be made to fit."""
    launches = []
    buffers: dict[str, Buffer] = {}
    for launch in test.launches:
        block = _of_warps(launch.block) if warps else None
        shape = (launch.grid, block) if block else _shape(launch)
        new, old = _ratio(launch, *shape)
        for buffer in (b for argument in launch.params for b in _buffers(argument)):
            made = replace(buffer, elements=-(-buffer.elements * new // old))
            buffers[buffer.name] = max(made, buffers.get(buffer.name, made), key=lambda b: b.elements)
        shared = launch.dynamic_shared * _product(shape[1]) // _product(launch.block)
        launches.append(replace(launch, grid=shape[0], block=shape[1], dynamic_shared=shared))
    if any(isinstance(argument, Imaged | MultimemBuffers) for launch in launches for argument in launch.params):
        return None
    launches = [replace(l, params=tuple(_with(argument, buffers) for argument in l.params)) for l in launches]
    named = tuple(buffers.get(p.name, p) if isinstance(p, Buffer) else p for p in test.parameters)
    checks = tuple(
        check for check in test.checks if check.kind in PROPERTIES or (check.of_run and check.of_any_size)
    ) or (Check("race_free"),)
    return replace(test, launches=tuple(launches), parameters=named, checks=checks, expect=("ok",))


def shape_of(test: KernelTest) -> str:
    """The sizes of the launches, in words."""
    return ", ".join(dict.fromkeys(f"grid {_written(l.grid)}, block {_written(l.block)}" for l in test.launches))


def _shape(launch: Launch) -> tuple[Dimensions, Dimensions]:
    """Grid and block of the next larger launch."""
    (x, y, z), cluster = launch.grid, launch.cluster or (1, 1, 1)
    block = launch.block
    if launch.grid != cluster or block == (1, 1, 1):
        return (x + cluster[0], y, z), block
    return launch.grid, (block[0] * 2, *block[1:])


def _of_warps(block: Dimensions) -> Dimensions | None:
    """A block of several warps, as many times as large as a power of two says; None where it has these, or one thread."""
    x, threads = block[0], _product(block)
    if not 1 < threads <= _WARP:
        return None
    while threads <= _WARP:
        x, threads = 2 * x, 2 * threads
    return (x, *block[1:])


def _ratio(launch: Launch, grid: Dimensions, block: Dimensions) -> tuple[int, int]:
    """How many times as many threads there are, as a fraction."""
    return _product(grid) * _product(block), _product(launch.grid) * _product(launch.block)


def _buffers(argument: Argument) -> list[Buffer]:
    """The buffers that an argument leads to, but for those of images and of several devices."""
    if isinstance(argument, Buffer):
        return [argument]
    fields = argument.fields if isinstance(argument, Structure) else ()
    return [field.value.buffer for field in fields if isinstance(field.value, Pointer)]


def _with(argument: Argument, buffers: Mapping[str, Buffer]) -> Argument:
    """An argument with the buffers of these names."""
    if isinstance(argument, Buffer):
        return buffers[argument.name]
    return (
        replace(argument, fields=tuple(_led(f, buffers) for f in argument.fields))
        if isinstance(argument, Structure)
        else argument
    )


def _led(field: Field, buffers: Mapping[str, Buffer]) -> Field:
    if not isinstance(field.value, Pointer):
        return field
    return replace(field, value=replace(field.value, buffer=buffers[field.value.buffer.name]))


def _product(triple: Dimensions) -> int:
    return triple[0] * triple[1] * triple[2]


def _written(triple: Dimensions) -> str:
    last = max((i for i, n in enumerate(triple) if n > 1), default=0)
    return "x".join(map(str, triple[: last + 1]))

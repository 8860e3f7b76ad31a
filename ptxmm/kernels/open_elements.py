"""Which observed elements of buffers lie in bytes that may hold something else in other executions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ptxcore.machine.run.memory import Segment
from ptxmm.kernels.expressions import TYPES
from ptxmm.kernels.launch import Buffer
from ptxmm.kernels.test import KernelTest, observed


def open_elements(
    test: KernelTest, segments: Mapping[str, Segment], is_open: Callable[[Segment, int, int], bool]
) -> Iterator[str]:
    """The observed elements that may have other values. `segments`: the memory of buffers, by their names; `is_open`: whether
    some bytes of one, from the first one to the end, may hold something else."""
    types = {p.name: TYPES[p.type].width // 8 for p in test.parameters if isinstance(p, Buffer)}
    for name, index in observed(test.checks):
        segment = segments.get(name)
        if segment is not None and is_open(segment, index * types[name], (index + 1) * types[name]):
            yield f"{name}[{index}]"  # others are not passed to a kernel


__all__ = ["open_elements"]

"""Multimem addresses from NumPy arrays, as arguments of kernels."""

from __future__ import annotations

from typing import Any

from ptxcore.machine.run.launch import UsageError
from ptxcore.records import NamedTuple


class Replicas(NamedTuple):
    """The arrays behind a multimem address; a kernel's parameter is that address."""

    name: str
    arrays: tuple[Any, ...]


class Multimem:
    """A multimem address, behind which are `arrays` of equal size, one on each device: `multimem.ld_reduce` reduces what
    they hold, `multimem.st` and `multimem.red` change all of them. Arrays may be passed by themselves, too: what the kernel
    does there, and through the address, is on the same memory."""

    def __init__(self, *arrays: Any) -> None:
        """Raises UsageError for what are no such arrays."""
        import numpy

        for array in arrays:
            if not isinstance(array, numpy.ndarray) or not array.ndim or not array.flags.c_contiguous:
                raise UsageError("a multimem address is of NumPy arrays with dimensions, each in one piece")
            if array.nbytes != arrays[0].nbytes:
                raise UsageError(
                    f"the arrays behind a multimem address are of one size, not {arrays[0].nbytes} and {array.nbytes} bytes"
                )
        if not arrays:
            raise UsageError("a multimem address has an array at least")
        for i, array in enumerate(arrays):
            if any(numpy.may_share_memory(array, other) for other in arrays[:i]):
                raise UsageError("the arrays behind a multimem address are distinct: two of them share memory")
        self.arrays = arrays

    def bound(self, name: str) -> Replicas:
        """The arrays, of a parameter whose `name` this is."""
        return Replicas(name, self.arrays)

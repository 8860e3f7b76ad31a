"""Tensor maps from NumPy arrays, as arguments of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ptxcore.machine.run.launch import UsageError
from ptxmm.kernels.launch import Buffer, Pointer
from ptxmm.kernels.tensor_maps import Tensor, TensorMapError, described, of_map

if TYPE_CHECKING:
    from ptxmm.kernels.packing import Packed

#: Types of elements by those of NumPy.
_TYPES = {
    "u1": "u8", "i1": "u8", "b1": "u8", "u2": "u16", "i2": "u16", "u4": "u32", "i4": "s32", "u8": "u64", "i8": "s64",
    "f2": "f16", "f4": "f32", "f8": "f64",
}  # fmt: skip


class TensorMap:
    """A tensor map of an `array`, passed as a parameter of 128 bytes; the array becomes a buffer, and is updated in place.

    `box` has the elements of a box in each dimension; its order, and that of all that follows, is that of CUDA: the innermost
    dimension, which is the last one of the array, comes first. `type` is that of the elements, `dims` are those of the tensor
    and `strides` its bytes (of all dimensions but the innermost), all those of the array where they are left out.
    `element_strides` are the steps in each dimension. `interleave`, `swizzle`, `fill` (of what is out of bounds) and `mode` are
    words, and `lower`, `upper`, `channels_per_pixel` and `pixels_per_column` numbers of the modes of im2col, as in kernel tests
    (docs/kernels.md)."""

    def __init__(
        self,
        array: Any,
        *,
        box: Sequence[int] | None = None,
        type: str | None = None,
        dims: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        element_strides: Sequence[int] | None = None,
        interleave: str = "none",
        swizzle: str = "none",
        fill: str = "zero",
        mode: str = "tiled",
        lower: Sequence[int] | None = None,
        upper: Sequence[int] | None = None,
        channels_per_pixel: int | None = None,
        pixels_per_column: int | None = None,
    ) -> None:
        """Raises UsageError for a map that CUDA's driver would refuse, or an array whose elements are none of a tensor's."""
        import numpy

        if not isinstance(array, numpy.ndarray) or not array.ndim:
            raise UsageError("a tensor map is of a NumPy array with dimensions")
        kind = type or _TYPES.get(f"{array.dtype.kind}{array.dtype.itemsize}")
        if kind is None:
            raise UsageError(f"elements of {array.dtype} are none of a tensor map: say its type, as in type='bf16'")
        given = {
            "box": box, "dims": dims, "strides": strides, "element_strides": element_strides, "lower": lower, "upper": upper,
        }  # fmt: skip
        table: dict[str, Any] = {key: list(value) for key, value in given.items() if value is not None}
        table |= {"type": kind, "interleave": interleave, "swizzle": swizzle, "fill": fill, "mode": mode}
        if channels_per_pixel is not None:
            table["channels_per_pixel"] = channels_per_pixel
        if pixels_per_column is not None:
            table["pixels_per_column"] = pixels_per_column
        self.array = array
        self._pointer = Pointer(Buffer("array", "u8", max(1, array.nbytes)))
        try:
            self._map = described(table, Tensor(self._pointer, kind, array.shape[::-1]))
        except TensorMapError as error:
            where = "".join(f"[{w}]" if isinstance(w, int) else f" {w}" for w in error.where)
            hint = f" ({error.hint})" if error.hint else ""
            raise UsageError(f"tensor map{where}: {error.message}{hint}") from None

    def packed(self, name: str) -> Packed:
        """The argument that a parameter of this `name` gets."""
        from ptxmm.kernels.packing import pack

        return pack(of_map(name, self._map, self._pointer), {"array": self.array}, name)

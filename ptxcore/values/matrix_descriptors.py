"""What descriptors say of matrices for `wgmma` and `tcgen05` (PTX ISA 9.0, sections 9.7.15.5.1, 9.7.16.3, 9.7.16.4 and
9.7.16.10.6): where the elements of a matrix lie in shared memory, and the types and sizes of a product."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ptxcore.records import NamedTuple

#: The bits of a shared address that a descriptor can tell.
_ADDRESS = 0x3FFFF
#: Bytes that rows of 128 bits are normalised to.
_UNIT = 16


class BadDescriptor(ValueError):
    """A descriptor that the manual does not allow."""


class UntoldDescriptor(BadDescriptor):
    """A descriptor that the manual allows, of which it does not tell what it means, or that is not executed."""


class Swizzle(NamedTuple):
    """A swizzling mode: bytes of a line; how many bits of the address are changed, from which bit on, by those how
    much above."""

    line: int
    bits: int
    at: int
    above: int


#: By their numbers in bits 61 to 63.
_SWIZZLES = {
    0: Swizzle(16, 0, 4, 3),
    1: Swizzle(128, 2, 5, 2),
    2: Swizzle(128, 3, 4, 3),
    4: Swizzle(64, 2, 4, 3),
    6: Swizzle(32, 1, 4, 3),
}
#: The mode with atoms of 32 bytes.
_WIDE_ATOMS = 1


class Matrix(NamedTuple):
    """A matrix in shared memory: where it begins, its two strides in bytes, which row its pattern begins in, and the number of
    its swizzling mode."""

    start: int
    leading: int
    stride: int
    base: int
    mode: int

    def addresses(self, outer: int, inner: int, size: int, *, k_major: bool) -> Any:
        """The addresses of elements of `size` bytes, a row for each of the `outer` rows of A (columns of B), a column for each
        of `inner` numbers k (sections 9.7.15.5.1.10 and 9.7.16.3.3). Raises BadDescriptor."""
        return self._swizzled(self.start + _offsets(self._replace(start=0, base=0), outer, inner, size, k_major))

    @property
    def line(self) -> int:
        """The bytes of a row of the pattern in which it is swizzled; 16 where it is not."""
        return _SWIZZLES[self.mode].line

    def _swizzled(self, address: Any) -> Any:
        swizzle = _SWIZZLES[self.mode]
        chosen = ((1 << swizzle.bits) - 1) << swizzle.at
        return address ^ ((address - (self.base << 7)) >> swizzle.above & chosen)


@lru_cache(maxsize=1024)
def _offsets(how: Matrix, outer: int, inner: int, size: int, k_major: bool) -> Any:
    """How far behind the beginning each element lies before swizzling: the canonical layouts."""
    import numpy as np

    swizzle = _SWIZZLES[how.mode]
    mn, k = np.arange(outer)[:, None], np.arange(inner)[None, :]
    unit = _UNIT // size
    if k_major and how.mode == _WIDE_ATOMS:
        raise UntoldDescriptor("128-byte swizzling of atoms of 32 bytes is not told for K-major matrices")
    if k_major and not how.mode:
        return mn % 8 * _UNIT + mn // 8 * how.stride + k % unit * size + k // unit * how.leading
    if k_major:
        if inner * size > swizzle.line:
            raise BadDescriptor(f"rows of {inner * size} bytes do not fit in swizzled rows of {swizzle.line} bytes")
        return mn % 8 * swizzle.line + mn // 8 * how.stride + k * size
    if not how.mode:
        return mn % unit * size + mn // unit * how.stride + k % 8 * _UNIT + k // 8 * how.leading
    long, deep = swizzle.line // size, 4 if how.mode == _WIDE_ATOMS else 8
    return mn % long * size + mn // long * how.leading + k % deep * swizzle.line + k // deep * how.stride


def warpgroup_matrix(bits: int) -> Matrix:
    """What a descriptor of 64 bits says to `wgmma` (section 9.7.15.5.1.11), whose swizzling mode has bits 62 and 63."""
    start, leading, stride = ((bits >> at & 0x3FFF) << 4 for at in (0, 16, 32))
    return Matrix(start, leading, stride, bits >> 49 & 7, bits >> 62 << 1)


def matrix(bits: int) -> Matrix:
    """What a descriptor of 64 bits says (table 42). Raises BadDescriptor."""
    if bits >> 46 & 7 != 1:
        raise BadDescriptor(
            f"a matrix descriptor of tcgen05 has {bits >> 46 & 7:#05b} in bits 46 to 48, where table 42 of section 9.7.16.4.1 "
            "has the constant 0b001 (a descriptor of wgmma has none)"
        )
    if bits >> 53 & 0xFF:
        raise BadDescriptor(
            f"a matrix descriptor of tcgen05 has {bits >> 53 & 0xFF:#x} in bits 53 to 60, where table 42 has 0"
        )
    mode = bits >> 61 & 7
    if mode not in _SWIZZLES:
        raise BadDescriptor(f"a matrix descriptor has swizzling mode {mode}; there are 0, 1, 2, 4 and 6")
    if bits >> 52 & 1:
        raise UntoldDescriptor("matrix descriptors with an absolute leading dimension are not executed")
    start, leading, stride = (((bits >> at & 0x3FFF) << 4) & _ADDRESS for at in (0, 16, 32))
    return Matrix(start, leading, stride, bits >> 49 & 7, mode)


class Scales(NamedTuple):
    """Block scaling: the type of scales, how many a row of A and a column of B have, and from which byte of a cell
    on they lie."""

    kind: str
    chunks: int
    a: int
    b: int


class DescribedProduct(NamedTuple):
    """What an instruction descriptor says (tables 44 to 46): the types of D, A and B, M, N and K, which matrices are negated
    and transposed, and whether integers are saturated."""

    d: str
    a: str
    b: str
    m: int
    n: int
    k: int
    negated: tuple[bool, bool]
    transposed: tuple[bool, bool]
    saturates: bool
    scales: Scales | None = None


_FLOATS = {0: "f16", 1: "f32"}
_SMALL = {0: "e4m3", 1: "e5m2", 3: "e2m3", 4: "e3m2", 5: "e2m1"}
#: By kind: the types of D, the types of A and B by their numbers, and the elements of a dense product along K.
_KINDS: dict[str, tuple[dict[int, str], dict[int, str], int]] = {
    "kind::f16": (_FLOATS, {0: "f16", 1: "bf16"}, 16),
    "kind::tf32": ({1: "f32"}, {2: "tf32"}, 8),
    "kind::f8f6f4": (_FLOATS, _SMALL, 32),
    "kind::i8": ({2: "s32"}, {0: "u8", 1: "s8"}, 32),
}


def product(kind: str, bits: int) -> DescribedProduct:
    """What the instruction descriptor of a dense product without scales says. Raises BadDescriptor."""
    results, types, k = _KINDS[kind]
    numbers = bits >> 4 & 3, bits >> 7 & 7, bits >> 10 & 7
    for name, number, known in zip("DAB", numbers, (results, types, types), strict=True):
        if number not in known:
            raise BadDescriptor(
                f"the instruction descriptor has type {number} for matrix {name}, which .{kind} has not"
            )
    d, a, b = results[numbers[0]], types[numbers[1]], types[numbers[2]]
    if bits >> 2 & 1:
        raise BadDescriptor("the instruction descriptor says that A is sparse, and the instruction has no .sp")
    for at in (6, 23, 29):
        if bits >> at & 1:
            raise BadDescriptor(f"bit {at} of an instruction descriptor is reserved, and 0")
    if (d == "f16" and a == "bf16") or (kind == "kind::f16" and a != b):
        raise BadDescriptor(f"there is no product of .{a} and .{b} to .{d}")
    negated, transposed = (bool(bits >> 13 & 1), bool(bits >> 14 & 1)), (bool(bits >> 15 & 1), bool(bits >> 16 & 1))
    if kind == "kind::i8" and any(negated):
        raise BadDescriptor("matrices of integers cannot be negated")
    if kind != "kind::i8" and bits >> 3 & 1:
        raise BadDescriptor("bit 3 of an instruction descriptor is for integers")
    return DescribedProduct(
        d, a, b, (bits >> 24 & 31) << 4, (bits >> 17 & 63) << 3, k, negated, transposed, bool(bits >> 3 & 1)
    )


def scaled(kind: str, bits: int, chunks: int) -> DescribedProduct:
    """What the instruction descriptor of a dense product with scales says (tables 45 and 46). Raises BadDescriptor."""
    small = kind != "kind::mxf8f6f4"
    types = {1: "e2m1"} if small else _SMALL
    numbers = bits >> 7 & 7, bits >> 10 & (3 if small else 7)
    for name, number in zip("AB", numbers, strict=True):
        if number not in types:
            raise BadDescriptor(
                f"the instruction descriptor has type {number} for matrix {name}, which .{kind} has not"
            )
    if bits >> 2 & 1:
        raise BadDescriptor("the instruction descriptor says that A is sparse, and the instruction has no .sp")
    if small and bits >> 31:
        raise UntoldDescriptor(
            "products with K = 96 are not executed: where their scales lie is only in figures of the manual"
        )
    transposed = bool(bits >> 15 & 1), bool(bits >> 16 & 1)
    if small and any(transposed):
        raise BadDescriptor(f"matrices of .{kind} cannot be transposed")
    scale = "ue8m0" if bits >> 23 & 1 else "ue4m3"
    if scale not in _SCALES[kind, chunks]:
        raise BadDescriptor(f"the instruction descriptor says that scales are .{scale}, which .{kind} has not")
    first, second = bits >> 29 & 3, bits >> 4 & 3
    for which, place in (("A", first), ("B", second)):
        if place % chunks:
            raise BadDescriptor(
                f"the instruction descriptor has scales of {which} from byte {place} on, {chunks} of them"
            )
    return DescribedProduct(
        "f32", types[numbers[0]], types[numbers[1]], (bits >> 27 & 3) << 7, (bits >> 17 & 63) << 3, 64 if small else 32,
        (bool(bits >> 13 & 1), bool(bits >> 14 & 1)), transposed, False, Scales(scale, chunks, first, second),
    )  # fmt: skip


#: The types of scales, by kind and the number of scales to a row (table 57).
_SCALES: dict[tuple[str, int], tuple[str, ...]] = {
    ("kind::mxf8f6f4", 1): ("ue8m0",),
    ("kind::mxf4", 2): ("ue8m0",),
    ("kind::mxf4nvf4", 2): ("ue8m0",),
    ("kind::mxf4nvf4", 4): ("ue8m0", "ue4m3"),
}


def check_stationary(found: DescribedProduct) -> None:
    """Raises BadDescriptor for an M or N that a product with `.ws` has not (table 41)."""
    if found.m not in (32, 64, 128):
        raise BadDescriptor(f"the instruction descriptor says M = {found.m}; it is 32, 64 or 128")
    if found.n not in (64, 128, 256):
        raise BadDescriptor(f"the instruction descriptor says N = {found.n}; it is 64, 128 or 256")


def check_shape(kind: str, found: DescribedProduct, ctas: int = 1) -> None:
    """Raises BadDescriptor for an M or N that a product in one CTA, or in two, has not (tables 41 and 52)."""
    allowed = [128 * ctas] if found.scales and ctas == 1 else [64 * ctas, 128 * ctas]
    if found.m not in allowed:
        raise BadDescriptor(f"the instruction descriptor says M = {found.m}; it is {' or '.join(map(str, allowed))}")
    step = 8 * ctas
    if kind == "kind::i8" and (found.n > 32 or ctas == 2):
        step *= 2
    if found.transposed[1] and found.b in _BYTE_TYPES:
        step = 16 * ctas
    if not step <= found.n <= 256 or found.n % step:
        raise BadDescriptor(f"the instruction descriptor says N = {found.n}; it is a multiple of {step} up to 256")


#: Types of 8 bits.
_BYTE_TYPES = ("e4m3", "e5m2", "s8", "u8")

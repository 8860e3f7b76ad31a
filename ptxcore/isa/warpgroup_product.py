"""What `wgmma.mma_async` computes, on arrays: where matrices lie in shared memory (matrix descriptors, PTX ISA 9.0, sections
9.7.15.5.1.6 to 9.7.15.5.1.11), which registers of the four warps hold A and D, and D = A B + D of many warpgroups at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from ptxcore.isa.form import Use
from ptxcore.isa.fragments import ACCUMULATORS, BITS, METADATA, FragmentLayout, multiplicand, shape
from ptxcore.isa.product_arrays import raw, spread
from ptxcore.isa.product_shapes import WARP, MatrixPart, Sparse
from ptxcore.records import NamedTuple
from ptxcore.values.matrix_descriptors import BadDescriptor, warpgroup_matrix
from ptxcore.values.products import all_settled, any_subnormal, is_float, numbers, summed

WARPS = 4
THREADS = WARPS * WARP
#: Rows of A and D that the threads of one warp hold.
_ROWS = 16


class BadMatrixDescriptor(Exception):
    """What descriptors or metadata say has no meaning: the kind of the error, and what is wrong."""


class WarpgroupPlan(NamedTuple):
    """An instruction: N and K, the types of its matrices, how registers hold A (None: it is in shared memory) and D, each of
    16 rows of a warp; `m` are these rows. `at`: where each operand stands among the sources."""

    m: int
    n: int
    k: int
    a_kind: str
    b_kind: str
    a: MatrixPart | None
    d: MatrixPart
    sparse: Sparse | None
    saturates: bool
    at: Mapping[str, int]


@lru_cache(maxsize=1024)
def planned(how: Use) -> WarpgroupPlan:
    """The product that an instruction computes."""
    words = how.words
    _, n, k = shape(words["shape"])
    sparse = how.has("sp")
    sources = [e for e in how.wanted if e.parameter.role != "destination"]
    at = {e.parameter.name: i for i, e in enumerate(sources)}
    kind = words["atype"]
    stored = k // 2 if sparse else k
    a = None
    if "a" in at:
        registers = sources[at["a"]].length
        a = _part(kind, multiplicand(_ROWS, max(1, 32 // BITS[kind]), registers, down=False), registers, stored)
    registers = next(e.length for e in how.wanted if e.parameter.role == "destination")
    widened = ACCUMULATORS[_ROWS]
    widened = FragmentLayout(widened.lanes, (*widened.elements, *((0, 8 << i) for i in range(5))))
    d = _part(words["dtype"], widened, registers, n)
    return WarpgroupPlan(
        _ROWS, n, k, kind, words["btype"], a, d, _sparse(kind, k) if sparse else None, bool(words["satfinite"]), at
    )


def _part(kind: str, layout: FragmentLayout, registers: int, columns: int) -> MatrixPart:
    """A matrix of 16 rows in the registers of a warp."""
    bits = BITS[kind]
    each = registers * 32 // bits
    places = {layout.place(lane, e): lane * each + e for lane in range(WARP) for e in range(each)}
    ordered = tuple(places[row, column] for row in range(_ROWS) for column in range(columns))
    return MatrixPart(kind, bits, 32, 0, registers, each, _ROWS, columns, ordered)


def _sparse(kind: str, k: int) -> Sparse:
    """Who has the metadata of the rows of a warp (sections 9.7.15.6.2.1 to 9.7.15.6.2.3)."""
    wide = 2 if kind == "tf32" else 4
    chunks = k // wide
    layout = METADATA[chunks, BITS[kind] >= 16]
    holders = tuple(
        (
            4 * (row % 8) + j // layout.chunks * layout.across + row // 8 * layout.below,
            4 * (j % layout.chunks) + (0 if layout.below else 16 * (row // 8)),
        )
        for row in range(_ROWS)
        for j in range(chunks)
    )
    return Sparse(wide, 1, False, holders, 0)


def addresses(bits: int, across: int, along: int, size: int, *, transposed: bool) -> Any:
    """Where in shared memory the elements of a matrix lie that a descriptor tells: a row for each row of A, or column of B, in
    it the elements along K. Raises Bad."""
    try:
        return warpgroup_matrix(bits).addresses(across, along, size, k_major=not transposed)
    except BadDescriptor as error:
        raise BadMatrixDescriptor("bad-matrix", str(error)) from None


def _units(kind: str) -> tuple[int, int]:
    """The bytes that are read at once, and how many elements these hold."""
    return max(1, BITS[kind] // 8), max(1, 8 // BITS[kind])


def _shape(plan: WarpgroupPlan, name: str) -> tuple[int, int, int, int]:
    """Of a matrix in shared memory: how many rows of A or columns of B, how many pieces along K that are read at once, their
    bytes, and how many elements each holds."""
    kind, across = (plan.a_kind, WARPS * _ROWS) if name == "a" else (plan.b_kind, plan.n)
    k = plan.k // 2 if name == "a" and plan.sparse is not None else plan.k
    size, held = _units(kind)
    return across, k // held, size, held


def spans(plan: WarpgroupPlan, name: str, descriptor: int, *, transposed: bool) -> tuple[tuple[int, int], ...]:
    """The bytes of a matrix in shared memory, `a` or `b`: offsets and sizes, in order. Raises Bad."""
    return _spans(descriptor, *_shape(plan, name)[:3], transposed)


def pattern(descriptor: int) -> int:
    """The bytes of a row of the pattern in which a descriptor has a matrix swizzled; 16 where it is not."""
    return warpgroup_matrix(descriptor).line


@lru_cache(maxsize=1024)
def _spans(descriptor: int, across: int, along: int, size: int, transposed: bool) -> tuple[tuple[int, int], ...]:
    import numpy as np

    firsts = np.unique(addresses(descriptor, across, along, size, transposed=transposed))
    begins = np.concatenate(([0], (np.diff(firsts) != size).nonzero()[0] + 1, [len(firsts)])).tolist()
    return tuple((int(firsts[i]), (j - i) * size) for i, j in pairwise(begins))


def matrix(
    plan: WarpgroupPlan, name: str, descriptor: int, data: Any, known: Any, *, transposed: bool
) -> tuple[Any, Any, tuple[int, int]]:
    """A matrix in shared memory, `a` or `b`, whose bytes are given, and 0xFF for those that were written: the bits of its
    elements with K along the rows; which rows have elements that nobody wrote; and the bytes from where to where it lies.
    Raises Bad where it does not lie in shared memory, and where its descriptor has no meaning."""
    import numpy as np

    across, along, size, held = _shape(plan, name)
    places = addresses(descriptor, across, along, size, transposed=transposed)
    low, end = int(places.min()), int(places.max()) + size
    if end > len(data):
        raise BadMatrixDescriptor(
            "out-of-bounds", f"out of bounds: {name.upper()} lies from offset {low} to {end} of shared memory, which has "
                  f"{len(data)} bytes")  # fmt: skip
    kept = len(data) // size * size
    found = data[:kept].view(f"u{size}")[places // size]
    unknown = np.zeros(across, np.bool_)
    if known is not None and known[low:end].min() != 0xFF:
        unknown = (known[:kept].reshape(-1, size).min(1)[places // size] != 0xFF).any(1)
    if held > 1:
        found = np.unpackbits(found, axis=1, bitorder="little")
    return found, unknown, (low, end)


def fragments(part: MatrixPart, columns: Sequence[Any]) -> Any:
    """A or D in registers, as 64 rows: of each warpgroup, four warps below each other. A column has a row for each warp."""
    found = raw(part._replace(first=0), columns)
    return found.reshape(-1, WARPS * part.rows, part.columns)


def registers(part: MatrixPart, rows: Any) -> list[Any]:
    """The reverse: the registers of the warps."""
    import numpy as np

    warps = rows.reshape(-1, part.rows * part.columns)
    order = np.zeros(WARP * part.each, np.int64)
    order[list(part.places)] = np.arange(len(part.places))
    held = np.ascontiguousarray(warps.take(order, axis=1)).view(np.uint32).reshape(-1, WARP, part.registers)
    return [held[:, :, i] for i in range(part.registers)]


def filled(how: Use, plan: WarpgroupPlan, a: Any, metadata: Any, selector: Any) -> tuple[Any, Any]:
    """A sparse A with its zeros, and for each warp and lane whether its metadata has a meaning."""
    assert plan.sparse is not None
    warps = a.reshape(-1, _ROWS, a.shape[2])
    full, good = spread(how, plan, plan.sparse, warps, [metadata, selector])  # type: ignore[arg-type]
    return full.reshape(-1, WARPS * _ROWS, plan.k), good


def multiplied(plan: WarpgroupPlan, a: Any, b: Any, c: Any, signs: tuple[int, int]) -> Any:
    """The bits of D = A B + C, of matrices of bits; B has K along its rows. No C where it is None. `signs`: what A and B are
    multiplied by. Integers are exact, and wrap around or are limited; floating-point sums are rounded once."""
    import numpy as np

    left, right = numbers(plan.a_kind, a) * signs[0], (numbers(plan.b_kind, b) * signs[1]).transpose(0, 2, 1)
    with np.errstate(all="ignore"):
        if is_float(plan.a_kind):
            addend = np.zeros((len(a), WARPS * _ROWS, plan.n)) if c is None else numbers(plan.d.kind, c)
            return summed(left, right, addend, plan.d.kind)
        total = (left @ right).astype(np.int64)
        if c is not None:
            total = total + c.view(np.int32)
        if plan.saturates:
            total = total.clip(-(1 << 31), (1 << 31) - 1)
        return total.astype(np.uint32)


def left_open(plan: WarpgroupPlan, a: Any, b: Any, c: Any) -> bool:
    """Whether the order of additions, or what subnormal inputs count as, decides of some element of D."""
    import numpy as np

    if not is_float(plan.a_kind):
        return False
    left, right = numbers(plan.a_kind, a), numbers(plan.b_kind, b).transpose(0, 2, 1)
    addend = np.zeros((len(a), WARPS * _ROWS, plan.n)) if c is None else numbers(plan.d.kind, c)
    parts = ((plan.a_kind, left), (plan.b_kind, right), (plan.d.kind, addend))
    if any(any_subnormal(kind, x) for kind, x in parts):
        return True
    return not all_settled(left, right, addend, (plan.d.kind, plan.d.kind))


class Given(NamedTuple):
    """The operands that are the same for all threads: whether D is added, the signs of A and B, whether they are transposed,
    their descriptors (that of A None where it is in registers), and the sparsity selector."""

    adds: bool
    signs: tuple[int, int]
    transposed: tuple[bool, bool]
    a_descriptor: int | None
    b_descriptor: int
    selector: int


def given(plan: WarpgroupPlan, sources: Sequence[Any]) -> Given:
    """What a thread says of these; numbers, as `sources` of the instruction."""

    def of(name: str, otherwise: int) -> int:
        return int(sources[plan.at[name]]) if name in plan.at else otherwise

    sign = {name: -1 if of(f"imm_scale_{name}", 1) >> 31 else 1 for name in "ab"}
    descriptor = int(sources[plan.at["a_desc"]]) if plan.a is None else None
    return Given(
        bool(of("scale_d", 1)), (sign["a"], sign["b"]), (bool(of("imm_trans_a", 0)), bool(of("imm_trans_b", 0))),
        descriptor, of("b_desc", 0), of("sp_sel", 0),
    )  # fmt: skip

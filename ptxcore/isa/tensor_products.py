"""What `tcgen05.mma`, `tcgen05.cp` and `tcgen05.shift` do (PTX ISA 9.0, sections 9.7.16.9 and 9.7.16.10): D = A B + D,
of matrices in shared memory and in Tensor Memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ptxcore.isa.form import Use
from ptxcore.isa.tensor_memory import pair
from ptxcore.values.matrix_descriptors import (
    BadDescriptor,
    Product,
    Scales,
    UntoldDescriptor,
    check_shape,
    check_stationary,
    matrix,
    product,
    scaled,
)
from ptxcore.values.products import all_settled, any_subnormal, numbers, summed
from ptxcore.values.tensor_cells import lanes_of_rows, place

if TYPE_CHECKING:
    from ptxcore.isa.thread import TensorMemory, Thread

_WARP = 32
#: Bits of an element that does not fill its byte; those of 4 bits have zeros below them where they do not lie side by side
#: (sections 9.7.16.10.4.3 and 9.7.16.10.4.4).
_NARROW = {"e2m1": 4, "e3m2": 6, "e2m3": 6}
_LOW = {"e2m1": 2}
#: Elements of a packed group, and the bytes that it takes with its padding.
_GROUP = 16
#: K of the kinds whose elements of 4 bits lie side by side.
_TIGHT = 64
_BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "f32": 4, "s32": 4}


def described(how: Use, thread: Thread, plan: Callable[[], None]) -> None:
    """Does what a plan says, whose descriptors may be wrong."""
    try:
        plan()
    except UntoldDescriptor as error:
        thread.unable(how, str(error))
    except BadDescriptor as error:
        thread.require(0, "bad-descriptor", str(error))


def mma(how: Use, thread: Thread, *sources: Any) -> None:
    """D = A B + D, or A B where the input D is not enabled, at any time until a `tcgen05.commit` behind it tells a
    barrier object of it"""
    if pair(how, thread):
        return
    names = [p.name for p in how.parameters if p.role != "destination"]
    described(how, thread, lambda: _multiply(how, thread, dict(zip(names, sources, strict=False))))


def _multiply(how: Use, thread: Thread, given: dict[str, Any]) -> None:
    import numpy as np

    kind = how.words["kind"]
    if how.words["ashift"]:
        raise UntoldDescriptor("'tcgen05.mma' with .ashift cannot be executed yet")
    stationary = "ws" in how.form.first.split()
    what = _described(how, kind, int(given["idesc"]), stationary)
    memory = thread.tensor_memory(how)
    lane, column = place(int(given["d"]))
    _check_lane(thread, lane, 128 if stationary else what.m)
    if (given.get("zero_column_mask_desc") or 0) >> _MASKED & 1:
        raise UntoldDescriptor("'tcgen05.mma.ws' with a mask of zero columns cannot be executed yet")
    rows = np.arange(what.m) if stationary else np.array(lanes_of_rows(what.m)) + lane
    chosen = _enabled(given.get("disable_output_lane"), rows)
    memory.begin("mma", (given["d"], what.m, what.n, what.d, stationary))
    left = _left(thread, memory, what, given, lane, stationary)
    right = _in_shared(memory, int(given["b_desc"]), what.b, what.n, what.k, k_major=not what.transposed[1])
    factors = _scales(thread, memory, what, given)
    bits = 0xFFFF if what.d == "f16" else 0xFFFF_FFFF
    if stationary:
        grid = _stationary(what, column)
    else:
        grid = rows[chosen][:, None], (column + np.arange(what.n))[None, :]
    accumulates = bool(given["enable_input_d"])
    if accumulates:
        memory.touch(*grid, writes=False)
    memory.touch(*grid, writes=True)

    def compute() -> None:
        by_rows, by_columns = factors()
        a, b = left()[chosen], right()
        c = memory.numbers(*grid, bits) if accumulates else np.zeros((len(a), what.n), np.uint32)
        memory.sums(lambda: _left_open(what, a, b, c, by_rows, by_columns))
        memory.put(*grid, _sums(what, a, b, c, by_rows, by_columns), bits)

    memory.later(compute)


#: The bit of a descriptor of zero columns that says whether there are any (table 47).
_MASKED = 39


def _described(how: Use, kind: str, idesc: int, stationary: bool) -> Product:
    """What an instruction descriptor says. Raises BadDescriptor."""
    if not how.has("block_scale"):
        what = product(kind, idesc)
    elif kind == "kind::mxf8f6f4":
        what = scaled(kind, idesc, 1)
    else:
        what = scaled(kind, idesc, 4 if how.words["scale_vectorsize"] in ("scale_vec::4X", "block16") else 2)
    if stationary:
        check_stationary(what)
    else:
        check_shape(kind, what)
    return what


def _stationary(what: Product, column: int) -> tuple[Any, Any]:
    """The cells of D with `.ws` (layouts D, E and G): with M < 128 the columns of D lie in parts below each other."""
    import numpy as np

    rows, numbers_ = np.arange(what.m)[:, None], np.arange(what.n)[None, :]
    width = what.n * what.m // 128
    return rows + what.m * (numbers_ // width), column + numbers_ % width + 0 * rows


def _scales(thread: Thread, memory: TensorMemory, what: Product, given: dict[str, Any]) -> Callable[[], Any]:
    """What reads the scales of the rows of A and of the columns of B, as numbers; None where there are none."""
    scales = what.scales
    if scales is None:
        return lambda: (None, None)
    readers = [
        _scale(thread, memory, int(given[f"scale_{name}"]), count, scales, first)
        for name, count, first in (("a", 128, scales.a), ("b", what.n, scales.b))
    ]
    return lambda: tuple(read() for read in readers)


def _scale(
    thread: Thread, memory: TensorMemory, address: int, count: int, scales: Scales, first: int
) -> Callable[[], Any]:
    """What reads the scales of `count` rows: 32 of them in each column, and the same in the lanes of each warp (section
    9.7.16.10.7)."""
    import numpy as np

    lane, column = place(address)
    thread.require(int(lane == 0), "tensor-lane", f"scales are at lane {lane} of tensor memory; it must be 0")
    grid = np.arange(128)[:, None], column + np.arange(-(-count // _WARP))[None, :]
    memory.touch(*grid, writes=False)
    used = sum(0xFF << 8 * (first + i) for i in range(scales.chunks))

    def read() -> Any:
        cells = memory.numbers(*grid, used).reshape(4, _WARP, -1) & np.uint32(used)
        numbers_ = cells[0].T.ravel()[:count]
        same = (cells.transpose(0, 2, 1).reshape(4, -1)[:, :count] == numbers_).all()
        thread.require(int(same), "bad-tensor-memory", "scales are not the same in the lanes of all four warps")
        shifts = np.arange(first, first + scales.chunks, dtype=np.uint32) * np.uint32(8)
        return numbers(scales.kind, (numbers_[:, None] >> shifts & np.uint32(0xFF)).astype(np.uint8))

    return read


def _check_lane(thread: Thread, lane: int, m: int) -> None:
    good = lane == 0 or (m == 64 and lane == 16)
    where = "0 or 16" if m == 64 else "0"
    thread.require(
        int(good), "tensor-lane", f"a matrix with M = {m} is at lane {lane} of tensor memory; it must be {where}"
    )


def _enabled(disabled: Any, lanes: Any) -> Any:
    """Of the lanes, those that are written: a truth value each."""
    import numpy as np

    if disabled is None:
        return np.ones(len(lanes), np.bool_)
    whole = sum(int(word) << 32 * i for i, word in enumerate(disabled))
    return np.array([not whole >> lane & 1 for lane in lanes.tolist()])


def _left(
    thread: Thread, memory: TensorMemory, what: Product, given: dict[str, Any], lane: int, stationary: bool
) -> Callable[[], Any]:
    """What reads A, from shared memory or from Tensor Memory."""
    import numpy as np

    if "a_desc" in given:
        return _in_shared(memory, int(given["a_desc"]), what.a, what.m, what.k, k_major=not what.transposed[0])
    if what.transposed[0]:
        raise BadDescriptor("a matrix A in tensor memory cannot be transposed")
    if stationary and what.m < 128:
        raise UntoldDescriptor("'tcgen05.mma.ws' with A in tensor memory and M < 128 cannot be executed yet")
    at, column = place(int(given["a"]))
    thread.require(int(at == lane), "tensor-lane", f"A is at lane {at} of tensor memory, and D at lane {lane}")
    tight = what.k == _TIGHT
    size, elements = _BYTES.get(what.a, 1), what.k // 2 if tight else what.k
    grid = (np.array(lanes_of_rows(what.m)) + lane)[:, None], column + np.arange(elements * size // 4)[None, :]
    memory.touch(*grid, writes=False)

    def read() -> Any:
        data = np.ascontiguousarray(memory.numbers(*grid).astype("<u4")).view(np.uint8)
        if tight:
            return _halves(data.reshape(what.m, elements))
        return _elements(what.a, data.reshape(what.m, what.k, size))

    return read


def _in_shared(
    memory: TensorMemory, descriptor: int, kind: str, outer: int, k: int, *, k_major: bool
) -> Callable[[], Any]:
    """What reads a matrix in shared memory: the bits of its elements, K along the rows. Raises BadDescriptor."""
    import numpy as np

    described_, size = matrix(descriptor), _BYTES.get(kind, 1)
    if not k_major and kind in _NARROW:
        raise BadDescriptor(f"a matrix of .{kind} cannot be transposed")
    if not k_major and (size == 4) is not (described_.mode == 1):
        raise BadDescriptor(f"a transposed matrix of .{kind} cannot have swizzling mode {described_.mode}")
    if k == _TIGHT:
        pairs = described_.addresses(outer, k // 2, 1, k_major=True)
        return lambda: _halves(memory.shared(pairs))
    places = described_.addresses(outer, k, size, k_major=k_major)[:, :, None] + np.arange(size)
    if kind not in _NARROW:
        return lambda: _elements(kind, memory.shared(places))
    width = _NARROW[kind]
    used = places.reshape(outer, k // _GROUP, _GROUP)[:, :, : width * _GROUP // 8]

    def packed() -> Any:
        bits = np.unpackbits(memory.shared(used), axis=2, bitorder="little").reshape(outer, k, width)
        return (bits << np.arange(width, dtype=np.uint8)).sum(axis=2).astype(np.uint8)

    return packed


def _halves(data: Any) -> Any:
    """Two elements of 4 bits to a byte, the first one lowest."""
    import numpy as np

    return np.stack([data & np.uint8(15), data >> np.uint8(4)], axis=2).reshape(len(data), -1)


def _elements(kind: str, data: Any) -> Any:
    """The bits of elements from their bytes, which are the last dimension."""
    import numpy as np

    size = data.shape[-1]
    if kind in _NARROW:
        return data[..., 0] >> np.uint8(_LOW.get(kind, 0)) & np.uint8((1 << _NARROW[kind]) - 1)
    return np.ascontiguousarray(data).view(f"<u{size}")[..., 0]


def _sums(what: Product, a: Any, b: Any, c: Any, by_rows: Any = None, by_columns: Any = None) -> Any:
    """The bits of A B^T + C: integers exactly, floating point exactly and rounded once."""
    import numpy as np

    if what.d == "s32":
        left, right = (numbers(kind, x).astype(np.int64) for kind, x in ((what.a, a), (what.b, b)))
        total = left @ right.T + c.astype(np.uint32).view(np.int32).astype(np.int64)
        if what.saturates:
            total = total.clip(-(1 << 31), (1 << 31) - 1)
        return (total & 0xFFFF_FFFF).astype(np.uint32)
    left, right, addend = _terms(what, a, b, c, by_rows, by_columns)
    with np.errstate(all="ignore"):
        return summed(left, right.T, addend, what.d).astype(np.uint32)


def _terms(what: Product, a: Any, b: Any, c: Any, by_rows: Any, by_columns: Any) -> tuple[Any, Any, Any]:
    """A, B and C as floating-point numbers, with their signs and scales."""
    import numpy as np

    signs = [-1.0 if negated else 1.0 for negated in what.negated]
    addend = numbers(what.d, (c & 0xFFFF).astype(np.uint16) if what.d == "f16" else c.astype(np.uint32))
    left, right = numbers(what.a, a) * signs[0], numbers(what.b, b) * signs[1]
    with np.errstate(all="ignore"):
        if what.scales is not None:
            left = left * np.repeat(by_rows, what.k // what.scales.chunks, axis=1)
            right = right * np.repeat(by_columns, what.k // what.scales.chunks, axis=1)
    return left, right, addend


def _left_open(what: Product, a: Any, b: Any, c: Any, by_rows: Any, by_columns: Any) -> bool:
    """Whether the order of additions, or what subnormal inputs count as, decides of some element of D."""
    if what.d == "s32":
        return False
    if any(any_subnormal(kind, numbers(kind, x)) for kind, x in ((what.a, a), (what.b, b))):
        return True
    left, right, addend = _terms(what, a, b, c, by_rows, by_columns)
    return any_subnormal(what.d, addend) or not all_settled(left, right.T, addend, (what.d, what.d))


# Copies and shifts.

#: Of each shape of `tcgen05.cp`, for each warp the first row that it gets; by how it is multicast.
_WARPS_OF = {"": (0, 32, 64, 96), "warpx2::02_13": (0, 0, 32, 32), "warpx2::01_23": (0, 32, 0, 32), "warpx4": (0,) * 4}


def copy(how: Use, thread: Thread, taddr: Any, s_desc: Any) -> None:
    """Tensor Memory from taddr on = the rows of a matrix in shared memory, at any time until a `tcgen05.commit` behind it
    tells a barrier object of it"""
    if pair(how, thread):
        return
    described(how, thread, lambda: _copied(how, thread, int(taddr), int(s_desc)))


def _copied(how: Use, thread: Thread, taddr: int, descriptor: int) -> None:
    import numpy as np

    if how.words["src_fmt"]:
        raise UntoldDescriptor("'tcgen05.cp' with decompression cannot be executed yet")
    rows, bits = (int(number) for number in how.words["shape"].removesuffix("b").split("x"))
    memory = thread.tensor_memory(how)
    lane, column = place(taddr)
    if rows == 4:
        taken, lanes = np.arange(4), lane + np.arange(4)
    else:
        thread.require(int(lane == 0), "tensor-lane", f"tcgen05.cp writes from lane {lane} on; it must be 0")
        firsts = np.array(_WARPS_OF[how.words["multicast"]])
        taken, lanes = (firsts[:, None] + np.arange(_WARP)).ravel(), np.arange(4 * _WARP)
    places = matrix(descriptor).addresses(rows, bits // 8, 1, k_major=True)[taken]
    grid = lanes[:, None], column + np.arange(bits // 32)[None, :]
    memory.begin("cp.4x256b" if rows == 4 else "cp")
    memory.touch(*grid, writes=True)
    memory.later(lambda: memory.put(*grid, np.ascontiguousarray(memory.shared(places)).view("<u4")))


def shift(how: Use, thread: Thread, taddr: Any) -> None:
    """Of 32 lanes from taddr on, 8 columns: what stands in each lane but the last goes to the next one; at any time until a
    `tcgen05.commit` behind it tells a barrier object of it"""
    import numpy as np

    if pair(how, thread):
        return
    memory = thread.tensor_memory(how)
    lane, column = place(int(taddr))
    thread.require(
        int(lane % _WARP == 0), "tensor-lane", f"tcgen05.shift is at lane {lane}, which is no multiple of {_WARP}"
    )
    lanes, columns = lane + np.arange(_WARP), column + np.arange(8)
    memory.begin("shift")
    memory.touch(lanes[:-1, None], columns[None, :], writes=False)
    memory.touch(lanes[1:, None], columns[None, :], writes=True)
    memory.later(
        lambda: memory.put(lanes[1:, None], columns[None, :], memory.numbers(lanes[:-1, None], columns[None, :]).copy())
    )

"""What `tcgen05.mma`, `tcgen05.cp` and `tcgen05.shift` do (PTX ISA 9.0, sections 9.7.16.9 and 9.7.16.10): D = A B + D,
of matrices in shared memory and in Tensor Memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ptxcore.isa.form import Use
from ptxcore.isa.tensor_memory import pair
from ptxcore.records import NamedTuple
from ptxcore.values.matrix_descriptors import (
    BadDescriptor,
    DescribedProduct,
    Scales,
    UntoldDescriptor,
    check_shape,
    check_stationary,
    matrix,
    product,
    scaled,
)
from ptxcore.values.products import all_settled, any_subnormal, numbers, summed
from ptxcore.values.tensor_cells import LANES, LANES_OF_A_WARP, lanes_of_rows, place

if TYPE_CHECKING:
    from ptxcore.isa.thread import TensorMemoryAccess, Thread

_WARP = LANES_OF_A_WARP
_LANES = LANES
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
    barrier object of it. With .cta_group::2 each CTA of the pair has half of the rows of A and D, and half of the columns of B,
    at the same addresses. With a scale of the input D there is a value only where D or the scale is 0: the sign of its exponent
    is not the same in all editions of the manual"""
    names = [p.name for p in how.parameters if p.role != "destination"]
    described(how, thread, lambda: _multiply(how, thread, dict(zip(names, sources, strict=False))))


class _Half(NamedTuple):
    """What a CTA has of a product: its Tensor Memory; which elements of its rows of D are written; and their cells."""

    memory: TensorMemoryAccess
    keep: Any
    grid: tuple[Any, Any]


def _multiply(how: Use, thread: Thread, given: dict[str, Any]) -> None:
    import numpy as np

    stationary = "ws" in how.form.first.split()
    two = pair(how)
    what = _described(how, how.words["kind"], int(given["idesc"]), stationary)
    memory = thread.tensor_memory(how)
    memories = memory.both() if two else (memory,)
    height = what.m // len(memories)
    stacked = (stationary and height < _LANES) or (two and height < _LANES)
    shifted = bool(how.words["ashift"])
    if shifted and what.m != _LANES * len(memories):
        _refuse_shift(what.m)
    zeros = _zero_columns(int(given.get("zero_column_mask_desc") or 0), what)
    lane, column = place(int(given["d"]))
    _check_lane(thread, lane, _LANES if stationary or two else what.m)
    peer = next((other for other in memories if other is not memory), None)
    memory.begin("mma", (given["d"], what.m, what.n, what.d, stationary), peer)
    disabled = given.get("disable_output_lane")
    parts = [_half(m, i, what, lane, column, disabled, stacked=stacked) for i, m in enumerate(memories)]
    lefts = [_left(thread, m, what, given, lane, stacked=stacked) for m in memories]
    width = what.n // len(memories)
    rights = [
        _in_shared(m, int(given["b_desc"]), what.b, width, what.k, k_major=not what.transposed[1]) for m in memories
    ]
    factors = _scales(thread, memories, what, given)
    bits = 0xFFFF if what.d == "f16" else 0xFFFF_FFFF
    accumulates = bool(given["enable_input_d"])
    for part in parts:  # whoever has to be behind what is read here has to be behind what is written, too
        part.memory.touch(*part.grid, writes=True)

    def compute() -> None:
        b = np.concatenate([right() for right in rights])
        b[zeros] = 0
        by_rows, by_columns = factors()
        found = []
        for i, (part, left) in enumerate(zip(parts, lefts, strict=True)):
            a, c = left(), np.zeros((height, what.n), np.uint32)
            known = np.full(c.shape, bits, np.uint32)
            if shifted:  # which row the first one is then, nothing says
                a[1:], known[0] = a[:-1].copy(), 0
            if accumulates:
                c[part.keep] = part.memory.numbers(*part.grid, bits)
                _check_scale(how, thread, what, c, given.get("scale_input_d") or 0)
            rows = by_rows and by_rows[i]
            written = part.keep.any(axis=1) if part.keep.ndim == 2 else part.keep
            of_scales = rows[written] if rows is not None else None
            memory.sums(partial(_left_open, what, a[written], b, c[written], of_scales, by_columns))
            sums = _sums(what, a, b, c, rows, by_columns)
            found.append((part, sums[part.keep], known[part.keep]))
        for part, values, told in found:
            part.memory.put(*part.grid, values, told)

    memory.later(compute)


def _half(
    memory: TensorMemoryAccess,
    number: int,
    what: DescribedProduct,
    lane: int,
    column: int,
    disabled: Any,
    *,
    stacked: bool,
) -> _Half:
    """Where the rows of D are that a CTA has; the lanes of the odd CTA of a pair are numbered behind those of the even one."""
    import numpy as np

    if stacked:
        rows = min(what.m, _LANES // 2)
        lanes, columns = _stacked(rows, what.n, column)
        keep = _enabled(disabled, lanes + _LANES * number)
        return _Half(memory, keep, (lanes[keep], columns[keep]))
    lanes = np.array(lanes_of_rows(min(what.m, _LANES))) + lane
    keep = _enabled(disabled, lanes + _LANES * number)
    return _Half(memory, keep, (lanes[keep][:, None], (column + np.arange(what.n))[None, :]))


def _refuse_shift(m: int) -> None:
    if m < _LANES:
        raise BadDescriptor(f"the instruction descriptor says M = {m}; with .ashift it is 128 or 256")
    raise UntoldDescriptor("'tcgen05.mma' with .ashift, .cta_group::2 and M = 128 is not executed: where its rows lie is "
                           "only in a figure of the manual")  # fmt: skip


def _check_scale(how: Use, thread: Thread, what: DescribedProduct, c: Any, scale: int) -> None:
    """Refuses a scale of D that makes a difference."""
    import numpy as np

    width = 10 if what.d == "f16" else 23
    exponent = (1 << (15 - width if what.d == "f16" else 31 - width)) - 1
    finite = (c >> np.uint32(width) & np.uint32(exponent)) != exponent
    if scale and (finite & (c << np.uint32(17 if what.d == "f16" else 1) != 0)).any():
        thread.unable(how, _SCALE)


_SCALE = (
    "'tcgen05.mma' with a scale of the input D is not executed where D is not 0: editions of the manual differ in the sign of "
    "its exponent"
)


def _zero_columns(bits: int, what: DescribedProduct) -> Any:
    """Which columns of B are taken for zeros: a truth value each (table 47). Its two spans are told the one way in the table,
    and the other way in the examples below it, so there is a value only where both give the same. Raises UntoldDescriptor."""
    import numpy as np

    if not bits >> 39 & 1:
        return np.zeros(what.n, np.bool_)
    if bits >> 56 & 63:
        raise UntoldDescriptor(
            "'tcgen05.mma.ws' with a shift of columns is not executed: it is not told which columns D has"
        )
    parts = _LANES // what.m
    spans = (bits >> 40 & 0xFF) + 1, (bits >> 48 & 0xFF) + 1
    found = []
    for one, zero in (spans, spans[::-1]):
        masks = []
        for i in range(parts):
            runs = np.repeat([True, False] * what.n, [one, zero] * what.n)
            runs = runs if bits >> 32 + i & 1 else runs[one:]
            start = bits >> 8 * i & 0xFF
            masks.append(runs[start : start + what.n // parts])
        found.append(np.concatenate(masks))
    if (found[0] != found[1]).any():
        raise UntoldDescriptor(
            "'tcgen05.mma.ws' with a mask of zero columns is not executed where its spans differ: table 47 and the examples "
            "below it contradict each other"
        )
    return found[0]


def _described(how: Use, kind: str, idesc: int, stationary: bool) -> DescribedProduct:
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
        check_shape(kind, what, 2 if pair(how) else 1)
    return what


def _stacked(height: int, n: int, column: int) -> tuple[Any, Any]:
    """The cells of D where a CTA has few rows of it (layouts B, E and G): its columns lie in parts below each other."""
    import numpy as np

    rows, numbers_ = np.arange(height)[:, None], np.arange(n)[None, :]
    width = n * height // _LANES
    return rows + height * (numbers_ // width), column + numbers_ % width + 0 * rows


def _scales(
    thread: Thread, memories: Sequence[TensorMemoryAccess], what: DescribedProduct, given: dict[str, Any]
) -> Callable[[], Any]:
    """What reads the scales of the rows of A in each CTA, and of the columns of B, as numbers; None where there are none."""
    scales = what.scales
    if scales is None:
        return lambda: (None, None)
    if what.m // len(memories) < _LANES:
        raise UntoldDescriptor("block scales with .cta_group::2 and M = 128 are not executed: where the scales of 64 rows "
                               "lie is only in figures of the manual")  # fmt: skip
    of_rows, of_columns = (
        [_scale(thread, memory, int(given[f"scale_{name}"]), count, scales, first) for memory in memories]
        for name, count, first in (("a", _LANES, scales.a), ("b", what.n, scales.b))
    )

    def read() -> Any:
        columns = [one() for one in of_columns]
        same = all(bool((one == columns[0]).all()) for one in columns)
        thread.require(int(same), "bad-tensor-memory", "scales of B are not the same in the two CTAs of the pair")
        return [one() for one in of_rows], columns[0]

    return read


def _scale(
    thread: Thread, memory: TensorMemoryAccess, address: int, count: int, scales: Scales, first: int
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
        return np.ones(lanes.shape, np.bool_)
    whole = sum(int(word) << 32 * i for i, word in enumerate(disabled))
    return np.array([not whole >> lane & 1 for lane in lanes.ravel().tolist()]).reshape(lanes.shape)


def _left(
    thread: Thread,
    memory: TensorMemoryAccess,
    what: DescribedProduct,
    given: dict[str, Any],
    lane: int,
    *,
    stacked: bool,
) -> Callable[[], Any]:
    """What reads the rows of A that a CTA has, from shared memory or from Tensor Memory. Where the columns of D lie in parts
    below each other, each part must have the same A beside it: the manual's text does not tell which of them is read."""
    import numpy as np

    height = min(what.m, _LANES // 2) if stacked else min(what.m, _LANES)
    if "a_desc" in given:
        return _in_shared(memory, int(given["a_desc"]), what.a, height, what.k, k_major=not what.transposed[0])
    if what.transposed[0]:
        raise BadDescriptor("a matrix A in tensor memory cannot be transposed")
    at, column = place(int(given["a"]))
    thread.require(int(at == lane), "tensor-lane", f"A is at lane {at} of tensor memory, and D at lane {lane}")
    tight = what.k == _TIGHT
    size, elements = _BYTES.get(what.a, 1), what.k // 2 if tight else what.k
    lanes = np.arange(_LANES) if stacked else np.array(lanes_of_rows(height)) + lane
    grid = lanes[:, None], column + np.arange(elements * size // 4)[None, :]
    memory.touch(*grid, writes=False)

    def read() -> Any:
        copies = memory.numbers(*grid).reshape(-1, height, elements * size // 4)
        thread.require(
            int((copies == copies[0]).all()), "bad-tensor-memory",
            f"A is not the same in each {height} lanes of tensor memory, beside each part of D",
        )  # fmt: skip
        data = np.ascontiguousarray(copies[0].astype("<u4")).view(np.uint8)
        if tight:
            return _halves(data.reshape(height, elements))
        return _elements(what.a, data.reshape(height, what.k, size))

    return read


def _in_shared(
    memory: TensorMemoryAccess, descriptor: int, kind: str, outer: int, k: int, *, k_major: bool
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

    return lambda: _unpacked(memory.shared(used), outer, k, width)


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


def _sums(what: DescribedProduct, a: Any, b: Any, c: Any, by_rows: Any = None, by_columns: Any = None) -> Any:
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


def _terms(what: DescribedProduct, a: Any, b: Any, c: Any, by_rows: Any, by_columns: Any) -> tuple[Any, Any, Any]:
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


def _left_open(what: DescribedProduct, a: Any, b: Any, c: Any, by_rows: Any, by_columns: Any) -> bool:
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
    """Tensor Memory from taddr on = the rows of a matrix in shared memory, decompressed where formats are given, at any time
    until a `tcgen05.commit` behind it tells a barrier object of it. With .cta_group::2 each CTA of the pair copies from its own
    shared memory"""
    described(how, thread, lambda: _copied(how, thread, int(taddr), int(s_desc)))


#: Bits of an element that is decompressed, and the zeros below it in its byte (section 9.7.16.9.1).
_PACKED = {"b6x16_p32": (6, 0), "b4x16_p64": (4, 2)}


def _copied(how: Use, thread: Thread, taddr: int, descriptor: int) -> None:
    import numpy as np

    rows, bits = (int(number) for number in how.words["shape"].removesuffix("b").split("x"))
    memory = thread.tensor_memory(how)
    memories = memory.both() if pair(how) else (memory,)
    lane, column = place(taddr)
    if rows == 4:
        taken, lanes = np.arange(4), lane + np.arange(4)
    else:
        thread.require(int(lane == 0), "tensor-lane", f"tcgen05.cp writes from lane {lane} on; it must be 0")
        firsts = np.array(_WARPS_OF[how.words["multicast"]])
        taken, lanes = (firsts[:, None] + np.arange(_WARP)).ravel(), np.arange(4 * _WARP)
    places = matrix(descriptor).addresses(rows, bits // 8, 1, k_major=True)[taken]
    grid = lanes[:, None], column + np.arange(bits // 32)[None, :]
    packed = _PACKED.get(how.words["src_fmt"])

    def read(source: TensorMemoryAccess) -> Any:
        if packed is None:
            return np.ascontiguousarray(source.shared(places)).view("<u4")
        width, low = packed
        used = places.reshape(len(places), -1, _GROUP)[:, :, : width * _GROUP // 8]
        each = _unpacked(source.shared(used), len(places), bits // 8, width)
        return np.ascontiguousarray(each << np.uint8(low)).view("<u4")

    memory.begin("cp.4x256b" if rows == 4 else "cp", None, next((m for m in memories if m is not memory), None))
    for each in memories:
        each.touch(*grid, writes=True)

    def copies() -> None:
        for each, words in [(each, read(each)) for each in memories]:
            each.put(*grid, words)

    memory.later(copies)


def _unpacked(data: Any, rows: int, columns: int, width: int) -> Any:
    """The elements of packed groups, a byte each, from the bytes of each group."""
    import numpy as np

    bits = np.unpackbits(data, axis=2, bitorder="little").reshape(rows, columns, width)
    return (bits << np.arange(width, dtype=np.uint8)).sum(axis=2).astype(np.uint8)


def shift(how: Use, thread: Thread, taddr: Any) -> None:
    """Of 32 lanes from taddr on, 8 columns: what stands in each lane but the last goes to the next one; at any time until a
    `tcgen05.commit` behind it tells a barrier object of it. With .cta_group::2 in both CTAs of the pair"""
    import numpy as np

    memory = thread.tensor_memory(how)
    memories = memory.both() if pair(how) else (memory,)
    lane, column = place(int(taddr))
    thread.require(
        int(lane % _WARP == 0), "tensor-lane", f"tcgen05.shift is at lane {lane}, which is no multiple of {_WARP}"
    )
    lanes, columns = lane + np.arange(_WARP), column + np.arange(8)
    before, behind = (lanes[:-1, None], columns[None, :]), (lanes[1:, None], columns[None, :])
    memory.begin("shift", None, next((m for m in memories if m is not memory), None))
    for each in memories:
        each.touch(*behind, writes=True)
        each.touch(*before, writes=False)

    def shifts() -> None:
        for each in memories:
            each.put(*behind, each.numbers(*before).copy())

    memory.later(shifts)

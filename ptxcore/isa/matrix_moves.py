"""Moving small matrices between shared memory and the registers of a warp, and within them: `ldmatrix`, `stmatrix`,
`movmatrix` (PTX ISA 9.0, sections 9.7.14.5.15 to 9.7.14.5.17).

Lanes give addresses of rows; "each thread in a warp loads fragments of a row". So the threads tell each other the addresses,
and each reads or writes just the bytes of its own fragment, as a weak operation of its own: in whatever order, and racing
with whoever writes there unordered with it, be it the very thread that gave the address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use, Whole
from ptxcore.isa.fragments import MOVED
from ptxcore.records import NamedTuple
from ptxcore.values.packed import join
from ptxcore.values.terms import Value, add, concat, eq, extract, lshr, zext

if TYPE_CHECKING:
    from ptxcore.isa.thread import Thread

_WARP = 32

_SPACE = "shared shared::cta"
_NUM = "x1 x2 x4"
_UNPACKED: dict[str, Any] = {"dst_fmt": "b8x16", "src_fmt": "b6x16_p32 b4x16_p64", "ordered": "dst_fmt src_fmt"}


def _matrices(how: Use) -> Mapping[str, str]:
    """A register for each matrix, two where it has 16 rows and 16 columns of bytes. Without a space the address is
    generic, and may have the 32 bits of a shared one."""
    number = int(how.words["num"][1:]) * (2 if how.words["shape"] == "m16n16" else 1)
    return {"d": f"b32 x{number}", "r": f"inferred b32 x{number}", "p": how.words["space"] or "generic shared"}


#: Bits of an element in memory, by what stands for it; in registers those of 8 bits have zeros above them (section
#: 9.7.16.9.1).
_ELEMENTS = {"b16": 16, "b8": 8, "b6x16_p32": 6, "b4x16_p64": 4}


class FragmentPiece(NamedTuple):
    """An access of each thread of a warp: by lane, which lane's address it is at, and how many bytes behind it."""

    givers: tuple[int, ...]
    offsets: tuple[int, ...]
    bits: int


class FragmentPlan(NamedTuple):
    """What threads access of their fragments. `pieces` in the order of the elements' numbers, register by register; each has
    `each` elements of `bits` bits, which in registers take `held` bits. `split`: an element lies in two pieces of a byte
    (which are the same one where it lies in one), and begins at the bit that `shifts` has for its lane."""

    pieces: tuple[FragmentPiece, ...]
    each: int
    bits: int
    held: int
    split: bool
    shifts: tuple[int, ...]


@cache  # as many as there are forms
def _plan(shape: str, matrices: int, turned: bool, source: str) -> FragmentPlan:
    bits, layout = _ELEMENTS[source], MOVED[shape]
    held = max(bits, 8)
    count = 1 << len(layout.elements)
    # Rows as they lie in memory, each at one address: columns of the matrix where it is turned.
    rows = {"m8n8": 8, "m8n16": 8, "m16n16": 16, "m16n8": 8}[shape]
    split = turned and bits == 6
    each = 1 if turned else 32 // held
    pieces = []
    for matrix in range(matrices):
        for element in range(0, count, each):
            places = [layout.place(lane, element) for lane in range(_WARP)]
            if turned:
                places = [(column, row) for row, column in places]
            givers = tuple(matrix * rows + row for row, _ in places)
            starts = [column * bits for _, column in places]
            if split or bits * each == 24:
                width, bytes_ = 8, 2 if split else 3
                last = [(start + bits * each - 1) // 8 for start in starts]
                pieces += [
                    FragmentPiece(
                        givers, tuple(min(start // 8 + k, end) for start, end in zip(starts, last, strict=True)), width
                    )
                    for k in range(bytes_)
                ]
            else:
                pieces.append(FragmentPiece(givers, tuple(start // 8 for start in starts), max(8, bits * each)))
    # Four bits: two elements to a byte, of which a turned matrix has one for each thread.
    shifts = tuple((layout.place(lane, 0)[0] * bits) % 8 if turned else 0 for lane in range(_WARP))
    return FragmentPlan(tuple(pieces), each, bits, held, split, shifts)


def _key(how: Use) -> tuple[str, int, bool, str]:
    """What the plan of an instruction hangs on."""
    words = how.words
    return words["shape"] or "m8n16", int(words["num"][1:]), bool(words["trans"]), words["src_fmt"] or how.type


def _plan_of(how: Use) -> FragmentPlan:
    return _plan(*_key(how))


def rows(how: Use, lanes: Mapping[int, tuple[Value, ...]]) -> dict[int, tuple[Value, ...]]:
    """The addresses of the parts of its rows that each thread accesses; the addresses of the rows themselves, as far as no
    other thread checks them; and where in a byte its elements begin"""
    plan = _plan_of(how)
    return {
        lane: (*(add(lanes[p.givers[lane]][0], p.offsets[lane], 64) for p in plan.pieces), lanes[_row(plan, lane)][0],
               plan.shifts[lane])
        for lane in lanes
    }  # fmt: skip


def _told(how: Use) -> tuple[int, ...]:
    return (*[64] * len(_plan_of(how).pieces), 64, 32)


def _row(plan: FragmentPlan, lane: int) -> int:
    """Whose address a thread checks: its own where that is one of a row."""
    number = max(max(p.givers) for p in plan.pieces) + 1
    return lane % number


def rows_of_warps(how: Use, columns: Sequence[Any]) -> list[Any]:
    """`rows` of many warps."""
    import numpy as np

    pieces, row, shifts = _arrays(*_key(how))
    (addresses,) = columns
    found = [addresses.take(givers, axis=1) + offsets for givers, offsets in pieces]
    found.append(addresses.take(row, axis=1))
    found.append(np.broadcast_to(shifts, addresses.shape))
    return found


@cache
def _arrays(shape: str, matrices: int, turned: bool, source: str) -> tuple[list[tuple[Any, Any]], Any, Any]:
    """Of a plan the givers and offsets of each piece, by lane; whose address each lane checks; and its shifts."""
    import numpy as np

    plan = _plan(shape, matrices, turned, source)
    return (
        [(np.array(p.givers), np.array(p.offsets, np.uint64)) for p in plan.pieces],
        np.array([_row(plan, lane) for lane in range(_WARP)]), np.array(plan.shifts, np.uint32),
    )  # fmt: skip


@lru_cache(maxsize=1024)
def _access(how: Use, bits: int, element: int = -1) -> Use:
    """An access to shared memory, where generic addresses must point."""
    access = how.part(bits, element)
    access.space = "shared"
    return access


def _check(how: Use, thread: Thread, row: Value) -> None:
    """Rows lie at multiples of their 16 bytes, in shared memory."""
    thread.require(eq(extract(row, 3, 0), 0), "misaligned", "the address of a row of a matrix is no multiple of 16")
    if not how.words["space"]:
        thread.require(
            thread.in_space(row, "shared::cta"),
            "wrong-space",
            "a generic address of a row of a matrix is not in shared memory",
        )


def load_rows(how: Use, thread: Thread, told: Sequence[Value], *sources: Any) -> tuple[Value, ...]:
    """d = the elements of the thread's fragments, the first one lowest"""
    plan = _plan_of(how)
    *addresses, row, shift = told
    _check(how, thread, row)
    read = [thread.load(_access(how, p.bits), address) for p, address in zip(plan.pieces, addresses, strict=True)]
    if plan.bits * plan.each == 32:
        return tuple(read)
    elements: list[Value] = []
    if plan.split:
        for low, high in zip(read[::2], read[1::2], strict=True):
            both = lshr(concat(high, low, 8, 8), zext(extract(shift, 15, 0), 16), 16)
            elements.append(zext(extract(both, plan.bits - 1, 0), plan.held))
    else:
        if plan.bits * plan.each == 24:
            read = [join(read[i : i + 3], 8) for i in range(0, len(read), 3)]
        for value, piece in zip(read, plan.pieces[:: len(plan.pieces) // len(read)], strict=True):
            if plan.each == 1 and plan.bits < 8:  # one of two in a byte
                value = lshr(value, extract(shift, 7, 0), piece.bits)
            for i in range(plan.each):
                elements.append(zext(extract(value, plan.bits * (i + 1) - 1, plan.bits * i), plan.held))
    per = 32 // plan.held
    return tuple(join(elements[i : i + per], plan.held) for i in range(0, len(elements), per))


def store_rows(how: Use, thread: Thread, told: Sequence[Value], p: Value, registers: tuple[Value, ...]) -> tuple[()]:
    """the elements of the thread's fragments go to memory"""
    plan = _plan_of(how)
    *addresses, row, _ = told
    _check(how, thread, row)
    per = 32 // plan.bits // plan.each
    for i, (piece, address) in enumerate(zip(plan.pieces, addresses, strict=True)):
        number, low = i // per, i % per * piece.bits
        value = extract(registers[number], low + piece.bits - 1, low)
        thread.store(_access(how, piece.bits, number), address, value)
    return ()


def _least(how: Use) -> int:
    return min(p.bits for p in _plan_of(how).pieces) // 8


def movmatrix(how: Use, lanes: Mapping[int, tuple[Value, ...]]) -> dict[int, Value]:
    """d = the fragment of the transposed matrix"""
    return {lane: join([_half(lanes[giver][0], upper) for giver, upper in _turned(lane)], 16) for lane in lanes}


def _turned(lane: int) -> list[tuple[int, int]]:
    """The lanes that hold the elements of a thread's transposed fragment, and in which half of their registers."""
    at = {MOVED["m8n8"].place(giver, e): (giver, e) for giver in range(_WARP) for e in range(2)}
    places = [MOVED["m8n8"].place(lane, e) for e in range(2)]
    return [at[column, row] for row, column in places]


def _half(value: Value, upper: int) -> Value:
    return extract(value, 16 * upper + 15, 16 * upper)


def movmatrix_of_warps(how: Use, columns: Sequence[Any]) -> list[Any]:
    """`movmatrix` of many warps."""
    import numpy as np

    (held,) = columns
    halves = []
    for element in range(2):
        givers, upper = zip(*[_turned(lane)[element] for lane in range(_WARP)], strict=True)
        halves.append(
            held.take(np.array(givers), axis=1) >> np.array(upper, np.uint32) * np.uint32(16) & np.uint32(0xFFFF)
        )
    return [halves[0] | halves[1] << np.uint32(16)]


_ROWS = Whole(("p",), _told, load_rows, _least, rows_of_warps)

_BYTES = "8.6 sm_100f sm_101f sm_120f"
_ldmatrix = partial(
    Form, run=rows, kind="warp", whole=_ROWS, section="9.7.14.5.15", version="6.5", target="sm_75", layout=_matrices,
    space=_SPACE, needs={"shared::cta": "7.8"}, repeats="sync",
)  # fmt: skip
_stmatrix = partial(
    Form, run=rows, kind="warp", whole=_ROWS._replace(after=store_rows), section="9.7.14.5.16", version="7.8",
    target="sm_90", layout=_matrices, space=_SPACE, repeats="sync",
)  # fmt: skip

FORMS = (
    _ldmatrix("ldmatrix.sync.aligned.shape.num{.trans}{.space}.b16 d:x?, [p]", shape="m8n8", num=_NUM),
    _ldmatrix("ldmatrix.sync.aligned.shape.num.trans{.space}.b8 d:x?, [p]", shape="m16n16", num="x1 x2",
              needs={"": _BYTES}),
    _ldmatrix("ldmatrix.sync.aligned.shape.num{.space}.dst_fmt.src_fmt d:x?, [p]", shape="m8n16", num=_NUM,
              needs={"": _BYTES}, **_UNPACKED),
    _ldmatrix("ldmatrix.sync.aligned.shape.num.trans{.space}.dst_fmt.src_fmt d:x?, [p]", shape="m16n16",
              num="x1 x2", needs={"": _BYTES}, **_UNPACKED),
    _stmatrix("stmatrix.sync.aligned.shape.num{.trans}{.space}.b16 [p], r:x?", shape="m8n8", num=_NUM),
    _stmatrix("stmatrix.sync.aligned.shape.num.trans{.space}.b8 [p], r:x?", shape="m16n8", num=_NUM,
              needs={"": _BYTES}),
    Form("movmatrix.sync.aligned.m8n8.trans.b16 d:b32 untyped, a:b32 untyped", movmatrix, kind="warp",
         whole=Whole(arrays=movmatrix_of_warps), section="9.7.14.5.17", version="7.8", target="sm_75", repeats="sync"),
)  # fmt: skip

DIFFERENCES = (
    Difference(
        "9.7.14.5.15",
        "`ldmatrix` and `stmatrix` take `.x8` and more, with vectors of any length. The checker refuses them.",
        "The number is `.x1`, `.x2` or `.x4`.",
        checked=False,
    ),
)

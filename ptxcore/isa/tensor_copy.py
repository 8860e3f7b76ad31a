"""Asynchronous copies of tensors, and the objects that describe tensors (PTX ISA 9.0, sections 9.7.9.25.5 and
9.7.9.26)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from ptxcore.isa.async_copy import HINT, MBARRIER, POLICY
from ptxcore.isa.atomics import combined
from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.isa.mbarrier import signal
from ptxcore.isa.tensor_replace import replace
from ptxcore.isa.types import WIDTHS
from ptxcore.values.tensor_boxes import NotTold, TensorBox, box
from ptxcore.values.tensor_map import EncodedTensorMap, NoMap, decoded, wrong_fields
from ptxcore.values.terms import Value, add, bit_and, eq, extract, signed

if TYPE_CHECKING:
    from ptxcore.isa.thread import Thread

#: What a copy asks of its address in shared memory: swizzles begin at multiples of it (section 5.5.7).
_ALIGNMENT = 128
_BAD = "bad-tensor-map"

#: Families that have the Blackwell data-center modes.
_BLACKWELL = "8.6 sm_100a sm_101a / 8.8 sm_100f sm_101f"
_DIMENSIONS = "1d 2d 3d 4d 5d"

#: How many dimensions a load mode goes with.
_MODES = (
    "tile::gather4 tile::scatter4 -> 2d",
    "im2col im2col::w im2col::w::128 im2col_no_offs -> 3d 4d 5d",
)


def _coordinates(how: Use) -> dict[str, str]:
    """A coordinate for each dimension, or a column and four rows; offsets for the modes that unroll the tensor into
    columns."""
    mode, dimensions = how.words["mode"], int(how.words["dim"][0])
    offsets = {"im2col": dimensions - 2, "im2col::w": 2, "im2col::w::128": 2}.get(mode, 0)
    return {
        "coordinates": "x5" if mode in ("tile::gather4", "tile::scatter4") else f"x{dimensions}",
        "offsets": f"x{offsets}" if offsets else "absent",
    }


def load(how: Use, thread: Thread, d: Value, tensor: TensorCoordinates, mbar: Value, *more: Any) -> None:
    """The box from d on = the elements of the tensor from the coordinates on, at any later time; then the barrier object
    [mbar] learns of the bytes of the box, also of those out of bounds. With `.multicast::cluster`, in each CTA
    whose bit is set in the mask. `more`: offsets of the modes of im2col, the mask, a cache policy."""
    rest = list(more)
    offsets = rest.pop(0) if how.words["mode"].startswith("im2col") else ()
    if not how.words["multicast"]:
        _require_group(how, thread, d, mbar)
        _moved(how, thread, d, tensor, offsets, after=_signalling(thread, mbar))
        return
    for rank in thread.ranks(how):
        there = thread.map_address(how, d, rank)
        barrier = thread.map_address(how, mbar, _signalled(how, thread, mbar, rank))
        _moved(
            how, thread, there, tensor, offsets, when=extract(rest[0], rank, rank), after=_signalling(thread, barrier)
        )


def _signalling(thread: Thread, mbar: Value) -> Callable[[int], Callable[[], None]]:
    return lambda size: lambda: signal(thread, mbar, size)


def _signalled(how: Use, thread: Thread, mbar: Value, rank: int) -> Value:
    """The CTA whose barrier object learns of what a CTA of a multicast gets: that one, or the one of its pair that is odd or
    even as the object's."""
    if how.words["group"] != "cta_group::2":
        return rank
    return add(bit_and(thread.rank_of(how, mbar), 1, 32), rank & ~1, 32)


def _require_group(how: Use, thread: Thread, d: Value, mbar: Value) -> None:
    """The barrier object is in the CTA that gets the bytes, or with `.cta_group::2` in one of its pair."""
    there, signals = thread.rank_of(how, d), thread.rank_of(how, mbar)
    if how.words["group"] == "cta_group::2":
        there, signals = extract(there, 31, 1), extract(signals, 31, 1)
    message = "the mbarrier object of a tensor copy is in another CTA than its destination"
    thread.require(eq(there, signals), "bad-mbarrier", message)


def store(how: Use, thread: Thread, tensor: TensorCoordinates, a: Value, policy: Value | None = None) -> None:
    """The elements of the tensor from the coordinates on = those of the box in shared memory from a on, but for those out of
    bounds; at any later time, or when the thread waits for its group"""
    _moved(how, thread, a, tensor, ())


def reduce(how: Use, thread: Thread, tensor: TensorCoordinates, a: Value, policy: Value | None = None) -> None:
    """Each element of the tensor from the coordinates on = operation(itself, that of its box from a on); see `store`"""
    _moved(how, thread, a, tensor, (), reduces=True)


#: A tensor map's address, and coordinates.
TensorCoordinates = tuple[Value, tuple[Value, ...]]


def _moved(
    how: Use,
    thread: Thread,
    shared: Value,
    tensor: TensorCoordinates,
    offsets: Sequence[Value],
    *,
    when: Value = 1,
    after: Callable[[int], Callable[[], None]] | None = None,
    reduces: bool = False,
) -> None:
    """The copy of a box to or from shared memory; `after` gives, for its bytes, what is done then."""
    stores = after is None
    coordinates = tensor[1]
    thread.require(eq(bit_and(shared, _ALIGNMENT - 1, 64), 0), "misaligned",
                   f"the shared address of a tensor copy is no multiple of {_ALIGNMENT}")  # fmt: skip
    map_ = _map(how, thread, tensor[0])
    if map_ is None:
        return
    chosen = _element(how, map_) if reduces else None
    if reduces and chosen is None:
        thread.require(0, _BAD, f"a tensor of .{map_.type} has no reduction .{how.op}")
        return
    for here, (at, *numbers) in thread.cases(how, (shared, *coordinates, *offsets), when):
        places = [signed(n, 32) for n in numbers[: len(coordinates)]]
        moves = _box(how, thread, map_, places, numbers[len(coordinates) :], at, stores)
        if moves is None:
            continue
        thread.copy_box(
            how, moves.pieces, stores=stores, filling=(map_.filling, max(1, map_.bits // 8)), when=here,
            combine=None if chosen is None else partial(combined, chosen), width=map_.bits,
            after=None if after is None else after(moves.size),
        )  # fmt: skip


def _map(how: Use, thread: Thread, address: Value) -> EncodedTensorMap | None:
    """The tensor map at an address; None, and behaviour is undefined, where there is none."""
    try:
        map_ = decoded(thread.tensor_map(how, address))
        wrong = next(wrong_fields(map_), None)
        if wrong is not None:
            raise NoMap(wrong.message)
        return map_
    except NoMap as error:
        thread.require(0, _BAD, str(error))
        return None


def _box(
    how: Use, thread: Thread, map_: EncodedTensorMap, at: list[int], offsets: Sequence[int], shared: int, stores: bool
) -> TensorBox | None:
    """What is moved; None, and behaviour is undefined, where the map does not allow it."""
    try:
        if stores and min(at) < 0:
            raise NoMap(f"a coordinate of a copy to global memory is {min(at)}: it must not be negative")
        return box(map_, how.words["mode"] or "tile", at, offsets, shared, stores)
    except NotTold as error:
        thread.unable(how, str(error))
    except NoMap as error:
        thread.require(0, _BAD, str(error))
    return None


#: The types of elements that a reduction takes (section 9.7.9.25.5.3).
_REDUCED = {
    "add": "u32 s32 u64 f32 f16 bf16", "min": "u32 s32 u64 s64 f16 bf16", "max": "u32 s32 u64 s64 f16 bf16",
    "inc": "u32", "dec": "u32", **dict.fromkeys(("and", "or", "xor"), "u32 s32 u64 s64"),
}  # fmt: skip


def _element(how: Use, map_: EncodedTensorMap) -> Use | None:
    """The use as if it had the type of the elements; None where its reduction does not take them."""
    if map_.type not in _REDUCED[how.op].split():
        return None
    use = copy(how)
    use.type, use.width, use.signed = map_.type, WIDTHS[map_.type], map_.type[0] == "s"
    return use


_form = partial(Form, version="8.0", target="sm_90", layout=_coordinates, rules=_MODES, dim=_DIMENSIONS, hint=HINT)
_copy = partial(_form, kind="effect", run=load, section="9.7.9.25.5.2", first="async bulk tensor")
_TENSOR = "[map:tensormap global const param, coordinates:s32]"
_LOADED = f"[d:shared], {_TENSOR}, [mbar:shared], offsets:u16"
_LOAD_MODES = "tile tile::gather4 im2col im2col::w im2col::w::128"
_STORE_MODES = "tile tile::scatter4 im2col_no_offs"
_GROUPS = "cta_group::1 cta_group::2"

_COPIES = (
    _copy(
        f"cp.async.bulk.tensor.dim.shared::cta.global{{.mode}}.{MBARRIER}{{.group}}{{.hint}} {_LOADED}, {POLICY}",
        version="8.6", ordered="shared::cta global", mode=_LOAD_MODES, group=_GROUPS,
        needs={"tile::gather4 im2col::w": "8.6 sm_100", "im2col::w::128": _BLACKWELL, "group": _BLACKWELL},
    ),
    _copy(
        f"cp.async.bulk.tensor.dim.shared::cluster.global{{.mode}}.{MBARRIER}{{.multicast}}{{.group}}{{.hint}} "
        f"{_LOADED}, mask:u16 if=multicast, {POLICY}",
        ordered="shared::cluster global", mode=_LOAD_MODES, multicast="multicast::cluster", group=_GROUPS,
        needs={"tile::gather4 im2col::w im2col::w::128": _BLACKWELL, "group": _BLACKWELL},
    ),
    _copy(
        f"cp.async.bulk.tensor.dim.global.shared::cta{{.mode}}.bulk_group{{.hint}} {_TENSOR}, [a:shared], {POLICY}",
        run=store, ordered="global shared::cta", mode=_STORE_MODES, needs={"tile::scatter4": _BLACKWELL},
    ),
    _form(
        "cp.reduce.async.bulk.tensor.dim.global.shared::cta.op{.mode}.bulk_group{.hint} "
        f"{_TENSOR}, [a:shared], {POLICY}",
        reduce, kind="effect", section="9.7.9.25.5.3", first="reduce async bulk tensor", ordered="global shared::cta",
        op="add min max inc dec and or xor", mode=_STORE_MODES, needs={"tile::scatter4": _BLACKWELL},
        rules=(*_MODES, "manual: tile::scatter4 -> never"),
    ),
    _form(
        f"cp.async.bulk.prefetch.tensor.dim.L2.global{{.mode}}{{.hint}} {_TENSOR}, offsets:u16, {POLICY}",
        kind="nothing", section="9.7.9.25.5.4", first="async bulk prefetch tensor", mode=_LOAD_MODES,
        needs={"tile::gather4 im2col::w im2col::w::128": _BLACKWELL},
    ),
)  # fmt: skip

# Objects that describe tensors.

_LATER = "sm_100a sm_101a sm_120a sm_121a"
_FAMILIES = "8.8 sm_100f sm_101f sm_120f"
_REPLACE = f"8.3 sm_90a {_LATER} / {_FAMILIES}"
_replace = partial(
    Form, run=replace, kind="effect", section="9.7.9.26", version="8.3", first="replace", space="global shared::cta",
    object="b1024",
)  # fmt: skip

_REPLACEMENTS = (
    *(
        _replace(
            f"tensormap.replace.tile.field{{.space}}.object.{width} [a:narrow], {ordinal}value:{value}",
            needs={"tile": _REPLACE}, field=fields,
        )
        for fields, width, value, ordinal in (
            ("global_address", "b64", "b64", ""),
            ("rank", "b32", "b32", ""),
            ("box_dim global_dim element_stride", "b32", "u32 stated", "ordinal:imm 0..4, "),
            ("global_stride", "b64", "b64", "ordinal:imm 0..4, "),
        )
    ),
    # The values that a field may have; where more of them came later, the form with more stands first.
    *(
        _replace(
            f"tensormap.replace.tile.field{{.space}}.object.b32 [a:narrow], value:imm 0..{last}", needs={"tile": gate},
            field=field,
        )
        for field, last, gate in (
            ("elemtype", 15, f"8.7 {_LATER} / {_FAMILIES}"),
            ("elemtype", 12, _REPLACE),
            ("interleave_layout", 2, _REPLACE),
            ("swizzle_mode", 4, "8.8 sm_103a"),
            ("swizzle_mode", 3, _REPLACE),
            ("swizzle_atomicity", 3, f"8.6 {_LATER} / {_FAMILIES}"),
            ("fill_mode", 1, _REPLACE),
        )
    ),
)  # fmt: skip

FORMS: tuple[Form, ...] = (*_COPIES, *_REPLACEMENTS)

DIFFERENCES = (
    Difference(
        "9.7.9.25.5.3",
        "`cp.reduce.async.bulk.tensor` takes `.tile::scatter4`.",
        "It has `.tile` and `.im2col_no_offs`.",
    ),
    Difference(
        "9.7.9.25.5.2",
        "The tensor map is a register, or a variable in `.global`.",
        "It lies in `.param`, `.const` or `.global`, by its generic address.",
    ),
    Difference(
        "9.7.9.26",
        "The field is `.swizzle_atomicity`. So it is for the checker, in both modes.",
        "It is printed as `.swizzle_atomicsity`.",
        checked=False,
    ),
)

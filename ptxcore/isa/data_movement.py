"""Data movement within a thread and its caches (PTX ISA 9.0, sections 9.7.9.3 to 9.7.9.24); conversions, multimem and
asynchronous copies have files of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ptxcore.isa.difference import Difference
from ptxcore.isa.effect_kinds import DISCARD
from ptxcore.isa.form import Form, Use
from ptxcore.isa.types import WIDTHS
from ptxcore.values.packed import join, split
from ptxcore.values.terms import (
    Value,
    add,
    ashr,
    bit_and,
    bit_or,
    bit_xor,
    concat,
    disj,
    eq,
    extract,
    ite,
    lshr,
    sle,
    sub,
    zext,
)

if TYPE_CHECKING:
    from ptxcore.isa.thread import Thread


def ld(how: Use, thread: Thread, a: Value, policy: Value | None = None) -> Any:
    """d = [a]; of a vector, its elements from the lowest address on. Cache operators and policies, eviction priorities and
    prefetch sizes are hints without effect on the result."""
    return thread.load(how, a)


def st(how: Use, thread: Thread, a: Value, b: Any, policy: Value | None = None) -> None:
    """[a] = b; of a vector, its elements from the lowest address on. See `ld` for hints."""
    thread.store(how, a, b)


def mov(how: Use, a: Any) -> Any:
    """d = a, or the address of the variable a"""
    return a


def pack(how: Use, a: tuple[Value, ...]) -> Value:
    """d = a.x | a.y << n ..., where the elements have n bits"""
    return join(a, WIDTHS[how.types[0]] // len(a))


def unpack(number: int) -> Callable[[Use, Value], tuple[Value, ...]]:
    """The meaning of moves to a vector of that many elements."""

    def elements(how: Use, a: Value) -> tuple[Value, ...]:
        """d.x, d.y ... = the elements of a, the lowest bits first"""
        return split(a, WIDTHS[how.types[0]] // number, number)

    return elements


def prmt(how: Use, a: Value, b: Value, c: Value) -> Value:
    """Byte i of d = the byte of {b, a} that the bits 4i+2 .. 4i of c select; where bit 4i+3 is set, eight times its sign"""
    both = concat(b, a, 32, 32)
    return join([_selected(both, extract(c, place + 3, place)) for place in (0, 4, 8, 12)], 8)


def _selected(both: Value, selector: Value) -> Value:
    byte = extract(lshr(both, _times_8(extract(selector, 2, 0)), 64), 7, 0)
    return ite(extract(selector, 3, 3), ashr(byte, 7, 8), byte, 8)


def _times_8(number: Value) -> Value:
    """Eight times a number of three bits, with 64 bits."""
    return zext(concat(number, 0, 3, 3), 64)


#: For each mode of `prmt`, for the low two bits of c: the bytes of {b, a} that d consists of, byte 3 first.
_MODES = {
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}


def prmt_mode(how: Use, a: Value, b: Value, c: Value) -> Value:
    """d = the bytes of {b, a} that the mode has for the low two bits of c"""
    both = concat(b, a, 32, 32)
    results = [_picked(both, bytes_) for bytes_ in _MODES[how.words["mode"]]]
    return ite(
        extract(c, 1, 1),
        ite(extract(c, 0, 0), results[3], results[2], 32),
        ite(extract(c, 0, 0), results[1], results[0], 32),
        32,
    )


def _picked(both: Value, digits: str) -> Value:
    places = [8 * int(digit) for digit in reversed(digits)]
    return join([extract(both, place + 7, place) for place in places], 8)


def discard(how: Use, thread: Thread, a: Value, size: Value) -> None:
    """The 128 bytes at a may change until they are written again; here they stay."""
    thread.require(eq(extract(a, 6, 0), 0), "misaligned", "the address of a discard is no multiple of 128")
    thread.effect(DISCARD, how, address=a, size=size)


def policy_value(how: Use, thread: Thread, *operands: Value | None) -> Value:
    """d = a cache policy, which is opaque; policies being hints, here they are all the same"""
    return 0


class ShuffleLanes(dict[int, tuple[Value, ...]]):
    """`undetermined` says what the thread of a lane finds where it looks for a thread that is not there, which the manual
    leaves open (PTX ISA 9.0, section 9.7.9.6)."""

    def __init__(self, brought: Mapping[int, tuple[Value, ...]], undetermined: Callable[[int], Value]) -> None:
        super().__init__(brought)
        self.undetermined = undetermined


def left_open(lanes: Mapping[int, tuple[Value, ...]], lane: int) -> Value:
    """What a thread finds where it looks for one that is not there: its own first operand, where nobody says otherwise."""
    return lanes.undetermined(lane) if isinstance(lanes, ShuffleLanes) else lanes[lane][0]


def shfl(how: Use, lanes: Mapping[int, tuple[Value, ...]]) -> dict[int, tuple[Value, Value]]:
    """d = a of the lane j; p = whether j is in range. Where it is not, d = a of the thread itself. Where no thread of lane j
    takes part, the manual leaves open what d is.

    c has a clamp value in its low five bits, and from bit 8 on a mask that cuts the warp into segments."""
    return {lane: _shuffled(how, lane, lanes) for lane in lanes}


#: Wide enough for lanes and their signed differences.
_LANE = 8
_WARP = 32


def _shuffled(how: Use, lane: int, lanes: Mapping[int, tuple[Value, ...]]) -> tuple[Value, Value]:
    a, b, c, *_ = lanes[lane]
    bval, cval, segmask = (zext(extract(x, low + 4, low), _LANE) for x, low in ((b, 0), (c, 0), (c, 8)))
    outside = bit_xor(segmask, 31, _LANE)
    min_lane = bit_and(lane, segmask, _LANE)
    max_lane = bit_or(min_lane, bit_and(cval, outside, _LANE), _LANE)
    mode = how.words["mode"]
    if mode == "up":
        j = sub(lane, bval, _LANE)
        pval = sle(max_lane, j, _LANE)
    else:
        if mode == "down":
            j = add(lane, bval, _LANE)
        elif mode == "bfly":
            j = bit_xor(lane, bval, _LANE)
        else:
            j = bit_or(min_lane, bit_and(bval, outside, _LANE), _LANE)
        pval = sle(j, max_lane, _LANE)
    if pval == 0:
        return a, pval
    return ite(pval, _from_lane(j, _sources(mode, lane, min_lane, max_lane, segmask), lane, lanes), a, 32), pval


def _sources(mode: str, lane: int, min_lane: Value, max_lane: Value, segmask: Value) -> Iterable[int]:
    """The lanes that a thread may take from where they are in range, whatever its second operand is."""
    if type(min_lane) is not int or type(max_lane) is not int or type(segmask) is not int:
        return range(_WARP)
    if mode == "up":
        return range(max_lane, lane + 1)
    if mode == "down":
        return range(lane, max_lane + 1)
    return [k for k in range(max_lane + 1) if mode == "bfly" or k & segmask == min_lane]


def _from_lane(j: Value, sources: Iterable[int], lane: int, lanes: Mapping[int, tuple[Value, ...]]) -> Value:
    """The first source of the thread of lane j, which is one of some; what is left open where there is no such thread."""
    if type(j) is int:
        return lanes[j][0] if j in lanes else left_open(lanes, lane)
    there = [k for k in sources if k in lanes]
    everybody = all(k in lanes for k in sources) and bool(there)
    found = lanes[there.pop()][0] if everybody else left_open(lanes, lane)
    for k in there:
        found = ite(eq(j, k), lanes[k][0], found, 32)
    return found


def isspacep(how: Use, thread: Thread, a: Value) -> Value:
    """p = whether the generic address a lies in the space; `.shared` is that of the thread's own CTA, and `.global` has the
    kernel's parameters in it"""
    if how.words["space"] == "global":
        return disj(thread.in_space(a, "global"), thread.in_space(a, "param::entry"))
    default = {"shared": "shared::cta", "param": "param::entry"}
    return thread.in_space(a, default.get(how.words["space"], how.words["space"]))


def mapa(how: Use, thread: Thread, a: Value, b: Value) -> Value:
    """d = the address that corresponds to a in the CTA of rank b"""
    return thread.map_address(how, a, b)


def getctarank(how: Use, thread: Thread, a: Value) -> Value:
    """d = the rank of the CTA in whose shared memory a lies"""
    return thread.rank_of(how, a)


TYPES = "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64"

# Loads and stores.

SHARED = "shared shared::cta shared::cluster"
SCOPE = "cta cluster gpu sys"
L1 = "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate"
L2 = "L2::evict_normal L2::evict_first L2::evict_last"
HINT = "L2::cache_hint"
PREFETCH = "L2::64B L2::128B L2::256B"
_LOAD_COP = "ca cg cs lu cv"
_LOAD_SPACE = f"const global local param param::entry param::func {SHARED}"
_STORE_SPACE = f"global local param param::func {SHARED}"

#: Vectors of 256 bits.
_WIDE = "v4+b64 v4+u64 v4+s64 v4+f64 v8+b32 v8+u32 v8+s32 v8+f32"
_VECTORS = (
    "b128 -> !vec # 128 bits are the most that a vector may have here",
    "v8+b64 v8+u64 v8+s64 v8+f64 -> never # 256 bits are the most that a vector may have",
    f"{_WIDE} -> !space space=global # vectors of 256 bits are for .global and generic addresses",
)
_HINTS = (
    *_VECTORS,
    f"L2 -> {_WIDE} # eviction priorities of L2 go with .v8.b32 and .v4.b64 only",
    "L1 L2 hint prefetch -> !space space=global",
    "cop -> !L1",
    "manual: cop -> !L2",
)
_LOADED_HINTS = (*_HINTS, "v8 -> b32 u32 s32 f32")
_STORED_HINTS = (*_HINTS, "manual: v8 -> b32 u32 s32 f32")
_GATES = {
    "!space": "2.0 sm_20",
    "cop": "2.0 sm_20",
    "weak": "6.0 sm_70",
    "L1": "7.4 sm_70",
    "prefetch": "7.4 sm_75",
    "L2::256B": "7.4 sm_80",
    "hint": "7.4 sm_80",
    "cluster": "7.8 sm_90",
    "shared::cta": "7.8",
    "shared::cluster": "7.8 sm_90",
    "param::entry param::func": "8.3",
    "b128": "8.3 sm_70",
    "sys+b128": "8.4",
    _WIDE: "8.8 sm_100",
}
_MANUAL_GATES = {"shared::cta": "7.8 sm_30", "f64": "sm_13"}
_STRONG_SYS = {"sem": "relaxed", "scope": "sys"}
_TEXTURE = {"proxy": "texture"}


def _sinks(how: Use) -> dict[str, str]:
    """Elements of a stored vector may be left out where it has 256 bits."""
    return {"b": "sink"} if how.has(_WIDE) else {}


_load = partial(Form, run=ld, kind="effect", section="9.7.9.8", manual=_MANUAL_GATES, type=TYPES)
_store = partial(Form, run=st, kind="effect", section="9.7.9.11", manual=_MANUAL_GATES, layout=_sinks, type=TYPES)
_POLICY = "policy:u64 own if=hint"
_LOADED = "d:loose vec braced, [a]"
_STORED = "[a], b:loose vec braced"
_VEC = "v2 v4 v8"

_LOADS = (
    _load(
        f"ld{{.sem}}{{.space}}{{.cop}}{{.L1}}{{.L2}}{{.hint}}{{.prefetch}}{{.vec}}.type {_LOADED}, {_POLICY}",
        needs=_GATES, rules=_LOADED_HINTS, sem="weak", space=_LOAD_SPACE, cop=_LOAD_COP, L1=L1, L2=L2, hint=HINT,
        prefetch=PREFETCH, vec=_VEC,
    ),
    _load(
        f"ld.volatile{{.space}}{{.L2}}{{.prefetch}}{{.vec}}.type {_LOADED}", version="1.1", given=_STRONG_SYS,
        needs=_GATES, rules=(*_LOADED_HINTS, "manual: L2 -> never"), space=f"global {SHARED}", L2=L2, prefetch=PREFETCH,
        vec=_VEC,
    ),
    _load(
        f"ld.sem.scope{{.space}}{{.L1}}{{.L2}}{{.hint}}{{.prefetch}}{{.vec}}.type {_LOADED}, {_POLICY}", version="6.0",
        target="sm_70", needs=_GATES, rules=_LOADED_HINTS, sem="relaxed acquire", scope=SCOPE, space=f"global {SHARED}",
        L1=L1, L2=L2, hint=HINT, prefetch=PREFETCH, vec=_VEC,
    ),
    _load(
        f"ld.mmio.sem.scope{{.space}}.type {_LOADED}", version="8.2", target="sm_70", needs=_GATES, sem="relaxed",
        scope="sys", space="global",
    ),
    _load(
        f"ld.space.nc{{.cop}}{{.L1}}{{.L2}}{{.hint}}{{.prefetch}}{{.vec}}.type {_LOADED}, {_POLICY}", section="9.7.9.9",
        version="3.1", target="sm_32", needs=_GATES, rules=_LOADED_HINTS, given=_TEXTURE, space="global", cop="ca cg cs",
        L1=L1, L2=L2, hint=HINT, prefetch=PREFETCH, vec=_VEC,
    ),
)  # fmt: skip

_STORES = (
    _store(
        f"st{{.sem}}{{.space}}{{.cop}}{{.L1}}{{.L2}}{{.hint}}{{.vec}}.type {_STORED}, {_POLICY}", needs=_GATES,
        rules=_STORED_HINTS, sem="weak", space=_STORE_SPACE, cop="wb cg cs wt", L1=L1, L2=L2, hint=HINT, vec=_VEC,
    ),
    _store(
        f"st.volatile{{.space}}{{.L2}}{{.vec}}.type {_STORED}", version="1.1", given=_STRONG_SYS, needs=_GATES,
        rules=(*_STORED_HINTS, "manual: L2 -> never"), space=f"global {SHARED}", L2=L2, vec=_VEC,
    ),
    _store(
        f"st.sem.scope{{.space}}{{.L1}}{{.L2}}{{.hint}}{{.vec}}.type {_STORED}, {_POLICY}", version="6.0",
        target="sm_70", needs=_GATES, rules=_STORED_HINTS, sem="relaxed release", scope=SCOPE, space=f"global {SHARED}",
        L1=L1, L2=L2, hint=HINT, vec=_VEC,
    ),
    _store(
        f"st.mmio.sem.scope{{.space}}.type {_STORED}", version="8.2", target="sm_70", needs=_GATES, sem="relaxed",
        scope="sys", space="global",
    ),
)  # fmt: skip

_LDU = Form(
    "ldu{.space}{.vec}.type d:loose vec braced, [a]", ld, kind="effect", section="9.7.9.10",
    version="2.0", target="sm_20",
    rules=(*_VECTORS, "v4 -> !b64+!u64+!s64+!f64 # 128 bits are the most that a vector may have here"),
    needs={"b128": "8.3 sm_70"}, space="global", vec="v2 v4", type=TYPES,
)  # fmt: skip

# Moves. What the manual calls a vector here is packed into a register or unpacked from one.

_PACKED = (("b16", "b8", 2), ("b32", "b16", 2), ("b32", "b8", 4), ("b64", "b32", 2), ("b64", "b16", 4),
           ("b128", "b64", 2), ("b128", "b32", 4))  # fmt: skip
_pack = partial(Form, section="9.7.9.4", needs={"b128": "8.3 sm_70"})

_MOVES = (
    Form(
        "mov.type d:braced, a:address special braced", mov, section="9.7.9.3", needs={"b128": "8.3 sm_70"},
        manual={"f64": "sm_13"}, type="pred b16 b32 b64 b128 u16 u32 u64 s16 s32 s64 f32 f64",
    ),
    Form("mov.u64 d, a:opaque", mov, section="9.7.9.3", version="3.1", target="sm_20"),
    *(_pack(f"mov.{whole} d, a:{part} x{count}", pack) for whole, part, count in _PACKED),
    *(_pack(f"mov.{whole} d:{part} x{count}, a:address special", unpack(count)) for whole, part, count in _PACKED),
    Form(
        "mov.vec.type d:vec, a:vec special", mov, section="9.7.9.4", rules=("v4 -> !b64+!u64+!s64+!f64",), vec="v2 v4",
        type="b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64",
    ),
)  # fmt: skip

_SHUFFLES = (
    Form(
        "shfl.mode.b32 d|p?, a, b, c", shfl, kind="warp", section="9.7.9.5", version="3.0", target="sm_30", until="6.4 sm_70",
        mode="up down bfly idx",
    ),
    Form(
        "shfl.sync.mode.b32 d|p?, a, b, c, membermask:u32", shfl, kind="warp", mask="membermask", section="9.7.9.6",
        version="6.0", target="sm_30", repeats="sync", mode="up down bfly idx",
    ),
    Form("prmt.b32 d, a, b, c", prmt, section="9.7.9.7", version="2.0", target="sm_20"),
    Form(
        "prmt.b32.mode d, a, b, c", prmt_mode, section="9.7.9.7", version="2.0", target="sm_20",
        mode="f4e b4e rc8 ecl ecr rc16",
    ),
)  # fmt: skip

# Caches.

_PRIORITY = "L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged"
_SECOND = "L2::evict_first L2::evict_unchanged"
_cached = partial(Form, version="7.4", target="sm_80")
_policy = partial(_cached, run=policy_value, kind="effect", section="9.7.9.18")
_prefetch = partial(Form, kind="nothing", section="9.7.9.15")

_CACHES = (
    _prefetch("prefetch{.space}.level [a]", version="2.0", target="sm_20", space="global local", level="L1 L2"),
    _prefetch(
        "prefetch{.space}.priority [a]", version="7.4", target="sm_80", space="global",
        priority="L2::evict_last L2::evict_normal", rules=("manual: !space -> never",),
    ),
    _prefetch("prefetch{.space}.tensormap [a:narrow]", version="8.0", target="sm_90", space="const param"),
    _prefetch("prefetchu.L1 [a:global]", version="2.0", target="sm_20"),
    _cached(
        "applypriority{.space}.L2::evict_normal [a], size:imm 128..128", kind="nothing", section="9.7.9.16", space="global",
    ),
    _cached(
        "discard{.space}.L2 [a], size:imm 128..128", discard, kind="effect", section="9.7.9.17",
        space="global",
    ),
    _policy(
        "createpolicy.range{.space}.primary{.secondary}.b64 d:u64, [a:narrow], size:u32 upto=total, total:u32",
        first="range", space="global", primary=_PRIORITY, secondary=_SECOND,
    ),
    _policy(
        "createpolicy.fractional.primary{.secondary}.b64 d:u64, fraction:f32?", first="fractional", primary=_PRIORITY,
        secondary=_SECOND,
    ),
    _policy("createpolicy.cvt.L2.b64 d:u64, a:u64", first="cvt"),
)  # fmt: skip

# Addresses.

_cluster = partial(
    Form, kind="effect", version="7.8", target="sm_90", rules=("manual: s32 s64 -> never",),
    space="shared::cluster", type="u32 u64 s32 s64",
)  # fmt: skip

_ADDRESSES = (
    *(
        Form(
            "isspacep.space p, a:" + width, isspacep, kind="effect", section="9.7.9.19",
            version="2.0", target="sm_20",
            space=f"const global local {SHARED} param param::entry",
            needs={
                "const": "3.1", "param param::entry": "7.7 sm_70", "param::entry": "8.3", "shared::cta": "7.8",
                "shared::cluster": "7.8 sm_90",
            },
            manual={"shared::cta": "7.8 sm_30"},
        )
        for width in ("u32", "u64")
    ),
    _cluster("mapa{.space}.type d, a:address stated shared, b:u32", mapa, section="9.7.9.23"),
    _cluster("getctarank{.space}.type d:u32, a:address stated shared", getctarank, section="9.7.9.24"),
)  # fmt: skip

FORMS: tuple[Form, ...] = (*_LOADS, *_STORES, _LDU, *_MOVES, *_SHUFFLES, *_CACHES, *_ADDRESSES)

DIFFERENCES = (
    Difference(
        "9.7.9.8",
        "`.volatile` and cache operators go together with an eviction priority of the L2 cache, on vectors of "
        "256 bits.",
        "Eviction priorities go with weak accesses without a cache operator, and with strong ones.",
    ),
    Difference(
        "9.7.9.8",
        "ptxas dies on `ld.v8` of 8 and 16 bits after it was read. The checker refuses it.",
        "`.v8` has elements of 32 bits.",
    ),
    Difference(
        "9.7.9.8",
        "Vectors of `.f16`, `.f32` and `.f64` may consist of integer registers of that size, as in `ld.v2.f32` and two "
        "`.u32` registers. Parameters are not loaded into them.",
        "The registers of a floating-point type are of that type, or untyped.",
    ),
    Difference(
        "9.7.9.11",
        "`st.v8` of 8 and 16 bits is an instruction.",
        "`.v8` has elements of 32 bits.",
    ),
    Difference(
        "9.7.9.8",
        "`.shared::cta` is known for every target.",
        "It needs sm_30.",
    ),
    Difference(
        "9.7.9.8",
        "`.f64` is known for every target.",
        "It needs sm_13.",
    ),
    Difference(
        "9.7.9.4",
        "`mov.v2` and `mov.v4` take a single value for a vector, too. The checker wants a vector, in both modes.",
        "The syntax has no `.v2` and `.v4`, sections 6.4.3 and 10.12 to 10.15 show them with vectors.",
        checked=False,
    ),
    Difference(
        "9.7.9.6",
        "`.sync` may stand twice on `shfl` and on others that have it, and `.satfinite` on products of matrices. The "
        "checker takes that in both modes.",
        "A modifier stands once.",
        checked=False,
    ),
    Difference(
        "9.7.9.7",
        "The clamp of the left edge of `prmt` is `.ecl`. So it is for the checker, in both modes.",
        "It is printed as `.ec1`.",
        checked=False,
    ),
    Difference(
        "9.7.9.15",
        "`prefetch` with `.L2::evict_last` or `.L2::evict_normal` takes generic addresses.",
        "They go with `.global`.",
    ),
    Difference(
        "9.7.9.23",
        "`mapa` and `getctarank` have the types `.s32` and `.s64`, too.",
        "The types are `.u32` and `.u64`.",
    ),
)

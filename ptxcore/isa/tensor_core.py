"""The fifth generation of tensor cores: `tcgen05` (PTX ISA 9.0, sections 9.7.16.7 to 9.7.16.12).

What all tcgen05 instructions of a kernel have in common, the same `.cta_group`, is the module's matter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.isa.tensor_memory import ALLOC, DEALLOC, LOAD, LOAD_REDUCED, RELINQUISH, STORE, WAIT, agreed, commit, fence
from ptxcore.isa.tensor_products import copy, mma, shift

# The families of sm_100 and sm_101 (sm_110 from PTX 9.0 on), and their members with architecture-specific features.
_FAMILIES = "sm_100f sm_101f"
_MEMBERS = "sm_100a sm_101a sm_103a"

_GROUP = "cta_group::1 cta_group::2"
_tcgen05 = partial(Form, kind="effect", version="8.6", target=_FAMILIES, repeats="sync NaN")


# Allocation (section 9.7.16.7).


def _space(how: Use) -> Mapping[str, str]:
    """Without a space the address is generic, and may have the 32 bits of a shared one."""
    return {"address": how.words["space"] or "generic shared"}


_allocation = partial(_tcgen05, section="9.7.16.7.1", cta_group=_GROUP)

_ALLOCATION = (
    _allocation(
        "tcgen05.alloc.cta_group.sync.aligned{.space}.b32 [address], n_cols:u32 32..512 power_of_two",
        agreed, kind="warp", whole=ALLOC,
        first="alloc", space="shared::cta", layout=_space,
    ),
    _allocation("tcgen05.dealloc.cta_group.sync.aligned.b32 taddr:u32, n_cols:u32 0..4294967295 *32",
                agreed, kind="warp", whole=DEALLOC, first="dealloc"),
    _allocation("tcgen05.relinquish_alloc_permit.cta_group.sync.aligned", agreed, kind="warp", whole=RELINQUISH,
                first="relinquish_alloc_permit"),
)  # fmt: skip


# Loads and stores (section 9.7.16.8).

#: Registers that one repetition of a shape fills (table 49); together they are at most 128.
_REGISTERS = {"16x32bx2": 1, "16x64b": 1, "32x32b": 1, "16x128b": 2, "16x256b": 4}
_MOST_REPETITIONS = (
    "16x128b -> !x128",
    "16x256b -> !x64+!x128",
    "manual: !aligned -> never # '.aligned' is needed",
)
_NUM = "x1 x2 x4 x8 x16 x32 x64 x128"
_TADDR = "[taddr:tensor untyped]"
_SHAPES = "16x64b 16x128b 16x256b 32x32b"
_HALVES = "16x32bx2"
_OFFSET = "half_split_offset:u32 imm"


def _repeated(how: Use) -> Mapping[str, str]:
    return {"r": f"registers b32 x{_REGISTERS[how.words['shape']] * int(how.words['num'][1:])}"}


_ld = partial(
    _tcgen05,
    run=agreed,
    kind="warp",
    whole=LOAD,
    section="9.7.16.8.3",
    first="ld",
    layout=_repeated,
    num=_NUM,
    rules=_MOST_REPETITIONS,
)
_ld_red = partial(
    _tcgen05, run=agreed, kind="warp", whole=LOAD_REDUCED, section="9.7.16.8.3", version="8.8", target="sm_101f sm_103f",
    first="ld red", layout=_repeated,
    num=_NUM.removeprefix("x1 "), op="min max", rules=_MOST_REPETITIONS,
)  # fmt: skip
_st = partial(
    _tcgen05,
    run=agreed,
    kind="warp",
    whole=STORE,
    section="9.7.16.8.4",
    first="st",
    layout=_repeated,
    num=_NUM,
    rules=_MOST_REPETITIONS,
)
_REDUCED = "r:b32 x? out kept, red_val:b32 out braced"

_MOVES = (
    _ld(f"tcgen05.ld.sync{{.aligned}}.shape.num{{.pack}}.b32 r:x? out kept, {_TADDR}", shape=_SHAPES, pack="pack::16b"),
    _ld(f"tcgen05.ld.sync{{.aligned}}.shape.num{{.pack}}.b32 r:x? out kept, {_TADDR}, {_OFFSET}", shape=_HALVES,
        pack="pack::16b"),
    _ld_red(f"tcgen05.ld.red.sync{{.aligned}}.shape.num.op{{.abs}}{{.NaN}}.f32 {_REDUCED}, {_TADDR}", shape="32x32b"),
    _ld_red(f"tcgen05.ld.red.sync{{.aligned}}.shape.num.op{{.abs}}{{.NaN}}.f32 {_REDUCED}, {_TADDR}, {_OFFSET}",
            shape=_HALVES),
    _ld_red(f"tcgen05.ld.red.sync{{.aligned}}.shape.num.op.type {_REDUCED}, {_TADDR}", shape="32x32b",
            type="u32 s32"),
    _ld_red(f"tcgen05.ld.red.sync{{.aligned}}.shape.num.op.type {_REDUCED}, {_TADDR}, {_OFFSET}", shape=_HALVES,
            type="u32 s32"),
    _st(f"tcgen05.st.sync{{.aligned}}.shape.num{{.unpack}}.b32 {_TADDR}, r:x?", shape=_SHAPES, unpack="unpack::16b"),
    _st(f"tcgen05.st.sync{{.aligned}}.shape.num{{.unpack}}.b32 {_TADDR}, {_OFFSET}, r:x?", shape=_HALVES,
        unpack="unpack::16b"),
    _tcgen05("tcgen05.operation.sync.aligned", agreed, kind="warp", whole=WAIT, section="9.7.16.8.5", first="operation",
             operation="wait::ld wait::st"),
    _tcgen05("tcgen05.cp.cta_group.shape{.multicast}{.dst_fmt}{.src_fmt} [taddr:tensor untyped], s_desc:u64",
             copy, section="9.7.16.9.2", first="cp", cta_group=_GROUP, shape="128x256b 4x256b 128x128b 64x128b 32x128b",
             multicast="warpx2::02_13 warpx2::01_23 warpx4", dst_fmt="b8x16", src_fmt="b6x16_p32 b4x16_p64",
             ordered="dst_fmt src_fmt",
             rules=("64x128b -> warpx2::02_13 warpx2::01_23", "warpx2::02_13 warpx2::01_23 -> 64x128b",
                    "32x128b -> warpx4", "warpx4 -> 32x128b", "dst_fmt -> src_fmt", "src_fmt -> dst_fmt")),
    _tcgen05("tcgen05.shift.cta_group.down [taddr:tensor untyped]", shift, section="9.7.16.9.3", first="shift", target=_MEMBERS,
             cta_group=_GROUP),
)  # fmt: skip


# Matrix multiplication (section 9.7.16.10).

_A = ("a_desc:u64", "[a:tensor]")  # A in shared memory, or in Tensor Memory
_ENABLE = "{!}enable_input_d:pred"
_LANES = "disable_output_lane:b32 x?"
_FLOATS = "kind::f16 kind::tf32 kind::f8f6f4"
_PLAIN = f"{_FLOATS} kind::i8"
_COLLECTOR_OF_A = " ".join(f"collector::a::{op}" for op in ("fill", "use", "lastuse", "discard"))
_COLLECTORS_OF_B = " ".join(f"collector::b{n}::{op}" for n in range(4) for op in ("fill", "use", "lastuse", "discard"))
_SHIFTED = ("ashift -> !collector::a::fill+!collector::a::use",)
_INTEGERS = {"kind::i8": "8.6 sm_100a sm_101a"}


def _lanes(how: Use) -> Mapping[str, str]:
    """A mask of 128 lanes for each CTA."""
    return {"disable_output_lane": f"registers x{4 if how.has('cta_group::1') else 8}"}


#: What the manual does not tell of sparse products.
_METADATA = "where its metadata lie, sections 9.7.16.10.8.5 to 9.7.16.10.8.10 have in figures only"


def _mma(syntax: str, sparse: bool, **where: Any) -> Form:
    section = "9.7.16.10.9.2" if sparse else "9.7.16.10.9.1"
    untold = _METADATA if sparse else ""
    return _tcgen05(syntax, section=section, first="mma", untold=untold, collector=_COLLECTOR_OF_A, **where)


def _products(sparse: bool) -> Iterator[Form]:
    """The forms without scaling. Operands that may be left out stand in front of ones that may not, so each choice is
    a form."""
    opcode = f"tcgen05.mma{'.sp' if sparse else ''}.cta_group.kind"
    meta = "[sp_meta:tensor], " if sparse else ""
    for a in _A:
        shift: dict[str, Any] = {"rules": _SHIFTED} if a == _A[1] else {}
        modifiers = opcode + ("{.ashift}" if shift else "") + "{.collector}"
        for lanes in ("", f"{_LANES}, "):
            syntax = f"{modifiers} [d:tensor], {a}, b_desc:u64, {meta}idesc:u32, {lanes}{_ENABLE}"
            common: dict[str, Any] = {"cta_group": _GROUP, "layout": _lanes, **shift}
            yield _mma(syntax, sparse, run=None if sparse else mma, kind_=_PLAIN, needs=_INTEGERS, **common)
            yield _mma(f"{syntax}, scale_input_d:u32 imm 0..15", sparse, run=None if sparse else mma,
                       kind_="kind::f16 kind::tf32", target="sm_100f", **common)  # fmt: skip
            if not (sparse and lanes):
                enabled = syntax if lanes else f"{syntax} reg"
                last = "unused:pred imm" if lanes else "{!}unused:pred"
                yield _mma(f"{enabled}, {last}", sparse, kind_="kind::i8", only="ptxas", needs=_INTEGERS, **common)


def _scaled(sparse: bool) -> Iterator[Form]:
    """The forms with scaling. ptxas takes a scale vector size that is left out for `.block32`."""
    opcode = f"tcgen05.mma{'.sp' if sparse else ''}.cta_group.kind.block_scale"
    meta = "[sp_meta:tensor], " if sparse else ""
    block = f"8.8 {_FAMILIES}"
    narrow = f"8.8 {_MEMBERS}" if sparse else block
    for a in _A:
        operands = f"[d:tensor], {a}, b_desc:u64, {meta}idesc:u32, [scale_a:tensor], [scale_b:tensor], {_ENABLE}"
        for kind, vector, aliases, size in (
            ("mxf8f6f4", "1X", "block32", "{.scale_vectorsize}"),
            ("mxf4", "2X", "block32", "{.scale_vectorsize}"),
            ("mxf4nvf4", "2X 4X", "block16 block32", ".scale_vectorsize"),
        ):
            vectors = " ".join(f"scale_vec::{n}" for n in vector.split())
            gate = block if kind == "mxf8f6f4" else narrow
            needs = {
                aliases: gate,
                "!scale_vectorsize": gate,
                vectors: f"{'8.7' if kind == 'mxf4nvf4' else '8.6'} {_MEMBERS}",
            }
            yield _mma(f"{opcode}{size}{{.collector}} {operands}", sparse, run=None if sparse else mma, cta_group=_GROUP,
                       kind_=f"kind::{kind}",
                       scale_vectorsize=f"{vectors} {aliases}", needs=needs,
                       manual={"!scale_vectorsize": ""})  # fmt: skip


def _stationary(sparse: bool) -> Iterator[Form]:
    """The forms that keep B."""
    opcode = f"tcgen05.mma.ws{'.sp' if sparse else ''}.cta_group::1.kind{{.collector}}"
    meta = "[sp_meta:tensor], " if sparse else ""
    for a in _A:
        operands = f"[d:tensor], {a}, b_desc:u64, {meta}idesc:u32, {_ENABLE}, zero_column_mask_desc?:u64"
        yield _tcgen05(f"{opcode} {operands}", None if sparse else mma, section="9.7.16.10.9.4" if sparse else "9.7.16.10.9.3",
                       first="mma ws", untold=_METADATA if sparse else "", kind_=_PLAIN, needs=_INTEGERS,
                       collector=_COLLECTORS_OF_B)  # fmt: skip


# Synchronization (sections 9.7.16.11 and 9.7.16.12).

_SYNCHRONIZATION = (
    _tcgen05("tcgen05.ordering", fence, section="9.7.16.11.1", first="ordering",
             ordering="fence::before_thread_sync fence::after_thread_sync"),
    _tcgen05("tcgen05.commit.cta_group.mbarrier::arrive::one{.space}{.multicast}.b64 [address], "
             "cta_mask:u16 reg if=multicast", commit, section="9.7.16.12.1", first="commit", cta_group=_GROUP,
             space="shared::cluster", multicast="multicast::cluster", layout=_space),
)  # fmt: skip

FORMS = (
    *_ALLOCATION,
    *_MOVES,
    *_products(sparse=False),
    *_scaled(sparse=False),
    *_products(sparse=True),
    *_scaled(sparse=True),
    *_stationary(sparse=False),
    *_stationary(sparse=True),
    *_SYNCHRONIZATION,
)

DIFFERENCES = (
    Difference(
        "9.7.16.8",
        "`.aligned` may be left out of `tcgen05.ld` and `tcgen05.st`.",
        "It is mandatory.",
    ),
    Difference(
        "9.7.16.7.1",
        "A constant number of columns to give back is a multiple of 32, 0 and more than 512 among them.",
        "It is a power of two from 32 to 512.",
    ),
    Difference(
        "9.7.16.10.9.1",
        "Scaling without a size of the scale vector needs PTX ISA 8.8, as `.block32` does.",
        "The size may be left out from PTX ISA 8.6 on.",
    ),
    Difference(
        "9.7.16.10.9.1",
        "`.kind::i8` takes one more predicate or integer, which nothing is known of.",
        "The predicate that enables the input D is the last operand.",
    ),
    Difference(
        "9.7.16.10.9.1",
        "A predicate may stand for the lanes that are not written. The checker wants a vector.",
        "They are a vector.",
        checked=False,
    ),
    Difference(
        "9.7.16.10.9.1",
        "An address in Tensor Memory is a `.b32` register there.",
        "It is a register of 32 bits.",
    ),
    Difference(
        "9.7.13.18",
        "The handle of `clusterlaunchcontrol.query_cancel.get_first_ctaid::x` and its kin may be a vector of "
        "128 bits. The checker wants a `.b128` register.",
        "It is a `.b128` register.",
        checked=False,
    ),
)

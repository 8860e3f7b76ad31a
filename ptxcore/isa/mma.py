"""Matrix multiplication by a warp: `mma`, with a sparse matrix A `mma.sp` and `mma.sp::ordered_metadata` (PTX ISA 9.0,
sections 9.7.14.5.14 and 9.7.14.6.3)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use, Whole
from ptxcore.isa.fragments import elements, registers
from ptxcore.isa.products import arrays, judged, multiply, of_mma, opens, told

_FLOATS_OF_8_BITS = "e4m3 e5m2"
_FLOATS_OF_4_TO_8_BITS = "e4m3 e5m2 e3m2 e2m3 e2m1"

#: The type of a register that holds elements of a type: what may stand in a fragment's vector.
_HELD = {
    "f16": "f16x2", "bf16": "bf16x2", "tf32": "tf32", "f32": "f32", "s32": "u32", "f64": "b64",
}  # fmt: skip
_UNTYPED = "inferred b32"
_STRICTLY_UNTYPED = "tf32"
#: What may stand where integers are split into other products.
_SPLIT = {"s8": "inferred registers u32", "u8": "inferred registers u32", "s32": "registers u32"}


def _metadata(element: str, ordered: bool, scaled: bool) -> str:
    """What may stand for the metadata: most is taken where ptxas does not express a product by others."""
    if element in _FLOATS_OF_8_BITS.split() and not scaled:
        return "u32 stated reg"
    if element in ("bf16", "tf32") or (ordered and element not in ("s4", "u4")):
        return "untyped braced"
    return "untyped"


#: The last sparsity selector that a shape has, by shape and type of A where it is not 0 (section 9.7.14.6.1): how many
#: groups of threads there are that could hold the metadata. `.m16n8k32` with `.f16` accumulators has fewer.
_LAST_SELECTOR = {
    ("m16n8k8", "tf32"): 3, ("m16n8k16", "tf32"): 1,
    ("m16n8k16", "bf16"): 3, ("m16n8k32", "bf16"): 1,
    ("m16n8k16", "f16"): 3, ("m16n8k32", "f16"): 3,
    ("m16n8k32", "s8"): 1, ("m16n8k32", "u8"): 1,
    ("m16n8k64", "s4"): 1, ("m16n8k64", "u4"): 1,
}  # fmt: skip

_SP = "sp sp::ordered_metadata"


def _fragments(how: Use) -> Mapping[str, str]:
    """What stands for a, b, c and d, and which sparsity selectors there are."""
    words, shape = how.words, how.words["shape"]
    sparse, scaled = words["spvariant"] or how.has("sp::ordered_metadata"), how.has("block_scale")
    # m8n8k4 of .f16 is four products at once, and .e2m1 is packed only where nothing else can stand beside it.
    at_once = 4 if shape == "m8n8k4" and words["atype"] == "f16" else 1
    packed = 4 if how.has("kind::mxf4 kind::mxf4nvf4") else 0
    # Integers in the shapes of sm_75 are split into other products, whose operands are asked for more.
    split = shape.startswith("m8n8k") and words["dtype"] == "s32"
    halves = shape == "m16n8k32" and words["dtype"] == "f16"
    found = {}
    for matrix in "abcd":
        element = words[f"{matrix}type"]
        count = elements(matrix, shape) * at_once // (2 if matrix == "a" and sparse else 1)
        typed = "" if sparse and element in ("bf16", "tf32") else _HELD.get(element)
        held = typed or (_STRICTLY_UNTYPED if scaled else _UNTYPED)
        if split and element in _SPLIT:
            held = _SPLIT[element]
        elif sparse and element == "f32" and words["atype"] in ("f16", "bf16", "tf32"):
            held = "b32"
        elif element == "f64" and matrix == "d" and shape != "m8n8k4":
            held = "f64"
        found[matrix] = f"{held} x{registers(count, element, bits=packed if matrix in 'ab' else 0)}"
    if sparse:
        found["e"] = _metadata(words["atype"], "sp::ordered_metadata" in how.present, scaled)
        found["f"] = f"0..{1 if halves else _LAST_SELECTOR.get((shape, words['atype']), 0)}"
    return found


def _fragments_but_b(how: Use) -> Mapping[str, str]:
    return {**_fragments(how), "b": "inferred b32 x*"}


_D = "d:x?, a:x?, b:x?, c:x?"
_SPARSE = "e:b32, f:u32 imm"


def _scales(columns: int) -> str:
    """The scale matrices and what selects from them: a byte (of one, two or four that count), and a thread."""
    byte = {1: "0..3", 2: "0..2 *2", 4: "0..0"}[columns]
    return (
        f"scale_a_data:b32 untyped braced, {{byte_id_a:u16 {byte}, thread_id_a:u16 0..1}}, "
        f"scale_b_data:b32 untyped braced, {{byte_id_b:u16 {byte}, thread_id_b:u16 0..3}}"
    )


_mma = partial(
    Form, run=multiply(of_mma), kind="warp", whole=Whole(arrays=arrays(of_mma), opens=opens(of_mma)),
    section="9.7.14.5.14", layout=_fragments,
    repeats="sync satfinite", ordered="row col op popc",
)  # fmt: skip
_sparse = partial(
    Form, run=multiply(of_mma), kind="warp", whole=Whole(told=told, after=judged, arrays=arrays(of_mma), opens=opens(of_mma)),
    section="9.7.14.6.3", version="7.1", target="sm_80", layout=_fragments, repeats="sync satfinite",
    ordered="row col",
)  # fmt: skip

# A type's name in the syntax stands for that type in one matrix.
_F16: dict[str, Any] = {"atype": "f16", "btype": "f16"}
_BF16: dict[str, Any] = {"dtype": "f32", "atype": "bf16", "btype": "bf16", "ctype": "f32"}
_TF32: dict[str, Any] = {"dtype": "f32", "atype": "tf32", "btype": "tf32", "ctype": "f32"}
_F64: dict[str, Any] = {"dtype": "f64", "atype": "f64", "btype": "f64", "ctype": "f64"}
_F8: dict[str, Any] = {"atype": _FLOATS_OF_8_BITS, "btype": _FLOATS_OF_8_BITS}
_F8F6F4: dict[str, Any] = {"atype": _FLOATS_OF_4_TO_8_BITS, "btype": _FLOATS_OF_4_TO_8_BITS}
_S8: dict[str, Any] = {"dtype": "s32", "atype": "s8 u8", "btype": "s8 u8", "ctype": "s32"}
_S4: dict[str, Any] = {"dtype": "s32", "atype": "s4 u4", "btype": "s4 u4", "ctype": "s32"}
_B1: dict[str, Any] = {"dtype": "s32", "atype": "b1", "btype": "b1", "ctype": "s32"}
_E2M1: dict[str, Any] = {"dtype": "f32", "atype": "e2m1", "btype": "e2m1", "ctype": "f32"}
_HALF_OR_SINGLE: dict[str, Any] = {"dtype": "f16 f32", "ctype": "f16 f32"}
_ALIKE = ("dtype=f16 -> ctype=f16", "dtype=f32 -> ctype=f32")

# Formats narrower than 8 bits, and scaling, exist on sm_120 and its family.
_NARROW: dict[str, Any] = {"version": "8.7", "target": "sm_120f"}
_SPARSE_MXF4: dict[str, Any] = {"version": "8.7", "target": "sm_120a sm_121a"}
_ORDERED = {"sp::ordered_metadata": "8.5"}
_NARROW_TYPES = "e3m2 e2m3 e2m1"

FORMS = (
    _mma(f"mma.sync.aligned.shape.alayout.blayout.dtype.atype.btype.ctype {_D}", version="6.4", target="sm_70",
         shape="m8n8k4", alayout="row col", blayout="row col", rules=("ctype=f32 -> dtype=f32",), **_F16,
         **_HALF_OR_SINGLE),
    _mma(f"mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype {_D}", version="6.5", target="sm_75",
         shape="m16n8k8 m16n8k16", rules=_ALIKE, needs={"m16n8k16": "7.0 sm_80"}, **_F16, **_HALF_OR_SINGLE),
    _mma(f"mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype {_D}", version="7.0", target="sm_80",
         shape="m16n8k8 m16n8k16", **_BF16),
    _mma(f"mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype {_D}", version="7.0", target="sm_80",
         shape="m16n8k4 m16n8k8", **_TF32),
    _mma(f"mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype {_D}", version="8.4", target="sm_89",
         shape="m16n8k16 m16n8k32", rules=_ALIKE, needs={"m16n8k16 ctype=f16": "8.7"}, **_F8, **_HALF_OR_SINGLE),
    _mma(f"mma.sync.aligned.shape.row.col.kind.dtype.atype.btype.ctype {_D}",
         version="8.6", target="sm_100f sm_101f sm_120f",
         shape="m16n8k16 m16n8k32", kind_="kind::f8f6f4",
         rules=(*_ALIKE, f"{_NARROW_TYPES} -> m16n8k32", "manual: m16n8k16 -> never"),
         needs={_NARROW_TYPES: "8.7 sm_120f", "m16n8k16 ctype=f16": "8.7"},
         manual={"": "8.7 sm_120a / 8.8 sm_120f"}, **_F8F6F4, **_HALF_OR_SINGLE),
    _mma(f"mma.sync.aligned.shape.row.col{{.kind}}.dtype.atype.btype.ctype {_D}", only="ptxas", version="8.7",
         run=None, kind="effect", whole=None,
         target="sm_89", layout=_fragments_but_b, shape="m16n8k16", kind_="kind::f8f6f4", rules=_ALIKE,
         needs={"kind::f8f6f4": "sm_100f sm_101f sm_120f"}, **_F8, **_HALF_OR_SINGLE),
    _mma(f"mma.sync.aligned.shape.row.col{{.rnd}}.dtype.atype.btype.ctype {_D}", version="7.0", target="sm_80",
         shape="m8n8k4 m16n8k4 m16n8k8 m16n8k16", rnd="rn rz rm rp", needs={"m16n8k4 m16n8k8 m16n8k16": "7.8 sm_90"},
         **_F64),
    _mma(f"mma.sync.aligned.shape.row.col{{.satfinite}}.dtype.atype.btype.ctype {_D}", version="6.5", target="sm_75",
         shape="m8n8k16 m16n8k16 m16n8k32", needs={"m16n8k16 m16n8k32": "7.0 sm_80"}, **_S8),
    _mma(f"mma.sync.aligned.shape.row.col{{.satfinite}}.dtype.atype.btype.ctype {_D}", version="6.5", target="sm_75",
         shape="m8n8k32 m16n8k32 m16n8k64", needs={"m16n8k32 m16n8k64": "7.0 sm_80"}, **_S4),
    _mma(f"mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype.op.popc {_D}", version="7.0", target="sm_75",
         shape="m8n8k128 m16n8k128 m16n8k256", op="xor and",
         needs={"m16n8k128 m16n8k256": "7.0 sm_80", "and": "7.1 sm_80"}, **_B1),
    # Block scaling.
    _mma(f"mma.sync.aligned.shape.row.col.kind.block_scale{{.scale_vec_size}}.dtype.atype.btype.ctype.stype "
         f"{_D}, {_scales(1)}", shape="m16n8k32", kind_="kind::mxf8f6f4", scale_vec_size="scale_vec::1X",
         stype="ue8m0", dtype="f32", ctype="f32", **_F8F6F4, **_NARROW),
    _mma(f"mma.sync.aligned.shape.row.col.kind.block_scale{{.scale_vec_size}}.dtype.atype.btype.ctype.stype "
         f"{_D}, {_scales(2)}", shape="m16n8k64", kind_="kind::mxf4", scale_vec_size="scale_vec::2X",
         stype="ue8m0", **_E2M1, **_NARROW),
    _mma(f"mma.sync.aligned.shape.row.col.kind.block_scale.scale_vec_size.dtype.atype.btype.ctype.stype "
         f"{_D}, {_scales(2)}", shape="m16n8k64", kind_="kind::mxf4nvf4", scale_vec_size="scale_vec::2X",
         stype="ue8m0", **_E2M1, **_NARROW),
    _mma(f"mma.sync.aligned.shape.row.col.kind.block_scale.scale_vec_size.dtype.atype.btype.ctype.stype "
         f"{_D}, {_scales(4)}", shape="m16n8k64", kind_="kind::mxf4nvf4", scale_vec_size="scale_vec::4X",
         stype="ue4m3", **_E2M1, **_NARROW),
    # Sparse matrix A.
    _sparse(f"mma.spvariant.sync.aligned.shape.row.col.dtype.atype.btype.ctype {_D}, {_SPARSE}",
            spvariant=_SP, shape="m16n8k16 m16n8k32", rules=_ALIKE, needs=_ORDERED, **_F16, **_HALF_OR_SINGLE),
    _sparse(f"mma.spvariant.sync.aligned.shape.row.col.dtype.atype.btype.ctype {_D}, {_SPARSE}",
            spvariant=_SP, shape="m16n8k16 m16n8k32", needs=_ORDERED, **_BF16),
    _sparse(f"mma.spvariant.sync.aligned.shape.row.col.dtype.atype.btype.ctype {_D}, {_SPARSE}",
            spvariant=_SP, shape="m16n8k8 m16n8k16", needs=_ORDERED, **_TF32),
    _sparse(f"mma.spvariant.sync.aligned.shape.row.col.dtype.atype.btype.ctype {_D}, {_SPARSE}",
            version="8.4", target="sm_89", spvariant=_SP, shape="m16n8k64", dtype="f32", ctype="f32",
            needs=_ORDERED, **_F8),
    _sparse(f"mma.sp::ordered_metadata.sync.aligned.shape.row.col.dtype.atype.btype.ctype {_D}, {_SPARSE}",
            only="ptxas", shape="m16n8k64", dtype="f16", ctype="f16", **_F8, **_NARROW),
    _sparse(f"mma.sp::ordered_metadata.sync.aligned.shape.row.col.kind.dtype.atype.btype.ctype {_D}, {_SPARSE}",
            version="8.6", target="sm_100f sm_101f sm_120f", shape="m16n8k64", kind_="kind::f8f6f4", rules=_ALIKE,
            needs={f"{_NARROW_TYPES} ctype=f16": "8.7 sm_120f"}, manual={"": "8.7 sm_120a / 8.8 sm_120f"},
            **_F8F6F4, **_HALF_OR_SINGLE),
    _sparse(f"mma.spvariant.sync.aligned.shape.row.col{{.satfinite}}.dtype.atype.btype.ctype {_D}, {_SPARSE}",
            spvariant=_SP, shape="m16n8k32 m16n8k64", needs=_ORDERED, **_S8),
    _sparse(f"mma.spvariant.sync.aligned.shape.row.col{{.satfinite}}.dtype.atype.btype.ctype {_D}, {_SPARSE}",
            spvariant=_SP, shape="m16n8k64 m16n8k128", needs=_ORDERED, **_S4),
    # Sparse matrix A and block scaling.
    _sparse(f"mma.sp::ordered_metadata.sync.aligned.shape.row.col.kind.block_scale{{.scale_vec_size}}.dtype.atype.btype"
            f".ctype.stype {_D}, {_SPARSE}, {_scales(1)}", shape="m16n8k64", kind_="kind::mxf8f6f4",
            scale_vec_size="scale_vec::1X", stype="ue8m0", dtype="f32", ctype="f32", **_F8F6F4, **_NARROW),
    _sparse(f"mma.sp::ordered_metadata.sync.aligned.shape.row.col.kind.block_scale{{.scale_vec_size}}.dtype.atype.btype"
            f".ctype.stype {_D}, {_SPARSE}, {_scales(2)}", shape="m16n8k128", kind_="kind::mxf4",
            scale_vec_size="scale_vec::2X", stype="ue8m0", **_E2M1, **_SPARSE_MXF4),
    _sparse(f"mma.sp::ordered_metadata.sync.aligned.shape.row.col.kind.block_scale.scale_vec_size.dtype.atype.btype"
            f".ctype.stype {_D}, {_SPARSE}, {_scales(2)}", shape="m16n8k128", kind_="kind::mxf4nvf4",
            scale_vec_size="scale_vec::2X", stype="ue8m0", **_E2M1, **_SPARSE_MXF4),
    _sparse(f"mma.sp::ordered_metadata.sync.aligned.shape.row.col.kind.block_scale.scale_vec_size.dtype.atype.btype"
            f".ctype.stype {_D}, {_SPARSE}, {_scales(4)}", shape="m16n8k128", kind_="kind::mxf4nvf4",
            scale_vec_size="scale_vec::4X", stype="ue4m3", **_E2M1, **_SPARSE_MXF4),
)  # fmt: skip

DIFFERENCES = (
    Difference(
        "9.7.14.5.14",
        "B of `.m16n8k16` with `.e4m3` and `.e5m2` may be a vector of 1, 2, 4 or 8 registers.",
        "It is one register.",
    ),
    Difference(
        "9.7.14.5.14",
        "`.kind::f8f6f4` of `.e4m3` and `.e5m2` is known for the families of sm_100 and sm_101, too, from PTX "
        "ISA 8.6 on, and goes with `.m16n8k16`.",
        "`.kind` needs sm_120a or its family, and goes with `.m16n8k32`.",
    ),
    Difference(
        "9.7.14.5.14",
        "Products of doubles other than `.m8n8k4` are expressed by others from sm_100 on, and then D is in "
        "`.f64` or `.b64` registers. So it is for the checker, on every target.",
        "D is in `.f64` registers.",
        checked=False,
    ),
    Difference(
        "9.7.14.5.14",
        "Fragments of integers take other constants and special registers on targets where their product is "
        "expressed by others. The checker asks for the same everywhere.",
        "Fragments are vectors of `.b32` registers.",
        checked=False,
    ),
    Difference(
        "9.7.14.6.3",
        "`mma.sp::ordered_metadata` of `.e4m3` and `.e5m2` has `.f16` accumulators without `.kind`, too.",
        "Without `.kind` they are `.f32`.",
    ),
    Difference(
        "9.7.14.6.3",
        "The sparsity selector is at most as large as there are groups of threads that can hold the metadata; "
        "for `.m16n8k32` with `.f16` accumulators it is 0 or 1.",
        "It is a constant from 0 to 3.",
    ),
    Difference(
        "9.7.14.6.3",
        "Accumulators of `.f32` are in registers of any type of 32 bits with `.f16`, `.bf16` and `.tf32`.",
        "They are in `.f32` registers.",
    ),
    Difference(
        "9.7.14.6.3",
        "What may stand for the metadata, predicates and vectors among it, differs by target and type. The "
        "checker asks for the same on every target, and for `.e4m3` and `.e5m2` for an integer register.",
        "The metadata is in a `.b32` register.",
        checked=False,
    ),
    Difference(
        "9.7.14.5.14",
        "A type `.b1` may be written beside the four others, and means nothing. The checker refuses it.",
        "There are four types.",
        checked=False,
    ),
    Difference(
        "9.7.14.5.14",
        "`.kind::mxf8f6f4` may be written on `.m16n8k16` without scales. The checker refuses it.",
        "`.m16n8k16` has no `.kind`.",
        checked=False,
    ),
    Difference(
        "9.7.14.5.14",
        "A constant that selects scales and is out of range is refused.",
        "The behaviour is undefined.",
    ),
)

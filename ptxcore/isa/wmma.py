"""Matrix multiplication by a warp with fragments of unspecified layout: `wmma` (PTX ISA 9.0, section 9.7.14.4)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use, Whole
from ptxcore.isa.fragments import elements, registers
from ptxcore.isa.products import arrays, multiply, opens
from ptxcore.isa.wmma_moves import LOAD, STORE, of_wmma, rows

_CUBES = "m16n16k16 m8n32k16 m32n8k16"
_LAYOUT = "row col"
_SPACE = "global shared shared::cta"
_P = "[p:narrow], stride:u32?"

#: The type of a register that holds elements of a type: what may stand in a fragment's vector.
_HELD = {
    "f16": "f16x2", "bf16": "bf16x2", "tf32": "tf32", "s8": "u32", "u8": "u32", "s4": "b32", "u4": "b32", "b1": "b32",
    "f32": "f32", "s32": "u32", "f64": "f64",
}  # fmt: skip

#: Where the form alone does not say what a shape, type or space asks for.
_NEEDS = {
    "m8n32k16 m32n8k16": "6.1",
    "s8 u8 s32": "6.3 sm_72",
    "bf16 tf32 f64 m16n16k8 m8n8k4": "7.0 sm_80",
    "m8n8k32 m8n8k128": "6.3 sm_75",
    "shared::cta": "7.8",
}


def _fragment(matrix: str, shape: str, element: str) -> str:
    """The vector that holds a thread's part of a matrix. Elements of .f16 are held twice."""
    doubled = matrix in "ab" and element == "f16"
    count = 8 if doubled else registers(elements(matrix, shape), element)
    return f"{_HELD[element]} x{count}"


def _loaded(how: Use) -> Mapping[str, str]:
    return {"d": "registers " + _fragment(how.words["part"] or _part(how), how.words["shape"], how.type)}


def _part(how: Use) -> str:
    return next(part for part in "abc" if how.has(part))


def _stored(how: Use) -> Mapping[str, str]:
    return {"r": "registers " + _fragment("d", how.words["shape"], how.type)}


#: What may stand for multiplicands of integers, where it is less than for those that are loaded.
_MULTIPLIED = {"s8": "inferred u32", "u8": "inferred u32", "s4": "u32", "u4": "u32", "b1": "inferred registers u32"}


def _multiplied(how: Use) -> Mapping[str, str]:
    words, shape = how.words, how.words["shape"]
    found = {}
    for matrix in "abcd":
        element = words[f"{matrix}type"] or "f16"
        found[matrix] = _fragment(matrix, shape, element)
        if matrix in "ab" and element in _MULTIPLIED:
            found[matrix] = f"{_MULTIPLIED[element]} x{registers(elements(matrix, shape), element)}"
        elif element == "f64" and not found[matrix].endswith(" x1"):
            found[matrix] = f"bits {found[matrix]}"
        elif matrix == "b" and element == "tf32":
            found[matrix] = f"reg {found[matrix]}"
    return found


_wmma = partial(Form, kind="warp", version="6.3", target="sm_70", repeats="sync satfinite", needs=_NEEDS)
_moved = partial(_wmma, run=rows, whole=LOAD, space=_SPACE)
_load = partial(_moved, section="9.7.14.4.3", layout=_loaded, first="load part")
_load_a = partial(_moved, section="9.7.14.4.3", layout=_loaded, first="load a")
_load_b = partial(_moved, section="9.7.14.4.3", layout=_loaded, first="load b")
_load_c = partial(_moved, section="9.7.14.4.3", layout=_loaded, first="load c")
_store = partial(_moved, whole=STORE, section="9.7.14.4.4", layout=_stored, first="store d")
_PRODUCT = Whole(arrays=arrays(of_wmma), opens=opens(of_wmma))
_mma = partial(
    _wmma, run=multiply(of_wmma), whole=_PRODUCT, section="9.7.14.4.5", layout=_multiplied, first="mma",
)  # fmt: skip
_early: dict[str, Any] = {"version": "6.0", "until": "6.3"}  # .aligned is written since PTX 6.3 only

# What goes with which shape where an accumulator is loaded or stored.
_ACCUMULATORS: dict[str, Any] = {
    "layout_": _LAYOUT,
    "shape": f"{_CUBES} m16n16k8 m8n8k4 m8n8k32 m8n8k128",
    "type": "f16 f32 s32 f64",
    "rules": (
        "m8n8k4 -> f64",
        "f64 -> m8n8k4",
        "m16n16k8 -> f32",
        "m8n8k32 m8n8k128 -> s32 f32",
        "manual: m8n8k32 m8n8k128 -> s32",
    ),
}
_EARLY_ACCUMULATORS: dict[str, Any] = {"layout_": _LAYOUT, "shape": _CUBES, "type": "f16 f32", **_early}

# Both multiplicands have one type.
_SAME = tuple(f"atype={t} -> btype={t}" for t in ("s8", "u8", "s4", "u4"))
_LAYOUTS: dict[str, Any] = {"alayout": _LAYOUT, "blayout": _LAYOUT}
_HALVES: dict[str, Any] = {**_LAYOUTS, "shape": _CUBES, "dtype": "f16 f32", "ctype": "f16 f32"}
_INTEGERS: dict[str, Any] = {"dtype": "s32", "ctype": "s32", "rules": _SAME}

FORMS = (
    _load(f"wmma.load.part.sync.aligned.layout.shape{{.space}}.type d:x?, {_P}",
          part="a b", layout_=_LAYOUT, shape=_CUBES, type="f16 s8 u8 bf16"),
    _load(f"wmma.load.part.sync.layout.shape{{.space}}.type d:x?, {_P}",
          part="a b", layout_=_LAYOUT, shape=_CUBES, type="f16", **_early),
    _load(f"wmma.load.part.sync.aligned.layout.shape{{.space}}.type d:x?, {_P}",
          part="a b", layout_=_LAYOUT, shape="m16n16k8", type="tf32"),
    _load(f"wmma.load.part.sync.aligned.layout.shape{{.space}}.type d:x?, {_P}",
          part="a b", layout_=_LAYOUT, shape="m8n8k4", type="f64"),
    _load_a(f"wmma.load.a.sync.aligned.row.shape{{.space}}.type d:x?, {_P}", shape="m8n8k32", type="s4 u4"),
    _load_b(f"wmma.load.b.sync.aligned.col.shape{{.space}}.type d:x?, {_P}", shape="m8n8k32", type="s4 u4"),
    _load_a(f"wmma.load.a.sync.aligned.row.shape{{.space}}.type d:x?, {_P}", shape="m8n8k128", type="b1"),
    _load_b(f"wmma.load.b.sync.aligned.col.shape{{.space}}.type d:x?, {_P}", shape="m8n8k128", type="b1"),
    _load_c(f"wmma.load.c.sync.aligned.layout.shape{{.space}}.type d:x?, {_P}", **_ACCUMULATORS),
    _load_c(f"wmma.load.c.sync.layout.shape{{.space}}.type d:x?, {_P}", **_EARLY_ACCUMULATORS),
    _store("wmma.store.d.sync.aligned.layout.shape{.space}.type [p:narrow], r:x?, stride:u32?", **_ACCUMULATORS),
    _store("wmma.store.d.sync.layout.shape{.space}.type [p:narrow], r:x?, stride:u32?", **_EARLY_ACCUMULATORS),
    _mma("wmma.mma.sync.aligned.alayout.blayout.shape.dtype.ctype d:x?, a:x?, b:x?, c:x?", **_HALVES),
    _mma("wmma.mma.sync.aligned.alayout.blayout.shape.dtype.ctype.satfinite d:x?, a:x?, b:x?, c:x?", until="6.5",
         **_HALVES),
    _mma("wmma.mma.sync.alayout.blayout.shape.dtype.ctype{.satfinite} d:x?, a:x?, b:x?, c:x?", **_HALVES, **_early),
    _mma("wmma.mma.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype{.satfinite} d:x?, a:x?, b:x?, c:x?",
         shape=_CUBES, atype="s8 u8", btype="s8 u8", **_LAYOUTS, **_INTEGERS),
    _mma("wmma.mma.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype d:x?, a:x?, b:x?, c:x?",
         shape=_CUBES, dtype="f32", atype="bf16", btype="bf16", ctype="f32", **_LAYOUTS),
    _mma("wmma.mma.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype d:x?, a:x?, b:x?, c:x?",
         shape="m16n16k8", dtype="f32", atype="tf32", btype="tf32", ctype="f32", **_LAYOUTS),
    _mma("wmma.mma.sync.aligned.alayout.blayout.shape{.rnd}.dtype.atype.btype.ctype d:x?, a:x?, b:x?, c:x?",
         shape="m8n8k4 m16n16k8 m16n16k16", rnd="rn rz rm rp", dtype="f64", atype="f64", btype="f64", ctype="f64",
         rules=("manual: f64 -> m8n8k4",), **_LAYOUTS),
    _mma("wmma.mma.sync.aligned.row.col.shape.dtype.atype.btype.ctype{.satfinite} d:x?, a:x?, b:x?, c:x?",
         ordered="row col", shape="m8n8k32", atype="s4 u4", btype="s4 u4", **_INTEGERS),
    _mma("wmma.mma.op.popc.sync.aligned.row.col.shape.dtype.atype.btype.ctype d:x?, a:x?, b:x?, c:x?",
         shape="m8n8k128", op="xor and", atype="b1", btype="b1", dtype="s32", ctype="s32", ordered="op popc row col",
         needs={**_NEEDS, "and": "7.1 sm_80"}),
)  # fmt: skip

DIFFERENCES = (
    Difference(
        "9.7.14.4.5",
        "`wmma.mma` of `.f64` has the shapes `.m16n16k8` and `.m16n16k16`, too, whose fragments cannot be "
        "loaded or stored.",
        "It has the shape `.m8n8k4` alone.",
    ),
    Difference(
        "9.7.14.4.5",
        "Fragments of `.f64` that have several registers may consist of integer registers.",
        "The registers are of `.f64`.",
    ),
    Difference(
        "9.7.14.4.3",
        "Accumulators of `.m8n8k32` and `.m8n8k128` can be loaded and stored as `.f32`, which no `wmma.mma` "
        "makes or takes.",
        "They are `.s32`.",
    ),
)

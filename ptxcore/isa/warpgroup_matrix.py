"""Asynchronous matrix multiplication by a warpgroup: `wgmma` (PTX ISA 9.0, section 9.7.15)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.isa.fragments import elements, registers

if TYPE_CHECKING:
    from ptxcore.isa.thread import Thread
    from ptxcore.values.terms import Value

_THREADS = 128


def mma_async(how: Use, thread: Thread, *sources: Any) -> tuple[Value, ...]:
    """D = A B + D, or A B where `scale_d` is false, of the four warps of a warpgroup, at any later time, or when a thread waits
    for its group. A and B in shared memory are read through the async proxy. Integers are exact, and wrap around or are
    limited; floating-point sums are rounded once where the order of additions would decide"""
    return thread.multiply(how, sources)


def fence(how: Use, thread: Thread) -> None:
    """Products behind it come after the accesses to registers before it."""
    thread.products_of_warpgroup(how, "fence")


def commit_group(how: Use, thread: Thread) -> None:
    """The products so far that are in no group become one."""
    thread.products_of_warpgroup(how, "commit_group")


def wait_group(how: Use, thread: Thread, n: Value) -> None:
    """Waits until all groups of products but the last n are complete."""
    thread.products_of_warpgroup(how, "wait_group", n)


#: The type of a register that holds elements of a type.
_HELD = {
    "f32": "f32", "s32": "u32", "f16": "f16x2", "bf16": "f16x2", "tf32": "f16x2", "e4m3": "f16x2", "e5m2": "f16x2",
    "s8": "inferred b32", "u8": "inferred b32", "b1": "inferred b32",
}  # fmt: skip


def _shapes(k: int, columns: Iterable[int] = range(8, 257, 8)) -> str:
    return " ".join(f"m64n{n}k{k}" for n in columns)


# Integer matrices leave out every second width beyond 32.
_INTEGER_COLUMNS = (8, 16, 24, *range(32, 257, 16))


def _fragments(how: Use) -> Mapping[str, str]:
    words, shape = how.words, how.words["shape"]
    count_of_a = elements("a", shape) // (2 if how.has("sp") else 1)
    return {
        "d": _vector(elements("d", shape), words["dtype"]),
        "a": _vector(count_of_a, words["atype"]),
        "sp_sel": "0..0" if shape.endswith("k64") else "0..1",
    }


def _vector(count: int, element: str) -> str:
    return f"{_HELD[element]} x{registers(count, element, threads=_THREADS)}"


_OPCODE = "wgmma.mma_async.sync{.aligned}.shape"
_SPARSE_OPCODE = "wgmma.mma_async.sp.sync{.aligned}.shape"
_TYPES = ".dtype.atype.btype"
# A in shared memory, or in registers.
_A = ("a_desc:u64", "a:x?")
_SCALE = "{!}scale_d:pred 0..1"
_SIGNS = f"{_SCALE}, imm_scale_a:s32 imm -1..1 nonzero, imm_scale_b:s32 imm -1..1 nonzero"
_META = "sp_meta:b32 untyped braced, sp_sel:u32 imm"

_ALIGNED = "manual: !aligned -> never # '.aligned' is needed"
_wgmma = partial(Form, kind="effect", version="8.0", target="sm_90a", repeats="sync satfinite", rules=(_ALIGNED,))
_product = partial(_wgmma, run=mma_async, updates=True, first="mma_async", layout=_fragments)
_dense = partial(_product, section="9.7.15.5.2")
_sparse = partial(_product, section="9.7.15.6.3", version="8.2")

_F16: dict[str, Any] = {"dtype": "f16 f32", "atype": "f16", "btype": "f16"}
_BF16: dict[str, Any] = {"dtype": "f32", "atype": "bf16", "btype": "bf16"}
_TF32: dict[str, Any] = {"dtype": "f32", "atype": "tf32", "btype": "tf32"}
_F8: dict[str, Any] = {"dtype": "f16 f32", "atype": "e4m3 e5m2", "btype": "e4m3 e5m2"}
_S8: dict[str, Any] = {
    "dtype": "s32", "atype": "s8 u8", "btype": "s8 u8", "needs": {"atype=s8+btype=u8 atype=u8+btype=s8": "8.4"},
}  # fmt: skip
_B1: dict[str, Any] = {"dtype": "s32", "atype": "b1", "btype": "b1"}


def _transposed(a: str) -> str:
    """Only matrices in shared memory can be transposed."""
    both = "imm_trans_a:u32 imm 0..1, imm_trans_b:u32 imm 0..1"
    return both if a == _A[0] else "imm_trans_b:u32 imm 0..1"


def _of(a: str) -> tuple[Form, ...]:
    """The forms with A in one place."""
    dense, sparse = f"d:x? kept, {a}, b_desc:u64", f"d:x? kept, {a}, b_desc:u64, {_META}"
    return (
        _dense(f"{_OPCODE}{_TYPES} {dense}, {_SIGNS}, {_transposed(a)}", shape=_shapes(16), **_F16),
        _dense(f"{_OPCODE}{_TYPES} {dense}, {_SIGNS}, {_transposed(a)}", shape=_shapes(16), **_BF16),
        _dense(f"{_OPCODE}{_TYPES} {dense}, {_SIGNS}", shape=_shapes(8), **_TF32),
        _dense(f"{_OPCODE}{_TYPES} {dense}, {_SIGNS}", shape=_shapes(32), **_F8),
        _dense(f"{_OPCODE}{{.satfinite}}{_TYPES} {dense}, {_SCALE}", shape=_shapes(32, _INTEGER_COLUMNS), **_S8),
        _dense(f"{_OPCODE}{_TYPES}.op.popc {dense}, {_SCALE}", shape=_shapes(256, _INTEGER_COLUMNS), op="and",
               ordered="op popc", **_B1),
        _sparse(f"{_SPARSE_OPCODE}{_TYPES} {sparse}, {_SIGNS}, {_transposed(a)}", shape=_shapes(32), **_F16),
        _sparse(f"{_SPARSE_OPCODE}{_TYPES} {sparse}, {_SIGNS}, {_transposed(a)}", shape=_shapes(32), **_BF16),
        _sparse(f"{_SPARSE_OPCODE}{_TYPES} {sparse}, {_SIGNS}", shape=_shapes(16), **_TF32),
        _sparse(f"{_SPARSE_OPCODE}{_TYPES} {sparse}, {_SIGNS}", shape=_shapes(64), **_F8),
        _sparse(f"{_SPARSE_OPCODE}{{.satfinite}}{_TYPES} {sparse}, {_SCALE}", shape=_shapes(64, _INTEGER_COLUMNS),
                **_S8),
    )  # fmt: skip


FORMS = (
    *_of(_A[0]),
    *_of(_A[1]),
    _wgmma("wgmma.fence.sync{.aligned}", fence, section="9.7.15.7.1", first="fence"),
    _wgmma("wgmma.commit_group.sync{.aligned}", commit_group, section="9.7.15.7.2", first="commit_group"),
    _wgmma("wgmma.wait_group.sync{.aligned} n:u32 imm 0..9223372036854775807", wait_group, section="9.7.15.7.3",
           first="wait_group"),
)  # fmt: skip

DIFFERENCES = (
    Difference(
        "9.7.15",
        "`.aligned` may be left out of every `wgmma` instruction.",
        "It is mandatory.",
    ),
    Difference(
        "9.7.15.6.3",
        "The sparsity selector is 0 or 1, and 0 with the shapes `.m64nNk64`.",
        "It is a constant from 0 to 3.",
    ),
)

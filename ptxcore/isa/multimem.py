"""Operations on multimem addresses, behind which one location of several GPUs stands (PTX ISA 9.0, section 9.7.9.14)."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use

#: Where the 8-bit floating-point formats are.
_SMALL_GATE = "8.6 sm_100a sm_101a sm_120a sm_121a / 8.8 sm_100f sm_101f"
_SMALL = "e5m2 e5m2x2 e5m2x4 e4m3 e4m3x2 e4m3x4"
_HALF = "f16 f16x2 bf16 bf16x2"
_FORMATS = {_SMALL: _SMALL_GATE}
_GATES = {"acc::f32": "8.2", "acc::f16": _SMALL_GATE, **_FORMATS}

#: Values of 32, 64 or 128 bits.
_VECTORS = (
    "!vec -> f16x2 bf16x2 f32 f64 e5m2x4 e4m3x4",
    "v2 -> f16 f16x2 bf16 bf16x2 f32 e5m2x2 e5m2x4 e4m3x2 e4m3x4",
    "v4 -> f16 f16x2 bf16 bf16x2 f32 e5m2 e5m2x2 e5m2x4 e4m3 e4m3x2 e4m3x4",
    "v8 -> f16 bf16 e5m2 e4m3 e5m2x2 e4m3x2",
)
_ORDER = ("relaxed acquire release -> scope", "scope -> relaxed acquire release")
_SUMS = ("f32 f64 -> add",)
_PRECISION = (
    "acc::f32 -> add+f16 add+f16x2 add+bf16 add+bf16x2",
    "acc::f16 -> add+e5m2 add+e5m2x2 add+e5m2x4 add+e4m3 add+e4m3x2 add+e4m3x4",
)
_UNASKED = ("manual: acc -> never",)  # ptxas reads an accumulation where nothing is accumulated

#: Registers that hold a format where any of their size do.
_CARRIERS = {
    "f16": "b16", "bf16": "b16", "bf16x2": "b32", "e5m2": "b8", "e4m3": "b8", "e5m2x2": "b16", "e4m3x2": "b16",
    "e5m2x4": "b32", "e4m3x4": "b32",
}  # fmt: skip


def _loaded(how: Use) -> dict[str, str]:
    return {"d": _CARRIERS[how.type]} if how.type in _CARRIERS else {}


def _stored(how: Use) -> dict[str, str]:
    return {"b": _CARRIERS[how.type]} if how.type in _CARRIERS else {}


def _reduced(how: Use) -> dict[str, str]:
    return {"b": "b16"} if how.type == "f16" else {}


_form = partial(Form, section="9.7.9.14", version="8.1", target="sm_90", scope="cta cluster gpu sys", space="global")
_ACC = "acc::f32 acc::f16"
_INTEGERS = "b32 b64 u32 u64 s32 s64"
_BY_OPERATION = ("add -> u32 u64 s32", "min max -> u32 u64 s32 s64", "and or xor -> b32 b64")
_OPERATIONS = "min max add and or xor"
_VEC = "v2 v4 v8"

FORMS: tuple[Form, ...] = (
    _form(
        "multimem.ld_reduce{.sem}{.scope}{.space}.op.type d, [a]", first="ld_reduce", rules=(*_ORDER, *_BY_OPERATION),
        sem="weak relaxed acquire", op=_OPERATIONS, type=_INTEGERS,
    ),
    _form(
        "multimem.ld_reduce{.sem}{.scope}{.space}.op{.acc}{.vec}.type d:vec, [a]", first="ld_reduce",
        rules=(*_ORDER, *_SUMS, *_VECTORS, *_PRECISION), layout=_loaded, needs=_GATES, sem="weak relaxed acquire",
        op="min max add",
        acc=_ACC, vec=_VEC, type=f"{_HALF} f32 f64 {_SMALL}",
    ),
    _form(
        "multimem.st{.sem}{.scope}{.space}{.acc}.type [a], b", first="st", rules=(*_ORDER, *_UNASKED),
        sem="weak relaxed release", acc=_ACC, type=_INTEGERS,
    ),
    _form(
        "multimem.st{.sem}{.scope}{.space}{.acc}{.vec}.type [a], b:vec", first="st",
        rules=(*_ORDER, *_VECTORS, *_UNASKED), layout=_stored, needs=_FORMATS, sem="weak relaxed release",
        acc=_ACC, vec=_VEC,
        type=f"{_HALF} f32 f64 {_SMALL}",
    ),
    _form(
        "multimem.red{.sem}{.scope}{.space}.op{.acc}.type [a], b", first="red",
        rules=(*_ORDER, *_BY_OPERATION, *_UNASKED), sem="relaxed release", op=_OPERATIONS, acc=_ACC, type=_INTEGERS,
    ),
    _form(
        "multimem.red{.sem}{.scope}{.space}.op{.acc}{.vec}.type [a], b:vec", first="red",
        rules=(*_ORDER, *_SUMS, *_VECTORS, *_UNASKED, "ptxas: min max -> vec", "manual: min max -> never"), layout=_reduced,
        sem="relaxed release", op="min max add", acc=_ACC, vec=_VEC, type=f"{_HALF} f32 f64",
    ),
)  # fmt: skip

DIFFERENCES = (
    Difference(
        "9.7.9.14",
        "`multimem.red` takes `.min` and `.max` of vectors of half precision.",
        "On floating-point types it has `.add` alone.",
    ),
    Difference(
        "9.7.9.14",
        "`multimem.st` and `multimem.red` take an accumulation precision.",
        "`multimem.ld_reduce` has it.",
    ),
    Difference(
        "9.7.9.14",
        "A scope needs a semantics and a semantics a scope.",
        "Each may be left out.",
    ),
)

"""Operations on multimem addresses, behind which one location of several GPUs stands (PTX ISA 9.0, section 9.7.9.14)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from itertools import permutations
from typing import TYPE_CHECKING, Any

from ptxcore.isa.atomics import FLOAT_OPERATIONS, combined
from ptxcore.isa.difference import Difference
from ptxcore.isa.effect_kinds import RED
from ptxcore.isa.form import Form, Use
from ptxcore.values.floats import fabs, fadd, fcompare, fconvert
from ptxcore.values.ieee import FORMATS
from ptxcore.values.packed import join, split
from ptxcore.values.terms import Value, all_of, conj, eq

if TYPE_CHECKING:
    from ptxcore.isa.thread import Thread

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


#: The precision in which sums are accumulated, where an instruction asks for another one than that of its type.
_PRECISIONS = {"acc::f32": "f32", "acc::f16": "f16"}
#: Of so many floating-point numbers all orders of addition are compared; sums of more are left open.
_MOST_COMPARED = 4

_Sum = Callable[[Value, Value], Value]


def _elements(how: Use) -> Use:
    """The use in which each number is an element of a vector, also those of packed types (section 8.2.5)."""
    kind, _, packed = how.type.partition("x")
    if kind == how.type:
        return how
    count = int(packed) * int((how.words["vec"] or "v1")[1:])
    return how.with_operands({"vec": f"v{count}"}).typed(kind)


def _unpacked(how: Use, value: Any) -> Any:
    """A value as `_elements` has it."""
    kind, _, packed = how.type.partition("x")
    if kind == how.type:
        return value
    parts = value if isinstance(value, tuple) else (value,)
    return tuple(x for part in parts for x in split(part, how.width // int(packed), int(packed)))


def _packed(how: Use, values: Sequence[Value]) -> Any:
    """Numbers as the destination has them: the inverse of `_unpacked`."""
    packed = int(how.type.partition("x")[2] or 1)
    parts = [join(values[i : i + packed], how.width // packed) for i in range(0, len(values), packed)]
    return tuple(parts) if how.words["vec"] else parts[0]


def _orders(values: Sequence[Value], plus: _Sum) -> Iterator[Value]:
    """What a sum is, in each order of its additions."""
    numbers = range(len(values))
    for order in permutations(numbers):
        if order[0] < order[1]:
            yield reduce(plus, [values[i] for i in order])
    if len(values) == _MOST_COMPARED:
        for i in numbers[1:]:
            b, c = (values[j] for j in numbers[1:] if j != i)
            yield plus(plus(values[0], values[i]), plus(b, c))


def _added(how: Use, thread: Thread, values: Sequence[Value]) -> Value:
    """The sum of floating-point numbers. In which order they are added the manual leaves open, and for formats of 8 bits what
    a sum is that is too large."""
    kind = how.type
    precision = _PRECISIONS.get(how.words["acc"], kind)
    inner = [fconvert(kind, precision, x) if precision != kind else x for x in values]
    plus = partial(fadd, precision)
    total = reduce(plus, inner)
    exact: Value = 1
    if len(values) > _MOST_COMPARED:
        exact = 0
    elif len(values) > 2:
        exact = all_of(tuple(eq(total, other) for other in _orders(inner, plus)))
    result = fconvert(precision, kind, total) if precision != kind else total
    if FORMATS[kind].width == 8:
        largest = FORMATS[kind].infinity - 1 if kind == "e5m2" else 0x7E
        exact = conj(exact, fcompare(kind, "le", fabs(kind, result), largest))
    return thread.approximated(how, result, exact, FORMATS[kind].width)


def _reduced_to_one(how: Use, thread: Thread, values: Sequence[Value]) -> Value:
    if how.type not in FORMATS:
        return reduce(partial(combined, how), values)
    if how.op == "add":
        return _added(how, thread, values)
    return reduce(partial(FLOAT_OPERATIONS[how.op], how.type), values)


def ld_reduce(how: Use, thread: Thread, a: Value) -> Any:
    """d = what the operation makes of all the locations that [a] is; of a vector or packed type, of each number by itself"""
    one = _elements(how)
    found = [thread.load(one, place) for place in thread.replicas(one, a)]
    if not one.words["vec"]:
        return _reduced_to_one(one, thread, found)
    return _packed(how, [_reduced_to_one(one, thread, values) for values in zip(*found, strict=True)])


def st(how: Use, thread: Thread, a: Value, b: Any) -> None:
    """Each of the locations that [a] is = b"""
    one = _elements(how)
    for place in thread.replicas(one, a):
        thread.store(one, place, _unpacked(how, b))


def red(how: Use, thread: Thread, a: Value, b: Any) -> None:
    """Each of the locations that [a] is = operation(what it holds, b), each in one step; so each number of a vector or packed
    type, as `atom` has them"""

    def write(old: Any) -> tuple[Any, int]:
        if isinstance(old, tuple):
            return tuple(combined(how, x, y) for x, y in zip(old, b, strict=True)), 1
        return combined(how, old, b), 1

    for place in thread.replicas(how, a):
        thread.modify(RED, how, place, write)


_form = partial(
    Form, kind="effect", section="9.7.9.14", version="8.1", target="sm_90", scope="cta cluster gpu sys", space="global"
)
_ACC = "acc::f32 acc::f16"
_DEFAULTS = {"sem": "relaxed", "scope": "sys"}
_INTEGERS = "b32 b64 u32 u64 s32 s64"
_BY_OPERATION = ("add -> u32 u64 s32", "min max -> u32 u64 s32 s64", "and or xor -> b32 b64")
_OPERATIONS = "min max add and or xor"
_VEC = "v2 v4 v8"

FORMS: tuple[Form, ...] = (
    _form(
        "multimem.ld_reduce{.sem}{.scope}{.space}.op.type d, [a]", ld_reduce, first="ld_reduce",
        rules=(*_ORDER, *_BY_OPERATION), sem="weak relaxed acquire", op=_OPERATIONS, type=_INTEGERS,
    ),
    _form(
        "multimem.ld_reduce{.sem}{.scope}{.space}.op{.acc}{.vec}.type d:vec, [a]", ld_reduce, first="ld_reduce",
        rules=(*_ORDER, *_SUMS, *_VECTORS, *_PRECISION), layout=_loaded, needs=_GATES, sem="weak relaxed acquire",
        op="min max add",
        acc=_ACC, vec=_VEC, type=f"{_HALF} f32 f64 {_SMALL}",
    ),
    _form(
        "multimem.st{.sem}{.scope}{.space}{.acc}.type [a], b", st, first="st", rules=(*_ORDER, *_UNASKED),
        sem="weak relaxed release", acc=_ACC, type=_INTEGERS,
    ),
    _form(
        "multimem.st{.sem}{.scope}{.space}{.acc}{.vec}.type [a], b:vec", st, first="st",
        rules=(*_ORDER, *_VECTORS, *_UNASKED), layout=_stored, needs=_FORMATS, sem="weak relaxed release",
        acc=_ACC, vec=_VEC,
        type=f"{_HALF} f32 f64 {_SMALL}",
    ),
    _form(
        "multimem.red{.sem}{.scope}{.space}.op{.acc}.type [a], b", red, first="red", absent=_DEFAULTS,
        rules=(*_ORDER, *_BY_OPERATION, *_UNASKED), sem="relaxed release", op=_OPERATIONS, acc=_ACC, type=_INTEGERS,
    ),
    _form(
        "multimem.red{.sem}{.scope}{.space}.op{.acc}{.vec}.type [a], b:vec", red, first="red", absent=_DEFAULTS,
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

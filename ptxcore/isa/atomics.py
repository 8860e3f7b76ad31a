"""Atomic operations: `atom`, `red` and `red.async` (PTX ISA 9.0, sections 9.7.13.5 to 9.7.13.7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ptxcore.isa.difference import Difference
from ptxcore.isa.effect_kinds import ATOM, RED
from ptxcore.isa.form import Form, Use
from ptxcore.isa.integer import maximum, minimum
from ptxcore.isa.mbarrier import signal
from ptxcore.places import SCOPES
from ptxcore.values.floats import fadd, flush, fmax, fmin
from ptxcore.values.ieee import FORMATS
from ptxcore.values.packed import each
from ptxcore.values.terms import Value, bit_and, bit_or, bit_xor, disj, eq, ite, ult
from ptxcore.values.terms import add as plus
from ptxcore.values.terms import sub as less

if TYPE_CHECKING:
    from ptxcore.isa.thread import Thread

#: What an atomic operation writes: (how, old value, b) -> new value (section 9.7.13.5).
OPERATIONS: dict[str, Callable[[Use, Value, Value], Value]] = {
    "add": lambda how, old, b: plus(old, b, how.width),
    "sub": lambda how, old, b: less(old, b, how.width),
    "and": lambda how, old, b: bit_and(old, b, how.width),
    "or": lambda how, old, b: bit_or(old, b, how.width),
    "xor": lambda how, old, b: bit_xor(old, b, how.width),
    "exch": lambda how, old, b: b,
    "min": lambda how, old, b: minimum(how, old, b),
    "max": lambda how, old, b: maximum(how, old, b),
    # inc: (old >= b) ? 0 : old + 1;  dec: (old == 0 || old > b) ? b : old - 1
    "inc": lambda how, old, b: ite(ult(old, b, how.width), plus(old, 1, how.width), 0, how.width),
    "dec": lambda how, old, b: ite(
        disj(eq(old, 0), ult(b, old, how.width)), b, less(old, 1, how.width), how.width
    ),
}  # fmt: skip


#: The same for floating-point numbers: (format, old value, b) -> new value. Sums are rounded to nearest even. Of a NaN
#: and a number min and max give the number.
FLOAT_OPERATIONS: dict[str, Callable[[str, Value, Value], Value]] = {
    "add": fadd,
    "min": fmin,
    "max": fmax,
}


def _is_float(how: Use) -> bool:
    return how.type.partition("x")[0] in FORMATS


def combined(how: Use, old: Value, b: Value) -> Value:
    """operation(old, b), of each element of a packed type"""
    if not _is_float(how):
        return OPERATIONS[how.op](how, old, b)
    form, _, packed = how.type.partition("x")
    operation = partial(FLOAT_OPERATIONS[how.op], form)
    return each(operation, FORMATS[form].width, 2, old, b) if packed else operation(old, b)


def _updated(how: Use, thread: Thread, a: Value, old: Any, b: Any) -> Any:
    """What replaces the old value at the address a; of a vector, of each of its elements.

    In `.global` memory `atom.add.f32` flushes subnormal sources and results, in `.shared` it does not (section
    9.7.13.5)."""
    if isinstance(old, tuple):
        return tuple([_updated(how, thread, a, one, other) for one, other in zip(old, b, strict=True)])
    plain = combined(how, old, b)
    if how.type != "f32" or how.space.startswith("shared"):
        return plain
    flushed = flush("f32", combined(how, flush("f32", old), flush("f32", b)))
    return flushed if how.space == "global" else ite(thread.in_space(a, "shared::cluster"), plain, flushed, 32)


def atom(how: Use, thread: Thread, a: Value, b: Any, policy: Value | None = None) -> Any:
    """d = [a]; [a] = operation([a], b), in one step. A cache policy is a hint without effect on memory.

    The elements of a vector or packed type are atomic each for itself; here they are so together, as they may be."""
    return thread.modify(ATOM, how, a, lambda old: (_updated(how, thread, a, old, b), 1))


def cas(how: Use, thread: Thread, a: Value, b: Value, c: Value) -> Value:
    """d = [a]; [a] = ([a] == b) ? c : [a]. A comparison that fails writes nothing (section 8.2.3)."""
    return thread.modify(ATOM, how, a, lambda old: (c, eq(old, b)))


def red(how: Use, thread: Thread, a: Value, b: Any, policy: Value | None = None) -> None:
    """[a] = operation([a], b), in one step; see `atom`"""
    thread.modify(RED, how, a, lambda old: (_updated(how, thread, a, old, b), 1))


def red_async(how: Use, thread: Thread, a: Value, b: Value, mbar: Value | None = None) -> None:
    """[a] = operation([a], b), in one step and at any later time. With `.mbarrier::complete_tx::bytes` the barrier object
    [mbar] then learns that the bytes of b are complete."""

    def perform() -> None:
        red(how, thread, a, b)
        if mbar is not None and how.words["completion"]:
            signal(thread, mbar, how.width // 8)

    thread.defer(how, perform)


_SPACES = ("global", "shared", "shared::cta", "shared::cluster")

#: What single modifiers need in both instructions. Generic addresses came later than those of a space.
_NEEDS = {
    "!space": "2.0 sm_20",
    "shared shared::cta": "1.2 sm_12",
    "shared::cta": "7.8",
    "shared::cluster": "7.8 sm_90",
    "scope": "5.0 sm_60",
    "sem": "6.0 sm_70",
    "cluster": "7.8 sm_90",
    "hint": "7.4 sm_80",
}
_MANUAL_NEEDS = {"shared::cta": "7.8 sm_30"}

_SLOTS = "{.sem}{.scope}{.space}"
_POLICY = "cache-policy:u64 own if=hint"
_HINT_RULE = "hint -> global !space # '.L2::cache_hint' goes with .global and generic addresses only"

#: 64-bit operations by what brought them.
_WIDE = {"b64 u64": "1.2 sm_12", "b64+shared b64+shared::cta u64+shared u64+shared::cta": "2.0 sm_20"}
_WIDE_LATER = {"b64 u64 s64": "3.1 sm_32"}

#: Operations of integers and bits, their types and what these need: what `atom` and `red` share.
_INTEGER: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    ("and or xor", "b32 b64", _WIDE_LATER),
    ("add", "u32 s32 u64", _WIDE),
    ("inc dec", "u32", {}),
    ("min max", "u32 s32 u64 s64", _WIDE_LATER),
)

#: Additions of floating-point numbers. Packed and half numbers ask for `.noftz`.
_FLOAT: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    ("", "f32 f64", {"f32": "2.0 sm_20", "f64": "5.0 sm_60"}),
    (".noftz", "f16 f16x2 bf16 bf16x2", {"f16x2": "6.2 sm_60", "f16": "6.3 sm_70", "bf16 bf16x2": "7.8 sm_90"}),
)

#: Vectors: (operations, .noftz, lengths, types).
_VECTORS = (
    ("add", "", "v2 v4", "f32"),
    ("add min max", ".noftz", "v2 v4 v8", "f16 bf16"),
    ("add min max", ".noftz", "v2 v4", "f16x2 bf16x2"),
)

_atomic = partial(
    Form, kind="effect", target="sm_11", scope=SCOPES, space=_SPACES, absent={"sem": "relaxed", "scope": "gpu"}
)
# ptxas knows atom from the first version on; the manual from the one that brought sm_11.
_atom = partial(
    _atomic,
    section="9.7.13.5",
    version="1.0",
    manual={**_MANUAL_NEEDS, "": "1.1 sm_11"},
    sem="relaxed acquire release acq_rel",
)
_red = partial(_atomic, section="9.7.13.6", version="1.2", manual=_MANUAL_NEEDS, sem="relaxed release")


def _shared(name: str, form: Callable[..., Form], run: Callable[..., object] | None, d: str, a: str) -> list[Form]:
    """The forms that `atom` and `red` share; `d` is the destination with a comma, or nothing; `a` the address."""
    hinted = partial(form, hint="L2::cache_hint", rules=(_HINT_RULE,))
    vector = d.replace(":", ":vec ")
    return [
        *(
            hinted(f"{name}{_SLOTS}.op{{.hint}}.type {d}{a}, b, {_POLICY}", run, op=ops, type=types,
                   needs={**_NEEDS, **needs})
            for ops, types, needs in _INTEGER
        ),
        *(
            hinted(f"{name}{_SLOTS}.op{noftz}{{.hint}}.type {d}{a}, b, {_POLICY}", run, op="add", type=types,
                   needs={**_NEEDS, **needs})
            for noftz, types, needs in _FLOAT
        ),
        *(
            hinted(f"{name}{_SLOTS}.op{noftz}{{.hint}}.vec.type {vector}{a}, b:vec, {_POLICY}", run, op=ops,
                   vec=lengths, type=types, space="global", needs={**_NEEDS, "vec": "8.1 sm_90"})
            for ops, noftz, lengths, types in _VECTORS
        ),
    ]  # fmt: skip


_WIDEST = {**_NEEDS, "b128": "8.3 sm_90", "sys": "8.4"}
_exchange = partial(_atom, f"atom{_SLOTS}.op{{.hint}}.type d:sink, [a], b, {_POLICY}", op="exch", hint="L2::cache_hint",
                    rules=(_HINT_RULE,))  # fmt: skip
_compare = partial(_atom, f"atom{_SLOTS}.op.type d:sink, [a], b, c", op="cas")

_EXCHANGES = (
    _exchange(atom, type="b32 b64", needs={**_NEEDS, **_WIDE}),
    _compare(cas, type="b16 b32 b64", needs={**_NEEDS, **_WIDE, "b16": "6.3 sm_70"}),
    _exchange(atom, type="b128", needs=_WIDEST),
    _compare(cas, type="b128", needs=_WIDEST),
)

# ptxas takes a third operand of the instruction's type where no number can be meant for a cache policy.
_surplus = partial(_atom, f"atom{_SLOTS}.op.type d:sink, [a], b, c:reg", atom, only="ptxas")
_SURPLUS = (
    _surplus(op="and or xor exch", type="b32", needs=_NEEDS),
    _surplus(op="exch", type="b128", needs=_WIDEST),
)

#: Operations of red.async and their types.
_ASYNC = (("and or xor", "b32"), ("add", "u32 s32 u64 s64"), ("inc dec", "u32"), ("min max", "u32 s32"))

_async = partial(
    Form,
    run=red_async,
    kind="effect",
    section="9.7.13.7",
    version="8.1",
    target="sm_90",
    first="async",
    needs={"release global": "8.7 sm_100"},
    manual={"gpu sys": "8.7 sm_100"},
)
_completing = partial(_async, completion="mbarrier::complete_tx::bytes")

_RED_ASYNC = (
    *(
        _completing(f"red.async.sem.scope{{.space}}{{.completion}}{{.mmio}}.op.type [a:narrow], b{mbar}",
                    sem="relaxed release", scope="cluster gpu sys", space="shared::cluster global", op=ops,
                    type=types, only="ptxas",
                    rules=("cluster -> relaxed", "cluster -> completion", "cluster -> !global",
                           "gpu sys -> !completion", "gpu sys -> !shared::cluster", "mmio -> release", *more))
        for mbar, more in (("", ()), (", [mbar:narrow]", ("!space+!completion -> never",)))
        for ops, types in _ASYNC
    ),
    *(
        _completing("red.async.sem.scope{.space}.completion.op.type [a:narrow], b, [mbar:narrow]",
                    sem="relaxed", scope="cluster", space="shared::cluster", op=ops,
                    type=types.removesuffix(" s64"), only="manual")
        for ops, types in _ASYNC
    ),
    _async("red.async{.mmio}.sem.scope{.space}.op.type [a:narrow], b", sem="release", scope="gpu cluster sys",
           space="global", op="add", type="u32 s32 u64 s64", only="manual", rules=("mmio -> sys",)),
)  # fmt: skip

FORMS = (
    *_shared("atom", _atom, atom, "d:sink, ", "[a]"),
    *_EXCHANGES,
    *_SURPLUS,
    *_shared("red", _red, red, "", "[a]"),
    *_shared("red", partial(_red, only="ptxas"), None, "", "_:out dropped"),
    *_RED_ASYNC,
)

DIFFERENCES = (
    Difference(
        "9.7.13.5",
        "`atom` is taken from PTX ISA 1.0 on where the target has it.",
        "It came with PTX ISA 1.1.",
    ),
    Difference(
        "9.7.13.5",
        "The sub-qualifier `::cta` on `atom` and `red` needs PTX ISA 7.8 alone, on every target that has "
        "shared atomics.",
        "It needs sm_30, too.",
    ),
    Difference(
        "9.7.13.5",
        "`atom.{and,or,xor,exch}.b32` and `atom.exch.b128` take one operand more, which means nothing; the "
        "checker wants a register of that type.",
        "Only `atom.cas` has a third source; a fourth operand is a cache policy and needs `.L2::cache_hint`.",
    ),
    Difference(
        "9.7.13.5",
        "ptxas dies on additions of `.bf16` and `.bf16x2`, and on other operations on vectors of half "
        "precision, whose result is `_`. The checker takes them.",
        "The result may be dropped.",
        checked=False,
    ),
    Difference(
        "9.7.13.6",
        "`_` stands for the address of `red`.",
        "The address is an address.",
    ),
    Difference(
        "9.7.13.7",
        "`red.async` with `.release` takes every operation that it takes with `.relaxed`.",
        "Only `.add` goes with `.release`.",
    ),
    Difference(
        "9.7.13.7",
        "`red.async.relaxed` takes `.gpu` and `.sys`, too, for global and generic addresses and without a "
        "completion mechanism.",
        "The scope of `.relaxed` is `.cluster`.",
    ),
    Difference(
        "9.7.13.7",
        "`red.async.relaxed` with `.gpu` or `.sys` and a generic address is known from PTX ISA 8.1 and sm_90 on.",
        "These scopes came with PTX ISA 8.7 and sm_100.",
    ),
    Difference(
        "9.7.13.7",
        "`red.async.add` takes `.s64` with `.relaxed`, too.",
        "`.s64` goes with `.release`.",
    ),
    Difference(
        "9.7.13.7",
        "The barrier of `red.async` may be left out, and may be given where none is signalled.",
        "It is there exactly with `.mbarrier::complete_tx::bytes`.",
    ),
    Difference(
        "9.7.13.7",
        "`.mmio` goes with `.gpu`, too.",
        "`.mmio` goes with `.sys`.",
    ),
    Difference(
        "9.7.13.7",
        "`red.async.release` takes `.gpu` and `.sys`, not `.cluster`.",
        "The syntax lists `.gpu` and `.cluster`, the text `.gpu` and `.sys`; all three are taken.",
    ),
    Difference(
        "9.7.13.7",
        "`red.async` without `.mbarrier` is expanded while it is read, and for some targets the expansion "
        "takes neither names nor values of floating point. The checker takes them.",
        "Operands are as for other instructions.",
        checked=False,
    ),
)

"""Parallel synchronization and communication (PTX ISA 9.0, section 9.7.13)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ptxcore.isa.form import Form, Use
from ptxcore.isa.integer import maximum, minimum
from ptxcore.places import SCOPES
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


def atom(how: Use, thread: Thread, a: Value, b: Value) -> Value:
    """d = [a]; [a] = operation([a], b), in one step"""
    operation = OPERATIONS[how.op]
    return thread.modify("atom", how, a, lambda old: (operation(how, old, b), 1))


def cas(how: Use, thread: Thread, a: Value, b: Value, c: Value) -> Value:
    """d = [a]; [a] = ([a] == b) ? c : [a]. A comparison that fails writes nothing (section 8.2.3)."""
    return thread.modify("atom", how, a, lambda old: (c, eq(old, b)))


def red(how: Use, thread: Thread, a: Value, b: Value) -> None:
    """[a] = operation([a], b), in one step"""
    operation = OPERATIONS[how.op]
    thread.modify("red", how, a, lambda old: (operation(how, old, b), 1))


def fence(how: Use, thread: Thread) -> None:
    thread.effect("fence", how, semantics=how.sem, scope=_LEVELS.get(how.scope or "", how.scope))


def proxy_fence(how: Use, thread: Thread) -> None:
    names = (how.words["between"], how.words["of"])
    thread.effect("proxy_fence", how, proxy=".".join(filter(None, names)))


def bar_sync(how: Use, thread: Thread, a: Value, b: Value | None) -> None:
    """Arrives at barrier a, and waits for b threads, or all."""
    thread.barrier("sync", how, identity=a, count=b)


def bar_arrive(how: Use, thread: Thread, a: Value, b: Value) -> None:
    """Arrives at barrier a of b threads, without waiting."""
    thread.barrier("arrive", how, identity=a, count=b)


def bar_red(how: Use, thread: Thread, a: Value, b: Value | None, c: Value) -> Value:
    """As sync; d = how many (.popc), whether all (.and), whether any (.or) of the threads had c."""
    result = thread.barrier("red", how, identity=a, count=b, operator=how.op, operand=c)
    assert result is not None
    return result


#: `membar` names its levels otherwise than scopes.
_LEVELS = {"gl": "gpu"}

SHARED = ("shared", "shared::cta", "shared::cluster")

_SPACE = ("global", *SHARED)
_ABSENT = {"sem": "relaxed", "scope": "gpu"}
_CLUSTER = {"cluster": "7.8 sm_90"}

#: Which types each operation takes.
_OPERATION_TYPES = (
    ("and or xor", "b32 b64"),
    ("add", "u32 s32 u64"),
    ("inc dec", "u32"),
    ("min max", "u32 s32 u64 s64"),
)

_atomic = partial(Form, kind="effect", scope=SCOPES, space=_SPACE, absent=_ABSENT, needs=_CLUSTER)
_atom = partial(_atomic, section="9.7.13.5", version="1.1", target="sm_11", sem="relaxed acquire release acq_rel")
_red = partial(_atomic, section="9.7.13.6", version="1.2", target="sm_11", sem="relaxed release")

_ATOMICS = (
    *(
        _atom("atom{.sem}{.scope}{.space}.op.type d, [a], b", atom, op=ops, type=types)
        for ops, types in (*_OPERATION_TYPES, ("exch", "b32 b64"))
    ),
    _atom("atom{.sem}{.scope}{.space}.op.type d, [a], b, c", cas, op="cas", type="b16 b32 b64"),
    *(_red("red{.sem}{.scope}{.space}.op.type [a], b", red, op=ops, type=types) for ops, types in _OPERATION_TYPES),
)

_fence = partial(Form, kind="effect", section="9.7.13.4")
_FENCES = (
    _fence("fence{.sem}.scope", fence, version="6.0", target="sm_70", sem="sc acq_rel acquire release", scope=SCOPES,
           absent={"sem": "acq_rel"}, needs=_CLUSTER),
    _fence("membar.scope", fence, version="1.4", scope="cta gl sys", given={"sem": "sc"}),
    *(
        form
        for mnemonic in ("fence", "membar")
        for form in (
            _fence(f"{mnemonic}.proxy.between", proxy_fence, version="7.5", target="sm_70", between="alias"),
            _fence(f"{mnemonic}.proxy.between{{.of}}", proxy_fence, version="8.0", target="sm_90", between="async",
                   of="global shared::cta shared::cluster"),
        )
    ),
)  # fmt: skip


def _barriers(mnemonic: str, aligned: str, version: str, target: str) -> tuple[Form, ...]:
    bar = partial(Form, kind="effect", section="9.7.13.1", version=version, target=target)
    barrier, threads = "a:u32 barrier 0..15", "u32 threads *32"
    return (
        bar(f"{mnemonic}{{.cta}}.sync{aligned} {barrier}, b?:{threads}", bar_sync),
        bar(f"{mnemonic}{{.cta}}.arrive{aligned} {barrier}, b:{threads}", bar_arrive),
        bar(f"{mnemonic}{{.cta}}.red.op{aligned}.u32 d, {barrier}, b?:{threads}, {{!}}c", bar_red, op="popc"),
        bar(f"{mnemonic}{{.cta}}.red.op{aligned}.pred p, {barrier}, b?:{threads}, {{!}}c", bar_red, op="and or"),
    )


FORMS = (*_ATOMICS, *_FENCES, *_barriers("bar", "", "1.0", ""), *_barriers("barrier", "{.aligned}", "6.0", "sm_30"))

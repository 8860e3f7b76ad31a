"""Parallel synchronization and communication (PTX ISA 9.0, section 9.7.13)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ptxcore.isa.form import Form, Slot, Use
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
    names = (how.words["kind"], how.words.get("of", ""))
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

_SPACE = Slot("space", ("global", *SHARED))
_SCOPE = Slot("scope", SCOPES, default="gpu")
_ATOM = (Slot("sem", ("relaxed", "acquire", "release", "acq_rel"), default="relaxed"), _SCOPE, _SPACE)
_RED = (Slot("sem", ("relaxed", "release"), default="relaxed"), _SCOPE, _SPACE)

#: Which types each operation takes.
_OPERATION_TYPES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("and", "or", "xor"), ("b32", "b64")),
    (("add",), ("u32", "s32", "u64")),
    (("inc", "dec"), ("u32",)),
    (("min", "max"), ("u32", "s32", "u64", "s64")),
)
_EXCHANGE_TYPES = ("b32", "b64")
_CAS_TYPES = ("b16", "b32", "b64")


def _op(*words: str) -> Slot:
    return Slot("op", words, required=True)


_ATOMICS = (
    *(
        Form("atom", "d, [a], b", atom, (*_ATOM, _op(*ops)), (types,), "effect", "9.7.13.5", "1.1", "sm_11")
        for ops, types in (*_OPERATION_TYPES, (("exch",), _EXCHANGE_TYPES))
    ),
    Form("atom", "d, [a], b, c", cas, (*_ATOM, _op("cas")), (_CAS_TYPES,), "effect", "9.7.13.5", "1.1", "sm_11"),
    *(
        Form("red", "[a], b", red, (*_RED, _op(*ops)), (types,), "effect", "9.7.13.6", "1.2", "sm_11")
        for ops, types in _OPERATION_TYPES
    ),
)

_PROXY = Slot("proxy", ("proxy",), required=True)
_FENCES = (
    Form("fence", "", fence, (Slot("sem", ("sc", "acq_rel", "acquire", "release"), default="acq_rel"),
                              Slot("scope", SCOPES, required=True)), (), "effect", "9.7.13.4", "6.0", "sm_70"),
    Form("membar", "", fence, (Slot("scope", ("cta", "gl", "sys"), required=True),), (), "effect", "9.7.13.4", "1.4",
         "sm_10", {"sem": "sc"}),
    *(
        Form(mnemonic, "", proxy_fence, (_PROXY, *kind), (), "effect", "9.7.13.4", version, target)
        for mnemonic in ("fence", "membar")
        for kind, version, target in (
            ((Slot("kind", ("alias",), required=True),), "7.5", "sm_70"),
            ((Slot("kind", ("async",), required=True), Slot("of", ("global", "shared::cta", "shared::cluster"))), "8.0",
             "sm_90"),
        )
    ),
)  # fmt: skip


def _barriers(mnemonic: str, version: str, target: str) -> tuple[Form, ...]:
    common = (Slot("cta", ("cta",)), *((Slot("aligned", ("aligned",)),) if mnemonic == "barrier" else ()))

    def slots(word: str) -> tuple[Slot, ...]:
        return (*common, Slot("action", (word,), required=True))

    where = ("effect", "9.7.13.1", version, target)
    return (
        Form(mnemonic, "a:barrier, b?:count", bar_sync, slots("sync"), (), *where),
        Form(mnemonic, "a:barrier, b:count", bar_arrive, slots("arrive"), (), *where),
        Form(mnemonic, "d, a:barrier, b?:count, {!}c", bar_red, (*slots("red"), _op("popc")), (("u32",),), *where),
        Form(
            mnemonic, "p, a:barrier, b?:count, {!}c", bar_red, (*slots("red"), _op("and", "or")), (("pred",),), *where
        ),
    )


FORMS = (*_ATOMICS, *_FENCES, *_barriers("bar", "1.0", "sm_10"), *_barriers("barrier", "6.0", "sm_30"))

"""The short dialect of existing PTX litmus tests, declared as instruction forms of its own.

Operands are bare: a declared location is that location, anything else a register. Registers have 32 bits, start at 0
and may hold addresses. Accesses have the width of the location that they name. Barriers lead with the *instance*, a
number that names the same dynamic barrier in all threads, which PTX does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ptxcore.isa import atomics, control, data_movement, fences, integer
from ptxcore.isa.comparison import COMPARE
from ptxcore.isa.form import Form, Use
from ptxcore.isa.table import Dialect, by_mnemonic
from ptxcore.isa.thread import Thread
from ptxcore.places import SCOPES
from ptxcore.values.terms import Value, sdiv

_OPERATIONS = "add sub and or xor"


def _accesses(load: tuple[str, ...], store: str, atom: str, red: str, proxy: str) -> list[Form]:
    """The memory instructions of a proxy, by the names they have there."""
    access = partial(Form, kind="effect", given={"proxy": proxy})
    strong = partial(access, scope=SCOPES)
    atomic = partial(strong, sem="relaxed acquire release acq_rel")
    forms = []
    for name in load:
        forms += [
            access(f"{name}.sem d, [a]", data_movement.ld, sem="weak"),
            strong(f"{name}.sem.scope d, [a]", data_movement.ld, sem="relaxed acquire"),
        ]
    if store:
        forms += [
            access(f"{store}.sem [a], b", data_movement.st, sem="weak"),
            strong(f"{store}.sem.scope [a], b", data_movement.st, sem="relaxed release"),
        ]
    if atom:
        forms += [
            atomic(f"{atom}.sem.scope.op d, [a], b", atomics.atom, op=f"{_OPERATIONS} exch"),
            atomic(f"{atom}.sem.scope.op d, [a], b, c", atomics.cas, op="cas"),
        ]
    if red:
        forms.append(atomic(f"{red}.sem.scope.op [a], b", atomics.red, op=_OPERATIONS))
    return forms


def _sync(how: Use, thread: Thread, i: int, a: Value | None, b: Value | None) -> None:
    thread.barrier("sync", how, instance=i, identity=a, count=b)


def _arrive(how: Use, thread: Thread, i: int, a: Value | None, b: Value | None) -> None:
    thread.barrier("arrive", how, instance=i, identity=a, count=b)


def _branch(comparison: str) -> Callable[[Use, Value, Value], Value]:
    compare = COMPARE[comparison]
    return lambda how, a, b: compare(a, b, 32, True)


def _div(how: Use, a: Value, b: Value) -> Value:
    """Signed, as the comparisons are."""
    return sdiv(a, b, 32)


SHORT = Dialect(
    "short",
    by_mnemonic(
        (
            *_accesses(("ld",), "st", "atom", "red", "generic"),
            *_accesses(("suld",), "sust", "suatom", "sured", "surface"),
            *_accesses(("tld",), "", "", "", "texture"),
            *_accesses(("cold",), "", "", "", "constant"),
            Form("ld d, a:value", data_movement.mov),
            Form("mov d, a", data_movement.mov),
            Form("fence.sem.scope", fences.fence, kind="effect", sem="acq_rel sc acquire release", scope=SCOPES),
            Form(
                "fence.proxy.between",
                fences.proxy_fence,
                kind="effect",
                between="alias generic constant texture surface",
            ),
            Form("add d, a, b", integer.add),
            Form("sub d, a, b", integer.sub),
            Form("mul d, a, b", integer.mul, given={"part": "lo"}),
            Form("div d, a, b", _div),
            *(
                Form(f"b{comparison} a, b, label:label", _branch(comparison), kind="branch")
                for comparison in ("eq", "ne", "lt", "gt", "le", "ge")
            ),
            Form("goto label:label", control.bra, kind="branch"),
            Form("bar{.cta}.sync i:instance, a?, b?", _sync, kind="effect"),
            Form("bar{.cta}.arrive i:instance, a?, b?", _arrive, kind="effect"),
        )
    ),
    bare=True,
    register_width=32,
)

"""The short dialect of existing PTX litmus tests, declared as instruction forms of its own.

Operands are bare: a declared location is that location, anything else a register. Registers have 32 bits, start at 0
and may hold addresses. Accesses have the width of the location that they name. Barriers lead with the *instance*, a
number that names the same dynamic barrier in all threads, which PTX does not have.
"""

from __future__ import annotations

from collections.abc import Callable

from ptxcore.isa import control, data_movement, integer, synchronization
from ptxcore.isa.comparison import COMPARE
from ptxcore.isa.form import Form, Slot, Use
from ptxcore.isa.table import TYPED, Dialect
from ptxcore.isa.thread import Thread
from ptxcore.places import SCOPES
from ptxcore.values.terms import Value, sdiv

_SCOPE = Slot("scope", SCOPES, required=True)
_WEAK = (Slot("sem", ("weak",), required=True),)
_ATOMIC_SEMANTICS = ("relaxed", "acquire", "release", "acq_rel")
_OPERATIONS = ("add", "sub", "and", "or", "xor")


def _semantics(*words: str) -> tuple[Slot, Slot]:
    return Slot("sem", words, required=True), _SCOPE


def _op(*words: str) -> Slot:
    return Slot("op", words, required=True)


def _accesses(load: tuple[str, ...], store: str, atom: str, red: str, proxy: str) -> list[Form]:
    """The memory instructions of a proxy, by the names they have there."""
    given = {"proxy": proxy}

    def form(mnemonic: str, operands: str, run: Callable[..., object], slots: tuple[Slot, ...]) -> Form:
        return Form(mnemonic, operands, run, slots, kind="effect", given=given)

    forms = []
    for name in load:
        forms += [
            form(name, "d, [a]", data_movement.ld, _WEAK),
            form(name, "d, [a]", data_movement.ld, _semantics("relaxed", "acquire")),
        ]
    if store:
        forms += [
            form(store, "[a], b", data_movement.st, _WEAK),
            form(store, "[a], b", data_movement.st, _semantics("relaxed", "release")),
        ]
    if atom:
        atomics = _semantics(*_ATOMIC_SEMANTICS)
        forms += [
            form(atom, "d, [a], b", synchronization.atom, (*atomics, _op(*_OPERATIONS, "exch"))),
            form(atom, "d, [a], b, c", synchronization.cas, (*atomics, _op("cas"))),
        ]
    if red:
        forms.append(form(red, "[a], b", synchronization.red, (*_semantics(*_ATOMIC_SEMANTICS), _op(*_OPERATIONS))))
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


_FENCE = Slot("sem", ("acq_rel", "sc", "acquire", "release"), required=True)
_PROXY = (Slot("proxy", ("proxy",), True), Slot("kind", ("alias", "generic", "constant", "texture", "surface"), True))
_BARRIER = Slot("cta", ("cta",))

SHORT = Dialect(
    "short",
    (
        *_accesses(("ld",), "st", "atom", "red", "generic"),
        *_accesses(("suld",), "sust", "suatom", "sured", "surface"),
        *_accesses(("tld",), "", "", "", "texture"),
        *_accesses(("cold",), "", "", "", "constant"),
        Form("ld", "d, a:value", data_movement.mov),
        Form("mov", "d, a", data_movement.mov),
        Form("fence", "", synchronization.fence, (_FENCE, _SCOPE), kind="effect"),
        Form("fence", "", synchronization.proxy_fence, _PROXY, kind="effect"),
        Form("add", "d, a, b", integer.add),
        Form("sub", "d, a, b", integer.sub),
        Form("mul", "d, a, b", integer.mul, given={"part": "lo"}),
        Form("div", "d, a, b", _div),
        *(
            Form(f"b{comparison}", "a, b, label:label", _branch(comparison), kind="branch")
            for comparison in ("eq", "ne", "lt", "gt", "le", "ge")
        ),
        Form("goto", "label:label", control.bra, kind="branch"),
        Form("bar", "i:instance, a?, b?", _sync, (_BARRIER, Slot("action", ("sync",), True)), kind="effect"),
        Form("bar", "i:instance, a?, b?", _arrive, (_BARRIER, Slot("action", ("arrive",), True)), kind="effect"),
    ),
    bare=True,
    register_width=32,
)

#: The dialects by the name that a test's thread gives.
DIALECTS = {"typed": TYPED, "short": SHORT}

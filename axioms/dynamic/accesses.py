"""What instructions' accesses are: their scopes, which commute, and what two are that nothing orders."""

from __future__ import annotations

from collections.abc import Iterable

from axioms.dynamic.findings import Open, Party, Race
from axioms.dynamic.shadow import CONSTANT, Access
from ptxcore.isa.form import Use
from ptxcore.machine.lower.liveness import results_unused
from ptxcore.machine.lower.ops import Code, Op

#: Atomic operations of integers whose order decides nothing but what they return.
_COMMUTE = frozenset(("add", "and", "or", "xor", "min", "max"))
#: Semantics by which an access may order others.
ORDERING = frozenset(("acquire", "release", "acq_rel", "sc"))
#: Instructions that access memory by elements as wide as they say.
_SCALARS = frozenset(("ld", "st"))


def commutative(how: Use) -> bool:
    """Whether the order of such operations decides nothing but what they return."""
    return how.type[:1] in "usb" and how.type[1:].isdecimal() and how.op in _COMMUTE


def scope_of(use: Use) -> str | None:
    """The scope of the strong accesses of an instruction, empty where they are weak; None where they are through a proxy of
    which this way knows nothing."""
    if use.proxy != "generic" and not (use.proxy == "texture" and use.form.mnemonic == "ld"):
        return None
    if use.proxy == "texture" or use.form.mnemonic == "ldu":
        return CONSTANT
    return "" if use.sem == "weak" else use.scope or "sys"


def commuting(functions: Iterable[Code], op: Op, how: Use) -> str:
    """What an atomic operation does, where such operations may come in any order and nobody uses the result; else empty."""
    return f"{how.op}.{how.type}" if commutative(how) and results_unused(functions, op) else ""


def conflict(first: Party, second: Party, before: Access, access: Access, where: str, *, exact: bool) -> Race | Open:
    """What an unordered conflict is: a race of the model, where nothing but barriers orders accesses so far (`exact`), and both
    are weak and of one size, element by element."""
    if before.strong or access.strong:
        return Open("order", second)
    same = (before.first, before.size) == (access.first, access.size) and _alike(first.op, second.op)
    if not exact or not same:
        return Open("unordered", second)
    return Race(first, second, where, access.first, access.first + access.size - 1)


def _alike(a: Op, b: Op) -> bool:
    """Whether two instructions that access the same bytes access the same elements: vectors do so one by one."""
    return {a.use.form.mnemonic, b.use.form.mnemonic} <= _SCALARS and a.use.width == b.use.width

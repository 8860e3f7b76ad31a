"""What instructions' accesses are: their scopes, which commute, and what two are that nothing orders."""

from __future__ import annotations

from collections.abc import Iterable

from axioms.dynamic.core.findings import ByteRace, Open, Party
from axioms.dynamic.core.shadow import CONSTANT, Access
from axioms.dynamic.core.sums import is_sum
from ptxcore.isa.form import Use
from ptxcore.machine.ir.effects import MOST_WHOLE
from ptxcore.machine.lower.liveness import results_unused
from ptxcore.machine.lower.ops import Code, Op
from ptxcore.machine.run.watched import WatchedThread

#: Atomic operations of integers whose order decides nothing but what they return.
_COMMUTE = frozenset(("add", "and", "or", "xor", "min", "max"))
#: Of an atomic operation that commutes with those that do the same.
SAME = "same"
#: What levels of `membar` are as scopes.
LEVELS = {"gl": "gpu"}
#: Semantics by which an access may order others.
ORDERING = frozenset(("acquire", "release", "acq_rel", "sc"))
#: Instructions that access memory by elements as wide as they say; those of whole warps do by pieces of one size.
_BY_ELEMENTS = frozenset(("ld", "st", "atom", "red"))
#: Instructions that access tensor maps, word by word.
_MAPS = "tensormap"


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
    weak = use.sem == "weak" or use.form.mnemonic == _MAPS  # section 9.7.9.26
    return "" if weak else use.scope or "sys"


def commuting(functions: Iterable[Code], op: Op, how: Use) -> str:
    """What an atomic operation does, where nobody uses the result and such operations may come in any order: with all their
    like, or (`SAME`) with those that have the same operands. Else empty."""
    return (done(how) or SAME) if results_unused(functions, op) else ""


class Commuting:
    """What atomic operations do, where they may come in any order: of the instructions of a launch, by their numbers."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def of(self, thread: WatchedThread, how: Use) -> str:
        """Whatever it is, those that do it with the same operands come to the same in any order. Empty where it is open."""
        known = self._known.get(thread.op)
        if known is None:
            functions = thread.launch.program.functions.values()
            known = self._known[thread.op] = commuting(functions, thread.instruction, how)
        if known != SAME:
            return known
        operands = [thread.value(source) for source in thread.instruction.sources[1:] if source is not None]
        if any(type(operand) is not int for operand in operands):
            return ""
        return stored(operands[0]) if how.op == "exch" else f"{how.op}.{how.type} {operands}"


def stored(value: int) -> str:
    """What a store does, beside others."""
    return f"store {value}"


def done(how: Use) -> str:
    """What an atomic operation does that commutes with its like, but for how sums of floating-point numbers are rounded
    (`core.sums`); empty where it does not."""
    return f"{how.op}.{how.type}" if commutative(how) or is_sum(how) else ""


def conflict(
    first: Party,
    second: Party,
    before: Access,
    access: Access,
    where: str,
    *,
    exact: bool,
    readings: frozenset[str] = frozenset(),
) -> ByteRace | Open:
    """What an unordered conflict is: a race of the model, where nothing but barriers orders accesses so far (`exact`), one of
    them is weak, and both have bytes in common; a mixed-size one where both are weak and these are no whole element of both
    (section 8.7.2). A strong write that comes first may have been observed, which orders it (section 8.9.6)."""
    if (before.strong and (access.strong or not before.unseen)) or access.strong == CONSTANT:
        return Open("order", second)
    maps = (
        first.op.use.form.mnemonic == second.op.use.form.mnemonic == _MAPS
    )  # each of the whole map (section 9.7.9.26)
    same = (before.first, before.size) == (access.first, access.size)
    if not exact:
        return Open("order" if before.strong or access.strong else "unordered", second)
    if maps and same:
        return ByteRace(
            first, second, where, access.first, access.first + access.size - 1, time=before.time, until=access.time
        )
    if race := race_of_elements(first, second, before, access, where, readings):
        return race
    if before.strong or access.strong:
        return Open("order", second)
    mine, others = _elements(second.op, access, readings), _elements(first.op, before, readings)
    parts = ((max(a, b), min(a + m, b + n) - 1) for a, m in mine for b, n in others if a < b + n and b < a + m)
    part = min(parts, default=None)
    return (
        Open("unordered", second)
        if part is None
        else ByteRace(first, second, where, *part, "mixed-size", time=before.time, until=access.time)
    )


def race_of_elements(
    first: Party,
    second: Party,
    before: Access,
    access: Access,
    where: str,
    readings: frozenset[str],
    *,
    told: bool = False,
) -> ByteRace | None:
    """The race of two accesses that nothing orders, not all in each other's scope where both are strong: of whole elements that
    both have, as each of these is an access of its own. None where they have none, or that is not known. `told`: whether the
    kind of an access says if a comparison has written."""
    common = _elements(second.op, access, readings, told=told) & _elements(first.op, before, readings, told=told)
    if not common:
        return None
    same = (before.first, before.size) == (access.first, access.size)
    at, size = (access.first, access.size) if same else min(common)
    return ByteRace(first, second, where, at, at + size - 1, time=before.time, until=access.time)


def is_one(access: Access, readings: frozenset[str]) -> bool:
    """Whether an access to a vector is one, as of a scalar, by a reading of section 8.2.4."""
    return "whole-vectors" in readings and access.strong != "" and 8 * access.size <= MOST_WHOLE


def _elements(op: Op, access: Access, readings: frozenset[str], *, told: bool = False) -> set[tuple[int, int]]:
    """The elements that an access consists of, each an access of its own (section 8.2.4), by their first bytes and their size:
    of an instruction of a whole warp the piece of the thread. None where that is not known, nor (unless that is `told`) whether
    it writes: a comparison that fails does not."""
    use = op.use
    if use.form.whole is not None or is_one(access, readings):
        return {(access.first, access.size)}
    if use.form.mnemonic not in _BY_ELEMENTS or (use.op == "cas" and not told):
        return set()
    size = use.width // 8
    firsts = range(access.first, access.first + access.size, size)
    targets = op.targets[0] if op.targets else None
    unwanted = {i for i, target in enumerate(targets) if target is None} if isinstance(targets, list) else set()
    return {(first, size) for i, first in enumerate(firsts) if i not in unwanted}

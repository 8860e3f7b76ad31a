"""What an instruction may become: its orders and scopes, weaker and stronger, as modifiers in its own spelling.

What PTX does not have is left out by who reads the changed text, not here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ptxcore.places import SCOPES
from ptxcore.records import NamedTuple
from ptxcore.syntax.tree import Instruction
from ptxmm.repair.costs import access_cost, fence_cost

#: The orders of each instruction with, for each, those directly below it; the first is the weakest.
ORDERS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "ld": {"weak": (), "relaxed": ("weak",), "acquire": ("relaxed",)},
    "st": {"weak": (), "relaxed": ("weak",), "release": ("relaxed",)},
    "atom": {"relaxed": (), "acquire": ("relaxed",), "release": ("relaxed",), "acq_rel": ("acquire", "release")},
    "red": {"relaxed": (), "release": ("relaxed",)},
    "cluster": {"relaxed": (), "release": ("relaxed",)},
    "arrive": {"relaxed": (), "release": ("relaxed",)},
    "wait": {"relaxed": (), "acquire": ("relaxed",)},
    "fence": {"": (), "acquire": ("",), "release": ("",), "acq_rel": ("acquire", "release"), "sc": ("acq_rel",)},
}
#: The order and scope that an instruction has where it says none.
_ABSENT = {
    "ld": ("weak", ""), "st": ("weak", ""), "atom": ("relaxed", "gpu"), "red": ("relaxed", "gpu"),
    "fence": ("acq_rel", ""), "cluster": ("release", ""), "arrive": ("release", "cta"), "wait": ("acquire", "cta"),
}  # fmt: skip
#: What stands before the order in operations on barriers.
_BEFORE = frozenset({"cluster", "arrive", "arrive_drop", "expect_tx", "noComplete", "test_wait", "try_wait", "parity"})
_MEMBAR = {"cta": "cta", "gl": "gpu", "sys": "sys"}
_WORDS = frozenset({"weak", "relaxed", "acquire", "release", "acq_rel", "sc"})


class Strength(NamedTuple):
    """An order, and a scope where it has one. Of a fence that is gone both are empty."""

    order: str
    scope: str

    @property
    def name(self) -> str:
        return ".".join(filter(None, self))


def family(instruction: Instruction) -> str | None:
    """Which of `ORDERS` an instruction has; None for one that has none, or is about other things than memory order."""
    words = instruction.modifiers
    if instruction.opcode == "membar":
        return "fence" if len(words) == 1 and words[0] in _MEMBAR else None
    if instruction.opcode == "fence":
        return "fence" if all(w in _WORDS or w in SCOPES for w in words) else None
    if instruction.opcode == "barrier":
        return "cluster" if {"cluster", "arrive"} <= set(words) else None
    if instruction.opcode == "mbarrier":
        arrives, waits = {"arrive", "arrive_drop"} & set(words), {"test_wait", "try_wait"} & set(words)
        return "arrive" if arrives else "wait" if waits else None
    if instruction.opcode not in ("ld", "st", "atom", "red") or {
        "async",
        "volatile",
        "mmio",
        "nc",
        "param",
        "const",
        "local",
        "bulk",
    } & set(words):
        return None
    return instruction.opcode


def strength(instruction: Instruction, kind: str) -> Strength:
    """The order and scope of an instruction."""
    if instruction.opcode == "membar":
        return Strength("sc", _MEMBAR[instruction.modifiers[0]])
    order, scope = _ABSENT[kind]
    order = next((w for w in instruction.modifiers if w in _WORDS), order)
    if kind == "cluster":  # the name of the barrier, and no scope
        return Strength(order, "")
    return Strength(order, next((w for w in instruction.modifiers if w in SCOPES), scope))


def no_stronger(kind: str, one: Strength, other: Strength) -> bool:
    """Whether an order and scope are at most as strong as another."""
    if not _at_most(ORDERS[kind], one.order, other.order):
        return False
    return not one.scope or not other.scope or SCOPES.index(one.scope) <= SCOPES.index(other.scope)


def _at_most(orders: Mapping[str, tuple[str, ...]], one: str, other: str) -> bool:
    return one == other or any(_at_most(orders, one, below) for below in orders[other])


def choices(kind: str, scopes: Sequence[str]) -> Iterator[Strength]:
    """Every order, in each of these scopes."""
    for order in ORDERS[kind]:
        if order in ("", "weak") or kind == "cluster":
            yield Strength(order, "")
        else:
            yield from (Strength(order, scope) for scope in scopes)


def spelled(instruction: Instruction, kind: str, wanted: Strength) -> str:
    """The opcode and modifiers with another order and scope, all else as it is written."""
    if kind == "fence":
        return f"fence.{wanted.name}"
    words = list(instruction.modifiers)
    old = next((w for w in words if w in _WORDS), None)
    written = [w for w in words if w not in SCOPES or kind == "cluster"]
    if wanted.order == "weak":
        written = [w if w not in _WORDS else "weak" for w in written]
        return ".".join((instruction.opcode, *written))
    at = next((i for i, w in enumerate(written) if w not in _BEFORE), len(written))
    if old is not None:
        at = written.index(old)
    if old is not None:
        del written[at]
    return ".".join((instruction.opcode, *written[:at], *filter(None, wanted), *written[at:]))


def cost(kind: str, what: Strength) -> int:
    """What it costs on hardware."""
    if kind == "fence":
        return fence_cost(what.order, what.scope) if what.order else 0
    return access_cost(what.order, what.scope)

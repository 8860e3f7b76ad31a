"""Whether a changed module differs from another in stronger orders, wider scopes and further fences alone.

Such a module has no execution that the other one has not: orders, scopes and fences only add to the relations whose cycles the
axioms forbid. So its threads wait for each other nowhere but where those of the other one may.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from ptxcore.places import SCOPES
from ptxcore.records import NamedTuple
from ptxcore.syntax.reader import read_module
from ptxcore.syntax.tree import AnyStatement, Directive, Instruction, Section
from ptxmm.repair.accesses import ORDERS, family, no_stronger, strength

#: The words that say an order, and those that say a scope. The scope of `barrier.cluster` is its name.
_WORDS = frozenset(order for orders in ORDERS.values() for order in orders) | frozenset(SCOPES)
#: Directives that say where a statement comes from; sections say more of it.
_PLACES = frozenset({"loc", "file"})


class _Step(NamedTuple):
    """A statement behind the fences that come before it; None at the end of the text."""

    fences: Sequence[Instruction]
    statement: AnyStatement | None


def only_stronger(text: str, than: str) -> bool:
    """Whether a module is the other one, with orders, scopes and fences that are as strong or stronger, and more fences."""
    return all(
        new is not None
        and old is not None
        and _as_strong(new.statement, old.statement)
        and _cover(new.fences, old.fences)
        for new, old in zip_longest(_steps(text), _steps(than))
    )


def _steps(text: str) -> Iterator[_Step]:
    fences: list[Instruction] = []
    for statement in read_module(text)[0].statements:
        if isinstance(statement, Section) or (isinstance(statement, Directive) and statement.name in _PLACES):
            continue
        if isinstance(statement, Instruction) and statement.opcode in ("fence", "membar"):
            fences.append(statement)
        else:
            yield _Step(fences, statement)
            fences = []
    yield _Step(fences, None)


def _as_strong(new: AnyStatement | None, old: AnyStatement | None) -> bool:
    """Whether a statement is another one, with an order and a scope that are as strong or stronger."""
    if new == old:
        return True
    if not isinstance(new, Instruction) or not isinstance(old, Instruction):
        return False
    kind = family(new)
    if kind is None or kind != family(old) or _bare(new, kind) != _bare(old, kind):
        return False
    return no_stronger(kind, strength(old, kind), strength(new, kind))


def _bare(instruction: Instruction, kind: str) -> tuple[object, ...]:
    """What an instruction does, beside its order and scope."""
    words = _WORDS - {"cluster"} if kind == "cluster" else _WORDS
    kept = tuple(word for word in instruction.modifiers if word not in words)
    return instruction.opcode, kept, instruction.operands, instruction.guard


def _cover(new: Sequence[Instruction], old: Sequence[Instruction]) -> bool:
    """Whether fences are all of the old ones in their order, as strong or stronger, and maybe more."""
    waiting = iter(new)
    return all(any(_fence_as_strong(one, other) for one in waiting) for other in old)


def _fence_as_strong(new: Instruction, old: Instruction) -> bool:
    if new == old:
        return True
    kind = family(new)
    return (
        kind == "fence" == family(old)
        and new.guard == old.guard
        and no_stronger("fence", strength(old, "fence"), strength(new, "fence"))
    )


__all__ = ["only_stronger"]

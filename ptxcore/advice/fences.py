"""Fences that are stronger than anything in the module can make use of.

`fence.sc` forbids what `fence.acq_rel` allows only in a cycle of which two steps between threads, at least, go against the
flow of values: from an access behind such a fence to a write of the same place, before another one, that comes later in
coherence order (store buffering, 2+2W, R, independent reads). Where no access behind a fence of the module is of a place that
is written before one, there is no such step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from ptxcore.advice.accesses import AdvisedAccess, AdvisedFunction, fence_scope
from ptxcore.advice.edits import rewritten, warning
from ptxcore.diagnostics import Diagnostic
from ptxcore.syntax.tree import Instruction

#: Accesses beside fences that are compared with each other: beyond it nothing is told.
_MOST_ACCESSES = 64


def _is_sc(instruction: Instruction) -> bool:
    if instruction.opcode == "membar":
        return bool(fence_scope(instruction))
    return instruction.opcode == "fence" and "sc" in instruction.modifiers


def needless_sc(functions: Sequence[AdvisedFunction]) -> Iterator[Diagnostic]:
    """Each `membar` and `fence.sc` of a module, where `fence.acq_rel` certainly is enough for all of them."""
    fences = [(f, i) for f in functions for i, instruction in enumerate(f.instructions) if _is_sc(instruction)]
    if not fences:
        return
    before: dict[int, AdvisedAccess] = {}
    behind: dict[int, AdvisedAccess] = {}
    for function, fence in fences:
        if any(instruction.opcode in ("call", "cp", "multimem") for instruction in function.instructions):
            return  # what else accesses memory is not known
        accesses, count = function.accesses, len(function.instructions)
        around = ((before, function.graph.behind(fence, lambda i: i < 0)),
                  (behind, function.graph.ahead(fence, lambda i, count=count: i >= count)))  # type: ignore[misc]  # fmt: skip
        for found, path in around:
            found.update((id(accesses[i]), accesses[i]) for i in path if i in accesses)
            if len(found) > _MOST_ACCESSES:
                return
    if any(first.writes and _may_meet(first, second) for first, second in product(before.values(), behind.values())):
        return
    for function, fence in fences:
        instruction = function.instructions[fence]
        scope = fence_scope(instruction)
        said = instruction.name if instruction.opcode == "fence" else f"{instruction.name}' is 'fence.sc.{scope}"
        yield warning(
            "membar", instruction.span, f"'{said}', the strongest fence of its scope, and nothing in this module can tell",
            f"'fence.acq_rel.{scope}' is enough: no access behind such a fence is of a place that is written before one",
            rewritten(instruction, f"fence.acq_rel.{scope}"),
        )  # fmt: skip


def _may_meet(first: AdvisedAccess, second: AdvisedAccess) -> bool:
    """Whether two accesses may be of one place: not, where they are of different variables, or in different state spaces."""
    if {first.space, second.space} == {"global", "shared"}:
        return False
    one, other = first.base, second.base
    if one is None or other is None:
        return True
    return one == other or not one[0] == other[0] == "variable"

"""Scopes that are narrower than the threads they serve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ptxcore.advice.accesses import AdvisedAccess, AdvisedFunction, fence_scope
from ptxcore.advice.edits import replaced, together, warning
from ptxcore.advice.values import CTA, READ
from ptxcore.advice.waits import AdvisedWait
from ptxcore.diagnostics import Diagnostic
from ptxcore.places import SCOPES
from ptxcore.syntax.spans import modifier_span


def narrow_accesses(function: AdvisedFunction) -> Iterator[Diagnostic]:
    """Accesses of CTA scope to a global location whose address is the same for all CTAs: a warning for each variable or
    parameter."""
    groups: dict[object, list[Diagnostic]] = {}
    for access in function.accesses.values():
        modifiers = access.instruction.modifiers
        if (
            "cta" not in modifiers
            or not function.is_global(access)
            or function.registers.causes(access.address) & (CTA | READ)
        ):
            continue
        at = modifiers.index("cta")
        told = warning(
            "cta-scope-global", modifier_span(access.instruction, at),
            "'.cta' scope on a .global location: it is not synchronised with threads of other CTAs",
            "use .gpu (or .cluster, .sys) where another CTA may reach the location", replaced(access.instruction, at, "gpu"),
        )  # fmt: skip
        groups.setdefault(access.base or access.at, []).append(told)
    yield from map(together, groups.values())


def narrow_fences(function: AdvisedFunction, waits: Iterable[AdvisedWait]) -> Iterator[Diagnostic]:
    """Fences of CTA scope between accesses to global memory and a signal of a wider scope: of what a loop waits for."""
    waiting = {wait.access.at: wait.access for wait in waits}
    bases = {access.base for access in waiting.values()} - {None}
    for i, instruction in enumerate(function.instructions):
        if fence_scope(instruction) != "cta":
            continue
        signal = _signal_behind(function, i, bases, waiting) or _wait_before(function, i, waiting)
        if signal is None:
            continue
        at = next(n for n, m in enumerate(instruction.modifiers) if m == "cta")
        wide = "gl" if instruction.opcode == "membar" and signal.scope != "sys" else signal.scope
        yield warning(
            "narrow-fence", modifier_span(instruction, at),
            f"a fence of CTA scope beside a signal of .{signal.scope} scope on line {signal.instruction.span.line}: "
            "threads of other CTAs see the signal, and not what it says",
            f"use .{wide} where other CTAs wait for the signal", replaced(instruction, at, wide),
        )  # fmt: skip


def _signal_behind(
    function: AdvisedFunction, fence: int, bases: set[tuple[str, str] | None], waiting: dict[int, AdvisedAccess]
) -> AdvisedAccess | None:
    """A wide write, of what a loop waits for, that a fence alone orders weak accesses to global memory before."""
    accesses, count = function.accesses, len(function.instructions)
    if not any(
        _is_data(function, i, bases) for i in function.graph.behind(fence, lambda i: i < 0 or _is_wide(function, i))
    ):
        return None
    for i in function.graph.ahead(fence, lambda i: i >= count or _is_wide(function, i)):
        access = accesses.get(i)
        if access is None or access.weak or i in waiting or not access.writes or access.releases:
            continue
        if access.base in bases and _wider(access):
            return access
    return None


def _wait_before(function: AdvisedFunction, fence: int, waiting: dict[int, AdvisedAccess]) -> AdvisedAccess | None:
    """A wide load that waits, behind which a fence alone orders weak accesses to global memory."""
    count = len(function.instructions)
    bases = {access.base for access in waiting.values()}
    if not any(
        _is_data(function, i, bases) for i in function.graph.ahead(fence, lambda i: i >= count or _is_wide(function, i))
    ):
        return None
    for i in function.graph.behind(fence, lambda i: i < 0 or _is_wide(function, i)):
        access = waiting.get(i)
        if access is not None and not access.weak and not access.acquires and _wider(access):
            return access
    return None


def _is_data(function: AdvisedFunction, i: int, bases: set[tuple[str, str] | None]) -> bool:
    access = function.accesses.get(i)
    if access is None or not access.weak or access.space == "shared" or access.base in bases:
        return False
    return access.base in function.read and access.base in function.written


def _wider(access: AdvisedAccess) -> bool:
    return access.space != "shared" and SCOPES.index(access.scope) > SCOPES.index("cluster")


def _is_wide(function: AdvisedFunction, i: int) -> bool:
    """Whether an instruction orders for threads beyond the CTA, or is of unknown scope."""
    instruction = function.instructions[i]
    access = function.accesses.get(i)
    if access is not None:
        return (access.acquires or access.releases) and access.scope != "cta"
    return function.orders(i) and fence_scope(instruction) != "cta" and instruction.opcode not in ("bar", "barrier")

"""Orders that are missing: where a loop waits, where what it waits for is signalled, and weak accesses beside strong ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ptxcore.advice.accesses import AdvisedAccess, AdvisedFunction
from ptxcore.advice.edits import order_span, ordered, together, warning
from ptxcore.advice.graph import BARRIERS
from ptxcore.advice.values import CTA, READ, THREAD
from ptxcore.advice.waits import AdvisedWait
from ptxcore.diagnostics import Diagnostic
from ptxcore.places import SCOPES

_SCOPES = " ".join(f".{scope}" for scope in SCOPES)
_VOLATILE = "volatile is relaxed at system scope and orders nothing else"


def unordered_waits(function: AdvisedFunction, waits: Iterable[AdvisedWait]) -> Iterator[Diagnostic]:
    """Loops that wait with weak, relaxed or volatile accesses where what comes behind needs order."""
    for wait in waits:
        access = wait.access
        if access.weak:
            yield from _weak_wait(function, wait)
        elif access.order in ("relaxed", "volatile", "release") and _needs_order(function, wait):
            yield _unordered_wait(access)


def _unordered_wait(access: AdvisedAccess) -> Diagnostic:
    instruction, scope = access.instruction, access.scope
    if access.order == "volatile":
        return warning(
            "volatile-synchronization", order_span(instruction), f"a loop waits with a volatile load: {_VOLATILE}",
            f"use ld.acquire with the scope of the threads that take part ({_SCOPES})",
            ordered(instruction, "acquire", "cta" if access.space == "shared" else scope),
        )  # fmt: skip
    if access.order == "release":
        how, order = "an access that only releases", "acq_rel"
    elif "relaxed" in instruction.modifiers:
        how, order = "a relaxed access", "acquire"
    else:
        how, order = f"'{instruction.opcode}', which is relaxed by default", "acquire"
    return warning(
        "relaxed-spin", order_span(instruction),
        f"a loop waits with {how}, and no fence follows it: what it waits for is not ordered",
        "use .acquire here, or a fence.acq_rel of the same scope behind the loop", ordered(instruction, order, scope),
    )  # fmt: skip


def _needs_order(function: AdvisedFunction, wait: AdvisedWait) -> bool:
    """Whether some path from the access that waits comes to one that needs its order before anything orders it."""
    accesses, instructions = function.accesses, function.instructions

    def stops(i: int) -> bool:
        if i == wait.access.at or i >= len(instructions) or function.orders_beyond(i, wait.access):
            return True
        return i in accesses and accesses[i].acquires

    return any(
        i in accesses and i not in wait.inside and _is_protected(function, accesses[i], wait)
        for i in function.graph.ahead(wait.access.at, stops)
    )


def _is_protected(function: AdvisedFunction, access: AdvisedAccess, wait: AdvisedWait) -> bool:
    """Whether a weak access is one that other threads may make conflict with, if they did not wait for each other. A load: of
    a place that the function also writes, or that others write, as they do what is waited for. A store: to a place that the
    function also reads, or, behind a lock, at an address that is not the thread's own. What is waited for in global memory
    comes from other CTAs, which have no part in shared memory."""
    base = access.base
    if not access.weak or (base is not None and base == wait.access.base):
        return False
    if access.space == "shared" and wait.access.space != "shared":
        return False
    if access.reads:
        if base is None or base[0] == "variable":
            return True
        return base in function.written or wait.access.base not in function.written
    own = function.registers.causes(access.address) & (THREAD | CTA | READ)
    return base in function.read or (wait.access.writes and not own)


def _weak_wait(function: AdvisedFunction, wait: AdvisedWait) -> Iterator[Diagnostic]:
    """A loop whose exit hangs on a weak load of what the loop does not write: another thread has to, which is a race."""
    access = wait.access
    for i in wait.inside:
        other = function.accesses.get(i)
        if function.instructions[i].opcode in ("call", "mbarrier", "cp", *BARRIERS):
            return
        if other is not None and other.writes and (other.base == access.base or None in (other.base, access.base)):
            return
    scope = "cta" if access.space == "shared" else "gpu"
    yield warning(
        "weak-spin", order_span(access.instruction),
        "a loop waits with a weak load: that another thread writes meanwhile is a data race, and a compiler may read it once",
        "use ld.acquire with the scope of the threads that take part (cuda::atomic_ref in CUDA C++)",
        ordered(access.instruction, "acquire", scope),
    )  # fmt: skip


def unordered_signals(function: AdvisedFunction, waits: Iterable[AdvisedWait]) -> Iterator[Diagnostic]:
    """Relaxed and volatile writes to what a loop of the same function waits for, with weak stores before them that nothing
    orders."""
    waiting = {wait.access.at for wait in waits}
    bases = {wait.access.base for wait in waits if not wait.access.weak} - {None}
    for access in function.accesses.values():
        if access.at in waiting or not access.writes or access.base not in bases:
            continue
        if access.order in ("relaxed", "volatile", "acquire") and _has_stores_before(function, access, waiting):
            yield _unordered_signal(access)


def _unordered_signal(access: AdvisedAccess) -> Diagnostic:
    instruction = access.instruction
    scope = "cta" if access.space == "shared" else access.scope
    if access.order == "volatile":
        return warning(
            "volatile-synchronization", order_span(instruction), f"a volatile store signals here: {_VOLATILE}",
            f"use st.release with the scope of the threads that take part ({_SCOPES})",
            ordered(instruction, "release", scope),
        )  # fmt: skip
    order = "acq_rel" if access.order == "acquire" else "release"
    how = {"acquire": "an access that only acquires", "relaxed": "a relaxed access"}[access.order]
    if access.order not in instruction.modifiers:
        how = f"'{instruction.opcode}', which is relaxed by default,"
    return warning(
        "relaxed-release", order_span(instruction),
        f"a loop waits for this location, and {how} signals: the stores before it are not ordered",
        "use .release here, or a fence.acq_rel of the same scope before it", ordered(instruction, order, scope),
    )  # fmt: skip


def _has_stores_before(function: AdvisedFunction, signal: AdvisedAccess, waiting: set[int]) -> bool:
    """Whether some path to a signal has a weak store to what the function also reads, and nothing behind it that releases."""
    accesses = function.accesses

    def stops(i: int) -> bool:
        if i < 0 or i == signal.at or i in waiting or function.orders_beyond(i, signal):
            return True
        return i in accesses and accesses[i].releases

    return any(
        i in accesses and accesses[i].weak and accesses[i].writes and accesses[i].base in function.read - {signal.base}
        and (accesses[i].space != "shared" or signal.space == "shared")
        for i in function.graph.behind(signal.at, stops)
    )  # fmt: skip


def weak_beside_strong(function: AdvisedFunction) -> Iterator[Diagnostic]:
    """Weak accesses to a place that the function also accesses atomically, with nothing that orders the two: neither on every
    way to the weak access nor on every way from it; a warning for each place."""
    groups: dict[object, list[Diagnostic]] = {}
    strong: dict[object, AdvisedAccess] = {}
    for access in function.accesses.values():
        if not access.weak and access.place is not None:
            strong.setdefault(access.place._replace(space=""), access)
    for access in function.accesses.values():
        other = strong.get(access.place._replace(space="")) if access.place is not None else None
        if other is None or not access.weak or not (access.writes or other.writes) or _is_kept_apart(function, access):
            continue
        name = ".".join((other.instruction.opcode, *other.instruction.modifiers))
        told = warning(
            "weak-atomic", order_span(access.instruction),
            f"a weak access to a location that line {other.instruction.span.line} accesses with '{name}'",
            "a race between them is undefined behaviour: use .relaxed with a scope",
            ordered(access.instruction, "relaxed", "cta" if access.space == "shared" else other.scope),
        )  # fmt: skip
        groups.setdefault(other.at, []).append(told)
    yield from map(together, groups.values())


def _is_kept_apart(function: AdvisedFunction, access: AdvisedAccess) -> bool:
    accesses, count = function.accesses, len(function.instructions)

    def orders(i: int) -> bool:
        return function.orders(i) or (i in accesses and (accesses[i].acquires or accesses[i].releases))

    def before(i: int) -> bool:
        return i < 0 or orders(i)

    def same(i: int) -> bool:
        return i in accesses and i != access.at and accesses[i].place == access.place and not accesses[i].weak

    def behind(i: int) -> bool:
        return i >= count or orders(i) or same(i)

    if -1 not in function.graph.behind(access.at, before):
        return True
    return not any(i >= count or same(i) for i in function.graph.ahead(access.at, behind))

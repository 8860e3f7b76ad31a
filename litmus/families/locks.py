"""Locks: n threads each increment a counter with plain accesses inside the critical section, once."""

from __future__ import annotations

from collections.abc import Sequence

from litmus.families.build import at_least, build, named, reaches_all
from litmus.test import Test

_INCREMENT = ("ld.weak.u32 %r1, [x]", "add.u32 %r2, %r1, 1", "st.weak.u32 [x], %r2")


def cas_lock(n: int, *, relaxed: bool = False, scope: str = "gpu", one_cta: bool = False) -> Test:
    """A spin lock taken by compare-and-swap with acquire semantics, given back by a release store.

    No increment is lost. With `relaxed` operations, or a scope that does not take in all threads, one can be. n >= 2.
    Raises `ValueError` for other sizes and scopes.
    """
    take, give = ("relaxed", "relaxed") if relaxed else ("acquire", "release")
    cells = [
        "L0:",
        f"atom.{take}.{scope}.cas.b32 %r0, [m], 0, 1",
        "setp.ne.u32 %p0, %r0, 0",
        "@%p0 bra L0",
        *_INCREMENT,
        f"st.{give}.{scope}.u32 [m], 0",
    ]
    return _lock("cas-lock", n, ["m"], cells, relaxed, scope, one_cta)


def exchange_lock(n: int, *, relaxed: bool = False, scope: str = "gpu", one_cta: bool = False) -> Test:
    """A spin lock taken by exchange with acquire semantics, given back by a release store; otherwise as `cas_lock`.

    Each iteration of its loop writes, so that a checker can only follow a bounded number of iterations.
    """
    take, give = ("relaxed", "relaxed") if relaxed else ("acquire", "release")
    cells = [
        "L0:",
        f"atom.{take}.{scope}.exch.b32 %r0, [m], 1",
        "setp.ne.u32 %p0, %r0, 0",
        "@%p0 bra L0",
        *_INCREMENT,
        f"st.{give}.{scope}.u32 [m], 0",
    ]
    return _lock("exchange-lock", n, ["m"], cells, relaxed, scope, one_cta)


def ticket_lock(n: int, *, relaxed: bool = False, scope: str = "gpu", one_cta: bool = False) -> Test:
    """A lock whose threads draw a ticket by atomic add and wait until it is served; otherwise as `cas_lock`.

    Drawing is relaxed in any case: the acquire load of the number that is served synchronizes.
    """
    take, give = ("relaxed", "relaxed") if relaxed else ("acquire", "release")
    cells = [
        f"atom.relaxed.{scope}.add.u32 %r0, [next], 1",
        "L0:",
        f"ld.{take}.{scope}.u32 %r3, [serving]",
        "setp.ne.u32 %p0, %r3, %r0",
        "@%p0 bra L0",
        *_INCREMENT,
        "add.u32 %r4, %r0, 1",
        f"st.{give}.{scope}.u32 [serving], %r4",
    ]
    return _lock("ticket-lock", n, ["next", "serving"], cells, relaxed, scope, one_cta)


def _lock(
    shape: str, n: int, locations: Sequence[str], cells: Sequence[str], relaxed: bool, scope: str, one_cta: bool
) -> Test:
    at_least(n, 2)
    sound = reaches_all(scope, one_cta) and not relaxed
    why = (
        "Who takes the lock sees all that its last owner wrote, so that no increment is lost"
        if sound
        else "Taking the lock does not synchronize with giving it back, so an increment can be lost"
    )
    condition = f"forall (x == {n})" if sound else f"exists (x < {n})"
    name = named(
        shape, n, "relaxed" if relaxed else "", scope if scope != "gpu" else "", "one-cta" if one_cta else ""
    )  # fmt: skip
    return build(name, why, ["x", *locations], [cells] * n, condition, one_cta)

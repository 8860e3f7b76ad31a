"""Rings: every thread touches a location and its neighbour's; can all of them lag behind at once?"""

from __future__ import annotations

from litmus.families.build import at_least, build, conjunction, named, reaches_all
from litmus.test import Test


def store_buffering_ring(
    n: int, *, fence: str | None = "fence.sc", scope: str = "gpu", weak: bool = True, one_cta: bool = False
) -> Test:
    """SB-n: thread i stores to `x<i>`, passes a fence, and loads its right neighbour's location; can all read 0?

    Only `fence.sc`, of a scope that takes in all threads, forbids it. `fence` is an opcode without its scope, or None;
    `weak` chooses between weak and relaxed accesses. n >= 2. Raises `ValueError` for other sizes and scopes.
    """
    at_least(n, 2)
    forbidden = reaches_all(scope, one_cta) and fence == "fence.sc"
    access = "weak" if weak else f"relaxed.{scope}"
    columns = [
        [
            f"st.{access}.u32 [x{i}], 1",
            *([f"{fence}.{scope}"] if fence else []),
            f"ld.{access}.u32 %r0, [x{(i + 1) % n}]",
        ]
        for i in range(n)
    ]
    why = (
        "One of the fences is last in their order, and its thread's load sees what came before: not all can read 0"
        if forbidden
        else "Without fence.sc between all threads nothing orders a store before a later load: all can read 0"
    )
    outcome = conjunction(f"{i}:r0 == 0" for i in range(n))
    name = named(
        "SB", n, "" if fence == "fence.sc" else fence or "po", "" if weak else "relaxed", _place(scope, one_cta)
    )
    return build(name, why, _locations(n), columns, f"{'~' * forbidden}exists {outcome}", one_cta)


def load_buffering_ring(n: int, *, order: str = "acq_rel", scope: str = "gpu", one_cta: bool = False) -> Test:
    """LB-n: thread i loads `x<i>` and then stores 1 to its right neighbour's location; can all read 1?

    `order` is what orders a thread's load before its store: `none` (relaxed accesses: allowed), `data` (the value
    loaded is the value stored: forbidden, values do not come out of thin air), `acq_rel` (acquire loads and release
    stores: forbidden when the scope takes in all threads). n >= 2.
    Raises `ValueError` for other sizes, orders and scopes.
    """
    at_least(n, 2)
    if order not in ("none", "data", "acq_rel"):
        raise ValueError(f"'{order}' is no order: none, data, acq_rel")
    forbidden = order == "data" or (reaches_all(scope, one_cta) and order == "acq_rel")
    load, store = ("acquire", "release") if order == "acq_rel" else ("relaxed", "relaxed")
    value = "%r0" if order == "data" else "1"
    columns = [
        [f"ld.{load}.{scope}.u32 %r0, [x{i}]", f"st.{store}.{scope}.u32 [x{(i + 1) % n}], {value}"] for i in range(n)
    ]
    why = {
        "none": "Relaxed accesses to different locations have no order: every load may see the store after it",
        "data": "Each value is copied from the one before, so a 1 would come out of thin air",
        "acq_rel": "Every load that sees 1 synchronizes, so that each store would come before itself",
    }[order]
    if order == "acq_rel" and not forbidden:
        why = "The scope is too narrow to synchronize, so every load may see the store after it"
    outcome = conjunction(f"{i}:r0 == 1" for i in range(n))
    name = named("LB", n, "" if order == "acq_rel" else order, _place(scope, one_cta))
    return build(name, why, _locations(n), columns, f"{'~' * forbidden}exists {outcome}", one_cta)


def independent_reads(n: int, *, fence: str | None = "fence.sc", scope: str = "gpu", one_cta: bool = False) -> Test:
    """IRIW-n: n threads each write a location of their own, n threads each read two neighbouring ones.

    Can every reader see the first of its two writes and not yet the second? Only `fence.sc` between the reads, of a
    scope that takes in all threads, forbids it. Without a fence (None) the first read is an acquire, which does not.
    The test has 2n threads, writers first. n >= 2. Raises `ValueError` for other sizes and scopes.
    """
    at_least(n, 2)
    forbidden = reaches_all(scope, one_cta) and fence == "fence.sc"
    writers = [[f"st.relaxed.{scope}.u32 [x{i}], 1"] for i in range(n)]
    readers = [
        [
            f"ld.{'relaxed' if fence else 'acquire'}.{scope}.u32 %r0, [x{i}]",
            *([f"{fence}.{scope}"] if fence else []),
            f"ld.relaxed.{scope}.u32 %r1, [x{(i + 1) % n}]",
        ]
        for i in range(n)
    ]
    why = (
        "The order of the readers' fences decides which of the writes is seen first, the same for all"
        if forbidden
        else "Stores may become visible to different threads in different orders"
    )
    outcome = conjunction(f"{n + i}:r0 == 1 /\\ {n + i}:r1 == 0" for i in range(n))
    name = named("IRIW", n, "" if fence == "fence.sc" else fence or "acquire", _place(scope, one_cta))
    return build(name, why, _locations(n), writers + readers, f"{'~' * forbidden}exists {outcome}", one_cta)


def _locations(n: int) -> list[str]:
    return [f"x{i}" for i in range(n)]


def _place(scope: str, one_cta: bool) -> str:
    return "" if scope == "gpu" and not one_cta else f"{scope}-one-cta" if one_cta else scope

"""Barriers made of atomics: threads count themselves, one waits for the count."""

from __future__ import annotations

from litmus.families.build import at_least, build, conjunction, named, reaches_all
from litmus.test import Test


def all_to_one_barrier(
    n: int, *, atomic: str = "red", relaxed: bool = False, scope: str = "gpu", one_cta: bool = False
) -> Test:
    """n-1 workers write data and count themselves; thread 0 waits for the full count and reads all data.

    The workers add with release semantics by `red` or `atom` (`atomic`) and the waiter spins with acquire loads: all
    data is there. With `relaxed` adds and loads, or a scope that does not take in all threads, some may be missing.
    n >= 2. Raises `ValueError` for other sizes, atomics and scopes.
    """
    at_least(n, 2)
    if atomic not in ("red", "atom"):
        raise ValueError(f"'{atomic}' is no way to add: red, atom")
    sound = reaches_all(scope, one_cta) and not relaxed
    load, add = ("relaxed", "relaxed") if relaxed else ("acquire", "release")
    result = "" if atomic == "red" else "%r0, "
    waiter = [
        "L0:",
        f"ld.{load}.{scope}.u32 %r0, [count]",
        f"setp.ne.u32 %p0, %r0, {n - 1}",
        "@%p0 bra L0",
        *(f"ld.weak.u32 %r{i}, [x{i}]" for i in range(1, n)),
    ]
    workers = [[f"st.weak.u32 [x{i}], 1", f"{atomic}.{add}.{scope}.add.u32 {result}[count], 1"] for i in range(1, n)]
    why = (
        "The waiter's acquire sees the last add and through it every release before it, so all data is there"
        if sound
        else "The count does not synchronize, so it may be full before the data is there"
    )
    all_there = conjunction(f"0:r{i} == 1" for i in range(1, n))
    condition = f"forall {all_there}" if sound else f"exists ~{all_there}"
    name = named(
        "barrier", n, "" if atomic == "red" else atomic, "relaxed" if relaxed else "",
        scope if scope != "gpu" else "", "one-cta" if one_cta else "",
    )  # fmt: skip
    return build(name, why, ["count", *(f"x{i}" for i in range(1, n))], [waiter, *workers], condition, one_cta)

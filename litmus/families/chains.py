"""Chains: data goes through many hands, each of which synchronizes with the next only."""

from __future__ import annotations

from litmus.families.build import at_least, build, conjunction, named, reaches_all
from litmus.test import Test


def message_passing_chain(n: int, *, relaxed: bool = False, scope: str = "gpu", one_cta: bool = False) -> Test:
    """MP through n threads: the first writes data, each tells the next by a flag, the last reads the data.

    Can every flag be seen and the data not? Release stores and acquire loads of a scope that takes in all threads
    forbid it, since causality order is transitive; with `relaxed` flags it is allowed. n >= 2.
    Raises `ValueError` for other sizes and scopes.
    """
    at_least(n, 2)
    forbidden = reaches_all(scope, one_cta) and not relaxed
    load, store = ("relaxed", "relaxed") if relaxed else ("acquire", "release")
    columns = [["st.weak.u32 [x], 1", f"st.{store}.{scope}.u32 [flag1], 1"]]
    for i in range(1, n - 1):
        columns.append([f"ld.{load}.{scope}.u32 %r0, [flag{i}]", f"st.{store}.{scope}.u32 [flag{i + 1}], 1"])
    columns.append([f"ld.{load}.{scope}.u32 %r0, [flag{n - 1}]", "ld.weak.u32 %r1, [x]"])
    why = (
        "Each acquire that sees its flag synchronizes with its release, so the data arrives with the last flag"
        if forbidden
        else "The flags do not synchronize, so the last may arrive before the data"
    )
    outcome = conjunction((*(f"{i}:r0 == 1" for i in range(1, n)), f"{n - 1}:r1 == 0"))
    name = named(
        "MP-chain", n, "relaxed" if relaxed else "", scope if scope != "gpu" else "", "one-cta" if one_cta else ""
    )
    locations = ["x", *(f"flag{i}" for i in range(1, n))]
    return build(name, why, locations, columns, f"{'~' * forbidden}exists {outcome}", one_cta)

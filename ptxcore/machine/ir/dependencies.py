"""What values depend on, by the effects that returned something.

Dependencies are shared between registers and effects, and never changed once made.
"""

from __future__ import annotations

from collections.abc import Iterable

from ptxcore.machine.ir.effects import NO_DEPENDENCIES, Dependencies
from ptxcore.values.terms import Value, disj, ite


def gather(sources: list[Dependencies], registers: Iterable[int]) -> Dependencies:
    """The dependencies of all these registers."""
    result = NO_DEPENDENCIES
    for register in registers:
        result = union(result, sources[register])
    return result


def union(a: Dependencies, b: Dependencies) -> Dependencies:
    if not b or a is b:
        return a
    if not a:
        return b
    result = dict(a)
    for index, condition in b.items():
        result[index] = disj(result[index], condition) if index in result else condition
    return result


def choose(condition: Value, a: Dependencies, b: Dependencies) -> Dependencies:
    """Those of `a` where the condition holds, else those of `b`."""
    if type(condition) is int:
        return a if condition else b
    result: dict[int, Value] = {}
    for index in {**b, **a}:
        chosen = ite(condition, a.get(index, 0), b.get(index, 0), 1)
        if chosen != 0:
            result[index] = chosen
    return result

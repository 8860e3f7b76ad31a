"""What values depend on, by the effects that returned something.

Dependencies are shared between registers and effects, and never changed once made.

A dependency that carries no value, as on `r` behind `xor t, r, r`, stands under the complement of its number (`idle`) while the
thread is executed; what effects have at the end is `settled`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ptxcore.values.terms import Value, disj, ite

#: For each earlier effect of the same thread that returned a value (by its index): the condition under which there is a
#: dependency on it. An absent effect is no dependency.
Dependencies = Mapping[int, Value]

NO_DEPENDENCIES: Dependencies = {}


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


def idle(dependencies: Dependencies) -> Dependencies:
    """The same dependencies of a result that is the same whatever its operands are: they carry no value."""
    result: dict[int, Value] = {}
    for index, condition in dependencies.items():
        key = min(index, ~index)
        result[key] = disj(result[key], condition) if key in result else condition
    return result


def settled(dependencies: Dependencies) -> tuple[Dependencies, Dependencies]:
    """All dependencies by the numbers of effects, and those of them that carry a value."""
    if all(index >= 0 for index in dependencies):
        return dependencies, dependencies
    carrying = {index: condition for index, condition in dependencies.items() if index >= 0}
    every: dict[int, Value] = {}
    for index, condition in dependencies.items():
        key = max(index, ~index)
        every[key] = disj(every[key], condition) if key in every else condition
    return every, carrying

"""Parameters that show most: drawn at random, judged by how often the mutants of tests show what the tests forbid.

As in "Foundations of Empirical Memory Consistency Testing" (OOPSLA 2020): the best of many random choices, judged by mutants
and not by the tests themselves, which show nothing on a sound machine. A test that forbids nothing is judged by how rare the
rarest of its states is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

from litmus.test import Test
from ptxcore.records import NamedTuple
from ptxmm.gpu.contract import GpuModule
from ptxmm.gpu.layout import DoesNotFit, SeenStates
from ptxmm.gpu.mutants import mutants
from ptxmm.gpu.parameters import Parameters
from ptxmm.gpu.running import Machine, Until, observe
from ptxmm.gpu.simulator import NoEnd


class Trial(NamedTuple):
    """Parameters, and what they showed: in how many of the tests something rare, then how often."""

    parameters: Parameters
    score: tuple[int, float]


def trials(
    tests: Sequence[Test],
    made: Callable[[Test], GpuModule],
    machine: Callable[[GpuModule], Machine],
    base: Parameters,
    model: str,
    number: int, *, seed: int = 0, launches: int = 1, timeout: float | None = 60.0,
) -> Iterator[Trial]:  # fmt: skip
    """So many trials: the first of the parameters as they are, then of others, each on every test."""
    random = Random(seed)
    subjects = [_subject(test, model, timeout) for test in tests]
    modules = [made(test) for group in subjects for test in group]
    machines = [machine(of) for of in modules]
    for turn in range(number):
        chosen = base if turn == 0 else base.drawn(random)
        shares = []
        try:
            for of, where in zip(modules, machines, strict=True):
                shares.append(_rarest(observe(of, where, chosen, Until(launches), seed)[0]))
        except (DoesNotFit, NoEnd):  # more than there is room for, in memory or on a multiprocessor
            continue
        yield Trial(chosen, (sum(share > 0 for share in shares), round(sum(shares), 9)))


def best(found: Sequence[Trial]) -> Trial:
    """The trial that showed most; of equal ones the first."""
    return max(found, key=lambda trial: trial.score)


def _subject(test: Test, model: str, timeout: float | None) -> list[Test]:
    """What stands for a test: its mutants, or itself where there are none."""
    return [mutant.test for mutant in mutants(test, model, timeout)] or [test]


def _rarest(seen: SeenStates) -> float:
    """The share of the rarest state; nothing where one alone was seen."""
    total = seen.states.total()
    return min(seen.states.values()) / total if len(seen.states) > 1 else 0.0

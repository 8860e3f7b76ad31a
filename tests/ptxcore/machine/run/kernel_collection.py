"""Small kernels with their inputs and the outputs that NumPy computes: how they are told, and how they are run.

A case is a function that draws inputs and gives the arguments in order, with what each array holds afterwards. Every case
runs round-robin and in random schedules; arrays that are not named as results must not change.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from ptxcore.machine.run.launch import Device, load
from ptxmm.running import Run, launch

SOURCES = Path(__file__).parents[3] / "kernels" / "collection"
#: Round-robin, and random schedules.
SEEDS = (None, 1, 2)
_LIMIT = 5_000_000


class Expect(NamedTuple):
    """An array that goes in, and what it holds afterwards. `near`: the relative error that is allowed."""

    array: Any
    result: Any
    near: float = 0.0


Inputs = Callable[[np.random.Generator], list[Any]]


class Case(NamedTuple):
    """A kernel of a module, its launch, and what makes its arguments."""

    module: str
    entry: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    inputs: Inputs
    cluster: tuple[int, ...] | None = None
    dynamic_shared: int = 0
    printed: str = ""
    name: str = ""

    def __str__(self) -> str:
        return self.name or self.entry


class Collection:
    """The cases of one module; `add` is a decorator of their inputs, whose name is the kernel's unless told."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.cases: list[Case] = []

    def add(
        self,
        grid: int | tuple[int, ...] = 1,
        block: int | tuple[int, ...] = 1,
        *,
        entry: str = "",
        cluster: tuple[int, ...] | None = None,
        dynamic_shared: int = 0,
        printed: str = "",
    ) -> Callable[[Inputs], Inputs]:
        def added(inputs: Inputs) -> Inputs:
            self.cases.append(
                Case(
                    self.module, entry or inputs.__name__, _sizes(grid), _sizes(block), inputs, cluster, dynamic_shared,
                    printed, inputs.__name__,
                )
            )  # fmt: skip
            return inputs

        return added

    def runs(self) -> list[Any]:
        """Each case with each schedule."""
        return [
            pytest.param(case, seed, id=f"{case}-{'in turns' if seed is None else seed}")
            for case in self.cases
            for seed in SEEDS
        ]


def _sizes(given: int | tuple[int, ...]) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else given


@cache
def device(module: str) -> Device:
    path = SOURCES / f"{module}.ptx"
    return load(path.read_text(), path.name)


def check(case: Case, seed: int | None, on: Device | None = None) -> Run:
    """Runs a case; asserts what its arrays hold afterwards, and what it printed."""
    machine = on or device(case.module)
    machine.reset()
    told = case.inputs(np.random.default_rng(len(case.name)))
    arguments = [a.array.copy() if isinstance(a, Expect) else a for a in told]
    before = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    done = launch(
        machine, case.entry, case.grid, case.block, arguments, cluster=case.cluster,
        dynamic_shared=case.dynamic_shared, seed=seed, limit=_LIMIT,
    )  # fmt: skip
    for i, (given, got) in enumerate(zip(told, arguments, strict=True)):
        if isinstance(given, Expect):
            wanted = np.asarray(given.result, dtype=got.dtype).reshape(got.shape)
            if given.near:
                np.testing.assert_allclose(got, wanted, rtol=given.near, err_msg=f"argument {i}")
            else:
                np.testing.assert_array_equal(got, wanted, err_msg=f"argument {i}")
        elif isinstance(got, np.ndarray):
            np.testing.assert_array_equal(got, before[i], err_msg=f"argument {i} must not change")
    assert done.printed == case.printed
    return done

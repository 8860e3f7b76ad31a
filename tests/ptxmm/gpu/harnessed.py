"""Tests of the library as modules, and what their launches show on our own machine."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import ptxmm
from litmus import cycles
from litmus.formats.printer import write
from litmus.test import Test
from ptxcore.diagnostics import InputError
from ptxmm.gpu.contract import GpuModule
from ptxmm.gpu.judging import judge
from ptxmm.gpu.layout import SeenStates
from ptxmm.gpu.module import checked, module
from ptxmm.gpu.parameters import SIMULATED, Parameters
from ptxmm.gpu.running import Until, observe
from ptxmm.gpu.simulator import Simulator

ROOT = Path(__file__).resolve().parents[3]
LIBRARY = sorted((ROOT / "litmus" / "library").rglob("*.litmus"))

#: Of generated tests: more than 500 of them can be placed.
_MOST_GENERATED = 1200


def generated(part: int, parts: int) -> Iterator[Test]:
    """One part of so many of the tests that are generated, of up to three threads in all places."""
    edges = "Pod**,PosWR,Rfe,Fre,Coe,Fence.sc.gpud*R,DpDatadW"
    made_of = cycles.enumerate(edges, size=(4, 6), threads=(2, 3), places="all")
    for test in islice(made_of, part, _MOST_GENERATED, parts):
        yield ptxmm.parse(write(test))


def named(name: str) -> Test:
    (path,) = [p for p in LIBRARY if p.stem == name]
    return loaded(path)


def loaded(path: Path) -> Test:
    test = ptxmm.load(path)
    assert isinstance(test, Test)
    return test


def made(test: Test, target: str = "sm_100a") -> GpuModule | None:
    """The module of a test; None for one that cannot be placed, which is told."""
    try:
        return checked(module(test, target))
    except InputError as error:
        assert all(d.span.line > 0 for d in error.diagnostics), error
        return None


def shown(of: GpuModule, launches: int, parameters: Parameters = SIMULATED, seed: int = 0) -> SeenStates:
    return observe(of, Simulator(of), parameters, Until(launches=launches), seed)[0]


def nothing_forbidden(of: GpuModule, seen: SeenStates) -> None:
    assert seen.misplaced == "", of.test.name
    assert seen.states.total() + seen.not_started + seen.not_ended == seen.instances
    judged = judge(of, seen, "ptx-9.0")
    assert not judged.forbidden and not judged.undecided, (of.test.name, judged.rows)

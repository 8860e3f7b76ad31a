"""What compilers made of real programs is explored: every kernel, to effects, without a refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from axioms.sat.proving import impossible
from ptxcore.check.module import read_and_check
from ptxcore.machine.explore.explorable import explorable
from ptxcore.machine.explore.instances import SHARED_BASE
from ptxcore.machine.explore.symbolic import explore
from ptxcore.machine.ir.effects import ThreadExecution
from ptxcore.machine.ir.windows import SHARED, SHARED_BITS
from ptxcore.machine.lower.module import lower
from ptxcore.machine.lower.ops import ExecutableModule
from ptxcore.machine.run.launch import parameter_bytes
from ptxcore.machine.run.special import LaunchShape, of_cta, places

SHARED_FILES = Path(__file__).parents[5] / "shared"
REAL = sorted(SHARED_FILES.glob("real/*.ptx"))
MUSEUM = sorted(SHARED_FILES.glob("kernels/*/*.ptx"))


def module(path: Path) -> ExecutableModule:
    read, found = read_and_check(path.read_text())
    assert not found
    return lower(read)


def threads(
    program: ExecutableModule, entry: str, arguments: list[int | bytes], shape: LaunchShape, unroll: int = 2
) -> list[ThreadExecution]:
    """The threads of the first and the last block of a launch."""
    made = explorable(program, entry, parameter_bytes(program.functions[entry].parameters, arguments), impossible)
    x, y, z = shape.grid
    found = []
    for index in dict.fromkeys([(0, 0, 0), (x - 1, y - 1, z - 1)]):
        registers = of_cta(shape, index)
        registers[SHARED_BASE] = SHARED | registers["cluster_ctarank"] << SHARED_BITS
        for place in places(shape.block):
            found.append(explore(made.thread({**registers, **place.special}), unroll=unroll, name="t"))
    return found


def addresses(executions: list[ThreadExecution]) -> set[Any]:
    return {
        e.address
        for x in executions
        for e in x.effects
        if e.kind in ("load", "store", "atom", "red", "mbarrier", "copy")
    }


@pytest.mark.part(2)
@pytest.mark.skipif(not REAL, reason="the files are not here")
@pytest.mark.parametrize("path", [p for p in REAL if "cub_sort" not in p.name], ids=lambda p: p.name)
def test_every_kernel_is_explored(path: Path) -> None:
    program = module(path)
    shape = LaunchShape((2, 1, 1), (3, 1, 1), (1, 1, 1), 0, 0, workspace=9 << 32)
    for code in [c for c in program.functions.values() if c.entry]:
        arguments: list[int | bytes] = []
        for i, parameter in enumerate(code.parameters):
            whole = parameter.elements > 1
            arguments.append(bytes(parameter.size) if whole else (i + 1) << 32 if parameter.size == 8 else 2)
        for execution in threads(program, code.name, arguments, shape):
            assert execution.finishes != 0


@pytest.mark.skipif(not MUSEUM, reason="the files are not here")
@pytest.mark.parametrize("path", MUSEUM, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_kernels_of_the_museum_are_explored_to_their_ends(path: Path) -> None:
    case = json.loads((path.parent / "case.json").read_text())
    launch = case["launch"]
    shape = LaunchShape(
        *(tuple(launch[key]) for key in ("grid", "block", "cluster")), 0, launch.get("dynamic_shared", 0)
    )
    arguments: list[int | bytes] = [
        (i + 1) << 32 if p["type"].endswith("*") else p["value"] for i, p in enumerate(case["params"])
    ]
    iterations = max([2, *case["loop_bound_hint"].values()])
    found = threads(module(path), case["entry"], arguments, shape, iterations)
    assert all(x.finishes != 0 for x in found)
    known = [a for a in addresses(found) if type(a) is int]
    assert len(known) == len(addresses(found)), "all addresses of these kernels are known"
    ends = {i + 1: 4 * p.get("elements", 0) * (2 if "64" in p["type"] else 1) for i, p in enumerate(case["params"])}
    for address in known:
        buffer, offset = address >> 32, address & 0xFFFF_FFFF
        assert (offset < ends[buffer]) if buffer else (SHARED <= address < SHARED + (1 << 28))
    # Every waiting loop of these kernels is seen to wait; only who tries to take a lock by exchanging is cut.
    assert all(cut.instruction is not None for x in found for cut in x.cuts)

"""Kernels in modules of their own, for what needs more than the registers of a thread: each has its module, its launch, and
its inputs, and all memory that it leaves is compared, byte by byte.

Inputs are integers, or so small that every order of a floating-point sum gives the same, and no sum of zeros has a sign that
an order chooses: what the manual leaves open decides no byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from gpu.modules import Machine, Unfit

from ptxcore.isa.form import Form, Use
from ptxcore.isa.targets import TARGETS, missing, target, version
from ptxcore.machine.run.launch import load
from ptxmm.running import launch

#: What modules are made for whose forms are gone since.
_OLD = (("6.4", "sm_70"), ("6.2", "sm_70"))


def number(name: str) -> int:
    """The number of a target."""
    found = target(name)
    assert found is not None, f"{name} is no architecture"
    return found.number


@dataclass(frozen=True)
class Whole:
    """A kernel `k`: `grid` CTAs of `block` threads, and a buffer for each of `data`, which it may write. Version and target
    of `text` have its instructions."""

    name: str
    text: str
    grid: int
    block: int
    data: tuple[bytes, ...]

    @cached_property
    def uses(self) -> frozenset[Use]:
        """The instructions that it consists of."""
        return frozenset(op.use for op in load(self.text).program.functions["k"].ops if op.use is not None)

    @property
    def forms(self) -> frozenset[Form]:
        return frozenset(use.form for use in self.uses)

    def at(self, its_version: str, its_target: str) -> str:
        """The module for another version and target."""
        text = re.sub(r"^\.version \S+", f".version {its_version}", self.text, flags=re.MULTILINE)
        return re.sub(r"^\.target \w+", f".target {its_target}", text, flags=re.MULTILINE)

    def _lacks(self, its_version: str, its_target: str) -> str:
        have = version(its_version), target(its_target)
        for use in self.uses:
            lacking = next((why for _, gate in use.gates() if (why := missing(gate, *have))), None)
            if lacking is not None:
                return lacking
            if use.form.until and missing(use.form.until, *have) is None:
                return f"is gone since {use.form.until}"
        return ""

    def lowest(self) -> str:
        """The module for the lowest target that has its instructions. Raises Unfit where none has."""
        ordered = sorted(TARGETS, key=lambda name: (number(name), not name[-1].isdigit(), name))
        for place in (*(("9.0", name) for name in ordered if number(name) >= 70), *_OLD):
            if not self._lacks(*place):
                return self.at(*place)
        raise Unfit("no target has all its instructions")

    def module_for(self, machine: Machine) -> str:
        """The module that a GPU takes. Raises Unfit, with what is missing."""
        wanted = ""
        for place in (*machine.places(), *(old for old in _OLD if number(machine.arch) >= number(old[1]))):
            lacking = self._lacks(*place)
            if not lacking:
                return self.at(*place)
            wanted = wanted or lacking
        raise Unfit(wanted)


def run_here(whole: Whole, text: str, seed: int | None = None) -> list[bytes]:
    """What the kernel leaves in its buffers on our machine, where threads take turns, or by a seed."""
    buffers = [np.frombuffer(bytearray(data), np.uint8) for data in whole.data]
    launch(load(text), "k", (whole.grid,), (whole.block,), buffers, seed=seed)
    return [buffer.tobytes() for buffer in buffers]


def probes() -> Iterator[Whole]:
    """All of them."""
    from gpu import whole_matrices  # late: it needs what tests of other folders have

    yield from whole_matrices.probes()


def first_difference(ours: list[bytes], theirs: list[bytes]) -> str:
    """Where two machines differ first; "" where they do not."""
    for index, (here, there) in enumerate(zip(ours, theirs, strict=True)):
        if here != there:
            at = next(i for i, (x, y) in enumerate(zip(here, there, strict=True)) if x != y)
            return f"buffer {index}, byte {at}: here {here[at : at + 8].hex()}, there {there[at : at + 8].hex()}"
    return ""

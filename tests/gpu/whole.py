"""Kernels in modules of their own, for what needs more than the registers of a thread: each has its module, its launch, and
its inputs, and all memory that it leaves is compared, byte by byte.

Inputs are integers, or so small that every order of a floating-point sum gives the same, and no sum of zeros has a sign that
an order chooses: what the manual leaves open decides no byte.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from gpu.modules import Machine, Unfit
from gpu.whole_images import must_be_makeable

from ptxcore.isa.form import Form, Use
from ptxcore.isa.table import candidates
from ptxcore.isa.targets import TARGETS, missing, target, version
from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.run.launch import load
from ptxcore.machine.run.memory import Segment
from ptxcore.machine.vector.choice import launch as by_machine
from ptxcore.values.tensor_map import decoded
from ptxmm.running import launch

#: Instructions of a launch, behind which it counts as one that does not end.
_LIMIT = 5_000_000
#: A target that has another number since PTX ISA 9.0, which ptxas 13.0 wants.
_RENAMED = 101
#: What modules are made for whose forms are gone since.
_OLD = (("6.4", "sm_70"), ("6.2", "sm_70"))


def number(name: str) -> int:
    """The number of a target."""
    found = target(name)
    assert found is not None, f"{name} is no architecture"
    return found.number


class Pointer(NamedTuple):
    """The address of a buffer, so many bytes behind its beginning."""

    buffer: int
    offset: int = 0


class Number(NamedTuple):
    """The bytes of a number, or of a structure."""

    data: bytes


class Map(NamedTuple):
    """A tensor map as our machine has it, and where its tensor is."""

    data: bytes
    buffer: int
    offset: int


class Image(NamedTuple):
    """A texture or a surface, by its handle on our machine."""

    handle: int


Argument = Pointer | Number | Map | Image


@dataclass(frozen=True)
class Whole:
    """A kernel: `grid` CTAs of `block` threads, and a buffer for each of `data`, which it may write. Version and target
    of `text` have its instructions. `given` is what its parameters get; where it says nothing, the address of each buffer.
    `places` are where buffers are on our machine, and `images` what is behind handles there. What `opaque` buffers hold
    at last differs by machine. One that `traps` ends by an error, and nobody can look at what it leaves."""

    name: str
    text: str
    grid: int
    block: int
    data: tuple[bytes, ...]
    given: tuple[Argument, ...] = ()
    entry: str = "k"
    places: tuple[int, ...] = ()
    images: tuple[tuple[int, Any], ...] = ()
    opaque: frozenset[int] = frozenset()
    traps: bool = False

    @cached_property
    def uses(self) -> frozenset[tuple[Use, ...]]:
        """The instructions that it consists of: each as its form has it, and as others do that have the same operands and
        are for other targets."""
        ops = load(self.text).program.functions[self.entry].ops
        return frozenset((op.use, *_alike(op)) for op in ops if op.use is not None)

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What each parameter gets."""
        return self.given or tuple(map(Pointer, range(len(self.data))))

    @property
    def forms(self) -> frozenset[Form]:
        return frozenset(use.form for some in self.uses for use in some)

    def at(self, its_version: str, its_target: str) -> str:
        """The module for another version and target."""
        text = re.sub(r"^\.version \S+", f".version {its_version}", self.text, flags=re.MULTILINE)
        return re.sub(r"^\.target \w+", f".target {its_target}", text, flags=re.MULTILINE)

    def _lacks(self, its_version: str, its_target: str) -> str:
        have = version(its_version), target(its_target)
        for some in self.uses:
            reasons = [_missing(use, have) for use in some]
            if all(reasons):
                return reasons[0]
        return ""

    def lowest(self) -> str:
        """The module for the lowest target that has its instructions. Raises Unfit where none has."""
        known = [name for name in TARGETS if number(name) != _RENAMED]
        ordered = sorted(known, key=lambda name: (number(name), not name[-1].isdigit(), name))
        for place in (*(("9.0", name) for name in ordered if number(name) >= 70), *_OLD):
            if not self._lacks(*place):
                return self.at(*place)
        raise Unfit("no target has all its instructions")

    def module_for(self, machine: Machine) -> str:
        """The module that a GPU takes. Raises Unfit, with what is missing."""
        for _, image in self.images:
            must_be_makeable(image)
        if any(isinstance(a, Map) and decoded(a.data).swizzle == "96B" for a in self.given):
            raise Unfit("CUDA makes no map with a swizzle of 96 bytes")
        wanted = ""
        for place in (*machine.places(), *(old for old in _OLD if number(machine.arch) >= number(old[1]))):
            lacking = self._lacks(*place)
            if not lacking:
                return self.at(*place)
            wanted = wanted or lacking
        raise Unfit(wanted)


def _alike(op: Op) -> Iterator[Use]:
    """The other forms of an instruction with the same operands."""
    assert op.use is not None
    form, instruction = op.use.form, op.instruction
    found = candidates(instruction.opcode, instruction.modifiers)
    for use in found if isinstance(found, tuple | list) else ():
        other = use.form
        same = [p.name for p in other.pattern.parameters] == [p.name for p in form.pattern.parameters]
        if other is not form and same and other.run is form.run and other.needs != form.needs and not other.only:
            yield use


def _missing(use: Use, have: tuple[Any, Any]) -> str:
    """What an instruction lacks; "" where it does not."""
    lacking = next((why for _, gate in use.gates() if (why := missing(gate, *have))), "")
    if not lacking and use.form.until and missing(use.form.until, *have) is None:
        return f"is gone since {use.form.until}"
    return lacking


def run_here(whole: Whole, text: str, seed: int | None = None) -> list[bytes]:
    """What the kernel leaves in its buffers on our machine, where threads take turns, or by a seed."""
    device = load(text)
    if not whole.given:
        buffers = [np.frombuffer(bytearray(data), np.uint8) for data in whole.data]
        launch(device, whole.entry, (whole.grid,), (whole.block,), buffers, seed=seed)
        return [buffer.tobytes() for buffer in buffers]
    segments = []
    for place, data in zip(whole.places, whole.data, strict=True):
        segment = device.memory.segments[place >> GLOBAL_BITS] = Segment(len(data), "a buffer")
        segment.data[:] = data
        segments.append(segment)
    device.memory.images.update(whole.images)
    arguments = [_here(whole, argument) for argument in whole.arguments]
    by_machine(device, whole.entry, (whole.grid, 1, 1), (whole.block, 1, 1), arguments, seed=seed, limit=_LIMIT)
    return [bytes(segment.data) for segment in segments]


def _here(whole: Whole, argument: Argument) -> int | bytes:
    """An argument on our machine."""
    if isinstance(argument, Pointer):
        return whole.places[argument.buffer] + argument.offset
    return argument.handle if isinstance(argument, Image) else argument.data


def probes() -> Iterator[Whole]:
    """All of them."""
    from gpu import whole_matrices, whole_others, whole_sync  # late: they need what tests of other folders have

    yield from whole_matrices.probes()
    yield from whole_others.probes()
    yield from whole_sync.probes()


def first_difference(ours: list[bytes], theirs: list[bytes], opaque: Collection[int] = ()) -> str:
    """Where two machines differ first; "" where they do not. Some buffers may be `opaque`."""
    for index, (here, there) in enumerate(zip(ours, theirs, strict=True)):
        if here != there and index not in opaque:
            at = next(i for i, (x, y) in enumerate(zip(here, there, strict=True)) if x != y)
            return f"buffer {index}, byte {at}: here {here[at : at + 8].hex()}, there {there[at : at + 8].hex()}"
    return ""

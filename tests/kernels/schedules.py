"""Kernel tests run under random schedules: what a run shows is among what exploration allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from axioms.cat.model import Model
from axioms.dependence import with_way
from axioms.engine import decide
from axioms.program import Program, asking
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import Device, load
from ptxcore.values import terms
from ptxcore.values.terms import signed
from ptxmm.kernels.expressions import TYPES
from ptxmm.kernels.launch import Buffer
from ptxmm.kernels.test import KernelTest, observed
from ptxmm.running import launch

State = dict[str, int]
#: A run that takes longer waits for something that does not come.
_LIMIT = 200_000


class Runs:
    """A kernel test ready to run: its modules loaded, its buffers made anew for each run."""

    def __init__(self, test: KernelTest) -> None:
        self.test = test
        self.devices: dict[str, Device] = {}
        for one in test.launches:
            if one.text not in self.devices:
                self.devices[one.text] = load(one.text, one.path)

    def run(self, seed: int) -> State | str:
        """The final values of what the checks speak of; or the kind of the error that the run ended with."""
        arrays: dict[str, Any] = {}
        for p in self.test.parameters:
            if isinstance(p, Buffer):
                width = TYPES[p.type].width
                values = [*p.init, *[0] * (p.elements - len(p.init))]
                arrays[p.name] = numpy.array(values, dtype=f"<u{width // 8}")
        for device in self.devices.values():
            device.reset()
        try:
            for number, one in enumerate(self.test.launches):
                device = self.devices[one.text]
                given = [arrays[p.name] if isinstance(p, Buffer) else _passed(p) for p in one.params]
                launch(
                    device, one.entry, one.grid, one.block, given, cluster=one.cluster,
                    dynamic_shared=one.dynamic_shared, seed=seed + number, limit=_LIMIT,
                )  # fmt: skip
        except KernelError as error:
            return error.kind
        state = {}
        for name, index in observed(self.test.checks):
            kind = TYPES[next(p.type for p in self.test.parameters if p.name == name)]
            value = int(arrays[name][index])
            state[f"{name}[{index}]"] = signed(value, kind.width) if kind.kind == "s" else value
        return state

    def results(self, count: int) -> Iterator[tuple[int, State | str]]:
        for seed in range(count):
            yield seed, self.run(seed)


def ends_with(program: Program, model: Model, state: State) -> bool:
    """Whether some execution ends with a state. A run has numbers of its own for values that nothing determines; the outcomes
    of a program are listed with others. So these are left open here, and any will do."""
    loose = with_way(program, "open") if program.undetermined else program
    as_seen = terms.all_of(terms.eq(o.value, state[o.label] & terms.mask(o.width)) for o in loose.observed)
    return decide(asking(loose, as_seen), model, settles=True, witnesses=False).positive > 0


def _passed(scalar: Any) -> Any:
    """The bits of a scalar as its parameter takes them."""
    if isinstance(scalar.value, bytes):
        return scalar.value
    if TYPES[scalar.type].is_float:
        width = TYPES[scalar.type].width
        return numpy.array([scalar.value], dtype=f"<u{width // 8}").view(f"<f{width // 8}")[0]
    return scalar.value

"""Inputs of kernels and their results, and our own machine as the place where they run."""

from __future__ import annotations

import random
from collections.abc import Sequence

from gpu.launches import Launch, Outcome
from gpu.probes import Case, Probe

from ptxcore.diagnostics import InputError
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import load


def draw_cases(probe: Probe, number: int, seed: object) -> list[Case]:
    """At least so many inputs, counted by threads."""
    chance = random.Random(f"{probe.instruction} {probe.name} {seed}")
    return [probe.draw(chance) for _ in range(-(-number // probe.threads))]


def launch_of(probe: Probe, cases: Sequence[Case]) -> Launch:
    data = b"".join(probe.inputs.pack(row) for case in cases for row in case)
    count = len(cases) * probe.threads
    return Launch(probe.name, -(-count // probe.block), probe.block, count, data, count * probe.outputs.stride)


def results_of(probe: Probe, cases: Sequence[Case], data: bytes) -> list[list[list[int]]]:
    """For each case and thread the outputs."""
    rows = [probe.outputs.unpack(data, i) for i in range(len(cases) * probe.threads)]
    return [rows[start : start + probe.threads] for start in range(0, len(rows), probe.threads)]


def run_here(module: str, launches: Sequence[Launch]) -> list[Outcome]:
    """Runs kernels on our own machine."""
    try:
        device = load(module)
    except InputError as error:
        return [Outcome(error=f"the module is refused: {error}")] * len(launches)
    found = []
    for one in launches:
        inputs = device.memory.allocate(max(len(one.data), 1), "inputs")
        outputs = device.memory.allocate(max(one.result_bytes, 1), "outputs")
        device.memory.at(inputs).data[: len(one.data)] = one.data
        try:
            device.launch(one.name, (one.grid, 1, 1), (one.block, 1, 1), (inputs, outputs, one.count))
            found.append(Outcome(bytes(device.memory.at(outputs).data[: one.result_bytes])))
        except KernelError as error:
            found.append(Outcome(error=f"our machine stops: {error}"))
        device.memory.free(inputs)
        device.memory.free(outputs)
    return found

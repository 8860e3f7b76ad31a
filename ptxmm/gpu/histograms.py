"""Histograms of tests: module, launches, judgement, and what went wrong on the way."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

from axioms.program import UnsupportedProgram
from litmus.test import Test
from ptxcore.diagnostics import InputError
from ptxcore.isa.targets import TARGETS
from ptxcore.isa.targets import target as target_named
from ptxcore.records import dataclass
from ptxmm.gpu.confidence import Confidence, confident
from ptxmm.gpu.confidence import document as confidence_document
from ptxmm.gpu.confidence import lines as confidence_lines
from ptxmm.gpu.contract import TARGET, VERSION, GpuModule
from ptxmm.gpu.driver import CudaError
from ptxmm.gpu.judging import JudgedRuns, judge
from ptxmm.gpu.layout import DoesNotFit
from ptxmm.gpu.module import checked, module
from ptxmm.gpu.parameters import Parameters
from ptxmm.gpu.running import Machine, Until, observe
from ptxmm.gpu.simulator import NoEnd, Simulator
from ptxmm.gpu.words import block, digest_of, document
from ptxmm.gpu.worker import Worker


class NoHistogram(Exception):
    """Why a test has no histogram, in a line or with its place."""


class Where:
    """Where tests run, and how: on the GPU of a `worker`, or on our own machine without one. `target`: of modules; None: the
    GPU's own. `ptxas`: the program that assembles them; None: the driver does."""

    def __init__(
        self,
        parameters: Parameters,
        *,
        target: str | None = None,
        worker: Worker | None = None,
        ptxas: str | None = None,
    ) -> None:
        self.parameters, self._worker, self._ptxas = parameters, worker, ptxas
        device = worker.device if worker is not None else None
        own = known_target(device.arch) if device is not None else TARGET
        #: What modules are written for: the first that has all that a test says. A GPU has its own architecture, with what is
        #: specific to it where that is needed; our own machine has whatever there is.
        if device is not None:
            self.targets = _targets(own) if own == device.arch else [own]  # what is specific runs nowhere else
        else:
            self.targets = [own, "sm_100a"]
        if target:
            self.targets = [target]
        self.version = device.ptx if device is not None else VERSION
        self.name = device.name if device is not None else Simulator.name
        self.driver = str(device.driver) if device is not None else Simulator.driver

    def made(self, test: Test) -> GpuModule:
        """The module of a test. Raises InputError."""
        first: InputError | None = None
        for target in self.targets:
            try:
                return checked(module(test, target, self.version))
            except InputError as error:
                first = first or error
        assert first is not None
        raise first

    def machine(self, made: GpuModule) -> Machine:
        """What runs a module. Raises CudaError where ptxas does not take it."""
        if self._worker is None:
            return Simulator(made)
        from ptxmm.gpu.device import OnGpu

        return OnGpu(made, self._worker, assembled(made, self._ptxas) if self._ptxas else None)

    def close(self) -> None:
        """Ends the worker."""
        if self._worker is not None:
            self._worker.close()


def known_target(arch: str) -> str:
    """What modules for a GPU are written for: its architecture, or where that came after PTX ISA 9.0 the newest that is known
    and that it runs as well."""
    own = target_named(arch)
    assert own is not None, arch
    known = [t for name in TARGETS if (t := target_named(name)) is not None and not t.suffix and t.number <= own.number]
    return str(max(known, key=lambda t: t.number))


def _targets(arch: str) -> list[str]:
    """An architecture, and with what is specific to it, where there is such."""
    return [name for name in (arch, f"{arch}a") if name in TARGETS]


def assembled(made: GpuModule, ptxas: str) -> bytes:
    """What a ptxas makes of a module. Raises CudaError with what it says."""
    with tempfile.TemporaryDirectory() as folder:
        source, output = os.path.join(folder, "test.ptx"), os.path.join(folder, "test.cubin")
        with open(source, "w", encoding="utf-8") as file:
            file.write(made.text)
        try:
            ran = subprocess.run([ptxas, f"-arch={made.target}", source, "-o", output], capture_output=True, text=True)
        except OSError as error:
            raise CudaError(f"{ptxas}: {error.strerror or error}") from None
        if ran.returncode:
            raise CudaError(f"{ptxas}: {(ran.stderr + ran.stdout).strip() or f'status {ran.returncode}'}")
        with open(output, "rb") as binary:
            return binary.read()


@dataclass
class Histogram:
    """What a test came to: `judged` by a model, in so many `launches` and `seconds` on a machine; the `confidence`, where it
    was asked for."""

    judged: JudgedRuns
    launches: int
    seconds: float
    machine: str
    confidence: Confidence | None = None

    def lines(self) -> list[str]:
        """As litmus7 prints it."""
        from ptxmm.checker import pointers

        test = self.judged.test
        places = pointers(test, [row.state for row in self.judged.rows])
        found = block(self.judged, digest_of(test), self.seconds, places)
        found.append(f"On {self.machine}: {self.judged.seen.instances} instances in {self.launches} launches")
        return found if self.confidence is None else [*found, *confidence_lines(self.confidence)]

    def document(self) -> dict[str, Any]:
        """As data."""
        found = document(self.judged, digest_of(self.judged.test), self.seconds, self.launches)
        return found if self.confidence is None else found | {"confidence": confidence_document(self.confidence)}


@contextlib.contextmanager
def explained(test: Test) -> Iterator[None]:
    """Makes `NoHistogram` of all that can be wrong with a test or its launches."""
    try:
        yield
    except InputError as error:
        raise NoHistogram(str(error)) from None
    except (UnsupportedProgram, NoEnd, DoesNotFit, CudaError) as error:
        raise NoHistogram(f"{test.identity}: error: {error}") from None


def histogram(
    test: Test, where: Where, model: str = "ptx-9.0", *, seconds: float | None = None, launches: int | None = None,
    seed: int = 0, timeout: float | None = 60.0, confidence: float | None = None, budget: float = 60.0,
) -> Histogram:  # fmt: skip
    """Launches a test for so many `seconds`, at most `launches` times, and judges what was seen by a model, which has `timeout`
    seconds for it. `confidence`: run its mutants, too, and take `budget` seconds for that; 0: say how likely a violation would
    have been seen in these launches. Launch number n has the seed
    `seed + n`. Raises Wrong."""
    with explained(test):
        made = where.made(test)
        seen, count, spent = observe(made, where.machine(made), where.parameters, Until(launches, seconds), seed)
        if seen.misplaced:
            raise NoHistogram(f"{test.identity}: error: a mistake of the harness, or of the GPU: {seen.misplaced}")
        found = Histogram(judge(made, seen, model, timeout=timeout), count, spent, where.name)
        if confidence is not None:
            found.confidence = confident(
                test, where.made, where.machine, where.parameters, model, confidence, budget, seed=seed, timeout=timeout,
                launches=launches, ran=None if confidence else seen,
            )  # fmt: skip
    return found


def histograms(tests: Iterable[Test], where: Where, model: str = "ptx-9.0", **how: Any) -> Iterator[Histogram]:
    """The histograms of tests, one by one as they are done; `how` as for `histogram`. Raises NoHistogram."""
    for test in tests:
        yield histogram(test, where, model, **how)

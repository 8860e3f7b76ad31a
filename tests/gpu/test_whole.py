"""Whole kernels: what can be tried of them without a GPU, and the comparison with one where there is one."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from campaigns import some

TESTS = Path(__file__).parents[1]
for folder in (TESTS, TESTS / "ptxcore" / "semantics", TESTS / "ptxcore" / "machine" / "run", TESTS / "tensors"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import ptxas  # noqa: E402
import reference  # noqa: E402
import test_tensor_reductions  # noqa: E402
from drivers import emulating  # noqa: E402
from gpu import left_out, recorded, whole, whole_sync  # noqa: E402
from gpu.modules import Machine, Unfit  # noqa: E402
from gpu.whole import Whole  # noqa: E402
from gpu.whole_cuda import CudaError, Job, WholeGpu, job_of  # noqa: E402

from ptxcore.check.module import read_and_check  # noqa: E402
from ptxcore.machine.run.faults import KernelError  # noqa: E402
from ptxcore.machine.run.launch import load  # noqa: E402
from ptxcore.values.tensor_map import EncodedTensorMap, encoded  # noqa: E402
from ptxmm.gpu.driver import LIBRARY  # noqa: E402

needs_ptxas = pytest.mark.skipif(ptxas.executable() is None, reason=f"no ptxas {ptxas.RELEASE} here")


@cache
def all_probes() -> tuple[Whole, ...]:
    return tuple(whole.probes())


def part_of(part: int) -> tuple[Whole, ...]:
    """One in so many of them."""
    return all_probes()[part::PARTS]


PARTS = 24


@pytest.mark.long
def test_every_form_of_their_sections_has_a_whole_kernel_or_a_reason() -> None:
    """With the test of kernels of one instruction: every form that is executed is compared, or has a reason."""
    there = {form for probe in all_probes() for form in probe.forms}
    compared = 0
    for form in reference.all_forms():
        assert form in there or not left_out.is_whole(form), form
        assert form not in there or not left_out.nowhere(form), form
        compared += left_out.is_whole(form)
    assert compared >= 250


@pytest.mark.long
def test_their_names_are_different() -> None:
    names = [probe.name for probe in all_probes()]
    assert len(names) == len(set(names)) > 450


@pytest.mark.long
@pytest.mark.parametrize("part", some(PARTS, range(PARTS)))
def test_whole_kernels_leave_the_same_under_another_schedule(part: int) -> None:
    for probe in part_of(part):
        text = probe.lowest()
        if probe.traps:
            with pytest.raises(KernelError, match="trap"):
                whole.run_here(probe, text)
            continue
        found = whole.run_here(probe, text)
        assert found != list(probe.data), f"{probe.name} leaves nothing"
        assert not whole.first_difference(found, whole.run_here(probe, text, seed=7)), probe.name


@pytest.mark.parametrize("name", whole_sync.KERNELS)
def test_kernels_that_wait_and_signal_leave_what_is_said(name: str) -> None:
    (probe,) = [probe for probe in whole_sync.probes() if probe.name == name]
    for seed in (None, 1, 2, 3):
        assert whole.run_here(probe, probe.text, seed) == [whole_sync.wanted(name)], seed


@pytest.mark.long
@needs_ptxas
@pytest.mark.parametrize("part", some(PARTS, range(PARTS)))
def test_ptxas_and_the_checker_take_the_whole_kernels(part: int) -> None:
    for probe in part_of(part):
        text = probe.lowest()
        arch = ptxas.architecture(text.split(".target ")[1].split()[0].strip(","))
        assert ptxas.check_module(text, arch) == [], probe.name
        assert [str(e) for e in read_and_check(text)[1] if e.severity == "error"] == [], probe.name


def test_what_a_test_launches_is_recorded_as_it_is() -> None:
    """A reduction whose result its own test compares with NumPy: what is recorded leaves the same."""
    (probe,) = recorded.of_test("test_tensor_reductions", "test_reductions_in_columns_are_those_of_numpy")
    (found,) = [a for a in probe.given if isinstance(a, whole.Map)]
    tensors: list[bytes] = []

    def kept(text: str, one: object, tensor: np.ndarray, shared: np.ndarray, *more: object) -> None:
        before = tensor.copy()
        launched(text, one, tensor, shared, *more)
        tensors.extend((before.tobytes(), tensor.tobytes()))

    launched = test_tensor_reductions.launched
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(test_tensor_reductions, "launched", kept)
        test_tensor_reductions.test_reductions_in_columns_are_those_of_numpy()
    before, after = tensors
    assert probe.data[found.buffer] == before != after == whole.run_here(probe, probe.text)[found.buffer]


def test_what_cannot_be_recorded_is_told() -> None:
    with pytest.raises(recorded.Unrecordable, match="nothing: it launches nothing"):
        recorded.recorded("nothing", lambda: None)
    (device,) = [load(whole_sync.KERNELS["addresses of spaces"].text)]
    with pytest.raises(recorded.Unrecordable, match="early: its module was loaded before"):
        recorded.recorded("early", lambda: device.prepare("k", (1, 1, 1), (1, 1, 1), [0]))


@pytest.mark.long
def test_a_gpu_that_lacks_instructions_is_told_what() -> None:
    (scaled,) = [probe for probe in all_probes() if "mxf8f6f4" in probe.name and "ordered" not in probe.name][:1]
    with pytest.raises(Unfit, match=r"needs .*sm_120"):
        scaled.module_for(Machine("sm_90", "9.0"))
    assert ".target sm_120" in scaled.module_for(Machine("sm_120", "9.0"))


def test_the_first_byte_that_differs_is_told() -> None:
    assert whole.first_difference([b"ab", b"abc"], [b"ab", b"abc"]) == ""
    assert whole.first_difference([b"ab", b"abc"], [b"ab", b"azc"], {1}) == ""
    assert whole.first_difference([b"ab", b"abc"], [b"ab", b"azc"]) == "buffer 1, byte 1: here 6263, there 7a63"


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WholeGpu]:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler here")
    library = tmp_path / "libfake.so"
    source = Path(__file__).with_name("fake_driver.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    monkeypatch.setenv(LIBRARY, str(library))
    gpu = WholeGpu(patience=20)
    yield gpu
    gpu.close()


def test_a_driver_gets_the_buffers_and_gives_them_back(fake: WholeGpu) -> None:
    given = (b"0123", b"4567", b"more")
    assert fake.run(Job(b"k whole", 2, 32, given)) == [b"0123", b"012 ", b"more"]
    with pytest.raises(CudaError, match="no such thing"):
        fake.run(Job(b"k // REFUSE", 2, 32, given))
    assert fake.run(Job(b"k whole", 2, 32, given))[0] == b"0123"


def test_a_driver_gets_maps_numbers_and_places_within_buffers(fake: WholeGpu) -> None:
    map_ = EncodedTensorMap("bf16", (64, 32), (128,), (16, 8), (1, 2), 0, "tiled", "none", "128B", "64B", "nan")
    data = (bytes(80), b"tensor")
    arguments = (whole.Map(encoded(map_), 0, 8), whole.Pointer(0, 4), whole.Number(b"1234"))
    (left, other) = fake.run(Job(b"maps", 1, 1, data, "maps", arguments))
    assert other == b"tensor" and left[:4] == bytes(4) and left[68:72] == b"1234"
    # Type, rank, how far the tensor is behind where the kernel was told to write, the last dimension, stride, box and step.
    assert struct.unpack("<8q", left[4:68]) == (9, 2, -4, 32, 128, 8, 2, 6 << 4 | 1 << 12)


def test_the_gpu_leaves_what_our_machine_leaves() -> None:
    try:
        gpu = WholeGpu()
    except CudaError as error:
        pytest.skip(f"no GPU: {error}")
    compared, found = 0, []
    try:
        for probe in all_probes():
            try:
                text = probe.module_for(Machine(gpu.device.arch, gpu.device.ptx))
            except Unfit:
                continue
            difference = differs(gpu, probe, text)
            found += [f"{probe.name}: {difference}"] if difference else []
            compared += 1
    finally:
        gpu.close()
    assert not found and compared


def differs(gpu: WholeGpu, probe: Whole, text: str) -> str:
    """Where a GPU differs from our machine first; "" where it does not."""
    try:
        theirs = gpu.run(job_of(probe, text))
    except CudaError as error:  # the others are compared all the same
        return "" if probe.traps and "cuCtxSynchronize" in str(error) else str(error)
    if probe.traps:
        return "it does not end by an error"
    return whole.first_difference(whole.run_here(probe, text), theirs, probe.opaque)


@pytest.mark.long
def test_a_gpu_that_differs_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of kernels that leave something and of one that ends by an error, on a driver whose GPU is our own machine."""
    monkeypatch.setenv(LIBRARY, emulating(tmp_path))
    gpu = WholeGpu(patience=120)
    probes = {probe.name: probe for probe in whole_sync.probes()}
    traps, hints = probes["a thread that traps"], probes["hints"]
    for probe, text, said in (
        (traps, traps.text, ""),
        (hints, hints.text, ""),
        (hints, traps.text, "LAUNCH_FAILED"),
        (traps, hints.text, "does not end"),
        (traps, "nothing", "cuModuleGetFunction"),
    ):
        found = differs(gpu, probe, text)
        assert said in found and bool(found) == bool(said)
    gpu.close()

"""Whole kernels: what can be tried of them without a GPU, and the comparison with one where there is one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
for folder in (TESTS, TESTS / "ptxcore" / "semantics", TESTS / "ptxcore" / "machine" / "run"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import ptxas  # noqa: E402
import reference  # noqa: E402
from gpu import left_out, whole  # noqa: E402
from gpu.modules import Machine, Unfit  # noqa: E402
from gpu.whole import Whole  # noqa: E402
from gpu.whole_cuda import CudaError, Job, WholeGpu  # noqa: E402

from ptxcore.check.module import read_and_check  # noqa: E402
from ptxmm.gpu.driver import LIBRARY  # noqa: E402

needs_ptxas = pytest.mark.skipif(ptxas.executable() is None, reason=f"no ptxas {ptxas.RELEASE} here")


@cache
def all_probes() -> tuple[Whole, ...]:
    return tuple(whole.probes())


def test_every_form_of_their_sections_has_a_whole_kernel_or_a_reason() -> None:
    there = {form for probe in all_probes() for form in probe.forms}
    compared = 0
    for form in reference.all_forms():
        if left_out.is_whole(form):
            assert (form in there) != bool(left_out.reason_against(form)), form
            compared += 1
    assert compared >= 50


def test_their_names_are_different() -> None:
    names = [probe.name for probe in all_probes()]
    assert len(names) == len(set(names)) > 100


def test_whole_kernels_leave_the_same_under_another_schedule() -> None:
    for probe in all_probes():
        text = probe.lowest()
        found = whole.run_here(probe, text)
        assert found != list(probe.data), f"{probe.name} leaves nothing"
        assert not whole.first_difference(found, whole.run_here(probe, text, seed=7)), probe.name


@needs_ptxas
def test_ptxas_and_the_checker_take_the_whole_kernels() -> None:
    for probe in all_probes():
        text = probe.lowest()
        arch = ptxas.architecture(text.split(".target ")[1].split()[0])
        assert ptxas.check_module(text, arch) == [], probe.name
        assert [str(e) for e in read_and_check(text)[1] if e.severity == "error"] == [], probe.name


def test_a_gpu_that_lacks_instructions_is_told_what() -> None:
    (scaled,) = [probe for probe in all_probes() if "mxf8f6f4" in probe.name and "ordered" not in probe.name][:1]
    with pytest.raises(Unfit, match=r"needs .*sm_120"):
        scaled.module_for(Machine("sm_90", "9.0"))
    assert ".target sm_120" in scaled.module_for(Machine("sm_120", "9.0"))


def test_the_first_byte_that_differs_is_told() -> None:
    assert whole.first_difference([b"ab", b"abc"], [b"ab", b"abc"]) == ""
    assert whole.first_difference([b"ab", b"abc"], [b"ab", b"azc"]) == "buffer 1, byte 1: here 6263, there 7a63"


def test_a_driver_gets_the_buffers_and_gives_them_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler here")
    library = tmp_path / "libfake.so"
    source = Path(__file__).with_name("fake_driver.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    monkeypatch.setenv(LIBRARY, str(library))
    gpu = WholeGpu(patience=20)
    try:
        given = (b"0123", b"4567", b"more")
        assert gpu.run(Job(b"k whole", 2, 32, given)) == [b"0123", b"012 ", b"more"]
        with pytest.raises(CudaError, match="no such thing"):
            gpu.run(Job(b"k // REFUSE", 2, 32, given))
        assert gpu.run(Job(b"k whole", 2, 32, given))[0] == b"0123"
    finally:
        gpu.close()


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
            theirs = gpu.run(Job(text.encode(), probe.grid, probe.block, probe.data))
            difference = whole.first_difference(whole.run_here(probe, text), theirs)
            found += [f"{probe.name}: {difference}"] if difference else []
            compared += 1
    finally:
        gpu.close()
    assert not found and compared

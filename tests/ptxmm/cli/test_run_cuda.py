"""`ptxmm run` of CUDA C++: compiled as `ptxmm check` does, with the same errors, told at lines of the source."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy
import pytest

import ptxmm
from ptxmm.cli.main import main

SOURCE = """namespace user {
__global__ void scale(unsigned *x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] *= FACTOR;
}
}
#ifdef BAD
nonsense
#endif
"""
LAUNCH = ["--entry", "scale", "--grid", "2", "--block", "2", "--arg", "0={}", "--arg", "1=4"]
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PTXMM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    path = Path("scale.cu")
    path.write_text(SOURCE, encoding="utf-8")
    return path


def launch(elements: int) -> list[str]:
    return [word.format(f"u32[{elements}]") for word in LAUNCH]


def run(elements: int, *more: str) -> int:
    nvcc = "-std=c++17 -arch=sm_90 -lineinfo -DFACTOR=3"
    return main(["run", "scale.cu", *launch(elements), "--nvcc", nvcc, *more])


@needs_nvcc
def test_cuda_is_compiled_and_run(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numpy.save("x.npy", numpy.arange(4, dtype=numpy.uint32))
    words = [word.format("x.npy") for word in LAUNCH]
    assert main(["run", str(source), *words, "--nvcc", "-DFACTOR=3", "--out", "0"]) == 0
    assert capsys.readouterr().out.endswith("= [0, 3, 6, 9]\n")


@needs_nvcc
def test_python_compiles_likewise(source: Path) -> None:
    source.write_text(SOURCE.replace("FACTOR", "3"), encoding="utf-8")
    x = numpy.arange(4, dtype=numpy.uint32)
    ptxmm.run(source, "scale", (2,), (2,), [x, 4])
    assert x.tolist() == [0, 3, 6, 9]


@needs_nvcc
def test_errors_of_the_kernel_stand_at_lines_of_the_source(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(3) == 1
    told = capsys.readouterr().err
    line = SOURCE.split("\n").index("    x[i] *= FACTOR;") + 1
    assert re.match(rf"scale\.cu:{line}:5: error: out of bounds: .*\(scale\.cu\.ptx:\d+: ld\.global", told), told
    assert "\n        x[i] *= FACTOR;\n" in told and "in CTA 1 thread 1" in told
    assert run(3, "--seed", "7") == 1 and capsys.readouterr().err.endswith("in the schedule of --seed 7\n")


def refusals(words: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What `run` and `check` say of a launch, each as it stands on a page of its own."""
    said = []
    for command in ("run", "check"):
        assert main([command, *words]) == 2
        printed = capsys.readouterr()
        said.append(printed.out + printed.err)
    return said


@pytest.mark.long
@needs_nvcc
def test_the_errors_of_compiling_are_those_of_check(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran, checked = refusals([str(source), *launch(4), "--nvcc", "-arch=sm_90 -DBAD -DFACTOR=3"], capsys)
    assert ran.startswith("scale.cu: error: nvcc does not compile scale.cu\n    hint: nvcc says:") and "nonsense" in ran
    assert all(line.strip() in checked for line in ran.splitlines())


def test_without_a_compiler_run_says_what_check_says(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NVCC", "no-such-compiler")
    ran, checked = refusals([str(source), *launch(4)], capsys)
    assert ran == "scale.cu: error: NVCC=no-such-compiler: there is no such program\n"
    assert ran.strip() in checked
    ran, checked = refusals(["gone.cu", *launch(4)], capsys)
    assert ran.startswith("gone.cu: error: cannot read gone.cu: ") and ran.strip() in checked

"""What nvcc makes of `tests/kernels/*.cu` reads and checks clean, for every target and way to compile."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from pathlib import Path

import pytest
from campaigns import some

from ptxcore.check.module import check
from ptxcore.syntax.printer import print_module
from ptxcore.syntax.reader import read_module

SOURCES = Path(__file__).parents[2] / "kernels"
KERNELS = sorted(SOURCES.glob("*.cu"))
TARGETS = ("sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120")
WAYS = {"": [], "lineinfo": ["-lineinfo"], "debug": ["-G"]}

# Every target and every way to compile once; the kernels that compile in about a second.
SMALL = (
    ("arithmetic", "sm_75", ""),
    ("barriers", "sm_80", "debug"),
    ("cluster", "sm_100", "lineinfo"),
    ("inline_ptx", "sm_90a", ""),
    ("language", "sm_90", "debug"),
    ("tcgen05", "sm_100a", "lineinfo"),
    ("textures", "sm_120", ""),
    ("tma", "sm_100a", ""),
    ("wmma", "sm_90", ""),
)

pytestmark = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc here")


def compiled(kernel: Path, target: str, way: str, folder: Path) -> str:
    ptx = folder / "kernel.ptx"
    command = ["nvcc", "-std=c++17", "--extended-lambda", "-w", "-ptx", f"-arch={target}", *WAYS[way]]
    done = subprocess.run([*command, "-o", str(ptx), str(kernel)], capture_output=True, text=True)
    if done.returncode and "Unsupported gpu architecture" in done.stderr:
        pytest.skip(f"this nvcc does not know {target}")
    assert done.returncode == 0, done.stderr[-2000:]
    return ptx.read_text()


def assert_clean(text: str) -> None:
    module, found = read_module(text)
    found = [*found, *check(module)]
    lines = text.split("\n")
    assert not found, "\n".join(d.render("kernel.ptx", lines) for d in found[:5])
    again, found = read_module(print_module(module))
    assert not found
    assert again == module


@pytest.mark.parametrize(("name", "target", "way"), some(6, SMALL))
def test_compiled_kernels_are_clean(name: str, target: str, way: str, tmp_path: Path):
    assert_clean(compiled(SOURCES / f"{name}.cu", target, way, tmp_path))


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("kernel", "target", "way"),
    list(itertools.product(KERNELS, TARGETS, WAYS)),
    ids=lambda value: value.stem if isinstance(value, Path) else value or "plain",
)
def test_every_kernel_for_every_target_is_clean(kernel: Path, target: str, way: str, tmp_path: Path):
    assert_clean(compiled(kernel, target, way, tmp_path))

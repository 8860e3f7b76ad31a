"""The benchmark script runs, stops at its limit, and checks what it measures."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from campaigns import some

import ptxmm

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPT = FOLDER / "bench.py"
SORT = FOLDER.parents[1] / "shared" / "real" / "cub_sort.sm_90.ptx"


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPT, *arguments], capture_output=True, encoding="utf-8", timeout=900, check=False
    )


@pytest.mark.long
def test_a_cold_command_is_measured() -> None:
    done = bench("cold", "--repeat", "1")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^  ptxmm check mp.litmus +\d", done.stdout, re.MULTILINE)


@pytest.mark.long
def test_a_family_grows_until_the_limit_in_every_column() -> None:
    done = bench("growth", "--family", "ticket-lock", "--limit", "0.002")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^     2 ", done.stdout, re.MULTILINE)
    assert done.stdout.count("> 0.002 s") == 3
    assert "WRONG" not in done.stdout


def test_an_unknown_part_is_refused() -> None:
    assert bench("hot").returncode == 2


# PTX modules: memory is bounded by the text, whatever is in it.

HEADER = ".version 9.0\n.target sm_90\n"
KERNEL = HEADER + ".entry k() {\n.reg .b32 r<9>;\n"
MODULES = {
    "short instructions": KERNEL + "ret;\n" * 750 + "}",
    "instructions": KERNEL + "".join(f"add.u32 r{i % 9}, r{i % 7}, {i};\n" for i in range(1250)) + "}",
    "labels": KERNEL + "".join(f"L{i}: bra L{i};\n" for i in range(420)) + "}",
    "variables": HEADER + "".join(f".global .u32 g{i};\n" for i in range(420)),
    "a table": HEADER + ".global .b8 t[5000] = {" + "1, " * 4200 + "1};",
    "debugging data": HEADER + ".section .debug_info {\n" + ".b8 1\n" * 1700 + "}",
    "mistakes": KERNEL + "".join(f"mov.b32 a{i}, b{i};\n" for i in range(210)) + "}",
}
MOST_HEAP = 100  # bytes for each byte of source


@pytest.fixture(scope="module")
def ptx() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ptx_benchmark", FOLDER / "ptx.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.long
@pytest.mark.parametrize("what", some(3, MODULES))
def test_reading_and_checking_take_less_than_a_hundred_bytes_for_each_of_the_source(ptx: ModuleType, what: str) -> None:
    text = MODULES[what]
    ptx.heap(KERNEL + "ret; }")  # what is imported on first use is no module's
    held, most = ptx.heap(text)
    assert 0 < held <= most < MOST_HEAP * len(text)


@pytest.mark.long
@pytest.mark.skipif(not SORT.exists(), reason="the folder `shared` is not beside the repository")
def test_a_real_module_takes_much_less(ptx: ModuleType) -> None:
    text = SORT.read_text()
    assert ptx.heap(text)[1] < MOST_HEAP / 4 * len(text)


def test_modules_are_measured(tmp_path: Path) -> None:
    (tmp_path / "small.ptx").write_text(MODULES["instructions"])
    (tmp_path / "broken.ptx").write_text(HEADER + "?")
    done = subprocess.run(
        [sys.executable, FOLDER / "ptx.py", tmp_path / "small.ptx", tmp_path / "broken.ptx", "--repeat", "1"],
        capture_output=True, encoding="utf-8", timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"^small.ptx +0\.0\d +125\d +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+$", done.stdout, re.MULTILINE)
    assert "broken.ptx: line 3: '?' cannot stand" in done.stdout


@pytest.mark.long
def test_pictures_are_measured_beside_those_of_dot() -> None:
    tests = [
        str(FOLDER.parent / "litmus/library/locks/lock+cas.acq+st.rlx.litmus"),
        str(FOLDER.parent / "examples/lock.toml"),
    ]
    command = [sys.executable, FOLDER / "pictures.py", *tests]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) > 3
    (own,) = re.findall(r"^\| own \| \d+ \(\d+\) \| [\d,]+ \| (\d+) \| (\d+) \|", done.stdout, re.MULTILINE)
    assert own == ("0", "0")  # no line runs through a box, and no label stands on anything
    assert "| dot |" in done.stdout or "not installed" in done.stdout


@pytest.mark.long
def test_a_server_under_load_loses_nothing() -> None:
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    done = subprocess.run(
        [sys.executable, FOLDER / "serve.py", "--clients", "8", "--seconds", "3", "--jobs", "2"],
        capture_output=True,
        encoding="utf-8",
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+) answers ", done.stdout, re.MULTILINE)}
    assert counts["check"] > 5
    assert "; lost: 0\n" in done.stdout and "workers left behind: none\n" in done.stdout


@pytest.mark.long
def test_whole_launches_are_measured_in_processes_of_their_own() -> None:
    done = subprocess.run(
        [sys.executable, FOLDER / "whole.py", "streamk", "--limit", "600"],
        capture_output=True, encoding="utf-8", timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"^streamk:right +512  ok +\d+\.\d\d", done.stdout, re.MULTILINE)
    assert re.search(r"^streamk:wrong1 +512  no ", done.stdout, re.MULTILINE)
    assert "3 tests: 0 with another verdict than expected, 0 left open; at most" in done.stdout


def test_the_version_is_told_without_a_command() -> None:
    """What any command needs is not loaded for it: it was five times as long."""
    asked = [sys.executable, "-X", "importtime", "-m", "ptxmm", "--version"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, cwd=FOLDER.parent)
    assert done.stdout == f"ptxmm {ptxmm.__version__}\n"
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "ptxmm.cli.options" in loaded
    assert not [name for name in loaded if name.startswith(("ptxmm.campaigns", "ptxmm.checker", "litmus.", "axioms."))]


# Published kernels, right and with a mistake.


@pytest.mark.long
@pytest.mark.skipif(not SORT.is_file(), reason="no published kernels here")
def test_a_published_kernel_is_measured_with_and_without_a_mistake() -> None:
    command = [sys.executable, str(FOLDER / "published.py"), str(SORT.parents[1]), "block"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300, check=True)
    _, right, wrong = done.stdout.splitlines()
    assert re.match(r"block +128  ok ", right)
    assert re.match(r"block, a mistake +128  no .* \d+, \d+$", wrong)

"""The wheel carries everything: built from the tree, installed into a fresh environment, run far from the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("axioms", "litmus", "ptxcore", "ptxmm")

pytestmark = pytest.mark.long  # to build and install takes seconds


def run(command: Sequence[str | Path], folder: Path) -> str:
    """What a command prints. Fails the test when the command fails."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that what an earlier build left in the tree does not count."""
    folder = tmp_path_factory.mktemp("build")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    (source / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "ptxmm.1", source / "docs")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder, source], folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment's programs. Its dependencies are those of this environment."""
    home = tmp_path_factory.mktemp("elsewhere")
    run([sys.executable, "-m", "venv", "--without-pip", home / "venv"], home)
    programs = home / "venv" / ("Scripts" if os.name == "nt" else "bin")
    python = programs / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python", python)
    run([*pip, "install", "--no-deps", "--no-index", wheel], home)
    (packages,) = {
        Path(run([python, "-c", f"import {name}; print({name}.__file__)"], home)).parents[1] for name in PACKAGES
    }
    assert home in packages.parents
    # Behind the wheel's own packages; path files over there, such as a checkout's, are not looked at.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return programs


def test_the_wheel_holds_the_packages_and_their_data(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith((".dist-info", ".data"))} == set(PACKAGES)
    assert [p for p in PACKAGES if f"{p}/py.typed" not in names] == []
    for pattern in (
        "axioms/models/*.cat",
        "litmus/library/**/*.litmus",
        "litmus/library/**/*.ptx",
        "*/**/*.lark",
        "*/topics/*.md",
        "*/exercises/*",
        "*/web/static/*.*",
        "*/**/*.py",
    ):
        in_tree = {
            p.relative_to(ROOT).as_posix()
            for p in ROOT.glob(pattern)
            if p.relative_to(ROOT).parts[0] in PACKAGES and p.name != "__pycache__"
        }
        assert in_tree, pattern
        assert in_tree - set(names) == set()


def test_the_installed_command_lists_models_and_checks_the_library(installed: Path, tmp_path: Path) -> None:
    told = run([installed / "ptxmm", "models"], tmp_path).splitlines()
    assert [line.split()[0] for line in told[::2]] == ["ptx-6.0", "ptx-7.5", "ptx-9.0"]
    find = "import importlib.resources as r; print(r.files('litmus') / 'library' / 'message-passing')"
    folder = run([installed / "python", "-c", find], tmp_path).strip()
    assert ROOT not in Path(folder).parents
    last = run([installed / "ptxmm", "check", "--jobs", "2", folder], tmp_path).splitlines()[-1]
    count = len(list((ROOT / "litmus" / "library" / "message-passing").glob("*.litmus")))
    assert last.startswith(f"{count} tests under ptx-9.0: {count} ok;")


def test_the_installed_command_has_exercises_completion_and_a_man_page(installed: Path, tmp_path: Path) -> None:
    run([installed / "ptxmm", "learn", "--write", "exercises"], tmp_path)
    shipped = {path.name for path in (ROOT / "ptxmm" / "exercises").iterdir() if path.suffix in (".litmus", ".ptx")}
    assert {path.name for path in (tmp_path / "exercises").iterdir()} == shipped and len(shipped) > 10
    assert "complete -F _ptxmm ptxmm" in run([installed / "ptxmm", "completion", "bash"], tmp_path)
    page = installed.parent / "share" / "man" / "man1" / "ptxmm.1"
    assert page.read_text(encoding="utf-8") == (ROOT / "docs" / "ptxmm.1").read_text(encoding="utf-8")


@pytest.mark.parametrize("model", ["ptx-6.0", "ptx-7.5", "ptx-9.0"])
def test_the_installed_python_interface_finds_every_model(installed: Path, tmp_path: Path, model: str) -> None:
    program = f"""
import importlib.resources, ptxmm
path = importlib.resources.files("litmus") / "library" / "message-passing" / "MP+rel+acq.litmus"
print(ptxmm.check(ptxmm.load(path), model="{model}").verdict)
"""
    assert run([installed / "python", "-c", program], tmp_path).split() == ["ok"]

"""The GitHub action and the pre-commit hooks, tested by running what they run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from campaigns import some

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
HOOKS = {h["id"]: h for h in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
LITMUS = """PTX MP
{ x = 0; y = 0; }
 P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
 st.weak.u32 [x], 1 | ld.acquire.gpu.u32 %r0, [y] ;
 st.RELEASE.gpu.u32 [y], 1 | ld.weak.u32 %r1, [x] ;
~exists (1:r0 = 1 /\\ 1:r1 = 0)
"""


@pytest.fixture
def project(tmp_path: Path, scripts: Path) -> Path:
    """A repository with a good test, and a file that is none. Beside it stands what installing would give."""
    (tmp_path / "ptxmm").mkdir()
    (tmp_path / "ptxmm" / "bin").symlink_to(scripts)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "good.litmus").write_text(LITMUS.replace("RELEASE", "release"), encoding="utf-8")
    (folder / "pyproject.toml").write_text("[project]\nname = 'other'\n", encoding="utf-8")
    return folder


def weaken(project: Path) -> None:
    (project / "weak.litmus").write_text(LITMUS.replace("RELEASE", "relaxed"), encoding="utf-8")


# The action.


def run_step(name: str, temp: Path, project: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Runs a step as GitHub does: its variables from the inputs, its script with bash."""
    step = next(s for s in ACTION["runs"]["steps"] if s["name"] == name)
    values = {f"inputs.{key}": str(about.get("default", "")) for key, about in ACTION["inputs"].items()}
    values |= {f"inputs.{key.replace('_', '-')}": value for key, value in inputs.items()}
    values |= {"github.action_path": str(ROOT), "runner.temp": str(temp)}
    environment = {
        key: re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda m: values[m[1]], value) for key, value in step["env"].items()
    }
    assert step["shell"] == "bash" and "${{" not in step["run"]  # inputs reach the script as variables only
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=project, env={**os.environ, "PYTHONPATH": str(ROOT), **environment}, capture_output=True, text=True,
        timeout=900, check=False,
    )  # fmt: skip


def test_the_action_is_a_composite_one_with_described_inputs() -> None:
    assert ACTION["name"] and ACTION["description"] and ACTION["runs"]["using"] == "composite"
    assert all(about["description"] for about in ACTION["inputs"].values())
    assert [key for key, about in ACTION["inputs"].items() if about.get("required")] == ["paths"]


def test_the_action_passes_and_fails_as_the_tests_do(tmp_path: Path, project: Path) -> None:
    good = run_step("Check", tmp_path, project, paths="good.litmus .")
    assert good.returncode == 0, good.stderr
    assert "2 tests under ptx-9.0: 2 ok" in good.stdout and "::error" not in good.stdout
    weaken(project)
    bad = run_step("Check", tmp_path, project, paths=".")
    assert bad.returncode == 1
    assert re.search(r"^::error file=weak.litmus,line=6,title=.*has no release semantics", bad.stdout, re.MULTILINE)


def test_the_action_takes_a_baseline_a_model_and_writes_sarif(tmp_path: Path, project: Path) -> None:
    weaken(project)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [tmp_path / "ptxmm/bin/ptxmm", "check", ".", "--write-baseline", "known.json"],
        cwd=project,
        env=environment,
        check=False,
    )
    done = run_step("Check", tmp_path, project, paths=".", baseline="known.json", sarif="out.sarif", model="ptx-7.5")
    assert done.returncode == 0, done.stderr
    assert "under ptx-7.5" in done.stdout
    document = json.loads((project / "out.sarif").read_text(encoding="utf-8"))
    assert [r["baselineState"] for r in document["runs"][0]["results"]] == ["unchanged"]


def test_the_action_leaves_the_model_to_the_project(tmp_path: Path, project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.ptxmm]\nmodel = "ptx-7.5"\n', encoding="utf-8")
    assert "under ptx-7.5" in run_step("Check", tmp_path, project, paths=".").stdout
    assert "under ptx-6.0" in run_step("Check", tmp_path, project, paths=".", model="ptx-6.0").stdout


def test_the_action_reads_every_line_of_its_paths(tmp_path: Path, project: Path) -> None:
    weaken(project)
    assert run_step("Check", tmp_path, project, paths="good.litmus").returncode == 0
    for paths in ("good.litmus\nweak.litmus\n", "\n\n  good.litmus \r\n\r\n weak.litmus", "@list\n-- good.litmus"):
        (project / "list").write_text("weak.litmus\n", encoding="utf-8")
        done = run_step("Check", tmp_path, project, paths=paths)
        assert done.returncode == 1 + ("--" in paths) and "weak.litmus" in done.stdout, done.stderr
    assert run_step("Check", tmp_path, project, paths=" \n").returncode == 2


def test_the_action_takes_names_with_blanks(tmp_path: Path, project: Path) -> None:
    weaken(project)
    (project / "weak.litmus").rename(project / "my weak.litmus")
    (project / "my list").write_text("my weak.litmus\n", encoding="utf-8")
    for paths in ("good.litmus\n  my weak.litmus \r\n", "@my list"):
        done = run_step("Check", tmp_path, project, paths=paths)
        assert done.returncode == 1 and "my weak.litmus" in done.stdout, done.stderr


@pytest.mark.parametrize("spoil", some(2, [True, False]))
def test_the_action_runs_once_and_keeps_the_status(tmp_path: Path, project: Path, scripts: Path, spoil: bool) -> None:
    command = tmp_path / "ptxmm" / "bin" / "ptxmm"
    command.parent.unlink()
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\necho run >> runs\nexec "{scripts}/ptxmm" "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    weaken(project)
    if spoil:
        (project / "bad.litmus").write_text("PTX", encoding="utf-8")
    files = {"sarif": "out.sarif", "junit": "out.xml", "html": "pages"}
    done = run_step("Check", tmp_path, project, paths=".", jobs="1", **files)
    assert done.returncode == 1 + spoil
    assert "weak" in (project / "pages" / "index.html").read_text(encoding="utf-8")
    assert (project / "runs").read_text(encoding="utf-8") == "run\n"
    assert len(json.loads((project / "out.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]) == 1
    suites = ElementTree.parse(project / "out.xml").getroot()
    assert (suites.get("failures"), suites.get("errors")) == ("1", str(int(spoil)))
    assert run_step("Check", tmp_path, project, paths="good.litmus", sarif="no/such/folder").returncode == 2


def test_the_action_does_not_take_inputs_for_commands(tmp_path: Path, project: Path) -> None:
    done = run_step("Check", tmp_path, project, paths="$(touch hacked) `touch hacked`; touch hacked")
    assert done.returncode == 2 and not (project / "hacked").exists()


@pytest.mark.campaign
def test_the_action_installs_what_it_runs(tmp_path: Path, project: Path) -> None:
    (tmp_path / "ptxmm" / "bin").unlink()
    done = run_step("Install ptxmm", tmp_path, project, python=sys.executable)
    assert done.returncode == 0, done.stderr
    environment: dict[str, Any] = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    command = [str(tmp_path / "ptxmm" / "bin" / "ptxmm"), "check", "."]
    assert subprocess.run(command, cwd=project, env=environment, check=False).returncode == 0


# The hooks.


def run_hook(name: str, project: Path, files: list[str], *more: str) -> subprocess.CompletedProcess[str]:
    """Runs a hook as pre-commit does: on the files that it asks for, with `more` before its arguments."""
    hook = HOOKS[name]
    wanted = [f for f in files if re.search(hook["files"], f)]
    if not wanted:
        return subprocess.CompletedProcess([], 0, "", "")
    command = [*shlex.split(hook["entry"]), *more, *hook.get("args", ())]
    command += wanted if hook.get("pass_filenames", True) else []
    path = f"{project.parent / 'ptxmm/bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command, cwd=project, env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        timeout=900, check=False,
    )  # fmt: skip


def test_hooks_have_what_pre_commit_asks_for() -> None:
    for hook in HOOKS.values():
        assert {"id", "name", "entry", "language", "files"} <= set(hook)
        assert hook["language"] == "python"
        re.compile(hook["files"])


@pytest.mark.parametrize(("weak", "status"), [(False, 0), (True, 1)])
def test_the_hook_checks_all_tests(project: Path, weak: bool, status: int) -> None:
    if weak:
        weaken(project)
    done = run_hook("ptxmm-check", project, ["good.litmus", "pyproject.toml"])
    assert done.returncode == status, done.stdout + done.stderr
    assert "pyproject" not in done.stdout + done.stderr


KERNEL = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k() { ret; }
"""


def test_the_hook_runs_what_changed(project: Path) -> None:
    """What fails and did not change is not run; a kernel test runs when its code changes, and all do when a model does."""
    weaken(project)
    (project / "k.ptx").write_text(KERNEL, encoding="utf-8")
    (project / "other.ptx").write_text(KERNEL, encoding="utf-8")
    (project / "m.cat").write_text("", encoding="utf-8")
    for name in ("k", "other"):
        test = f'ptx = "{name}.ptx"\nentry = "k"\ngrid = 1\nblock = 1\n[check]\nterminates = true\n'
        (project / f"{name}.toml").write_text(test, encoding="utf-8")
    wanted = {
        ("good.litmus",): {"good.litmus"},
        ("good.litmus", "weak.litmus"): {"good.litmus", "weak.litmus"},
        ("k.ptx",): {"k.toml"},
        ("k.toml", "other.ptx"): {"k.toml", "other.toml"},
        ("m.cat",): {"good.litmus", "weak.litmus", "k.toml", "other.toml"},
    }
    for files, tests in wanted.items():
        done = run_hook("ptxmm-check", project, list(files), "--junit", "report.xml")
        cases = ElementTree.parse(project / "report.xml").iter("testcase")
        assert {Path(case.attrib["file"]).name for case in cases} == tests
        assert done.returncode == ("weak.litmus" in tests), done.stdout + done.stderr


def test_the_hook_checks_modules(project: Path) -> None:
    (project / "a.ptx").write_text(".version 9.0\n.target sm_90\n.address_size 64\n", encoding="utf-8")
    assert run_hook("ptxmm-lint", project, ["a.ptx", "README.md"]).returncode == 0


def test_the_hook_reports_bad_modules(project: Path) -> None:
    (project / "a.ptx").write_text(".version 9.0\n.target sm_90\n.address_size 64\nnonsense\n", encoding="utf-8")
    done = run_hook("ptxmm-lint", project, ["a.ptx"])
    assert done.returncode == 1 and "a.ptx:4" in done.stdout + done.stderr


def test_hooks_leave_other_files_alone(project: Path) -> None:
    for name in HOOKS:
        assert run_hook(name, project, ["README.md", "a.py"]).returncode == 0

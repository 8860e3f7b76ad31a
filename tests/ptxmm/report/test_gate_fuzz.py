"""Whatever way a test fails in, every report and every front door says so: the exit status is not 0, and the failure is named.

What JSON says of a test is held to what is known of it, and every other report to JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest
from agreement import compared
from campaigns import lengths, some
from generated_failures import WAYS, Failure, failures, good_test
from warm import commands, read_modules

from ptxmm.checker import Checker
from ptxmm.cli.main import main
from ptxmm.cli.options import FORMATS

yaml = pytest.importorskip("yaml")
pytest_plugins = "pytester"
ROOT = Path(__file__).resolve().parents[3]
DOORS = ("file", "folder", "list")
#: The formats that are held to what JSON says.
SAID = [form for form in FORMATS if form != "json"]
#: Each run is cut into so many tests, which different processes take.
PARTS = 8
MANY_PARTS = 20
STATUS = {"error": 2, "undecided": 3, "bounded": 3}


@contextlib.contextmanager
def crashing() -> Iterator[None]:
    """Workers die at files that are called `bad`."""
    genuine, parent = Checker._check, os.getpid()

    def dying(self: Checker, item: Any) -> Any:
        if "bad" in str(item) and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return genuine(self, item)

    Checker._check = dying  # type: ignore[method-assign]
    try:
        yield
    finally:
        Checker._check = genuine  # type: ignore[method-assign]


class Gate:
    """A folder with one test that fails and one that passes, maybe a baseline that knows the same of another test, and what the
    command says of them."""

    def __init__(self, failure: Failure, folder: Path, capsys: pytest.CaptureFixture[str], random: Random) -> None:
        self.failure, self.folder, self.capsys = failure, folder, capsys
        folder.mkdir()
        failure.write(folder)
        self.beside = random.random() < 0.7
        if self.beside:
            (folder / "good.litmus").write_text(good_test(random), encoding="utf-8")
        self.options = ["--baseline", "other.json"] * (random.random() < 0.3)
        known = [{"test": "other.litmus", "kind": kind, "place": "", "count": 9} for kind in failure.kinds]
        (folder / "other.json").write_text(json.dumps({"ptxmm-baseline": 1, "findings": known}), encoding="utf-8")
        (folder / "list").write_text(f"# tests\n{failure.path}\n" + "good.litmus\n" * self.beside, encoding="utf-8")

    def paths(self, door: str) -> list[str]:
        return {"file": [self.failure.path], "folder": ["."], "list": ["@list"]}[door]

    def run(self, door: str, form: str) -> tuple[int, str, str]:
        arguments = ["check", "--format", form, *self.failure.arguments]
        jobs = ["--jobs", "2", "--timeout", "60"] if self.failure.crashes else ["--jobs", "1"]
        with contextlib.chdir(self.folder), crashing() if self.failure.crashes else contextlib.nullcontext():
            status = main([*arguments, *jobs, *self.options, "--", *self.paths(door)])
        printed = self.capsys.readouterr()
        return status, printed.out.replace("./", ""), printed.err.replace("./", "")  # folders name files so

    def check(self, door: str, form: str, truth: list[dict[str, Any]]) -> None:
        """That a report tells of every finding of the failure, by every door."""
        status, out, err = self.run(door, form)
        said = f"{self.failure.way} by {door} as {form}: {status}\n{out}\n{err}"
        assert status == self.status(truth), said
        if self.failure.refused:
            assert not out and self.failure.refused in err, said
        else:
            assert truth and NAMED[form](self.failure, truth, out, err), said
        compared(status)

    def status(self, truth: list[dict[str, Any]]) -> int:
        asked = {STATUS.get(f["kind"], 1) for f in truth} | ({3} if self.failure.timeout and self.beside else set())
        return 2 if self.failure.refused else next(s for s in (2, 1, 3) if s in asked)

    def truth(self, door: str) -> list[dict[str, Any]]:
        """What JSON says of the test: findings, held to what is known of it."""
        status, out, err = self.run(door, "json")
        if self.failure.refused:
            assert status == 2 and not out and self.failure.refused in err
            return []
        (test,) = [t for t in json.loads(out)["tests"] if os.path.normpath(t["path"]) == self.failure.test]
        kinds = {f["kind"] for f in test["findings"]}
        assert test["verdict"] in self.failure.verdicts and kinds & set(self.failure.kinds), (self.failure, test, err)
        assert not any(f["known"] for f in test["findings"])
        assert status == self.status(test["findings"])
        return test["findings"]  # type: ignore[no-any-return]


# Whether a report names each finding.


def _in_text(failure: Failure, truth: list[dict[str, Any]], out: str, err: str) -> bool:
    if "error" in failure.verdicts:
        return re.search(rf"^(\./)?{re.escape(failure.path)}\S*: error: ", err, re.MULTILINE) is not None
    verdicts = "|".join(failure.verdicts)
    row = rf"^(?:.*  under .*\n    )?({verdicts})(?:$|[:;] |\s+(\./)?(\S+  under|{re.escape(failure.test)} )).*$"
    found = re.search(row, out, re.MULTILINE)
    return found is not None and ("expected" in out or found[1] == "undecided")


def _in_junit(failure: Failure, truth: list[dict[str, Any]], out: str, err: str) -> bool:
    root = ElementTree.fromstring(out)
    assert int(root.get("failures") or 0) + int(root.get("errors") or 0) > 0
    file = failure.test.rpartition(":")[0] or failure.test
    cases = [c for c in root.iter("testcase") if os.path.normpath(c.get("classname") or "") == file]
    wrong = [child for c in cases for child in c if child.tag in ("failure", "error")]
    text = "\n".join("".join(child.itertext()) for child in wrong)
    return len(wrong) == 1 and all(_plain(f["message"]) in _plain(text) for f in truth)


def _in_sarif(failure: Failure, truth: list[dict[str, Any]], out: str, err: str) -> bool:
    (run,) = json.loads(out)["runs"]
    notices = run["invocations"][0]["toolExecutionNotifications"]
    assert run["invocations"][0]["executionSuccessful"] == (not notices)
    told = {(r["ruleId"], r["message"]["text"]) for r in run["results"] if r["level"] == "error"}
    told |= {(n["descriptor"]["id"], n["message"]["text"]) for n in notices}
    return all(any(k == f["kind"] and f["message"] in text and failure.path in text for k, text in told) for f in truth)


def _in_github(failure: Failure, truth: list[dict[str, Any]], out: str, err: str) -> bool:
    found = re.findall(r"^::error file=[^,]+,line=\d+(?:,col=\d+)?,title=(.*?)%3A ([\w-]+)::(.+)$", out, re.MULTILINE)
    return all(any(kind == f["kind"] and failure.path in title for title, kind, _ in found) for f in truth)


def _in_herd(failure: Failure, truth: list[dict[str, Any]], out: str, err: str) -> bool:
    lines = [line for line in err.splitlines() if failure.path in line]
    return all(any(f"{f['kind']}: " in line for line in lines) for f in truth)


def _in_json(failure: Failure, truth: list[dict[str, Any]], out: str, err: str) -> bool:
    tests = [t for t in json.loads(out)["tests"] if os.path.normpath(t["path"]) == failure.test]
    return [[f["kind"] for f in t["findings"]] for t in tests] == [[f["kind"] for f in truth]]


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() and c.isascii() else " " for c in text)


NAMED: dict[str, Callable[[Failure, list[dict[str, Any]], str, str], bool]] = {
    "json": _in_json, "text": _in_text, "junit": _in_junit, "sarif": _in_sarif, "github": _in_github, "herd": _in_herd,
}  # fmt: skip


def gates(
    folder: Path, capsys: pytest.CaptureFixture[str], seed: int, count: int, part: int, parts: int = PARTS
) -> Iterator[tuple[Gate, Random]]:
    """One part of so many failures."""
    read_modules()  # once, and not in each process that decides a test
    for i, failure in list(enumerate(failures(seed, count)))[part::parts]:
        random = Random(f"{seed} beside {i}")
        yield Gate(failure, folder / str(i), capsys, random), random


@pytest.mark.parametrize("part", some(PARTS, range(PARTS)))
@pytest.mark.compares(1.0)
def test_whatever_fails_is_reported(part: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each failing test in each format by some door, and by each door in some format."""
    for gate, random in gates(tmp_path, capsys, 1, len(WAYS), part):
        truth = {door: gate.truth(door) for door in DOORS}
        for number, form in enumerate(random.sample(SAID, len(SAID))):
            door = DOORS[number % len(DOORS)]
            gate.check(door, form, truth[door])


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(MANY_PARTS))
@pytest.mark.compares(1.0)
def test_whatever_fails_is_reported_by_every_door_in_every_format(
    part: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for gate, _ in gates(tmp_path, capsys, 2, 500, part, MANY_PARTS):
        for door in DOORS:
            truth = gate.truth(door)
            for form in FORMATS:
                gate.check(door, form, truth)


# pytest.


def check_pytest(pytester: pytest.Pytester, seed: int, count: int) -> None:
    """All of them at once, by what they ask of the run: each is told as failed, and what stands beside passes."""
    groups: dict[tuple[str, str], list[Failure]] = {}
    for failure in failures(seed, count):
        if not failure.options and not failure.crashes:  # no such options here, and no workers of its own
            groups.setdefault((failure.timeout, failure.model), []).append(failure)
    for g, ((timeout, model), group) in enumerate(groups.items()):
        top = pytester.path / str(g)
        for i, failure in enumerate(group):
            (top / str(i)).mkdir(parents=True)
            failure.write(top / str(i))
        (top / "good.litmus").write_text(good_test(Random(g)), encoding="utf-8")
        asked = ["--ptxmm-timeout", timeout] * bool(timeout) + ["--ptxmm-model", str(top / "0" / model)] * bool(model)
        if model.startswith("ptx-"):
            asked = ["--ptxmm-model", model]
        result = pytester.runpytest_inprocess(
            "-p", "no:ptxmm", "-p", "ptxmm.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:xdist", "-rf", "--tb=no", *asked,
            str(top),
        )  # fmt: skip
        assert result.ret == 1
        failed = {m[1] for m in re.finditer(r"^FAILED (\S+)::", result.stdout.str(), re.MULTILINE)}
        for i, failure in enumerate(group):
            assert f"{g}/{i}/{failure.path}" in failed, (failure, sorted(failed))
            compared(failure)
        assert (f"{g}/good.litmus" in failed) == bool(timeout or model)


@pytest.mark.compares(1.0)
def test_whatever_fails_is_reported_by_pytest(pytester: pytest.Pytester) -> None:
    check_pytest(pytester, 3, 3 * len(WAYS))


@pytest.mark.campaign
@pytest.mark.compares(1.0)
def test_whatever_fails_is_reported_by_pytest_500(pytester: pytest.Pytester) -> None:
    check_pytest(pytester, 4, 500)


# The action.


def variables(step: dict[str, Any], values: dict[str, str]) -> dict[str, str]:
    """The environment of a step."""
    return {k: re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda m: values[m[1]], v) for k, v in step["env"].items()}


def check_action(folder: Path, scripts: Path, seed: int, chosen: Sequence[int]) -> None:
    """What the action's shell step does, run as GitHub runs it, with the command of a folder."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    step = next(s for s in action["runs"]["steps"] if s["name"] == "Check")
    (folder / "ptxmm").mkdir()
    (folder / "ptxmm" / "bin").symlink_to(scripts)
    some = failures(seed, max(chosen) + 1)
    for i in chosen:
        failure = some[i]
        if failure.options or failure.crashes:
            continue  # the action has no such inputs
        project = folder / str(i)
        project.mkdir()
        failure.write(project)
        (project / "good.litmus").write_text(good_test(Random(i)), encoding="utf-8")
        inputs = {key: str(about.get("default", "")) for key, about in action["inputs"].items()}
        inputs |= {"paths": Random(i).choice([".", f"good.litmus\n{failure.path}", f"{failure.path}\ngood.litmus\n"])}
        inputs |= {"timeout": failure.timeout or "60", "model": failure.model or "ptx-9.0"}
        inputs |= {"sarif": "out.sarif", "junit": "out.xml"}
        given = variables(
            step, {f"inputs.{key}": value for key, value in inputs.items()} | {"runner.temp": str(folder)}
        )
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=project, capture_output=True,
            text=True, env={**os.environ, "PYTHONPATH": str(ROOT), **given}, timeout=600, check=False,
        )  # fmt: skip
        said = f"{failure}\n{done.returncode}\n{done.stdout}\n{done.stderr}"
        assert done.returncode in (1, 2, 3), said
        if failure.refused:
            assert failure.refused in done.stderr and not (project / "out.xml").exists(), said
        else:
            assert re.search(rf"^::error file=.*,title=(\./)?{re.escape(failure.path)}", done.stdout, re.MULTILINE), (
                said
            )
            assert re.search(r'(failures|errors)="[1-9]', (project / "out.xml").read_text(encoding="utf-8")), said
            (run,) = json.loads((project / "out.sarif").read_text(encoding="utf-8"))["runs"]
            assert run["results"] or not run["invocations"][0]["executionSuccessful"], said
        compared(done.returncode)


@pytest.mark.parametrize(
    "some_ways", lengths("_condition _syntax _kernel", "_condition _bounded _syntax _spoilt _model _kernel")
)
@pytest.mark.compares(1.0)
def test_whatever_fails_is_reported_by_the_action(some_ways: str, tmp_path: Path) -> None:
    ways = [way.__name__ for way in WAYS]
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "ptxmm").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ptxmm "$@"\n', encoding="utf-8")
    (scripts / "ptxmm").chmod(0o755)
    check_action(
        tmp_path,
        scripts,
        5,
        [ways.index(way) for way in some_ways.split()],
    )


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.compares(1.0)
def test_whatever_fails_is_reported_by_the_action_500(part: int, tmp_path: Path) -> None:
    with commands() as scripts:  # which start as often, and read the modules once
        check_action(tmp_path, scripts, 6, range(part, 500, PARTS))

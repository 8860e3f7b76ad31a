"""Litmus tests and kernel tests as tests of pytest: `*.litmus`, those `*.toml` that are kernel tests, `*.cu`, `*.cuh` and
`*.ptx` with annotations, and nvlitmus's `*.test`.

Each test is one item, a variant of a kernel test too; it passes when it answers as it says it should, and a failure shows
ptxmm's report. Settings, in the ini file or as options: see `pytest_addoption`; what neither says is as `[tool.ptxmm]` of
`pyproject.toml` has it for `ptxmm check`.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from argparse import Namespace

    from ptxmm.baseline import Baseline
    from ptxmm.checker import Outcome, Settings
    from ptxmm.kernels.files import NamedTest

#: Settings with a value: what they mean.
_SETTINGS = {
    "model": "the memory model of litmus tests and kernel tests",
    "timeout": "for each of them: 60, 60s, 2m, 1h",
    "unroll": "how many times a loop body may execute, where a test does not say so itself",
    "engine": "solve or enumerate",
    "backend": "z3 or sat",
    "progress": "who is scheduled fairly, as obe or cta=obe,gpu=fair",
    "resident": "how many CTAs run at once",
    "baseline": "a file of known findings, which do not fail",
}
_FLAGS = {
    "bounded-ok": "accept what holds within the bounds of loops",
    "races": "search for races of every kind; one fails the test",
    "no-defaults": "leave out what [tool.ptxmm] of pyproject.toml says",
}
_LISTS = {
    "check": "check this of every test, too: race_free, no_deadlock, terminates, no_trap",
    "reading": "another reading of the manual, by its name in ptxmm check --help",
}
#: As `ptxmm.kernels.files.ENDINGS`, which is not imported for this.
_ENDINGS = (".litmus", ".toml", ".test", ".cu", ".cuh", ".ptx")
_BASELINE = pytest.StashKey["Baseline | None"]()
_PROJECT = pytest.StashKey["Namespace | None"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`ptxmm = false` in the ini file, or `--no-ptxmm`, leaves these files alone; `ptxmm_model` and its like, or
    `--ptxmm-model`, say how tests are checked, as the options of `ptxmm check` do."""
    group = parser.getgroup("ptxmm", "litmus tests and kernel tests")
    group.addoption("--no-ptxmm", action="store_true", help="collect no litmus tests and no kernel tests")
    parser.addini("ptxmm", "collect litmus tests and kernel tests", type="bool", default=True)
    for name, what in _SETTINGS.items():
        group.addoption(f"--ptxmm-{name}", metavar=name.upper(), help=what)
        parser.addini(f"ptxmm_{name}", what)
    for name, what in _FLAGS.items():
        group.addoption(f"--ptxmm-{name}", action="store_true", help=what)
        parser.addini(_ini(name), what, type="bool", default=False)
    for name, what in _LISTS.items():
        group.addoption(f"--ptxmm-{name}", metavar="NAME", action="append", default=[], help=what)
        parser.addini(_ini(name), what, type="args", default=[])


def _ini(name: str) -> str:
    return f"ptxmm_{name.replace('-', '_')}"


def _said(config: pytest.Config, name: str) -> Any:
    """What an option says, or else the ini file."""
    return config.getoption(f"--ptxmm-{name}") or config.getini(_ini(name))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> TestFile | None:
    return _test_file(file_path, parent)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Pytest leaves out what is no file (a link to nothing, a pipe), and a test must not vanish like that."""
    report = yield
    if isinstance(collector, pytest.Directory) and report.passed:
        with os.scandir(collector.path) as entries:
            special = sorted((entry for entry in entries if not _is_ordinary(entry)), key=lambda entry: entry.name)
        lost = [_lost_folder(entry, collector) or _test_file(Path(entry.path), collector) for entry in special]
        report.result = [*report.result, *(file for file in lost if file is not None)]
    return report


def _is_ordinary(entry: os.DirEntry[str]) -> bool:
    """Whether pytest looks at an entry of a folder by itself."""
    try:
        return entry.is_file() or entry.is_dir()
    except OSError:
        return False


@cache
def _goes_round(folder: Path) -> bool:
    """Whether pytest came here through a link that leads back: it follows such links forty times, and we never do."""
    from litmus.formats.files import leads_back

    above = folder.parent
    return (above != folder and _goes_round(above)) or (folder.is_symlink() and leads_back(str(folder)))


def _is_on(config: pytest.Config) -> bool:
    return not config.getoption("--no-ptxmm") and bool(config.getini("ptxmm"))


def _lost_folder(entry: os.DirEntry[str], parent: pytest.Collector) -> TestFile | None:
    from litmus.formats.files import LOST, is_lost_folder

    if not _is_on(parent.config) or not is_lost_folder(entry) or _goes_round(Path(entry.path).parent):
        return None
    collected: TestFile = TestFile.from_parent(parent, path=Path(entry.path))
    collected.problem = LOST
    return collected


def _test_file(path: Path, parent: pytest.Collector) -> TestFile | None:
    """What a path of a folder is to us: by the same rule as for `ptxmm check FOLDER`."""
    if path.suffix.lower() not in _ENDINGS or not _is_on(parent.config):
        return None
    from litmus.formats.files import look
    from ptxmm.kernels.files import TESTS

    found = None if _goes_round(path.parent) else look(str(path), TESTS)
    if found is None:
        return None
    collected: TestFile = TestFile.from_parent(parent, path=path)
    collected.problem = found[1]
    return collected


class TestFile(pytest.File):
    """A file of tests: its variants, or itself. `problem` says why it cannot be taken."""

    __test__ = False
    problem: str | None = None

    def collect(self) -> Iterator[pytest.Item]:
        from ptxmm.kernels.files import Variant, expand

        for item, _ in expand([(str(self.path), None)]) if self.problem is None else [(str(self.path), None)]:
            name = (isinstance(item, Variant) and item.name) or self.path.stem
            yield ModelTest.from_parent(self, name=name, item=item, problem=self.problem)


class NotAsExpected(Exception):
    """A test that does not answer as it says it should: its report."""


class ModelTest(pytest.Item):
    """One test. `item` is what `ptxmm check` would be given; `problem` says why it cannot be taken."""

    def __init__(self, *, item: NamedTest, problem: str | None = None, **others: Any) -> None:
        super().__init__(**others)
        self.item, self.problem = item, problem

    def runtest(self) -> None:
        from ptxmm.checker import Checker
        from ptxmm.findings import findings

        if self.problem is not None:
            raise NotAsExpected(f"{self.item}: error: {self.problem}")
        settings, baseline = settings_of(self.config), _baseline(self.config)
        outcome = Checker(settings)(self.item)
        found = findings(outcome.result)
        if baseline is not None:
            found = baseline.marked(outcome.result.path, found)
        if not all(finding.known for finding in found):
            raise NotAsExpected(_report(outcome._replace(findings=tuple(found)), settings))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from ptxmm.harmless import harmless

        if isinstance(excinfo.value, NotAsExpected):
            return harmless(str(excinfo.value))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"ptxmm {self.item}"


def settings_of(config: pytest.Config) -> Settings:
    """How tests are checked. Raises UsageError for a setting that is none."""
    from argparse import ArgumentTypeError

    from axioms.models.naming import seen_from
    from axioms.models.options import OPTIONS
    from litmus.test import PROPERTIES
    from ptxmm.checker import Settings
    from ptxmm.cli.options import positive_number, progress, seconds

    readers = {"timeout": seconds, "unroll": positive_number, "progress": progress, "resident": positive_number}
    given: dict[str, Any] = {}
    try:
        for name in _SETTINGS.keys() - {"baseline"}:
            if said := _said(config, name):
                given[name] = readers.get(name, str)(said)
        if "model" in given:
            given["model"] = seen_from(str(_folder_of(config, "model")), given["model"])
        for name, known in (("engine", ("solve", "enumerate")), ("backend", ("z3", "sat"))):
            if given.get(name, known[0]) not in known:
                raise ArgumentTypeError(f"{name} is {' or '.join(known)}, not '{given[name]}'")
        for name, names in (("check", PROPERTIES), ("reading", tuple(OPTIONS))):
            for said in _said(config, name):
                if said not in names:
                    raise ArgumentTypeError(f"{name} is one of {', '.join(names)}, not '{said}'")
    except ArgumentTypeError as error:
        raise pytest.UsageError(f"ptxmm: {error}") from None
    flags = {name: bool(_said(config, name)) for name in ("bounded-ok", "races")}
    checks, options = [*_said(config, "check")], {*_said(config, "reading")}
    project = _project(config)
    if project is not None:
        given = {name: getattr(project, name) for name in _SETTINGS.keys() - {"baseline"}} | given
        flags = {name: said or getattr(project, name.replace("-", "_")) for name, said in flags.items()}
        checks, options = [*project.check, *checks], options | {*project.readings}
    return Settings(
        tell=True,
        bounded_ok=flags["bounded-ok"],
        races=flags["races"],
        checks=tuple(dict.fromkeys(checks)),
        options=frozenset(options),
        **given,
    )


def _project(config: pytest.Config) -> Namespace | None:
    """What `[tool.ptxmm]` says, read once; None where there is none, or nobody wants it. Raises UsageError."""
    if _PROJECT not in config.stash:
        from ptxcore.diagnostics import InputError
        from ptxmm.cli.defaults import options_of
        from ptxmm.cli.project import project_file

        try:
            path = None if _said(config, "no-defaults") else project_file()
            config.stash[_PROJECT] = None if path is None else options_of(os.path.relpath(path))
        except InputError as error:
            raise pytest.UsageError(f"ptxmm: {error.render()}") from None
        except OSError as error:
            raise pytest.UsageError(f"ptxmm: pyproject.toml: {error.strerror or error}") from None
    return config.stash[_PROJECT]


def _folder_of(config: pytest.Config, name: str) -> Path:
    """Where a file that a setting names is seen from: the ini file's folder, or the current one, for an option."""
    if config.getoption(f"--ptxmm-{name}"):
        return config.invocation_params.dir
    return config.inipath.parent if config.inipath else config.rootpath


def _baseline(config: pytest.Config) -> Baseline | None:
    """The known findings, read once. Raises UsageError."""
    if _BASELINE not in config.stash:
        from ptxmm.baseline import Baseline

        said, project = _said(config, "baseline"), _project(config)
        path = str(_folder_of(config, "baseline") / said) if said else project.baseline if project else None
        try:
            config.stash[_BASELINE] = Baseline.read(path) if path else None
        except (OSError, ValueError) as error:
            raise pytest.UsageError(f"ptxmm: baseline {said or path}: {error}") from None
    return config.stash[_BASELINE]


def _report(outcome: Outcome, settings: Settings) -> str:
    from ptxmm.report.text import TextReport

    return TextReport(settings.model, colour=False, unroll=settings.unroll).page(outcome)

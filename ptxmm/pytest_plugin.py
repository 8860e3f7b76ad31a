"""Litmus tests and kernel tests as tests of pytest: `*.litmus`, and those `*.toml` that are kernel tests.

Each test is one item, a variant of a kernel test too; it passes when it answers as it says it should, and a failure shows
ptxmm's report. Settings, in the ini file or as options: see `pytest_addoption`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ptxmm.checker import Outcome, Settings
    from ptxmm.kernels.files import Item

_SETTINGS = {
    "model": "the memory model of litmus tests and kernel tests",
    "timeout": "seconds for each of them",
    "unroll": "how many times a loop body may execute, where a test does not say so itself",
    "engine": "solve or enumerate",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """`ptxmm = false` in the ini file, or `--no-ptxmm`, leaves these files alone; `ptxmm_model` and its like, or
    `--ptxmm-model`, say how tests are checked; `ptxmm_require_complete` fails tests whose loops were cut."""
    group = parser.getgroup("ptxmm", "litmus tests and kernel tests")
    group.addoption("--no-ptxmm", action="store_true", help="collect no litmus tests and no kernel tests")
    parser.addini("ptxmm", "collect litmus tests and kernel tests", type="bool", default=True)
    for name, what in _SETTINGS.items():
        group.addoption(f"--ptxmm-{name}", metavar=name.upper(), help=what)
        parser.addini(f"ptxmm_{name}", what)
    group.addoption("--ptxmm-require-complete", action="store_true", help="fail tests whose loops were cut")
    parser.addini("ptxmm_require_complete", "fail tests whose loops were cut", type="bool", default=False)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> TestFile | None:
    from ptxmm.kernels.files import is_test

    config = parent.config
    if file_path.suffix not in (".litmus", ".toml") or config.getoption("--no-ptxmm") or not config.getini("ptxmm"):
        return None
    if not is_test(str(file_path)):
        return None
    collected: TestFile = TestFile.from_parent(parent, path=file_path)
    return collected


class TestFile(pytest.File):
    """A file of tests: its variants, or itself."""

    __test__ = False

    def collect(self) -> Iterator[pytest.Item]:
        from ptxmm.kernels.files import Variant, expand

        for item, _ in expand([(str(self.path), None)]):
            name = (isinstance(item, Variant) and item.name) or self.path.stem
            yield ModelTest.from_parent(self, name=name, item=item)


class NotAsExpected(Exception):
    """A test that does not answer as it says it should: its report."""


class ModelTest(pytest.Item):
    """One test. `item` is what `ptxmm check` would be given."""

    def __init__(self, *, item: Item, **others: Any) -> None:
        super().__init__(**others)
        self.item = item

    def runtest(self) -> None:
        from ptxmm.checker import Checker
        from ptxmm.findings import findings

        settings = settings_of(self.config)
        outcome = Checker(settings)(self.item)
        complete = bool(self._setting("require_complete"))
        found = findings(outcome.result, require_complete=complete)
        if found:
            raise NotAsExpected(_report(outcome, settings))

    def _setting(self, name: str) -> Any:
        return self.config.getoption(f"--ptxmm-{name.replace('_', '-')}") or self.config.getini(f"ptxmm_{name}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, NotAsExpected):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"ptxmm {self.item}"


def settings_of(config: pytest.Config) -> Settings:
    """How tests are checked. Raises UsageError for a setting that is none."""
    from ptxmm.checker import Settings

    said = {name: config.getoption(f"--ptxmm-{name}") or config.getini(f"ptxmm_{name}") for name in _SETTINGS}
    settings = Settings(tell=True)
    try:
        if said["timeout"]:
            settings = settings._replace(timeout=float(said["timeout"]))
        if said["unroll"]:
            settings = settings._replace(unroll=int(said["unroll"]))
    except ValueError as error:
        raise pytest.UsageError(f"ptxmm: {error}") from None
    given = {name: said[name] for name in ("model", "engine") if said[name]}
    return settings._replace(**given)


def _report(outcome: Outcome, settings: Settings) -> str:
    from ptxmm.report.text import TextReport

    return TextReport(settings.model, colour=False, unroll=settings.unroll).page(outcome)

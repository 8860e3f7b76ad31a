"""What every run of the tests does: it uses every core, counts what agreement tests compare, and tells what was skipped."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import agreement
import browsers
import campaigns
import patience
import pytest
import warm
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, is_hypothesis_test, settings

from ptxcore import sources
from ptxmm import available

#: What hypothesis draws is the same in every run, so that a failure is the last change's; in campaigns it is new each time.
#: How long that takes is no failure.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
#: So many examples are drawn for a test that does not say how many (`campaigns.drawn`).
_DRAWN = 50
#: What a compiler made is made again by each run: a test is about what stands in the repository.
os.environ["PTXMM_CACHE"] = "none"
#: Sentences are looked for as they are, and not as they are wrapped; test_widths.py looks at that.
os.environ["COLUMNS"] = "0"
#: After so many new objects the collector looks for circles, more rarely than in the command: tests make many, of which few are
#: in circles, and to look at them took a tenth of the time of all tests.
_OBJECTS = 500000
#: Where a report keeps what its test compared: how much, of how much.
_COMPARED = "compared"


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Processes for all cores, for runs of more than a file. `-n 0`, `-p no:xdist` and debuggers are what they always are."""
    option = config.option
    if not config.pluginmanager.hasplugin("xdist") or "PYTEST_XDIST_WORKER" in os.environ:
        return  # a worker that started workers of its own would never end
    alone = option.usepdb or option.trace or option.collectonly or not _is_long(config)
    if option.numprocesses is None and not option.tx and not alone:
        option.numprocesses = "auto"
    if option.numprocesses and option.dist == "no":
        option.dist = "worksteal"  # whoever is done takes over from the others: some tests take seconds, most no time


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """One process more than there are cores, as `make` is often called: some tests wait for what they start, and beside
    other work each process gets a share of a core."""
    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else available.processors() + 1


def _is_long(config: pytest.Config) -> bool:
    """Whether whole folders are run: to start processes for the tests of some files takes longer than it saves."""
    return all(Path(argument.split("::")[0]).is_dir() for argument in config.args)


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # As where a shell runs it in the background. The processes that tests start would ignore it too.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    _keep_byte_code(config)
    gc.set_threshold(_OBJECTS)
    patience.endless()
    patience.alone()
    sources.PATIENCE = 1.0  # of pipes that nobody writes to there are many
    campaign, campaigns.whole = _asked("campaign", config), _asked("campaign", config) or _asked("long", config)
    campaigns.every_run = _leaves_out(config)
    settings.register_profile("always", _PATIENT, derandomize=True, database=None, max_examples=campaigns.drawn(_DRAWN))
    settings.register_profile("campaign", _PATIENT)
    settings.load_profile("campaign" if campaign and campaigns.SHARE == 1 else "always")


def _asked(mark: str, config: pytest.Config) -> bool:
    """Whether tests that are marked so are asked for."""
    return mark in config.option.markexpr.replace(f"not {mark}", "")


def _keep_byte_code(config: pytest.Config) -> None:
    """Where the tree is to stay free of byte code, what tests start would compile every module anew, some hundred times:
    until the run ends its processes share a folder for it."""
    if not sys.dont_write_bytecode or sys.pycache_prefix is not None:
        return
    folder = tempfile.mkdtemp(prefix="ptxmm-tests-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = folder
    sys.dont_write_bytecode = False


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Each worker needs all modules of tests, which pytest compiles with its own sense of `assert`: where there is no byte code
    yet, each compiles a share of them first, and reads what the others have made of theirs."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if not worker or not _is_long(session.config):
        return
    number, count = int(worker.removeprefix("gw")), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    files = sorted(path for argument in session.config.args for path in Path(argument).rglob("test_*.py"))
    for path in files[number::count]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # to collect it tells what is wrong with it
            _ = pytest.Module.from_parent(session, path=path).obj


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(obj: object) -> list[pytest.Item] | None:
    """Tests that are marked as a whole, and that no run of all tests makes, are not collected there: a quarter of all
    parameters are theirs, and each worker would make each of them to leave it out."""
    if not campaigns.every_run:
        return None
    marks = {mark.name for mark in getattr(obj, "pytestmark", ()) if isinstance(mark, pytest.Mark)}
    return [] if marks & campaigns.LEFT_OUT else None


def _leaves_out(config: pytest.Config) -> bool:
    """Whether whole folders are run, without what pyproject.toml leaves out."""
    options = config.getini("addopts")
    return "-m" in options and config.option.markexpr == options[options.index("-m") + 1] and _is_long(config)


def pytest_collection_finish() -> None:
    """The tests themselves stay until the end: they count as old at once, so that circles are rarely looked for among them.
    They do not stay frozen: whether anything is, is often asked (ptxcore.collection), and takes as long as counting it."""
    gc.collect()
    gc.freeze()
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)  # before what is marked is chosen
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if _asked("long", config):
        campaigns.take_drawn(items)
    campaigns.take_parts(items)
    _take_share(config, items)


def _take_share(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a campaign, or a long test, with many parameters one in so many, where only a share of them is asked for; and of all
    tests that hypothesis draws examples for."""
    seen, left, out = Counter[tuple[str, str]](), list[pytest.Item](), list[pytest.Item]()
    passed_over = campaigns.passed_over(items)
    #: Of a long test or a planted mistake, parameters that are for campaigns are beyond what is asked for.
    beyond = (_asked("long", config) or _asked("mutation", config)) and not _asked("campaign", config)
    shares = {"campaign": campaigns.SHARE, "long": campaigns.SHARE_OF_LONG, "mutation": campaigns.SHARE_OF_MISTAKES}
    for item in items:
        mark = next((mark for mark in shares if item.get_closest_marker(mark) is not None), "")
        if (mark == "campaign" and beyond) or (mark == "long" and item.nodeid.partition("[")[0] in passed_over):
            out.append(item)
            continue
        drawn = mark == "long" and is_hypothesis_test(
            getattr(item, "obj", None)
        )  # these are one test of many examples, each
        test = mark, "" if drawn else item.nodeid.partition("[")[0]
        (out if mark and seen[test] % shares[mark] else left).append(item)
        seen[test] += 1
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = left


@pytest.fixture(scope="session")
def scripts() -> Iterator[Path]:
    """A folder with a command `ptxmm` that starts at once, for all tests of a process that look at what it answers."""
    with warm.commands() as folder:
        yield folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A Chromium for all tests of a process that look at pages."""
    with browsers.browser() as opened:
        yield opened


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A worker tells what came of each test, and not that it began, was set up, was taken down and ended: to send five messages
    a test, and to read them, took as long as four thousand of the tests."""
    option = item.config.option
    if not hasattr(item.config, "workerinput") or option.durations is not None or option.xmlpath or option.verbose > 0:
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Counts what the test compares; one that passes must have compared its share."""
    marker = pyfuncitem.get_closest_marker("compares")
    count = agreement.begin()
    result = yield
    if marker is not None:
        (share,) = marker.args
        pyfuncitem.user_properties.append((_COMPARED, (count.compared, count.all)))
        count.check(share)
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The last lines, however quiet the run is."""
    for line in [*_compared(terminalreporter), *_skipped(terminalreporter)]:
        terminalreporter.write_line(line)


def _compared(reporter: pytest.TerminalReporter) -> list[str]:
    counts = [
        (report.nodeid, *value)
        for outcome in ("passed", "failed")
        for report in reporter.stats.get(outcome, [])
        if report.when == "call"
        for key, value in report.user_properties
        if key == _COMPARED
    ]
    if not counts:
        return []
    name, done, of = min(counts, key=lambda count: count[1] / max(1, count[2]))
    whole = f"{sum(count[1] for count in counts)} of {sum(count[2] for count in counts)}"
    return [f"{len(counts)} agreement tests compared {whole}; the least share is {done} of {of}, in {name}"]


def _skipped(reporter: pytest.TerminalReporter) -> list[str]:
    reasons = Counter[str]()
    for report in reporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason.removeprefix("Skipped: ")] += 1
    if not reasons:
        return ["no test was skipped"]
    tests = "1 test was" if reasons.total() == 1 else f"{reasons.total()} tests were"
    return [f"{tests} skipped:", *(f"{count:6}  {reason}" for reason, count in reasons.most_common())]

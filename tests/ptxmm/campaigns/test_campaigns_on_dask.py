"""Campaigns on a Dask cluster: a real one, of two workers on this machine."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from test_campaigns import campaign, count, folder_of_tests, table, wait_for
from waiting import PATIENCE, wait_until

from ptxmm.campaigns.deciding import AskedTest
from ptxmm.campaigns.pool import Dask, PoolError

ROOT = Path(__file__).resolve().parents[3]
TESTS = 160
MANY = 600  # so that a test which sees the first result late still comes before the last


@pytest.fixture(autouse=True)
def _there() -> None:
    """Not when the file is read: that takes a second, of every process."""
    pytest.importorskip("distributed", reason="no Dask: pip install 'ptxmm[dask]'")


class Cluster:
    """A scheduler and two workers, started as docs/campaigns.md says, in processes of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._log = folder, (folder / "log").open("w")
        self._file = folder / "scheduler.json"
        self.scheduler = self.start("scheduler", "--port", "0", "--no-dashboard")
        wait_until(lambda: self._file.exists() and self._file.read_text().strip().endswith("}"))
        self.workers = [self.start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard") for _ in range(2)]
        with pytest.importorskip("distributed").Client(scheduler_file=str(self._file), set_as_default=False) as client:
            self.address = client.scheduler.address
            client.wait_for_workers(2, timeout=PATIENCE)

    def start(self, role: str, *options: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + role, "--scheduler-file", str(self._file), *options],
            cwd=self._folder, stdout=self._log, stderr=self._log, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()
        self._log.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    found = Cluster(tmp_path_factory.mktemp("cluster"))
    yield found
    found.stop()


@pytest.mark.long
def test_a_cluster_decides_as_processes_do_also_when_a_worker_is_killed(tmp_path: Path, cluster: Cluster) -> None:
    tests = folder_of_tests(tmp_path / "tests", TESTS)
    base, here = tmp_path / "cluster.db", tmp_path / "here.db"
    process = subprocess.Popen(
        [sys.executable, "-m", "ptxmm", "campaign", str(base), str(tests), "--dask", cluster.address],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    wait_for(process, base, 0)
    had = count(base)
    cluster.workers[0].send_signal(signal.SIGKILL)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert f"{TESTS} decided" in err and had > 0
    assert campaign(here, tests, "--jobs", "2") == 0
    assert table(base) == table(here)
    with sqlite3.connect(base) as database:
        assert database.execute("SELECT count(*) FROM results").fetchone() == (TESTS,)


@pytest.mark.long
def test_a_scheduler_that_goes_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    tests, base = folder_of_tests(tmp_path / "tests", MANY), tmp_path / "runs.db"
    (tmp_path / "cluster").mkdir()
    cluster = Cluster(tmp_path / "cluster")
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "ptxmm", "campaign", str(base), str(tests), "--dask", cluster.address],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        wait_for(process, base, 0)
        cluster.scheduler.send_signal(signal.SIGKILL)
        _, err = process.communicate(timeout=PATIENCE)
    finally:
        cluster.stop()
    had = count(base)
    assert process.returncode == 2 and 0 < had < MANY, (process.returncode, had, err)
    assert err.startswith("ptxmm campaign: error: the scheduler is gone") and err.endswith(f"is in {base}\n"), err
    assert err.count("\n") == 1
    assert campaign(base, tests, "--jobs", "2") == 0 and count(base) == MANY


@pytest.mark.parametrize("question", ["nthreads", "submit"])
@pytest.mark.parametrize("error", [ConnectionResetError(104, "Connection reset by peer"), RuntimeError("not\nrunning")])
def test_a_scheduler_that_goes_while_it_is_asked_is_told(question: str, error: Exception) -> None:
    """Whatever it is asked when it goes."""

    class Client:
        status = "running"

        def __getattr__(self, name: str) -> Any:
            return self.gone if name == question else lambda: {"tcp://one": 1}

        def gone(self, *given: object, **more: object) -> None:
            raise error

    pool = object.__new__(Dask)
    pool._client, pool._out, pool._size, pool._sent = Client(), {}, 1, b""
    pool._asked = iter([cast(AskedTest, None)])
    with pytest.raises(PoolError, match=r"^the scheduler is gone, or no way leads there: .*") as raised:
        next(pool.rows(0.01))
    assert "\n" not in str(raised.value)


def test_where_no_scheduler_is_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ptxmm.campaigns.pool._CONNECT", 0.3)
    tests = folder_of_tests(tmp_path / "tests", 1)
    assert campaign(tmp_path / "runs.db", tests, "--dask", "127.0.0.1:1") == 2
    err = capsys.readouterr().err
    assert "127.0.0.1:1: no scheduler answers there" in err and "Traceback" not in err
    for address in ("nowhere", "127.0.0.1:99999", "post://127.0.0.1:1"):
        assert campaign(tmp_path / "runs.db", tests, "--dask", address) == 2
        err = capsys.readouterr().err
        assert f"{address}: this is no address of a scheduler" in err and err.count("\n") == 1
    # What Dask itself logs when a connection closes would stand before the one line of ours.
    for name in ("distributed.batched", "tornado.application", "asyncio"):
        assert logging.getLogger(name).getEffectiveLevel() == logging.CRITICAL

"""`ptxmm serve` as a command: how it begins, what it says, and that nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from campaigns import some
from serving import ROOT, Served
from waiting import PATIENCE, wait_until

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


def members(group: int) -> list[int]:
    """The processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == group and fields[0] != "Z":
                found.append(int(entry.name))
    return found


@pytest.mark.long
@LINUX
@pytest.mark.parametrize(
    ("number", "status"), some(3, [(signal.SIGKILL, -9), (signal.SIGINT, 0), (signal.SIGTERM, 143)])
)
def test_no_worker_is_left_behind(number: signal.Signals, status: int) -> None:
    with Served("--jobs", "2") as served:
        assert served.line == f"ptxmm serve: {served.url} (Ctrl-C ends it)\n"
        assert served.get("/api/models").status == 200
        assert len(members(served.process.pid)) == 4  # itself, two that decide, one that looks on as people type
        assert served.ends(number) == status
        wait_until(lambda: members(served.process.pid) == [])
        assert served.process.stdout is not None
        assert served.process.stdout.read() == ("ptxmm serve: ended\n" if number == signal.SIGINT else "")


@pytest.mark.long
@LINUX
def test_workers_have_nothing_of_their_parent() -> None:
    """No socket of the server, no environment: a visitor's text meets neither."""
    with Served("--jobs", "1", PTXMM_SECRET="hidden") as served:
        assert served.get("/api/models").status == 200
        workers = [pid for pid in members(served.process.pid) if pid != served.process.pid]
        assert len(workers) == 2
        for pid in workers:
            links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
            assert sum(link.startswith("socket:") for link in links) == 1  # its pipe
            assert sum(link == "/dev/null" for link in links) == 2


@pytest.mark.long
def test_a_port_that_is_taken_is_told() -> None:
    with Served("--jobs", "1") as served:
        done = _serve("--port", str(served.port))
        assert done.returncode == 2 and f"cannot listen on 127.0.0.1, port {served.port}" in done.stderr


def _serve(*options: str, code: str = "") -> subprocess.CompletedProcess[str]:
    script = f"import sys; {code}\nfrom ptxmm.cli.main import main; sys.exit(main(['serve', *{list(options)!r}]))"
    return subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_without_the_extra_it_says_what_to_install(missing: str) -> None:
    done = _serve(code=f"sys.modules[{missing!r}] = None")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == f"ptxmm serve: error: this needs {missing}, which is not installed: pip install 'ptxmm[web]'\n"
    )


@pytest.mark.parametrize("options", [("--port", "70000"), ("--port", "x"), ("--jobs", "0"), ("--timeout", "-1")])
def test_bad_options_are_refused(options: tuple[str, str]) -> None:
    assert _serve(*options).returncode == 2


def test_an_address_that_is_none_is_refused() -> None:
    done = _serve("--host", "256.1.1.1", "--port", "0")
    assert done.returncode == 2 and done.stderr.startswith("ptxmm serve: error: cannot listen on 256.1.1.1")


@pytest.mark.long
def test_a_name_of_its_own_is_taken() -> None:
    with Served("--jobs", "1", "--name", "Explorer.Example.org") as served:
        assert served.get("/api/options", Host="explorer.example.org").status == 200
        assert served.get("/api/options", Host="example.org").status == 403

"""A server of `ptxmm serve` as a process of its own, and who asks it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
_SAYS = re.compile(r"http://([\d.]+):(\d+)/")


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def value(self) -> Any:
        return json.loads(self.body)


class Served:
    """`ptxmm serve` on a free port, while the `with` block lasts. `code` is run first, in its process."""

    def __init__(self, *options: str, cwd: Path | None = None, code: str = "", **environment: str) -> None:
        started = ["-c", f"{code}\nfrom ptxmm.cli.main import entry\nentry()"] if code else ["-m", "ptxmm"]
        command = [sys.executable, *started, "serve", "--port", "0", *options]
        self.process = subprocess.Popen(
            command,
            cwd=cwd or ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()
        found = _SAYS.search(self.line)
        assert found, (self.line, self.process.communicate(timeout=PATIENCE)[1])
        self.host, self.port = found[1], int(found[2])

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=PATIENCE)

    def ends(self, number: int = signal.SIGINT) -> int:
        """The exit status after a signal."""
        self.process.send_signal(number)
        return self.process.wait(timeout=PATIENCE)

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}/"

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        """One request on a connection of its own. `headers` by their names with underscores."""
        connection = self.connection()
        try:
            connection.request(method, path, body, {name.replace("_", "-"): text for name, text in headers.items()})
            answer = connection.getresponse()
            found = {name.lower(): text for name, text in answer.getheaders()}
            return Reply(answer.status, found, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Reply:
        return self.request("GET", path, **headers)

    def post(self, name: str, value: object, **headers: str) -> Reply:
        """What the server answers to a value under /api/NAME."""
        body = json.dumps(value).encode()
        return self.request("POST", f"/api/{name}", body, **{"Content_Type": "application/json", **headers})

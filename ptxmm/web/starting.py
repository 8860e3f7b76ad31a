"""A server that runs: its socket, its event loop, its end."""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
import webbrowser
from collections.abc import Collection
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ptxmm.web import limits, tasks
from ptxmm.web.server import application
from ptxmm.web.workroom import Workroom

_BACKLOG = 256
#: Seconds that answers under way get when the server ends.
_GRACE = 1


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises OSError."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    found = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(_BACKLOG)
        found.setblocking(False)
    except OSError:
        found.close()
        raise
    return found


def address_of(listening: socket.socket) -> str:
    """What a browser is told to go to."""
    host, port = listening.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"


class _Patient(H11Protocol):
    """Closes connections on which for a while nobody has said what is wanted: such clients must not hold all there are."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._silent = False
        self._looking = self.loop.call_later(limits.PATIENCE, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._looking.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        silent = self.cycle is None or self.cycle.response_complete
        if silent and self._silent:
            self.transport.close()
            return
        self._silent = silent
        self._looking = self.loop.call_later(limits.PATIENCE / 2, self._look)


class _Server(uvicorn.Server):
    """Says so when it listens."""

    def __init__(self, config: uvicorn.Config, told: str, *, browser: bool) -> None:
        super().__init__(config)
        self._told, self._browser = told, browser

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            sys.stdout.write(f"ptxmm serve: {self._told} (Ctrl-C ends it)\n")
            sys.stdout.flush()
            if self._browser:
                await asyncio.get_running_loop().run_in_executor(None, webbrowser.open, self._told)


def run(
    listening: socket.socket, *, workers: int, seconds: float, names: Collection[str] = (), browser: bool = False
) -> None:
    """Serves until it is interrupted. Raises KeyboardInterrupt when it has ended for that."""
    tasks.warm()
    gc.collect()
    room = Workroom(tasks.work, {"slow": workers, "quick": 1})
    config = uvicorn.Config(
        application(room, seconds=seconds, names=names),
        loop="asyncio",
        http=_Patient,
        ws="none",
        lifespan="on",
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=_GRACE,
        timeout_keep_alive=30,
    )
    server = _Server(config, address_of(listening), browser=browser)
    try:
        asyncio.run(server.serve(sockets=[listening]))
    finally:
        listening.close()

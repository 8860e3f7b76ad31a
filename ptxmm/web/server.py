"""The server: what is asked by HTTP, of whom, and with what protection.

    GET  /                   the page          GET  /static/NAME     its files
    GET  /api/models         /api/models/NAME  /api/options          /api/examples     /api/examples/PATH
    POST /api/check          /api/execution    /api/diagnose         /api/complete     /api/cycle        /api/repair

No path of a request is one of the file system: names are looked up in tables. Whoever is not this machine under its own name
(`Host`), or comes from another site's page (`Origin`, and a body that is not declared as JSON), is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ptxmm.web import limits
from ptxmm.web.answering import Answers
from ptxmm.web.asked import REQUESTS, BadRequest, asked, of_json
from ptxmm.web.files import PAGE, File, Files
from ptxmm.web.workroom import Refused, Workroom

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: What every answer says to browsers.
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_LOCAL = frozenset({"localhost"})


def application(room: Workroom, *, seconds: float = limits.SECONDS, names: Collection[str] = ()) -> ASGIApp:
    """The server as ASGI has it; it opens the room when it starts, and closes it at its end. `names` are those of this server
    besides numbers and `localhost`."""
    pages = _Pages(Answers(room, seconds))

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        room.open()
        first = asyncio.ensure_future(pages.prepare())
        try:
            yield
        finally:
            first.cancel()
            room.close()

    app = Starlette(
        routes=pages.routes(),
        lifespan=lifespan,
        exception_handlers={HTTPException: _refusal, Exception: _defect},
    )
    app.router.redirect_slashes = False
    return _Guarded(app, frozenset(names) | _LOCAL)


class _Guarded:
    """Refuses who asks for another name than this server's; gives every answer its headers."""

    def __init__(self, app: ASGIApp, names: frozenset[str]) -> None:
        self._app, self._names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", []),
                    *((name.encode(), value.encode()) for name, value in HEADERS.items()),
                ]
            await send(message)

        problem = self._problem(scope)
        if problem:
            await _error(403, problem)(scope, receive, protected)
        else:
            await self._app(scope, receive, protected)

    def _problem(self, scope: Scope) -> str:
        """Why somebody is refused; empty where nobody is."""
        found: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            found.setdefault(name.lower(), []).append(value)
        hosts = found.get(b"host", [])
        if len(hosts) != 1 or not self._is_ours(hosts[0].decode("latin-1")):
            return "this server has another name; --name says which names it has"
        host = hosts[0].decode("latin-1")
        for origin in found.get(b"origin", []):
            if origin.decode("latin-1").partition("://")[2].lower() != host.lower():
                return "the page of another site may not ask here"
        return ""

    def _is_ours(self, host: str) -> bool:
        """Whether a name is one of this server's. A number is nobody's to point elsewhere."""
        if host.startswith("["):
            name, bracket, port = host[1:].partition("]")
            good = bool(bracket) and (not port or (port[0] == ":" and port[1:].isdecimal()))
        else:
            name, colon, port = host.partition(":")
            good = not colon or port.isdecimal()
        if not good:
            return False
        if name.lower().rstrip(".") in self._names:
            return True
        with contextlib.suppress(ValueError):
            ipaddress.ip_address(name)
            return True
        return False


class _Pages:
    """The routes."""

    def __init__(self, answers: Answers) -> None:
        self._answers, self._files = answers, Files()

    def routes(self) -> list[Route]:
        """All of them."""
        found = [
            Route("/", self._page, methods=["GET"]),
            Route("/static/{name:path}", self._static, methods=["GET"]),
            Route("/api/models", self._models, methods=["GET"]),
            Route("/api/models/{name:path}", self._model, methods=["GET"]),
            Route("/api/options", self._options, methods=["GET"]),
            Route("/api/examples", self._examples, methods=["GET"]),
            Route("/api/examples/{name:path}", self._example, methods=["GET"]),
        ]
        return [*found, *(Route(f"/api/{name}", self._posted(name), methods=["POST"]) for name in REQUESTS)]

    async def prepare(self) -> None:
        """What first requests need."""
        with contextlib.suppress(Refused):
            await self._answers.tables()

    async def _page(self, request: Request) -> Response:
        self._files.refresh()
        return _sent(request, self._files.get(PAGE))

    async def _static(self, request: Request) -> Response:
        return _sent(request, self._files.get(request.path_params["name"]))

    async def _table(self, name: str) -> Any:
        try:
            return (await self._answers.tables())[name]
        except Refused as error:
            raise HTTPException(503, str(error)) from None

    async def _models(self, request: Request) -> Response:
        return _json(200, [_without(model, "text") for model in await self._table("models")])

    async def _model(self, request: Request) -> Response:
        wanted = request.path_params["name"]
        found = next((m for m in await self._table("models") if m["name"] == wanted), None)
        return _json(200, found) if found else _error(404, "there is no such model")

    async def _options(self, request: Request) -> Response:
        return _json(200, await self._table("options"))

    async def _examples(self, request: Request) -> Response:
        return _json(200, [_without(example, "text", "files") for example in await self._table("examples")])

    async def _example(self, request: Request) -> Response:
        wanted = request.path_params["name"]
        found = next((e for e in await self._table("examples") if e["path"] == wanted), None)
        return _json(200, found) if found else _error(404, "there is no such example")

    def _posted(self, name: str) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                wanted = asked(name, of_json(await _body(request)))
            except BadRequest as error:
                return _error(error.status, str(error))
            ready = await _while_there(request, self._answers.answer(name, wanted))
            if ready is None:
                return _error(499, "nobody waits for it")
            more = {"Retry-After": "1"} if ready.status == 503 else {}
            return Response(ready.body, ready.status, {**_NOT_KEPT, **more}, "application/json")

        return answer


_NOT_KEPT = {"Cache-Control": "no-store"}


def _without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in names}


def _json(status: int, value: Any) -> Response:
    body = json.dumps(value, separators=(",", ":")).encode()
    return Response(body, status, _NOT_KEPT, "application/json")


def _error(status: int, message: str) -> Response:
    return _json(status, {"error": message})


def _sent(request: Request, file: File | None) -> Response:
    if file is None:
        return _error(404, "there is no such file")
    headers = {"Cache-Control": "no-cache", "ETag": file.tag}
    if request.headers.get("if-none-match") == file.tag:
        return Response(b"", 304, headers)
    return Response(file.data, 200, {**headers, "Content-Type": file.type})


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {404: "there is no such page", 405: "not by this method"}
    response = _error(error.status_code, words.get(error.status_code, str(error.detail)))
    response.headers.update(error.headers or {})
    return response


async def _defect(request: Request, error: Exception) -> Response:
    from ptxmm.web.tasks import defect_of

    said = defect_of(request.url.path, error)
    sys.stderr.write(f"ptxmm serve: {said}\n")
    return _error(500, said)


async def _body(request: Request) -> bytes:
    """The body of a request. Raises BadRequest for one that is too long, too slow, or not declared as JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise BadRequest("the Content-Type is application/json", 415)
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise BadRequest("the body is sent as it is, not compressed", 415)
    too_long = BadRequest(f"a request has at most {limits.LONGEST_BODY} bytes", 413)
    length = request.headers.get("content-length", "")
    if length.isdecimal() and (len(length) > 12 or int(length) > limits.LONGEST_BODY):
        raise too_long
    found = bytearray()
    try:
        async with asyncio.timeout(limits.PATIENCE):
            async for part in request.stream():
                found += part
                if len(found) > limits.LONGEST_BODY:
                    raise too_long
    except TimeoutError:
        raise BadRequest(f"the body did not come within {limits.PATIENCE:g} s", 408) from None
    except ClientDisconnect:
        raise BadRequest("the body did not come", 400) from None
    return bytes(found)


async def _while_there(request: Request, answer: Coroutine[Any, Any, Any]) -> Any:
    """An answer, as long as somebody waits for it; None where nobody does."""
    work = asyncio.ensure_future(answer)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        return work.result() if work.done() else None
    finally:
        for task in (work, gone):
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await gone
        if not work.done():
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await work


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass

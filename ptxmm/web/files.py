"""The files of the page: those that lie in `static`, by their names, read before anybody asks. No path of a request is one."""

from __future__ import annotations

import hashlib
import os

from ptxcore.records import NamedTuple

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "static")
#: What browsers are told of a file, by the ending of its name; no other file is sent.
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".txt": "text/plain; charset=utf-8",
}
PAGE = "index.html"
_NO_PAGE = b"""<!DOCTYPE html>
<html lang=en><head><meta charset="utf-8"><title>ptxmm</title></head>
<body><main><h1>ptxmm</h1>
<p>The page is not installed; the answers are: <a href="/api/models">/api/models</a>.</p></main></body></html>
"""


class File(NamedTuple):
    """What is sent: the bytes, what they are, and a tag that changes with them."""

    data: bytes
    type: str
    tag: str


def _file(data: bytes, name: str) -> File:
    digest = hashlib.sha256(data).hexdigest()[:32]
    return File(data, _TYPES[os.path.splitext(name)[1].lower()], f'"{digest}"')


class Files:
    """The files by their names below `static`, as `editor/words.js`. They are read again where one has changed."""

    def __init__(self, folder: str = _FOLDER) -> None:
        self._folder = folder
        self._stamps: dict[str, tuple[int, int]] = {}
        self._files: dict[str, File] = {}
        self.refresh()

    def refresh(self) -> None:
        """Reads what has changed since."""
        stamps = self._found()
        if stamps != self._stamps or PAGE not in self._files:
            self._files = {name: _file(self._read(name), name) for name in stamps}
            self._files.setdefault(PAGE, _file(_NO_PAGE, PAGE))
            self._stamps = stamps

    def get(self, name: str) -> File | None:
        """A file by its name; None where there is none."""
        return self._files.get(name)

    def names(self) -> list[str]:
        """The names of all files."""
        return sorted(self._files)

    def _found(self) -> dict[str, tuple[int, int]]:
        stamps = {}
        for folder, _, names in os.walk(self._folder):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.splitext(name)[1].lower() in _TYPES and os.path.isfile(path):
                    status = os.stat(path)
                    below = os.path.relpath(path, self._folder).replace(os.sep, "/")
                    stamps[below] = status.st_mtime_ns, status.st_size
        return stamps

    def _read(self, name: str) -> bytes:
        with open(os.path.join(self._folder, *name.split("/")), "rb") as file:
            return file.read()

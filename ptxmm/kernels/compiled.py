"""What nvcc made of sources before: kept in the user's folder for caches, and found again by what it was made of.

An entry is called by a hash of the source's text and path, the options, the compiler's version, the host's compiler and the
variables of the environment that either heeds. It says which headers were read, each with a hash of its contents, and which
names stood in the folders where headers are looked for, as far as they could be names of these. Where any of that has changed,
it does not count.

The PTX stands beside its entry as a file that can be opened, called as reports call it: `lock.cu.ptx`, in a folder of its own.

`PTXMM_CACHE` in the environment is another folder, or `none`: then everything is compiled anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

_FORMAT = 1  # of an entry
_VARIABLE = "PTXMM_CACHE"
#: Variables of the environment that change what a compiler makes of a source.
_HEEDED = (
    "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "GCC_EXEC_PREFIX",
    "COMPILER_PATH", "INCLUDE", "CL", "_CL_", "SOURCE_DATE_EPOCH",
)  # fmt: skip
_HOSTS = ("g++", "gcc", "cl")
#: Options that name a folder of headers, and those that write dependencies themselves.
_FOLDERS = re.compile(r"(?:-I|-isystem|--include-path|--system-include)=?(?P<folder>.*)\Z", re.S)
_OWN = ("-M", "--generate-dependencies", "--generate-nonsystem", "--dependency")
#: Seconds by which a file's time may be behind the clock.
_COARSE = 0.1
#: What a source may ask for that is another one each time.
_TIMES = re.compile(rb"__(?:DATE|TIME|TIMESTAMP)__")
_PATIENCE = 60  # seconds for the compiler to tell its version
#: So many entries are kept at most, half of them when there are more.
_MOST = 512
_LONGEST = 256 << 20  # bytes of an entry
_SHORT = 16  # digits of an entry's name that the folder of its file is called by


class KeptPtx:
    """Where the PTX of one compilation is kept, or would be."""

    def __init__(self, nvcc: str, options: Sequence[str], path: str) -> None:
        self._options, self._path = tuple(options), path
        self._folder = "" if any(option.startswith(_OWN) for option in options) else folder()
        self._file = ""
        self._source = b""
        if self._folder:
            with contextlib.suppress(OSError):
                self._source = _contents(path)
                self._file = os.path.join(self._folder, f"{self._key(nvcc)}.json")

    def _key(self, nvcc: str) -> str:
        hosts = [shutil.which(host) for host in _HOSTS]
        parts = [
            _FORMAT, self._options, os.path.abspath(self._path), os.getcwd(), sha256(self._source).hexdigest(), _version(nvcc),
            [(os.path.realpath(h), os.stat(h).st_mtime_ns, os.stat(h).st_size) for h in hosts if h],
            {name: os.environ.get(name) for name in _HEEDED},
        ]  # fmt: skip
        return sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def found(self) -> str | None:
        """The PTX, where it was made of what is there now."""
        if not self._file:
            return None
        try:
            entry = json.loads(_contents(self._file))
            text, headers = entry["text"], entry["headers"]
            good = entry["sum"] == _sum(text) and all(_hash(name) == there for name, there in headers)
            if good and entry["names"] == self._names([name for name, _ in headers]):
                os.utime(self._file)  # those that nobody asks for go first
                return str(text)
        except (OSError, ValueError, LookupError, TypeError):
            pass
        return None

    def file(self, text: str) -> str:
        """The PTX as a file that can be opened; empty where nothing is kept."""
        if not os.path.exists(self._file):
            return ""
        path = os.path.join(_beside(self._file), f"{os.path.basename(self._path)}.ptx")
        data = text.encode("utf-8", "surrogatepass")
        try:
            if not os.path.exists(path) or _contents(path) != data:
                os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
                _write(path, text)
        except (OSError, ValueError):
            return ""
        return path

    def options(self, target: str) -> list[str]:
        """What the compiler must be told so that it writes which headers it reads."""
        return ["-MD", "-MF", target] if self._file else []

    def keep(self, text: str, target: str, begun: float) -> None:
        """Keeps what was made; nothing that changed while it was made, and nothing where that cannot be known."""
        if not self._file:
            return
        try:
            names = _dependencies(target)
            headers = [name for name in names if not _is(name, self._path)]
            changed = (
                any(os.stat(name).st_mtime > begun - _COARSE for name in names) or _contents(self._path) != self._source
            )
            if not names or changed or _TIMES.search(self._source):
                return
            entry = {
                "headers": [[name, _hash(name)] for name in headers], "names": self._names(headers), "sum": _sum(text),
                "text": text,
            }  # fmt: skip
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            _write(self._file, json.dumps(entry))
            _clean(self._folder)
        except (OSError, ValueError):
            pass  # it is compiled again the next time

    def _names(self, headers: Sequence[str]) -> str:
        """A hash of the names, in every folder where headers are looked for, by which another file could stand for a header."""
        told = [
            (found["folder"] or after)
            for option, after in zip(self._options, [*self._options[1:], ""], strict=True)
            if (found := _FOLDERS.match(option))
        ]
        folders = {os.path.dirname(os.path.abspath(name)) for name in (*headers, self._path)} | set(
            map(os.path.abspath, told)
        )
        parts = {part for name in headers for part in name.replace("\\", "/").split("/")}
        listed = [(name, sorted(parts.intersection(_listed(name)))) for name in sorted(folders)]
        return _sum(json.dumps(listed))


def folder() -> str:
    """The folder of the cache; empty where there is none."""
    named = os.environ.get(_VARIABLE)
    if named is not None:
        return "" if named in ("", "none") else os.path.abspath(named)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "ptxmm", "nvcc") if os.path.isabs(base) else ""


@lru_cache(maxsize=8)
def _version(nvcc: str) -> str:
    """What a compiler says of itself. Raises OSError where it says nothing."""
    try:
        done = subprocess.run(
            [nvcc, "--version"], capture_output=True, text=True, errors="replace", timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise OSError("no version") from None
    if done.returncode or not done.stdout.strip():
        raise OSError("no version")
    return f"{os.path.realpath(nvcc)}\n{done.stdout}"


def _dependencies(target: str) -> list[str]:
    """The files that a compiler has read, as it wrote them for make. Raises OSError, and ValueError for what is none."""
    text = _contents(target).decode("utf-8")
    rule = re.search(r":(?=\s)", text)
    if rule is None:
        raise ValueError("no rule")
    words = re.findall(
        r"(?:\\[ #\\]|\$\$|[^\s\\]|\\(?![\n\r #\\]))+", text[rule.end() :].replace("\\\r\n", " ").replace("\\\n", " ")
    )
    return list(dict.fromkeys(re.sub(r"\\([ #\\])|\$(\$)", r"\1\2", word) for word in words))


def _contents(path: str) -> bytes:
    with open(path, "rb") as file:
        data = file.read(_LONGEST + 1)
    if len(data) > _LONGEST:
        raise OSError("too long")
    return data


def _hash(path: str) -> str:
    return sha256(_contents(path)).hexdigest()


def _sum(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _is(name: str, path: str) -> bool:
    return os.path.abspath(name) == os.path.abspath(path)


def _listed(name: str) -> Iterable[str]:
    try:
        return os.listdir(name)
    except OSError:
        return ()


def _beside(entry: str) -> str:
    """The folder of what an entry has as a file."""
    where, name = os.path.split(entry)
    return os.path.join(where, name[:_SHORT])


def _write(path: str, text: str) -> None:
    """Writes a file so that nobody ever reads a part of it."""
    handle, name = tempfile.mkstemp(dir=os.path.dirname(path))
    try:
        with open(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _clean(where: str) -> None:
    """Removes the older half of too many entries."""
    names = [os.path.join(where, name) for name in os.listdir(where) if name.endswith(".json")]
    if len(names) > _MOST:
        ages: list[tuple[Any, str]] = sorted((os.stat(name).st_mtime_ns, name) for name in names)
        for _, name in ages[: len(ages) - _MOST // 2]:
            with contextlib.suppress(OSError):
                os.unlink(name)
            shutil.rmtree(_beside(name), ignore_errors=True)

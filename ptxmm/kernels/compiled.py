"""What nvcc made of sources before: kept in the user's folder for caches, and found again by what it was made of.

An entry is called by a hash of the source's text and path, the options, the compiler and its version, and the variables of the
environment that it or the host's compiler heeds. It says what else the compiler looked at (`compile_inputs`). Where any of that
has changed, or the entry is not what was written under its name, it does not count. Within one process what was made is
remembered likewise, so that the variants of one file are of one compilation, and a header that changes is heeded there, too.

The PTX stands beside its entry as a file that can be opened, called as reports call it: `lock.cu.ptx`, in a folder of its own.

`PTXMM_CACHE` in the environment is another folder, or `none`: then each process compiles anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

from ptxcore.records import NamedTuple
from ptxcore.sources import remembered
from ptxmm.kernels.compile_inputs import CompileInputs, contents, inputs_of, telling, tool_of, untold

_FORMAT = 3  # of an entry
_VARIABLE = "PTXMM_CACHE"
#: Variables of the environment that hold options.
_FLAGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
#: Those that change what a compiler makes of a source.
_HEEDED = (
    *_FLAGS, "NVCC_CCBIN", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH",
    "SOURCE_DATE_EPOCH",
)  # fmt: skip
_PATIENCE = 60  # seconds for the compiler to tell its version
#: So many entries are kept at most, half of them when there are more.
_MOST = 512
_SHORT = 16  # digits of an entry's name that the folder of its file is called by


class _Made(NamedTuple):
    """What a compilation made, and of what."""

    text: str
    inputs: CompileInputs

    def holds(self) -> bool:
        try:
            return self.inputs.unchanged()
        except (OSError, ValueError, TypeError):
            return False


@remembered(32)
def _of_this_process(key: str) -> list[_Made]:
    """Where this process has what it made last under a key."""
    return []


class KeptPtx:
    """Where the PTX of one compilation is kept, or would be."""

    def __init__(self, nvcc: str, options: Sequence[str], path: str) -> None:
        self._options, self._path = tuple(options), path
        self._file = self._key = ""
        self._source = b""
        if untold(options, map(os.environ.get, _FLAGS)):
            return
        with contextlib.suppress(OSError):
            self._source = contents(path)
            self._key = self._hashed(nvcc)
            if folder():
                self._file = os.path.join(folder(), f"{self._key}.json")

    def _hashed(self, nvcc: str) -> str:
        parts = [
            _FORMAT, self._options, os.path.abspath(self._path), os.getcwd(), sha256(self._source).hexdigest(),
            _version(nvcc, tool_of(nvcc)), {name: os.environ.get(name) for name in _HEEDED},
        ]  # fmt: skip
        return sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def found(self) -> str | None:
        """The PTX, where it was made of what is there now."""
        if not self._key:
            return None
        for here in _of_this_process(self._key):
            if here.holds():
                return here.text
        made = self._read()
        if made is None or not made.holds():
            return None
        with contextlib.suppress(OSError):
            os.utime(self._file)  # those that nobody asks for go first
        _of_this_process(self._key)[:] = [made]
        return made.text

    def _read(self) -> _Made | None:
        if not self._file:
            return None
        try:
            entry = json.loads(contents(self._file))
            made = _Made(entry["text"], CompileInputs.read(entry["inputs"]))
            return made if entry["sum"] == self._sum(made) else None
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None

    def _sum(self, made: _Made) -> str:
        """What tells an entry of this key from one that is damaged, or of another key. It is also of what the text was made of:
        that decides whether the entry counts."""
        return sha256(json.dumps([self._key, made]).encode("utf-8", "surrogatepass")).hexdigest()

    def file(self, text: str) -> str:
        """The PTX as a file that can be opened; empty where nothing is kept."""
        if not os.path.exists(self._file):
            return ""
        path = os.path.join(_beside(self._file), f"{os.path.basename(self._path)}.ptx")
        data = text.encode("utf-8", "surrogatepass")
        try:
            if not os.path.exists(path) or contents(path) != data:
                os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
                _write(path, text)
        except (OSError, ValueError):
            return ""
        return path

    def options(self, target: str) -> list[str]:
        """What the compiler must be told so that what it makes can be kept; nothing where it cannot."""
        return telling(target) if self._key else []

    def keep(self, text: str, target: str, printed: str, begun: float) -> None:
        """Keeps what was made, where it is known of what: by `target`, and by what the compiler `printed`."""
        if not self._key:
            return
        try:
            inputs = inputs_of(self._path, self._source, target, printed, begun)
            if inputs is None:
                return
            _of_this_process(self._key)[:] = [_Made(text, inputs)]
            if self._file:
                os.makedirs(os.path.dirname(self._file), mode=0o700, exist_ok=True)
                made = _Made(text, inputs)
                _write(self._file, json.dumps({"inputs": inputs, "sum": self._sum(made), "text": text}))
                _clean(os.path.dirname(self._file))
        except (OSError, ValueError):
            pass  # it is compiled again the next time


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
def _version(nvcc: str, stamp: str) -> str:
    """What a compiler says of itself, as long as its `stamp` is that. Raises OSError where it says nothing."""
    try:
        done = subprocess.run(
            [nvcc, "--version"], capture_output=True, text=True, errors="replace", timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise OSError("no version") from None
    if done.returncode or not done.stdout.strip():
        raise OSError("no version")
    return f"{stamp}\n{done.stdout}"


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

"""`ptxmm` for the shells of tests, without what each start costs: a process that has read the modules, and the models that
ship, forks for each command.

The folder that `commands()` makes holds a command that asks it: it gets the arguments, the folder, the environment and the
streams of who asks, and its status is the command's. Reasons and proofs have the time that `patience` gives them. That
starting itself is right, other tests see.
"""

from __future__ import annotations

import contextlib
import gc
import marshal
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("axioms", "litmus", "ptxmm.cli", "ptxmm.kernels", "ptxmm.report")
#: What asks: it imports nothing that has to be looked for.
_ASKS = """
import _socket, marshal, posix, struct, sys
asking = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
asking.connect({path!r})
said = marshal.dumps((posix.getcwdb(), posix.environ, sys.argv[1:]))
said = struct.pack("q", len(said)) + said
sent = asking.sendmsg([said], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("3i", 0, 1, 2))])
asking.sendall(said[sent:])
posix._exit(ord(asking.recv(1) or bytes([255])))
"""


@contextmanager
def commands() -> Iterator[Path]:
    """A folder with a command `ptxmm`, as long as it is asked for."""
    folder = Path(tempfile.mkdtemp(prefix="ptxmm-"))
    path = folder / "socket"
    asks = folder / "asks.py"
    asks.write_text(_ASKS.format(path=str(path)), encoding="utf-8")
    scripts = folder / "bin"
    scripts.mkdir()
    script = scripts / "ptxmm"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{asks}" "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, __file__, str(path)]
    # It ends when nobody holds the other end of its input any more, whatever becomes of us.
    answers = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, cwd=ROOT
    )
    assert answers.stdin is not None and answers.stdout is not None
    try:
        assert answers.stdout.readline() == b"ready\n"
        yield scripts
    finally:
        answers.stdin.close()
        answers.wait()
        answers.stdout.close()
        shutil.rmtree(folder)


def _serve(path: str) -> None:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(path)
    listening.listen()
    os.write(1, b"ready\n")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    while 0 not in (ready := select.select([0, listening], [], [])[0]):
        assert ready
        asked, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            return _answer(asked)
        asked.close()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _answer(asked: socket.socket) -> None:
    """Runs the command in a process of its own, and tells its status when it has ended."""
    said, streams, _, _ = socket.recv_fds(asked, 1 << 16, 3)
    size = int.from_bytes(said[:8], sys.byteorder)
    while len(said) < 8 + size:
        said += asked.recv(1 << 16)
    process = os.fork()
    if process:
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(process, 0)
        code = os.waitstatus_to_exitcode(status)
        with contextlib.suppress(BrokenPipeError):
            asked.sendall(bytes([code if code >= 0 else 128 - code]))
        os._exit(0)
    asked.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # Ours remember what can be done with the files that they were opened for.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 (until the process ends)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
    folder, environment, arguments = marshal.loads(said[8:])
    os.chdir(folder)
    os.environb.clear()
    os.environb.update(environment)
    sys.argv = ["ptxmm", *arguments]
    from ptxmm.cli.main import entry

    entry()


def read_modules() -> None:
    """All that processes would read which a process forks: modules, and the models that ship."""
    import ptxmm

    for name in PACKAGES:
        package = import_module(name)
        for module in walk_packages(package.__path__, name + "."):
            with contextlib.suppress(ImportError):  # what only some have
                import_module(module.name)
    for model in ptxmm.models():
        ptxmm.api.model_named(model)


def _be_ready() -> None:
    import patience

    read_modules()
    patience.endless()
    gc.collect()
    gc.freeze()  # it stays as it is, so that processes share it


if __name__ == "__main__":
    _be_ready()
    _serve(sys.argv[1])

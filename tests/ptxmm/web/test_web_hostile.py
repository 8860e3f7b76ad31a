"""What strangers send: the server goes on answering, and tells nothing but of what was sent."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from serving import ROOT, Reply, Served
from waiting import PATIENCE

from litmus.library import named, paths

MP = Path(named("MP+rel+acq")[0]).read_text(encoding="utf-8")
KERNEL = 'ptx = "{}"\ngrid = 1\nblock = 1\n[params]\nx = {{type = "u32", elements = 1{}}}\n[check]\nrace_free = true\n'
PTX = """.version 8.0
.target sm_80
.address_size 64
.file 1 "/etc/passwd"
// ptxmm: grid=2 block=1 x=u32[1] forall="x[0] == 7"
.visible .entry k(.param .u64 x)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    .loc 1 1 1
    ld.param.u64 %rd1, [x];
    .loc 1 1 1
    st.global.u32 [%rd1], 1;
    ret;
}
"""


def discloses(found: Reply) -> list[str]:
    """What no answer may have in it."""
    words = [
        b"root:",
        b"/usr/",
        b"Traceback",
        b"has a defect",
        b"site-packages",
        str(ROOT).encode(),
        sys.prefix.encode(),
    ]
    return [word.decode() for word in words if word in found.body]


def goes_on(served: Served) -> None:
    found = served.post("check", {"text": MP, "kind": "litmus"})
    assert found.status == 200 and found.value["models"][0]["verdict"] == "ok"


_PATHS = """
    /static/../server.py /static/%2e%2e/server.py /static/..%2fserver.py /static//etc/passwd /static/%2fetc%2fpasswd
    /static/..\\server.py /static/%5c..%5cserver.py /static/.gitkeep /static/ /static /../../etc/passwd //etc/passwd
    /api/examples/../../__init__.py /api/examples/%2e%2e/%2e%2e/formats/reader.py /api/examples/message-passing
    /api/examples/message-passing/MP%00 /api/models/../../etc/passwd /api/models/ptx-9.0.cat /api/models//etc/passwd.cat
    /api/nothing /favicon.php /static/index.html%00.js /docs /openapi.json
"""


@pytest.mark.parametrize("path", [*_PATHS.split(), "/" + "a" * 4000])
def test_no_path_leads_to_a_file(served: Served, path: str) -> None:
    found = served.get(path)
    assert found.status in (400, 404) and list(found.value) == ["error"] and discloses(found) == []


def test_every_answer_is_protected(served: Served) -> None:
    from ptxmm.web.server import HEADERS

    found = [
        served.get("/"),
        served.get("/api/models"),
        served.get("/nothing"),
        served.post("check", {}),
        served.get("/", Host="evil"),
    ]
    assert [f.status for f in found] == [200, 200, 404, 400, 403]
    for reply in found:
        assert {name: reply.headers.get(name.lower()) for name in HEADERS} == HEADERS
        assert "access-control-allow-origin" not in reply.headers and "server" not in reply.headers


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "[::1", "localhost:x", "a@127.0.0.1"],
)
def test_another_name_is_refused(served: Served, host: str) -> None:
    assert served.get("/api/models", Host=host).status in (400, 403)


def test_its_own_names_are_taken(served: Served) -> None:
    for host in ("localhost", f"localhost:{served.port}", f"127.0.0.1:{served.port}", "[::1]:80", "LOCALHOST"):
        assert served.get("/api/models", Host=host).status == 200


def test_pages_of_other_sites_are_refused(served: Served) -> None:
    body = {"text": MP, "kind": "litmus"}
    own = f"http://127.0.0.1:{served.port}"
    assert served.post("diagnose", body, Origin=own).status == 200
    for origin in ("http://evil.example", "null", f"http://evil.example:{served.port}"):
        assert served.post("diagnose", body, Origin=origin).status == 403
    assert served.post("diagnose", body, Content_Type="text/plain").status == 415
    assert served.post("diagnose", body, Content_Encoding="gzip").status == 415


def test_other_methods_are_refused(served: Served) -> None:
    for method in ("PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"):
        assert served.request(method, "/api/check").status == 405
    assert served.get("/api/check").status == 405 and served.request("POST", "/api/models", b"").status == 405
    assert served.request("CONNECT", "/").status in (400, 404, 405)


_KEYS = "text kind models model cat files options execution relations offset page cycle variant ?".split()  # noqa: SIM905
_ANY: tuple[Any, ...] = (None, True, 3, 1.5, [], ["a"], {}, {"a": 1}, "\ud800", [[]], -1, 10**30)


def test_values_of_other_types_are_refused(served: Served) -> None:
    good = {"text": MP, "kind": "litmus"}
    count = 0
    for name in ("check", "execution", "diagnose", "complete", "cycle", "repair"):
        for key in _KEYS:
            for value in _ANY:
                found = served.post(name, {**good, key: value})
                assert found.status in (200, 400, 404, 413) and discloses(found) == [], (name, key, value)
                count += found.status == 400
    assert count > 400


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b'{"text":', b"\xff\xfe", b"[" * 100000, b'{"a":' * 50000, b"9" * 6000, b'"' + b"a" * 99],
)
def test_what_is_no_json_object_is_refused(served: Served, body: bytes) -> None:
    found = served.request("POST", "/api/check", body, Content_Type="application/json")
    assert found.status == 400 and list(found.value) == ["error"]


def test_what_is_too_long_is_refused(served: Served) -> None:
    from ptxmm.web.limits import LONGEST_BODY

    assert served.post("check", {"text": "a" * LONGEST_BODY, "kind": "litmus"}).status == 413
    assert served.post("cycle", {"cycle": "Rfe " * 2000}).status == 413
    long = served.request("POST", "/api/check", b"", Content_Type="application/json", Content_Length="9" * 30)
    assert long.status in (400, 413)
    goes_on(served)


_TEXTS = {
    "ptx": ("kernel", KERNEL.format("/etc/passwd", "")),
    "above": ("kernel", KERNEL.format("../../../../etc/passwd", "")),
    "own": ("kernel", KERNEL.format("test.toml", "")),
    "array": ("kernel", KERNEL.format("k.ptx", ', init = "/etc/passwd.npy"')),
    "source": ("kernel", KERNEL.format("k.ptx", "").replace("ptx =", "cu =").replace("k.ptx", "/etc/passwd.cu")),
    "annotated": ("ptx", PTX),
    "source-in-annotation": ("ptx", PTX.replace("x=u32[1]", "x=@/etc/passwd.npy")),
    "nvcc": ("ptx", PTX.replace("grid=2", 'grid=2 nvcc="-o /tmp/x"')),
    "include": ("cat", 'include "/etc/passwd"\nacyclic po as x\n'),
    "include-own": ("cat", 'include "../../ptxmm/web/server.py"\nacyclic po as x\n'),
}


@pytest.mark.parametrize("what", _TEXTS)
def test_no_text_leads_to_a_file(served: Served, what: str) -> None:
    kind, text = _TEXTS[what]
    for name in ("check", "diagnose", "repair", "execution"):
        found = served.post(name, {"text": text, "kind": kind, "files": {"k.ptx": PTX}})
        assert found.status in (200, 404) and discloses(found) == [], found.body[:600]
    if kind == "cat":
        found = served.post("check", {"text": MP, "kind": "litmus", "cat": text})
        assert found.value["models"][0]["verdict"] == "error" and discloses(found) == []


def test_whether_a_file_is_there_is_not_told(served: Served) -> None:
    """The same words of one that is there and one that is not."""
    for there, not_there in (("/etc/passwd", "/etc/passwc"), ("/bin/sh.cu", "/bin/sg.cu")):
        found = []
        for name in (there, not_there):
            text = KERNEL.format(name, "").replace("ptx =", "cu =" if name.endswith(".cu") else "ptx =")
            body = served.post("diagnose", {"text": text, "kind": "kernel"}).body
            found.append(body.replace(name.encode(), b"?"))
        assert found[0] == found[1]


def mutants(count: int, seed: int = 19) -> list[str]:
    """Tests of the library with something in them changed."""
    random_ = random.Random(seed)
    texts = [Path(path).read_text(encoding="utf-8") for path in paths()]
    words = sorted({word for text in texts for word in text.split()})
    found = []
    for _ in range(count):
        text = random_.choice(texts)
        for _ in range(random_.randint(1, 3)):
            at, to = sorted(random_.choices(range(len(text) + 1), k=2))
            to = min(to, at + random_.choice((1, 4, 30)))
            new = random_.choice(("", random_.choice(words), random_.choice("{}|;,[]()%\0\n\u20ac~9"), text[at:to] * 3))
            text = text[:at] + new + text[to:]
        found.append(text)
    return found


def _mutants_are_answered(served: Served, count: int) -> None:
    verdicts = set()
    for number, text in enumerate(mutants(count)):
        for name in ("check", ("diagnose", "complete", "execution", "repair")[number % 4]):
            more = {"offset": len(text) // 2} if name == "complete" else {}
            found = served.post(name, {"text": text, "kind": "litmus", **more})
            assert found.status in (200, 404) and discloses(found) == [], (text, found.body[:500])
            verdicts |= {m["verdict"] for m in found.value["models"]} if name == "check" else set()
    assert {"ok", "error"} <= verdicts
    goes_on(served)


def test_mutants_are_answered(hasty: Served) -> None:
    _mutants_are_answered(hasty, 40)


@pytest.mark.long
def test_a_thousand_mutants_are_answered(hasty: Served) -> None:
    _mutants_are_answered(hasty, 1000)


def test_tests_that_are_too_large_are_stopped(hasty: Served) -> None:
    threads = 40
    row = " | ".join("atom.relaxed.gpu.add.u32 %r0, [x], 1" for _ in range(threads))
    text = f"PTX large\n{{ x=0; }}\n {' | '.join(f'P{i}' for i in range(threads))} ;\n" + f" {row} ;\n" * 40
    found = hasty.post("check", {"text": text + "exists (x = 3)\n", "kind": "litmus"})
    assert found.status == 200 and found.value["models"][0]["verdict"] in ("undecided", "error", "no")
    for long in (
        "a" * 200000,
        "(" * 200000,
        "PTX a\n{" + "x=0;" * 50000 + "}\n",
        MP + " " * 200000 + "st.",
        "|;" * 100000,
    ):
        for name in ("diagnose", "complete"):
            more = {"offset": len(long)} if name == "complete" else {}
            assert hasty.post(name, {"text": long, "kind": "litmus", **more}).status == 200
    goes_on(hasty)


def test_slow_clients_hold_up_nobody(hasty: Served) -> None:
    head = b"POST /api/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 900\r\n"
    begun = [socket.create_connection((hasty.host, hasty.port)) for _ in range(40)]
    try:
        for number, client in enumerate(begun):
            client.sendall((b"", b"GET / HT", head, head + b"\r\n{")[number % 4])
        goes_on(hasty)
        late = begun[3]  # its head came, and its body does not
        late.settimeout(PATIENCE)
        assert late.recv(64).startswith(b"HTTP/1.1 408 ")
        begun[0].settimeout(PATIENCE)
        assert begun[0].recv(64) == b""  # closed: nothing ever came
    finally:
        for client in begun:
            client.close()
    goes_on(hasty)


def test_who_goes_away_takes_the_request_along(served: Served) -> None:
    body = b'{"text": "PTX", "kind": "litmus"}'
    for _ in range(30):
        with socket.create_connection((served.host, served.port)) as client:
            head = "POST /api/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            head += f"Content-Length: {len(body)}\r\n\r\n"
            client.sendall(head.encode() + body)
    goes_on(served)


_TRIED = """
import os, socket, subprocess, sys, tempfile, ctypes
from pathlib import Path
from ptxmm.web.sealed import seal
import ptxmm.pipeline, shutil, urllib.request
seal(256 << 20)
def opens(path, mode="r"):
    return lambda: open(path, mode)
tried = {
    "read": opens("/etc/passwd"),
    "read bytes": lambda: Path("/etc/passwd").read_bytes(),
    "own settings": opens("pyproject.toml"),
    "write": opens("/tmp/x.py", "w"),
    "write own": opens(ptxmm.pipeline.__file__, "a"),
    "low": lambda: os.open("/etc/passwd", os.O_RDONLY),
    "list": lambda: os.listdir("/etc"),
    "walk": lambda: os.scandir("/"),
    "run": lambda: subprocess.run(["/bin/true"]),
    "system": lambda: os.system("true"),
    "fork": os.fork,
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "connect": lambda: socket.create_connection(("127.0.0.1", 80)),
    "listen": lambda: socket.socket(),
    "temporary": lambda: tempfile.mkstemp(),
    "remove": lambda: os.remove("/tmp/x"),
    "kill": lambda: os.kill(os.getpid(), 0),
    "memory": lambda: bytearray(1 << 30),
    "environment": lambda: os.environ["PATH"],
    "url": lambda: urllib.request.urlopen("file:///etc/passwd"),
}
for what, try_ in tried.items():
    try:
        try_()
    except (PermissionError, MemoryError, KeyError, OSError) as error:
        print(what, type(error).__name__)
    else:
        print(what, "DONE")
import json, wave
from ptxmm.api import model_named
print("models", model_named("ptx-7.5").name)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_a_sealed_process_does_nothing_but_compute(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_TRIED)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 21 and not [line for line in lines if line.endswith("DONE")], done.stdout + done.stderr
    assert lines[-1] == "models ptx-7.5"

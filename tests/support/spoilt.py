"""Files that may have been tests and cannot be taken: every way in which one may be spoilt in a folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

#: A kernel test that passes, with the module that the tests of kernel tests write.
_ONE = """ptx = "k.ptx"
entry = "k"
grid = [2, 1, 1]
block = [1, 1, 1]

[params]
x = {type = "u32", elements = 2, init = [0, 0]}
n = {type = "u32", value = 4}

[check]
forall = "x[0] == n"
"""
_OPEN = _ONE.replace('x[0] == n"', "x[0] == n")  # a string that is never closed


def _bytes(data: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(data) and None


def _link(target: str) -> Callable[[Path], None]:
    return lambda path: os.symlink(target, path)


#: How a file is made that may have been a kernel test.
TOML_FILES: dict[str, Callable[[Path], None]] = {
    "syntax": _bytes(_OPEN.encode()),
    "indented": _bytes(_OPEN.replace('ptx = "k.ptx"\nentry = "k"\n', "").encode() + b'[[variant]]\n  ptx = "k.ptx"\n'),
    "quoted": _bytes(_OPEN.replace("ptx =", '"ptx" =').encode()),
    "without code": _bytes(_ONE.replace('ptx = "k.ptx"', 'ptxx = "k.ptx"').encode()),
    "code of another kind": _bytes(_ONE.replace('"k.ptx"', '["k.ptx"]').encode()),
    "misspelt table": _bytes(_ONE.replace('ptx = "k.ptx"\n', "").encode() + b'[[variants]]\nptx = "k.ptx"\n'),
    "one table for several": _bytes(_ONE.replace('ptx = "k.ptx"\n', "").encode() + b'[variant]\nptx = "k.ptx"\n'),
    "commented out": _bytes(_ONE.replace("\n", "\n# ").replace("ptx =", "# ptx =").encode()),
    "UTF-16": _bytes(_ONE.encode("utf-16")),
    "UTF-16 without a mark": _bytes(_ONE.encode("utf-16-be")),
    "UTF-32": _bytes(_ONE.encode("utf-32")),
    "Latin-1": _bytes(_ONE.encode() + "# weiß\n".encode("latin-1")),
    "CR": _bytes(_ONE.replace("\n", "\r").encode()),
    "NUL": _bytes(_ONE.encode() + b"\0"),
    "empty": _bytes(b""),
    "blank": _bytes(b"\xef\xbb\xbf \n\n"),
    "zeros": _bytes(bytes(512)),
    "a link kept as text": _bytes(b"../elsewhere/test.toml"),
    "too long": _bytes(b"# \n" * (3 << 20) + _ONE.encode()),
    "nested too deep": _bytes(_ONE.encode() + b"z = " + b"[" * 5000),
    "number too long": _bytes(_ONE.replace("value = 4", "value = " + "4" * 5000).encode()),
    "dangling": _link("/nonexistent/bug.toml"),
    "round": _link("bad.toml"),
    "pipe": os.mkfifo,
}
LITMUS_FILES: dict[str, Callable[[Path], None]] = {
    "empty": _bytes(b""),
    "zeros": _bytes(bytes(512)),
    "UTF-16": _bytes("PTX t\n{ x = 0; }\nP0 { st.u32 [x], 1; }\nexists (x = 1)\n".encode("utf-16")),
    "bytes": _bytes(bytes(range(256))),
    "another language": _bytes(b"AArch64 MP\n{ 0:X1=x; }\n P0 ;\n MOV W0,#1 ;\nexists (x=1)\n"),
    "dangling": _link("/nonexistent/bug.litmus"),
    "round": _link("bad.litmus"),
    "pipe": os.mkfifo,
}
#: Every way, by the ending of the file.
SPOILT = [("toml", how, make) for how, make in TOML_FILES.items()] + [
    ("litmus", how, make) for how, make in LITMUS_FILES.items()
]

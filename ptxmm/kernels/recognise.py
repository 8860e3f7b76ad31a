"""Which of the TOML files of a folder are kernel tests. A folder of a project has many others, which are left alone.

A kernel test that cannot be taken must never pass for a file of another tool: silence would be green. So whatever a
file looks like, it is ours as soon as it may be:

  - text that is TOML is ours by its tables: `ptx` or `cu`, or the launch and the checks of a test whose `ptx` is
    missing or misspelt;
  - what is no TOML (a syntax error, UTF-16, bytes, line ends that TOML has not) is ours where it mentions anything that
    kernel tests are made of, and where it is the path of a TOML file: how a link is kept where there are none;
  - a file of blanks only says nothing, and may have been a test: `is_blank`.

Whoever reads such a file then says what is wrong with it.
"""

from __future__ import annotations

import re
from typing import Any

from ptxmm.kernels.document import tree_of
from ptxmm.kernels.toml import LONGEST

#: In text that is no TOML: `ptx` anywhere, also in a name; the other words by themselves.
_MENTIONED = re.compile(
    rb"ptx|(?<!\w)(?:cu|grid|block|entry|forall|race_free|no_deadlock|no_trap|terminates|assertions)(?!\w)", re.I
)
_PATH = re.compile(rb"[^\r\n=]+\.toml\s*", re.I)
#: A launch has one of these. Other tools may, too, so that a second word is asked for.
_LAUNCH = frozenset({"grid", "block"})
_WORDS = _LAUNCH | {"entry", "cluster", "dynamic_shared", "params", "check", "bounds", "expect", "kernel", "variant"}
#: Checks that no other tool has.
_CHECKS = frozenset({"forall", "race_free", "no_deadlock", "no_trap", "terminates", "assertions"})
#: Integers of more digits are refused by Python, and they are legal in a file of another tool.
_MANY_DIGITS = re.compile(r"\d(?>(?:_?[\dA-Fa-f]){400,})")
_CHUNK = 1 << 20


def holds_kernel_tests(path: str) -> bool:
    """Whether a TOML file is one of ours, or may have been meant as one. Raises OSError where it cannot be read."""
    with open(path, "rb") as file:
        data = file.read(LONGEST + 1)
        if len(data) > LONGEST:  # no reader takes it: its reader says so
            return _mentioned(data) or _mentioned_later(file, data[-32:])
    if not _MENTIONED.search(data) and b"\\" not in data and b"=" in data and b"\0" not in data:
        return False  # most files of other tools, without reading them as TOML
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        tree = tree_of(_MANY_DIGITS.sub("1", text))
    except ValueError:
        return _mentioned(data) or _PATH.fullmatch(data) is not None
    if not tree:
        return _mentioned(data)  # a test of which every line is a comment
    return _is_ours(tree)


def is_blank(path: str) -> bool:
    """Whether nothing stands in a file but blanks. Raises OSError where it cannot be read."""
    with open(path, "rb") as file:
        data = file.read(_CHUNK)
    return len(data) < _CHUNK and not data.strip(b" \t\r\n\0\xef\xbb\xbf\xfe\xff")


def _mentioned(data: bytes) -> bool:
    """Whether bytes mention kernel tests; in UTF-16 every other byte is zero."""
    return _MENTIONED.search(data.replace(b"\0", b"")) is not None


def _mentioned_later(file: Any, end: bytes) -> bool:
    while data := file.read(_CHUNK):
        if _mentioned(end + data):
            return True
        end = data[-32:]
    return False


def _is_ours(tree: dict[str, Any]) -> bool:
    return any(_names_code(table) for table in _tables(tree)) or _looks_like_one(tree)


def _tables(tree: dict[str, Any]) -> list[dict[str, Any]]:
    """The whole, and the tables of its arrays: `[[variant]]`, `[[kernel]]`, however they are spelt."""
    found = [tree]
    for key, value in tree.items():
        if isinstance(value, list):
            found += [t for t in value if isinstance(t, dict)]
        elif key in ("variant", "kernel") and isinstance(value, dict):
            found.append(value)
    for variant in found[1:]:  # the launches of a variant
        below = variant.get("kernel")
        found += [t for t in below if isinstance(t, dict)] if isinstance(below, list) else []
    return found


def _names_code(table: dict[str, Any]) -> bool:
    """Whether a table says where the code is. A table called `ptx` is somebody else's."""
    return any(key in table and not isinstance(table[key], dict) for key in ("ptx", "cu"))


def _looks_like_one(tree: dict[str, Any]) -> bool:
    """A test without its code: the launch and something else of a test, or checks that only kernel tests have."""
    keys = tree.keys() & _WORDS
    check = tree.get("check")
    return bool(keys & _LAUNCH and len(keys) > 1) or (isinstance(check, dict) and bool(check.keys() & _CHECKS))

"""Names as herd's tools read them."""

from __future__ import annotations

import re

_ILLEGAL = re.compile(r"[^A-Za-z0-9_/.\-+\[\]]")


def legal(name: str) -> str:
    """A name as their tools read one."""
    return _ILLEGAL.sub(lambda m: f"[{ord(m[0]):02x}]", name) or "[]"


_SPELLED = re.compile(r"[A-Za-z][A-Za-z0-9.]*|\$(?:[A-Za-z]+|[0-9]+)")


def spelled(name: str) -> str:
    """The name of a register or a location as their tools read one: letters, digits and dots, a letter first; or `$` and
    letters, or digits. Different names stay different: those of tests have no dots."""
    if _SPELLED.fullmatch(name):
        return name
    text = name.replace("_", "..").replace("$", ".S.")
    return f"u.{text}" if text.startswith(".") else text

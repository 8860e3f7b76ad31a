"""PTX modules checked: what is wrong with them, and what their authors should know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxmm.api import LONGEST_FILE

if TYPE_CHECKING:
    from os import PathLike

    from ptxcore.diagnostics import Diagnostic

#: How a module is judged: as ptxas 13.0 does, or as the PTX ISA manual says, where the two differ.
MODES = ("ptxas", "manual")


def lint(path: str | PathLike[str], *, mode: str = "ptxas", warnings: bool = True) -> list[Diagnostic]:
    """What is wrong with the PTX module in a file: errors, and warnings about concurrent code, in the order of their
    places. Raises OSError where the file cannot be read, ValueError for another mode than `MODES`."""
    text, found = read(path)
    return sorted([*found, *lint_text(text, mode=mode, warnings=warnings)], key=lambda d: d.span)


def lint_text(text: str, *, mode: str = "ptxas", warnings: bool = True) -> list[Diagnostic]:
    """As `lint`, of a module that is at hand as text."""
    from ptxcore.check.module import check

    from ptxcore.syntax.reader import read_module

    if mode not in MODES:
        raise ValueError(f"mode is one of {' '.join(MODES)}, not {mode!r}")
    module, found = read_module(text)
    found = [*found, *check(module, manual=mode == "manual")]
    if warnings:
        from ptxcore.check.concurrency import warn

        found += warn(module)
    return sorted(found, key=lambda d: d.span)


def read(path: str | PathLike[str]) -> tuple[str, list[Diagnostic]]:
    """The text of a PTX file; bytes that are not UTF-8 are a finding, and stand as replacement characters."""
    from ptxcore.diagnostics import Diagnostic, Span

    with open(path, "rb") as file:
        data = file.read(LONGEST_FILE + 1)
    if len(data) > LONGEST_FILE:
        raise OSError(f"longer than {LONGEST_FILE >> 20} MiB: not a PTX module")
    try:
        return data.decode("utf-8"), []
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8")) + 1
        message = f"the byte 0x{data[error.start]:02x} is not UTF-8"
        return data.decode("utf-8", "replace"), [Diagnostic(Span(line, column, column + 1), message, code="encoding")]

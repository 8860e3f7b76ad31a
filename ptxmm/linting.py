"""PTX modules checked: what is wrong with them, and what their authors should know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxcore.sources import read_bytes

LONGEST_FILE = 32 << 20

if TYPE_CHECKING:
    from os import PathLike

    from ptxcore.diagnostics import Diagnostic

#: How a module is judged: as ptxas 13.0 does, or as the PTX ISA manual says, where the two differ.
MODES = ("ptxas", "manual")


def lint(
    path: str | PathLike[str], *, mode: str = "ptxas", warnings: bool = True, timeout: float | None = None
) -> list[Diagnostic]:
    """What is wrong with the PTX module in the file `path`: errors and, with `warnings`, warnings, in the order of their
    places. `mode`: judged as `ptxas` 13.0 does, or as the `manual` says, where the two differ. Raises OSError
    where the file cannot be read, ValueError for another mode than `MODES`, and `ptxcore.clock.OutOfTime` where checking it
    takes longer than `timeout` seconds."""
    return lint_text(read(path), mode=mode, warnings=warnings, timeout=timeout)


def lint_text(
    text: str, *, mode: str = "ptxas", warnings: bool = True, timeout: float | None = None
) -> list[Diagnostic]:
    """As `lint`, of a module that is at hand as text."""
    from ptxcore.check.module import read_and_check
    from ptxcore.clock import limited

    if mode not in MODES:
        raise ValueError(f"mode is one of {' '.join(MODES)}, not {mode!r}")
    with limited(timeout) as clock:
        module, found = read_and_check(text, manual=mode == "manual")
        if warnings:
            from ptxcore.advice.advising import advise

            found += advise(module)
        else:
            found = [d for d in found if d.severity == "error"]
        if clock is not None:
            clock.look()  # what came late is no answer, however little was left to do
    return sorted(found, key=lambda d: d.span)


def read(path: str | PathLike[str]) -> str:
    """The text of a PTX file. Bytes that are not UTF-8 stand as lone surrogates, which the reader tells of: PTX is ASCII.
    Raises OSError."""
    return read_bytes(path, LONGEST_FILE, "a PTX module").decode("utf-8", "surrogateescape")


def write(path: str | PathLike[str], text: str) -> None:
    """Writes a PTX file that `read` has read, whole or not at all. Raises OSError."""
    import os

    from ptxmm.writing import write_whole

    write_whole(os.fspath(path), text)

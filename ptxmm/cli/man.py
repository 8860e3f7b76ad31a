"""The man page, made from what the command line takes: `python -m ptxmm.cli.man > docs/ptxmm.1` writes it anew."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ptxmm import __version__

if TYPE_CHECKING:
    from ptxmm.cli.outline import Command, OutlinedArgument

_ABOUT = (
    "ptxmm decides what concurrent PTX code may do: whether the memory consistency model of the PTX ISA allows an outcome of a "
    "litmus test, and whether a kernel keeps what is claimed of it.",
    "ptxmm learn and the tutorial of its documentation are the place to begin.",
)


def page(commands: Iterable[Command]) -> str:
    """The page, in the man macros of troff."""
    return "\n".join(_lines(list(commands))) + "\n"


def _lines(commands: list[Command]) -> Iterator[str]:
    yield '.\\" Written by: python -m ptxmm.cli.man'
    yield f'.TH PTXMM 1 "" "ptxmm {__version__}" "User Commands"'
    yield from (".SH NAME", "ptxmm \\- decides what concurrent PTX code may do")
    yield from (
        ".SH SYNOPSIS",
        "\\fBptxmm\\fR \\fICOMMAND\\fR [\\fIoptions\\fR]",
        ".br",
        "\\fBptxmm\\fR \\fB\\-\\-version\\fR",
    )
    yield ".SH DESCRIPTION"
    for number, paragraph in enumerate(_ABOUT):
        yield from [".PP"] * bool(number)
        yield _plain(paragraph)
    yield ".SH COMMANDS"
    for command in commands:
        yield from (".TP", f"\\fB{_plain(command.name)}\\fR", _plain(command.what))
    for command in commands:
        yield from _command(command)
    yield from (".SH SEE ALSO", _plain("ptxmm explain lists topics: mistakes, races, axioms, relations, verdicts."))


def _command(command: Command) -> Iterator[str]:
    yield f'.SH "PTXMM {_plain(command.name.upper())}"'
    yield f"\\fBptxmm {_plain(command.name)}\\fR {' '.join(_synopsis(command))}"
    yield from (".PP", _plain(command.description))
    for argument in command.arguments:
        yield from (".TP", _named(argument), _plain(argument.what))
    head, _, examples = command.ending.partition("\n\nexamples:\n\n")
    if head:
        status = head.removeprefix("exit status:").strip()
        yield from (".SS Exit status", _plain(status))
    if examples:
        yield from (".SS Examples", ".nf", *(_plain(line.strip()) for line in examples.splitlines()), ".fi")


def _synopsis(command: Command) -> Iterator[str]:
    """What must be given, and what may stand alone."""
    for argument in command.arguments:
        if argument.needed or not argument.names:
            shown = _named(argument) + "..." * argument.many
            yield shown if argument.needed else f"[{shown}]"
    yield "[\\fIoptions\\fR]"


def _named(argument: OutlinedArgument) -> str:
    value = f"\\fI{_plain(argument.metavar)}\\fR" if argument.metavar else ""
    if not argument.names:
        return value
    return ", ".join(f"\\fB{_plain(name)}\\fR" for name in argument.names) + (f" {value}" if value else "")


def _plain(text: str) -> str:
    """Text that troff prints as it is: no request of its own, and hyphens that may be typed."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace('"', "\\(dq")
    return f"\\&{text}" if text.startswith(".") else text


def main() -> None:
    """Prints the page."""
    from ptxmm.cli.outline import outline

    sys.stdout.write(page(outline()))


if __name__ == "__main__":
    main()

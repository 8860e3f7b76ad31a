"""Whatever a file holds, `ptxmm lint` answers at once, with findings that have places, and what was read can be printed.

Each mutant is made from a number, so that a finding can be repeated: `python
tests/ptxcore/check/test_fuzz_lint.py 4711` checks one, `... 0:200000` a range, and prints what it found. The campaign takes its
range from PTXMM_FUZZ_LINT (`0:200000` unless it is set), so that it can be run in slices.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "support"))  # where no pytest does it

from campaigns import share
from growth import watched
from ptx_mutants import mutant

from ptxcore.diagnostics import Diagnostic
from ptxcore.syntax.printer import print_module
from ptxcore.syntax.reader import read_module
from ptxmm.linting import MODES, lint_text

_PROGRESS = 5000


def misplaced(found: list[Diagnostic], text: str) -> str | None:
    """What is wrong with the findings themselves, if anything is."""
    lines = text.split("\n")
    for diagnostic in found:
        line, column, end = diagnostic.span
        if not 1 <= line <= len(lines) or not 1 <= column < end or end > len(lines[line - 1]) + 2:
            return f"{line}:{column}-{end} is outside of the file: {diagnostic.message}"
        if not diagnostic.message or not diagnostic.code or diagnostic.hint == "":
            return f"{line}:{column} says too little: {diagnostic}"
        if len(diagnostic.message) > 1000 or len(diagnostic.render("p", lines)) > 4000:
            return f"{line}:{column} says too much: {diagnostic.message[:200]}"
    if found != sorted(found, key=lambda d: d.span):
        return "findings are out of order"
    if len(set(found)) < len(found):
        twice = next(d for d in found if found.count(d) > 1)
        return f"said twice: {twice}"
    return None


def problem(data: bytes) -> str | None:
    """What is wrong with how a file is taken, if anything is."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        for mode in MODES:
            with watched():
                found = lint_text(text, mode=mode)
            wrong = misplaced(found, text)
            if wrong is not None:
                return wrong
        return unlike(text)
    except Exception as error:
        return f"{type(error).__name__}: {error}\n{traceback.format_exc()}"


def unlike(text: str) -> str | None:
    """How a module that was read differs from itself printed and read again, if it does."""
    module, faults = read_module(text)
    if faults:
        print_module(module)  # statements that stand in wrong places cannot be read back there
        return None
    printed = print_module(module)
    again, faults = read_module(printed)
    if faults:
        return f"printed, it has a fault: {faults[0]} in {printed.split(chr(10))[faults[0].span.line - 1]!r}"
    if again != module:
        pairs = zip(module.statements, again.statements, strict=False)
        return f"printed, it differs: {next(((a, b) for a, b in pairs if a != b), 'in length')}"
    return None


def findings(seeds: range) -> Iterator[tuple[int, str]]:
    """The numbers of the mutants that something is wrong with, and what."""
    for seed in seeds:
        found = problem(mutant(seed))
        if found is not None:
            yield seed, found
        if seed % _PROGRESS == _PROGRESS - 1:
            print(f"{seed + 1} of {seeds.stop}", file=sys.stderr, flush=True)


def test_mutated_modules_get_findings_with_places() -> None:
    assert list(findings(range(1_000_000, 1_000_120))) == []


@pytest.mark.campaign
def test_two_hundred_thousand_mutated_modules_get_findings_with_places() -> None:
    first, last = map(int, os.environ.get("PTXMM_FUZZ_LINT", f"0:{share(200_000)}").split(":"))
    assert list(findings(range(first, last))) == []


def _main(argument: str) -> None:
    first, _, last = argument.partition(":")
    seeds = range(int(first), int(last)) if last else range(int(first), int(first) + 1)
    if not last:
        sys.stdout.write(mutant(seeds.start).decode("utf-8", "replace") + "\n")
    for seed, found in findings(seeds):
        print(f"{seed}: {found}", flush=True)
    print(f"{seeds.start}:{seeds.stop} done", flush=True)


if __name__ == "__main__":
    _main(sys.argv[1])

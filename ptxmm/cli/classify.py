"""`ptxmm classify`: the cycles of tests, with the names that the field has for them, as classify7 tells them."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from ptxmm import __version__

if TYPE_CHECKING:
    from litmus.cycles.recognise import Recognised

_CLASSIFIED, _SOME_NOT, _BAD_INPUT = 0, 1, 2
#: What tests stand under that have no cycle.
_NONE = "no cycle"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    from ptxmm.cli import options as shared

    classify = shared.command(
        commands,
        "classify",
        "find the cycles that tests are made of, and their names",
        "Reads litmus tests, made by ptxmm generate or not, and tells the cycle that the condition of each asks "
        "for, the name that ptxmm generate gives to that cycle, and the classic name of its shape, under which it stands.",
        "0 each test has a cycle; 1 some have none; 2 bad input or usage; 130 interrupted",
        "ptxmm classify mp.litmus",
        "ptxmm classify tests --diyone > cycles",
        "ptxmm generate 'PodWW Rfe PodRR Fre' | ptxmm classify -",
    )
    classify.add_argument("paths", nargs="+", metavar="PATH", help="a *.litmus file, a folder, @list, or -")
    classify.add_argument(
        "--diyone", action="store_true", help="print NAME: CYCLE, a line for each, as diyone7 reads it"
    )
    classify.add_argument(
        "--map", type=shared.file_name, metavar="FILE", help="also write the old and the new name of each test there"
    )
    classify.add_argument("--format", choices=("text", "json"), default="text", help="default: %(default)s")


def classify(options: argparse.Namespace) -> int:
    """Runs the command; gives its exit status."""
    found, status = _classified(options.paths)
    try:
        if options.map is not None:
            with open(options.map, "w", encoding="utf-8") as file:
                file.writelines(f"{name} {cycles[0].name}\n" for name, cycles, _ in found if cycles)
    except OSError as error:
        sys.stderr.write(f"ptxmm classify: error: cannot write to {options.map}: {error.strerror or error}\n")
        return _BAD_INPUT
    if options.format == "json":
        _print_json(found)
    elif options.diyone:
        _print_lines(found)
    else:
        _print_families(found)
    return status


#: A test's name, its cycles, and why it has none.
_Found = list[tuple[str, "tuple[Recognised, ...]", str]]


def _classified(paths: list[str]) -> tuple[_Found, int]:
    from litmus.cycles.recognise import Unread, recognised
    from litmus.formats import find
    from litmus.test import Test
    from ptxcore.diagnostics import InputError
    from ptxmm.api import load

    found: _Found = []
    status = _CLASSIFIED
    for path, problem in find(paths):
        try:
            if problem is not None:
                raise OSError(problem)
            test = load(path)
            if not isinstance(test, Test):
                raise OSError("this is a kernel test, and cycles are told of litmus tests")
        except InputError as error:
            sys.stderr.write(f"{error}\n")
            status = _BAD_INPUT
            continue
        except OSError as error:
            sys.stderr.write(f"{path}: error: {error.strerror or error}\n")
            status = _BAD_INPUT
            continue
        try:
            found.append((test.name, recognised(test), ""))
        except Unread as unread:
            found.append((test.name, (), str(unread)))
            status = status or _SOME_NOT
    return found, status


def _print_families(found: _Found) -> None:
    """Under each family its tests, with their cycles: `OLD -> NEW: CYCLE`."""
    families: dict[str, list[str]] = {}
    for name, cycles, why in found:
        for cycle in cycles:
            families.setdefault(cycle.family, []).append(f"  {name} -> {cycle.name}: {cycle.cycle}\n")
        if not cycles:
            families.setdefault(_NONE, []).append(f"  {name}: {why}\n")
    for family in sorted(families, key=lambda one: (one == _NONE, one)):
        sys.stdout.write(f"{family}\n" + "".join(families[family]))


def _print_lines(found: _Found) -> None:
    for name, cycles, why in found:
        for cycle in cycles:
            sys.stdout.write(f"{cycle.name}: {cycle.cycle}\n")
        if not cycles:
            sys.stderr.write(f"{name}: {why}\n")


def _print_json(found: _Found) -> None:
    items = [
        {"name": name, "cycles": [asdict(cycle) for cycle in cycles]} | ({"reason": why} if why else {})
        for name, cycles, why in found
    ]
    sys.stdout.write(json.dumps({"ptxmm": __version__, "tests": items}) + "\n")

"""Lists of cycles, a line each, as diyone7 reads them and classify7 and `ptxmm classify --diyone` print them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from litmus.cycles.generator import generate
from litmus.cycles.places import is_label
from litmus.test import Test
from ptxcore.diagnostics import Diagnostic, InputError, Span

_LINE = re.compile(r"[ \t]*(?:(?P<name>[^\s:]+):(?=\s))?[ \t]*(?P<cycle>[^\r\n]*)")


def from_list(text: str, path: str, *, places: str = "", events: str = "") -> Iterator[Test]:
    """The tests of a list: of each line `NAME: CYCLE`, or `CYCLE`, in its order. Empty lines and those that begin with `#`
    have none.

    A name that is given is the test's name; where it ends with places (`MP@cta`) and `places` says nothing, the threads
    stand there. `places` and `events` are as for `generate`, which gives the other names. Raises `InputError` with the place in
    the list of everything that is wrong: what `generate` refuses, and a second test of one name.
    """
    findings: list[Diagnostic] = []
    found: dict[str, Test] = {}
    for number, line in enumerate(text.split("\n"), 1):
        read = _LINE.match(line)
        if read is None or not read["cycle"].strip() or line.lstrip().startswith("#"):
            continue
        span = Span(number, read.start("cycle") + 1, read.start("cycle") + 1 + len(read["cycle"].rstrip()))
        try:
            # Behind so many lines and blanks, what is wrong with the cycle is told with its place in the list.
            cycle = "\n" * (number - 1) + " " * read.start("cycle") + read["cycle"]
            for test in _named(read["name"], cycle, places, events):
                if test.name in found:
                    findings.append(
                        Diagnostic(span, f"the list has two tests '{test.name}'", "NAME: CYCLE gives a name")
                    )
                found[test.name] = test
        except InputError as error:
            findings += error.diagnostics
        except ValueError as error:
            findings.append(Diagnostic(span, str(error)))
    if not found and not findings:
        findings.append(Diagnostic(Span(1, 1, 2), "a list of cycles has a cycle", "as in 'MP: PodWW Rfe PodRR Fre'"))
    if findings:
        raise InputError(findings, path, text)
    return iter(found.values())


def _named(name: str | None, cycle: str, places: str, events: str) -> Iterator[Test]:
    base, at, label = (name or "").rpartition("@")
    placed = bool(at) and is_label(label)
    for test in generate(cycle, places=places or (label if placed else ""), events=events):
        if name is None:
            yield test
            continue
        where = test.name.partition("@")[2]
        given = base if placed else name
        yield replace(test, name=f"{given}@{where}" if where else given)

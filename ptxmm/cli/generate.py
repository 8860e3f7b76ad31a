"""`ptxmm generate`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ptxmm import __version__

if TYPE_CHECKING:
    from litmus.test import Test

_DONE, _BAD_INPUT = 0, 2
#: The list of all tests that were written.
_INDEX = "@all"
#: Edges of a cycle of the suite, where nobody says how many.
_SUITE_SIZE = 4
_NONE = "no cycle of these edges is within these bounds"


class _Texts:
    """Tests as they are read again, with an empty line between them."""

    def __init__(self) -> None:
        self._first = True

    def add(self, test: Test, text: str) -> None:
        sys.stdout.write(text if self._first else "\n" + text)
        self._first = False

    def end(self) -> None:
        pass


class _Json:
    """One document, a line for each test."""

    def __init__(self) -> None:
        self._before = json.dumps({"ptxmm": __version__})[:-1] + ', "tests": [\n'

    def add(self, test: Test, text: str) -> None:
        meta = dict(test.meta)
        item = {
            "name": test.name,
            "cycle": meta.get("Cycle"),
            "com": meta.get("Com"),
            "threads": len(test.threads),
            "expect": meta.get("Expect"),
            "text": text,
        }
        sys.stdout.write(self._before + json.dumps(item))
        self._before = ",\n"

    def end(self) -> None:
        sys.stdout.write((self._before if self._before.endswith("[\n") else "\n") + "]}\n")


class _Folder:
    """A file for each test, and an index of them."""

    def __init__(self, path: str) -> None:
        self.path, self.count = Path(path), 0
        self.path.mkdir(parents=True, exist_ok=True)
        self._index: IO[str] = open(self.path / _INDEX, "w", encoding="utf-8")  # noqa: SIM115 (until the end)

    def add(self, test: Test, text: str) -> None:
        name = f"{test.name}.litmus"
        with open(os.path.join(self.path, name), "wb", buffering=0) as file:
            file.write(text.encode())
        self._index.write(name + "\n")
        self.count += 1

    def end(self) -> None:
        self._index.close()
        plural = "" if self.count == 1 else "s"
        sys.stdout.write(f"{self.count} test{plural} written, listed in {self.path / _INDEX}\n")


def generate(options: argparse.Namespace) -> int:
    """Runs the command; gives its exit status: 0, or 2 for what no test can be made of."""
    from axioms.models.naming import including
    from litmus.formats.printer import write
    from ptxcore.diagnostics import InputError

    if options.families:
        return _list_families()
    try:
        tests: Iterator[Test] = _tests(options)
        if options.minimal or options.suite:
            from ptxmm.api import model_named
            from ptxmm.minimal import minimal_tests

            model = including(options.model or "ptx-9.0", options.folders)
            model_named(model)
            tests = minimal_tests(tests, model)
        elif options.model is not None:
            tests = map(_expecting(including(options.model, options.folders)), tests)
        tests = islice(tests, options.limit)
        first = next(tests, None)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return _BAD_INPUT
    except ValueError as error:
        sys.stderr.write(f"ptxmm generate: error: {error}\n")
        return _BAD_INPUT
    try:
        report: _Texts | _Json | _Folder = _Folder(options.output) if options.output else _reports[options.format]()
    except OSError as error:
        sys.stderr.write(f"ptxmm generate: error: cannot write to {options.output}: {error.strerror or error}\n")
        return _BAD_INPUT
    try:
        if first is None:
            minimal = options.minimal or options.suite
            why = "the model forbids the outcome of none of these tests" if minimal else _NONE
            sys.stderr.write(f"ptxmm generate: {why}\n")
        else:
            for test in _with(first, tests):
                report.add(test, write(test))
    finally:
        report.end()
    return _DONE


def _list_families() -> int:
    """Each family with its options on a line, and what it is of below."""
    from litmus.families import FAMILIES, described

    for name in FAMILIES:
        what, values = described(name)
        sys.stdout.write(f"{name} N {values}".rstrip() + f"\n    {what}\n")
    return _DONE


_reports: dict[str, Callable[[], _Texts | _Json]] = {"text": _Texts, "json": _Json}


def _with(first: Test, others: Iterable[Test]) -> Iterator[Test]:
    yield first
    yield from others


def _tests(options: argparse.Namespace) -> Iterator[Test]:
    """What is asked for: all cycles of some edges, one cycle, or a test of a family. Raises InputError and ValueError."""
    words = options.words
    if options.suite:
        return _suite(options)
    if options.edges is not None:
        if words:
            raise ValueError(f"--edges takes all cycles: '{' '.join(words)}' is one too many")
        from ptxmm.cli.cycles import cycle_tests

        return cycle_tests(options)
    if not words:
        raise ValueError("a cycle is needed, as in 'PodWW Rfe PodRR Fre', a family and its size, or --edges")
    from ptxmm.cli.cycles import refuse_idle

    if options.cross:
        from litmus.cycles import cross

        refuse_idle(options, "cycles of one edge of each list", ("--places", "--events"))
        return cross(words, places=options.places, events=options.events)
    if words[0] == "-" or words[0].startswith("@"):
        refuse_idle(options, "a list of cycles", ("--places", "--events"))
        return chain.from_iterable([list(_of_list(word, options)) for word in words])
    if ":" in words[0]:
        refuse_idle(options, "a test of a family, whose size stands behind its name")
        return iter([_of_family(words)])
    refuse_idle(options, "a single cycle", ("--places", "--events"))
    from litmus.cycles import generate as tests_of

    return tests_of(" ".join(words), places=options.places, events=options.events)


def _suite(options: argparse.Namespace) -> Iterator[Test]:
    """What the suite is made from. Raises ValueError for options that say otherwise."""
    from litmus.cycles.suite import suite
    from ptxmm.cli.cycles import given

    if options.words or options.edges is not None:
        raise ValueError("--suite has cycles of its own: no others can be named beside it")
    idle = [name for name in given(options) if name not in ("--size", "--threads", "--places")]
    if idle:
        raise ValueError(f"{idle[0]} says nothing of --suite, which takes --size, --threads and --places")
    size = options.size[1] if "--size" in given(options) else _SUITE_SIZE
    return (test for _, test in suite(size, options.threads[1], options.places or "all"))


def _of_list(word: str, options: argparse.Namespace) -> Iterator[Test]:
    """The tests of `@FILE`, or of standard input. Raises InputError, and ValueError for what cannot be read."""
    from litmus.cycles.lists import from_list

    path = "<standard input>" if word == "-" else word[1:]
    try:
        data = sys.stdin.buffer.read() if word == "-" else Path(path).read_bytes()
        text = data.decode()
    except OSError as error:
        raise ValueError(f"cannot read {path or word}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ValueError(f"cannot read {path}: it is no text in UTF-8") from None
    return from_list(text, path, places=options.places, events=options.events)


def _of_family(words: list[str]) -> Test:
    from litmus.families import family

    values = dict(word.partition("=")[::2] for word in words[2:])
    if len(words) < 2 or not words[1].isdecimal() or not all("=" in word for word in words[2:]):
        raise ValueError(f"a family has a size, and NAME=VALUE behind it, as in '{words[0]} 4 scope=cta'")
    return family(words[0], int(words[1]), values)


def _expecting(model: str) -> Callable[[Test], Test]:
    """Adds to a test the verdict that it has under a model, where that is decided."""
    import ptxmm
    from axioms.program import UnsupportedProgram
    from ptxmm.api import model_named

    loaded = model_named(model)

    def expecting(test: Test) -> Test:
        try:
            verdict = ptxmm.check(test, loaded, witnesses=False).verdict
        except UnsupportedProgram:
            return test
        if verdict not in ("ok", "no", "undefined", "bounded"):
            return test
        meta = tuple((key, value) for key, value in test.meta if key != "Expect")
        return replace(test, meta=(*meta, ("Expect", verdict)))

    return expecting

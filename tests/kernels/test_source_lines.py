"""Every line that a report of an example in CUDA C++ names is there: in the source, whose text stands below each cause, and in
the PTX, where the instruction stands that is told, below the `.loc` of the line of the source that is told beside it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from kept import EXAMPLES, variants

from ptxmm.cli.main import main
from ptxmm.kernels.modules import compile_cuda
from ptxmm.kernels.toml import read

ROOT = EXAMPLES[0].parents[1]
#: Examples that fail and have no kernel test: what `ptxmm check` is told.
ASKED = {
    "examples/repair/spin.cu": [
        "--arg",
        "counter=u32[1]",
        "--forall",
        "counter[0] == 2",
        "--grid",
        "2",
        "--block",
        "1",
    ],
    "examples/repair/copy.cu": ["--arg", "in=u32[2]", "--arg", "out=u32[2]", "--grid", "1", "--block", "2"],
    "examples/lock.cu": [
        "--entry",
        "weak",
        "--arg",
        "lock=u32[1]",
        "--arg",
        "counter=u32[1]",
        "--grid",
        "2",
        "--block",
        "1",
    ],
}
#: A line of a file, as reports name it; a line of the PTX with that of the source; a step of an execution.
_NAMED = re.compile(r"([\w./-]+\.(?:cu|cuh|h|ptx)):(\d+)")
_BOTH = re.compile(r"([\w./-]+\.cu):(\d+) \(PTX (\d+)")
_STEP = re.compile(r"^\s+(?:CTA|T\d).*?  \S+ \(PTX (\d+)\)  ([^\s(].*?)(?:  |$)", re.MULTILINE)
_CAUSE = re.compile(r"^    ([\w./-]+\.cu):(\d+): .*\n(.*)$", re.MULTILINE)
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+\d+(?:.*inlined_at\s+(\d+)\s+(\d+))?")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)


class Example(NamedTuple):
    """What `ptxmm check` is told, and the PTX that its answer is about."""

    words: list[str]
    module: str


def of_test(path: Path, variant: str) -> Example:
    module = path.with_suffix(".ptx").read_text(encoding="utf-8")
    return Example([f"examples/{path.name}:{variant}", "--races"], module)


def of_source(path: str) -> Example:
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")
    return Example([path, *ASKED[path]], compile_cuda(path).text)


def failing() -> Iterator[tuple[Path, str]]:
    for path, variant in variants(EXAMPLES):
        tree = read(path).document.tree
        told = next(v for v in tree["variant"] if v["name"] == variant)
        if path.with_suffix(".cu").exists() and told.get("expect", "ok") != "ok":
            yield path, variant


def places_of(module: str) -> tuple[list[tuple[str, int] | None], set[tuple[str, int]]]:
    """Of each line of PTX the place that its `.loc` says, None where that was inlined; and all places, of calls, too."""
    files = {number: Path(name).name for number, name in _FILE.findall(module)}
    here: tuple[str, int] | None = None
    each: list[tuple[str, int] | None] = []
    known = set()
    for line in module.split("\n"):
        found = _LOC.match(line)
        if found is not None:
            file, number, caller, at = found.groups()
            known |= {(files[file], int(number))} | ({(files[caller], int(at))} if caller else set())
            here = None if caller else (files[file], int(number))
        each.append(here)
    return each, known


def verify(example: Example, page: str) -> int:
    """Checks what a page names; gives how many lines of sources it names."""
    ptx = [" ".join(line.split()).rstrip(";") for line in example.module.split("\n")]
    named = 0
    for file, number in _NAMED.findall(page):
        path = ROOT / file
        made = file.endswith(".cu.ptx") and not path.exists()  # compiled just now: the PTX is in no file
        lines = ptx if made else path.read_text(encoding="utf-8").split("\n")
        assert 1 <= int(number) <= len(lines) and lines[int(number) - 1].strip(), f"{file}:{number}"
        named += file.endswith(".cu")
    each, known = places_of(example.module)
    for file, number, line in _BOTH.findall(page):
        place = (Path(file).name, int(number))
        assert each[int(line) - 1] in (None, place) and place in known, f"line {line} is not of {place}"
    for line, instruction in _STEP.findall(page):
        written = "".join(ptx[int(line) - 1].split())  # inline PTX is spaced as its author wrote it
        assert written.endswith("".join(instruction.split())), f"line {line}: {ptx[int(line) - 1]}, not {instruction}"
    for file, number, shown in _CAUSE.findall(page):
        text = (ROOT / file).read_text(encoding="utf-8").split("\n")[int(number) - 1].strip()
        whole = shown.strip().removesuffix(" ...")  # a long one is cut at its end
        assert text == whole or (shown.strip() != whole and text.startswith(whole)), shown
    return named


def pages(example: Example, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for more in ([], ["--all"]):
        main(["check", *example.words, *more])
        page = capsys.readouterr().out
        assert verify(example, page) >= 2, page
        if "semantics" in page:
            assert _CAUSE.search(page) and _BOTH.search(page), page


@pytest.mark.part(3)
@pytest.mark.parametrize(("path", "variant"), list(failing()), ids=lambda part: getattr(part, "stem", part))
def test_lines_of_kernel_tests_are_there(
    path: Path, variant: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pages(of_test(path, variant), capsys, monkeypatch)


@pytest.mark.part(3)
@pytest.mark.parametrize("path", ASKED)
def test_lines_of_sources_compiled_just_now_are_there(
    path: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    pages(of_source(path), capsys, monkeypatch)


def test_lines_that_are_not_there_are_seen() -> None:
    path, variant = next(pair for pair in failing() if pair[0].stem == "lock")
    example = of_test(path, variant)
    each, _ = places_of(example.module)
    line, place = next((n, p) for n, p in enumerate(each, 1) if p is not None)
    assert verify(example, f"at examples/{place[0]}:{place[1]} (PTX {line})") == 1
    for wrong in (
        "examples/lock.cu:999",
        f"at examples/lock.cu:1 (PTX {line})",
        f"    T0  examples/lock.cu:{place[1]} (PTX {line})  bogus.u32",
        f"    examples/lock.cu:{place[1]}: no release semantics\n      another text",
    ):
        with pytest.raises(AssertionError):
            verify(example, wrong)

"""The examples answer as they say they should, and are what their sources say."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from campaigns import some
from kept import variants

import ptxmm
from ptxmm.kernels.modules import compile_cuda

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
#: The kernels of the pages on common mistakes.
MISTAKES = EXAMPLES.parent / "docs" / "mistakes"
FILES = sorted(EXAMPLES.glob("*.toml"))
TESTS = variants(FILES)


@pytest.mark.parametrize(("path", "variant"), TESTS, ids=[f"{p.stem}:{v}" for p, v in TESTS])
def test_examples_answer_as_they_say(path: Path, variant: str) -> None:
    result = ptxmm.check(ptxmm.load(f"{path}:{variant}"))
    assert result.passed and result.complete, result
    if result.verdict != "ok":
        places = [str(spot) for check in result.checks for spot, _ in check.spots]
        places += [str(spot) for spot, _ in result.places]
        places += [str(event.source) for race in result.races for event in race.events]
        assert any(re.search(rf"{path.stem}\.cu:\d+$", place) for place in places)  # in the source, not only in the PTX


def test_why_says_what_a_lock_rests_on() -> None:
    result = ptxmm.check(ptxmm.load(f"{EXAMPLES / 'lock.toml'}:correct"), why=True)
    assert result.why is not None and result.why["axiom"] == "causality" and result.why_witness is not None
    text = "\n".join(result.why["text"])
    for words in (
        "st.release.gpu.b32 [%rd2], %r2",
        "were it relaxed, the outcome would be allowed",
        "lock.cu:9 (PTX 42)",
    ):
        assert words in text
    assert not re.search(r"\bc0t0\b", text)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
@pytest.mark.parametrize(
    "source",
    [*some(12, sorted(EXAMPLES.glob("*.cu"))), *some(30, sorted(MISTAKES.glob("*/*.cu")))],
    ids=lambda p: f"{p.parent.name}/{p.name}",
)
def test_modules_are_what_the_compiler_makes_of_their_sources(source: Path) -> None:
    made = compile_cuda(str(source)).text
    written = source.with_suffix(".ptx").read_text(encoding="utf-8")
    version = re.compile(r"^// (?:Compiler Build ID|Cuda compilation tools).*$", re.MULTILINE)
    if version.findall(made) != version.findall(written):
        pytest.skip("another compiler")
    assert without_places(made) == without_places(written)


def without_places(text: str) -> str:
    """The code of a module without what tells where its source lay: paths, names made of their hashes, debugging data."""
    text = re.sub(r'^(\s*\.file\s+\d+) ".*/(\w+\.cu)"', r'\1 "\2"', text, flags=re.MULTILINE)
    text = re.sub(r"INTERNAL_[0-9a-f]{8}_", "INTERNAL_", text)
    return text.partition("\t.section")[0]


def test_no_example_names_the_place_where_it_was_made() -> None:
    for path in [*EXAMPLES.glob("*.ptx"), *MISTAKES.glob("*/*.ptx")]:
        files = re.findall(r'^\s*\.file\s+\d+ "(.*)"', path.read_text(encoding="utf-8"), re.MULTILINE)
        assert all(not f.startswith("/") or "/include/" in f for f in files)

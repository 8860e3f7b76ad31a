"""Kernels after public bug reports, as nvcc compiles them: each variant has the verdict and the races that are known of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kept import variants

import ptxmm
from ptxmm.kernels.toml import read

MUSEUM = Path(__file__).parent / "museum"
FILES = sorted(MUSEUM.glob("*.toml"))
TESTS = variants(FILES)


def load(path: Path, variant: str) -> object:
    """The test; skipped where its PTX is not at hand."""
    entry = next(v for v in read(path).document.tree["variant"] if v["name"] == variant)
    if not os.path.exists(path.parent / entry["ptx"]):
        pytest.skip("the collection of kernels is not here")
    return ptxmm.load(f"{path}:{variant}")


@pytest.mark.part(4)
@pytest.mark.parametrize(("path", "variant"), TESTS, ids=[f"{path.stem}:{variant}" for path, variant in TESTS])
def test_the_verdict_is_the_known_one(path: Path, variant: str) -> None:
    result = ptxmm.check(load(path, variant))
    assert result.passed, f"{result.verdict}: {result.error} {[c.message for c in result.checks]}"
    assert result.complete and result.seconds < 60
    raced = next(c for c in result.checks if c.kind == "race_free")
    assert result.verdict == "undefined" or raced.holds
    if variant != "buggy":
        assert result.races == []
    else:
        assert result.races or result.verdict == "undefined"


#: Those that brute force decides within a second or two.
SMALL = (
    "14-lookback-flag-no-fence",
    "16-lamport-counter-relaxed-red",
    "35-tma-store-no-proxy-fence",
    "42-cluster-barrier-relaxed",
)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("variant", ["buggy", "fixed"])
def test_brute_force_finds_the_same(name: str, variant: str) -> None:
    test = load(MUSEUM / f"{name}.toml", variant)
    ours, theirs = (ptxmm.check(test, engine=engine) for engine in ("solve", "enumerate"))

    def raced(result: ptxmm.Result) -> set[tuple[object, ...]]:
        pairs = (race.events for race in result.races)
        return {tuple(sorted((e.thread, e.line) for e in pair)) for pair in pairs}

    assert (ours.verdict, raced(ours)) == (theirs.verdict, raced(theirs))
    if ours.verdict == "ok":
        assert ours.states == theirs.states


def test_every_bug_is_told_with_its_reason() -> None:
    """What a kernel's author reads: the outcome, and what is missing."""
    for path in FILES:
        if "buggy" not in read(path).variants:
            continue
        result = ptxmm.check(load(path, "buggy"))
        told = [line for check in result.checks for line in check.linearisation] + [r.reason for r in result.races]
        told.append(result.error or "")
        said = ("is not ordered before", "both read", "does not certainly come")
        assert any(words in line for line in told for words in said), path.stem


def test_the_collection_is_whole() -> None:
    assert len(FILES) == 20 and len(TESTS) == 35

"""What changes nothing about a kernel changes nothing about the answer."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from generated_kernels import kernel
from kept import GATE, HERE, MUSEUM, loaded, named, variants
from metamorphic import may_have_more, renamed, reordered, stronger, with_more, with_text

import ptxmm
from ptxmm.kernels.test import KernelTest
from ptxmm.result import Result

TESTS = variants([*MUSEUM, *GATE])
IDS = [named(test) for test in TESTS]
#: Small ones of different kinds.
FEW = [
    i for i, name in enumerate(IDS)
    if name.partition(":")[0] in ("mp_atomic_ref", "g04-ticket-lock", "refcount")
]  # fmt: skip


def answer(result: Result) -> object:
    if result.verdict == "undefined":
        return "undefined"
    states = result.states if result.listed_all else None
    return result.verdict, [(c.kind, c.holds) for c in result.checks], states, result.complete


SAME: dict[str, Callable[[KernelTest], KernelTest]] = {
    "renamed": lambda test: with_text(test, renamed),
    "reordered": lambda test: with_text(test, reordered),
    "with more": with_more,
}


def assert_same(test: KernelTest, kind: str) -> None:
    if kind == "with more" and not may_have_more(test):
        pytest.skip("its threads ask how many they are")
    changed = SAME[kind](test)
    first, second = ptxmm.check(test), ptxmm.check(changed)
    if first.listed_all and second.listed_all:
        assert answer(second) == answer(first)
    else:
        assert (second.verdict, [c.holds for c in second.checks]) == (first.verdict, [c.holds for c in first.checks])


def assert_no_worse(test: KernelTest) -> None:
    """Stronger orders and scopes leave fewer executions, and fewer races."""
    first = ptxmm.check(test)
    if first.verdict == "undefined":
        pytest.skip("the model gives it no meaning")
    second = ptxmm.check(with_text(test, stronger))
    for check, before, after in zip(test.checks, first.checks, second.checks, strict=True):
        if check.wanted and before.holds and check.kind in ("forall", "never", "race_free"):
            assert after.holds, f"{before}: {after.message}"


@pytest.mark.part(3)
@pytest.mark.parametrize("kind", SAME)
@pytest.mark.parametrize(("path", "variant"), [TESTS[i] for i in FEW], ids=[IDS[i] for i in FEW])
def test_it_is_the_same(path: Path, variant: str, kind: str) -> None:
    assert_same(loaded(path, variant), kind)


@pytest.mark.parametrize(("path", "variant"), [TESTS[i] for i in FEW], ids=[IDS[i] for i in FEW])
def test_stronger_is_no_worse(path: Path, variant: str) -> None:
    assert_no_worse(loaded(path, variant))


@pytest.mark.campaign
@pytest.mark.parametrize("kind", SAME)
@pytest.mark.parametrize(("path", "variant"), TESTS, ids=IDS)
def test_all_are_the_same(path: Path, variant: str, kind: str) -> None:
    assert_same(loaded(path, variant), kind)


@pytest.mark.campaign
@pytest.mark.parametrize(("path", "variant"), TESTS, ids=IDS)
def test_none_is_worse_for_being_stronger(path: Path, variant: str) -> None:
    assert_no_worse(loaded(path, variant))


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(300_000, 300_200))
def test_generated_kernels_are_the_same(seed: int) -> None:
    test = kernel(seed).test
    for kind in ("renamed", "reordered"):
        assert_same(test, kind)
    assert_no_worse(test)


# What compilers make of one source.

#: Options of nvcc: for debugging, hardly and fully optimised.
OPTIONS = (("-G",), ("-Xcicc", "-O1"), ("-Xcicc", "-O3"))


def assert_same_when_compiled(path: Path, variant: str, folder: Path, count: int = len(OPTIONS)) -> None:
    nvcc = os.environ.get("NVCC") or shutil.which("nvcc")
    source = path.parent / "kernel.cu"
    if nvcc is None or not source.exists():
        pytest.skip("there is no nvcc here" if nvcc is None else "its source is not here")
    test = loaded(path, variant)
    expected = ptxmm.check(test).verdict
    for number, options in enumerate(OPTIONS[:count]):
        made = folder / f"{number}.ptx"
        bug = f"-DBUG={int(variant == 'buggy')}"
        command = [nvcc, "-arch=sm_90", "-std=c++17", bug, *options, "-ptx", source, "-o", made]
        subprocess.run(command, check=True, capture_output=True)
        result = ptxmm.check(with_text(test, lambda _, made=made: made.read_text()))
        assert result.verdict == expected, (options, result.error, [c.message for c in result.checks])


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("path", "variant"),
    [(path, variant) for path, variant in TESTS if variant == "fixed"],
    ids=[name for name in IDS if name.endswith(":fixed")],
)
def test_every_compilation_has_the_same_verdict(path: Path, variant: str, tmp_path: Path) -> None:
    assert_same_when_compiled(path, variant, tmp_path)


@pytest.mark.long
def test_some_compilation_has_the_same_verdict(tmp_path: Path) -> None:
    assert_same_when_compiled(HERE / "gate" / "mp_atomic_ref" / "test.toml", "fixed", tmp_path, count=1)

"""The kernel tests that are kept in files: those of `museum`, of `gate` and of the examples."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import ptxmm
from ptxmm.kernels.test import KernelTest

HERE = Path(__file__).parents[1] / "kernels"
EXAMPLES = sorted((HERE.parents[1] / "examples").glob("*.toml"))
MUSEUM = sorted((HERE / "museum").glob("*.toml"))
GATE = sorted((HERE / "gate").glob("*/test.toml"))


def variants(files: Iterable[Path]) -> list[tuple[Path, str]]:
    """The tests of some files."""
    return [(path, variant) for path in files for variant in variants_of(path)]


@cache
def variants_of(path: Path) -> tuple[str, ...]:
    """The variants of a file, which is read once however many collect its tests."""
    return tuple(variant["name"] for variant in tree_of(path).get("variant", [{"name": ""}]))


@cache
def tree_of(path: Path) -> dict[str, Any]:
    """What a file says, not judged: each worker collects the names of all tests, and reads those that it runs."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def named(test: tuple[Path, str]) -> str:
    """How a test is called in reports of pytest."""
    path, variant = test
    return f"{path.parent.name if path.stem == 'test' else path.stem}:{variant}"


def loaded(path: Path, variant: str) -> KernelTest:
    """One of them; skips where its PTX is part of a collection that is not here."""
    try:
        test = ptxmm.load(f"{path}:{variant}")
    except ptxmm.InputError as error:
        if "cannot read" in str(error):
            pytest.skip("the collection of kernels is not here")
        raise
    assert isinstance(test, KernelTest)
    return test

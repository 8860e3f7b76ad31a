"""Where the tests find litmus files: those that ship, and the public ones beside the repository, if they are there."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = ROOT.parent / "shared" / "litmus" / "dat3m"
LIBRARY = ROOT / "litmus" / "library"


@pytest.fixture(scope="session")
def public_files() -> list[Path]:
    """The public tests of another checker; the test that asks for them is skipped where they are missing."""
    files = sorted(PUBLIC.rglob("*.litmus"))
    if not files:
        pytest.skip(f"no public litmus files in {PUBLIC}")
    return files


@pytest.fixture(scope="session")
def library_files() -> list[Path]:
    """The tests that ship."""
    files = sorted(LIBRARY.rglob("*.litmus"))
    if not files:
        pytest.skip("no library yet")
    return files

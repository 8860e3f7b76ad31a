"""Tests of kernel tests find what the tests share. The collections of kernels run as the tests beside them say."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
collect_ignore_glob = ["*.toml"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, with a kernel."""
    from files import PTX

    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.ptx").write_text(PTX, encoding="utf-8")
    return tmp_path

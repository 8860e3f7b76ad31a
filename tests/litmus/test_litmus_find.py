"""Which files PATH arguments mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from litmus.formats import find


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b.litmus", "a.litmus", "deep/er/c.litmus", "notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("PTX t\n")
    return tmp_path


def test_a_file_is_itself_whatever_it_is_called(tree: Path) -> None:
    assert find([str(tree / "notes.txt")]) == [(str(tree / "notes.txt"), None)]


def test_a_folder_is_searched_and_sorted(tree: Path) -> None:
    expected = [(str(tree / name), None) for name in ("a.litmus", "b.litmus", "deep/er/c.litmus")]
    assert find([str(tree)]) == expected


def test_a_list_names_files_and_folders_relative_to_itself(tree: Path) -> None:
    (tree / "deep" / "list").write_text("# first\n\n../b.litmus\n  er  \n")
    expected = [(str(tree / "deep" / "../b.litmus"), None), (str(tree / "deep/er/c.litmus"), None)]
    assert find([f"@{tree}/deep/list"]) == expected


def test_what_is_missing_is_reported_and_the_rest_is_found(tree: Path) -> None:
    (tree / "empty").mkdir()
    (tree / "list").write_text("gone.litmus\na.litmus\n")
    (tree / "bytes").write_bytes(b"\xff")
    paths = [str(tree / "no.litmus"), str(tree / "empty"), f"@{tree}/list", f"@{tree}/nolist", f"@{tree}/bytes", "a\0b"]
    assert [(Path(path).name, error) for path, error in find(paths)][:-1] == [
        ("no.litmus", "no such file or folder"),
        ("empty", "no *.litmus file in this folder"),
        ("gone.litmus", "no such file or folder"),
        ("a.litmus", None),
        ("nolist", "cannot read the list: No such file or directory"),
        ("bytes", "the list is not UTF-8"),
    ]
    assert find(paths)[-1][1]

"""Which files PATH arguments mean."""

from __future__ import annotations

import os
import subprocess
import sys
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


def test_a_list_that_names_nothing_is_no_success(tree: Path) -> None:
    (tree / "list").write_text("# all done\n\n")
    assert find([f"@{tree}/list"]) == [(f"@{tree}/list", "the list names no file")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_in_a_folder_is_not_waited_for(tree: Path) -> None:
    os.mkfifo(tree / "pipe.litmus")
    os.symlink("nowhere", tree / "link.litmus")
    assert (str(tree / "pipe.litmus"), "not a regular file") in find([str(tree)])
    assert (str(tree / "link.litmus"), "a link to a file that is not there") in find([str(tree)])


def test_a_link_to_nothing_that_may_have_been_a_folder_of_tests_is_told(tree: Path) -> None:
    for name, target in (("tests", "gone"), ("round", "round"), ("lib.so", "gone"), (".lock", "somebody@somewhere")):
        os.symlink(target, tree / name)
    wrong = {Path(path).name: said for path, said in find([str(tree)]) if said}
    assert set(wrong) == {"tests", "round"} and wrong["tests"] == "a link to a folder, or a file, that is not there"


def test_a_folder_that_links_to_itself_is_searched_once(tree: Path) -> None:
    os.symlink(".", tree / "loop")
    assert len(find([str(tree)])) == 3


def test_links_to_folders_are_followed_once(tmp_path: Path, tree: Path) -> None:
    elsewhere = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    elsewhere.mkdir()
    (elsewhere / "d.litmus").write_text("PTX t\n")
    os.symlink(elsewhere, tree / "one")
    os.symlink(elsewhere, tree / "two")
    os.symlink("deep", tree / "again")  # found already, and by its own name
    os.symlink(tree.parent, elsewhere / "up")  # to a folder that holds the one that is searched
    os.symlink("round", tree / "round")
    found = [os.path.relpath(path, tree) for path, problem in find([str(tree)]) if problem is None]
    assert found == ["a.litmus", "b.litmus", "deep/er/c.litmus", "one/d.litmus"]


def test_lists_may_come_from_any_system(tree: Path) -> None:
    (tree / "list").write_bytes(b"\xef\xbb\xbfa.litmus\r\nb.litmus\rdeep/er/c.litmus")
    assert [problem for _, problem in find([f"@{tree}/list"])] == [None, None, None]


def test_a_folder_that_cannot_be_read_is_told(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may read everything, so the refusal is made up."""
    genuine = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("deep"):
            raise PermissionError(13, "Permission denied", str(path))
        return genuine(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert (str(tree / "deep"), "cannot read the folder: Permission denied") in find([str(tree)])


def test_a_list_names_lists(tree: Path) -> None:
    (tree / "deep" / "@all").write_text("er/c.litmus\n@more\n../@all\n")
    (tree / "deep" / "more").write_text("../b.litmus\n")
    (tree / "@all").write_text("a.litmus\n# lists\ndeep/@all\n@deep/@all\n@deep/more\n")
    found = [(os.path.relpath(path.removeprefix("@"), tree), problem) for path, problem in find([f"{tree}/@all"])]
    assert found == [
        ("a.litmus", None),
        ("deep/er/c.litmus", None),
        ("b.litmus", None),
        ("@all", "the list names itself"),
    ]


def test_a_list_of_a_name_with_an_at_sign_is_found_by_it(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    (tree / "all").write_text("b.litmus\n")
    assert find(["@all"]) == [("b.litmus", None)]
    (tree / "@all").write_text("a.litmus\n")
    assert find(["@all"]) == [("a.litmus", None)]
    assert find(["deep/@none"]) == [("deep/@none", "no such file or folder")]


def test_lists_do_not_nest_without_end(tree: Path) -> None:
    for i in range(200):
        (tree / f"@{i}").write_text(f"@{i + 1}\n")
    assert [problem for _, problem in find([f"{tree}/@0"])] == ["more than 100 lists in each other"]


def test_lists_that_name_each_other_in_many_ways_are_read_once(tree: Path) -> None:
    for i in range(60):
        (tree / f"@{i}").write_text(f"@{i + 1}\n@{i + 1}\n")
    (tree / "@60").write_text("a.litmus\n")
    assert find([f"{tree}/@0"]) == [(str(tree / "a.litmus"), None)]


@pytest.mark.parametrize("listed", [False, True])
def test_standard_input_is_a_test_or_a_list(tree: Path, listed: bool) -> None:
    given = f"{tree}/a.litmus\n./-\n" if listed else "PTX t\n{ x=0; }\nP0 ;\nst.weak x, 1 ;\nforall x = 1\n"
    (tree / "a.litmus").write_text("PTX t\n{ x=0; }\nP0 ;\nst.weak x, 1 ;\nforall x = 1\n")
    for jobs in ("1", "2"):
        arguments = [
            sys.executable,
            "-m",
            "ptxmm",
            "check",
            "@-" if listed else "-",
            str(tree / "a.litmus"),
            "--jobs",
            jobs,
        ]
        run = subprocess.run(arguments, input=given, capture_output=True, text=True, cwd=tree, check=False)
        assert run.stdout.count("ok  ") == 2
        assert run.returncode == (2 if listed else 0)
        assert ("./-: error: no such file" in run.stderr) == listed


def test_a_mistake_in_standard_input_has_its_place() -> None:
    arguments = [sys.executable, "-m", "ptxmm", "check", "-"]
    run = subprocess.run(arguments, input="PTX t\n{ x=1y; }\nP0 ;\n", capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr.splitlines()[0]) == (2, "-:2:5: error: '1y' is no value")
    run = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr.splitlines()[0]) == (2, "-:1:1: error: the file is empty")

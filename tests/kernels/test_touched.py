"""Which tests a change concerns."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxmm.cli.main import main
from ptxmm.kernels.touched import concerned

TEST = '{key} = "{module}"\nentry = "k"\ngrid = 1\nblock = 1\n[check]\nterminates = true\n'
FILES = {
    "tests/made.toml": TEST.format(key="cu", module="../code/made.cu"),
    "tests/plain.toml": TEST.format(key="ptx", module="plain.ptx"),
    "tests/array.toml": TEST.format(key="ptx", module="other.ptx") + '[params]\nx = { type = "u32", init = "x.npy" }\n',
    "tests/broken.toml": "ptx = [\n",
    "tests/mp.litmus": "PTX mp\n",
    "tests/annotated.cu": "// ptxmm: grid=1 block=1\n__global__ void k() {}\n",
    "code/made.cu": '#include "shared.cu"\n#include "h.cuh"\n#include "table.txt"\n',
    "tests/annotated.ptx": '// ptxmm: grid=1 x=annotated.npy y={ptr="u32", init="y.npy"}\n.entry k() {}\n',
    "tests/annotated.npy": "",
    "tests/y.npy": "",
    "known.json": "",
    "code/shared.cu": "",
    "code/h.cuh": "",
    "code/lonely.cu": "",
    "code/table.txt": "",
    "code/other.txt": "",
    "tests/plain.ptx": "",
    "tests/other.ptx": "",
    "tests/x.npy": "",
    "README.md": "",
    "pyproject.toml": "",
    "m.cat": "",
}
ALL = {"made.toml", "plain.toml", "array.toml", "broken.toml", "mp.litmus", "annotated.cu", "annotated.ptx"}
COMPILED = {"made.toml", "annotated.cu"}
CONCERNED = {
    "tests/made.toml": {"made.toml"},
    "code/made.cu": {"made.toml"},
    "tests/plain.ptx": {"plain.toml"},
    "tests/x.npy": {"array.toml"},
    "tests/mp.litmus": {"mp.litmus"},
    "tests/annotated.cu": {"annotated.cu"},
    "code/h.cuh": COMPILED,
    "code/shared.cu": COMPILED,  # which no test names: any source may include it
    "code/lonely.cu": COMPILED,
    "code/table.txt": {"made.toml"},
    "code/other.txt": set(),
    "tests/annotated.npy": {"annotated.ptx"},
    "tests/y.npy": {"annotated.ptx"},
    "tests/annotated.ptx": {"annotated.ptx"},
    "known.json": ALL,
    "README.md": set(),
    "pyproject.toml": ALL,
    "m.cat": ALL,
}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("file", CONCERNED)
@pytest.mark.parametrize("place", [["."], ["tests"], ["@list"]])
def test_a_change_concerns_what_is_made_of_it(file: str, place: list[str]) -> None:
    Path("list").write_text("tests\n", encoding="utf-8")
    found = {Path(path).name for path, _ in concerned([*place, file], of_all=["known.json"])}
    assert found == CONCERNED[file] | {"broken.toml"}  # of which nobody knows what it is made of


def test_a_source_that_another_includes_concerns_both() -> None:
    Path("tests/shared.toml").write_text(TEST.format(key="cu", module="../code/shared.cu"), encoding="utf-8")
    found = {Path(path).name for path, _ in concerned(["tests", "code/shared.cu"])}
    assert found == {"made.toml", "shared.toml", "broken.toml"}


def test_a_test_of_a_file_that_is_not_there_is_always_concerned() -> None:
    """A renamed file is told by its new name: by that nobody knows whose it was."""
    Path("tests/broken.toml").unlink()
    for gone, whose in {
        "tests/plain.ptx": "plain",
        "code/made.cu": "made",
        "tests/x.npy": "array",
        "tests/y.npy": "annotated",
    }.items():
        Path(gone).rename("kept")
        assert [Path(path).stem for path, _ in concerned(["tests", "README.md"])] == [whose]
        Path("kept").rename(gone)
    assert concerned(["tests", "README.md"]) == []


def test_what_changed_may_concern_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("tests/broken.toml").unlink()
    Path("report.xml").write_text("of an earlier run", encoding="utf-8")
    assert main(["check", "--changed", "tests", "README.md", "--junit", "report.xml"]) == 0
    assert 'tests="0"' in Path("report.xml").read_text(encoding="utf-8")
    assert capsys.readouterr().err == "no test concerns what changed\n"
    assert main(["check", "--changed", "README.md"]) == 2
    assert "write a folder of tests, too" in capsys.readouterr().err
    assert main(["check", "--changed", "tests", "gone.litmus"]) == 2  # a file that is not there is no change
    assert main(["check", "--changed", "tests", "m.cat", "--write-baseline", "b.json"]) == 2
    assert "leave out --changed" in capsys.readouterr().err

"""What `ptxmm repair` and `ptxmm weaken` print, and what they write into files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from repaired import LIBRARY, MP

import ptxmm
from ptxmm.cli.main import main
from ptxmm.repair.subject_of import subject_of
from ptxmm.repair.subjects import How, LitmusSubject


def test_the_table_keeps_its_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mp.litmus"
    path.write_text(MP.read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["repair", str(path), "--all"]) == 0
    out = capsys.readouterr().out
    assert "+ st.release.gpu.u32 [f], 1 | ld.relaxed.gpu.u32 %r1, [x] ;" in out
    assert "+ fence.acq_rel.gpu         |                             ;" in out
    assert out.count("proven by check") == 4 and "there is no other repair" in out


def test_apply_writes_the_first_repair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mp.litmus"
    path.write_text(MP.read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["repair", str(path), "--apply"]) == 0
    assert main(["repair", str(path)]) == 0
    assert "nothing to repair" in capsys.readouterr().out
    assert main(["weaken", str(path), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)["tests"][0]
    assert document["complete"] and len(document["weakens"]) == 1
    assert {need["line"] for need in document["weakens"][0]["needs"]} == {5, 6}


def test_what_cannot_be_weaker_is_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mp.litmus"
    path.write_text((LIBRARY / "message-passing" / "MP+rel+acq.litmus").read_text(encoding="utf-8"), encoding="utf-8")
    main(["weaken", str(path), "--apply"])
    capsys.readouterr()
    assert main(["weaken", str(path), "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)["tests"][0]
    assert document["complete"] and not document["weakens"] and len(document["needs"]) == 4
    assert all(need["fails"] and not need["undecided"] for need in document["needs"])
    assert main(["weaken", str(path)]) == 1
    out = capsys.readouterr().out
    assert "nothing can be weaker" in out and out.count(" fails\n") == 4


def test_apply_keeps_the_ends_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "mp.litmus"
    path.write_bytes(MP.read_bytes().replace(b"\n", b"\r\n"))
    assert main(["repair", str(path), "--apply"]) == 0
    data = path.read_bytes()
    assert b"st.release.gpu" in data and data.count(b"\n") == data.count(b"\r\n") > 4


def test_what_is_in_no_file_is_not_written(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    subject = LitmusSubject(ptxmm.parse(MP.read_text(encoding="utf-8")), How())
    assert not subject.applies
    monkeypatch.setattr("ptxmm.repair.subject_of.subject_of", lambda *_: subject)
    assert main(["repair", str(MP), "--apply"]) == 2
    assert "--apply writes nothing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("hello", [], "error: a test starts with"),
        (None, [], "no such file"),
        (MP.read_text(encoding="utf-8"), ["--model", "nothing"], "unknown model"),
    ],
)
def test_bad_input(
    text: str | None, options: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.litmus"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    assert main(["repair", str(path), *options]) == 2
    assert says in capsys.readouterr().err


def test_a_path_is_read_as_what_is_there() -> None:
    assert subject_of(str(MP), How()).claims == ("~exists (1:r0 == 1 /\\ 1:r1 == 0)",)

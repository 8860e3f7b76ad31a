"""`ptxmm library`, `library:NAME`, and `--kinds` and `--conds` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import litmus.library
from ptxmm.cli.main import main

HERE = Path(litmus.library.__file__).parent
FILES = sorted([*HERE.rglob("*.litmus"), *HERE.rglob("*.ptx")])


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(list(words))
    streams = capsys.readouterr()
    return status, streams.out, streams.err


def test_every_test_is_listed_in_its_folder(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "library")
    lines = out.splitlines()
    assert status == 0
    assert [line.split()[0] for line in lines if line.startswith("  ")] == [f.stem for f in FILES]
    assert [line for line in lines if not line.startswith(" ")] == sorted(
        {str(f.parent.relative_to(HERE)) for f in FILES}
    )
    listed = json.loads(said(capsys, "library", "--format", "json")[1])
    assert [t["path"] for t in listed] == [str(f) for f in FILES]
    assert all(
        t["about"]
        and t["expects"].startswith(("exists ", "~exists ", "forall ", "no_", "race_", "term", "right: ok; "))
        for t in listed
    )


def test_words_filter_and_a_name_prints(capsys: pytest.CaptureFixture[str]) -> None:
    some = said(capsys, "library", "mp+", "FENCE.SC", "--path")[1].splitlines()
    texts = {str(f): f"{f.relative_to(HERE)}\n{f.read_text()}".lower() for f in FILES}
    assert some == [path for path, text in texts.items() if "mp+" in text and "fence.sc" in text] and some
    name = "message-passing/MP+rel+acq"
    for asked in (name, "MP+rel+acq", "library:MP+rel+acq"):
        assert said(capsys, "library", asked)[:2] == (0, (HERE / f"{name}.litmus").read_text())
        assert said(capsys, "library", asked, "--path")[1] == f"{HERE / name}.litmus\n"
    status, out, err = said(capsys, "library", "MP+rel+aq")
    assert (status, out) == (2, "") and "did you mean 'MP+rel+acq'?" in err


def test_tests_that_ship_are_checked_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "check", "--format", "json", "--jobs", "1", "library:MP+rel+acq", "library:z6")
    listed = json.loads(out)["tests"]
    assert status == 0 and len(listed) == 1 + len(list((HERE / "z6").glob("*.litmus")))
    assert {t["verdict"] for t in listed} == {"ok"}
    both = "library:wgmma+proxy:unfenced", "library:wgmma+proxy"
    status, out, _ = said(capsys, "check", "--format", "json", "--jobs", "1", *both)
    assert (status, [t["verdict"] for t in json.loads(out)["tests"]]) == (0, ["undefined", "ok", "undefined"])
    status, _, err = said(capsys, "check", "library:wgmma+proxy:unfence")
    assert status == 2 and "no test here is called 'unfence'" in err and "did you mean 'unfenced'?" in err
    status, _, err = said(capsys, "classify", "library:wgmma")  # takes litmus tests alone
    assert status == 2 and "no *.litmus file in this folder" in err
    status, _, err = said(capsys, "check", "library:MP+rel+aq")
    assert status == 2 and "no test of the library has this name: did you mean 'MP+rel+acq'?" in err


def test_what_is_asked_can_be_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kinds, conds = tmp_path / "kinds", tmp_path / "conds"
    kinds.write_text("MP+rel+acq Allow\nnobody Allow\n")
    conds.write_text('MP+rel+acq "exists (1:%r0 = 1 /\\ 1:%r1 = 1)"\n')
    test = "library:MP+rel+acq"
    log = ("--format", "herd")
    status, out, err = said(capsys, "check", test, "--kinds", str(kinds), *log)
    assert status == 1 and out.startswith("Test MP+rel+acq Allowed\n") and "\nNo\n" in out
    assert "no test here has the name" in err and "nobody" in err
    status, out, err = said(capsys, "check", test, "--kinds", str(kinds), "--conds", str(conds), *log)
    assert status == 0 and "\nCondition exists (1:r0=1 /\\ 1:r1=1)\n" in out
    conds.write_text('MP+rel+acq "exists 1:%r9 = 1"\n')
    status, _, err = said(capsys, "check", test, "--conds", str(conds))
    assert status == 2 and f"{conds}:1:20: error: P1 never writes the register r9" in err and "^" in err
    status, _, err = said(capsys, "check", test, "--kinds", str(kinds), "--cache", str(tmp_path / "c.db"))
    assert status == 2 and "leave it out" in err and not (tmp_path / "c.db").exists()
    kinds.write_text("MP Maybe\n")
    assert said(capsys, "check", test, "--kinds", str(kinds))[0] == 2
    assert "cannot read" in said(capsys, "check", test, "--kinds", str(tmp_path / "none"))[2]

"""A test that asks nothing is not green: it may have been cut short."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ptxmm
from litmus.formats import write
from ptxcore.diagnostics import InputError
from ptxmm.answers import NOTHING_ASKED
from ptxmm.cli.main import main

HEAD = "PTX t\n{ x=0; }\n P0@cta 0,gpu 0 ;\n st.weak.u32 [x], 1 ;\n"


@pytest.mark.parametrize("tail", ["", "locations [x;]\n", "filter x=1\n", "scopes: (cta P0)\n"])
def test_a_test_without_a_question_is_undecided_and_its_states_are_there(tail: str) -> None:
    test = ptxmm.parse(HEAD + tail)
    result = ptxmm.check(test)
    assert (result.verdict, result.error, result.passed) == ("undecided", NOTHING_ASKED, False)
    assert result.positive == 1
    assert ptxmm.check(ptxmm.parse(write(test))).verdict == "undecided"


@pytest.mark.parametrize("tail", ["exists true", "race_free", "terminates\n"])
def test_a_question_of_any_kind_is_enough(tail: str) -> None:
    assert ptxmm.check(ptxmm.parse(HEAD + tail)).verdict == "ok"


def test_whoever_asks_on_the_command_line_has_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.litmus").write_text(HEAD, encoding="utf-8")
    path = str(tmp_path / "t.litmus")
    assert [main(["check", path]), main(["check", path, "--bounded-ok"])] == [3, 3]
    assert NOTHING_ASKED in capsys.readouterr().out
    assert [main(["check", path, "--races"]), main(["check", path, "--check", "terminates"])] == [0, 0]


def test_no_test_passes_that_was_cut_off_before_its_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A published shape, cut after each character in front of its condition."""
    whole = HEAD + "~exists (x = 0)\n"
    for length in range(len(whole) - len("~exists (x = 0)\n") + 1):
        try:
            passed = ptxmm.check(ptxmm.parse(whole[:length])).passed
        except InputError:
            continue
        assert not passed, whole[:length]


def test_what_was_not_asked_says_so_in_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.litmus").write_text(HEAD, encoding="utf-8")
    for form in ("text", "json", "junit", "sarif", "github"):
        assert main(["check", str(tmp_path / "t.litmus"), "--format", form]) == 3
        printed = capsys.readouterr().out
        assert NOTHING_ASKED in printed, form
        if form == "json":
            (found,) = json.loads(printed)["tests"]
            assert (found["verdict"], found["checks"][0]["holds"]) == ("undecided", None)

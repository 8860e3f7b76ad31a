"""Logs of herd7, litmus7 and ours, read: what a log says of each test, and what is no log."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptxmm
from ptxcore.diagnostics import InputError
from ptxmm.comparing.logs import parse_log, read_log

HERD = """Test MP Allowed
States 2
1:r0=0; [x]=0x1;
1:%r0=1; b[2]=-1;  [y]=x;
Ok
Witnesses
Positive: 1 Negative: 1
Condition exists (1:r0=1)
Observation MP Sometimes 1 1
Time MP 0.01
Hash=abc

Test SB Forbidden
States 0
Loop No
Witnesses
Positive: 0 Negative: 0
Observation SB Never 0 0

Test broken Required
"""
LITMUS7 = """% Results for a.litmus %
Test MP Allowed
Histogram (2 states)
4994  :>1:r0=0;
12    *>1:r0=1;
Ok

Witnesses
Positive: 12, Negative: 4994
Condition exists (1:r0=1) is validated
Hash=abc
Observation MP Sometimes 12 4994
Time MP 0.70
"""


def test_a_log_of_herd() -> None:
    log = parse_log(HERD, "a.log")
    mp, sb = log.of("MP"), log.of("SB")
    assert list(log.answers) == ["MP", "SB"]
    assert mp.states == ({"1:r0": 0, "x": 1}, {"1:r0": 1, "b[2]": -1, "y": "x"})
    assert (mp.verdict, mp.kind, mp.exact, mp.runs, mp.observation, mp.digest) == (
        "ok",
        "exists",
        True,
        False,
        "sometimes",
        "abc",
    )
    assert (sb.verdict, sb.kind, sb.exact, sb.states) == ("no", "not exists", False, ())
    assert log.of("IRIW").verdict == "absent"


def test_a_log_of_runs() -> None:
    answer = parse_log(LITMUS7 + LITMUS7.replace("1:r0=1", "1:r0=2"), "a.log").of("MP")
    assert answer.runs and not answer.exact
    assert [s["1:r0"] for s in answer.states] == [0, 1, 2]


def test_what_is_written_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ptxmm.cli.main import main

    folder = Path(ptxmm.__file__).parents[1] / "litmus" / "library" / "coherence"
    main(["check", str(folder), "--format", "herd"])
    (path := tmp_path / "all.log").write_text(capsys.readouterr().out)
    log = read_log(str(path))
    paths = sorted(folder.glob("*.litmus"))
    assert len(log.answers) == len(paths) > 5
    for file in paths:
        result = ptxmm.check(ptxmm.load(file))
        assert [dict(s) for s in log.of(result.name).states] == result.states
        assert log.of(result.name).observation == result.observation


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this is no log"),
        ("Test MP Allowed\nStates 1\n1:r0\n", "a.log:3:1: error: this is no state of MP"),
        ("Test MP Allowed\nStates 2\n1:r0=0;\n", "a.log:3:1: error: the states of MP end here"),
        ("Test MP Allowed\nStates 2\n1:r0=0;\nTest SB\n", "a.log:4:1: error: the states of MP end here"),
    ],
)
def test_what_is_no_log(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        parse_log(text, "a.log")
    assert str(error.value).startswith(message if message.startswith("a.log") else "a.log: error: " + message)


@given(st.lists(st.sampled_from([*HERD.splitlines(), *LITMUS7.splitlines(), "", "x", "States 3", "=;", "é"])))
def test_any_lines_are_a_log_or_an_error_with_its_place(lines: list[str]) -> None:
    try:
        log = parse_log("\n".join(lines), "a.log")
    except InputError as error:
        assert str(error).startswith("a.log:")
    else:
        assert log.answers

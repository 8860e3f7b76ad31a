"""How long something may take, as the command line has it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from ptxmm.cli.options import TIME, UNITS, parser, seconds


@pytest.mark.parametrize(
    ("text", "value"),
    [("60", 60), ("60s", 60), ("2m", 120), ("1h", 3600), ("0.5", 0.5), (".5m", 30), ("1.5h", 5400), ("1e2s", 100)],
)
def test_a_time_has_a_unit_or_is_one_of_seconds(text: str, value: float) -> None:
    assert seconds(text) == value


WRONG = ("", "s", "m", "60 s x", "60ms", "2d", "1h30m", "60S", "soon", "0", "0m", "-1", "inf", "nanh", "1e999h")


TOO_LONG = ("1e9h", "1000001h", "1e300")  # timers cannot count so far


@pytest.mark.parametrize("text", [*WRONG, *TOO_LONG])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        seconds(text)
    assert text in str(caught.value)


def actions() -> Iterator[argparse.Action]:
    """Every option of every command."""
    waiting = [parser()]
    while waiting:
        for action in waiting.pop()._actions:
            if isinstance(action, argparse._SubParsersAction):
                waiting += action.choices.values()
            else:
                yield action


def test_every_option_that_takes_a_time_reads_it_so() -> None:
    timed = 0
    for action in actions():
        name = "/".join(action.option_strings)
        assert (action.metavar == TIME) == (action.type is seconds), name
        assert action.type is not float and "SECONDS" not in str(action.metavar), name
        timed += action.type is seconds
        if any(name.endswith(word) for word in ("--timeout", "--budget", "--seconds")):
            assert action.type is seconds, name
    assert timed >= 9
    assert set(UNITS) == {"", "s", "m", "h"}


def test_a_unit_reaches_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert parser("gpu").parse_args(["gpu", "mp.litmus", "--budget", "2m"]).budget == 120
    with pytest.raises(SystemExit):
        parser("gpu").parse_args(["gpu", "mp.litmus", "--budget", "60x"])
    assert "argument --budget: a time is needed, as 60, 60s, 2m or 1h" in capsys.readouterr().err

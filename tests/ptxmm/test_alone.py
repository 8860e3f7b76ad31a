"""One item in a process of its own: its answer comes back, and however the process ends, somebody says so."""

from __future__ import annotations

import faulthandler
import os
import signal
from pathlib import Path

import pytest

from ptxmm.alone import AVAILABLE, alone

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="processes cannot be copied safely here")


def lost(item: object, reason: str) -> str:
    return f"{item}: {reason}"


def test_an_answer_of_any_length_comes_back() -> None:
    assert alone(lambda n: "x" * n, 1 << 20, lost) == "x" * (1 << 20)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT])
def test_a_process_that_dies_is_told(number: signal.Signals) -> None:
    def dying(item: str) -> str:
        faulthandler.disable()  # which pytest enables
        os.kill(os.getpid(), number)
        return item

    assert alone(dying, "it", lost) == f"it: was killed ({number.name})"


def test_a_failure_that_nobody_expected_is_told() -> None:
    def failing(item: str) -> str:
        raise ZeroDivisionError

    assert alone(failing, "it", lost) == "it: ended with status 1"


@pytest.mark.long
def test_who_is_interrupted_leaves_no_process(tmp_path: Path) -> None:
    """The parent hears of Ctrl-C, as soon as there is a process and while that computes."""

    def endless(item: int) -> str:
        (tmp_path / "child").write_text(str(os.getpid()))
        os.kill(item, signal.SIGINT)
        signal.pause()
        return ""

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for _ in range(20):
            with pytest.raises(KeyboardInterrupt):
                alone(endless, os.getpid(), lost)
            with pytest.raises(ProcessLookupError):
                os.kill(int((tmp_path / "child").read_text()), 0)
            assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        signal.signal(signal.SIGINT, before)


def test_who_dies_takes_the_process_with_it(tmp_path: Path) -> None:
    """Even if nothing can be done about it any more."""
    told, tell = os.pipe()
    parent = os.fork()
    if parent == 0:

        def endless(item: int) -> str:
            os.kill(item, signal.SIGKILL)
            signal.pause()
            return ""

        os.close(told)
        alone(endless, os.getpid(), lost)
        os._exit(0)
    os.close(tell)
    os.waitpid(parent, 0)
    assert os.read(told, 1) == b""  # whoever had the other end is gone
    os.close(told)

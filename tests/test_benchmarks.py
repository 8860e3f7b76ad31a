"""The benchmark script runs, stops at its limit, and checks what it measures."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "bench.py"


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPT, *arguments], capture_output=True, encoding="utf-8", timeout=120, check=False
    )


def test_a_cold_command_is_measured() -> None:
    done = bench("cold", "--repeat", "1")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^  ptxmm check mp.litmus +\d", done.stdout, re.MULTILINE)


def test_a_family_grows_until_the_limit_in_every_column() -> None:
    done = bench("growth", "--family", "ticket-lock", "--limit", "0.002")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^     2 ", done.stdout, re.MULTILINE)
    assert done.stdout.count("> 0.002 s") == 3
    assert "WRONG" not in done.stdout


def test_an_unknown_part_is_refused() -> None:
    assert bench("hot").returncode == 2

"""Who asks for properties alone is told that nothing was claimed of what the kernel computes."""

from __future__ import annotations

from pathlib import Path

import pytest

import ptxmm
from ptxmm.cli.main import main

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "lock.ptx"
WORDS = {"type": "u32", "elements": 1}
NOTE = "not asked: what the kernel computes"


@pytest.mark.parametrize(
    ("entry", "checks", "told"),
    [
        ("correct", {"race_free": True}, True),
        ("correct", {"forall": "counter[0] == 2"}, False),
        ("correct", {"never": "counter[0] == 1", "race_free": True}, False),
        ("weak", {"race_free": True}, False),  # it is no answer that could be taken for one
    ],
)
def test_a_pass_without_a_claim_about_values_says_so(
    entry: str, checks: dict[str, object], told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = ptxmm.Kernel(EXAMPLE, entry=entry, params={"lock": WORDS, "counter": WORDS}, grid=2, block=1, **checks)
    verdict = kernel.check().verdict
    assert verdict == ("no" if entry == "weak" else "ok")
    command = ["check", str(EXAMPLE), "--entry", entry, "--grid", "2", "--block", "1"]
    command += ["--arg", "lock=u32[1]", "--arg", "counter=u32[1]"]
    for name, value in checks.items():
        command += ["--check", name] if value is True else [f"--{name}", str(value)]
    assert main(command) == (verdict == "no")
    assert (NOTE in capsys.readouterr().out) == told

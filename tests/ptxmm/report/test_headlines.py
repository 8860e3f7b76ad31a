"""The first line of a page says no more than is known: of tests without outcomes, and where loops are cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import ptxmm
from ptxmm.cli.main import main
from ptxmm.report.text import count_of

_READS = """PTX reads
{ x = 0; }
P0@cta 0,gpu 0 {
    ld.relaxed.gpu.u32 %r0, [x];
}
"""
_COUNTS = """PTX counts
{ x = 0; }
P0@cta 0,gpu 0 {
    mov.u32 %r1, 0;
  again:
    add.u32 %r1, %r1, 1;
    ld.relaxed.gpu.u32 %r0, [x];
    setp.ne.s32 %p0, %r0, %r1;
    @%p0 bra again;
}
P1@cta 1,gpu 0 {
    st.relaxed.gpu.u32 [x], 1;
    st.relaxed.gpu.u32 [x], 3;
}
"""
_WAITS = """PTX waits
{ x = 0; }
P0@cta 0,gpu 0 {
  again:
    ld.relaxed.gpu.u32 %r0, [x];
    setp.eq.s32 %p0, %r0, 0;
    @%p0 bra again;
}
"""


@pytest.mark.parametrize(
    ("text", "status", "head"),
    [
        (_READS + "filter (0:r0 = 7)\nexists (0:r0 = 0)", 1, "no outcome"),
        (_READS + "filter (0:r0 = 7)\nforall (0:r0 = 0)", 0, "no outcome"),
        (_WAITS + "exists (0:r0 = 1)", 1, "no execution"),
        (_WAITS + "~exists (0:r0 = 1)", 1, "no execution"),
        (_WAITS + "forall (0:r0 = 1)\nterminates", 1, "no execution; terminates fails"),
        (_COUNTS + "exists (0:r1 = 3)", 0, "allowed: 1 of 2 outcomes within the bounds of loops"),
        (_COUNTS + "exists (0:r1 = 9)", 3, "undecided"),
        (_COUNTS + "~exists (0:r1 = 9)", 3, "forbidden within the bounds of loops: 0 of 2 outcomes"),
        (_COUNTS + "forall (0:r1 = 1)", 1, "not always: 1 of 2 outcomes within the bounds of loops"),
        (_COUNTS + "forall (0:r1 < 9)", 3, "always within the bounds of loops: 2 of 2 outcomes"),
    ],
)
def test_the_first_line_says_what_is_known(
    text: str, status: int, head: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "it.litmus"
    path.write_text(text, encoding="utf-8")
    assert main(["check", "--no-defaults", str(path)]) == status
    name = text.split()[1]
    assert capsys.readouterr().out.startswith(f"{head}  {name}  under ptx-9.0, ")


def test_what_was_seen_before_the_time_ran_out_is_not_always_so(tmp_path: Path) -> None:
    (tmp_path / "t.litmus").write_text(_READS + "forall (0:r0 = 0)")
    result = ptxmm.check(ptxmm.load(str(tmp_path / "t.litmus")))
    assert count_of(result) == "always: 1 of 1"
    assert count_of(replace(result, stopped=True)) == "not known: 1 of the 1 listed"


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("forall (0:r0 = 0)", "always: 1 of the 1 listed"),
        ("~exists (0:r0 = 9)", "forbidden: 0 of the 1 listed"),
        ("exists (0:r0 = 9)", "forbidden: 0 of the 1 listed"),
        ("exists (0:r0 = 0)", "allowed: 1 of the 1 listed"),
    ],
)
def test_what_was_proven_is_said_of_outcomes_that_are_not_listed_too(claim: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "t.litmus").write_text(_READS + claim)
    result = ptxmm.check(ptxmm.load(str(tmp_path / "t.litmus")))
    assert count_of(replace(result, listed_all=False)) == said

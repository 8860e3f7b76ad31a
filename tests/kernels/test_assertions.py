"""Assertions in kernels: one that may fail is a check that does not hold, with its words; nothing is undefined by it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import ptxmm
from ptxmm.cli.main import main

WORD = {"type": "u32", "elements": 1}
#: Block 0 writes x and raises a flag; the other one asserts that it sees x where it sees the flag, then raises y.
TEXT = """.version 9.0
.target sm_90
.address_size 64
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .b8 what[7] = {118, 32, 61, 61, 32, 49, 0};
.global .b8 file[5] = {107, 46, 99, 117, 0};
.visible .entry k(.param .u64 x, .param .u64 flag, .param .u64 y)
{
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %d<12>;
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [flag];
    ld.param.u64 %d3, [y];
    mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra READER;
    st.global.u32 [%d1], 1;
    st.RELEASE.gpu.global.u32 [%d2], 1;
AFTER:
    ret;
READER:
    ld.ACQUIRE.gpu.global.u32 %r2, [%d2];
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra DONE;
    ld.global.u32 %r3, [%d1];
    setp.eq.u32 %p2, %r3, 1;
    @%p2 bra DONE;
    mov.u64 %d4, what;
    cvta.global.u64 %d5, %d4;
    mov.u64 %d6, file;
    cvta.global.u64 %d7, %d6;
    {
        .param .b64 a; st.param.b64 [a], %d5; .param .b64 b; st.param.b64 [b], %d7;
        .param .b32 c; st.param.b32 [c], 7; .param .b64 d; st.param.b64 [d], %d7;
        .param .b64 e; st.param.b64 [e], 1; call.uni __assertfail, (a, b, c, d, e);
    }
DONE:
    st.release.gpu.global.u32 [%d3], 1;
    ret;
}
"""
WEAK = TEXT.replace("RELEASE", "relaxed").replace("ACQUIRE", "relaxed")
SOUND = TEXT.replace("RELEASE", "release").replace("ACQUIRE", "acquire")
#: The first block waits for y in the end, which is never written where the assertion fails.
WAITED_FOR = WEAK.replace(
    "AFTER:", "AFTER: ld.acquire.gpu.global.u32 %r5, [%d3]; setp.eq.u32 %p3, %r5, 0; @%p3 bra AFTER;"
)
FAILED = "CTA 1 thread 0, line 34: assertion failed: k.cu:7: 'v == 1'"


def checked(text: str, **checks: Any) -> ptxmm.Result:
    return ptxmm.Kernel(text, grid=2, block=1, params={"x": WORD, "flag": WORD, "y": WORD}, **checks).check()


def test_an_assertion_that_may_fail_violates_no_trap() -> None:
    result = checked(WEAK, no_trap=True)
    assert (result.verdict, result.error) == ("no", None)
    (check,) = result.checks
    assert (check.kind, check.holds, check.message) == ("no_trap", False, FAILED)
    assert any("x is 0 (out of date: 1 since CTA 0 thread 0, line 16)" in line for line in check.linearisation)
    assert "has no release semantics" in check.linearisation[-1]
    assert check.witness is not None and "<svg" in check.witness.svg()


def test_an_assertion_that_holds_does_not() -> None:
    assert checked(SOUND, no_trap=True).verdict == "ok"
    result = checked(SOUND, forall="y[0] == 1")
    assert (result.verdict, [(c.kind, c.holds) for c in result.checks]) == (
        "ok",
        [("forall", True), ("assertions", True)],
    )


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("forall", "y[0] <= 1"), ("exists", "y[0] == 1"), ("race_free", False), ("terminates", True)],
)
def test_it_is_checked_unasked(name: str, wanted: Any) -> None:
    result = checked(WEAK, **{name: wanted})
    assert result.verdict == "no"
    assert [(c.kind, c.holds) for c in result.checks] == [(name, True), ("assertions", False)]
    assert result.checks[1].message == FAILED


def test_traps_that_are_wanted_may_be_assertions() -> None:
    result = checked(WEAK, no_trap=False)
    assert (result.verdict, [c.kind for c in result.checks]) == ("ok", ["no_trap"])
    assert checked(SOUND, no_trap=False).verdict == "no"


def test_it_is_found_where_others_would_wait_without_end_for_who_fails() -> None:
    result = checked(WAITED_FOR, forall="y[0] == 1", terminates=True)
    assert [(c.kind, c.holds) for c in result.checks] == [("forall", True), ("terminates", True), ("assertions", False)]


def test_brute_force_finds_them() -> None:
    params = {"x": WORD, "flag": WORD, "y": WORD}
    for text, verdict in ((WEAK, "no"), (SOUND, "ok")):
        result = ptxmm.Kernel(text, grid=2, block=1, params=params, forall="y[0] <= 1").check(engine="enumerate")
        assert result.verdict == verdict


def test_reports_have_one_finding(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.ptx").write_text(WEAK)
    words = "".join(f'params.{name} = {{type = "u32", elements = 1}}\n' for name in ("x", "flag", "y"))
    (tmp_path / "k.toml").write_text(f'ptx = "k.ptx"\ngrid = 2\nblock = 1\n{words}check.forall = "y[0] <= 1"\n')
    assert main(["check", str(tmp_path / "k.toml"), "--format", "json"]) == 1
    (test,) = json.loads(capsys.readouterr().out)["tests"]
    (finding,) = test["findings"]
    assert (finding["kind"], finding["message"]) == ("assertions", FAILED)
    assert finding["places"][0]["line"] == 34

"""Kernels whose threads livelock, told with what repeats; grids that are larger than what runs at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ptxmm
from ptxcore.diagnostics import InputError

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %ctaid.x;
"""
EXCHANGE = (
    HEAD
    + """    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra A;
B:  atom.global.relaxed.gpu.exch.b32 %r2, [%rd2], 1;
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra B;
    bra D;
A:  atom.global.relaxed.gpu.exch.b32 %r3, [%rd2], 0;
    setp.eq.u32 %p3, %r3, 1;
    @%p3 bra A;
D:  ret;
}
"""
)
BARRIER = (
    HEAD
    + """    mov.u32 %r4, %nctaid.x;
    atom.global.relaxed.gpu.add.u32 %r2, [%rd2], 1;
L:  ld.global.acquire.gpu.u32 %r3, [%rd2];
    setp.lt.u32 %p1, %r3, %r4;
    @%p1 bra L;
    ret;
}
"""
)


def checked(text: str, grid: int, **more: Any) -> ptxmm.Result:
    word = {"type": "u32", "elements": 1}
    return ptxmm.Kernel(text, params={"x": word}, grid=grid, block=1, terminates=True, **more).check()


def test_ctas_that_exchange_a_word_livelock() -> None:
    result = checked(EXCHANGE, 2)
    (check,) = result.checks
    assert (result.verdict, check.holds, check.bounded) == ("no", False, False)
    assert (
        "CTA 1 thread 0 does not terminate (livelock) at line 14: atom.global.relaxed.gpu.exch.b32 %r2, [%rd2], 1"
        in check.message
    )
    assert "(again and again: x is 0, becomes 1)" in check.message
    again = [wait["again"] for wait in check.waits]
    assert [wait["kind"] for wait in check.waits] == ["livelock", "livelock"]
    assert sorted((a["found"], a["written"]) for (a,) in again) == [(0, 1), (1, 0)]
    assert any("x is 1, becomes 0" in line for line in check.linearisation)


def test_one_of_them_alone_ends() -> None:
    assert checked(EXCHANGE, 1).verdict == "ok"


@pytest.mark.parametrize(("grid", "resident", "verdict"), [(2, None, "ok"), (2, 2, "ok"), (2, 1, "no"), (3, 2, "no")])
def test_a_barrier_of_a_grid_needs_room_for_all_of_it(grid: int, resident: int | None, verdict: str) -> None:
    result = checked(BARRIER, grid, resident=resident)
    assert result.verdict == verdict
    if verdict == "no":
        assert "(spin loop) at line 14: ld.global.acquire.gpu.u32" in result.checks[0].message
        assert f"CTA {grid - 1} thread 0 never begins" in result.checks[0].message


def test_what_is_asked_for_stands_over_what_the_test_says() -> None:
    word = {"type": "u32", "elements": 1}
    made = ptxmm.Kernel(BARRIER, params={"x": word}, grid=2, block=1, terminates=True, progress="obe")
    assert made.check().verdict == "no" and made.check(progress="fair").verdict == "ok"
    assert made.check(progress="fair", resident=1).verdict == "no"


def test_progress_and_resident_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(BARRIER)
    head = 'ptx = "k.ptx"\ngrid = 2\nblock = 1\nparams.x = {type = "u32", elements = 1}\ncheck.terminates = true\n'
    for line, verdict in (("", "ok"), ("resident = 1", "no"), ('progress = "cta=fair,gpu=obe"', "no")):
        (tmp_path / "t.toml").write_text(f"{line}\n{head}")
        assert ptxmm.check(ptxmm.load(tmp_path / "t.toml")).verdict == verdict
    for line, message in (
        ("resident = 0", "a number of CTAs from 1 on"),
        ('progress = "often"', "'often' is no progress model; write one of fair, hsa, obe, hsa_obe, lobe, unfair"),
        ("progress = 1", "a progress model is wanted here"),
    ):
        (tmp_path / "t.toml").write_text(f"{line}\n{head}")
        with pytest.raises(InputError, match=message):
            ptxmm.load(tmp_path / "t.toml")


def test_the_command_line_takes_a_progress_model(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from ptxmm.cli.main import main

    (tmp_path / "k.ptx").write_text(BARRIER)
    head = 'ptx = "k.ptx"\ngrid = 2\nblock = 1\nparams.x = {type = "u32", elements = 1}\ncheck.terminates = true\n'
    (tmp_path / "t.toml").write_text(head)
    assert main(["check", str(tmp_path / "t.toml")]) == 0
    capfd.readouterr()
    assert main(["check", str(tmp_path / "t.toml"), "--progress", "gpu=unfair", "--format", "json"]) == 1
    (test,) = json.loads(capfd.readouterr().out)["tests"]
    (check,) = test["checks"]
    assert test["verdict"] == "no" and [wait["kind"] for wait in check["waits"]] == ["loop"]
    with pytest.raises(SystemExit, match="2"):
        main(["check", str(tmp_path / "t.toml"), "--progress", "often"])
    assert "'often' is no progress model" in capfd.readouterr().err


def test_arguments_that_mean_nothing() -> None:
    test = ptxmm.parse("PTX t\n{ x = 0; }\nP0@cta 0,gpu 0 { st.relaxed.gpu.u32 [x], 1; }\nexists (true)\n")
    for wrong in ({"progress": "often"}, {"progress": "warp=obe"}, {"resident": 0}):
        with pytest.raises(ValueError, match=r"progress|resident"):
            ptxmm.check(test, **wrong)  # type: ignore[arg-type]


#: Who comes second has something in a register, and waits for that; who comes first has nothing there, and may wait as well.
ONE_HAS_IT = """    atom.global.relaxed.gpu.exch.b32 %r2, [%rd2], 1;
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra L;
    mov.u32 %r3, {};
L:  setp.ne.u32 %p2, %r3, 0;
    @%p2 bra L;
    ret;
}}
"""


@pytest.mark.parametrize("value", [0, 1])
def test_a_loop_that_waits_for_a_register_that_nothing_wrote_may_go_round_without_end(value: int) -> None:
    result = checked(HEAD + ONE_HAS_IT.format(value), 2)
    assert (result.verdict, result.checks[0].holds) == ("no", False)
    assert "not terminate (spin loop)" in str(result.checks[0].message)


@pytest.mark.parametrize(("at", "verdict"), [("[%rd2]", "no"), ("[%rd3]", "ok")], ids=["races", "apart"])
def test_a_loop_that_a_clock_ends_hides_no_race(at: str, verdict: str) -> None:
    loop = f"    mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd3, %rd2; st.global.u32 {at}, 1;\n"
    loop += "L:  mov.u32 %r2, %clock; and.b32 %r2, %r2, 3; setp.eq.u32 %p1, %r2, 1; @%p1 bra L;\n    ret;\n}\n"
    words = {"type": "u32", "elements": 2}
    result = ptxmm.Kernel(HEAD + loop, params={"x": words}, grid=2, block=1, terminates=True, race_free=True).check()
    assert result.verdict == verdict
    assert [c.holds for c in result.checks if c.kind == "terminates"] == [True]


#: CTA 0 raises a flag; CTA 1 goes into a loop that looks at a clock if it sees that.
IF_RAISED = """    mov.u32 %r7, %clock;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra S;
    ld.relaxed.gpu.global.u32 %r5, [%rd2];
    setp.eq.u32 %p1, %r5, 0;
    @%p1 bra E;
L:  mov.u32 %r2, %clock;
    {}
    @%p2 bra L;
    bra E;
S:  st.relaxed.gpu.global.u32 [%rd2], 1;
E:  ret;
}}
"""


@pytest.mark.parametrize(
    ("goes_round", "verdict"),
    [
        ("and.b32 %r2, %r2, 3; setp.ne.u32 %p2, %r2, 1;", "ok"),
        ("and.b32 %r2, %r2, 3; setp.ne.u32 %p2, %r2, 7;", "no"),
        ("and.b32 %r2, %r2, 3; add.u32 %r2, %r2, %r5; setp.ne.u32 %p2, %r2, 0;", "no"),
        ("sub.u32 %r2, %r2, %r7; setp.lt.u32 %p2, %r2, 1000;", "ok"),
        ("setp.lt.u32 %p2, %r2, %r7; setp.ge.or.u32 %p2, %r2, %r7, %p2;", "no"),
        ("mov.u32 %r3, %clock; setp.lt.u32 %p2, %r2, 9; setp.lt.or.u32 %p2, %r3, 9, %p2;", "ok"),
        ("ld.relaxed.gpu.global.u32 %r3, [%rd2]; setp.lt.u32 %p2, %r2, 9; setp.eq.or.u32 %p2, %r3, 1, %p2;", "no"),
        ("ld.relaxed.gpu.global.u32 %r3, [%rd2]; setp.lt.u32 %p2, %r2, 9; setp.eq.and.u32 %p2, %r3, 1, %p2;", "ok"),
    ],
)  # fmt: skip
def test_a_loop_that_looks_at_a_clock_goes_round_without_end_where_no_number_leads_on(
    goes_round: str, verdict: str
) -> None:
    assert checked(HEAD + IF_RAISED.format(goes_round), 2).verdict == verdict


def test_a_loop_of_which_no_number_of_a_clock_is_found_out_leaves_termination_open() -> None:
    """Which number has this cube takes Z3 more than its share."""
    loop = "mul.lo.u32 %r3, %r2, %r2; mul.lo.u32 %r3, %r3, %r2; xor.b32 %r3, %r3, %r5; setp.ne.u32 %p2, %r3, 12345;"
    result = checked(HEAD + IF_RAISED.format(loop), 2)
    assert result.verdict == "undecided"
    (terminates,) = [c for c in result.checks if c.kind == "terminates"]
    assert terminates.holds is None and "whether some number of a clock ends the loop" in terminates.message

"""Threads that do not terminate: the report says who, where, and what is missing, and draws the execution."""

from __future__ import annotations

from pathlib import Path

import pytest

import ptxmm
from ptxmm.cli.main import main
from ptxmm.kernels import whole

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
DIVERGENT = (
    HEAD
    + """.visible .entry k(.param .u64 p)
{
  .reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  setp.gt.u32 %p1, %r1, 31;
  @%p1 bra L;
  barrier.sync 1, 64;
L:
  ret;
}
"""
)
SPIN = (
    HEAD
    + """.visible .entry k(.param .u64 p)
{
  .reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %ctaid.x;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra A;
W:
  ld.acquire.gpu.u32 %r2, [%rd1];
  setp.ne.u32 %p2, %r2, 2;
  @%p2 bra W;
  ret;
A:
  st.release.gpu.u32 [%rd1], 1;
  ret;
}
"""
)
WORD = {"type": "u32", "elements": 1}


def waiting(ptx: str, grid: int, block: int) -> ptxmm.Kernel:
    return ptxmm.Kernel(ptx, grid=grid, block=block, params={"x": WORD}, terminates=True)


def test_a_barrier_that_some_do_not_come_to_names_who_waits_and_who_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(whole, "FEWEST", 1000)  # the formula's words
    (check,) = waiting(DIVERGENT, 1, 64).check().checks
    assert check.message == (
        "CTA 0 thread 0, CTA 0 thread 1, CTA 0 thread 2 and 29 more do not terminate (deadlock) at line 11: barrier.sync 1, 64 "
        "(CTA 0 thread 32, CTA 0 thread 33, CTA 0 thread 34 and 29 more are not there)"
    )
    assert check.linearisation == [
        "CTA 0 thread 0 and 31 others  line 11  barrier.sync 1, 64"
    ]  # those that do alike, in one line


def test_a_loop_that_waits_in_vain_says_what_it_reads() -> None:
    (check,) = waiting(SPIN, 2, 1).check().checks
    assert check.message == (
        "CTA 1 thread 0 does not terminate (spin loop) at line 12: ld.acquire.gpu.u32 %r2, [%rd1] "
        "(x is 1, and nobody writes there any more; it waits for 2)"
    )
    assert check.witness is not None and "CTA 1 thread 0" in check.witness.svg()


@pytest.mark.parametrize(
    ("goes_on", "wanted"),
    [
        ("setp.eq.u32 %p2, %r2, 1", "something other than 1"),
        ("setp.lt.u32 %p2, %r2, 3", "3 or more"),
        ("setp.le.u32 %p2, %r2, 3", "4 or more"),
        ("setp.gt.u32 %p2, %r2, 0", "0 or less"),
        ("add.u32 %r3, %r2, 5; setp.ne.u32 %p2, %r3, 9", "4"),
        ("setp.ne.u32 %p2, %r2, 2; setp.ne.and.u32 %p2, %r2, 3, %p2", "2 or 3"),
    ],
)
def test_a_loop_that_waits_in_vain_says_what_would_end_it(goes_on: str, wanted: str) -> None:
    ptx = SPIN.replace("setp.ne.u32 %p2, %r2, 2", goes_on)
    (check,) = waiting(ptx, 2, 1).check().checks
    assert check.message.endswith(f"(x is 1, and nobody writes there any more; it waits for {wanted})")


def test_a_loop_whose_end_is_not_easily_said_says_what_it_reads() -> None:
    ptx = SPIN.replace(
        "setp.ne.u32 %p2, %r2, 2", "and.b32 %r3, %r2, 6; mul.lo.u32 %r3, %r3, %r2; setp.ne.u32 %p2, %r3, 4"
    )
    (check,) = waiting(ptx, 2, 1).check().checks
    assert check.message.endswith("(x is 1, and nobody writes there any more)")


PHASE = (
    HEAD
    + """.visible .entry k(.param .u64 f)
{
  .shared .align 8 .b8 bar[8];
  .reg .pred %p<5>; .reg .b32 %r<5>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [f];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, bar;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra W;
  mbarrier.init.shared.b64 [%r2], 3;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 16;
W:
  bar.sync 0;
  setp.ne.u32 %p1, %r1, 1;
  @%p1 bra L;
  ld.relaxed.gpu.u32 %r4, [%rd1];
  setp.eq.u32 %p3, %r4, 0;
  @%p3 bra L;
  mbarrier.arrive.shared.b64 _, [%r2];
L:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;
  @!%p2 bra L;
  ret;
}
"""
)


@pytest.mark.parametrize(
    ("old", "new", "lacks"),
    [
        ("", "", "the phase lacks 2 of 3 arrivals and 16 bytes; CTA 0 thread 1 has not come to line 22: "
                 "mbarrier.arrive.shared.b64 _, [%r2]"),
        ("[%r2], 3", "[%r2], 1", "the phase lacks 16 bytes; CTA 0 thread 1 has not come to line 22: "
                                 "mbarrier.arrive.shared.b64 _, [%r2]"),
        ("%r4, 0", "%r4, 1", "the phase lacks 1 of 3 arrivals and 16 bytes; nothing else comes there any more"),
        ("arrive.expect_tx.shared.b64 _, [%r2], 16", "arrive.shared.b64 _, [%r2]",
         "the phase lacks 2 of 3 arrivals; CTA 0 thread 1 has not come to line 22: mbarrier.arrive.shared.b64 _, [%r2]"),
    ],
)  # fmt: skip
def test_a_phase_that_never_completes_says_what_it_lacks(old: str, new: str, lacks: str) -> None:
    (check,) = waiting(PHASE.replace(old, new, 1), 1, 3).check().checks
    assert check.message.endswith(f"mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0 ({lacks})")


def test_the_page_and_the_picture_show_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.ptx").write_text(SPIN)
    (tmp_path / "k.toml").write_text(
        'ptx = "k.ptx"\ngrid = 2\nblock = 1\nparams.x = {type = "u32", elements = 1}\n'
        "check.terminates = true\ncheck.no_deadlock = true\n"
    )
    assert main(["check", str(tmp_path / "k.toml"), "--svg", str(tmp_path / "svg")]) == 1
    page = capsys.readouterr().out
    assert (
        "T1 does not terminate (spin loop) at line 12" in page
        and "T0: CTA 0 thread 0, T1: CTA 1 thread 0" in page
        and "terminates: for the same reason" in page
        and "x is 1" in page
    )
    assert [path.name for path in (tmp_path / "svg").iterdir()] == ["k-wait-0.svg"]


TWO_WAYS = (
    HEAD
    + """.visible .entry k(.param .u64 p)
{
  .reg .pred %p<3>; .reg .b32 %r<5>;
  mov.u32 %r1, %tid.x;
  setp.gt.u32 %p1, %r1, 31;
  @%p1 bra L;
  barrier.sync 0, 128;
  ret;
L:
  setp.gt.u32 %p2, %r1, 63;
  @%p2 bra M;
  barrier.sync 0, 128;
M:
  ret;
}
"""
)


def test_who_came_to_the_same_barrier_elsewhere_is_not_told_to_be_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The warps that wait at two places wait for one barrier: only the third is not there, in both sentences."""
    monkeypatch.setattr(whole, "FEWEST", 1000)  # the formula's words
    (check,) = waiting(TWO_WAYS, 1, 96).check().checks
    away = [part.rpartition(" (")[2] for part in check.message.split("; ")]
    assert away == ["CTA 0 thread 64, CTA 0 thread 65, CTA 0 thread 66 and 29 more are not there)"] * 2


def test_that_nobody_writes_any_more_is_told_where_it_is_so() -> None:
    (check,) = waiting(SPIN, 2, 1).check().checks
    assert "x is 1, and nobody writes there any more; it waits for 2" in check.message

"""Reads of vectors that find some elements of a write and miss others (section 8.2.4): runs, held against the formula."""

from __future__ import annotations

import generated_lookbacks
import pytest
from agreement import note
from campaigns import lengths

from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.result import Result

_HEAD = """.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
 setp.ne.u32 %p1, %r2, 0; @%p1 ret;
 setp.eq.u32 %p1, %r1, 1; @%p1 bra ONE; setp.eq.u32 %p1, %r1, 2; @%p1 bra TWO;
"""
_WRITES = "st.relaxed.gpu.global.v2.u32 [%rd1+16], {1, 7};"
_POLLS = "ld.{sem}.gpu.global.v2.u32 {{%r3, %r4}}, [%rd1+16]; setp.eq.u32 %p2, %r3, 0; @%p2 bra {label};"
_ENDS = "st.global.u32 [%rd2], %r4; ret;"


def _test(writer: str, one: str, two: str, *, block: int = 12, grid: int = 3) -> KernelTest:
    """CTA 0 writes, the others look; one thread of each does, and y[0] should be 7."""
    ptx = f"{_HEAD} {writer} ret;\nONE: {one}\nTWO: {two}\n}}"
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {"x": {"type": "u32", "elements": 16, "init": [0]}, "y": {"type": "u32", "elements": 1, "init": [7]}},
        "check": {"forall": "y[0] == 7", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": ptx}).test()


def _verdict(test: KernelTest, engine: str, monkeypatch: pytest.MonkeyPatch) -> Result:
    """By the formula, or by runs alone."""
    with monkeypatch.context() as patched:
        patched.setattr(checking, "may_be_whole", lambda *_: engine == "runs")
        return checking.check(test, model_named("ptx-9.0"))


_FLAG = "st.release.gpu.global.u32 [%rd1+32], 1;"
_WAITS = "{label}: ld.acquire.gpu.global.u32 %r5, [%rd1+32]; setp.eq.u32 %p3, %r5, 0; @%p3 bra {label};"
_KERNELS = {
    "torn": ("no", _WRITES, "A: " + _POLLS.format(sem="relaxed", label="A") + _ENDS, "ret;"),
    # Who acquires the status has not come behind the value that was written with it.
    "torn by an acquire": (
        "no", _WRITES.replace("relaxed", "release"), "A: " + _POLLS.format(sem="acquire", label="A") + _ENDS, "ret;"
    ),
    "ordered behind the write": (
        "ok", f"{_WRITES} {_FLAG}", _WAITS.format(label="A") + "B: " + _POLLS.format(sem="relaxed", label="B") + _ENDS, "ret;"
    ),
    # CTA 2 has found both elements, and tells CTA 1 (causality order, section 8.9.6).
    "behind who has found both": (
        "ok", _WRITES, _WAITS.format(label="A") + "B: " + _POLLS.format(sem="relaxed", label="B") + _ENDS,
        "C: " + _POLLS.format(sem="relaxed", label="C") + f"setp.eq.u32 %p2, %r4, 0; @%p2 bra C; {_FLAG} ret;",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _KERNELS)
@pytest.mark.parametrize("engine", ["runs", "solve"])
def test_a_read_is_torn_where_nothing_orders_it_behind_the_write(
    name: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, *parts = _KERNELS[name]
    found = _verdict(_test(*parts), engine, monkeypatch)
    assert found.verdict == expected or (engine == "runs" and expected == "ok" and found.verdict == "undecided")


def test_the_note_names_both_threads_what_is_found_and_the_other_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _verdict(_test(*_KERNELS["torn"][1:], block=128), "runs", monkeypatch)
    (note_,) = [n for n in found.notes if "vector" in n]
    assert "of what CTA 0 thread 0 writes to x at k.toml:" in note_
    assert "CTA 1 thread 0 finds 1 in bytes 16 to 19" in note_
    assert "and 0 in bytes 20 to 23, which was there before" in note_
    assert "--whole-vectors" in note_
    (fails,) = [c for c in found.checks if c.holds is False]
    assert [what for _, what in fails.spots] == ["a vector, accessed element by element (ld.relaxed.gpu.global.v2.u32)"]


@pytest.mark.compares(0.6)
@pytest.mark.parametrize("seeds", lengths(range(3), range(60)))
def test_what_torn_reads_show_is_wrong_by_the_formula(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = passed = 0
    for seed in seeds:
        test = generated_lookbacks.kernel(seed, vectors=True)
        found = _verdict(test, "runs", monkeypatch)
        if found.verdict == "undecided":
            passed += 1
            continue
        compared += 1
        assert _verdict(test, "solve", monkeypatch).verdict.replace("bounded", "ok") == found.verdict, seed
    note(compared, {"undecided": passed} if passed else {})

"""What reports say of smaller launches where one was not decided in time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from axioms.program import building
from ptxcore.clock import OutOfTime
from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels import explored
from ptxmm.kernels.runs import threads_of
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_TEXT = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
 .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<4>;
 {first} ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x;
 mad.lo.u32 %r1, %r1, %r3, %r2; mul.wide.u32 %rd2, %r1, {stride}; add.u64 %rd2, %rd2, %rd1;
 st.global.u32 [%rd2], %r1;
END: ret;
}}"""


#: Grids of more than three CTAs do nothing.
_FEW = "mov.u32 %r1, %nctaid.x; setp.gt.u32 %p, %r1, 3; @%p bra END;"


def _kernel(stride: int, check: dict[str, Any], first: str = "") -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 4, "block": 128,
        "params": {"x": {"type": "u32", "elements": 512}}, "check": check,
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _TEXT.format(stride=stride, first=first)}).test()


def _late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches of more than 64 threads are not decided in time."""
    decide_whole, question = checking.decide_whole, checking.KernelQuestion

    def asked(test: KernelTest, *rest: Any, **options: Any) -> Any:
        if threads_of(test) > 64:
            raise OutOfTime
        return question(test, *rest, **options)

    monkeypatch.setattr(checking, "KernelQuestion", asked)
    monkeypatch.setattr(checking, "decide_whole", lambda t, *r: "open" if threads_of(t) > 64 else decide_whole(t, *r))
    monkeypatch.setattr(checking, "shown_by_runs", lambda *_: False)


def test_a_launch_that_is_too_large_for_a_formula_says_how_large_and_what_smaller_ones_show(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(explored, "MOST_EVENTS", 100)
    decide_whole = checking.decide_whole
    monkeypatch.setattr(checking, "decide_whole", lambda t, *r: "open" if threads_of(t) > 64 else decide_whole(t, *r))
    result = checking.check(_kernel(4, {"race_free": True}), model_named("ptx-9.0"))
    assert result.verdict == "undecided" and result.error == "too large for one formula"
    large, small, open_ = result.notes
    assert "the first 128 of 512 threads have 128 events, 128 of them of the instruction at k.toml:9" in large
    assert "2 CTAs of 32 threads, was decided: ok" in small and open_ == "open"


_ANYWHERE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{
 .reg .b32 %r<9>; .reg .b64 %rd<9>;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd1, %rd3;
 ld.global.u32 %r2, [%rd3]; and.b32 %r2, %r2, 255; mul.wide.u32 %rd4, %r2, 4; add.u64 %rd4, %rd2, %rd4;
 st.global.u32 [%rd4], %r1; ret;
}"""


def test_an_access_that_may_go_to_many_places_is_as_many_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "MOST_EVENTS", 700)
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 4,
        "params": {"x": {"type": "u32", "elements": 4, "init": "any"}, "y": {"type": "u32", "elements": 256}},
        "check": {"race_free": True},
    }  # fmt: skip
    result = checking.check(KernelFile.of(tree, "k.toml", {"k.ptx": _ANYWHERE}).test(), model_named("ptx-9.0"))
    assert result.verdict == "undecided" and result.error == "too large for one formula"
    assert any("768 of them of the instruction at k.toml:9" in note for note in result.notes)


@pytest.mark.parametrize(
    ("stride", "check", "said"),
    [
        (0, {"race_free": True}, "2 CTAs of 1 thread, is wrong: data race between CTA 0 thread "),
        (
            4,
            {"race_free": True, "forall": "x[511] == 511"},
            "2 CTAs of 32 threads, was decided: ok, as far as no check",
        ),
        (4, {"forall": "x[511] == 511"}, ""),
    ],
)
def test_what_was_not_decided_in_time_is_looked_at_with_fewer_threads(
    stride: int, check: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _late(monkeypatch)
    first = _FEW if stride == 0 else ""
    found = checking.check(_kernel(stride, check, first), model_named("ptx-9.0"), timeout=600)
    assert found.verdict == "undecided" and all(c.holds is None for c in found.checks)
    notes = [note for note in found.notes if note.startswith("a smaller launch with the same arguments, ")]
    assert [said in note for note in notes] == [True] * bool(said)


def test_what_goes_wrong_with_fewer_threads_is_an_answer_where_the_launch_shows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _late(monkeypatch)
    found = checking.check(_kernel(0, {"race_free": True}), model_named("ptx-9.0"), timeout=600)
    assert found.verdict == "no" and len(found.races) == 1
    assert any(note.startswith("found in a smaller launch, 2 CTAs of 1 thread: ") for note in found.notes)


def test_nothing_smaller_is_looked_at_without_a_limit_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    _late(monkeypatch)
    found = checking.check(_kernel(0, {"race_free": True}), model_named("ptx-9.0"))
    assert found.verdict == "undecided" and not any("smaller" in note for note in found.notes)


_UNDER_CONDITIONS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<4>; .reg .b32 %r<6>; .reg .b64 %rd<4>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd2, %rd1;
 setp.eq.u32 %p1, %r1, 0; @%p1 bra GIVES;
 ld.relaxed.gpu.u32 %r3, [%rd2]; setp.eq.u32 %p2, %r3, 0; @%p2 bra END;
 activemask.b32 %r4; st.global.u32 [%rd2+128], %r4;
 bra END;
GIVES: st.relaxed.gpu.u32 [%rd2], 1;
END: ret;
}
"""


@pytest.mark.parametrize("in_cuda", [False, True])
def test_what_a_run_leaves_open_and_exploration_refuses_is_undecided_and_no_bad_input(
    in_cuda: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who executes `activemask` together hangs on what 32 threads read, each for itself."""
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": 32,
        "params": {"x": {"type": "u32", "elements": 64, "init": [0]}}, "check": {"race_free": True},
    }  # fmt: skip
    monkeypatch.setattr(checking, "decide_whole", lambda *_: "open")
    monkeypatch.setattr(checking, "shown_by_runs", lambda *_: False)
    test = KernelFile.of(tree, "k.toml", {"k.ptx": _UNDER_CONDITIONS}).test()
    if in_cuda:
        (tmp_path / "k.cu").write_text("// of which the module says no lines\n")
        test = replace(test, launches=(replace(test.launches[0], source=str(tmp_path / "k.cu")),))
    result = checking.check(test, model_named("ptx-9.0"))
    assert result.verdict == "undecided"
    assert result.error.startswith(
        "'activemask.b32' is executed by threads of the warp each under a condition of its own"
    )
    assert result.notes[-1] == "open"

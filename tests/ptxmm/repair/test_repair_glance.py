"""What a few runs show of a changed module, before a check is asked."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import ptxmm
from ptxmm.api import model_named
from ptxmm.kernels.launch import Buffer, Launch
from ptxmm.kernels.test import Check, KernelTest
from ptxmm.repair.glance import glanced_at
from ptxmm.repair.guided import guided
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.kernel_subject import KernelSubject
from ptxmm.repair.sites import Vector
from ptxmm.repair.subjects import How

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
    .reg .pred %p<4>; .reg .b32 %r<6>; .reg .b64 %rd<2>; .shared .align 8 .b64 m; .shared .align 4 .b8 s[4];
    ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
"""
#: One thread writes what another one reads.
_SHARED = _HEAD + "@%p1 bra READ; st.shared.u32 [s], 7; READ: bar.sync 0; ld.shared.u32 %r2, [s]; ret; }"
_RACING = _SHARED.replace("bar.sync 0; ", "")
#: Each waits for an arrival that nobody makes.
_ALONE = (
    _HEAD
    + """
    @%p1 bra WAIT;
    mbarrier.init.shared::cta.b64 [m], 1;
WAIT: bar.sync 0;
L:  mbarrier.try_wait.parity.shared::cta.b64 %p2, [m], 0;
    @!%p2 bra L;
    ret;
}
"""
)


def _test(text: str, block: int, *checks: str) -> KernelTest:
    buffer = Buffer("x", elements=2)
    launch = Launch(text, "k", "k.ptx", block=(block, 1, 1), params=(buffer,))
    return KernelTest("k.ptx", "k", (launch,), (buffer,), tuple(map(Check, checks)))


def _shown(text: str, block: int, *checks: str) -> list[str]:
    result = glanced_at(_test(text, block, *checks), model_named("ptx-9.0"))
    return [] if result is None else [check.text for check in result.checks if check.holds is False]


def test_a_race_of_a_few_threads_is_seen_in_a_run() -> None:
    assert _shown(_RACING, 2, "race_free") == ["race_free"]
    assert _shown(_SHARED, 2, "race_free", "terminates") == []


def test_what_races_is_no_answer_where_nobody_asks_for_races() -> None:
    assert _shown(_RACING, 2, "terminates") == []


@pytest.mark.parametrize("block", [2, 40])
def test_threads_that_wait_for_nobody_are_seen_in_a_run(block: int) -> None:
    assert "terminates" in _shown(_ALONE, block, "race_free", "terminates", "no_deadlock")
    assert _shown(_ALONE, block, "race_free") == []


def test_of_many_threads_runs_come_first_in_a_check_too() -> None:
    assert _shown(_RACING, 40, "race_free", "no_deadlock") == ["race_free"]
    assert _shown(_RACING, 40, "race_free", "terminates") == []


def _asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that a check is asked of."""
    asked, checked = list[str](), KernelSubject._checked

    def told(self: KernelSubject, test: KernelTest, text: str, patience: float | None = None) -> object:
        asked.append(text)
        return checked(self, test, text, patience)

    monkeypatch.setattr(KernelSubject, "_checked", told)
    return asked


@pytest.mark.parametrize(("options", "text"), [((), _RACING), ((), _SHARED), (("war-ok",), _RACING)])
def test_no_check_is_asked_of_what_a_run_shows_to_be_wrong(
    monkeypatch: pytest.MonkeyPatch, options: Sequence[str], text: str
) -> None:
    subject = KernelSubject(_test(_SHARED + "// as it is", 2, "race_free"), How(options=frozenset(options)))
    asked = _asked(monkeypatch)
    judged = subject.judge(text)
    assert judged.holds is (text == _SHARED)
    assert (text in asked) is (text == _SHARED or bool(options))


def test_of_what_is_weaker_all_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = KernelSubject(_test(_SHARED, 2, "race_free"), How())
    asked = _asked(monkeypatch)
    assert subject.judge_weaker(_RACING).failed == ("race_free",) and asked == [_RACING]


_LAST = """.version 8.6
.target sm_90
.address_size 64
.visible .entry last(.param .u64 x, .param .u64 count)
{
    .reg .pred %p<3>; .reg .b32 %r<6>; .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [count]; mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd1, %rd3;
    st.global.u32 [%rd3], 7;
    atom.global.add.u32 %r2, [%rd2], 1;
    setp.ne.u32 %p1, %r2, 1;
    @%p1 bra DONE;
    ld.global.u32 %r3, [%rd1]; ld.global.u32 %r4, [%rd1+4]; add.u32 %r3, %r3, %r4;
    st.global.u32 [%rd1+8], %r3;
DONE: ret;
}
"""


def test_what_a_run_of_the_text_as_it_is_shows_to_lack_is_tried_first() -> None:
    """The check of the text tells of the race alone; a run tells which atomic operation neither releases nor acquires."""
    params = {"x": {"type": "u32", "elements": 3}, "count": {"type": "u32", "elements": 1}}
    subject = KernelSubject(
        ptxmm.Kernel(_LAST, params=params, grid=2, block=1, race_free=True, terminates=True).test, How()
    )
    sites, base = subject.sites("repair", True), subject.judge(subject.text)
    tried = list[str]()

    def judge(vector: Vector, patient: bool) -> Judgement:
        tried.append("; ".join(s.options[o].words for s, o in zip(sites, vector, strict=True) if o))
        return Judgement("acq_rel" in tried[-1])

    base = base._replace(lacking=frozenset())
    assert (
        next(guided(subject.text, sites, judge, base, subject.objects, glimpsed=subject.glimpsed()), None) is not None
    )
    assert all("atom.global.add.u32 becomes" in words for words in tried) and len(tried) <= 3
    assert next(guided(subject.text, sites, judge, base, subject.objects), None) is None  # no barrier may stand there

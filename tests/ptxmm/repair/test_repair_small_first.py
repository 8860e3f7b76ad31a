"""Repairs of large launches that a smaller launch of the same kernel leads to."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import pytest

from ptxcore.clock import OutOfTime
from ptxmm.kernels.expression_reader import parse
from ptxmm.kernels.launch import Buffer, Launch
from ptxmm.kernels.test import Check, KernelTest
from ptxmm.repair.finding import answered
from ptxmm.repair.kernel_subject import KernelSubject
from ptxmm.repair.sites import TextEdit, edited
from ptxmm.repair.small_first import led_by_smaller
from ptxmm.repair.subjects import How, Subject

#: One thread of each CTA counts in the section of a lock, behind something `more`.
_LOCK = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
    .reg .pred %p<3>; .reg .b32 %r<6>; .reg .b64 %rd<2>; .shared .align 4 .b8 s[4];
    ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    {more}
    @%p1 bra OUT;
T:  atom.relaxed.gpu.global.cas.b32 %r2, [%rd1], 0, 1;
    setp.ne.u32 %p2, %r2, 0; @%p2 bra T;
    ld.global.u32 %r3, [%rd1+4]; add.u32 %r3, %r3, 1; st.global.u32 [%rd1+4], %r3;
    atom.relaxed.gpu.global.exch.b32 %r2, [%rd1], 0;
OUT: ret;
}}
"""
#: Which of two threads of a warp comes first.
_RACE = "st.shared.u32 [s], %r1;"


#: What any of them may be the last to write.
_LAST = "mov.u32 %r4, %ctaid.x; shl.b32 %r4, %r4, 8; or.b32 %r4, %r4, %r1; st.relaxed.gpu.global.u32 [%rd1+8], %r4;"


def _subject(
    more: str = "", grid: int = 4, block: int = 32, checks: Sequence[Check] = (Check("race_free"),)
) -> KernelSubject:
    text, buffer = _LOCK.format(more=more), Buffer("x", elements=3)
    launch = Launch(text, "k", "k.ptx", grid=(grid, 1, 1), block=(block, 1, 1), params=(buffer,))
    return KernelSubject(KernelTest("k.ptx", "k", (launch,), (buffer,), tuple(checks)), How())


def _claims(subject: Subject) -> list[str]:
    assert isinstance(subject, KernelSubject)
    return [str(check) for check in subject.test.checks]


def _threads(subject: Subject) -> int:
    assert isinstance(subject, KernelSubject)
    return prod(subject.test.launches[0].grid) * prod(subject.test.launches[0].block)


def test_what_mends_the_smallest_launch_is_checked_on_the_one_asked_for() -> None:
    subject, asked = _subject(), list[int]()

    def search(small: Subject) -> Sequence[Sequence[TextEdit]]:
        asked.append(_threads(small))
        return [found.edits for found in answered(small, "repair", every=False, most=None).found]

    found = led_by_smaller(subject, subject.judge(subject.text), search)
    assert found is not None and asked == [2]
    edits = [edit for site, option in zip(*found, strict=True) for edit in site.options[option].edits]
    text = edited(subject.text, edits)
    assert "atom.acquire.gpu.global.cas" in text and "atom.release.gpu.global.exch" in text
    assert subject.judge(text).holds


@pytest.mark.parametrize(("more", "smallest"), [("", 2), (_RACE, 4)])
def test_smaller_launches_count_that_fail_at_the_same_lines(more: str, smallest: int) -> None:
    """Lanes of a warp that race are seen first, and in no CTA of one thread."""
    subject, asked = _subject(more, block=64), list[int]()

    def search(small: Subject) -> Sequence[Sequence[TextEdit]]:
        asked.append(_threads(small))
        return []

    assert led_by_smaller(subject, subject.judge(subject.text), search) is None
    assert asked[0] == smallest


def test_what_does_not_mend_the_launch_asked_for_is_no_answer() -> None:
    subject = _subject()

    def search(small: Subject) -> Sequence[Sequence[TextEdit]]:
        return [[TextEdit(0, 0, "// nothing\n")]]

    assert led_by_smaller(subject, subject.judge(subject.text), search) is None


def test_small_launches_have_none_that_are_smaller() -> None:
    assert not list(_subject(grid=2, block=1).smaller())
    sizes = [_threads(small) for small in _subject().smaller()]
    assert sizes[0] == min(sizes) == 2 and max(sizes) <= 64


def test_values_are_claimed_of_smaller_launches_as_they_are_where_threads_take_turns() -> None:
    """Each CTA counts once: the claim of four CTAs is another one of two."""
    subject = _subject(checks=[Check("forall", parse("x[0] == 0 && x[1] == 4")), Check("never", parse("x[1] == 3"))])
    smallest = next(iter(subject.smaller()))
    assert _claims(smallest) == ["forall x[0] == 0", "forall x[1] == 2"]
    found = led_by_smaller(subject, subject.judge(subject.text), _solutions)
    assert found is not None
    assert any(site.options[option].words for site, option in zip(*found, strict=True))


def _solutions(small: Subject) -> Sequence[Sequence[TextEdit]]:
    return [found.edits for found in answered(small, "repair", every=False, most=None).found]


def test_no_value_is_claimed_that_hangs_on_who_comes_last() -> None:
    claim = Check("forall", parse("x[2] == 0"))
    assert not [small for small in _subject(_LAST, checks=[claim]).smaller() if _threads(small) > 4]
    others = [*_subject(_LAST, checks=[claim, Check("race_free")]).smaller()]
    assert _claims(others[-1]) == ["race_free"]


def test_what_may_be_the_case_is_claimed_of_no_smaller_launch() -> None:
    assert not list(_subject(checks=[Check("exists", parse("x[1] == 4"))]).smaller())


def test_nothing_follows_from_what_mends_a_smaller_launch_by_itself() -> None:
    """No source is compiled for it, and no launch is asked that is larger than it."""
    found = answered(next(iter(_subject().smaller())), "repair", every=False, most=None).found
    assert [one.larger.words for one in found] == [""]


def test_no_time_for_the_launch_asked_for_is_no_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time ends while what mends a smaller one is looked for."""

    def late(*_: object) -> None:
        raise OutOfTime

    monkeypatch.setattr("ptxmm.repair.finding.led_by_smaller", late)
    answer = answered(_subject(), "repair", every=False, most=None)
    assert (answer.found, answer.stopped, answer.status) == ([], "out of time", 3)

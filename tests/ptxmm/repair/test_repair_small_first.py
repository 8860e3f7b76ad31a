"""Repairs of large launches that a smaller launch of the same kernel leads to."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import pytest

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


def _subject(more: str = "", grid: int = 4, block: int = 32) -> KernelSubject:
    text, buffer = _LOCK.format(more=more), Buffer("x", elements=2)
    launch = Launch(text, "k", "k.ptx", grid=(grid, 1, 1), block=(block, 1, 1), params=(buffer,))
    return KernelSubject(KernelTest("k.ptx", "k", (launch,), (buffer,), (Check("race_free"),)), How())


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

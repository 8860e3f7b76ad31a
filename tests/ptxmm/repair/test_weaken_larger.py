"""Weakenings rest on the launch given and on larger ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import ptxmm
from ptxmm.kernels.test import KernelTest
from ptxmm.repair import finding, kernel_subject, words
from ptxmm.repair.finding import answered
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.kernel_subject import KernelSubject
from ptxmm.repair.sites import EditSite
from ptxmm.repair.subjects import How

GATE = Path(__file__).resolve().parents[2] / "kernels" / "gate"
#: Two counters, of which one has no protection from the third block on: it looks at the first two only.
COUNTS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
	.reg .pred %p<3>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %ctaid.x;
	setp.ne.u32 %p1, %r1, 0;
	@%p1 bra SECOND;
	atom.relaxed.gpu.global.add.u32 %r2, [%rd1], 1;
SECOND:
	setp.ne.u32 %p2, %r1, GUARD;
	@%p2 bra END;
	atom.relaxed.gpu.global.add.u32 %r2, [%rd1], 1;
END:
	ret;
}
"""


def counting_kernel(folder: Path, guard: int, grid: int = 2) -> KernelTest:
    (folder / "k.ptx").write_text(COUNTS.replace("GUARD", str(guard)), encoding="utf-8")
    (folder / "k.toml").write_text(
        f'ptx = "k.ptx"\nentry = "k"\ngrid = {grid}\nblock = 1\nparams.out = {{type = "u32", elements = 2}}\n'
        "check.race_free = true\n",
        encoding="utf-8",
    )
    test = ptxmm.load(folder / "k.toml")
    assert isinstance(test, KernelTest)
    return test


def test_what_the_next_larger_launch_refutes_is_no_weakening(tmp_path: Path) -> None:
    """With two blocks one of them alone counts, and needs no scope; with three another counts, too."""
    answer = answered(KernelSubject(counting_kernel(tmp_path, 2), How()), "weaken", every=True, most=None)
    assert answer.complete and not answer.found and answer.needs
    where = "the next larger launch (grid 3, block 1)"
    assert {need.launch for need in answer.needs} == {where}
    assert f"race_free fails on {where}" in words.text(answer)
    assert all(need["on"] == where for need in words.document(answer)["needs"])


def test_what_larger_launches_allow_is_told_with_them(tmp_path: Path) -> None:
    """The fourth block comes in none of the launches that are asked."""
    answer = answered(KernelSubject(counting_kernel(tmp_path, 3), How()), "weaken", every=True, most=None)
    (found,) = answer.found
    assert answer.complete and found.larger.holds and len(found.changes) == 2
    assert "computed on the next larger launch (grid 3, block 1): race_free: holds" in words.text(answer)


def test_a_larger_launch_in_which_the_kernel_as_it_is_fails_is_not_asked(tmp_path: Path) -> None:
    test = counting_kernel(tmp_path, 2)
    text = test.launches[0].text.replace("atom.relaxed.gpu.global.add.u32 %r2, [%rd1], 1", "st.global.u32 [%rd1], 1")
    weak = text.replace("st.global", "st.relaxed.gpu.global", 1)
    subject = KernelSubject(replace(test, launches=(replace(test.launches[0], text=weak),)), How())
    (found,) = answered(subject, "weaken", every=True, most=None).found
    assert found.larger.words == (
        "rests on the launch given alone: on the next larger launch (grid 3, block 1) race_free fails as it is"
    )


def test_what_a_larger_launch_does_not_decide_is_offered_with_that_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = KernelSubject(counting_kernel(tmp_path, 2), How())
    judged, own = KernelSubject._judged, subject.text

    def undecided(self: KernelSubject, test: KernelTest, text: str, patience: float | None = None) -> Judgement:
        if text != own and test.launches[0].grid == (3, 1, 1):
            return Judgement(None, reason="nobody looked")
        return judged(self, test, text, patience)

    monkeypatch.setattr(kernel_subject.KernelSubject, "_judged", undecided)
    answer = answered(subject, "weaken", every=True, most=None)
    assert answer.found and not answer.complete and answer.status == 0
    assert answer.found[0].larger.holds is None and "undecided (nobody looked)" in words.text(answer)


def test_a_set_that_is_refuted_only_after_the_search_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There was no time for the larger launch while others were looked for, and there is now."""
    subject = KernelSubject(counting_kernel(tmp_path, 2), How())
    judged, own, asked = KernelSubject._judged, subject.text, Counter[str]()

    def late(self: KernelSubject, test: KernelTest, text: str, patience: float | None = None) -> Judgement:
        asked[text] += test.launches[0].grid == (3, 1, 1)
        if text != own and test.launches[0].grid == (3, 1, 1) and asked[text] < 3:
            return Judgement(None, reason="nobody looked")
        return judged(self, test, text, patience)

    monkeypatch.setattr(kernel_subject.KernelSubject, "_judged", late)
    answer = answered(subject, "weaken", every=True, most=None)
    assert max(asked.values()) > 2 and not answer.found and not answer.complete and answer.status == 3


@pytest.mark.long
def test_a_semaphore_whose_third_block_does_not_terminate_is_not_advised() -> None:
    """Its accesses can all be weak for two blocks. The third never sees what the others gave back."""
    test = ptxmm.load(f"{GATE / 'semaphore_carried' / 'test.toml'}:fixed")
    assert isinstance(test, KernelTest)
    subject = KernelSubject(test, How())
    text = subject.text.replace("ld.relaxed.gpu", "ld.weak").replace("atom.cas.acquire.gpu", "atom.cas.relaxed.cta")
    assert subject.judge_weaker(text.replace("atom.add.release.gpu", "atom.add.relaxed.gpu")).holds
    text = text.replace("atom.add.release.gpu", "atom.add.relaxed.cta")
    assert subject.judge(text).holds
    judged = subject.judge_weaker(text)
    assert judged.holds is False and judged.failed == ("terminates",) and judged.launch


def test_nothing_is_put_in_where_something_is_to_be_weaker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a weaker text lets threads deadlock: a barrier that is taken away here and put in there is none."""
    asked: list[bool] = []
    sites, among = KernelSubject.sites, finding._among_sites

    def recorded(self: KernelSubject, mode: str, arrivals: bool = False) -> list[EditSite]:
        asked.append(arrivals)
        return sites(self, mode, arrivals)

    monkeypatch.setattr(KernelSubject, "sites", recorded)
    monkeypatch.setattr(finding, "_among_sites", lambda *given, **more: among(*given, **more) or True)
    found = answered(KernelSubject(counting_kernel(tmp_path, 1), How()), "weaken", every=False, most=None)
    assert found.complete and not found.found and asked == [False]

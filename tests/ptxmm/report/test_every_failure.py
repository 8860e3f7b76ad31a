"""Whatever is wrong with a test, its page has no more than 25 lines of 100 columns, and each place that a document for other
tools names is there, whoever opens it: of every test that is kept and fails."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from agreement import compared
from annotated import FORMS, missing
from campaigns import some
from failing import ROOT, Failing, failing
from planted_campaign import KERNELS, planted, with_text
from sarif_shape import wrong
from waiting import PATIENCE

import ptxmm
from ptxmm.checker import Checker, Settings
from ptxmm.kernels.test import KernelTest
from ptxmm.report.text import TextReport
from ptxmm.result import Result
from ptxmm.words.brief import LINES, WIDTH, causes, height
from ptxmm.words.brief import failing as failing_checks

#: Pages that had the most lines before what follows from something else was left out: of kernels, of an endless list of
#: outcomes, of reasons that are long, and of many.
_HIGHEST = (
    "examples/barrier:narrow", "war_across_proxies/test:buggy", "vyukov_queue/test:buggy",
    "counter_reset_between_launches/test:buggy", "model/discard+any-value", "model/restricted+circle",
    "locks/seqlock+fences",
)  # fmt: skip


@cache
def checker() -> Checker:
    return Checker(Settings(timeout=PATIENCE, explain=True, tell=True))


def page(test: Failing, *, everything: bool = False) -> list[str]:
    report = TextReport("ptx-9.0", colour=False, unroll=4, everything=everything)
    return report.page(test.outcome(checker())).splitlines()


@pytest.mark.part(120)
@pytest.mark.compares(1.0)
@pytest.mark.parametrize("test", failing(), ids=lambda test: test.name)
def test_it_is_told_on_a_page_and_at_places_that_are_there(
    test: Failing, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    outcome = test.outcome(checker())
    assert compared(outcome.result.verdict) in ("no", "undefined") and outcome.findings
    lines = TextReport("ptx-9.0", colour=False, unroll=4).page(outcome).splitlines()
    assert height(lines, WIDTH) <= LINES, "\n".join(lines)
    assert_cause_first(outcome.result, lines)
    for form, (make, places) in FORMS.items():
        report = make()
        report.begin([outcome.result.path])
        report.add(outcome)
        report.end(1.0)
        text = capsys.readouterr().out
        found = sorted(set(places(text)))
        assert any(place.line for place in found), form
        assert [missing(place) for place in found if missing(place)] == [], form
        assert form != "sarif" or wrong(json.loads(text)) == []


#: Thread 0 of CTA 0 raises it; what the others find is what they store.
READERS_OF_A_FLAG = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 out) {
.reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p;
ld.param.u64 %d1, [x]; ld.param.u64 %d2, [out]; mov.u32 %r1, %ctaid.x; setp.eq.u32 %p, %r1, 0;
@%p st.relaxed.gpu.u32 [%d1], 1; @%p ret;
ld.relaxed.gpu.u32 %r2, [%d1]; mul.wide.u32 %d3, %r1, 4; add.u64 %d3, %d2, %d3; st.relaxed.gpu.u32 [%d3], %r2; ret; }
"""


def assert_cause_first(result: Result, lines: Sequence[str]) -> None:
    """A page about a kernel that fails has a cause below its checks, with the text of its line, and says it once; unless all
    that is known is a wrong value that no read out of date explains."""
    found = causes(result)
    reads = any(check.causes or check.spots for check in failing_checks(result))
    if not result.of_kernel or not (found or reads or result.races or result.places):
        return
    page = "\n".join(lines)
    assert found, page
    first = next(i for i, line in enumerate(lines) if line.startswith(f"    {found[0].spot}: "))
    text = Path(found[0].spot.path).read_text(encoding="utf-8").split("\n")[found[0].spot.line - 1]
    assert "".join(lines[first + 1].split()).removesuffix("...") in "".join(text.split()), page
    assert not any("race between" in line or "does not hold" in line for line in lines[:first]), page
    heads = [line for line in lines if line.startswith("    ") and not line.startswith("      ")]
    assert len(set(heads)) == len(heads), page
    notes = [line for line in heads if "may find what nothing wrote" in line]
    assert len(notes) <= 4, page


@pytest.mark.part(4)
@pytest.mark.parametrize("name", _HIGHEST)
def test_the_highest_pages_fit_and_say_that_there_is_more(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (test,) = (test for test in failing() if test.name == name)
    short, whole = page(test), page(test, everything=True)
    assert 0 < height(short, WIDTH) <= LINES < height(whole, WIDTH)
    assert any("(--all tells" in line for line in short) and not any("--all" in line for line in whole)


def test_a_page_of_a_kernel_that_holds_leaves_out_most_of_its_many_outcomes() -> None:
    """Each of six readers finds the flag, or does not."""
    words = {"x": {"type": "u32", "elements": 1}, "out": {"type": "u32", "elements": 32}}
    test = ptxmm.Kernel(
        READERS_OF_A_FLAG, params=words, grid=7, block=1, forall="all(out[i] <= 1 for i in range(7))"
    ).test
    outcome = checker().decide("k", lambda: test)
    short, whole = (
        TextReport("ptx-9.0", colour=False, unroll=4, everything=everything).page(outcome).splitlines()
        for everything in (False, True)
    )
    assert 0 < height(short, WIDTH) <= LINES < height(whole, WIDTH)


def test_each_kind_of_tests_is_among_them() -> None:
    assert len({test.name for test in failing()}) == len(failing()) > 600
    folders = Counter(Path(test.path).parts[:2] if test.variant is not None else ("litmus",) for test in failing())
    assert folders["litmus",] > 300 and folders["litmus", "library"] > 40
    kernels = Counter(Path(test.path).parts[2] for test in failing() if test.path.startswith("tests"))
    assert kernels["gate"] > 200 and kernels["launches"] > 40 and kernels["museum"] >= 15
    assert sum(test.path.startswith("examples") for test in failing()) >= 5
    assert sum(test.path.startswith("docs") for test in failing()) >= 15


@pytest.mark.long
@pytest.mark.parametrize("name", some(6, [*KERNELS]))
def test_what_is_planted_at_full_size_is_told_on_a_page(name: str) -> None:
    """Of each kernel that people write some of its synchronisations, one by one, taken away: whatever is known of it then."""
    test = ptxmm.load(KERNELS[name])
    assert isinstance(test, KernelTest)
    settings = Checker(Settings(timeout=PATIENCE, explain=True, tell=True))
    for one in [*planted(test.launches[0].text)][::6]:
        changed = with_text(test, one.text)
        outcome = settings.decide(name, lambda test=changed: test)
        lines = TextReport("ptx-9.0", colour=False, unroll=4).page(outcome).splitlines()
        assert 0 < height(lines, WIDTH) <= LINES, "\n".join(lines)
